/* sim_scheduler_fetch.c - a plugin that keeps pods out of the queue, by their app: it lets them in
 * when the app opens (by key), or fetches one of them before (next).
 */
#include "sim_scheduler.h"

#include "api/pod.h"
#include "loop/loop.h"

static struct sim_scheduler *next_born;

void fetch_for(struct sim_scheduler *s)
{
    next_born = s;
}

static bool kept_out(struct sim_scheduler *s, const struct sim_pod *p)
{
    return p->kept_out && !s->open[p->app];
}

static bool has(const struct sim_uids *l, struct kuid uid)
{
    vec_foreach(l, i)
        if (kuid_equal(l->items[i], uid))
            return true;
    return false;
}

static void drop(struct sim_uids *l, struct kuid uid)
{
    for (size_t i = l->n; i-- > 0;)
        if (kuid_equal(l->items[i], uid))
            vec_swap_remove(l, i);
}

static void open_app(struct sim_scheduler *s, int app)
{
    s->open[app] = true;
    ks_wake(&s->env, "Fetch", (uint64_t)app + 1);
}

void fetch_calm(struct sim_scheduler *s)
{
    s->opens = timer_cancel(s->opens);
    for (int app = 0; app < SIM_APPS; app++)
        open_app(s, app);
}

/* An app opens or closes, or there is a wish, whatever the queue holds. */
static void on_opens(struct loop *l, void *arg)
{
    struct sim_scheduler *s = arg;
    int app = sim_below(s->sim, SIM_APPS);

    s->opens = loop_after(l, sim_below(s->sim, 30000) * NSEC_PER_MSEC, on_opens, s);
    if (sim_chance(s->sim, 40))
        ks_ask_next(&s->env);
    else if (s->open[app])
        s->open[app] = false; /* who is in stays in */
    else
        open_app(s, app);
}

static int fetch_create(const struct ks_env *env, const void *args, void **ret_self,
                        struct kerr *err)
{
    struct sim_scheduler *s = next_born;

    (void)args, (void)err;
    if (!s->opens)
        s->opens = loop_after(env->loop, NSEC_PER_SEC, on_opens, s);
    *ret_self = s;
    return 0;
}

static void fetch_destroy(void *self)
{
    struct sim_scheduler *s = self;
    s->opens = timer_cancel(s->opens);
}

static uint64_t fetch_waits_for(void *self, const struct pod *p)
{
    struct sim_scheduler *s = self;
    const struct sim_pod *x = sim_pod_of(s->sim, p->obj.meta.uid);

    return x ? (uint64_t)x->app + 1 : 0;
}

static enum ks_code fetch_pre_enqueue(void *self, const struct pod *p, struct ks_texts *why)
{
    struct sim_scheduler *s = self;
    const struct sim_pod *x = sim_pod_of(s->sim, p->obj.meta.uid);

    drop(&s->named, p->obj.meta.uid);
    drop(&s->let_in, p->obj.meta.uid);
    if (!x || !kept_out(s, x)) {
        vec_push(&s->let_in, p->obj.meta.uid);
        return KS_SUCCESS;
    }
    s->sim->n.kept_out++;
    ks_texts_add(why, "the app is closed");
    return KS_UNRESOLVABLE;
}

/* Any pod that is kept out, also one that is on its way or that others keep out. */
static bool fetch_next(void *self, struct kuid *ret_uid)
{
    struct sim_scheduler *s = self;
    struct sim *sim = s->sim;
    const struct sim_pod *p = sim->npods ? &sim->pods[sim_below(sim, sim->npods)] : NULL;

    /* Who names the same pod for ever has it tried for ever. */
    if (!sim->chaos || sim_chance(sim, 30) || !p || !p->alive || !kept_out(s, p) ||
        p->node != SIM_NOWHERE)
        return false;
    if (!has(&s->named, p->uid))
        vec_push(&s->named, p->uid);
    *ret_uid = p->uid;
    return true;
}

/* Who is tried was let in, or fetched. */
static enum ks_code fetch_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                  uint32_t row, struct ks_texts *why)
{
    struct sim_scheduler *s = self;
    struct kuid uid = p->pod->obj.meta.uid;
    const struct sim_pod *x = sim_pod_of(s->sim, uid);

    (void)c, (void)row, (void)why;
    if (x && (x->gated || (!has(&s->let_in, uid) && !has(&s->named, uid))))
        sim_fail(s->sim, "%s was tried and should have been kept out", x->name);
    s->sim->n.fetched += has(&s->named, uid);
    return KS_SUCCESS;
}

const struct ks_plugin fetch_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Fetch",
    .create = fetch_create,
    .destroy = fetch_destroy,
    .waits_for = fetch_waits_for,
    .pre_enqueue = fetch_pre_enqueue,
    .reserve = fetch_reserve,
    .next = fetch_next,
};
