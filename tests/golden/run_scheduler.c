/* run_scheduler.c - one pod against a cluster: verdicts, scores, and who would have to go. */
#include "api/kobj.h"
#include "api/koord/nodemetric.h"
#include "api/koord/noderesourcetopology.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/protocol/keys.h"
#include "base/intern.h"
#include "base/ktime.h"
#include "runners.h"
#include "scheduler/framework/args.h"
#include "scheduler/observe/explain/whatif.h"

/* The vectors were made without DynamicResources, which has something to say to every pod. */
static void leave_out(struct profile_config *c, const char *plugin, struct arena *a)
{
    for (int p = 0; p < KS_POINTS; p++) {
        struct profile_entry *kept = arena_newn0(a, c->points[p].n, struct profile_entry);
        uint32_t n = 0;
        for (uint32_t i = 0; i < c->points[p].n; i++)
            if (!streq(c->points[p].items[i].plugin, plugin))
                kept[n++] = c->points[p].items[i];
        c->points[p] = (struct profile_set){ kept, n };
    }
}

/* The default profile with the arguments of in.pluginConfig. */
static int config_of(const struct kj_val *in, struct arena *a, struct profile_config *ret,
                     struct kerr *err)
{
    struct profile_config c = profile_config_default(ks_registry, "default-scheduler", a);
    const struct kj_val *list = kj_get(in, "pluginConfig");
    struct profile_args *all = arena_newn0(a, kj_len(list), struct profile_args);

    leave_out(&c, "DynamicResources", a);
    for (size_t i = 0; i < kj_len(list); i++) {
        const char *name = kj_str_or(kj_get(kj_at(list, i), "name"), "");
        const struct ks_registered *r = ks_registered_find(name);
        void *args = NULL;
        if (!r || !r->plugin->args)
            return kerr_set(err, -EINVAL, "no plugin %s with args", name);
        if (args_decode(r->plugin->args, kj_get(kj_at(list, i), "args"),
                        &(struct ks_args_context){ 0 }, a, &args, err) < 0)
            return kerr_wrap(err, "args of %s", name);
        all[c.nargs++] = (struct profile_args){ name, args };
    }
    c.args = all;
    *ret = c;
    return 0;
}

static int add_all(struct whatif *w, const struct kind *k, const struct kj_val *list,
                   struct kj_scratch *scratch, struct kerr *err)
{
    for (size_t i = 0; i < kj_len(list); i++) {
        CLEANUP(kobj_unref) struct kobj *o = NULL;
        int r = kobj_decode(k, kj_at(list, i), scratch, &o, err);
        if (r == 0)
            r = whatif_add(w, o, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* v may be NULL: there is no such object. */
static int add_single(struct whatif *w, const struct kind *k, const struct kj_val *v,
                      struct kj_scratch *scratch, struct kerr *err)
{
    CLEANUP(kobj_unref) struct kobj *o = NULL;
    int r = v ? kobj_decode(k, v, scratch, &o, err) : 0;

    return r == 0 && o ? whatif_add(w, o, err) : r;
}

/* Members of `in` that are lists are named after the kind of their objects. */
static int add_cluster(struct whatif *w, const struct kj_val *in, struct arena *a,
                       struct kj_scratch *scratch, struct kerr *err)
{
    struct kj_iter it = kj_iter(in);
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v)) {
        if (kj_type(v) != KJ_ARR || str_eqz(key, "pluginConfig"))
            continue;
        const char *name = arena_strndup(a, key.p, key.n);
        const struct kind *k = streq(name, "nominatedPods") ? &kind_pod : kind_find(name);
        if (!k)
            return kerr_set(err, -EINVAL, "no kind is called %s", name);
        int r = add_all(w, k, v, scratch, err);
        if (r < 0)
            return kerr_wrap(err, "%s", name);
    }
    return 0;
}

static int explain(const struct kj_val *in, struct arena *a, struct whatif **ret_w,
                   struct whatif_result *ret, struct kerr *err)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(strings);
    CLEANUP(kobj_unref) struct kobj *pod = NULL;
    CLEANUP(whatif_free) struct whatif *w = NULL;
    struct profile_config c;

