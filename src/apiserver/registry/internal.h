/* internal.h - what the files of the registry share. Nobody outside this room includes it.
 *
 *   call.c      life of a call, dispatch, answers        path.c, query.c  target -> call
 *   accept.c    content negotiation                       status.c   Status documents, field errors
 *   object.c    documents: reading, checking, writing     meta.c     rules of metadata
 *   read.c      get, list; token.c, list_text.c           select.c   selectors on documents
 *   watch.c     watches                                   create.c, change.c, patch.c, delete.c
 *   convert.c   custom objects in other versions, by webhook
 */
#ifndef KOORD_APISERVER_REGISTRY_INTERNAL_H
#define KOORD_APISERVER_REGISTRY_INTERNAL_H
#include "apiserver/registry/registry.h"
#include "apiserver/server_int.h"
#include "apiserver/store/store.h"
#include "loop/loop.h"

/* ---- path.c, accept.c ---------------------------------------------------------------------------
 */

/* Fills in path, verb, res, ns, name, sub. An error is the answer; *ret_page: it is the plain text
 * page for paths that are not the API's. */
int path_parse(struct api_call *c, bool *ret_page, struct kerr *err);
/* Why no name in a path may be this; NULL: it may. "" may. */
const char *path_segment_problem(struct str s);
/* Fills in what the query says. Answers itself (and returns false) when it is wrong. */
bool query_parse(struct api_call *c);
/* The form the client takes; false: 406. */
bool accept_parse(struct api_call *c);
void fail_not_acceptable(struct api_call *c); /* 406 */
enum body_type { BODY_JSON, BODY_YAML, BODY_PROTOBUF, BODY_OTHER };
enum body_type content_type_of(const struct api_call *c);

/* ---- status.c -----------------------------------------------------------------------------------
 */

struct field_cause {
    enum field_error_type type;
    char *path, *text; /* text: "Invalid value: \"x\": why" */
};
struct field_errors {
    struct field_cause *items; /* as in vec_of() */
    size_t n, cap;
    size_t bytes; /* of texts */
};
/* metadata: JSON text or NULL. details: JSON text or NULL (none at all). reason "": none. */
void status_write(struct strbuf *out, const char *metadata, const char *message, const char *reason,
                  const char *details, int code);
/* delete.c: of a Job, or all of them, without a word about their pods. */
void warn_of_orphans(struct api_call *c);
/* What a 422 with these causes says: its message and its details. */
void invalid_write(const char *group, const char *kind, const char *name,
                   const struct field_errors *errors, struct strbuf *message,
                   struct strbuf *details);
/* Warnings of the call, one per error. */
void warn_all(struct api_call *c, const struct field_errors *warnings);
/* Forgets what an attempt before has warned of; that the resource is deprecated stays. */
void warn_anew(struct api_call *c);
/* Ends the call with 422 and these causes. */
void fail_invalid(struct api_call *c, const char *group, const char *kind, const char *name,
                  const struct field_errors *errors);
/* ...on one text of its options: ListOptions, DeleteOptions, PatchOptions. */
void fail_options(struct api_call *c, const char *kind, enum field_error_type type,
                  const char *field, const char *value, const char *why);
/* ...on one field of an object; value is JSON text. */
void fail_field(struct api_call *c, const char *group, const char *kind, const char *name,
                enum field_error_type type, const char *field, const char *value, const char *why);
void fail_raw(struct api_call *c, int code, const char *reason, const char *message,
              const char *details);

/* ---- object.c -----------------------------------------------------------------------------------
 */

/* Reads the body of a create or update: parsed, kind and version right, unknown fields dealt with
 * as asked. */
int object_body(struct api_call *c, struct kj_doc **ret, struct kerr *err);
int object_check_fields(struct api_call *c, const struct kj_val *obj, bool of_patch,
                        struct kerr *err);
/* Only what cannot be read as an object of this resource at all; unknown fields may be there. */
int object_check_types(const struct resource *r, const struct kj_val *obj, struct kerr *err);
/* Prune, default. */
void object_default(const struct resource *r, struct kj_mdoc *d, struct kj_mval *obj);
/* false: refused, and the call was answered. */
bool object_allocate(struct api_call *c, const struct resource *r, enum res_verb verb,
                     struct kj_mdoc *d, struct kj_mval *obj, const struct kj_val *old);
void object_validate(struct apiserver *s, const struct resource *r, enum res_verb verb,
                     const struct kj_val *obj, const struct kj_val *old,
                     struct field_errors *errors, struct field_errors *warnings);
