/* lib_strings.c - functions of strings. Positions count code points. */
#include "cel/lib.h"
#include "cel/re_unicode.h"

/* The byte at which code point `rune` begins; s.n for the end. The caller knows that it exists. */
static size_t byte_at(struct str s, int64_t rune)
{
    enum { STEP = 64 };
    size_t i = 1, begun;

    if (rune <= 0 || s.n == 0)
        return 0;
    while (s.n - i > STEP && (int64_t)(begun = cel_runes((struct str){ s.p + i, STEP })) < rune) {
        rune -= (int64_t)begun;
        i += STEP;
    }
    for (; i < s.n; i++) {
        if (((unsigned char)s.p[i] & 0xc0) != 0x80 && --rune == 0)
            return i;
    }
    return s.n;
}

static struct cel_val out_of_range(struct cel_run *r, int64_t i)
{
    return cel_v_error(r->a, "index out of range: %lld", (long long)i);
}

static struct cel_val char_at(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    if (v[0].kind != CK_STRING || v[1].kind != CK_INT)
        return cel_misfit();
    int64_t len = (int64_t)cel_size(v[0]);
    if (v[1].i < 0 || v[1].i > len)
        return out_of_range(r, v[1].i);
    size_t from = byte_at(cel_str(v[0]), v[1].i), to = byte_at(cel_str(v[0]), v[1].i + 1);
    return cel_v_str(v[0].s + from, to - from);
}

static struct cel_val list_index(struct cel_run *r, const struct cel_val *v, bool last)
{
    const struct cel_val *items = cel_list_items(r->a, v[0].list);

    for (uint32_t i = 0; i < v[0].list->n && !r->cancelled; i++) {
        uint32_t at = last ? v[0].list->n - 1 - i : i;
        struct cel_val same = cel_equal(r, items[at], v[1]);
        if (same.kind == CK_BOOL && same.b)
            return cel_v_int(at);
    }
    return cel_v_int(-1);
}

static struct cel_val index_of(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    if (v[0].kind == CK_LIST && n == 2)
        return list_index(r, v, false);
    if (v[0].kind != CK_STRING || v[1].kind != CK_STRING || (n == 3 && v[2].kind != CK_INT))
        return cel_misfit();
    int64_t from = n == 3 ? v[2].i : 0, len = (int64_t)cel_size(v[0]);
    if (v[1].n == 0) /* upstream does not look at the offset then */
        return cel_v_int(from);
    if (from < 0)
        return out_of_range(r, from);
    if (from >= len)
        return cel_v_int(-1);
    size_t at = byte_at(cel_str(v[0]), from);
    const char *hit = memmem(v[0].s + at, v[0].n - at, v[1].s, v[1].n);
    return cel_v_int(hit ? (int64_t)cel_runes((struct str){ v[0].s, (size_t)(hit - v[0].s) }) : -1);
}

static struct cel_val last_index_of(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    if (v[0].kind == CK_LIST && n == 2)
        return list_index(r, v, true);
    if (v[0].kind != CK_STRING || v[1].kind != CK_STRING || (n == 3 && v[2].kind != CK_INT))
        return cel_misfit();
    int64_t len = (int64_t)cel_size(v[0]), from = n == 3 ? v[2].i : len - 1;
    if (v[1].n == 0)
        return cel_v_int(n == 3 ? from : len);
    if (n == 3 && from < 0)
        return out_of_range(r, from);
    if (v[1].n > v[0].n || (n == 3 && from >= len))
        return cel_v_int(-1);
    struct str s = cel_str(v[0]);
    int64_t i = MIN(from, len - 1);
    for (size_t at = byte_at(s, i); i >= 0 && cel_work(r, 1 + v[1].n / 512); i--) {
        if (s.n - at >= v[1].n && memcmp(s.p + at, v[1].s, v[1].n) == 0)
            return cel_v_int(i);
        while (at > 0 && ((unsigned char)s.p[--at] & 0xc0) == 0x80)
            ;
    }
    return cel_v_int(-1);
}