    int r = config_of(in, a, &c, err);
    if (r < 0)
        return r;
    w = whatif_new(&c, ks_registry, err);
    if (!w)
        return err->code;
    r = add_cluster(w, in, a, scratch, err);
    if (r == 0)
        r = kobj_decode(&kind_pod, kj_get(in, "pod"), scratch, &pod, err);
    if (r == 0)
        r = whatif_explain(w, pod, 0, ret, err);
    if (r < 0)
        return r;
    *ret_w = take(w);
    return 0;
}

static int run_pod(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err)
{
    CLEANUP(whatif_free) struct whatif *w = NULL;
    struct whatif_result result;

    int r = explain(in, a, &w, &result, err);
    if (r < 0)
        return r;
    whatif_write(&result, 0, got);
    return 0;
}

static int run_preemption(const struct kj_val *in, struct arena *a, struct strbuf *got,
                          struct kerr *err)
{
    CLEANUP(whatif_free) struct whatif *w = NULL;
    struct whatif_preemption plan;
    struct whatif_result result;

    int r = explain(in, a, &w, &result, err);
    if (r == 0)
        r = whatif_preempt(w, &plan, err);
    if (r < 0)
        return r;
    whatif_write_preemption(&plan, got);
    return 0;
}

/* ---- one plugin ------------------------------------------------------------------------------ */

/* A profile in which the plugin takes part at these points (bits by KS_AT()), with its args. */
static int config_of_one(const char *plugin, uint32_t points, const struct kj_val *given,
                         struct arena *a, struct profile_config *ret, struct kerr *err)
{
    static const char *const sort = "PrioritySort", *const binder = "DefaultBinder";
    struct profile_config c = { .scheduler_name = "default-scheduler", .nargs = 1 };
    struct profile_entry *e = arena_newn0(a, 3, struct profile_entry);
    struct profile_args *args = arena_new0(a, struct profile_args);
    const struct ks_registered *r = ks_registered_find(plugin);
    void *decoded = NULL;

    if (!r || !r->plugin->args)
        return kerr_set(err, -EINVAL, "no plugin %s with args", plugin);
    if (args_decode(r->plugin->args, given, &(struct ks_args_context){ 0 }, a, &decoded, err) < 0)
        return kerr_wrap(err, "args of %s", plugin);
    *args = (struct profile_args){ plugin, decoded };
    e[0].plugin = plugin;
    e[1].plugin = sort;
    e[2].plugin = binder;
    for (int p = 0; p < KS_POINTS; p++)
        if (points >> p & 1)
            c.points[p] = (struct profile_set){ &e[0], 1 };
    c.points[KS_POINT_QUEUE_SORT] = (struct profile_set){ &e[1], 1 };
    c.points[KS_POINT_BIND] = (struct profile_set){ &e[2], 1 };
    c.args = args;
    *ret = c;
    return 0;
}

/* The pod of the case on its cluster, for one plugin at these points. */
static int explain_one(const char *plugin, uint32_t points, const struct kj_val *in,
                       struct arena *a, struct whatif **ret_w, struct whatif_result *ret,
                       struct kerr *err)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(strings);
    CLEANUP(kobj_unref) struct kobj *pod = NULL;
    CLEANUP(whatif_free) struct whatif *w = NULL;
    const char *now_text = kj_str_or(kj_get(in, "now"), "1970-01-01T00:00:00Z");
    struct profile_config c;
    nsec_t now = 0;

    int r = config_of_one(plugin, points, kj_get(in, "args"), a, &c, err);
    if (r < 0)
        return r;
    w = whatif_new(&c, ks_registry, err);
    if (!w)
        return err->code;
    r = ktime_parse(now_text, strlen(now_text), &now, err);
    if (r == 0)
        r = add_cluster(w, in, a, scratch, err);
    if (r == 0)
        r = add_single(w, &kind_node, kj_get(in, "node"), scratch, err);
    if (r == 0)
        r = add_single(w, &kind_nodemetric, kj_get(in, "nodeMetric"), scratch, err);
    if (r == 0)
        r = add_single(w, &kind_noderesourcetopology, kj_get(in, "nodeResourceTopology"), scratch,
                       err);
    if (r == 0)
        r = kobj_decode(&kind_pod, kj_get(in, "pod"), scratch, &pod, err);
    if (r == 0)
        r = whatif_explain(w, pod, now, ret, err);
    if (r < 0)
        return r;
    *ret_w = take(w);
    return 0;
}

