/* kj.c - parsed JSON documents: parsing and reading. */
#include "json/kj.h"

#include "base/arena.h"
#include "base/num.h"
#include "json/kj_int.h"

_Static_assert(sizeof(yyjson_val) == 16 && offsetof(yyjson_val, uni) == 8, "yyjson's flat layout");
_Static_assert(KJ_PADDING >= YYJSON_PADDING_SIZE, "yyjson reads this far beyond the text");

/* ---- parsing --------------------------------------------------------------------------------- */

static struct kj_doc *doc_new(yyjson_doc *ydoc, char *text)
{
    struct kj_doc *doc = xnew0(struct kj_doc);
    doc->ydoc = ydoc;
    doc->root = yyjson_doc_get_root(ydoc);
    doc->text = text;
    return doc;
}

struct kj_doc *kj_doc_free(struct kj_doc *doc)
{
    if (!doc)
        return NULL;
    if (doc->ydoc)
        yyjson_doc_free(doc->ydoc);
    arena_free(doc->strings);
    free(doc->vals);
    free(doc->text);
    free(doc);
    return NULL;
}

const struct kj_val *kj_root(const struct kj_doc *doc)
{
    return doc ? kj_from(doc->root) : NULL;
}

bool kj_depth_ok(const yyjson_val *root)
{
    const yyjson_val *ends[KJ_DEPTH_MAX];
    const yyjson_val *end = kj_sibling(root, false);
    size_t depth = 0;

    for (const yyjson_val *v = root; v < end;) {
        const yyjson_val *next = kj_sibling(v, false);
        while (depth && v >= ends[depth - 1])
            depth--;
        /* Too few values in it to get too deep: step over. So a list of pods costs a step a pod. */
        if (!kj_is_ctn(v) || (size_t)(next - v) <= KJ_DEPTH_MAX - depth) {
            v = next;
            continue;
        }
        if (depth == KJ_DEPTH_MAX)
            return false;
        ends[depth++] = next;
        v++;
    }
    return true;
}

static yyjson_read_flag read_flags(unsigned flags)
{
    return flags & KJ_RAW_NUMBERS ? YYJSON_READ_NUMBER_AS_RAW : YYJSON_READ_NOFLAG;
}

