/* bench_gang.c - what gangs cost: the scheduler alone, as in bench_scheduler.c.
 *
 *     bench_gang basic | gangs | misfits | one | small | refused | preempt [NODES]
 *
 * basic: 10,000 pods without gangs and without the plugin; gangs: the same pods in 1,000 gangs of
 * 10; misfits: the pods of basic beside 1,000 gangs of 10 that fit nowhere; one: a gang of 512,
 * each on a node of its own; small: the same with eight on a node;
 * refused: a gang of 512 with room for 511; preempt: a gang of 128 on nodes full of pods that may
 * be evicted, 8 on each. One line: a name, then words with numbers; cpu_ms is what the whole took.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "memkube.h"

#include "api/protocol/gang.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "component/metrics.h"
#include "loop/loop.h"
#include "scheduler/framework/args.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/scheduler.h"
#include "json/kj.h"

enum { NODES = 5000, PODS = 10000, TEN = 10, ONE = 512, JOB = 128, LOW = 8 };

static void quiet(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
}

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static const char *quoted(struct strbuf *b)
{
    for (size_t i = 0; i < b->len; i++)
        if (b->data[i] == '\'')
            b->data[i] = '"';
    return strbuf_str(b);
}

struct bench {
    struct loop *loop;
    struct kube *kube;
    struct scheduler *s;
    struct strbuf text;
    int nodes, wanted, bound, patches;
    uint64_t failed; /* stop when so many attempts have, */
    int told;        /* and so many conditions are written */
    int serial;
};

static void put_node(struct bench *b, int i, const char *label)
{
    strbuf_reset(&b->text);
    strbuf_appendf(&b->text,
                   "{'metadata':{'name':'node-%d','uid':'n%d','resourceVersion':'1','labels':{%s}},"
                   "'status':{'allocatable':{'cpu':'8','memory':'64Gi','pods':'110'}}}",
                   i, i, label);
    memkube_add(b->kube, "nodes", quoted(&b->text));
}

static const char *pod_text(struct bench *b, const char *gang, int cpu, int priority,
                            const char *spec)
{
    int i = b->serial++;

    strbuf_reset(&b->text);
    strbuf_appendf(&b->text,
                   "{'metadata':{'name':'pod-%d','namespace':'default','uid':'00000000-0000-4000-"
                   "8000-%012d','resourceVersion':'1','labels':{'%s':'%s'}},'spec':{"
                   "'schedulerName':'koord-scheduler','priority':%d,'containers':[{'name':'c',"
                   "'resources':{'requests':{'cpu':'%dm','memory':'64Mi'}}}]%s},'status':{'phase':"
                   "'Pending'}}",
                   i, i, *gang ? LABEL_POD_GROUP : "app", *gang ? gang : "x", priority, cpu, spec);
    return quoted(&b->text);
}

static void push_gang(struct bench *b, int number, int n, int cpu, int priority, const char *spec)
{
    char name[32];

    (void)snprintf(name, sizeof name, "g%d", number);
    strbuf_reset(&b->text);
    strbuf_appendf(&b->text,
                   "{'metadata':{'name':'%s','namespace':'default','uid':'%s','resourceVersion':"
                   "'1'},'spec':{'minMember':%d}}",
                   name, name, n);
    memkube_push(b->kube, "podgroups", KUBE_ADDED, quoted(&b->text));
    for (int i = 0; i < n; i++)
        memkube_push(b->kube, "pods", KUBE_ADDED, pod_text(b, name, cpu, priority, spec));
}

/* ---- the engine ------------------------------------------------------------------------------ */

static void on_bind(void *arg, const char *pod)
{
    struct bench *b = arg;

    (void)pod;
    if (++b->bound == b->wanted)
        loop_stop(b->loop);
}

static void on_patch(void *arg, const char *plural, const char *name, const struct kj_val *body)
{
    struct bench *b = arg;

    (void)name, (void)body;
    b->patches += streq(plural, "pods");
}

static void on_poll(struct loop *l, void *arg)
{
    struct bench *b = arg;

    bool over = b->failed ? scheduler_stats(b->s).failed >= b->failed && b->patches >= b->told
                          : scheduler_synced(b->s);

    if (over)
        loop_stop(l);
    else
        loop_after(l, NSEC_PER_MSEC / 4, on_poll, b);
}

static const struct ks_registered *table(bool gangs, bool preempts)
{
    static struct ks_registered all[PROFILE_PLUGINS_MAX];
    size_t n = 0;

    do {
        all[n] = ks_registry[n];
        if (gangs && all[n].plugin == &ks_plugin_coscheduling)
            all[n].by_default = true;
        if (preempts && all[n].plugin == &ks_plugin_default_preemption)
            all[n].by_default = false;
    } while (ks_registry[n++].plugin);
    return all;
}

