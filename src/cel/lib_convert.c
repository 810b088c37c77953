/* lib_convert.c - conversions between types. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "cel/lib.h"

static struct cel_val cannot(struct cel_run *r, const char *from, const char *to)
{
    return cel_v_error(r->a, "type conversion error from '%s' to '%s'", from, to);
}

static struct cel_val to_int(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    int64_t i;

    (void)n;
    switch (v[0].kind) {
    case CK_INT: return v[0];
    case CK_UINT:
        return v[0].u > INT64_MAX ? cel_v_error(r->a, "integer overflow")
                                  : cel_v_int((int64_t)v[0].u);
    case CK_DOUBLE:
        /* Both ends are left out: doubles near them are not exact. */
        if (!(v[0].d > -9223372036854775808.0 && v[0].d < 9223372036854775807.0))
            return cel_v_error(r->a, "integer overflow");
        return cel_v_int((int64_t)v[0].d);
    case CK_STRING: {
        bool plus = v[0].n > 1 && v[0].s[0] == '+' && v[0].s[1] != '-';
        if (!cel_reads(r, v[0], 1) || i64_parse(v[0].s + plus, v[0].n - plus, &i) < 0)
            return cannot(r, "string", "int");
        return cel_v_int(i);
    }
    case CK_TIMESTAMP: return cel_v_int(v[0].i);
    case CK_DURATION: return cel_v_int(v[0].i);
    default: return cel_misfit();
    }
}

static struct cel_val to_uint(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    uint64_t u;

    (void)n;
    switch (v[0].kind) {
    case CK_UINT: return v[0];
    case CK_INT:
        return v[0].i < 0 ? cel_v_error(r->a, "unsigned integer overflow")
                          : cel_v_uint((uint64_t)v[0].i);
    case CK_DOUBLE:
        if (!(v[0].d >= 0 && v[0].d < 18446744073709551615.0))
            return cel_v_error(r->a, "unsigned integer overflow");
        return cel_v_uint((uint64_t)v[0].d);
    case CK_STRING:
        if (!cel_reads(r, v[0], 1) || u64_parse(v[0].s, v[0].n, &u) < 0)
            return cannot(r, "string", "uint");
        return cel_v_uint(u);
    default: return cel_misfit();
    }
}

/* An underscore stands between two digits; the x of a hexadecimal number is as good as one. */
static bool underscores_fit(const char *s)
{
    s += *s == '+' || *s == '-';
    bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X'), digit = hex;

    for (s += hex ? 2 : 0; *s; s++) {
        bool next = hex ? isxdigit((unsigned char)s[1]) : isdigit((unsigned char)s[1]);
        if (*s == '_' && (!digit || !next))
            return false;
        digit = hex ? isxdigit((unsigned char)*s) : isdigit((unsigned char)*s);
    }
    return true;
}

/* As Go's ParseFloat: also "inf", "+Infinity", "nan", underscores, and hexadecimal with an
 * exponent.
 */
static bool parse_double(struct str s, double *ret)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    char *end;

    if (s.n == 0 || memchr(s.p, '\0', s.n))
        return false;
    CLEANUP(mem_free) char *text = xstrndup(s.p, s.n);
    bool sign = *text == '+' || *text == '-';
    if (isspace((unsigned char)*text) || strchr(text, '(') || !underscores_fit(text))
        return false;
    if (sign && (text[1] == 'n' || text[1] == 'N'))
        return false;
    if (strpbrk(text, "xX") && !strpbrk(text, "pP"))
        return false;
    for (const char *p = text; *p; p++) {
        if (*p != '_')
            strbuf_appendc(&b, *p);
    }
    errno = 0;
    *ret = strtod(strbuf_str(&b), &end);
    return b.len && *end == '\0' && !(errno == ERANGE && isinf(*ret));
}

static struct cel_val to_double(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    double d;

    (void)n;
    switch (v[0].kind) {
    case CK_DOUBLE: return v[0];
    case CK_INT: return cel_v_double((double)v[0].i);
    case CK_UINT: return cel_v_double((double)v[0].u);
    case CK_STRING:
        if (!cel_reads(r, v[0], 1) || !parse_double(cel_str(v[0]), &d))
            return cannot(r, "string", "double");
        return cel_v_double(d);
    default: return cel_misfit();
    }
}

