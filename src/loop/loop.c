/* loop.c - what both kinds of loop share: the public calls, the timer heap, the queue of posts. */
#include "loop/internal.h"

/* ---- timers ---------------------------------------------------------------------------------- */

static bool timer_earlier(const struct heap_node *a, const struct heap_node *b)
{
    const struct timer *x = container_of(a, struct timer, hn);
    const struct timer *y = container_of(b, struct timer, hn);
    return x->due != y->due ? x->due < y->due : x->seq < y->seq;
}

/* Timers that fire again and again take no memory each time. */
static struct timer *timer_take(struct loop *l)
{
    if (l->nspare_timers == 0)
        return xnew0(struct timer);
    struct timer *t = l->spare_timers[--l->nspare_timers];
    *t = (struct timer){ 0 };
    return t;
}

static void timer_give(struct loop *l, struct timer *t)
{
    if (l->nspare_timers < l->max_spare_timers)
        l->spare_timers[l->nspare_timers++] = t;
    else
        free(t);
}

struct timer *loop_after(struct loop *l, nsec_t delay, timer_fn fn, void *arg)
{
    struct timer *t = timer_take(l);

    assert(fn);
    t->loop = l;
    t->due = nsec_add_sat(loop_mono(l), MAX(delay, (nsec_t)0));
    t->seq = l->next_seq++;
    t->fn = fn;
    t->arg = arg;
    heap_push(&l->timers, &t->hn);
    if (l->real)
        real_timers_changed(l);
    return t;
}

struct timer *timer_cancel(struct timer *t)
{
    if (!t)
        return NULL;
    struct loop *l = t->loop;
    if (t == l->firing)
        return NULL; /* from inside its own callback: timers_fire() frees it afterwards */
    assert(heap_has(&t->hn));
    heap_remove(&l->timers, &t->hn);
    timer_give(l, t);
    if (l->real)
        real_timers_changed(l);
    return NULL;
}

bool timers_fire(struct loop *l, nsec_t now)
{
    const uint64_t made_before = l->next_seq;
    bool any = false;

    l->firing_batch = true;
    /* A timer made meanwhile is due at 'now' or later and has a higher number, so in heap order it
     * stands behind every timer this turn owes: stopping at the first young one is enough. */
    for (struct timer *t; (t = timers_first(l)) && t->due <= now && t->seq < made_before;) {
        heap_pop(&l->timers);
        l->firing = t;
        t->fn(l, t->arg);
        l->firing = NULL;
        timer_give(l, t);
        any = true;
    }
    l->firing_batch = false;
    return any;
}

static void timers_drop(struct loop *l)
{
    for (struct heap_node *n; (n = heap_pop(&l->timers));) {
        struct timer *t = container_of(n, struct timer, hn);
        if (t->owns_arg)
            free(t->arg);
        free(t);
    }
    while (l->nspare_timers)
        free(l->spare_timers[--l->nspare_timers]);
    heap_fini(&l->timers);
}

/* ---- posts and work -------------------------------------------------------------------------- */

void posts_run(struct loop *l, struct posts *taken)
{
    vec_foreach(taken, i)
        taken->items[i].fn(l, taken->items[i].arg);
    /* A burst must not pin its memory for the rest of the process's life. */
    if (taken->cap > 4096) {
        vec_fini(taken);
        return;
    }
    vec_clear(taken);
    vec_fini(&l->spare);
    l->spare = *taken;
}

void loop_post(struct loop *l, post_fn fn, void *arg)
{
    struct post p = { fn, arg };

    assert(fn);
    if (l->real)
        real_post(l, p);
    else
        vec_push(&l->posts, p);
}

void loop_work(struct loop *l, work_fn work, post_fn done, void *arg)
{
    assert(work && done);
    if (l->real)
        real_work(l, work, done, arg);
    else
        virtual_work(l, work, done, arg);
}

/* ---- life, clocks, turns --------------------------------------------------------------------- */

void loop_init(struct loop *l)
{
    heap_init(&l->timers, timer_earlier);
#ifndef __SANITIZE_ADDRESS__ /* it finds the use of a timer that is gone only when it is freed */
    l->max_spare_timers = ARRAY_LEN(l->spare_timers);
#endif
}

struct loop *loop_free(struct loop *l)
{
    if (!l)
        return NULL;
    assert(!l->in_turn); /* a callback cannot free the loop that calls it */
    if (l->real)
        real_fini(l);
    timers_drop(l);
    vec_fini(&l->posts);
    vec_fini(&l->spare);
    free(l->looks);
    free(l);
    return NULL;
}

bool loop_is_virtual(const struct loop *l)
{
    return !l->real;
}

nsec_t loop_mono(const struct loop *l)
{
    return l->real ? real_mono(l) : l->mono;
}

nsec_t loop_stopwatch(const struct loop *l)
{
    if (l->real)
        return real_stopwatch();
    if (l->looks)
        l->looks->sum = nsec_add_sat(l->looks->sum, l->looks->each);
    return l->looks ? nsec_add_sat(l->mono, l->looks->sum) : l->mono;
}

nsec_t loop_wall(const struct loop *l)
{
    if (l->pace.on)
        return nsec_add_sat(pace_last(&l->pace), l->wall_offset);
    return l->real ? real_wall() : nsec_add_sat(l->mono, l->wall_offset);
}

void loop_set_wall(struct loop *l, nsec_t wall)
{
    if (l->real)
        real_pace(l, l->pace.on ? l->pace.by : 1);
    l->wall_offset = nsec_add_sat(wall, -loop_mono(l));
}

void loop_set_pace(struct loop *l, unsigned pace)
{
    assert(l->real && pace > 0 && !l->in_turn);
    nsec_t wall = loop_wall(l);
    real_pace(l, pace);
    l->wall_offset = nsec_add_sat(wall, -loop_mono(l));
}

nsec_t loop_outside(const struct loop *l, nsec_t d)
{
    nsec_t longer;

    if (!l->pace.on || l->pace.by == 1)
        return d;
    return __builtin_mul_overflow(d, (nsec_t)l->pace.by, &longer) ? NSEC_MAX : longer;
}

nsec_t loop_wall_hook(void *loop)
{
    return loop_wall(loop);
}

uint64_t loop_rand(struct loop *l)
{
    return rand_next(l->rng);
}

void loop_run(struct loop *l)
{
    assert(!l->in_turn);
    if (l->real)
        real_run(l);
    else
        virtual_run(l);
    l->stop = false;
}

void loop_turn(struct loop *l)
{
    assert(!l->in_turn);
    if (l->real)
        real_turn(l);
    else
        virtual_turn(l);
}

void loop_stop(struct loop *l)
{
    l->stop = true;
    if (l->real)
        real_stop(l);
}
