/* lib_formats.c - named formats: validate() tells what is wrong with a text. */
#include "cel/lib.h"
#include "cel/strfmt.h"
#include "cel/urls.h"

#define LABEL     "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define SUBDOMAIN LABEL "(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
#define NAME      "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

static const char label_text[] =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must "
    "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
    "validation is '" LABEL "')";
static const char subdomain_text[] =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', "
    "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
    "validation is '" SUBDOMAIN "')";
static const char label1035_text[] =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
static const char value_text[] =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(" NAME ")?')";
static const char name_text[] =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '" NAME "')";

static void say(struct cel_run *r, struct cel_val *msgs, unsigned *n, const char *text)
{
    if (*n < CEL_FORMAT_MSGS_MAX)
        msgs[(*n)++] = cel_v_dup(r->a, text, strlen(text));
}

/* A name of at most `most` bytes that matches. */
static void check_name(struct cel_run *r, struct str s, size_t most, const char *pattern,
                       const char *text, struct cel_val *msgs, unsigned *n)
{
    if (s.n > most)
        say(r, msgs, n,
            arena_printf(r->a, "must be no more than %zu %s", most,
                         text == value_text ? "bytes" : "characters"));
    if (!strfmt_whole(pattern, s))
        say(r, msgs, n, text);
}

static void label(struct cel_run *r, struct str s, struct cel_val *m, unsigned *n)
{
    bool dots = !strfmt_whole(LABEL, s) && strfmt_whole(SUBDOMAIN, s);
    check_name(r, s, 63, LABEL, dots ? "must not contain dots" : label_text, m, n);
}
static void subdomain(struct cel_run *r, struct str s, struct cel_val *m, unsigned *n)
{
    check_name(r, s, 253, SUBDOMAIN, subdomain_text, m, n);
}
static void label1035(struct cel_run *r, struct str s, struct cel_val *m, unsigned *n)
{
    check_name(r, s, 63, "[a-z]([-a-z0-9]*[a-z0-9])?", label1035_text, m, n);
}
static void label_value(struct cel_run *r, struct str s, struct cel_val *m, unsigned *n)
{
    check_name(r, s, 63, "(" NAME ")?", value_text, m, n);
}

/* What more text may follow: upstream takes an a for a hyphen at the end and the sign before it. */
static struct str prefix(struct cel_run *r, struct str s)
{
    if (s.n < 2 || s.p[s.n - 1] != '-')
        return s;
    char *copy = arena_strndup(r->a, s.p, s.n);
    copy[s.n - 2] = 'a';
    return (struct str){ copy, s.n - 1 };
}
static void label_prefix(struct cel_run *r, struct str s, struct cel_val *m, unsigned *n)
{
    label(r, prefix(r, s), m, n);
}
static void subdomain_prefix(struct cel_run *r, struct str s, struct cel_val *m, unsigned *n)
{
    subdomain(r, prefix(r, s), m, n);
}
static void label1035_prefix(struct cel_run *r, struct str s, struct cel_val *m, unsigned *n)
{
    label1035(r, prefix(r, s), m, n);
}

static void qualified_name(struct cel_run *r, struct str s, struct cel_val *m, unsigned *n)
{
    const char *slash = memchr(s.p, '/', s.n);
    struct str name = s;

    if (slash) {
        struct str domain = { s.p, (size_t)(slash - s.p) };
        name = (struct str){ slash + 1, s.n - domain.n - 1 };
        if (memchr(name.p, '/', name.n)) {
            say(r, m, n,
                "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and "
                "must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  "
                "or '123-abc', regex used for validation is '" NAME "') with an optional DNS "
                "subdomain prefix and '/' (e.g. 'example.com/MyName')");
            return;
        }
        unsigned before = *n;
        if (domain.n == 0)
            say(r, m, n, "prefix part must be non-empty");
        else
            subdomain(r, domain, m, n);
        for (unsigned i = before; i < *n && domain.n; i++)
            m[i] = cel_v_error(r->a, "prefix part %.*s", (int)m[i].n, m[i].s),
            m[i].kind = CK_STRING;
    }
    if (name.n == 0)
        say(r, m, n, "name part must be non-empty");
    else if (name.n > 63)
        say(r, m, n, "name part must be no more than 63 bytes");
    if (!strfmt_whole(NAME, name))
        say(r, m, n, name_text);
}

