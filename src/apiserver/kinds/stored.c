/* stored.c - kinds that are kept for the programs that read them, and that nothing here acts on:
 * RuntimeClass, FlowSchema, PriorityLevelConfiguration, VolumeAttributesClass. */
#include "apiserver/kinds/internal.h"
#include "apiserver/registry/registry.h"

/* ---- RuntimeClass ---------------------------------------------------------------------------- */

static void runtimeclass_validate(enum res_verb verb, const struct kj_val *obj,
                                  const struct kj_val *old, struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);

    if (verb == RES_UPDATE)
        check_immutable(&c, "handler", kj_get(obj, "handler"), kj_get(old, "handler"));
    check_dns_label(&c, "handler", v_str(obj, "handler"));
    check_resource_list(&c, "overhead.podFixed", kj_path(obj, "overhead.podFixed"));
    check_labels(&c, "scheduling.nodeSelector", kj_path(obj, "scheduling.nodeSelector"));
}

static void runtimeclass_warn(struct api_call *call, enum res_verb verb, const struct kj_val *obj,
                              const struct kj_val *old)
{
    struct kj_iter it = kj_iter(kj_path(obj, "scheduling.nodeSelector"));
    const struct kj_val *v;
    const char *advice;
    struct str key;

    (void)verb, (void)old;
    while (kj_next(&it, &key, &v))
        if ((advice = deprecated_node_label(key.p)))
            api_warn(call, "scheduling.nodeSelector: %s", advice);
}
const struct res_strategy runtimeclass_strategy = { .validate = runtimeclass_validate,
                                                    .warn = runtimeclass_warn };

TEXT_CELL(cell_handler, "handler", "")
static const struct res_column runtimeclass_columns_list[] = {
    NAME_COLUMN,
    { .name = "Handler", .type = "string", .cell = cell_handler },
    AGE_COLUMN,
};
COLUMNS(runtimeclass_columns);

/* ---- flow control ---------------------------------------------------------------------------- */

PREPARE_STATUS(flowschema_prepare, "flowcontrol.apiserver.k8s.io", "FlowSchema")
PREPARE_STATUS(priority_level_prepare, "flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration")

static void flowschema_validate(enum res_verb verb, const struct kj_val *obj,
                                const struct kj_val *old, struct field_errors *errors)
{
    enum { PRECEDENCE_MAX = 10000 };
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec");
    int64_t precedence = kj_i64_or(kj_get(spec, "matchingPrecedence"), 0);

    (void)old;
    if (verb == RES_STATUS)
        return;
    if (precedence <= 0)
        err_invalid_i64(&c, "spec.matchingPrecedence", precedence, "must be a positive value");
    if (precedence > PRECEDENCE_MAX)
        err_invalid_i64(&c, "spec.matchingPrecedence", precedence,
                        "must not be greater than 10000");
    if (!*kj_str_or(kj_path(spec, "priorityLevelConfiguration.name"), ""))
        err_required(&c, "spec.priorityLevelConfiguration.name", "must reference a priority level");
}

static void priority_level_validate(enum res_verb verb, const struct kj_val *obj,
                                    const struct kj_val *old, struct field_errors *errors)
{
    static const char *const types[] = { "Exempt", "Limited", NULL };
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec");
    const char *type = v_str(spec, "type");

    (void)old;
    if (verb == RES_STATUS || !check_enum(&c, "spec.type", type, types, false))
        return;
    if (streq(type, "Limited") && !v_has(spec, "limited"))
        err_required(&c, "spec.limited", "must not be empty when type is Limited");
    if (streq(type, "Exempt") && v_has(spec, "limited"))
        err_forbidden(&c, "spec.limited", "must be nil if the type is not Limited");
}
const struct res_strategy flowschema_strategy = { .prepare = flowschema_prepare,
                                                  .validate = flowschema_validate };
const struct res_strategy priority_level_strategy = { .prepare = priority_level_prepare,
                                                      .validate = priority_level_validate };

static void cell_missing_level(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    struct kj_iter it = kj_iter(kj_path(obj, "status.conditions"));
    const struct kj_val *v;
    const char *is = "?";

    (void)now;
    while (kj_next(&it, NULL, &v))
        if (streq(v_str(v, "type"), "Dangling"))
            is = v_str(v, "status");
    cell_text(out, is);
}
TEXT_CELL(cell_level, "spec.priorityLevelConfiguration.name", "")
INT_CELL(cell_precedence, "spec.matchingPrecedence")
TEXT_CELL(cell_distinguisher, "spec.distinguisherMethod.type", "<none>")
static const struct res_column flowschema_columns_list[] = {
    NAME_COLUMN,
    { .name = "PriorityLevel", .type = "string", .cell = cell_level },
    { .name = "MatchingPrecedence", .type = "string", .cell = cell_precedence },
    { .name = "DistinguisherMethod", .type = "string", .cell = cell_distinguisher },
    AGE_COLUMN,
    { .name = "MissingPL", .type = "string", .cell = cell_missing_level },
};
COLUMNS(flowschema_columns);

TEXT_CELL(cell_type, "spec.type", "")
TEXT_CELL(cell_shares, "spec.limited.nominalConcurrencyShares", "<none>")
TEXT_CELL(cell_queues, "spec.limited.limitResponse.queuing.queues", "<none>")
TEXT_CELL(cell_hand, "spec.limited.limitResponse.queuing.handSize", "<none>")
TEXT_CELL(cell_length, "spec.limited.limitResponse.queuing.queueLengthLimit", "<none>")
static const struct res_column priority_level_columns_list[] = {
    NAME_COLUMN,
    { .name = "Type", .type = "string", .cell = cell_type },
    { .name = "NominalConcurrencyShares", .type = "string", .cell = cell_shares },
    { .name = "Queues", .type = "string", .cell = cell_queues },
    { .name = "HandSize", .type = "string", .cell = cell_hand },
    { .name = "QueueLengthLimit", .type = "string", .cell = cell_length },
    AGE_COLUMN,
};
COLUMNS(priority_level_columns);

/* ---- VolumeAttributesClass ------------------------------------------------------------------- */

static void volume_attributes_validate(enum res_verb verb, const struct kj_val *obj,
                                       const struct kj_val *old, struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);

    if (verb == RES_UPDATE) {
        if (!streq(v_str(obj, "driverName"), v_str(old, "driverName")))
            err_forbidden(&c, "driverName", "updates to driverName are forbidden.");
        if (!kj_equal(kj_get(obj, "parameters"), kj_get(old, "parameters")))
            err_forbidden(&c, "parameters", "updates to parameters are forbidden.");
        return;
    }
    if (!*v_str(obj, "driverName"))
        err_required(&c, "driverName", "");
    if (kj_len(kj_get(obj, "parameters")) == 0)
        err_required(&c, "parameters", "must contain at least one key/value pair");
}
const struct res_strategy volume_attributes_strategy = { .validate = volume_attributes_validate };

TEXT_CELL(cell_driver_name, "driverName", "")
static const struct res_column volume_attributes_columns_list[] = {
    NAME_COLUMN,
    { .name = "DriverName", .type = "string", .cell = cell_driver_name },
    AGE_COLUMN,
};
COLUMNS(volume_attributes_columns);
