/* docker_rebuild.c - what dockerd runs, asked for at the start (runtime-proxy 7).
 *
 * Its cgroup driver first, then the list; what is not known from an earlier proxy is inspected one
 * by one, sandboxes before containers. No version in the paths: dockerd then takes its own, while
 * one of ours would be too old for it some day.
 */
#include "base/klog.h"
#include "base/vec.h"
#include "loop/loop.h"
#include "runtimeproxy/docker.h"
#include "runtimeproxy/docker_json.h"
#include "runtimeproxy/proxy_int.h"

#define PATIENCE (10 * NSEC_PER_SEC)

enum { ANSWER_MAX = 64 << 20 };

struct docker_rebuild {
    struct proxy *p;
    struct http *http;
    struct http_call *call;
    struct timer *ending;
    void (*done)(void *arg, const struct kerr *err);
    void *arg;
    struct kerr why;
    void (*next)(struct docker_rebuild *r, const struct kj_val *answer); /* NULL: there is none */
    int status;
    struct strbuf answer;
    struct kj_doc *list;
    bool at_containers; /* behind the sandboxes */
    size_t at;
};

/* ---- requests one after the other ------------------------------------------------------------ */

static void on_ending(struct loop *l, void *arg)
{
    struct docker_rebuild *r = arg;
    struct kerr why = r->why; /* the receiver may free all of this */

    (void)l;
    r->ending = NULL;
    r->done(r->arg, why.code < 0 ? &why : NULL);
}

static void end(struct docker_rebuild *r)
{
    r->ending = loop_after(r->p->o.loop, 0, on_ending, r);
}

static void on_headers(void *arg, const struct http_resp *resp)
{
    ((struct docker_rebuild *)arg)->status = resp->status;
}

static void on_data(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct docker_rebuild *)arg)->answer, p, n);
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    struct docker_rebuild *r = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    (void)sent;
    r->call = NULL;
    if (err)
        r->why = *err;
    else if (r->status != 200)
        kerr_set(&r->why, -EIO, "status %d: %.*s", r->status, (int)MIN(r->answer.len, (size_t)160),
                 strbuf_str(&r->answer));
    else if (kj_parse(strbuf_str(&r->answer), r->answer.len, 0, &doc, &r->why) == 0)
        r->why.code = 0;
    r->next(r, kj_root(doc));
}

static void get(struct docker_rebuild *r, const char *target,
                void (*next)(struct docker_rebuild *r, const struct kj_val *answer))
{
    static const struct http_handler events = { .on_headers = on_headers,
                                                .on_data = on_data,
                                                .on_end = on_end };

    strbuf_reset(&r->answer);
    r->status = 0;
    r->next = next;
    r->call = http_send(
        r->http,
        &(struct http_req){
            .method = "GET", .target = target, .timeout = PATIENCE, .max_body = ANSWER_MAX },
        &events, r);
}

/* ---- pods and containers --------------------------------------------------------------------- */

static void next_item(struct docker_rebuild *r);

static void put(struct docker_rebuild *r, enum podstore_kind k, const char *id,
                const struct wire_table *t, const void *message)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    wire_encode(t, message, &out);
    podstore_put(r->p->store, k, str_of(id), (struct str){ strbuf_str(&out), out.len });
}

static void put_container(struct docker_rebuild *r, const char *id,
                          const struct cri_create_request *in, struct arena *a)
{
    struct str bytes = podstore_get(r->p->store, STORE_POD, in->pod_id);
    struct hook_container_request out;
    struct hook_pod_request pod;

    if (!bytes.p || wire_decode(&hook_pod_request_table, bytes, a, &pod, NULL) < 0)
        return; /* of a pod that nobody knows: there is nothing to ask hooks about */
    merge_from_create(in, &pod, a, &out);
    out.container->id = str_of(id);
    put(r, STORE_CONTAINER, id, &hook_container_request_table, &out);
}

