/* prebind.c - plugins prepare the node for the pod (scheduler-core 6, 10). */
#include "api/pod.h"
#include "base/arena.h"
#include "loop/loop.h"
#include "scheduler/engine/binding.h"
#include "scheduler/framework/reservation.h"

static const struct profile_slot *at_work(const struct binding *b)
{
    return profile_at(b->active->profile, KS_POINT_PRE_BIND, b->at);
}

/* The plugin at work will not be heard any more. */
void prebind_cancel(struct binding *b)
{
    if (!b->asked)
        return;
    b->asked = false;
    const struct profile_slot *s = at_work(b);
    if (s->plugin->cancel)
        s->plugin->cancel(s->self, &b->pub);
}

/* true: go on with the next plugin. */
static bool pre_bind_said(struct binding *b, enum ks_code code, const struct ks_texts *why)
{
    const struct profile_point *point = &b->active->profile->points[KS_POINT_PRE_BIND];

    if (b->each)
        times_add(b->active->times, LAP_PRE_BIND, point->slots[b->at], code,
                  loop_stopwatch(b->s->loop) - b->turn);
    if (code == KS_SUCCESS || code == KS_SKIP)
        return true;
    binding_count_time(b, LAP_PRE_BIND, code);
    binding_refused(b, "PreBind", point->slots[b->at], code, why);
    return false;
}

static void pre_bind_next(struct binding *b)
{
    const struct profile_point *point = &b->active->profile->points[KS_POINT_PRE_BIND];

    for (; b->at < point->n; b->at++) {
        const struct profile_slot *s = at_work(b);
        CLEANUP(arena_free) struct arena *a = arena_new_sized(256);
        struct ks_texts why = { .arena = a };
        if (!(b->flight >> point->slots[b->at] & 1))
            continue;
        b->turn = b->each ? loop_stopwatch(b->s->loop) : 0;
        const struct ks_reservation_hooks *hooks =
            b->subject.how == &ks_subject_pod ? NULL : s->plugin->reservations;
        enum ks_code code =
            (hooks && hooks->pre_bind_reservation ? hooks->pre_bind_reservation
                                                  : s->plugin->pre_bind)(s->self, &b->pub, &why);
        if (code == KS_WAIT) {
            b->asked = true;
            return;
        }
        if (!pre_bind_said(b, code, &why))
            return;
    }
    if (bindsend_is_settled(b)) /* another has bound it meanwhile */
        return;
    bindsend_choose(b);
    binding_enter(b, bindwrite_is_needed(b) ? BIND_WRITE : BIND_SEND);
}

void prebind_done(struct ks_bind *pub, enum ks_code code, const char *why)
{
    struct binding *b = container_of(pub, struct binding, pub);
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct ks_texts texts = { .arena = a };

    assert(b->asked);
    b->asked = false;
    if (why)
        ks_texts_add(&texts, why);
    if (!pre_bind_said(b, code, &texts))
        return;
    b->at++;
    pre_bind_next(b);
}

static bool waits_for_others(const struct profile_slot *s, const struct pod *p)
{
    const struct ks_plugin *pl = s->plugin;

    return pl->pre_flight && (!pl->pre_bind_waits || pl->pre_bind_waits(s->self, p));
}

bool prebind_flight(struct binding *b, bool *ret_waits)
{
    const struct profile_point *point = &b->active->profile->points[KS_POINT_PRE_BIND];
    struct ks_texts why = { .arena = b->s->arena };

    *ret_waits = false;
    for (uint32_t i = 0; i < point->n; i++) {
        uint32_t slot = point->slots[i];
        const struct profile_slot *s = &b->active->profile->slots[slot];
        enum ks_code code = KS_SUCCESS;
        if (s->plugin->pre_flight)
            code = s->plugin->pre_flight(s->self, pod_of(b->pub.pod), b->node, &why);
        if (code == KS_SKIP)
            continue;
        if (code != KS_SUCCESS) {
            binding_refused(b, "PreBindPreFlight", slot, code, &why);
            return false;
        }
        b->flight |= UINT64_C(1) << slot;
        *ret_waits |= waits_for_others(s, pod_of(b->pub.pod));
    }
    return true;
}

void prebind_start(struct binding *b)
{
    b->began = loop_stopwatch(b->s->loop);
    b->timer = timer_cancel(b->timer);
    pre_bind_next(b);
}
