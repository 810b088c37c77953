/* create.c - POST to a collection. */
#include "apiserver/authz/authorizer.h"
#include "apiserver/registry/convert.h"
#include "apiserver/registry/internal.h"
#include "base/ktime.h"

enum { NAME_ATTEMPTS = 8 }; /* of generateName, as kube-apiserver does */

struct admission_req admission_of(struct api_call *c, const struct resource *r, const char *ns,
                                  const char *name, const char *operation, const struct kj_val *old)
{
    return (struct admission_req){ .res = r,
                                   .ns = r->namespaced ? ns : "",
                                   .name = name,
                                   .subresource = c->sub,
                                   .operation = operation,
                                   .user = c->user->name,
                                   .old = old,
                                   .dry_run = c->dry_run,
                                   .call = c };
}

bool api_admit(struct api_call *c, const char *operation, const char *api_version, const char *kind,
               struct kj_doc **obj)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct admission_req req = admission_of(c, c->res, c->ns, c->name, operation, NULL);
    struct kj_mval *v = kj_mcopy(d, kj_root(*obj));
    struct kerr err = { 0 };

    req.api_version = api_version;
    req.kind = kind;
    kj_mset(d, v, "apiVersion", kj_mstr(d, api_version));
    kj_mset(d, v, "kind", kj_mstr(d, kind));
    int e = admission_mutate(c->s, &req, d, v, &err);
    if (e > 0) {
        kj_doc_free(*obj);
        *obj = kj_freeze(v);
    }
    if (e >= 0)
        e = admission_validate(c->s, &req, kj_root(*obj), &err);
    if (e < 0 && e != -EINPROGRESS)
        api_fail_admission(c, &err);
    return e == 0;
}

/* The object may name its namespace, but no other than the path does. One that belongs to no
 * namespace loses it silently, as upstream. */
static int check_request(struct api_call *c, const struct kj_val *obj, struct kerr *err)
{
    const struct kj_val *meta = kj_get(obj, "metadata");
    const char *ns = kj_str_or(kj_get(meta, "namespace"), "");

    if (*ns && c->res->namespaced && !streq(ns, c->ns))
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                        "the namespace of the provided object does not match the namespace sent on "
                        "the request");
    if (*kj_str_or(kj_get(meta, "resourceVersion"), ""))
        return kerr_set(err, -EINVAL, "resourceVersion should not be set on objects to be created");
    return 0;
}

/* What the server fills in, and nobody else: neither clients nor what mutates the object. */
static void meta_wipe(struct api_call *c, struct kj_mdoc *d, struct kj_mval *obj)
{
    static const char *const drop[] = {
        "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion", "uid",
        "creationTimestamp"
    };
    struct kj_mval *meta = object_meta(d, obj);

    for (size_t i = 0; i < ARRAY_LEN(drop); i++)
        kj_mdel(meta, drop[i], strlen(drop[i]));
    if (c->res->namespaced)
        kj_mset(d, meta, "namespace", kj_mstr(d, c->ns));
    else
        kj_mdel(meta, "namespace", strlen("namespace"));
}

static void meta_fill_new(struct api_call *c, struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *meta = object_meta(d, obj);
    char uid[37], when[KTIME_TEXT_MAX];

    meta_wipe(c, d, obj);
    uid_new(c->s->loop, uid);
    ktime_format(loop_wall(c->s->loop), when);
    kj_mset(d, meta, "uid", kj_mstr(d, uid));
    kj_mset(d, meta, "creationTimestamp", kj_mstr(d, when));
    if (c->res->generation)
        kj_mset(d, meta, "generation", kj_mi64(d, 1));
}

static void fill_name(struct api_call *c, struct kj_mdoc *d, struct kj_mval *obj)
{
    CLEANUP(strbuf_fini) struct strbuf name = STRBUF_INIT;
    struct kj_mval *meta = object_meta(d, obj);
    const char *given = kj_mstr_get(kj_mget(meta, "name"));
    const char *base = kj_mstr_get(kj_mget(meta, "generateName"));

    if (!str_empty(given) || str_empty(base))
        return;
    meta_generate_name(c->s->loop, base, &name);
    kj_mset(d, meta, "name", kj_mstrn(d, name.data, name.len));
}

static void on_created(void *arg, struct api_call *c, const char *doc, size_t n,
                       const struct kerr *err)
{
    (void)arg;
    if (err)
        api_fail(c, err);
    else
        api_reply_object(c, 201, doc, n);
}

/* How messages name an object that may have no name yet. */
static const char *shown_name(const struct kj_mval *meta)
{
    const char *name = kj_mstr_get(kj_mget(meta, "name"));
    const char *base = kj_mstr_get(kj_mget(meta, "generateName"));

    return !str_empty(name) ? name : !str_empty(base) ? base : "Unknown";
}

static int admit(struct apiserver *s, const struct admission_req *req, struct kj_mdoc *d,
                 struct kj_mval *obj, struct kerr *err)
{
    if (req->res->terminating)
        return admission_forbid(
            req, err, "create not allowed while custom resource definition is terminating");
    return admission_mutate(s, req, d, obj, err);
}

/* Defaults, the mutating steps, the server's own fields, validation. NULL: answered, or a step
 * answers later. */
static struct kj_mval *make(struct api_call *c, struct kj_mdoc *d, const struct kj_val *body,
                            struct kj_doc **ret_frozen)
{
    CLEANUP(field_errors_free) struct field_errors *errors = field_errors_new();
    const struct resource *r = c->res;
    struct kj_mval *obj = kj_mborrow(d, body);
    struct kerr err = { 0 };