static const char *code_name(enum ks_code code)
{
    return code == KS_ERROR           ? "Error"
           : code == KS_UNSCHEDULABLE ? "Unschedulable"
                                      : "UnschedulableAndUnresolvable";
}

static void write_reasons(struct kjw *w, const char *const *reasons, uint32_t n)
{
    kjw_arr(w, "reasons");
    for (uint32_t i = 0; i < n; i++)
        kjw_str(w, NULL, reasons[i]);
    kjw_end(w);
}

/* The verdict by filtering alone, and the score by scoring alone: it counts on a node that was
 * rejected too. */
static int run_loadaware(const struct kj_val *in, struct arena *a, struct strbuf *got,
                         struct kerr *err)
{
    CLEANUP(whatif_free) struct whatif *filter = NULL, *score = NULL;
    const char *plugin = "LoadAwareScheduling";
    struct whatif_result verdict, scores;
    struct kjw w = kjw_to(got);

    int r = explain_one(plugin, KS_AT(PRE_FILTER) | KS_AT(FILTER), in, a, &filter, &verdict, err);
    if (r == 0)
        r = explain_one(plugin, KS_AT(SCORE), in, a, &score, &scores, err);
    if (r < 0)
        return r;
    const struct whatif_node *n = &verdict.nodes[0];
    kjw_obj(&w, NULL);
    kjw_bool(&w, "fit", n->code == KS_SUCCESS);
    if (n->code != KS_SUCCESS) {
        kjw_str(&w, "code", code_name(n->code));
        write_reasons(&w, n->reasons, n->nreasons);
    }
    kjw_i64(&w, "score", scores.nodes[0].scores[0].score);
    kjw_end(&w);
    return 0;
}

static int run_score(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err)
{
    CLEANUP(whatif_free) struct whatif *score = NULL;
    const char *plugin = kj_str_or(kj_get(in, "plugin"), "");
    struct whatif_result scores;
    struct kjw w = kjw_to(got);

    int r = explain_one(plugin, KS_AT(SCORE), in, a, &score, &scores, err);
    if (r < 0)
        return r;
    kjw_obj(&w, NULL);
    kjw_obj(&w, "scores");
    for (uint32_t i = 0; i < scores.nnodes; i++)
        kjw_i64(&w, scores.nodes[i].name, scores.nodes[i].scores[0].score);
    kjw_end(&w);
    kjw_end(&w);
    return 0;
}

/* ---- NodeNUMAResource: the whole way of a pod ------------------------------------------------ */

static void write_rejection(struct kjw *w, const char *phase, enum ks_code code,
                            const char *const *reasons, uint32_t n)
{
    kjw_obj(w, NULL);
    kjw_str(w, "phase", phase);
    kjw_str(w, "code", code_name(code));
    write_reasons(w, reasons, n);
}

static void write_note(struct kjw *w, const struct whatif_placement *p, const char *key,
                       const char *name)
{
    for (uint32_t i = 0; i < p->nnotes; i++)
        if (streq(p->notes[i].key, key))
            kjw_raw(w, name, p->notes[i].value, strlen(p->notes[i].value));
}

/* Unless the binding writes it, the pod keeps what it has. */
static void write_spec(struct kjw *w, const struct whatif_placement *p, const struct kj_val *in)
{
    const struct kj_val *had = kj_get(kj_path(in, "pod.metadata.annotations"), ANNO_RESOURCE_SPEC);

    for (uint32_t i = 0; i < p->nnotes; i++)
        if (streq(p->notes[i].key, ANNO_RESOURCE_SPEC))
            had = NULL;
    if (had)
        kjw_raw(w, "resourceSpec", kj_str_or(had, ""), strlen(kj_str_or(had, "")));
    write_note(w, p, ANNO_RESOURCE_SPEC, "resourceSpec");
}

