/* sim_scheduler_clerk.c - a plugin with a controller: it stamps disruption budgets (which select no
 * pods), again and again, because the run takes the stamps away. Only a scheduler that leads may.
 * Most apps have a budget each, and their pods wait until it has its stamp: news of that kind bring
 * them back.
 */
#include "sim_scheduler.h"

#include <stdio.h>

#include "api/pod.h"
#include "api/policy.h"
#include "base/strbuf.h"
#include "controllers/controller.h"
#include "loop/loop.h"
#include "scheduler/model/objects.h"

#define PDBS "/apis/policy/v1/namespaces/ns/poddisruptionbudgets"

static struct sim_scheduler *next_born;

void clerk_for(struct sim_scheduler *s)
{
    next_born = s;
}

static const char *budget_name(int i, char name[8])
{
    (void)snprintf(name, 8, "b%d", i % 10);
    return name;
}

/* ---- the controller -------------------------------------------------------------------------- */

static void clerk_sync(void *self, struct batch *b, const char *key, struct kobj *o)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    (void)self, (void)key;
    if (!o || kstrmap_get(&o->meta.labels, "stamp"))
        return;
    strbuf_append(&body, "{\"metadata\":{\"labels\":{\"stamp\":\"yes\"}}}");
    batch_patch(b, o, NULL, KUBE_PATCH_MERGE, &body, NULL, NULL);
}

static void *clerk_start(void *service, struct controllers *all, const struct controller_env *env)
{
    struct sim_scheduler *s = service;
    struct informer *budgets = caches_get(env->caches, &kind_pdb);

    if (!s->leads || s->clerk)
        sim_fail(s->sim, "a controller was started %s", s->clerk ? "twice" : "and does not lead");
    s->clerk = controller_new(
        all, &(struct controller_opts){ .name = "clerk", .of = budgets, .sync = clerk_sync });
    controller_watch(s->clerk, budgets, NULL, NULL);
    return s;
}

static void clerk_stop(void *started)
{
    struct sim_scheduler *s = started;
    s->clerk = controller_free(s->clerk);
}

static int clerk_create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    (void)env, (void)args, (void)err;
    *ret = next_born;
    return 0;
}

static const struct ks_controller clerk_controller = { clerk_start, clerk_stop };
static const struct ks_service clerk_service = {
    .name = "Clerk",
    .create = clerk_create,
    .controller = &clerk_controller,
};
static const struct ks_service *const clerk_services[] = { &clerk_service, NULL };

/* ---- the plugin ------------------------------------------------------------------------------ */

static bool is_stamped(const struct kobj *budget)
{
    return budget && kstrmap_get(&budget->meta.labels, "stamp");
}

static int plugin_create(const struct ks_env *env, const void *args, void **ret_self,
                         struct kerr *err)
{
    (void)args, (void)err;
    next_born->env = *env;
    *ret_self = next_born;
    return 0;
}

static enum ks_code clerk_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                     void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    struct sim_scheduler *s = self;
    const struct sim_pod *x = sim_pod_of(s->sim, p->pod->obj.meta.uid);
    char name[8];

    (void)c, (void)ret_state, (void)only;
    if (!x || x->app >= SIM_BUDGETS ||
        is_stamped(objects_get(s->env.objects, &kind_pdb, "ns", budget_name(x->app, name))))
        return KS_SKIP;
    s->sim->n.unstamped++;
    ks_texts_add(why, "the app's budget has no stamp");
    return KS_UNRESOLVABLE;
}

static bool clerk_worth(void *self, const struct ks_event *e, const struct pod *p)
{
    struct sim_scheduler *s = self;
    const struct sim_pod *x = sim_pod_of(s->sim, p->obj.meta.uid);
    char name[8];

    if (e->resource != KS_RES_OTHER || e->kind != &kind_pdb || e->now->kind != &kind_pdb)
        sim_fail(s->sim, "a hint was asked about another kind");
    return is_stamped(e->now) && (!x || streq(e->now->meta.name, budget_name(x->app, name)));
}

static const struct kind *const clerk_kinds[] = { &kind_pdb, NULL };
static const struct ks_hint clerk_hints[] = {
    { KS_RES_OTHER, KS_ADD | KS_UPDATE, clerk_worth, &kind_pdb },
};
const struct ks_plugin clerk_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Clerk",
    .kinds = clerk_kinds,
    .create = plugin_create,
    .services = clerk_services,
    .hints = clerk_hints,
    .nhints = ARRAY_LEN(clerk_hints),
    .pre_filter = clerk_pre_filter,
};

/* ---- the budgets ----------------------------------------------------------------------------- */

void clerk_new_budgets(struct sim *s)
{
    char name[8];

    for (int i = 0; i < SIM_BUDGETS; i++)
        fake_put(s->fake, PDBS, budget_name(i, name), "{}");
}

void clerk_unstamp(struct sim *s)
{
    char name[8];

    fake_patch(s->fake, PDBS, budget_name(sim_below(s, SIM_BUDGETS), name),
               "{\"metadata\":{\"labels\":{\"stamp\":null}}}");
}

void clerk_judge_write(struct sim *s, const struct sim_scheduler *by)
{
    s->n.stamped++;
    /* What it had sent may arrive a moment after its end. */
    bool late = !by->s && loop_mono(s->loop) - by->ended > 10 * NSEC_PER_MSEC;
    if (late || !by->leads)
        sim_fail(s, "%s stamped a budget and does not lead", by->agent);
}

void clerk_judge_end(struct sim *s)
{
    char name[8];

    for (int i = 0; i < SIM_BUDGETS; i++)
        if (!strstr(fake_find(s->fake, PDBS, budget_name(i, name)), "stamp"))
            sim_fail(s, "budget %s has no stamp", name);
}
