/* args.c - InterPodAffinityArgs: table, defaults, checks (scheduler-core 4.3). */
#include "scheduler/plugins/interpodaffinity/args.h"

#include "component/config.h"
#include "scheduler/framework/args.h"

ARGS_DEFAULT(def_1, "1");

#define STYPE struct affinity_args
static const struct kfield args_fields[] = {
    KF(STYPE, hard_weight, "hardPodAffinityWeight", KF_OPT_I32, .meta = &def_1),
    KF(STYPE, ignore_preferred, "ignorePreferredTermsOfExistingPods", KF_BOOL),
};
static const struct kschema args_schema = KSCHEMA("InterPodAffinityArgs", STYPE, args_fields);
#undef STYPE

static int affinity_check(const void *value, struct kerr *err)
{
    const struct affinity_args *a = value;

    return config_range("hardPodAffinityWeight", a->hard_weight.v, 0, 100, err);
}

const struct ks_args affinity_args = { .schema = &args_schema, .check = affinity_check };
