/* podresources.c - the proxy's two ends. */
#include "koordlet/states/podresources.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/klog.h"
#include "component/metrics.h"
#include "koordlet/states/complaint.h"
#include "loop/loop.h"
#include "net/grpc.h"
#include "sys/file.h"

#define SERVICE      "/v1.PodResourcesLister/"
#define CALL_TIMEOUT (10 * NSEC_PER_SEC)
#define LOOK_EVERY   (10 * NSEC_PER_SEC)

static const struct metric_desc requests_desc = {
    .name = "koordlet_pod_resources_proxy_requests_total",
    .help = "Requests to the pod-resources proxy by method and gRPC code.",
    .type = METRIC_COUNTER,
    .labels = { "method", "code" },
};

enum method { METHOD_LIST, METHOD_GET, METHOD_ALLOCATABLE, METHOD_OTHER, METHODS };
static const char *const method_names[METHODS] = { "List", "Get", "GetAllocatableResources",
                                                   "other" };
struct method_arg { /* what a call that is under way points to */
    struct podresources *p;
    enum method method;
};
struct podresources {
    struct podresources_env env;
    struct grpc_server *server;
    struct http *kubelet;
    char *socket, *backend; /* "unix:..." and a path */
    struct method_arg methods[METHODS];
    struct metric *requests;
    struct timer *timer;
    bool started, listening, has_backend;
    struct complaint not_listening, no_backend, bad_annotation;
    char missing[512];
};

/* ---- calls ----------------------------------------------------------------------------------- */

static void count(const struct podresources *p, enum method m, enum grpc_code code)
{
    counter_inc(metric_counter(p->requests, METRIC_VALUES(method_names[m], grpc_code_name(code))));
}

static void on_end(void *arg, const struct grpc_status *st)
{
    const struct method_arg *m = arg;
    count(m->p, m->method, st->code);
}

static int on_list(void *arg, struct str message, struct strbuf *out, struct kerr *err)
{
    struct podresources *p = ((struct method_arg *)arg)->p;
    const struct podset *pods = snapshots_get(p->env.snapshots)->pods;
    struct kerr bad;

    if (!pods)
        return kerr_set(err, -EAGAIN, "no pods from the kubelet yet");
    int r = podresources_edit(message, pods, out, &bad, err);
    if (bad.code < 0 && complaint_due(&p->bad_annotation, loop_mono(p->env.loop)))
        KLOG_E(&bad, "Failed to read the devices of a pod, leaving them out of its entry");
    return r;
}

static enum method method_of(const char *name)
{
    enum method m = 0;

    while (m < METHOD_OTHER && !streq(name, method_names[m]))
        m++;
    return m;
}

static void refuse(struct podresources *p, struct grpc_req *r, enum method m, enum grpc_code code,
                   const char *text)
{
    count(p, m, code);
    grpc_fail(r, code, "%s", text);
}

static void on_request(void *arg, struct grpc_req *r, const char *method, struct str message)
{
    struct podresources *p = arg;

    if (!str_starts(method, SERVICE)) {
        refuse(p, r, METHOD_OTHER, GRPC_UNIMPLEMENTED, "only v1.PodResourcesLister is served");
        return;
    }
    enum method m = method_of(method + strlen(SERVICE));
    /* A list without our devices would be taken for the truth. */
    if (m == METHOD_LIST && !snapshots_get(p->env.snapshots)->pods) {
        refuse(p, r, m, GRPC_UNAVAILABLE, "no pods from the kubelet yet");
        return;
    }
    grpc_relay(r, &(struct grpc_relay_opts){
                      .to = p->kubelet,
                      .method = method,
                      .message = message,
                      .timeout = CALL_TIMEOUT,
                      .edit = m == METHOD_LIST ? on_list : NULL,
                      .arg = &p->methods[m],
                      .on_end = on_end,
                  });
}

/* ---- our socket, and the kubelet's ----------------------------------------------------------- */

static void listen_now(struct podresources *p)
{
    struct kerr err;

    if (p->listening)
        return;
    if (dir_make(AT_FDCWD, p->env.dir, 0750, &err) == 0 &&
        httpd_listen(grpc_server_httpd(p->server), p->socket, NULL, NULL, &err) == 0) {
        p->listening = true;
        KLOG_I(0, "Serving pod resources", KV_S("address", p->socket));
        return;
    }
    snprintf(p->missing, sizeof p->missing, "the pod-resources proxy does not serve: %s", err.text);
    if (complaint_due(&p->not_listening, loop_mono(p->env.loop)))
        KLOG_E(&err, "Failed to serve pod resources");
}

static void look_for_backend(struct podresources *p)
{
    struct stat st;

    p->has_backend = stat(p->backend, &st) == 0;
    if (p->has_backend) {
        if (complaint_over(&p->no_backend))
            KLOG_I(0, "Found the kubelet's pod-resources socket", KV_S("path", p->backend));
        return;
    }
    if (p->listening)
        snprintf(p->missing, sizeof p->missing,
                 "the pod-resources proxy has no kubelet behind it: %s: %s", p->backend,
                 strerror(errno));
    if (complaint_due(&p->no_backend, loop_mono(p->env.loop)))
        KLOG_W("The kubelet's pod-resources socket is not there", KV_S("path", p->backend));
}

static void on_look(struct loop *l, void *arg)
{
    struct podresources *p = arg;

    p->timer = loop_after(l, LOOK_EVERY, on_look, p);
    listen_now(p);
    look_for_backend(p);
}

void podresources_start(struct podresources *p)
{
    p->started = true;
    on_look(p->env.loop, p);
}

const char *podresources_missing(const struct podresources *p)
{
    return !p->started || (p->listening && p->has_backend) ? NULL : p->missing;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct podresources *podresources_new(const struct podresources_env *env)
{
    struct podresources *p = xnew0(struct podresources);
    const char *slash = str_ends(env->dir, "/") ? "" : "/";

    p->env = *env;
    p->socket = xasprintf("unix:%s%skubelet.sock", env->dir, slash);
    p->backend = xasprintf("%spod-resources/kubelet.sock", env->host->roots.var_lib_kubelet);
    for (enum method m = 0; m < METHODS; m++)
        p->methods[m] = (struct method_arg){ p, m };
    p->requests = metrics_add(env->internal, &requests_desc);
    p->kubelet = grpc_client_new(env->loop, p->backend, NULL, NULL);
    p->server = grpc_server_new(env->loop, NULL, on_request, p);
    return p;
}

struct podresources *podresources_free(struct podresources *p)
{
    if (!p)
        return NULL;
    timer_cancel(p->timer);
    grpc_server_free(p->server); /* ends its calls to the kubelet */
    http_free(p->kubelet);
    free(p->socket);
    free(p->backend);
    free(p);
    return NULL;
}