/* Go's %g with as few digits as tell the number: exponents below -4 and from 6 on. */
static void print_double(double d, struct strbuf *out)
{
    char text[40];
    int digits = 0;

    if (isnan(d) || isinf(d)) {
        strbuf_append(out, isnan(d) ? "NaN" : d > 0 ? "+Inf" : "-Inf");
        return;
    }
    for (digits = 1; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*e", digits - 1, d);
        if (strtod(text, NULL) == d)
            break;
    }
    int exponent = atoi(strchr(text, 'e') + 1);
    if (exponent < -4 || exponent >= 6) {
        char *e = strchr(text, 'e');
        *e = '\0';
        strbuf_appendf(out, "%se%c%02d", text, exponent < 0 ? '-' : '+', abs(exponent));
        return;
    }
    (void)snprintf(text, sizeof text, "%.*f", MAX(digits - 1 - exponent, 0), d);
    strbuf_append(out, text);
}

bool cel_to_string(struct cel_run *r, struct cel_val v, struct strbuf *out)
{
    char text[QTY_TEXT_MAX];

    (void)r;
    switch (v.kind) {
    case CK_STRING:
    case CK_BYTES: strbuf_appendn(out, v.s, v.n); return true;
    case CK_BOOL: strbuf_append(out, v.b ? "true" : "false"); return true;
    case CK_INT: strbuf_append_i64(out, v.i); return true;
    case CK_UINT: strbuf_appendf(out, "%llu", (unsigned long long)v.u); return true;
    case CK_DOUBLE: print_double(v.d, out); return true;
    case CK_TIMESTAMP: cel_time_print(v, out); return true;
    case CK_DURATION: cel_duration_print(v.i, out); return true;
    case CK_IP:
    case CK_CIDR: cel_addr_print(v.addr, v.kind == CK_CIDR, out); return true;
    case CK_QUANTITY: strbuf_appendn(out, text, qty_print(*v.qty, text)); return true;
    case CK_SEMVER: cel_semver_print(v.semver, out); return true;
    case CK_URL: strbuf_appendn(out, v.url->text.p, v.url->text.n); return true;
    case CK_TYPE: strbuf_append(out, v.type->name); return true;
    case CK_NULL: strbuf_append(out, "null"); return true;
    default: return false;
    }
}

bool cel_is_utf8(struct str s)
{
    for (size_t i = 0; i < s.n;) {
        unsigned char c = (unsigned char)s.p[i];
        size_t len = c < 0x80                ? 1
                     : c >= 0xc2 && c < 0xe0 ? 2
                     : c >= 0xe0 && c < 0xf0 ? 3
                     : c >= 0xf0 && c < 0xf5 ? 4
                                             : 0;
        if (len == 0 || i + len > s.n)
            return false;
        for (size_t k = 1; k < len; k++) {
            if (((unsigned char)s.p[i + k] & 0xc0) != 0x80)
                return false;
        }
        unsigned char d = len > 1 ? (unsigned char)s.p[i + 1] : 0;
        if ((c == 0xe0 && d < 0xa0) || (c == 0xed && d > 0x9f) || (c == 0xf0 && d < 0x90) ||
            (c == 0xf4 && d > 0x8f))
            return false;
        i += len;
    }
    return true;
}

static struct cel_val to_string(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)n;
    switch (v[0].kind) {
    case CK_STRING: return v[0];
    case CK_BYTES:
        if (!cel_is_utf8(cel_str(v[0])))
            return cel_v_error(r->a, "invalid UTF-8 in bytes, cannot convert to string");
        return cel_v_str(v[0].s, v[0].n);
    case CK_NULL:
    case CK_TYPE:
    case CK_QUANTITY:
    case CK_SEMVER:
    case CK_URL: return cel_misfit();
    default: return cel_to_string(r, v[0], &b) ? cel_v_take(r->a, &b) : cel_misfit();
    }
}

static struct cel_val to_bytes(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct cel_val out = v[0];

    (void)r, (void)n;
    out.kind = CK_BYTES;
    return v[0].kind == CK_STRING || v[0].kind == CK_BYTES ? out : cel_misfit();
}

static struct cel_val to_bool(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    static const char *const words[2][6] = { { "0", "f", "F", "false", "False", "FALSE" },
                                             { "1", "t", "T", "true", "True", "TRUE" } };

    (void)n;
    if (v[0].kind == CK_BOOL)
        return v[0];
    if (v[0].kind != CK_STRING)
        return cel_misfit();
    for (int b = 0; b < 2; b++) {
        for (size_t i = 0; i < ARRAY_LEN(words[b]); i++) {
            if (str_eqz(cel_str(v[0]), words[b][i]))
                return cel_v_bool(b == 1);
        }
    }
    return cannot(r, "string", "bool");
}

