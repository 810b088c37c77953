/* lib_quantity.c - quantities and versions: what can be compared, added and taken apart. */
#include <math.h>

#include "cel/lib.h"

/* ---- semantic versions --------------------------------------------------------------------------- */

static bool digits_only(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    }
    return s.n > 0;
}

static struct str cut(struct str *rest, char at, bool *ret_found)
{
    const char *hit = memchr(rest->p, at, rest->n);
    struct str head = { rest->p, hit ? (size_t)(hit - rest->p) : rest->n };

    *ret_found = hit != NULL;
    rest->p += head.n + (hit != NULL);
    rest->n -= head.n + (hit != NULL);
    return head;
}

static const char *bad_number(struct arena *a, struct str s, const char *part, uint64_t *ret)
{
    if (s.n == 0)
        return "strconv.ParseUint: parsing \"\": invalid syntax";
    if (!digits_only(s))
        return arena_printf(a, "Invalid character(s) found in %s number \"%.*s\"", part, (int)s.n,
                            s.p);
    if (s.n > 1 && s.p[0] == '0')
        return arena_printf(a, "%c%s number must not contain leading zeroes \"%.*s\"",
                            part[0] - 'a' + 'A', part + 1, (int)s.n, s.p);
    *ret = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (__builtin_mul_overflow(*ret, (uint64_t)10, ret) ||
            __builtin_add_overflow(*ret, (uint64_t)(s.p[i] - '0'), ret))
            return arena_printf(a, "strconv.ParseUint: parsing \"%.*s\": value out of range",
                                (int)s.n, s.p);
    }
    return NULL;
}

/* Identifiers between dots: letters, digits, hyphens; numbers without leading zeros before '+'. */
static const char *bad_identifiers(struct arena *a, struct str s, bool pre)
{
    for (bool more = true; more;) {
        struct str id = cut(&s, '.', &more);
        if (id.n == 0)
            return pre ? "Prerelease is empty" : "Build meta data is empty";
        for (size_t i = 0; i < id.n; i++) {
            char c = id.p[i];
            if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '-'))
                return arena_printf(a, "Invalid character(s) found in %s \"%.*s\"",
                                    pre ? "prerelease" : "build meta data", (int)id.n, id.p);
        }
        if (pre && digits_only(id) && id.n > 1 && id.p[0] == '0')
            return arena_printf(a,
                                "Numeric PreRelease version must not contain leading zeroes "
                                "\"%.*s\"",
                                (int)id.n, id.p);
    }
    return NULL;
}

static const char *parse_semver(struct arena *a, struct str s, struct cel_semver *out)
{
    const char *why;
    bool two, three;

    *out = (struct cel_semver){ 0 };
    if (s.n == 0)
        return "Version string empty";
    struct str rest = s, major = cut(&rest, '.', &two), minor = cut(&rest, '.', &three);
    if (!two || !three)
        return "No Major.Minor.Patch elements found";
    if ((why = bad_number(a, major, "major", &out->major)) ||
        (why = bad_number(a, minor, "minor", &out->minor)))
        return why;
    const char *plus = memchr(rest.p, '+', rest.n);
    if (plus) {
        out->build = (struct str){ plus + 1, rest.n - (size_t)(plus + 1 - rest.p) };
        rest.n = (size_t)(plus - rest.p);
        if ((why = bad_identifiers(a, out->build, false)))
            return why;
    }
    const char *dash = memchr(rest.p, '-', rest.n);
    if (dash) {
        out->pre = (struct str){ dash + 1, rest.n - (size_t)(dash + 1 - rest.p) };
        rest.n = (size_t)(dash - rest.p);
        if ((why = bad_identifiers(a, out->pre, true)))
            return why;
    }
    return bad_number(a, rest, "patch", &out->patch);
}

/* Without a leading v, with three parts that have no leading zeros. false: there are fewer, and the
 * last has more than a number. */
