/* events.c - what brings waiting pods back: events of the cluster, their own changes, keys that
 * plugins wake (scheduler-core 3.5, 3.6). */
#include "api/pod.h"
#include "scheduler/framework/profile.h"
#include "scheduler/queue/changes.h"
#include "scheduler/queue/podqueue_int.h"

/* One in so many: a look at the clock takes longer than most hints. */
enum { HINTS_WATCHED = 10 };

/* ---- why they come --------------------------------------------------------------------------- */

/* The kind's place, where it is or would be; the last one is everybody's. */
static uint32_t place_of(const struct podqueue *q, const struct kind *k)
{
    uint32_t i = 0;

    while (i + 1 < KINDS_MAX && q->kinds[i] && q->kinds[i] != k)
        i++;
    return i;
}

static uint32_t cause_at(const struct ks_event *e, uint32_t place)
{
    uint32_t action =
        e->action == KS_UPDATE ? ACTIONS - 1 : (uint32_t)__builtin_ctz(e->action | 1u << 31);

    return PODQUEUE_BY_EVENT + ((uint32_t)e->resource + place) * ACTIONS +
           MIN(action, ACTIONS - 1u);
}

uint32_t podqueue_cause_of(struct podqueue *q, const struct ks_event *e)
{
    uint32_t place = e->kind ? place_of(q, e->kind) : 0;

    if (e->kind && !q->kinds[place])
        q->kinds[place] = e->kind;
    return cause_at(e, place);
}

const struct kind *podqueue_kind(const struct podqueue *q, unsigned i)
{
    return i < KINDS_MAX ? q->kinds[i] : NULL;
}

void podqueue_came(struct podqueue *q, const struct qpod *p, uint32_t cause)
{
    q->incoming[p->place][cause]++;
}

uint64_t podqueue_incoming(const struct podqueue *q, enum podqueue_place place,
                           enum podqueue_cause cause, const struct ks_event *e)
{
    if (cause != PODQUEUE_BY_EVENT)
        return q->incoming[place][cause];
    return q->incoming[place][cause_at(e, e->kind ? place_of(q, e->kind) : 0)];
}

/* ---- events ---------------------------------------------------------------------------------- */

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

enum worth { WORTH_NOTHING, WORTH_AFTER_BACKOFF, WORTH_AT_ONCE };

static enum worth worth(struct podqueue *q, const struct qpod *p, const struct ks_event *e,
                        struct listeners *l)
{
    uint64_t asked = p->rejectors ? p->rejectors & listeners(l, p->profile, e) : 0;

    if (!asked)
        return WORTH_NOTHING;
    struct hint_stopwatch *w = q->hints++ % HINTS_WATCHED == 0 ? q->o.hints : NULL;
    if ((asked & p->pending) &&
        profile_worth_timed(p->profile, asked & p->pending, e, pod_of(p->pod), w))
        return WORTH_AT_ONCE;
    asked &= ~p->pending;
    return profile_worth_timed(p->profile, asked, e, pod_of(p->pod), w) ? WORTH_AFTER_BACKOFF
                                                                        : WORTH_NOTHING;
}

/* False: the event does not help. */
static bool try_event(struct podqueue *q, struct qpod *p, const struct ks_event *e,
                      struct listeners *l)
{
    enum worth w = worth(q, p, e, l);

    if (w == WORTH_NOTHING)
        return false;
    if (w == WORTH_AT_ONCE)
        p->expiry = 0;
    podqueue_requeue(q, p, podqueue_cause_of(q, e));
    return true;
}

bool podqueue_listens(const struct podqueue *q)
{
    return q->count[PODQUEUE_UNSCHEDULABLE] || q->count[PODQUEUE_GATED] || q->held;
}

void podqueue_event(struct podqueue *q, const struct ks_event *e, const struct kobj *except)
{
    struct listeners l = { NULL, 0 };
    struct qpod *p;

    for (p = q->held; p; p = p->next)
        p->heard |= listeners(&l, p->profile, e);
    podqueue_tidy(q);
    for (size_t i = 0, n = q->waiting.n; i < n; i++) { /* crowds that form meanwhile come later */
        const struct crowd *c = q->waiting.items[i];
        if (!(c->rejectors & listeners(&l, c->profile, e)))
            continue;
        for (struct qpod *next = p = c->first; p; p = next) {
            next = p->next;
            if (!except || !kuid_equal(p->uid, except->meta.uid))
                (void)try_event(q, p, e, &l);
        }
    }
}

/* ---- the pod itself -------------------------------------------------------------------------- */

/* Each kind of change is an event; false: there is no more. */
static bool next_change(uint32_t *bits, struct ks_event *e)
{
    e->action = *bits == KS_UPDATE ? KS_UPDATE : *bits & -*bits;
    *bits &= ~e->action;
    return e->action;
}

void podqueue_changed(struct podqueue *q, struct qpod *p, struct kobj *before)
{
    uint32_t bits = pod_changes(pod_of(before), pod_of(p->pod));
    struct ks_event e = { KS_RES_UNSCHEDULABLE_POD, 0, before, p->pod };

    while (next_change(&bits, &e)) {
        struct listeners l = { NULL, 0 };
        if (try_event(q, p, &e, &l))
            return;
    }
}

/* Who will reject it is not known yet: everybody whom the change may help has heard of it. */
void podqueue_changed_while_held(struct qpod *p, struct kobj *before)
{
    uint32_t bits = pod_changes(pod_of(before), pod_of(p->pod));
    struct ks_event e = { KS_RES_UNSCHEDULABLE_POD, 0, before, p->pod };

    while (next_change(&bits, &e))
        for (uint64_t left = profile_listeners(p->profile, &e); left; left &= left - 1)
            if (profile_worth(p->profile, left & -left, &e, pod_of(p->pod)))
                p->heard |= left & -left;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Would it wait for this key, if the plugin rejected it? */
static void held_hears(struct qpod *p, const char *plugin, uint64_t key)
{
    int slot = profile_slot(p->profile, plugin);

    if (slot < 0 || !(p->profile->keyed >> slot & 1))
        return;
    const struct profile_slot *s = &p->profile->slots[slot];
    if (s->plugin->waits_for(s->self, pod_of(p->pod)) == key)
        p->heard |= UINT64_C(1) << slot;
}

static void wake_one(struct podqueue *q, struct kuid uid, const char *plugin)
{
    struct qpod *p = uidmap_get(&q->pods, uid);

    if (!p || !p->waits) /* it does not wait any more */
        return;
    int slot = profile_slot(p->profile, plugin);
    if (slot >= 0 && (p->pending >> slot & 1))
        p->expiry = 0;
    podqueue_requeue(q, p, PODQUEUE_BY_KEY);
}

void podqueue_wake(struct podqueue *q, const char *plugin, uint64_t key)
{
    struct vec_of(struct kuid) found = { 0 };

    for (struct qpod *p = q->held; p; p = p->next)
        held_hears(p, plugin, key);
    /* One that is kept out again waits for the key again: it is not woken twice. */
    for (const struct waiter *w = keys_find(&q->keys, plugin, key); w; w = w->next)
        vec_push(&found, w->pod->uid);
    vec_foreach(&found, i)
        wake_one(q, found.items[i], plugin);
    vec_fini(&found);
}
