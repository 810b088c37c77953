/* serve.c - stored definitions become entries of the table of resources, and go again.
 *
 * A definition is served when it is committed: its event comes, its names are found free, each
 * served version is compiled and added, and the conditions are written. Our own definitions are
 * served at once, before their first commit, so that a server that has just started answers for
 * them; what is stored of them follows.
 */
#include <stdio.h>

#include "api/koord/crds.h"
#include "apiserver/crd/conversion.h"
#include "apiserver/crd/serve.h"
#include "apiserver/schema/types.h"
#include "base/klog.h"

/* ---- definitions --------------------------------------------------------------------------------
 */

static struct definition *crds_find(struct crds *c, const char *name)
{
    vec_foreach(&c->defs, i)
        if (streq(c->defs.items[i]->name, name))
            return c->defs.items[i];
    return NULL;
}

static const char *spec_text(const struct kj_val *obj, const char *path)
{
    return kj_str_or(kj_path(obj, path), "");
}

static struct definition *definition_new(const struct kj_val *obj)
{
    struct definition *def = xnew0(struct definition);
    def->name = xstrdup(spec_text(obj, "metadata.name"));
    def->group = xstrdup(spec_text(obj, "spec.group"));
    def->plural = xstrdup(spec_text(obj, "spec.names.plural"));
    def->generation = -1;
    return def;
}

static void definition_free(struct definition *def)
{
    vec_foreach(&def->versions, i)
        free(def->versions.items[i]);
    vec_fini(&def->versions);
    kj_doc_free(def->names);
    free(def->name);
    free(def->group);
    free(def->plural);
    free(def);
}

static bool drop_version(struct definition *def, const char *version)
{
    vec_foreach(&def->versions, i)
        if (streq(def->versions.items[i], version)) {
            free(def->versions.items[i]);
            vec_swap_remove(&def->versions, i);
            return true;
        }
    return false;
}

static void unserve(struct crds *c, struct definition *def)
{
    while (def->versions.n) {
        CLEANUP(mem_free) char *v = vec_pop(&def->versions);
        res_table_remove(apiserver_resources(c->s), def->group, v, def->plural);
    }
}

/* All served versions added or replaced, the others removed. */
static void serve(struct crds *c, struct definition *def, const struct kj_val *obj)
{
    const struct kj_val *versions = kj_path(obj, "spec.versions");
    struct vec_of(char *) now = { 0 };
    CLEANUP(crd_conversion_unref) struct crd_conversion *conversion = crd_conversion_new(obj);

    for (size_t i = 0; i < kj_len(versions); i++) {
        const struct kj_val *v = kj_at(versions, i);
        if (!kj_bool(kj_get(v, "served"), false))
            continue;
        struct crd_schema *s = crd_version_new(obj, v);
        s->conversion = crd_conversion_ref(conversion);
        (void)drop_version(def, s->res.version);
        vec_push(&now, xstrdup(s->res.version));
        res_table_add(apiserver_resources(c->s), &s->res, crd_schema_release);
    }
    unserve(c, def);
    vec_foreach(&now, i)
        vec_push(&def->versions, now.items[i]);
    vec_fini(&now);
    if (c->started)
        apiservices_sync(c->s);
}

static void take_names(struct definition *def, const struct kj_val *obj)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    kj_doc_free(def->names);
    def->names = kj_freeze(kj_mcopy(d, kj_path(obj, "spec.names")));
}

/* Serves what the document says, unless that is served already. */
static struct definition *establish(struct crds *c, const struct kj_val *obj)
{
    int64_t generation = kj_i64_or(kj_path(obj, "metadata.generation"), 1);
    struct definition *def = crds_find(c, spec_text(obj, "metadata.name"));
    const char *reason;
    char message[160];

    if (!def) {
        def = definition_new(obj);
        vec_push(&c->defs, def);
    }
    if (def->accepted && def->generation == generation)
        return def;
    take_names(def, obj);
    def->generation = generation;
    def->accepted = !names_conflict(c, def, &reason, message);
    if (def->accepted)
        serve(c, def, obj);
    else
        unserve(c, def);
    return def;
}

