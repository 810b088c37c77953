/* control.c - what makes the Reservation controller look at a Reservation: news, and the time
 * (sched-reservation 12). */
#include "scheduler/plugins/reservation/controller/control.h"

#include "api/node.h"
#include "api/protocol/reservation.h"
#include "base/arena.h"
#include "loop/loop.h"
#include "scheduler/plugins/reservation/controller/control_int.h"

/* Owners come and go in bursts, and a status is written once for all of a burst. */
#define GATHER (100 * NSEC_PER_MSEC)
/* Ends are due by the wall clock and waited for by the monotonic one. Upstream looks at each
 * Reservation again after 15 s; we look whether the clocks have moved against each other. */
enum { CLOCKS_COMPARED_SECONDS = 15, WORKERS_MAX = 256 };
#define CLOCK_JUMP NSEC_PER_SEC

/* ---- news ------------------------------------------------------------------------------------ */

static void on_reservation(void *arg, struct kobj *o)
{
    struct resv_control *c = arg;
    controller_add_object(c->status, o);
}

/* What we wrote ourselves needs no second look. */
static void on_reservation_update(void *arg, struct kobj *old, struct kobj *o)
{
    const struct reservation *was = reservation_of(old), *is = reservation_of(o);

    if (!kuid_equal(old->meta.uid, o->meta.uid) || old->meta.generation != o->meta.generation ||
        was->status.phase != is->status.phase ||
        !streq(str_or(was->status.node_name, ""), str_or(is->status.node_name, "")) ||
        !kstrmap_equal(&old->meta.annotations, &o->meta.annotations))
        on_reservation(arg, o);
}

static void on_reservation_delete(void *arg, struct kobj *o)
{
    struct resv_control *c = arg;
    char uid[KUID_TEXT_MAX];

    kuid_format(o->meta.uid, uid, sizeof uid);
    if (c->clean)
        controller_add(c->clean, uid);
}

/* NULL: the pod uses none. */
static const char *used_by(const struct kobj *pod)
{
    return str_empty(pod_of(pod)->node_name)
               ? NULL
               : kstrmap_get(&pod->meta.annotations, ANNO_RESERVATION_ALLOCATED);
}

static void add_used(struct resv_control *c, const char *text)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct reservation_allocated used;
    struct kerr unread = { 0 };

    if (reservation_allocated_decode(text, a, &used, &unread) >= 0 && !str_empty(used.name))
        controller_add_after(c->status, used.name, GATHER);
}

static void on_pod(void *arg, struct kobj *o)
{
    const char *text = used_by(o);

    if (text)
        add_used(arg, text);
}

/* Kubelets report all the time; few reports concern a Reservation. */
static void on_pod_update(void *arg, struct kobj *old, struct kobj *o)
{
    const char *was = used_by(old), *is = used_by(o);
    bool same = was && is && streq(was, is);

    if (same && kuid_equal(old->meta.uid, o->meta.uid) && pod_of(old)->spec == pod_of(o)->spec &&
        pod_is_terminal(pod_of(old)) == pod_is_terminal(pod_of(o)))
        return;
    if (was && !same)
        add_used(arg, was);
    if (is)
        add_used(arg, is);
}

static void on_node_delete(void *arg, struct kobj *o)
{
    struct resv_control *c = arg;
    controller_add_by(c->status, c->reservations, index_reservation_node, o->meta.name);
}

/* ---- time ------------------------------------------------------------------------------------ */

static nsec_t clock_offset(const struct resv_control *c)
{
    return loop_wall(c->loop) - loop_mono(c->loop);
}

static nsec_t compare_period(const struct resv_control *c)
{
    int64_t seconds = MAX(MIN(c->o.args->resync, (int64_t)CLOCKS_COMPARED_SECONDS), INT64_C(1));
    return seconds * NSEC_PER_SEC;
}

static void on_clock_tick(struct loop *l, void *arg)
{
    struct resv_control *c = arg;
    nsec_t by = clock_offset(c) - c->clock_offset;
    struct reservation_end unused;
    struct kobj *o;

    c->clock_tick = loop_after(l, compare_period(c), on_clock_tick, c);
    if (by < CLOCK_JUMP && by > -CLOCK_JUMP)
        return;
    c->clock_offset = clock_offset(c);
    for (size_t it = 0; (o = informer_next(c->reservations, &it));)
        if (!reservation_has_ended(reservation_of(o)) &&
            reservation_end(reservation_of(o), &unused))
            controller_add_object(c->status, o);
}

static void on_start(void *self)
{
    struct resv_control *c = self;

    c->clock_offset = clock_offset(c);
    c->clock_tick = loop_after(c->loop, compare_period(c), on_clock_tick, c);
}

static void on_stop(void *self)
{
    struct resv_control *c = self;

    c->clock_tick = timer_cancel(c->clock_tick);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void watch(struct resv_control *c)
{
    static const struct informer_handler reservations = { .on_add = on_reservation,
                                                          .on_update = on_reservation_update,
                                                          .on_delete = on_reservation_delete };
    static const struct informer_handler pods = { .on_add = on_pod,
                                                  .on_update = on_pod_update,
                                                  .on_delete = on_pod };
    static const struct informer_handler nodes = { .on_delete = on_node_delete };

    controller_watch(c->status, c->reservations, &reservations, c);
    controller_watch(c->status, c->pods, &pods, c);
    controller_watch(c->status, c->nodes, &nodes, c);
}

static void make_controllers(struct resv_control *c, struct controllers *all)
{
    unsigned workers = (unsigned)MAX(MIN(c->o.args->workers.v, WORKERS_MAX), 1);

    c->status = controller_new(all, &(struct controller_opts){ .name = "reservation",
                                                               .of = c->reservations,
                                                               .sync = resv_sync,
                                                               .start = on_start,
                                                               .stop = on_stop,
                                                               .self = c,
                                                               .queue.concurrency = workers });
    if (!c->o.args->no_gc) {
        c->gc = controller_new(all, &(struct controller_opts){ .name = "reservation-gc",
                                                               .of = c->reservations,
                                                               .sync = resv_gc_sync,
                                                               .start = resv_gc_start,
                                                               .stop = resv_gc_stop,
                                                               .self = c });
        controller_read(c->gc, c->nodes);
    }
    if (c->o.clean_allocated) {
        c->clean = controller_new(all, &(struct controller_opts){ .name = "reservation-clean",
                                                                  .sync = resv_clean_sync,
                                                                  .self = c });
        controller_read(c->clean, c->pods);
    }
}

struct resv_control *resv_control_new(struct controllers *all, const struct controller_env *env,
                                      const struct resv_control_opts *o)
{
    struct resv_control *c = xnew0(struct resv_control);

    *c = (struct resv_control){ .loop = env->loop,
                                .events = env->events,
                                .o = *o,
                                .reservations = caches_get(env->caches, &kind_reservation),
                                .pods = caches_get(env->caches, &kind_pod),
                                .nodes = caches_get(env->caches, &kind_node) };
    make_controllers(c, all);
    watch(c);
    c->metrics = o->metrics ? resv_metrics_new(o->metrics, c->reservations) : NULL;
    return c;
}

struct resv_control *resv_control_free(struct resv_control *c)
{
    if (!c)
        return NULL;
    on_stop(c);
    resv_gc_stop(c);
    resv_metrics_free(c->metrics);
    controller_free(c->clean);
    controller_free(c->gc);
    controller_free(c->status);
    free(c);
    return NULL;
}
