/* admithook_review.c - AdmissionReview, versions v1 and v1beta1: the question and its answer.
 *
 * The answer is untrusted input: admithook_answer_read() has a fuzz target (tests/fuzz).
 */
#include "apiserver/admission/admithook_int.h"
#include "apiserver/admission/admithook_patch.h"
#include "base/b64.h"

/* ---- the question ---------------------------------------------------------------------------- */

static void write_kind(struct kjw *w, const char *key, const struct resource *r,
                       const struct admission_req *q)
{
    const char *version = r->version, *group = r->group, *slash;
    size_t n = strlen(group);

    if (q->kind) {
        slash = strchr(q->api_version, '/');
        group = slash ? q->api_version : "";
        n = slash ? (size_t)(slash - q->api_version) : 0;
        version = slash ? slash + 1 : q->api_version;
    }
    kjw_obj(w, key);
    kjw_strn(w, "group", group, n);
    kjw_str(w, "version", version);
    kjw_str(w, "kind", q->kind ? q->kind : r->kind);
    kjw_end(w);
}

static void write_resource(struct kjw *w, const char *key, const struct resource *r)
{
    kjw_obj(w, key);
    kjw_str(w, "group", r->group);
    kjw_str(w, "version", r->version);
    kjw_str(w, "resource", r->plural);
    kjw_end(w);
}

static void write_object(struct kjw *w, const char *key, const struct admission_req *r,
                         const struct resource *as, const struct kj_val *obj)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    if (!obj) {
        kjw_null(w, key);
        return;
    }
    kj_mwrite(admithook_show(r, as, d, obj), 0, &text);
    kjw_raw(w, key, text.data, text.len);
}

static void write_delete_options(struct kjw *w, const struct api_call *c)
{
    if (c->grace >= 0)
        kjw_i64(w, "gracePeriodSeconds", c->grace);
    if (c->precond_uid || c->precond_rv) {
        kjw_obj(w, "preconditions");
        if (c->precond_uid)
            kjw_str(w, "uid", c->precond_uid);
        if (c->precond_rv)
            kjw_str(w, "resourceVersion", c->precond_rv);
        kjw_end(w);
    }
    if (c->propagation)
        kjw_str(w, "propagationPolicy", c->propagation);
}

static void write_options(struct kjw *w, const struct admission_req *r)
{
    const struct api_call *c = r->call;
    bool delete = streq(r->operation, "DELETE");

    kjw_obj(w, "options");
    kjw_str(w, "kind",
            delete                          ? "DeleteOptions"
            : streq(r->operation, "CREATE") ? "CreateOptions"
                                            : "UpdateOptions");
    kjw_str(w, "apiVersion", "meta.k8s.io/v1");
    if (r->dry_run) {
        kjw_arr(w, "dryRun");
        kjw_str(w, NULL, "All");
        kjw_end(w);
    }
    if (delete)
        write_delete_options(w, c);
    else if (c->field_manager)
        kjw_str(w, "fieldManager", c->field_manager);
    if (!delete &&c->fields != API_FIELDS_WARN)
        kjw_str(w, "fieldValidation", c->fields == API_FIELDS_STRICT ? "Strict" : "Ignore");
    if (!delete &&c->force)
        kjw_bool(w, "force", true);
    kjw_end(w);
}

/* A name that the server has yet to make is not told, nor that of one deletion of many. */
const char *admithook_name(const struct admission_req *r, const struct kj_val *obj)
{
    if (r->call->of_collection)
        return "";
    if (streq(r->operation, "CREATE") && !*r->subresource)
        return kj_str_or(kj_path(obj, "metadata.name"), "");
    return r->name;
}

