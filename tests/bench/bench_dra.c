/* bench_dra.c - what ResourceClaims cost: the scheduler alone, as in bench_scheduler.c.
 *
 *     bench_dra drain NAME [NODES PODS]
 *
 * Nodes of 10 devices. basic: pods without claims, without the plugin; none: the same with it.
 * template: each pod has a claim of its own, made for it when the pod is there; half of them are
 * scheduled before (scheduler_perf's SchedulingWithResourceClaimTemplate). empty, half, full: pods
 * come and go, beside so many claims that stay (SteadyStateClusterResourceClaimTemplate); what the
 * claim controller writes is played here. near: 5,000 nodes of 8 devices, two of one NUMA node by a
 * selector. Events and answers are text that the scheduler reads, as from a server. One line: a
 * name, then words with numbers.
 */
#include <stdio.h>
#include <time.h>

#include "memkube.h"

#include "api/dra.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "component/metrics.h"
#include "loop/loop.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/scheduler.h"
#include "json/kj.h"

enum { WINDOW = 10 }; /* pods that come and go at once */

static void quiet(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
}

static nsec_t cpu_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (nsec_t)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

struct workload {
    const char *name;
    bool plugin, claims, near;
    int nodes, devices;
    int before;   /* pods that are scheduled before the clock starts */
    int resident; /* claims that others hold, all the time */
    int pods;
    bool going; /* pods leave as soon as they are bound */
};
static const struct workload workloads[] = {
    { "basic", false, false, false, 5000, 10, 1000, 0, 10000, false },
    { "none", true, false, false, 5000, 10, 1000, 0, 10000, false },
    { "template", true, true, false, 500, 10, 2500, 0, 2500, false },
    { "empty", true, true, false, 500, 10, 100, 0, 5000, true },
    { "half", true, true, false, 500, 10, 100, 2500, 5000, true },
    { "full", true, true, false, 500, 10, 100, 4990, 5000, true },
    { "near", true, true, true, 5000, 8, 100, 0, 5000, false },
};

/* ---- texts ----------------------------------------------------------------------------------- */

struct bench {
    const struct workload *w;
    struct loop *loop;
    struct kube *kube;
    struct scheduler *s;
    int nodes, first, pods, bound, sent;
    unsigned version;
    char **status;      /* [pod]: of its claim, as it was written */
    unsigned *versions; /* [pod]: of its claim */
    struct strbuf t;
};

static const char *quoted(struct strbuf *b)
{
    for (size_t i = 0; i < b->len; i++)
        if (b->data[i] == '\'')
            b->data[i] = '"';
    return strbuf_str(b);
}

static const char *node_text(struct bench *b, int i)
{
    strbuf_reset(&b->t);
    strbuf_appendf(&b->t,
                   "{'metadata':{'name':'node-%d','uid':'n%d','resourceVersion':'1','labels':{"
                   "'kubernetes.io/hostname':'node-%d'}},'status':{'allocatable':{'cpu':'128',"
                   "'memory':'512Gi','pods':'110'}}}",
                   i, i, i);
    return quoted(&b->t);
}

static const char *slice_text(struct bench *b, int i)
{
    strbuf_reset(&b->t);
    strbuf_appendf(&b->t,
                   "{'metadata':{'name':'slice-%d','uid':'s%d','resourceVersion':'1'},'spec':{"
                   "'driver':'gpu.example.com','nodeName':'node-%d','pool':{'name':'node-%d',"
                   "'generation':1,'resourceSliceCount':1},'devices':[",
                   i, i, i, i);
    for (int d = 0; d < b->w->devices; d++)
        strbuf_appendf(&b->t,
                       "%s{'name':'dev-%d','attributes':{'model':{'string':'a100'},'index':{'int':"
                       "%d},'numa':{'int':%d}},'capacity':{'memory':{'value':'80Gi'}}}",
                       d ? "," : "", d, d, d * 2 / b->w->devices);
    strbuf_append(&b->t, "]}}");
    return quoted(&b->t);
}

static const char *ask_text(const struct bench *b)
{
    return b->w->near ? "{'devices':{'requests':[{'name':'r','exactly':{'deviceClassName':'gpu',"
                        "'allocationMode':'ExactCount','count':2,'selectors':[{'cel':{"
                        "'expression':'device.attributes[\\'gpu.example.com\\'].model == \\'a100\\'"
                        " && device.attributes[\\'gpu.example.com\\'].index > 0'}}]}}],"
                        "'constraints':[{'matchAttribute':'gpu.example.com/numa'}]}}"
                      : "{'devices':{'requests':[{'name':'r','exactly':{'deviceClassName':'gpu',"
                        "'allocationMode':'ExactCount','count':1}}]}}";
}

