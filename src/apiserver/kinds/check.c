/* check.c - the rules that many kinds share, with the words of kube-apiserver. */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>

#include "api/names.h"
#include "apiserver/kinds/internal.h"

struct check check_begin(struct field_errors *errors)
{
    return (struct check){ errors, arena_new() };
}

void check_end(struct check *c)
{
    c->a = arena_free(c->a);
}

/* Made for every field of every object, almost always for nothing: so without snprintf. Knows %s,
 * %d, %zu and %lld, which is what paths are made of. */
const char *at(struct check *c, const char *fmt, ...)
{
    char buf[512], digits[24];
    size_t n = 0;
    va_list ap;

    va_start(ap, fmt);
    for (const char *p = fmt; *p && n < sizeof buf - 1; p++) {
        const char *s = digits;
        if (*p != '%') {
            buf[n++] = *p;
            continue;
        }
        switch (*++p) {
        case 's': s = va_arg(ap, const char *); break;
        case 'd': (void)snprintf(digits, sizeof digits, "%d", va_arg(ap, int)); break;
        case 'z':
            p++;
            (void)snprintf(digits, sizeof digits, "%zu", va_arg(ap, size_t));
            break;
        case 'l':
            p += 2;
            (void)snprintf(digits, sizeof digits, "%lld", va_arg(ap, long long));
            break;
        default: s = "%"; break;
        }
        size_t len = MIN(strlen(s), sizeof buf - 1 - n);
        memcpy(buf + n, s, len);
        n += len;
    }
    va_end(ap);
    return arena_strndup(c->a, buf, n);
}

const char *text_quoted(struct arena *a, const char *s)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    strbuf_append_quoted(&b, s, strlen(s));
    return arena_strndup(a, b.data, b.len);
}

const char *quoted(struct check *c, const char *s)
{
    return text_quoted(c->a, s);
}

const char *as_json(struct check *c, const struct kj_val *v)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    if (!v)
        return "null";
    kj_write(v, KJ_SORTED, &b);
    return arena_strndup(c->a, b.data, b.len);
}

void err_required(struct check *c, const char *path, const char *why)
{
    if (*why)
        field_error(c->errors, FIELD_REQUIRED, path, NULL, "%s", why);
    else
        field_error(c->errors, FIELD_REQUIRED, path, NULL, NULL);
}

void err_forbidden(struct check *c, const char *path, const char *why)
{
    field_error(c->errors, FIELD_FORBIDDEN, path, NULL, "%s", why);
}

void err_invalid(struct check *c, const char *path, const char *value, const char *why)
{
    field_error(c->errors, FIELD_INVALID, path, quoted(c, value), "%s", why);
}

void err_invalid_i64(struct check *c, const char *path, int64_t value, const char *why)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    field_error(c->errors, FIELD_INVALID, path, text, "%s", why);
}

void err_duplicate(struct check *c, const char *path, const char *value)
{
    field_error(c->errors, FIELD_DUPLICATE, path, quoted(c, value), NULL);
}

void err_unsupported(struct check *c, const char *path, const char *value,
                     const char *const *values)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    for (size_t i = 0; values[i]; i++)
        strbuf_appendf(&b, "%s\"%s\"", i ? ", " : "", values[i]);
    field_error(c->errors, FIELD_NOT_SUPPORTED, path, quoted(c, value), "supported values: %s",
                strbuf_str(&b));
}

bool check_enum(struct check *c, const char *path, const char *value, const char *const *values,
                bool absent_ok)
{
    if (!*value && absent_ok)
        return true;
    for (size_t i = 0; values[i]; i++)
        if (streq(values[i], value))
            return true;
    err_unsupported(c, path, value, values);
    return false;
}

bool check_at_most(struct check *c, const char *path, const struct kj_val *list, size_t max)
{
    size_t n = kj_len(list);

    if (n <= max)
        return true;
    field_error(c->errors, FIELD_TOO_MANY, path, NULL, "%zu: must have at most %zu items", n, max);
    return false;
}

bool names_add(struct map *seen, const char *name)
{
    static int present;
    return !map_putz(seen, name, &present);
}

void check_own_label(struct check *c, const char *path, const char *name, struct map *seen)
{
    if (!*name)
        err_required(c, path, "");
    else
        check_dns_label(c, path, name);
    if (*name && !names_add(seen, name))
        err_duplicate(c, path, name);
}

/* ---- names ----------------------------------------------------------------------------------- */

