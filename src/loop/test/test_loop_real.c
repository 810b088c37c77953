/* test_loop_real.c - the real loop: clocks, threads, the pool, signals, descriptors, its end. */
#include "base/test/asserts.h"
#include "loop/loop.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h> /* cmocka.h wants these first */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void count(struct loop *l, void *arg)
{
    (void)l;
    ++*(int *)arg;
}

static void stop(struct loop *l, void *arg)
{
    (void)arg;
    loop_stop(l);
}

static int open_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void test_clocks_move(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();

    (void)state;
    assert_false(loop_is_virtual(l));
    assert_non_null(loop_uv(l));
    nsec_t a = loop_mono(l), b;
    do
        b = loop_mono(l); /* not cached outside a turn: this ends */
    while (b == a);
    assert_that(b, >, a);
    assert_that(loop_wall(l), >, INT64_C(1700000000) * NSEC_PER_SEC);
}

/* ---- a faster clock -------------------------------------------------------------------------- */

struct paced {
    nsec_t fired, wall, outside;
    int order[2], n;
};

static void paced_fire(struct loop *l, void *arg)
{
    struct paced *p = arg;
    p->fired = loop_mono(l);
    p->wall = loop_wall(l);
    p->order[p->n++] = 1;
}

static void paced_outside(struct loop *l, void *arg)
{
    struct paced *p = arg;
    p->outside = loop_stopwatch(l);
    p->order[p->n++] = 2;
}

/* An hour passes in a tenth of a second; what is for those outside takes their time. */
static void test_a_paced_loop_runs_faster_than_the_kernel(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    struct paced p = { 0 };

    (void)state;
    nsec_t wall = loop_wall(l);
    loop_set_pace(l, 36000);
    nsec_t mono = loop_mono(l), began = loop_stopwatch(l);
    assert_that(loop_wall(l) - wall, >=, 0);
    assert_int_equal(loop_outside(l, NSEC_PER_SEC), 36000 * NSEC_PER_SEC);
    loop_after(l, loop_outside(l, 150 * NSEC_PER_MSEC), paced_outside, &p);
    loop_after(l, 3600 * NSEC_PER_SEC, paced_fire, &p);
    loop_run(l);
    nsec_t took = loop_stopwatch(l) - began;
    assert_int_equal(p.n, 2);
    assert_int_equal(p.order[0], 1);
    assert_that(p.fired - mono, >=, 3600 * NSEC_PER_SEC);
    assert_that(p.wall - wall, >=, 3600 * NSEC_PER_SEC);
    assert_that(p.outside - began, >=, 150 * NSEC_PER_MSEC);
    assert_that(loop_mono(l) - mono, <=, (took + NSEC_PER_SEC) * 36000);
}

static void busy(struct loop *l, void *arg)
{
    nsec_t until = loop_stopwatch(l) + 20 * NSEC_PER_MSEC;

    while (loop_stopwatch(l) < until)
        ;
    *(nsec_t *)arg = loop_mono(l);
}

static void note_time(struct loop *l, void *arg)
{
    *(nsec_t *)arg = loop_mono(l);
}

/* 20 ms of work are 200 s of this clock; a lease that is renewed after 10 s must not run out. */
static void test_a_paced_clock_waits_for_a_slow_loop(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    nsec_t first = 0, then = 0;

    (void)state;
    loop_set_pace(l, 10000);
    loop_after(l, NSEC_PER_SEC, busy, &first);
    loop_after(l, 11 * NSEC_PER_SEC, note_time, &then);
    loop_run(l);
    assert_that(then - first, >=, 9 * NSEC_PER_SEC);
    assert_that(then - first, <=, 12 * NSEC_PER_SEC);
}

static void test_the_wall_clock_can_be_set(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    const nsec_t date = INT64_C(1900000000) * NSEC_PER_SEC;
    nsec_t mono = loop_mono(l), later = 0;

    (void)state;
    loop_set_wall(l, date);
    assert_that(loop_wall(l), >=, date);
    assert_that(loop_mono(l), >=, mono);
    loop_set_pace(l, 1000);
    loop_after(l, 10 * NSEC_PER_SEC, note_time, &later);
    loop_run(l);
    assert_that(loop_wall(l), >=, date + 10 * NSEC_PER_SEC);
    assert_int_equal(loop_wall(l), loop_wall_hook(l));
}

struct firing {
    char order[8];
    nsec_t at[8];
    int n;
};
struct fire {
    struct firing *f;
    char name;
};

