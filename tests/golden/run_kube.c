/* run_kube.c - what Kubernetes itself computes: quantities, selectors, patches, totals of pods. */
#include "api/podresources.h"
#include "api/qos.h"
#include "api/selector/selector.h"
#include "apiserver/schema/types.h"
#include "base/num.h"
#include "base/qty.h"
#include "runners.h"
#include "json/patch.h"

static int write_error(struct strbuf *got, const struct kerr *err)
{
    struct kjw w = kjw_to(got);
    kjw_obj(&w, NULL);
    kjw_str(&w, "error", err->text);
    kjw_end(&w);
    return 0;
}

/* ---- quantity -------------------------------------------------------------------------------- */

static int parse_member(const struct kj_val *in, const char *name, struct qty *ret,
                        struct kerr *err)
{
    const char *s = kj_str_or(kj_get(in, name), "");
    return qty_parse(s, strlen(s), ret, err);
}

static void write_i64_text(struct kjw *w, const char *key, int64_t v)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    strbuf_append_i64(&b, v);
    kjw_str(w, key, strbuf_str(&b));
}

/* canonical is what a JSON document would hold: for text that came in, with its spelling. */
static void write_qty(struct kjw *w, struct qty q, const char *canonical, struct arena *a)
{
    kjw_str(w, "canonical", canonical ? canonical : qty_format(q, a));
    if (qty_fits_i64(q, 0))
        write_i64_text(w, "value", qty_value(q));
    if (qty_fits_i64(q, -3))
        write_i64_text(w, "milliValue", qty_milli(q));
    kjw_i64(w, "sign", qty_sign(q));
}

/* The text of op "parse", or of the JSON token of op "json" (a string or a number). */
static int quantity_text(const struct kj_val *in, struct arena *a, const char **ret,
                         struct kerr *err)
{
    const struct kj_val *json = kj_get(in, "json");
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    char number[QTY_TEXT_MAX * 2];

    if (!json) {
        *ret = kj_str_or(kj_get(in, "s"), "");
        return 0;
    }
    int r = kj_parse(kj_str(json), kj_len(json), KJ_RAW_NUMBERS, &doc, err);
    if (r < 0)
        return r;
    const struct kj_val *v = kj_root(doc);
    if (kj_type(v) == KJ_NULL) { /* Go: null leaves the zero value */
        *ret = "0";
    } else if (kj_type(v) == KJ_STR) {
        struct str t = qty_trim(kj_str(v), kj_len(v));
        *ret = arena_strndup(a, t.p, t.n);
    } else if (kj_type(v) == KJ_NUM) {
        kj_num_text(v, number, sizeof number);
        *ret = arena_strdup(a, number);
    } else {
        return kerr_set(err, -EINVAL, "a quantity is a string or a number");
    }
    return 0;
}

static int run_parse(const struct kj_val *in, struct arena *a, struct strbuf *got)
{
    struct kerr err = { 0 };
    const char *text = NULL, *stored;
    struct qty q;

    if (quantity_text(in, a, &text, &err) < 0 || qty_parse(text, strlen(text), &q, &err) < 0 ||
        qty_normalize(text, strlen(text), a, &stored, &err) < 0)
        return write_error(got, &err);
    struct kjw w = kjw_to(got);
    kjw_obj(&w, NULL);
    write_qty(&w, q, stored, a);
    kjw_end(&w);
    return 0;
}

static int run_arithmetic(const struct kj_val *in, const char *op, struct arena *a,
                          struct strbuf *got)
{
    struct qty x, y = { 0 };
    struct kerr err = { 0 };
    bool fits = true;

    if (parse_member(in, "a", &x, &err) < 0 ||
        (kj_get(in, "b") && parse_member(in, "b", &y, &err) < 0))
        return write_error(got, &err);
    struct kjw w = kjw_to(got);
    kjw_obj(&w, NULL);
    if (streq(op, "cmp"))
        kjw_i64(&w, "cmp", qty_cmp(x, y));
    else if (streq(op, "scaled"))
        write_i64_text(&w, "scaled", qty_scaled(x, (int)kj_i64_or(kj_get(in, "scale"), 0)));
    else if (streq(op, "add"))
        write_qty(&w, qty_add(x, y), NULL, a);
    else if (streq(op, "sub"))
        write_qty(&w, qty_sub(x, y), NULL, a);
    else if (streq(op, "neg"))
        write_qty(&w, qty_neg(x), NULL, a);
    else if (streq(op, "mul")) {
        write_qty(&w, qty_mul(x, kj_i64_or(kj_get(in, "n"), 0), &fits), NULL, a);
        kjw_bool(&w, "noOverflow", fits);
    }
    kjw_end(&w);
    return 0;
}

