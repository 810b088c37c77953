/* evictrate.h - how fast pods may be evicted: all together, and of one workload or namespace
 * (descheduler 4.8, 4.10).
 *
 * Token buckets on the loop's monotonic clock. Those of workloads and namespaces come into being
 * with the first eviction and are forgotten when they have been idle. Loop thread only.
 */
#ifndef KOORD_DESCHEDULER_MIGRATION_EVICTRATE_H
#define KOORD_DESCHEDULER_MIGRATION_EVICTRATE_H
#include "base/base.h"

struct evictrate;
struct migration_args;
struct owner_ref;
struct pod;
struct workloads;

struct evictrate *evictrate_new(struct workloads *w);
struct evictrate *evictrate_free(struct evictrate *l); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(evictrate_free, struct evictrate *)

/* How long to wait until this pod may be evicted; 0: now. *ret_what: "workload", "namespace" or
 * "evictQPS"; NULL is fine. With `objects_only` the rate of all evictions does not count. */
nsec_t evictrate_wait(struct evictrate *l, const struct migration_args *a, const struct pod *p,
                      bool objects_only, nsec_t now, const char **ret_what);
/* It was evicted: takes from the buckets of its workload and namespace. */
void evictrate_take_objects(struct evictrate *l, const struct migration_args *a,
                            const struct pod *p, nsec_t now);
/* For so long after an eviction its object limiters may hold the next one back. */
nsec_t evictrate_memory(const struct migration_args *a);
/* An eviction is asked for: takes from the rate of all. */
void evictrate_take_rate(struct evictrate *l, const struct migration_args *a, nsec_t now);
/* A pod of this namespace and controller (NULL: it had none) was evicted before we began: takes
 * from all buckets. To be told in the order of time. */
void evictrate_recall(struct evictrate *l, const struct migration_args *a, const char *ns,
                      const struct owner_ref *owner, nsec_t when);
#endif
