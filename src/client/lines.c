/* lines.c - newline framing of watch streams. */
#include "client/lines.h"

#include "json/kj.h"

void lines_init(struct lines *l, size_t max)
{
    *l = (struct lines){ .buf = STRBUF_INIT, .max = max };
}

void lines_fini(struct lines *l)
{
    strbuf_fini(&l->buf);
}

/* The parser writes behind the line it is given, which is where the next one starts: lend it
 * those bytes and put them back. */
static bool hand_out(struct lines *l, size_t begin, size_t end, line_fn fn, void *arg)
{
    char saved[KJ_PADDING], *line = l->buf.data + begin, *after = l->buf.data + end;
    memcpy(saved, after, sizeof saved);
    memset(after, 0, sizeof saved);
    bool go_on = fn(arg, line, end - begin);
    memcpy(l->buf.data + end, saved, sizeof saved);
    return go_on;
}

int lines_feed(struct lines *l, const char *p, size_t n, line_fn fn, void *arg, struct kerr *err)
{
    size_t scanned = l->buf.len, begin = 0;
    bool go_on = true;

    strbuf_appendn(&l->buf, p, n);
    (void)strbuf_reserve(&l->buf, KJ_PADDING);
    while (go_on) {
        char *nl = memchr(l->buf.data + scanned, '\n', l->buf.len - scanned);
        if (!nl)
            break;
        size_t end = (size_t)(nl - l->buf.data);
        scanned = end + 1;
        size_t len = end - begin;
        if (len > 0 && l->buf.data[end - 1] == '\r')
            len--;
        if (len > l->max)
            return kerr_set(err, -EMSGSIZE, "a line of %zu bytes, more than the %zu allowed", len,
                            l->max);
        if (len > 0)
            go_on = hand_out(l, begin, begin + len, fn, arg);
        begin = scanned;
    }
    if (!go_on)
        return kerr_set(err, -ECANCELED, "stopped by the reader");
    strbuf_consume(&l->buf, begin);
    if (l->buf.len > l->max)
        return kerr_set(err, -EMSGSIZE, "a line longer than the %zu bytes allowed", l->max);
    return 0;
}
