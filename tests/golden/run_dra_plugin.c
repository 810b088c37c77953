/* run_dra_plugin.c - one cycle of the plugin DynamicResources, step by step, with a server that
 * takes its writes. */
#include "api/dra.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/intern.h"
#include "base/map.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "runners.h"
#include "scheduler/framework/attempt.h"
#include "scheduler/framework/preemption.h"
#include "scheduler/framework/service_table.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/registry.h"

#include "json/patch.h"
#include <stdio.h>

/* ---- a server of claims ---------------------------------------------------------------------- */

struct server {
    struct kube kube;
    struct map claims; /* text by name */
    struct arena *arena;
    uint64_t version;
};
struct answer {
    struct kube_call call;
    kube_done_fn fn;
    void *arg;
    char *text;
};

static void on_answer(struct loop *l, void *arg)
{
    struct answer *a = arg;
    struct kube_resp r = { 200, a->text, strlen(a->text), 0 };

    (void)l;
    a->fn(a->arg, &r, NULL);
}

static char *patched(struct server *s, const char *old, const struct kube_req *r)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL, *patch = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *m = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kj_mval *now = NULL;
    struct kerr err = { 0 };
    char version[32];

    if (kj_parse(old, strlen(old), 0, &doc, &err) < 0 ||
        kj_parse(r->body, r->body_len, 0, &patch, &err) < 0 ||
        kj_patch_merge(m, kj_root(doc), kj_root(patch), &now, &err) < 0)
        abort(); /* the plugin wrote what is no patch */
    snprintf(version, sizeof version, "%ju", (uintmax_t)++s->version);
    kj_mset(m, kj_mget(now, "metadata"), "resourceVersion", kj_mstr(m, version));
    kj_mwrite(now, 0, &out);
    return arena_strdup(s->arena, strbuf_str(&out));
}

static struct kube_call *server_call(struct kube *k, const struct kube_req *r, kube_done_fn fn,
                                     void *arg)
{
    struct server *s = container_of(k, struct server, kube);
    struct answer *a = arena_new0(s->arena, struct answer);
    char *now = patched(s, map_getz(&s->claims, r->name), r);

    *a = (struct answer){ { k }, fn, arg, now };
    map_putz(&s->claims, arena_strdup(s->arena, r->name), now);
    (void)loop_after(k->loop, 0, on_answer, a);
    return &a->call;
}

static void server_cancel(struct kube_call *c)
{
    (void)c;
}

static const struct kube_ops server_ops = { .call = server_call, .cancel = server_cancel };

/* ---- the cluster ----------------------------------------------------------------------------- */

struct cluster {
    struct intern *strings;
    struct loop *loop;
    struct server server;
    struct objects *objects;
    struct nodecache *cache;
    struct service_table *services;
    struct profile *profile;
    struct kobj *pod;
    uint32_t slot;
    struct attempt a;
    bool begun;
    enum ks_code bound;
    const char *bound_why;
    struct arena *arena;
    struct kjw *w;
};

static int put(struct cluster *c, const struct kind *k, const struct kj_val *list, struct kerr *err)
{
    for (size_t i = 0; i < kj_len(list); i++) {
        CLEANUP(kobj_unref) struct kobj *o = NULL;
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        int r = kobj_decode(k, kj_at(list, i), c->server.kube.scratch, &o, err);
        if (r < 0)
            return r;
        if (k == &kind_node)
            nodecache_put_node(c->cache, o);
        else
            objects_put(c->objects, o);
        if (k != &kind_resource_claim)
            continue;
        kj_write(kj_at(list, i), 0, &text);
        map_putz(&c->server.claims, arena_strdup(c->arena, o->meta.name),
                 arena_strdup(c->arena, strbuf_str(&text)));
    }
    return 0;
}

static int open_cluster(struct cluster *c, const struct kj_val *in, struct kerr *err)
{
    struct ks_registered table[8] = { 0 };
    uint32_t n = 0;

    for (const struct ks_registered *r = ks_registry; r->plugin; r++)
        if (r->plugin == &ks_plugin_dynamic_resources || r->plugin->before || r->plugin->bind)
            if (n < 7)
                table[n++] = *r;
    c->strings = intern_new();
    c->loop = loop_new_virtual(0, 1);
    c->objects = objects_new();
    c->cache = nodecache_new(c->objects);
    c->services = service_table_new();
    c->server.arena = c->arena;
    c->server.kube = (struct kube){ .ops = &server_ops,
                                    .loop = c->loop,
                                    .strings = c->strings,
                                    .scratch = kj_scratch_new(c->strings) };
    const struct ks_env env = { .loop = c->loop,
                                .kube = &c->server.kube,
                                .objects = c->objects,
                                .nodes = nodecache_nodes(c->cache),
                                .service_table = c->services };
    struct profile_config pc = profile_config_default(table, "default-scheduler", c->arena);
    c->profile = profile_new(&pc, table, &env, err);
    if (!c->profile)
        return err->code;
    services_tell_all(c->services, NULL, 0);
    while (c->profile->slots[c->slot].plugin != &ks_plugin_dynamic_resources)
        c->slot++;
    if (put(c, &kind_node, kj_get(in, "nodes"), err) < 0 ||
        put(c, &kind_device_class, kj_get(in, "deviceClasses"), err) < 0 ||
        put(c, &kind_resource_slice, kj_get(in, "resourceSlices"), err) < 0 ||
        put(c, &kind_resource_claim, kj_get(in, "resourceClaims"), err) < 0)
        return err->code;
    return kobj_decode(&kind_pod, kj_get(in, "pod"), c->server.kube.scratch, &c->pod, err);
}