static void uri(struct cel_run *r, struct str s, struct cel_val *m, unsigned *n)
{
    const char *why = cel_uri_check(r->a, s);
    if (why)
        say(r, m, n, arena_printf(r->a, "parse %s: %s", cel_quoted(r->a, s), why));
}
static void uuid(struct cel_run *r, struct str s, struct cel_val *m, unsigned *n)
{
    if (!strfmt_is_uuid(s, 0))
        say(r, m, n, "does not match the UUID format");
}
static void byte(struct cel_run *r, struct str s, struct cel_val *m, unsigned *n)
{
    if (!strfmt_is_byte(s))
        say(r, m, n, "invalid base64");
}
static void date(struct cel_run *r, struct str s, struct cel_val *m, unsigned *n)
{
    if (!strfmt_is_date(s))
        say(r, m, n, "invalid date");
}
static void datetime(struct cel_run *r, struct str s, struct cel_val *m, unsigned *n)
{
    if (!strfmt_is_date_time(s))
        say(r, m, n, "invalid datetime");
}

static const struct cel_named_format formats[] = {
    { "dns1123Label", 30, label },
    { "dns1123Subdomain", 60, subdomain },
    { "dns1035Label", 30, label1035 },
    { "qualifiedName", 60, qualified_name },
    { "dns1123LabelPrefix", 30, label_prefix },
    { "dns1123SubdomainPrefix", 60, subdomain_prefix },
    { "dns1035LabelPrefix", 30, label1035_prefix },
    { "labelValue", 40, label_value },
    { "uri", 1104, uri },
    { "uuid", 72, uuid },
    { "byte", 84, byte },
    { "date", 72, date },
    { "datetime", 72, datetime },
};

static struct cel_val named(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    if (v[0].kind != CK_STRING)
        return cel_misfit();
    for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
        if (str_eqz(cel_str(v[0]), formats[i].name))
            return cel_v_some(r->a, (struct cel_val){ .kind = CK_FORMAT, .format = &formats[i] });
    }
    return cel_v_none();
}

static struct cel_val validate(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct cel_val *msgs = arena_alloc(r->a, CEL_FORMAT_MSGS_MAX * sizeof *msgs, 16);
    unsigned count = 0;

    (void)n;
    if (v[0].kind != CK_FORMAT || v[1].kind != CK_STRING)
        return cel_misfit();
    v[0].format->check(r, cel_str(v[1]), msgs, &count);
    return count ? cel_v_some(r->a, cel_v_list(r->a, msgs, count)) : cel_v_none();
}

#define FORMAT(i)                                                                            \
    static struct cel_val format_##i(struct cel_run *r, const struct cel_val *v, unsigned n) \
    {                                                                                        \
        (void)r, (void)v, (void)n;                                                           \
        return (struct cel_val){ .kind = CK_FORMAT, .format = &formats[i] };                 \
    }
FORMAT(0)
FORMAT(1)
FORMAT(2)
FORMAT(3)
FORMAT(4)
FORMAT(5)
FORMAT(6)
FORMAT(7)
FORMAT(8)
FORMAT(9)
FORMAT(10)
FORMAT(11)
FORMAT(12)

static const struct cel_type opt_format = { .kind = CT_OPTIONAL,
                                            .name = "optional_type",
                                            .elem = &cel_format,
                                            .size_max = CEL_SIZE_UNKNOWN },
                             opt_strings = { .kind = CT_OPTIONAL,
                                             .name = "optional_type",
                                             .elem = &cel_list_string,
                                             .size_max = CEL_SIZE_UNKNOWN };
static const struct cel_overload o_named[] = { CEL_GLOBAL(&opt_format, &cel_string) };
static const struct cel_overload o_validate[] = {
    CEL_MEMBER(&opt_strings, &cel_format, &cel_string),
};
static const struct cel_overload o_format[] = { { .result = &cel_format } };
static const struct cel_function functions[] = {
    CEL_FN("format.named", named, o_named),
    CEL_FN("validate", validate, o_validate, .cost = CC_VALIDATE),
    CEL_FN("format.dns1123Label", format_0, o_format),
    CEL_FN("format.dns1123Subdomain", format_1, o_format),
    CEL_FN("format.dns1035Label", format_2, o_format),
    CEL_FN("format.qualifiedName", format_3, o_format),
    CEL_FN("format.dns1123LabelPrefix", format_4, o_format),
    CEL_FN("format.dns1123SubdomainPrefix", format_5, o_format),
    CEL_FN("format.dns1035LabelPrefix", format_6, o_format),
    CEL_FN("format.labelValue", format_7, o_format),
    CEL_FN("format.uri", format_8, o_format),
    CEL_FN("format.uuid", format_9, o_format),
    CEL_FN("format.byte", format_10, o_format),
    CEL_FN("format.date", format_11, o_format),
    CEL_FN("format.datetime", format_12, o_format),
};
const struct cel_library cel_lib_formats = { functions, ARRAY_LEN(functions) };
