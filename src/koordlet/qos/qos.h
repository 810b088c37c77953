/* qos.h - the strategies that keep best-effort pods from hurting the others, and when they run.
 *
 * A strategy is a struct of functions over one shared environment, as a collector is. Those of one
 * interval run in one turn. Each decides by a pure function of (snapshot, samples, its own small
 * state, now); what it decides goes to the executor or the evictor, which are the only ones to act.
 * Loop thread only.
 */
#ifndef KOORD_KOORDLET_QOS_QOS_H
#define KOORD_KOORDLET_QOS_QOS_H
#include "koordlet/kernel/host.h"
#include "koordlet/metriccache/store.h"
#include "koordlet/options.h"
#include "koordlet/states/snapshot.h"

struct audit;
struct caps;
struct collect_env;
struct evictor;
struct executor;
struct kube;
struct loop;
struct metrics;
struct qos;
struct recorder;
struct states;

struct qos_env { /* borrowed */
    struct loop *loop;
    struct kube *kube;
    const struct host *host;
    struct metriccache *mc;
    struct snapshots *snapshots;
    const struct koordlet_options *o;
    struct metrics *internal, *external; /* registries of the two endpoints */
    const char *node_name;
    struct audit *audit; /* NULL: auditing is off */
    struct executor *executor;
    const struct collect_env *collect; /* CPUs, disks; what is not known yet is NULL there */
    const struct caps *caps;
    struct states *states; /* names of volumes */
    /* Annotations of the NodeResourceTopology as this node computed it; NULL: not yet. */
    const kstrmap *(*topology)(void *arg);
    void *topology_arg;

    /* Set by qos_new(). */
    struct recorder *recorder;
    struct evictor *evictor;
};

struct qos_strategy {
    const char *name; /* "CPUSuppress" */
    /* 0: its gates are off, or its interval is. */
    nsec_t (*interval)(const struct koordlet_options *o);
    void *(*setup)(struct qos_env *e);
    void (*destroy)(void *self);
    void (*tick)(void *self, struct qos_env *e);
};
extern const struct qos_strategy *const qos_strategies[]; /* in running order; ends with NULL */

struct qos *qos_new(const struct qos_env *env);
struct qos *qos_free(struct qos *q);
DEFINE_CLEANUP(qos_free, struct qos *)
/* The first round is at once. */
void qos_start(struct qos *q);
#endif
