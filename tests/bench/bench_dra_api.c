/* bench_dra_api.c - pods with ResourceClaims on a real API server: what its writes allow, and what
 * the scheduler reaches. Prints one JSON object.
 *
 *     bench_dra_api KUBECONFIG NAMESPACE NODES PODS ROUNDS HELD
 *
 * Of the ten devices of each node HELD are in use from the start, each node's by a claim.
 * By turns: PODS claims get finalizer, allocation and user, and their pods a node, written by a
 * bare client that knows them, with as many under way as the scheduler has at most; then the
 * scheduler does the same for PODS others, from the moment it leads until all are bound. The bare
 * client sends three requests for a pod. Those of the scheduler are counted: on a server that is
 * the bottleneck a fourth (a nomination, an event, a conflict) costs a quarter of the share.
 */
#include <stdio.h>

#include "api/dra.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/intern.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "client/kubeconfig.h"
#include "loop/loop.h"
#include "scheduler/scheduler.h"

enum { WINDOW = 256, DEVICES = 10, LOADING = 64 };

struct bench {
    struct loop *loop;
    struct kube *kube;
    const char *ns;
    unsigned nodes, pods, held, round;
    struct scheduler *s;
    uint64_t requests; /* while it scheduled */
    /* a pass of requests */
    unsigned next, end, in_flight, window, failed;
    void (*start)(struct bench *b, unsigned i);
    char first_error[256];
};

static void quiet(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
}

/* ---- passes ---------------------------------------------------------------------------------- */

static void pump(struct bench *b)
{
    while (b->next < b->end && b->in_flight < b->window) {
        b->in_flight++;
        b->start(b, b->next++);
    }
    if (b->next == b->end && b->in_flight == 0)
        loop_stop(b->loop);
}

static void finished(struct bench *b, const struct kerr *err)
{
    b->in_flight--;
    if (err && err->reason != KR_ALREADY_EXISTS && b->failed++ == 0)
        (void)snprintf(b->first_error, sizeof b->first_error, "%s", err->text);
    pump(b);
}

static double pass(struct bench *b, unsigned n, unsigned window,
                   void (*start)(struct bench *, unsigned))
{
    nsec_t began = loop_stopwatch(b->loop);

    b->next = 0;
    b->end = n;
    b->window = window;
    b->start = start;
    if (n == 0) /* nobody would end the loop */
        return 0;
    pump(b);
    loop_run(b->loop);
    return (double)(loop_stopwatch(b->loop) - began) / 1e9;
}

static void on_done(void *arg, struct kube_resp *r, const struct kerr *err)
{
    (void)r;
    finished(arg, err);
}

static void create(struct bench *b, const struct kind *k, const char *ns, struct strbuf *body)
{
    for (size_t i = 0; i < body->len; i++)
        if (body->data[i] == '\'')
            body->data[i] = '"';
    kube_do(
        b->kube,
        &(struct kube_req){
            .verb = KUBE_CREATE, .kind = k, .ns = ns, .body = body->data, .body_len = body->len },
        on_done, b);
}

/* ---- objects --------------------------------------------------------------------------------- */

static void make_class(struct bench *b, unsigned i)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;

    (void)i;
    strbuf_append(&t, "{'apiVersion':'resource.k8s.io/v1','kind':'DeviceClass','metadata':{'name':"
                      "'gpu'},'spec':{}}");
    create(b, &kind_device_class, NULL, &t);
}

static void make_node(struct bench *b, unsigned i)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;

    strbuf_appendf(&t,
                   "{'apiVersion':'v1','kind':'Node','metadata':{'name':'node-%u'},'status':{"
                   "'capacity':{'cpu':'64','memory':'256Gi','pods':'1000'}}}",
                   i);
    create(b, &kind_node, NULL, &t);
}

static void make_slice(struct bench *b, unsigned i)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;

    strbuf_appendf(&t,
                   "{'apiVersion':'resource.k8s.io/v1','kind':'ResourceSlice','metadata':{'name':"
                   "'slice-%u'},'spec':{'driver':'gpu.example.com','nodeName':'node-%u','pool':{"
                   "'name':'node-%u','generation':1,'resourceSliceCount':1},'devices':[",
                   i, i, i);
    for (unsigned d = 0; d < DEVICES; d++)
        strbuf_appendf(&t, "%s{'name':'dev-%u'}", d ? "," : "", d);
    strbuf_append(&t, "]}}");
    create(b, &kind_resource_slice, NULL, &t);
}

