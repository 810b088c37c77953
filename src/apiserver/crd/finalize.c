/* finalize.c - a definition that is being deleted goes when the last of its objects has gone.
 *
 * As the controller in kube-apiserver does: the condition Terminating says how far it is; objects
 * are deleted as by a DELETE that no step of admission is asked about, in the version that they are
 * stored in, so that no webhook has to convert them; those with finalizers are waited for. After a
 * minute that is told, and all of it begins again, also what came meanwhile.
 */
#include "apiserver/crd/serve.h"
#include "base/klog.h"
#include "loop/loop.h"

enum { PAGE = 500 };
#define PATIENCE  (60 * NSEC_PER_SEC) /* with finalizers, until that is told */
#define RETRY_MIN (5 * NSEC_PER_MSEC)
#define RETRY_MAX (1000 * NSEC_PER_SEC)

struct finalizing {
    struct crds *c;
    char *name;                /* of the definition, and key of its objects */
    struct kj_doc *doc;        /* the definition when the pass began */
    struct timer *timer;       /* until the next page or pass, or until patience ends */
    struct store_watch *watch; /* of the objects */
    struct vec_of(struct api_call *) calls; /* deletions that are not answered */
    struct strbuf ns, last;                 /* key of the last object looked at */
    size_t seen;                            /* on this page */
    char *failure;                          /* of the first deletion that failed in this pass */
    unsigned failures;                      /* passes that did not reach the end */
    bool listing, passed;                   /* passed: every object was asked to go */
};

static void finalizing_free(struct finalizing *f)
{
    vec_foreach(&f->c->finalizing, i)
        if (f->c->finalizing.items[i] == f) {
            vec_swap_remove(&f->c->finalizing, i);
            break;
        }
    while (f->calls.n)
        api_cancel(vec_pop(&f->calls));
    vec_fini(&f->calls);
    timer_cancel(f->timer);
    store_unwatch(f->watch);
    kj_doc_free(f->doc);
    strbuf_fini(&f->ns);
    strbuf_fini(&f->last);
    free(f->failure);
    free(f->name);
    free(f);
}

static struct finalizing *find(const struct crds *c, const char *name)
{
    vec_foreach(&c->finalizing, i)
        if (streq(c->finalizing.items[i]->name, name))
            return c->finalizing.items[i];
    return NULL;
}

/* ---- the definition ---------------------------------------------------------------------------
 */

static bool waits_for_us(const struct kj_val *obj)
{
    const struct kj_val *list = kj_path(obj, "metadata.finalizers");
    bool there = false;

    for (size_t i = 0; i < kj_len(list); i++)
        there |= streq(kj_str_or(kj_at(list, i), ""), CRD_FINALIZER);
    return there && kj_str(kj_path(obj, "metadata.deletionTimestamp"));
}

/* What is committed: a write that is under way may fail yet. */
static bool is_over(const struct finalizing *f)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct store_key k = { crd_resource()->store_res, "", f->name };

    return store_get(apiserver_store(f->c->s), &k, &text, NULL, NULL) < 0 ||
           kj_parse(text.data, text.len, KJ_RAW_NUMBERS, &doc, NULL) < 0 ||
           !waits_for_us(kj_root(doc));
}

static void on_written(void *arg, uint64_t rev, const struct kerr *err)
{
    (void)arg, (void)rev;
    if (err) /* looked at again later */
        KLOG_E(err, "Failed to store a CustomResourceDefinition that is being deleted");
}

static void log_failure(const struct finalizing *f, const struct kerr *err)
{
    KLOG_E(err, "Failed to write a CustomResourceDefinition that is being deleted",
           KV_S("name", f->name));
}

static void say(struct finalizing *f, const struct definition_condition *how)
{
    CLEANUP(kj_doc_free) struct kj_doc *old = NULL, *fresh = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kerr err = { 0 };
    uint64_t rev;

    if (definition_read(f->c, f->name, &old, &rev, &err) < 0)
        return;
    struct kj_mval *obj = kj_mcopy(d, kj_root(old));
    definition_set_condition(d, obj, loop_wall(apiserver_loop(f->c->s)), how);
    fresh = kj_freeze(obj);
    if (!kj_equal(kj_root(fresh), kj_root(old)) &&
        definition_put(f->c, f->name, d, obj, rev, on_written, NULL, &err) < 0)
        log_failure(f, &err);
}

static void begin(struct loop *l, void *arg);

static void again(struct finalizing *f, nsec_t delay)
{
    timer_cancel(f->timer);
    f->passed = false;
    f->timer = loop_after(apiserver_loop(f->c->s), delay, begin, f);
}