static void fire(struct loop *l, void *arg)
{
    struct fire *x = arg;
    x->f->order[x->f->n] = x->name;
    x->f->at[x->f->n++] = loop_mono(l);
}

static void test_timers_fire_in_order_and_never_early(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    struct firing f = { 0 };
    struct fire a = { &f, 'a' }, b = { &f, 'b' }, c = { &f, 'c' }, d = { &f, 'd' };
    nsec_t start = loop_mono(l);

    (void)state;
    loop_after(l, 30 * NSEC_PER_MSEC, fire, &a);
    loop_after(l, 10 * NSEC_PER_MSEC, fire, &b);
    loop_after(l, 0, fire, &c);
    loop_after(l, 10 * NSEC_PER_MSEC + NSEC_PER_USEC, fire, &d);
    loop_run(l); /* ends by itself after the last */
    assert_string_equal(f.order, "cbda");
    assert_that(f.at[1], >=, start + 10 * NSEC_PER_MSEC);
    assert_that(f.at[3], >=, start + 30 * NSEC_PER_MSEC);
    assert_that(f.at[3], <, start + 60 * NSEC_PER_SEC);
}

static void test_run_ends_at_once_with_nothing_to_do(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    int fired = 0;

    (void)state;
    loop_run(l);
    loop_turn(l);
    timer_cancel(loop_after(l, 3600 * NSEC_PER_SEC, count, &fired));
    loop_run(l); /* a cancelled timer is nothing to wait for */
    loop_stop(l);
    loop_post(l, count, &fired);
    loop_run(l);
    assert_int_equal(fired, 0); /* stopped before it started */
    loop_run(l);
    assert_int_equal(fired, 1);
}

struct pair {
    struct timer *self, *other;
    int calls;
};

static void cancel_both(struct loop *l, void *arg)
{
    struct pair *p = arg;
    (void)l;
    p->calls++;
    p->self = timer_cancel(p->self);
    p->other = timer_cancel(p->other);
}

static void test_callback_may_cancel_itself_and_others(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    struct pair p = { 0 };
    int fired = 0;

    (void)state;
    p.self = loop_after(l, NSEC_PER_MSEC, cancel_both, &p);
    p.other = loop_after(l, 3600 * NSEC_PER_SEC, count, &fired);
    loop_run(l);
    assert_int_equal(p.calls, 1);
    assert_int_equal(fired, 0);
}

static void repost(struct loop *l, void *arg)
{
    int *left = arg;
    if (--*left > 0)
        loop_post(l, repost, left);
}

static void test_posts_of_the_loop_thread_are_pending(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    int left = 1000;

    (void)state;
    loop_post(l, repost, &left);
    assert_int_equal(left, 1000);
    loop_run(l);
    assert_int_equal(left, 0);
    left = 2;
    loop_post(l, repost, &left);
    loop_turn(l);
    assert_int_equal(left, 1);
    loop_turn(l);
    assert_int_equal(left, 0);
}

enum { POSTERS = 4, POSTS_EACH = 5000 };
struct poster {
    struct loop *l;
    int *got;
    struct timer *end; /* what the loop waits for */
};

static void got_one(struct loop *l, void *arg)
{
    struct poster *p = arg;

    (void)l;
    if (++*p->got == POSTERS * POSTS_EACH)
        p->end = timer_cancel(p->end);
}

static void too_late(struct loop *l, void *arg)
{
    (void)l;
    ((struct poster *)arg)->end = NULL;
}

static void *poster_main(void *arg)
{
    struct poster *p = arg;
    for (int i = 0; i < POSTS_EACH; i++)
        loop_post(p->l, got_one, p);
    return NULL;
}

static void test_posts_from_threads_all_arrive(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    int got = 0;
    struct poster p = { l, &got, NULL };
    pthread_t threads[POSTERS];

    (void)state;
    p.end = loop_after(l, 60 * NSEC_PER_SEC, too_late, &p);
    for (int i = 0; i < POSTERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, poster_main, &p), 0);
    loop_run(l);
    for (int i = 0; i < POSTERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(got, POSTERS * POSTS_EACH);
}

static void *post_once(void *arg)
{
    struct poster *p = arg;
    loop_post(p->l, count, p->got);
    return NULL;
}

static void test_a_thread_s_post_counts_even_before_the_run(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    int got = 0;
    struct poster p = { l, &got };
    pthread_t thread;

    (void)state;
    for (int round = 1; round <= 2; round++) {
        assert_int_equal(pthread_create(&thread, NULL, post_once, &p), 0);
        pthread_join(thread, NULL);
        if (round == 1)
            loop_run(l);
        else
            loop_turn(l);
        assert_int_equal(got, round);
    }
}

