/* podqueue.c - pods waiting for a scheduling attempt: where they are, and how they move. What
 * brings those back that wait for something is in events.c. */
#include "api/pod.h"
#include "base/arena.h"
#include "loop/loop.h"
#include "scheduler/framework/profile.h"
#include "scheduler/queue/podqueue_int.h"

#define FLUSH_PERIOD (30 * NSEC_PER_SEC)

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

static void chain(struct qpod **first, struct qpod *p)
{
    p->next = *first;
    p->link = first;
    if (p->next)
        p->next->link = &p->next;
    *first = p;
}

static void unchain(struct qpod *p)
{
    *p->link = p->next;
    if (p->next)
        p->next->link = p->link;
}

static void leave(struct podqueue *q, struct qpod *p)
{
    struct heap *h = heap_at(q, p->place);

    if (h) {
        heap_remove(h, &p->hn);
    } else if (p->place == PODQUEUE_UNSCHEDULABLE || p->place == PODQUEUE_GATED || p->held) {
        unchain(p);
        keys_forget(&q->keys, &p->waits);
    }
    p->held = false;
    q->count[p->place]--;
    p->place = PODQUEUE_NOWHERE;
    q->count[PODQUEUE_NOWHERE]++;
}

static struct crowd *crowd_get(struct podqueue *q, const struct qpod *p)
{
    vec_foreach(&q->waiting, i) {
        struct crowd *c = q->waiting.items[i];
        if (c->profile == p->profile && c->rejectors == p->rejectors)
            return c;
    }
    struct crowd *c = xnew0(struct crowd);
    *c = (struct crowd){ p->profile, p->rejectors, NULL };
    vec_push(&q->waiting, c);
    return c;
}

void podqueue_tidy(struct podqueue *q)
{
    for (size_t i = q->waiting.n; i-- > 0;)
        if (!q->waiting.items[i]->first) {
            free(q->waiting.items[i]);
            vec_swap_remove(&q->waiting, i);
        }
}

/* What the plugins that rejected it say that it waits for. */
static void remember_keys(struct podqueue *q, struct qpod *p)
{
    for (uint64_t left = p->rejectors & p->profile->keyed; left; left &= left - 1) {
        const struct profile_slot *s = &p->profile->slots[__builtin_ctzll(left)];
        uint64_t key = s->plugin->waits_for(s->self, pod_of(p->pod));
        if (key)
            keys_remember(&q->keys, s->plugin->name, key, p, &p->waits);
    }
}

static void on_tick(struct loop *l, void *arg);
static void on_flush(struct loop *l, void *arg);

/* Timers run only while somebody waits for them. */
static void arm(struct podqueue *q)
{
    nsec_t now = loop_mono(q->loop);

    if (!q->tick && (q->backoff.n || q->backoff_error.n))
        q->tick = loop_after(q->loop, whole_second(now) + NSEC_PER_SEC - now, on_tick, q);
    if (!q->flush && q->count[PODQUEUE_UNSCHEDULABLE])
        q->flush = loop_after(q->loop, FLUSH_PERIOD, on_flush, q);
}

static void enter(struct podqueue *q, struct qpod *p, enum podqueue_place place)
{
    struct heap *h = heap_at(q, place);

    assert(p->place == PODQUEUE_NOWHERE);
    if (place == PODQUEUE_READY && !p->was_ready) {
        p->was_ready = true;
        p->first = loop_mono(q->loop);
    }
    q->count[PODQUEUE_NOWHERE]--;
    p->place = place;
    q->count[place]++;
    if (h) {
        heap_push(h, &p->hn);
    } else if (place == PODQUEUE_UNSCHEDULABLE || place == PODQUEUE_GATED) {
        chain(&crowd_get(q, p)->first, p);
        remember_keys(q, p);
    }
    arm(q);
    /* Whoever is rejected and backs off may still be popped when nobody else is ready. */
    if (place == PODQUEUE_READY || place == PODQUEUE_BACKOFF)
        q->o.on_ready(q->o.arg);
}

/* ---- moves ----------------------------------------------------------------------------------- */

