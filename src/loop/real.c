/* real.c - the loop on libuv: kernel clocks, worker pool, signals, descriptors.
 *
 * libuv cannot be given a clock and its timers know only milliseconds, so the timers are ours. One
 * that is due already fires after the next poll, where a check handle looks; for a later one a
 * uv_timer_t is armed. The helper handles are unreferenced: what keeps uv_run() going is a waiting
 * timer, a post, a work, a hold, a watcher or somebody's socket.
 */
#include "loop/internal.h"

#include <pthread.h>
#include <stdio.h>
#include <uv.h>

struct link {
    struct link *prev, *next;
};

struct real {
    uv_loop_t uv;
    uv_timer_t timer; /* armed for the first timer of the heap when that is due later */
    uv_idle_t due;    /* active while the first timer is due: the next poll does not wait */
    nsec_t armed_for; /* what one of the two is armed for; NSEC_MAX: neither is */
    uv_prepare_t prepare;
    uv_check_t check;
    uv_idle_t idle; /* active while posts of the loop thread wait: cheaper than waking ourselves */
    uv_async_t async; /* posts of other threads */

    nsec_t mono; /* valid while mono_cached */
    bool mono_cached;
    bool closing;

    pthread_mutex_t lock; /* guards loop->posts and the two below */
    pthread_t owner;      /* the thread that runs the loop */
    bool awake;           /* a wake-up is on its way for what is queued */

    struct link works, signals, watches;
};

struct work {
    struct link link;
    uv_work_t req;
    struct loop *loop;
    work_fn work;
    post_fn done;
    void *arg;
};

struct sigwatch {
    struct link link;
    uv_signal_t uv;
    struct loop *loop;
    signal_fn fn;
    void *arg;
};

struct fdwatch {
    struct link link;
    uv_poll_t uv;
    struct loop *loop;
    int fd, events;
    fd_fn fn;
    void *arg;
};

static void list_init(struct link *head)
{
    head->prev = head->next = head;
}

static void list_add(struct link *head, struct link *item)
{
    item->prev = head->prev;
    item->next = head;
    head->prev->next = item;
    head->prev = item;
}

static void list_del(struct link *item)
{
    item->prev->next = item->next;
    item->next->prev = item->prev;
}

/* libuv's set-up calls fail only for lack of memory or descriptors at start: nothing to recover. */
static void must(int r, const char *what)
{
    if (r == 0)
        return;
    fprintf(stderr, "fatal: %s: %s\n", what, uv_strerror(r));
    abort();
}

/* ---- clocks ---------------------------------------------------------------------------------- */