void check_dns_label(struct check *c, const char *path, const char *s)
{
    const char *why = name_check_dns_label(str_of(s));
    if (why)
        err_invalid(c, path, s, why);
}

void check_dns_subdomain(struct check *c, const char *path, const char *s)
{
    const char *why = name_check_dns_subdomain(str_of(s));
    if (why)
        err_invalid(c, path, s, why);
}

const char *dns1035_problem(const char *s)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyz",
                      more[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    size_t n = strlen(s);

    if (n > 63)
        return "must be no more than 63 characters";
    if (n && strchr(first, *s) && strspn(s, more) == n && s[n - 1] != '-')
        return NULL;
    return "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with "
           "an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "
           "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
}

void check_wildcard_subdomain(struct check *c, const char *path, const char *s)
{
    if (!str_starts(s, "*.") || name_check_dns_subdomain(str_of(s + 2)))
        err_invalid(c, path, s,
                    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS "
                    "subdomain, which must consist of lower case alphanumeric characters, '-' or "
                    "'.' and end with an alphanumeric character (e.g. '*.example.com', regex used "
                    "for validation is "
                    "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
}

void check_domain_path(struct check *c, const char *path, const char *s)
{
    const char *slash = strchr(s, '/');

    if (!*s) {
        err_required(c, path, "");
        return;
    }
    if (!slash || !slash[1]) {
        err_invalid(c, path, s, "must be a domain-prefixed path (such as \"acme.io/foo\")");
        return;
    }
    const char *why = name_check_dns_subdomain((struct str){ s, (size_t)(slash - s) });
    if (why)
        err_invalid(c, path, arena_strndup(c->a, s, (size_t)(slash - s)), why);
    for (const char *p = slash + 1; *p; p++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._~%!$&'()*+,;"
                    "=:@",
                    *p)) {
            err_invalid(c, path, slash + 1,
                        "Invalid path (regex used for validation is "
                        "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')");
            return;
        }
}

void check_qualified(struct check *c, const char *path, const char *s)
{
    static const char empty[] = "name part must be non-empty";
    const char *why = name_check_label_key(str_of(s));

    if (!why)
        return;
    /* api/names.h tells both rules that an empty name breaks in one text; the server has two
     * errors. */
    if (str_starts(why, empty) && why[sizeof empty - 1] == ';') {
        err_invalid(c, path, s, empty);
        why += sizeof empty + 1;
    }
    err_invalid(c, path, s, why);
}

void check_label_value(struct check *c, const char *path, const char *s)
{
    const char *why = name_check_label_value(str_of(s));
    if (why)
        err_invalid(c, path, s, why);
}

void check_labels(struct check *c, const char *path, const struct kj_val *labels)
{
    struct kj_iter it = kj_iter(labels);
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v)) {
        check_qualified(c, path, arena_strndup(c->a, key.p, key.n));
        /* By its length: a NUL ends no JSON string. */
        const char *why = name_check_label_value((struct str){ kj_str_or(v, ""), kj_len(v) });
        if (why)
            err_invalid(c, path, kj_str_or(v, ""), why);
    }
}

