/* rest.c - GET /apis/v1/plugins/ElasticQuota/quotas, and gauges (sched-quota 16, 17). */
#include "scheduler/plugins/elasticquota/rest.h"

#include "api/koord/quota.h"
#include "api/pod.h"
#include "api/protocol/quota.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "component/metrics.h"
#include "scheduler/plugins/elasticquota/quotas.h"
#include "json/kj.h"

/* ---- one quota ------------------------------------------------------------------------------- */

static const struct {
    const char *key;
    enum quota_field field;
} shown[] = {
    { "max", QUOTA_MAX },
    { "min", QUOTA_MIN },
    { "autoScaleMin", QUOTA_SCALED_MIN },
    { "used", QUOTA_USED },
    { "nonPreemptibleUsed", QUOTA_NP_USED },
    { "request", QUOTA_REQUEST },
    { "nonPreemptibleRequest", QUOTA_NP_REQUEST },
    { "sharedWeight", QUOTA_WEIGHT },
    { "runtime", QUOTA_RUNTIME },
    { "childRequest", QUOTA_CHILD_REQUEST },
    { "allocated", QUOTA_ALLOCATED },
    { "guaranteed", QUOTA_GUARANTEED },
    { "selfUsed", QUOTA_SELF_USED },
    { "selfNonPreemptibleUsed", QUOTA_SELF_NP_USED },
    { "selfRequest", QUOTA_SELF_REQUEST },
    { "selfNonPreemptibleRequest", QUOTA_SELF_NP_REQUEST },
};

static void write_list(struct kjw *w, const char *key, const reslist *l)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    reslist_encode(l, &text);
    kjw_raw(w, key, strbuf_str(&text), text.len);
}

static void write_pods(struct quotas *s, struct quota *q, struct kjw *w, struct arena *a)
{
    struct quota_pod p;
    bool any = false;

    for (uint32_t at = 0; quota_next_pod(s->forest, q, &at, &p);) {
        if (!any)
            kjw_obj(w, "podCache");
        any = true;
        reslist l = forest_request_list(s->forest, p.pod, a);
        kjw_obj(w, arena_printf(a, "%s/%s", p.pod->obj.meta.ns, p.pod->obj.meta.name));
        kjw_bool(w, "isAssigned", p.assigned);
        write_list(w, "resource", &l);
        kjw_end(w);
    }
    if (any)
        kjw_end(w);
}

static void write_quota(struct quotas *s, struct quota *q, const char *key, bool pods,
                        struct kjw *w, struct arena *a)
{
    kjw_obj(w, key);
    kjw_str(w, "name", quota_name(q));
    kjw_str(w, "parentName", quota_parent_name(q));
    kjw_bool(w, "isParent", quota_parent_flag(q));
    kjw_i64(w, "runtimeVersion", (int64_t)quota_runtime_version(q));
    kjw_bool(w, "allowLentResource", quota_lends(q));
    kjw_str(w, "tree", quota_tree_name(q));
    for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
        reslist l = quota_list(s->forest, q, shown[i].field, a);
        write_list(w, shown[i].key, &l);
    }
    if (pods)
        write_pods(s, q, w, a);
    kjw_end(w);
}

/* ---- paths ----------------------------------------------------------------------------------- */

static bool wants_pods(const struct ks_get *g)
{
    const char *text = ks_get_query(g, "includePods");

    return text && streq(text, "true");
}

static int get_one(void *service, const struct ks_get *g, struct kjw *w, struct kerr *err)
{
    struct quotas *s = service;
    struct quota *q = forest_find(s->forest, g->params[0]);

    if (!q || quota_is_root(q))
        return kerr_api(err, -ENOENT, KR_NOT_FOUND, "cannot find quota %.200s", g->params[0]);
    write_quota(s, q, NULL, wants_pods(g), w, g->arena);
    return 0;
}

