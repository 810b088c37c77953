/* stream_uv.c - TCP and unix sockets on libuv.
 *
 * Reading: one buffer per thread serves all connections, because libuv asks for it only right
 * before the read and our listeners use the bytes during the call. Writing: the bytes of one turn
 * gather in `out` and leave in libuv's prepare phase, just before the loop waits, with one system
 * call. No user code runs in that phase; what it has to tell comes from a timer in the next turn.
 */
#include "net/stream_uv.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#include <uv.h>

#include "base/strbuf.h"
#include "loop/loop.h"

enum {
    READ_BUFFER = 64 * 1024,
    KEEP_BUFFER = 16 * 1024, /* an idle connection keeps no larger write buffer than this */
};
#define LINGER_MAX (5 * NSEC_PER_SEC)

struct sock {
    struct stream base;
    struct loop *loop;
    uv_stream_t *h;
    uv_prepare_t prepare; /* active while `out` waits for the end of the turn */
    struct strbuf out;    /* written, not yet handed to libuv */
    struct strbuf flying; /* what write_req carries */
    uv_write_t write_req;
    bool writing;
    bool paused; /* born so; stream_listen() starts us */
    bool eof;    /* the peer's side has ended or the connection broke: no more reads */
    bool broken; /* writing failed; err tells why */
    bool shut;   /* stream_shutdown() was called */
    bool shut_done;
    bool owes_drain; /* the queue went past the low-water mark */
    bool finished;   /* on_close was called */
    bool closed;     /* stream_close() was called: only memory is left to be released */
    int open_handles;
    struct kerr err;
    struct timer *later; /* events that came up outside of an event callback */
};

/* Of each thread that has a loop. A thread-local array would be zeroed, and so be resident, in all
 * other threads too. */
static pthread_once_t buffer_once = PTHREAD_ONCE_INIT;
static pthread_key_t buffer_key;

static void buffer_key_make(void)
{
    int r = pthread_key_create(&buffer_key, free);
    assert(r == 0);
    (void)r;
}

static char *read_buffer(void)
{
    (void)pthread_once(&buffer_once, buffer_key_make);
    char *b = pthread_getspecific(buffer_key);
    if (!b) {
        b = xmalloc(READ_BUFFER);
        (void)pthread_setspecific(buffer_key, b);
    }
    return b;
}

static struct sock *sock_of(struct stream *s)
{
    return container_of(s, struct sock, base);
}

static void flush_out(struct sock *s);
static void later_fire(struct loop *l, void *arg);

static void discard_closed(uv_handle_t *h)
{
    free(h);
}

void stream_uv_discard(uv_stream_t *h)
{
    uv_close((uv_handle_t *)h, discard_closed);
}

