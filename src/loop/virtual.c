/* virtual.c - the loop without descriptors: time stands still while callbacks run, then jumps. */
#include "loop/internal.h"

#include <stdio.h>

struct vwork {
    work_fn work;
    post_fn done;
    void *arg;
};

struct loop *loop_new_virtual(nsec_t wall0, uint64_t seed)
{
    struct loop *l = xnew0(struct loop);

    loop_init(l);
    l->wall_offset = wall0;
    rand_seed(l->rng, seed);
    return l;
}

static void vwork_fire(struct loop *l, void *arg)
{
    struct vwork w = *(struct vwork *)arg;

    free(arg);
    w.work(w.arg);
    w.done(l, w.arg);
}

void loop_set_worker(struct loop *l, worker_fn fn, void *arg)
{
    assert(!l->real);
    l->worker = fn;
    l->worker_arg = arg;
}

void loop_set_stopwatch(struct loop *l, nsec_t each)
{
    assert(!l->real);
    if (!l->looks)
        l->looks = xnew0(struct looks);
    l->looks->each = each;
}

void virtual_work(struct loop *l, work_fn work, post_fn done, void *arg)
{
    if (l->worker && l->worker(l->worker_arg, work, done, arg))
        return;
    struct vwork *w = xnew0(struct vwork);
    *w = (struct vwork){ work, done, arg };
    loop_after(l, LOOP_VIRTUAL_WORK_NS, vwork_fire, w)->owns_arg = true;
}

bool virtual_turn(struct loop *l)
{
    struct posts now = l->posts; /* what is posted from here on waits for the next turn */

    l->in_turn = true;
    l->posts = l->spare;
    l->spare = (struct posts){ 0 };
    bool any = now.n > 0;
    posts_run(l, &now);
    if (timers_fire(l, l->mono))
        any = true;
    l->in_turn = false;
    return any;
}

/* Turns until nothing is ready at this moment of virtual time. Callbacks that ask for each other
 * without any delay would hang a simulation for ever: no honest program needs that many turns. */
static void settle(struct loop *l, bool until_stop)
{
    for (uint64_t turns = 0; !(until_stop && l->stop) && virtual_turn(l); turns++)
        if (turns == 10 * 1000 * 1000) {
            fprintf(stderr, "fatal: virtual loop: callbacks keep each other busy at one moment\n");
            abort();
        }
}

void virtual_run(struct loop *l)
{
    while (!l->stop) {
        settle(l, true);
        const struct timer *t = timers_first(l);
        if (l->stop || !t)
            return;
        l->mono = MAX(l->mono, t->due);
    }
}

void loop_advance(struct loop *l, nsec_t by)
{
    assert(!l->real && !l->in_turn && by >= 0);
    const nsec_t until = nsec_add_sat(l->mono, by);
    for (;;) {
        settle(l, false);
        const struct timer *t = timers_first(l);
        if (!t || t->due > until)
            break;
        l->mono = t->due; /* a callback sees its own due time, not the end of the jump */
    }
    l->mono = until; /* wall time moves along by the same amount */
}
