/* metrics_api.c - metrics.k8s.io/v1beta1: what nodes and pods use, as metrics-server tells it.
 *
 * Nothing of it is stored: an object is made for each stored node or pod whose use is known to the
 * source that was handed in. What is known of a pod is shared out among its containers by what they
 * ask for, since nobody here measures single containers. Not watchable, as there.
 */
#include <stdio.h>

#include "apiserver/registry/internal.h"
#include "apiserver/registry/table.h"
#include "apiserver/schema/types.h"
#include "base/num.h"
#include "base/qty.h"

#define GROUP   "metrics.k8s.io"
#define VERSION "v1beta1"

/* ---- texts ------------------------------------------------------------------------------------- */

static void write_use(struct kjw *w, int64_t ncpu, int64_t bytes)
{
    char text[32];

    kjw_obj(w, "usage");
    (void)snprintf(text, sizeof text, ncpu ? "%lldn" : "0", (long long)ncpu);
    kjw_str(w, "cpu", text);
    (void)snprintf(text, sizeof text, bytes >= 1024 ? "%lldKi" : "0", (long long)(bytes >> 10));
    kjw_str(w, "memory", text);
    kjw_end(w);
}

static void write_time(struct kjw *w, const struct apiserver_use *u)
{
    char window[32];

    kjw_time(w, "timestamp", u->at);
    (void)snprintf(window, sizeof window, "%llds", (long long)(u->window / NSEC_PER_SEC));
    kjw_str(w, "window", window);
}

static void write_meta(struct api_call *c, struct kjw *w, const struct kj_val *obj)
{
    const struct kj_val *meta = kj_get(obj, "metadata"), *labels = kj_get(meta, "labels");
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    kjw_obj(w, "metadata");
    kjw_str(w, "name", kj_str_or(kj_get(meta, "name"), ""));
    if (c->res->namespaced)
        kjw_str(w, "namespace", kj_str_or(kj_get(meta, "namespace"), ""));
    kjw_time(w, "creationTimestamp", loop_wall(c->s->loop));
    if (kj_len(labels) > 0) {
        kj_write(labels, 0, &text);
        kjw_raw(w, "labels", text.data, text.len);
    }
    kjw_end(w);
}

/* ---- containers -------------------------------------------------------------------------------- */

struct share { /* of a container */
    const char *name;
    int64_t mcpu, bytes; /* what it asks for */
};
struct shares {
    struct vec_of(struct share) list;
    int64_t mcpu, bytes; /* sums */
};

static int64_t request_of(const struct kj_val *container, const char *resource, int scale)
{
    const struct kj_val *requests = kj_path(container, "resources.requests");
    const char *text = kj_str_or(kj_get(requests, resource), "");
    struct qty q;

    if (!*text || qty_parse(text, strlen(text), &q, NULL) < 0)
        return 0;
    return MAX(qty_scaled(q, scale), INT64_C(0));
}

/* sidecars: of init containers, only those that go on running. */
static void add_containers(struct shares *s, const struct kj_val *containers, bool sidecars)
{
    const struct kj_val *c;
    struct str key;

    for (struct kj_iter it = kj_iter(containers); kj_next(&it, &key, &c);) {
        struct share x = { kj_str_or(kj_get(c, "name"), ""), request_of(c, "cpu", -3),
                           request_of(c, "memory", 0) };
        if (sidecars && !streq(kj_str_or(kj_get(c, "restartPolicy"), ""), "Always"))
            continue;
        s->mcpu = i64_add_sat(s->mcpu, x.mcpu);
        s->bytes = i64_add_sat(s->bytes, x.bytes);
        vec_push(&s->list, x);
    }
}

/* The part of a sum that falls to one: by what it asks for, evenly when nobody asks for anything.
 */
static int64_t part(int64_t all, int64_t mine, int64_t sum, size_t n)
{
    return sum > 0 ? i64_muldiv(all, mine, sum) : all / (int64_t)n;
}

