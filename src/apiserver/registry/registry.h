/* registry.h - one request to the API, from its path to its answer, whoever carries it.
 *
 * The HTTP front and the in-process client make a struct api_call from method, target, headers and
 * body, and give it a sink for the answer; api_run() finds the resource and the verb and does the
 * rest. Handlers of subresources, discovery and Table code see the same call. Loop thread only.
 *
 * A call lives until its one answer was given (watches: until the end) or it was cancelled; its
 * arena dies with it. The answer may come from inside api_run(): carriers that owe their caller a
 * later turn see to that themselves.
 */
#ifndef KOORD_APISERVER_REGISTRY_REGISTRY_H
#define KOORD_APISERVER_REGISTRY_REGISTRY_H
#include "apiserver/authn/user.h"
#include "apiserver/registry/resource.h"
#include "apiserver/registry/resources.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct admission_later;
struct api_call;
struct api_list;
struct apiserver;
struct call_conversions;
struct list_text;
struct loop;
struct store;
struct watcher;
struct write_op;

/* ---- the server, as its rooms see it ------------------------------------------------------------
 */

struct loop *apiserver_loop(const struct apiserver *s);
struct store *apiserver_store(const struct apiserver *s);
struct res_table *apiserver_resources(const struct apiserver *s);
const char *apiserver_version(const struct apiserver *s); /* "v1.35.4+koord" */

/* ---- a call ------------------------------------------------------------------------------------
 */

enum api_verb {
    API_NONE, /* not a resource: discovery, /version, /healthz, /openapi */
    API_GET,
    API_LIST,
    API_WATCH,
    API_CREATE,
    API_UPDATE,
    API_PATCH,
    API_DELETE,
    API_DELETE_COLLECTION
};
enum api_patch_type { API_PATCH_JSON, API_PATCH_MERGE, API_PATCH_STRATEGIC, API_PATCH_APPLY };
enum api_format { API_AS_OBJECT, API_AS_TABLE, API_AS_METADATA }; /* what the client takes */
enum api_field_validation { API_FIELDS_WARN, API_FIELDS_STRICT, API_FIELDS_IGNORE };
enum api_include { API_INCLUDE_METADATA, API_INCLUDE_NONE, API_INCLUDE_OBJECT }; /* Table rows */

struct api_list { /* the document is these three texts in a row */
    struct str head;
    struct list_text *items; /* list_text.h */
    struct str tail;
};

/* Where the answer goes. Texts are valid during the call only. */
struct api_sink {
    /* The one answer of everything but an accepted watch. json is a whole document (or plain text
     * when c->reply_type says so). The call is gone afterwards. */
    void (*reply)(void *arg, struct api_call *c, int status, const char *json, size_t n);
    /* The answer to a list in pieces, of which the items may be shared (take a reference, not a
     * copy). NULL: reply() gets the whole document. */
    void (*reply_list)(void *arg, struct api_call *c, const struct api_list *l);
    /* A watch was accepted: 200, events follow. */
    void (*open)(void *arg, struct api_call *c);
    /* type: "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR" (a Status; the end follows).
     * false: full; api_resume() when there is room again. The event was taken all the same. */
    bool (*event)(void *arg, struct api_call *c, const char *type, const char *json, size_t n);
    /* The end of an accepted watch. The call is gone afterwards. */
    void (*end)(void *arg, struct api_call *c);
};

struct api_call {
    struct apiserver *s;
    struct arena *arena;
    const struct api_sink *sink;
    void *sink_arg;

    /* What the carrier fills in, copied into the arena by itself. */
    const char *method;                                             /* "GET" ... "PATCH" */
    const char *target;                                             /* path and query, as sent */
    const char *content_type, *accept, *if_none_match, *user_agent; /* NULL when absent */
    const struct api_user *user; /* anonymous unless the carrier knows better */
    bool authorized;             /* authz_call() has said yes */
    bool admitted;               /* an eviction was: the deletion that it means asks nobody */
    bool of_collection;          /* a deletion of one object of many: webhooks are told no name */
    bool in_process; /* what it creates has no managedFields until somebody else applies it */
    char *body;      /* NUL-terminated with KJ_PADDING bytes of room; the carrier's or arena's */
    size_t body_len;

