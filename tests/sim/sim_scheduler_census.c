/* sim_scheduler_census.c - a plugin whose service counts pods by what it is told of them: the order
 * of the news is judged as they come, the count by the scheduler's own and by what the server
 * holds.
 */
#include "sim_scheduler.h"

#include "api/pod.h"

static struct sim_scheduler *next_born;

void census_for(struct sim_scheduler *s)
{
    next_born = s;
}

static struct sim_known *find(struct sim_scheduler *s, struct kuid uid)
{
    vec_foreach(&s->census, i)
        if (kuid_equal(s->census.items[i].uid, uid))
            return &s->census.items[i];
    return NULL;
}

/* What is known of a pod of which something was told before, or is told for the first time. */
static struct sim_known *known(struct sim_scheduler *s, const struct pod *before,
                               const struct pod *now)
{
    struct sim_known *k = find(s, now->obj.meta.uid);

    if (!before != !k)
        sim_fail(s->sim, "%s is told %s", now->obj.meta.name,
                 k ? "as a new one a second time" : "to have changed, and never came");
    if (!k) {
        struct sim_known new = { .uid = now->obj.meta.uid, SIM_NOWHERE, SIM_NOWHERE };
        vec_push(&s->census, new);
        k = find(s, new.uid);
    }
    return k;
}

static void on_pending(void *service, const struct pod *before, const struct pod *now)
{
    struct sim_scheduler *s = service;

    if (known(s, before, now)->node != SIM_NOWHERE)
        sim_fail(s->sim, "%s waits for a node, and had one", now->obj.meta.name);
}

static void on_placed(void *service, const struct pod *before, const struct pod *now)
{
    struct sim_scheduler *s = service;
    struct sim_known *k = known(s, before, now);

    if (k->node != SIM_NOWHERE)
        sim_fail(s->sim, "%s is placed a second time", now->obj.meta.name);
    k->node = sim_node_of(s->sim, now->node_name);
    k->assumed = SIM_NOWHERE;
}

static void on_changed(void *service, const struct pod *before, const struct pod *now)
{
    struct sim_scheduler *s = service;

    if (known(s, before, now)->node != sim_node_of(s->sim, now->node_name))
        sim_fail(s->sim, "%s changed elsewhere", now->obj.meta.name);
}

static void on_gone(void *service, const struct pod *last)
{
    struct sim_scheduler *s = service;
    const struct sim_known *k = known(s, last, last);

    if (k->assumed != SIM_NOWHERE)
        sim_fail(s->sim, "%s went, and is assumed", last->obj.meta.name);
    vec_swap_remove(&s->census, (size_t)(k - s->census.items));
}

static void on_assumed(void *service, const struct pod *p, const char *node)
{
    struct sim_scheduler *s = service;
    struct sim_known *k = known(s, p, p);

    if (k->node != SIM_NOWHERE || k->assumed != SIM_NOWHERE)
        sim_fail(s->sim, "%s is assumed, and has a node", p->obj.meta.name);
    k->assumed = sim_node_of(s->sim, node);
}

static void on_forgotten(void *service, const struct pod *p, const char *node)
{
    struct sim_scheduler *s = service;
    struct sim_known *k = known(s, p, p);

    if (k->assumed != sim_node_of(s->sim, node))
        sim_fail(s->sim, "%s is forgotten, and was not assumed there", p->obj.meta.name);
    k->assumed = SIM_NOWHERE;
}

static int service_create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    struct sim_scheduler *s = next_born;

    (void)env, (void)args, (void)err;
    if (s->services++ > 0)
        sim_fail(s->sim, "a service was made twice");
    *ret = s;
    return 0;
}

static void service_destroy(void *service)
{
    struct sim_scheduler *s = service;

    if (s->instances)
        sim_fail(s->sim, "a service ended before its plugins");
    s->services--;
}

static const struct ks_pod_handler census_pods = {
    .pending = on_pending,
    .placed = on_placed,
    .changed = on_changed,
    .gone = on_gone,
    .assumed = on_assumed,
    .forgotten = on_forgotten,
};
const struct ks_service census_service = {
    .name = "Census",
    .create = service_create,
    .destroy = service_destroy,
    .pods = &census_pods,
};
static const struct ks_service *const services[] = { &census_service, NULL };

static int plugin_create(const struct ks_env *env, const void *args, void **ret_self,
                         struct kerr *err)
{
    struct sim_scheduler *s = census_of(env);

    (void)args, (void)err;
    s->instances++;
    *ret_self = s;
    return 0;
}

static void plugin_destroy(void *self)
{
    ((struct sim_scheduler *)self)->instances--;
}

static void plugin_post_bind(void *self, const struct pod *p, const char *node)
{
    struct sim_scheduler *s = self;
    const struct sim_known *k = find(s, p->obj.meta.uid);
    int at = sim_node_of(s->sim, node);

    if (k && k->node != at && k->assumed != at)
        sim_fail(s->sim, "%s was bound to %s, which nobody told", p->obj.meta.name, node);
}

const struct ks_plugin census_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Census",
    .services = services,
    .create = plugin_create,
    .destroy = plugin_destroy,
    .post_bind = plugin_post_bind,
};

/* ---- the count ------------------------------------------------------------------------------- */

void census_judge(struct sim_scheduler *of)
{
    struct scheduler_stats st = scheduler_stats(of->s);
    size_t placed = 0, assumed = 0;

    if (!scheduler_synced(of->s))
        return;
    vec_foreach(&of->census, i) {
        placed += of->census.items[i].node != SIM_NOWHERE;
        assumed += of->census.items[i].assumed != SIM_NOWHERE;
    }
    if (assumed != st.assumed || placed + assumed != st.pods)
        sim_fail(of->sim, "%zu pods have a node and %zu are assumed, but %zu and %zu were told",
                 st.pods - st.assumed, st.assumed, placed, assumed);
}

void census_judge_end(struct sim_scheduler *of)
{
    struct sim *s = of->sim;
    size_t alive = 0;

    for (int i = 0; i < s->npods; i++) {
        const struct sim_pod *p = &s->pods[i];
        const struct sim_known *k = p->alive ? find(of, p->uid) : NULL;
        alive += p->alive;
        if (p->alive && (!k || k->node != p->node || k->assumed != SIM_NOWHERE))
            sim_fail(s, "%s is on n%d, and %s", p->name, p->node,
                     k ? "something else was told" : "was not told of");
    }
    if (of->census.n != alive)
        sim_fail(s, "%zu pods were told of that are gone", of->census.n - alive);
}
