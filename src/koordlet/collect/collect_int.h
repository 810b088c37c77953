/* collect_int.h - what the collectors share. */
#ifndef KOORD_KOORDLET_COLLECT_INT_H
#define KOORD_KOORDLET_COLLECT_INT_H
#include "component/metrics.h"
#include "koordlet/collect/collect.h"
#include "koordlet/collect/tracks.h"
#include "loop/loop.h"

enum { RATE_EXPIRES = 20 }; /* intervals after which a last value no longer counts */

/* A part of a round failed (one pod, one file) and the round goes on: counted, and logged once in a
 * while for each message. subject: whose; "" for the node's. What is only not there is no failure.
 */
void collect_complain(struct collect_env *e, const char *subject, const struct kerr *err);
/* Appends to a series that is opened when it is needed first. */
void collect_put(struct collect_env *e, struct series **s, enum metric_kind k,
                 const char *const *labels, double value);
/* Appends for a pod's or a container's track; the kinds of both stand in the same order. */
void collect_put_track(struct collect_env *e, struct track *t, enum track_series which,
                       const char *pod_uid, const char *container_id, double value);
/* Brings the tracks in step with the kubelet's pods. -EAGAIN: none are known yet. */
int collect_pods(struct collect_env *e, struct kerr *err);
/* Prometheus metrics carry the node's name: nothing is recorded before the node is known. */
bool collect_may_record(const struct collect_env *e);

#define COLLECT_EACH_POD(e, p) \
    for (struct pod_track *p = (e)->pods->pods, *p##_end = p + (e)->pods->n; p < p##_end; p++)
#define COLLECT_EACH_CONTAINER(p, c) \
    for (struct container_track *c = (p)->containers, *c##_end = c + (p)->n; c < c##_end; c++)

/* Every pod and then its containers; of uid and container one is NULL. */
typedef void (*collect_track_fn)(struct collect_env *e, struct track *t, const char *uid,
                                 const char *container);
int collect_each_track(struct collect_env *e, collect_track_fn fn, struct kerr *err);

/* retention.c */
void collect_retain(struct collect_env *e);

extern const struct collector collector_node, collector_pod, collector_throttled, collector_be,
    collector_system, collector_host_app, collector_node_info, collector_page_cache,
    collector_storage, collector_cold_page, collector_psi, collector_cpi, collector_resctrl;
#endif
