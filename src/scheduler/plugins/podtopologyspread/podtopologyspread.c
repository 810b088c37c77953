/* podtopologyspread.c - matching pods spread over zones, racks, nodes (scheduler-core 8.11). */
#include "api/core.h"
#include "api/workload.h"
#include "base/arena.h"
#include "scheduler/plugins/podtopologyspread/args.h"
#include "scheduler/plugins/podtopologyspread/spread.h"
#include "scheduler/plugins/registry.h"

/* The filter makes 2 of 1 by a shift. */
static const struct ks_reason spread_reasons[] = {
    { KS_SUCCESS, "" },
    { KS_UNSCHEDULABLE, "node(s) didn't match pod topology spread constraints" },
    { KS_UNRESOLVABLE,
      "node(s) didn't match pod topology spread constraints (missing required label)" },
};

static enum ks_code spread_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                      void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    struct kerr err = { 0 };
    struct spread_state *st = spread_state_new(self, c, p->pod, &err);

    (void)only;
    if (!st) {
        ks_texts_addf(why, "%s", err.text);
        return KS_ERROR;
    }
    *ret_state = st;
    return st->nhard ? KS_SUCCESS : KS_SKIP;
}

static bool spread_refresh(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                           const struct ks_dirty *d, bool *skip)
{
    (void)self, (void)skip; /* whether there are hard rules does not depend on rows */
    if (!spread_rows_hold(c->state, c, p->pod, d->rows, d->nnodes))
        return false;
    spread_recount(c->state, c, p->pod, d->rows, d->n);
    return true;
}

/* Below INT32_MAX, which stands for a missing label. */
static int32_t limit_of(const struct spread_rule *r)
{
    int64_t min = r->nknown < (uint32_t)MAX(r->min_domains, 0) ? 0 : r->min;

    return (int32_t)MIN(r->max_skew + min - r->self, (int64_t)INT32_MAX - 1);
}

/* The first rule that says no gives the reason. */
KOORD_CLONES static void check_rows(struct ks_span s, int32_t limit, const uint32_t *restrict at,
                                    const int32_t *restrict count, uint8_t *restrict why)
{
    for (uint32_t i = s.begin; i < s.end; i++) {
        unsigned no = (unsigned)(count[at[i]] > limit) << (at[i] == 0);
        why[i] = (uint8_t)(why[i] ? why[i] : no);
    }
}

static void spread_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                          struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    const struct spread_state *st = c->state;

    (void)self, (void)p, (void)skip;
    memset(why + s.begin, 0, s.end - s.begin);
    for (uint32_t k = 0; st && k < st->nhard; k++)
        check_rows(s, limit_of(&st->rules[k]), st->rules[k].at, st->rules[k].count, why);
}

static void spread_add_pod(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                           const struct pod *other, uint32_t row)
{
    (void)self;
    spread_shift(c->state, p->pod, other, row, 1);
}

static void spread_remove_pod(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                              const struct pod *other, uint32_t row)
{
    (void)self;
    spread_shift(c->state, p->pod, other, row, -1);
}

static const struct kind *const spread_kinds[] = {
    &kind_service, &kind_replicationcontroller, &kind_replicaset, &kind_statefulset, NULL,
};

const struct ks_plugin ks_plugin_pod_topology_spread = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "PodTopologySpread",
    .reasons = spread_reasons,
    .reuse = KS_REUSE_DOMAIN,
    .kinds = spread_kinds,
    .args = &spread_args,
    .create = spread_create,
    .destroy = free,
    .hints = spread_hints,
    .nhints = SPREAD_HINTS,
    .pre_filter = spread_pre_filter,
    .refresh = spread_refresh,
    .filter = spread_filter,
    .add_pod = spread_add_pod,
    .remove_pod = spread_remove_pod,
    .pre_score = spread_pre_score,
    .score = spread_score,
    .normalize = spread_normalize,
};
