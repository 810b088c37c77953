/* taintrule.c - resource.k8s.io/v1alpha3: DeviceTaintRule, which is served on request only. */
#include "apiserver/kinds/device_check.h"

enum { CONDITIONS_MAX = 8 };

static void taintrule_prepare(enum res_verb verb, struct kj_mdoc *d, struct kj_mval *obj,
                              const struct kj_val *old, nsec_t now)
{
    prepare_status(verb, d, obj, old, "resource.k8s.io", "DeviceTaintRule");
    if (verb != RES_STATUS)
        device_taint_default(d, m_path(obj, "spec.taint"), now);
}

static void check_taint(struct check *c, const struct kj_val *taint, const struct kj_val *old)
{
    const char *effect = v_str(taint, "effect");

    check_qualified(c, "spec.taint.key", v_str(taint, "key"));
    if (*v_str(taint, "value"))
        check_label_value(c, "spec.taint.value", v_str(taint, "value"));
    if (old && streq(effect, v_str(old, "effect")))
        return;
    if (!*effect)
        err_required(c, "spec.taint.effect", "");
    else
        check_enum(c, "spec.taint.effect", effect, device_taint_effects, false);
}

static void taintrule_validate(enum res_verb verb, const struct kj_val *obj,
                               const struct kj_val *old, struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *s = kj_path(obj, "spec.deviceSelector");

    if (v_has(s, "driver"))
        check_driver(&c, "spec.deviceSelector.driver", v_str(s, "driver"));
    if (v_has(s, "pool"))
        check_pool(&c, "spec.deviceSelector.pool", v_str(s, "pool"));
    if (v_has(s, "device"))
        check_dns_label(&c, "spec.deviceSelector.device", v_str(s, "device"));
    check_taint(&c, kj_path(obj, "spec.taint"),
                verb == RES_UPDATE ? kj_path(old, "spec.taint") : NULL);
    (void)check_at_most(&c, "status.conditions", kj_path(obj, "status.conditions"), CONDITIONS_MAX);
}

const struct res_strategy taintrule_strategy = { .prepare = taintrule_prepare,
                                                 .validate = taintrule_validate };

TEXT_CELL(cell_key, "spec.taint.key", "")
TEXT_CELL(cell_value, "spec.taint.value", "")
TEXT_CELL(cell_effect, "spec.taint.effect", "")

static void cell_added(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    const char *added = kj_str(kj_path(obj, "spec.taint.timeAdded"));

    if (added)
        age_text(added, now, out);
}

static const struct res_column taintrule_columns_list[] = {
    NAME_COLUMN,
    { .name = "Key", .type = "string", .cell = cell_key },
    { .name = "Value", .type = "string", .cell = cell_value },
    { .name = "Effect", .type = "string", .cell = cell_effect },
    { .name = "TimeAdded", .type = "string", .cell = cell_added },
    AGE_COLUMN,
};
COLUMNS(taintrule_columns);