struct job {
    struct loop *l;
    pthread_t worker;
    int worked, done;
};

static void job_work(void *arg)
{
    struct job *j = arg;
    j->worker = pthread_self();
    j->worked++;
}

static void job_done(struct loop *l, void *arg)
{
    struct job *j = arg;
    assert_ptr_equal(l, j->l);
    assert_int_equal(j->worked, 1);
    j->done++;
}

static void test_work_runs_on_another_thread_and_comes_back(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    struct job jobs[20] = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        jobs[i].l = l;
        loop_work(l, job_work, job_done, &jobs[i]);
    }
    loop_run(l);
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        assert_int_equal(jobs[i].done, 1);
        assert_false(pthread_equal(jobs[i].worker, pthread_self()));
    }
}

static void slow_work(void *arg)
{
    __atomic_add_fetch((int *)arg, 1, __ATOMIC_SEQ_CST);
    usleep(20 * 1000);
    __atomic_add_fetch((int *)arg, 1, __ATOMIC_SEQ_CST);
}

static void must_not_run(struct loop *l, void *arg)
{
    (void)l, (void)arg;
    fail_msg("%s", "called by loop_free");
}

static void test_freeing_waits_for_running_work_and_drops_the_rest(void **state)
{
    struct loop *l = loop_new();
    int steps = 0;

    (void)state;
    for (int i = 0; i < 12; i++) /* more than the pool has threads */
        loop_work(l, slow_work, must_not_run, &steps);
    loop_after(l, 0, must_not_run, NULL);
    loop_post(l, must_not_run, NULL);
    loop_free(l);
    assert_int_equal(steps % 2, 0); /* whatever began also ended */
}

static void on_signal(struct loop *l, int signum, void *arg)
{
    *(int *)arg += signum;
    loop_stop(l);
}

static void test_signals_come_through_the_loop(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    struct kerr err = { 0 };
    int first = 0, second = 0;

    (void)state;
    assert_int_equal(loop_on_signal(l, SIGUSR1, on_signal, &first, &err), 0);
    loop_run(l); /* a handler alone does not keep it going */
    struct timer *guard = loop_after(l, 60 * NSEC_PER_SEC, stop, NULL);
    kill(getpid(), SIGUSR1);
    assert_int_equal(first, 0);
    loop_run(l);
    assert_int_equal(first, SIGUSR1);

    assert_int_equal(loop_on_signal(l, SIGUSR1, on_signal, &second, &err), 0);
    kill(getpid(), SIGUSR1);
    loop_run(l);
    assert_int_equal(first, SIGUSR1);
    assert_int_equal(second, SIGUSR1);
    timer_cancel(guard);
    assert_int_equal(loop_on_signal(l, SIGUSR1, NULL, NULL, &err), 0);
    assert_int_equal(loop_on_signal(l, SIGUSR1, NULL, NULL, &err), 0);
    assert_int_equal(loop_on_signal(l, SIGKILL, on_signal, NULL, &err), -EINVAL);
    assert_contains(err.text, "signal 9");
}

struct reader {
    struct fdwatch *watch;
    char text[64];
    size_t n;
};

static void on_readable(struct loop *l, int fd, int events, void *arg)
{
    struct reader *r = arg;
    ssize_t n = read(fd, r->text + r->n, sizeof r->text - 1 - r->n);

    (void)l;
    assert_true(events & LOOP_READ);
    assert_that(n, >=, 0);
    r->n += (size_t)n;
    if (n == 0)
        r->watch = fdwatch_close(r->watch);
}

static void write_end(struct loop *l, void *arg)
{
    int *fd = arg;
    (void)l;
    assert_int_equal(write(*fd, " world", 6), 6);
    close(*fd);
}

static void test_watched_pipe_is_read_to_its_end(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    struct reader r = { 0 };
    int p[2];

    (void)state;
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    r.watch = loop_watch_fd(l, p[0], LOOP_READ, on_readable, &r);
    assert_non_null(r.watch);
    assert_null(loop_watch_fd(l, p[0], LOOP_READ, on_readable, &r)); /* one per descriptor */
    assert_int_equal(errno, EEXIST);
    assert_int_equal(write(p[1], "hello", 5), 5);
    loop_after(l, 5 * NSEC_PER_MSEC, write_end, &p[1]);
    loop_run(l); /* ends because the callback closed the watcher */
    assert_string_equal(r.text, "hello world");
    assert_null(r.watch);
    assert_null(fdwatch_close(NULL));
    close(p[0]);
}

