/* internal.h - what the controllers of this room share. */
#ifndef KOORD_CLUSTER_INTERNAL_H
#define KOORD_CLUSTER_INTERNAL_H
#include "api/pod.h"
#include "api/selector/selector.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "client/events.h"
#include "cluster/cluster.h"
#include "cluster/docs.h"
#include "controllers/conditions.h"
#include "controllers/controller.h"
#include "controllers/expect.h"
#include "controllers/meta.h"
#include "controllers/owner.h"
#include "loop/loop.h"
#include "json/kj.h"

struct discovery;
struct cidrctl;
struct claimctl;
struct cronctl;
struct deployctl;
struct eventgc;
struct gc;
struct hollow;
struct hpactl;
struct jobctl;
struct nodectl;
struct nsaccounts;
struct nsctl;
struct pdbctl;
struct podgc;
struct rsctl;
struct stsctl;
struct dsctl;
struct epctl;
struct volctl;

struct cluster {
    struct loop *loop;
    struct kube *kube;
    struct cluster_opts o;
    struct recorder *events;
    struct caches *caches;
    struct controllers *controllers;
    struct discovery *discovery;
    struct deployctl *deploy;
    struct rsctl *rs, *rc; /* rc: of ReplicationControllers */
    struct stsctl *sts;
    struct dsctl *ds;
    struct epctl *ep;
    struct jobctl *job;
    struct cronctl *cron;
    struct gc *gc;
    struct podgc *podgc;
    struct eventgc *eventgc;
    struct nsctl *ns;
    struct nsaccounts *accounts;
    struct nodectl *node;
    struct pdbctl *pdb;
    struct claimctl *claims;
    struct cidrctl *cidrs;
    struct hpactl *hpa;
    struct volctl *volumes;
    struct hollow *hollow;
    struct informer *reports;   /* NodeMetrics, for use.c; or NULL */
    struct cluster_stats stats; /* what the controllers' own do not count */
};

/* ---- small helpers: util.c ----------------------------------------------------------------- */

/* Five random letters of the alphabet that Kubernetes uses for names. */
void name_suffix(struct loop *l, char out[6]);
/* A text's hash in that alphabet; stable over processes. */
enum { HASH_NAME_MAX = 12 };
void hash_name(const char *text, size_t n, char out[HASH_NAME_MAX]);
bool pod_is_active(const struct pod *p); /* neither ended nor being deleted */
/* A node refused it, or it was removed from there before a container of it ran. */
bool pod_is_refused(const struct pod *p);
/* So many seconds after t. Both come from outside; a time that no nsec_t can hold is the last one.
 */
static inline nsec_t nsec_after(nsec_t t, int64_t seconds)
{
    return i64_add_sat(t, i64_mul_sat(seconds, NSEC_PER_SEC));
}
/* Ready for at least so long. *ret_wait: how long until then, 0 when it will not be by waiting. */
bool pod_is_available(const struct pod *p, nsec_t min_ready, nsec_t now, nsec_t *ret_wait);

/* ---- pods that nodes refuse: podhold.c ----------------------------------------------------- */

/* Owners whose pods end before they start, by key. Their replacements wait: 1 s at first, then
 * twice as long after every refusal, at most 30 s. */
struct podhold;
struct podhold *podhold_new(struct loop *l);
struct podhold *podhold_free(struct podhold *h);
/* A pod runs, or the owner was edited or is gone: nothing is held back any more. */
void podhold_forget(struct podhold *h, const char *key);
void podhold_forget_all(struct podhold *h);
void podhold_refused(struct podhold *h, const char *key);
/* How many of n missing pods are to be made now: they count as made. *ret_wait: when to ask for
 * the rest; 0 when there is none. */
uint32_t podhold_allow(struct podhold *h, const char *key, uint32_t n, nsec_t *ret_wait);

/* ---- making pods: podmaker.c --------------------------------------------------------------- */

struct podplan {
    struct cluster *c;
    const struct kobj *owner;  /* held by the batch, whose key is its */
    const char *template_json; /* spec.template */
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
/* One pod of a plan, under a name of the caller's; prefix: its generateName, or NULL. */
struct kj_val;
void pod_write(const struct podplan *p, const struct kj_val *template, uint32_t i, const char *name,
               const char *prefix, struct strbuf *out);
/* For decorate(): an entry of the pod's "labels" or "annotations". */
void pod_set_text(struct kj_mdoc *d, struct kj_mval *pod, const char *map, const char *key,
                  const char *value);
/* Deletes one of the owner's, with an event about the owner. */
void unmake_pod(struct batch *b, struct cluster *c, struct expect *e, const struct kobj *owner,
                const struct kobj *pod);
/* Those to delete first come first. related: all pods of the same group, to spread over nodes. */
void rank_for_deletion(kobjvec *pods, const kobjvec *related, nsec_t now);

/* ---- the controllers ----------------------------------------------------------------------- */

/* kind: doc_replicaset or doc_rc. */
struct rsctl *rsctl_new(struct cluster *c, const struct kind *kind);
struct rsctl *rsctl_free(struct rsctl *r);
struct stsctl *stsctl_new(struct cluster *c);
struct stsctl *stsctl_free(struct stsctl *s);
struct dsctl *dsctl_new(struct cluster *c);
struct dsctl *dsctl_free(struct dsctl *d);
struct epctl *epctl_new(struct cluster *c);
struct epctl *epctl_free(struct epctl *e);
struct deployctl *deployctl_new(struct cluster *c);
struct deployctl *deployctl_free(struct deployctl *d);
struct jobctl *jobctl_new(struct cluster *c);
struct jobctl *jobctl_free(struct jobctl *j);
struct cronctl *cronctl_new(struct cluster *c);
struct cronctl *cronctl_free(struct cronctl *k);
struct gc *gc_new(struct cluster *c);
struct gc *gc_free(struct gc *g);
struct podgc *podgc_new(struct cluster *c);
struct podgc *podgc_free(struct podgc *g);
struct eventgc *eventgc_new(struct cluster *c);
struct eventgc *eventgc_free(struct eventgc *g);
struct nsctl *nsctl_new(struct cluster *c);
struct nsctl *nsctl_free(struct nsctl *n);
struct nsaccounts *nsaccounts_new(struct cluster *c, const char *root_ca);
struct nsaccounts *nsaccounts_free(struct nsaccounts *n);
void nsaccounts_set_root_ca(struct nsaccounts *n, const char *pem);
struct nodectl *nodectl_new(struct cluster *c);
struct nodectl *nodectl_free(struct nodectl *n);
struct pdbctl *pdbctl_new(struct cluster *c);
struct pdbctl *pdbctl_free(struct pdbctl *p);
struct claimctl *claimctl_new(struct cluster *c);
struct claimctl *claimctl_free(struct claimctl *k);
struct cidrctl *cidrctl_new(struct cluster *c);
struct cidrctl *cidrctl_free(struct cidrctl *k);
struct hpactl *hpactl_new(struct cluster *c);
struct hpactl *hpactl_free(struct hpactl *h);
struct volctl *volctl_new(struct cluster *c);
struct volctl *volctl_free(struct volctl *vc);
struct hollow *hollow_new(struct cluster *c, const struct hollow_opts *o, struct kerr *err);
struct hollow *hollow_free(struct hollow *h);
bool hollow_ready(const struct hollow *h);
#endif
