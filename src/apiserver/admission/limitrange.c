/* limitrange.c - the admission step LimitRanger: defaults, minima, maxima and ratios of a
 * namespace.
 */
#include "api/podresources.h"
#include "apiserver/server_int.h"
#include "apiserver/store/store.h"
#include "base/map.h"
#include "base/qty.h"

static const char limits_res[] = "limitranges";

/* What fn gets for each item of each LimitRange of the namespace. */
struct walk {
    void (*fn)(struct walk *w, const struct kj_val *item);
    /* mutating */
    struct kj_mdoc *d;
    struct kj_mval *pod;
    struct strbuf set; /* what was filled in, in words */
    /* validating */
    const struct kj_val *obj;
    struct strbuf wrong;
    size_t nwrong;
    struct map told; /* what is in wrong */
    struct arena *a;
};

static bool on_range(void *arg, const struct store_key *k, uint64_t rev, const char *doc, size_t n)
{
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    struct walk *w = arg;
    const struct kj_val *item;

    (void)k, (void)rev;
    if (kj_parse(doc, n, 0, &parsed, NULL) < 0)
        return true;
    struct kj_iter it = kj_iter(kj_path(kj_root(parsed), "spec.limits"));
    while (kj_next(&it, NULL, &item))
        w->fn(w, item);
    return true;
}

static void walk_ranges(struct apiserver *s, const char *ns, struct walk *w)
{
    if (store_count(s->store, limits_res, ns) > 0)
        (void)store_list(s->store, limits_res, ns, 0, NULL, on_range, w, NULL);
}

static bool is_type(const struct kj_val *item, const char *type)
{
    return streq(kj_str_or(kj_get(item, "type"), ""), type);
}

/* ---- defaults ----------------------------------------------------------------------------------
 */

/* The defaults that a container lacks; appends "cpu, memory limit for container c". */
static void fill(struct walk *w, struct kj_mval *container, const char *key, const char *word,
                 const char *what, const struct kj_val *defaults)
{
    CLEANUP(strbuf_fini) struct strbuf names = STRBUF_INIT;
    struct kj_mval *resources = kj_mget(container, "resources"), *list;
    struct kj_iter it = kj_iter(defaults);
    const struct kj_val *v;
    struct str name;

    while (kj_next(&it, &name, &v)) {
        if (kj_mtype(resources) != KJ_OBJ) {
            resources = kj_mobj(w->d);
            kj_mset(w->d, container, "resources", resources);
        }
        list = kj_mget(resources, key);
        if (kj_mtype(list) != KJ_OBJ) {
            list = kj_mobj(w->d);
            kj_mset(w->d, resources, key, list);
        }
        if (kj_mgetn(list, name.p, name.n))
            continue;
        kj_msetn(w->d, list, name.p, name.n, kj_mcopy(w->d, v));
        strbuf_appendf(&names, "%s%.*s", names.len ? ", " : "", (int)name.n, name.p);
    }
    if (names.len)
        strbuf_appendf(&w->set, "%s%s %s for %s %s", w->set.len ? "; " : "", names.data, word, what,
                       str_or(kj_mstr_get(kj_mget(container, "name")), ""));
}

static void default_containers(struct walk *w, const struct kj_val *item, const char *list,
                               const char *what)
{
    struct kj_miter it = kj_miter(kj_mget(kj_mget(w->pod, "spec"), list));
    struct kj_mval *c;

    while (kj_mnext(&it, NULL, &c)) {
        fill(w, c, "requests", "request", what, kj_get(item, "defaultRequest"));
        fill(w, c, "limits", "limit", what, kj_get(item, "default"));
    }
}

static void default_item(struct walk *w, const struct kj_val *item)
{
    if (!is_type(item, "Container"))
        return;
    default_containers(w, item, "containers", "container");
    default_containers(w, item, "initContainers", "init container");
}

/* A pod that is made or resized: no other request changes what its containers ask for. */
static bool is_sized(const struct admission_req *r)
{
    if (*r->res->group || !streq(r->res->plural, "pods") ||
        kj_path(r->old, "metadata.deletionTimestamp"))
        return false;
    return *r->subresource ? streq(r->subresource, "resize") && streq(r->operation, "UPDATE")
                           : streq(r->operation, "CREATE");
}