/* A stored document in the form of this resource, parsed. */
int object_load(const struct resource *r, const char *doc, size_t n, struct kj_doc **ret,
                struct kerr *err);
/* The canonical text: kind, apiVersion, metadata, then the rest. rev 0: no resourceVersion. */
void object_write(const struct resource *r, const struct kj_mval *obj, uint64_t rev,
                  struct strbuf *out);
/* The same in the words of this kind and version. */
void object_write_as(const char *kind, const char *api_version, const struct kj_mval *obj,
                     uint64_t rev, struct strbuf *out);
/* The defaults that a custom object lacks in the version it is stored in; false: none. */
bool object_fill(const struct crd_schema *schema, const char *doc, size_t n, struct strbuf *out);
/* It is stored in the version in which it would be stored now. */
bool object_is_current(const struct resource *r, const char *doc, size_t n);
/* A stored document as this resource shows it; in_list: without kind and apiVersion. */
void object_show(const struct resource *r, const char *doc, size_t n, bool in_list,
                 struct strbuf *out);
/* What is stored is read again inside of lists and events, which nest deeper. */
enum { OBJECT_DEPTH_MAX = KJ_DEPTH_MAX - 16 };
bool object_too_deep(const char *doc, size_t n);
/* The same document with another resourceVersion. */
void object_set_rev(const char *doc, size_t n, uint64_t rev, struct strbuf *out);
/* metav1.PartialObjectMetadata of a stored document. */
void object_metadata_only(const char *doc, size_t n, bool in_list, struct strbuf *out);
struct kj_mval *object_meta(struct kj_mdoc *d, struct kj_mval *obj); /* made when absent */
bool object_spec_equal(const struct resource *r, const struct kj_val *a, const struct kj_val *b);
bool object_has_finalizers(const struct resource *r, const struct kj_val *obj);

/* ---- meta.c -------------------------------------------------------------------------------------
 */

/* Owners that are there twice are there once, with a warning. */
void meta_dedup_owners(struct api_call *c, struct kj_mdoc *d, struct kj_mval *obj,
                       bool after_admission);
void meta_validate(const struct resource *r, const struct kj_val *obj, const struct kj_val *old,
                   struct field_errors *errors);
void meta_check_labels(const struct kj_val *meta, struct field_errors *errors);
void meta_check_annotations(const struct kj_val *meta, struct field_errors *errors);
void meta_generate_name(struct loop *l, const char *base, struct strbuf *out);
void uid_new(struct loop *l, char out[37]);
bool allows_unconditional(const struct resource *r);
bool allows_create_on_update(const struct resource *r);
bool returns_deleted(const struct resource *r);

/* ---- token.c ------------------------------------------------------------------------------------
 */

struct token {
    int64_t rev;
    const char *ns, *name; /* after this key */
    int64_t rem;           /* items left, -1: not known (selectors) */
};
const char *token_text(struct arena *a, const struct token *t);
int token_parse(struct api_call *c, struct token *t, struct kerr *err);

/* ---- select.c -----------------------------------------------------------------------------------
 */

struct selection; /* lives in the call's arena; NULL: everything */
int selection_new(struct api_call *c, struct selection **ret, struct kerr *err);
/* parsed: in and out, the document (in the form of the resource) when somebody has parsed it
 * already; the caller frees it. */
bool selection_match(struct selection *sel, const struct store_key *k, const char *doc, size_t n,
                     struct kj_doc **parsed);

/* A LabelSelector of a document on the labels of an object; one that is wrong matches nothing. */
bool selector_matches(const struct kj_val *selector, const struct kj_val *obj);

/* ---- health.c, metrics.c ------------------------------------------------------------------------
 */

bool health_handle(struct api_call *c); /* false: not a path of its own */
struct api_metrics *api_metrics_new(struct apiserver *s);
struct api_metrics *api_metrics_free(struct api_metrics *m); /* returns NULL */
void metrics_begin(struct api_call *c);
void metrics_answer(struct api_call *c, int status);
void metrics_end(struct api_call *c);
void metrics_reply(struct api_call *c);

/* ---- verbs --------------------------------------------------------------------------------------
 */

