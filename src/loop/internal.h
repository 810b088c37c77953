/* internal.h - what the files of this room share: the body of struct loop, timers and posts.
 *
 * loop.c holds what both kinds have in common (timers, the queue of posts, the public calls),
 * real.c the libuv half, virtual.c the half without descriptors. Nobody outside includes this.
 */
#ifndef KOORD_LOOP_INTERNAL_H
#define KOORD_LOOP_INTERNAL_H
#include <stdatomic.h>

#include "base/heap.h"
#include "base/vec.h"
#include "loop/loop.h"

struct real; /* real.c */

/* A real loop's clock, once it is not the kernel's: mono of the last reading, and when that was. */
struct pace {
    bool on;
    unsigned by;
    nsec_t kernel_from;
    _Atomic nsec_t mono; /* other threads read it, for the log */
};
void pace_begin(struct pace *p, unsigned by, nsec_t kernel);
nsec_t pace_last(const struct pace *p);
/* The clock moves on; first_due: of the timers, NSEC_MAX without one. */
nsec_t pace_read(struct pace *p, nsec_t kernel, nsec_t first_due);
/* The kernel's time until then; 0: it is due. */
nsec_t pace_wait(const struct pace *p, nsec_t due, nsec_t kernel);

struct timer {
    struct heap_node hn;
    struct loop *loop;
    nsec_t due;
    uint64_t seq; /* ties run in the order they were made */
    timer_fn fn;
    void *arg;
    bool owns_arg; /* arg is ours (virtual work): freed when the timer is dropped unfired */
};

struct post {
    post_fn fn;
    void *arg;
};
struct posts vec_of(struct post);

struct loop {
    worker_fn worker; /* virtual: gets work first; NULL: nobody does */
    void *worker_arg;
    struct real *real; /* NULL on a virtual loop */
    bool in_turn;      /* callbacks are running: no nested turns, no loop_free */
    bool stop;
    uint64_t rng[4];

    struct heap timers;
    uint64_t next_seq;
    struct timer *spare_timers[16];
    unsigned nspare_timers, max_spare_timers;
    struct timer *firing; /* popped, its callback runs: timer_cancel() leaves it alone */
    bool firing_batch;    /* real loop: the helper timer is armed once, after the batch */

    struct posts posts; /* real loop: under the lock of struct real */
    struct posts spare; /* emptied vector of the last turn: no allocation in the steady state */

    nsec_t mono, wall_offset; /* virtual loop: its clocks; the latter also of a paced one */
    struct pace pace;         /* real loop */
    struct looks {
        nsec_t each, sum;
    } * looks; /* virtual loop: what looks at the stopwatch have taken; NULL: nothing */
};

static inline nsec_t nsec_add_sat(nsec_t a, nsec_t b)
{
    nsec_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? NSEC_MAX : INT64_MIN;
    return sum;
}

static inline struct timer *timers_first(const struct loop *l)
{
    struct heap_node *n = heap_first(&l->timers);
    return n ? container_of(n, struct timer, hn) : NULL;
}
/* Fires what is due at 'now' and was made before the call: a timer made by a callback waits for a
 * later turn, even with no delay. Returns whether one fired. */
bool timers_fire(struct loop *l, nsec_t now);
/* Runs a vector taken out of the queue and keeps its memory for later. */
void posts_run(struct loop *l, struct posts *taken);
void loop_init(struct loop *l); /* the shared part, of a zeroed struct */

/* rand.c */
void rand_seed(uint64_t rng[static 4], uint64_t seed);
void rand_seed_system(uint64_t rng[static 4]);
uint64_t rand_next(uint64_t rng[static 4]);

/* real.c */
void real_fini(struct loop *l);
nsec_t real_mono(const struct loop *l);
nsec_t real_stopwatch(void);
nsec_t real_wall(void);
void real_pace(struct loop *l, unsigned by);
void real_timers_changed(struct loop *l);
void real_post(struct loop *l, struct post p);
void real_work(struct loop *l, work_fn work, post_fn done, void *arg);
void real_run(struct loop *l);
void real_turn(struct loop *l);
void real_stop(struct loop *l);

/* virtual.c */
void virtual_work(struct loop *l, work_fn work, post_fn done, void *arg);
void virtual_run(struct loop *l);
bool virtual_turn(struct loop *l); /* whether anything ran */

#endif
