/* podqueue.c - pods waiting for a scheduling attempt. */
#include "scheduler/queue/podqueue.h"

#include "api/pod.h"
#include "base/arena.h"
#include "base/heap.h"
#include "loop/loop.h"
#include "scheduler/cache/uidmap.h"
#include "scheduler/framework/profile.h"
#include "scheduler/queue/changes.h"

#define FLUSH_PERIOD (30 * NSEC_PER_SEC)

struct qpod {
    struct kuid uid; /* first: uidmap */
    struct kobj *pod;
    const struct profile *profile;
    struct heap_node hn;       /* ready, backing off */
    struct qpod *next, **link; /* turned down, gated */
    enum podqueue_place place;
    uint32_t attempts;
    uint32_t turned_down, errors; /* attempts that ended so; errors in a row */
    bool held;                    /* in flight, waiting for a permit */
    nsec_t first, since;          /* when it was put first, and last put or failed */
    nsec_t expiry;                /* of the back-off */
    uint64_t seq;                 /* order of arrival, so that equal pods have an order */
    uint64_t rejectors;
    uint64_t heard; /* held: slots that heard of something since it was popped */
};

struct podqueue {
    struct loop *loop;
    struct podqueue_opts o;
    struct uidmap pods;
    struct heap ready, backoff, backoff_error;
    struct qpod *waiting; /* turned down and gated */
    struct timer *tick, *flush;
    size_t count[PODQUEUE_PLACES];
    size_t nheld;
    uint64_t seq;
};

/* ---- order ----------------------------------------------------------------------------------- */

static const struct qpod *q_of(const struct heap_node *hn)
{
    return container_of(hn, const struct qpod, hn);
}

/* By the plugin that orders; equal pods by arrival. */
static bool sorts_before(const struct heap_node *ha, const struct heap_node *hb)
{
    const struct qpod *a = q_of(ha), *b = q_of(hb);
    if (profile_before(a->profile, pod_of(a->pod), a->since, pod_of(b->pod), b->since))
        return true;
    return a->seq < b->seq &&
           !profile_before(a->profile, pod_of(b->pod), b->since, pod_of(a->pod), a->since);
}

static bool expires_before(const struct heap_node *ha, const struct heap_node *hb)
{
    const struct qpod *a = q_of(ha), *b = q_of(hb);
    return a->expiry != b->expiry ? a->expiry < b->expiry : sorts_before(ha, hb);
}

nsec_t podqueue_backoff(nsec_t initial, nsec_t max, uint32_t failures)
{
    uint32_t shift = failures - 1;
    return shift >= 63 || initial > max >> shift ? max : initial << shift;
}

static nsec_t whole_second(nsec_t t)
{
    return t - t % NSEC_PER_SEC;
}

static bool backing_off(const struct podqueue *q, const struct qpod *p)
{
    return p->expiry != 0 && p->expiry >= whole_second(loop_mono(q->loop));
}

/* ---- places ---------------------------------------------------------------------------------- */

static struct heap *heap_at(struct podqueue *q, enum podqueue_place place)
{
    return place == PODQUEUE_READY           ? &q->ready
           : place == PODQUEUE_BACKOFF       ? &q->backoff
           : place == PODQUEUE_BACKOFF_ERROR ? &q->backoff_error
                                             : NULL;
}

static void leave(struct podqueue *q, struct qpod *p)
{
    struct heap *h = heap_at(q, p->place);

    if (h) {
        heap_remove(h, &p->hn);
    } else if (p->place == PODQUEUE_TURNED_DOWN || p->place == PODQUEUE_GATED) {
        *p->link = p->next;
        if (p->next)
            p->next->link = p->link;
    }
    q->nheld -= p->held;
    p->held = false;
    q->count[p->place]--;
    p->place = PODQUEUE_NOWHERE;
    q->count[PODQUEUE_NOWHERE]++;
}

static void on_tick(struct loop *l, void *arg);
static void on_flush(struct loop *l, void *arg);

