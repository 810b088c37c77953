/* bootstrap.c - what is there from the start: namespaces, priority classes, Koordinator's
 * configuration, reviews. */
#include "api/koord/crds.h"
#include "apiserver/ranges.h"
#include "apiserver/registry/internal.h"
#include "base/ktime.h"

#define REVIEW(g, k, p, n)                                                           \
    {                                                                                \
        .group = (g), .version = "v1", .kind = (k), .list_kind = (k), .plural = (p), \
        .singular = "", .namespaced = (n), .store_res = (p)                          \
    }
const struct resource review_resources[] = {
    REVIEW("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews", false),
    REVIEW("authentication.k8s.io", "TokenReview", "tokenreviews", false),
    REVIEW("authorization.k8s.io", "LocalSubjectAccessReview", "localsubjectaccessreviews", true),
    REVIEW("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews", false),
    REVIEW("authorization.k8s.io", "SelfSubjectRulesReview", "selfsubjectrulesreviews", false),
    REVIEW("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews", false),
    { 0 },
};

#define KOORD_NAMESPACE "koordinator-system"
/* As shipped (api-config 1): colocation and its suppression are on. */
#define KOORD_CONFIG                                                                            \
    "{\"metadata\":{\"labels\":{\"koordinator.sh/configmap-type\":\"slo-controller-config\"}}," \
    "\"data\":{\"colocation-config\":\"{\\\"enable\\\": true}\","                               \
    "\"resource-threshold-config\":\"{\\\"clusterStrategy\\\": {\\\"enable\\\": true}}\"}}"

static const struct {
    const char *group, *plural, *name, *body;
} first[] = {
    { "", "namespaces", "default", "{}" },
    { "", "namespaces", "kube-system", "{}" },
    { "", "namespaces", "kube-public", "{}" },
    { "", "namespaces", "kube-node-lease", "{}" },
    /* The store answers as long as the server does; schedulers and controllers are not asked. */
    { "", "componentstatuses", "etcd-0",
      "{\"conditions\":[{\"type\":\"Healthy\",\"status\":\"True\",\"message\":\"ok\"}]}" },
    { "networking.k8s.io", "servicecidrs", "kubernetes",
      "{\"spec\":{\"cidrs\":[\"" RANGES_CIDR "\"]},\"status\":{\"conditions\":[{\"type\":\"Ready\","
      "\"status\":\"True\",\"reason\":\"\","
      "\"message\":\"Kubernetes default Service CIDR is ready\"}]}}" },
    { "scheduling.k8s.io", "priorityclasses", "system-cluster-critical",
      "{\"value\":2000000000,\"description\":\"Used for system critical pods that must run in the "
      "cluster, but can be moved to another node if necessary.\"}" },
    { "scheduling.k8s.io", "priorityclasses", "system-node-critical",
      "{\"value\":2000001000,\"description\":\"Used for system critical pods that must not be "
      "moved "
      "from their current node.\"}" },
};

/* Conditions of a first object, which hold from now on. */
static void put_status(struct kj_mdoc *d, struct kj_mval *obj, const struct kj_val *body,
                       const char *now)
{
    const struct kj_val *status = kj_get(body, "status");
    struct kj_mval *v;

    if (!status)
        return;
    kj_mset(d, obj, "status", kj_mcopy(d, status));
    struct kj_miter it = kj_miter(kj_mget(kj_mget(obj, "status"), "conditions"));
    while (kj_mnext(&it, NULL, &v))
        kj_mset(d, v, "lastTransitionTime", kj_mstr(d, now));
}

static int allocate(struct apiserver *s, const struct resource *r, struct kj_mdoc *d,
                    struct kj_mval *obj, struct kerr *err)
{
    CLEANUP(field_errors_free) struct field_errors *errors = field_errors_new();
    const struct res_allocation x = {
        .s = s, .verb = RES_CREATE, .d = d, .obj = obj, .errors = errors
    };

