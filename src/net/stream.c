/* stream.c - what all kinds of streams share. */
#include "net/stream.h"

void stream_listen(struct stream *s, const struct stream_events *ev, void *arg)
{
    s->ev = ev;
    s->arg = arg;
    s->ops->pause(s, ev == NULL);
}

struct stream *stream_close(struct stream *s)
{
    if (s)
        s->ops->close(s);
    return NULL;
}