static void begin(struct bench *b, bool gangs, bool preempts, struct arena *a)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const char *text = preempts ? "{\"enablePreemption\":true}" : "{}";
    const struct ks_registered *plugins = table(gangs, preempts);
    struct profile_config c = profile_config_default(plugins, "koord-scheduler", a);
    struct profile_args given = { "Coscheduling", NULL };
    struct kerr err = { 0 };
    void *args = NULL;

    if (kj_parse(text, strlen(text), 0, &doc, &err) < 0 ||
        args_decode(ks_plugin_coscheduling.args, kj_root(doc), &(struct ks_args_context){ 0 }, a,
                    &args, &err) < 0)
        abort();
    given.args = args;
    c.args = &given;
    c.nargs = gangs;
    b->s = scheduler_new(
        b->loop, b->kube,
        &(struct scheduler_opts){ .plugins = plugins, .profiles = &c, .nprofiles = 1 }, &err);
    if (!b->s) {
        fprintf(stderr, "bench_gang: %s\n", err.text);
        exit(1);
    }
    scheduler_start(b->s);
    on_poll(b->loop, b);
    loop_run(b->loop);
}

static void run_to_the_end(struct bench *b, const char *name)
{
    nsec_t began = loop_stopwatch(b->loop);
    double cpu = cpu_ms();

    if (b->failed)
        on_poll(b->loop, b);
    loop_run(b->loop);
    double took = (double)(loop_stopwatch(b->loop) - began) / 1e9;
    cpu = cpu_ms() - cpu;
    printf("%s nodes=%d bound=%d rate=%.0f cpu_us=%.2f cpu_ms=%.2f patches=%d attempts=%llu\n",
           name, b->nodes, b->bound, b->bound / took, b->bound ? cpu * 1e3 / b->bound : 0, cpu,
           b->patches, (unsigned long long)scheduler_stats(b->s).attempts);
}

static void drain(struct bench *b, const char *name, struct arena *a)
{
    bool gangs = streq(name, "gangs"), misfits = streq(name, "misfits");

    for (int i = 0; i < b->nodes; i++)
        put_node(b, i, "");
    begin(b, gangs || misfits, false, a);
    for (int i = 0; misfits && i < PODS / TEN; i++)
        push_gang(b, i, TEN, 1000, 0, ",'nodeSelector':{'no':'where'}");
    if (misfits) { /* they wait already when the others come */
        b->failed = PODS / TEN;
        b->told = PODS;
        on_poll(b->loop, b);
        loop_run(b->loop);
        b->failed = 0;
    }
    for (int i = 0; i < PODS; i++)
        if (!gangs)
            memkube_push(b->kube, "pods", KUBE_ADDED, pod_text(b, "", 1000, 0, ""));
        else if (i % TEN == 0)
            push_gang(b, i / TEN, TEN, 1000, 0, "");
    b->wanted = PODS;
    run_to_the_end(b, name);
}

/* One gang; room on so many nodes for one member each. 0: room for eight on each node. */
static void one(struct bench *b, const char *name, int room, struct arena *a)
{
    for (int i = 0; i < b->nodes; i++)
        put_node(b, i, i < room ? "'room':'yes'" : "");
    begin(b, true, false, a);
    push_gang(b, 0, ONE, room ? 8000 : 1000, 0, room ? ",'nodeSelector':{'room':'yes'}" : "");
    b->wanted = ONE;
    b->failed = room && room < ONE ? (uint64_t)ONE : 0; /* each of them is told */
    run_to_the_end(b, name);
}

static void preempt(struct bench *b, struct arena *a)
{
    char spec[64];

    for (int i = 0; i < b->nodes; i++) {
        put_node(b, i, "");
        (void)snprintf(spec, sizeof spec, ",'nodeName':'node-%d'", i);
        for (int k = 0; k < LOW; k++)
            memkube_add(b->kube, "pods", pod_text(b, "", 1000, k % 4, spec));
    }
    begin(b, true, true, a);
    push_gang(b, 0, JOB, 8000, 1000, "");
    b->failed = 1;
    run_to_the_end(b, "preempt");
    printf("preempt victims=%llu\n", (unsigned long long)scheduler_stats(b->s).victims);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "gangs";
    struct bench b = { .nodes = argc > 2 ? atoi(argv[2]) : NODES };
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct intern *strings = intern_new();

    klog_set_sink(quiet, NULL);
    b.loop = loop_new();
    b.kube = memkube_new(b.loop, strings);
    memkube_on_bind(b.kube, on_bind, &b);
    memkube_on_patch(b.kube, on_patch, &b);
    if (streq(name, "one"))
        one(&b, name, ONE, a);
    else if (streq(name, "small"))
        one(&b, name, 0, a);
    else if (streq(name, "refused"))
        one(&b, name, ONE - 1, a);
    else if (streq(name, "preempt"))
        preempt(&b, a);
    else
        drain(&b, name, a);
    scheduler_free(b.s);
    kube_free(b.kube);
    loop_free(b.loop);
    strbuf_fini(&b.text);
    intern_free(strings);
    return 0;
}
