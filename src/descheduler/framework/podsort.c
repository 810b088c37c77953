/* podsort.c - the eight rules by which pods are ordered. */
#include "descheduler/framework/podsort.h"

#include "api/protocol/keys.h"
#include "api/protocol/migration.h"
#include "api/protocol/pod_protocol.h"
#include "base/num.h"

/* What is free goes before what runs production; none at all goes last. */
static uint8_t rank_of_class(enum priority_class c)
{
    static const uint8_t ranks[PRIO_COUNT] = {
        [PRIO_FREE] = 1, [PRIO_BATCH] = 2, [PRIO_MID] = 3, [PRIO_PROD] = 4, [PRIO_NONE] = 5
    };
    return ranks[c];
}

static uint8_t rank_of_kube_qos(enum kube_qos q)
{
    switch (q) {
    case KUBE_QOS_BEST_EFFORT: return 1;
    case KUBE_QOS_BURSTABLE: return 2;
    case KUBE_QOS_GUARANTEED: return 3;
    case KUBE_QOS_NONE: break;
    }
    return 0;
}

static uint8_t rank_of_koord_qos(enum qos_class q)
{
    static const uint8_t ranks[QOS_COUNT] = {
        [QOS_BE] = 1, [QOS_LS] = 2, [QOS_LSR] = 3, [QOS_LSE] = 4, [QOS_SYSTEM] = 4, [QOS_NONE] = 5
    };
    return ranks[q];
}

/* As the controllers of Kubernetes read it: a 32-bit number without a plus or leading zeros. */
static int64_t deletion_cost(const struct pod *p)
{
    const char *text = kstrmap_get(&p->obj.meta.annotations, ANNO_POD_DELETION_COST);
    int32_t cost = 0;

    return text && eviction_cost_parse(text, &cost, NULL) == 0 ? cost : 0;
}

struct podrank podrank_of(const struct pod *p)
{
    struct podrank r = {
        .pod = p,
        .priority = pod_priority(p),
        .deletion_cost = deletion_cost(p),
        .priority_class = rank_of_class(pod_priority_class(p)),
        .kube_qos = rank_of_kube_qos(pod_qos(p)),
        .koord_qos = rank_of_koord_qos(pod_qos_class(p)),
    };

    (void)eviction_cost(&p->obj.meta.annotations, &r.eviction_cost, NULL);
    return r;
}

static int cmp_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* More first; none at all behind. */
static int cmp_score(const struct podrank *a, const struct podrank *b)
{
    if (a->has_score != b->has_score)
        return a->has_score ? -1 : 1;
    return a->has_score ? (a->score < b->score) - (a->score > b->score) : 0;
}

int podrank_compare(const struct podrank *a, const struct podrank *b)
{
    int r = cmp_i64(a->priority_class, b->priority_class);

    if (r == 0)
        r = cmp_i64(a->priority, b->priority);
    if (r == 0)
        r = cmp_i64(a->kube_qos, b->kube_qos);
    if (r == 0)
        r = cmp_i64(a->koord_qos, b->koord_qos);
    if (r == 0)
        r = cmp_i64(a->deletion_cost, b->deletion_cost);
    if (r == 0)
        r = cmp_i64(a->eviction_cost, b->eviction_cost);
    if (r == 0)
        r = cmp_score(a, b);
    return r ? r : cmp_i64(b->pod->obj.meta.created, a->pod->obj.meta.created);
}

static int compare(const void *x, const void *y)
{
    const struct podrank *a = x, *b = y;
    int r = podrank_compare(a, b);

    if (r == 0)
        r = cmp_i64(a->moved, b->moved);
    if (r == 0)
        r = strcmp(a->pod->obj.meta.ns, b->pod->obj.meta.ns);
    return r ? r : strcmp(a->pod->obj.meta.name, b->pod->obj.meta.name);
}

void podrank_sort(struct podrank *items, size_t n)
{
    if (n)
        qsort(items, n, sizeof *items, compare);
}