static void handle_closed(uv_handle_t *h)
{
    struct sock *s = h->data;

    if (--s->open_handles > 0)
        return;
    strbuf_fini(&s->out);
    strbuf_fini(&s->flying);
    free(s->h);
    free(s);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void finish(struct sock *s, const struct kerr *err)
{
    if (s->finished || s->closed)
        return;
    s->finished = true;
    s->eof = true;
    uv_read_stop(s->h);
    s->base.ev->on_close(s->base.arg, err);
}

static void call_later(struct sock *s)
{
    if (!s->later && !s->closed)
        s->later = loop_after(s->loop, 0, later_fire, s);
}

static void drained(struct sock *s)
{
    if (!s->owes_drain || s->closed || stream_queued(&s->base) >= STREAM_LOW_WATER)
        return;
    s->owes_drain = false;
    if (s->base.ev && s->base.ev->on_drain && !s->finished)
        s->base.ev->on_drain(s->base.arg);
}

/* A failed write is told by on_close once what the peer had sent before is read: it may well be the
 * answer that explains the failure. A paused reader never gets there, so it is told at once. */
static void later_fire(struct loop *l, void *arg)
{
    struct sock *s = arg;

    (void)l;
    s->later = NULL;
    if (s->broken && s->base.ev && (s->paused || s->eof)) {
        finish(s, &s->err);
        return; /* may be gone */
    }
    drained(s);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
    (void)h, (void)suggested;
    *buf = uv_buf_init(read_buffer(), READ_BUFFER);
}

static void on_read(uv_stream_t *h, ssize_t n, const uv_buf_t *buf)
{
    struct sock *s = h->data;
    struct kerr err = { 0 };

    if (n == 0 || s->closed || s->finished)
        return;
    if (n > 0) {
        s->base.ev->on_data(s->base.arg, buf->base, (size_t)n);
        return;
    }
    s->eof = true;
    if (n == UV_EOF && !s->broken && s->base.ev->on_eof) {
        uv_read_stop(s->h);
        s->base.ev->on_eof(s->base.arg);
        return;
    }
    if (s->broken)
        err = s->err;
    else if (n != UV_EOF)
        kerr_set(&err, (int)n, "read: %s", uv_strerror((int)n));
    finish(s, err.code ? &err : NULL);
}

static void sock_pause(struct stream *base, bool paused)
{
    struct sock *s = sock_of(base);

    if (s->closed || s->finished)
        return;
    if (s->eof) { /* nothing more is read; why writing failed may still have to be told */
        if (s->broken)
            call_later(s);
        return;
    }
    s->paused = paused;
    if (paused) {
        uv_read_stop(s->h);
        if (s->broken)
            call_later(s);
        return;
    }
    int r = uv_read_start(s->h, on_alloc, on_read);
    if (r < 0 && r != UV_EALREADY) {
        s->eof = s->broken = true;
        kerr_set(&s->err, r, "read: %s", uv_strerror(r));
        call_later(s);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_failed(struct sock *s, int r)
{
    if (s->broken)
        return;
    s->broken = true;
    kerr_set(&s->err, r, "write: %s", uv_strerror(r));
    strbuf_fini(&s->out);
    call_later(s);
}

static void shut_now(struct sock *s)
{
    uv_os_fd_t fd;

    if (s->shut_done || s->broken)
        return;
    s->shut_done = true;
    /* uv_shutdown() would only wait for writes, and those we have waited for ourselves. */
    if (uv_fileno((uv_handle_t *)s->h, &fd) == 0)
        (void)shutdown(fd, SHUT_WR);
}

static void on_written(uv_write_t *req, int status)
{
    struct sock *s = req->data;

    s->writing = false;
    strbuf_fini(&s->flying);
    if (s->closed)
        return;
    if (status < 0) {
        write_failed(s, status);
        return;
    }
    flush_out(s);
    drained(s);
}

static void flush_rest(struct sock *s, size_t sent)
{
    uv_buf_t buf;

    s->flying = s->out;
    s->out = (struct strbuf)STRBUF_INIT;
    buf = uv_buf_init(s->flying.data + sent, (unsigned)(s->flying.len - sent));
    s->write_req.data = s;
    s->writing = true;
    int r = uv_write(&s->write_req, s->h, &buf, 1, on_written);
    if (r < 0) {
        s->writing = false;
        strbuf_fini(&s->flying);
        write_failed(s, r);
    }
}

static void flush_out(struct sock *s)
{
    if (s->writing || s->broken)
        return;
    if (s->out.len > 0) {
        uv_buf_t buf = uv_buf_init(s->out.data, (unsigned)MIN(s->out.len, (size_t)INT32_MAX));
        int r = uv_try_write(s->h, &buf, 1);

        if (r < 0 && r != UV_EAGAIN) {
            write_failed(s, r);
            return;
        }
        size_t sent = r > 0 ? (size_t)r : 0;
        if (sent < s->out.len) {
            flush_rest(s, sent);
            return;
        }
        if (s->out.cap > KEEP_BUFFER)
            strbuf_fini(&s->out);
        else
            strbuf_reset(&s->out);
        if (s->owes_drain)
            call_later(s);
    }
    if (s->shut)
        shut_now(s);
}

static void on_prepare(uv_prepare_t *p)
{
    struct sock *s = p->data;

    uv_prepare_stop(p);
    flush_out(s);
}

static void sock_write(struct stream *base, const void *p, size_t n)
{
    struct sock *s = sock_of(base);

    if (s->closed || s->broken || s->shut || n == 0)
        return;
    strbuf_appendn(&s->out, p, n);
    if (!s->writing)
        uv_prepare_start(&s->prepare, on_prepare);
    if (stream_queued(base) >= STREAM_LOW_WATER)
        s->owes_drain = true;
}

static size_t sock_queued(const struct stream *base)
{
    const struct sock *s = container_of(base, const struct sock, base);

    return s->out.len + (s->writing ? uv_stream_get_write_queue_size(s->h) : 0);
}

static void sock_shutdown(struct stream *base)
{
    struct sock *s = sock_of(base);

    if (s->closed || s->shut)
        return;
    s->shut = true;
    uv_prepare_start(&s->prepare, on_prepare);
}

/* ---- closing --------------------------------------------------------------------------------- */

/* What the kernel does not take at once is sent from here, on a descriptor of our own: the stream
 * is then gone for its holder and for the loop, which may be freed before the peer has read. */
struct sock_rest {
    struct sock_rest *prev, *next;
    struct loop *loop;
    struct fdwatch *watch;
    struct timer *timer;
    int fd;
    size_t off;
    struct strbuf data;
};

/* A loop that is freed drops its watchers and timers without a word. Then what it left here lasts
 * until the process ends, which is when loops are freed. */
static _Thread_local struct sock_rest *rests;

static void rest_free(struct sock_rest *g)
{
    if (g->prev)
        g->prev->next = g->next;
    else
        rests = g->next;
    if (g->next)
        g->next->prev = g->prev;
    fdwatch_close(g->watch);
    timer_cancel(g->timer);
    close(g->fd);
    strbuf_fini(&g->data);
    free(g);
}

static void rest_timeout(struct loop *l, void *arg)
{
    struct sock_rest *g = arg;

    (void)l;
    g->timer = NULL;
    rest_free(g);
}

static void rest_ready(struct loop *l, int fd, int events, void *arg)
{
    struct sock_rest *g = arg;
    ssize_t n;

    (void)l, (void)events;
    do
        n = send(fd, g->data.data + g->off, g->data.len - g->off, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return;
    if (n > 0)
        g->off += (size_t)n;
    if (n < 0 || g->off == g->data.len)
        rest_free(g);
}

static void rest_start(struct sock *s)
{
    size_t left = s->writing ? uv_stream_get_write_queue_size(s->h) : 0;
    uv_os_fd_t fd;

    if (uv_fileno((uv_handle_t *)s->h, &fd) < 0)
        return;
    fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return;
    struct sock_rest *g = xnew0(struct sock_rest);
    g->next = rests;
    if (rests)
        rests->prev = g;
    rests = g;
    g->loop = s->loop;
    g->fd = fd;
    if (left > 0)
        strbuf_appendn(&g->data, s->flying.data + s->flying.len - left, left);
    if (s->out.len > 0)
        strbuf_appendn(&g->data, s->out.data, s->out.len);
    g->watch = loop_watch_fd(s->loop, fd, LOOP_WRITE, rest_ready, g);
    g->timer = loop_after(s->loop, loop_outside(s->loop, LINGER_MAX), rest_timeout, g);
    if (!g->watch)
        rest_free(g);
}

static void sock_close(struct stream *base)
{
    struct sock *s = sock_of(base);

    assert(!s->closed);
    flush_out(s);
    s->closed = true;
    s->base.ev = NULL;
    s->later = timer_cancel(s->later);
    if (!s->broken && (s->writing || s->out.len > 0))
        rest_start(s);
    uv_close((uv_handle_t *)s->h, handle_closed);
    uv_close((uv_handle_t *)&s->prepare, handle_closed);
}

static const struct stream_ops sock_ops = {
    .write = sock_write,
    .queued = sock_queued,
    .pause = sock_pause,
    .shutdown = sock_shutdown,
    .close = sock_close,
};

struct stream *stream_uv_wrap(struct loop *l, uv_stream_t *h)
{
    struct sock *s = xnew0(struct sock);

    s->base.ops = &sock_ops;
    s->loop = l;
    s->h = h;
    s->paused = true;
    s->open_handles = 2;
    h->data = s;
    uv_prepare_init(loop_uv(l), &s->prepare);
    s->prepare.data = s;
    if (h->type == UV_TCP)
        (void)uv_tcp_nodelay((uv_tcp_t *)h, 1);
    return &s->base;
}