static void close_cluster(struct cluster *c)
{
    if (c->begun)
        attempt_end(&c->a);
    kobj_unref(c->pod);
    profile_free(c->profile);
    service_table_free(c->services);
    nodecache_free(c->cache);
    objects_free(c->objects);
    kj_scratch_free(c->server.kube.scratch);
    map_fini(&c->server.claims);
    loop_free(c->loop);
    intern_free(c->strings);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void write_status(struct cluster *c, const char *key, enum ks_code code,
                         const struct ks_texts *why)
{
    kjw_obj(c->w, key);
    kjw_str(c->w, "code", ks_code_name(code));
    if (code != KS_SUCCESS) {
        kjw_arr(c->w, "reasons");
        for (uint32_t i = 0; i < why->n; i++)
            kjw_str(c->w, NULL, why->items[i]);
        kjw_end(c->w);
    }
    kjw_end(c->w);
}

static uint32_t row_of(const struct cluster *c, const struct kj_val *node)
{
    return ks_row_of(nodecache_nodes(c->cache), kj_str_or(kj_path(node, "metadata.name"), ""));
}

/* The rows that fit, in the order of the nodes; false: a node ended the attempt. */
static bool filter(struct cluster *c, const struct kj_val *nodes, uint32_t *fit, uint32_t *nfit)
{
    const struct profile_slot *s = &c->profile->slots[c->slot];
    uint8_t *skip = arena_zalloc(c->arena, c->a.n), *said = arena_zalloc(c->arena, c->a.n);
    bool going = true;

    kjw_obj(c->w, "filter");
    for (size_t i = 0; going && i < kj_len(nodes); i++) {
        uint32_t row = row_of(c, kj_at(nodes, i));
        struct ks_texts why = { .arena = c->arena };
        attempt_enter(&c->a, c->slot, c->a.state[c->slot]);
        s->plugin->filter(s->self, &c->a.cycle, &c->a.pod, (struct ks_span){ row, row + 1 }, skip,
                          said);
        if (said[row])
            s->plugin->explain(s->self, &c->a.cycle, &c->a.pod, row, &why);
        else
            fit[(*nfit)++] = row;
        enum ks_code code = s->plugin->reasons[said[row]].code;
        write_status(c, kj_str_or(kj_path(kj_at(nodes, i), "metadata.name"), ""), code, &why);
        c->a.by[row] = said[row] ? (uint8_t)(c->slot + 1) : 0;
        c->a.why[row] = said[row];
        going = code != KS_ERROR;
    }
    kjw_end(c->w);
    return going;
}

static void post_filter(struct cluster *c)
{
    const struct profile_slot *s = &c->profile->slots[c->slot];
    struct ks_texts why = { .arena = c->arena };
    struct preemption plan = { 0 };
    const struct post_filter_outcome o = { KS_UNSCHEDULABLE, "", "", NULL, false };

    attempt_enter(&c->a, c->slot, c->a.state[c->slot]);
    enum ks_code code = s->plugin->post_filter->plan(s->self, &c->a, &plan, &why);
    s->plugin->post_filter->after(s->self, pod_of(c->pod), &o);
    write_status(c, "postFilter", code, &why);
}

static void write_scores(struct cluster *c, const char *key, const int64_t *scores,
                         const uint32_t *fit, uint32_t nfit)
{
    kjw_obj(c->w, key);
    for (uint32_t i = 0; i < nfit; i++)
        kjw_i64(c->w, nodecache_nodes(c->cache)->node[fit[i]]->obj.meta.name, scores[fit[i]]);
    kjw_end(c->w);
}

static void score(struct cluster *c, const uint32_t *fit, uint32_t nfit)
{
    const struct profile_slot *s = &c->profile->slots[c->slot];
    int64_t *scores = arena_newn0(c->arena, c->a.n, int64_t);

    attempt_enter(&c->a, c->slot, c->a.state[c->slot]);
    s->plugin->score(s->self, &c->a.cycle, &c->a.pod, (struct ks_span){ 0, c->a.n }, scores);
    write_scores(c, "score", scores, fit, nfit);
    s->plugin->normalize(s->self, &c->a.cycle, c->a.by, c->a.n, scores);
    write_scores(c, "normalized", scores, fit, nfit);
}

struct pre_bind {
    struct ks_bind bind;
    struct cluster *c;
};

static void on_done(struct ks_bind *b, enum ks_code code, const char *why)
{
    struct cluster *c = container_of(b, struct pre_bind, bind)->c;

    c->bound = code;
    c->bound_why = arena_strdup(c->arena, why);
}

static void bind(struct cluster *c, uint32_t row)
{
    static const struct ks_bind_ops ops = { .done = on_done };
    const struct profile_slot *s = &c->profile->slots[c->slot];
    const char *node = nodecache_nodes(c->cache)->node[row]->obj.meta.name;
    struct pre_bind b = { { .pod = c->pod, .node = node, .ops = &ops }, c };
    struct ks_texts why = { .arena = c->arena };

    attempt_enter(&c->a, c->slot, c->a.state[c->slot]);
    enum ks_code code = s->plugin->reserve(s->self, &c->a.cycle, &c->a.pod, row, &why);
    kjw_str(c->w, "node", node);
    write_status(c, "reserve", code, &why);
    if (code != KS_SUCCESS)
        return;
    c->bound = KS_WAIT;
    code = s->plugin->pre_bind(s->self, &b.bind, &why);
    loop_advance(c->loop, NSEC_PER_SEC);
    if (code == KS_WAIT) {
        code = c->bound;
        ks_texts_add(&why, str_or(c->bound_why, "no answer"));
    }
    write_status(c, "preBind", code, &why);
}

static void write_changes(struct cluster *c, const struct kj_val *claims)
{
    CLEANUP(strbuf_fini) struct strbuf all = STRBUF_INIT;
    struct kjw w = kjw_to(&all);

    kjw_obj(&w, NULL);
    for (size_t i = 0; i < kj_len(claims); i++) {
        CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
        CLEANUP(strbuf_fini) struct strbuf status = STRBUF_INIT, finalizers = STRBUF_INIT;
        const char *name = kj_str_or(kj_path(kj_at(claims, i), "metadata.name"), "");
        const char *text = map_getz(&c->server.claims, name);
        struct kerr err = { 0 };
        if (kj_parse(text, strlen(text), 0, &doc, &err) < 0 ||
            kj_equal(kj_root(doc), kj_at(claims, i)))
            continue;
        kjw_obj(&w, name);
        if (kj_len(kj_path(kj_root(doc), "metadata.finalizers"))) {
            kj_write(kj_path(kj_root(doc), "metadata.finalizers"), 0, &finalizers);
            kjw_raw(&w, "finalizers", finalizers.data, finalizers.len);
        }
        kj_write(kj_get(kj_root(doc), "status"), 0, &status);
        kjw_raw(&w, "status", status.data, status.len);
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_raw(c->w, "changed", all.data, all.len);
}

static void run_cycle(struct cluster *c, const struct kj_val *in)
{
    const struct profile_slot *s = &c->profile->slots[c->slot];
    const struct kj_val *nodes = kj_get(in, "nodes");
    uint32_t *fit = arena_newn0(c->arena, kj_len(nodes), uint32_t), nfit = 0;
    struct ks_texts why = { .arena = c->arena }, pre = { .arena = c->arena };
    const struct attempt_input input = {
        .profile = c->profile, .cache = c->cache, .objects = c->objects, .pod = c->pod
    };

    write_status(c, "preEnqueue", s->plugin->pre_enqueue(s->self, pod_of(c->pod), &why), &why);
    attempt_init(&c->a, &input, c->arena);
    c->begun = true;
    attempt_prepare(&c->a);
    c->a.by = arena_zalloc(c->arena, c->a.n);
    c->a.why = arena_zalloc(c->arena, c->a.n);
    if (c->a.code != KS_SUCCESS)
        ks_texts_add(&pre, c->a.text);
    write_status(c, "preFilter", c->a.code, &pre);
    if (c->a.code != KS_SUCCESS || !filter(c, nodes, fit, &nfit))
        return;
    if (nfit == 0) {
        post_filter(c);
        loop_advance(c->loop, NSEC_PER_SEC);
        return;
    }
    score(c, fit, nfit);
    bind(c, fit[0]);
}

int golden_dra_plugin(const struct kj_val *in, struct arena *a, struct strbuf *got,
                      struct kerr *err)
{
    struct kjw w = kjw_to(got);
    struct cluster c = { .arena = a, .w = &w };
    int r = open_cluster(&c, in, err);

    kjw_obj(&w, NULL);
    if (r == 0) {
        run_cycle(&c, in);
        write_changes(&c, kj_get(in, "resourceClaims"));
    }
    kjw_end(&w);
    close_cluster(&c);
    return r;
}

/* Every member of `out` is there and no step beyond it ran; upstream's scores are missing for pods
 * with allocated claims, where it fails. */
bool golden_dra_plugin_same(const struct kj_val *out, const struct kj_val *got)
{
    struct kj_iter it = kj_iter(got);
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v)) {
        const struct kj_val *expected = kj_getn(out, key.p, key.n);
        bool scores = str_eqz(key, "score") || str_eqz(key, "normalized");
        if (!expected && (scores || kj_len(v) == 0))
            continue;
        if (!expected || !golden_dra_same(expected, v))
            return false;
    }
    it = kj_iter(out);
    while (kj_next(&it, &key, &v))
        if (!kj_getn(got, key.p, key.n))
            return false;
    return true;
}