static bool normalize(struct arena *a, struct str s, struct str *ret)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct str part = { s.p, 0 };
    int parts = 0;

    if (s.n && s.p[0] == 'v') {
        s.p++;
        s.n--;
    }
    for (bool more = true; more; parts++) {
        part = s;
        more = false;
        if (parts < 2)
            part = cut(&s, '.', &more);
        bool alone = part.n <= 1;
        while (!alone && part.n && part.p[0] == '0') {
            part.p++;
            part.n--;
        }
        bool zero = !alone && (part.n == 0 || part.p[0] < '0' || part.p[0] > '9');
        strbuf_appendf(&b, "%s%s%.*s", parts ? "." : "", zero ? "0" : "", (int)part.n, part.p);
    }
    if (parts < 3 && (memchr(part.p, '-', part.n) || memchr(part.p, '+', part.n)))
        return false;
    for (; parts < 3; parts++)
        strbuf_append(&b, ".0");
    *ret = (struct str){ arena_strndup(a, strbuf_str(&b), b.len), b.len };
    return true;
}

static int cmp_u(uint64_t x, uint64_t y)
{
    return x < y ? -1 : x > y;
}

static int cmp_identifier(struct str x, struct str y)
{
    bool nx = digits_only(x), ny = digits_only(y);

    if (nx != ny)
        return nx ? -1 : 1;
    if (nx && x.n != y.n)
        return x.n < y.n ? -1 : 1;
    int c = memcmp(x.p, y.p, MIN(x.n, y.n));
    return c ? (c < 0 ? -1 : 1) : cmp_u(x.n, y.n);
}

int cel_semver_cmp(const struct cel_semver *x, const struct cel_semver *y)
{
    int c = cmp_u(x->major, y->major);

    c = c ? c : cmp_u(x->minor, y->minor);
    c = c ? c : cmp_u(x->patch, y->patch);
    if (c || (!x->pre.n && !y->pre.n))
        return c;
    if (!x->pre.n || !y->pre.n)
        return x->pre.n ? -1 : 1;
    struct str p = x->pre, q = y->pre;
    for (bool mp = true, mq = true; mp && mq;) {
        c = cmp_identifier(cut(&p, '.', &mp), cut(&q, '.', &mq));
        if (c)
            return c;
        if (mp != mq)
            return mp ? 1 : -1;
    }
    return 0;
}

void cel_semver_print(const struct cel_semver *v, struct strbuf *out)
{
    strbuf_appendf(out, "%llu.%llu.%llu", (unsigned long long)v->major,
                   (unsigned long long)v->minor, (unsigned long long)v->patch);
    if (v->pre.n)
        strbuf_appendf(out, "-%.*s", (int)v->pre.n, v->pre.p);
    if (v->build.n)
        strbuf_appendf(out, "+%.*s", (int)v->build.n, v->build.p);
}

struct cel_val cel_v_semver(struct arena *a, struct str s)
{
    struct cel_semver *out = arena_new0(a, struct cel_semver);
    const char *why = parse_semver(a, s, out);

    if (why)
        return cel_v_error(a, "%s", why);
    return (struct cel_val){ .kind = CK_SEMVER, .semver = out };
}

static struct cel_val semver(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    if (v[0].kind != CK_STRING || (n == 2 && v[1].kind != CK_BOOL))
        return cel_misfit();
    struct str s = cel_str(v[0]);
    if (n == 2 && v[1].b && !normalize(r->a, s, &s))
        return cel_v_error(r->a, "short version cannot contain PreRelease/Build meta data");
    return cel_v_semver(r->a, s);
}

static struct cel_val is_semver(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct cel_val s = semver(r, v, n);
    return s.kind == CK_ABSENT ? s : cel_v_bool(!cel_is_err(s));
}

#define NUMBER(name, member)                                                                    \
    static struct cel_val name(struct cel_run *r, const struct cel_val *v, unsigned n)          \
    {                                                                                           \
        (void)r, (void)n;                                                                       \
        return v[0].kind == CK_SEMVER ? cel_v_int((int64_t)v[0].semver->member) : cel_misfit(); \
    }
NUMBER(major, major)
NUMBER(minor, minor)
NUMBER(patch, patch)

/* ---- quantities ---------------------------------------------------------------------------------- */

