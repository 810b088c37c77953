/* metrics.h - koord_scheduler_dra_devices{driver,state}: how many devices there are, and how many
 * are taken. */
#ifndef KOORD_SCHEDULER_DYNAMICRESOURCES_METRICS_H
#define KOORD_SCHEDULER_DYNAMICRESOURCES_METRICS_H

struct dra_metrics;
struct metrics;
struct pools;

/* The pools must outlive it. */
struct dra_metrics *dra_metrics_new(struct pools *pools, struct metrics *all);
struct dra_metrics *dra_metrics_free(struct dra_metrics *m); /* NULL is fine; returns NULL */
#endif
