/* allocate.h - which devices of a row a pod gets (sched-device 6, 7).
 *
 * Pure over the row, the wish and the limits of the try; the same question has the same answer in
 * filters, hints and reserve(). Memory comes from the caller's arena.
 */
#ifndef KOORD_SCHEDULER_DEVICESHARE_ALLOCATE_H
#define KOORD_SCHEDULER_DEVICESHARE_ALLOCATE_H
#include "scheduler/plugins/deviceshare/devrow.h"
#include "scheduler/plugins/deviceshare/wish.h"

struct device_scorer {
    bool most; /* the fuller the better */
    bool npu;  /* resources of NPUs weigh something too */
    int64_t weight[DEVICE_KINDS][DEVICE_RESOURCES];
};
/* How good a device, or a node, is: within [0, 100]. */
int64_t device_score(const struct device_scorer *s, enum device_kind kind,
                     const struct amounts *total, const struct amounts *free,
                     const struct amounts *want);

struct device_try {
    const struct devrow *row; /* with an inventory */
    const struct wish *wish;
    const struct device_scorer *scorer;
    const struct gpu_templates *templates; /* NULL: none */
    struct arena *arena;
    bool reserving; /* devices next to the primary ones are looked at, however well planned */

    /* ---- what may be used of the row, beside what it says itself ---- */
    uint64_t numa;                /* devices of these NUMA nodes; 0: of any */
    const struct amounts *barred; /* [cards]: kept for others; NULL: nothing is */
    const uint8_t *vf_barred;     /* [vfs]: not 0: kept for others; NULL: none is */
    bool limited;                 /* these devices and amounts, and nothing else: */
    const struct held *only;
    uint32_t nonly;
    const uint8_t *preferred; /* [cards]: not 0: these first; NULL: none */
    const uint8_t *must;      /* [cards]: not 0: all of these, and others; NULL: none */
};
/* KS_SUCCESS, or why not. Items are in the arena, GPU memory and its share are both there. ret and
 * why may be NULL. */
struct device_result {
    struct held *items;
    uint32_t n;
};
enum ks_code devices_allocate(const struct device_try *t, struct device_result *ret,
                              struct ks_texts *why);
/* The sum of the scores of all kinds that are asked for; may exceed 100. */
int64_t devices_score(const struct device_try *t);
/* The same for a pod where amounts decide, on all of the row. */
int64_t devices_score_plain(const struct devrow *row, const struct wish *w,
                            const struct device_scorer *s);
/* How many devices of a kind the pod wants on this row, and how much of each. */
enum ks_code devices_wanted(const struct device_try *t, enum device_kind kind, int64_t *ret_count,
                            struct amounts *ret_each, struct ks_texts *why);
#endif
