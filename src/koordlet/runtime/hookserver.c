/* hookserver.c - runtime.v1alpha1.RuntimeHookService, for koord-runtime-proxy (koordlet-qos 14.6).
 *
 * An answer starts as an echo of the request; what the hooks say overwrites it. The configuration
 * that tells the proxy of us is written once we listen, and again whenever it is gone: a proxy that
 * is installed later, or anew, brings a directory without it.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/wire/hook.h"
#include "base/klog.h"
#include "koordlet/runtime/delivery_int.h"
#include "loop/loop.h"
#include "net/grpc.h"
#include "sys/file.h"
#include "json/kj.h"

#define CONFIG_FILE  "koordlet.json"
#define CONFIG_CHECK (10 * NSEC_PER_SEC)

struct hookserver {
    struct delivery *d;
    struct grpc_server *grpc;
    struct timer *check; /* of the configuration; NULL: not announced */
    int told;            /* what became of the last write of it; 1: none was tried */
};

/* ---- resources ------------------------------------------------------------------------------- */

static struct opt_i64 asked(int64_t v)
{
    return v ? (struct opt_i64){ true, MAX(v, (int64_t)-1) } : (struct opt_i64){ 0 };
}

static void requested_of(const struct cri_resources *r, struct arena *a, struct hook_resources *ret)
{
    if (!r)
        return;
    ret->cpu_shares = asked(r->cpu_shares);
    ret->cfs_quota = asked(r->cpu_quota);
    ret->memory_limit = asked(r->memory_limit);
    if (r->cpuset_cpus.n > 0)
        ret->cpuset = arena_strndup(a, r->cpuset_cpus.p, r->cpuset_cpus.n);
}

static bool says_resources(const struct hook_resources *r)
{
    return r->cpu_shares.set || r->cfs_quota.set || r->memory_limit.set || r->cpuset;
}

/* The response over what was asked for. */
static struct cri_resources *answered(const struct hook_resources *r, struct cri_resources *echo,
                                      struct arena *a)
{
    if (!says_resources(r))
        return echo;
    struct cri_resources *ret = echo ? echo : arena_new0(a, struct cri_resources);
    if (r->cpu_shares.set)
        ret->cpu_shares = r->cpu_shares.v;
    if (r->cfs_quota.set)
        ret->cpu_quota = r->cfs_quota.v;
    if (r->memory_limit.set)
        ret->memory_limit = r->memory_limit.v;
    if (r->cpuset)
        ret->cpuset_cpus = str_of(r->cpuset);
    return ret;
}

static wire_map with_envs(const wire_map *echo, const struct hook_context *c, struct arena *a)
{
    wire_map ret = { .items = arena_newn0(a, echo->n + c->envs.n + 1, struct wire_pair) };

    for (uint32_t i = 0; i < echo->n; i++)
        ret.items[ret.n++] = echo->items[i];
    vec_foreach(&c->envs, i) {
        struct wire_pair e = { str_of(c->envs.items[i].name), str_of(c->envs.items[i].value) };
        uint32_t k = 0;
        while (k < ret.n && !str_eq(ret.items[k].key, e.key))
            k++;
        ret.items[k] = e;
        ret.n = MAX(ret.n, k + 1);
    }
    return ret;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void answer(struct grpc_req *r, const struct wire_table *t, const void *message)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    wire_encode(t, message, &out);
    grpc_send(r, (struct str){ strbuf_str(&out), out.len });
    grpc_finish(r, &(struct grpc_status){ .code = GRPC_OK });
}

static struct asked_pod asked_of(const struct cri_pod_metadata *m)
{
    return m ? (struct asked_pod){ .ns = m->ns, .name = m->name, .uid = m->uid }
             : (struct asked_pod){ 0 };
}

static void serve_pod(struct hookserver *s, struct grpc_req *r, enum hook_stage stage,
                      struct str message)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(hook_context_fini) struct hook_context c = { 0 };
    struct hook_pod_request in;
    struct kerr err;

    if (wire_decode(&hook_pod_request_table, message, a, &in, &err) < 0) {
        grpc_fail(r, GRPC_INTERNAL, "%s", err.text);
        return;
    }
    struct asked_pod p = asked_of(in.pod);
    p.labels = in.labels;
    p.annotations = in.annotations;
    p.cgroup_parent = in.cgroup_parent;
    request_pod(&p, a, &c);
    requested_of(in.resources, a, &c.requested);
    int code = stage == HOOK_PRE_RUN_POD_SANDBOX ? delivery_run_pod(s->d, &p, &c, &err)
                                                 : delivery_run(s->d, stage, &c, &err);
    if (code < 0) {
        grpc_fail(r, GRPC_UNKNOWN, "%s", err.text);
        return;
    }
    answer(r, &hook_pod_response_table,
           &(struct hook_pod_response){ .labels = in.labels,
                                        .annotations = in.annotations,
                                        .cgroup_parent = in.cgroup_parent,
                                        .resources = answered(&c.response, in.resources, a) });
}

