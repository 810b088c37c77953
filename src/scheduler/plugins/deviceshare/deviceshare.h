/* deviceshare.h - what the files of the plugin share: the instance, and what it asks of a row.
 *
 * Where to look: inventory.h (the devices of a node), holdings.h (who holds which: a service),
 * devrow.h (a row: what is in use), wish.h (what a pod asks for), allocate.h (which devices it
 * gets). Everything here is pure over the row, the holdings and the attempt.
 */
#ifndef KOORD_SCHEDULER_DEVICESHARE_DEVICESHARE_H
#define KOORD_SCHEDULER_DEVICESHARE_DEVICESHARE_H
#include "base/vec.h"
#include "scheduler/framework/numa.h"
#include "scheduler/framework/reservation.h"
#include "scheduler/plugins/deviceshare/allocate.h"
#include "scheduler/plugins/deviceshare/args.h"
#include "scheduler/plugins/deviceshare/templates.h"

/* Rows of an attempt where reserved room was given back; several attempts may be nested. */
struct restored_devices {
    uint64_t serial; /* of the attempt; 0: none */
    struct vec_of(struct ks_restored) rows;
    struct vec_of(struct taken_over) taken;
};
struct taken_over { /* running pods that a reservation may take over: they are away from the row */
    uint32_t row, n;
    const struct pod *const *pods;
};
enum { DEVICE_ATTEMPTS_NESTED = 4 };

struct node_locking;
struct packing;
struct device_plugin {
    struct holdings *holdings; /* first: row data is filled with it */
    struct templates *templates;
    const struct deviceshare_args *args;
    struct device_scorer scorer;
    struct packing *packing; /* strategy FragmentationAware (packing.h); NULL: another one */
    bool adapts, resizes;    /* feature gates DevicePluginAdaption, ResizePod */
    struct ks_env env;
    struct restored_devices restored[DEVICE_ATTEMPTS_NESTED];
    uint32_t restored_next;
    struct vec_of(struct node_locking *) locking; /* nodes that are being locked (vendor.h) */
    struct arena *scratch;                        /* of one answer */
};

struct row_try { /* a pod on a row; c->state is the wish */
    struct device_plugin *d;
    const struct ks_cycle *c;
    const struct ks_pod *p;
    uint32_t row;
    uint64_t numa;        /* NUMA nodes; 0: any */
    bool reserving;       /* the answer counts: nothing is taken for granted */
    const uint32_t *card; /* the GPU that is best for a part of one; NULL: any */
};
/* What the pod gets on the row: of any reservation that it may use, or of what nobody reserved. The
 * result is in the plugin's scratch arena; ret and why may be NULL. */
enum ks_code devices_try(const struct row_try *t, struct device_result *ret, struct ks_texts *why);
/* The same of the reservation that it takes, or of none (NULL). */
enum ks_code devices_try_of(const struct row_try *t, const struct ks_reservation *of,
                            struct device_result *ret, struct ks_texts *why);
/* Has the attempt something to do with reservations on this row? */
bool devices_restored(const struct row_try *t);
/* The score of the row, with what the first reservation keeps that would do for the pod. Which one
 * it will take is not known when scores are made that other pods use again. */
int64_t devices_score_row(const struct row_try *t);
extern const struct ks_reservation_hooks device_reservations;

/* Does the pod fit the row? texts may be NULL. */
enum ks_code devices_judge(const struct row_try *t, struct ks_texts *texts);
extern const struct ks_numa device_numa;

/* For koordctl explain: the devices of the kinds that the pod asks for. */
void devices_show(void *self, const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
                  struct kjw *w);

/* Writes on the pod, or on the Reservation, what it got. */
enum ks_code devices_pre_bind(void *self, struct ks_bind *b, struct ks_texts *why);
enum ks_code devices_pre_bind_reservation(void *self, struct ks_bind *b, struct ks_texts *why);
#endif
