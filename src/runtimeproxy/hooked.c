/* hooked.c - what hooks are asked about a request, and what becomes of it. */
#include "runtimeproxy/hooked.h"

#include "base/klog.h"
#include "loop/loop.h"

#define PATIENCE      (2 * NSEC_PER_SEC)   /* under Ignore */
#define PATIENCE_FAIL (120 * NSEC_PER_SEC) /* under Fail, when the caller has no deadline */

enum { MAP_MAX = 4096 /* labels, annotations, variables: more are no business of hooks */ };

static const struct hooked_method {
    const char *name; /* CRI's, also of what comes by another protocol */
    int pre, post;    /* enum hook_point; -1: none */
    const char *pre_method, *post_method;
} methods[HOOKED_KINDS] = {
    [HOOKED_RUN_POD] = { "RunPodSandbox", HOOK_PRE_RUN_POD, -1, HOOK_SERVICE "PreRunPodSandboxHook",
                         NULL },
    [HOOKED_STOP_POD] = { "StopPodSandbox", -1, HOOK_POST_STOP_POD, NULL,
                          HOOK_SERVICE "PostStopPodSandboxHook" },
    [HOOKED_REMOVE_POD] = { "RemovePodSandbox", -1, -1, NULL, NULL },
    [HOOKED_CREATE] = { "CreateContainer", HOOK_PRE_CREATE, -1,
                        HOOK_SERVICE "PreCreateContainerHook", NULL },
    [HOOKED_START] = { "StartContainer", HOOK_PRE_START, HOOK_POST_START,
                       HOOK_SERVICE "PreStartContainerHook",
                       HOOK_SERVICE "PostStartContainerHook" },
    [HOOKED_STOP] = { "StopContainer", -1, HOOK_POST_STOP, NULL,
                      HOOK_SERVICE "PostStopContainerHook" },
    [HOOKED_REMOVE] = { "RemoveContainer", -1, -1, NULL, NULL },
    [HOOKED_UPDATE] = { "UpdateContainerResources", HOOK_PRE_UPDATE, -1,
                        HOOK_SERVICE "PreUpdateContainerResourcesHook", NULL },
};

enum hooked_kind hooked_kind(const struct hooked *h)
{
    return (enum hooked_kind)(h->m - methods);
}

const char *hooked_name(enum hooked_kind kind)
{
    return methods[kind].name;
}

bool hooked_by_name(struct str name, enum hooked_kind *ret)
{
    for (int i = 0; i < HOOKED_KINDS; i++)
        if (str_eqz(name, methods[i].name)) {
            *ret = (enum hooked_kind)i;
            return true;
        }
    return false;
}

static bool is_pod(const struct hooked *h)
{
    return hooked_kind(h) <= HOOKED_REMOVE_POD;
}

/* ---- counting -------------------------------------------------------------------------------- */

