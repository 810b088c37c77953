/* bootstrap.c - what is there from the start: namespaces, system priority classes, reviews. */
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

static const struct {
    const char *group, *plural, *name, *body;
} first[] = {
    { "", "namespaces", "default", "{}" },
    { "", "namespaces", "kube-system", "{}" },
    { "", "namespaces", "kube-public", "{}" },
    { "", "namespaces", "kube-node-lease", "{}" },
    { "scheduling.k8s.io", "priorityclasses", "system-cluster-critical",
      "{\"value\":2000000000,\"description\":\"Used for system critical pods that must run in the "
      "cluster, but can be moved to another node if necessary.\"}" },
    { "scheduling.k8s.io", "priorityclasses", "system-node-critical",
      "{\"value\":2000001000,\"description\":\"Used for system critical pods that must not be "
      "moved "
      "from their current node.\"}" },
};

static void on_put(void *arg, uint64_t rev, const struct kerr *err)
{
    (void)arg, (void)rev, (void)err; /* a store that cannot be written shows in the next request */
}

static int put(struct apiserver *s, const struct resource *r, const char *name, const char *body,
               struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf there = STRBUF_INIT, doc = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct store_key k = { r->store_res, "", name };
    char uid[37], now[KTIME_TEXT_MAX];

    if (store_get_latest(s->store, &k, &there, NULL, NULL) == 0)
        return 0;
    int e = kj_parse(body, strlen(body), 0, &parsed, err);
    if (e < 0)
        return e;
    struct kj_mval *obj = kj_mcopy(d, kj_root(parsed)), *meta = object_meta(d, obj);
    uid_new(s->loop, uid);
    ktime_format(loop_wall(s->loop), now);
    kj_mset(d, meta, "name", kj_mstr(d, name));
    object_default(r, d, obj);
    meta = object_meta(d, obj);
    kj_mset(d, meta, "uid", kj_mstr(d, uid));
    kj_mset(d, meta, "creationTimestamp", kj_mstr(d, now));
    if (r->generation)
        kj_mset(d, meta, "generation", kj_mi64(d, 1));
    if (r->strategy && r->strategy->prepare)
        r->strategy->prepare(RES_CREATE, d, obj, NULL, loop_wall(s->loop));
    object_write(r, obj, store_next_revision(s->store), &doc);
    return store_put(s->store, &k, 0, doc.data, doc.len, on_put, s, err);
}

int bootstrap(struct apiserver *s, struct kerr *err)
{
    for (size_t i = 0; i < ARRAY_LEN(first); i++) {
        const struct resource *r =
            res_table_find(s->resources, first[i].group, "v1", first[i].plural);
        int e = r ? put(s, r, first[i].name, first[i].body, err) : 0;
        if (e < 0)
            return kerr_wrap(err, "create %s %s", first[i].plural, first[i].name);
    }
    return 0;
}
