/* change.c - read, change, check, store, answer: PUT, and what PATCH and subresources rest on.
 *
 * All of it happens in one turn against the newest version, committed or under way, so two changes
 * never meet; only a commit that failed underneath can make one start again.
 */
#include "apiserver/registry/convert.h"
#include "apiserver/registry/internal.h"

enum { CHANGE_ATTEMPTS = 5 };

struct change {
    struct api_change ch;
    const struct resource *r;
    const char *ns, *name;
};

static void run(struct change *x, struct api_call *c);

void object_dup_member(struct kj_mdoc *d, struct kj_mval *obj, const struct kj_val *from,
                       const char *key)
{
    const struct kj_val *v = kj_get(from, key);
    if (kj_type(v) > KJ_NULL)
        kj_mset(d, obj, key, kj_mcopy(d, v));
    else
        kj_mdel(obj, key, strlen(key));
}

/* ---- metadata -----------------------------------------------------------------------------------
 */

static int check_identity(struct change *x, struct api_call *c, const struct kj_mval *meta,
                          struct kerr *err)
{
    const char *name = str_or(kj_mstr_get(kj_mget(meta, "name")), "");
    const char *ns = str_or(kj_mstr_get(kj_mget(meta, "namespace")), "");

    if (*name && !streq(name, x->name))
        return api_err(c, err, -EINVAL, KR_BAD_REQUEST,
                       "the name of the object (%s) does not match the name on the URL (%s)", name,
                       x->name);
    if (!*name)
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST, "name must be provided");
    if (*ns && x->r->namespaced && !streq(ns, x->ns))
        return api_err(
            c, err, -EINVAL, KR_BAD_REQUEST,
            "the namespace of the object (%s) does not match the namespace on the URL (%s)", ns,
            x->ns);
    return 0;
}

static int check_version(struct change *x, struct api_call *c, const struct kj_mval *meta,
                         const struct kj_val *old, uint64_t rev, struct kerr *err)
{
    const char *rv = str_or(kj_mstr_get(kj_mget(meta, "resourceVersion")), "");
    const char *uid = str_or(kj_mstr_get(kj_mget(meta, "uid")), "");
    const char *old_uid = kj_str_or(kj_path(old, "metadata.uid"), "");
    uint64_t given;
    char q[64];

    if (parse_rev(rv, &given) < 0)
        return kerr_set(err, -EINVAL, "strconv.ParseUint: parsing %s: invalid syntax",
                        text_quote(q, sizeof q, rv, strlen(rv)));
    if (*uid && !streq(uid, old_uid) && c->verb == API_PATCH)
        return -EPERM; /* 422: a patch names what it changes, an update what it expects */
    if (*uid && !streq(uid, old_uid))
        return api_err(c, err, -ESTALE, KR_CONFLICT,
                       "Operation cannot be fulfilled on %s \"%s\": Precondition failed: UID in "
                       "precondition: %s, UID in object meta: %s",
                       resource_group_resource(x->r, c->arena), x->name, uid, old_uid);
    if (given && given != rev)
        return api_err_conflict(c, err, x->r, x->name);
    if (!given && !allows_unconditional(x->r) && x->ch.verb == RES_UPDATE)
        return -EINPROGRESS; /* 422, not a plain error */
    return 0;
}

static void keep_meta(struct kj_mdoc *d, struct kj_mval *meta, const struct kj_val *old_meta)
{
    static const char *const keep[] = { "name",
                                        "namespace",
                                        "uid",
                                        "generation",
                                        "creationTimestamp",
                                        "deletionTimestamp",
                                        "deletionGracePeriodSeconds",
                                        "resourceVersion" };
    for (size_t i = 0; i < ARRAY_LEN(keep); i++)
        object_dup_member(d, meta, old_meta, keep[i]);
    kj_mdel(meta, "selfLink", strlen("selfLink"));
}

/* ---- spec and status ----------------------------------------------------------------------------
 */

