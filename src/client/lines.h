/* lines.h - the newline framing of a watch: one JSON object a line, cut anywhere by the network. */
#ifndef KOORD_CLIENT_LINES_H
#define KOORD_CLIENT_LINES_H
#include "base/base.h"
#include "base/strbuf.h"

struct lines {
    struct strbuf buf; /* the unfinished line */
    size_t max;        /* longest line taken; more is -EMSGSIZE */
};
/* line is writable, NUL-terminated in place of its newline and followed by KJ_PADDING writable
 * bytes; empty lines are left out. Return false to stop (lines_feed then returns -ECANCELED). */
typedef bool (*line_fn)(void *arg, char *line, size_t n);

void lines_init(struct lines *l, size_t max);
void lines_fini(struct lines *l);
int lines_feed(struct lines *l, const char *p, size_t n, line_fn fn, void *arg, struct kerr *err);
/* Bytes of an unfinished line: not 0 at the end of a stream means it was cut. */
static inline size_t lines_pending(const struct lines *l)
{
    return l->buf.len;
}
#endif
