/* states_fixture.h - struct states on the virtual loop, with a fake API server and a fake kubelet.
 */
#ifndef KOORD_KOORDLET_STATES_TEST_STATES_FIXTURE_H
#define KOORD_KOORDLET_STATES_TEST_STATES_FIXTURE_H
#include <stdio.h>

#include "base/strbuf.h"
#include "client/kubeconfig.h"
#include "client/test/client_fixture.h"
#include "component/metrics.h"
#include "koordlet/states/states.h"
#include "net/httpd.h"
#include "net/stream.h"

#define NODES       "/api/v1/nodes"
#define NODESLOS    "/apis/slo.koordinator.sh/v1alpha1/nodeslos"
#define NODEMETRICS "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
#define NODE_JSON                                                           \
    "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"status\":{"                 \
    "\"allocatable\":{\"cpu\":\"4\",\"kubernetes.io/batch-cpu\":\"1500\"}," \
    "\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"10.0.0.7\"}],"   \
    "\"daemonEndpoints\":{\"kubeletEndpoint\":{\"Port\":10250}},"           \
    "\"nodeInfo\":{\"kubeletVersion\":\"v1.35.0\"}}}"

/* ---- a kubelet ------------------------------------------------------------------------------- */

enum kubelet_mood {
    KUBELET_GOOD,
    KUBELET_STATUS, /* answers with .status */
    KUBELET_TEXT,   /* answers 200 with .text */
    KUBELET_SILENT, /* never answers */
    KUBELET_DROPS   /* breaks off in the middle */
};
struct fake_kubelet {
    struct loop *loop;
    struct httpd *httpd;
    struct stream *end; /* the newest connection, on this side */
    enum kubelet_mood mood;
    int status;
    const char *text, *config;
    struct strbuf pods; /* the items, comma separated */
    unsigned asked, config_asked, dials;
    bool refuse;
};

static inline void fake_kubelet_break(struct loop *l, void *arg)
{
    struct fake_kubelet *k = arg;
    (void)l;
    stream_mem_break(k->end, -ECONNRESET, "connection reset by peer");
}

static inline void fake_kubelet_serve(void *arg, struct httpd_req *r)
{
    struct fake_kubelet *k = arg;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    if (streq(httpd_target(r), "/configz")) {
        k->config_asked++;
        httpd_reply(r, 200, "application/json", k->config, strlen(k->config));
        return;
    }
    assert_string_equal(httpd_target(r), "/pods/");
    k->asked++;
    if (k->mood == KUBELET_SILENT)
        return;
    if (k->mood == KUBELET_STATUS) {
        httpd_reply(r, k->status, "text/plain", "no", 2);
        return;
    }
    if (k->mood == KUBELET_TEXT) {
        httpd_reply(r, 200, "application/json", k->text, strlen(k->text));
        return;
    }
    strbuf_append(&body, "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{},\"items\":[");
    strbuf_appendn(&body, strbuf_str(&k->pods), k->pods.len);
    strbuf_append(&body, "]}");
    if (k->mood == KUBELET_DROPS) {
        httpd_respond(r, 200, NULL, 0, false);
        httpd_write(r, body.data, body.len / 2);
        loop_after(k->loop, 5 * NSEC_PER_MSEC, fake_kubelet_break, k);
        return;
    }
    httpd_reply(r, 200, "application/json", body.data, body.len);
}

struct fake_dial {
    struct fake_kubelet *k;
    http_dialed_fn fn;
    void *arg;
};

static inline void fake_kubelet_dialed(struct loop *l, void *arg)
{
    struct fake_dial *d = arg;
    struct stream *ends[2];
    struct kerr err = { 0 };

    if (d->k->refuse) {
        kerr_set(&err, -ECONNREFUSED, "connection refused");
        d->fn(d->arg, NULL, &err);
    } else {
        stream_mem_pair(l, &(struct mem_opts){ .latency = NSEC_PER_MSEC, .chunk = 777 }, ends);
        d->k->end = ends[1];
        httpd_serve(d->k->httpd, ends[1], "memory");
        d->fn(d->arg, ends[0], NULL);
    }
    free(d);
}