static void keep_all_but_status(struct kj_mdoc *d, struct kj_mval *obj, const struct kj_val *old,
                                bool keep_metadata)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct vec_of(struct str) gone = { 0 };
    struct kj_iter it = kj_iter(old);
    const struct kj_val *ov;
    struct kj_mval *v;
    struct str key;

    for (struct kj_miter mi = kj_miter(obj); kj_mnext(&mi, &key, &v);)
        if (!str_eqz(key, "status") && !str_eqz(key, "metadata"))
            vec_push(&gone, ((struct str){ arena_strndup(a, key.p, key.n), key.n }));
    vec_foreach(&gone, i)
        kj_mdel(obj, gone.items[i].p, gone.items[i].n);
    vec_fini(&gone);
    while (kj_next(&it, &key, &ov))
        if (!str_eqz(key, "status") && (keep_metadata || !str_eqz(key, "metadata")))
            kj_msetn(d, obj, key.p, key.n, kj_mborrow(d, ov));
}

static void prepare(struct change *x, struct api_call *c, struct kj_mdoc *d, struct kj_mval *obj,
                    const struct kj_val *old)
{
    const struct resource *r = x->r;

    object_default(r, d, obj);
    if (c->verb == API_UPDATE)
        meta_dedup_owners(c, d, obj, false);
    managed_note(c, r, d, obj, old);
    /* What follows may take it out of the object, with all of its metadata even; it comes back. */
    struct kj_mval *managed = kj_mget(object_meta(d, obj), "managedFields");
    if (x->ch.verb == RES_STATUS || x->ch.verb == RES_APPROVAL) {
        keep_all_but_status(d, obj, old, r->crd != NULL);
        object_dup_member(d, object_meta(d, obj), kj_get(old, "metadata"), "ownerReferences");
    } else if (r->has_status) {
        object_dup_member(d, obj, old, "status");
    }
    keep_meta(d, object_meta(d, obj), kj_get(old, "metadata"));
    managed_set(d, obj, managed);
    if (r->strategy && r->strategy->prepare)
        r->strategy->prepare(x->ch.verb, d, obj, old, loop_wall(c->s->loop));
}

/* The object as it is now, as one to read, after a change of its spec was counted. */
static struct kj_doc *count_generation(struct change *x, struct kj_mdoc *d, struct kj_mval *obj,
                                       const struct kj_val *old)
{
    struct kj_doc *now = kj_view(obj);

    if (!x->r->generation || x->ch.verb == RES_STATUS || object_spec_equal(x->r, kj_root(now), old))
        return now;
    kj_mset(d, object_meta(d, obj), "generation",
            kj_mi64(d, kj_i64_or(kj_path(old, "metadata.generation"), 0) + 1));
    kj_doc_free(now);
    return kj_view(obj);
}

/* ---- storing ------------------------------------------------------------------------------------
 */

static void reply(void *arg, struct api_call *c, const char *doc, size_t n)
{
    const struct change *x = arg;

    if (!convert_ready(c, x->r, &doc, &n, reply, arg))
        return;
    if (x->ch.reply)
        x->ch.reply(x->ch.arg, c, doc, n);
    else
        api_reply_object(c, 200, doc, n);
}

static void on_stored(void *arg, struct api_call *c, const char *doc, size_t n,
                      const struct kerr *err)
{
    struct change *x = arg;
    if (err && err->reason == KR_CONFLICT && c->retries++ < CHANGE_ATTEMPTS)
        run(x, c);
    else if (err)
        api_fail(c, err);
    else
        reply(x, c, doc, n);
}

/* An object that waited only for its last finalizer. */
static bool is_finished(const struct resource *r, const struct kj_val *obj)
{
    return kj_str(kj_path(obj, "metadata.deletionTimestamp")) && !object_has_finalizers(r, obj) &&
           kj_i64_or(kj_path(obj, "metadata.deletionGracePeriodSeconds"), 0) == 0;
}

/* The text that is stored, in the version in which objects of this kind are. */
static int write_text(struct change *x, struct api_call *c, struct kj_mval *obj,
                      const struct kj_val *fresh, uint64_t rev, struct strbuf *doc,
                      struct kerr *err)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = NULL;
    const struct kj_val *converted;
    int e = convert_written(c, x->r, fresh, &converted, err);

    if (e == 0 && converted) {
        d = kj_mdoc_new();
        obj = kj_mborrow(d, converted);
    }
    if (e == 0)
        object_write(x->r, obj, rev, doc);
    return e;
}

