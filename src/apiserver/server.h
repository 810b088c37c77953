/* server.h - the embedded API server: small but true. What it answers is what kube-apiserver 1.35
 * would answer (docs/compatibility-apiserver.md lists what is missing).
 *
 * A library like every component: it lives on the loop it is given, keeps its objects in a store
 * (SQLite file or memory), and is reached over HTTP or in process through the same registry.
 */
#ifndef KOORD_APISERVER_SERVER_H
#define KOORD_APISERVER_SERVER_H
#include "base/base.h"

struct apiserver;
struct intern;
struct kube;
struct loop;
struct metrics;
struct stream;
struct tls_ctx;

/* What admission does about the service accounts of pods: as kube-apiserver, but for a pod that
 * runs as "default" in a namespace that has no such account. */
enum apiserver_accounts {
    APISERVER_ACCOUNTS_LENIENT, /* it is taken as it is: nobody makes accounts */
    APISERVER_ACCOUNTS_MADE,    /* a controller makes it in a moment: as if it were there, empty */
    APISERVER_ACCOUNTS_STRICT   /* it is refused, as by kube-apiserver */
};
/* One mode that says yes suffices. */
enum apiserver_authorization {
    APISERVER_RBAC = 1 << 0,
    APISERVER_ALWAYS_ALLOW = 1 << 1, /* whoever is not anonymous may do everything */
    APISERVER_ALWAYS_DENY = 1 << 2   /* says yes to nobody */
};
struct apiserver_opts {
    const char *data_file;  /* SQLite file; NULL: memory only */
    const char *token;      /* bearer token of the administrator; NULL: anybody (tests) */
    const char *token_file; /* further users: authn/tokenfile.h; NULL: none */
    unsigned authorization; /* modes, enum apiserver_authorization; 0: APISERVER_ALWAYS_ALLOW */
    enum apiserver_accounts accounts;
    const char *root_ca; /* PEM: what clients trust, for Secrets with tokens; NULL: none */
    bool anonymous;      /* requests without a token are those of system:anonymous, not refused */
    bool no_crds;        /* do not install our own CRDs at start */
    bool alpha_apis;     /* kinds of alpha versions are served too: DeviceTaintRule */
    bool koordinator;    /* with Koordinator's namespace, priority classes and configuration */
    /* Admission plugins that are left out, by kube-apiserver's names; an unknown one: -EINVAL. */
    const char *const *disabled_admission;
    size_t ndisabled;
    const char *version; /* "v1.35.4+koord": what /version says */
    size_t ring_bytes;
    nsec_t history;
};
/* Opens the store, installs our CRDs and the namespaces every cluster has. */
int apiserver_new(struct loop *l, const struct apiserver_opts *o, struct apiserver **ret,
                  struct kerr *err);
struct apiserver *apiserver_free(struct apiserver *s); /* returns NULL */
DEFINE_CLEANUP(apiserver_free, struct apiserver *)

/* tls NULL: plain HTTP, allowed on loopback and unix sockets only (-EPERM otherwise). */
int apiserver_listen(struct apiserver *s, const char *addr, struct tls_ctx *tls, uint16_t *ret_port,
                     struct kerr *err);
/* New connections to listeners with TLS use this context (a renewed certificate); old ones stay.
 * root_ca: as in the options. */
void apiserver_set_tls(struct apiserver *s, struct tls_ctx *tls, const char *root_ca);
/* Serves one connection (tests on the virtual loop). */
void apiserver_serve(struct apiserver *s, struct stream *st);
/* No new requests; watches end in an orderly way; what is under way is finished. */
void apiserver_stop(struct apiserver *s, nsec_t grace, void (*done)(void *arg), void *arg);

/* The in-process transport: same registry, same answers, no sockets. As this user, who
 * is trusted with everything (NULL: the administrator). strings: the process's string table. Free
 * it before the server. */
struct kube *apiserver_kube(struct apiserver *s, struct intern *strings, const char *user);
/* What /metrics shows: others of the process may add theirs. */
struct metrics *apiserver_metrics(const struct apiserver *s);

/* ---- what nodes and pods use --------------------------------------------------------------------- */

struct apiserver_use {
    nsec_t at, window; /* wall: measured in the window that ends then */
    int64_t ncpu;      /* billionths of a core */
    int64_t bytes;     /* of memory */
};
struct apiserver_pod { /* as it is stored */
    const char *ns, *name, *uid;
    const char *node; /* "": none yet */
};
struct apiserver_usage { /* somebody who knows; false: nothing yet */
    bool (*node)(void *self, const char *name, struct apiserver_use *ret);
    bool (*pod)(void *self, const struct apiserver_pod *pod, struct apiserver_use *ret);
};
/* Serves metrics.k8s.io/v1beta1 from now on, for `kubectl top` and autoscalers. u NULL: who knew is
 * gone, and nothing is known any more. */
int apiserver_serve_usage(struct apiserver *s, const struct apiserver_usage *u, void *self,
                          struct kerr *err);

struct apiserver_stats {
    uint64_t requests, errors, watches_started;
    size_t open_watches, objects, list_bytes; /* list_bytes: of answers that wait for clients */
    uint64_t revision;
};
struct apiserver_stats apiserver_stats(const struct apiserver *s);
#endif