static inline void fake_kubelet_dial(void *dial_arg, struct loop *l, http_dialed_fn fn, void *arg)
{
    struct fake_dial *d = xnew(struct fake_dial);
    *d = (struct fake_dial){ dial_arg, fn, arg };
    ((struct fake_kubelet *)dial_arg)->dials++;
    loop_post(l, fake_kubelet_dialed, d);
}

/* A pod with one running container, unless container is false. */
static inline void fake_kubelet_add(struct fake_kubelet *k, const char *uid, const char *name,
                                    const char *extra_meta, bool container)
{
    if (k->pods.len)
        strbuf_appendc(&k->pods, ',');
    strbuf_appendf(
        &k->pods,
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"%s\",\"resourceVersion\":"
        "\"5\"%s},\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":{\"requests\":"
        "{\"kubernetes.io/batch-cpu\":\"500\"},\"limits\":{\"kubernetes.io/batch-memory\":"
        "\"1Gi\"}}}]},\"status\":{\"phase\":\"Running\",\"qosClass\":\"Burstable\"%s%s%s}}",
        name, uid, extra_meta,
        container ? ",\"containerStatuses\":[{\"name\":\"main\",\"containerID\":\"containerd://c-"
                  : "",
        container ? name : "", container ? "\",\"state\":{\"running\":{}}}]" : "");
}

/* ---- all of it ------------------------------------------------------------------------------- */

struct states_fixture {
    struct client_fixture api;
    struct fake_kubelet kubelet;
    struct kube_config config;
    struct host host;
    struct metrics *internal, *external;
    struct states_options o;
    struct states *states;
    struct snapshots *snapshots;
};

static inline void states_fixture_init(struct states_fixture *r)
{
    memset(r, 0, sizeof *r);
    client_fixture_init(&r->api, 7);
    r->snapshots = snapshots_new(r->api.loop);
    r->internal = metrics_new();
    r->external = metrics_new();
    r->host = (struct host){ .driver = CGROUP_SYSTEMD, .driver_known = true };
    r->kubelet.loop = r->api.loop;
    r->kubelet.httpd =
        httpd_new(r->api.loop, &(struct httpd_opts){ 0 }, fake_kubelet_serve, &r->kubelet);
    r->kubelet.config = "{\"kubeletconfig\":{\"cpuManagerPolicy\":\"static\"}}";
    r->o = (struct states_options){
        .node_name = "n1",
        .kubelet_address_type = "InternalIP",
        .kubelet_sync_interval = 10 * NSEC_PER_SEC,
        .kubelet_sync_timeout = 3 * NSEC_PER_SEC,
        .kubelet_read_only_port = 10255,
        .query_kubelet_config = true,
        .report_metric = true,
        .pleg = true,
    };
    fake_put(r->api.fake, NODES, "n1", NODE_JSON);
    fake_kubelet_add(&r->kubelet, "11111111-2222-3333-4444-555555555555", "web", "", true);
}

static inline void states_fixture_start(struct states_fixture *r)
{
    struct states_env env = {
        .loop = r->api.loop,
        .snapshots = r->snapshots,
        .kube = r->api.kube,
        .config = &r->config,
        .host = &r->host,
        .internal = r->internal,
        .external = r->external,
        .kubelet_dial = fake_kubelet_dial,
        .kubelet_dial_arg = &r->kubelet,
    };
    r->states = states_new(&env, &r->o);
    states_start(r->states);
}

static inline void states_fixture_fini(struct states_fixture *r)
{
    states_free(r->states);
    snapshots_free(r->snapshots);
    httpd_free(r->kubelet.httpd);
    strbuf_fini(&r->kubelet.pods);
    metrics_free(r->internal);
    metrics_free(r->external);
    client_fixture_fini(&r->api);
}
static inline UNUSED void states_fixture_fini_p(struct states_fixture *r)
{
    states_fixture_fini(r);
}

/* What is known now. */
static inline UNUSED const struct snapshot *states_fixture_known(const struct states_fixture *r)
{
    return snapshots_get(r->snapshots);
}

static inline void states_fixture_run(struct states_fixture *r, double seconds)
{
    loop_advance(r->api.loop, (nsec_t)(seconds * (double)NSEC_PER_SEC));
}

/* true: the registry shows this line. */
static inline bool states_fixture_shows(struct metrics *m, const char *line)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    metrics_write(&m, 1, &out);
    return strstr(strbuf_str(&out), line) != NULL;
}
#endif
