/* placer.h - the scheduler's own attempt, for the descheduler: could a pod run anywhere else?
 *
 * Nothing is read of the cluster until somebody asks; from then on the objects that the scheduler's
 * plugins read are watched. The cluster that pods are tried on is put together anew when it is
 * older than a few seconds. Loop thread only.
 */
#ifndef KOORD_MAIN_PLACER_H
#define KOORD_MAIN_PLACER_H
#include "descheduler/framework/plugin.h"

struct placer;
/* Loop and client must outlive it. config: a file with the profiles of the cluster's schedulers;
 * NULL or "": those that are shipped. NULL when the file is bad. */
struct placer *placer_new(struct loop *l, struct kube *k, const char *config, struct kerr *err);
struct placer *placer_free(struct placer *p); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(placer_free, struct placer *)
/* For descheduler_opts.placer; lives as long as the placer. */
const struct kd_placer *placer_ops(const struct placer *p);
#endif
