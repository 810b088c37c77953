/* koord_scheduler_flags.c - the flags of koord-scheduler (scheduler-core 9.1, api-config 3.2). */
#include "main/koord_scheduler.h"

#include "base/klog.h"
#include "scheduler/framework/gates.h"
#include "scheduler/framework/profile.h"

#define O(member) .off = offsetof(struct sched_options, member)
static const struct flag served[] = {
    { "config", FLAG_STR, O(config),
      .help = "configuration `file` (KubeSchedulerConfiguration v1), read again when it changes; "
              "without it the profile that Koordinator ships" },
    { "write-config-to", FLAG_STR, O(write_config_to),
      .help = "write the configuration in force to this `file`, and exit" },
    { "address", FLAG_STR, O(address), .def = "0.0.0.0", .help = "`address` of the plain port" },
    { "port", FLAG_INT, O(port), .def = "10251", .max = 65535,
      .help = "plain HTTP port for health, metrics and debugging; 0: none" },
    { "pod-max-in-unschedulable-pods-duration", FLAG_DUR, O(unschedulable_max), .def = "5m",
      .help = "a pod that did not fit is tried again after this time, whatever happens" },
    { "debug-scores", FLAG_INT, .letter = 's', O(debug_scores), .def = "0", .max = INT32_MAX,
      .help = "log the so many best nodes of each attempt and their scores; 0: none" },
    { "debug-filters", FLAG_BOOL, .letter = 'f', O(debug_filters),
      .help = "log why nodes were rejected" },
    { "debug-diagnosis", FLAG_BOOL, .letter = 'd', O(debug_diagnosis),
      .help = "log why a pod found no node, a line of JSON for each attempt" },
    { "debug-diagnosis-blocking", FLAG_BOOL, O(debug_diagnosis_blocking),
      .help = "write that line before the next attempt" },
    { "debug-diagnosis-queue-size", FLAG_INT, O(diagnosis_queue), .def = "1000", .min = 1,
      .max = INT32_MAX, .help = "so many lines may wait to be written; more are dropped" },
    { "debug-diagnosis-worker-count", FLAG_INT, O(diagnosis_a_turn), .def = "10", .min = 1,
      .max = INT32_MAX, .help = "so many of them are written in one turn of the event loop" },
    { "scheduler-monitor-period", FLAG_DUR, O(monitor_period), .def = "10s", .max = INT64_MAX,
      .help = "how often to look for attempts and bindings that take too long" },
    { "scheduling-timeout", FLAG_DUR, O(monitor_timeout), .def = "30s", .max = INT64_MAX,
      .help = "after this time one takes too long: a warning and a counter; 0: never" },
    { "sync-barrier-pod-namespace", FLAG_STR, O(barrier_ns), .def = "kube-system",
      .help = "`namespace` of the pod to which a new leader writes before it decides, to know that "
              "it has seen all that was written before; with the feature gate SyncBarrier" },
    { "sync-barrier-pod-name", FLAG_STR, O(barrier_pod), .def = "koord-scheduler-sync-barrier",
      .help = "`name` of that pod" },
    { "sync-hard-timeout", FLAG_DUR, O(barrier_timeout), .def = "1m", .min = 1, .max = INT64_MAX,
      .help = "longest wait for that" },
    { "controller-plugins", FLAG_LIST, O(controller_plugins), .def = "*",
      .help = "plugins whose controllers run here while this instance leads: `*,-Name`; the first "
              "mention of a name decides" },
    { "enable-network-topology-manager", FLAG_BOOL, O(network_topology),
      .help = "keep the tree of the network from the ClusterNetworkTopology \"default\" and the "
              "labels of nodes, for gangs that gather in it; its status is written here" },
    { "feature-gates", FLAG_CUSTOM, O(gates), .set = gates_set, .lines = gates_usage,
      .help = "`Name=true,...` switches features; all of Koordinator's are known, most belong to "
              "plugins that are not here yet:" },
};

#undef O

