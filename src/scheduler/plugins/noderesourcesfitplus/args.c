/* args.c - NodeResourcesFitPlusArgs: table, defaults, checks (scheduler-core 9.3, api-config 4.2).
 */
#include "scheduler/plugins/noderesourcesfitplus/args.h"

#define STYPE struct fitplus_resource
static const struct kfield fitplus_resource_fields[] = {
    KF(STYPE, type, "type", KF_STR),
    KF(STYPE, weight, "weight", KF_I64),
};
static const struct kschema fitplus_resource_schema =
    KSCHEMA("ResourcesType", STYPE, fitplus_resource_fields);
#undef STYPE

#define STYPE struct fitplus_args
static const struct kfield fitplus_fields[] = {
    KF_MAP_OF(STYPE, resources, "resources", KF_OBJ, .sub = &fitplus_resource_schema,
              .flags = KF_OMITEMPTY),
};
static const struct kschema fitplus_schema =
    KSCHEMA("NodeResourcesFitPlusArgs", STYPE, fitplus_fields);
#undef STYPE

const struct ks_args fitplus_args = { .schema = &fitplus_schema };
