/* caps_features.c - which feature needs what of the node, and how answers are shown. */
#include <stdio.h>

#include "base/strbuf.h"
#include "component/metrics.h"
#include "koordlet/facts/caps.h"
#include "koordlet/options.h"
#include "json/kj.h"

static const char *const names[CAPABILITIES] = {
    [CAP_CGROUP_V2] = "cgroup-v2",
    [CAP_KUBEPODS] = "kubepods-cgroup",
    [CAP_CPU] = "cpu-controller",
    [CAP_CPUSET] = "cpuset-controller",
    [CAP_MEMORY] = "memory-controller",
    [CAP_BLKIO] = "blkio-controller",
    [CAP_PERF_CGROUP] = "perf-cgroup",
    [CAP_CPU_BURST] = "cpu-burst",
    [CAP_CPU_IDLE] = "cpu-idle",
    [CAP_BVT] = "cpu-bvt",
    [CAP_GROUP_IDENTITY] = "group-identity-switch",
    [CAP_CORE_SCHED] = "core-scheduling",
    [CAP_MEMORY_MIN] = "memory-min",
    [CAP_MEMORY_LOW] = "memory-low",
    [CAP_MEMORY_HIGH] = "memory-high",
    [CAP_MEMORY_WMARK] = "memory-wmark",
    [CAP_MEMORY_WMARK_MIN_ADJ] = "memory-wmark-min-adj",
    [CAP_MEMORY_PRIORITY] = "memory-priority",
    [CAP_COLD_PAGES] = "cold-pages",
    [CAP_PSI] = "psi",
    [CAP_PSI_CGROUP] = "psi-cgroup",
    [CAP_PSI_CPU_FULL] = "psi-cpu-full",
    [CAP_PERF_EVENTS] = "perf-events",
    [CAP_HARDWARE_COUNTERS] = "hardware-counters",
    [CAP_RESCTRL] = "resctrl",
    [CAP_RESCTRL_MONITORING] = "resctrl-monitoring",
    [CAP_RESCTRL_MOUNTED] = "resctrl-mounted",
    [CAP_BLKIO_THROTTLE] = "blkio-throttle",
    [CAP_BLKIO_COST] = "blkio-cost",
    [CAP_NET_CLS] = "net-cls",
    [CAP_RUNTIME] = "container-runtime",
    [CAP_NRI] = "nri",
    [CAP_NVML] = "nvml",
    [CAP_RDMA] = "rdma",
    [CAP_ANOLIS] = "anolis-kernel",
};

const char *cap_name(enum capability c)
{
    return names[c];
}

/* ---- features -------------------------------------------------------------------------------- */

enum { NO_GATE = KOORDLET_GATES /* always on */, BY_NODESLO /* on when one says so */ };

struct need {
    enum capability cap;
    const char *consequence; /* without it */
    bool vital;              /* without it nothing of the feature works */
};
/* Of the features of eviction: by usage of CPU or memory, by stopping containers. */
#define EVICTS(cap)                                                                               \
    {                                                                                             \
        { cap, "nobody is evicted: the usage of pods is not known", true },                       \
        {                                                                                         \
            CAP_RUNTIME, "victims are evicted through the API server, not stopped at once", false \
        }                                                                                         \
    }