void admithook_request_write(struct kjw *w, const struct resource *as,
                             const struct admission_req *r, const struct kj_val *obj,
                             const char *uid)
{
    const char *name = admithook_name(r, obj);
    bool is_namespace = !*r->res->group && streq(r->res->plural, "namespaces");
    const char *ns = is_namespace ? r->name : r->ns;

    if (uid)
        kjw_str(w, "uid", uid);
    write_kind(w, "kind", as, r);
    write_resource(w, "resource", as);
    if (*r->subresource)
        kjw_str(w, "subResource", r->subresource);
    write_kind(w, "requestKind", r->res, r);
    write_resource(w, "requestResource", r->res);
    if (*r->subresource)
        kjw_str(w, "requestSubResource", r->subresource);
    if (*name)
        kjw_str(w, "name", name);
    if (*ns)
        kjw_str(w, "namespace", ns);
    kjw_str(w, "operation", r->operation);
    api_user_write(r->call->user, w, "userInfo");
    if (uid) {
        write_object(w, "object", r, as, obj);
        write_object(w, "oldObject", r, as, r->old);
    }
    kjw_bool(w, "dryRun", r->dry_run);
    write_options(w, r);
}

void admithook_review_write(const struct admithook *h, const struct resource *as,
                            const struct admission_req *r, const struct kj_val *obj,
                            const char *uid, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", "AdmissionReview");
    kjw_str(&w, "apiVersion",
            streq(h->version, "v1") ? "admission.k8s.io/v1" : "admission.k8s.io/v1beta1");
    kjw_obj(&w, "request");
    admithook_request_write(&w, as, r, obj, uid);
    kjw_end(&w);
    kjw_end(&w);
}

/* ---- the answer ------------------------------------------------------------------------------ */

#define FAILED  "failed to call webhook: "
#define INVALID "received invalid webhook response: "

void admithook_answer_fini(struct admithook_answer *a)
{
    kj_doc_free(a->doc);
    kj_doc_free(a->patch);
    *a = (struct admithook_answer){ 0 };
}

static bool all_strings(const struct kj_val *list)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v))
        if (kj_type(v) != KJ_STR)
            return false;
    return true;
}

/* What is of another type than it should be must not count as absent. */
static int check_types(const struct kj_val *response, struct strbuf *why)
{
    static const struct {
        const char *name;
        enum kj_type type;
    } fields[] = {
        { "uid", KJ_STR },      { "allowed", KJ_BOOL },  { "status", KJ_OBJ },
        { "patch", KJ_STR },    { "patchType", KJ_STR }, { "auditAnnotations", KJ_OBJ },
        { "warnings", KJ_ARR },
    };
    if (kj_type(response) != KJ_OBJ) {
        strbuf_append(why, kj_type(response) <= KJ_NULL ? INVALID "webhook response was absent"
                                                        : FAILED
                               "json: cannot unmarshal into Go struct field "
                               "AdmissionReview.response of type v1.AdmissionResponse");
        return -EBADMSG;
    }
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const struct kj_val *v = kj_get(response, fields[i].name);
        if (kj_type(v) > KJ_NULL &&
            (kj_type(v) != fields[i].type || (i >= ARRAY_LEN(fields) - 2 && !all_strings(v)))) {
            strbuf_appendf(why,
                           FAILED "json: cannot unmarshal into Go struct field "
                                  "AdmissionResponse.response.%s",
                           fields[i].name);
            return -EBADMSG;
        }
    }
    return 0;
}

static int check_v1(const struct kj_val *root, const struct kj_val *response, const char *uid,
                    bool mutating, struct strbuf *why)
{
    const char *got = kj_str_or(kj_get(response, "uid"), "");
    const char *version = kj_str_or(kj_get(root, "apiVersion"), "");
    const char *kind = kj_str_or(kj_get(root, "kind"), "");
    const char *type = kj_str(kj_get(response, "patchType"));
    bool patch = kj_len(kj_get(response, "patch")) > 0;

    if (!streq(got, uid))
        strbuf_appendf(why, INVALID "expected response.uid=\"%s\", got \"%.200s\"", uid, got);
    else if (!streq(version, "admission.k8s.io/v1") || !streq(kind, "AdmissionReview"))
        strbuf_appendf(why,
                       INVALID
                       "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, "
                       "got %s%.100s, Kind=%.100s",
                       *version ? "" : "/", version, kind);
    else if (!mutating && patch)
        strbuf_append(why, INVALID "validating webhook may not return response.patch");
    else if (!mutating && type)
        strbuf_append(why, INVALID "validating webhook may not return response.patchType");
    else if (patch && !type)
        strbuf_append(why, INVALID "webhook returned response.patch but not response.patchType");
    else if (!patch && type)
        strbuf_append(why, INVALID "webhook returned response.patchType but not response.patch");
    else if (type && !*type)
        strbuf_append(why, INVALID "webhook returned invalid response.patchType of \"\"");
    else if (type && !streq(type, "JSONPatch"))
        strbuf_appendf(why, "unsupported patch type \"%.100s\"", type);
    return why->len ? -EBADMSG : 0;
}