void hooked_count_call(struct proxy *p, const char *name)
{
    if (p->calls)
        counter_inc(metric_counter(p->calls, METRIC_VALUES(name)));
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

bool hooked_read_run(struct hooked *h)
{
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

bool hooked_read_create(struct hooked *h, struct kerr *err)
{
    struct hook_pod_request pod;

    if (!recall(h, STORE_POD, h->in.create.pod_id, &pod) && !pod_from_create(h, &pod)) {
        kerr_set(err, -ENOENT, "the pod is not known");
        return false;
    }
    merge_from_create(&h->in.create, &pod, h->arena, &h->about.container);
    const struct cri_container_config *c = h->in.create.config;
    return !c || !too_many(&c->annotations, &c->labels, c->envs.n);
}

static void set_id(struct hooked *h, struct str id)
{
    free(h->id);
    h->id = xstrndup(id.n ? id.p : "", id.n);
}

bool hooked_read_update(struct hooked *h, struct kerr *err)
{
    set_id(h, h->in.update.container_id);
    if (!recall(h, STORE_CONTAINER, h->in.update.container_id, &h->about.container)) {
        kerr_set(err, -ENOENT, "the container is not known");
        return false;
    }
    merge_from_update(&h->in.update, h->arena, &h->about.container);
    return !too_many(&h->in.update.annotations, &h->in.update.annotations, 0);
}

bool hooked_read_id(struct hooked *h, struct str id, struct kerr *err)
{
    set_id(h, id);
    if (recall(h, is_pod(h) ? STORE_POD : STORE_CONTAINER, id, &h->about))
        return true;
    kerr_set(err, -ENOENT, "it is not known");
    return false;
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
    nsec_t left = h->ops->left(h->call), most = c->fail ? PATIENCE_FAIL : PATIENCE;
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
        0, "A hook changed a request", KV_S("method", h->m->name),
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
    if (h->is_known && hooked_kind(h) == HOOKED_UPDATE && h->id) {
        CLEANUP(strbuf_fini) struct strbuf now = STRBUF_INIT;
        encode_about(h, &now);
        podstore_put(h->p->store, STORE_CONTAINER, str_of(h->id),
                     (struct str){ strbuf_str(&now), now.len });
    } else if (h->is_known) {
        strbuf_reset(&h->stored);
        encode_about(h, &h->stored);
    }
    h->ops->forward(h->call, message);
}

/* true: a hook changed something. */
static bool apply(struct hooked *h, struct strbuf *changes)
{
    enum hooked_kind kind = hooked_kind(h);

    if (kind == HOOKED_RUN_POD)
        return merge_to_run_pod(&h->about.pod, h->arena, &h->in.run, changes);
    if (kind == HOOKED_CREATE)
        return merge_to_create(&h->about.container, h->arena, &h->in.create, changes);
    if (kind != HOOKED_UPDATE)
        return false;
    if (h->ops->has_plain_updates) {
        h->in.update.annotations = h->about.container.annotations;
        if (h->in.update.resources && h->about.container.resources)
            h->in.update.resources->oom_score_adj = h->about.container.resources->oom_score_adj;
    }
    return merge_to_update(&h->about.container, h->arena, &h->in.update, changes);
}

static void apply_and_forward(struct hooked *h, struct strbuf *changes)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct str message = { NULL, 0 };

    if (apply(h, changes)) {
        h->ops->encode(h, &out);
        log_changes(h, changes);
        message = (struct str){ strbuf_str(&out), out.len };
    }
    forward(h, message);
}

static int take_response(struct hooked *h, struct str message, struct kerr *err)
{
    struct hook_pod_response pod;
    struct hook_container_response container;

    message = copy(h, message);
    if (hooked_kind(h) == HOOKED_RUN_POD) {
        if (merge_read_pod(message, h->arena, &pod, err) < 0)
            return err->code;
        if (too_many(&pod.labels, &pod.annotations, 0))
            return kerr_set(err, -E2BIG, "the answer has more than %d entries", MAP_MAX);
        merge_pod(&h->about.pod, &pod, h->arena);
        if (h->ops->has_pod_resources && pod.resources)
            merge_pod_resources(&h->about.pod, pod.resources, h->arena);
        return 0;
    }
    if (merge_read_container(message, h->arena, &container, err) < 0)
        return err->code;
    if (too_many(&container.annotations, &container.envs,
                 container.resources ? container.resources->unified.n : 0))
        return kerr_set(err, -E2BIG, "the answer has more than %d entries", MAP_MAX);
    if (hooked_kind(h) != HOOKED_START)
        merge_container(&h->about.container, &container, h->arena);
    return 0;
}

void hooked_free(struct hooked *h)
{
    hook_call_cancel(h->hook);
    if (h->ops->fini)
        h->ops->fini(h);
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
    const struct hooked_ops *ops = h->ops;
    void *call = h->call;

    count_hook(h, "refused");
    strbuf_appendf(&text, "hook server err: %s", why);
    KLOG_W("A hook server failed, the call is refused", KV_S("method", h->m->name),
           KV_S("why", why));
    hooked_free(h);
    ops->refuse(call, strbuf_str(&text));
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

struct hooked *hooked_new(struct proxy *p, const struct hooked_ops *ops, void *call,
                          enum hooked_kind kind)
{
    struct hooked *h = xnew0(struct hooked);

    *h = (struct hooked){
        .p = p, .ops = ops, .call = call, .m = &methods[kind], .arena = arena_new()
    };
    return h;
}

void hooked_begin(struct hooked *h, bool is_known)
{
    h->is_known = is_known;
    h->is_skipped = is_known && is_skipped(h);
    if (!ask(h, h->m->pre, h->m->pre_method, on_pre))
        forward(h, (struct str){ NULL, 0 });
}

/* ---- the runtime's answer -------------------------------------------------------------------- */

/* With the ID that the runtime gave it. */
static void remember(struct hooked *h, struct str id)
{
    CLEANUP(arena_free) struct arena *a = arena_new();

    if (!h->is_known || id.n == 0)
        return;
    struct str stored = { strbuf_str(&h->stored), h->stored.len };
    if (is_pod(h)) {
        podstore_put(h->p->store, STORE_POD, id, stored);
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
        c.container->id = id;
    wire_encode(&hook_container_request_table, &c, &with_id);
    podstore_put(h->p->store, STORE_CONTAINER, id,
                 (struct str){ strbuf_str(&with_id), with_id.len });
}

/* One that stopped, or that the runtime does not know any more; after a failure the kubelet tries
 * again, and hooks shall hear of that too. */
static void forget(struct hooked *h)
{
    enum hooked_kind kind = hooked_kind(h);

    if (h->id && (kind == HOOKED_STOP_POD || kind == HOOKED_REMOVE_POD))
        podstore_remove(h->p->store, STORE_POD, str_of(h->id));
    if (h->id && (kind == HOOKED_STOP || kind == HOOKED_REMOVE))
        podstore_remove(h->p->store, STORE_CONTAINER, str_of(h->id));
}

static void finish(struct hooked *h)
{
    const struct hooked_ops *ops = h->ops;
    void *call = h->call;

    hooked_free(h);
    ops->release(call);
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

void hooked_answered(struct hooked *h, enum hooked_end end, struct str id)
{
    enum hooked_kind kind = hooked_kind(h);

    if (end == HOOKED_OK && (kind == HOOKED_RUN_POD || kind == HOOKED_CREATE))
        remember(h, id);
    bool asked = h->m->post >= 0 && h->is_known && recall_for_post(h) &&
                 ask(h, h->m->post, h->m->post_method, on_post);
    if (end != HOOKED_FAILED)
        forget(h);
    if (!asked)
        finish(h);
}
