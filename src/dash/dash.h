/* dash.h - what a cluster does now and did over the last day, in sums: for the dashboard, for
 * koordctl top and for the demo.
 *
 * Informers of nodes, pods, NodeMetrics, Reservations and PodMigrationJobs feed one row per node;
 * each minute of the wall clock the sum of all rows is kept, for 24 hours. Of an object
 * stays what a view shows: a pod takes about half a kilobyte, all in. Loop thread only; what is
 * returned is borrowed until the next turn.
 *
 * A node's use is what its NodeMetric says, unless that is older than DASH_FRESH: then nothing is
 * known of the node and it counts in no sum of use. Capacity is status.capacity.
 */
#ifndef KOORD_DASH_DASH_H
#define KOORD_DASH_DASH_H
#include "api/protocol/protocol.h"
#include "base/base.h"

struct dash;
struct kube;

/* nodeMetricExpirationSeconds, the age at which the scheduler stops believing a NodeMetric. */
#define DASH_FRESH (180 * NSEC_PER_SEC)
enum { DASH_MINUTES = 24 * 60 };

struct dash_amount {
    int64_t mcpu, bytes;
};
/* Who uses a node. Pods without a class are prod, or batch when their QoS class is BE; koord-free
 * counts as batch; system is what the node uses beyond its pods. */
enum dash_user { DASH_PROD, DASH_MID, DASH_BATCH, DASH_SYSTEM, DASH_USERS };

struct dash_node {
    const char *name;
    struct dash_amount capacity, allocatable, batch_allocatable;
    struct dash_amount requested, batch_requested; /* by its pods */
    struct dash_amount used, by_user[DASH_USERS];  /* zero unless is_fresh */
    struct dash_amount by_qos[QOS_COUNT];          /* pods only */
    nsec_t reported;                               /* wall time of the NodeMetric; 0: never */
    uint32_t pods;                                 /* not terminal */
    bool is_fresh, is_ready, is_unschedulable;
};

struct dash_sums { /* of all nodes that report */
    struct dash_amount capacity, used, by_user[DASH_USERS];
    struct dash_amount batch_allocatable, batch_requested;
    uint32_t nodes, reporting; /* all nodes; those whose use is known */
    uint32_t pods, pending;    /* not terminal; of these without a node */
};
struct dash_minute {
    nsec_t at; /* wall time, a multiple of a minute */
    struct dash_sums sums;
};

struct dash_pod_use {             /* a pod that is not terminal */
    const char *ns, *name, *node; /* node "": it waits */
    struct dash_amount requested, batch_requested, used;
    enum qos_class qos;
    enum priority_class priority;
    bool is_measured; /* its node's NodeMetric is fresh and has it */
};

struct dash_opts {
    const char *ns;         /* pods of this namespace only; NULL: all */
    bool no_pods, no_moves; /* without pods; without Reservations and PodMigrationJobs */
};
struct dash *dash_new(struct kube *k, const struct dash_opts *o);
struct dash *dash_free(struct dash *d); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(dash_free, struct dash *)

/* ---- where it all comes from ----------------------------------------------------------------- */

enum dash_state {
    DASH_LISTING, /* the first list is not complete */
    DASH_WELL,
    DASH_FORBIDDEN, /* the person has no right to it */
    DASH_ABSENT,    /* the server does not know the kind: its CRD is not installed */
    DASH_LOST,      /* the API server does not answer */
};
struct dash_source {
    const char *resource, *group; /* "nodemetrics", "slo.koordinator.sh" */
    enum dash_state state;
    const char *problem; /* the server's words; "" when it is well */
};
/* Number i; false behind the last. */
bool dash_source(const struct dash *d, size_t i, struct dash_source *ret);
/* Each source has its first complete list, or is known not to get one. */
bool dash_settled(const struct dash *d);

/* ---- reading --------------------------------------------------------------------------------- */

struct dash_sums dash_sums(struct dash *d);
/* Copies up to max minutes, oldest first, the current one not among them; returns how many. */
size_t dash_minutes(const struct dash *d, size_t max, struct dash_minute *ret);

const struct dash_node *dash_node(struct dash *d, const char *name); /* NULL: no such node */
/* Iterate: size_t it = 0; while ((n = dash_next_node(d, &it))) ... in no order. */
const struct dash_node *dash_next_node(struct dash *d, size_t *it);
/* All pods that are not terminal, in no order. */
typedef void (*dash_pod_fn)(void *arg, const struct dash_pod_use *p);
void dash_each_pod(struct dash *d, dash_pod_fn fn, void *arg);
#endif