static int parse_failed(const char *text, size_t n, const yyjson_read_err *yerr, struct kerr *err)
{
    size_t line, col;

    if (yerr->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
        return kerr_set(err, -ENOMEM, "parse JSON: out of memory");
    text_locate(text, n, yerr->pos, &line, &col);
    return kerr_set(err, -EINVAL, "line %zu, column %zu: %s", line, col,
                    yerr->msg ? yerr->msg : "not JSON");
}

static int depth_failed(struct kerr *err)
{
    return kerr_set(err, -EINVAL, "nested too deep: more than %d levels", KJ_DEPTH_MAX);
}

/* What is no number with KJ_RAW_NUMBERS off must not be one with it: others could not read it. */
static int check_raw(const yyjson_val *root, struct kerr *err)
{
    for (const yyjson_val *v = root, *end = kj_sibling(root, false); v < end; v++) {
        size_t n = unsafe_yyjson_get_len((yyjson_val *)(uintptr_t)v);
        if ((v->tag & YYJSON_TYPE_MASK) != YYJSON_TYPE_RAW)
            continue;
        bool long_or_power = n > 300 || memchr(v->uni.str, 'e', n) || memchr(v->uni.str, 'E', n);
        if (long_or_power && kj_f64(kj_from(v), &(double){ 0 }) < 0)
            return kerr_set(err, -EINVAL, "the number %.*s is too large", (int)MIN(n, (size_t)40),
                            v->uni.str);
    }
    return 0;
}

static int doc_finish(yyjson_doc *ydoc, unsigned flags, struct kj_doc **ret, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = doc_new(ydoc, NULL);
    if (!kj_depth_ok(doc->root))
        return depth_failed(err);
    int r = flags & KJ_RAW_NUMBERS ? check_raw(doc->root, err) : 0;
    if (r < 0)
        return r;
    *ret = take(doc);
    return 0;
}

/* The rare case: broken UTF-8 or half a surrogate pair, which Go's decoder turns into U+FFFD. */
static int parse_sanitised(const char *text, size_t n, unsigned flags, struct kj_doc **ret,
                           struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf clean = STRBUF_INIT;
    yyjson_read_err yerr;

    json_sanitise(text, n, &clean);
    yyjson_doc *ydoc = yyjson_read_opts(clean.data, clean.len, read_flags(flags), NULL, &yerr);
    if (!ydoc)
        return parse_failed(clean.data, clean.len, &yerr, err);
    return doc_finish(ydoc, flags, ret, err);
}

int kj_parse(const char *text, size_t n, unsigned flags, struct kj_doc **ret, struct kerr *err)
{
    yyjson_read_err yerr;

    if (n == 0)
        return kerr_set(err, -EINVAL, "line 1, column 1: the text is empty");
    yyjson_doc *ydoc = yyjson_read_opts((char *)(uintptr_t)text, n, read_flags(flags), NULL, &yerr);
    if (ydoc)
        return doc_finish(ydoc, flags, ret, err);
    if (yerr.code == YYJSON_READ_ERROR_INVALID_STRING &&
        (!utf8_valid(text, n) || json_has_lone_surrogate(text, n)))
        return parse_sanitised(text, n, flags, ret, err);
    return parse_failed(text, n, &yerr, err);
}

int kj_parse_insitu(char *text, size_t n, unsigned flags, struct kj_doc **ret, struct kerr *err)
{
    yyjson_read_err yerr;

    /* A failed parse in place leaves neither a text to sanitise nor lines to count. So look first:
     * what may need either is parsed from a copy, the rest (nearly all bodies) in place. */
    unsigned found = text_scan(text, n);
    bool in_doubt = (found & TEXT_BACKSLASH && found & TEXT_NEWLINE) ||
                    (found & TEXT_HIGH && !utf8_valid(text, n)) ||
                    (found & TEXT_ESCAPE_U && json_has_lone_surrogate(text, n));
    if (n == 0 || in_doubt)
        return kj_parse(text, n, flags, ret, err);

    memset(text + n, 0, KJ_PADDING);
    yyjson_doc *ydoc =
        yyjson_read_opts(text, n, read_flags(flags) | YYJSON_READ_INSITU, NULL, &yerr);
    if (!ydoc)
        return parse_failed(text, n, &yerr, err);
    return doc_finish(ydoc, flags, ret, err);
}

/* ---- reading --------------------------------------------------------------------------------- */

enum kj_type kj_type(const struct kj_val *v)
{
    static const uint8_t types[8] = {
        [YYJSON_TYPE_NONE] = KJ_ABSENT, [YYJSON_TYPE_RAW] = KJ_NUM, [YYJSON_TYPE_NULL] = KJ_NULL,
        [YYJSON_TYPE_BOOL] = KJ_BOOL,   [YYJSON_TYPE_NUM] = KJ_NUM, [YYJSON_TYPE_STR] = KJ_STR,
        [YYJSON_TYPE_ARR] = KJ_ARR,     [YYJSON_TYPE_OBJ] = KJ_OBJ,
    };
    return v ? (enum kj_type)types[unsafe_yyjson_get_type(kj_y(v))] : KJ_ABSENT;
}

size_t kj_len(const struct kj_val *v)
{
    enum kj_type t = kj_type(v);
    return t == KJ_STR || t == KJ_ARR || t == KJ_OBJ ? unsafe_yyjson_get_len(kj_y(v)) : 0;
}

const struct kj_val *kj_getn(const struct kj_val *obj, const char *key, size_t n)
{
    if (kj_type(obj) != KJ_OBJ)
        return NULL;
    yyjson_val *k = unsafe_yyjson_get_first(kj_y(obj)), *found = NULL;
    for (size_t left = unsafe_yyjson_get_len(kj_y(obj)); left > 0; left--) {
        if (kj_key_is(k, key, n))
            found = k + 1; /* keep going: the last duplicate wins */
        k = unsafe_yyjson_get_next(k + 1);
    }
    return kj_from(found);
}

const struct kj_val *kj_get(const struct kj_val *obj, const char *key)
{
    return kj_getn(obj, key, strlen(key));
}

const struct kj_val *kj_at(const struct kj_val *arr, size_t i)
{
    return kj_type(arr) == KJ_ARR ? kj_from(yyjson_arr_get(kj_y(arr), i)) : NULL;
}

const struct kj_val *kj_path(const struct kj_val *v, const char *dotted)
{
    for (;;) {
        size_t n = (size_t)(strchrnul(dotted, '.') - dotted);
        v = kj_getn(v, dotted, n);
        if (!v || dotted[n] == '\0')
            return v;
        dotted += n + 1;
    }
}

const char *kj_str(const struct kj_val *v)
{
    return kj_type(v) == KJ_STR ? unsafe_yyjson_get_str(kj_y(v)) : NULL;
}

const char *kj_str_or(const struct kj_val *v, const char *otherwise)
{
    const char *s = kj_str(v);
    return s ? s : otherwise;
}

bool kj_bool(const struct kj_val *v, bool otherwise)
{
    return kj_type(v) == KJ_BOOL ? unsafe_yyjson_get_bool(kj_y(v)) : otherwise;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool number_of_text(const char *s, size_t n, struct kj_number *ret)
{
    int64_t i;

    if (u64_parse(s, n, &ret->u) == 0) {
        ret->kind = KJ_NUM_U64;
        return true;
    }
    if (i64_parse(s, n, &i) == 0) {
        ret->kind = i < 0 ? KJ_NUM_I64 : KJ_NUM_U64; /* "-0" */
        ret->i = i;
        return true;
    }
    ret->kind = KJ_NUM_F64;
    return f64_parse(s, n, &ret->f) == 0;
}

bool kj_number_of(const yyjson_val *v, struct kj_number *ret)
{
    yyjson_val *y = (yyjson_val *)(uintptr_t)v;

    if (yyjson_is_raw(y))
        return number_of_text(y->uni.str, unsafe_yyjson_get_len(y), ret);
    if (!yyjson_is_num(y))
        return false;
    switch (unsafe_yyjson_get_subtype(y)) {
    case YYJSON_SUBTYPE_UINT:
        *ret = (struct kj_number){ .kind = KJ_NUM_U64, .u = y->uni.u64 };
        break;
    case YYJSON_SUBTYPE_SINT:
        *ret = (struct kj_number){ .kind = KJ_NUM_I64, .i = y->uni.i64 };
        if (ret->i >= 0)
            ret->kind = KJ_NUM_U64;
        break;
    default: *ret = (struct kj_number){ .kind = KJ_NUM_F64, .f = y->uni.f64 }; break;
    }
    return true;
}

/* A double that is a whole number within int64 is that integer. */
static struct kj_number whole(struct kj_number n)
{
    if (n.kind != KJ_NUM_F64 || n.f != (double)(int64_t)i64_from_f64(n.f) ||
        n.f >= 9223372036854775808.0)
        return n;
    int64_t i = (int64_t)n.f;
    return (struct kj_number){ .kind = i < 0 ? KJ_NUM_I64 : KJ_NUM_U64, .i = i };
}

static double as_f64(struct kj_number n)
{
    return n.kind == KJ_NUM_F64 ? n.f : n.kind == KJ_NUM_I64 ? (double)n.i : (double)n.u;
}

/* Integers exactly. Against a double as doubles: 1 is 1.0, and a double whose shortest text is a
 * long integer (4611686018427388000 for 2^62) is what comes back when that text is read. */
bool kj_number_equal(const yyjson_val *a, const yyjson_val *b)
{
    struct kj_number x, y;

    if (!kj_number_of(a, &x) || !kj_number_of(b, &y))
        return false;
    if (x.kind == KJ_NUM_F64 || y.kind == KJ_NUM_F64)
        return as_f64(x) == as_f64(y);
    return x.kind == y.kind && x.u == y.u;
}

int kj_i64(const struct kj_val *v, int64_t *ret)
{
    struct kj_number n;

    if (kj_type(v) != KJ_NUM || !kj_number_of(kj_y(v), &n))
        return -EINVAL;
    n = whole(n);
    if (n.kind == KJ_NUM_F64)
        return n.f >= 9223372036854775808.0 || n.f < -9223372036854775808.0 ? -ERANGE : -EINVAL;
    if (n.kind == KJ_NUM_U64 && n.u > INT64_MAX)
        return -ERANGE;
    *ret = n.i;
    return 0;
}

int64_t kj_i64_or(const struct kj_val *v, int64_t otherwise)
{
    int64_t i;
    return kj_i64(v, &i) == 0 ? i : otherwise;
}

int kj_f64(const struct kj_val *v, double *ret)
{
    struct kj_number n;

    if (kj_type(v) != KJ_NUM || !kj_number_of(kj_y(v), &n))
        return -EINVAL;
    *ret = n.kind == KJ_NUM_F64 ? n.f : n.kind == KJ_NUM_I64 ? (double)n.i : (double)n.u;
    return 0;
}

static size_t print_u64(uint64_t u, bool negative, char *buf)
{
    char digits[24];
    size_t at = sizeof digits, n;

    do
        digits[--at] = (char)('0' + u % 10);
    while (u /= 10);
    if (negative)
        digits[--at] = '-';
    n = sizeof digits - at;
    memcpy(buf, digits + at, n);
    return n;
}

size_t kj_num_text(const struct kj_val *v, char *buf, size_t size)
{
    struct kj_number num;
    char text[40];
    const char *p = text;
    size_t n = 0;

    if (v && yyjson_is_raw(kj_y(v))) {
        p = kj_y(v)->uni.str;
        n = unsafe_yyjson_get_len(kj_y(v));
    } else if (v && kj_number_of(kj_y(v), &num)) {
        if (num.kind == KJ_NUM_F64)
            n = f64_format(num.f, text, sizeof text);
        else
            n = print_u64(num.kind == KJ_NUM_I64 ? 0 - (uint64_t)num.i : num.u,
                          num.kind == KJ_NUM_I64, text);
    }
    if (size > 0) {
        size_t keep = MIN(n, size - 1);
        memcpy(buf, p, keep);
        buf[keep] = '\0';
    }
    return n;
}

/* ---- walking --------------------------------------------------------------------------------- */

struct kj_iter kj_iter(const struct kj_val *v)
{
    enum kj_type t = kj_type(v);
    if (t != KJ_ARR && t != KJ_OBJ)
        return (struct kj_iter){ 0 };
    return (struct kj_iter){ .cur = unsafe_yyjson_get_first(kj_y(v)),
                             .n = unsafe_yyjson_get_len(kj_y(v)),
                             .is_obj = t == KJ_OBJ };
}

bool kj_next(struct kj_iter *it, struct str *key, const struct kj_val **val)
{
    if (it->i >= it->n)
        return false;
    yyjson_val *v = (yyjson_val *)(uintptr_t)it->cur;
    struct str k = { NULL, 0 };
    if (it->is_obj) {
        k = (struct str){ unsafe_yyjson_get_str(v), unsafe_yyjson_get_len(v) };
        v++;
    }
    if (key)
        *key = k;
    *val = kj_from(v);
    it->cur = unsafe_yyjson_get_next(v);
    it->i++;
    return true;
}
