/* states.h - what the agent knows of its node, its pods and how it shall treat them.
 *
 * One place for: the Node object, the pods from the kubelet, NodeSLO merged over its defaults, the
 * collect policy of NodeMetric, the kubelet's configuration. Others ask, or register to be told.
 * Nothing blocks and nothing waits in silence: states_missing() says what is not there yet.
 * Loop thread only; what is returned is borrowed until the next turn unless it has references.
 */
#ifndef KOORD_KOORDLET_STATES_H
#define KOORD_KOORDLET_STATES_H
#include "api/koord/nodemetric.h"
#include "api/koord/nodeslo.h"
#include "api/node.h"
#include "koordlet/kernel/host.h"
#include "koordlet/states/podset.h"
#include "net/http.h"

struct kube;
struct kube_config;
struct loop;
struct metrics;
struct states;

struct states_options {
    const char *node_name;
    const char *kubelet_address_type; /* "InternalIP" */
    nsec_t kubelet_sync_interval, kubelet_sync_timeout;
    bool kubelet_insecure;
    int kubelet_read_only_port;
    bool query_kubelet_config;
    bool volume_names;  /* claims of the node's pods are read: states_volume_name() */
    bool pleg;          /* inotify on the cgroups of pods: asks the kubelet when one appears */
    bool report_metric; /* NodeMetric is watched */
    bool report_topology;
};
struct states_env {
    struct loop *loop;
    struct kube *kube;                   /* the API server */
    const struct kube_config *config;    /* its credentials serve for the kubelet too; borrowed */
    struct host *host;                   /* its driver may become known later */
    struct metrics *internal, *external; /* registries of the two endpoints */
    http_dial_fn kubelet_dial;           /* NULL: sockets; for tests on the virtual loop */
    void *kubelet_dial_arg;
};
struct states *states_new(const struct states_env *env, const struct states_options *o);
struct states *states_free(struct states *s);
DEFINE_CLEANUP(states_free, struct states *)
void states_start(struct states *s);

/* NULL when nothing is missing; else one reason for people: "no pods from the kubelet yet: ...".
 * i counts reasons; NULL behind the last. The text is good until the next call. */
const char *states_missing(const struct states *s, size_t i);

const struct node *states_node(const struct states *s);            /* NULL until seen */
struct podset *states_pods(const struct states *s);                /* NULL until seen */
const struct nodeslo_spec *states_nodeslo(const struct states *s); /* merged; NULL until seen */
/* As stored, but its metadata only: the status is what we wrote, and is large. NULL: none. */
const struct nodemetric *states_nodemetric(const struct states *s);
struct collect_policy { /* with defaults and minima applied */
    nsec_t aggregate, report_interval;
    nsec_t durations[16];
    uint32_t ndurations;
    enum { MEMORY_WITHOUT_PAGE_CACHE, MEMORY_WITH_HOT_PAGES, MEMORY_WITH_PAGE_CACHE } memory;
};
const struct collect_policy *states_policy(const struct states *s); /* defaults until seen */
struct kubelet_config { /* of /configz; what matters here */
    const char *cpu_manager_policy;
    kstrmap cpu_manager_options;
    const char *reserved_system_cpus;
    kstrmap kube_reserved, system_reserved, eviction_hard;
    const char *topology_policy, *topology_scope;
};
const struct kubelet_config *states_kubelet_config(const struct states *s); /* NULL: not known */

/* The volume that a claim is bound to; NULL: not known. Only with the option volume_names, and for
 * claims that a pod of this node names. */
const char *states_volume_name(const struct states *s, const char *ns, const char *claim);

enum states_topic { STATES_NODESLO, STATES_PODS, STATES_TOPOLOGY, STATES_NODE, STATES_POLICY };
/* Called in a later turn after a change; changes that come together are told once. The name is for
 * logs. */
typedef void (*states_fn)(void *arg);
void states_on(struct states *s, enum states_topic t, const char *name, states_fn fn, void *arg);
/* The reporter of NodeResourceTopology tells that its local copy changed. */
void states_tell(struct states *s, enum states_topic t);
#endif