/* A change of nothing, of an object that is stored as it would be now; *ret is what is stored. */
static bool is_same(struct change *x, struct api_call *c, const struct store_key *k,
                    const struct kj_val *fresh, const struct kj_val *old, uint64_t rev,
                    struct strbuf *ret)
{
    return kj_equal(fresh, old) && rev <= store_revision(c->s->store) &&
           !is_finished(x->r, fresh) && store_get_latest(c->s->store, k, ret, NULL, NULL) == 0 &&
           (c->dry_run || object_is_current(x->r, ret->data, ret->len));
}

static void store(struct change *x, struct api_call *c, struct kj_mval *obj,
                  const struct kj_val *fresh, const struct kj_val *old, uint64_t rev)
{
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT, stored = STRBUF_INIT;
    struct store_key k = { x->r->store_res, x->r->namespaced ? x->ns : "", x->name };
    struct kerr err = { 0 };

    if (is_same(x, c, &k, fresh, old, rev, &stored)) {
        reply(x, c, stored.data, stored.len);
        return;
    }
    int e = write_text(x, c, obj, fresh, c->dry_run ? rev : store_next_revision(c->s->store), &doc,
                       &err);
    if (e == -EINPROGRESS)
        return;
    bool remove = is_finished(x->r, fresh);
    if (e == 0 && c->dry_run) {
        reply(x, c, doc.data, doc.len);
        return;
    }
    if (e < 0) {
        api_fail(c, &err);
        return;
    }
    if (remove)
        e = call_remove(c, &k, rev, &doc, on_stored, x, &err);
    else
        e = call_put(c, &k, rev, &doc, on_stored, x, &err);
    if (e == -ENOENT)
        api_err_not_found(c, &err, x->r, x->name);
    else if (e == -ESTALE)
        api_err_conflict(c, &err, x->r, x->name);
    if (e < 0)
        api_fail(c, &err);
}

/* ---- the whole ----------------------------------------------------------------------------------
 */

/* Admission and validation of the changed object. false: answered, or a step answers later. */
static bool judge(struct change *x, struct api_call *c, struct kj_mdoc *d, struct kj_mval *obj,
                  const struct kj_val *old, struct kj_doc **ret_fresh)
{
    CLEANUP(field_errors_free)
    struct field_errors *errors = field_errors_new(), *warnings = field_errors_new();
    struct admission_req req = admission_of(c, x->r, x->ns, x->name, "UPDATE", old);
    struct kerr err = { 0 };

    int mutated = x->ch.skip_prepare ? 0 : admission_mutate(c->s, &req, d, obj, &err);
    if (mutated < 0) {
        if (mutated != -EINPROGRESS)
            api_fail_admission(c, &err);
        return false;
    }
    if (mutated) {
        object_default(x->r, d, obj);
        keep_meta(d, object_meta(d, obj), kj_get(old, "metadata"));
    }
    if (!x->ch.skip_prepare)
        meta_dedup_owners(c, d, obj, true);
    if (!x->ch.skip_prepare && !object_allocate(c, x->r, x->ch.verb, d, obj, old))
        return false;
    *ret_fresh = count_generation(x, d, obj, old);
    if (managed_only_times(kj_root(*ret_fresh), old)) {
        object_dup_member(d, object_meta(d, obj), kj_get(old, "metadata"), "managedFields");
        kj_doc_free(*ret_fresh);
        *ret_fresh = kj_view(obj);
    }
    if (x->ch.skip_prepare)
        return true;
    object_validate(c->s, x->r, x->ch.verb, kj_root(*ret_fresh), old, errors, warnings);
    warn_all(c, warnings);
    if (field_errors_count(errors)) {
        api_fail_invalid(c, x->name, errors);
        return false;
    }
    if (x->r->strategy && x->r->strategy->warn)
        x->r->strategy->warn(c, x->ch.verb, kj_root(*ret_fresh), old);
    int e = admission_validate(c->s, &req, kj_root(*ret_fresh), &err);
    if (e < 0 && e != -EINPROGRESS)
        api_fail_admission(c, &err);
    return e == 0;
}

