/* delete.c - DELETE of one object: preconditions, propagation, grace, finalizers. */
#include <stdio.h>

#include "apiserver/registry/convert.h"
#include "apiserver/registry/internal.h"
#include "base/ktime.h"
#include "base/num.h"

struct deletion {
    const struct resource *r;
    const char *ns, *name;
    void (*reply)(void *arg, struct api_call *c, const char *doc, size_t n);
    void *arg;
    bool removed; /* for good, not only marked */
};

/* ---- options ------------------------------------------------------------------------------------
 */

static bool check_propagation(struct api_call *c)
{
    const char *p = c->propagation;
    if (!p || streq(p, "Background") || streq(p, "Foreground") || streq(p, "Orphan"))
        return true;
    fail_options(c, "DeleteOptions", FIELD_NOT_SUPPORTED, "propagationPolicy", p,
                 "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"");
    return false;
}

static const char *text_of(struct api_call *c, const struct kj_val *v)
{
    const char *s = kj_str(v);
    return str_empty(s) ? NULL : arena_strdup(c->arena, s);
}

/* Options of another type than they should have must not count as absent: a grace that cannot be
 * read would become none. */
static int check_types(const struct kj_val *o, struct kerr *err)
{
    static const struct {
        const char *name, *go;
        enum kj_type type;
    } fields[] = {
        { "gracePeriodSeconds", "int64", KJ_NUM },
        { "preconditions", "v1.Preconditions", KJ_OBJ },
        { "orphanDependents", "bool", KJ_BOOL },
        { "propagationPolicy", "v1.DeletionPropagation", KJ_STR },
        { "dryRun", "[]string", KJ_ARR },
    };
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const struct kj_val *v = kj_get(o, fields[i].name);
        enum kj_type got = kj_type(v);
        int64_t whole;
        if (got > KJ_NULL && (got != fields[i].type || (got == KJ_NUM && kj_i64(v, &whole) < 0)))
            return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                            "json: cannot unmarshal into Go struct field DeleteOptions.%s of type "
                            "%s",
                            fields[i].name, fields[i].go);
    }
    return 0;
}

static bool take_options(struct api_call *c, const struct kj_val *o)
{
    const struct kj_val *pre = kj_get(o, "preconditions"), *orphan = kj_get(o, "orphanDependents");
    const char *policy = text_of(c, kj_get(o, "propagationPolicy"));

    if (kj_i64(kj_get(o, "gracePeriodSeconds"), &c->grace) == 0 && c->grace < 0)
        c->grace = 1;
    c->precond_uid = text_of(c, kj_get(pre, "uid"));
    c->precond_rv = text_of(c, kj_get(pre, "resourceVersion"));
    if (policy && kj_type(orphan) == KJ_BOOL) {
        fail_options(c, "DeleteOptions", FIELD_INVALID, "propagationPolicy", policy,
                     "orphanDependents and deletionPropagation cannot be both set");
        return false;
    }
    if (policy)
        c->propagation = policy;
    else if (kj_type(orphan) == KJ_BOOL)
        c->propagation = kj_bool(orphan, false) ? "Orphan" : "Background";
    const struct kj_val *dry = kj_get(o, "dryRun");
    if (kj_type(dry) == KJ_ARR && kj_len(dry) > 0) {
        if (!streq(kj_str_or(kj_at(dry, 0), ""), "All")) {
            fail_options(c, "DeleteOptions", FIELD_NOT_SUPPORTED, "dryRun",
                         kj_str_or(kj_at(dry, 0), ""), "supported values: \"All\"");
            return false;
        }
        c->dry_run = true;
    }
    return true;
}

bool api_delete_options(struct api_call *c, const struct kj_val *options)
{
    struct kerr err = { 0 };

    if (check_types(options, &err) < 0) {
        api_fail(c, &err);
        return false;
    }
    return take_options(c, options) && check_propagation(c);
}

bool delete_options(struct api_call *c)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    if (c->body_len == 0)
        return check_propagation(c);
    if (api_body(c, NULL, "DeleteOptions", &doc, &err) < 0) {
        api_fail(c, &err);
        return false;
    }
    return api_delete_options(c, kj_root(doc));
}

/* ---- one object ---------------------------------------------------------------------------------
 */

static int check_preconditions(struct api_call *c, const struct deletion *x,
                               const struct kj_val *old, struct kerr *err)
{
    const char *uid = kj_str_or(kj_path(old, "metadata.uid"), "");
    const char *rv = kj_str_or(kj_path(old, "metadata.resourceVersion"), "");

    if (c->precond_uid && !streq(c->precond_uid, uid))
        return api_err(c, err, -ESTALE, KR_CONFLICT,
                       "Operation cannot be fulfilled on %s \"%s\": the UID in the precondition "
                       "(%s) does not match the UID in record (%s). The object might have been "
                       "deleted and then recreated",
                       x->r->kind, x->name, c->precond_uid, uid);
    if (c->precond_rv && !streq(c->precond_rv, rv))
        return api_err(c, err, -ESTALE, KR_CONFLICT,
                       "Operation cannot be fulfilled on %s \"%s\": the ResourceVersion in the "
                       "precondition (%s) does not match the ResourceVersion in record (%s). "
                       "The object might have been modified",
                       x->r->kind, x->name, c->precond_rv, rv);
    return 0;
}