static void again_later(struct finalizing *f)
{
    nsec_t delay = RETRY_MIN;

    for (unsigned i = 0; i < f->failures && delay < RETRY_MAX; i++)
        delay *= 2;
    f->failures++;
    again(f, MIN(delay, RETRY_MAX));
}

/* Without its finalizer it goes, unless others have theirs; as the watchers saw it last. */
static int release(struct finalizing *f, const struct definition_condition *how, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *old = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    uint64_t rev;
    int e = definition_read(f->c, f->name, &old, &rev, err);

    if (e < 0)
        return e;
    struct kj_mval *obj = kj_mcopy(d, kj_root(old));
    struct kj_mval *list = kj_mget(kj_mget(obj, "metadata"), "finalizers");
    if (kj_mlen(list) == 1)
        return definition_remove(f->c, f->name, d, obj, rev, on_written, NULL, err);
    for (size_t i = kj_mlen(list); i-- > 0;)
        if (streq(str_or(kj_mstr_get(kj_mat(list, i)), ""), CRD_FINALIZER))
            kj_mdel_at(list, i);
    definition_set_condition(d, obj, loop_wall(apiserver_loop(f->c->s)), how);
    return definition_put(f->c, f->name, d, obj, rev, on_written, NULL, err);
}

static void finish(struct finalizing *f, const struct definition_condition *how)
{
    struct kerr err = { 0 };

    if (release(f, how, &err) < 0)
        log_failure(f, &err);
    again(f, NSEC_PER_SEC); /* nothing is left to do then if this write reached the disk */
}

/* ---- its objects --------------------------------------------------------------------------------
 */

static void next_page(struct loop *l, void *arg);

static bool is_empty(const struct finalizing *f)
{
    return store_count(apiserver_store(f->c->s), f->name, NULL) == 0;
}

static void on_patience_ends(struct loop *l, void *arg)
{
    static const struct definition_condition check = {
        "Terminating", "True", "InstanceDeletionCheck",
        "could not confirm zero CustomResources remaining: context deadline exceeded"
    };
    struct finalizing *f = arg;

    (void)l;
    f->timer = NULL;
    say(f, &check);
    again_later(f);
}

static void finish_empty(struct finalizing *f)
{
    static const struct definition_condition completed = { "Terminating", "False",
                                                           "InstanceDeletionCompleted",
                                                           "removed all instances" };
    finish(f, &completed);
}

static void on_page_done(struct finalizing *f)
{
    struct loop *l = apiserver_loop(f->c->s);

    if (f->seen == PAGE) {
        f->timer = loop_after(l, 0, next_page, f);
    } else if (f->failure) {
        say(f, &(struct definition_condition){ "Terminating", "True", "InstanceDeletionFailed",
                                               f->failure });
        again_later(f);
    } else if (is_empty(f)) {
        finish_empty(f);
    } else {
        f->passed = true;
        f->timer = loop_after(l, PATIENCE, on_patience_ends, f);
    }
}

static void on_reply(void *arg, struct api_call *call, int status, const char *json, size_t n)
{
    struct finalizing *f = arg;

    vec_foreach(&f->calls, i)
        if (f->calls.items[i] == call) {
            vec_swap_remove(&f->calls, i);
            break;
        }
    if (status >= 400 && status != 404 && !f->failure) {
        CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
        (void)kj_parse(json, n, 0, &doc, NULL);
        f->failure = xasprintf("could not issue all deletes: %s",
                               kj_str_or(kj_get(kj_root(doc), "message"), ""));
    }
    if (f->calls.n == 0 && !f->listing)
        on_page_done(f);
}

static void on_deleted(void *arg, struct api_call *call, const char *doc, size_t n)
{
    (void)arg, (void)doc, (void)n;
    api_reply(call, 200, "", 0);
}

/* The resource as which this object is stored. */
static const struct resource *stored_as(const struct finalizing *f, struct arena *a,
                                        const struct kj_val *obj)
{
    const struct kj_val *spec = kj_get(kj_root(f->doc), "spec");
    const char *version = strchr(kj_str_or(kj_get(obj, "apiVersion"), "/"), '/');
    struct resource *r = arena_new0(a, struct resource);

    r->group = arena_strdup(a, kj_str_or(kj_get(spec, "group"), ""));
    r->plural = arena_strdup(a, kj_str_or(kj_path(spec, "names.plural"), ""));
    r->version = arena_strdup(a, version ? version + 1 : "");
    r->kind = arena_strdup(a, kj_str_or(kj_get(obj, "kind"), ""));
    r->namespaced = streq(kj_str_or(kj_get(spec, "scope"), ""), "Namespaced");
    r->store_res = arena_strdup(a, f->name);
    r->generation = true;
    return r;
}