/* Into the queue, unless a plugin keeps it out. */
static void enqueue(struct podqueue *q, struct qpod *p)
{
    CLEANUP(arena_free) struct arena *a = arena_new_sized(256);
    struct ks_texts why = { .arena = a };
    int slot = q->o.pre_enqueue ? q->o.pre_enqueue(q->o.arg, p->profile, pod_of(p->pod), &why)
                                : profile_pre_enqueue(p->profile, pod_of(p->pod), &why);

    if (slot >= 0) {
        p->rejectors |= UINT64_C(1) << slot;
        enter(q, p, PODQUEUE_GATED);
        if (q->o.on_gated)
            q->o.on_gated(q->o.arg, p->pod, p->profile->slots[slot].plugin,
                          why.n ? why.items[0] : "");
    } else if (backing_off(q, p)) {
        enter(q, p, p->rejectors ? PODQUEUE_BACKOFF : PODQUEUE_BACKOFF_ERROR);
    } else {
        enter(q, p, PODQUEUE_READY);
    }
}

void podqueue_requeue(struct podqueue *q, struct qpod *p, uint32_t cause)
{
    enum podqueue_place was = p->place;

    leave(q, p);
    enqueue(q, p);
    if (p->place != was) /* otherwise it is still gated */
        podqueue_came(q, p, cause);
}