    /* What the path says. */
    const char *path; /* without query, unescaped */
    enum api_verb verb;
    const struct resource *res;  /* a reference of the call's own; NULL with API_NONE */
    const char *ns, *name, *sub; /* "" when none (all namespaces, collections) */

    /* What query, headers and DeleteOptions say. */
    const char *label_selector, *field_selector; /* NULL when absent or empty */
    const char *resource_version, *rv_match, *continue_token;
    int64_t limit;
    int64_t timeout_s;                      /* of a watch; 0: not given */
    bool bookmarks, dry_run, pretty, force; /* force: an apply wins its conflicts */
    int send_initial;                       /* -1: not given */
    const char *field_manager;
    enum api_field_validation fields;
    enum api_patch_type patch;
    enum api_format format;
    enum api_include include;
    int64_t grace;           /* seconds, -1: not given */
    const char *propagation; /* "Background", "Foreground", "Orphan"; NULL: not given */
    const char *precond_uid, *precond_rv;

    /* For the answer: JSON when reply_type is NULL. */
    const char *reply_type, *reply_etag;
    int retry_after_s;                    /* header Retry-After; 0: none */
    struct vec_of(const char *) warnings; /* header Warning: 299 - "..." */
    struct vec_of(struct kj_doc *) docs;  /* call_keep() */

    struct watcher *watch;      /* registry/watch.c */
    struct write_op *op;        /* under way in the store */
    void (*on_gone)(void *arg); /* the call ends, answered or not; NULL: nobody to tell */
    void *gone_arg;
    nsec_t began, timeout;                /* timeout: of what is no watch; 0: not given */
    struct timer *late;                   /* what waits has been given up by then */
    bool done, counted;                   /* counted: among the requests under way */
    bool creating;                        /* what waits is a new object, not a changed one */
    unsigned retries, asked;              /* asked: steps of admission that answer later */
    struct admission_later *laters;       /* admission/admission.c */
    struct call_conversions *conversions; /* registry/convert.c */
    uint64_t list_rev;                    /* of a list that waits for conversions; 0: it does not */
    const struct api_refusal *refusal;    /* of a webhook: admission_refuse(); NULL: none */
    const char *err_text;                 /* api_err_text(); NULL: none was that long */
    size_t warned;                        /* characters of all warnings */
    bool warnings_cut;
};
struct api_refusal {
    int code;
    const char *reason, *message, *details; /* details: JSON text, NULL: none */
};

struct api_call *api_call_new(struct apiserver *s, const struct api_sink *sink, void *sink_arg);
void api_run(struct api_call *c);
void api_resume(struct api_call *c); /* a watch: there is room for events again */
void api_again(struct api_call *c);  /* a write that waited for admission: look at it once more */
/* No answer follows; what is under way in the store still happens. */
void api_cancel(struct api_call *c);

/* ---- answering (each ends the call)
 * --------------------------------------------------------------
 */

/* A whole document or text as it is (pretty-printed on request). */
void api_reply(struct api_call *c, int status, const char *json, size_t n);
/* 200 with a list. */
void api_reply_list(struct api_call *c, const struct api_list *l);
/* An object of c->res as stored, in the form the client asked for (Table, metadata only). */
void api_reply_object(struct api_call *c, int status, const char *doc, size_t n);
/* metav1.Status "Success" with details of the object; uid may be NULL. */
void api_reply_success(struct api_call *c, int status, const char *name, const char *uid);
/* metav1.Status "Failure": reason and message of err, details of the call. */
void api_fail(struct api_call *c, const struct kerr *err);
/* One cause with a given reason, as binding and eviction have them (DisruptionBudget). code 0: the
 * reason's. retry_after_s < 0: none. */
void api_fail_cause(struct api_call *c, const struct kerr *err, const char *cause_reason,
                    const char *cause_message, int retry_after_s);