void check_config_key(struct check *c, const char *path, const char *s)
{
    size_t n = strlen(s), good = strspn(s, "-._0123456789abcdefghijklmnopqrstuvwxyz"
                                           "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (n > 253)
        err_invalid(c, path, s, "must be no more than 253 characters");
    else if (good != n || n == 0)
        err_invalid(c, path, s,
                    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
                    "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation "
                    "is '[-._a-zA-Z0-9]+')");
    else if (streq(s, "."))
        err_invalid(c, path, s, "must not be '.'");
    else if (streq(s, ".."))
        err_invalid(c, path, s, "must not be '..'");
    else if (str_starts(s, ".."))
        err_invalid(c, path, s, "must not start with '..'");
}

void check_ip(struct check *c, const char *path, const char *s)
{
    unsigned char buf[16];
    if (inet_pton(AF_INET, s, buf) != 1 && inet_pton(AF_INET6, s, buf) != 1)
        err_invalid(c, path, s, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
}

/* ---- ports ----------------------------------------------------------------------------------- */

void check_port(struct check *c, const char *path, int64_t port)
{
    if (port < 1 || port > 65535)
        err_invalid_i64(c, path, port, "must be between 1 and 65535, inclusive");
}

void check_port_name(struct check *c, const char *path, const char *s)
{
    size_t n = strlen(s);
    bool letter = false;

    if (n > 15)
        err_invalid(c, path, s, "must be no more than 15 characters");
    if (n == 0 || strspn(s, "-0123456789abcdefghijklmnopqrstuvwxyz") != n)
        err_invalid(c, path, s,
                    "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    for (size_t i = 0; i < n; i++)
        letter |= s[i] >= 'a' && s[i] <= 'z';
    if (!letter)
        err_invalid(c, path, s, "must contain at least one letter (a-z)");
    if (strstr(s, "--"))
        err_invalid(c, path, s, "must not contain consecutive hyphens");
    if (n && (s[0] == '-' || s[n - 1] == '-'))
        err_invalid(c, path, s, "must not begin or end with a hyphen");
}

void check_port_or_name(struct check *c, const char *path, const struct kj_val *v)
{
    if (kj_type(v) == KJ_STR)
        check_port_name(c, path, kj_str(v));
    else
        check_port(c, path, kj_i64_or(v, 0));
}

/* ---- numbers --------------------------------------------------------------------------------- */

void check_not_negative(struct check *c, const char *path, const struct kj_val *v)
{
    int64_t i;
    if (kj_i64(v, &i) == 0 && i < 0)
        err_invalid_i64(c, path, i, "must be greater than or equal to 0");
}

void check_range(struct check *c, const char *path, const struct kj_val *v, int64_t lo, int64_t hi)
{
    int64_t i;
    if (kj_i64(v, &i) == 0 && (i < lo || i > hi))
        err_invalid_i64(
            c, path, i,
            at(c, "must be between %lld and %lld, inclusive", (long long)lo, (long long)hi));
}

void check_int_or_percent(struct check *c, const char *path, const struct kj_val *v)
{
    const char *s = kj_str(v);

    if (!s) {
        check_not_negative(c, path, v);
        return;
    }
    size_t digits = strspn(s, "0123456789");
    if (digits == 0 || !streq(s + digits, "%"))
        err_invalid(c, path, s,
                    "a valid percent string must be a numeric string followed by an ending '%' "
                    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')");
    else if (digits > 3 || atoi(s) > 100)
        err_invalid(c, path, s, "must not be greater than 100%");
}

void check_immutable(struct check *c, const char *path, const struct kj_val *v,
                     const struct kj_val *old)
{
    if ((v || old) && !(v && old && kj_equal(v, old)))
        field_error(c->errors, FIELD_INVALID, path, as_json(c, v), "field is immutable");
}

void check_local_path(struct check *c, const char *path, const char *s, bool must_be_relative)
{
    if (must_be_relative && s[0] == '/')
        err_invalid(c, path, s, "must be a relative path");
    for (const char *p = s; *p;) {
        size_t n = strcspn(p, "/");
        if (n == 2 && p[0] == '.' && p[1] == '.') {
            err_invalid(c, path, s, "must not contain '..'");
            return;
        }
        p += n + (p[n] == '/');
    }
}

/* ---- label selectors ------------------------------------------------------------------------- */

void check_label_selector(struct check *c, const char *path, const struct kj_val *selector)
{
    struct kj_iter it = kj_iter(kj_get(selector, "matchExpressions"));
    const struct kj_val *e;

    check_labels(c, at(c, "%s.matchLabels", path), kj_get(selector, "matchLabels"));
    for (size_t i = 0; kj_next(&it, NULL, &e); i++) {
        const char *op = v_str(e, "operator"), *p = at(c, "%s.matchExpressions[%zu]", path, i);
        size_t n = kj_len(kj_get(e, "values"));
        if (streq(op, "In") || streq(op, "NotIn")) {
            if (n == 0)
                err_required(c, at(c, "%s.values", p),
                             "must be specified when `operator` is 'In' or 'NotIn'");
        } else if (streq(op, "Exists") || streq(op, "DoesNotExist")) {
            if (n > 0)
                err_forbidden(c, at(c, "%s.values", p),
                              "may not be specified when `operator` is 'Exists' or "
                              "'DoesNotExist'");
        } else {
            err_invalid(c, at(c, "%s.operator", p), op, "not a valid selector operator");
        }
        check_qualified(c, at(c, "%s.key", p), v_str(e, "key"));
        struct kj_iter values = kj_iter(kj_get(e, "values"));
        const struct kj_val *v;
        for (size_t k = 0; kj_next(&values, NULL, &v); k++)
            check_label_value(c, at(c, "%s.values[%zu]", p, k), kj_str_or(v, ""));
    }
}
