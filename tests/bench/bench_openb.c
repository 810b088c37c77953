/* bench_openb.c - how much of a GPU cluster gets used: a production trace (openb) through the real
 * engine, with DeviceShare and one of its scoring strategies.
 *
 *     bench_openb NODES.csv PODS.csv STRATEGY SEED...
 *
 * STRATEGY: Random, PlainGradient (openb.h; without the engine), or a scoringStrategy of
 * DeviceShareArgs. For each seed tasks are drawn from the list until the GPUs that they ask for
 * reach 130 % of the cluster; none ends. A line for each: percent of all GPUs that are allocated
 * when 100 % and when 130 % have arrived, seconds. Pods of a draw arrive in their order; what found
 * no node stays without one, since nothing becomes free.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "memkube.h"
#include "openb.h"

#include "base/arena.h"
#include "base/intern.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "loop/loop.h"
#include "scheduler/framework/args.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/scheduler.h"
#include "json/kj.h"

enum { LINE_MAX_ = 512, FIELDS_MAX = 12, CARD = OPENB_CARD };

struct run {
    struct loop *loop;
    struct kube *kube;
    struct scheduler *s;
    struct vec_of(uint32_t) drawn; /* tasks, in the order of their arrival */
    struct vec_of(uint8_t) bound;  /* [drawn] */
    size_t n_bound, at_full;       /* at_full: how many had arrived at 100 % */
    bool pushed;
};
static struct vec_of(struct task) tasks;
static struct vec_of(struct gpu_node) nodes;
static long total_milli;

static void quiet(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
}

static const char *quoted(struct strbuf *b)
{
    for (size_t i = 0; i < b->len; i++)
        if (b->data[i] == '\'')
            b->data[i] = '"';
    return strbuf_str(b);
}

/* ---- the trace ------------------------------------------------------------------------------- */

static size_t split(char *line, char **fields)
{
    size_t n = 0;

    line[strcspn(line, "\r\n")] = '\0';
    for (char *rest = line; rest && n < FIELDS_MAX;)
        fields[n++] = strsep(&rest, ",");
    return n;
}

static int each_line(const char *path, void (*fn)(char **fields, size_t n))
{
    char line[LINE_MAX_], *fields[FIELDS_MAX];
    FILE *f = fopen(path, "r");

    if (!f)
        return fprintf(stderr, "bench_openb: cannot open %s\n", path), -1;
    for (bool first = true; fgets(line, sizeof line, f); first = false)
        if (!first)
            fn(fields, split(line, fields));
    fclose(f);
    return 0;
}

static void read_node(char **f, size_t n)
{
    struct gpu_node x = { 0 };

    if (n < 5)
        return;
    x = (struct gpu_node){ atoi(f[1]), atoi(f[2]), atoi(f[3]), "" };
    (void)snprintf(x.model, sizeof x.model, "%s", f[4]);
    total_milli += (long)x.cards * CARD;
    vec_push(&nodes, x);
}

static void read_task(char **f, size_t n)
{
    struct task t = { 0 };

    if (n < 5)
        return;
    t = (struct task){ atoi(f[1]), atoi(f[2]), atoi(f[3]), atoi(f[4]), "" };
    t.milli = t.cards > 1 ? CARD : t.cards ? t.milli : 0;
    (void)snprintf(t.spec, sizeof t.spec, "%s", n > 5 ? f[5] : "");
    vec_push(&tasks, t);
}

/* ---- as objects ------------------------------------------------------------------------------ */

