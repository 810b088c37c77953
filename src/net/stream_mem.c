/* stream_mem.c - two connected ends in memory: the socket of tests and of the virtual loop.
 *
 * What one end writes is owned by the other end's inbox at once, so an end can be freed the moment
 * its holder closes it. Everything waits on loop timers and not on posts, because a timer can be
 * cancelled: nothing is left behind when the loop goes away early.
 */
#include "loop/loop.h"
#include "net/stream.h"

enum { MEM_PIECE_MAX = 64 * 1024 }; /* as much as a socket read would give at once */

struct mem_seg { /* what was written at one point in time */
    struct mem_seg *next;
    nsec_t due;
    size_t off, len, cap;
    char data[];
};

struct mem_end {
    struct stream base;
    struct loop *loop;
    struct mem_opts opts;
    struct mem_end *peer; /* NULL: closed */
    struct mem_seg *first, *last;
    size_t inbox; /* bytes in the segments */
    nsec_t eof_due;
    bool eof;      /* nothing follows the segments */
    bool eof_told; /* by on_eof: only a failure can follow */
    bool shut;     /* our side has ended */
    bool broken;   /* err tells why */
    bool finished; /* on_close was called: no event follows */
    bool paused;
    bool was_full; /* we wrote past the low-water mark: a drain event is owed */
    bool drain;    /* and due */
    struct kerr err;
    struct timer *timer;
    nsec_t timer_due;
    bool *gone; /* set by close: tells the event loop below that its end is freed */
};

static struct mem_end *mem_end(struct stream *s)
{
    return container_of(s, struct mem_end, base);
}

static void mem_kick(struct mem_end *e);

static void inbox_clear(struct mem_end *e)
{
    for (struct mem_seg *s; (s = e->first) != NULL;) {
        e->first = s->next;
        free(s);
    }
    e->last = NULL;
    e->inbox = 0;
}

static bool mem_can_read(const struct mem_end *e)
{
    return e->base.ev && !e->paused && (e->first || (e->eof && !e->eof_told));
}

static nsec_t mem_read_due(const struct mem_end *e)
{
    return e->first ? e->first->due : e->eof_due;
}

static void mem_took(struct mem_end *e, size_t n)
{
    struct mem_end *w = e->peer;

    e->inbox -= n;
    if (w && w->was_full && e->inbox < STREAM_LOW_WATER) {
        w->was_full = false;
        w->drain = true;
        mem_kick(w);
    }
}

/* Hands over one piece; false when the end was freed meanwhile. */
static bool mem_deliver(struct mem_end *e, const bool *gone)
{
    struct mem_seg *s = e->first;
    size_t max = e->opts.chunk ? MIN(e->opts.chunk, (size_t)MEM_PIECE_MAX) : MEM_PIECE_MAX;
    size_t n = MIN(s->len - s->off, max), at = s->off;

    /* The segment is ours during the call: the callback may close or break this end. */
    e->first = s->next;
    if (!e->first)
        e->last = NULL;
    s->off += n;
    mem_took(e, n);
    e->base.ev->on_data(e->base.arg, s->data + at, n);
    if (*gone || e->broken || s->off == s->len) {
        free(s);
        return !*gone;
    }
    s->next = e->first;
    e->first = s;
    if (!e->last)
        e->last = s;
    return true;
}

static void mem_events(struct mem_end *e)
{
    bool gone = false;

    e->gone = &gone;
    if (e->drain && e->base.ev) {
        e->drain = false;
        if (e->base.ev->on_drain && !e->broken)
            e->base.ev->on_drain(e->base.arg);
        if (gone)
            return;
    }
    if (mem_can_read(e) && e->first && e->first->due <= loop_mono(e->loop) &&
        !mem_deliver(e, &gone))
        return;
    bool ends = mem_can_read(e) && !e->first && e->eof_due <= loop_mono(e->loop);
    if (ends && !e->broken && e->base.ev->on_eof) {
        e->eof_told = true;
        e->base.ev->on_eof(e->base.arg);
    } else if (e->base.ev && (e->broken || ends)) {
        e->finished = true;
        e->base.ev->on_close(e->base.arg, e->broken ? &e->err : NULL);
    }
    if (gone)
        return;
    e->gone = NULL;
    mem_kick(e);
}

