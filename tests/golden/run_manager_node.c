/* run_manager_node.c - resources of one node: batch, mid, ratios, and the admission of its status.
 */
#include "base/intern.h"
#include "base/ktime.h"
#include "base/vec.h"
#include "manager/noderesource/admit.h"
#include "manager/noderesource/nr.h"
#include "run_manager.h"
#include "runners.h"
#include "json/schema.h"

struct cluster { /* the objects of one case */
    struct intern *strings;
    struct kj_scratch *scratch;
    struct sloconfig *config;
    struct vec_of(struct kobj *) objects;
    struct vec_of(const struct nr_pod *) pods;
    struct nr_input in;
};

static void cluster_init(struct cluster *c)
{
    *c = (struct cluster){ .strings = intern_new(), .config = sloconfig_new() };
    c->scratch = kj_scratch_new(c->strings);
    c->in.config = c->config;
    c->in.plugins = NR_ALL_PLUGINS;
}

static void cluster_fini(struct cluster *c)
{
    vec_foreach(&c->objects, i)
        kobj_unref(c->objects.items[i]);
    vec_fini(&c->objects);
    vec_fini(&c->pods);
    c->config = sloconfig_free(c->config);
    c->scratch = kj_scratch_free(c->scratch);
    c->strings = intern_free(c->strings);
}
static UNUSED void cluster_fini_p(struct cluster *c)
{
    cluster_fini(c);
}

/* NULL when the object is absent. */
static int add(struct cluster *c, const struct kind *k, const struct kj_val *v, struct kobj **ret,
               struct kerr *err)
{
    int r = manager_decode(k, v, c->scratch, ret, err);
    if (*ret)
        vec_push(&c->objects, *ret);
    return r;
}

static void configure(struct cluster *c, const char *key, const struct kj_val *v, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kstrpair pairs[2];
    uint32_t n = 0;
    struct slo_sync sync;

    if (!streq(key, slo_keys[SLO_COLOCATION].key))
        pairs[n++] = (struct kstrpair){ slo_keys[SLO_COLOCATION].key, "{\"enable\":true}" };
    if (kj_type(v) == KJ_STR) {
        pairs[n++] = (struct kstrpair){ key, kj_str(v) };
    } else if (kj_type(v) == KJ_OBJ) {
        kj_write(v, 0, &text);
        pairs[n++] = (struct kstrpair){ key, arena_strdup(a, strbuf_str(&text)) };
    }
    kstrmap data = { pairs, n };
    sloconfig_sync(c->config, &data, &sync);
}

static int add_objects(struct cluster *c, const struct kj_val *in, struct arena *a,
                       struct kerr *err)
{
    const struct kj_val *pods = kj_get(in, "pods");
    const char *now = kj_str_or(kj_get(in, "now"), "2026-01-01T12:00:00Z");
    struct kobj *node, *metric, *topology;

    int r = ktime_parse(now, strlen(now), &c->in.now, err);
    if (r == 0)
        r = add(c, &kind_node, kj_get(in, "node"), &node, err);
    if (r == 0)
        r = add(c, &kind_nodemetric, kj_get(in, "nodeMetric"), &metric, err);
    if (r == 0)
        r = add(c, &kind_noderesourcetopology, kj_get(in, "nodeResourceTopology"), &topology, err);
    if (r < 0)
        return r;
    c->in.node = node_of(node);
    c->in.metric = metric ? nodemetric_of(metric) : NULL;
    c->in.topology = topology ? noderesourcetopology_of(topology) : NULL;
    for (size_t i = 0; r == 0 && i < kj_len(pods); i++) {
        struct nr_pod *p = arena_new0(a, struct nr_pod);
        struct kobj *pod = NULL;
        r = add(c, &kind_pod, kj_at(pods, i), &pod, err);
        if (r == 0) {
            nr_pod_of(pod_of(pod), a, p);
            vec_push(&c->pods, p);
        }
    }
    c->in.pods = c->pods.items;
    c->in.npods = c->pods.n;
    return r;
}

/* ---- batch and mid --------------------------------------------------------------------------- */

