/* batch.c - plugin BatchResource: what prod pods leave unused, for batch pods (manager 5.1). */
#include "api/protocol/node.h"
#include "manager/noderesource/plugin.h"
#include "json/kj.h"

#define DEGRADED                                                     \
    "degrade node resource because of abnormal nodeMetric, reason: " \
    "degradedByBatchResource"

static enum nr_policy policy_of(const char *word, bool by_request)
{
    if (word && streq(word, "maxUsageRequest"))
        return NR_BY_MAX_USAGE_REQUEST;
    if (word && by_request && streq(word, "request"))
        return NR_BY_REQUEST;
    return NR_BY_USAGE;
}

const char *nr_policy_name(enum nr_policy p)
{
    static const char *const names[] = { "usage", "maxUsageRequest", "request" };
    return names[p];
}

/* ---- the formula ------------------------------------------------------------------------------
 */

static struct qty formula_of(enum nr_policy p, struct qty base, struct qty system,
                             struct qty reserved, struct qty used, struct qty max,
                             struct qty request)
{
    switch (p) {
    case NR_BY_REQUEST: return qty_sub(qty_sub(base, reserved), request);
    case NR_BY_MAX_USAGE_REQUEST: return qty_sub(qty_sub(base, system), max);
    default: return qty_sub(qty_sub(base, system), used);
    }
}

void nr_batch_formula(const struct colocation_strategy *s, struct nr_batch_terms *t)
{
    int64_t cpu = nr_percent(s->cpu_reclaim_threshold_percent, 60);
    int64_t memory = nr_percent(s->memory_reclaim_threshold_percent, 65);

    t->cpu_policy = (uint8_t)policy_of(s->cpu_calculate_policy, false);
    t->memory_policy = (uint8_t)policy_of(s->memory_calculate_policy, true);
    t->cpu_limit_percent = s->batch_cpu_threshold_percent;
    t->memory_limit_percent = s->batch_memory_threshold_percent;
    t->margin = nr_scale(t->capacity, percent_ratio(i64_sub_sat(100, cpu)),
                         percent_ratio(i64_sub_sat(100, memory)));
    t->system_or_reserved = nr_max(t->system, t->reserved);

    struct nr_amount base = nr_sub(t->capacity, t->margin);
    t->formula = nr_clamp((struct nr_amount){
        formula_of((enum nr_policy)t->cpu_policy, base.cpu, t->system_or_reserved.cpu,
                   t->reserved.cpu, t->hp.used.cpu, t->hp.max.cpu, t->hp.request.cpu),
        formula_of((enum nr_policy)t->memory_policy, base.memory, t->system_or_reserved.memory,
                   t->reserved.memory, t->hp.used.memory, t->hp.max.memory,
                   t->hp.request.memory) });
    t->result = t->formula;
    if (t->cpu_limit_percent.set)
        t->result.cpu = qty_min(
            t->result.cpu, qty_scale_milli(t->capacity.cpu, percent_ratio(t->cpu_limit_percent.v)));
    if (t->memory_limit_percent.set)
        t->result.memory =
            qty_min(t->result.memory,
                    qty_scale_value(t->capacity.memory, percent_ratio(t->memory_limit_percent.v)));
}

/* A pod without a metric counts with its request in what is used, but not in the maximum of use and
 * request: upstream's inconsistency, kept because capacity is compared with upstream's. */
static void sum_hp(const struct nr_hp_set *set, struct nr_hp *hp)
{
    hp->pods = (uint32_t)set->npods;
    for (size_t i = 0; i < set->npods; i++) {
        const struct nr_hp_pod *p = &set->pods[i];
        hp->request = nr_add(hp->request, p->request);
        if (!p->measured) {
            hp->used = nr_add(hp->used, p->request);
            hp->unmeasured = nr_add(hp->unmeasured, p->request);
            hp->unmeasured_pods++;
            if (p->fresh)
                hp->fresh = nr_add(hp->fresh, p->request);
            continue;
        }
        hp->used = nr_add(
            hp->used, (struct nr_amount){ p->lse ? p->request.cpu : p->used.cpu, p->used.memory });
        hp->max = nr_add(hp->max, nr_max(p->request, p->used));
    }
    hp->dangling_metrics = (uint32_t)set->ndangling;
    for (size_t i = 0; i < set->ndangling; i++)
        hp->dangling = nr_add(hp->dangling, set->dangling[i]);
    hp->used = nr_add(hp->used, hp->dangling);
    hp->max = nr_add(hp->max, hp->dangling);
}