static const struct feature {
    const char *name;
    unsigned gate;
    struct need needs[5]; /* ends with a NULL consequence */
} features[] = {
    { "PodMetrics",
      NO_GATE,
      { { CAP_CPU, "no CPU usage of pods and containers", true },
        { CAP_MEMORY, "no memory usage of pods and containers", true },
        { CAP_KUBEPODS, "no usage of pods until their cgroups are there", true } } },
    { "BECPUSuppress",
      GATE_BE_CPU_SUPPRESS,
      { { CAP_CPU, "best-effort pods are not held back", true },
        { CAP_CPUSET, "best-effort pods cannot be held back by cpuset, only by cfsQuota",
          false } } },
    { "CPUBurst",
      GATE_CPU_BURST,
      { { CAP_CPU_BURST,
          "containers cannot save unused CPU time for bursts; cfsQuotaBurst works all the same",
          false } } },
    { "RdtResctrl",
      GATE_RDT_RESCTRL,
      { { CAP_RESCTRL, "cache and memory bandwidth are not divided between QoS classes", true } } },
    { "BECPUEvict", GATE_BE_CPU_EVICT, EVICTS(CAP_CPU) },
    { "CPUEvict", GATE_CPU_EVICT, EVICTS(CAP_CPU) },
    { "CPUAllocatableEvict", GATE_CPU_ALLOCATABLE_EVICT, EVICTS(CAP_CPU) },
    { "BEMemoryEvict", GATE_BE_MEMORY_EVICT, EVICTS(CAP_MEMORY) },
    { "MemoryEvict", GATE_MEMORY_EVICT, EVICTS(CAP_MEMORY) },
    { "MemoryAllocatableEvict", GATE_MEMORY_ALLOCATABLE_EVICT, EVICTS(CAP_MEMORY) },
    { "MemoryReclaim",
      GATE_MEMORY_RECLAIM,
      { { CAP_MEMORY, "best-effort pods give no memory back before eviction", true } } },
    { "CPICollector",
      GATE_CPI_COLLECTOR,
      { { CAP_PERF_EVENTS, "no cycles per instruction of containers", true },
        { CAP_HARDWARE_COUNTERS, "no cycles per instruction of containers", true },
        { CAP_PERF_CGROUP, "no cycles per instruction of containers", true } } },
    { "PSICollector",
      GATE_PSI_COLLECTOR,
      { { CAP_PSI, "no pressure of pods and containers", true },
        { CAP_PSI_CGROUP, "no pressure of pods and containers", true },
        { CAP_PSI_CPU_FULL, "the 'full' CPU pressure stays 0", false } } },
    { "ResctrlCollector",
      GATE_RESCTRL_COLLECTOR,
      { { CAP_RESCTRL, "no cache and memory traffic of QoS classes", true },
        { CAP_RESCTRL_MONITORING, "no cache and memory traffic of QoS classes", true },
        { CAP_RESCTRL_MOUNTED, "no cache and memory traffic of QoS classes until it is mounted",
          true } } },
    { "ColdPageCollector",
      GATE_COLD_PAGE_COLLECTOR,
      { { CAP_COLD_PAGES,
          "no cold memory; the policy usageWithHotPageCache reports usage without page cache",
          true } } },
    { "BlkIOReconcile",
      GATE_BLKIO_RECONCILE,
      { { CAP_BLKIO, "disk limits of pods are not applied", true },
        { CAP_BLKIO_THROTTLE, "disk limits of pods are not applied", true },
        { CAP_BLKIO_COST, "the disk's share by weight is not applied", false } } },
    { "CgroupReconcile",
      GATE_CGROUP_RECONCILE,
      { { CAP_MEMORY_MIN, "memory of pods is not protected by memory.min", false },
        { CAP_MEMORY_LOW, "memory of pods is not protected by memory.low", false },
        { CAP_MEMORY_HIGH, "memory of pods is not throttled by memory.high", false },
        { CAP_MEMORY_WMARK, "memory is not reclaimed in the background by watermarks", false } } },
    { "Accelerators",
      GATE_ACCELERATORS,
      { { CAP_NVML, "no NVIDIA GPUs; devices from xpu-device-infos are reported all the same",
          false } } },
    { "RDMADevices", GATE_RDMA_DEVICES, { { CAP_RDMA, "no RDMA devices are reported", true } } },
    { "GroupIdentity",
      BY_NODESLO,
      { { CAP_BVT,
          "cpuQOS.groupIdentity makes best-effort pods idle-class (cpu.idle) and does no more",
          true } } },
    { "CoreSched",
      BY_NODESLO,
      { { CAP_CORE_SCHED, "cpuQOS.coreExpeller and core scheduling have no effect", true } } },
    { "CPUIdle", BY_NODESLO, { { CAP_CPU_IDLE, "cpuQOS.schedIdle has no effect", true } } },
    { "CPUSetAllocator",
      GATE_CPU_SET_ALLOCATOR,
      { { CAP_CPUSET, "pods do not get the CPUs that the scheduler gave them", true } } },
    { "BatchResource",
      GATE_BATCH_RESOURCE,
      { { CAP_CPU, "limits of batch CPU are not applied", true },
        { CAP_MEMORY, "limits of batch memory are not applied", false } } },
    { "CPUNormalization",
      GATE_CPU_NORMALIZATION,
      { { CAP_CPU, "quotas do not follow the speed of this node's CPUs", true } } },
    { "Resctrl",
      GATE_RESCTRL,
      { { CAP_RESCTRL, "pods get no share of cache and bandwidth of their own", true },
        { CAP_RESCTRL_MOUNTED,
          "pods get no share of cache and bandwidth of their own until it is "
          "mounted",
          true } } },
    { "TCNetworkQoS",
      GATE_TC_NETWORK_QOS,
      { { CAP_NET_CLS, "pods in the host's network are not told apart, others go by their address",
          false } } },
    { "RuntimeHooksNRI",
      NO_GATE,
      { { CAP_NRI, "new containers get their settings by the reconciler, seconds later",
          false } } },
};