static void on_inspected(struct docker_rebuild *r, const struct kj_val *answer)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const char *id = kj_str(kj_get(answer, "Id"));
    struct docker_created made;
    struct docker_name name;

    if (!answer && r->status == 0) { /* not one container that went meanwhile: dockerd itself */
        end(r);
        return;
    }
    r->why.code = 0;
    if (id && docker_name_split(kj_str_or(kj_get(answer, "Name"), ""), a, &name)) {
        struct hook_pod_request pod;
        docker_read_create(kj_get(answer, "Config"), kj_get(answer, "HostConfig"), &name,
                           r->p->has_systemd, a, &made);
        merge_from_run_pod(&made.run, &pod);
        if (made.is_pod)
            put(r, STORE_POD, id, &hook_pod_request_table, &pod);
        else
            put_container(r, id, &made.create, a);
    }
    next_item(r);
}

/* An ID goes into a path. */
static bool is_id(const char *s)
{
    return s && *s && strspn(s, "0123456789abcdef") == strlen(s);
}

static void next_item(struct docker_rebuild *r)
{
    const struct kj_val *list = kj_root(r->list);

    for (;; r->at_containers = true, r->at = 0) {
        for (; r->at < kj_len(list); r->at++) {
            const struct kj_val *one = kj_at(list, r->at);
            const char *id = kj_str(kj_get(one, "Id"));
            bool is_pod = docker_is_pod(kj_get(one, "Labels"));
            enum podstore_kind k = is_pod ? STORE_POD : STORE_CONTAINER;

            if (!is_id(id) || is_pod == r->at_containers ||
                podstore_get(r->p->store, k, str_of(id)).p)
                continue;
            CLEANUP(mem_free) char *target = xasprintf("/containers/%s/json", id);
            r->at++;
            get(r, target, on_inspected);
            return;
        }
        if (r->at_containers)
            break;
    }
    end(r);
}

/* What an earlier proxy knew and dockerd does not have any more. */
static void keep_listed(struct docker_rebuild *r)
{
    struct vec_of(struct str) ids = { 0 };
    struct kj_iter it = kj_iter(kj_root(r->list));
    const struct kj_val *one;
    struct str key;

    while (kj_next(&it, &key, &one))
        vec_push(&ids, str_of(kj_str_or(kj_get(one, "Id"), "")));
    podstore_keep_only(r->p->store, STORE_POD, ids.items, ids.n);
    podstore_keep_only(r->p->store, STORE_CONTAINER, ids.items, ids.n);
    vec_fini(&ids);
}

static void on_list(struct docker_rebuild *r, const struct kj_val *answer)
{
    if (!answer || kj_parse(strbuf_str(&r->answer), r->answer.len, 0, &r->list, &r->why) < 0) {
        kerr_wrap(&r->why, "list the containers of %s", r->p->o.backend);
        end(r);
        return;
    }
    keep_listed(r);
    next_item(r);
}

static void on_info(struct docker_rebuild *r, const struct kj_val *answer)
{
    if (!answer) {
        kerr_wrap(&r->why, "ask dockerd at %s what it is", r->p->o.backend);
        end(r);
        return;
    }
    const char *driver = kj_str_or(kj_get(answer, "CgroupDriver"), "cgroupfs");
    r->p->has_systemd = streq(driver, "systemd");
    KLOG_I(0, "Found the runtime", KV_S("name", "docker"),
           KV_S("version", kj_str_or(kj_get(answer, "ServerVersion"), "")),
           KV_S("cgroupDriver", driver));
    get(r, "/containers/json?all=1", on_list);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct docker_rebuild *docker_rebuild_new(struct proxy *p,
                                          void (*done)(void *arg, const struct kerr *err),
                                          void *arg)
{
    struct docker_rebuild *r = xnew0(struct docker_rebuild);

    *r = (struct docker_rebuild){ .p = p, .done = done, .arg = arg };
    r->http = http_client_new(p->o.loop, &(struct http_client_opts){ .host = "docker",
                                                                     .unix_path = p->o.backend,
                                                                     .no_gzip = true,
                                                                     .dial = p->o.dial,
                                                                     .dial_arg = p->o.dial_arg });
    get(r, "/info", on_info);
    return r;
}

struct docker_rebuild *docker_rebuild_free(struct docker_rebuild *r)
{
    if (!r)
        return NULL;
    timer_cancel(r->ending);
    http_cancel(r->call);
    http_free(r->http);
    strbuf_fini(&r->answer);
    kj_doc_free(r->list);
    free(r);
    return NULL;
}