/* The same, unless a webhook has said more. */
void api_fail_admission(struct api_call *c, const struct kerr *err);
/* Admission of what a subresource was sent, an object of this kind, before it acts; steps may put
 * another one in its place. false: answered, or a step answers later. */
bool api_admit(struct api_call *c, const char *operation, const char *api_version, const char *kind,
               struct kj_doc **obj);
/* 413: a body of more than API_BODY_MAX bytes. */
enum {
    API_BODY_MAX = 3 << 20,
    API_LISTS_MAX = 64 << 20, /* texts of lists that clients are still taking; beyond it 429, */
    API_LIST_SMALL = 1 << 20, /* but not for lists of this size */
};
void api_fail_too_large(struct api_call *c);
/* 422 with all causes: Pod "x" is invalid: [spec.a: Required value, spec.b: ...]. */
void api_fail_invalid(struct api_call *c, const char *name, const struct field_errors *errors);
/* ...of another kind than that of the call. */
void api_fail_invalid_kind(struct api_call *c, const char *kind, const char *name,
                           const struct field_errors *errors);
/* Header Warning: 299. A text that is there already counts once; as with kube-apiserver they are
 * cut when there is much to say, and more than that is not said. */
void api_warn(struct api_call *c, const char *fmt, ...) PRINTF(2, 3);

/* As kerr_api(), with a text of any length: err holds as much of it as it can, the call all of it,
 * which is what api_fail() answers. Refusals show names (253 bytes) and what the client sent. */
int api_err(struct api_call *c, struct kerr *err, int code, enum kreason reason, const char *fmt,
            ...) PRINTF(5, 6);
/* The text of err, whole if it was made by api_err(). Borrowed, of err or of the call. */
const char *api_err_text(const struct api_call *c, const struct kerr *err);
/* Errors in the words of kube-apiserver; all return err->code. */
int api_err_not_found(struct api_call *c, struct kerr *err, const struct resource *r,
                      const char *name);
int api_err_exists(struct api_call *c, struct kerr *err, const struct resource *r,
                   const char *name);
int api_err_conflict(struct api_call *c, struct kerr *err, const struct resource *r,
                     const char *name);
int api_err_not_served(struct kerr *err); /* the server could not find the requested resource */
int api_err_method(struct kerr *err);     /* the server does not allow this method on the ... */

struct field_errors *field_errors_new(void);
struct field_errors *field_errors_free(struct field_errors *e); /* returns NULL */
DEFINE_CLEANUP(field_errors_free, struct field_errors *)
void field_errors_move(struct field_errors *to, struct field_errors *from); /* from is empty then */

/* A Status as text; for those who answer without a call. */
void api_status_text(struct strbuf *out, const struct kerr *err);

/* ---- reading and writing objects, for handlers of subresources
 * ------------------------------------
 */

/* The newest version, committed or under way, in the form of this resource. *ret_doc is the
 * caller's. -ENOENT with the message of kube-apiserver. -EINPROGRESS (custom resources only): a
 * webhook converts it, and the call is looked at again. ret_rev may be NULL. */
int api_read(struct api_call *c, const struct resource *r, const char *ns, const char *name,
             struct kj_doc **ret_doc, uint64_t *ret_rev, struct kerr *err);

/* Read, change, check, store, answer: what PUT, PATCH, status, binding and scale are made of. */
struct api_change {
    enum res_verb verb;         /* RES_UPDATE or RES_STATUS: decides prepare and validation */
    const struct resource *res; /* NULL: c->res */
    const char *ns, *name;      /* NULL: those of the call */
    /* Changes obj, a copy of old. 0, or an error that becomes the answer. May be called again
     * after a conflict in the store. */
    int (*edit)(void *arg, struct api_call *c, const struct kj_val *old, struct kj_mdoc *d,
                struct kj_mval *obj, struct kerr *err);
    /* Instead of edit: a whole new object. Positive: it has answered the call itself. */
    int (*make)(void *arg, struct api_call *c, const struct kj_val *old, struct kj_mdoc *d,
                struct kj_mval **ret, struct kerr *err);
    /* Answers once it is stored (or dry run); NULL: 200 with the object. */
    void (*reply)(void *arg, struct api_call *c, const char *doc, size_t n);
    void *arg;         /* best in the call's arena */
    bool skip_prepare; /* the server's own change: no prepare, no validation, no admission */
};
void api_change(struct api_call *c, const struct api_change *ch);