/* Timers run only while somebody waits for them. */
static void arm(struct podqueue *q)
{
    nsec_t now = loop_mono(q->loop);

    if (!q->tick && (q->backoff.n || q->backoff_error.n))
        q->tick = loop_after(q->loop, whole_second(now) + NSEC_PER_SEC - now, on_tick, q);
    if (!q->flush && q->count[PODQUEUE_TURNED_DOWN])
        q->flush = loop_after(q->loop, FLUSH_PERIOD, on_flush, q);
}

static void enter(struct podqueue *q, struct qpod *p, enum podqueue_place place)
{
    struct heap *h = heap_at(q, place);

    assert(p->place == PODQUEUE_NOWHERE);
    q->count[PODQUEUE_NOWHERE]--;
    p->place = place;
    q->count[place]++;
    if (h) {
        heap_push(h, &p->hn);
    } else if (place == PODQUEUE_TURNED_DOWN || place == PODQUEUE_GATED) {
        p->next = q->waiting;
        p->link = &q->waiting;
        if (p->next)
            p->next->link = &p->next;
        q->waiting = p;
    }
    arm(q);
    /* Whoever is turned down and backs off may still be popped when nobody else is ready. */
    if (place == PODQUEUE_READY || place == PODQUEUE_BACKOFF)
        q->o.on_ready(q->o.arg);
}

/* Into the queue, unless a plugin keeps it out. */
static void enqueue(struct podqueue *q, struct qpod *p)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct ks_texts why = { .arena = a };
    int slot = profile_pre_enqueue(p->profile, pod_of(p->pod), &why);

    if (slot >= 0) {
        p->rejectors |= UINT64_C(1) << slot;
        enter(q, p, PODQUEUE_GATED);
        if (q->o.on_gated)
            q->o.on_gated(q->o.arg, p->pod, p->profile->slots[slot].plugin->name,
                          why.n ? why.items[0] : "");
    } else if (backing_off(q, p)) {
        enter(q, p, p->rejectors ? PODQUEUE_BACKOFF : PODQUEUE_BACKOFF_ERROR);
    } else {
        enter(q, p, PODQUEUE_READY);
    }
}

static void requeue(struct podqueue *q, struct qpod *p)
{
    leave(q, p);
    enqueue(q, p);
}

static void move_expired(struct podqueue *q, struct heap *h)
{
    struct heap_node *hn;
    while ((hn = heap_first(h)) && !backing_off(q, q_of(hn))) {
        struct qpod *p = container_of(hn, struct qpod, hn);
        leave(q, p);
        enter(q, p, PODQUEUE_READY);
    }
}

static void on_tick(struct loop *l, void *arg)
{
    struct podqueue *q = arg;
    (void)l;
    q->tick = NULL;
    move_expired(q, &q->backoff);
    move_expired(q, &q->backoff_error);
    arm(q);
}

