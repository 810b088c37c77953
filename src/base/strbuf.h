/* strbuf.h - text that grows. Always NUL-terminated once something was appended.
 *
 * Lives on the stack: CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
 */
#ifndef KOORD_BASE_STRBUF_H
#define KOORD_BASE_STRBUF_H
#include "base/base.h"

struct strbuf {
    char *data; /* NULL while nothing was appended */
    size_t len, cap;
};
#define STRBUF_INIT \
    {               \
        NULL, 0, 0  \
    }

void strbuf_append(struct strbuf *b, const char *s);
void strbuf_appendn(struct strbuf *b, const void *p, size_t n);
void strbuf_appendc(struct strbuf *b, char c);
void strbuf_appendf(struct strbuf *b, const char *fmt, ...) PRINTF(2, 3);
void strbuf_vappendf(struct strbuf *b, const char *fmt, va_list ap) PRINTF(2, 0);
void strbuf_append_i64(struct strbuf *b, int64_t v);
void strbuf_grow(struct strbuf *b, size_t n); /* strbuf_reserve() where there is no room yet */
/* Room for n more bytes at the end; after writing there, add to b->len and terminate. */
static inline char *strbuf_reserve(struct strbuf *b, size_t n)
{
    if (UNLIKELY(n >= b->cap - b->len)) /* a NUL follows; an empty buffer has no room at all */
        strbuf_grow(b, n);
    b->data[b->len] = '\0';
    return b->data + b->len;
}
void strbuf_truncate(struct strbuf *b, size_t len);
/* Removes the first n bytes: for stream buffers that are consumed from the front. */
void strbuf_consume(struct strbuf *b, size_t n);
void strbuf_reset(struct strbuf *b);            /* empties, keeps the memory */
void strbuf_fini(struct strbuf *b);             /* frees; the buffer is empty and usable again */
const char *strbuf_str(const struct strbuf *b); /* "" when empty; borrowed */
char *strbuf_take(struct strbuf *b);            /* moves the text to the caller, who frees it */
static inline UNUSED void strbuf_fini_p(struct strbuf *b)
{
    strbuf_fini(b);
}
/* Appends s as a Go-quoted string ("..." with escapes): for logs and messages (%q). */
void strbuf_append_quoted(struct strbuf *b, const char *s, size_t n);
/* The same into a buffer of at least 8 bytes, cut with dots inside the quotes when it does not
 * fit. Returns buf: made for the arguments of kerr_set(). Allocates nothing. */
const char *text_quote(char *buf, size_t size, const char *s, size_t n);
#endif
