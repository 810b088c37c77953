/* kube.h - an API server, real or embedded: one interface, two transports.
 *
 * kube_http_new() talks HTTP to a real one; the embedded server implements the same table of
 * functions with direct calls. Informers, leader election, events and controllers sit above and
 * cannot tell which. Loop thread only; every callback comes from a later turn, never from inside
 * the call, and exactly once (watch: any number of events, then one end) unless cancelled.
 */
#ifndef KOORD_CLIENT_KUBE_H
#define KOORD_CLIENT_KUBE_H
#include "api/kobj.h"
#include "base/base.h"

struct http;
struct intern;
struct kj_scratch;
struct kj_val;
struct kube;
struct kube_call;
struct kube_problem;
struct loop;
struct meter;

enum kube_verb {
    KUBE_GET,
    KUBE_LIST,
    KUBE_WATCH,
    KUBE_CREATE,
    KUBE_UPDATE,
    KUBE_PATCH,
    KUBE_DELETE,
    KUBE_DELETE_COLLECTION
};
enum kube_patch { KUBE_PATCH_MERGE, KUBE_PATCH_JSON, KUBE_PATCH_STRATEGIC, KUBE_PATCH_APPLY };

struct kube_req {
    enum kube_verb verb;
    const struct kind *kind;
    const char *ns;          /* NULL: cluster scope, or all namespaces for list and watch */
    const char *name;        /* NULL for list, watch, create, delete collection */
    const char *subresource; /* "status", "binding", "eviction", "scale", "log"; NULL for none */
    const char *raw_path;    /* instead of kind, ns, name: "/version" (GET and POST only) */
    const void *body;        /* JSON; copied */
    size_t body_len;
    enum kube_patch patch;
    const char *label_selector, *field_selector;
    const char *resource_version, *resource_version_match; /* list, watch */
    const char *continue_token;
    int64_t limit;                       /* 0: none */
    bool bookmarks, send_initial_events; /* watch */
    bool as_table;                       /* ask for a meta.k8s.io/v1 Table */
    bool protobuf; /* the body is of Kubernetes' protobuf type; without a body, the answer is */
    bool dry_run, force; /* force: server-side apply */
    bool no_retry;       /* hand 429 and 503 to the caller at once */
    const char *field_manager, *field_validation;
    nsec_t timeout; /* 0: 60 s; watch: 0 is a random 5 to 10 minutes, asked of the server too */
};

struct kube_resp {
    int status; /* HTTP status */
    char *body; /* NUL-terminated, may be overwritten during the callback (kj_parse_insitu) */
    size_t n;
    nsec_t retry_after; /* from the Retry-After header; 0 when absent */
};
/* err == NULL: 2xx. Otherwise err carries the Status of the server (reason, message), or what went
 * wrong on the way; r->status is 0 when no answer came. `r` is valid during the call only. */
typedef void (*kube_done_fn)(void *arg, struct kube_resp *r, const struct kerr *err);

enum kube_event_type { KUBE_ADDED, KUBE_MODIFIED, KUBE_DELETED, KUBE_BOOKMARK };
struct kube_watch_handler {
    /* obj is valid during the call only. Server-side ERROR events arrive as on_end. */
    void (*on_event)(void *arg, enum kube_event_type type, const struct kj_val *obj);
    /* err == NULL: the server ended the watch in an orderly way (time-out): resume. KR_GONE or
     * KR_EXPIRED: the resourceVersion is too old: list again. */
    void (*on_end)(void *arg, const struct kerr *err);
    /* The server accepted the watch, before its first event; may be NULL. */
    void (*on_open)(void *arg);
};

struct kube_ops {
    struct kube_call *(*call)(struct kube *k, const struct kube_req *r, kube_done_fn fn, void *arg);
    struct kube_call *(*watch)(struct kube *k, const struct kube_req *r,
                               const struct kube_watch_handler *on, void *arg);
    void (*cancel)(struct kube_call *c);
    void (*free)(struct kube *k);
};
struct kube { /* head of every transport */
    const struct kube_ops *ops;
    struct loop *loop;
    struct intern *strings;       /* the process's string table; borrowed */
    struct kj_scratch *scratch;   /* see kube_scratch() */
    struct kube_problem *problem; /* see kube_problem() */
    struct meter *meter;          /* counts what passes (meter.h); NULL: nobody does. Borrowed */
};
struct kube_call { /* head of every transport's call */
    struct kube *kube;
};

static inline struct kube_call *kube_do(struct kube *k, const struct kube_req *r, kube_done_fn fn,
                                        void *arg)
{
    return k->ops->call(k, r, fn, arg);
}
static inline struct kube_call *kube_watch(struct kube *k, const struct kube_req *r,
                                           const struct kube_watch_handler *on, void *arg)
{
    return k->ops->watch(k, r, on, arg);
}
/* No callback follows; what was sent may still take effect. NULL is fine; always returns NULL. */
static inline struct kube_call *kube_cancel(struct kube_call *c)
{
    if (c)
        c->kube->ops->cancel(c);
    return NULL;
}
/* To decode objects of this server with, made when first asked for: one for all, since it holds
 * some 100 KB and nobody is in the middle of a decode when another begins. */
struct kj_scratch *kube_scratch(struct kube *k);
/* Of the lists that a program waits for, the last that was refused, in one line for people: which
 * kind, why, what to do; "" when none was. Informers tell it: err NULL means that the list came. */
const char *kube_problem(const struct kube *k);
void kube_set_problem(struct kube *k, const struct kind *kind, const struct kerr *err);
/* Open calls end without a callback. NULL is fine; always returns NULL. */
struct kube *kube_free(struct kube *k);
DEFINE_CLEANUP(kube_free, struct kube *)

/* The path and query of a request, as kube-apiserver expects them; shared by transports. */
struct strbuf;
int kube_target(const struct kube_req *r, nsec_t watch_timeout, struct strbuf *out,
                struct kerr *err);
/* Fills err from an answer that is not 2xx: a metav1.Status body when there is one (then true). */
bool kube_status_err(int http_status, const char *body, size_t n, struct kerr *err);

/* ---- transport over HTTP ----------------------------------------------------------------------
 */

struct kube_config;
/* The configuration is copied. strings may be shared with other transports of the process. */
int kube_http_new(struct loop *l, struct intern *strings, const struct kube_config *c,
                  struct kube **ret, struct kerr *err);
/* For tests: the same transport over any struct http (virtual loop, injected faults); `http` stays
 * the caller's. */
struct kube *kube_http_over(struct loop *l, struct intern *strings, struct http *http);
/* Client-side limits as upstream's flags name them; qps <= 0: none. */
void kube_http_set_limits(struct kube *k, double qps, int burst);

struct kube_http_stats {
    uint64_t requests, retries, throttled, token_refreshes;
};
struct kube_http_stats kube_http_stats(const struct kube *k);
#endif
