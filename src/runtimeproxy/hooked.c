/* hooked.c - a CRI call that hooks may look at: asked before, changed, remembered, told after
 * (runtime-proxy 4.2). */
#include <stdio.h>

#include "base/klog.h"
#include "loop/loop.h"
#include "runtimeproxy/proxy_int.h"

#define PATIENCE      (2 * NSEC_PER_SEC)   /* under Ignore */
#define PATIENCE_FAIL (120 * NSEC_PER_SEC) /* under Fail, when the caller has no deadline */

enum { MAP_MAX = 4096 /* labels, annotations, variables: more are no business of hooks */ };

enum method_kind { RUN_POD, STOP_POD, REMOVE_POD, CREATE, START, STOP, REMOVE, UPDATE };
static const struct method {
    const char *name;
    enum method_kind kind;
    int pre, post; /* enum hook_point; -1: none */
    const char *pre_method, *post_method;
} methods[] = {
    { "RunPodSandbox", RUN_POD, HOOK_PRE_RUN_POD, -1, HOOK_SERVICE "PreRunPodSandboxHook", NULL },
    { "StopPodSandbox", STOP_POD, -1, HOOK_POST_STOP_POD, NULL,
      HOOK_SERVICE "PostStopPodSandboxHook" },
    { "RemovePodSandbox", REMOVE_POD, -1, -1, NULL, NULL },
    { "CreateContainer", CREATE, HOOK_PRE_CREATE, -1, HOOK_SERVICE "PreCreateContainerHook", NULL },
    { "StartContainer", START, HOOK_PRE_START, HOOK_POST_START,
      HOOK_SERVICE "PreStartContainerHook", HOOK_SERVICE "PostStartContainerHook" },
    { "StopContainer", STOP, -1, HOOK_POST_STOP, NULL, HOOK_SERVICE "PostStopContainerHook" },
    { "RemoveContainer", REMOVE, -1, -1, NULL, NULL },
    { "UpdateContainerResources", UPDATE, HOOK_PRE_UPDATE, -1,
      HOOK_SERVICE "PreUpdateContainerResourcesHook", NULL },
};

struct hooked { /* one call */
    struct proxy *p;
    struct h2relay_call *call;
    const struct method *m;
    struct arena *arena;
    struct hook_call *hook; /* under way */
    bool fail;              /* its policy */
    bool is_known;          /* parsed, and what it is about is known */
    bool is_skipped;        /* the pod has the label */
    char *id;               /* of the pod or container; NULL: not known yet */
    union {
        struct cri_run_pod_request run;
        struct cri_create_request create;
        struct cri_update_request update;
    } in;
    union { /* what hooks are asked about; what is stored */
        struct hook_pod_request pod;
        struct hook_container_request container;
    } about;
    struct strbuf stored; /* the same as bytes, made before the request is gone */
    struct strbuf pod;    /* of a container: what is to be remembered of its pod too */
    char *pod_id;
};

static const struct method *method_of(struct str path)
{
    static const struct str prefix = { CRI_RUNTIME_SERVICE, sizeof CRI_RUNTIME_SERVICE - 1 };

    if (path.n <= prefix.n || memcmp(path.p, prefix.p, prefix.n) != 0)
        return NULL;
    struct str name = { path.p + prefix.n, path.n - prefix.n };
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (str_eqz(name, methods[i].name))
            return &methods[i];
    return NULL;
}

static bool is_pod(const struct hooked *h)
{
    return h->m->kind <= REMOVE_POD;
}

/* ---- counting -------------------------------------------------------------------------------- */

/* The method, for the services we know: others may have any name. */
static void method_label(struct str path, char *name, size_t size)
{
    static const struct str known = { "/runtime.v1.", 12 };
    size_t at = path.n;

    snprintf(name, size, "other");
    if (path.n <= known.n || memcmp(path.p, known.p, known.n) != 0)
        return;
    while (path.p[at - 1] != '/')
        at--;
    if (path.n - at < size)
        snprintf(name, size, "%.*s", (int)(path.n - at), path.p + at);
}

bool hooked_wants(void *arg, struct str path)
{
    struct proxy *p = arg;
    char name[64];

    if (p->calls) {
        method_label(path, name, sizeof name);
        counter_inc(metric_counter(p->calls, METRIC_VALUES(name)));
    }
    return method_of(path) != NULL;
}

static void count_hook(const struct hooked *h, const char *result)
{
    if (h->p->hooks)
        counter_inc(metric_counter(h->p->hooks, METRIC_VALUES(h->m->name, result)));
}

/* ---- reading requests ------------------------------------------------------------------------ */

static struct str copy(struct hooked *h, struct str s)
{
    return (struct str){ arena_strndup(h->arena, s.n ? s.p : "", s.n), s.n };
}

