/* text.c - UTF-8 and line counting for texts from outside. */
#include "json/kj_int.h"

typedef uint8_t bytes16 __attribute__((vector_size(16)));

struct scan {
    bytes16 high, slash, line, escape_u;
};

static inline void scan16(struct scan *s, const char *p)
{
    bytes16 b, next;

    memcpy(&b, p, 16);
    memcpy(&next, p + 1, 16);
    s->high |= b;
    s->slash |= (bytes16)(b == '\\');
    s->line |= (bytes16)(b == '\n');
    s->escape_u |= (bytes16)(b == '\\') & (bytes16)(next == 'u');
}

static bool any(bytes16 b, unsigned char mask)
{
    unsigned char all = 0;
    for (size_t i = 0; i < 16; i++)
        all |= b[i];
    return all & mask;
}

/* One pass over the whole body before parsing in place, so it has to run at memory speed: the
 * compiler's vectors are SSE2 or NEON without an #ifdef. */
unsigned text_scan(const char *p, size_t n)
{
    struct scan s = { 0 };
    unsigned found = 0;
    size_t i = 0;

    for (; i + 65 <= n; i += 64) {
        scan16(&s, p + i);
        scan16(&s, p + i + 16);
        scan16(&s, p + i + 32);
        scan16(&s, p + i + 48);
    }
    for (; i < n; i++) {
        found |= (unsigned char)p[i] & 0x80 ? TEXT_HIGH : 0u;
        found |= p[i] == '\n' ? TEXT_NEWLINE : 0u;
        if (p[i] == '\\')
            found |= TEXT_BACKSLASH | TEXT_ESCAPE_U;
    }
    return found | (any(s.high, 0x80) ? TEXT_HIGH : 0u) |
           (any(s.slash, 0xFF) ? TEXT_BACKSLASH : 0u) | (any(s.line, 0xFF) ? TEXT_NEWLINE : 0u) |
           (any(s.escape_u, 0xFF) ? TEXT_ESCAPE_U : 0u);
}

size_t utf8_seq(const unsigned char *s, size_t n)
{
    if (s[0] < 0x80)
        return 1;
    size_t len = s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : s[0] < 0xF5 ? 4 : 0;
    if (len == 0 || len > n)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    /* overlong forms, surrogates, beyond U+10FFFF */
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) ||
        (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    return len;
}

/* The last eight bytes are looked at once more rather than one by one: most texts are short. */
static bool is_ascii(const char *p, size_t n)
{
    uint64_t seen = 0, w;
    size_t i = 0;

    for (; n - i >= 8; i += 8) {
        memcpy(&w, p + i, 8);
        seen |= w;
    }
    if (i < n && n >= 8) {
        memcpy(&w, p + n - 8, 8);
        seen |= w;
        i = n;
    }
    for (; i < n; i++)
        seen |= (unsigned char)p[i];
    return !(seen & UINT64_C(0x8080808080808080));
}

bool utf8_valid(const char *p, size_t n)
{
    const unsigned char *s = (const unsigned char *)p;

    if (is_ascii(p, n))
        return true;
    for (size_t i = 0; i < n;) {
        uint64_t w;
        if (n - i >= 8 && (memcpy(&w, s + i, 8), !(w & UINT64_C(0x8080808080808080)))) {
            i += 8;
            continue;
        }
        size_t len = utf8_seq(s + i, n - i);
        if (len == 0)
            return false;
        i += len;
    }
    return true;
}

static int hex4(const char *p)
{
    int v = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0)
            return -1;
        v = v * 16 + d;
    }
    return v;
}

/* p is at a backslash. The length of the escape; *ret_lone when it is half a pair. */
static size_t escape_len(const char *p, size_t n, bool *ret_lone)
{
    *ret_lone = false;
    if (n < 2)
        return n;
    if (p[1] != 'u' || n < 6)
        return 2;
    int first = hex4(p + 2);
    if (first < 0xD800 || first > 0xDFFF)
        return first < 0 ? 2 : 6;
    if (first < 0xDC00 && n >= 12 && p[6] == '\\' && p[7] == 'u') {
        int second = hex4(p + 8);
        if (second >= 0xDC00 && second <= 0xDFFF)
            return 12;
    }
    *ret_lone = true;
    return 6;
}

bool json_has_lone_surrogate(const char *p, size_t n)
{
    const char *end = p + n;
    while ((p = memchr(p, '\\', (size_t)(end - p)))) {
        bool lone;
        p += escape_len(p, (size_t)(end - p), &lone);
        if (lone)
            return true;
        if (p == end)
            break;
    }
    return false;
}

static void sanitise(const char *p, size_t n, bool escapes, struct strbuf *out)
{
    const unsigned char *s = (const unsigned char *)p;
    size_t plain = 0; /* start of the stretch not yet copied */

    strbuf_reserve(out, n);
    for (size_t i = 0; i < n;) {
        size_t len = utf8_seq(s + i, n - i);
        bool lone = false;
        if (escapes && s[i] == '\\')
            len = escape_len(p + i, n - i, &lone);
        /* The two bytes of a short escape may hide a broken one: "\<ff>" is bad anyway. */
        if (len == 2 && s[i] == '\\' && s[i + 1] >= 0x80)
            len = 1;
        if (len != 0 && !lone) {
            i += len;
            continue;
        }
        strbuf_appendn(out, p + plain, i - plain);
        strbuf_append(out, lone ? "\\ufffd" : "\xEF\xBF\xBD");
        i += lone ? len : 1;
        plain = i;
    }
    strbuf_appendn(out, p + plain, n - plain);
}

void json_sanitise(const char *p, size_t n, struct strbuf *out)
{
    sanitise(p, n, true, out);
}

void utf8_sanitise(const char *p, size_t n, struct strbuf *out)
{
    sanitise(p, n, false, out);
}

void text_locate(const char *p, size_t n, size_t at, size_t *ret_line, size_t *ret_col)
{
    size_t line = 1, start = 0;

    at = MIN(at, n);
    for (size_t i = 0; i < at; i++)
        if (p[i] == '\n') {
            line++;
            start = i + 1;
        }
    *ret_line = line;
    *ret_col = at - start + 1;
}
