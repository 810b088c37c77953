/* turn.c - "in the next turn": the store's own deferred work, which closing can call back.
 *
 * loop_post() cannot be cancelled, and with libuv 1.44 a timer without delay that is made by a
 * timer fires in the same turn, so a long row of pieces would starve the sockets. On a real loop
 * this is a descriptor that is always readable and watched only while there is something to do.
 */
#include "apiserver/store/internal.h"

#include <sys/eventfd.h>
#include <unistd.h>

static void run(struct store *s)
{
    const unsigned want = s->turn.want;

    s->turn.want = 0;
    if (want & TURN_BATCH)
        write_start(s);
    if (want & TURN_COMPACT)
        compact_continue(s);
    if (want & TURN_PUMP)
        watch_pump(s);
}

static void on_timer(struct loop *l, void *arg)
{
    struct store *s = arg;

    (void)l;
    s->turn.timer = NULL;
    run(s);
}

static void on_readable(struct loop *l, int fd, int events, void *arg)
{
    struct store *s = arg;

    (void)l, (void)fd, (void)events;
    fdwatch_set(s->turn.watch, 0);
    run(s);
}

int turn_init(struct store *s, struct kerr *err)
{
    s->turn.fd = -1;
    if (loop_is_virtual(s->loop))
        return 0;
    s->turn.fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->turn.fd >= 0)
        s->turn.watch = loop_watch_fd(s->loop, s->turn.fd, LOOP_READ, on_readable, s);
    if (!s->turn.watch)
        return kerr_set(err, -errno, "eventfd: %s", strerror(errno));
    fdwatch_set(s->turn.watch, 0);
    return 0;
}

void turn_fini(struct store *s)
{
    s->turn.timer = timer_cancel(s->turn.timer);
    s->turn.watch = fdwatch_close(s->turn.watch);
    if (s->turn.fd >= 0)
        close(s->turn.fd);
    s->turn.fd = -1;
}

void turn_ask(struct store *s, unsigned what)
{
    if (s->turn.want == 0 && s->turn.watch)
        fdwatch_set(s->turn.watch, LOOP_READ);
    else if (s->turn.want == 0)
        s->turn.timer = loop_after(s->loop, 0, on_timer, s);
    s->turn.want |= what;
}