static int run_numa_plugin(const struct kj_val *in, struct arena *a, struct strbuf *got,
                           struct kerr *err)
{
    CLEANUP(whatif_free) struct whatif *early = NULL, *whatif = NULL;
    const char *plugin = "NodeNUMAResource";
    struct kjw w = kjw_to(got);
    struct whatif_placement placed;
    struct whatif_result before, result;

    int r = explain_one(plugin, KS_AT(PRE_FILTER), in, a, &early, &before, err);
    if (r == 0)
        r = explain_one(plugin,
                        KS_AT(PRE_FILTER) | KS_AT(FILTER) | KS_AT(PRE_SCORE) | KS_AT(SCORE) |
                            KS_AT(RESERVE) | KS_AT(PRE_BIND),
                        in, a, &whatif, &result, err);
    if (r < 0)
        return r;
    const struct whatif_node *n = &result.nodes[0];
    if (n->code != KS_SUCCESS) {
        write_rejection(&w, before.nodes[0].code == KS_SUCCESS ? "Filter" : "PreFilter", n->code,
                        n->reasons, n->nreasons);
    } else if (whatif_place(whatif, n->name, &placed, err) < 0) {
        return err->code;
    } else if (placed.code != KS_SUCCESS) {
        write_rejection(&w, placed.point, placed.code, placed.reasons, placed.nreasons);
    } else {
        kjw_obj(&w, NULL);
        kjw_str(&w, "phase", "Bound");
        kjw_str(&w, "code", "Success");
        write_note(&w, &placed, ANNO_RESOURCE_STATUS, "resourceStatus");
        write_spec(&w, &placed, in);
    }
    if (n->code == KS_SUCCESS)
        kjw_i64(&w, "score", n->nscores ? n->scores[0].score : 0);
    kjw_end(&w);
    return 0;
}

/* What koordctl explain shows of the node's load. */
static int run_figures(const struct kj_val *in, struct arena *a, struct strbuf *got,
                       struct kerr *err)
{
    CLEANUP(whatif_free) struct whatif *w = NULL;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const char *plugin = "LoadAwareScheduling";
    struct whatif_result result;

    int r = explain_one(plugin, KS_AT(PRE_FILTER) | KS_AT(FILTER), in, a, &w, &result, err);
    if (r == 0)
        r = kj_parse(result.nodes[0].details, strlen(result.nodes[0].details), 0, &doc, err);
    if (r < 0)
        return r;
    kj_write(kj_get(kj_root(doc), plugin), 0, got);
    return 0;
}

/* Members that `out` does not name may have any value, at every depth. */
static bool is_part(const struct kj_val *out, const struct kj_val *got)
{
    const struct kj_val *v;
    struct str key;

    if (kj_type(out) != KJ_OBJ)
        return kj_equal(out, got);
    for (struct kj_iter it = kj_iter(out); kj_next(&it, &key, &v);) {
        const struct kj_val *of = kj_getn(got, key.p, key.n);
        if (!of || !is_part(v, of))
            return false;
    }
    return true;
}

/* Nothing more and nothing less. */
const struct golden_runner golden_scheduler[] = {
    { "kube-plugins", run_pod, kj_equal },
    { "kube-plugins-edge", run_pod, kj_equal },
    { "kube-plugins-topology", run_pod, kj_equal },
    { "kube-plugins-score", run_pod, kj_equal },
    { "kube-plugins-large", run_pod, kj_equal },
    { "fit-strategies", run_pod, kj_equal },
    { "preemption", run_preemption, kj_equal },
    { "loadaware", run_loadaware, kj_equal },
    { "nodefit-plus", run_score, kj_equal },
    { "loadaware-verdicts", run_loadaware, is_part },
    { "loadaware-figures", run_figures, is_part },
    { "reservation-status", golden_reservation_status, NULL },
    { "dra-allocate", golden_dra_allocate, golden_dra_same },
    { "dra-plugin", golden_dra_plugin, golden_dra_plugin_same },
    { "cpu-accumulator", run_cpu_accumulator, kj_equal },
    { "numa-plugin", run_numa_plugin, same_but_order_of_reasons },
    { "numa-hints", run_numa_hints, same_but_order_of_reasons },
    { NULL, NULL, NULL },
};