static void remove_word(struct kj_mval *list, const char *word)
{
    for (size_t i = kj_mlen(list); i-- > 0;)
        if (streq(str_or(kj_mstr_get(kj_mat(list, i)), ""), word))
            kj_mdel_at(list, i);
}

static bool has_word(const struct kj_mval *list, const char *word)
{
    for (size_t i = 0; i < kj_mlen(list); i++)
        if (streq(str_or(kj_mstr_get(kj_mat(list, i)), ""), word))
            return true;
    return false;
}

/* Foreground and Orphan are finalizers that the garbage collector removes when it is done. */
static void set_propagation(struct kj_mdoc *d, struct kj_mval *meta, const char *policy,
                            bool orphans)
{
    struct kj_mval *list = kj_mget(meta, "finalizers");

    if (!policy && orphans && !has_word(list, "foregroundDeletion") && !has_word(list, "orphan"))
        policy = "Orphan";
    const char *word = !policy                       ? NULL
                       : streq(policy, "Foreground") ? "foregroundDeletion"
                       : streq(policy, "Orphan")     ? "orphan"
                                                     : NULL;
    if (!policy)
        return;
    if (list) {
        remove_word(list, "foregroundDeletion");
        remove_word(list, "orphan");
    }
    if (word) {
        if (!list) {
            list = kj_marr(d);
            kj_mset(d, meta, "finalizers", list);
        }
        kj_mpush(list, kj_mstr(d, word));
    } else if (list && kj_mlen(list) == 0) {
        kj_mdel(meta, "finalizers", strlen("finalizers"));
    }
}

static bool is_marked(const struct kj_val *obj)
{
    return kj_str(kj_path(obj, "metadata.deletionTimestamp")) != NULL;
}

static void mark_time(struct kj_mdoc *d, struct kj_mval *obj, nsec_t due)
{
    char text[KTIME_TEXT_MAX];

    ktime_format(due, text);
    kj_mset(d, object_meta(d, obj), "deletionTimestamp", kj_mstr(d, text));
}

/* Marks obj as being deleted; an earlier mark only ever becomes shorter. */
static void mark(struct api_call *c, const struct deletion *x, struct kj_mdoc *d,
                 struct kj_mval *obj, const struct kj_val *old, int64_t grace)
{
    struct kj_mval *meta = object_meta(d, obj);
    const char *since = kj_str(kj_path(old, "metadata.deletionTimestamp"));
    const struct kj_val *given = kj_path(old, "metadata.deletionGracePeriodSeconds");
    bool is_namespace = streq(x->r->kind, "Namespace") && !*x->r->group;
    bool complete = since && (given || is_namespace); /* what terminate() began is not */
    int64_t before = kj_i64_or(given, 0);
    nsec_t due = i64_add_sat(loop_wall(c->s->loop), i64_mul_sat(grace, NSEC_PER_SEC)), was;

    if (complete && grace >= before)
        return;
    if (since && ktime_parse(since, strlen(since), &was, NULL) == 0)
        due = i64_add_sat(was, -i64_mul_sat(before - grace, NSEC_PER_SEC));
    mark_time(d, obj, due);
    if (!is_namespace) /* it has a way of its own to go */
        kj_mset(d, meta, "deletionGracePeriodSeconds", kj_mi64(d, grace));
    if (!since && x->r->generation)
        kj_mset(d, meta, "generation",
                kj_mi64(d, kj_i64_or(kj_path(old, "metadata.generation"), 0) + 1));
    if (is_namespace) {
        struct kj_mval *status = kj_mget(obj, "status");
        if (kj_mtype(status) != KJ_OBJ) {
            status = kj_mobj(d);
            kj_mset(d, obj, "status", status);
        }
        kj_mset(d, status, "phase", kj_mstr(d, "Terminating"));
    }
}

static void answer(struct deletion *x, struct api_call *c, const char *doc, size_t n)
{
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    if (x->reply) {
        x->reply(x->arg, c, doc, n);
    } else if (!x->removed || returns_deleted(x->r)) {
        api_reply_object(c, 200, doc, n);
    } else {
        (void)kj_parse(doc, n, 0, &parsed, NULL);
        api_reply_success(c, 200, x->name, kj_str(kj_path(kj_root(parsed), "metadata.uid")));
    }
}

static void on_stored(void *arg, struct api_call *c, const char *doc, size_t n,
                      const struct kerr *err)
{
    struct deletion *x = arg;
    if (err && err->reason == KR_CONFLICT && c->retries++ < 5)
        api_delete_object(c, x->r, x->ns, x->name, x->reply, x->arg);
    else if (err)
        api_fail(c, err);
    else
        answer(x, c, doc, n);
}

