/* sim_scheduler_clerk.c - a plugin with a controller: it stamps disruption budgets (which select no
 * pods), again and again, because the run takes the stamps away. Only a scheduler that leads may.
 */
#include "sim_scheduler.h"

#include <stdio.h>

#include "api/policy.h"
#include "base/strbuf.h"
#include "controllers/controller.h"

#define PDBS "/apis/policy/v1/namespaces/ns/poddisruptionbudgets"

static struct sim_scheduler *next_born;

void clerk_for(struct sim_scheduler *s)
{
    next_born = s;
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

static void clerk_post_bind(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)p, (void)node;
}

const struct ks_plugin clerk_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Clerk",
    .services = clerk_services,
    .post_bind = clerk_post_bind,
};

/* ---- the budgets ----------------------------------------------------------------------------- */

static const char *budget_name(int i, char name[8])
{
    (void)snprintf(name, 8, "b%d", i % 10);
    return name;
}

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
    if (!by->s || !by->leads)
        sim_fail(s, "%s stamped a budget and does not lead", by->agent);
}

void clerk_judge_end(struct sim *s)
{
    char name[8];

    for (int i = 0; i < SIM_BUDGETS; i++)
        if (!strstr(fake_find(s->fake, PDBS, budget_name(i, name)), "stamp"))
            sim_fail(s, "budget %s has no stamp", name);
}
