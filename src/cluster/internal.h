/* internal.h - what the controllers of this room share: caches, writes, documents. */
#ifndef KOORD_CLUSTER_INTERNAL_H
#define KOORD_CLUSTER_INTERNAL_H
#include "api/pod.h"
#include "api/selector.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "client/events.h"
#include "client/informer.h"
#include "client/kube.h"
#include "client/workqueue.h"
#include "cluster/cluster.h"
#include "cluster/docs.h"
#include "loop/loop.h"
#include "json/kj.h"

struct batch;
struct discovery;
struct deployctl;
struct gc;
struct hollow;
struct jobctl;
struct nodectl;
struct nsctl;
struct pdbctl;
struct podgc;
struct rsctl;

typedef struct vec_of(struct kobj *) kobjvec; /* borrowed */

/* A cache that several controllers read. */
struct shared {
    struct informer *inf; /* NULL: nobody asked for it */
    int by_owner;         /* UID of any owner */
    int orphans;          /* namespace, of objects without a controller */
    int by_ns;
    int by_node; /* pods only */
};

struct cluster {
    struct loop *loop;
    struct kube *kube;
    struct cluster_opts o;
    struct recorder *events;
    struct shared pods, replicasets, deployments, jobs, nodes;
    struct discovery *disco;
    struct deployctl *deploy;
    struct rsctl *rs;
    struct jobctl *job;
    struct gc *gc;
    struct podgc *podgc;
    struct nsctl *ns;
    struct nodectl *node;
    struct pdbctl *pdb;
    struct hollow *hollow;
    struct batch *batches; /* under way */
    struct cluster_stats stats;
};

/* The cache, made at the first call; started by cluster_new() after all controllers are made. */
struct shared *cluster_pods(struct cluster *c);
struct shared *cluster_replicasets(struct cluster *c);
struct shared *cluster_deployments(struct cluster *c);
struct shared *cluster_jobs(struct cluster *c);
struct shared *cluster_nodes(struct cluster *c);
/* The objects under a value of an index. */
void shared_by(const struct shared *s, int index, const char *value, kobjvec *out);
void shared_by_uid(const struct shared *s, struct kuid uid, kobjvec *out);

/* ---- writes: batch.c ----------------------------------------------------------------------- */

/* The calls of one sync. It ends, with work_done() or work_again(), when the sync called
 * batch_close() and every call has answered. Memory for what waits comes from its arena. */
struct batch *batch_new(struct cluster *c, const char *controller, const char *key, struct work *w);
struct arena *batch_arena(struct batch *b);
struct cluster *batch_cluster(struct batch *b);
/* Returns true when an error is dealt with; it may make further calls. NULL fn: "not found" counts
 * as done, every other error fails the sync. */
typedef bool (*batch_fn)(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg);
void batch_call(struct batch *b, const struct kube_req *r, batch_fn fn, void *arg);
/* The sync is tried again, with back-off. */
void batch_fail(struct batch *b, const struct kerr *err);
/* Sync once more after a while, at the latest; the earliest of several counts. */
void batch_again(struct batch *b, nsec_t after);
void batch_close(struct batch *b);
unsigned batch_open_calls(const struct batch *b);
/* At the end of the cluster: calls are cancelled, nobody is told. */
void batches_drop(struct cluster *c);

void batch_create(struct batch *b, const struct kind *k, const char *ns, const struct strbuf *body,
                  batch_fn fn, void *arg);
void batch_patch(struct batch *b, const struct kobj *o, const char *subresource,
                 enum kube_patch type, const struct strbuf *body, batch_fn fn, void *arg);
struct delete_opts {
    int64_t grace;           /* -1: not given */
    const char *propagation; /* NULL: not given */
    bool any_version;        /* else: only the version we know */
};
/* Only the object with this UID. */
void batch_delete(struct batch *b, const struct kobj *o, const struct delete_opts *d, batch_fn fn,
                  void *arg);
/* The server said no for certain; otherwise the write may have happened. */
bool err_is_refusal(const struct kerr *err);

/* ---- small helpers: util.c ----------------------------------------------------------------- */

/* Five random letters of the alphabet that Kubernetes uses for names. */
void name_suffix(struct loop *l, char out[6]);
void write_owner_ref(struct kjw *w, const char *key, const struct kind *k, const struct kobj *o);
/* "0.25" of n by "25%", or the number; rounded up or down. */
int64_t int_or_percent(const struct int_or_str *v, int64_t n, bool up);
void write_time(struct kjw *w, const char *key, nsec_t wall);
/* Starts {"metadata":{"resourceVersion":...},  for a write only to the version we know. */
void write_version(struct kjw *w, const struct kobj *o);
bool pod_is_active(const struct pod *p); /* neither ended nor being deleted */
/* A node refused it, or it was removed from there before a container of it ran. */
bool pod_is_refused(const struct pod *p);
/* Ready for at least so long. *ret_wait: how long until then, 0 when it will not be by waiting. */
bool pod_is_available(const struct pod *p, nsec_t min_ready, nsec_t now, nsec_t *ret_wait);
const char *meta_annotation(const struct kobj *o, const char *key); /* "" when absent */
bool meta_has_finalizer(const struct kobj *o, const char *name);