static void write_containers(struct kjw *w, const struct kj_val *pod, const struct apiserver_use *u)
{
    struct shares s = { 0 };
    int64_t ncpu = u->ncpu, bytes = u->bytes;

    add_containers(&s, kj_path(pod, "spec.containers"), false);
    add_containers(&s, kj_path(pod, "spec.initContainers"), true);
    kjw_arr(w, "containers");
    vec_foreach(&s.list, i) {
        const struct share *x = &s.list.items[i];
        bool last = i + 1 == s.list.n; /* takes what rounding left */
        int64_t cpu = last ? ncpu : part(u->ncpu, x->mcpu, s.mcpu, s.list.n);
        int64_t mem = last ? bytes : part(u->bytes, x->bytes, s.bytes, s.list.n);
        kjw_obj(w, NULL);
        kjw_str(w, "name", x->name);
        write_use(w, cpu, mem);
        kjw_end(w);
        ncpu -= cpu;
        bytes -= mem;
    }
    kjw_end(w);
    vec_fini(&s.list);
}

/* ---- one object -------------------------------------------------------------------------------- */

static bool use_of(const struct api_call *c, const struct kj_val *obj, struct apiserver_use *ret)
{
    const struct apiserver_usage *u = c->s->usage;
    const struct kj_val *meta = kj_get(obj, "metadata");
    const char *name = kj_str_or(kj_get(meta, "name"), "");

    if (!u)
        return false;
    if (!c->res->namespaced)
        return u->node(c->s->usage_self, name, ret);
    const struct apiserver_pod pod = { .ns = kj_str_or(kj_get(meta, "namespace"), ""),
                                       .name = name,
                                       .uid = kj_str_or(kj_get(meta, "uid"), ""),
                                       .node = kj_str_or(kj_path(obj, "spec.nodeName"), "") };
    return u->pod(c->s->usage_self, &pod, ret);
}

/* false: nothing is known of it. */
static bool write_one(struct api_call *c, const struct kj_val *obj, bool in_list,
                      struct strbuf *out)
{
    struct apiserver_use u = { 0 };

    if (!use_of(c, obj, &u))
        return false;
    struct kjw w = kjw_to(out);
    kjw_obj(&w, NULL);
    if (!in_list) {
        kjw_str(&w, "kind", c->res->kind);
        kjw_str(&w, "apiVersion", GROUP "/" VERSION);
    }
    write_meta(c, &w, obj);
    write_time(&w, &u);
    if (c->res->namespaced)
        write_containers(&w, obj, &u);
    else
        write_use(&w, u.ncpu, u.bytes);
    kjw_end(&w);
    return true;
}

static void reply_one(struct api_call *c)
{
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT, text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *obj = NULL;
    const struct store_key k = { c->res->store_res, c->ns, c->name };
    struct kerr err = { 0 };
    bool is_pod = c->res->namespaced;

    if (store_get(c->s->store, &k, &doc, NULL, NULL) < 0 ||
        kj_parse(doc.data, doc.len, 0, &obj, NULL) < 0 ||
        !write_one(c, kj_root(obj), false, &text)) {
        api_err(c, &err, -ENOENT, KR_NOT_FOUND, "%s." GROUP " \"%s%s%s\" not found",
                is_pod ? "podmetrics" : "nodemetrics", c->ns, is_pod ? "/" : "", c->name);
        api_fail(c, &err);
        return;
    }
    api_reply_object(c, 200, text.data, text.len);
}

/* ---- lists ------------------------------------------------------------------------------------- */

struct listing {
    struct api_call *c;
    struct selection *sel;
    struct strbuf items;
};

static bool on_item(void *arg, const struct store_key *k, uint64_t rev, const char *doc, size_t n)
{
    struct listing *l = arg;
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL, *metrics = NULL;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    (void)rev;
    if (!selection_match(l->sel, k, doc, n, &parsed) ||
        (!parsed && kj_parse(doc, n, 0, &parsed, NULL) < 0) ||
        !write_one(l->c, kj_root(parsed), true, &text))
        return true;
    if (l->items.len)
        strbuf_appendc(&l->items, ',');
    if (l->c->format == API_AS_OBJECT)
        strbuf_appendn(&l->items, text.data, text.len);
    else if (l->c->format == API_AS_METADATA)
        object_metadata_only(text.data, text.len, true, &l->items);
    else if (kj_parse(text.data, text.len, 0, &metrics, NULL) == 0)
        table_row(l->c, kj_root(metrics), &l->items);
    return true;
}