static void claim_text(struct bench *b, int i, const char *finalizers, const char *status,
                       struct strbuf *out)
{
    strbuf_appendf(out,
                   "{'metadata':{'name':'claim-%d','namespace':'default','uid':'c%d',"
                   "'resourceVersion':'%u','finalizers':[%s],'annotations':{"
                   "'resource.kubernetes.io/pod-claim-name':'gpu'},'ownerReferences':[{"
                   "'apiVersion':'v1','kind':'Pod','name':'pod-%d','uid':'p%d','controller':true}]"
                   "},'spec':%s",
                   i, i, b->versions[i], finalizers, i, i, ask_text(b));
    if (status)
        strbuf_appendf(out, ",'status':%s", status);
    strbuf_append(out, "}");
    (void)quoted(out);
}

static const char *pod_text(struct bench *b, int i, bool told)
{
    strbuf_reset(&b->t);
    strbuf_appendf(&b->t,
                   "{'metadata':{'name':'pod-%d','namespace':'default','uid':'p%d',"
                   "'resourceVersion':'%u','labels':{'app':'a'}},'spec':{'schedulerName':"
                   "'koord-scheduler','priority':0,'containers':[{'name':'c','image':"
                   "'registry.k8s.io/pause:3.10','resources':{'requests':{'cpu':'100m','memory':"
                   "'100Mi'}}}]",
                   i, i, ++b->version);
    if (b->w->claims)
        strbuf_append(&b->t, ",'resourceClaims':[{'name':'gpu','resourceClaimTemplateName':'t'}]");
    strbuf_append(&b->t, "},'status':{'phase':'Pending'");
    if (b->w->claims && told)
        strbuf_appendf(
            &b->t, ",'resourceClaimStatuses':[{'name':'gpu','resourceClaimName':'claim-%d'}]", i);
    strbuf_append(&b->t, "}}");
    return quoted(&b->t);
}

/* ---- the server and the claim controller ------------------------------------------------------ */

static void push_claim(struct bench *b, enum kube_event_type type, int i, const char *finalizers,
                       const char *status)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;

    b->versions[i] = ++b->version;
    claim_text(b, i, finalizers, status, &t);
    memkube_push(b->kube, "resourceclaims", type, strbuf_str(&t));
}

#define FINALIZER "'" CLAIM_FINALIZER "'"

/* The claim as it is after the patch: its status is the patch's, and its finalizer is there. */
static bool on_answer(void *arg, const struct kube_req *r, struct strbuf *out)
{
    struct bench *b = arg;
    int i = atoi(r->name + strlen("claim-"));
    const char *at = NULL;

    if (!streq(r->kind->plural, "resourceclaims"))
        return false;
    if (r->subresource)
        at = memmem(r->body, r->body_len, "\"status\":", strlen("\"status\":"));
    if (at) {
        at += strlen("\"status\":");
        size_t n = (size_t)((const char *)r->body + r->body_len - at) - 1;
        free(b->status[i]);
        b->status[i] = xstrndup(at, n);
    }
    b->versions[i] = ++b->version;
    claim_text(b, i, FINALIZER, b->status[i], out);
    return true;
}

/* The watch shows it too. */
static void on_patch(void *arg, const char *plural, const char *name, const struct kj_val *body)
{
    struct bench *b = arg;
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;
    int i = atoi(name + strlen("claim-"));

    (void)body;
    if (!streq(plural, "resourceclaims"))
        return;
    claim_text(b, i, FINALIZER, b->status[i], &t);
    memkube_push(b->kube, "resourceclaims", KUBE_MODIFIED, strbuf_str(&t));
}

static void new_pod(struct bench *b, int i)
{
    memkube_push(b->kube, "pods", KUBE_ADDED, pod_text(b, i, false));
    if (!b->w->claims)
        return;
    push_claim(b, KUBE_ADDED, i, "", NULL);
    memkube_push(b->kube, "pods", KUBE_MODIFIED, pod_text(b, i, true));
}

/* The pod is gone: its claim is freed, and goes. */
static void end_pod(struct bench *b, int i)
{
    memkube_push(b->kube, "pods", KUBE_DELETED, pod_text(b, i, true));
    push_claim(b, KUBE_MODIFIED, i, FINALIZER, NULL);
    push_claim(b, KUBE_DELETED, i, "", NULL);
}

/* ---- the engine ------------------------------------------------------------------------------ */

struct leaving {
    struct bench *b;
    int pod;
};

static void on_leave(struct loop *l, void *arg)
{
    struct leaving *x = arg;
    struct bench *b = x->b;

    (void)l;
    end_pod(b, x->pod);
    free(x);
    if (b->sent < b->pods)
        new_pod(b, b->first + b->sent++);
}

static void on_bind(void *arg, const char *pod)
{
    struct bench *b = arg;

    b->bound++;
    if (b->w->going) {
        struct leaving *x = xnew0(struct leaving);
        *x = (struct leaving){ b, atoi(pod + strlen("default/pod-")) };
        loop_after(b->loop, 0, on_leave, x);
    }
    if (b->bound == b->pods)
        loop_stop(b->loop);
}

static void on_poll(struct loop *l, void *arg)
{
    struct bench *b = arg;

    if (scheduler_synced(b->s))
        loop_stop(l);
    else
        loop_after(l, NSEC_PER_MSEC, on_poll, b);
}

