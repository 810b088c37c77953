/* gc.c - ended Reservations are kept for a while, for people to look at (sched-reservation 12). */
#include "base/klog.h"
#include "controllers/conditions.h"
#include "loop/loop.h"
#include "scheduler/plugins/reservation/controller/control_int.h"

/* One that failed for another reason is not ours to take away. */
static bool may_go(const struct reservation *r)
{
    return r->obj.meta.deleted == 0 &&
           (r->status.phase == RESERVATION_SUCCEEDED || reservation_is_expired(r));
}

/* When it ended. Whoever wrote no condition is judged by the age of the object. */
static nsec_t ended_at(const struct reservation *r)
{
    const struct timed_condition *ready =
        conditions_find(&r->status.conditions, RESERVATION_CONDITION_READY);
    nsec_t at = ready ? MAX(ready->last_probe_time, ready->last_transition_time) : 0;

    return at ? at : r->obj.meta.created;
}

static bool is_due(const struct resv_control *c, const struct reservation *r)
{
    /* In seconds: any number of them is allowed, and as nanoseconds it may be too large. */
    nsec_t since = loop_wall(c->loop) - ended_at(r);
    return since >= 0 && since / NSEC_PER_SEC >= c->o.args->gc_duration;
}

static bool misses_node(const struct resv_control *c, const struct reservation *r)
{
    return reservation_has_node(r) && !informer_get(c->nodes, r->status.node_name);
}

static void delete_it(struct resv_control *c, struct batch *b, const struct reservation *r)
{
    (void)c;
    KLOG_I(2, "Deleting an ended Reservation", KV_S("reservation", r->obj.meta.name));
    batch_delete(b, &r->obj, &(struct delete_opts){ .grace = -1 }, NULL, NULL);
}

void resv_gc_sync(void *self, struct batch *b, const char *key, struct kobj *o)
{
    struct resv_control *c = self;

    (void)key;
    if (!o || !may_go(reservation_of(o)))
        return;
    if (is_due(c, reservation_of(o)))
        delete_it(c, b, reservation_of(o));
    else if (misses_node(c, reservation_of(o)))
        resv_ask_for_node(c, b, reservation_of(o), delete_it);
}

static nsec_t interval(const struct resv_control *c)
{
    return MAX(MIN(c->o.args->gc_interval, INT64_C(1000000000)), INT64_C(1)) * NSEC_PER_SEC;
}

static void on_tick(struct loop *l, void *arg)
{
    struct resv_control *c = arg;
    struct kobj *o;

    c->gc_tick = loop_after(l, interval(c), on_tick, c);
    for (size_t it = 0; (o = informer_next(c->reservations, &it));) {
        const struct reservation *r = reservation_of(o);
        if (may_go(r) && (is_due(c, r) || misses_node(c, r)))
            controller_add_object(c->gc, o);
    }
}

void resv_gc_start(void *self)
{
    struct resv_control *c = self;
    c->gc_tick = loop_after(c->loop, interval(c), on_tick, c);
}

void resv_gc_stop(void *self)
{
    struct resv_control *c = self;
    c->gc_tick = timer_cancel(c->gc_tick);
}
