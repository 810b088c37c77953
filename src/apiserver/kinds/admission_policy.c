/* admission_policy.c - ValidatingAdmissionPolicy and ValidatingAdmissionPolicyBinding: what may be
 * written, and their columns. What policies do is in admission/policy.h. */
#include <ctype.h>

#include "apiserver/admission/admitexpr.h"
#include "apiserver/crd/rules.h"
#include "apiserver/kinds/internal.h"
#include "apiserver/registry/internal.h"

static const char *const failure_policies[] = { "Fail", "Ignore", NULL };
static const char *const match_policies[] = { "Equivalent", "Exact", NULL };
static const char *const operations[] = { "*", "CONNECT", "CREATE", "DELETE", "UPDATE", NULL };
static const char *const scopes[] = { "*", "Cluster", "Namespaced", NULL };
static const char *const actions[] = { "Audit", "Deny", "Warn", NULL };
static const char *const not_found_actions[] = { "Deny", "Allow", NULL };
static const char *const reasons[] = { "Forbidden", "Invalid", "RequestEntityTooLarge", NULL };

/* ---- rules ----------------------------------------------------------------------------------- */

static bool has_text(const struct kj_val *list, const char *text)
{
    for (size_t i = 0; i < kj_len(list); i++)
        if (streq(kj_str_or(kj_at(list, i), ""), text))
            return true;
    return false;
}

/* A list that is not empty, in which "*" stands alone. */
static void check_words(struct check *c, const char *path, const struct kj_val *list,
                        const char *what)
{
    if (kj_len(list) == 0)
        err_required(c, path, "");
    if (kj_len(list) > 1 && has_text(list, "*"))
        field_error(c->errors, FIELD_INVALID, path, as_json(c, list),
                    "if '*' is present, must not specify other %s", what);
}

/* What "x/y" says that an earlier "x/star" or "star/y" has said already. */
static void check_subresource(struct check *c, const char *path, const char *text, struct map *seen)
{
    const char *slash = strchr(text, '/');
    const char *res = arena_strndup(c->a, text, (size_t)(slash - text)), *sub = slash + 1;
    const char *all = arena_printf(c->a, "%s/*", res), *any = arena_printf(c->a, "*/%s", sub);

    if (map_getz(seen, all))
        field_error_text(c->errors, FIELD_INVALID, path, text,
                         "if '%s' is present, must not specify %s", all, text);
    if (map_getz(seen, any) && !streq(any, all))
        field_error_text(c->errors, FIELD_INVALID, path, text,
                         "if '%s' is present, must not specify %s", any, text);
    if (streq(sub, "*"))
        (void)names_add(seen, all);
    if (streq(res, "*"))
        (void)names_add(seen, any);
}

static void check_rule_resources(struct check *c, const char *path, const struct kj_val *list)
{
    CLEANUP(map_fini) struct map seen = { 0 };
    bool plain = false;

    if (kj_len(list) == 0)
        err_required(c, path, "");
    for (size_t i = 0; i < kj_len(list); i++) {
        const char *text = kj_str_or(kj_at(list, i), ""), *p = at(c, "%s[%zu]", path, i);
        if (!*text)
            err_required(c, p, "");
        else if (strchr(text, '/'))
            check_subresource(c, p, text, &seen);
        else
            plain = !streq(text, "*"); /* of the last one, as upstream has it */
    }
    if (kj_len(list) > 1 && has_text(list, "*/*"))
        field_error(c->errors, FIELD_INVALID, path, as_json(c, list),
                    "if '*/*' is present, must not specify other resources");
    if (plain && has_text(list, "*"))
        field_error(c->errors, FIELD_INVALID, path, as_json(c, list),
                    "if '*' is present, must not specify other resources without subresources");
}

static void check_resource_names(struct check *c, const char *path, const struct kj_val *list)
{
    CLEANUP(map_fini) struct map seen = { 0 };

    for (size_t i = 0; i < kj_len(list); i++) {
        const char *name = kj_str_or(kj_at(list, i), ""), *p = at(c, "%s[%zu]", path, i);
        const char *why = path_segment_problem(str_of(name));
        if (why)
            err_invalid(c, p, name, why);
        if (!names_add(&seen, name))
            err_duplicate(c, p, name);
    }
}

