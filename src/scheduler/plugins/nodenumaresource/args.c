/* args.c - NodeNUMAResourceArgs: table, defaults, checks (scheduler-core 9.3, api-config 4.2). */
#include "scheduler/plugins/nodenumaresource/args.h"

#include "base/arena.h"
#include "scheduler/framework/args.h"

ARGS_DEFAULT(def_bind_policy, "\"FullPCPUs\"");
ARGS_DEFAULT(def_numa_strategy, "{\"type\":\"LeastAllocated\",\"resources\":[{\"name\":\"cpu\","
                                "\"weight\":1},{\"name\":\"memory\",\"weight\":1}]}");
#define STYPE struct numa_args
static const struct kfield numa_fields[] = {
    KF(STYPE, bind_policy, "defaultCPUBindPolicy", KF_OPT_STR, .meta = &def_bind_policy),
    KF(STYPE, node, "scoringStrategy", KF_OBJ, .sub = &scoring_strategy_schema, .flags = KF_PTR,
       .meta = &def_numa_strategy),
    KF(STYPE, zone, "numaScoringStrategy", KF_OBJ, .sub = &scoring_strategy_schema, .flags = KF_PTR,
       .meta = &def_numa_strategy),
};
static const struct kschema numa_schema = KSCHEMA("NodeNUMAResourceArgs", STYPE, numa_fields);
#undef STYPE

/* A strategy that names only its type weighs cpu and memory. */
static void fill_weights(struct scoring_strategy *s, struct arena *a)
{
    static const struct scoring_weight usual[] = { { "cpu", 1 }, { "memory", 1 } };

    if (!s || s->resources.n)
        return;
    s->resources.items = arena_newn0(a, ARRAY_LEN(usual), struct scoring_weight);
    memcpy(s->resources.items, usual, sizeof usual);
    s->resources.n = ARRAY_LEN(usual);
}

static void numa_fill(void *value, const struct ks_args_context *c, struct arena *a)
{
    struct numa_args *n = value;

    (void)c;
    fill_weights(n->node, a);
    fill_weights(n->zone, a);
}

static int numa_check(const void *value, struct kerr *err)
{
    const struct numa_args *n = value;

    if (*n->bind_policy && !streq(n->bind_policy, "FullPCPUs") &&
        !streq(n->bind_policy, "SpreadByPCPUs"))
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "defaultCPUBindPolicy: Unsupported value: \"%.64s\": supported values: "
                        "\"FullPCPUs\", \"SpreadByPCPUs\"",
                        n->bind_policy);
    int r = scoring_strategy_check(n->node, "scoringStrategy", err);
    return r < 0 ? r : scoring_strategy_check(n->zone, "numaScoringStrategy", err);
}

const struct ks_args numa_args = {
    .schema = &numa_schema,
    .fill = numa_fill,
    .check = numa_check,
};