static void mem_fire(struct loop *l, void *arg)
{
    struct mem_end *e = arg;

    (void)l;
    e->timer = NULL;
    mem_events(e);
}

/* Arms the timer for the next event, if there is one. */
static void mem_kick(struct mem_end *e)
{
    nsec_t now = loop_mono(e->loop), due;

    if (e->finished || e->gone || !e->base.ev) /* inside an event: mem_events() kicks afterwards */
        return;
    if (e->broken || e->drain)
        due = now;
    else if (mem_can_read(e))
        due = MAX(now, mem_read_due(e));
    else
        return;
    if (e->timer && e->timer_due <= due)
        return;
    timer_cancel(e->timer);
    e->timer_due = due;
    e->timer = loop_after(e->loop, due - now, mem_fire, e);
}

static void mem_break(struct mem_end *e, int code, const char *why)
{
    if (e->broken || e->finished)
        return;
    e->broken = true;
    kerr_set(&e->err, code, "%s", why);
    inbox_clear(e);
    mem_kick(e);
}

static void mem_write(struct stream *s, const void *p, size_t n)
{
    struct mem_end *e = mem_end(s), *to = e->peer;

    if (!to && e->eof_told && !e->shut)
        mem_break(e, -EPIPE, "write: broken pipe");
    if (!to || e->shut || e->broken || n == 0)
        return;
    nsec_t due = loop_mono(e->loop) + e->opts.latency;
    struct mem_seg *seg = to->last;
    if (!seg || seg->due != due || seg->cap - seg->len < n) { /* writes of one turn go together */
        size_t cap = MAX(n, (size_t)256);
        seg = xmalloc(sizeof *seg + cap);
        *seg = (struct mem_seg){ .due = due, .cap = cap };
        if (to->last)
            to->last->next = seg;
        else
            to->first = seg;
        to->last = seg;
    }
    memcpy(seg->data + seg->len, p, n);
    seg->len += n;
    to->inbox += n;
    if (to->inbox >= STREAM_LOW_WATER)
        e->was_full = true;
    mem_kick(to);
}

static size_t mem_queued(const struct stream *s)
{
    const struct mem_end *e = container_of(s, const struct mem_end, base);

    return e->peer ? e->peer->inbox : 0;
}

static void mem_pause(struct stream *s, bool paused)
{
    struct mem_end *e = mem_end(s);

    e->paused = paused;
    mem_kick(e);
}

static void mem_shutdown(struct stream *s)
{
    struct mem_end *e = mem_end(s), *to = e->peer;

    if (e->shut)
        return;
    e->shut = true;
    if (to) {
        to->eof = true;
        to->eof_due = loop_mono(e->loop) + e->opts.latency;
        mem_kick(to);
    }
}

static void mem_close(struct stream *s)
{
    struct mem_end *e = mem_end(s);

    mem_shutdown(s);
    if (e->peer) {
        e->peer->peer = NULL;
        if (e->peer->was_full && e->peer->eof_told)
            mem_break(e->peer, -EPIPE, "write: broken pipe");
        e->peer->was_full = false;
    }
    if (e->gone)
        *e->gone = true;
    timer_cancel(e->timer);
    inbox_clear(e);
    free(e);
}

static const struct stream_ops mem_ops = {
    .write = mem_write,
    .queued = mem_queued,
    .pause = mem_pause,
    .shutdown = mem_shutdown,
    .close = mem_close,
};

void stream_mem_pair(struct loop *l, const struct mem_opts *o, struct stream *ret_ends[2])
{
    struct mem_end *e[2];

    for (int i = 0; i < 2; i++) {
        e[i] = xnew0(struct mem_end);
        e[i]->base.ops = &mem_ops;
        e[i]->loop = l;
        if (o)
            e[i]->opts = *o;
        ret_ends[i] = &e[i]->base;
    }
    e[0]->peer = e[1];
    e[1]->peer = e[0];
}

void stream_mem_break(struct stream *end, int code, const char *why)
{
    struct mem_end *e = mem_end(end);

    assert(end->ops == &mem_ops && code < 0);
    if (e->peer)
        mem_break(e->peer, code, why);
    mem_break(e, code, why);
}
