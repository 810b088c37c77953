/* score.c - how much of a node, or of its NUMA nodes, is left after the pod (sched-numa 8.1). */
#include "api/protocol/node.h"
#include "base/num.h"
#include "scheduler/plugins/nodenumaresource/numaresource.h"

static int64_t share(enum numa_strategy strategy, int64_t requested, int64_t capacity)
{
    if (strategy == NUMA_MOST_ALLOCATED)
        return MIN(requested, capacity) * KS_SCORE_MAX / capacity;
    return requested > capacity ? 0 : (capacity - requested) * KS_SCORE_MAX / capacity;
}

/* Resources that a pod may not ask for count only when it does. */
static bool counts(uint32_t resource, const struct numa_request *r)
{
    return resource == NUMA_RES_CPU || resource == NUMA_RES_MEMORY || r->asks >> resource & 1;
}

int64_t numa_score_of(const struct numa_plugin *n, enum numa_strategy strategy,
                      const struct numa_request *r, const struct numa_sums *sums)
{
    const struct scoring_strategy *by = n->args->node; /* of the zones only the type counts */
    int64_t sum = 0, weights = 0;

    for (uint32_t i = 0; i < by->resources.n; i++) {
        int res = numa_names_find(&n->grants->names, by->resources.items[i].name);
        if (res < 0 || !counts((uint32_t)res, r) || sums->capacity[res] <= 0)
            continue;
        int64_t weight = by->resources.items[i].weight;
        int64_t requested = i64_add_sat(sums->requested[res], r->amount[res]);
        sum += weight * share(strategy, requested, sums->capacity[res]);
        weights += weight;
    }
    return weights ? sum / weights : 0;
}

static void sums_of_node(const struct numa_plugin *n, const struct ks_cycle *c, uint32_t row,
                         struct numa_sums *sums)
{
    *sums = (struct numa_sums){ 0 };
    for (uint32_t res = 0; res < n->grants->names.n; res++) {
        uint32_t column = ks_column_of(c->nodes, n->grants->names.name[res]);
        if (column == KS_NO_COLUMN)
            continue;
        sums->requested[res] = c->nodes->used[column][row];
        sums->capacity[res] = c->nodes->alloc[column][row];
    }
}

static void sums_of_zones(const struct stock *s, const struct numa_allocation *x,
                          struct numa_sums *sums)
{
    uint64_t mask = 0;

    *sums = (struct numa_sums){ 0 };
    for (uint32_t i = 0; i < x->nparts; i++)
        mask |= UINT64_C(1) << x->part[i].numa_id;
    for (uint32_t z = 0; z < s->site->nzones; z++) {
        if (!(mask >> s->site->zone[z].id & 1))
            continue;
        for (uint32_t res = 0; res < NUMA_RESOURCES; res++) {
            sums->requested[res] = i64_add_sat(sums->requested[res], s->zone[z].held[res]);
            sums->capacity[res] += s->site->zone[z].capacity[res];
        }
    }
}

/* No NUMA policy: the node as a whole, with bound CPUs as they weigh. */
static int64_t score_node(const struct numa_plugin *n, const struct ks_cycle *c,
                          const struct stock *s, const struct numa_request *r, uint32_t row)
{
    struct numa_sums sums;
    int64_t bound = 1000 * (int64_t)s->ntaken;

    sums_of_node(n, c, row, &sums);
    if (r->amount[NUMA_RES_CPU])
        sums.requested[NUMA_RES_CPU] += amplify(bound, s->site->ratio) - bound;
    return numa_score_of(n, n->node_strategy, r, &sums);
}

static int64_t score_row(struct numa_plugin *n, const struct ks_cycle *c, const struct ks_pod *p,
                         uint32_t row)
{
    const struct stock *s = ks_row(c->rows, row);
    const struct incoming *in = c->state;
    struct numa_allocation x;
    struct numa_request r;
    struct numa_sums sums;
    enum numa_policy policy;
    uint64_t mask = 0;

    if (!incoming_policy(in, s, &policy) || !incoming_on(n, in, s, &r) ||
        (r.bind && !s->site->machine) || s->site->flags & SITE_BAD_RATIO)
        return 0;
    if (policy == NUMA_POLICY_NONE)
        return score_node(n, c, s, &r, row);
    if (policy != NUMA_POLICY_BEST_EFFORT && !in->designated &&
        (s->site->nzones == 0 || numa_place(n, c, p, row, policy, &mask, NULL) != KS_SUCCESS))
        return 0;
    const struct numa_try t = { n, c, p, row, &r };
    /* Which pods a reservation takes over is not known before its node is. */
    enum ks_code code = numa_takes_over(&t) ? numa_try(&t, mask, &x, NULL)
                                            : numa_try_of(&t, ks_nominated(c, row), mask, &x, NULL);
    if (code != KS_SUCCESS)
        return 0;
    if (x.nparts)
        sums_of_zones(s, &x, &sums);
    else
        sums_of_node(n, c, row, &sums);
    if (!cpuset_is_empty(&x.cpus))
        sums.requested[NUMA_RES_CPU] = amplify(1000 * (int64_t)s->ntaken, s->site->zone_ratio);
    return numa_score_of(n, n->node_strategy, &r, &sums);
}

void numa_score(void *self, const struct ks_cycle *c, const struct ks_pod *p, struct ks_span s,
                int64_t *restrict out)
{
    for (uint32_t i = s.begin; i < s.end; i++)
        out[i] = c->state ? score_row(self, c, p, i) : 0;
}