static void move_expired(struct podqueue *q, struct heap *h)
{
    struct heap_node *hn;
    while ((hn = heap_first(h)) && !backing_off(q, q_of(hn))) {
        struct qpod *p = container_of(hn, struct qpod, hn);
        leave(q, p);
        enter(q, p, PODQUEUE_READY);
        podqueue_came(q, p, PODQUEUE_BY_BACKOFF_END);
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
    podqueue_tidy(q);
    vec_foreach(&q->waiting, i) {
        for (struct qpod *p = q->waiting.items[i]->first, *next; p; p = next) {
            next = p->next;
            if (p->place == PODQUEUE_UNSCHEDULABLE &&
                loop_mono(l) - p->since > q->o.unschedulable_max)
                podqueue_requeue(q, p, PODQUEUE_BY_TIMEOUT);
        }
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
        keys_forget(&q->keys, &p->waits);
        kobj_unref(p->pod);
        free(p);
    }
    uidmap_fini(&q->pods);
    vec_foreach(&q->waiting, i)
        free(q->waiting.items[i]);
    vec_fini(&q->waiting);
    heap_fini(&q->ready);
    heap_fini(&q->backoff);
    heap_fini(&q->backoff_error);
    keys_fini(&q->keys);
    free(q);
    return NULL;
}

/* ---- use ------------------------------------------------------------------------------------- */

static void set_profile(struct podqueue *q, struct qpod *p)
{
    const struct profile *now = q->o.profile_of(q->o.arg, pod_of(p->pod));
    enum podqueue_place place = p->place;
    bool moves = now != p->profile && (place == PODQUEUE_UNSCHEDULABLE || place == PODQUEUE_GATED);

    if (moves)
        leave(q, p);
    p->profile = now;
    if (moves)
        enter(q, p, place); /* among those of its new profile */
}

static void changed_while_waiting(struct podqueue *q, struct qpod *p, struct kobj *before)
{
    if (p->rejectors & p->profile->keyed) { /* it may wait for something else now */
        keys_forget(&q->keys, &p->waits);
        remember_keys(q, p);
    }
    podqueue_changed(q, p, before);
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
        podqueue_came(q, p,
                      podqueue_cause_of(
                          q, &(struct ks_event){ KS_RES_UNSCHEDULABLE_POD, KS_ADD, NULL, pod }));
        return;
    }
    CLEANUP(kobj_unref) struct kobj *before = p->pod;
    p->pod = kobj_ref(pod);
    p->uid = pod->meta.uid; /* its text may live in the object */
    set_profile(q, p);
    if (heap_at(q, p->place))
        heap_fix(heap_at(q, p->place), &p->hn);
    else if (p->place != PODQUEUE_IN_FLIGHT)
        changed_while_waiting(q, p, before);
    else if (p->held)
        podqueue_changed_while_held(p, before);
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

static struct kobj *pop(struct podqueue *q, struct qpod *p)
{
    if (p->place == PODQUEUE_BACKOFF)
        q->incoming[PODQUEUE_READY][PODQUEUE_BY_POP]++;
    leave(q, p);
    enter(q, p, PODQUEUE_IN_FLIGHT);
    p->attempts++;
    p->popped = loop_mono(q->loop);
    p->rejectors = p->pending = p->heard = 0;
    return p->pod;
}

struct kobj *podqueue_pop(struct podqueue *q)
{
    struct heap_node *hn = heap_first(&q->ready);

    hn = hn ? hn : heap_first(&q->backoff);
    return hn ? pop(q, container_of(hn, struct qpod, hn)) : NULL;
}

struct kobj *podqueue_pop_this(struct podqueue *q, struct kuid uid, const char *plugin)
{
    struct qpod *p = uidmap_get(&q->pods, uid);

    if (!p || p->place == PODQUEUE_IN_FLIGHT)
        return NULL;
    if (!heap_at(q, p->place) && !profile_others_let_in(p->profile, pod_of(p->pod), plugin))
        return NULL;
    return pop(q, p);
}

void podqueue_fail(struct podqueue *q, struct kuid uid, uint64_t rejectors, uint64_t pending)
{
    struct qpod *p = uidmap_get(&q->pods, uid);

    if (!p || p->place != PODQUEUE_IN_FLIGHT)
        return;
    p->rejectors = rejectors;
    p->pending = pending;
    p->unschedulable += rejectors != 0;
    p->errors = rejectors ? 0 : p->errors + 1;
    p->since = loop_mono(q->loop);
    uint32_t failures = p->errors ? p->errors : p->unschedulable;
    p->expiry =
        whole_second(p->since + podqueue_backoff(q->o.backoff_initial, q->o.backoff_max, failures));
    bool missed = p->heard & rejectors;
    if (p->heard != UINT64_MAX && (p->heard & pending)) /* not by somebody's wish alone */
        p->expiry = 0;
    leave(q, p);
    if (rejectors && !missed)
        enter(q, p, PODQUEUE_UNSCHEDULABLE);
    else
        enqueue(q, p);
    podqueue_came(q, p, PODQUEUE_BY_FAILURE);
}

void podqueue_hold(struct podqueue *q, struct kuid uid)
{
    struct qpod *p = uidmap_get(&q->pods, uid);

    if (!p || p->place != PODQUEUE_IN_FLIGHT || p->held)
        return;
    p->held = true;
    chain(&q->held, p);
}

void podqueue_release(struct podqueue *q, struct kuid uid)
{
    struct qpod *p = uidmap_get(&q->pods, uid);

    if (!p || !p->held)
        return;
    p->held = false;
    unchain(p);
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
    podqueue_requeue(q, p, PODQUEUE_BY_FORCE);
}

void podqueue_retry(struct podqueue *q, struct kuid uid)
{
    struct qpod *p = uidmap_get(&q->pods, uid);
    if (p && (p->place == PODQUEUE_GATED || p->place == PODQUEUE_UNSCHEDULABLE))
        podqueue_requeue(q, p, PODQUEUE_BY_FORCE);
}

void podqueue_recheck(struct podqueue *q, struct kuid uid)
{
    struct qpod *p = uidmap_get(&q->pods, uid);
    if (p && p->place == PODQUEUE_GATED)
        podqueue_requeue(q, p, PODQUEUE_BY_FORCE);
}

void podqueue_new_profiles(struct podqueue *q)
{
    struct qpod *p;

    for (size_t it = 0; (p = uidmap_next(&q->pods, &it));) {
        p->profile = q->o.profile_of(q->o.arg, pod_of(p->pod));
        p->rejectors = p->pending = 0;
    }
    for (size_t it = 0; (p = uidmap_next(&q->pods, &it));)
        if (p->place == PODQUEUE_UNSCHEDULABLE || p->place == PODQUEUE_GATED)
            podqueue_requeue(q, p, PODQUEUE_BY_FORCE);
}

bool podqueue_info(const struct podqueue *q, struct kuid uid, struct podqueue_info *ret)
{
    const struct qpod *p = uidmap_get(&q->pods, uid);

    if (p)
        *ret = (struct podqueue_info){ .place = p->place,
                                       .attempts = p->attempts,
                                       .first = p->first,
                                       .since = p->since,
                                       .popped = p->popped,
                                       .expiry = p->expiry,
                                       .rejectors = p->rejectors };
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

size_t podqueue_size(const struct podqueue *q)
{
    return q->pods.n;
}