/* Upstream computes small quantities in 64 bits and others with all digits: `wide` tells which. */
static struct cel_val make_qty(struct cel_run *r, struct qty q, bool wide)
{
    struct qty *keep = arena_new0(r->a, struct qty);
    *keep = q;
    return (struct cel_val){ .kind = CK_QUANTITY, .zone = wide, .qty = keep };
}

static size_t digits_at(struct str s, size_t i)
{
    size_t n = 0;
    while (i + n < s.n && s.p[i + n] >= '0' && s.p[i + n] <= '9')
        n++;
    return n;
}

/* Does the text of a quantity have more digits than upstream keeps in 64 bits? */
static bool is_wide(struct str s, struct qty q)
{
    size_t i = s.n && (s.p[0] == '+' || s.p[0] == '-');

    while (i < s.n && s.p[i] == '0')
        i++;
    size_t whole = digits_at(s, i), at = i + whole, fraction = 0;
    if (at < s.n && s.p[at] == '.')
        fraction = digits_at(s, at + 1);
    whole = MAX(whole, (size_t)1);
    if (q.format != QTY_BINARY_SI)
        return whole + fraction > 18 || q.scale < -9;
    static const char units[] = "KMGTPE";
    const char *unit = memchr(units, s.p[s.n - 2], strlen(units));
    return !unit || fraction || whole + (size_t)(unit - units + 1) * 3 > 14;
}

static struct cel_val quantity(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct qty q;

    (void)n;
    if (v[0].kind != CK_STRING)
        return cel_misfit();
    if (qty_parse(v[0].s, v[0].n, &q, NULL) < 0)
        return cel_v_error(r->a, "quantities must match the regular expression "
                                 "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
    return make_qty(r, q, is_wide(cel_str(v[0]), q));
}

static struct cel_val is_quantity(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct cel_val q = quantity(r, v, n);
    return q.kind == CK_ABSENT ? q : cel_v_bool(!cel_is_err(q));
}

static bool is_whole(struct qty q)
{
    return qty_fits_i64(q, 0) && qty_cmp(qty_from_i64(qty_value(q), QTY_DECIMAL_SI), q) == 0;
}

static struct cel_val is_integer(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)r, (void)n;
    return v[0].kind == CK_QUANTITY ? cel_v_bool(is_whole(*v[0].qty)) : cel_misfit();
}

static struct cel_val as_integer(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    if (v[0].kind != CK_QUANTITY)
        return cel_misfit();
    return is_whole(*v[0].qty) ? cel_v_int(qty_value(*v[0].qty))
                               : cel_v_error(r->a, "cannot convert value to integer");
}

/* As Go multiplies, which is not always the nearest double. */
static double approximate(struct qty q)
{
    __int128 mantissa = (__int128)q.hi * ((__int128)1 << 64) + (__int128)q.lo;
    return q.scale ? (double)mantissa * pow(10, q.scale) : (double)mantissa;
}

static struct cel_val as_float(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)r, (void)n;
    return v[0].kind == CK_QUANTITY ? cel_v_double(approximate(*v[0].qty)) : cel_misfit();
}

static struct cel_val sign(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)r, (void)n;
    return v[0].kind == CK_QUANTITY ? cel_v_int(qty_sign(*v[0].qty)) : cel_misfit();
}

static bool other_qty(struct cel_val v, struct qty *ret)
{
    if (v.kind != CK_QUANTITY && v.kind != CK_INT)
        return false;
    *ret = v.kind == CK_INT ? qty_from_i64(v.i, QTY_DECIMAL_EXP) : *v.qty;
    return true;
}

static bool fits_64(struct qty q)
{
    return q.hi == (int64_t)q.lo >> 63;
}

/* x + y, x - y */
static struct cel_val combine(struct cel_run *r, const struct cel_val *v, bool minus)
{
    struct qty x, y;

