/* compact.c - what is too old goes: by age, by count, or on demand.
 *
 * Raising the floor to a revision forgets the events up to it. Such an event has made the version
 * before it unreachable (every state still readable has the newer one), and a deletion is then
 * unreachable itself. Their documents are dropped by the next batches, with the floor, so that a
 * crash in between leaves at worst rows that the next start sweeps up.
 *
 * Age is known from marks: "all up to rev was there at this time", one per 64th of the window.
 */
#include "apiserver/store/internal.h"

static void forget_oldest(struct store *s)
{
    const struct hist_event ev = *hist_at(&s->hist, 0);

    hist_pop(&s->hist);
    s->hist.floor = ev.rev;
    if (ev.type != STORE_ADDED)
        vec_push(&s->drops, ev.prev);
    if (ev.type != STORE_DELETED)
        return;
    vec_push(&s->drops, ev.rev);
    if (ev.e->rev == ev.rev) {
        ev.e->rev = 0;
        write_unused(s, ev.e);
    }
}

/* Returns whether there is more to do. */
static bool step(struct store *s, size_t most)
{
    while (most-- && s->hist.n && hist_at(&s->hist, 0)->rev <= s->compact_goal)
        forget_oldest(s);
    if (s->hist.n && hist_at(&s->hist, 0)->rev <= s->compact_goal)
        return true;
    s->hist.floor = MAX(s->hist.floor, s->compact_goal);
    watch_wake(s); /* those left behind have to be told */
    return false;
}

static void on_compact(struct loop *l, void *arg);

void compact_continue(struct store *s)
{
    const bool more = step(s, COMPACT_STEP);

    if (s->drops.n)
        write_kick(s);
    if (more)
        turn_ask(s, TURN_COMPACT);
    else if (!s->compact_timer && (s->hist.n || s->drops.n))
        s->compact_timer = loop_after(s->loop, s->compact_ns, on_compact, s);
    /* Otherwise nothing is left to grow old: the next write starts it again. */
}

static void on_compact(struct loop *l, void *arg)
{
    struct store *s = arg;
    const nsec_t before = loop_mono(l) - s->history_ns;
    size_t n = 0;

    s->compact_timer = NULL;
    while (n < s->marks.n && s->marks.items[n].last <= before)
        n++;
    if (n) {
        s->compact_goal = MAX(s->compact_goal, s->marks.items[n - 1].rev);
        memmove(s->marks.items, s->marks.items + n, (s->marks.n - n) * sizeof *s->marks.items);
        s->marks.n -= n;
    }
    compact_continue(s);
}

void compact_committed(struct store *s)
{
    const nsec_t now = loop_mono(s->loop);
    struct mark *m = s->marks.n ? &vec_last(&s->marks) : NULL;

    if (m && now - m->first < s->history_ns / 64) {
        m->last = now;
        m->rev = s->revision;
    } else {
        const struct mark fresh = { now, now, s->revision };
        vec_push(&s->marks, fresh);
    }
    if (s->hist.n > HISTORY_MAX) {
        const size_t too_many = s->hist.n - HISTORY_MAX + HISTORY_MAX / 16;
        s->compact_goal = MAX(s->compact_goal, hist_at(&s->hist, too_many - 1)->rev);
        step(s, SIZE_MAX);
    }
    if (!s->compact_timer && (s->hist.n || s->drops.n))
        s->compact_timer = loop_after(s->loop, s->compact_ns, on_compact, s);
}

void store_compact(struct store *s, uint64_t upto)
{
    s->compact_goal = MAX(s->compact_goal, MIN(upto, s->revision));
    step(s, SIZE_MAX);
    if (s->drops.n)
        write_kick(s);
}