/* Events may be missed by a hint that is too strict: nobody waits for ever. */
static void on_flush(struct loop *l, void *arg)
{
    struct podqueue *q = arg;
    q->flush = NULL;
    for (struct qpod *p = q->waiting, *next; p; p = next) {
        next = p->next;
        if (p->place == PODQUEUE_TURNED_DOWN && loop_mono(l) - p->since > q->o.unschedulable_max)
            requeue(q, p);
    }
    arm(q);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct podqueue *podqueue_new(struct loop *l, const struct podqueue_opts *o)
{
    struct podqueue *q = xnew0(struct podqueue);
    q->loop = l;
    q->o = *o;
    q->o.backoff_initial = o->backoff_initial ? o->backoff_initial : NSEC_PER_SEC;
    q->o.backoff_max = o->backoff_max ? o->backoff_max : 10 * NSEC_PER_SEC;
    q->o.unschedulable_max = o->unschedulable_max ? o->unschedulable_max : 300 * NSEC_PER_SEC;
    heap_init(&q->ready, sorts_before);
    heap_init(&q->backoff, expires_before);
    heap_init(&q->backoff_error, expires_before);
    return q;
}

struct podqueue *podqueue_free(struct podqueue *q)
{
    struct qpod *p;

    if (!q)
        return NULL;
    timer_cancel(q->tick);
    timer_cancel(q->flush);
    for (size_t it = 0; (p = uidmap_next(&q->pods, &it));) {
        kobj_unref(p->pod);
        free(p);
    }
    uidmap_fini(&q->pods);
    heap_fini(&q->ready);
    heap_fini(&q->backoff);
    heap_fini(&q->backoff_error);
    free(q);
    return NULL;
}

/* ---- use ------------------------------------------------------------------------------------- */

/* Events are asked about per profile; most schedulers have one. */
struct listeners {
    const struct profile *profile;
    uint64_t slots;
};

static uint64_t listeners(struct listeners *l, const struct profile *p, const struct ks_event *e)
{
    if (l->profile != p)
        *l = (struct listeners){ p, profile_listeners(p, e) };
    return l->slots;
}

static bool hears(const struct qpod *p, const struct ks_event *e, struct listeners *l)
{
    uint64_t asked = p->rejectors ? p->rejectors & listeners(l, p->profile, e) : 0;
    return asked && profile_worth(p->profile, asked, e, pod_of(p->pod));
}

/* Its own change may be what a waiting pod waits for; each kind of change is an event. */
static void changed(struct podqueue *q, struct qpod *p, struct kobj *before)
{
    uint32_t bits = pod_changes(pod_of(before), pod_of(p->pod));

    for (uint32_t bit = 1; bit < KS_ALL; bit <<= 1) {
        uint32_t action = bits == KS_UPDATE ? KS_UPDATE : bits & bit;
        struct ks_event e = { KS_RES_UNSCHEDULABLE_POD, action, before, p->pod };
        struct listeners l = { NULL, 0 };
        if (action && hears(p, &e, &l)) {
            requeue(q, p);
            return;
        }
        if (action == KS_UPDATE)
            return;
    }
}

void podqueue_put(struct podqueue *q, struct kobj *pod)
{
    struct qpod *p = uidmap_get(&q->pods, pod->meta.uid);

    if (!p) {
        p = xnew0(struct qpod);
        p->uid = pod->meta.uid;
        p->pod = kobj_ref(pod);
        p->profile = q->o.profile_of(q->o.arg, pod_of(pod));
        p->first = p->since = loop_mono(q->loop);
        p->seq = q->seq++;
        q->count[PODQUEUE_NOWHERE]++;
        uidmap_put(&q->pods, p);
        enqueue(q, p);
        return;
    }
    CLEANUP(kobj_unref) struct kobj *before = p->pod;
    p->pod = kobj_ref(pod);
    p->uid = pod->meta.uid; /* its text may live in the object */
    p->profile = q->o.profile_of(q->o.arg, pod_of(pod));
    if (heap_at(q, p->place))
        heap_fix(heap_at(q, p->place), &p->hn);
    else if (p->place != PODQUEUE_IN_FLIGHT)
        changed(q, p, before);
}

bool podqueue_remove(struct podqueue *q, struct kuid uid)
{
    struct qpod *p = uidmap_remove(&q->pods, uid);

    if (!p)
        return false;
    leave(q, p);
    q->count[PODQUEUE_NOWHERE]--;
    kobj_unref(p->pod);
    free(p);
    return true;
}

struct kobj *podqueue_pop(struct podqueue *q)
{
    struct heap_node *hn = heap_first(&q->ready);

    hn = hn ? hn : heap_first(&q->backoff);
    if (!hn)
        return NULL;
    struct qpod *p = container_of(hn, struct qpod, hn);
    leave(q, p);
    enter(q, p, PODQUEUE_IN_FLIGHT);
    p->attempts++;
    p->rejectors = p->heard = 0;
    return p->pod;
}

void podqueue_fail(struct podqueue *q, struct kuid uid, uint64_t rejectors)
{
    struct qpod *p = uidmap_get(&q->pods, uid);

    if (!p || p->place != PODQUEUE_IN_FLIGHT)
        return;
    p->rejectors = rejectors;
    p->turned_down += rejectors != 0;
    p->errors = rejectors ? 0 : p->errors + 1;
    p->since = loop_mono(q->loop);
    uint32_t failures = p->errors ? p->errors : p->turned_down;
    p->expiry =
        whole_second(p->since + podqueue_backoff(q->o.backoff_initial, q->o.backoff_max, failures));
    bool missed = p->heard & rejectors;
    leave(q, p);
    if (rejectors && !missed)
        enter(q, p, PODQUEUE_TURNED_DOWN);
    else
        enqueue(q, p);
}

void podqueue_hold(struct podqueue *q, struct kuid uid)
{
    struct qpod *p = uidmap_get(&q->pods, uid);

    if (!p || p->place != PODQUEUE_IN_FLIGHT || p->held)
        return;
    p->held = true;
    q->nheld++;
}

void podqueue_activate(struct podqueue *q, struct kuid uid)
{
    struct qpod *p = uidmap_get(&q->pods, uid);

    if (!p || p->place == PODQUEUE_READY)
        return;
    if (p->place == PODQUEUE_IN_FLIGHT) {
        p->heard = UINT64_MAX;
        return;
    }
    p->expiry = 0;
    requeue(q, p);
}

void podqueue_recheck(struct podqueue *q, struct kuid uid)
{
    struct qpod *p = uidmap_get(&q->pods, uid);
    if (p && p->place == PODQUEUE_GATED)
        requeue(q, p);
}

void podqueue_new_profiles(struct podqueue *q)
{
    struct qpod *p;

    for (size_t it = 0; (p = uidmap_next(&q->pods, &it));) {
        p->profile = q->o.profile_of(q->o.arg, pod_of(p->pod));
        p->rejectors = 0;
    }
    for (size_t it = 0; (p = uidmap_next(&q->pods, &it));)
        if (p->place == PODQUEUE_TURNED_DOWN || p->place == PODQUEUE_GATED)
            requeue(q, p);
}

bool podqueue_listens(const struct podqueue *q)
{
    return q->waiting || q->nheld;
}

void podqueue_event(struct podqueue *q, const struct ks_event *e, const struct kobj *except)
{
    struct listeners l = { NULL, 0 };
    struct qpod *p;

    for (size_t it = 0; q->nheld && (p = uidmap_next(&q->pods, &it));)
        if (p->held)
            p->heard |= listeners(&l, p->profile, e);
    for (struct qpod *next = p = q->waiting; p; p = next) {
        next = p->next;
        bool skip = except && kuid_equal(p->uid, except->meta.uid);
        if (!skip && hears(p, e, &l))
            requeue(q, p);
    }
}

bool podqueue_info(const struct podqueue *q, struct kuid uid, struct podqueue_info *ret)
{
    const struct qpod *p = uidmap_get(&q->pods, uid);

    if (p)
        *ret = (struct podqueue_info){ p->place, p->attempts, p->first,
                                       p->since, p->expiry,   p->rejectors };
    return p;
}

struct kobj *podqueue_next(const struct podqueue *q, size_t *it)
{
    const struct qpod *p = uidmap_next(&q->pods, it);
    return p ? p->pod : NULL;
}

enum podqueue_place podqueue_find(const struct podqueue *q, struct kuid uid, struct kobj **ret_pod)
{
    const struct qpod *p = uidmap_get(&q->pods, uid);

    if (!p)
        return PODQUEUE_NOWHERE;
    if (ret_pod)
        *ret_pod = p->pod;
    return p->place;
}

size_t podqueue_count(const struct podqueue *q, enum podqueue_place place)
{
    return q->count[place];
}
