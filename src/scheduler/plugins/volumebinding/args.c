/* args.c - VolumeBindingArgs: table, defaults, checks (scheduler-core 4.3). */
#include "scheduler/plugins/volumebinding/args.h"

#include "scheduler/framework/args.h"

#define TIMEOUT_MAX (NSEC_MAX / NSEC_PER_SEC / 2) /* seconds */
ARGS_DEFAULT(def_600, "600");

#define STYPE struct volumebinding_args
static const struct kfield volumebinding_fields[] = {
    KF(STYPE, timeout, "bindTimeoutSeconds", KF_OPT_I64, .meta = &def_600),
    KF(STYPE, shape, "shape", KF_RAW, .flags = KF_OMITEMPTY),
};
static const struct kschema volumebinding_schema =
    KSCHEMA("VolumeBindingArgs", STYPE, volumebinding_fields);
#undef STYPE

static int volumebinding_check(const void *value, struct kerr *err)
{
    const struct volumebinding_args *v = value;

    if (v->timeout.v < 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "bindTimeoutSeconds: Invalid value: %lld: invalid BindTimeoutSeconds, "
                        "should not be a negative value",
                        (long long)v->timeout.v);
    if (v->timeout.v > TIMEOUT_MAX)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "bindTimeoutSeconds: Invalid value: %lld: is too long",
                        (long long)v->timeout.v);
    if (v->shape)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "shape: Invalid value: unexpected field `shape`, remove it or turn on the "
                        "feature gate StorageCapacityScoring");
    return 0;
}

const struct ks_args volumebinding_args = { .schema = &volumebinding_schema,
                                            .check = volumebinding_check };