#define LATER(name, type, value, text)                     \
    {                                                      \
        name, type, FLAG_LATER, .def = value, .help = text \
    }
#define NO_PROFILES "accepted; there are no Go profiles here"
static const struct flag koord_later[] = {
    { "scheduling-drop-unhandled-timeout", FLAG_DUR, FLAG_IGNORED, .def = "5s",
      .help = "accepted; the monitor looks at the queue itself and has nothing to forget" },
    LATER("enable-workload-auditor", FLAG_BOOL, NULL, "audit of workloads"),
    LATER("workload-auditor-metric-labels", FLAG_STR, "", "labels of its metrics"),
    LATER("workload-auditor-victim-reschedule-duration", FLAG_DUR, "10s",
          "time for victims to come back"),
    LATER("workload-auditor-victim-deletion-duration", FLAG_DUR, "30s", "time for victims to go"),
    LATER("workload-auditor-victim-deleting-retries", FLAG_INT, "3", "attempts to see them go"),
    LATER("workload-auditor-scheduling-event-interval", FLAG_DUR, "5m", "time between its events"),
    LATER("async-log", FLAG_BOOL, NULL, "log from another thread"),
    LATER("async-log-queue-length", FLAG_INT, "10000", "lines waiting to be written"),
};
static const struct flag kube_later[] = {
    { "contention-profiling", FLAG_BOOL, FLAG_IGNORED, .def = "true", .help = NO_PROFILES },
    { "profiling", FLAG_BOOL, FLAG_IGNORED, .def = "true", .help = NO_PROFILES },
    LATER("emulated-version", FLAG_LIST, NULL, "behave as another version"),
    LATER("allow-metric-labels", FLAG_MAP, NULL, "limit label values"),
    LATER("allow-metric-labels-manifest", FLAG_STR, "", "file with such limits"),
    LATER("disabled-metrics", FLAG_LIST, NULL, "leave metrics out"),
    LATER("show-hidden-metrics-for-version", FLAG_STR, "", "show metrics that were hidden"),
};

void sched_options_add(struct flags *f, void *options)
{
    struct sched_options *o = options;

    gates_init(&o->gates, ks_gates, ks_ngates);
    flags_add(f, "Scheduler flags", served, ARRAY_LEN(served), o);
    client_options_add(f, &o->client);
    election_options_add(f, &o->election, "koord-scheduler");
    debug_options_add(f, &o->debug);
    secure_options_add(f, &o->secure, "10259");
    flags_add(f, "Koordinator's further flags", koord_later, ARRAY_LEN(koord_later), o);
    flags_add(f, "kube-scheduler's further flags", kube_later, ARRAY_LEN(kube_later), o);
}

bool sched_gate_on(const struct sched_options *o, const char *gate)
{
    return ks_gate_on(&o->gates, gate);
}

/* The gates that sched_gate_on() is asked about. */
static bool is_served(const char *gate)
{
    static const char *const names[] = {
        "CrossSchedulerNomination",
        "DisableCSIStorageCapacityInformer",
        "DisableDynamicResourceAllocationInformer",
        "DisablePodDisruptionBudgetInformer",
        "ResizePod",
        "SkipFilterWithNominatedPods",
        "SyncBarrier",
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (streq(names[i], gate))
            return true;
    return false;
}

static void warn_plugins(const struct flag_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        const char *name = l->items[i] + (*l->items[i] == '-');
        if (!streq(name, "*") && !ks_registered_find(name))
            KLOG_W("Unknown plugin", KV_S("flag", "controller-plugins"), KV_S("plugin", name));
    }
}

void sched_options_warn(const struct sched_options *o)
{
    warn_plugins(&o->controller_plugins);
    for (unsigned i = 0; i < ks_ngates; i++)
        if (gates_given(&o->gates, i) && gates_on(&o->gates, i) != ks_gates[i].def &&
            !is_served(ks_gates[i].name))
            KLOG_W("Feature gate is accepted and has no effect yet",
                   KV_S("gate", ks_gates[i].name));
}