void check_admission_rule(struct check *c, const char *path, const struct kj_val *rule)
{
    const struct kj_val *ops = kj_get(rule, "operations"), *versions = kj_get(rule, "apiVersions");

    check_resource_names(c, at(c, "%s.resourceNames", path), kj_get(rule, "resourceNames"));
    check_words(c, at(c, "%s.operations", path), ops, "operations");
    for (size_t i = 0; i < kj_len(ops); i++)
        (void)check_enum(c, at(c, "%s.operations[%zu]", path, i), kj_str_or(kj_at(ops, i), ""),
                         operations, false);
    check_words(c, at(c, "%s.apiGroups", path), kj_get(rule, "apiGroups"), "API groups");
    check_words(c, at(c, "%s.apiVersions", path), versions, "API versions");
    for (size_t i = 0; i < kj_len(versions); i++)
        if (!*kj_str_or(kj_at(versions, i), ""))
            err_required(c, at(c, "%s.apiVersions[%zu]", path, i), "");
    check_rule_resources(c, at(c, "%s.resources", path), kj_get(rule, "resources"));
    if (v_has(rule, "scope"))
        (void)check_enum(c, at(c, "%s.scope", path), v_str(rule, "scope"), scopes, false);
}

static void check_match(struct check *c, const char *path, const struct kj_val *spec)
{
    static const char *const lists[] = { "resourceRules", "excludeResourceRules" };

    (void)check_enum(c, at(c, "%s.matchPolicy", path), v_str(spec, "matchPolicy"), match_policies,
                     false);
    check_label_selector(c, at(c, "%s.namespaceSelector", path), kj_get(spec, "namespaceSelector"));
    check_label_selector(c, at(c, "%s.objectSelector", path), kj_get(spec, "objectSelector"));
    for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
        const struct kj_val *rules = kj_get(spec, lists[k]);
        for (size_t i = 0; i < kj_len(rules); i++)
            check_admission_rule(c, at(c, "%s.%s[%zu]", path, lists[k], i), kj_at(rules, i));
    }
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* shown: the value in an error. *ret: the caller's; NULL after an error. */
static void check_expr(struct check *c, const char *path, const struct admitexpr_env *env,
                       struct str text, struct str shown, const struct cel_type *const *want,
                       struct cel_expr **ret)
{
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    int e = admitexpr_compile(env, text, want, ret, &why);

    if (e == -EINVAL)
        err_invalid(c, path, arena_strndup(c->a, shown.p, shown.n), why.data);
    else if (e < 0)
        field_error(c->errors, FIELD_INTERNAL, path, NULL, "%s", why.data);
}

static struct str text_of(const struct kj_val *obj, const char *key)
{
    const struct kj_val *v = kj_get(obj, key);
    return (struct str){ kj_str_or(v, ""), kj_str(v) ? kj_len(v) : 0 };
}