static void write_want(struct kjw *w, const struct nr_plan *p, enum nr_resource name)
{
    if (p->resources[name].act == NR_SET)
        kjw_i64(w, nr_resource_names[name], qty_value(p->resources[name].value));
    else
        kjw_null(w, nr_resource_names[name]);
}

static void write_zones(struct kjw *w, const struct nr_result *r)
{
    kjw_obj(w, "zones");
    for (uint32_t i = 0; i < r->zones.n; i++) {
        kjw_obj(w, r->zones.items[i].name);
        kjw_i64(w, RES_BATCH_CPU, qty_value(r->zones.items[i].batch_cpu));
        kjw_i64(w, RES_BATCH_MEMORY, qty_value(r->zones.items[i].batch_memory));
        kjw_end(w);
    }
    kjw_end(w);
}

static int run_resources(const struct kj_val *in, struct arena *a, enum nr_plugin_id plugin,
                         struct strbuf *got, struct kerr *err)
{
    enum nr_resource first = plugin == NR_BATCH ? NR_BATCH_CPU : NR_MID_CPU;
    CLEANUP(cluster_fini) struct cluster c;
    struct nr_result result;
    struct nr_plan plan;
    struct kjw w = kjw_to(got);

    cluster_init(&c);
    configure(&c, slo_keys[SLO_COLOCATION].key, kj_get(in, "config"), a);
    int r = add_objects(&c, in, a, err);
    if (r < 0)
        return r;
    nr_calculate(&c.in, a, &result);
    nr_prepare(&c.in, &result, a, &plan);
    kjw_obj(&w, NULL);
    kjw_bool(&w, "degraded", result.outcome[plugin].reset != NULL);
    write_want(&w, &plan, first);
    write_want(&w, &plan, first + 1);
    if (plugin == NR_BATCH)
        write_zones(&w, &result);
    if (plan.bad[plugin].code < 0)
        kjw_str(&w, "error", plan.bad[plugin].text);
    kjw_end(&w);
    return 0;
}

int run_batch(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err)
{
    return run_resources(in, a, NR_BATCH, got, err);
}

int run_mid(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err)
{
    return run_resources(in, a, NR_MID, got, err);
}

/* ---- ratios ---------------------------------------------------------------------------------- */

static void write_after(struct kjw *w, const struct nr_input *in, const struct nr_plan *p,
                        enum nr_annotation name)
{
    const struct nr_want *want = &p->annotations[name];
    const char *have = kstrmap_get(&in->node->obj.meta.annotations, nr_annotation_keys[name]);

    kjw_str(w, "ratio", want->act == NR_SET ? want->text : want->act == NR_REMOVE ? NULL : have);
}

static int run_ratio(const struct kj_val *in, struct arena *a, enum nr_plugin_id plugin,
                     struct strbuf *got, struct kerr *err)
{
    enum nr_annotation name =
        plugin == NR_NORMALIZATION ? NR_ANNO_NORMALIZATION : NR_ANNO_AMPLIFICATION;
    enum slo_key key = plugin == NR_NORMALIZATION ? SLO_NORMALIZATION : SLO_AMPLIFICATION;
    CLEANUP(cluster_fini) struct cluster c;
    struct nr_result result;
    struct nr_plan plan;
    struct kjw w = kjw_to(got);

    cluster_init(&c);
    configure(&c, slo_keys[key].key, kj_get(in, "config"), a);
    int r = add_objects(&c, in, a, err);
    if (r < 0)
        return r;
    c.in.plugins = 1u << plugin;
    nr_calculate(&c.in, a, &result);
    nr_prepare(&c.in, &result, a, &plan);
    kjw_obj(&w, NULL);
    write_after(&w, &c.in, &plan, name);
    kjw_bool(&w, "update", nr_meta_due(&c.in, &plan));
    if (result.outcome[plugin].err.code < 0)
        kjw_str(&w, "error", result.outcome[plugin].err.text);
    kjw_end(&w);
    return 0;
}

/* ---- admission of a status ------------------------------------------------------------------- */