static nsec_t clock_now(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (nsec_t)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

nsec_t real_wall(void)
{
    return clock_now(CLOCK_REALTIME);
}

/* Read once a turn, by the first who asks after the wait: read before the wait, the value would
 * miss the time slept. Outside a turn nothing ends the cache's life, so there is none. */
nsec_t real_stopwatch(void)
{
    return clock_now(CLOCK_MONOTONIC);
}

nsec_t real_mono(const struct loop *l)
{
    struct real *r = l->real;

    if (r->mono_cached)
        return r->mono;
    r->mono = clock_now(CLOCK_MONOTONIC);
    if (l->pace.on) {
        const struct timer *first = timers_first(l);
        struct pace *p = (struct pace *)(uintptr_t)&l->pace; /* a reading moves it on */
        r->mono = pace_read(p, r->mono, first ? first->due : NSEC_MAX);
    }
    r->mono_cached = l->in_turn;
    return r->mono;
}

void real_pace(struct loop *l, unsigned by)
{
    pace_begin(&l->pace, by, clock_now(CLOCK_MONOTONIC));
    l->real->mono_cached = false;
}

static void on_prepare(uv_prepare_t *h)
{
    struct loop *l = h->data;
    l->real->mono_cached = false;
}

/* ---- timers ---------------------------------------------------------------------------------- */

static bool is_due(const struct real *r)
{
    return uv_is_active((const uv_handle_t *)&r->due);
}

static void fire(struct loop *l)
{
    struct real *r = l->real;

    uv_idle_stop(&r->due);
    r->armed_for = NSEC_MAX;
    r->mono_cached = false;
    timers_fire(l, real_mono(l));
    real_timers_changed(l);
}

/* What is due fires after the poll, so that I/O comes in between however often a callback asks for
 * the next turn. libuv would run a timer that is started again without a delay in the same pass
 * over its timers, and no descriptor would ever be looked at. */
static void on_check(uv_check_t *h)
{
    struct loop *l = h->data;

    if (is_due(l->real))
        fire(l);
}

static void on_timer(uv_timer_t *h)
{
    struct loop *l = h->data;

    if (!is_due(l->real))
        fire(l);
}

static void on_due(uv_idle_t *h)
{
    (void)h; /* that it is active is all it does */
}

void real_timers_changed(struct loop *l)
{
    struct real *r = l->real;
    const struct timer *t = timers_first(l);

    if (l->firing_batch || r->closing)
        return;
    if (!t) {
        uv_timer_stop(&r->timer);
        uv_idle_stop(&r->due);
        r->armed_for = NSEC_MAX;
        return;
    }
    /* Armed too early is harmless (it looks and arms again), and cancelling stays cheap. */
    if (r->armed_for <= t->due)
        return;
    r->armed_for = t->due;
    const nsec_t kernel = clock_now(CLOCK_MONOTONIC);
    const nsec_t wait = l->pace.on ? pace_wait(&l->pace, t->due, kernel) : t->due - kernel;
    if (wait <= 0) {
        uv_idle_start(&r->due, on_due);
        return;
    }
    const uint64_t ms = (uint64_t)(wait / NSEC_PER_MSEC) + (wait % NSEC_PER_MSEC != 0);
    uv_update_time(&r->uv); /* libuv counts from its own idea of now */
    must(uv_timer_start(&r->timer, on_timer, ms, 0), "uv_timer_start");
}

/* ---- posts ----------------------------------------------------------------------------------- */

static bool posts_drain(struct loop *l)
{
    struct real *r = l->real;

    pthread_mutex_lock(&r->lock);
    struct posts now = l->posts; /* what is posted from here on waits for the next turn */
    l->posts = l->spare;
    l->spare = (struct posts){ 0 };
    r->awake = false;
    uv_idle_stop(&r->idle);
    pthread_mutex_unlock(&r->lock);
    bool any = now.n > 0;
    posts_run(l, &now);
    return any;
}

static void on_idle(uv_idle_t *h)
{
    posts_drain(h->data);
}

static void on_async(uv_async_t *h)
{
    posts_drain(h->data);
}

void real_post(struct loop *l, struct post p)
{
    struct real *r = l->real;

    if (r->closing)
        return; /* a close callback inside loop_free(): dropped like every post not run */
    pthread_mutex_lock(&r->lock);
    vec_push(&l->posts, p);
    /* The idle handle also makes the post count as pending. A post of another thread cannot touch
     * handles; real_run() looks at the queue before it believes that nothing is left. */
    if (pthread_equal(r->owner, pthread_self()))
        uv_idle_start(&r->idle, on_idle);
    else if (!r->awake)
        uv_async_send(&r->async);
    r->awake = true;
    pthread_mutex_unlock(&r->lock);
}

/* ---- work ------------------------------------------------------------------------------------ */

static void on_work(uv_work_t *req)
{
    struct work *w = req->data;
    w->work(w->arg);
}

static void on_work_done(uv_work_t *req, int status)
{
    struct work w = *(struct work *)req->data;

    list_del(&((struct work *)req->data)->link);
    free(req->data);
    if (status == 0 && !w.loop->real->closing)
        w.done(w.loop, w.arg);
}

void real_work(struct loop *l, work_fn work, post_fn done, void *arg)
{
    struct work *w = xnew0(struct work);

    *w = (struct work){ .loop = l, .work = work, .done = done, .arg = arg };
    w->req.data = w;
    list_add(&l->real->works, &w->link);
    must(uv_queue_work(&l->real->uv, &w->req, on_work, on_work_done), "uv_queue_work");
}

/* ---- signals --------------------------------------------------------------------------------- */

static void on_signal_closed(uv_handle_t *h)
{
    free(h->data);
}

static void sigwatch_close(struct sigwatch *s)
{
    list_del(&s->link);
    uv_close((uv_handle_t *)&s->uv, on_signal_closed);
}

static void on_signal(uv_signal_t *h, int signum)
{
    struct sigwatch *s = h->data;
    s->fn(s->loop, signum, s->arg);
}

int loop_on_signal(struct loop *l, int signum, signal_fn fn, void *arg, struct kerr *err)
{
    if (!l->real)
        return kerr_set(err, -ENOTSUP, "watch signal %d: the loop is virtual", signum);
    struct real *r = l->real;
    for (struct link *i = r->signals.next; i != &r->signals; i = i->next) {
        struct sigwatch *s = container_of(i, struct sigwatch, link);
        if (s->uv.signum != signum)
            continue;
        if (fn) {
            s->fn = fn;
            s->arg = arg;
        } else {
            sigwatch_close(s);
        }
        return 0;
    }
    if (!fn)
        return 0;
    struct sigwatch *s = xnew0(struct sigwatch);
    s->loop = l;
    s->fn = fn;
    s->arg = arg;
    s->uv.data = s;
    must(uv_signal_init(&r->uv, &s->uv), "uv_signal_init");
    list_add(&r->signals, &s->link);
    int e = uv_signal_start(&s->uv, on_signal, signum);
    if (e < 0) {
        sigwatch_close(s);
        return kerr_set(err, e, "watch signal %d: %s", signum, uv_strerror(e));
    }
    uv_unref((uv_handle_t *)&s->uv); /* waiting to be told to stop is no reason to go on */
    return 0;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

_Static_assert((int)LOOP_READ == (int)UV_READABLE && (int)LOOP_WRITE == (int)UV_WRITABLE,
               "events are passed through");

static void on_watch_closed(uv_handle_t *h)
{
    free(h->data);
}

static void on_poll(uv_poll_t *h, int status, int events)
{
    struct fdwatch *w = h->data;
    /* On an error of the descriptor all that was asked for is reported: the caller's own read or
     * write then meets the error itself. */
    w->fn(w->loop, w->fd, status < 0 ? w->events : events, w->arg);
}

struct fdwatch *loop_watch_fd(struct loop *l, int fd, int events, fd_fn fn, void *arg)
{
    assert(fn && events && !(events & ~(LOOP_READ | LOOP_WRITE)));
    if (!l->real) {
        errno = ENOTSUP;
        return NULL;
    }
    struct fdwatch *w = xnew0(struct fdwatch);
    *w = (struct fdwatch){ .loop = l, .fd = fd, .events = events, .fn = fn, .arg = arg };
    int e = uv_poll_init(&l->real->uv, &w->uv, fd);
    if (e < 0) {
        free(w);
        errno = -e;
        return NULL;
    }
    w->uv.data = w;
    list_add(&l->real->watches, &w->link);
    must(uv_poll_start(&w->uv, events, on_poll), "uv_poll_start");
    return w;
}

void fdwatch_set(struct fdwatch *w, int events)
{
    assert(!(events & ~(LOOP_READ | LOOP_WRITE)));
    w->events = events;
    if (events)
        must(uv_poll_start(&w->uv, events, on_poll), "uv_poll_start");
    else
        must(uv_poll_stop(&w->uv), "uv_poll_stop");
}

struct fdwatch *fdwatch_close(struct fdwatch *w)
{
    if (!w)
        return NULL;
    list_del(&w->link);
    uv_close((uv_handle_t *)&w->uv, on_watch_closed);
    return NULL;
}

/* ---- life and turns -------------------------------------------------------------------------- */

struct loop *loop_new(void)
{
    struct loop *l = xnew0(struct loop);
    struct real *r = xnew0(struct real);

    loop_init(l);
    rand_seed_system(l->rng);
    l->real = r;
    r->armed_for = NSEC_MAX;
    r->owner = pthread_self();
    list_init(&r->works);
    list_init(&r->signals);
    list_init(&r->watches);
    must(-pthread_mutex_init(&r->lock, NULL), "pthread_mutex_init");
    must(uv_loop_init(&r->uv), "uv_loop_init");
    must(uv_timer_init(&r->uv, &r->timer), "uv_timer_init");
    must(uv_idle_init(&r->uv, &r->due), "uv_idle_init");
    must(uv_prepare_init(&r->uv, &r->prepare), "uv_prepare_init");
    must(uv_check_init(&r->uv, &r->check), "uv_check_init");
    must(uv_idle_init(&r->uv, &r->idle), "uv_idle_init");
    must(uv_async_init(&r->uv, &r->async, on_async), "uv_async_init");
    r->timer.data = r->prepare.data = r->check.data = r->idle.data = r->async.data = l;
    must(uv_prepare_start(&r->prepare, on_prepare), "uv_prepare_start");
    must(uv_check_start(&r->check, on_check), "uv_check_start");
    uv_unref((uv_handle_t *)&r->prepare);
    uv_unref((uv_handle_t *)&r->check);
    uv_unref((uv_handle_t *)&r->async);
    return l;
}

static void report_open(uv_handle_t *h, void *arg)
{
    if (uv_is_closing(h))
        return;
    fprintf(stderr, "fatal: loop_free: a %s handle is still open\n",
            uv_handle_type_name(uv_handle_get_type(h)));
    *(bool *)arg = true;
}

void real_fini(struct loop *l)
{
    struct real *r = l->real;
    bool left_open = false;

    r->closing = true;
    for (struct link *i = r->works.next; i != &r->works; i = i->next)
        (void)uv_cancel((uv_req_t *)&container_of(i, struct work, link)->req);
    while (r->signals.next != &r->signals)
        sigwatch_close(container_of(r->signals.next, struct sigwatch, link));
    while (r->watches.next != &r->watches)
        fdwatch_close(container_of(r->watches.next, struct fdwatch, link));
    uv_close((uv_handle_t *)&r->timer, NULL);
    uv_close((uv_handle_t *)&r->due, NULL);
    uv_close((uv_handle_t *)&r->prepare, NULL);
    uv_close((uv_handle_t *)&r->check, NULL);
    uv_close((uv_handle_t *)&r->idle, NULL);
    uv_close((uv_handle_t *)&r->async, NULL);
    /* Whoever opened a handle on loop_uv() must have closed it: we would not know how to free what
     * stands behind it. Handles that are closing end here, and so does work that runs already. */
    uv_walk(&r->uv, report_open, &left_open);
    assert(!left_open);
    do
        uv_run(&r->uv, UV_RUN_ONCE);
    while (uv_loop_close(&r->uv) == UV_EBUSY);
    pthread_mutex_destroy(&r->lock);
    free(r);
    l->real = NULL;
}

static void enter(struct loop *l)
{
    l->in_turn = true;
    pthread_mutex_lock(&l->real->lock);
    l->real->owner = pthread_self();
    pthread_mutex_unlock(&l->real->lock);
}

static void leave(struct loop *l)
{
    l->in_turn = false;
    l->real->mono_cached = false;
}

void real_run(struct loop *l)
{
    struct real *r = l->real;

    enter(l);
    while (!l->stop) {
        uv_run(&r->uv, UV_RUN_DEFAULT);
        if (l->stop)
            break;
        r->mono_cached = false;
        if (!posts_drain(l) && !uv_loop_alive(&r->uv))
            break;
    }
    leave(l);
}

void real_turn(struct loop *l)
{
    struct real *r = l->real;

    enter(l);
    /* With nothing alive uv_run() would not even look at the posts of other threads. */
    if (uv_loop_alive(&r->uv))
        uv_run(&r->uv, UV_RUN_NOWAIT);
    else
        posts_drain(l);
    leave(l);
}

void real_stop(struct loop *l)
{
    uv_stop(&l->real->uv);
}

struct uv_loop_s *loop_uv(struct loop *l)
{
    return l->real ? &l->real->uv : NULL;
}
