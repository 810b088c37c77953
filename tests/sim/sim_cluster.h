/* sim_cluster.h - a whole small cluster on the virtual loop: the embedded API server in process,
 * the controllers and hollow nodes of src/cluster, a bare binder, and a client that loses answers.
 */
#ifndef KOORD_TESTS_SIM_CLUSTER_H
#define KOORD_TESTS_SIM_CLUSTER_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/node.h"
#include "api/pod.h"
#include "apiserver/server.h"
#include "base/intern.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/informer.h"
#include "client/kube.h"
#include "cluster/cluster.h"
#include "loop/loop.h"
#include "json/kj.h"

#define WALL0       (INT64_C(1763200000) * NSEC_PER_SEC)
#define SEC         NSEC_PER_SEC
#define SIM_ROOT_CA "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"

struct sim_faults { /* in 1/1000 of the calls of the controllers */
    unsigned refuse, lose, slow;
    unsigned too_many; /* 429, with a Retry-After of a second */
    nsec_t slow_max;
};
struct sim {
    struct loop *loop;
    struct intern *strings;
    struct apiserver *server;
    struct kube *kube;   /* ours: never spoiled */
    struct kube *faulty; /* the controllers' */
    struct sim_faults faults;
    struct fault_call *watches; /* open ones of the spoiled client */
    struct cluster *cluster;
    struct informer *pods, *nodes; /* of the binder */
    struct timer *binder;
    size_t next_node;
    bool no_binder;
};

void sim_init(struct sim *s, uint64_t seed);
/* The same with kinds of alpha versions: DeviceTaintRule. */
void sim_init_alpha(struct sim *s, uint64_t seed);
/* The same as sim_init() with Koordinator's namespace, priority classes and configuration, as
 * koordctl up. */
void sim_init_koordinator(struct sim *s, uint64_t seed);
/* opts NULL: all controllers and five nodes. */
void sim_start(struct sim *s, const struct cluster_opts *o);
void sim_stop_cluster(struct sim *s);
void sim_fini(struct sim *s);
static inline UNUSED void sim_fini_p(struct sim *s)
{
    sim_fini(s);
}
void sim_run(struct sim *s, nsec_t by);
/* Binds a pod that waits for a node. */
void sim_bind(struct sim *s, const struct kobj *pod, const char *node);
/* Every watch of the spoiled client breaks off. */
void sim_drop_watches(struct sim *s);

/* Requests that wait for their answer; the status code, and the parsed body when asked for. */
int sim_do(struct sim *s, const struct kube_req *r, struct kj_doc **ret_doc);
int sim_create(struct sim *s, const char *json);
int sim_patch(struct sim *s, const struct kind *k, const char *ns, const char *name,
              const char *sub, const char *json);
int sim_delete(struct sim *s, const struct kind *k, const char *ns, const char *name,
               const char *opts);
struct kj_doc *sim_get(struct sim *s, const struct kind *k, const char *ns, const char *name);
struct kj_doc *sim_list(struct sim *s, const struct kind *k, const char *ns, const char *selector);
/* A number or a text at a dotted path of an object; -1 and "" when absent. */
int64_t sim_num(struct sim *s, const struct kind *k, const char *ns, const char *name,
                const char *path);
void sim_text(struct sim *s, const struct kind *k, const char *ns, const char *name,
              const char *path, char *out, size_t size);
/* status of a condition of an object: "True", "" when absent. */
const char *sim_condition(struct sim *s, const struct kind *k, const char *ns, const char *name,
                          const char *type);
size_t sim_count(struct sim *s, const struct kind *k, const char *ns, const char *selector);
/* Runs until fn says so, at most `limit`; false when it never did. */
typedef bool (*sim_fn)(struct sim *s, void *arg);
bool sim_until(struct sim *s, nsec_t limit, sim_fn fn, void *arg);
/* For sim_until(): the controllers have their caches, and all hollow nodes are registered. */
bool sim_nodes_ready(struct sim *s, void *arg);
/* sim_init(), sim_start() with everything, and the wait until its nodes are ready. */
void sim_begin(struct sim *s, uint64_t seed);
#endif