    object_default(r, d, obj);
    if (c->verb != API_PATCH)
        meta_dedup_owners(c, d, obj, false);
    managed_note(c, r, d, obj, NULL);
    meta_wipe(c, d, obj);
    const char *shown = arena_strdup(c->arena, shown_name(object_meta(d, obj)));
    struct admission_req req = admission_of(c, r, c->ns, shown, "CREATE", NULL);
    int mutated = admit(c->s, &req, d, obj, &err);
    if (mutated < 0) {
        if (mutated != -EINPROGRESS)
            api_fail_admission(c, &err);
        return NULL;
    }
    if (mutated)
        object_default(r, d, obj);
    meta_dedup_owners(c, d, obj, true);
    meta_fill_new(c, d, obj);
    fill_name(c, d, obj);
    /* After the steps that may change it: a pod's QoS class follows from its final resources. */
    if (r->strategy && r->strategy->prepare)
        r->strategy->prepare(RES_CREATE, d, obj, NULL, loop_wall(c->s->loop));
    else if (r->has_status)
        kj_mdel(obj, "status", strlen("status"));
    if (!object_allocate(c, r, RES_CREATE, d, obj, NULL))
        return NULL;
    *ret_frozen = kj_view(obj);
    object_validate(c->s, r, RES_CREATE, kj_root(*ret_frozen), NULL, errors, NULL);
    if (field_errors_count(errors) == 0) {
        if (r->strategy && r->strategy->warn)
            r->strategy->warn(c, RES_CREATE, kj_root(*ret_frozen), NULL);
        return obj;
    }
    api_fail_invalid(c, str_or(kj_mstr_get(kj_mget(object_meta(d, obj), "name")), ""), errors);
    return NULL;
}

/* -EINPROGRESS: the call is looked at again. */
static int put(struct api_call *c, struct kj_mval *obj, const struct kj_val *val, const char *name,
               struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT, there = STRBUF_INIT;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = NULL;
    struct store_key k = { c->res->store_res, c->res->namespaced ? c->ns : "", name };
    const struct kj_val *converted;
    int e = convert_written(c, c->res, val, &converted, err);

    if (e < 0)
        return e;
    if (converted) {
        d = kj_mdoc_new();
        obj = kj_mborrow(d, converted);
    }
    object_write(c->res, obj, c->dry_run ? 0 : store_next_revision(c->s->store), &doc);
    if (!c->dry_run)
        return call_put(c, &k, 0, &doc, on_created, NULL, err);
    if (store_get_latest(c->s->store, &k, &there, NULL, err) == 0)
        return -EEXIST;
    on_created(NULL, c, doc.data, doc.len, NULL);
    return 0;
}

/* The object that waited for a step of admission or a conversion, as it was then; NULL: none, or
 * somebody took meanwhile what it was given. */
static const struct kj_val *kept(struct api_call *c)
{
    const struct res_strategy *st = c->res->strategy;

    if (!c->creating) { /* what waited was to change an object that has gone since */
        admission_forget(c);
        convert_forget_written(c);
        c->creating = true;
        return NULL;
    }
    const struct kj_val *val = admission_kept(c);
    if (!val)
        return convert_kept(c);
    if (!st || !st->still_free || c->dry_run || st->still_free(c->s, val))
        return val;
    admission_forget(c);
    return NULL;
}

/* -EAGAIN: with another name. Otherwise the call was answered, or will be. */
static int attempt(struct api_call *c, const struct kj_val *body)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *frozen = NULL;
    const struct kj_val *val = kept(c);
    struct kj_mval *obj = val ? kj_mborrow(d, val) : make(c, d, body, &frozen);
    struct kerr err = { 0 };

    if (!obj)
        return 0;
    val = val ? val : kj_root(frozen);
    const char *name = kj_str_or(kj_path(val, "metadata.name"), "");
    struct admission_req req = admission_of(c, c->res, c->ns, name, "CREATE", NULL);
    int e = admission_validate(c->s, &req, val, &err);
    if (e == -EINPROGRESS)
        return 0;
    if (e < 0) {
        api_fail_admission(c, &err);
        return 0;
    }
    e = put(c, obj, val, name, &err);
    if (e == -EINPROGRESS)
        return 0;
    if (e == -EEXIST && str_empty(kj_str(kj_path(body, "metadata.name"))) &&
        ++c->retries < NAME_ATTEMPTS) {
        admission_forget(c);
        convert_forget_written(c);
        return -EAGAIN;
    }
    if (e == -EEXIST)
        api_err_exists(c, &err, c->res, name);
    if (e < 0)
        api_fail(c, &err);
    return 0;
}

/* A PUT or an apply that finds nothing creates: that is a right of its own. */
static bool may_create(struct api_call *c)
{
    CLEANUP(strbuf_fini) struct strbuf reason = STRBUF_INIT;
    struct authz_attributes a = AUTHZ_ATTRIBUTES_INIT;

    if (c->verb == API_CREATE)
        return true;
    a.verb = "create";
    a.group = c->res->group;
    a.version = c->res->version;
    a.resource = c->res->plural;
    a.ns = c->ns;
    a.name = c->name;
    if (authorizer_check(c->s, c->user, &a, &reason))
        return true;
    authz_forbid(c, c->user, &a, strbuf_str(&reason));
    return false;
}

void create_object(struct api_call *c, const struct kj_val *body)
{
    struct kerr err = { 0 };

    if (!may_create(c))
        return;
    if (check_request(c, body, &err) < 0) {
        api_fail(c, &err);
        return;
    }
    while (attempt(c, body) == -EAGAIN)
        continue;
}

void verb_create(struct api_call *c)
{
    CLEANUP(kj_doc_free) struct kj_doc *body = NULL;
    struct kerr err = { 0 };

    if (object_body(c, &body, &err) < 0)
        api_fail(c, &err);
    else
        create_object(c, kj_root(body));
}