static struct cel_val map_ascii(struct cel_run *r, struct cel_val v, char lo, char hi, int by)
{
    if (v.kind != CK_STRING)
        return cel_misfit();
    char *s = arena_strndup(r->a, v.s, v.n);
    for (uint32_t i = 0; i < v.n; i++) {
        if (s[i] >= lo && s[i] <= hi)
            s[i] = (char)(s[i] + by);
    }
    return cel_v_str(s, v.n);
}

static struct cel_val lower_ascii(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return map_ascii(r, v[0], 'A', 'Z', 'a' - 'A');
}

static struct cel_val upper_ascii(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)n;
    return map_ascii(r, v[0], 'a', 'z', 'A' - 'a');
}

/* Puts a piece at *n of the text, or only counts it. */
static void put(char *to, size_t *n, const char *from, size_t len)
{
    if (to && len)
        memcpy(to + *n, from, len);
    *n += len;
}

/* The text with its parts replaced goes `to`, if that is there. Returns how long it is. Steps are
 * counted for both passes when it is measured, so that nothing ends the one that writes. */
static size_t replaced(struct cel_run *r, const struct cel_val *v, int64_t most, char *to)
{
    struct str s = cel_str(v[0]);
    size_t at = 0, len = 0;

    for (int64_t left = most; left > 0; left--) {
        const char *hit = v[1].n ? memmem(s.p + at, s.n - at, v[1].s, v[1].n) : s.p + at;
        if (!hit || (!to && !cel_work(r, left % 8 ? 0 : 2)))
            break;
        put(to, &len, s.p + at, (size_t)(hit - (s.p + at)));
        put(to, &len, v[2].s, v[2].n);
        at = (size_t)(hit - s.p) + v[1].n;
        if (v[1].n)
            continue;
        if (at >= s.n) /* nothing: between all characters, and once more at the end */
            break;
        size_t next = at + byte_at((struct str){ s.p + at, s.n - at }, 1);
        if (left > 1)
            put(to, &len, s.p + at, next - at);
        at = left > 1 ? next : at;
    }
    if (at < s.n)
        put(to, &len, s.p + at, s.n - at);
    return len;
}

static struct cel_val replace(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    if (v[0].kind != CK_STRING || v[1].kind != CK_STRING || v[2].kind != CK_STRING ||
        (n == 4 && v[3].kind != CK_INT))
        return cel_misfit();
    int64_t most = n == 4 && v[3].i >= 0 ? v[3].i : INT64_MAX;
    size_t len = replaced(r, v, most, NULL);
    char *text = cel_alloc(r, len + 1, 1);
    if (!text)
        return v[0];
    (void)replaced(r, v, most, text);
    text[len] = '\0';
    return cel_v_str(text, len);
}

static struct cel_val split(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct cel_val *out = NULL;
    size_t at = 0, len = 0, cap = 0;

    if (v[0].kind != CK_STRING || v[1].kind != CK_STRING || (n == 3 && v[2].kind != CK_INT))
        return cel_misfit();
    struct str s = cel_str(v[0]), sep = cel_str(v[1]);
    int64_t most = n == 3 && v[2].i >= 0 ? v[2].i : INT64_MAX;
    while (most > 0 && (sep.n || at < s.n)) {
        const char *hit = sep.n ? memmem(s.p + at, s.n - at, sep.p, sep.n)
                                : s.p + at + byte_at((struct str){ s.p + at, s.n - at }, 1);
        if (!hit || (int64_t)len + 1 >= most)
            hit = s.p + s.n;
        if (!cel_append(r, &out, len, &cap, cel_v_str(s.p + at, (size_t)(hit - (s.p + at)))))
            break;
        len++;
        at = (size_t)(hit - s.p) + sep.n;
        if (hit == s.p + s.n)
            break;
    }
    return cel_v_list(r->a, out, len);
}

