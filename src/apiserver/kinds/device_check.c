/* device_check.c - the rules that claims, classes and slices of resource.k8s.io share: names of
 * drivers, pools and attributes, selectors, configuration, references to requests. */
#include <ctype.h>
#include <strings.h>

#include "api/names.h"
#include "apiserver/kinds/device_check.h"
#include "base/ktime.h"
#include "cel/device.h"

enum {
    DRIVER_MAX = 63,
    POOL_MAX = 253,
    IDENTIFIER_MAX = 32,
    EXPRESSION_MAX = 10 << 10,
    PARAMETERS_MAX = 10 << 10,
    SELECTORS_MAX = 32,
    CONDITIONS_MAX = 4,
    REASON_MAX = 1 << 10,
    MESSAGE_MAX = 32 << 10,
};
#define ESTIMATE_MAX UINT64_C(1000000)

void check_length(struct check *c, const char *path, size_t n, size_t max)
{
    if (n > max)
        field_error(c->errors, FIELD_TOO_LONG, path, NULL, "may not be more than %zu bytes", max);
}

/* ---- names ----------------------------------------------------------------------------------- */

void check_driver(struct check *c, const char *path, const char *s)
{
    if (!*s) {
        err_required(c, path, "");
        return;
    }
    check_length(c, path, strlen(s), DRIVER_MAX);
    char *lower = arena_strdup(c->a, s);
    for (char *p = lower; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    const char *why = name_check_dns_subdomain(str_of(lower));
    if (why)
        err_invalid(c, path, s, why);
}

void check_pool(struct check *c, const char *path, const char *s)
{
    if (!*s) {
        err_required(c, path, "");
        return;
    }
    check_length(c, path, strlen(s), POOL_MAX);
    for (const char *part = s;; part++) {
        size_t n = strcspn(part, "/");
        check_dns_subdomain(c, path, arena_strndup(c->a, part, n));
        part += n;
        if (!*part)
            return;
    }
}

static void check_identifier(struct check *c, const char *path, const char *s)
{
    size_t n = strlen(s), good = 0;

    check_length(c, path, n, IDENTIFIER_MAX);
    while (good < n && (s[good] == '_' || isalpha((unsigned char)s[good]) ||
                        (good > 0 && isdigit((unsigned char)s[good]))))
        good++;
    if (n == 0 || good < n)
        err_invalid(c, path, s,
                    "a valid C identifier must start with alphabetic character or '_', followed by "
                    "a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  "
                    "or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')");
}

void check_device_name(struct check *c, const char *path, const char *s)
{
    const char *slash = strchr(s, '/');

    if (!slash) {
        check_identifier(c, path, s);
        return;
    }
    if (strchr(slash + 1, '/')) /* upstream's slip, kept: who has two slashes passes unseen */
        return;
    if (slash == s)
        err_invalid(c, path, "", "the domain must not be empty");
    else
        check_driver(c, path, arena_strndup(c->a, s, (size_t)(slash - s)));
    if (!slash[1])
        err_invalid(c, path, "", "the name must not be empty");
    else
        check_identifier(c, path, slash + 1);
}

void check_full_name(struct check *c, const char *path, const char *s)
{
    check_device_name(c, path, s);
    if (!strchr(s, '/'))
        err_invalid(c, path, s,
                    "a fully qualified name must be a domain and a name separated by a slash");
}

/* ---- selectors and configuration ------------------------------------------------------------- */

static void check_expression(struct check *c, const char *path, const struct kj_val *v)
{
    const char *text = kj_str_or(v, "");
    CLEANUP(cel_expr_free) struct cel_expr *e = NULL;
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;

    if (kj_len(v) > EXPRESSION_MAX) { /* not even compiled */
        check_length(c, path, kj_len(v), EXPRESSION_MAX);
        return;
    }
    /* As if the gate were on, since slices keep the field too. */
    static const struct cel_device_env env = { .consumable = true };
    enum cel_failure f = cel_device_compile(&env, text, kj_len(v), &e, &why);
    if (f == CEL_OK && cel_expr_estimate(e).max > ESTIMATE_MAX)
        err_forbidden(c, path, "too complex, exceeds cost limit");
    else if (f != CEL_OK && str_starts(strbuf_str(&why), "program "))
        field_error(c->errors, FIELD_INTERNAL, path, NULL, "%s", strbuf_str(&why));
    else if (f != CEL_OK)
        field_error_text(c->errors, FIELD_INVALID, path, text, "%s", strbuf_str(&why));
}

void check_selectors(struct check *c, const char *path, const struct kj_val *list)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    if (!check_at_most(c, path, list, SELECTORS_MAX))
        return;
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "%s[%zu].cel", path, i);
        if (!v_has(v, "cel"))
            err_required(c, p, "");
        else
            check_expression(c, at(c, "%s.expression", p), kj_path(v, "cel.expression"));
    }
}