static void make_held(struct bench *b, unsigned i)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;

    strbuf_appendf(&t,
                   "{'apiVersion':'resource.k8s.io/v1','kind':'ResourceClaim','metadata':{'name':"
                   "'held-%u'},'spec':{'devices':{'requests':[{'name':'r','exactly':{"
                   "'deviceClassName':'gpu','count':%u}}]}}}",
                   i, b->held);
    create(b, &kind_resource_claim, b->ns, &t);
}

static void hold(struct bench *b, unsigned i)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;
    char name[32];

    (void)snprintf(name, sizeof name, "held-%u", i);
    strbuf_append(&t, "{\"status\":{\"allocation\":{\"devices\":{\"results\":[");
    for (unsigned d = 0; d < b->held; d++)
        strbuf_appendf(&t,
                       "%s{\"request\":\"r\",\"driver\":\"gpu.example.com\",\"pool\":\"node-%u\","
                       "\"device\":\"dev-%u\"}",
                       d ? "," : "", i, d);
    strbuf_append(&t, "]}}}}");
    kube_do(b->kube,
            &(struct kube_req){ .verb = KUBE_PATCH,
                                .patch = KUBE_PATCH_MERGE,
                                .kind = &kind_resource_claim,
                                .ns = b->ns,
                                .name = name,
                                .subresource = "status",
                                .body = t.data,
                                .body_len = t.len },
            on_done, b);
}

/* The first PODS of a round are the bare client's, the others the scheduler's. */
static void make_claim(struct bench *b, unsigned i)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;

    strbuf_appendf(&t,
                   "{'apiVersion':'resource.k8s.io/v1','kind':'ResourceClaim','metadata':{'name':"
                   "'c-%u-%u'},'spec':{'devices':{'requests':[{'name':'r','exactly':{"
                   "'deviceClassName':'gpu'}}]}}}",
                   b->round, i);
    create(b, &kind_resource_claim, b->ns, &t);
}

static void make_pod(struct bench *b, unsigned i)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;

    strbuf_appendf(&t,
                   "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p-%u-%u'},'spec':{"
                   "'schedulerName':'%s','containers':[{'name':'c','image':'i','resources':{"
                   "'claims':[{'name':'gpu'}]}}],'resourceClaims':[{'name':'gpu',"
                   "'resourceClaimName':'c-%u-%u'}]}}",
                   b->round, i, i < b->pods ? "nobody" : "koord-scheduler", b->round, i);
    create(b, &kind_pod, b->ns, &t);
}

/* ---- the bare client ------------------------------------------------------------------------- */

struct chain { /* the writes for one pod */
    struct bench *b;
    unsigned pod, step;
};

static void on_step(void *arg, struct kube_resp *r, const struct kerr *err);

static void send_step(struct chain *c)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;
    char name[64];
    struct kube_req r = { .verb = KUBE_PATCH,
                          .patch = KUBE_PATCH_MERGE,
                          .kind = &kind_resource_claim,
                          .ns = c->b->ns,
                          .name = name };

    (void)snprintf(name, sizeof name, "%c-%u-%u", c->step == 2 ? 'p' : 'c', c->b->round, c->pod);
    if (c->step == 0) {
        strbuf_append(&t, "{\"metadata\":{\"finalizers\":[\"" CLAIM_FINALIZER "\"]}}");
    } else if (c->step == 1) {
        r.subresource = "status";
        strbuf_appendf(
            &t,
            "{\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"request\":\"r\",\"driver\":"
            "\"other.example.com\",\"pool\":\"round-%u\",\"device\":\"dev-%u\"}]},"
            "\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":\"metadata.name\","
            "\"operator\":\"In\",\"values\":[\"node-%u\"]}]}]}},\"reservedFor\":[{\"resource\":"
            "\"pods\",\"name\":\"p-%u-%u\",\"uid\":\"00000000-0000-4000-8000-%012u\"}]}}",
            c->b->round, c->pod, c->pod % c->b->nodes, c->b->round, c->pod, c->pod);
    } else {
        r = (struct kube_req){ .verb = KUBE_CREATE,
                               .kind = &kind_pod,
                               .ns = c->b->ns,
                               .name = name,
                               .subresource = "binding" };
        strbuf_appendf(&t,
                       "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"%s\"},"
                       "\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"node-%u\"}}",
                       name, c->pod % c->b->nodes);
    }
    r.body = t.data;
    r.body_len = t.len;
    kube_do(c->b->kube, &r, on_step, c);
}