/* Conditions of workloads: a copy of the list with one set. The transition time stays when the
 * status does. Times that the kind's conditions have are the caller's to set. */
wcondlist wcond_set(const wcondlist *l, const struct wcond *c, nsec_t now, struct arena *a);
wcondlist wcond_remove(const wcondlist *l, const char *type, struct arena *a);
const struct wcond *wcond_find(const wcondlist *l, const char *type);
void wcond_write(struct kjw *w, const wcondlist *l);
bool wcond_equal(const wcondlist *a, const wcondlist *b);

/* ---- owners and their children: claim.c ---------------------------------------------------- */

struct claim {
    const struct kind *owner_kind;
    const struct kobj *owner;
    const struct labelsel *selector;
    const struct shared *children;
    const char *finalizer; /* put on what is adopted; NULL: none */
};
/* The children that are the owner's: by reference, and matching its selector. Writes what must be
 * adopted or released; then the answer is false, and the news of it brings the next sync. */
bool claim_children(struct batch *b, const struct claim *cl, kobjvec *mine);

/* ---- pods that were asked for: expect.c ---------------------------------------------------- */

/* What a controller did and its cache does not show yet. Names are chosen here, so that a create
 * whose answer was lost can be repeated without making a second pod. */
struct expect;
struct expect *expect_new(struct loop *l);
struct expect *expect_free(struct expect *e);
void expect_forget(struct expect *e, const char *key); /* the owner is gone */
/* Nothing is outstanding, or it has been so for five minutes. */
bool expect_settled(struct expect *e, const char *key);
void expect_create(struct expect *e, const char *key, const char *name);
void expect_delete(struct expect *e, const char *key, const char *name);
void expect_doubt(struct expect *e, const char *key,
                  const char *name); /* lost answer of a create */
/* A name with this beginning whose create is in doubt, to be used first; false: there is none. */
bool expect_take_doubt(struct expect *e, const char *key, const char *prefix, char *name,
                       size_t size);
void expect_created(struct expect *e, const char *key, const char *name); /* seen, or refused */
void expect_deleted(struct expect *e, const char *key, const char *name);

/* ---- pods that nodes refuse: podhold.c ----------------------------------------------------- */

/* Owners whose pods end before they start, by key. Their replacements wait: 1 s at first, then
 * twice as long after every refusal, at most 30 s. */
struct podhold;
struct podhold *podhold_new(struct loop *l);
struct podhold *podhold_free(struct podhold *h);
/* A pod runs, or the owner was edited or is gone: nothing is held back any more. */
void podhold_forget(struct podhold *h, const char *key);
void podhold_refused(struct podhold *h, const char *key);
/* How many of n missing pods are to be made now: they count as made. *ret_wait: when to ask for
 * the rest; 0 when there is none. */
uint32_t podhold_allow(struct podhold *h, const char *key, uint32_t n, nsec_t *ret_wait);

/* ---- making pods: podmaker.c --------------------------------------------------------------- */

struct podplan {
    const struct kind *owner_kind;
    const struct kobj *owner;
    const char *template_json; /* spec.template */
    const char *key;           /* of the owner */
    const char *finalizer;     /* NULL: none */
    struct expect *expect;
    uint32_t n; /* how many */
    /* Adds to the pod (labels, annotations); may be NULL. i: number of the pod. */
    void (*decorate)(void *arg, uint32_t i, struct kj_mdoc *d, struct kj_mval *pod);
    const char *(*infix)(void *arg, uint32_t i, struct arena *a); /* "3-": part of the name */
    void (*on_refused)(void *arg, struct batch *b, const struct kerr *err); /* once; may be NULL */
    void *arg;
};
/* Creates them, a few at first and more as it goes well. Copies what it needs. */
void make_pods(struct batch *b, const struct podplan *p);
/* Deletes one, with an event about the owner. */
void unmake_pod(struct batch *b, struct expect *e, const struct kobj *owner, const char *key,
                const struct kobj *pod);
/* Those to delete first come first. related: all pods of the same group, to spread over nodes. */
void rank_for_deletion(kobjvec *pods, const kobjvec *related, nsec_t now);

/* ---- the controllers ----------------------------------------------------------------------- */

struct rsctl *rsctl_new(struct cluster *c);
struct rsctl *rsctl_free(struct rsctl *r);
struct deployctl *deployctl_new(struct cluster *c);
struct deployctl *deployctl_free(struct deployctl *d);
struct jobctl *jobctl_new(struct cluster *c);
struct jobctl *jobctl_free(struct jobctl *j);
struct gc *gc_new(struct cluster *c);
struct gc *gc_free(struct gc *g);
struct podgc *podgc_new(struct cluster *c);
struct podgc *podgc_free(struct podgc *g);
struct nsctl *nsctl_new(struct cluster *c);
struct nsctl *nsctl_free(struct nsctl *n);
struct nodectl *nodectl_new(struct cluster *c);
struct nodectl *nodectl_free(struct nodectl *n);
struct pdbctl *pdbctl_new(struct cluster *c);
struct pdbctl *pdbctl_free(struct pdbctl *p);
struct hollow *hollow_new(struct cluster *c, const struct hollow_opts *o, struct kerr *err);
struct hollow *hollow_free(struct hollow *h);
bool hollow_ready(const struct hollow *h);
#endif