static void add_node(struct run *r, size_t i)
{
    const struct gpu_node *x = &nodes.items[i];
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;

    strbuf_appendf(&t,
                   "{'metadata':{'name':'node-%zu','uid':'n%zu','resourceVersion':'1','labels':{"
                   "'model':'%s'}},'status':{'allocatable':{'cpu':'%dm','memory':'%dMi','pods':"
                   "'1000','koordinator.sh/gpu-core':'%d','koordinator.sh/gpu-memory-ratio':'%d',"
                   "'koordinator.sh/gpu.shared':'%d'}}}",
                   i, i, x->model, x->cpu, x->memory, x->cards * 100, x->cards * 100,
                   x->cards * 100);
    memkube_add(r->kube, "nodes", quoted(&t));
    strbuf_reset(&t);
    strbuf_appendf(&t,
                   "{'metadata':{'name':'node-%zu','uid':'d%zu','resourceVersion':'1'},'spec':{"
                   "'devices':[",
                   i, i);
    for (int k = 0; k < x->cards; k++)
        strbuf_appendf(&t,
                       "%s{'type':'gpu','minor':%d,'health':true,'resources':{'koordinator.sh/"
                       "gpu-core':'100','koordinator.sh/gpu-memory-ratio':'100','koordinator.sh/"
                       "gpu-memory':'32Gi'}}",
                       k ? "," : "", k);
    strbuf_append(&t, "]}}");
    memkube_add(r->kube, "devices", quoted(&t));
}

static void write_models(struct strbuf *t, const char *spec)
{
    strbuf_append(t, ",'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution'"
                     ":{'nodeSelectorTerms':[{'matchExpressions':[{'key':'model','operator':'In',"
                     "'values':[");
    for (size_t n; *spec; spec += n + (spec[n] == '|')) {
        n = strcspn(spec, "|");
        strbuf_appendf(t, "%s'%.*s'", t->data[t->len - 1] == '[' ? "" : ",", (int)n, spec);
    }
    strbuf_append(t, "]}]}]}}}");
}

static void push_pod(struct run *r, size_t i)
{
    const struct task *x = &tasks.items[r->drawn.items[i]];
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;
    int percent = x->cards * x->milli / 10;

    strbuf_appendf(&t,
                   "{'metadata':{'name':'%zu','namespace':'default','uid':'00000000-0000-4000-8000-"
                   "%012zu','resourceVersion':'1'},'spec':{'schedulerName':'koord-scheduler',"
                   "'containers':[{'name':'c','resources':{'requests':{'cpu':'%dm','memory':'%dMi'",
                   i, i, x->cpu, x->memory);
    if (percent)
        strbuf_appendf(&t, ",'koordinator.sh/gpu-core':'%d','koordinator.sh/gpu-memory-ratio':'%d'",
                       percent, percent);
    strbuf_append(&t, "}}}]");
    if (*x->spec)
        write_models(&t, x->spec);
    strbuf_append(&t, "},'status':{'phase':'Pending'}}");
    memkube_push(r->kube, "pods", KUBE_ADDED, quoted(&t));
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void on_bind(void *arg, const char *pod)
{
    struct run *r = arg;
    size_t i = (size_t)atol(strchr(pod, '/') + 1);

    r->bound.items[i] = 1;
    r->n_bound++;
}

static void on_poll(struct loop *l, void *arg)
{
    const struct run *r = arg;
    struct scheduler_stats st = scheduler_stats(r->s);

    if (scheduler_synced(r->s) && (!r->pushed || r->n_bound + st.unschedulable >= r->drawn.n))
        loop_stop(l);
    else
        loop_after(l, NSEC_PER_MSEC, on_poll, arg);
}

static void draw(struct run *r, uint64_t seed)
{
    uint64_t x = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    long arrived = 0;

    while (arrived < total_milli * 13 / 10) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint32_t i = (uint32_t)((x >> 33) % tasks.n);
        vec_push(&r->drawn, i);
        vec_push(&r->bound, 0);
        arrived += (long)tasks.items[i].cards * tasks.items[i].milli;
        if (arrived >= total_milli && !r->at_full)
            r->at_full = r->drawn.n;
    }
}

static double allocated(const struct run *r, size_t arrived)
{
    long sum = 0;

    for (size_t i = 0; i < arrived; i++)
        if (r->bound.items[i])
            sum +=
                (long)tasks.items[r->drawn.items[i]].cards * tasks.items[r->drawn.items[i]].milli;
    return 100.0 * (double)sum / (double)total_milli;
}

