/* rebuild.c - what the runtime runs, asked for at the start (runtime-proxy 4.4).
 *
 * Version first: a runtime without CRI v1 is none. Then the lists; what is not known from an
 * earlier proxy is asked for one by one, with the runtime's own view of the configuration: lists
 * have neither the cgroup of a pod nor the resources of a container.
 */
#include "base/klog.h"
#include "base/vec.h"
#include "loop/loop.h"
#include "runtimeproxy/proxy_int.h"
#include "json/kj.h"

#define PATIENCE (10 * NSEC_PER_SEC)

struct rebuild {
    struct proxy *p;
    struct http *http;
    struct grpc_call *call;
    struct timer *ending;
    void (*done)(void *arg, const struct kerr *err);
    void *arg;
    struct kerr why;
    void (*next)(struct rebuild *r); /* after the answer */
    enum grpc_code code;
    struct strbuf answer, pods, containers;
    struct arena *arena;
    struct cri_pod_list pod_list;
    struct cri_container_list container_list;
    uint32_t at;
};

/* ---- calls one after the other --------------------------------------------------------------- */

static void on_ending(struct loop *l, void *arg)
{
    struct rebuild *r = arg;
    struct kerr why = r->why; /* the receiver may free all of this */

    (void)l;
    r->ending = NULL;
    r->done(r->arg, why.code < 0 ? &why : NULL);
}

static void end(struct rebuild *r)
{
    r->ending = loop_after(r->p->o.loop, 0, on_ending, r);
}

static void on_message(void *arg, struct str m)
{
    struct rebuild *r = arg;

    if (m.n > 0)
        strbuf_appendn(&r->answer, m.p, m.n);
}

static void on_end(void *arg, const struct grpc_status *st)
{
    struct rebuild *r = arg;

    r->call = NULL;
    r->code = st->code;
    if (st->code != GRPC_OK)
        kerr_set(&r->why, -EIO, "%s: %.*s", grpc_code_name(st->code),
                 (int)MIN(st->text.n, (size_t)160), st->text.n ? st->text.p : "");
    r->next(r);
}

static void call(struct rebuild *r, const char *method, const struct wire_table *t,
                 const void *message, void (*next)(struct rebuild *r))
{
    static const struct grpc_call_events events = { on_message, on_end };
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    if (t)
        wire_encode(t, message, &out);
    strbuf_reset(&r->answer);
    r->why = (struct kerr){ 0 };
    r->next = next;
    r->call = grpc_call_send(r->http,
                             &(struct grpc_call_opts){ .method = method,
                                                       .message = { strbuf_str(&out), out.len },
                                                       .timeout = PATIENCE },
                             &events, r);
}

static struct str answer_of(const struct rebuild *r)
{
    return (struct str){ strbuf_str(&r->answer), r->answer.len };
}

/* ---- the runtime's view ---------------------------------------------------------------------- */

/* The JSON behind the key "info" of a verbose status; containerd's and CRI-O's are alike here. */
static struct kj_doc *info_of(const wire_map *info)
{
    struct kj_doc *doc = NULL;

    for (uint32_t i = 0; i < info->n; i++)
        if (str_eqz(info->items[i].key, "info") &&
            kj_parse(info->items[i].value.p, info->items[i].value.n, 0, &doc, NULL) == 0)
            return doc;
    return NULL;
}

static struct str text_of(const struct kj_val *v, struct arena *a)
{
    const char *s = kj_str(v);

    return s ? str_of(arena_strdup(a, s)) : (struct str){ NULL, 0 };
}

static struct cri_resources *resources_of(const struct kj_val *v, struct arena *a)
{
    struct cri_resources *r = arena_new0(a, struct cri_resources);

