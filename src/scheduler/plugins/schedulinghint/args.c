/* args.c - SchedulingHintArgs: table, defaults, checks (scheduler-core 9.3, api-config 4.2). */
#include "scheduler/plugins/schedulinghint/args.h"

#include "component/config.h"
#include "scheduler/framework/args.h"

ARGS_DEFAULT(def_100, "100");

#define STYPE struct hint_args
static const struct kfield hint_fields[] = {
    KF(STYPE, max_nodes, "maxHintNodes", KF_OPT_I64, .meta = &def_100),
};
static const struct kschema hint_schema = KSCHEMA("SchedulingHintArgs", STYPE, hint_fields);
#undef STYPE

static int hint_check(const void *value, struct kerr *err)
{
    return config_range("maxHintNodes", ((const struct hint_args *)value)->max_nodes.v, 1,
                        INT64_MAX, err);
}

const struct ks_args hint_args = { .schema = &hint_schema, .check = hint_check };