static int get_all(void *service, const struct ks_get *g, struct kjw *w, struct kerr *err)
{
    struct quotas *s = service;
    const char *tree = ks_get_query(g, "tree");
    uint32_t n;
    struct quota **all = forest_list(s->forest, str_empty(tree) ? NULL : tree, g->arena, &n);

    (void)err;
    kjw_obj(w, NULL);
    for (uint32_t i = 0; i < n; i++)
        write_quota(s, all[i], quota_name(all[i]), wants_pods(g), w, g->arena);
    kjw_end(w);
    return 0;
}

const struct ks_path quotas_paths[] = {
    { "quotas", get_all },
    { "quotas/:name", get_one },
    { "quota/:name", get_one }, /* release 0.7 */
    { NULL, NULL },
};

/* ---- gauges ---------------------------------------------------------------------------------- */

static const struct metric_desc status_desc = {
    .name = "scheduler_elastic_quota_status",
    .help = "Amounts of quotas: cpu in milli, everything else in units",
    .type = METRIC_GAUGE,
    .labels = { "name", "resource", "tree", "is_parent", "parent", "field" },
};
static const struct {
    const char *name;
    enum quota_field field;
} gauges[] = {
    { "runtime", QUOTA_RUNTIME },
    { "request", QUOTA_REQUEST },
    { "child-request", QUOTA_CHILD_REQUEST },
    { "guaranteed", QUOTA_GUARANTEED },
    { "allocated", QUOTA_ALLOCATED },
    { "non-preemptible-request", QUOTA_NP_REQUEST },
    { "non-preemptible-used", QUOTA_NP_USED },
    { "used", QUOTA_USED },
    { "min", QUOTA_MIN },
    { "max", QUOTA_MAX },
    { "sharedWeight", QUOTA_WEIGHT },
};

static void put_unschedulable(struct quotas *s, const struct quota *q, metric_put_fn put, void *out,
                              struct arena *a)
{
    const struct kobj *o =
        objects_get(s->env.objects, &kind_elasticquota, quota_namespace(q), quota_name(q));
    struct reslist_value l = { 0 };

    if (!o || quota_unschedulable_resource_read(&o->meta.annotations, a, &l, NULL) != 1)
        return;
    for (uint32_t i = 0; i < l.v.n; i++)
        put(out,
            METRIC_VALUES(quota_name(q), l.v.items[i].name, quota_tree_name(q),
                          quota_parent_flag(q) ? "true" : "false", quota_parent_name(q),
                          "unschedulable-resource"),
            (double)resource_count(l.v.items[i].name, l.v.items[i].value));
}

static void put_rows(void *arg, metric_put_fn put, void *out)
{
    struct quotas *s = arg;
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct quota_columns *cols = forest_columns(s->forest);
    uint32_t n;
    struct quota **all = forest_list(s->forest, NULL, a, &n);

    for (uint32_t i = 0; i < n; i++) {
        struct quota *q = all[i];
        for (size_t k = 0; k < ARRAY_LEN(gauges); k++) {
            uint64_t keys;
            const int64_t *v = quota_values(s->forest, q, gauges[k].field, &keys);
            columns_foreach(c, keys)
                put(out,
                    METRIC_VALUES(quota_name(q), cols->name[c], quota_tree_name(q),
                                  quota_parent_flag(q) ? "true" : "false", quota_parent_name(q),
                                  gauges[k].name),
                    (double)quota_at(v, c));
        }
        if (quota_heads_tree(q))
            put_unschedulable(s, q, put, out, a);
    }
}

void quotas_gauges_start(struct quotas *s)
{
    if (s->env.metrics)
        metric_set_rows(metrics_add(s->env.metrics, &status_desc), put_rows, s);
}

void quotas_gauges_stop(struct quotas *s)
{
    if (s->env.metrics)
        metric_set_rows(metrics_add(s->env.metrics, &status_desc), NULL, NULL);
}
