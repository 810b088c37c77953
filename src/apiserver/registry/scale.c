/* scale.c - the scale subresource of workloads and custom resources. */
#include <stdio.h>

#include "apiserver/registry/internal.h"

struct scaling {
    struct api_scale_paths paths;
    int64_t replicas;
};

static void write_selector(struct kjw *w, const struct kj_val *sel)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    const struct kj_val *v;
    struct str key;

    if (kj_str(sel)) {
        kjw_str(w, "selector", kj_str(sel));
        return;
    }
    /* matchLabels, or the plain map of a ReplicationController, as the text of a selector. */
    const struct kj_val *map = kj_get(sel, "matchLabels");
    bool plain = !map && !kj_get(sel, "matchExpressions");
    for (struct kj_iter it = kj_iter(plain ? sel : map); kj_next(&it, &key, &v);)
        strbuf_appendf(&b, "%s%.*s=%s", b.len ? "," : "", (int)key.n, key.p, kj_str_or(v, ""));
    const struct kj_val *exprs = kj_get(sel, "matchExpressions");
    for (size_t i = 0; i < kj_len(exprs); i++) {
        const struct kj_val *e = kj_at(exprs, i), *values = kj_get(e, "values");
        const char *k = kj_str_or(kj_get(e, "key"), ""), *op = kj_str_or(kj_get(e, "operator"), "");
        strbuf_append(&b, b.len ? "," : "");
        if (streq(op, "Exists") || streq(op, "DoesNotExist")) {
            strbuf_appendf(&b, "%s%s", streq(op, "Exists") ? "" : "!", k);
            continue;
        }
        strbuf_appendf(&b, "%s %s (", k, streq(op, "In") ? "in" : "notin");
        for (size_t j = 0; j < kj_len(values); j++)
            strbuf_appendf(&b, "%s%s", j ? "," : "", kj_str_or(kj_at(values, j), ""));
        strbuf_appendc(&b, ')');
    }
    if (b.len)
        kjw_str(w, "selector", b.data);
}

static void write_scale(const struct api_scale_paths *p, const struct kj_val *obj,
                        struct strbuf *out)
{
    static const char *const copied[] = { "name", "namespace", "uid", "resourceVersion",
                                          "creationTimestamp" };
    const struct kj_val *meta = kj_get(obj, "metadata");
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", "Scale");
    kjw_str(&w, "apiVersion", "autoscaling/v1");
    kjw_obj(&w, "metadata");
    for (size_t i = 0; i < ARRAY_LEN(copied); i++)
        if (kj_str(kj_get(meta, copied[i])))
            kjw_str(&w, copied[i], kj_str(kj_get(meta, copied[i])));
    kjw_end(&w);
    int64_t want = kj_i64_or(kj_path(obj, p->spec_replicas), 0);
    kjw_obj(&w, "spec");
    if (want)
        kjw_i64(&w, "replicas", want);
    kjw_end(&w);
    kjw_obj(&w, "status");
    kjw_i64(&w, "replicas", kj_i64_or(kj_path(obj, p->status_replicas), 0));
    if (p->selector)
        write_selector(&w, kj_path(obj, p->selector));
    kjw_end(&w);
    kjw_end(&w);
}

static void reply(void *arg, struct api_call *c, const char *doc, size_t n)
{
    const struct scaling *x = arg;
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    (void)object_load(c->res, doc, n, &parsed, NULL);
    write_scale(&x->paths, kj_root(parsed), &out);
    api_reply(c, 200, out.data, out.len);
}

static struct kj_doc *scale_of(const struct api_scale_paths *p, const struct kj_val *obj)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kj_doc *doc = NULL;

    write_scale(p, obj, &text);
    (void)kj_parse(text.data, text.len, KJ_RAW_NUMBERS, &doc, NULL);
    return doc;
}

/* The Scale the client wants: its body, or its patch applied to ours. None of an apply, which is
 * about owners too. */
static int wanted(struct api_call *c, const struct kj_val *now, struct kj_doc **ret,
                  struct kerr *err)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *patched;

    if (c->verb == API_UPDATE)
        return api_body(c, "autoscaling/v1", "Scale", ret, err);
    int e = patch_type(c, err);
    if (e < 0 || c->patch == API_PATCH_APPLY)
        return e;
    e = patch_apply(c, now, d, &patched, err);
    if (e == 0)
        *ret = kj_freeze(patched);
    return e;
}

static void set_path(struct kj_mdoc *d, struct kj_mval *obj, const char *dotted, int64_t v)
{
    CLEANUP(mem_free) char *path = xstrdup(dotted);
    char *part = *path == '.' ? path + 1 : path;

    for (char *dot; (dot = strchr(part, '.')); part = dot + 1) {
        *dot = '\0';
        struct kj_mval *next = kj_mget(obj, part);
        if (kj_mtype(next) != KJ_OBJ) {
            next = kj_mobj(d);
            kj_mset(d, obj, part, next);
        }
        obj = next;
    }
    kj_mset(d, obj, part, kj_mi64(d, v));
}

