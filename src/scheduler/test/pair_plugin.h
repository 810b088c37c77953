/* pair_plugin.h - a plugin that makes room for two pods at once, each on a node of its own: for
 * tests of plans over several nodes. Pods whose names begin with 'g' are a pair.
 */
#ifndef KOORD_SCHEDULER_TEST_PAIR_PLUGIN_H
#define KOORD_SCHEDULER_TEST_PAIR_PLUGIN_H
#include "scheduler/test/engine_fixture.h"

#include "base/arena.h"
#include "scheduler/framework/preemption.h"
#include "scheduler/plugins/registry.h"

enum { PAIR = 2 };
static struct pair_plugin {
    struct ks_env env;
    struct kobj *members[PAIR];
    const char *spared;  /* a pod that is never a victim */
    const char *rejects; /* a pod that is rejected when the outcome is told */
    struct engine_fixture *engine;
    int plans, outcomes;
    enum ks_code code; /* of the last outcome */
    char message[512];
    int carried_out;  /* plans */
    uint32_t nodes;   /* of the last of them */
    uint64_t victims; /* that were evicted before it was told */
} pair;

static int pair_create(const struct ks_env *env, const void *args, void **ret_self,
                       struct kerr *err)
{
    (void)args, (void)err;
    pair.env = *env;
    *ret_self = &pair;
    return 0;
}

static void pair_destroy(void *self)
{
    (void)self;
    for (int i = 0; i < PAIR; i++)
        pair.members[i] = kobj_unref(pair.members[i]);
}

/* Whoever comes to the queue is remembered. */
static enum ks_code pair_pre_enqueue(void *self, const struct pod *p, struct ks_texts *why)
{
    struct kobj *o = (struct kobj *)&p->obj;

    (void)self, (void)why;
    if (*o->meta.name != 'g')
        return KS_SUCCESS;
    for (int i = 0; i < PAIR; i++) {
        if (pair.members[i] && !kuid_equal(pair.members[i]->meta.uid, o->meta.uid))
            continue;
        kobj_ref(o);
        kobj_unref(pair.members[i]);
        pair.members[i] = o;
        break;
    }
    return KS_SUCCESS;
}

static bool pair_may_evict(void *arg, const struct attempt *a, const struct pod *victim,
                           uint32_t row)
{
    (void)arg, (void)row;
    return pod_priority(victim) < pod_priority(a->pod.pod) &&
           !(pair.spared && streq(victim->obj.meta.name, pair.spared));
}

/* One node after the other gives room for one of them. They are equal. */
static enum ks_code pair_plan(void *self, struct attempt *a, struct preemption *ret,
                              struct ks_texts *why)
{
    struct preemption_node *nodes = arena_newn0(a->arena, PAIR, struct preemption_node);
    const struct preemption_rules rules = { .may_evict = pair_may_evict };
    struct dry_run d = { .a = a, .rules = &rules };
    struct victims v;
    uint32_t n = 0;

    (void)self;
    if (*a->obj->meta.name != 'g' || !pair.members[0] || !pair.members[1])
        return KS_UNSCHEDULABLE;
    pair.plans++;
    for (uint32_t row = 0; row < a->n && n < PAIR; row++) {
        if (dry_run_row(&d, row, &v, why) != KS_SUCCESS || v.n == 0)
            continue;
        nodes[n] = (struct preemption_node){
            .node = a->cycle.nodes->node[row]->obj.meta.name,
            .victims = memcpy(arena_newn0(a->arena, v.n, const struct pod *), v.pods,
                              v.n * sizeof *v.pods),
            .n = v.n,
            .nominees = &pair.members[n],
            .nnominees = 1,
        };
        n++;
    }
    if (n < PAIR)
        return KS_UNSCHEDULABLE;
    *ret = (struct preemption){ .nodes = nodes, .n = n, .reason = "two are coming" };
    return KS_SUCCESS;
}

static void pair_after(void *self, const struct pod *p, const struct post_filter_outcome *o)
{
    (void)self, (void)p;
    pair.outcomes++;
    pair.code = o->code;
    if (o->plan) {
        assert_int_equal(o->code, KS_SUCCESS);
        pair.carried_out++;
        pair.nodes = o->plan->n;
        pair.victims = scheduler_stats(pair.engine->s).victims;
    }
    (void)snprintf(pair.message, sizeof pair.message, "%s", o->message);
    if (pair.rejects)
        ks_reject(&pair.env, engine_uid(pair.engine, pair.rejects), "Pair", "not alone");
}

static const struct ks_post_filter pair_post_filter = { pair_plan, pair_after };
static const struct ks_hint pair_hints[] = { { KS_RES_NODE, KS_ADD, NULL } };
static const struct ks_plugin pair_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Pair",
    .create = pair_create,
    .destroy = pair_destroy,
    .pre_enqueue = pair_pre_enqueue,
    .hints = pair_hints,
    .nhints = ARRAY_LEN(pair_hints),
    .post_filter = &pair_post_filter,
    .seeks_victims = true,
};
#endif
