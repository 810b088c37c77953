/* nodemetric.h - the status of NodeMetric, from the samples of the metric cache (koordlet-metrics
 * 6.2, 6.3).
 *
 * Pure: everything is handed in, the answer belongs to the arena and borrows names from the input.
 * CPU is in milli-cores and memory in bytes, both cut towards zero.
 */
#ifndef KOORD_KOORDLET_NODEMETRIC_H
#define KOORD_KOORDLET_NODEMETRIC_H
#include "api/koord/nodemetric.h"
#include "koordlet/metriccache/store.h"
#include "koordlet/predict/reclaim.h"
#include "koordlet/states/snapshot.h"

struct kjw;

struct nodemetric_gpu {
    const char *uuid;
    int32_t minor;
    double memory_total; /* bytes */
};
struct nodemetric_in {
    nsec_t now; /* wall */
    struct metriccache *mc;
    const struct collect_policy *policy;
    bool cold_memory_started;
    const struct podset *pods;      /* NULL: none known */
    const struct nodeslo_spec *slo; /* NULL: no host applications */
    const struct nodemetric_gpu *gpus;
    uint32_t ngpus;
    uint32_t numa_nodes; /* 0 .. numa_nodes - 1 */
    /* Gets every pod that has a metric; NULL: nothing is predicted. */
    struct reclaim *predictor;
    const struct node *node; /* whose allocatable bounds what can be reclaimed; may be NULL */
};
struct nodemetric_predicted { /* of the predictor, for gauges */
    bool has_reclaimable, has_peak;
    struct reclaim_views reclaimable, peak;
};
/* ret_predicted may be NULL. */
void nodemetric_build(const struct nodemetric_in *in, struct arena *a,
                      struct nodemetric_status *ret, struct nodemetric_predicted *ret_predicted);
/* As upstream encodes it: a usage without numbers is {}, empty lists are left out. */
void nodemetric_write(const struct nodemetric_status *s, struct kjw *w, const char *key);
#endif
