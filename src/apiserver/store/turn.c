/* turn.c - "in the next turn": the store's own deferred work, which closing can call back.
 *
 * A timer without delay: unlike a post it can be cancelled, it costs no system call, and it fires
 * after a poll, so that a long row of pieces does not starve the sockets. What comes with that poll
 * is in time for the batch that the timer makes.
 */
#include "apiserver/store/internal.h"

static void on_timer(struct loop *l, void *arg)
{
    struct store *s = arg;
    const unsigned want = s->turn.want;

    (void)l;
    s->turn = (struct turn){ 0 };
    if (want & TURN_BATCH)
        write_start(s);
    if (want & TURN_COMPACT)
        compact_continue(s);
    if (want & TURN_PUMP)
        watch_pump(s);
}

void turn_fini(struct store *s)
{
    s->turn.timer = timer_cancel(s->turn.timer);
}

void turn_ask(struct store *s, unsigned what)
{
    if (!s->turn.timer)
        s->turn.timer = loop_after(s->loop, 0, on_timer, s);
    s->turn.want |= what;
}
