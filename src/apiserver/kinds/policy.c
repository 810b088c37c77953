/* policy.c - disruption budgets, priority classes, leases. */
#include "apiserver/kinds/internal.h"

/* ---- disruption budgets ---------------------------------------------------------------------- */

PREPARE_STATUS(pdb_prepare, "policy", "PodDisruptionBudget")

/* The spec as Go prints its struct. */
static const char *pdb_text(struct check *c, const struct kj_val *spec)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    static const char *const keys[][2] = { { "MinAvailable", "minAvailable" },
                                           { "Selector", "selector" },
                                           { "MaxUnavailable", "maxUnavailable" },
                                           { "UnhealthyPodEvictionPolicy",
                                             "unhealthyPodEvictionPolicy" } };

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        strbuf_appendf(&b, "%s\"%s\":%s", i ? "," : "{", keys[i][0],
                       as_json(c, kj_get(spec, keys[i][1])));
    strbuf_appendc(&b, '}');
    return arena_strndup(c->a, b.data, b.len);
}

static void pdb_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                         struct field_errors *errors)
{
    static const char *const policies[] = { "AlwaysAllow", "IfHealthyBudget", NULL };
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec");

    (void)old;
    if (verb == RES_STATUS)
        return;
    if (v_has(spec, "minAvailable") && v_has(spec, "maxUnavailable"))
        field_error(errors, FIELD_INVALID, "spec", pdb_text(&c, spec),
                    "minAvailable and maxUnavailable cannot be both set");
    check_int_or_percent(&c, "spec.minAvailable", kj_get(spec, "minAvailable"));
    check_int_or_percent(&c, "spec.maxUnavailable", kj_get(spec, "maxUnavailable"));
    check_label_selector(&c, "spec.selector", kj_get(spec, "selector"));
    check_enum(&c, "spec.unhealthyPodEvictionPolicy", v_str(spec, "unhealthyPodEvictionPolicy"),
               policies, true);
}
const struct res_strategy pdb_strategy = { .prepare = pdb_prepare, .validate = pdb_validate };

TEXT_CELL(cell_min, "spec.minAvailable", "N/A")
TEXT_CELL(cell_max, "spec.maxUnavailable", "N/A")
INT_CELL(cell_allowed, "status.disruptionsAllowed")

static const struct res_column pdb_columns_list[] = {
    NAME_COLUMN,
    { .name = "Min Available", .type = "string", .cell = cell_min },
    { .name = "Max Unavailable", .type = "string", .cell = cell_max },
    { .name = "Allowed Disruptions", .type = "integer", .cell = cell_allowed },
    AGE_COLUMN,
};
COLUMNS(pdb_columns);

/* ---- priority classes ------------------------------------------------------------------------ */

static void priorityclass_validate(enum res_verb verb, const struct kj_val *obj,
                                   const struct kj_val *old, struct field_errors *errors)
{
    enum { USER_MAX = 1000000000 };
    static const struct {
        const char *name;
        int64_t value;
    } system[] = { { "system-node-critical", 2000001000 },
                   { "system-cluster-critical", 2000000000 } };
    static const char *const policies[] = { "PreemptLowerPriority", "Never", NULL };
    CLEANUP(check_end) struct check c = check_begin(errors);
    const char *name = kj_str_or(kj_path(obj, "metadata.name"), "");
    int64_t value = kj_i64_or(kj_get(obj, "value"), 0);
    bool known = false;

    if (verb == RES_UPDATE) {
        if (value != kj_i64_or(kj_get(old, "value"), 0))
            err_forbidden(&c, "value", "may not be changed in an update.");
        check_immutable(&c, "preemptionPolicy", kj_get(obj, "preemptionPolicy"),
                        kj_get(old, "preemptionPolicy"));
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(system); i++)
        known |= streq(system[i].name, name) && system[i].value == value;
    if (str_starts(name, "system-") && !known)
        err_forbidden(&c, "metadata.name",
                      at(&c,
                         "priority class names with 'system-' prefix are reserved for system use "
                         "only. error: %s is not a known system priority class",
                         name));
    else if (value > USER_MAX && !known)
        err_forbidden(&c, "value",
                      at(&c, "maximum allowed value of a user defined priority is %d", USER_MAX));
    check_enum(&c, "preemptionPolicy", v_str(obj, "preemptionPolicy"), policies, true);
}
const struct res_strategy priorityclass_strategy = { .validate = priorityclass_validate };

INT_CELL(cell_value, "value")
BOOL_CELL(cell_default, "globalDefault", false)
TEXT_CELL(cell_preemption, "preemptionPolicy", "")

static const struct res_column priorityclass_columns_list[] = {
    NAME_COLUMN,
    { .name = "Value", .type = "integer", .cell = cell_value },
    { .name = "Global-Default", .type = "boolean", .cell = cell_default },
    AGE_COLUMN,
    { .name = "PreemptionPolicy", .type = "string", .cell = cell_preemption },
};
COLUMNS(priorityclass_columns);

/* ---- leases ---------------------------------------------------------------------------------- */

static void lease_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                           struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec");
    int64_t seconds = kj_i64_or(kj_get(spec, "leaseDurationSeconds"), 1);

    (void)verb, (void)old;
    if (seconds <= 0)
        err_invalid_i64(&c, "spec.leaseDurationSeconds", seconds, "must be greater than 0");
    check_not_negative(&c, "spec.leaseTransitions", kj_get(spec, "leaseTransitions"));
}

/* Coordinated leader election is an alpha feature: its fields are dropped, as where it is off. */
static void lease_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *spec = kj_mget(obj, "spec");

    (void)d;
    if (!spec)
        return;
    kj_mdel(spec, "strategy", strlen("strategy"));
    kj_mdel(spec, "preferredHolder", strlen("preferredHolder"));
}
const struct res_strategy lease_strategy = { .set_defaults = lease_set_defaults,
                                             .validate = lease_validate };

TEXT_CELL(cell_holder, "spec.holderIdentity", "")
static const struct res_column lease_columns_list[] = {
    NAME_COLUMN,
    { .name = "Holder", .type = "string", .cell = cell_holder },
    AGE_COLUMN,
};
COLUMNS(lease_columns);