static int refuse(struct api_call *c, int64_t replicas)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%lld", (long long)replicas);
    fail_field(c, "autoscaling", "Scale", c->name, FIELD_INVALID, "spec.replicas", text,
               "must be greater than or equal to 0");
    return 1;
}

/* A Scale that cannot be read must never count as one of zero replicas. */
static int check_scale(struct api_call *c, const struct kj_val *scale, struct kerr *err)
{
    const char *name = kj_str_or(kj_path(scale, "metadata.name"), "");
    const struct kj_val *replicas = kj_path(scale, "spec.replicas");
    int64_t n;

    if (kj_type(replicas) > KJ_NULL && kj_i64(replicas, &n) < 0)
        return kerr_api(err, -EBADMSG, KR_BAD_REQUEST,
                        "Scale in version \"v1\" cannot be handled as a Scale: json: cannot "
                        "unmarshal into Go struct field ScaleSpec.spec.replicas of type int32");
    if (!*name)
        return api_err(c, err, -EINVAL, KR_BAD_REQUEST,
                       "the name of the object (%s based on URL) was undeterminable: name must "
                       "be provided",
                       c->name);
    if (!streq(name, c->name))
        return api_err(c, err, -EINVAL, KR_BAD_REQUEST,
                       "the name of the object (%s) does not match the name on the URL (%s)", name,
                       c->name);
    return 0;
}

/* Of custom resources upstream does not look at it. */
static int check_uid(struct api_call *c, const struct kj_val *scale, const struct kj_val *old,
                     struct kerr *err)
{
    const char *uid = kj_str_or(kj_path(scale, "metadata.uid"), "");
    const char *is = kj_str_or(kj_path(old, "metadata.uid"), "");

    if (!*uid || streq(uid, is) || c->res->crd)
        return 0;
    return api_err(c, err, -ESTALE, KR_CONFLICT,
                   "Operation cannot be fulfilled on %s/scale%s%s \"%s\": Precondition failed: "
                   "UID in precondition: %s, UID in object meta: %s",
                   c->res->plural, *c->res->group ? "." : "", c->res->group, c->name, uid, is);
}

static int edit(void *arg, struct api_call *c, const struct kj_val *old, struct kj_mdoc *d,
                struct kj_mval *obj, struct kerr *err)
{
    struct scaling *x = arg;
    CLEANUP(kj_doc_free) struct kj_doc *now = scale_of(&x->paths, old), *scale = NULL;
    int e = wanted(c, kj_root(now), &scale, err);

    if (e == 0)
        e = managed_scale(c, x->paths.spec_replicas, kj_root(now), &scale, d, obj, err);
    if (e != 0)
        return e;
    const struct kj_val *root = kj_root(scale);
    e = check_scale(c, root, err);
    if (e == -EBADMSG && c->verb == API_PATCH)
        return fail_patched(c, root, err);
    if (e == 0)
        e = check_uid(c, root, old, err);
    if (e < 0)
        return e;
    x->replicas = kj_i64_or(kj_path(root, "spec.replicas"), 0);
    if (c->verb == API_PATCH && c->res->crd && !kj_path(old, x->paths.spec_replicas) &&
        !kj_path(root, "spec.replicas"))
        return api_err(c, err, -EINVAL, KR_BAD_REQUEST,
                       "the spec replicas field \".%s\" cannot be empty", x->paths.spec_replicas);
    if (x->replicas < 0 || x->replicas > INT32_MAX)
        return refuse(c, x->replicas);
    set_path(d, obj, x->paths.spec_replicas, x->replicas);
    /* The version the client saw is judged with the object's own metadata. */
    const char *rv = kj_str(kj_path(root, "metadata.resourceVersion"));
    if (!str_empty(rv))
        kj_mset(d, object_meta(d, obj), "resourceVersion", kj_mstr(d, rv));
    return 0;
}

void api_scale(struct api_call *c, const struct api_scale_paths *p)
{
    struct scaling *x = arena_new0(c->arena, struct scaling);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kerr err = { 0 };
    int e = 0;

    x->paths = *p;
    if (c->verb == API_UPDATE || c->verb == API_PATCH) {
        api_change(
            c, &(struct api_change){ .verb = RES_UPDATE, .edit = edit, .reply = reply, .arg = x });
        return;
    }
    if (c->verb != API_GET)
        api_err_method(&err);
    else
        e = api_read(c, c->res, c->ns, c->name, &doc, NULL, &err);
    if (e == -EINPROGRESS)
        return;
    if (err.code < 0) {
        api_fail(c, &err);
        return;
    }
    write_scale(p, kj_root(doc), &out);
    api_reply(c, 200, out.data, out.len);
}
