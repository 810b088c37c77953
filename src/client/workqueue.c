/* workqueue.c - deduplicated keys with delays and back-off. */
#include "client/workqueue.h"

#include <sys/queue.h>

#include "base/heap.h"
#include "base/map.h"
#include "base/num.h"
#include "client/bucket.h"
#include "client/meter.h"
#include "loop/loop.h"

struct work { /* one key, while anything is known of it */
    struct workqueue *q;
    struct heap_node delayed;
    struct work *next;     /* in the ready list */
    LIST_ENTRY(work) link; /* of those that run */
    nsec_t due, ready_since, running_since;
    unsigned failures;
    bool ready, running, dirty;
    char key[];
};

struct workqueue {
    struct loop *loop;
    struct workqueue_opts o;
    sync_fn fn;
    void *arg;
    struct map keys; /* key -> struct work */
    struct work *head, **tail;
    struct heap delayed;
    struct timer *timer; /* for the first delayed key */
    struct timer *pump;
    size_t nready, nrunning, ndirty;
    LIST_HEAD(, work) running;
    bool paused;
    struct bucket bucket; /* of all keys that failed */
    struct workqueue_stats stats;
    struct queue_meter meter;
};

static bool due_earlier(const struct heap_node *a, const struct heap_node *b)
{
    const struct work *x = container_of(a, struct work, delayed);
    const struct work *y = container_of(b, struct work, delayed);
    return x->due < y->due;
}

struct workqueue *workqueue_new(struct loop *l, const struct workqueue_opts *o, sync_fn fn,
                                void *arg)
{
    struct workqueue *q = xnew0(struct workqueue);
    q->loop = l;
    q->o = *o;
    q->fn = fn;
    q->arg = arg;
    q->o.concurrency = o->concurrency ? o->concurrency : 1;
    q->o.backoff_initial = o->backoff_initial ? o->backoff_initial : 5 * NSEC_PER_MSEC;
    q->o.backoff_max = o->backoff_max ? o->backoff_max : 1000 * NSEC_PER_SEC;
    bucket_init(&q->bucket, o->qps > 0 ? o->qps : 10, o->burst > 0 ? o->burst : 100, loop_mono(l));
    q->tail = &q->head;
    heap_init(&q->delayed, due_earlier);
    if (o->meter)
        o->meter->ops->add_queue(o->meter, q, str_or(o->name, ""), &q->meter);
    return q;
}

struct workqueue *workqueue_free(struct workqueue *q)
{
    if (!q)
        return NULL;
    if (q->o.meter)
        q->o.meter->ops->remove_queue(q->o.meter, q);
    timer_cancel(q->timer);
    timer_cancel(q->pump);
    map_foreach(&q->keys, e)
        free(e->value);
    map_fini(&q->keys);
    heap_fini(&q->delayed);
    free(q);
    return NULL;
}

static struct work *work_of(struct workqueue *q, const char *key)
{
    size_t n = strlen(key);
    struct work *w = map_get(&q->keys, key, n);
    if (w)
        return w;
    w = xcalloc(1, sizeof *w + n + 1);
    w->q = q;
    memcpy(w->key, key, n + 1);
    map_put(&q->keys, w->key, n, w);
    return w;
}

/* Nothing left to know: the key costs no memory. */
static void forget_if_idle(struct work *w)
{
    if (w->ready || w->running || heap_has(&w->delayed) || w->failures)
        return;
    map_removez(&w->q->keys, w->key);
    free(w);
}

static void pump(struct loop *l, void *arg);

static void pump_soon(struct workqueue *q)
{
    if (!q->pump && !q->paused && q->head && q->nrunning < q->o.concurrency)
        q->pump = loop_after(q->loop, 0, pump, q);
}

static void append(struct work *w)
{
    struct workqueue *q = w->q;
    w->ready = true;
    w->next = NULL;
    *q->tail = w;
    q->tail = &w->next;
    q->nready++;
    pump_soon(q);
}

static void make_ready(struct work *w)
{
    struct workqueue *q = w->q;
    if (w->ready || w->dirty)
        return;
    w->ready_since = loop_mono(q->loop);
    if (q->meter.adds)
        counter_inc(q->meter.adds);
    if (w->running) {
        w->dirty = true;
        q->ndirty++;
        return;
    }
    append(w);
}