static void sync(struct crds *c, const struct kj_val *obj)
{
    struct definition *def = establish(c, obj);
    bool terminating = definition_is_terminating(obj);

    vec_foreach(&def->versions, i)
        res_table_set_terminating(apiserver_resources(c->s), def->group, def->versions.items[i],
                                  def->plural, terminating);
    status_update(c, def);
    if (*spec_text(obj, "metadata.deletionTimestamp"))
        finalize_start(c, def->name);
}

/* Looks at the newest stored form again; nothing happens when it is gone. */
static void resync(struct crds *c, const char *name)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct store_key k = { crd_resource()->store_res, "", name };
    struct kerr err = { 0 };

    if (store_get(apiserver_store(c->s), &k, &text, NULL, &err) == 0 &&
        kj_parse(text.data, text.len, KJ_RAW_NUMBERS, &doc, &err) == 0)
        sync(c, kj_root(doc));
}

static void forget(struct crds *c, const char *name)
{
    struct definition *def = crds_find(c, name);
    CLEANUP(mem_free) char *group = def ? xstrdup(def->group) : NULL;

    finalize_stop(c, name);
    if (!def)
        return;
    unserve(c, def);
    apiservices_sync(c->s);
    vec_foreach(&c->defs, i)
        if (c->defs.items[i] == def) {
            vec_remove(&c->defs, i);
            break;
        }
    definition_free(def);
    /* Names are free again: whoever was refused gets a second look. */
    vec_foreach(&c->defs, i) {
        struct definition *other = c->defs.items[i];
        if (!other->accepted && streq(other->group, group))
            resync(c, other->name);
    }
}

/* ---- events -------------------------------------------------------------------------------------
 */

static bool on_event(void *arg, const struct store_event *e)
{
    struct crds *c = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    if (e->type == STORE_DELETED) {
        forget(c, e->key.name);
        return true;
    }
    if (kj_parse(e->doc, e->n, KJ_RAW_NUMBERS, &doc, &err) < 0) {
        KLOG_E(&err, "Cannot read a stored CustomResourceDefinition", KV_S("name", e->key.name));
        return true;
    }
    sync(c, kj_root(doc));
    return true;
}

static void follow(struct crds *c);

static void on_end(void *arg, const struct kerr *err)
{
    struct crds *c = arg;
    c->watch = NULL;
    if (err && err->reason == KR_EXPIRED && !c->stopping)
        follow(c); /* never seen in practice: we take every event at once */
}

static bool on_listed(void *arg, const struct store_key *k, uint64_t rev, const char *doc, size_t n)
{
    struct crds *c = arg;
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    struct kerr err = { 0 };

    (void)rev;
    if (kj_parse(doc, n, KJ_RAW_NUMBERS, &parsed, &err) < 0)
        KLOG_E(&err, "Cannot read a stored CustomResourceDefinition", KV_S("name", k->name));
    else
        sync(c, kj_root(parsed));
    return true;
}

static void follow(struct crds *c)
{
    static const struct store_watch_handler handler = { .on_event = on_event, .on_end = on_end };
    struct store *store = apiserver_store(c->s);
    const char *res = crd_resource()->store_res;
    uint64_t at = store_revision(store);
    struct kerr err = { 0 };

    if (store_list(store, res, NULL, 0, NULL, on_listed, c, &err) < 0 ||
        store_watch(store, res, NULL, at, &handler, c, &c->watch, &err) < 0)
        KLOG_E(&err, "Failed to watch CustomResourceDefinitions");
}

/* ---- our own ------------------------------------------------------------------------------------
 */

static void on_reply(void *arg, struct api_call *call, int status, const char *json, size_t n)
{
    struct crds *c = arg;
    vec_foreach(&c->calls, i)
        if (c->calls.items[i] == call) {
            vec_swap_remove(&c->calls, i);
            break;
        }
    if (status >= 300)
        KLOG_E(NULL, "Failed to install a built-in CustomResourceDefinition",
               KV_S("target", call->target), KV_I("status", status), KV_S("answer", n ? json : ""));
}

