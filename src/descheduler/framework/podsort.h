/* podsort.h - which pod goes first: Koordinator's PodSorter (descheduler 2).
 *
 * Ascending: who stands first is evicted first. Of equal pods the one whose workload was moved
 * longest ago comes first, then they come by namespace and name.
 */
#ifndef KOORD_DESCHEDULER_PODSORT_H
#define KOORD_DESCHEDULER_PODSORT_H
#include "api/pod.h"

/* What a pod is ranked by, derived once. */
struct podrank {
    const struct pod *pod;
    int64_t priority, deletion_cost;
    int32_t eviction_cost;
    uint8_t priority_class, kube_qos, koord_qos;
    /* The plugin's comparator, between the costs and the age: more goes first. Pods without a
     * number go behind those with one. */
    bool has_score;
    double score;
    nsec_t moved;     /* kd_last_move(); 0: never */
    const void *data; /* the plugin's */
};
struct podrank podrank_of(const struct pod *p);
/* Negative: a goes first. By the first seven rules and the age; 0: equal. */
int podrank_compare(const struct podrank *a, const struct podrank *b);
/* Also equal pods have an order. */
void podrank_sort(struct podrank *items, size_t n);
#endif