/* What is stored about an ID, in memory of the call's own. */
static bool recall(struct hooked *h, enum podstore_kind k, struct str id, void *ret)
{
    struct str bytes = podstore_get(h->p->store, k, id);

    if (!bytes.p)
        return false;
    return wire_decode(k == STORE_POD ? &hook_pod_request_table : &hook_container_request_table,
                       copy(h, bytes), h->arena, ret, NULL) == 0;
}

static bool too_many(const wire_map *a, const wire_map *b, size_t more)
{
    return a->n > MAP_MAX || b->n > MAP_MAX || more > MAP_MAX;
}

static bool read_run(struct hooked *h, struct str message, struct kerr *err)
{
    if (wire_decode(&cri_run_pod_request_table, message, h->arena, &h->in.run, err) < 0)
        return false;
    merge_from_run_pod(&h->in.run, &h->about.pod);
    return !too_many(&h->about.pod.labels, &h->about.pod.annotations, 0);
}

/* The pod of a container whose RunPodSandbox lost its answer, in a runtime's restart say: the
 * kubelet finds the sandbox ready and goes on with it. The request itself says what pod it is. */
static bool pod_from_create(struct hooked *h, struct hook_pod_request *ret)
{
    const struct cri_create_request *in = &h->in.create;

    if (in->pod_id.n == 0 || !in->pod_config || !in->pod_config->metadata)
        return false;
    merge_from_run_pod(&(struct cri_run_pod_request){ .config = in->pod_config }, ret);
    if (too_many(&ret->labels, &ret->annotations, 0))
        return false;
    h->pod_id = xstrndup(in->pod_id.p, in->pod_id.n);
    wire_encode(&hook_pod_request_table, ret, &h->pod);
    return true;
}

static bool read_create(struct hooked *h, struct str message, struct kerr *err)
{
    struct hook_pod_request pod;

    if (wire_decode(&cri_create_request_table, message, h->arena, &h->in.create, err) < 0)
        return false;
    if (!recall(h, STORE_POD, h->in.create.pod_id, &pod) && !pod_from_create(h, &pod)) {
        kerr_set(err, -ENOENT, "the pod is not known");
        return false;
    }
    merge_from_create(&h->in.create, &pod, h->arena, &h->about.container);
    const struct cri_container_config *c = h->in.create.config;
    return !c || !too_many(&c->annotations, &c->labels, c->envs.n);
}

static bool read_update(struct hooked *h, struct str message, struct kerr *err)
{
    if (wire_decode(&cri_update_request_table, message, h->arena, &h->in.update, err) < 0)
        return false;
    h->id = xstrndup(h->in.update.container_id.n ? h->in.update.container_id.p : "",
                     h->in.update.container_id.n);
    if (!recall(h, STORE_CONTAINER, h->in.update.container_id, &h->about.container)) {
        kerr_set(err, -ENOENT, "the container is not known");
        return false;
    }
    merge_from_update(&h->in.update, h->arena, &h->about.container);
    return !too_many(&h->in.update.annotations, &h->in.update.annotations, 0);
}

static bool read_id(struct hooked *h, struct str message, struct kerr *err)
{
    struct cri_id in;

    if (wire_decode(&cri_id_table, message, h->arena, &in, err) < 0)
        return false;
    h->id = xstrndup(in.id.n ? in.id.p : "", in.id.n);
    if (recall(h, is_pod(h) ? STORE_POD : STORE_CONTAINER, in.id, &h->about))
        return true;
    kerr_set(err, -ENOENT, "it is not known");
    return false;
}

static bool read_request(struct hooked *h, struct str message)
{
    struct kerr err = { 0 };
    bool ok = false;

    if (message.p)
        switch (h->m->kind) {
        case RUN_POD: ok = read_run(h, message, &err); break;
        case CREATE: ok = read_create(h, message, &err); break;
        case UPDATE: ok = read_update(h, message, &err); break;
        default: ok = read_id(h, message, &err);
        }
    if (!ok && err.code != -ENOENT)
        KLOG_W("A CRI request cannot be read, hooks are not asked", KV_S("method", h->m->name),
               KV_S("why", err.text[0] ? err.text : "no single message"));
    return ok;
}

