/* bind.c - pods/binding: gives a pod its node, once. */
#include "apiserver/kinds/internal.h"
#include "apiserver/registry/registry.h"
#include "base/ktime.h"
#include "loop/loop.h"

struct binding {
    const struct kj_val *meta; /* of the Binding as admission left it: labels and annotations */
    const char *node, *uid, *rv;
    char now[KTIME_TEXT_MAX];
};

static int conflict(struct api_call *c, struct kerr *err, const char *why)
{
    return api_err(c, err, -ESTALE, KR_CONFLICT,
                   "Operation cannot be fulfilled on pods/binding \"%s\": pod %s %s", c->name,
                   c->name, why);
}

static int check_preconditions(const struct binding *b, struct api_call *c,
                               const struct kj_val *meta, struct kerr *err)
{
    const char *what = NULL, *want = NULL, *have = NULL;

    if (*b->uid && !streq(b->uid, v_str(meta, "uid")))
        what = "UID", want = b->uid, have = v_str(meta, "uid");
    else if (*b->rv && !streq(b->rv, v_str(meta, "resourceVersion")))
        what = "ResourceVersion", want = b->rv, have = v_str(meta, "resourceVersion");
    if (!what)
        return 0;
    return api_err(c, err, -ESTALE, KR_CONFLICT,
                   "Operation cannot be fulfilled on pods \"%s\": Precondition failed: %s in "
                   "precondition: %s, %s in object meta: %s",
                   c->name, what, want, what, have);
}

static void copy_map(struct kj_mdoc *d, struct kj_mval *meta, const char *key,
                     const struct kj_val *from)
{
    struct kj_iter it = kj_iter(kj_get(from, key));
    const struct kj_val *v;
    struct str k;

    while (kj_next(&it, &k, &v)) {
        struct kj_mval *map = m_obj(d, meta, key);
        kj_msetn(d, map, k.p, k.n, kj_mcopy(d, v));
    }
}

static void set_scheduled(struct kj_mdoc *d, struct kj_mval *status, const char *now)
{
    struct kj_mval *list = kj_mget(status, "conditions"), *c = NULL, *v;

    if (kj_mtype(list) != KJ_ARR) {
        kj_mset(d, status, "conditions", kj_marr(d));
        list = kj_mget(status, "conditions");
    }
    for (struct kj_miter it = kj_miter(list); !c && kj_mnext(&it, NULL, &v);)
        c = streq(m_str(v, "type"), "PodScheduled") ? v : NULL;
    if (!c) {
        c = kj_mobj(d);
        kj_mset(d, c, "type", kj_mstr(d, "PodScheduled"));
        kj_mpush(list, c);
    }
    bool was_true = streq(m_str(c, "status"), "True");
    kj_mset(d, c, "status", kj_mstr(d, "True"));
    if (!kj_mget(c, "lastProbeTime"))
        kj_mset(d, c, "lastProbeTime", kj_mnull(d));
    if (!was_true)
        kj_mset(d, c, "lastTransitionTime", kj_mstr(d, now));
    kj_mdel(c, "reason", strlen("reason"));
    kj_mdel(c, "message", strlen("message"));
}

static int bind_edit(void *arg, struct api_call *c, const struct kj_val *old, struct kj_mdoc *d,
                     struct kj_mval *obj, struct kerr *err)
{
    struct binding *b = arg;
    const struct kj_val *meta = kj_get(old, "metadata"), *spec = kj_get(old, "spec");
    int r = check_preconditions(b, c, meta, err);

    if (r < 0)
        return r;
    if (v_has(meta, "deletionTimestamp"))
        return conflict(c, err, "is being deleted, cannot be assigned to a host");
    if (*v_str(spec, "nodeName"))
        return api_err(c, err, -ESTALE, KR_CONFLICT,
                       "Operation cannot be fulfilled on pods/binding \"%s\": pod %s is already "
                       "assigned to node \"%s\"",
                       c->name, c->name, v_str(spec, "nodeName"));
    if (kj_len(kj_get(spec, "schedulingGates")) > 0)
        return conflict(c, err, "has non-empty .spec.schedulingGates");