static bool is_met(const struct caps *c, const struct need *n)
{
    return c->caps[n->cap].state == CAP_YES;
}

/* The worst of what is missing: something vital first, then what is not known yet. */
static const struct need *missing_of(const struct caps *c, const struct feature *f)
{
    const struct need *worst = NULL;

    for (const struct need *n = f->needs; n->consequence; n++) {
        if (is_met(c, n))
            continue;
        bool vital = n->vital && c->caps[n->cap].state == CAP_NO;
        if (!worst || (vital && !(worst->vital && c->caps[worst->cap].state == CAP_NO)))
            worst = n;
    }
    return worst;
}

bool caps_feature(const struct caps *c, const struct gates *g, size_t i, struct feature_report *ret)
{
    if (i >= ARRAY_LEN(features))
        return false;
    const struct feature *f = &features[i];
    const struct need *missing = missing_of(c, f);

    *ret = (struct feature_report){ .name = f->name,
                                    .state = FEATURE_ON,
                                    .possible = !missing,
                                    .consequence = missing ? missing->consequence : "" };
    ret->missing = missing ? missing->cap : 0;
    bool known = !missing || c->caps[missing->cap].state == CAP_NO;
    if (f->gate != NO_GATE && f->gate != BY_NODESLO && !gates_on(g, f->gate))
        ret->state = FEATURE_OFF;
    else if (!known)
        ret->state = FEATURE_WAITING;
    else if (f->gate == BY_NODESLO)
        ret->state = missing ? FEATURE_UNABLE : FEATURE_READY;
    else if (missing)
        ret->state = missing->vital ? FEATURE_BLOCKED : FEATURE_REDUCED;
    return true;
}

static const char *state_name(enum feature_state s)
{
    static const char *const state_names[] = { "on",  "reduced", "blocked", "waiting",
                                               "off", "ready",   "unable" };
    return state_names[s];
}

bool caps_complaint(const struct caps *c, const struct feature_report *f, struct strbuf *out)
{
    if (f->state != FEATURE_REDUCED && f->state != FEATURE_BLOCKED)
        return false;
    strbuf_appendf(out, "%s is on, but %s: %s (%s)", f->name,
                   f->state == FEATURE_BLOCKED ? "cannot work on this node"
                                               : "a part of it cannot work on this node",
                   f->consequence, c->caps[f->missing].reason);
    return true;
}

/* ---- text ------------------------------------------------------------------------------------ */

static const char *cap_state_name(enum cap_state s)
{
    return s == CAP_YES ? "yes" : s == CAP_NO ? "no" : "unknown";
}

static void feature_line(const struct caps *c, const struct feature_report *f, struct strbuf *out)
{
    static const char *const prefixes[] = { [FEATURE_ON] = "",
                                            [FEATURE_REDUCED] = "",
                                            [FEATURE_BLOCKED] = "",
                                            [FEATURE_WAITING] = "unless it turns up: ",
                                            [FEATURE_OFF] = "if switched on: ",
                                            [FEATURE_READY] = "",
                                            [FEATURE_UNABLE] = "if a NodeSLO asks: " };

    strbuf_appendf(out, "  %-8s %-24s", state_name(f->state), f->name);
    if (!f->possible)
        strbuf_appendf(out, "%s%s [%s: %s]", prefixes[f->state], f->consequence,
                       cap_name(f->missing), c->caps[f->missing].reason);
    else if (f->state == FEATURE_OFF)
        strbuf_append(out, "the node has all it needs");
    while (out->data[out->len - 1] == ' ')
        strbuf_truncate(out, out->len - 1);
    strbuf_appendc(out, '\n');
}

