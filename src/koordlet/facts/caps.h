/* caps.h - what this node can do, and which features do nothing because it cannot.
 *
 * Kernels, runtimes and hardware differ; a feature whose file is missing would be silent for ever.
 * So everything is looked up at one place, each answer with a reason for people: for
 * `koordlet --check`, for an endpoint and for metrics. Reading takes about a hundred small files:
 * at start, when the kubepods cgroup appears, and on demand. Loop thread only.
 */
#ifndef KOORD_KOORDLET_FACTS_CAPS_H
#define KOORD_KOORDLET_FACTS_CAPS_H
#include "koordlet/kernel/host.h"

struct gates;
struct metrics;
struct strbuf;

enum capability {
    CAP_CGROUP_V2,
    CAP_KUBEPODS,
    CAP_CPU,
    CAP_CPUSET,
    CAP_MEMORY,
    CAP_BLKIO,
    CAP_PERF_CGROUP,
    CAP_CPU_BURST,
    CAP_CPU_IDLE,
    CAP_BVT,
    CAP_GROUP_IDENTITY,
    CAP_CORE_SCHED,
    CAP_MEMORY_MIN,
    CAP_MEMORY_LOW,
    CAP_MEMORY_HIGH,
    CAP_MEMORY_WMARK,
    CAP_MEMORY_WMARK_MIN_ADJ,
    CAP_MEMORY_PRIORITY,
    CAP_COLD_PAGES,
    CAP_PSI,
    CAP_PSI_CGROUP,
    CAP_PSI_CPU_FULL,
    CAP_PERF_EVENTS,
    CAP_HARDWARE_COUNTERS,
    CAP_RESCTRL,
    CAP_RESCTRL_MONITORING,
    CAP_RESCTRL_MOUNTED,
    CAP_BLKIO_THROTTLE,
    CAP_BLKIO_COST,
    CAP_NET_CLS,
    CAP_RUNTIME,
    CAP_NRI,
    CAP_NVML,
    CAP_RDMA,
    CAP_ANOLIS,
    CAPABILITIES
};
enum cap_state { CAP_NO, CAP_YES, CAP_UNKNOWN /* cannot be told yet */ };

struct cap {
    enum cap_state state;
    char reason[200]; /* for people: what was found, or what is missing and where it would be */
};
struct caps {
    char kernel[72]; /* "6.1.0-13-amd64" */
    enum cgroup_version version;
    const struct cgroup_layout *driver;
    bool driver_known;
    struct cap caps[CAPABILITIES];
};
struct caps_options { /* NULL: none */
    const char *containerd_endpoint, *docker_endpoint, *pouch_endpoint, *crio_endpoint;
    const char *nri_socket; /* below the run directories, "nri/nri.sock" */
};

/* Nothing here fails: what cannot be read is a "no" that says why. */
void caps_read(const struct host *h, const struct caps_options *o, struct caps *ret);
/* What a running agent knows better than the file of a socket tells. */
void caps_set_nri(struct caps *c, bool connected, const char *status);
const char *cap_name(enum capability c); /* "cpu-burst" */
static inline bool caps_has(const struct caps *c, enum capability which)
{
    return c->caps[which].state == CAP_YES;
}

/* ---- features -------------------------------------------------------------------------------- */

enum feature_state {
    FEATURE_ON,
    FEATURE_REDUCED, /* on, but a part of it does nothing */
    FEATURE_BLOCKED, /* on, and does nothing */
    FEATURE_WAITING, /* on; whether it can work is not known yet */
    FEATURE_OFF,     /* its gate is off */
    FEATURE_READY,   /* works when a NodeSLO asks for it */
    FEATURE_UNABLE   /* would do nothing if a NodeSLO asked for it */
};
struct feature_report {
    const char *name; /* "CPICollector" */
    enum feature_state state;
    bool possible;           /* the node has all it needs */
    enum capability missing; /* the first, unless possible */
    const char *consequence; /* what does not happen; "" when possible */
};
/* By index; false behind the last. */
bool caps_feature(const struct caps *c, const struct gates *g, size_t i,
                  struct feature_report *ret);
/* One sentence for the log about a feature that is on and cannot work, or only in part; false:
 * there is nothing to say about this one. */
bool caps_complaint(const struct caps *c, const struct feature_report *f, struct strbuf *out);

/* ---- showing --------------------------------------------------------------------------------- */

void caps_table(const struct caps *c, const struct gates *g, struct strbuf *out);
void caps_json(const struct caps *c, const struct gates *g, struct strbuf *out);
/* koordlet_node_capability{capability} 0 or 1, koordlet_node_feature{feature, state} 1 and
 * koordlet_node_feature_blocked{feature, capability, effect} 1 for what is on and cannot work: an
 * alert needs nothing else. May be called again with newer answers. */
void caps_metrics(const struct caps *c, const struct gates *g, struct metrics *m);
#endif
