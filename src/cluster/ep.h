/* ep.h - inside the controllers of Endpoints and EndpointSlices.
 *
 *   endpoints.c    news; a Service's Endpoints and slices; slices that mirror Endpoints
 *   ep_view.c      addresses behind a Service, grouped by the ports they have
 *   ep_slices.c    slices of at most 100 addresses, with as few writes as possible
 */
#ifndef KOORD_CLUSTER_EP_H
#define KOORD_CLUSTER_EP_H
#include "cluster/internal.h"

enum { EP_SLICE_MAX = 100, EP_SUBSET_MAX = 1000 };

struct ep_addr { /* texts live in the arena of the batch, or as long as their objects */
    const char *ip, *hostname, *node, *zone; /* "" when absent */
    const char *target_json;                 /* targetRef; NULL: none */
    const char *id;                          /* tells it from others */
    bool ready, serving, terminating;
    bool plain;  /* Endpoints say no more than whether it is ready */
    bool placed; /* in a slice */
};
struct ep_group { /* addresses with the same ports */
    const char *ports_json;
    struct vec_of(struct ep_addr) addrs;
};
typedef struct vec_of(struct ep_group) epgroupvec;
void epgroups_fini(epgroupvec *g);

/* Pods of a Service: sorted by namespace and name. */
void ep_view_service(const struct svc *s, const kobjvec *pods, struct informer *nodes,
                     epgroupvec *out, struct arena *a);
/* Addresses of an Endpoints object. */
void ep_view_endpoints(const struct endpoints_doc *e, epgroupvec *out, struct arena *a);
/* The subsets that Endpoints have; over: addresses were left out. */
void ep_write_subsets(const epgroupvec *groups, bool ports_needed, struct strbuf *out, bool *over);

struct ep_slicing {
    const struct kobj *owner; /* of the slices, which have its name as prefix */
    const char *managed_by;   /* label */
    bool headless;
    struct informer *slices;
    epgroupvec *groups;
};
void ep_sync_slices(struct batch *b, const struct ep_slicing *s);
bool ep_is_slice_of(const struct kobj *slice, const char *managed_by);
#endif