    if (v[0].kind != CK_QUANTITY || !other_qty(v[1], &y))
        return cel_misfit();
    x = *v[0].qty;
    bool wide = v[0].zone || (v[1].kind == CK_QUANTITY && v[1].zone);
    /* Upstream's slip: the smallest integer has no opposite in 64 bits, so that it is added. */
    if (minus && !wide && y.hi == -1 && y.lo == (uint64_t)INT64_MIN && qty_sign(x) >= 0 &&
        (qty_is_zero(x) || (x.scale >= y.scale && qty_fits_i64(x, y.scale))))
        minus = false;
    struct qty sum = minus ? qty_sub(x, y) : qty_add(x, y);
    return make_qty(r, sum, wide || !fits_64(sum));
}

static struct cel_val add(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return combine(r, v, false);
}

static struct cel_val sub(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return combine(r, v, true);
}

/* Of either kind. */
static struct cel_val compare_to(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)r, (void)n;
    if (v[0].kind == CK_QUANTITY && v[1].kind == CK_QUANTITY)
        return cel_v_int(qty_cmp(*v[0].qty, *v[1].qty));
    if (v[0].kind == CK_SEMVER && v[1].kind == CK_SEMVER)
        return cel_v_int(cel_semver_cmp(v[0].semver, v[1].semver));
    return cel_misfit();
}

static struct cel_val is_less(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct cel_val c = compare_to(r, v, n);
    return c.kind == CK_INT ? cel_v_bool(c.i < 0) : c;
}

static struct cel_val is_greater(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct cel_val c = compare_to(r, v, n);
    return c.kind == CK_INT ? cel_v_bool(c.i > 0) : c;
}

#define Q &cel_quantity
#define V &cel_semver
#define S &cel_string
#define I &cel_int
#define B &cel_bool
static const struct cel_overload o_quantity[] = { CEL_GLOBAL(Q, S) };
static const struct cel_overload o_is_quantity[] = { CEL_GLOBAL(B, S) };
static const struct cel_overload o_is_integer[] = { CEL_MEMBER(B, Q) };
static const struct cel_overload o_as_integer[] = { CEL_MEMBER(I, Q) };
static const struct cel_overload o_as_float[] = { CEL_MEMBER(&cel_double, Q) };
static const struct cel_overload o_sign[] = { CEL_GLOBAL(I, Q) };
static const struct cel_overload o_add[] = { CEL_MEMBER(Q, Q, Q), CEL_MEMBER(Q, Q, I) };
static const struct cel_overload o_compare[] = { CEL_MEMBER(I, Q, Q), CEL_MEMBER(I, V, V) };
static const struct cel_overload o_less[] = { CEL_MEMBER(B, Q, Q), CEL_MEMBER(B, V, V) };
static const struct cel_function functions[] = {
    CEL_FN("quantity", quantity, o_quantity, .cost = CC_TENTH),
    CEL_FN("isQuantity", is_quantity, o_is_quantity, .cost = CC_TENTH),
    CEL_FN("isInteger", is_integer, o_is_integer),
    CEL_FN("asInteger", as_integer, o_as_integer),
    CEL_FN("asApproximateFloat", as_float, o_as_float),
    CEL_FN("sign", sign, o_sign),
    CEL_FN("add", add, o_add),
    CEL_FN("sub", sub, o_add),
    CEL_FN("isLessThan", is_less, o_less),
    CEL_FN("isGreaterThan", is_greater, o_less),
    CEL_FN("compareTo", compare_to, o_compare),
};
const struct cel_library cel_lib_quantity = { functions, ARRAY_LEN(functions) };

static const struct cel_overload o_semver[] = { CEL_GLOBAL(V, S), CEL_GLOBAL(V, S, B) };
static const struct cel_overload o_is_semver[] = { CEL_GLOBAL(B, S), CEL_GLOBAL(B, S, B) };
static const struct cel_overload o_number[] = { CEL_MEMBER(I, V) };
static const struct cel_function semver_functions[] = {
    CEL_FN("semver", semver, o_semver, .cost = CC_TENTH),
    CEL_FN("isSemver", is_semver, o_is_semver, .cost = CC_TENTH),
    CEL_FN("major", major, o_number),
    CEL_FN("minor", minor, o_number),
    CEL_FN("patch", patch, o_number),
};
const struct cel_library cel_lib_semver = { semver_functions, ARRAY_LEN(semver_functions) };
