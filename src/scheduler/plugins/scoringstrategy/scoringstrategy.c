/* scoringstrategy.c - ScoringStrategy: table, defaults, checks (api-config 4.2). */
#include "scheduler/plugins/scoringstrategy/scoringstrategy.h"

#define STYPE struct scoring_weight
static const struct kfield weight_fields[] = {
    KF(STYPE, name, "name", KF_STR),
    KF(STYPE, weight, "weight", KF_I64),
};
const struct kschema scoring_weight_schema = KSCHEMA("ResourceSpec", STYPE, weight_fields);
#undef STYPE

static const char *const strategy_types[] = { "MostAllocated", "BalancedAllocation",
                                              "LeastAllocated", NULL };
static const struct kmeta strategy_meta = { .def = "\"LeastAllocated\"", .names = strategy_types };
#define STYPE struct scoring_strategy
static const struct kfield strategy_fields[] = {
    KF(STYPE, type, "type", KF_STR, .meta = &strategy_meta),
    KF_LIST_OF(STYPE, resources, "resources", KF_OBJ, .sub = &scoring_weight_schema),
};
const struct kschema scoring_strategy_schema = KSCHEMA("ScoringStrategy", STYPE, strategy_fields);
#undef STYPE

int scoring_strategy_check(const struct scoring_strategy *s, const char *path, struct kerr *err)
{
    for (uint32_t i = 0; i < s->resources.n; i++) {
        const struct scoring_weight *w = &s->resources.items[i];
        if (w->weight < 1 || w->weight > 100)
            return kerr_api(err, -EINVAL, KR_INVALID,
                            "%s.resources[%u].weight: Invalid value: %lld: resource weight of "
                            "%.64s not in valid range [1, 100]",
                            path, i, (long long)w->weight, w->name);
    }
    return 0;
}