    kj_mset(d, m_obj(d, obj, "spec"), "nodeName", kj_mstr(d, b->node));
    copy_map(d, m_obj(d, obj, "metadata"), "annotations", b->meta);
    copy_map(d, m_obj(d, obj, "metadata"), "labels", b->meta);
    kj_mdel(m_obj(d, obj, "status"), "nominatedNodeName", strlen("nominatedNodeName"));
    set_scheduled(d, m_obj(d, obj, "status"), b->now);
    return 0;
}

static void bind_reply(void *arg, struct api_call *c, const char *doc, size_t n)
{
    (void)arg, (void)doc, (void)n;
    api_reply_success(c, 201, NULL, NULL);
}

static int check_binding(struct api_call *c, const struct kj_val *body, struct kerr *err)
{
    const char *name = kj_str_or(kj_path(body, "metadata.name"), "");
    const char *kind = kj_str_or(kj_path(body, "target.kind"), "");
    char q[64];

    if (!streq(name, c->name))
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                        "name in URL does not match name in Binding object");
    if (*kind && !streq(kind, "Node"))
        return kerr_set(err, -EINVAL,
                        "target.kind: Unsupported value: %s: supported values: \"Node\", "
                        "\"<empty>\"",
                        text_quote(q, sizeof q, kind, strlen(kind)));
    if (!*kj_str_or(kj_path(body, "target.name"), ""))
        return kerr_set(err, -EINVAL, "target.name: Required value");
    return 0;
}

static void old_bind(struct apiserver *s, struct api_call *c)
{
    const struct resource *pods = res_table_find(apiserver_resources(s), "", "v1", "pods");
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };
    int r = api_body(c, "v1", "Binding", &doc, &err);

    if (r == 0 && !*kj_str_or(kj_path(kj_root(doc), "metadata.name"), ""))
        r = kerr_api(&err, -EINVAL, KR_BAD_REQUEST, "Name parameter required.");
    if (r < 0) {
        api_fail(c, &err);
        return;
    }
    /* From here on it is a request for pods/NAME/binding. */
    c->name = arena_strdup(c->arena, kj_str(kj_path(kj_root(doc), "metadata.name")));
    c->sub = "binding";
    resource_unref(c->res);
    c->res = resource_ref(pods);
    pod_bind(s, c);
}
const struct res_strategy old_binding_strategy = { .create = old_bind };

void pod_bind(struct apiserver *s, struct api_call *c)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct binding *b = arena_new0(c->arena, struct binding);
    struct kerr err = { 0 };
    int r = api_body(c, "v1", "Binding", &doc, &err);

    if (r == 0)
        r = check_binding(c, kj_root(doc), &err);
    if (r < 0) {
        api_fail(c, &err);
        return;
    }
    if (!api_admit(c, "CREATE", "v1", "Binding", &doc))
        return;
    /* The edit may run again later, after a failed commit: what it reads lives as long as the call.
     */
    const struct kj_val *body = kj_root(doc);
    vec_push(&c->docs, take(doc));
    b->node = kj_str(kj_path(body, "target.name"));
    b->uid = kj_str_or(kj_path(body, "metadata.uid"), "");
    b->rv = kj_str_or(kj_path(body, "metadata.resourceVersion"), "");
    ktime_format(loop_wall(apiserver_loop(s)), b->now);
    b->meta = kj_get(body, "metadata");
    /* verb RES_STATUS: a binding does not count as a change of the spec (generation). */
    api_change(c, &(struct api_change){ .verb = RES_STATUS,
                                        .edit = bind_edit,
                                        .reply = bind_reply,
                                        .arg = b,
                                        .skip_prepare = true });
}