static void reply_all(struct api_call *c)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct listing l = { .c = c };
    struct kerr err = { 0 };
    const char *ns = c->res->namespaced && *c->ns ? c->ns : NULL;
    bool partial = c->format == API_AS_METADATA;

    if (selection_new(c, &l.sel, &err) < 0 ||
        store_list(c->s->store, c->res->store_res, ns, 0, NULL, on_item, &l, &err) < 0) {
        strbuf_fini(&l.items);
        api_fail(c, &err);
        return;
    }
    if (c->format == API_AS_TABLE)
        table_open(c, "{}", true, &out);
    else
        strbuf_appendf(&out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{},\"items\":[",
                       partial ? "PartialObjectMetadataList" : c->res->list_kind,
                       partial ? "meta.k8s.io/v1" : GROUP "/" VERSION);
    strbuf_appendn(&out, strbuf_str(&l.items), l.items.len);
    strbuf_append(&out, "]}");
    strbuf_fini(&l.items);
    api_reply(c, 200, out.data, out.len);
}

static void answer(struct apiserver *s, struct api_call *c)
{
    (void)s;
    if (c->verb == API_GET)
        reply_one(c);
    else
        reply_all(c);
}

/* ---- what kubectl get prints --------------------------------------------------------------------- */

static struct qty use_in(const struct kj_val *usage, const char *resource)
{
    const char *text = kj_str_or(kj_get(usage, resource), "0");
    struct qty q = { 0 };

    (void)qty_parse(text, strlen(text), &q, NULL);
    return q;
}

static void cell_use(const struct kj_val *obj, const char *resource, struct strbuf *out)
{
    struct qty sum = use_in(kj_get(obj, "usage"), resource);
    const struct kj_val *c;
    struct str key;
    char text[QTY_TEXT_MAX];

    for (struct kj_iter it = kj_iter(kj_get(obj, "containers")); kj_next(&it, &key, &c);)
        sum = qty_add(sum, use_in(kj_get(c, "usage"), resource));
    size_t n = qty_print(sum, text);
    kj_append_string(out, text, n);
}

static void cell_cpu(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    cell_use(obj, "cpu", out);
}

static void cell_memory(const struct kj_val *obj, nsec_t now, struct strbuf *out)
{
    (void)now;
    cell_use(obj, "memory", out);
}

static const struct res_column columns[] = {
    { .name = "Name", .type = "string", .json_path = ".metadata.name" },
    { .name = "cpu", .type = "string", .description = "CPU in use.", .cell = cell_cpu },
    { .name = "memory", .type = "string", .description = "Memory in use.", .cell = cell_memory },
    { .name = "Window",
      .type = "string",
      .description = "The time over which use was measured.",
      .json_path = ".window" },
};

/* ---- serving it ---------------------------------------------------------------------------------- */

static const struct res_strategy strategy = { .read = answer };

#define METRICS(k, p, n)                                                                     \
    {                                                                                        \
        .group = GROUP, .version = VERSION, .kind = k, .list_kind = k "List", .plural = (p), \
        .singular = "", .namespaced = (n), .verbs = "get,list", .store_res = (p),            \
        .strategy = &strategy, .columns = columns, .ncolumns = ARRAY_LEN(columns)            \
    }
static const struct resource resources[] = {
    METRICS("NodeMetrics", "nodes", false),
    METRICS("PodMetrics", "pods", true),
};

/* Who may look at pods and nodes may see what they use, as metrics-server's manifests have it. */
static int put_role(struct apiserver *s, struct kerr *err)
{
    static const char body[] =
        "{\"metadata\":{\"labels\":{\"rbac.authorization.k8s.io/aggregate-to-admin\":\"true\","
        "\"rbac.authorization.k8s.io/aggregate-to-edit\":\"true\","
        "\"rbac.authorization.k8s.io/"
        "aggregate-to-view\":\"true\"}},\"rules\":[{\"apiGroups\":[\"" GROUP
        "\"],\"resources\":[\"pods\",\"nodes\"],\"verbs\":[\"get\",\"list\",\"watch\"]}]}";
    const struct first_object role = { "rbac.authorization.k8s.io", "clusterroles", "",
                                       "system:aggregated-metrics-reader", body };

    return s->rbac ? bootstrap_put(s, &role, err) : 0;
}

int apiserver_serve_usage(struct apiserver *s, const struct apiserver_usage *u, void *self,
                          struct kerr *err)
{
    s->usage = u;
    s->usage_self = self;
    if (!u || res_table_has_group(s->resources, GROUP, VERSION))
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
        struct resource r = resources[i];
        r.type = types_find(r.group, r.version, r.kind);
        res_table_add(s->resources, &r, NULL);
    }
    apiservices_sync(s);
    return put_role(s, err);
}