static int run_quantity(const struct kj_val *in, struct arena *a, struct strbuf *got,
                        struct kerr *err)
{
    const char *op = kj_str_or(kj_get(in, "op"), "");
    (void)err;
    if (streq(op, "parse") || streq(op, "json"))
        return run_parse(in, a, got);
    return run_arithmetic(in, op, a, got);
}

/* ---- selector -------------------------------------------------------------------------------- */

struct labels_holder {
    kstrmap labels;
};
static const struct kfield labels_fields[] = {
    KF_STRMAP(struct labels_holder, labels, "labels"),
};
static const struct kschema labels_schema = KSCHEMA("Labels", struct labels_holder, labels_fields);

/* A map of labels: decoded through a table, as members of objects are. */
static int decode_labels(const struct kj_val *map, struct arena *a, kstrmap *ret, struct kerr *err)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *obj = kj_mobj(d);
    struct labels_holder h;

    kj_mset(d, obj, "labels", map ? kj_mcopy(d, map) : kj_mobj(d));
    CLEANUP(kj_doc_free) struct kj_doc *doc = kj_freeze(obj);
    int r = kj_decode(&labels_schema, kj_root(doc), 0, a, &h, err);
    if (r == 0)
        *ret = h.labels;
    return r;
}

static int write_label_matches(const struct labelsel *s, const struct kj_val *in, struct arena *a,
                               struct strbuf *got, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf canonical = STRBUF_INIT;
    const struct kj_val *sets = kj_get(in, "labels");
    struct kjw w = kjw_to(got);
    kstrmap labels;

    labelsel_format(s, &canonical);
    kjw_obj(&w, NULL);
    kjw_str(&w, "canonical", strbuf_str(&canonical));
    kjw_bool(&w, "empty", labelsel_is_everything(s));
    kjw_arr(&w, "matches");
    for (size_t i = 0; i < kj_len(sets); i++) {
        int r = decode_labels(kj_at(sets, i), a, &labels, err);
        if (r < 0)
            return r;
        kjw_bool(&w, NULL, labelsel_matches(s, &labels));
    }
    kjw_end(&w);
    kjw_end(&w);
    return 0;
}

static int run_text_selector(const struct kj_val *in, struct arena *a, struct strbuf *got,
                             struct kerr *err)
{
    const struct kj_val *text = kj_get(in, "selector");
    struct labelsel *s;
    if (labelsel_parse(kj_str_or(text, ""), kj_len(text), a, &s, err) < 0)
        return write_error(got, err);
    return write_label_matches(s, in, a, got, err);
}

static int run_label_selector(const struct kj_val *in, struct arena *a, struct strbuf *got,
                              struct kerr *err)
{
    const struct kj_val *v = kj_get(in, "selector");
    bool null = kj_type(v) != KJ_OBJ;
    struct label_selector ls;
    struct labelsel *s;

    if (!null) {
        int r = kj_decode(&label_selector_schema, v, 0, a, &ls, err);
        if (r < 0)
            return r;
    }
    if (labelsel_from(null ? NULL : &ls, a, &s, err) < 0)
        return write_error(got, err);
    return write_label_matches(s, in, a, got, err);
}

static int run_node_selector(const struct kj_val *in, struct arena *a, struct strbuf *got,
                             struct kerr *err)
{
    const struct kj_val *nodes = kj_get(in, "nodes");
    struct node_selector ns;
    kstrmap labels;

    int r = kj_decode(&node_selector_schema, kj_get(in, "selector"), 0, a, &ns, err);
    if (r < 0)
        return r;
    const struct nodesel *s = nodesel_from(&ns, a);
    struct kjw w = kjw_to(got);
    kjw_obj(&w, NULL);
    if (nodesel_check(s, err) < 0)
        kjw_bool(&w, "strictError", true);
    kjw_arr(&w, "matches");
    for (size_t i = 0; i < kj_len(nodes); i++) {
        const struct kj_val *meta = kj_get(kj_at(nodes, i), "metadata");
        r = decode_labels(kj_get(meta, "labels"), a, &labels, err);
        if (r < 0)
            return r;
        int m = nodesel_match(s, &labels, kj_str_or(kj_get(meta, "name"), ""));
        if (m < 0)
            kjw_str(&w, NULL, "error");
        else
            kjw_bool(&w, NULL, m);
    }
    kjw_end(&w);
    kjw_end(&w);
    return 0;
}