    if (!v)
        return NULL;
    r->cpu_period = kj_i64_or(kj_get(v, "cpu_period"), 0);
    r->cpu_quota = kj_i64_or(kj_get(v, "cpu_quota"), 0);
    r->cpu_shares = kj_i64_or(kj_get(v, "cpu_shares"), 0);
    r->memory_limit = kj_i64_or(kj_get(v, "memory_limit_in_bytes"), 0);
    r->memory_swap_limit = kj_i64_or(kj_get(v, "memory_swap_limit_in_bytes"), 0);
    r->oom_score_adj = kj_i64_or(kj_get(v, "oom_score_adj"), 0);
    r->cpuset_cpus = text_of(kj_get(v, "cpuset_cpus"), a);
    r->cpuset_mems = text_of(kj_get(v, "cpuset_mems"), a);
    return r;
}

static void put(struct rebuild *r, enum podstore_kind k, struct str id, const struct wire_table *t,
                const void *message)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    wire_encode(t, message, &out);
    podstore_put(r->p->store, k, id, (struct str){ strbuf_str(&out), out.len });
}

/* ---- containers ------------------------------------------------------------------------------ */

static void next_container(struct rebuild *r);

static void on_container_status(struct rebuild *r)
{
    const struct cri_container *c = &r->container_list.items.items[r->at++];
    struct str pod_bytes = podstore_get(r->p->store, STORE_POD, c->pod_id);
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct cri_container_status_response st = { 0 };
    struct hook_pod_request pod;

    if (!pod_bytes.p || wire_decode(&hook_pod_request_table, pod_bytes, a, &pod, NULL) < 0) {
        next_container(r); /* of a pod that nobody knows: there is nothing to ask hooks about */
        return;
    }
    struct hook_container_metadata meta = { .name = c->metadata ? c->metadata->name : STR(""),
                                            .attempt = c->metadata ? c->metadata->attempt : 0,
                                            .id = c->id };
    struct hook_container_request out = { .pod = pod.pod,
                                          .container = &meta,
                                          .annotations = c->annotations,
                                          .pod_resources = pod.resources,
                                          .pod_annotations = pod.annotations,
                                          .pod_labels = pod.labels,
                                          .cgroup_parent = pod.cgroup_parent };
    if (r->code == GRPC_OK &&
        wire_decode(&cri_container_status_response_table, answer_of(r), a, &st, NULL) == 0) {
        if (st.status && st.status->resources)
            out.resources = st.status->resources->linux_resources;
        doc = out.resources ? NULL : info_of(&st.info);
        if (doc)
            out.resources = resources_of(kj_path(kj_root(doc), "config.linux.resources"), a);
    }
    put(r, STORE_CONTAINER, c->id, &hook_container_request_table, &out);
    next_container(r);
}

static void next_container(struct rebuild *r)
{
    while (r->at < r->container_list.items.n &&
           podstore_get(r->p->store, STORE_CONTAINER, r->container_list.items.items[r->at].id).p)
        r->at++;
    if (r->at == r->container_list.items.n) {
        r->why.code = 0;
        end(r);
        return;
    }
    call(r, CRI_RUNTIME_SERVICE "ContainerStatus", &cri_status_request_table,
         &(struct cri_status_request){ .id = r->container_list.items.items[r->at].id,
                                       .verbose = true },
         on_container_status);
}

static void on_containers(struct rebuild *r)
{
    struct vec_of(struct str) ids = { 0 };

    if (r->code != GRPC_OK) {
        end(r);
        return;
    }
    r->containers = r->answer;
    r->answer = (struct strbuf)STRBUF_INIT;
    if (wire_decode(&cri_container_list_table,
                    (struct str){ strbuf_str(&r->containers), r->containers.len }, r->arena,
                    &r->container_list, &r->why) < 0) {
        end(r);
        return;
    }
    for (uint32_t i = 0; i < r->container_list.items.n; i++)
        vec_push(&ids, r->container_list.items.items[i].id);
    podstore_keep_only(r->p->store, STORE_CONTAINER, ids.items, ids.n);
    vec_fini(&ids);
    r->at = 0;
    next_container(r);
}

/* ---- pods ------------------------------------------------------------------------------------ */

static void next_pod(struct rebuild *r);

