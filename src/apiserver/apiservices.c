/* apiservices.c - an APIService for each group version that is served, as long as it is.
 *
 * They carry the label of upstream's own ones, and only those with it are taken away again. What a
 * person changed in one stays, what he deleted comes back with the next change of what is served.
 */
#include "apiserver/http/served.h"
#include "apiserver/registry/internal.h"
#include "base/klog.h"
#include "base/ktime.h"

#define GROUP     "apiregistration.k8s.io"
#define AUTOMATIC "kube-aggregator.kubernetes.io/automanaged"

/* Which group clients should prefer when two have a kind of the same name; as upstream has it. */
static const struct {
    const char *group;
    int priority, version;
} priorities[] = {
    { "", 18000, 1 },
    { "admissionregistration.k8s.io", 16700, 15 },
    { "apiextensions.k8s.io", 16700, 15 },
    { "apps", 17800, 15 },
    { "authentication.k8s.io", 17700, 15 },
    { "authorization.k8s.io", 17600, 15 },
    { "autoscaling", 17500, 15 },
    { "batch", 17400, 15 },
    { "certificates.k8s.io", 17300, 15 },
    { "coordination.k8s.io", 16500, 15 },
    { "discovery.k8s.io", 16200, 15 },
    { "events.k8s.io", 17750, 15 },
    { "flowcontrol.apiserver.k8s.io", 16100, 21 },
    { "metrics.k8s.io", 100, 100 },
    { "networking.k8s.io", 17200, 15 },
    { "node.k8s.io", 16300, 15 },
    { "policy", 17100, 15 },
    { "rbac.authorization.k8s.io", 17000, 15 },
    { "resource.k8s.io", 16200, 21 },
    { "scheduling.k8s.io", 16600, 15 },
    { "storage.k8s.io", 16800, 15 },
};

static void write_spec(struct kj_mdoc *d, struct kj_mval *obj, const char *group,
                       const char *version)
{
    enum { CUSTOM_GROUP = 1000, CUSTOM_VERSION = 100, AUTOSCALING_V2 = 30 };
    struct kj_mval *spec = kj_mobj(d), *labels = kj_mobj(d);
    int64_t priority = CUSTOM_GROUP, rank = CUSTOM_VERSION;
    bool builtin = false;

    for (size_t i = 0; i < ARRAY_LEN(priorities); i++)
        if (streq(priorities[i].group, group)) {
            builtin = true;
            priority = priorities[i].priority;
            rank = priorities[i].version;
        }
    if (streq(group, "autoscaling") && streq(version, "v2"))
        rank = AUTOSCALING_V2;
    if (*group)
        kj_mset(d, spec, "group", kj_mstr(d, group));
    kj_mset(d, spec, "version", kj_mstr(d, version));
    kj_mset(d, spec, "groupPriorityMinimum", kj_mi64(d, priority));
    kj_mset(d, spec, "versionPriority", kj_mi64(d, rank));
    kj_mset(d, obj, "spec", spec);
    kj_mset(d, labels, AUTOMATIC, kj_mstr(d, builtin ? "onstart" : "true"));
    kj_mset(d, object_meta(d, obj), "labels", labels);
}

static void on_written(void *arg, uint64_t rev, const struct kerr *err)
{
    (void)arg, (void)rev;
    if (err)
        KLOG_E(err, "Failed to write an APIService");
}

static void make(struct apiserver *s, const struct resource *r, const struct store_key *k,
                 const char *group, const char *version)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    struct kj_mval *obj = kj_mobj(d), *meta;
    char uid[37], now[KTIME_TEXT_MAX];
    struct kerr err = { 0 };

    write_spec(d, obj, group, version);
    meta = object_meta(d, obj);
    uid_new(s->loop, uid);
    ktime_format(loop_wall(s->loop), now);
    kj_mset(d, meta, "name", kj_mstr(d, k->name));
    kj_mset(d, meta, "uid", kj_mstr(d, uid));
    kj_mset(d, meta, "creationTimestamp", kj_mstr(d, now));
    r->strategy->prepare(RES_CREATE, d, obj, NULL, loop_wall(s->loop));
    object_write(r, obj, store_next_revision(s->store), &doc);
    if (store_put(s->store, k, 0, doc.data, doc.len, on_written, s, &err) < 0)
        KLOG_E(&err, "Failed to write an APIService", KV_S("name", k->name));
}

/* ---- those that have had their time -------------------------------------------------------------
 */

struct stale {
    struct apiserver *s;
    struct vec_of(char *) names;
};

static bool on_listed(void *arg, const struct store_key *k, uint64_t rev, const char *doc, size_t n)
{
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    struct stale *x = arg;

    (void)rev;
    if (kj_parse(doc, n, KJ_RAW_NUMBERS, &parsed, NULL) < 0)
        return true;
    const struct kj_val *obj = kj_root(parsed), *spec = kj_get(obj, "spec"),
                        *labels = kj_path(obj, "metadata.labels");
    if (kj_getn(labels, AUTOMATIC, strlen(AUTOMATIC)) &&
        !res_table_has_group(x->s->resources, kj_str_or(kj_get(spec, "group"), ""),
                             kj_str_or(kj_get(spec, "version"), "")))
        vec_push(&x->names, xstrdup(k->name));
    return true;
}

static void drop_stale(struct apiserver *s, const struct resource *r)
{
    struct stale x = { .s = s };
    struct kerr err = { 0 };

    if (store_list(s->store, r->store_res, NULL, 0, NULL, on_listed, &x, &err) < 0)
        KLOG_E(&err, "Failed to list APIServices");
    vec_foreach(&x.names, i) {
        CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT, last = STRBUF_INIT;
        CLEANUP(mem_free) char *name = x.names.items[i];
        struct store_key k = { r->store_res, "", name };
        uint64_t rev;
        if (store_get_latest(s->store, &k, &doc, &rev, &err) < 0)
            continue;
        object_set_rev(doc.data, doc.len, store_next_revision(s->store), &last);
        if (store_delete(s->store, &k, rev, last.data, last.len, on_written, s, &err) < 0)
            KLOG_E(&err, "Failed to delete an APIService", KV_S("name", name));
    }
    vec_fini(&x.names);
}

void apiservices_sync(struct apiserver *s)
{
    const struct resource *r = res_table_find(s->resources, GROUP, "v1", "apiservices");
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct names groups = { 0 };

    vec_push(&groups, "");
    served_groups(s->resources, &groups);
    vec_foreach(&groups, i) {
        struct names versions = { 0 };
        served_versions(s->resources, groups.items[i], &versions);
        vec_foreach(&versions, v) {
            CLEANUP(strbuf_fini) struct strbuf there = STRBUF_INIT;
            const char *group = groups.items[i], *version = versions.items[v];
            struct store_key k = { r->store_res, "", arena_printf(a, "%s.%s", version, group) };
            /* The registration itself is what answers here: upstream has none for it either. */
            if (!streq(group, GROUP) &&
                store_get_latest(s->store, &k, &there, NULL, NULL) == -ENOENT)
                make(s, r, &k, group, version);
        }
        vec_fini(&versions);
    }
    vec_fini(&groups);
    drop_stale(s, r);
}
