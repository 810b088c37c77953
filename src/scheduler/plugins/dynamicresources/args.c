/* args.c - DynamicResourcesArgs: table, defaults, checks (scheduler-core 4.3). */
#include "scheduler/plugins/dynamicresources/args.h"

#include "scheduler/framework/args.h"

ARGS_DEFAULT(def_10s, "\"10s\"");
ARGS_DEFAULT(def_card, "[\"uuid\",\"pciBusID\",\"pcieBusID\"]");

#define STYPE struct dynamicresources_args
static const struct kfield dynamicresources_fields[] = {
    KF(STYPE, filter_timeout, "filterTimeout", KF_OPT_DUR, .meta = &def_10s),
    KF(STYPE, binding_timeout, "bindingTimeout", KF_OPT_DUR, .flags = KF_OMITEMPTY),
    KF_LIST_OF(STYPE, card_attributes, "cardAttributes", KF_STR, .meta = &def_card),
};
static const struct kschema dynamicresources_schema =
    KSCHEMA("DynamicResourcesArgs", STYPE, dynamicresources_fields);
#undef STYPE

static int dynamicresources_check(const void *value, struct kerr *err)
{
    const struct dynamicresources_args *d = value;

    if (d->filter_timeout.v < 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "filterTimeout: Invalid value: must be zero or positive");
    if (d->binding_timeout.set && d->binding_timeout.v < NSEC_PER_SEC)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "bindingTimeout: Invalid value: must be at least 1 second");
    return 0;
}

const struct ks_args dynamicresources_args = { .schema = &dynamicresources_schema,
                                               .check = dynamicresources_check };