static void on_pod_status(struct rebuild *r)
{
    const struct cri_pod *p = &r->pod_list.items.items[r->at++];
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct cri_pod_status_response st;
    struct hook_pod_request out = { .pod = p->metadata,
                                    .runtime_handler = p->runtime_handler,
                                    .labels = p->labels,
                                    .annotations = p->annotations };

    if (r->code == GRPC_OK &&
        wire_decode(&cri_pod_status_response_table, answer_of(r), a, &st, NULL) == 0)
        doc = info_of(&st.info);
    if (doc) {
        out.cgroup_parent = text_of(kj_path(kj_root(doc), "config.linux.cgroup_parent"), a);
        out.resources = resources_of(kj_path(kj_root(doc), "config.linux.resources"), a);
        out.overhead = resources_of(kj_path(kj_root(doc), "config.linux.overhead"), a);
    }
    put(r, STORE_POD, p->id, &hook_pod_request_table, &out);
    next_pod(r);
}

static void next_pod(struct rebuild *r)
{
    while (r->at < r->pod_list.items.n &&
           podstore_get(r->p->store, STORE_POD, r->pod_list.items.items[r->at].id).p)
        r->at++;
    if (r->at < r->pod_list.items.n)
        call(r, CRI_RUNTIME_SERVICE "PodSandboxStatus", &cri_status_request_table,
             &(struct cri_status_request){ .id = r->pod_list.items.items[r->at].id,
                                           .verbose = true },
             on_pod_status);
    else
        call(r, CRI_RUNTIME_SERVICE "ListContainers", NULL, NULL, on_containers);
}

static void on_pods(struct rebuild *r)
{
    struct vec_of(struct str) ids = { 0 };

    if (r->code != GRPC_OK) {
        end(r);
        return;
    }
    r->pods = r->answer;
    r->answer = (struct strbuf)STRBUF_INIT;
    if (wire_decode(&cri_pod_list_table, (struct str){ strbuf_str(&r->pods), r->pods.len },
                    r->arena, &r->pod_list, &r->why) < 0) {
        end(r);
        return;
    }
    for (uint32_t i = 0; i < r->pod_list.items.n; i++)
        vec_push(&ids, r->pod_list.items.items[i].id);
    podstore_keep_only(r->p->store, STORE_POD, ids.items, ids.n);
    vec_fini(&ids);
    next_pod(r);
}

static void on_version(struct rebuild *r)
{
    struct cri_version v;
    struct kerr err;

    if (r->code != GRPC_OK) {
        kerr_wrap(&r->why, "ask %s for its version", r->p->o.backend);
        end(r);
        return;
    }
    if (wire_decode(&cri_version_table, answer_of(r), r->arena, &v, &err) == 0)
        KLOG_I(
            0, "Found the runtime",
            KV_S("name", arena_strndup(r->arena, v.runtime_name.n ? v.runtime_name.p : "",
                                       v.runtime_name.n)),
            KV_S("version", arena_strndup(r->arena, v.runtime_version.n ? v.runtime_version.p : "",
                                          v.runtime_version.n)));
    call(r, CRI_RUNTIME_SERVICE "ListPodSandbox", NULL, NULL, on_pods);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct rebuild *rebuild_new(struct proxy *p, void (*done)(void *arg, const struct kerr *err),
                            void *arg)
{
    struct rebuild *r = xnew0(struct rebuild);

    *r = (struct rebuild){ .p = p, .done = done, .arg = arg, .arena = arena_new() };
    r->http = grpc_client_new(p->o.loop, p->o.backend, p->o.dial, p->o.dial_arg);
    call(r, CRI_RUNTIME_SERVICE "Version", NULL, NULL, on_version);
    return r;
}

struct rebuild *rebuild_free(struct rebuild *r)
{
    if (!r)
        return NULL;
    timer_cancel(r->ending);
    grpc_call_cancel(r->call);
    http_free(r->http);
    strbuf_fini(&r->answer);
    strbuf_fini(&r->pods);
    strbuf_fini(&r->containers);
    arena_free(r->arena);
    free(r);
    return NULL;
}
