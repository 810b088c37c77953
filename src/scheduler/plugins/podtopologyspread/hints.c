/* hints.c - what may help a pod that hard rules rejected (scheduler-core 3.6). */
#include "api/node.h"
#include "api/selector/selector.h"
#include "base/arena.h"
#include "scheduler/plugins/podtopologyspread/spread.h"

static bool concerns(const struct ks_event *e, const struct kobj *o, const struct pod *p)
{
    const struct pod *other = pod_of(o);

    if (kuid_equal(o->meta.uid, p->obj.meta.uid))
        return true;
    /* A pod that was only assumed has no node in its object. */
    return (e->resource == KS_RES_ASSIGNED_POD || !str_empty(other->node_name)) &&
           streq(o->meta.ns, p->obj.meta.ns);
}

static bool honors_taints(const struct spread_rules *rules)
{
    for (uint32_t i = 0; i < rules->n; i++)
        if (rules->items[i].honor_taints)
            return true;
    return false;
}

static bool matches(const struct spread_rule *r, const struct kobj *o)
{
    return o && labelsel_matches(r->selector, &o->meta.labels);
}

/* It counts now and did not before, or the other way round. */
static bool worth_pod(void *self, const struct ks_event *e, const struct pod *p)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct spread_rules rules;

    if ((e->before && !concerns(e, e->before, p)) || (e->now && !concerns(e, e->now, p)))
        return false;
    if (spread_rules_of(self, p, SPREAD_DO_NOT_SCHEDULE, a, &rules, NULL) < 0)
        return true;
    if (e->action == KS_POD_TOLERATION)
        return kuid_equal(e->now->meta.uid, p->obj.meta.uid) && honors_taints(&rules);
    for (uint32_t i = 0; i < rules.n; i++)
        if (matches(&rules.items[i], e->before) != matches(&rules.items[i], e->now))
            return true;
    return false;
}

static bool has_all_keys(const struct spread_rules *rules, const struct kobj *node)
{
    for (uint32_t i = 0; node && i < rules->n; i++)
        if (!kstrmap_get(&node->meta.labels, rules->items[i].key))
            return false;
    return node;
}

static bool moved(const struct spread_rules *rules, const struct kobj *before,
                  const struct kobj *now)
{
    for (uint32_t i = 0; i < rules->n; i++)
        if (!streq(kstrmap_get(&before->meta.labels, rules->items[i].key),
                   kstrmap_get(&now->meta.labels, rules->items[i].key)))
            return true;
    return false;
}

static bool worth_node(void *self, const struct ks_event *e, const struct pod *p)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct spread_rules rules;

    if (spread_rules_of(self, p, SPREAD_DO_NOT_SCHEDULE, a, &rules, NULL) < 0)
        return true;
    bool had = has_all_keys(&rules, e->before), has = has_all_keys(&rules, e->now);
    if (had != has)
        return true;
    return has && (e->action == KS_NODE_TAINT || moved(&rules, e->before, e->now));
}

const struct ks_hint spread_hints[SPREAD_HINTS] = {
    { KS_RES_POD, KS_ADD | KS_DELETE | KS_POD_LABEL | KS_POD_TOLERATION, worth_pod },
    { KS_RES_NODE, KS_ADD | KS_DELETE | KS_NODE_LABEL | KS_NODE_TAINT, worth_node },
};
