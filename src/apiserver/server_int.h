/* server_int.h - the inside of struct apiserver, for this room only. */
#ifndef KOORD_APISERVER_SERVER_INT_H
#define KOORD_APISERVER_SERVER_INT_H
#include "apiserver/admission/admission.h"
#include "apiserver/registry/list_text.h"
#include "apiserver/registry/registry.h"
#include "apiserver/server.h"
#include "base/vec.h"

struct api_metrics;
struct builtin;
struct conversions;
struct accounts;
struct aggregate;
struct rbac;
struct tokenfile;
struct event_cache;
struct admithooks;
struct podsecurity;
struct policies;
struct quotas;
struct ranges;
struct crds;
struct httpd;
struct write_op;

struct admission_entry {
    const struct admission_step *step;
    void *self;
};

struct apiserver {
    struct loop *loop;
    struct store *store;
    struct res_table *resources;
    struct crds *crds;
    struct conversions *conversions; /* registry/convert.c */
    struct httpd *httpd;             /* NULL until the first listen or serve */
    char *token, *version;
    struct tokenfile *tokens; /* NULL: none */
    bool anonymous;
    struct accounts *accounts; /* tokens of service accounts */
    enum apiserver_accounts account_mode;
    const struct apiserver_usage *usage; /* who knows what pods and nodes use; NULL: nobody */
    void *usage_self;
    char *root_ca;     /* PEM, for Secrets with a token; NULL: none */
    struct rbac *rbac; /* NULL: not among the modes */
    bool always_allow; /* the other mode */
    struct aggregate *aggregate;
    struct vec_of(struct admission_entry) steps, last_steps; /* last: policies, webhooks, quotas */
    size_t builtin_steps; /* of steps: those of admission_add_builtin(), which come first */
    struct policies *policies;
    struct admithooks *webhooks;
    struct quotas *quotas;
    struct ranges *ranges;                    /* addresses and node ports of Services */
    struct builtin *builtin;                  /* state of the server's own steps */
    struct podsecurity *podsecurity;          /* what namespaces say about pod security */
    struct vec_of(struct api_call *) watches; /* open ones */
    struct event_cache *events;               /* registry/watch.c */
    struct api_metrics *metrics;              /* registry/metrics.c */
    struct list_texts texts;                  /* lists that clients are still taking */
    struct write_op *ops;                     /* writes that the store has not answered yet */
    struct apiserver_stats stats;
    bool stopping;
};

/* bootstrap.c: what every cluster has from the start: namespaces, system priority classes. */
int bootstrap(struct apiserver *s, bool koordinator, struct kerr *err);
struct first_object {
    const char *group, *plural, *ns, *name, *body;
};
/* 1: made; 0: it was there. */
int bootstrap_put(struct apiserver *s, const struct first_object *f, struct kerr *err);
/* bootstrap_kubernetes.c: the Service default/kubernetes, which says where we listen, and the day
 * since which legacy tokens are tracked. */
int bootstrap_kubernetes(struct apiserver *s, const char *addr, uint16_t port, struct kerr *err);
int bootstrap_rbac(struct apiserver *s, struct kerr *err); /* authz/bootstrap_rbac.c */
extern const struct resource
    review_resources[]; /* SelfSubjectAccessReview...; ends with kind NULL */

/* http/front.c: the handler of struct httpd. */
struct httpd_req;
void front_handle(void *server, struct httpd_req *r);

/* admission/admission.c: all steps. Mutating: 1 when defaults are to be applied again; d and obj
 * are NULL for a deletion. */
int admission_mutate(struct apiserver *s, const struct admission_req *r, struct kj_mdoc *d,
                     struct kj_mval *obj, struct kerr *err);
/* Only the server's own steps: they come again when a webhook has changed the object. */
int admission_mutate_builtin(struct apiserver *s, const struct admission_req *r, struct kj_mdoc *d,
                             struct kj_mval *obj, struct kerr *err);
/* Both: -EINPROGRESS: a step answers later; the call waits, and api_again() goes on with it. */
int admission_validate(struct apiserver *s, const struct admission_req *r, const struct kj_val *obj,
                       struct kerr *err);
/* The object that a step was asked about and has answered to meanwhile; NULL: none. For creates,
 * which would get another uid if they were made again. */
const struct kj_val *admission_kept(const struct api_call *c);
/* What steps said counts no more: the call ends, or its object is a new one. */
void admission_forget(struct api_call *c);
/* admission/builtin.c: the server's own steps, added at birth. */
/* But for those of disabled, kube-apiserver's names: an unknown one is an error. */
int admission_add_builtin(struct apiserver *s, const char *const *disabled, size_t n,
                          struct kerr *err);
void runtimeclass_add(struct apiserver *s);   /* admission/runtimeclass.c */
void limitrange_add(struct apiserver *s);     /* admission/limitrange.c */
void classes_add(struct apiserver *s);        /* admission/classes.c */
void topology_add(struct apiserver *s);       /* admission/topology.c */
void volumes_add(struct apiserver *s);        /* admission/volumes.c */
void requester_add(struct apiserver *s);      /* admission/requester.c */
void serviceaccount_add(struct apiserver *s); /* admission/serviceaccount.c */
void podsecurity_add(struct apiserver *s);    /* admission/podsecurity.c */
struct podsecurity *podsecurity_free(struct podsecurity *x);
void admission_fini(struct apiserver *s); /* before the store is closed */
#endif