/* The first element decides whether it is a list of text at all. */
static struct cel_val not_text(struct cel_run *r, struct cel_val v)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    if (v.kind == CK_NULL)
        strbuf_appendc(&b, '0');
    else
        (void)cel_to_string(r, v, &b);
    return cel_v_error(r->a, "join: invalid input: %s", strbuf_str(&b));
}

static struct cel_val join(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    struct cel_iter it;
    struct cel_val k, item;
    uint64_t all = 0;
    size_t len = 0;

    if (v[0].kind != CK_LIST || (n == 2 && v[1].kind != CK_STRING))
        return cel_misfit();
    for (cel_iter_init(&it, r->a, v[0]); cel_iter_next(&it, &k, &item);) {
        if (item.kind != CK_STRING)
            return k.i ? not_text(r, item) : cel_misfit();
        all += (uint64_t)item.n + (n == 2 && k.i > 0 ? v[1].n : 0);
    }
    char *text = cel_alloc(r, all + 1, 1);
    if (!text)
        return cel_v_null();
    for (cel_iter_init(&it, r->a, v[0]); cel_iter_next(&it, &k, &item);) {
        if (n == 2 && k.i > 0)
            put(text, &len, v[1].s, v[1].n);
        put(text, &len, item.s, item.n);
    }
    text[len] = '\0';
    return cel_v_str(text, len);
}

static struct cel_val substring(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    if (v[0].kind != CK_STRING || v[1].kind != CK_INT || (n == 3 && v[2].kind != CK_INT))
        return cel_misfit();
    int64_t len = (int64_t)cel_size(v[0]), from = v[1].i, to = n == 3 ? v[2].i : len;
    if (n == 3 && from > to)
        return cel_v_error(r->a, "invalid substring range. start: %lld, end: %lld", (long long)from,
                           (long long)to);
    if (from < 0 || from > len)
        return out_of_range(r, from);
    if (to < 0 || to > len)
        return out_of_range(r, to);
    size_t a = byte_at(cel_str(v[0]), from), b = byte_at(cel_str(v[0]), to);
    return cel_v_str(v[0].s + a, b - a);
}

static bool is_space(uint32_t c)
{
    return (c >= '\t' && c <= '\r') || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

static struct cel_val trim(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    size_t begin = 0, end = 0;
    unsigned len;
    bool inside = false;

    (void)r, (void)n;
    if (v[0].kind != CK_STRING)
        return cel_misfit();
    for (size_t i = 0; i < v[0].n; i += len) {
        if (is_space(re_rune(v[0].s + i, v[0].n - i, &len)))
            continue;
        if (!inside)
            begin = i;
        inside = true;
        end = i + len;
    }
    return cel_v_str(v[0].s + begin, end - begin);
}

static struct cel_val quote(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    static const char plain[] = "\a\b\f\n\r\t\v\\\"", letters[] = "abfnrtv\\\"";
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)n;
    if (v[0].kind != CK_STRING)
        return cel_misfit();
    strbuf_appendc(&b, '"');
    for (uint32_t i = 0; i < v[0].n; i++) {
        const char *at = v[0].s[i] ? strchr(plain, v[0].s[i]) : NULL;
        if (at)
            strbuf_appendf(&b, "\\%c", letters[at - plain]);
        else
            strbuf_appendc(&b, v[0].s[i]);
    }
    strbuf_appendc(&b, '"');
    return cel_v_take(r->a, &b);
}

static struct cel_val format(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)n;
    if (v[0].kind != CK_STRING || v[1].kind != CK_LIST)
        return cel_misfit();
    if (cel_format_text(r, cel_str(v[0]), cel_list_items(r->a, v[1].list), v[1].list->n, &b) < 0)
        return cel_v_error(r->a, "%s", strbuf_str(&b));
    return cel_v_take(r->a, &b);
}

static bool two_strings(const struct cel_val *v)
{
    return v[0].kind == CK_STRING && v[1].kind == CK_STRING;
}