void caps_table(const struct caps *c, const struct gates *g, struct strbuf *out)
{
    struct feature_report f;
    unsigned failing = 0;

    strbuf_appendf(out, "Node: kernel %s, cgroup %s, cgroup driver %s\n\nCapabilities\n", c->kernel,
                   c->version == CGROUP_V2 ? "v2" : "v1",
                   !c->driver_known     ? "not known yet"
                   : c->driver->systemd ? "systemd"
                                        : "cgroupfs");
    for (int i = 0; i < CAPABILITIES; i++)
        strbuf_appendf(out, "  %-8s %-24s%s\n", cap_state_name(c->caps[i].state),
                       cap_name((enum capability)i), c->caps[i].reason);
    strbuf_append(out, "\nFeatures\n");
    for (size_t i = 0; caps_feature(c, g, i, &f); i++) {
        feature_line(c, &f, out);
        failing += f.state == FEATURE_BLOCKED || f.state == FEATURE_REDUCED;
    }
    if (failing)
        strbuf_appendf(out, "\n%u of the features that are on cannot work here, or only in part.\n",
                       failing);
    else
        strbuf_append(out, "\nNothing that is on is held back by this node.\n");
}

void caps_json(const struct caps *c, const struct gates *g, struct strbuf *out)
{
    struct kjw w = kjw_to(out);
    struct feature_report f;

    kjw_obj(&w, NULL);
    kjw_str(&w, "kernel", c->kernel);
    kjw_str(&w, "cgroupVersion", c->version == CGROUP_V2 ? "v2" : "v1");
    if (c->driver_known)
        kjw_str(&w, "cgroupDriver", c->driver->systemd ? "systemd" : "cgroupfs");
    kjw_arr(&w, "capabilities");
    for (int i = 0; i < CAPABILITIES; i++) {
        kjw_obj(&w, NULL);
        kjw_str(&w, "name", cap_name((enum capability)i));
        kjw_str(&w, "state", cap_state_name(c->caps[i].state));
        kjw_str(&w, "reason", c->caps[i].reason);
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_arr(&w, "features");
    for (size_t i = 0; caps_feature(c, g, i, &f); i++) {
        kjw_obj(&w, NULL);
        kjw_str(&w, "name", f.name);
        kjw_str(&w, "state", state_name(f.state));
        kjw_arr(&w, "needs");
        for (const struct need *n = features[i].needs; n->consequence; n++)
            kjw_str(&w, NULL, cap_name(n->cap));
        kjw_end(&w);
        if (!f.possible) {
            kjw_str(&w, "missing", cap_name(f.missing));
            kjw_str(&w, "consequence", f.consequence);
        }
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_end(&w);
}

/* ---- metrics --------------------------------------------------------------------------------- */

static const struct metric_desc capability_desc = {
    "koordlet_node_capability", "What the node can do: 1, or 0 for no and not known yet.",
    METRIC_GAUGE, .labels = { "capability" }
};
static const struct metric_desc feature_desc = {
    "koordlet_node_feature",
    "1 for the state each feature is in: on, reduced, blocked, waiting, off, ready or unable.",
    METRIC_GAUGE, .labels = { "feature", "state" }
};
static const struct metric_desc blocked_desc = {
    "koordlet_node_feature_blocked",
    "Features that are on and cannot work on this node, with the capability it lacks; effect is "
    "all or part.",
    METRIC_GAUGE, .labels = { "feature", "capability", "effect" }
};

void caps_metrics(const struct caps *c, const struct gates *g, struct metrics *m)
{
    struct metric *capability = metrics_add(m, &capability_desc);
    struct metric *feature = metrics_add(m, &feature_desc);
    struct metric *blocked = metrics_add(m, &blocked_desc);
    struct feature_report f;

    metric_clear(feature);
    metric_clear(blocked);
    for (int i = 0; i < CAPABILITIES; i++)
        gauge_set(metric_gauge(capability, METRIC_VALUES(cap_name((enum capability)i))),
                  c->caps[i].state == CAP_YES);
    for (size_t i = 0; caps_feature(c, g, i, &f); i++) {
        gauge_set(metric_gauge(feature, METRIC_VALUES(f.name, state_name(f.state))), 1);
        if (f.state == FEATURE_BLOCKED || f.state == FEATURE_REDUCED)
            gauge_set(
                metric_gauge(blocked, METRIC_VALUES(f.name, cap_name(f.missing),
                                                    f.state == FEATURE_BLOCKED ? "all" : "part")),
                1);
    }
}
