/* burst.h - how far latency-sensitive containers may go beyond their CPU limit for a moment.
 *
 * Two means (koordlet-qos 9): time saved up by the kernel (cpu.cfs_burst_us), and a quota that is
 * scaled up while a container is throttled and the node has CPU to spare. A limiter may bound how
 * long a container bursts. Pure: no I/O, no clock; the state of containers is the caller's.
 */
#ifndef KOORD_KOORDLET_QOS_BURST_BURST_H
#define KOORD_KOORDLET_QOS_BURST_BURST_H
#include "api/koord/nodeslo.h"
#include "base/map.h"
#include "koordlet/executor/plan.h"
#include "koordlet/states/podset.h"

/* ---- the node (9.1) -------------------------------------------------------------------------- */

enum burst_node { BURST_NODE_IDLE, BURST_NODE_COOLING, BURST_NODE_OVERLOAD, BURST_NODE_UNKNOWN };

struct burst_apart {    /* a pod that does not run in the share pool, or is best effort */
    enum qos_class qos; /* of its label */
    int64_t request_milli;
    double cores; /* 0: no sample */
};
/* How full the CPUs are that latency-sensitive pods share. */
enum burst_node burst_node_state(uint32_t processors, struct opt_f64 node_cores,
                                 const struct burst_apart *apart, size_t n,
                                 int64_t threshold_percent);

/* ---- one container --------------------------------------------------------------------------- */

/* The node's settings with those of the pod's annotation over them; a bad one does not count. */
struct cpu_burst_config burst_config(const struct cpu_burst_config *node,
                                     const kstrmap *annotations, struct arena *a);
/* cpu.cfs_burst_us of a container with this limit; 0: none. */
int64_t burst_static(const struct cpu_burst_config *c, int64_t limit_milli);

struct burst_limiter { /* all zero: none yet */
    bool set;
    int64_t capacity;
    double tokens;
    nsec_t updated; /* monotonic */
};
/* May the container be above its limit? Moves the tokens. id: for the first number of them, which
 * differs between containers and is the same in each run. used: in cores. */
bool burst_limiter_allow(struct burst_limiter *l, const struct cpu_burst_config *c, const char *id,
                         int64_t limit_milli, struct opt_f64 used, nsec_t now);

struct burst_sample {
    struct opt_f64 throttled; /* share of the periods */
    bool allowed;             /* by the limiter */
};
/* The quota that follows now_us, for a container with a limit. */
int64_t burst_quota(const struct cpu_burst_config *c, enum burst_node node, int64_t limit_milli,
                    int64_t now_us, struct burst_sample s);
/* That of the pod, when its containers are this much above their own quotas; -1 stays. */
int64_t burst_pod_quota(int64_t base_us, int64_t extra_us);

/* ---- all containers -------------------------------------------------------------------------- */

struct burst_container { /* what is kept of a container from round to round */
    char *id;
    struct burst_limiter limiter;
    int64_t quota, burst; /* planned; without normalization */
    /* It has a limit and runs without a quota: the kubelet gives CPUs of its own no quota. */
    bool unlimited;
    uint32_t round;
};
struct burst_state {
    struct map containers; /* by ID */
    uint32_t round;
    nsec_t swept;
};
void burst_state_fini(struct burst_state *s);

struct burst_in {
    const struct snapshot *known;
    enum burst_node node;
    nsec_t now; /* monotonic */
    struct plan_view view;
    /* What a container used last, in cores, and which share of its periods was throttled. */
    struct opt_f64 (*used)(void *arg, const char *container_id);
    struct opt_f64 (*throttled)(void *arg, const char *container_id);
    void *arg;
};
/* One round: moves the state. true: what is planned differs from the last round. */
bool burst_round(struct burst_state *s, const struct burst_in *in, struct arena *a);
/* What is planned, for all pods of the snapshot. */
void burst_propose(const struct burst_state *s, const struct snapshot *known, struct plan *p);
/* Of a container, as planned; NULL: it has no limit, or is not running. */
const struct burst_container *burst_find(const struct burst_state *s, const char *container_id);
#endif