static struct cel_val contains(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)r, (void)n;
    if (!two_strings(v))
        return cel_misfit();
    return cel_v_bool(v[1].n == 0 || (v[0].n && memmem(v[0].s, v[0].n, v[1].s, v[1].n)));
}

static struct cel_val starts_with(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)r, (void)n;
    if (!two_strings(v))
        return cel_misfit();
    return cel_v_bool(v[0].n >= v[1].n && (v[1].n == 0 || memcmp(v[0].s, v[1].s, v[1].n) == 0));
}

static struct cel_val ends_with(struct cel_run *r, const struct cel_val *v, unsigned n)
{
    (void)r, (void)n;
    if (!two_strings(v))
        return cel_misfit();
    return cel_v_bool(v[0].n >= v[1].n &&
                      (v[1].n == 0 || memcmp(v[0].s + v[0].n - v[1].n, v[1].s, v[1].n) == 0));
}

#define S &cel_string
#define I &cel_int
static const struct cel_overload o_char_at[] = { CEL_MEMBER(S, S, I) };
static const struct cel_overload o_index[] = {
    CEL_MEMBER(I, S, S),
    CEL_MEMBER(I, S, S, I),
    CEL_MEMBER(I, &cel_list_A, &cel_A),
};
static const struct cel_overload o_same[] = { CEL_MEMBER(S, S) };
static const struct cel_overload o_replace[] = {
    CEL_MEMBER(S, S, S, S),
    CEL_MEMBER(S, S, S, S, I),
};
static const struct cel_overload o_split[] = {
    CEL_MEMBER(&cel_list_string, S, S),
    CEL_MEMBER(&cel_list_string, S, S, I),
};
static const struct cel_overload o_join[] = {
    CEL_MEMBER(S, &cel_list_string),
    CEL_MEMBER(S, &cel_list_string, S),
};
static const struct cel_overload o_substring[] = { CEL_MEMBER(S, S, I), CEL_MEMBER(S, S, I, I) };
static const struct cel_overload o_quote[] = { CEL_GLOBAL_COST(CC_QUOTE, S, S) };
static const struct cel_overload o_format[] = { CEL_MEMBER_COST(CC_FORMAT, S, S, &cel_list_dyn) };
static const struct cel_overload o_contains[] = { CEL_MEMBER_COST(CC_CONTAINS, &cel_bool, S, S) };
static const struct cel_overload o_prefix[] = { CEL_MEMBER_COST(CC_PREFIX, &cel_bool, S, S) };

static const struct cel_function functions[] = {
    CEL_FN("charAt", char_at, o_char_at),
    CEL_FN("indexOf", index_of, o_index, .cost = CC_TRAVERSE),
    CEL_FN("lastIndexOf", last_index_of, o_index, .cost = CC_TRAVERSE),
    CEL_FN("lowerAscii", lower_ascii, o_same, .cost = CC_TENTH_SIZED),
    CEL_FN("upperAscii", upper_ascii, o_same, .cost = CC_TENTH_SIZED),
    CEL_FN("replace", replace, o_replace, .cost = CC_REPLACE),
    CEL_FN("split", split, o_split, .cost = CC_SPLIT),
    CEL_FN("join", join, o_join, .cost = CC_JOIN),
    CEL_FN("substring", substring, o_substring, .cost = CC_TENTH_SIZED),
    CEL_FN("trim", trim, o_same, .cost = CC_TENTH_SIZED),
    CEL_FN("strings.quote", quote, o_quote),
    CEL_FN("format", format, o_format),
    CEL_FN("contains", contains, o_contains, .misfit = CM_PLAIN),
    CEL_FN("startsWith", starts_with, o_prefix, .misfit = CM_PLAIN),
    CEL_FN("endsWith", ends_with, o_prefix, .misfit = CM_PLAIN),
};
const struct cel_library cel_lib_strings = { functions, ARRAY_LEN(functions) };
