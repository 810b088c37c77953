/* snapshot.h - what the agent knows at one moment: the Node, its pods, NodeSLO, policies.
 *
 * A snapshot is immutable and refcounted; collectors, reporters, predictions and strategies work on
 * (snapshot, now), so a test hands them one that it made. The publisher holds the current snapshot,
 * makes the next one when something changed, and tells who wants to know. Loop thread only.
 */
#ifndef KOORD_KOORDLET_STATES_SNAPSHOT_H
#define KOORD_KOORDLET_STATES_SNAPSHOT_H
#include "api/koord/nodemetric.h"
#include "api/koord/nodeslo.h"
#include "api/node.h"
#include "koordlet/states/podset.h"

struct arena;
struct loop;

struct collect_policy { /* of NodeMetric, with defaults and minima applied */
    nsec_t aggregate, report_interval;
    nsec_t durations[16];
    uint32_t ndurations;
    enum { MEMORY_WITHOUT_PAGE_CACHE, MEMORY_WITH_HOT_PAGES, MEMORY_WITH_PAGE_CACHE } memory;
};
extern const struct collect_policy collect_policy_default;

struct kubelet_config { /* of /configz; what matters here */
    const char *cpu_manager_policy;
    kstrmap cpu_manager_options;
    const char *reserved_system_cpus;
    kstrmap kube_reserved, system_reserved, eviction_hard;
    const char *topology_policy, *topology_scope;
    const char *cgroup_driver, *cgroup_root; /* "": not said */
};

struct snapshot { /* NULL: not seen yet */
    uint32_t refs;
    const struct node *node;
    struct podset *pods;
    const struct nodeslo_spec *slo; /* merged over its defaults */
    /* As stored, but its metadata only: the status is what we wrote, and is large. */
    const struct nodemetric *nodemetric;
    const struct kubelet_config *kubelet;
    struct collect_policy policy;                     /* the default until seen */
    struct snapshot_block *slo_block, *kubelet_block; /* what holds slo and kubelet */
};
const struct snapshot *snapshot_ref(const struct snapshot *s);
const struct snapshot *snapshot_unref(const struct snapshot *s); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(snapshot_unref, const struct snapshot *)

/* ---- the publisher --------------------------------------------------------------------------- */

struct snapshots;
struct snapshots *snapshots_new(struct loop *l); /* the first one knows nothing */
struct snapshots *snapshots_free(struct snapshots *p);
DEFINE_CLEANUP(snapshots_free, struct snapshots *)
/* The current one, never NULL; borrowed until the next turn. */
const struct snapshot *snapshots_get(const struct snapshots *p);

/* Takes over the reference: this is the current one from now on. Tells nobody. */
void snapshots_publish(struct snapshots *p, const struct snapshot *s);
/* The next snapshot differs in this from the current one. Objects get a reference of their own;
 * pods and the arena are taken over, and what is in the arena with it. */
void snapshots_set_node(struct snapshots *p, struct kobj *node);
void snapshots_set_pods(struct snapshots *p, struct podset *pods);
void snapshots_set_nodeslo(struct snapshots *p, const struct nodeslo_spec *slo, struct arena *a);
void snapshots_set_nodemetric(struct snapshots *p, struct kobj *nodemetric); /* NULL: it is gone */
void snapshots_set_kubelet(struct snapshots *p, const struct kubelet_config *c, struct arena *a);
void snapshots_set_policy(struct snapshots *p, const struct collect_policy *policy);

enum states_topic { STATES_NODESLO, STATES_PODS, STATES_TOPOLOGY, STATES_NODE, STATES_POLICY };
/* Called in a later turn after a change; changes that come together are told once. The name is for
 * logs. */
typedef void (*states_fn)(void *arg);
void snapshots_on(struct snapshots *p, enum states_topic t, const char *name, states_fn fn,
                  void *arg);
/* Something of this topic changed. */
void snapshots_tell(struct snapshots *p, enum states_topic t);
#endif
