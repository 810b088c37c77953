/* misc.c - kinds of rbac.authorization.k8s.io and admissionregistration.k8s.io: mostly stored as
 * they come. */
#include "apiserver/kinds/internal.h"

/* ---- rbac.authorization.k8s.io --------------------------------------------------------------- */

static const char rbac[] = "rbac.authorization.k8s.io";

static void binding_set_defaults(struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_miter it = kj_miter(kj_mget(obj, "subjects"));
    struct kj_mval *s;

    while (kj_mnext(&it, NULL, &s))
        if (streq(m_str(s, "kind"), "User") || streq(m_str(s, "kind"), "Group"))
            m_default_str(d, s, "apiGroup", rbac);
}

static void role_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                          struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    struct kj_iter it = kj_iter(kj_get(obj, "rules"));
    const struct kj_val *r;

    (void)verb, (void)old;
    for (size_t i = 0; kj_next(&it, NULL, &r); i++) {
        if (kj_len(kj_get(r, "verbs")) == 0)
            err_required(&c, at(&c, "rules[%zu].verbs", i),
                         "verbs must contain at least one value");
        if (kj_len(kj_get(r, "nonResourceURLs")) > 0)
            continue;
        if (kj_len(kj_get(r, "apiGroups")) == 0)
            err_required(&c, at(&c, "rules[%zu].apiGroups", i),
                         "resource rules must supply at least one api group");
        if (kj_len(kj_get(r, "resources")) == 0)
            err_required(&c, at(&c, "rules[%zu].resources", i),
                         "resource rules must supply at least one resource");
    }
}

static void binding_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                             struct field_errors *errors)
{
    static const char *const roles[] = { "Role", "ClusterRole", NULL };
    static const char *const kinds[] = { "ServiceAccount", "User", "Group", NULL };
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *ref = kj_get(obj, "roleRef"), *s;
    struct kj_iter it = kj_iter(kj_get(obj, "subjects"));

    check_enum(&c, "roleRef.kind", v_str(ref, "kind"), roles, false);
    if (!*v_str(ref, "name"))
        err_required(&c, "roleRef.name", "");
    for (size_t i = 0; kj_next(&it, NULL, &s); i++) {
        if (!*v_str(s, "name"))
            err_required(&c, at(&c, "subjects[%zu].name", i), "");
        check_enum(&c, at(&c, "subjects[%zu].kind", i), v_str(s, "kind"), kinds, false);
        if (streq(v_str(s, "kind"), "ServiceAccount") && !*v_str(s, "namespace") &&
            !v_has(kj_get(obj, "metadata"), "namespace"))
            err_required(&c, at(&c, "subjects[%zu].namespace", i), "");
    }
    if (verb == RES_UPDATE && !kj_equal(ref, kj_get(old, "roleRef")))
        field_error(errors, FIELD_INVALID, "roleRef", as_json(&c, ref), "cannot change roleRef");
}
const struct res_strategy role_strategy = { .validate = role_validate };
const struct res_strategy binding_strategy = { .set_defaults = binding_set_defaults,
                                               .validate = binding_validate };

static void cell_role(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct kj_val *ref = kj_get(obj, "roleRef");
    (void)now;
    strbuf_appendf(&b, "%s/%s", v_str(ref, "kind"), v_str(ref, "name"));
    cell_text(out, strbuf_str(&b));
}

static void subjects(const struct kj_val *obj, const char *kind, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kj_iter it = kj_iter(kj_get(obj, "subjects"));
    const struct kj_val *s;

    while (kj_next(&it, NULL, &s)) {
        if (!streq(v_str(s, "kind"), kind))
            continue;
        if (b.len)
            strbuf_append(&b, ", ");
        if (*v_str(s, "namespace"))
            strbuf_appendf(&b, "%s/", v_str(s, "namespace"));
        strbuf_append(&b, v_str(s, "name"));
    }
    cell_text(out, strbuf_str(&b));
}

static void cell_users(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    subjects(obj, "User", out);
}

static void cell_groups(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    subjects(obj, "Group", out);
}

static void cell_accounts(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    subjects(obj, "ServiceAccount", out);
}
static const struct res_column binding_columns_list[] = {
    NAME_COLUMN,
    { .name = "Role", .type = "string", .cell = cell_role },
    AGE_COLUMN,
    { .name = "Users", .type = "string", .priority = 1, .cell = cell_users },
    { .name = "Groups", .type = "string", .priority = 1, .cell = cell_groups },
    { .name = "ServiceAccounts", .type = "string", .priority = 1, .cell = cell_accounts },
};
COLUMNS(binding_columns);

/* ---- admissionregistration.k8s.io ------------------------------------------------------------ */

static void cell_webhooks(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    strbuf_append_i64(out, (int64_t)kj_len(kj_get(obj, "webhooks")));
}
static const struct res_column webhooks_columns_list[] = {
    NAME_COLUMN,
    { .name = "Webhooks", .type = "integer", .cell = cell_webhooks },
    AGE_COLUMN,
};
COLUMNS(webhooks_columns);