/* Claims of others, spread over the nodes, so that the last ones have free devices. */
static void add_residents(struct bench *b)
{
    for (int i = 0; i < b->w->resident; i++) {
        strbuf_reset(&b->t);
        strbuf_appendf(
            &b->t,
            "{'metadata':{'name':'other-%d','namespace':'default','uid':'o%d','resourceVersion':"
            "'1','finalizers':['" CLAIM_FINALIZER "']},'spec':%s,'status':{'allocation':{'devices'"
            ":{'results':[{'request':'r','driver':'gpu.example.com','pool':'node-%d','device':"
            "'dev-%d'}]},'nodeSelector':{'nodeSelectorTerms':[{'matchFields':[{'key':"
            "'metadata.name','operator':'In','values':['node-%d']}]}]}},'reservedFor':[{"
            "'resource':'pods','name':'x-%d','uid':'x%d'}]}}",
            i, i, ask_text(b), i % b->nodes, i / b->nodes, i % b->nodes, i, i);
        memkube_add(b->kube, "resourceclaims", quoted(&b->t));
    }
}

static void add_objects(struct bench *b)
{
    memkube_add(b->kube, "deviceclasses",
                "{\"metadata\":{\"name\":\"gpu\",\"uid\":\"k\",\"resourceVersion\":\"1\"},\"spec\":"
                "{\"selectors\":[{\"cel\":{\"expression\":\"device.driver == 'gpu.example.com'\"}}"
                "]}}");
    for (int i = 0; i < b->nodes; i++) {
        memkube_add(b->kube, "nodes", node_text(b, i));
        memkube_add(b->kube, "resourceslices", slice_text(b, i));
    }
    add_residents(b);
}

/* The default profile, with or without the plugin. */
static const struct ks_registered *table(const struct workload *w)
{
    static struct ks_registered all[PROFILE_PLUGINS_MAX];
    size_t n = 0, from = 0;

    do {
        if (w->plugin || ks_registry[from].plugin != &ks_plugin_dynamic_resources)
            all[n++] = ks_registry[from];
    } while (ks_registry[from++].plugin);
    return all;
}

/* Pods first .. first + n - 1, all at once or a few at a time. */
static void place(struct bench *b, int first, int n)
{
    b->first = first;
    b->pods = n;
    b->bound = 0;
    b->sent = b->w->going ? MIN(n, (int)WINDOW) : n;
    for (int i = 0; i < b->sent; i++)
        new_pod(b, first + i);
    loop_run(b->loop);
}

static int drain(const struct workload *w, int nodes, int pods)
{
    struct bench b = { .w = w, .nodes = nodes, .version = 1, .t = STRBUF_INIT };
    struct intern *strings = intern_new();
    struct metrics *metrics = metrics_new();
    struct kerr err = { 0 };

    b.loop = loop_new();
    b.status = xnewn0((size_t)(w->before + pods), char *);
    b.versions = xnewn0((size_t)(w->before + pods), unsigned);
    b.kube = memkube_new(b.loop, strings);
    memkube_on_bind(b.kube, on_bind, &b);
    memkube_on_answer(b.kube, on_answer, &b);
    memkube_on_patch(b.kube, on_patch, &b);
    add_objects(&b);
    b.s = scheduler_new(b.loop, b.kube,
                        &(struct scheduler_opts){ .metrics = metrics, .plugins = table(w) }, &err);
    if (!b.s) {
        fprintf(stderr, "bench_dra: %s\n", err.text);
        return 1;
    }
    scheduler_start(b.s);
    on_poll(b.loop, &b);
    loop_run(b.loop);
    place(&b, pods, w->before);
    nsec_t began = loop_stopwatch(b.loop), cpu = cpu_time();
    place(&b, 0, pods);
    double took = (double)(loop_stopwatch(b.loop) - began) / 1e9;
    struct scheduler_stats st = scheduler_stats(b.s);
    printf("%s nodes=%d pods=%d rate=%.0f cpu_us=%.2f failed=%llu reused=%.3f\n", w->name, nodes,
           pods, pods / took, (double)(cpu_time() - cpu) / 1e3 / pods,
           (unsigned long long)st.failed, (double)st.reused / (double)st.attempts);
    scheduler_free(b.s);
    metrics_free(metrics);
    kube_free(b.kube);
    for (int i = 0; i < w->before + pods; i++)
        free(b.status[i]);
    free(b.status);
    free(b.versions);
    strbuf_fini(&b.t);
    intern_free(strings);
    loop_free(b.loop);
    return b.bound == pods ? 0 : 1;
}

int main(int argc, char **argv)
{
    klog_set_sink(quiet, NULL);
    for (size_t i = 0; argc > 2 && streq(argv[1], "drain") && i < ARRAY_LEN(workloads); i++)
        if (streq(argv[2], workloads[i].name))
            return drain(&workloads[i], argc > 4 ? atoi(argv[3]) : workloads[i].nodes,
                         argc > 4 ? atoi(argv[4]) : workloads[i].pods);
    fprintf(stderr, "usage: bench_dra drain NAME [NODES PODS]\n");
    return 2;
}
