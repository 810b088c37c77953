/* candidates.c - which pods may be evicted, and who goes first (koordlet-qos 6.4, 6.5, 7.1, 8). */
#include "api/podresources.h"
#include "api/protocol/slo.h"
#include "base/num.h"
#include "koordlet/qos/evict/task_int.h"

struct candidate {
    uint32_t index;
    const struct npod *pod;
    enum evict_feature feature;
    int32_t eviction_priority, priority, label;
    double used, weight; /* weight: the last key, larger first */
};

/* ---- requests -------------------------------------------------------------------------------- */

enum evict_resource evict_resource_of(enum priority_class c, enum evict_usage what)
{
    bool cpu = what == EVICT_USED_CPU;

    if (c == PRIO_BATCH)
        return cpu ? EVICT_BATCH_CPU : EVICT_BATCH_MEMORY;
    if (c == PRIO_MID)
        return cpu ? EVICT_MID_CPU : EVICT_MID_MEMORY;
    return cpu ? EVICT_CPU_MILLI : EVICT_MEMORY_BYTES;
}

static int64_t one_request(const struct container *c, const char *name)
{
    return MAX(qty_value(reslist_get(&c->resources.requests, name)), INT64_C(0));
}

int64_t evict_extended_request(const struct pod *p, const char *name)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < p->spec->containers.n; i++)
        sum = i64_add_sat(sum, one_request(&p->spec->containers.items[i], name));
    for (uint32_t i = 0; i < p->spec->init_containers.n; i++)
        if (container_is_sidecar(&p->spec->init_containers.items[i]))
            sum = i64_add_sat(sum, one_request(&p->spec->init_containers.items[i], name));
    return sum;
}

int64_t evict_request(const struct npod *p, enum evict_usage what, struct arena *a)
{
    enum evict_resource r = evict_resource_of(p->priority, what);

    if (r != EVICT_CPU_MILLI && r != EVICT_MEMORY_BYTES)
        return evict_extended_request(npod_pod(p), evict_resource_names[r]);
    reslist native = pod_requests(npod_pod(p), NULL, a);
    return resource_count(evict_resource_names[r], reslist_get(&native, evict_resource_names[r]));
}

/* ---- order ----------------------------------------------------------------------------------- */

/* A total order: pods that are equal in all that counts go by UID. */
static int by_uid(const struct candidate *x, const struct candidate *y)
{
    return strcmp(x->pod->uid, y->pod->uid);
}

#define COMPARE(x, y) (((x) > (y)) - ((x) < (y)))

static int compare_spec_priority(const struct candidate *x, const struct candidate *y)
{
    struct opt_i32 p = npod_pod(x->pod)->spec->priority, q = npod_pod(y->pod)->spec->priority;

    return p.set && q.set ? COMPARE(p.v, q.v) : 0;
}

static int compare_be_cpu(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    int r = compare_spec_priority(x, y);

    if (r == 0)
        r = COMPARE(y->weight, x->weight);
    return r != 0 ? r : by_uid(x, y);
}

static int compare_be_memory(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    int r = compare_spec_priority(x, y);

    if (r == 0 && x->used == 0 && y->used == 0) /* upstream: the later name first */
        r = strcmp(npod_pod(y->pod)->obj.meta.name, npod_pod(x->pod)->obj.meta.name);
    else if (r == 0)
        r = COMPARE(y->used, x->used);
    return r != 0 ? r : by_uid(x, y);
}

static int compare_priority(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    int r = COMPARE(x->eviction_priority, y->eviction_priority);

    if (r == 0)
        r = COMPARE(x->priority, y->priority);
    if (r == 0)
        r = COMPARE(x->label, y->label);
    if (r == 0)
        r = COMPARE(y->weight, x->weight);
    return r != 0 ? r : by_uid(x, y);
}

static void put_sorted(struct candidate *c, uint32_t n, int (*compare)(const void *, const void *),
                       struct arena *a, struct evict_task *t)
{
    uint32_t *order = arena_newn0(a, n + 1, uint32_t);

    qsort(c, n, sizeof *c, compare);
    for (uint32_t i = 0; i < n; i++)
        order[i] = c[i].index;
    t->candidates = order;
    t->ncandidates = n;
}

/* ---- filters --------------------------------------------------------------------------------- */

static bool policy_allows(const struct npod *p, enum evict_feature f, struct arena *a)
{
    return eviction_policy_allows(&npod_pod(p)->obj.meta.annotations, evict_feature_names[f], a);
}

void evict_candidates_be(const struct evict_in *in, struct arena *a, struct evict_task *t)
{
    bool cpu = evict_feature_usage(t->feature) == EVICT_USED_CPU;
    struct candidate *found = arena_newn0(a, in->npods + 1, struct candidate);
    uint32_t n = 0;

    for (uint32_t i = 0; i < in->npods; i++) {
        const struct npod *p = in->pods[i];
        struct candidate c = { .index = i, .pod = p };
        if (pod_qos_class_raw(npod_pod(p)) != QOS_BE || !policy_allows(p, t->feature, a))
            continue;
        if (!in->used(in->arg, p, evict_feature_usage(t->feature), &c.used))
            c.used = 0;
        int64_t request = cpu ? evict_extended_request(npod_pod(p), RES_BATCH_CPU) : 0;
        c.weight = request > 0 ? c.used / (double)request : 0;
        found[n++] = c;
    }
    put_sorted(found, n, cpu ? compare_be_cpu : compare_be_memory, a, t);
}

static bool is_active(const struct pod *p)
{
    return p->status.phase == POD_PENDING || p->status.phase == POD_RUNNING;
}

void evict_candidates_priority(const struct evict_in *in, int32_t threshold, bool by_request,
                               struct arena *a, struct evict_task *t)
{
    enum evict_usage what = evict_feature_usage(t->feature);
    struct candidate *found = arena_newn0(a, in->npods + 1, struct candidate);
    uint32_t n = 0;

    for (uint32_t i = 0; i < in->npods; i++) {
        const struct npod *p = in->pods[i];
        const struct pod *pod = npod_pod(p);
        struct candidate c = { .index = i, .pod = p, .priority = pod_priority_value(pod) };
        if (c.priority > threshold || !eviction_enabled(&pod->obj.meta.labels) || !is_active(pod) ||
            !policy_allows(p, t->feature, a) || !in->used(in->arg, p, what, &c.used))
            continue;
        c.eviction_priority = eviction_priority(&pod->obj.meta.annotations);
        c.label = sub_priority_decimal(&pod->obj.meta.labels, c.priority);
        c.weight = by_request ? (double)evict_request(p, what, a) : c.used;
        found[n++] = c;
    }
    put_sorted(found, n, compare_priority, a, t);
}