/* A deletion changes metadata only, and no labels or annotations: what is stored stays in the
 * version that it is stored in, and no webhook is asked. */
static void write_marked(struct deletion *x, struct api_call *c, const struct kj_mval *obj,
                         uint64_t rev, struct strbuf *out)
{
    static const char *const kept[] = { "labels", "annotations" };
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *stored = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct store_key k = { x->r->store_res, x->r->namespaced ? x->ns : "", x->name };

    if (!x->r->crd || store_get_latest(c->s->store, &k, &text, NULL, NULL) < 0 ||
        kj_parse(text.data, text.len, KJ_RAW_NUMBERS, &stored, NULL) < 0) {
        object_write(x->r, obj, rev, out);
        return;
    }
    const struct kj_val *old = kj_root(stored);
    struct kj_mval *v = kj_mborrow(d, old), *meta = kj_mclone(d, kj_mget(obj, "metadata"));
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        object_dup_member(d, meta, kj_get(old, "metadata"), kept[i]);
    kj_mset(d, v, "metadata", meta);
    object_write_as(x->r->kind, kj_str_or(kj_get(old, "apiVersion"), ""), v, rev, out);
}

static void store(struct deletion *x, struct api_call *c, const struct kj_mval *obj,
                  const struct kj_val *fresh, const struct kj_val *old, uint64_t rev)
{
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    struct store_key k = { x->r->store_res, x->r->namespaced ? x->ns : "", x->name };
    bool same = !x->removed && kj_equal(fresh, old);
    struct kerr err = { 0 };
    int e = 0;

    write_marked(x, c, obj, c->dry_run || same ? rev : store_next_revision(c->s->store), &doc);
    if (c->dry_run || same)
        answer(x, c, doc.data, doc.len);
    else if (x->removed)
        e = call_remove(c, &k, rev, &doc, on_stored, x, &err);
    else
        e = call_put(c, &k, rev, &doc, on_stored, x, &err);
    if (e < 0)
        api_fail(c, &err);
}

/* Decides whether obj goes now, and marks it when it does not. Returns it frozen. */
static struct kj_doc *mark_or_remove(struct deletion *x, struct api_call *c, struct kj_mdoc *d,
                                     struct kj_mval *obj, const struct kj_val *old)
{
    const struct res_strategy *st = x->r->strategy;
    int64_t grace = st && st->grace ? st->grace(old, c->grace) : 0;

    if (st && st->terminate && !is_marked(old)) {
        mark_time(d, obj, loop_wall(c->s->loop));
        st->terminate(d, obj, loop_wall(c->s->loop));
        return kj_freeze(obj);
    }
    set_propagation(d, object_meta(d, obj), c->propagation, x->r->orphans);
    struct kj_doc *fresh = kj_freeze(obj);
    x->removed = grace == 0 && !object_has_finalizers(x->r, kj_root(fresh));
    if (!x->removed || (st && st->grace)) {
        mark(c, x, d, obj, old, grace);
        kj_doc_free(fresh);
        fresh = kj_freeze(obj);
    }
    return fresh;
}

static void run(struct deletion *x, struct api_call *c)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *old_doc = NULL, *fresh = NULL;
    struct kerr err = { 0 };
    uint64_t rev;
    int e = api_read(c, x->r, x->ns, x->name, &old_doc, &rev, &err);
    const struct kj_val *old = kj_root(old_doc);

    if (e == 0)
        e = check_preconditions(c, x, old, &err);
    if (e == 0 && !c->admitted) {
        struct admission_req req = admission_of(c, x->r, x->ns, x->name, "DELETE", old);
        e = admission_mutate(c->s, &req, NULL, NULL, &err);
        if (e >= 0)
            e = admission_validate(c->s, &req, NULL, &err);
    }
    if (e == -EINPROGRESS)
        return;
    if (e < 0) {
        api_fail_admission(c, &err);
        return;
    }
    struct kj_mval *obj = kj_mcopy(d, old);
    fresh = mark_or_remove(x, c, d, obj, old);
    store(x, c, obj, kj_root(fresh), old, rev);
}

void api_delete_object(struct api_call *c, const struct resource *r, const char *ns,
                       const char *name,
                       void (*reply)(void *arg, struct api_call *c, const char *doc, size_t n),
                       void *arg)
{
    struct deletion *x = arena_new0(c->arena, struct deletion);
    *x = (struct deletion){ .r = r, .ns = ns, .name = name, .reply = reply, .arg = arg };
    run(x, c);
}

/* Who deletes a Job mostly means its pods too. */
void warn_of_orphans(struct api_call *c)
{
    if (c->res->orphans && !c->propagation && streq(c->res->group, "batch"))
        api_warn(c, "child pods are preserved by default when jobs are deleted; set "
                    "propagationPolicy=Background to remove them or set propagationPolicy=Orphan "
                    "to suppress this warning");
}

void verb_delete(struct api_call *c)
{
    bool good = delete_options(c);

    if (good)
        warn_of_orphans(c);
    if (good)
        api_delete_object(c, c->res, c->ns, c->name, NULL, NULL);
}