static void count_events(struct loop *l, int fd, int events, void *arg)
{
    (void)l, (void)fd;
    *(int *)arg |= events;
}

static void test_watcher_changes_what_it_waits_for(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    int p[2], seen = 0;

    (void)state;
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    struct fdwatch *w = loop_watch_fd(l, p[1], LOOP_WRITE, count_events, &seen);
    fdwatch_set(w, 0);
    loop_turn(l);
    assert_int_equal(seen, 0);
    fdwatch_set(w, LOOP_WRITE);
    loop_turn(l);
    assert_int_equal(seen, LOOP_WRITE);
    fdwatch_close(w);
    close(p[0]);
    close(p[1]);
}

struct chain {
    int pipe[2];
    int sent, seen; /* bytes */
    int left;
    struct timer *other; /* its firing must not fire the chain before I/O either */
};

static void chain_read(struct loop *l, int fd, int events, void *arg)
{
    struct chain *c = arg;
    char byte;

    (void)l, (void)events;
    assert_int_equal(read(fd, &byte, 1), 1);
    c->seen++;
}

/* What was written at the last firing has been read by the time of this one. */
static void chain_step(struct loop *l, void *arg)
{
    struct chain *c = arg;

    assert_int_equal(c->seen, c->sent);
    assert_int_equal(write(c->pipe[1], "x", 1), 1);
    c->sent++;
    if (--c->left > 0)
        loop_after(l, c->left % 3 ? 0 : -NSEC_PER_SEC, chain_step, c);
    else
        c->other = timer_cancel(c->other);
}

static void chain_other(struct loop *l, void *arg)
{
    struct chain *c = arg;
    c->other = loop_after(l, NSEC_PER_MSEC, chain_other, c);
}

static void test_timers_without_delay_leave_room_for_descriptors(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    const nsec_t first_delays[] = { 0, NSEC_PER_MSEC };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(first_delays); i++) {
        struct chain c = { .left = 3000 };
        assert_int_equal(pipe2(c.pipe, O_CLOEXEC), 0);
        struct fdwatch *w = loop_watch_fd(l, c.pipe[0], LOOP_READ, chain_read, &c);
        c.other = loop_after(l, 0, chain_other, &c);
        loop_after(l, first_delays[i], chain_step, &c);
        while (c.left > 0 || c.seen < c.sent)
            loop_turn(l);
        assert_int_equal(c.sent, 3000);
        fdwatch_close(w);
        close(c.pipe[0]);
        close(c.pipe[1]);
    }
}

struct spin {
    struct fdwatch *watch;
    struct timer *timer;
    bool got;
};

static void spin_again(struct loop *l, void *arg)
{
    struct spin *s = arg;
    s->timer = loop_after(l, 0, spin_again, s);
}

static void spin_end(struct loop *l, int fd, int events, void *arg)
{
    struct spin *s = arg;

    (void)l, (void)fd, (void)events;
    s->got = true;
    s->timer = timer_cancel(s->timer);
    s->watch = fdwatch_close(s->watch);
}

static void write_late(struct loop *l, void *arg)
{
    (void)l;
    assert_int_equal(write(*(int *)arg, "x", 1), 1);
}

static void test_a_timer_that_asks_for_itself_does_not_hang_the_loop(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    struct spin s = { 0 };
    int p[2];

    (void)state;
    alarm(60); /* it would spin for ever */
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    s.watch = loop_watch_fd(l, p[0], LOOP_READ, spin_end, &s);
    s.timer = loop_after(l, 0, spin_again, &s);
    loop_after(l, 5 * NSEC_PER_MSEC, write_late, &p[1]);
    loop_run(l); /* ends since the timer is cancelled: nothing of it keeps the loop alive */
    alarm(0);
    assert_true(s.got);
    close(p[0]);
    close(p[1]);
}

static void test_plain_file_cannot_be_watched(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), seen = 0;

    (void)state;
    assert_null(loop_watch_fd(l, fd, LOOP_READ, count_events, &seen));
    assert_int_equal(errno, EPERM);
    close(fd);
}

static void test_nothing_leaks_descriptors(void **state)
{
    int before = 0;

    (void)state;
    for (int round = 0; round < 3; round++) {
        struct loop *l = loop_new();
        struct kerr err = { 0 };
        int p[2], n = 0;
        assert_int_equal(pipe2(p, O_CLOEXEC), 0);
        loop_watch_fd(l, p[0], LOOP_READ, count_events, &n); /* left to loop_free */
        assert_int_equal(loop_on_signal(l, SIGUSR2, on_signal, &n, &err), 0);
        loop_work(l, slow_work, count, &n);
        loop_after(l, NSEC_PER_MSEC, stop, NULL);
        loop_run(l);
        loop_free(l);
        close(p[0]);
        close(p[1]);
        if (round == 0)
            before = open_fds(); /* libuv keeps a pipe of its own from the first loop on */
    }
    assert_int_equal(open_fds(), before);
}