static int run_selector(const struct kj_val *in, struct arena *a, struct strbuf *got,
                        struct kerr *err)
{
    const char *kind = kj_str_or(kj_get(in, "kind"), "");
    if (streq(kind, "string"))
        return run_text_selector(in, a, got, err);
    if (streq(kind, "labelSelector"))
        return run_label_selector(in, a, got, err);
    if (streq(kind, "nodeSelector"))
        return run_node_selector(in, a, got, err);
    return kerr_set(err, -EINVAL, "unknown kind %s", kind);
}

/* strictError is there only when true. */
static bool same_selector(const struct kj_val *out, const struct kj_val *got)
{
    return golden_same(out, got) &&
           kj_bool(kj_get(out, "strictError"), false) == kj_bool(kj_get(got, "strictError"), false);
}

/* ---- podresources ---------------------------------------------------------------------------- */

static void write_counts(struct kjw *w, const char *key, const reslist *l, struct arena *a)
{
    rescountlist counts = reslist_counts(l, a);
    kjw_obj(w, key);
    for (uint32_t i = 0; i < counts.n; i++)
        kjw_i64(w, counts.items[i].name, counts.items[i].count);
    kjw_end(w);
}

static int run_podresources(const struct kj_val *in, struct arena *a, struct strbuf *got,
                            struct kerr *err)
{
    const struct kj_val *options = kj_get(in, "options");
    struct podres_options o = {
        .exclude_overhead = kj_bool(kj_get(options, "excludeOverhead"), false),
        .use_status = kj_bool(kj_get(options, "useStatusResources"), false),
        .skip_pod_level = kj_bool(kj_get(options, "skipPodLevelResources"), false),
    };
    struct pod *pod;

    int r = pod_decode(kj_get(in, "pod"), a, &pod, err);
    if (r < 0)
        return r;
    reslist requests = pod_requests(pod, &o, a), limits = pod_limits(pod, &o, a);
    struct kjw w = kjw_to(got);
    kjw_obj(&w, NULL);
    write_counts(&w, "requests", &requests, a);
    write_counts(&w, "limits", &limits, a);
    enum kube_qos qos = pod_compute_qos(pod->spec);
    enum kube_qos of_document = kube_qos_of_document(kj_path(in, "pod.spec"));
    kjw_str(&w, "qosClass", kube_qos_name(qos));
    if (of_document != qos)
        kjw_str(&w, "qosClassOfDocument", kube_qos_name(of_document));
    kjw_end(&w);
    return 0;
}

/* ---- jsonpatch ------------------------------------------------------------------------------- */

static int apply_patch(const struct kj_val *in, struct kj_mdoc *d, struct kj_mval **ret,
                       struct kerr *err)
{
    const char *type = kj_str_or(kj_get(in, "type"), "");
    const struct kj_val *doc = kj_get(in, "doc"), *patch = kj_get(in, "patch");

    if (streq(type, "merge"))
        return kj_patch_merge(d, doc, patch, ret, err);
    if (streq(type, "json"))
        return kj_patch_json(d, doc, patch, ret, err);
    const char *kind = kj_str_or(kj_get(in, "kind"), "");
    const struct t_type *t = types_find("", "v1", kind);
    if (!t)
        return kerr_set(err, -EINVAL, "no field table of core/v1 kind \"%s\"", kind);
    return kj_patch_strategic(d, doc, patch, types_merge(t), ret, err);
}

static int run_jsonpatch(const struct kj_val *in, struct arena *a, struct strbuf *got,
                         struct kerr *err)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *result;

    (void)a;
    if (apply_patch(in, d, &result, err) < 0)
        return write_error(got, err);
    strbuf_append(got, "{\"doc\":");
    kj_mwrite(result, 0, got);
    strbuf_append(got, "}");
    return 0;
}

const struct golden_runner golden_kube[] = {
    { "quantity", run_quantity, NULL },
    { "selector", run_selector, same_selector },
    { "podresources", run_podresources, NULL },
    { "jsonpatch", run_jsonpatch, NULL },
    { NULL, NULL, NULL },
};