/* The label that keeps the hook server's own pod from waiting for itself. */
static bool is_skipped(const struct hooked *h)
{
    const wire_map *labels = is_pod(h) ? &h->about.pod.labels : &h->about.container.pod_labels;

    for (uint32_t i = labels->n; i-- > 0;)
        if (str_eqz(labels->items[i].key, h->p->o.skip_key))
            return str_eqz(labels->items[i].value, h->p->o.skip_value);
    return false;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void encode_about(const struct hooked *h, struct strbuf *out)
{
    if (is_pod(h))
        wire_encode(&hook_pod_request_table, &h->about.pod, out);
    else
        wire_encode(&hook_container_request_table, &h->about.container, out);
}

/* false: no server wants to hear of it. */
static bool ask(struct hooked *h, int point, const char *method, hook_done_fn fn)
{
    CLEANUP(strbuf_fini) struct strbuf message = STRBUF_INIT;
    const struct hookconfig *c = point < 0 || !h->is_known || h->is_skipped
                                     ? NULL
                                     : hookconfigs_find(h->p->configs, (enum hook_point)point);

    if (!c)
        return false;
    nsec_t left = h2relay_call_left(h->call), most = c->fail ? PATIENCE_FAIL : PATIENCE;
    h->fail = c->fail;
    encode_about(h, &message);
    h->hook = dispatch_call(h->p->dispatch, c->endpoint, method,
                            (struct str){ strbuf_str(&message), message.len },
                            left > 0 ? MIN(left, most) : most, fn, h);
    return true;
}

/* ---- the answer of a hook -------------------------------------------------------------------- */

static void log_changes(const struct hooked *h, const struct strbuf *changes)
{
    static const struct cri_pod_metadata nobody;
    const struct cri_pod_metadata *m = is_pod(h) ? h->about.pod.pod : h->about.container.pod;
    const struct hook_container_metadata *c = is_pod(h) ? NULL : h->about.container.container;

    if (!m)
        m = &nobody;
    KLOG_I(
        0, "A hook changed a CRI request", KV_S("method", h->m->name),
        KV_S("namespace", arena_strndup(h->arena, m->ns.n ? m->ns.p : "", m->ns.n)),
        KV_S("pod", arena_strndup(h->arena, m->name.n ? m->name.p : "", m->name.n)),
        KV_S("container", c ? arena_strndup(h->arena, c->name.n ? c->name.p : "", c->name.n) : ""),
        KV_S("changes", strbuf_str(changes)));
    if (h->p->changed)
        counter_inc(metric_counter(h->p->changed, METRIC_VALUES(h->m->name)));
}

/* What is known goes with the request: the answer will only bring the ID. */
static void forward(struct hooked *h, struct str message)
{
    if (h->is_known && h->m->kind == UPDATE && h->id) {
        CLEANUP(strbuf_fini) struct strbuf now = STRBUF_INIT;
        encode_about(h, &now);
        podstore_put(h->p->store, STORE_CONTAINER, str_of(h->id),
                     (struct str){ strbuf_str(&now), now.len });
    } else if (h->is_known) {
        strbuf_reset(&h->stored);
        encode_about(h, &h->stored);
    }
    h2relay_forward(h->call, message);
}

static void apply_and_forward(struct hooked *h, struct strbuf *changes)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    bool changed = false;

    if (h->m->kind == RUN_POD) {
        changed = merge_to_run_pod(&h->about.pod, h->arena, &h->in.run, changes);
        wire_encode(&cri_run_pod_request_table, &h->in.run, &out);
    } else if (h->m->kind == CREATE) {
        changed = merge_to_create(&h->about.container, h->arena, &h->in.create, changes);
        wire_encode(&cri_create_request_table, &h->in.create, &out);
    } else if (h->m->kind == UPDATE) {
        changed = merge_to_update(&h->about.container, h->arena, &h->in.update, changes);
        wire_encode(&cri_update_request_table, &h->in.update, &out);
    }
    if (changed)
        log_changes(h, changes);
    forward(h, changed ? (struct str){ strbuf_str(&out), out.len } : (struct str){ NULL, 0 });
}

static int take_response(struct hooked *h, struct str message, struct kerr *err)
{
    struct hook_pod_response pod;
    struct hook_container_response container;

    message = copy(h, message);
    if (h->m->kind == RUN_POD) {
        if (merge_read_pod(message, h->arena, &pod, err) < 0)
            return err->code;
        if (too_many(&pod.labels, &pod.annotations, 0))
            return kerr_set(err, -E2BIG, "the answer has more than %d entries", MAP_MAX);
        merge_pod(&h->about.pod, &pod, h->arena);
        return 0;
    }
    if (merge_read_container(message, h->arena, &container, err) < 0)
        return err->code;
    if (too_many(&container.annotations, &container.envs,
                 container.resources ? container.resources->unified.n : 0))
        return kerr_set(err, -E2BIG, "the answer has more than %d entries", MAP_MAX);
    if (h->m->kind != START)
        merge_container(&h->about.container, &container, h->arena);
    return 0;
}

static void hooked_free(struct hooked *h)
{
    hook_call_cancel(h->hook);
    arena_free(h->arena);
    strbuf_fini(&h->stored);
    strbuf_fini(&h->pod);
    free(h->pod_id);
    free(h->id);
    free(h);
}

