/* podresources.h - what a whole pod asks for: Kubernetes 1.35's rules for containers, init
 * containers, sidecars, overhead, pod-level resources and resizing in place (scheduler-core 2.2).
 *
 * Sums are exact; rounding happens once, when counts are made of them. Results live in the arena
 * and borrow the names of the resources from the pod. No state; safe on any thread.
 */
#ifndef KOORD_API_PODRESOURCES_H
#define KOORD_API_PODRESOURCES_H
#include "api/pod.h"
#include "api/protocol/protocol.h"

struct podres_options {
    bool exclude_overhead;
    bool use_status;            /* containers that are being resized count at their maximum */
    bool skip_pod_level;        /* as if spec.resources were not there */
    const reslist *non_missing; /* for every container, where its requests lack the name; or NULL */
};

/* options may be NULL. */
reslist pod_requests(const struct pod *p, const struct podres_options *o, struct arena *a);
reslist pod_limits(const struct pod *p, const struct podres_options *o, struct arena *a);
/* The same of a template. */
reslist pod_spec_requests(const struct pod_spec *s, const struct podres_options *o,
                          struct arena *a);
reslist pod_spec_limits(const struct pod_spec *s, const struct podres_options *o, struct arena *a);

/* As whole numbers, sorted by name: cpu in milli, everything else in units, rounded up. */
struct rescount {
    const char *name;
    int64_t count;
};
typedef KLIST(struct rescount) rescountlist;
rescountlist reslist_counts(const reslist *l, struct arena *a);

/* spec.resources has requests that count: cpu, memory, hugepages. */
bool pod_level_requests_set(const struct pod_spec *s);
#endif