static void batch_reset(struct nr_result *r)
{
    nr_reset(r, NR_BATCH_CPU);
    nr_reset(r, NR_BATCH_MEMORY);
}

static int batch_calculate(const struct nr_input *in, struct arena *a, struct nr_result *r,
                           struct kerr *err)
{
    struct nr_batch_terms *t = &r->batch;
    const char *problem = nr_metric_problem(in, r->strategy, a);
    struct nr_hp_set hp;

    (void)err;
    if (problem) {
        batch_reset(r);
        r->outcome[NR_BATCH].reset = DEGRADED;
        r->outcome[NR_BATCH].reset_why = problem;
        return 0;
    }
    t->capacity = nr_amount_of(&in->node->status.capacity);
    t->system = nr_system_used(in->metric, PRIO_BATCH, &t->host_apps);
    t->kubelet_reserved = nr_kubelet_reserved(in->node);
    t->annotation_reserved = nr_annotation_reserved(in->node, a);
    t->reserved = nr_max(t->kubelet_reserved, t->annotation_reserved);
    nr_hp_collect(in, r->strategy, a, &hp);
    sum_hp(&hp, &t->hp);
    nr_batch_formula(r->strategy, t);
    if (r->extension.damping.enable)
        nr_batch_damp(in, a, r);
    nr_set(r, NR_BATCH_CPU, qty_from_i64(qty_milli(t->result.cpu), QTY_DECIMAL_SI));
    nr_set(r, NR_BATCH_MEMORY, t->result.memory);
    if (in->topology)
        nr_batch_zones(in, r->strategy, &hp, t, a, r);
    return 0;
}

/* ---- what the node should say -----------------------------------------------------------------
 */

static struct nr_item origin_of(const struct nr_want *w)
{
    if (w->act == NR_SET)
        return (struct nr_item){ NR_VALUE, qty_max(w->value, (struct qty){ 0 }) };
    return (struct nr_item){ NR_UNSET, { 0 } };
}

/* What the node would have without third parties, for whoever shares batch resources with us. Only
 * a node that has annotations gets one more. */
static void want_origin(const struct nr_input *in, struct nr_plan *p, struct arena *a)
{
    const kstrmap *annotations = &in->node->obj.meta.annotations;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct origin_allocatable o = { 0 };

    if (annotations->n == 0)
        return;
    if (origin_allocatable_read(annotations, a, &o, NULL) < 0)
        o = (struct origin_allocatable){ 0 };
    o.resources = reslist_with(&o.resources, RES_BATCH_CPU, p->origin[0].value, a);
    o.resources = reslist_with(&o.resources, RES_BATCH_MEMORY, p->origin[1].value, a);
    origin_allocatable_encode(&o, &text);
    p->annotations[NR_ANNO_ORIGIN] =
        (struct nr_want){ .act = NR_SET, .text = arena_strndup(a, text.data, text.len) };
}

static void take_away(struct nr_want *w, struct qty part)
{
    w->value = qty_max(qty_sub(w->value, part), (struct qty){ 0 });
}

static int batch_prepare(const struct nr_input *in, const struct nr_result *r, struct arena *a,
                         struct nr_plan *p, struct kerr *err)
{
    struct nr_want *cpu = &p->resources[NR_BATCH_CPU], *memory = &p->resources[NR_BATCH_MEMORY];
    struct third_party_allocations others;

    nr_want_item(r, NR_BATCH_CPU, p);
    nr_want_item(r, NR_BATCH_MEMORY, p);
    p->origin[0] = origin_of(cpu);
    p->origin[1] = origin_of(memory);
    want_origin(in, p, a);
    if (cpu->act != NR_SET || memory->act != NR_SET)
        return 0;
    int n = third_party_allocations_read(&in->node->obj.meta.annotations, a, &others, err);
    if (n <= 0)
        return n < 0 ? kerr_wrap(err, "annotation %s", ANNO_THIRD_PARTY) : 0;
    reslist sum = third_party_sum(&others, PRIO_BATCH, a);
    p->third_party =
        (struct nr_amount){ reslist_get(&sum, RES_BATCH_CPU), reslist_get(&sum, RES_BATCH_MEMORY) };
    take_away(cpu, p->third_party.cpu);
    take_away(memory, p->third_party.memory);
    return 0;
}

const struct nr_plugin nr_plugin_batch = {
    .name = "BatchResource",
    .calculate = batch_calculate,
    .reset = batch_reset,
    .prepare = batch_prepare,
    .watched = 1u << NR_BATCH_CPU | 1u << NR_BATCH_MEMORY,
};