static int limitrange_mutate(void *self, const struct admission_req *r, struct kj_mdoc *d,
                             struct kj_mval *obj, struct kerr *err)
{
    struct walk w = { .fn = default_item, .d = d, .pod = obj };
    struct kj_mval *meta = kj_mget(obj, "metadata"), *notes;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    (void)err;
    if (!is_sized(r))
        return 0;
    walk_ranges(self, r->ns, &w);
    if (w.set.len == 0 || *r->subresource) { /* a resize leaves the annotations alone */
        bool changed = w.set.len > 0;
        strbuf_fini(&w.set);
        return changed;
    }
    strbuf_appendf(&text, "LimitRanger plugin set: %s", w.set.data);
    strbuf_fini(&w.set);
    notes = kj_mget(meta, "annotations");
    if (kj_mtype(notes) != KJ_OBJ) {
        notes = kj_mobj(d);
        kj_mset(d, meta, "annotations", notes);
    }
    kj_mset(d, notes, "kubernetes.io/limit-ranger", kj_mstr(d, text.data));
    return 1;
}

/* ---- bounds ------------------------------------------------------------------------------------
 */

/* What is asked for under one name, and whether it is. */
struct asked {
    struct qty request, limit;
    bool has_request, has_limit;
};

static void wrong(struct walk *w, const char *fmt, ...) PRINTF(2, 3);
/* What is wrong with several containers in the same way is told once. */
static void wrong(struct walk *w, const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    static char present;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vappendf(&text, fmt, ap);
    va_end(ap);
    if (map_get(&w->told, text.data, text.len))
        return;
    map_put(&w->told, arena_strndup(w->a, text.data, text.len), text.len, &present);
    strbuf_appendf(&w->wrong, "%s%s", w->nwrong++ ? ", " : "", text.data);
}

static void check_min(struct walk *w, const char *type, const char *name, struct qty min,
                      const struct asked *q)
{
    const char *is = qty_format(min, w->a);

    if (!q->has_request)
        wrong(w, "minimum %s usage per %s is %s.  No request is specified", name, type, is);
    else if (qty_cmp(q->request, min) < 0)
        wrong(w, "minimum %s usage per %s is %s, but request is %s", name, type, is,
              qty_format(q->request, w->a));
    else if (q->has_limit && qty_cmp(q->limit, min) < 0)
        wrong(w, "minimum %s usage per %s is %s, but limit is %s", name, type, is,
              qty_format(q->limit, w->a));
}

static void check_max(struct walk *w, const char *type, const char *name, struct qty max,
                      const struct asked *q)
{
    const char *is = qty_format(max, w->a);

    if (!q->has_limit)
        wrong(w, "maximum %s usage per %s is %s.  No limit is specified", name, type, is);
    else if (qty_cmp(q->limit, max) > 0)
        wrong(w, "maximum %s usage per %s is %s, but limit is %s", name, type, is,
              qty_format(q->limit, w->a));
    else if (q->has_request && qty_cmp(q->request, max) > 0)
        wrong(w, "maximum %s usage per %s is %s, but request is %s", name, type, is,
              qty_format(q->request, w->a));
}

/* Claims have requests only. */
static void check_max_request(struct walk *w, const char *type, const char *name, struct qty max,
                              const struct asked *q)
{
    const char *is = qty_format(max, w->a);

    if (!q->has_request)
        wrong(w, "maximum %s usage per %s is %s.  No request is specified", name, type, is);
    else if (qty_cmp(q->request, max) > 0)
        wrong(w, "maximum %s usage per %s is %s, but request is %s", name, type, is,
              qty_format(q->request, w->a));
}

static void check_ratio(struct walk *w, const char *type, const char *name, struct qty max,
                        const struct asked *q)
{
    const char *is = qty_format(max, w->a);

    if (!q->has_request || qty_is_zero(q->request)) {
        wrong(w,
              "%s max limit to request ratio per %s is %s, but no request is specified or request "
              "is 0",
              name, type, is);
    } else if (!q->has_limit || qty_is_zero(q->limit)) {
        wrong(w,
              "%s max limit to request ratio per %s is %s, but no limit is specified or limit is 0",
              name, type, is);
    } else {
        double ratio = qty_f64(q->limit) / qty_f64(q->request);
        if (ratio > qty_f64(max))
            wrong(w, "%s max limit to request ratio per %s is %s, but provided ratio is %f", name,
                  type, is, ratio);
    }
}

typedef void (*bound_fn)(struct walk *w, const char *type, const char *name, struct qty bound,
                         const struct asked *q);
typedef struct asked (*ask_fn)(const void *of, const char *name);

