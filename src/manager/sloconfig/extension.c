/* extension.c - table and limits of extensions.koord. */
#include "manager/sloconfig/extension.h"

#define PERCENT(member, json, fallback) \
    F(member, json, KF_OPT_I64,         \
      .meta = &(const struct kmeta){ .def = fallback, .min = { true, 1 }, .max = { true, 100 } })

#define F(member, json, type, ...) KF(struct damping_options, member, json, type, __VA_ARGS__)
static const struct kfield damping_fields[] = {
    F(enable, "enable", KF_BOOL),
    PERCENT(fall_percent, "fallPercent", "20"),
};
#undef F
static const struct kschema damping_schema =
    KSCHEMA("damping", struct damping_options, damping_fields);

#define F(member, json, type, ...) KF(struct adaptive_options, member, json, type, __VA_ARGS__)
static const struct kfield adaptive_fields[] = {
    F(enable, "enable", KF_BOOL),
    PERCENT(step_percent, "stepPercent", "10"),
    PERCENT(max_percent, "maxPercent", "40"),
    PERCENT(recover_percent, "recoverPercent", "2"),
    F(recover_seconds, "recoverSeconds", KF_OPT_I64,
      .meta = &(const struct kmeta){ .def = "300", .min = { true, 1 }, .max = { true, 86400 } }),
};
#undef F
static const struct kschema adaptive_schema =
    KSCHEMA("adaptive", struct adaptive_options, adaptive_fields);

static const struct kfield extension_fields[] = {
    KF(struct koord_extension, damping, "damping", KF_OBJ, .sub = &damping_schema),
    KF(struct koord_extension, adaptive, "adaptive", KF_OBJ, .sub = &adaptive_schema),
};
static const struct kschema extension_schema =
    KSCHEMA("extensions.koord", struct koord_extension, extension_fields);

int koord_extension_read(const struct colocation_strategy *s, struct arena *a,
                         struct koord_extension *ret, struct kerr *err)
{
    const char *json = NULL;

    *ret = (struct koord_extension){ 0 };
    for (uint32_t i = 0; i < s->extensions.n; i++)
        if (streq(s->extensions.items[i].name, "koord"))
            json = s->extensions.items[i].json;
    if (!json)
        return 0;
    /* Ours alone: a name that is not known is a typing error, which would go unnoticed. */
    int r = kj_decode_text(&extension_schema, json, strlen(json), KJ_STRICT, a, ret, err);
    if (r == 0) {
        kj_default(&extension_schema, a, ret);
        r = kj_validate(&extension_schema, ret, err);
    }
    if (r == 0)
        return 1;
    *ret = (struct koord_extension){ 0 };
    return kerr_wrap(err, "extensions.koord");
}
