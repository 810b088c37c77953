/* names.c - see names.h. Written out by hand: a regex engine would cost more than these loops. */
#include "api/names.h"

enum { LABEL_MAX = 63, SUBDOMAIN_MAX = 253 };

#define NAME_CHARS                                                                              \
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " \
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "      \
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"

static bool is_lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c)
{
    return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

/* ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9] */
static bool is_name(struct str s)
{
    if (s.n == 0 || !is_alnum(s.p[0]) || !is_alnum(s.p[s.n - 1]))
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!is_alnum(s.p[i]) && s.p[i] != '-' && s.p[i] != '_' && s.p[i] != '.')
            return false;
    return true;
}

/* [a-z0-9]([-a-z0-9]*[a-z0-9])? */
static bool is_dns_label(struct str s)
{
    if (s.n == 0 || !is_lower_alnum(s.p[0]) || !is_lower_alnum(s.p[s.n - 1]))
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!is_lower_alnum(s.p[i]) && s.p[i] != '-')
            return false;
    return true;
}

static bool is_dns_subdomain(struct str s)
{
    size_t start = 0;
    for (size_t i = 0; i <= s.n; i++) {
        if (i < s.n && s.p[i] != '.')
            continue;
        if (!is_dns_label((struct str){ s.p + start, i - start }))
            return false;
        start = i + 1;
    }
    return true;
}

const char *name_check_dns_subdomain(struct str s)
{
    if (s.n > SUBDOMAIN_MAX)
        return "must be no more than 253 bytes";
    if (!is_dns_subdomain(s))
        return "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
               "'-' or '.', and must start and end with an alphanumeric character (e.g. "
               "'example.com', regex used for validation is "
               "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    return NULL;
}

const char *name_check_dns_label(struct str s)
{
    if (s.n > LABEL_MAX)
        return "must be no more than 63 bytes";
    if (!is_dns_label(s) && is_dns_subdomain(s))
        return "must not contain dots";
    if (!is_dns_label(s))
        return "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or "
               "'-', and must start and end with an alphanumeric character (e.g. 'my-name',  or "
               "'123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
    return NULL;
}

const char *name_check_label_key(struct str s)
{
    const char *slash = s.n ? memchr(s.p, '/', s.n) : NULL;
    struct str name = s;

    if (slash) {
        struct str prefix = { s.p, (size_t)(slash - s.p) };
        name = (struct str){ slash + 1, s.n - prefix.n - 1 };
        if (name.n && memchr(name.p, '/', name.n))
            return "a valid label key " NAME_CHARS " with an optional DNS subdomain prefix and '/' "
                   "(e.g. 'example.com/MyName')";
        if (prefix.n == 0)
            return "prefix part must be non-empty";
        if (prefix.n > SUBDOMAIN_MAX)
            return "prefix part must be no more than 253 bytes";
        if (!is_dns_subdomain(prefix))
            return "prefix part a lowercase RFC 1123 subdomain must consist of lower case "
                   "alphanumeric characters, '-' or '.', and must start and end with an "
                   "alphanumeric character (e.g. 'example.com', regex used for validation is "
                   "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    }
    if (name.n == 0)
        return "name part must be non-empty; name part " NAME_CHARS;
    if (name.n > LABEL_MAX)
        return "name part must be no more than 63 bytes";
    return is_name(name) ? NULL : "name part " NAME_CHARS;
}

const char *name_check_label_value(struct str s)
{
    if (s.n > LABEL_MAX)
        return "must be no more than 63 bytes";
    if (s.n && !is_name(s))
        return "a valid label must be an empty string or consist of alphanumeric characters, '-', "
               "'_' or '.', and must start and end with an alphanumeric character (e.g. "
               "'MyValue',  or 'my_value',  or '12345', regex used for validation is "
               "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    return NULL;
}

bool name_is_extended_resource(const char *name)
{
    return strchr(name, '/') && !strstr(name, "kubernetes.io/") && !str_starts(name, "requests.") &&
           !name_check_label_key(str_of(name));
}

const char *name_check_extended_resource(const char *name)
{
    const char *wrong = name_check_label_key(str_of(name));

    if (wrong)
        return wrong;
    return name_is_extended_resource(name) ? NULL : "is an invalid extended resource name";
}