static void refused(struct hooked *h, const char *why)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct h2relay_call *call = h->call;

    count_hook(h, "refused");
    strbuf_appendf(&text, "hook server err: %s", why);
    KLOG_W("A hook server failed, the call is refused", KV_S("method", h->m->name),
           KV_S("why", why));
    hooked_free(h);
    h2relay_refuse(call, GRPC_UNKNOWN, strbuf_str(&text));
}

static void on_pre(void *arg, const char *why, struct str message)
{
    CLEANUP(strbuf_fini) struct strbuf changes = STRBUF_INIT;
    struct hooked *h = arg;
    struct kerr err = { 0 };

    h->hook = NULL;
    if (!why && take_response(h, message, &err) < 0)
        why = err.text;
    if (why && h->fail) {
        refused(h, why);
        return;
    }
    if (why) {
        count_hook(h, "failed_open");
        KLOG_W("A hook server failed, going on without it", KV_S("method", h->m->name),
               KV_S("why", why));
        forward(h, (struct str){ NULL, 0 });
        return;
    }
    count_hook(h, "ok");
    apply_and_forward(h, &changes);
}

/* ---- the call -------------------------------------------------------------------------------- */

void hooked_request(void *arg, struct h2relay_call *c, struct str path, struct str message)
{
    struct hooked *h = xnew0(struct hooked);

    *h = (struct hooked){ .p = arg, .call = c, .m = method_of(path), .arena = arena_new() };
    h2relay_call_set(c, h);
    h->is_known = read_request(h, message);
    h->is_skipped = h->is_known && is_skipped(h);
    if (!ask(h, h->m->pre, h->m->pre_method, on_pre))
        forward(h, (struct str){ NULL, 0 });
}

/* ---- the runtime's answer -------------------------------------------------------------------- */

/* With the ID that the runtime gave it. */
static void remember(struct hooked *h, struct str message)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct cri_id out;

    if (!h->is_known || wire_decode(&cri_id_table, message, a, &out, NULL) < 0 || out.id.n == 0)
        return;
    struct str stored = { strbuf_str(&h->stored), h->stored.len };
    if (h->m->kind == RUN_POD) {
        podstore_put(h->p->store, STORE_POD, out.id, stored);
        return;
    }
    if (h->pod_id)
        podstore_put(h->p->store, STORE_POD, str_of(h->pod_id),
                     (struct str){ strbuf_str(&h->pod), h->pod.len });
    CLEANUP(strbuf_fini) struct strbuf with_id = STRBUF_INIT;
    struct hook_container_request c;
    if (wire_decode(&hook_container_request_table, stored, a, &c, NULL) < 0)
        return;
    if (c.container)
        c.container->id = out.id;
    wire_encode(&hook_container_request_table, &c, &with_id);
    podstore_put(h->p->store, STORE_CONTAINER, out.id,
                 (struct str){ strbuf_str(&with_id), with_id.len });
}

/* One that stopped, or that the runtime does not know any more; after a failure the kubelet tries
 * again, and hooks shall hear of that too. */
static void forget(struct hooked *h)
{
    if (h->id && (h->m->kind == STOP_POD || h->m->kind == REMOVE_POD))
        podstore_remove(h->p->store, STORE_POD, str_of(h->id));
    if (h->id && (h->m->kind == STOP || h->m->kind == REMOVE))
        podstore_remove(h->p->store, STORE_CONTAINER, str_of(h->id));
}

static void finish(struct hooked *h)
{
    struct h2relay_call *call = h->call;

    hooked_free(h);
    h2relay_release(call);
}

static void on_post(void *arg, const char *why, struct str message)
{
    struct hooked *h = arg;

    (void)message;
    h->hook = NULL;
    count_hook(h, why ? "failed_open" : "ok");
    finish(h);
}

/* What a hook is told afterwards is decoded anew: the request that it pointed into is gone. */
static bool recall_for_post(struct hooked *h)
{
    arena_reset(h->arena);
    return h->id && recall(h, is_pod(h) ? STORE_POD : STORE_CONTAINER, str_of(h->id), &h->about);
}

void hooked_answer(void *arg, struct h2relay_call *c, enum grpc_code code, struct str message)
{
    struct hooked *h = h2relay_call_get(c);

    (void)arg;
    if (code == GRPC_OK && (h->m->kind == RUN_POD || h->m->kind == CREATE))
        remember(h, message);
    bool asked = h->m->post >= 0 && h->is_known && recall_for_post(h) &&
                 ask(h, h->m->post, h->m->post_method, on_post);
    if (code == GRPC_OK || code == GRPC_NOT_FOUND)
        forget(h);
    if (!asked)
        finish(h);
}

void hooked_gone(void *arg, struct h2relay_call *c)
{
    (void)arg;
    hooked_free(h2relay_call_get(c));
}
