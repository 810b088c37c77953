/* strbuf.c - text that grows. */
#include "base/strbuf.h"

#include <stdio.h>

void strbuf_grow(struct strbuf *b, size_t n)
{
    size_t need = b->len + n + 1, cap = b->cap ? b->cap : 64;

    assert(need > n && need <= SIZE_MAX / 2); /* doubling below must not wrap */
    while (cap < need)
        cap *= 2;
    b->data = xrealloc(b->data, cap);
    b->cap = cap;
}

void strbuf_appendn(struct strbuf *b, const void *p, size_t n)
{
    char *at = strbuf_reserve(b, n);
    if (n)
        memcpy(at, p, n);
    b->len += n;
    at[n] = '\0';
}

void strbuf_append(struct strbuf *b, const char *s)
{
    strbuf_appendn(b, s, strlen(s));
}

void strbuf_appendc(struct strbuf *b, char c)
{
    char *at = strbuf_reserve(b, 1);
    at[0] = c;
    at[1] = '\0';
    b->len++;
}

void strbuf_vappendf(struct strbuf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    size_t room = b->cap > b->len ? b->cap - b->len : 0;
    int n = vsnprintf(room ? b->data + b->len : NULL, room, fmt, ap);
    assert(n >= 0);
    if ((size_t)n >= room) {
        char *at = strbuf_reserve(b, (size_t)n);
        (void)vsnprintf(at, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    b->len += (size_t)n;
}

void strbuf_appendf(struct strbuf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    strbuf_vappendf(b, fmt, ap);
    va_end(ap);
}

void strbuf_append_i64(struct strbuf *b, int64_t v)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do
        digits[--at] = (char)('0' + u % 10);
    while (u /= 10);
    if (v < 0)
        digits[--at] = '-';
    strbuf_appendn(b, digits + at, sizeof digits - at);
}

void strbuf_truncate(struct strbuf *b, size_t len)
{
    assert(len <= b->len);
    b->len = len;
    if (b->data)
        b->data[len] = '\0';
}

void strbuf_consume(struct strbuf *b, size_t n)
{
    assert(n <= b->len);
    if (n == 0)
        return;
    memmove(b->data, b->data + n, b->len - n + 1);
    b->len -= n;
}

void strbuf_reset(struct strbuf *b)
{
    b->len = 0;
    if (b->data)
        b->data[0] = '\0';
}

void strbuf_fini(struct strbuf *b)
{
    free(b->data);
    *b = (struct strbuf)STRBUF_INIT;
}

const char *strbuf_str(const struct strbuf *b)
{
    return b->data ? b->data : "";
}

char *strbuf_take(struct strbuf *b)
{
    char *s = b->data ? b->data : xstrdup("");
    *b = (struct strbuf)STRBUF_INIT;
    return s;
}

/* Length of the valid UTF-8 sequence at s and its code point, or 0. */
static size_t utf8_decode(const unsigned char *s, size_t n, uint32_t *ret)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t len = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;

    if (len == 0 || len > n || s[0] > 0xF4)
        return 0;
    uint32_t c = len == 1 ? s[0] : s[0] & (0x7FU >> len);
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3F);
    }
    if (c < least[len] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return 0;
    *ret = c;
    return len;
}

/* Controls, odd spaces, invisible and direction marks, private use: what Go calls not printable,
 * short of the code points that no version of Unicode has assigned yet. */
static bool is_hidden(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        { 0x00, 0x1F },     { 0x7F, 0xA0 },       { 0xAD, 0xAD },       { 0x600, 0x605 },
        { 0x61C, 0x61C },   { 0x6DD, 0x6DD },     { 0x70F, 0x70F },     { 0x1680, 0x1680 },
        { 0x180E, 0x180E }, { 0x2000, 0x200F },   { 0x2028, 0x202F },   { 0x205F, 0x206F },
        { 0x3000, 0x3000 }, { 0xE000, 0xF8FF },   { 0xFEFF, 0xFEFF },   { 0xFFF0, 0xFFFB },
        { 0xFFFE, 0xFFFF }, { 0x1D173, 0x1D17A }, { 0x40000, 0xE00FF }, { 0xE01F0, 0x10FFFF },
    };
    for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
        if (c <= hidden[i].last)
            return c >= hidden[i].first;
    return false;
}

enum { ESCAPED_MAX = 12 };

/* One character at s as Go's %q shows it; returns the bytes read, *ret_n is what was written. */
static size_t escape(const unsigned char *s, size_t n, char out[ESCAPED_MAX], size_t *ret_n)
{
    static const char letters[] = "abtnvfr"; /* \a is 7, \r is 13 */
    uint32_t c = s[0];
    size_t len = utf8_decode(s, n, &c);
    int w;

    if (c == '"' || c == '\\')
        w = snprintf(out, ESCAPED_MAX, "\\%c", (int)c);
    else if (c >= 7 && c <= 13)
        w = snprintf(out, ESCAPED_MAX, "\\%c", letters[c - 7]);
    else if (len == 0 || c < 0x20 || c == 0x7F)
        w = snprintf(out, ESCAPED_MAX, "\\x%02x", s[0]);
    else if (is_hidden(c))
        w = snprintf(out, ESCAPED_MAX, c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
    else {
        memcpy(out, s, len);
        w = (int)len;
    }
    *ret_n = (size_t)w;
    return len ? len : 1;
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

void strbuf_append_quoted(struct strbuf *b, const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    char out[ESCAPED_MAX];

    strbuf_appendc(b, '"');
    for (size_t i = 0; i < n;) {
        size_t run = i, w;
        while (run < n && is_plain(s[run]))
            run++;
        strbuf_appendn(b, s + i, run - i);
        if (run < n) {
            run += escape(s + run, n - run, out, &w);
            strbuf_appendn(b, out, w);
        }
        i = run;
    }
    strbuf_appendc(b, '"');
}

const char *text_quote(char *buf, size_t size, const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    char out[ESCAPED_MAX];
    size_t at = 0, w, cut = 1; /* cut: how much can stay when dots have to follow */

    assert(size >= 8);
    buf[at++] = '"';
    for (size_t i = 0; i < n;) {
        i += escape(s + i, n - i, out, &w);
        if (at + w > size - 2) {
            memcpy(buf + cut, "...", 3);
            at = cut + 3;
            break;
        }
        memcpy(buf + at, out, w);
        at += w;
        if (at <= size - 5)
            cut = at;
    }
    buf[at++] = '"';
    buf[at] = '\0';
    return buf;
}