static void check_bounds(struct walk *w, const struct kj_val *bounds, const char *type,
                         bound_fn check, ask_fn ask, const void *of)
{
    struct kj_iter it = kj_iter(bounds);
    const struct kj_val *v;
    struct qty bound;
    struct str key;

    while (kj_next(&it, &key, &v)) {
        const char *name = arena_strndup(w->a, key.p, key.n);
        if (qty_parse(kj_str_or(v, ""), kj_len(v), &bound, NULL) < 0)
            continue;
        struct asked q = ask(of, name);
        check(w, type, name, bound, &q);
    }
}

static bool quantity_of(const struct kj_val *list, const char *name, struct qty *ret)
{
    const struct kj_val *v = kj_get(list, name);
    return kj_str(v) && qty_parse(kj_str(v), kj_len(v), ret, NULL) == 0;
}

static struct asked ask_resources(const void *of, const char *name)
{
    struct asked q = { .has_request = false };

    q.has_request = quantity_of(kj_get(of, "requests"), name, &q.request);
    q.has_limit = quantity_of(kj_get(of, "limits"), name, &q.limit);
    return q;
}

struct totals {
    reslist requests, limits;
};

static bool listed(const reslist *l, const char *name, struct qty *ret)
{
    const struct qty *q = reslist_find(l, name);
    if (q)
        *ret = *q;
    return q != NULL;
}

static struct asked ask_totals(const void *of, const char *name)
{
    const struct totals *t = of;
    struct asked q = { .has_request = false };

    q.has_request = listed(&t->requests, name, &q.request);
    q.has_limit = listed(&t->limits, name, &q.limit);
    return q;
}

static void check_all(struct walk *w, const struct kj_val *item, const char *type, ask_fn ask,
                      const void *of)
{
    check_bounds(w, kj_get(item, "min"), type, check_min, ask, of);
    check_bounds(w, kj_get(item, "max"), type, check_max, ask, of);
    check_bounds(w, kj_get(item, "maxLimitRequestRatio"), type, check_ratio, ask, of);
}

static void check_pod(struct walk *w, const struct kj_val *item)
{
    static const struct podres_options containers = { .exclude_overhead = true };
    struct pod *pod;

    if (pod_decode(w->obj, w->a, &pod, NULL) < 0)
        return;
    struct totals t = { pod_requests(pod, &containers, w->a), pod_limits(pod, &containers, w->a) };
    check_all(w, item, "Pod", ask_totals, &t);
}

static void check_containers(struct walk *w, const struct kj_val *item, const char *list)
{
    struct kj_iter it = kj_iter(kj_get(kj_get(w->obj, "spec"), list));
    const struct kj_val *c;

    while (kj_next(&it, NULL, &c))
        check_all(w, item, "Container", ask_resources, kj_get(c, "resources"));
}

static void check_pod_item(struct walk *w, const struct kj_val *item)
{
    if (is_type(item, "Container")) {
        check_containers(w, item, "containers");
        check_containers(w, item, "initContainers");
    } else if (is_type(item, "Pod")) {
        check_pod(w, item);
    }
}

static void check_claim_item(struct walk *w, const struct kj_val *item)
{
    static const char type[] = "PersistentVolumeClaim";
    const struct kj_val *resources = kj_path(w->obj, "spec.resources");

    if (!is_type(item, type))
        return;
    check_bounds(w, kj_get(item, "min"), type, check_min, ask_resources, resources);
    check_bounds(w, kj_get(item, "max"), type, check_max_request, ask_resources, resources);
}

static int limitrange_validate(void *self, const struct admission_req *r, const struct kj_val *obj,
                               struct kerr *err)
{
    bool claim = !*r->res->group && streq(r->res->plural, "persistentvolumeclaims");
    struct walk w = { .fn = claim ? check_claim_item : check_pod_item, .obj = obj };
    int e = 0;

    if (!obj ||
        (claim ? *r->subresource || kj_path(r->old, "metadata.deletionTimestamp") : !is_sized(r)))
        return 0;
    w.a = arena_new();
    walk_ranges(self, r->ns, &w);
    if (w.nwrong)
        e = admission_forbid(r, err, "%s%s%s", w.nwrong > 1 ? "[" : "", w.wrong.data,
                             w.nwrong > 1 ? "]" : "");
    strbuf_fini(&w.wrong);
    map_fini(&w.told);
    arena_free(w.a);
    return e;
}

void limitrange_add(struct apiserver *s)
{
    static const struct admission_step step = { "LimitRanger", limitrange_mutate,
                                                limitrange_validate };
    apiserver_add_admission(s, &step, s);
}