static void pump(struct loop *l, void *arg)
{
    struct workqueue *q = arg;
    q->pump = NULL;
    struct work *w = q->head;
    if (!w || q->paused || q->nrunning >= q->o.concurrency)
        return;
    q->head = w->next;
    if (!q->head)
        q->tail = &q->head;
    q->nready--;
    w->ready = false;
    w->running = true;
    w->running_since = loop_mono(l);
    LIST_INSERT_HEAD(&q->running, w, link);
    q->nrunning++;
    q->stats.syncs++;
    if (q->meter.waited)
        histogram_observe(q->meter.waited, meter_seconds(w->running_since - w->ready_since));
    /* One sync a turn: a long queue must not keep the loop from everything else. */
    pump_soon(q);
    q->fn(q->arg, w->key, w);
}

static void arm(struct workqueue *q);

static void on_due(struct loop *l, void *arg)
{
    struct workqueue *q = arg;
    nsec_t now = loop_mono(l);
    struct heap_node *first;

    q->timer = NULL;
    while ((first = heap_first(&q->delayed))) {
        struct work *w = container_of(first, struct work, delayed);
        if (w->due > now)
            break;
        heap_pop(&q->delayed);
        make_ready(w);
    }
    arm(q);
}

static void arm(struct workqueue *q)
{
    struct heap_node *first = heap_first(&q->delayed);
    q->timer = timer_cancel(q->timer);
    if (first) {
        nsec_t due = container_of(first, struct work, delayed)->due;
        q->timer = loop_after(q->loop, due - loop_mono(q->loop), on_due, q);
    }
}

void workqueue_pause(struct workqueue *q, bool paused)
{
    q->paused = paused;
    pump_soon(q);
}

void workqueue_add(struct workqueue *q, const char *key)
{
    q->stats.adds++;
    make_ready(work_of(q, key));
}

void workqueue_add_after(struct workqueue *q, const char *key, nsec_t delay)
{
    struct work *w = work_of(q, key);
    nsec_t due = i64_add_sat(loop_mono(q->loop), MAX(delay, (nsec_t)0));

    q->stats.adds++;
    if (q->meter.retries)
        counter_inc(q->meter.retries);
    if (delay <= 0) {
        make_ready(w);
        return;
    }
    if (heap_has(&w->delayed)) {
        if (due >= w->due)
            return;
        w->due = due;
        heap_fix(&q->delayed, &w->delayed);
    } else {
        w->due = due;
        heap_push(&q->delayed, &w->delayed);
    }
    arm(q);
}

/* After its back-off: it failed. */
static void add_limited(struct workqueue *q, const char *key)
{
    struct work *w = work_of(q, key);
    unsigned doublings = MIN(w->failures, 40u);
    nsec_t wait = i64_mul_sat(q->o.backoff_initial, INT64_C(1) << doublings);

    w->failures++;
    q->stats.retries++;
    workqueue_add_after(
        q, key, MAX(MIN(wait, q->o.backoff_max), bucket_take(&q->bucket, loop_mono(q->loop))));
}

static void stop_running(struct work *w)
{
    struct workqueue *q = w->q;

    assert(w->running);
    w->running = false;
    LIST_REMOVE(w, link);
    q->nrunning--;
    if (q->meter.worked)
        histogram_observe(q->meter.worked, meter_seconds(loop_mono(q->loop) - w->running_since));
    if (w->dirty) {
        w->dirty = false;
        q->ndirty--;
        append(w);
    }
    pump_soon(q);
}

void work_done(struct work *w, const struct kerr *err)
{
    stop_running(w);
    if (err) {
        add_limited(w->q, w->key);
        return;
    }
    w->failures = 0;
    forget_if_idle(w);
}

void work_again(struct work *w, nsec_t after)
{
    stop_running(w);
    w->failures = 0;
    workqueue_add_after(w->q, w->key, after);
}

struct workqueue_stats workqueue_stats(const struct workqueue *q)
{
    struct workqueue_stats s = q->stats;
    s.ready = q->nready;
    s.delayed = q->delayed.n;
    s.running = q->nrunning;
    s.depth = q->nready + q->ndirty;
    s.oldest = q->head ? loop_mono(q->loop) - q->head->ready_since : 0;
    const struct work *w;
    LIST_FOREACH(w, &q->running, link)
    {
        nsec_t runs = loop_mono(q->loop) - w->running_since;
        s.unfinished += runs;
        s.longest = MAX(s.longest, runs);
    }
    return s;
}