static void fail_no_version(struct change *x, struct api_call *c)
{
    fail_field(c, x->r->group, x->r->plural, x->name, FIELD_INVALID, "metadata.resourceVersion",
               "0", "must be specified for an update");
}

static void fail_uid(struct change *x, struct api_call *c, const struct kj_mval *meta)
{
    CLEANUP(field_errors_free) struct field_errors *e = field_errors_new();
    field_error_text(e, FIELD_INVALID, "metadata.uid", kj_mstr_get(kj_mget(meta, "uid")),
                     "field is immutable");
    fail_invalid(c, x->r->group, x->r->kind, x->name, e);
}

static void run(struct change *x, struct api_call *c)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *old_doc = NULL, *fresh = NULL;
    struct kj_mval *obj = NULL;
    struct kerr err = { 0 };
    uint64_t rev;
    int e = api_read(c, x->r, x->ns, x->name, &old_doc, &rev, &err);
    const struct kj_val *old = kj_root(old_doc);

    if (e == -EINPROGRESS)
        return;
    c->creating = false;
    if (e == 0 && x->ch.make) {
        e = x->ch.make(x->ch.arg, c, old, d, &obj, &err);
    } else if (e == 0) {
        obj = kj_mborrow(d, old);
        e = x->ch.edit(x->ch.arg, c, old, d, obj, &err);
    }
    if (e > 0)
        return;
    if (e == 0 && !x->ch.skip_prepare) {
        struct kj_mval *meta = object_meta(d, obj);
        e = check_identity(x, c, meta, &err);
        if (e == 0)
            e = check_version(x, c, meta, old, rev, &err);
        if (e == -EINPROGRESS) {
            fail_no_version(x, c);
            return;
        }
        if (e == -EPERM) {
            fail_uid(x, c, meta);
            return;
        }
        if (e == 0)
            prepare(x, c, d, obj, old);
    }
    if (e < 0) {
        api_fail(c, &err);
        return;
    }
    if (judge(x, c, d, obj, old, &fresh))
        store(x, c, obj, kj_root(fresh), old, rev);
}

void api_change(struct api_call *c, const struct api_change *ch)
{
    struct change *x = arena_new0(c->arena, struct change);
    x->ch = *ch;
    x->r = ch->res ? ch->res : c->res;
    x->ns = ch->ns ? ch->ns : c->ns;
    x->name = ch->name ? ch->name : c->name;
    assert(x->r->namespaced ? *x->ns : true);
    run(x, c);
}

/* ---- PUT ----------------------------------------------------------------------------------------
 */

static int from_body(void *arg, struct api_call *c, const struct kj_val *old, struct kj_mdoc *d,
                     struct kj_mval **ret, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *body = NULL;
    (void)arg, (void)old;
    int e = object_body(c, &body, err);
    if (e == 0)
        *ret = kj_mborrow(d, call_keep(c, take(body)));
    return e;
}

/* A kind that is made by PUT when it is not there, and is not. */
static bool is_create(struct api_call *c)
{
    CLEANUP(strbuf_fini) struct strbuf there = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *body = NULL;
    struct store_key k = { c->res->store_res, c->ns, c->name };

    if (*c->sub || !allows_create_on_update(c->res) ||
        store_get_latest(c->s->store, &k, &there, NULL, NULL) == 0 ||
        kj_parse(c->body, c->body_len, 0, &body, NULL) < 0)
        return false;
    const struct kj_val *meta = kj_get(kj_root(body), "metadata");
    return !*kj_str_or(kj_get(meta, "resourceVersion"), "") &&
           !*kj_str_or(kj_get(meta, "uid"), "") &&
           streq(kj_str_or(kj_get(meta, "name"), ""), c->name);
}

void verb_update(struct api_call *c)
{
    if (is_create(c)) {
        verb_create(c);
        return;
    }
    api_change(c, &(struct api_change){ .verb = call_res_verb(c), .make = from_body });
}