static const struct api_sink sink = { .reply = on_reply };

static bool on_object(void *arg, const struct store_key *k, uint64_t rev, const char *doc, size_t n)
{
    struct finalizing *f = arg;
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;

    (void)rev;
    strbuf_reset(&f->ns);
    strbuf_reset(&f->last);
    strbuf_append(&f->ns, k->ns);
    strbuf_append(&f->last, k->name);
    f->seen++;
    if (kj_parse(doc, n, KJ_RAW_NUMBERS, &parsed, NULL) == 0 &&
        !kj_str(kj_path(kj_root(parsed), "metadata.deletionTimestamp"))) {
        struct api_call *call = api_call_new(f->c->s, &sink, f);
        call->user = &api_user_server;
        call->admitted = true;
        vec_push(&f->calls, call); /* gone from there when it is answered, also from inside */
        api_delete_object(call, stored_as(f, call->arena, kj_root(parsed)),
                          arena_strdup(call->arena, k->ns), arena_strdup(call->arena, k->name),
                          on_deleted, NULL);
    }
    return f->seen < PAGE;
}

static void next_page(struct loop *l, void *arg)
{
    struct finalizing *f = arg;
    struct store_key after = { f->name, strbuf_str(&f->ns), strbuf_str(&f->last) };
    struct kerr err = { 0 };

    (void)l;
    f->timer = NULL;
    CLEANUP(mem_free) char *ns = xstrdup(after.ns), *name = xstrdup(after.name);
    after.ns = ns; /* they change while the page is looked at */
    after.name = name;
    f->seen = 0;
    f->listing = true;
    int e = store_list(apiserver_store(f->c->s), f->name, NULL, 0, *name ? &after : NULL, on_object,
                       f, &err);
    f->listing = false;
    if (e < 0 && !f->failure)
        f->failure = xasprintf("could not list instances: %s", err.text);
    if (f->calls.n == 0)
        on_page_done(f);
}

static bool on_event(void *arg, const struct store_event *e)
{
    struct finalizing *f = arg;

    if (e->type == STORE_DELETED && f->passed && is_empty(f))
        finish_empty(f);
    return true;
}

static void on_end(void *arg, const struct kerr *err)
{
    struct finalizing *f = arg;

    (void)err; /* the next pass looks without it */
    f->watch = NULL;
}

static void follow(struct finalizing *f)
{
    static const struct store_watch_handler handler = { .on_event = on_event, .on_end = on_end };
    struct store *store = apiserver_store(f->c->s);
    struct kerr err = { 0 };

    if (!f->watch &&
        store_watch(store, f->name, NULL, store_revision(store), &handler, f, &f->watch, &err) < 0)
        KLOG_E(&err, "Failed to watch the objects of a CustomResourceDefinition",
               KV_S("name", f->name));
}

/* ---- one pass -----------------------------------------------------------------------------------
 */

static void begin(struct loop *l, void *arg)
{
    static const struct definition_condition in_progress = {
        "Terminating", "True", "InstanceDeletionInProgress",
        "CustomResource deletion is in progress"
    };
    static const struct definition_condition never = { "Terminating", "False", "NeverEstablished",
                                                       "resource was never established" };
    struct finalizing *f = arg;
    struct kerr err = { 0 };

    f->timer = NULL;
    if (is_over(f)) {
        finalizing_free(f);
        return;
    }
    f->doc = kj_doc_free(f->doc);
    if (definition_read(f->c, f->name, &f->doc, NULL, &err) < 0 || !waits_for_us(kj_root(f->doc))) {
        again(f, NSEC_PER_SEC);
        return;
    }
    say(f, &in_progress);
    if (!definition_is_established(kj_root(f->doc))) {
        finish(f, &never);
        return;
    }
    follow(f);
    strbuf_reset(&f->last);
    free(f->failure);
    f->failure = NULL;
    next_page(l, f);
}

void finalize_start(struct crds *c, const char *name)
{
    if (find(c, name))
        return;
    struct finalizing *f = xnew0(struct finalizing);
    f->c = c;
    f->name = xstrdup(name);
    vec_push(&c->finalizing, f);
    again(f, 0);
}

void finalize_stop(struct crds *c, const char *name)
{
    struct finalizing *f = find(c, name);
    if (f)
        finalizing_free(f);
}

void finalize_stop_all(struct crds *c)
{
    while (c->finalizing.n)
        finalizing_free(c->finalizing.items[0]);
    vec_fini(&c->finalizing);
}
