/* entries.h - what Device says of each kind of devices (koordlet-metrics 8).
 *
 * Everything is made in the arena of the builder and borrows texts of the infos.
 */
#ifndef KOORD_KOORDLET_ENTRIES_H
#define KOORD_KOORDLET_ENTRIES_H
#include "koordlet/device/gpu.h"
#include "koordlet/device/rdma.h"
#include "koordlet/device/xpu.h"
#include "koordlet/report/device_report.h"

struct entries {
    struct arena *a;
    struct device_report_in *in;
    uint32_t cap; /* room in in->devices */
};

void entries_of_gpus(struct entries *e, const struct gpu_infos *g);
void entries_of_xpus(struct entries *e, const struct xpu_infos *x);
void entries_of_rdma(struct entries *e, const struct rdma_infos *r);

/* ---- for the three --------------------------------------------------------------------------- */

struct device_info *entries_add(struct entries *e, const char *type, const char *id, int32_t minor);
/* Room for so many more devices. */
void entries_reserve(struct entries *e, uint32_t n);
/* An empty value is no label. What a label cannot hold becomes "-", and a long text is cut: one odd
 * character must not cost the node its whole Device. */
void entries_label(struct entries *e, const char *key, const char *value);
void entries_annotation(struct entries *e, const char *key, const char *value);
/* The condition Healthy; code and message of what is wrong, "" when nobody says. */
void entries_condition(struct entries *e, struct device_info *d, const char *code,
                       const char *message);
#endif
