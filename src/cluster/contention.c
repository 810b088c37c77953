/* contention.c - CPU shared by weight, and best effort held back. */
#include "cluster/contention.h"

#include "api/koord/nodeslo.h"
#include "base/num.h"

enum {
    SHARES_PER_CORE = 1024,
    SHARES_MIN = 2,
    CPUSET_STEP = 1000, /* the policy cpuset gives whole CPUs */
    CPUSET_MIN = 2000,  /* and never fewer than two */
    QUOTA_MIN = 20      /* the policy cfsQuota leaves 2 ms in 100 ms */
};

int64_t cpu_weight(int64_t request_mcpu)
{
    return MAX(i64_muldiv(request_mcpu, SHARES_PER_CORE, 1000), (int64_t)SHARES_MIN);
}

int64_t cpu_suppressed(const struct threshold_strategy *slo, int64_t node_mcpu, int64_t others_mcpu,
                       int64_t system_mcpu)
{
    if (!slo || !slo->enable.set || !slo->enable.v)
        return INT64_MAX;
    int64_t percent = slo->cpu_suppress_threshold_percent.set
                          ? slo->cpu_suppress_threshold_percent.v
                          : threshold_strategy_default.cpu_suppress_threshold_percent.v;
    int64_t left = i64_muldiv(node_mcpu, percent, 100) - others_mcpu - system_mcpu;

    if (slo->cpu_suppress_min_percent.set)
        left = MAX(left, i64_muldiv(node_mcpu, slo->cpu_suppress_min_percent.v, 100));
    if (slo->cpu_suppress_policy && streq(slo->cpu_suppress_policy, "cfsQuota"))
        return MAX(left, (int64_t)QUOTA_MIN);
    left = (MAX(left, INT64_C(0)) + CPUSET_STEP - 1) / CPUSET_STEP * CPUSET_STEP;
    return MAX(left, (int64_t)CPUSET_MIN);
}

/* ---- sharing --------------------------------------------------------------------------------- */

struct pot { /* what is left, and the weight of those who still want more */
    int64_t mcpu, weight;
};

/* Who wants no more than a share by weight gets all of it. Returns whether that left more for
 * others. */
static bool settle(struct cpu_claim *c, const struct pot *at, struct pot *next)
{
    if (c->got_mcpu >= 0 || c->want_mcpu > i64_muldiv(at->mcpu, c->weight, at->weight))
        return false;
    c->got_mcpu = c->want_mcpu;
    next->mcpu -= c->want_mcpu;
    next->weight -= c->weight;
    return true;
}

static void divide(struct cpu_claim *c, const struct pot *p)
{
    if (c->got_mcpu < 0)
        c->got_mcpu = i64_muldiv(MAX(p->mcpu, INT64_C(0)), c->weight, p->weight);
}

/* One claim more than the list has, or NULL: that of the group of best effort. */
static void fill(claimvec *list, struct cpu_claim *more, int64_t mcpu)
{
    struct pot p = { mcpu, more ? more->weight : 0 };
    bool again = true;

    vec_foreach(list, i) {
        list->items[i].got_mcpu = -1;
        p.weight += list->items[i].weight;
    }
    if (more)
        more->got_mcpu = -1;
    while (again && p.weight > 0) {
        struct pot next = p;
        again = more && settle(more, &p, &next);
        vec_foreach(list, i)
            again |= settle(&list->items[i], &p, &next);
        p = next;
    }
    vec_foreach(list, i)
        divide(&list->items[i], &p);
    if (more)
        divide(more, &p);
}

void cpu_share(claimvec *others, claimvec *be, int64_t mcpu, int64_t be_max)
{
    struct cpu_claim group = { .weight = SHARES_MIN };

    vec_foreach(be, i)
        group.want_mcpu = i64_add_sat(group.want_mcpu, be->items[i].want_mcpu);
    group.want_mcpu = MIN(group.want_mcpu, be_max);
    fill(others, &group, mcpu);
    fill(be, NULL, group.got_mcpu);
}
