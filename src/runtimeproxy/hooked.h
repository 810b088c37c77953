/* hooked.h - a request that hooks may look at: asked before, changed, remembered, told after
 * (runtime-proxy 4.2), whatever protocol it came by.
 *
 * The protocol reads the request into CRI's messages, hands it to hooked_begin(), and carries out
 * what its struct hooked_ops is told. Loop thread only.
 */
#ifndef KOORD_RUNTIMEPROXY_HOOKED_H
#define KOORD_RUNTIMEPROXY_HOOKED_H
#include "runtimeproxy/proxy_int.h"

enum hooked_kind {
    HOOKED_RUN_POD,
    HOOKED_STOP_POD,
    HOOKED_REMOVE_POD,
    HOOKED_CREATE,
    HOOKED_START,
    HOOKED_STOP,
    HOOKED_REMOVE,
    HOOKED_UPDATE,
    HOOKED_KINDS
};
enum hooked_end { /* of the runtime's part */
                  HOOKED_OK,
                  HOOKED_NOT_FOUND,
                  HOOKED_FAILED
};
struct hooked;
struct hooked_method;

struct hooked_ops { /* what a protocol does; the call is gone after refuse and release */
    nsec_t (*left)(const void *call); /* until the caller's deadline; 0: it has none */
    void (*forward)(void *call, struct str message); /* {NULL, 0}: as it came */
    void (*refuse)(void *call, const char *text);
    void (*release)(void *call);
    /* The request with what is in h->in now. */
    void (*encode)(const struct hooked *h, struct strbuf *out);
    void (*fini)(struct hooked *h); /* of h->source; may be NULL */
    bool has_pod_resources;         /* a pod has resources that hooks may change */
    bool has_plain_updates;         /* updates have neither annotations nor an OOM score */
};

struct hooked { /* one request */
    struct proxy *p;
    const struct hooked_ops *ops;
    void *call;   /* the protocol's */
    void *source; /* and what it encodes from */
    const struct hooked_method *m;
    struct arena *arena;
    struct hook_call *hook; /* under way */
    bool fail;              /* its policy */
    bool is_known;          /* read, and what it is about is known */
    bool is_skipped;        /* the pod has the label */
    char *id;               /* of the pod or container; NULL: not known yet */
    union {
        struct cri_run_pod_request run;
        struct cri_create_request create;
        struct cri_update_request update;
    } in;
    union { /* what hooks are asked about; what is stored */
        struct hook_pod_request pod;
        struct hook_container_request container;
    } about;
    struct strbuf stored; /* the same as bytes, made before the request is gone */
    struct strbuf pod;    /* of a container: what is to be remembered of its pod too */
    char *pod_id;
};

struct hooked *hooked_new(struct proxy *p, const struct hooked_ops *ops, void *call,
                          enum hooked_kind kind);
void hooked_free(struct hooked *h);
enum hooked_kind hooked_kind(const struct hooked *h);
/* CRI's name of it; NULL in place of a name that is none of these: no kind. */
const char *hooked_name(enum hooked_kind kind);
bool hooked_by_name(struct str name, enum hooked_kind *ret);

/* ---- reading: h->in is filled; false: hooks have nothing to look at -------------------------- */

bool hooked_read_run(struct hooked *h);
bool hooked_read_create(struct hooked *h, struct kerr *err); /* -ENOENT: of an unknown pod */
bool hooked_read_update(struct hooked *h, struct kerr *err);
bool hooked_read_id(struct hooked *h, struct str id, struct kerr *err);

/* ---- life ------------------------------------------------------------------------------------ */

/* Asks, and then forwards or refuses. */
void hooked_begin(struct hooked *h, bool is_known);
/* The runtime has answered; id: of what it made. Tells, and then releases. */
void hooked_answered(struct hooked *h, enum hooked_end end, struct str id);
/* One more request, under this name. */
void hooked_count_call(struct proxy *p, const char *name);
#endif