static const struct api_sink sink = { .reply = on_reply };

/* A request of the server to itself: the same checks as for everybody's. */
static void request(struct crds *c, const char *method, const char *name, const char *type,
                    const struct strbuf *body)
{
    struct api_call *call = api_call_new(c->s, &sink, c);

    call->method = method;
    call->target =
        arena_printf(call->arena, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions%s%s",
                     *name ? "/" : "", name);
    call->content_type = type;
    call->user = &api_user_server;
    call->body = arena_alloc(call->arena, body->len + KJ_PADDING + 1, 16);
    memcpy(call->body, body->data, body->len);
    memset(call->body + body->len, 0, KJ_PADDING + 1);
    call->body_len = body->len;
    vec_push(&c->calls, call); /* gone from there when it is answered, also from inside */
    api_run(call);
}

/* The manifest in the form in which it will be stored. */
static struct kj_doc *completed(const struct kj_val *manifest)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    const struct resource *r = crd_resource();
    struct kj_mval *obj = kj_mcopy(d, manifest);

    types_prune(r->type, d, obj);
    r->strategy->set_defaults(d, obj);
    return kj_freeze(obj);
}

static void patch_spec(struct crds *c, const char *name, const struct kj_val *manifest)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kj_mval *patch = kj_mobj(d);

    kj_mset(d, patch, "spec", kj_mcopy(d, kj_get(manifest, "spec")));
    kj_mwrite(patch, 0, &body);
    request(c, "PATCH", name, "application/merge-patch+json", &body);
}

static void install(struct crds *c, const struct kj_val *manifest, const struct strbuf *text)
{
    CLEANUP(strbuf_fini) struct strbuf stored = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL, *want = completed(manifest);
    const char *name = spec_text(manifest, "metadata.name");
    struct store *store = apiserver_store(c->s);
    struct store_key k = { crd_resource()->store_res, "", name };
    struct kerr err = { 0 };

    if (store_get(store, &k, &stored, NULL, &err) < 0) {
        establish(c, kj_root(want));
        request(c, "POST", "", "application/json", text);
    } else if (kj_parse(stored.data, stored.len, KJ_RAW_NUMBERS, &doc, &err) == 0 &&
               !kj_equal(kj_get(kj_root(doc), "spec"), kj_get(kj_root(want), "spec"))) {
        KLOG_I(2, "Updating a CustomResourceDefinition to this release", KV_S("name", name));
        patch_spec(c, name, kj_root(want));
    }
}

static int install_ours(struct crds *c, struct kerr *err)
{
    const struct kind_crd *crd;
    for (size_t i = 0; (crd = crd_at(i)); i++) {
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
        crd_manifest_json(crd, &text);
        int e = kj_parse(text.data, text.len, KJ_RAW_NUMBERS, &doc, err);
        if (e < 0)
            return kerr_wrap(err, "read our own definition %zu", i);
        install(c, kj_root(doc), &text);
    }
    return 0;
}

int crds_start(struct apiserver *s, bool ours, struct crds **ret, struct kerr *err)
{
    struct crds *c = xnew0(struct crds);

    c->s = s;
    res_table_add(apiserver_resources(s), crd_resource(), NULL);
    follow(c);
    int e = ours ? install_ours(c, err) : 0;
    c->started = true;
    if (e == 0)
        apiservices_sync(s);
    if (e < 0)
        crds_stop(c);
    else
        *ret = c;
    return e;
}

struct crds *crds_stop(struct crds *c)
{
    if (!c)
        return NULL;
    c->stopping = true;
    c->watch = store_unwatch(c->watch);
    while (c->calls.n)
        api_cancel(vec_pop(&c->calls));
    vec_fini(&c->calls);
    finalize_stop_all(c);
    vec_foreach(&c->defs, i)
        definition_free(c->defs.items[i]);
    vec_fini(&c->defs);
    free(c);
    return NULL;
}
