/* limiter.c - how many pods a round has evicted: of a node, of a namespace, in all. */
#include "descheduler/framework/evictor.h"

#include "base/map.h"
#include "base/vec.h"

struct tally {
    uint64_t n;
    char name[];
};
struct limiter {
    struct kd_limits limits;
    struct map nodes, namespaces; /* struct tally */
    uint64_t total;
};

struct limiter *limiter_new(void)
{
    return xnew0(struct limiter);
}

static void clear(struct map *m)
{
    map_foreach(m, e)
        free(e->value);
    map_fini(m);
    *m = (struct map){ 0 };
}

void limiter_reset(struct limiter *l)
{
    clear(&l->nodes);
    clear(&l->namespaces);
    l->total = 0;
}

struct limiter *limiter_free(struct limiter *l)
{
    if (!l)
        return NULL;
    limiter_reset(l);
    free(l);
    return NULL;
}

void limiter_set(struct limiter *l, const struct kd_limits *limits)
{
    l->limits = *limits;
}

uint64_t limiter_count(const struct limiter *l)
{
    return l->total;
}

static uint64_t tally_of(const struct map *m, const char *name)
{
    const struct tally *t = map_getz(m, name);
    return t ? t->n : 0;
}

static void tally_add(struct map *m, const char *name)
{
    struct tally *t = map_getz(m, name);

    if (!t) {
        size_t n = strlen(name) + 1;
        t = xcalloc(1, sizeof *t + n);
        memcpy(t->name, name, n);
        map_putz(m, t->name, t);
    }
    t->n++;
}

static bool is_reached(struct opt_i64 limit, uint64_t n)
{
    return limit.set && n + 1 > (uint64_t)MAX(limit.v, 0);
}

bool limiter_allows(const struct limiter *l, const struct pod *p, struct kd_why *why)
{
    if (*p->node_name && is_reached(l->limits.per_node, tally_of(&l->nodes, p->node_name)))
        return kd_no(why, "maximum number of evicted pods per node reached: %lld",
                     (long long)l->limits.per_node.v);
    if (is_reached(l->limits.per_namespace, tally_of(&l->namespaces, p->obj.meta.ns)))
        return kd_no(why, "maximum number of evicted pods per namespace reached: %lld",
                     (long long)l->limits.per_namespace.v);
    if (is_reached(l->limits.total, l->total))
        return kd_no(why, "maximum number of evicted pods in a round reached: %lld",
                     (long long)l->limits.total.v);
    return true;
}

void limiter_add(struct limiter *l, const struct pod *p)
{
    if (*p->node_name)
        tally_add(&l->nodes, p->node_name);
    tally_add(&l->namespaces, p->obj.meta.ns);
    l->total++;
}
