/* kpath.c - field paths for messages, built from the end. */
#include "json/codec.h"

#include <stdio.h>

void kpath_init(struct kpath *p)
{
    p->full = false;
    p->at = sizeof p->buf - 1;
    p->buf[p->at] = '\0';
}

/* When the front does not fit any more, the end is what locates the fault: "...a.b[3].c". There
 * are always three bytes left for the dots. */
static void prepend(struct kpath *p, const char *s, size_t n)
{
    if (p->full)
        return;
    p->full = n + 3 > p->at;
    if (p->full) {
        s = "...";
        n = 3;
    }
    p->at -= n;
    memcpy(p->buf + p->at, s, n);
}

void kpath_field(struct kpath *p, const char *name, size_t n)
{
    if (p->buf[p->at] != '\0' && p->buf[p->at] != '[')
        prepend(p, ".", 1);
    prepend(p, name, n);
}

void kpath_index(struct kpath *p, size_t i)
{
    char text[32];

    if (p->buf[p->at] != '\0' && p->buf[p->at] != '[')
        prepend(p, ".", 1);
    prepend(p, text, (size_t)snprintf(text, sizeof text, "[%zu]", i));
}

void kpath_key(struct kpath *p, const char *key)
{
    if (p->buf[p->at] != '\0' && p->buf[p->at] != '[')
        prepend(p, ".", 1);
    prepend(p, "]", 1);
    prepend(p, key, strlen(key));
    prepend(p, "[", 1);
}

const char *kpath_str(const struct kpath *p)
{
    return p->buf + p->at;
}