static void write_admitted(struct kjw *w, const struct node *n, const struct node_admission *m,
                           struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    reslist allocatable = n->status.allocatable;

    for (uint32_t i = 0; i < m->allocatable.n; i++)
        allocatable = reslist_with(&allocatable, m->allocatable.items[i].name,
                                   m->allocatable.items[i].value, a);
    reslist_encode(&allocatable, &text);
    if (allocatable.n > 0)
        kjw_raw(w, "allocatable", strbuf_str(&text), text.len);
    else
        kjw_null(w, "allocatable");
    kjw_obj(w, "annotations");
    for (uint32_t i = 0; i < n->obj.meta.annotations.n; i++) {
        const struct kstrpair *p = &n->obj.meta.annotations.items[i];
        if (!streq(p->key, ANNO_RAW_ALLOCATABLE))
            kjw_str(w, p->key, p->value);
        else if (!m->remove_raw_allocatable && !m->raw_allocatable)
            kjw_str(w, p->key, p->value);
    }
    if (m->raw_allocatable)
        kjw_str(w, ANNO_RAW_ALLOCATABLE, m->raw_allocatable);
    kjw_end(w);
}

static int run_admit(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err)
{
    bool update = streq(kj_str_or(kj_get(in, "operation"), ""), "UPDATE");
    CLEANUP(cluster_fini) struct cluster c;
    struct kobj *node = NULL, *old = NULL;
    struct node_admission m = { 0 };
    struct kerr refused = { 0 };
    struct kjw w = kjw_to(got);

    cluster_init(&c);
    int r = add(&c, &kind_node, kj_get(in, "node"), &node, err);
    if (r == 0)
        r = add(&c, &kind_node, kj_get(in, "oldNode"), &old, err);
    if (r < 0)
        return r;
    if (update)
        node_status_admit(node_of(node), old ? node_of(old) : NULL, a, &m, &refused);
    kjw_obj(&w, NULL);
    if (refused.code < 0)
        kjw_str(&w, "error", refused.text);
    else
        write_admitted(&w, node_of(node), &m, a);
    kjw_end(&w);
    return 0;
}

int run_node_resources(const struct kj_val *in, struct arena *a, struct strbuf *got,
                       struct kerr *err)
{
    const char *kind = kj_str_or(kj_get(in, "kind"), "");

    if (streq(kind, "cpu-normalization"))
        return run_ratio(in, a, NR_NORMALIZATION, got, err);
    if (streq(kind, "amplification-ratio"))
        return run_ratio(in, a, NR_AMPLIFICATION, got, err);
    return run_admit(in, a, got, err);
}

/* An annotation with JSON in it compares by value. */
static bool same_annotation(const struct kj_val *out, const struct kj_val *got)
{
    CLEANUP(kj_doc_free) struct kj_doc *x = NULL, *y = NULL;

    if (kj_type(out) != KJ_STR || kj_type(got) != KJ_STR)
        return kj_equal(out, got);
    if (kj_parse(kj_str(out), kj_len(out), 0, &x, NULL) < 0 ||
        kj_parse(kj_str(got), kj_len(got), 0, &y, NULL) < 0)
        return kj_equal(out, got);
    return manager_same(kj_root(x), kj_root(y));
}

static bool same_annotations(const struct kj_val *out, const struct kj_val *got)
{
    struct kj_iter it = kj_iter(out);
    const struct kj_val *want;
    struct str key;

    if (kj_len(out) != kj_len(got))
        return false;
    while (kj_next(&it, &key, &want))
        if (!same_annotation(want, kj_getn(got, key.p, key.n)))
            return false;
    return true;
}

bool same_node_resources(const struct kj_val *out, const struct kj_val *got)
{
    bool refused = kj_get(out, "error") != NULL;

    if (refused != (kj_get(got, "error") != NULL))
        return false;
    if (kj_get(out, "ratio"))
        return same_annotation(kj_get(out, "ratio"), kj_get(got, "ratio")) &&
               kj_equal(kj_get(out, "update"), kj_get(got, "update"));
    return refused || (same_annotations(kj_get(out, "annotations"), kj_get(got, "annotations")) &&
                       manager_same(kj_get(out, "allocatable"), kj_get(got, "allocatable")));
}