/* Deletes an object as DELETE does (grace, finalizers, preconditions of the call); NULL reply: the
 * usual answer. */
void api_delete_object(struct api_call *c, const struct resource *r, const char *ns,
                       const char *name,
                       void (*reply)(void *arg, struct api_call *c, const char *doc, size_t n),
                       void *arg);
/* Fills in the options of a deletion from a DeleteOptions; false: they are wrong, and the call was
 * answered. */
bool api_delete_options(struct api_call *c, const struct kj_val *options);
/* The body parsed (JSON or YAML by content type) with apiVersion and kind checked against want
 * ("policy/v1", "Eviction"; NULL: anything). *ret_doc is the caller's. */
int api_body(struct api_call *c, const char *want_api_version, const char *want_kind,
             struct kj_doc **ret_doc, struct kerr *err);
/* GET, PUT and PATCH of .../scale: replicas and selector at these paths ("spec.replicas",
 * "status.replicas", "status.selector" - NULL: none; a selector may also be an object). */
struct api_scale_paths {
    const char *spec_replicas, *status_replicas, *selector;
};
void api_scale(struct api_call *c, const struct api_scale_paths *p);

/* ---- what others implement
 * ------------------------------------------------------------------------
 */

/* The clauses of the Accept header, the preferred ones first; "" when there are none. */
const char *accept_by_preference(const struct api_call *c);
/* GET or HEAD. */
bool api_reads(const struct api_call *c);

/* http/discovery.c (discovery, aggregated discovery, OpenAPI): answers (later or now) and returns
 * true when the path is its own. */
bool discovery_handle(struct api_call *c);

/* registry/table.c: one row {"cells":[...],"object":...} of a Table, without a comma... */
void table_row(const struct api_call *c, const struct kj_val *obj, struct strbuf *rows);
/* ...what stands before them (behind them "]}"), and the whole document. metadata: JSON text of its
 * ListMeta. columns false: a later event of a watch, whose columnDefinitions are null. */
void table_open(const struct api_call *c, const char *metadata, bool columns, struct strbuf *out);
void table_wrap(const struct api_call *c, const char *metadata, const struct strbuf *rows,
                bool columns, struct strbuf *out);

/* apiservices.c: what is served has changed. */
void apiservices_sync(struct apiserver *s);

/* crd/: what a structural schema does to an object of a custom resource. */
typedef void (*crd_problem_fn)(void *arg, const char *text); /* unknown field "spec.foo" */
int crd_check(const struct crd_schema *s, const struct kj_val *obj, crd_problem_fn fn, void *arg,
              struct kerr *err);
void crd_prune(const struct crd_schema *s, struct kj_mdoc *d, struct kj_mval *obj);
void crd_default(const struct crd_schema *s, struct kj_mdoc *d, struct kj_mval *obj);
/* An object of this revision may have been stored before a default came: reads fill it in. */
bool crd_may_lack_defaults(const struct crd_schema *s, uint64_t rev);
void crd_validate(const struct crd_schema *s, enum res_verb verb, const struct kj_val *obj,
                  const struct kj_val *old, struct field_errors *errors,
                  struct field_errors *warnings);
/* A field that selectors may name, as text; NULL: they may not. obj NULL: only that is asked. */
const char *crd_field(const struct crd_schema *s, const struct kj_val *obj, const char *field,
                      struct arena *a);
/* Scale and further subresources of custom resources. */
void crd_subresource(struct apiserver *s, struct api_call *c);
/* Serves stored CustomResourceDefinitions and follows changes; installs ours unless told not to. */
struct crds;
int crds_start(struct apiserver *s, bool install_ours, struct crds **ret, struct kerr *err);
struct crds *crds_stop(struct crds *c); /* NULL is fine; returns NULL */
#endif
