/* args.c - DefaultPreemptionArgs: table, defaults, checks (scheduler-core 4.3). */
#include "scheduler/plugins/defaultpreemption/args.h"

#include "component/config.h"
#include "scheduler/framework/args.h"

ARGS_DEFAULT(def_10, "10");
ARGS_DEFAULT(def_100, "100");

#define STYPE struct preemption_args
static const struct kfield preemption_fields[] = {
    KF(STYPE, percentage, "minCandidateNodesPercentage", KF_OPT_I32, .meta = &def_10),
    KF(STYPE, absolute, "minCandidateNodesAbsolute", KF_OPT_I32, .meta = &def_100),
};
static const struct kschema preemption_schema =
    KSCHEMA("DefaultPreemptionArgs", STYPE, preemption_fields);
#undef STYPE

static int preemption_check(const void *value, struct kerr *err)
{
    const struct preemption_args *p = value;

    if (config_range("minCandidateNodesPercentage", p->percentage.v, 0, 100, err) < 0)
        return err->code;
    if (p->absolute.v < 0)
        return config_out_of_range("minCandidateNodesAbsolute", p->absolute.v, "[0, inf)", err);
    if (p->percentage.v == 0 && p->absolute.v == 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same "
                        "time as minCandidateNodesAbsolute");
    return 0;
}

const struct ks_args preemption_args = { .schema = &preemption_schema, .check = preemption_check };
