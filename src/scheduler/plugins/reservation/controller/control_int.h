/* control_int.h - what the files of the Reservation controller share. */
#ifndef KOORD_SCHEDULER_RESERVATION_CONTROL_INT_H
#define KOORD_SCHEDULER_RESERVATION_CONTROL_INT_H
#include "api/koord/reservation_life.h"
#include "controllers/controller.h"
#include "scheduler/plugins/reservation/controller/control.h"

struct resv_metrics;
struct timer;

struct resv_control {
    struct loop *loop;
    struct recorder *events; /* NULL: none are written */
    struct resv_control_opts o;
    struct informer *reservations, *pods, *nodes;
    struct controller *status; /* keys: names of Reservations */
    struct controller *gc;     /* the same, of ended ones; NULL: they stay */
    struct controller *clean;  /* keys: UIDs of Reservations that are gone; NULL: nobody cleans */
    struct timer *gc_tick, *clock_tick;
    nsec_t clock_offset; /* of the wall clock to the monotonic one, when that was last compared */
    struct resv_metrics *metrics;
};

/* sync.c - one Reservation is brought to the status it should have. */
void resv_sync(void *self, struct batch *b, const char *key, struct kobj *o);
/* clean.c - pods that name a Reservation which is gone. */
void resv_clean_sync(void *self, struct batch *b, const char *uid, struct kobj *unused);

/* The cache does not have its node. A watch of nodes that lags behind that of Reservations must
 * not end one: the server is asked, and fn is called when it does not have the node either. */
typedef void (*resv_gone_fn)(struct resv_control *c, struct batch *b, const struct reservation *r);
void resv_ask_for_node(struct resv_control *c, struct batch *b, const struct reservation *r,
                       resv_gone_fn fn);

/* gc.c - ended ones are deleted after a while. */
void resv_gc_sync(void *self, struct batch *b, const char *key, struct kobj *o);
void resv_gc_start(void *self);
void resv_gc_stop(void *self);

/* index.c - by the UID of the Reservation that a pod has its resources from; by the node of a
 * Reservation. */
void index_pod_reservation(const struct kobj *pod, index_emit_fn emit, void *to);
void index_reservation_node(const struct kobj *reservation, index_emit_fn emit, void *to);

/* metrics.c - what /metrics shows, from the cache when it is asked. */
struct resv_metrics *resv_metrics_new(struct metrics *m, const struct informer *reservations);
struct resv_metrics *resv_metrics_free(struct resv_metrics *m);
#endif
