/* states.h - what the agent knows of its node, its pods and how it shall treat them.
 *
 * Watches the Node object, the kubelet's pods and configuration, NodeSLO (merged over its defaults)
 * and the collect policy of NodeMetric, and publishes them as snapshots (snapshot.h), which is
 * where others read them. Nothing blocks and nothing waits in silence: states_missing() says what
 * is not there yet. Loop thread only.
 */
#ifndef KOORD_KOORDLET_STATES_H
#define KOORD_KOORDLET_STATES_H
#include "koordlet/kernel/host.h"
#include "koordlet/states/snapshot.h"
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
    bool no_kubelet;    /* pods are listed at the API server, at the same interval */
    bool volume_names;  /* claims of the node's pods are read: states_volume_name() */
    bool pleg;          /* inotify on the cgroups of pods: asks the kubelet when one appears */
    bool report_metric; /* NodeMetric is watched */
    bool report_topology;
};
struct states_env {
    struct loop *loop;
    struct snapshots *snapshots;         /* where all of it is published; outlives the states */
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

/* The volume that a claim is bound to; NULL: not known. Only with the option volume_names, and for
 * claims that a pod of this node names. */
const char *states_volume_name(const struct states *s, const char *ns, const char *claim);
#endif