void check_raw_object(struct check *c, const char *path, const struct kj_val *v)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    if (kj_type(v) <= KJ_NULL) {
        err_required(c, path, "");
        return;
    }
    kj_write(v, 0, &text);
    if (text.len > PARAMETERS_MAX)
        check_length(c, path, text.len, PARAMETERS_MAX);
    else if (kj_type(v) != KJ_OBJ)
        err_invalid(c, path, "<value omitted>", "must be a valid JSON object");
}

void check_opaque(struct check *c, const char *path, const struct kj_val *config)
{
    const struct kj_val *opaque = kj_get(config, "opaque");
    const char *p = at(c, "%s.opaque", path);

    if (!v_has(config, "opaque")) {
        err_required(c, p, "");
        return;
    }
    check_driver(c, at(c, "%s.driver", p), v_str(opaque, "driver"));
    check_raw_object(c, at(c, "%s.parameters", p), kj_get(opaque, "parameters"));
}

const char *const device_taint_effects[] = { "NoExecute", "NoSchedule", "None", NULL };

static void check_toleration_value(struct check *c, const char *path, const struct kj_val *t)
{
    const char *op = v_str(t, "operator"), *value = v_str(t, "value");
    static const char *const ops[] = { "Equal", "Exists", NULL };

    if (streq(op, "Exists")) {
        if (*value)
            err_invalid(c, at(c, "%s.value", path), value, "must be empty for operator `Exists`");
    } else if (streq(op, "Equal")) {
        check_label_value(c, at(c, "%s.value", path), value);
    } else if (!*op) {
        err_required(c, at(c, "%s.operator", path), "");
    } else {
        err_unsupported(c, at(c, "%s.operator", path), op, ops);
    }
}

void check_tolerations(struct check *c, const char *path, const struct kj_val *list)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *t;

    for (size_t i = 0; kj_next(&it, NULL, &t); i++) {
        const char *p = at(c, "%s[%zu]", path, i), *effect = v_str(t, "effect");
        if (*v_str(t, "key"))
            check_qualified(c, at(c, "%s.key", p), v_str(t, "key"));
        check_toleration_value(c, p, t);
        check_enum(c, at(c, "%s.effect", p), effect, device_taint_effects, true);
    }
}

void device_taint_default(struct kj_mdoc *d, struct kj_mval *taint, nsec_t now)
{
    char when[KTIME_TEXT_MAX];

    if (kj_mtype(taint) != KJ_OBJ || m_has(taint, "timeAdded"))
        return;
    ktime_format(now, when);
    kj_mset(d, taint, "timeAdded", kj_mstr(d, when));
}

/* ---- shares ---------------------------------------------------------------------------------- */

static bool is_hex(const char *s, size_t n)
{
    while (n && isxdigit((unsigned char)*s))
        s++, n--;
    return n == 0;
}

/* The four forms that github.com/google/uuid knows. NULL: it is one of them. */
static const char *uuid_fault(struct check *c, const char *s)
{
    enum { PLAIN = 36, URN = 9, BRACES = 2, DIGITS = 32 };
    static const char bad[] = "invalid UUID format";
    size_t n = strlen(s);

    if (n == DIGITS)
        return is_hex(s, n) ? NULL : bad;
    if (n == PLAIN + URN) {
        if (strncasecmp(s, "urn:uuid:", URN) != 0)
            return at(c, "invalid urn prefix: %s", quoted(c, arena_strndup(c->a, s, URN)));
        s += URN;
    } else if (n == PLAIN + BRACES) {
        if (s[0] != '{' || s[n - 1] != '}')
            return "invalid bracketed UUID format";
        s++;
    } else if (n != PLAIN) {
        return at(c, "invalid UUID length: %zu", n);
    }
    return s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' && is_hex(s, 8) &&
                   is_hex(s + 9, 4) && is_hex(s + 14, 4) && is_hex(s + 19, 4) && is_hex(s + 24, 12)
               ? NULL
               : bad;
}

