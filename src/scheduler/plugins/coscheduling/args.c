/* args.c - CoschedulingArgs: table, defaults, checks (scheduler-core 9.3, api-config 4.2). */
#include "scheduler/plugins/coscheduling/args.h"

#include "component/config.h"
#include "scheduler/framework/args.h"

ARGS_DEFAULT(def_false, "false");
ARGS_DEFAULT(def_1, "1");
ARGS_DEFAULT(def_600s, "\"600s\"");
ARGS_DEFAULT(def_match_policy, "\"once-satisfied\"");
#define STYPE struct coscheduling_args
static const struct kfield coscheduling_fields[] = {
    KF(STYPE, timeout, "defaultTimeout", KF_OPT_DUR, .meta = &def_600s),
    KF(STYPE, workers, "controllerWorkers", KF_OPT_I64, .meta = &def_1),
    KF(STYPE, skip_cycle, "skipCheckScheduleCycle", KF_BOOL, .flags = KF_OMITEMPTY),
    KF(STYPE, preemption, "enablePreemption", KF_OPT_BOOL, .meta = &def_false),
    KF(STYPE, topology, "awareNetworkTopology", KF_OPT_BOOL, .meta = &def_false),
    KF(STYPE, match_policy, "defaultMatchPolicy", KF_STR, .meta = &def_match_policy),
    /* Ours: not written where nobody gave them, so that Koordinator reads what we write. */
    KF(STYPE, hold_after, "holdAfter", KF_OPT_DUR, .flags = KF_OMITEMPTY),
    KF(STYPE, hold_for, "holdFor", KF_OPT_DUR, .flags = KF_OMITEMPTY),
    KF(STYPE, hold_percentage, "holdPercentage", KF_OPT_I64, .flags = KF_OMITEMPTY),
};
static const struct kschema coscheduling_schema =
    KSCHEMA("CoschedulingArgs", STYPE, coscheduling_fields);
#undef STYPE

struct gang_hold_args coscheduling_hold(const struct coscheduling_args *a)
{
    return (struct gang_hold_args){
        .after = a->hold_after.v,
        .duration = a->hold_for.set ? a->hold_for.v : 600 * NSEC_PER_SEC,
        .percentage = a->hold_percentage.set ? a->hold_percentage.v : 50,
    };
}

static int coscheduling_check(const void *value, struct kerr *err)
{
    const struct coscheduling_args *g = value;

    if (g->timeout.v < 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "defaultTimeout: Invalid value: coeSchedulingArgs DefaultTimeoutSeconds "
                        "invalid");
    if (g->hold_after.v < 0 || (g->hold_after.v && g->hold_after.v < NSEC_PER_SEC))
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "holdAfter: Invalid value: must be 0 or at least a second");
    const struct gang_hold_args hold = coscheduling_hold(g);
    if (hold.duration < NSEC_PER_SEC)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "holdFor: Invalid value: must be at least a second");
    if (config_range("holdPercentage", hold.percentage, 1, 100, err) < 0)
        return err->code;
    return config_range("controllerWorkers", g->workers.v, 1, INT64_MAX, err);
}

struct gang_defaults coscheduling_defaults(const struct coscheduling_args *a)
{
    struct gang_defaults d = { a->timeout.v, GANG_MATCH_ONCE_SATISFIED };

    (void)gang_match_policy_parse(a->match_policy, &d.match_policy);
    return d;
}

const struct ks_args coscheduling_args = { .schema = &coscheduling_schema,
                                           .check = coscheduling_check };
