/* args.c - ScarceResourceAvoidanceArgs: table, defaults, checks (scheduler-core 9.3,
 * api-config 4.2). */
#include "scheduler/plugins/scarceresourceavoidance/args.h"

#define STYPE struct scarce_args
static const struct kfield scarce_fields[] = {
    KF_LIST_OF(STYPE, resources, "resources", KF_STR, .flags = KF_OMITEMPTY),
};
static const struct kschema scarce_schema =
    KSCHEMA("ScarceResourceAvoidanceArgs", STYPE, scarce_fields);
#undef STYPE

const struct ks_args scarce_args = { .schema = &scarce_schema };