static bool is_identifier(struct str s)
{
    static const char *const reserved[] = {
        "true",     "false",   "null",      "in",       "as",  "break",  "const",
        "continue", "else",    "for",       "function", "if",  "import", "let",
        "loop",     "package", "namespace", "return",   "var", "void",   "while",
    };
    static const char letters[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
                      more[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

    for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
        if (str_eqz(s, reserved[i]))
            return false;
    return *s.p && strchr(letters, *s.p) && strspn(s.p, more) == s.n; /* a NUL is none of them */
}

/* The exprs live until the end: their types are those of later ones. */
static void check_variable(struct check *c, const char *path, const struct admitexpr_env *env,
                           const struct kj_val *entry, struct admitexpr_variables *variables,
                           struct cel_expr **ret)
{
    const char *name = v_str(entry, "name"), *where = at(c, "%s.expression", path);
    struct str text = text_of(entry, "expression");

    if (!rule_trim(kj_get(entry, "name")).n)
        err_required(c, at(c, "%s.name", path), "name is not specified");
    else if (!is_identifier(text_of(entry, "name")))
        err_invalid(c, at(c, "%s.name", path), name, "must be a valid CEL identifier");
    if (!rule_trim(kj_get(entry, "expression")).n) {
        err_required(c, where, "expression is not specified");
        return;
    }
    check_expr(c, where, env, text, text, NULL, ret);
    admitexpr_variables_add(variables, str_of(name), *ret);
}

static void check_message(struct check *c, const char *path, const struct kj_val *entry)
{
    const char *message = v_str(entry, "message");
    struct str trimmed = rule_trim(kj_get(entry, "message"));

    if (*message && !trimmed.n)
        err_invalid(c, path, message, "must be non-empty if specified");
    else if (memchr(trimmed.p, '\n', trimmed.n) || memchr(trimmed.p, '\r', trimmed.n))
        err_invalid(c, path, message, "must not contain line breaks");
}

static void check_validation(struct check *c, const char *path, const struct admitexpr_env *env,
                             const struct kj_val *entry)
{
    CLEANUP(cel_expr_free) struct cel_expr *expr = NULL;
    CLEANUP(cel_expr_free) struct cel_expr *said = NULL;
    struct admitexpr_env words = *env;
    const char *where = at(c, "%s.messageExpression", path);
    struct str text = text_of(entry, "expression"), message = text_of(entry, "messageExpression");

    words.authorizer = false;
    if (!rule_trim(kj_get(entry, "expression")).n)
        err_required(c, at(c, "%s.expression", path), "expression is not specified");
    else
        check_expr(c, at(c, "%s.expression", path), env, text, text, admitexpr_bool, &expr);
    if (message.n && !rule_trim(kj_get(entry, "messageExpression")).n)
        err_invalid(c, where, v_str(entry, "messageExpression"), "must be non-empty if specified");
    else if (message.n)
        check_expr(c, where, &words, message, message, admitexpr_text, &said);
    check_message(c, at(c, "%s.message", path), entry);
    if (v_has(entry, "reason"))
        (void)check_enum(c, at(c, "%s.reason", path), v_str(entry, "reason"), reasons, false);
}

static void check_annotation(struct check *c, const char *path, const struct admitexpr_env *env,
                             const struct kj_val *entry, const char *policy)
{
    enum { EXPRESSION_MAX = 5 * 1024 };
    CLEANUP(cel_expr_free) struct cel_expr *expr = NULL;
    const char *key = v_name(c->a, entry, "key"), *where = at(c, "%s.valueExpression", path);
    struct str trimmed = rule_trim(kj_get(entry, "valueExpression"));

    if (*policy)
        check_qualified(c, at(c, "%s.key", path), arena_printf(c->a, "%s/%s", policy, key));
    else
        err_invalid(c, at(c, "%s.key", path), key, "requires metadata.name be non-empty");
    if (!trimmed.n)
        err_required(c, where, "valueExpression is not specified");
    else if (trimmed.n > EXPRESSION_MAX)
        err_required(c, where, "must not exceed 5120 bytes in length");
    else
        check_expr(c, where, env, trimmed, text_of(entry, "valueExpression"), admitexpr_note,
                   &expr);
}

static void check_annotations(struct check *c, const struct admitexpr_env *env,
                              const struct kj_val *list, const char *policy)
{
    enum { ANNOTATIONS_MAX = 20 };
    CLEANUP(map_fini) struct map seen = { 0 };

    if (kj_len(list) > ANNOTATIONS_MAX)
        field_error(c->errors, FIELD_INVALID, "spec.auditAnnotations", as_json(c, list),
                    "must not have more than %d auditAnnotations", ANNOTATIONS_MAX);
    for (size_t i = 0; i < kj_len(list); i++) {
        const char *p = at(c, "spec.auditAnnotations[%zu]", i);
        check_annotation(c, p, env, kj_at(list, i), policy);
        if (!names_add(&seen, v_name(c->a, kj_at(list, i), "key")))
            err_duplicate(c, at(c, "%s.key", p), v_str(kj_at(list, i), "key"));
    }
}

/* Variables, and what may use them. */
static void check_expressions(struct check *c, const struct kj_val *spec, const char *policy)
{
    const struct kj_val *list = kj_get(spec, "variables"),
                        *validations = kj_get(spec, "validations"),
                        *annotations = kj_get(spec, "auditAnnotations");
    static const char none[] = "validations or auditAnnotations must contain at least one item";
    struct admitexpr_variables variables;
    struct cel_expr **exprs = arena_newn0(c->a, kj_len(list) + 1, struct cel_expr *);
    struct admitexpr_env env = { .params = v_has(spec, "paramKind"), .authorizer = true };

    admitexpr_variables_init(&variables, c->a, kj_len(list));
    env.variables = kj_len(list) ? &variables.type : NULL;
    for (size_t i = 0; i < kj_len(list); i++)
        check_variable(c, at(c, "spec.variables[%zu]", i), &env, kj_at(list, i), &variables,
                       &exprs[i]);
    if (!kj_len(validations) && !kj_len(annotations)) {
        err_required(c, "spec.validations", none);
        err_required(c, "spec.auditAnnotations", none);
    }
    for (size_t i = 0; i < kj_len(validations); i++)
        check_validation(c, at(c, "spec.validations[%zu]", i), &env, kj_at(validations, i));
    check_annotations(c, &env, annotations, policy);
    for (size_t i = 0; i < kj_len(list); i++)
        cel_expr_free(exprs[i]);
}

/* ---- policies -------------------------------------------------------------------------------- */

static const char *lowered(struct check *c, const char *s)
{
    char *out = arena_strdup(c->a, s);

    for (char *p = out; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return out;
}

static void check_param_kind(struct check *c, const struct kj_val *kind)
{
    const char *version = v_str(kind, "apiVersion"), *name = v_str(kind, "kind");
    const char *slash = strchr(version, '/'), *why;

    if (!*version) {
        err_required(c, "spec.paramKind.apiVersion", "");
    } else if (slash && strchr(slash + 1, '/')) {
        err_invalid(c, "spec.paramKind.apiVersion", version,
                    arena_printf(c->a, "unexpected GroupVersion string: %s", version));
    } else {
        if (slash && slash > version)
            check_dns_subdomain(c, "spec.paramKind.apiVersion",
                                arena_strndup(c->a, version, (size_t)(slash - version)));
        const char *v = slash ? slash + 1 : version;
        why = dns1035_problem(v);
        if (!*v)
            err_invalid(c, "spec.paramKind.apiVersion", version, "version must be specified");
        else if (why)
            err_invalid(c, "spec.paramKind.apiVersion", v, why);
    }
    if (!*name)
        err_required(c, "spec.paramKind.kind", "");
    else if ((why = dns1035_problem(lowered(c, name))))
        err_invalid(c, "spec.paramKind.kind", name,
                    arena_printf(c->a, "may have mixed case, but should otherwise match: %s", why));
}

/* Conditions that stay as they were, with params as they were, are not looked at again. */
static bool same_conditions(const struct kj_val *spec, const struct kj_val *old)
{
    const struct kj_val *x = kj_get(spec, "matchConditions"), *y = kj_get(old, "matchConditions");

    return v_has(spec, "paramKind") == v_has(old, "paramKind") &&
           (!v_has(spec, "paramKind") ||
            kj_equal(kj_get(spec, "paramKind"), kj_get(old, "paramKind"))) &&
           kj_len(x) == kj_len(y) && (!kj_len(x) || kj_equal(x, y));
}

static void policy_validate(enum res_verb verb, const struct kj_val *obj, const struct kj_val *old,
                            struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec"), *match = kj_get(spec, "matchConstraints");

    if (verb == RES_STATUS)
        return;
    (void)check_enum(&c, "spec.failurePolicy", v_str(spec, "failurePolicy"), failure_policies,
                     false);
    if (v_has(spec, "paramKind"))
        check_param_kind(&c, kj_get(spec, "paramKind"));
    if (!v_has(spec, "matchConstraints")) {
        err_required(&c, "spec.matchConstraints", "");
    } else {
        check_match(&c, "spec.matchConstraints", match);
        if (!kj_len(kj_get(match, "resourceRules")))
            err_required(&c, "spec.matchConstraints.resourceRules", "");
    }
    if (verb == RES_CREATE || !same_conditions(spec, kj_get(old, "spec")))
        conditions_check(kj_get(spec, "matchConditions"), v_has(spec, "paramKind"),
                         "spec.matchConditions", errors);
    check_expressions(&c, spec, kj_str_or(kj_path(obj, "metadata.name"), ""));
}
PREPARE_STATUS(policy_prepare, "admissionregistration.k8s.io", "ValidatingAdmissionPolicy")
const struct res_strategy policy_strategy = { .prepare = policy_prepare,
                                              .validate = policy_validate };

static void cell_validations(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    strbuf_append_i64(out, (int64_t)kj_len(kj_path(obj, "spec.validations")));
}

static void cell_param_kind(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct kj_val *kind = kj_path(obj, "spec.paramKind");

    (void)now;
    if (kj_type(kind) == KJ_OBJ)
        strbuf_appendf(&b, "%s/%s", v_str(kind, "apiVersion"), v_str(kind, "kind"));
    cell_text(out, b.len ? b.data : "<unset>");
}
static const struct res_column policy_columns_list[] = {
    NAME_COLUMN,
    { .name = "Validations", .type = "integer", .cell = cell_validations },
    { .name = "ParamKind", .type = "string", .cell = cell_param_kind },
    AGE_COLUMN,
};
COLUMNS(policy_columns);

/* ---- bindings -------------------------------------------------------------------------------- */

static void check_param_ref(struct check *c, const struct kj_val *ref)
{
    static const char exclusive[] = "name and selector are mutually exclusive";
    const char *name = v_str(ref, "name"), *why = path_segment_problem(str_of(name));
    bool selects = v_has(ref, "selector");

    if (*name && why)
        err_invalid(c, "spec.paramRef.name", name, why);
    if (*name && selects)
        err_forbidden(c, "spec.paramRef.name", exclusive);
    if (selects)
        check_label_selector(c, "spec.paramRef.selector", kj_get(ref, "selector"));
    if (*name && selects)
        err_forbidden(c, "spec.paramRef.selector", exclusive);
    if (!*name && !selects)
        err_required(c, "spec.paramRef", "one of name or selector must be specified");
    if (!*v_str(ref, "parameterNotFoundAction"))
        err_required(c, "spec.paramRef.parameterNotFoundAction", "");
    else
        (void)check_enum(c, "spec.paramRef.parameterNotFoundAction",
                         v_str(ref, "parameterNotFoundAction"), not_found_actions, false);
}

static void check_actions(struct check *c, const struct kj_val *list)
{
    CLEANUP(map_fini) struct map seen = { 0 };

    for (size_t i = 0; i < kj_len(list); i++) {
        const char *p = at(c, "spec.validationActions[%zu]", i);
        const char *action = kj_str_or(kj_at(list, i), "");
        (void)check_enum(c, p, action, actions, false);
        if (!names_add(&seen, action))
            err_duplicate(c, p, action);
    }
    if (has_text(list, "Deny") && has_text(list, "Warn"))
        field_error(c->errors, FIELD_INVALID, "spec.validationActions", as_json(c, list),
                    "must not contain both Deny and Warn (repeating the same validation failure "
                    "information in the API response and headers serves no purpose)");
    if (!kj_len(list))
        err_required(c, "spec.validationActions", "at least one validation action is required");
}

static void policy_binding_validate(enum res_verb verb, const struct kj_val *obj,
                                    const struct kj_val *old, struct field_errors *errors)
{
    CLEANUP(check_end) struct check c = check_begin(errors);
    const struct kj_val *spec = kj_get(obj, "spec");
    const char *policy = v_str(spec, "policyName");

    (void)verb, (void)old;
    if (!*policy)
        err_required(&c, "spec.policyName", "");
    else
        check_dns_subdomain(&c, "spec.policyName", policy);
    if (v_has(spec, "paramRef"))
        check_param_ref(&c, kj_get(spec, "paramRef"));
    if (v_has(spec, "matchResources"))
        check_match(&c, "spec.matchResources", kj_get(spec, "matchResources"));
    check_actions(&c, kj_get(spec, "validationActions"));
}
const struct res_strategy policy_binding_strategy = { .validate = policy_binding_validate };

TEXT_CELL(cell_policy_name, "spec.policyName", "")

static void cell_param_ref(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct kj_val *ref = kj_path(obj, "spec.paramRef");
    const char *ns = v_str(ref, "namespace"), *name = v_str(ref, "name");

    (void)now;
    if (*name)
        strbuf_appendf(&b, "%s/%s", *ns ? ns : "*", name);
    else if (v_has(ref, "selector"))
        v_selector_text(kj_get(ref, "selector"), &b);
    cell_text(out, b.len ? b.data : "<unset>");
}
static const struct res_column policy_binding_columns_list[] = {
    NAME_COLUMN,
    { .name = "PolicyName", .type = "string", .cell = cell_policy_name },
    { .name = "ParamRef", .type = "string", .cell = cell_param_ref },
    AGE_COLUMN,
};
COLUMNS(policy_binding_columns);