static void serve_container(struct hookserver *s, struct grpc_req *r, enum hook_stage stage,
                            struct str message)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(hook_context_fini) struct hook_context c = { 0 };
    static const struct hook_container_metadata nobody;
    struct hook_container_request in;
    struct kerr err;

    if (wire_decode(&hook_container_request_table, message, a, &in, &err) < 0) {
        grpc_fail(r, GRPC_INTERNAL, "%s", err.text);
        return;
    }
    const struct hook_container_metadata *m = in.container ? in.container : &nobody;
    struct asked_pod p = asked_of(in.pod);
    p.labels = in.pod_labels;
    p.annotations = in.pod_annotations;
    p.cgroup_parent = in.cgroup_parent;
    request_container(&p, m->name, m->id, s->d->env.o->hooks.default_runtime, a, &c);
    requested_of(in.resources, a, &c.requested);
    if (delivery_run(s->d, stage, &c, &err) < 0) {
        grpc_fail(r, GRPC_UNKNOWN, "%s", err.text);
        return;
    }
    if (stage == HOOK_PRE_CREATE_CONTAINER)
        ledger_expect(s->d->ledger, c.uid, c.container);
    answer(r, &hook_container_response_table,
           &(struct hook_container_response){ .annotations = in.annotations,
                                              .resources = answered(&c.response, in.resources, a),
                                              .cgroup_parent = in.cgroup_parent,
                                              .envs = with_envs(&in.envs, &c, a) });
}

static const struct {
    const char *method;
    enum hook_stage stage;
    bool is_pod;
} methods[] = {
    { HOOK_SERVICE "PreRunPodSandboxHook", HOOK_PRE_RUN_POD_SANDBOX, true },
    { HOOK_SERVICE "PostStopPodSandboxHook", HOOK_POST_STOP_POD_SANDBOX, true },
    { HOOK_SERVICE "PreCreateContainerHook", HOOK_PRE_CREATE_CONTAINER, false },
    { HOOK_SERVICE "PreStartContainerHook", HOOK_PRE_START_CONTAINER, false },
    { HOOK_SERVICE "PostStartContainerHook", HOOK_POST_START_CONTAINER, false },
    { HOOK_SERVICE "PostStopContainerHook", HOOK_POST_STOP_CONTAINER, false },
    { HOOK_SERVICE "PreUpdateContainerResourcesHook", HOOK_PRE_UPDATE_CONTAINER, false },
};

static void on_call(void *arg, struct grpc_req *r, const char *method, struct str message)
{
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        if (!streq(method, methods[i].method))
            continue;
        if (methods[i].is_pod)
            serve_pod(arg, r, methods[i].stage, message);
        else
            serve_container(arg, r, methods[i].stage, message);
        return;
    }
    grpc_fail(r, GRPC_UNIMPLEMENTED, "unknown method %s", method);
}

/* ---- telling the proxy ----------------------------------------------------------------------- */

static void config_text(const struct delivery *d, struct strbuf *out)
{
    const struct hooks_options *o = &d->env.o->hooks;
    bool first = true;

    strbuf_append(out, "{\n\t\"remote-endpoint\": ");
    strbuf_append_quoted(out, o->host_endpoint, strlen(o->host_endpoint));
    strbuf_appendf(out, ",\n\t\"failure-policy\": \"%s\",\n\t\"runtime-hooks\": [",
                   o->failure_policy);
    for (int s = 0; s < HOOK_STAGES; s++) {
        if (!delivery_has(d, (enum hook_stage)s))
            continue;
        strbuf_appendf(out, "%s\n\t\t\"%s\"", first ? "" : ",",
                       hook_stage_name((enum hook_stage)s));
        first = false;
    }
    strbuf_append(out, first ? "]\n}" : "\n\t]\n}");
}

/* Returns 1 when it had to be written, 0 when it is there. No directory is made: where there is
 * none, none was mounted for us, and no proxy looks yet. */
static int write_config(const struct delivery *d, bool anew, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const char *dir = d->env.o->hooks.config_dir;

    CLEANUP(fd_close) int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return kerr_set(err, -errno, "%s: %s", dir, strerror(errno));
    if (!anew && faccessat(fd, CONFIG_FILE, F_OK, 0) == 0)
        return 0;
    config_text(d, &text);
    int r = file_write_atomic(fd, CONFIG_FILE, text.data, text.len, 0644, err);
    return r < 0 ? r : 1;
}

/* The same failure is told once. */
static void tell_proxy(struct loop *l, void *arg)
{
    struct hookserver *s = arg;
    const struct hooks_options *o = &s->d->env.o->hooks;
    struct kerr err = { 0 };

    s->check = loop_after(l, CONFIG_CHECK, tell_proxy, s);
    int r = write_config(s->d, s->told != 0, &err);
    if (r < 0 && r != s->told)
        KLOG_E(&err, "Failed to tell koord-runtime-proxy of the hook server, trying again",
               KV_S("directory", o->config_dir));
    else if (r > 0)
        KLOG_I(0, "Serving hooks for koord-runtime-proxy", KV_S("address", o->addr),
               KV_S("config", o->config_dir));
    s->told = MIN(r, 0);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct hookserver *hookserver_new(struct delivery *d)
{
    struct hookserver *s = xnew0(struct hookserver);

    s->d = d;
    s->told = 1;
    s->grpc = grpc_server_new(d->env.loop, NULL, on_call, s);
    return s;
}

int hookserver_listen(struct hookserver *s, struct kerr *err)
{
    const struct delivery *d = s->d;
    const struct hooks_options *o = &d->env.o->hooks;
    bool is_unix = streq(o->network, "unix");
    CLEANUP(mem_free) char *addr = is_unix ? xasprintf("unix:%s", o->addr) : xstrdup(o->addr);

    if (httpd_listen(grpc_server_httpd(s->grpc), addr, NULL, NULL, err) < 0)
        return err->code;
    return 0;
}

void hookserver_announce(struct hookserver *s)
{
    tell_proxy(s->d->env.loop, s);
}

void hookserver_serve(struct hookserver *s, struct stream *stream)
{
    httpd_serve(grpc_server_httpd(s->grpc), stream, "memory");
}

struct hookserver *hookserver_free(struct hookserver *s)
{
    if (!s)
        return NULL;
    timer_cancel(s->check);
    grpc_server_free(s->grpc);
    free(s);
    return NULL;
}