static struct cel_val to_timestamp(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct cel_val out;

    (void)n;
    switch (v[0].kind) {
    case CK_TIMESTAMP: return v[0];
    case CK_INT:
        if (v[0].i < CEL_TIME_MIN || v[0].i > CEL_TIME_MAX)
            return cel_v_error(r->a, "timestamp overflow");
        return (struct cel_val){ .kind = CK_TIMESTAMP, .i = v[0].i };
    case CK_STRING:
        if (cel_time_parse(cel_str(v[0]), false, &out) < 0)
            return cannot(r, "string", "google.protobuf.Timestamp");
        return out;
    default: return cel_misfit();
    }
}

static struct cel_val to_duration(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct cel_val out = { .kind = CK_DURATION };

    (void)n;
    switch (v[0].kind) {
    case CK_DURATION: return v[0];
    case CK_INT: return cannot(r, "int", "google.protobuf.Duration"); /* declared, but not made */
    case CK_STRING:
        if (!cel_reads(r, v[0], 1) || cel_duration_parse(cel_str(v[0]), &out.i) < 0)
            return cannot(r, "string", "google.protobuf.Duration");
        return out;
    default: return cel_misfit();
    }
}

static struct cel_val to_dyn(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)r, (void)n;
    return v[0];
}

static struct cel_val type_of(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct cel_type *t = arena_new0(r->a, struct cel_type);

    (void)n;
    t->name = cel_type_name(v[0]);
    return cel_v_type(t);
}

static const struct cel_overload ints[] = {
    CEL_GLOBAL(&cel_int, &cel_int),       CEL_GLOBAL(&cel_int, &cel_double),
    CEL_GLOBAL(&cel_int, &cel_duration),  CEL_GLOBAL(&cel_int, &cel_string),
    CEL_GLOBAL(&cel_int, &cel_timestamp), CEL_GLOBAL(&cel_int, &cel_uint),
};
static const struct cel_overload uints[] = {
    CEL_GLOBAL(&cel_uint, &cel_uint),
    CEL_GLOBAL(&cel_uint, &cel_double),
    CEL_GLOBAL(&cel_uint, &cel_int),
    CEL_GLOBAL(&cel_uint, &cel_string),
};
static const struct cel_overload doubles[] = {
    CEL_GLOBAL(&cel_double, &cel_double),
    CEL_GLOBAL(&cel_double, &cel_int),
    CEL_GLOBAL(&cel_double, &cel_string),
    CEL_GLOBAL(&cel_double, &cel_uint),
};
static const struct cel_overload strings[] = {
    CEL_GLOBAL(&cel_string, &cel_string),
    CEL_GLOBAL(&cel_string, &cel_bool),
    CEL_GLOBAL_COST(CC_TO_STRING, &cel_string, &cel_bytes),
    CEL_GLOBAL(&cel_string, &cel_double),
    CEL_GLOBAL(&cel_string, &cel_duration),
    CEL_GLOBAL(&cel_string, &cel_int),
    CEL_GLOBAL(&cel_string, &cel_timestamp),
    CEL_GLOBAL(&cel_string, &cel_uint),
    CEL_GLOBAL(&cel_string, &cel_ip),
    CEL_GLOBAL(&cel_string, &cel_cidr),
};
static const struct cel_overload bytes[] = {
    CEL_GLOBAL(&cel_bytes, &cel_bytes),
    CEL_GLOBAL_COST(CC_TO_BYTES, &cel_bytes, &cel_string),
};
static const struct cel_overload bools[] = {
    CEL_GLOBAL(&cel_bool, &cel_bool),
    CEL_GLOBAL(&cel_bool, &cel_string),
};
static const struct cel_overload timestamps[] = {
    CEL_GLOBAL(&cel_timestamp, &cel_timestamp),
    CEL_GLOBAL(&cel_timestamp, &cel_int),
    CEL_GLOBAL(&cel_timestamp, &cel_string),
};
static const struct cel_overload durations[] = {
    CEL_GLOBAL(&cel_duration, &cel_duration),
    CEL_GLOBAL(&cel_duration, &cel_int),
    CEL_GLOBAL(&cel_duration, &cel_string),
};
static const struct cel_overload dyns[] = { CEL_GLOBAL(&cel_dyn, &cel_A) };
static const struct cel_overload types[] = { CEL_GLOBAL(&cel_type_A, &cel_A) };

static const struct cel_function functions[] = {
    CEL_FN("int", to_int, ints),
    CEL_FN("uint", to_uint, uints),
    CEL_FN("double", to_double, doubles),
    CEL_FN("string", to_string, strings),
    CEL_FN("bytes", to_bytes, bytes),
    CEL_FN("bool", to_bool, bools),
    CEL_FN("timestamp", to_timestamp, timestamps),
    CEL_FN("duration", to_duration, durations),
    CEL_FN("dyn", to_dyn, dyns),
    CEL_FN("type", type_of, types),
};
const struct cel_library cel_lib_convert = { functions, ARRAY_LEN(functions) };