static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_node_affinity, 1, true },
    { &ks_plugin_fit, 1, true },
    { &ks_plugin_device_share, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

/* Nobody scores but DeviceShare, and for Random not even that. */
static struct profile_config profile_of(const char *strategy, struct arena *a,
                                        struct profile_args *args)
{
    static const struct profile_entry only[] = { { "DeviceShare", 1 } };
    struct profile_config c = profile_config_default(plugins, "koord-scheduler", a);
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    bool random = streq(strategy, "Random");
    struct kerr err = { 0 };

    c.points[KS_POINT_SCORE] = c.points[KS_POINT_PRE_SCORE] =
        (struct profile_set){ only, random ? 0 : 1 };
    if (random)
        return c;
    strbuf_appendf(&text,
                   "{'scoringStrategy':{'type':'%s','resources':[{'name':'koordinator.sh/"
                   "gpu-memory-ratio','weight':1}]}}",
                   strategy);
    quoted(&text);
    void *decoded = NULL;
    if (kj_parse(strbuf_str(&text), text.len, 0, &doc, &err) < 0 ||
        args_decode(ks_plugin_device_share.args, kj_root(doc), &(struct ks_args_context){ 0 }, a,
                    &decoded, &err) < 0) {
        fprintf(stderr, "bench_openb: %s\n", err.text);
        exit(2);
    }
    *args = (struct profile_args){ "DeviceShare", decoded };
    c.args = args;
    c.nargs = 1;
    return c;
}

static void print_run(const char *strategy, uint64_t seed, const struct run *r, nsec_t took)
{
    printf("%s seed=%llu pods=%zu at100=%.3f at130=%.3f seconds=%.3f\n", strategy,
           (unsigned long long)seed, (size_t)r->drawn.n, allocated(r, r->at_full),
           allocated(r, r->drawn.n), (double)took / 1e9);
    fflush(stdout);
}

static int run_plain(const char *strategy, uint64_t seed)
{
    struct run r = { .loop = loop_new() };

    draw(&r, seed);
    nsec_t began = loop_stopwatch(r.loop);
    openb_plain_gradient(tasks.items, tasks.n, nodes.items, nodes.n, r.drawn.items, r.drawn.n,
                         r.bound.items);
    print_run(strategy, seed, &r, loop_stopwatch(r.loop) - began);
    loop_free(r.loop);
    vec_fini(&r.drawn);
    vec_fini(&r.bound);
    return 0;
}

static int run_seed(const char *strategy, uint64_t seed)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct intern *strings = intern_new();
    struct profile_args args;
    struct kerr err = { 0 };
    struct run r = { .loop = loop_new() };
    struct profile_config profile = profile_of(strategy, a, &args);

    r.kube = memkube_new(r.loop, strings);
    memkube_on_bind(r.kube, on_bind, &r);
    for (size_t i = 0; i < nodes.n; i++)
        add_node(&r, i);
    draw(&r, seed);
    r.s = scheduler_new(
        r.loop, r.kube,
        &(struct scheduler_opts){ .plugins = plugins, .profiles = &profile, .nprofiles = 1 }, &err);
    if (!r.s)
        return fprintf(stderr, "bench_openb: %s\n", err.text), 1;
    scheduler_start(r.s);
    on_poll(r.loop, &r);
    loop_run(r.loop);
    nsec_t began = loop_stopwatch(r.loop);
    r.pushed = true;
    for (size_t i = 0; i < r.drawn.n; i++)
        push_pod(&r, i);
    on_poll(r.loop, &r);
    loop_run(r.loop);
    print_run(strategy, seed, &r, loop_stopwatch(r.loop) - began);
    scheduler_free(r.s);
    kube_free(r.kube);
    intern_free(strings);
    loop_free(r.loop);
    vec_fini(&r.drawn);
    vec_fini(&r.bound);
    return 0;
}

int main(int argc, char **argv)
{
    int bad = 0;

    if (argc < 5)
        return fputs("usage: bench_openb NODES.csv PODS.csv STRATEGY SEED...\n", stderr), 2;
    klog_set_sink(quiet, NULL);
    if (each_line(argv[1], read_node) < 0 || each_line(argv[2], read_task) < 0)
        return 1;
    for (int i = 4; i < argc; i++)
        bad |= (streq(argv[3], "PlainGradient") ? run_plain : run_seed)(argv[3],
                                                                        (uint64_t)atoll(argv[i]));
    vec_fini(&tasks);
    vec_fini(&nodes);
    return bad;
}