void check_share(struct check *c, const char *path, const char *s)
{
    const char *why = uuid_fault(c, s);

    if (why)
        err_invalid(c, path, s, at(c, "error validating uid: %s", why));
    else if (strlen(s) != 36 || strpbrk(s, "ABCDEF"))
        err_invalid(c, path, s,
                    "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-"
                    "xxxxxxxxxxxx` with lowercase hexadecimal characters");
}

/* ---- conditions ------------------------------------------------------------------------------ */

static void check_reason(struct check *c, const char *path, const char *s)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t n = strlen(s), good = strspn(s, "_,:0123456789abcdefghijklmnopqrstuvwxyz"
                                           "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

    if (!n) {
        err_required(c, path, "");
        return;
    }
    if (good < n || !strchr(letters, s[0]) || strchr(",:", s[n - 1]))
        err_invalid(c, path, s,
                    "a condition reason must start with alphabetic character, optionally followed "
                    "by a string of alphanumeric characters or '_,:', and must end with an "
                    "alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  "
                    "or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is "
                    "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')");
    check_length(c, path, n, REASON_MAX);
}

static void check_condition(struct check *c, const char *path, const struct kj_val *v)
{
    static const char *const statuses[] = { "False", "True", "Unknown", NULL };
    const char *since = v_str(v, "lastTransitionTime");
    int64_t seen = kj_i64_or(kj_get(v, "observedGeneration"), 0);

    check_qualified(c, at(c, "%s.type", path), v_str(v, "type"));
    (void)check_enum(c, at(c, "%s.status", path), v_str(v, "status"), statuses, false);
    if (seen < 0)
        err_invalid_i64(c, at(c, "%s.observedGeneration", path), seen,
                        "must be greater than or equal to zero");
    if (!*since || streq(since, "0001-01-01T00:00:00Z")) /* Go's zero */
        err_required(c, at(c, "%s.lastTransitionTime", path), "");
    check_reason(c, at(c, "%s.reason", path), v_str(v, "reason"));
    check_length(c, at(c, "%s.message", path), kj_len(kj_get(v, "message")), MESSAGE_MAX);
}

void check_conditions(struct check *c, const char *path, const struct kj_val *list)
{
    CLEANUP(map_fini) struct map types = { 0 };
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "%s[%zu]", path, i);
        if (!names_add(&types, v_str(v, "type")))
            err_duplicate(c, at(c, "%s.type", p), v_str(v, "type"));
        check_condition(c, p, v);
    }
}

/* ---- binding conditions ---------------------------------------------------------------------- */

static void check_condition_names(struct check *c, const char *path, const struct kj_val *list,
                                  struct map *seen)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;

    if (!check_at_most(c, path, list, CONDITIONS_MAX))
        return;
    for (size_t i = 0; kj_next(&it, NULL, &v); i++) {
        const char *p = at(c, "%s[%zu]", path, i);
        check_qualified(c, p, kj_str_or(v, ""));
        if (!names_add(seen, kj_str_or(v, "")))
            err_duplicate(c, p, kj_str_or(v, ""));
    }
}

void check_binding_conditions(struct check *c, const char *path, const struct kj_val *device)
{
    const struct kj_val *yes = kj_get(device, "bindingConditions"),
                        *no = kj_get(device, "bindingFailureConditions"), *v;
    CLEANUP(map_fini) struct map wanted = { 0 };
    CLEANUP(map_fini) struct map failing = { 0 };
    const char *yes_path = at(c, "%s.bindingConditions", path),
               *no_path = at(c, "%s.bindingFailureConditions", path);
    struct kj_iter it = kj_iter(no);

    check_condition_names(c, yes_path, yes, &wanted);
    check_condition_names(c, no_path, no, &failing);
    for (size_t i = 0; kj_next(&it, NULL, &v); i++)
        if (map_getz(&wanted, kj_str_or(v, "")))
            err_invalid(c, at(c, "%s[%zu]", no_path, i), kj_str_or(v, ""),
                        "bindingFailureConditions must not overlap with bindingConditions");
    if (kj_len(yes) == 0 && kj_len(no) > 0)
        field_error(c->errors, FIELD_INVALID, yes_path, as_json(c, yes),
                    "bindingConditions are required to use bindingFailureConditions");
    if (kj_len(no) == 0 && kj_len(yes) > 0)
        field_error(c->errors, FIELD_INVALID, no_path, as_json(c, no),
                    "bindingFailureConditions are required to use bindingConditions");
}
