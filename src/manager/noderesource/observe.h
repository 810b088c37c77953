/* observe.h - metrics of the noderesource controller (manager 1.2). */
#ifndef KOORD_MANAGER_NR_OBSERVE_H
#define KOORD_MANAGER_NR_OBSERVE_H
#include "manager/noderesource/nr.h"

struct informer;
struct metrics;
struct nr_observer;

/* nodes: for the gauges of what nodes have; it must outlive the observer, as the metrics. */
struct nr_observer *nr_observer_new(struct metrics *m, struct informer *nodes);
struct nr_observer *nr_observer_free(struct nr_observer *o);

/* What a sync calculated; counts it as succeeded. */
void nr_observe_result(struct nr_observer *o, const struct nr_input *in, const struct nr_result *r,
                       const struct nr_plan *p);
/* A write that failed. */
void nr_observe_failure(struct nr_observer *o, const char *reason);
#endif