    if (!r->strategy || !r->strategy->allocate)
        return 0;
    int e = r->strategy->allocate(&x, err);
    if (e == 0 && field_errors_count(errors))
        e = kerr_set(err, -EINVAL, "%s: %s", errors->items[0].path, errors->items[0].text);
    return e;
}

static void on_put(void *arg, uint64_t rev, const struct kerr *err)
{
    struct apiserver *s = arg;

    (void)rev;
    if (err) /* that the store cannot be written shows in the next request */
        ranges_doubt(s->ranges);
}

int bootstrap_put(struct apiserver *s, const struct first_object *f, struct kerr *err)
{
    const struct resource *r = res_table_find(s->resources, f->group, "v1", f->plural);
    CLEANUP(strbuf_fini) struct strbuf there = STRBUF_INIT, doc = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    char uid[37], now[KTIME_TEXT_MAX];

    if (!r)
        return 0;
    struct store_key k = { r->store_res, f->ns, f->name };
    if (store_get_latest(s->store, &k, &there, NULL, NULL) == 0)
        return 0;
    int e = kj_parse(f->body, strlen(f->body), 0, &parsed, err);
    if (e < 0)
        return e;
    struct kj_mval *obj = kj_mcopy(d, kj_root(parsed)), *meta = object_meta(d, obj);
    uid_new(s->loop, uid);
    ktime_format(loop_wall(s->loop), now);
    kj_mset(d, meta, "name", kj_mstr(d, f->name));
    if (*f->ns)
        kj_mset(d, meta, "namespace", kj_mstr(d, f->ns));
    object_default(r, d, obj);
    meta = object_meta(d, obj);
    kj_mset(d, meta, "uid", kj_mstr(d, uid));
    kj_mset(d, meta, "creationTimestamp", kj_mstr(d, now));
    if (r->generation)
        kj_mset(d, meta, "generation", kj_mi64(d, 1));
    if (r->strategy && r->strategy->prepare)
        r->strategy->prepare(RES_CREATE, d, obj, NULL, loop_wall(s->loop));
    put_status(d, obj, kj_root(parsed), now);
    e = allocate(s, r, d, obj, err);
    if (e < 0)
        return e;
    object_write(r, obj, store_next_revision(s->store), &doc);
    e = store_put(s->store, &k, 0, doc.data, doc.len, on_put, s, err);
    if (e == 0 && ranges_concern(&k))
        ranges_account(s->ranges, &k, &there, doc.data, doc.len);
    return e < 0 ? e : 1;
}

/* Koordinator's namespace, priority classes and configuration. The latter belongs to people once
 * it was there: it comes with the namespace only. */
static int bootstrap_koordinator(struct apiserver *s, struct kerr *err)
{
    static const struct first_object config = { "", "configmaps", KOORD_NAMESPACE,
                                                "slo-controller-config", KOORD_CONFIG };
    int made = bootstrap_put(
        s, &(struct first_object){ "", "namespaces", "", KOORD_NAMESPACE, "{}" }, err);

    if (made < 0 || (made > 0 && bootstrap_put(s, &config, err) < 0))
        return err->code;
    for (unsigned c = PRIO_PROD; c < PRIO_COUNT; c++) {
        CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
        priority_class_manifest_json((enum priority_class)c, &body);
        const struct first_object f = { "scheduling.k8s.io", "priorityclasses", "",
                                        priority_class_name((enum priority_class)c),
                                        strbuf_str(&body) };
        if (bootstrap_put(s, &f, err) < 0)
            return err->code;
    }
    return 0;
}

int bootstrap(struct apiserver *s, bool koordinator, struct kerr *err)
{
    for (size_t i = 0; i < ARRAY_LEN(first); i++) {
        const struct first_object f = { first[i].group, first[i].plural, "", first[i].name,
                                        first[i].body };
        if (bootstrap_put(s, &f, err) < 0)
            return kerr_wrap(err, "create %s %s", f.plural, f.name);
    }
    if (koordinator && bootstrap_koordinator(s, err) < 0)
        return kerr_wrap(err, "create Koordinator's objects");
    return 0;
}