static int read_patch(const struct kj_val *text, struct kj_doc **ret, struct strbuf *why)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    struct kerr err = { 0 };

    if (b64_decode(kj_str(text), kj_len(text), &json) < 0) {
        strbuf_append(why, FAILED "illegal base64 data in response.patch");
        return -EBADMSG;
    }
    if (json.len && kj_parse(json.data, json.len, KJ_RAW_NUMBERS, ret, &err) < 0) {
        strbuf_append(why, err.text);
        return -EINVAL;
    }
    if (*ret && kj_type(kj_root(*ret)) != KJ_ARR) {
        strbuf_append(why, "json: cannot unmarshal into Go value of type jsonpatch.Patch");
        return -EINVAL;
    }
    if (*ret && kj_len(kj_root(*ret)) == 0)
        *ret = kj_doc_free(*ret);
    return 0;
}

int admithook_answer_read(const char *body, size_t n, const char *version, const char *uid,
                          bool mutating, struct admithook_answer *ret, struct strbuf *why)
{
    CLEANUP(admithook_answer_fini) struct admithook_answer a = { 0 };
    struct kerr err = { 0 };

    if (kj_parse(body, n, KJ_RAW_NUMBERS, &a.doc, &err) < 0 || kj_type(kj_root(a.doc)) != KJ_OBJ) {
        strbuf_appendf(why, FAILED "couldn't get version/kind; json parse error: %s",
                       err.code ? err.text : "the document is not an object");
        return -EBADMSG;
    }
    const struct kj_val *response = kj_get(kj_root(a.doc), "response");
    if (check_types(response, why) < 0 ||
        (streq(version, "v1") && check_v1(kj_root(a.doc), response, uid, mutating, why) < 0))
        return -EBADMSG;
    a.allowed = kj_bool(kj_get(response, "allowed"), false);
    a.status = kj_get(response, "status");
    a.warnings = kj_get(response, "warnings");
    const struct kj_val *patch = kj_get(response, "patch");
    int e = mutating && a.allowed && kj_len(patch) ? read_patch(patch, &a.patch, why) : 0;
    if (e < 0)
        return e;
    *ret = a;
    a = (struct admithook_answer){ 0 };
    return 0;
}

struct api_refusal admithook_answer_refusal(const struct admithook_answer *a, const char *webhook,
                                            struct arena *arena)
{
    const char *reason = kj_str_or(kj_get(a->status, "reason"), "");
    const char *message = kj_str_or(kj_get(a->status, "message"), "");
    const struct kj_val *details = kj_get(a->status, "details");
    int64_t code = kj_i64_or(kj_get(a->status, "code"), 0);
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    message = *message ? message : reason;
    if (kj_type(details) == KJ_OBJ)
        kj_write(details, 0, &text);
    return (struct api_refusal){
        .code = code < 400 || code > 599 ? 400 : (int)code,
        .reason = arena_strdup(arena, reason),
        .message = *message ? arena_printf(arena, "admission webhook \"%s\" denied the request: %s",
                                           webhook, message)
                            : arena_printf(arena,
                                           "admission webhook \"%s\" denied the request without "
                                           "explanation",
                                           webhook),
        .details = text.len ? arena_strdup(arena, text.data) : NULL,
    };
}