/* What a PUT or PATCH of this path changes. */
bool is_part(const char *sub); /* a path that shows the whole object, and writes a part of it */
enum res_verb call_res_verb(const struct api_call *c);
void verb_get(struct api_call *c);
void verb_list(struct api_call *c);
void verb_watch(struct api_call *c);
void verb_create(struct api_call *c);
void verb_update(struct api_call *c);
void verb_patch(struct api_call *c);
void verb_delete(struct api_call *c);
void verb_delete_collection(struct api_call *c);
/* SelfSubjectAccessReview and its relatives: answered, not stored. false: not one of them. */
bool review_handle(struct api_call *c);
bool is_review(const struct resource *r);
/* Server-side apply, of an object that is there or not. */
void verb_apply(struct api_call *c);
/* A create of this object, whatever the body of the call is. */
void create_object(struct api_call *c, const struct kj_val *body);
/* managed.c: notes who writes what into obj, which has its defaults; old NULL: a create. */
void managed_note(struct api_call *c, const struct resource *r, struct kj_mdoc *d,
                  struct kj_mval *obj, const struct kj_val *old);
void managed_set(struct kj_mdoc *d, struct kj_mval *obj, struct kj_mval *list); /* NULL: none */
/* obj was changed from `before` to `after` by somebody outside: managedFields that cannot be read
 * any more are those from before again, with a warning. */
void managed_mend(struct api_call *c, struct kj_mdoc *d, struct kj_mval *obj,
                  const struct kj_val *before, const struct kj_val *after);
/* An update, patch or apply of /scale: who owns obj's replicas, which are at `path`, when `before`
 * becomes *after; an apply makes *after. Positive: answered. */
int managed_scale(struct api_call *c, const char *path, const struct kj_val *before,
                  struct kj_doc **after, struct kj_mdoc *d, struct kj_mval *obj, struct kerr *err);
/* Equal but for the times of managedFields: no change. */
bool managed_only_times(const struct kj_val *obj, const struct kj_val *old);
/* The patch in the body applied to a document. */
int patch_apply(struct api_call *c, const struct kj_val *old, struct kj_mdoc *d,
                struct kj_mval **ret, struct kerr *err);
/* What a patch made does not decode: 422 that shows it. Returns 1: the call was answered. */
int fail_patched(struct api_call *c, const struct kj_val *obj, const struct kerr *why);
/* The type of a patch by its Content-Type, into c->patch; 415 for what is not served. */
int patch_type(struct api_call *c, struct kerr *err);
/* Is the resourceVersion acceptable? *ret_rev 0 when not given. */
int parse_rev(const char *text, uint64_t *ret_rev);
/* The same of a query; the error is a plain one, as upstream has it. */
int parse_rev_param(const char *text, uint64_t *ret_rev, struct kerr *err);

/* Fills in the options of a DELETE from its body; answers itself when they are wrong (false). */
bool delete_options(struct api_call *c);

void watch_close(struct watcher *w); /* from api_cancel(): frees */
void watch_resume(struct watcher *w);
void watch_drop_cache(struct apiserver *s);
/* The server stops: a last bookmark, then the end. */
void watch_finish(struct watcher *w);

void object_dup_member(struct kj_mdoc *d, struct kj_mval *obj, const struct kj_val *from,
                       const char *key); /* as in `from`, absent when absent there */
struct admission_req admission_of(struct api_call *c, const struct resource *r, const char *ns,
                                  const char *name, const char *operation,
                                  const struct kj_val *old);

/* The call is not answered in this turn. It has a minute from its beginning, or the time that its
 * client gives it (?timeout=), and is answered with 504 then. What is under way in the store still
 * happens. */
void call_waits(struct api_call *c);

/* ---- writes under way (call.c)
 * --------------------------------------------------------------------
 */

/* One store write on behalf of a call. fn gets the call (never NULL) or nothing when it was
 * cancelled; then the write happens all the same. */
typedef void (*write_done_fn)(void *arg, struct api_call *c, const char *doc, size_t n,
                              const struct kerr *err);
/* The document lives as long as the call: for objects that are made with its texts. */
const struct kj_val *call_keep(struct api_call *c, struct kj_doc *doc);
int call_put(struct api_call *c, const struct store_key *k, uint64_t from, struct strbuf *doc,
             write_done_fn fn, void *arg, struct kerr *err);
/* doc: the last state, as watchers see it. */
int call_remove(struct api_call *c, const struct store_key *k, uint64_t from, struct strbuf *doc,
                write_done_fn fn, void *arg, struct kerr *err);
void call_drop_writes(struct apiserver *s); /* the store is closed: no answer comes any more */
#endif
