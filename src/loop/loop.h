/* loop.h - one thread, one loop, one clock: all time, randomness and waiting come from here.
 *
 * A process has one loop thread, which owns all state. Nobody calls time(), rand() or sleep()
 * outside src/loop. Two kinds with the same API: the real one on libuv, and a virtual one without
 * file descriptors whose time moves only in loop_advance(), so that a week of back-off runs in
 * milliseconds and every run with a seed is the same to the byte.
 *
 * No callback is ever called from inside the function that asked for it: it comes in a later turn.
 */
#ifndef KOORD_LOOP_LOOP_H
#define KOORD_LOOP_LOOP_H
#include "base/base.h"

struct loop;
struct timer;
typedef void (*timer_fn)(struct loop *l, void *arg);
typedef void (*post_fn)(struct loop *l, void *arg);
typedef void (*work_fn)(void *arg);

struct loop *loop_new(void);                                /* libuv, real clocks */
struct loop *loop_new_virtual(nsec_t wall0, uint64_t seed); /* time moves in loop_advance() only */
/* Timers, posts and work that have not run are dropped without a call, watchers are closed; work
 * that runs already is waited for, its done() is not called. Handles opened on loop_uv() must be
 * closed before (their close callbacks still run here). Never from inside a callback. */
struct loop *loop_free(struct loop *l);
bool loop_is_virtual(const struct loop *l);

nsec_t loop_mono(const struct loop *l); /* for waiting; cached per turn on the real loop */
/* To measure what takes time within a turn: the kernel's clock, not cached. Where loop_set_pace()
 * was called it is not the one of loop_mono(). */
nsec_t loop_stopwatch(const struct loop *l);
nsec_t loop_wall(const struct loop *l); /* for timestamps people see */
/* loop_wall() in the shape that klog_set_clock() wants; arg is the loop. Safe on any thread. */
nsec_t loop_wall_hook(void *loop);
uint64_t loop_rand(struct loop *l); /* jitter, sampling: seeded */
/* Uniform in [0, n); n > 0. */
uint64_t loop_rand_below(struct loop *l, uint64_t n);
/* d stretched by a random factor in [1, 1 + factor): wait.Jitter. */
nsec_t loop_jitter(struct loop *l, nsec_t d, double factor);

/* One shot. Timers due at the same time run in the order they were made. delay < 0 counts as 0. */
struct timer *loop_after(struct loop *l, nsec_t delay, timer_fn fn, void *arg);
/* The pointer is dead once the timer fired. Inside its own callback cancelling does nothing; after
 * the callback it must not be used. NULL is fine; always returns NULL. Typical use:
 *     x->timer = timer_cancel(x->timer);   and in the callback first: x->timer = NULL; */
struct timer *timer_cancel(struct timer *t);

/* Runs fn in the next turn, in the order of the calls; the only call other threads may make (real
 * loop). */
void loop_post(struct loop *l, post_fn fn, void *arg);
/* work() on a pool thread with immutable input, then done() on the loop. On the virtual loop
 * both run inline in a later turn, LOOP_VIRTUAL_WORK_NS after the call. */
#define LOOP_VIRTUAL_WORK_NS NSEC_PER_MSEC
void loop_work(struct loop *l, work_fn work, post_fn done, void *arg);
/* Virtual loop: who gets work before the loop does; true: taken, and work() and done() are called
 * by the taker when it likes. So a test plays a disk or a driver that does not answer. */
typedef bool (*worker_fn)(void *arg, work_fn work, post_fn done, void *work_arg);
void loop_set_worker(struct loop *l, worker_fn fn, void *arg);

/* Real loop: runs until loop_stop(), or until nothing is left to wait for.
 * Virtual loop: jumps from timer to timer until loop_stop() or nothing is left.
 * loop_stop() outside of loop_run() ends the next run before it starts. */
void loop_run(struct loop *l);
void loop_stop(struct loop *l);
/* One turn without waiting: handles what is ready now. Both kinds. What its callbacks ask for
 * waits for the next turn; loop_advance(l, 0) settles all that is due at this moment. */
void loop_turn(struct loop *l);

void loop_advance(struct loop *l, nsec_t by); /* virtual only: a callback sees its own due time */
/* Virtual only: each look at loop_stopwatch() takes so long, by the stopwatch alone. So work that
 * looks at it takes time, and the same on every machine. */
void loop_set_stopwatch(struct loop *l, nsec_t each);
/* A clock jump; mono does not move. On a real loop before it runs, and the wall clock then follows
 * mono: it does not hear of the system's clock any more. */
void loop_set_wall(struct loop *l, nsec_t wall);
/* Real loop, before it runs: a second of the kernel is `pace` seconds of mono and wall. Timers keep
 * their order and none is skipped: while the loop is behind, its clocks wait for it. What is
 * measured with loop_stopwatch(), and what other processes do, takes the time that it takes. */
void loop_set_pace(struct loop *l, unsigned pace);
/* d of the kernel's time as time of this loop: how long to wait for somebody outside of it. */
nsec_t loop_outside(const struct loop *l, nsec_t d);

/* A signal handled on the loop (real loop only). One handler per signal number. NULL fn removes.
 * Does not keep loop_run() going. */
typedef void (*signal_fn)(struct loop *l, int signum, void *arg);
int loop_on_signal(struct loop *l, int signum, signal_fn fn, void *arg, struct kerr *err);

/* Readability or writability of a foreign descriptor (inotify, a pidfd, a pipe); real loop only.
 * The watcher does not own the descriptor; close the watcher before the descriptor. It may be
 * closed in its callback. Level-triggered; the descriptor becomes non-blocking; one watcher per
 * descriptor. NULL with errno set when it cannot be polled (a plain file: EPERM) or the loop is
 * virtual. An error on the descriptor shows as all the events asked for. */
enum { LOOP_READ = 1, LOOP_WRITE = 2 };
struct fdwatch;
typedef void (*fd_fn)(struct loop *l, int fd, int events, void *arg);
struct fdwatch *loop_watch_fd(struct loop *l, int fd, int events, fd_fn fn, void *arg);
void fdwatch_set(struct fdwatch *w, int events);  /* 0: none for now */
struct fdwatch *fdwatch_close(struct fdwatch *w); /* NULL is fine; always returns NULL */

/* For the last steps of a main: if the process has not ended by then, last_words() runs on a thread
 * of its own, for a second at most, and the process ends with the code, whatever the others wait
 * for (a driver's call, the pool's threads behind loop_free() or exit()). It cannot be called off.
 * -errno: no thread. */
int process_end_within(nsec_t after, void (*last_words)(void *arg), void *arg, int exit_code);

/* The libuv loop underneath, for the net room's sockets; NULL on a virtual loop. */
struct uv_loop_s *loop_uv(struct loop *l);

DEFINE_CLEANUP(loop_free, struct loop *)
#endif
