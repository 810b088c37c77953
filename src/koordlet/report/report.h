/* report.h - the reporters: NodeMetric, NodeResourceTopology and Device, kept as this node sees it.
 *
 * Each has one timer and at most one request under way, so a slow API server is asked less often,
 * not more. What fails is tried again with growing pauses (Retry-After is kept); one log line a
 * minute, and one when it is well again. Loop thread only. Free the states first: their listeners
 * point to the reporters.
 */
#ifndef KOORD_KOORDLET_REPORT_H
#define KOORD_KOORDLET_REPORT_H
#include "koordlet/options.h"
#include "koordlet/predict/reclaim.h"
#include "koordlet/report/device_report.h"
#include "koordlet/report/nodemetric.h"
#include "koordlet/report/topology.h"

struct collect_env;
struct host;
struct kube;
struct loop;
struct metrics;

/* What the sources of devices know; functions may be NULL: nothing. */
struct report_devices {
    /* The GPUs whose use is measured, into the arena. Returns how many. */
    uint32_t (*gpus)(void *arg, struct arena *a, struct nodemetric_gpu **ret);
    /* Everything for Device. -EAGAIN: not known yet, which is no failure. */
    int (*devices)(void *arg, struct arena *a, struct device_report_in *ret, struct kerr *err);
    void *arg;
};
struct report_env { /* borrowed by all three */
    struct loop *loop;
    struct kube *kube;
    struct snapshots *snapshots;
    struct metriccache *mc;
    const struct host *host;
    const struct collect_env *collect; /* CPUs, NUMA nodes, cold memory */
    const struct models *models;       /* NULL: nothing is predicted */
    struct reclaim_options reclaim;
    const struct koordlet_options *o;
    struct metrics *internal, *external;
    const char *node_name;
    struct report_devices devices;
};

/* ---- NodeMetric ------------------------------------------------------------------------------ *
 *
 * A report is due once in every reportInterval of the collect policy, up to a tenth sooner by
 * chance, and is then always written: the scheduler and the manager take a NodeMetric for dead when
 * its updateTime stands still for 180 s, so a status with equal numbers is news too. Between two
 * reports nothing is written, whatever changes. The status is replaced as a whole by one patch
 * without a version: this agent is its only writer. It is never created here.
 */
struct metric_reporter;
struct metric_reporter *metric_reporter_new(const struct report_env *env);
struct metric_reporter *metric_reporter_free(struct metric_reporter *r);
DEFINE_CLEANUP(metric_reporter_free, struct metric_reporter *)
void metric_reporter_start(struct metric_reporter *r); /* the first report: after one interval */
/* Why nothing is reported, for people; NULL: it is. */
const char *metric_reporter_missing(const struct metric_reporter *r);

/* ---- NodeResourceTopology -------------------------------------------------------------------- *
 *
 * Every node-topology-sync-interval the inputs are looked at (one stat of a file at most); only
 * when one changed is the topology computed, and only when the stored object differs in what is
 * ours is it patched. Without the gate NodeTopologyReport the local copy is all there is.
 */
struct topology_reporter;
struct topology_reporter *topology_reporter_new(const struct report_env *env);
struct topology_reporter *topology_reporter_free(struct topology_reporter *r);
DEFINE_CLEANUP(topology_reporter_free, struct topology_reporter *)
void topology_reporter_start(struct topology_reporter *r);
const char *topology_reporter_missing(const struct topology_reporter *r);
/* NULL until it could be computed; borrowed until the next turn. STATES_TOPOLOGY tells changes. */
const struct topology *topology_reporter_local(const struct topology_reporter *r);

/* ---- Device ---------------------------------------------------------------------------------- */

/* For nodes with the gate Accelerators. A node without devices gets no object. */
struct device_reporter;
struct device_reporter *device_reporter_new(const struct report_env *env);
struct device_reporter *device_reporter_free(struct device_reporter *r);
DEFINE_CLEANUP(device_reporter_free, struct device_reporter *)
void device_reporter_start(struct device_reporter *r);
const char *device_reporter_missing(const struct device_reporter *r);
#endif