static void say_so(void *arg)
{
    assert(write(*(int *)arg, "late", 4) == 4);
}

/* A log that nobody reads. */
static void say_to_nobody(void *arg)
{
    char much[4096] = { 0 };
    int p[2];

    if (pipe(p) < 0)
        _exit(96);
    while (write(p[1], much, sizeof much) > 0)
        ;
    say_so(arg);
}

static void work_for_ever(void *arg)
{
    assert(write(*(int *)arg, "w", 1) == 1);
    for (;;)
        pause();
}

/* The exit status of a child that gives itself so long, and what it said. */
static int run_late_child(nsec_t after, bool hangs, void (*words)(void *), char *said, size_t size)
{
    int p[2], status = 0;

    assert_int_equal(pipe(p), 0);
    pid_t child = fork();
    assert_that(child, >=, 0);
    if (child == 0) {
        alarm(120); /* what should not hang shall not hang the test */
        struct loop *l = loop_new();
        int begun[2];
        char byte;
        if (pipe(begun) < 0)
            _exit(98);
        if (hangs)
            loop_work(l, work_for_ever, count, &begun[1]);
        if (hangs && read(begun[0], &byte, 1) != 1)
            _exit(97);
        if (process_end_within(after, words, &p[1], 7) < 0)
            _exit(99);
        loop_free(l);
        _exit(3);
    }
    close(p[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    ssize_t n = read(p[0], said, size - 1);
    said[n > 0 ? n : 0] = '\0';
    close(p[0]);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_a_process_ends_in_time_though_work_hangs(void **state)
{
    char said[16];

    (void)state;
    assert_int_equal(run_late_child(200 * NSEC_PER_MSEC, true, say_so, said, sizeof said), 7);
    assert_string_equal(said, "late");
    assert_int_equal(run_late_child(600 * NSEC_PER_SEC, false, say_so, said, sizeof said), 3);
    assert_string_equal(said, "");
}

static void test_a_process_ends_though_its_last_words_hang(void **state)
{
    char said[16];

    (void)state;
    assert_int_equal(run_late_child(10 * NSEC_PER_MSEC, true, say_to_nobody, said, sizeof said), 7);
    assert_string_equal(said, "");
}

static void test_random_seeds_differ(void **state)
{
    CLEANUP(loop_free) struct loop *a = loop_new();
    CLEANUP(loop_free) struct loop *b = loop_new();

    (void)state;
    assert_true(loop_rand(a) != loop_rand(b) || loop_rand(a) != loop_rand(b));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clocks_move),
        cmocka_unit_test(test_a_paced_loop_runs_faster_than_the_kernel),
        cmocka_unit_test(test_a_paced_clock_waits_for_a_slow_loop),
        cmocka_unit_test(test_the_wall_clock_can_be_set),
        cmocka_unit_test(test_timers_fire_in_order_and_never_early),
        cmocka_unit_test(test_run_ends_at_once_with_nothing_to_do),
        cmocka_unit_test(test_callback_may_cancel_itself_and_others),
        cmocka_unit_test(test_posts_of_the_loop_thread_are_pending),
        cmocka_unit_test(test_posts_from_threads_all_arrive),
        cmocka_unit_test(test_a_thread_s_post_counts_even_before_the_run),
        cmocka_unit_test(test_work_runs_on_another_thread_and_comes_back),
        cmocka_unit_test(test_freeing_waits_for_running_work_and_drops_the_rest),
        cmocka_unit_test(test_signals_come_through_the_loop),
        cmocka_unit_test(test_watched_pipe_is_read_to_its_end),
        cmocka_unit_test(test_watcher_changes_what_it_waits_for),
        cmocka_unit_test(test_timers_without_delay_leave_room_for_descriptors),
        cmocka_unit_test(test_a_timer_that_asks_for_itself_does_not_hang_the_loop),
        cmocka_unit_test(test_plain_file_cannot_be_watched),
        cmocka_unit_test(test_nothing_leaks_descriptors),
        cmocka_unit_test(test_a_process_ends_in_time_though_work_hangs),
        cmocka_unit_test(test_a_process_ends_though_its_last_words_hang),
        cmocka_unit_test(test_random_seeds_differ),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