static void on_step(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct chain *c = arg;

    (void)r;
    if (err || ++c->step == 3) {
        finished(c->b, err);
        free(c);
        return;
    }
    send_step(c);
}

static void write_pod(struct bench *b, unsigned i)
{
    struct chain *c = xnew0(struct chain);

    *c = (struct chain){ b, i, 0 };
    send_step(c);
}

/* ---- the scheduler --------------------------------------------------------------------------- */

static void on_poll(struct loop *l, void *arg)
{
    struct bench *b = arg;

    if (scheduler_synced(b->s))
        loop_stop(l);
    else
        loop_after(l, 5 * NSEC_PER_MSEC, on_poll, b);
}

static void on_look(struct loop *l, void *arg)
{
    struct bench *b = arg;

    if (scheduler_stats(b->s).scheduled >= b->pods)
        loop_stop(l);
    else
        loop_after(l, 2 * NSEC_PER_MSEC, on_look, b);
}

static double schedule(struct bench *b)
{
    struct kerr err = { 0 };

    b->s = scheduler_new(b->loop, b->kube, &(struct scheduler_opts){ 0 }, &err);
    if (!b->s) {
        fprintf(stderr, "bench_dra_api: %s\n", err.text);
        exit(1);
    }
    scheduler_watch(b->s);
    on_poll(b->loop, b);
    loop_run(b->loop);
    uint64_t requests = kube_http_stats(b->kube).requests;
    nsec_t began = loop_stopwatch(b->loop);
    scheduler_lead(b->s);
    on_look(b->loop, b);
    loop_run(b->loop);
    double took = (double)(loop_stopwatch(b->loop) - began) / 1e9;
    b->requests += kube_http_stats(b->kube).requests - requests;
    scheduler_free(b->s);
    return took;
}

int main(int argc, char **argv)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kube_config_fini) struct kube_config config = { 0 };
    CLEANUP(kube_free) struct kube *kube = NULL;
    struct kerr err = { 0 };

    if (argc != 7) {
        fprintf(stderr, "usage: bench_dra_api KUBECONFIG NAMESPACE NODES PODS ROUNDS HELD\n");
        return 2;
    }
    klog_set_sink(quiet, NULL);
    struct kube_config_opts o = { .path = argv[1] };
    if (kube_config_load(&o, &config, &err) < 0 ||
        kube_http_new(l, strings, &config, &kube, &err) < 0) {
        fprintf(stderr, "bench_dra_api: %s\n", err.text);
        return 1;
    }
    struct bench b = { .loop = l,
                       .kube = kube,
                       .ns = argv[2],
                       .nodes = (unsigned)atoi(argv[3]),
                       .pods = (unsigned)atoi(argv[4]),
                       .held = (unsigned)atoi(argv[6]) };
    unsigned rounds = (unsigned)atoi(argv[5]);
    double writing = 0, scheduling = 0;
    (void)pass(&b, 1, 1, make_class);
    (void)pass(&b, b.nodes, LOADING, make_node);
    (void)pass(&b, b.nodes, LOADING, make_slice);
    (void)pass(&b, b.held ? b.nodes : 0, LOADING, make_held);
    (void)pass(&b, b.held ? b.nodes : 0, LOADING, hold);
    for (b.round = 0; b.round < rounds; b.round++) {
        (void)pass(&b, 2 * b.pods, LOADING, make_claim);
        (void)pass(&b, 2 * b.pods, LOADING, make_pod);
        writing += pass(&b, b.pods, WINDOW, write_pod);
        scheduling += schedule(&b);
    }
    printf("{\"pods\":%u,\"writes_pods_per_s\":%.1f,\"scheduled_pods_per_s\":%.1f,"
           "\"requests_per_pod\":%.3f,\"failed\":%u,\"error\":\"%s\"}\n",
           b.pods * rounds, b.pods * rounds / writing, b.pods * rounds / scheduling,
           (double)b.requests / (b.pods * rounds), b.failed, b.first_error);
    return b.failed != 0;
}
