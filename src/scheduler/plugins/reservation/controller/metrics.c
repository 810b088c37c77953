/* metrics.c - phases and resources of Reservations as gauges (sched-reservation 12).
 *
 * Upstream fills them anew each minute. Ours are read from the cache when somebody asks: they are
 * never out of date, and cost nothing in between.
 */
#include "component/metrics.h"

#include "base/vec.h"
#include "scheduler/plugins/reservation/controller/control_int.h"

struct resv_metrics {
    const struct informer *reservations;
    struct metric *phase, *resource;
};

static const struct metric_desc phase_desc = { "scheduler_reservation_status_phase",
                                               "1 for the phase that a Reservation is in.",
                                               METRIC_GAUGE, .labels = { "name", "phase" } };
static const struct metric_desc resource_desc = {
    "scheduler_reservation_resource", "What a Reservation holds and what its owners use of it.",
    METRIC_GAUGE, .labels = { "type", "name", "resource", "unit" }
};

static int by_name(const void *a, const void *b)
{
    return strcmp((*(struct kobj *const *)a)->meta.name, (*(struct kobj *const *)b)->meta.name);
}

/* Sorted: what is shown does not depend on how a cache lies in memory. */
static kobjvec sorted(const struct informer *inf)
{
    kobjvec all = { 0 };
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(inf, &it));)
        vec_push(&all, o);
    if (all.n)
        qsort(all.items, all.n, sizeof *all.items, by_name);
    return all;
}

static void put_phases(void *arg, metric_put_fn put, void *out)
{
    static const uint8_t phases[] = { RESERVATION_AVAILABLE, RESERVATION_FAILED,
                                      RESERVATION_PENDING, RESERVATION_SUCCEEDED };
    const struct resv_metrics *m = arg;
    kobjvec all = sorted(m->reservations);

    vec_foreach(&all, i) {
        uint8_t is = reservation_of(all.items[i])->status.phase;
        is = is == RESERVATION_PHASE_NONE ? RESERVATION_PENDING : is;
        for (size_t k = 0; k < ARRAY_LEN(phases); k++)
            put(out, METRIC_VALUES(all.items[i]->meta.name, reservation_phase_names[phases[k]]),
                is == phases[k] ? 1 : 0);
    }
    vec_fini(&all);
}

/* A quantity as people count it. */
static double counted(const char *resource, struct qty q, const char **ret_unit)
{
    if (streq(resource, "cpu")) {
        *ret_unit = "core";
        return (double)qty_milli(q) / 1000;
    }
    *ret_unit = streq(resource, "memory") ? "Gi" : "raw";
    return (double)qty_value(q) / (streq(resource, "memory") ? 1024.0 * 1024 * 1024 : 1);
}

static void put_resource(const struct reservation *r, const struct resqty *q, metric_put_fn put,
                         void *out)
{
    const char *unit, *name = r->obj.meta.name;
    double has = counted(q->name, q->value, &unit);
    double used = counted(q->name, reslist_get(&r->status.allocated, q->name), &unit);

    put(out, METRIC_VALUES("allocatable", name, q->name, unit), has);
    put(out, METRIC_VALUES("allocated", name, q->name, unit), used);
    if (has > 0)
        put(out, METRIC_VALUES("utilization", name, q->name, "ratio"), used / has);
}

static void put_resources(void *arg, metric_put_fn put, void *out)
{
    const struct resv_metrics *m = arg;
    kobjvec all = sorted(m->reservations);

    vec_foreach(&all, i) {
        const struct reservation *r = reservation_of(all.items[i]);
        for (uint32_t k = 0; k < r->status.allocatable.n; k++)
            put_resource(r, &r->status.allocatable.items[k], put, out);
    }
    vec_fini(&all);
}

struct resv_metrics *resv_metrics_new(struct metrics *m, const struct informer *reservations)
{
    struct resv_metrics *x = xnew0(struct resv_metrics);

    x->reservations = reservations;
    x->phase = metrics_add(m, &phase_desc);
    x->resource = metrics_add(m, &resource_desc);
    metric_set_rows(x->phase, put_phases, x);
    metric_set_rows(x->resource, put_resources, x);
    return x;
}

struct resv_metrics *resv_metrics_free(struct resv_metrics *m)
{
    if (!m)
        return NULL;
    metric_set_rows(m->phase, NULL, NULL);
    metric_set_rows(m->resource, NULL, NULL);
    free(m);
    return NULL;
}
