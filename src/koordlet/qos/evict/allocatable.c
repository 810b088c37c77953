/* allocatable.c - eviction because more was promised than the node has left: CPUAllocatableEvict
 * and MemoryAllocatableEvict (koordlet-qos 6.6, 7.3, 8). */
#include "base/num.h"
#include "koordlet/qos/evict/task_int.h"

enum {
    PRIORITY_MAX = 7999
}; /* the last value of koord-mid: koord-prod is never evicted for this */

/* Nobody is evicted for native cpu and memory, whatever the pods below the threshold ask of them.
 */
static const enum evict_resource cpus[] = { EVICT_BATCH_CPU, EVICT_MID_CPU };
static const enum evict_resource memories[] = { EVICT_BATCH_MEMORY, EVICT_MID_MEMORY };

struct limits {
    int64_t threshold, lower; /* percent */
    int32_t priority;
};

static int check(const struct threshold_strategy *s, bool cpu, struct limits *ret, struct kerr *err)
{
    struct opt_i64 threshold = cpu ? s->cpu_allocatable_evict_threshold_percent
                                   : s->memory_allocatable_evict_threshold_percent;
    struct opt_i64 lower =
        cpu ? s->cpu_allocatable_evict_lower_percent : s->memory_allocatable_evict_lower_percent;
    struct opt_i32 priority = s->allocatable_evict_priority_threshold;
    const char *what = cpu ? "CPU" : "Memory";

    if (!threshold.set)
        return kerr_set(err, -EINVAL, "%sAllocatableEvictThresholdPercent not config", what);
    if (!lower.set)
        return kerr_set(err, -EINVAL, "%sAllocatableEvictLowerPercent not config", what);
    if (threshold.v < 0)
        return kerr_set(err, -EINVAL, "threshold percent(%lld) should equal or greater than 0",
                        (long long)threshold.v);
    if (lower.v >= threshold.v)
        return kerr_set(err, -EINVAL,
                        "lower percent(%lld) should less than threshold percent(%lld)",
                        (long long)lower.v, (long long)threshold.v);
    if (!priority.set)
        return kerr_set(err, -EINVAL, "AllocatableEvictPriorityThreshold not config");
    if (priority.v > PRIORITY_MAX)
        return kerr_set(err, -EINVAL,
                        "priorityThresholdPercent(%d) should less than 7999, koor-prod pods should "
                        "not be killed",
                        priority.v);
    *ret = (struct limits){ threshold.v, lower.v, priority.v };
    return 0;
}

/* What to release of a resource of which so much was asked for; 0: nothing. */
static int64_t excess(const struct evict_in *in, enum evict_resource r, int64_t asked,
                      const struct limits *l, bool cpu)
{
    const struct qty *q = reslist_find(&in->node->status.allocatable, evict_resource_names[r]);
    int64_t have = q ? resource_count(evict_resource_names[r], *q) : 0;

    if (have == 0)
        return asked;
    double sum = (double)asked, alloc = (double)have, lower = (double)l->lower / 100;
    if (sum / alloc <= (double)l->threshold / 100)
        return 0;
    return i64_from_f64(cpu ? sum - lower * alloc : (sum / alloc - lower) * alloc);
}

int evict_make_allocatable(const struct evict_in *in, struct arena *a, struct evict_task *t,
                           struct kerr *err)
{
    enum evict_usage what = evict_feature_usage(t->feature);
    bool cpu = what == EVICT_USED_CPU;
    struct evict_amounts asked = { .has = 0 };
    struct limits l = { 0 };
    int r = check(in->slo, cpu, &l, err);

    if (r < 0)
        return r;
    struct evict_amounts *gives = arena_newn0(a, in->npods + 1, struct evict_amounts);
    for (uint32_t i = 0; i < in->npods; i++) {
        const struct npod *p = in->pods[i];
        enum evict_resource mine = evict_resource_of(p->priority, what);
        if (p->priority != PRIO_BATCH && p->priority != PRIO_MID)
            continue;
        evict_put(&gives[i], mine, evict_request(p, what, a));
        if (pod_priority_value(npod_pod(p)) <= l.priority)
            evict_put(&asked, mine, i64_add_sat(asked.v[mine], gives[i].v[mine]));
    }
    for (size_t i = 0; i < ARRAY_LEN(cpus); i++) {
        enum evict_resource one = cpu ? cpus[i] : memories[i];
        int64_t more = evict_has(&asked, one) ? excess(in, one, asked.v[one], &l, cpu) : 0;
        if (more > 0)
            evict_put(&t->to_release, one, more);
    }
    if (t->to_release.has == 0)
        return 0;
    for (uint32_t i = 0; i < in->npods; i++)
        if (!evict_has(&t->to_release, evict_resource_of(in->pods[i]->priority, what)))
            gives[i] = (struct evict_amounts){ .has = 0 };
    t->kind = EVICT_POD_REQUEST;
    t->gives = gives;
    evict_candidates_priority(in, l.priority, true, a, t);
    return 1;
}
