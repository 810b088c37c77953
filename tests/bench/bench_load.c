/* bench_load.c - what LoadAwareScheduling costs alone, on 5,000 nodes with 30 pods each.
 *
 *     bench_load first       filter and score for the first pod of a shape, by node
 *     bench_load report      a NodeMetric of 30 pods that was decoded: sums, limits, row
 *     bench_load memory      what is kept of a pod
 *
 * One line each: the name and its figures.
 */
#include <malloc.h>
#include <stdio.h>
#include <time.h>

#include "api/kobj.h"
#include "api/koord/nodemetric.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "scheduler/framework/attempt.h"
#include "scheduler/framework/service_table.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/registry.h"
#include "json/kj.h"

enum { NODES = 5000, PODS = 30, ROUNDS = 9 };
#define NOW (1767225600 * NSEC_PER_SEC) /* 2026-01-01T00:00:00Z */

static const struct ks_registered table[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_load_aware_scheduling, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

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

/* ---- the cluster ----------------------------------------------------------------------------- */

struct cluster {
    struct intern *strings;
    struct kj_scratch *scratch;
    struct objects *objects;
    struct nodecache *cache;
    struct service_table *services;
    struct profile *profile;
    struct arena *arena;
    struct kobj **pods; /* [NODES * PODS] */
    struct strbuf text;
};

static struct kobj *object(struct cluster *c, const struct kind *k)
{
    struct kj_doc *doc = NULL;
    struct kobj *o = NULL;

    for (size_t i = 0; i < c->text.len; i++)
        if (c->text.data[i] == '\'')
            c->text.data[i] = '"';
    if (kj_parse(c->text.data, c->text.len, 0, &doc, NULL) < 0 ||
        kobj_decode(k, kj_root(doc), c->scratch, &o, NULL) < 0)
        abort();
    kj_doc_free(doc);
    return o;
}

static struct kobj *report(struct cluster *c, int node, int revision)
{
    strbuf_reset(&c->text);
    strbuf_appendf(&c->text,
                   "{'metadata':{'name':'node-%d','uid':'m%d','resourceVersion':'%d'},'status':{"
                   "'updateTime':'2025-12-31T23:59:00Z','nodeMetric':{'nodeUsage':{'resources':{"
                   "'cpu':'%dm','memory':'8Gi'}}},'podsMetric':[",
                   node, node, revision, 1000 + revision * 37 % 500);
    for (int k = 0; k < PODS; k++)
        strbuf_appendf(&c->text,
                       "%s{'namespace':'default','name':'p-%d-%d','priority':'koord-prod',"
                       "'podUsage':{'resources':{'cpu':'%dm','memory':'200Mi'}}}",
                       k ? "," : "", node, k, 60 + k);
    strbuf_append(&c->text, "]}}");
    return object(c, &kind_nodemetric);
}

static struct kobj *pod(struct cluster *c, int node, int k)
{
    strbuf_reset(&c->text);
    strbuf_appendf(&c->text,
                   "{'metadata':{'name':'p-%d-%d','namespace':'default','uid':"
                   "'00000000-0000-4000-8000-%012d','resourceVersion':'1'},'spec':{'nodeName':"
                   "'%s%d','containers':[{'name':'c','resources':{'requests':{'cpu':'100m',"
                   "'memory':'500Mi'}}}]},'status':{'phase':'Running','conditions':[{'type':"
                   "'PodScheduled','status':'True','lastTransitionTime':'2025-01-01T00:00:00Z'}]}}",
                   node, k, (node + 1) * PODS + k, node < 0 ? "" : "node-", node);
    return object(c, &kind_pod);
}

static void add_nodes(struct cluster *c)
{
    for (int i = 0; i < NODES; i++) {
        strbuf_reset(&c->text);
        strbuf_appendf(&c->text,
                       "{'metadata':{'name':'node-%d','uid':'n%d','resourceVersion':'1'},'status':{"
                       "'allocatable':{'cpu':'4','memory':'32Gi','pods':'110'}}}",
                       i, i);
        struct kobj *o = object(c, &kind_node);
        nodecache_put_node(c->cache, o);
        kobj_unref(o);
        o = report(c, i, 1);
        objects_put(c->objects, o);
        kobj_unref(o);
        for (int k = 0; k < PODS; k++)
            nodecache_put_pod(c->cache, c->pods[i * PODS + k] = pod(c, i, k));
    }
}

static void tell_services(struct cluster *c)
{
    struct service_pod *all = xnewn0(NODES * PODS, struct service_pod);

    for (int i = 0; i < NODES * PODS; i++)
        all[i].pod = pod_of(c->pods[i]);
    services_tell_all(c->services, all, NODES * PODS);
    free(all);
}

static void cluster_init(struct cluster *c)
{
    struct kerr err = { 0 };

    *c = (struct cluster){ .strings = intern_new(), .arena = arena_new() };
    c->scratch = kj_scratch_new(c->strings);
    c->objects = objects_new();
    c->cache = nodecache_new(c->objects);
    c->services = service_table_new();
    c->pods = xnewn0(NODES * PODS, struct kobj *);
    struct ks_env env = { .objects = c->objects,
                          .nodes = nodecache_nodes(c->cache),
                          .service_table = c->services };
    struct profile_config config = profile_config_default(table, "koord-scheduler", c->arena);
    c->profile = profile_new(&config, table, &env, &err);
    if (!c->profile)
        abort();
    add_nodes(c);
}

static void cluster_fini(struct cluster *c)
{
    for (int i = 0; i < NODES * PODS; i++)
        kobj_unref(c->pods[i]);
    free(c->pods);
    profile_free(c->profile);
    service_table_free(c->services);
    nodecache_free(c->cache);
    objects_free(c->objects);
    arena_free(c->arena);
    strbuf_fini(&c->text);
    kj_scratch_free(c->scratch);
    intern_free(c->strings);
}

/* ---- figures --------------------------------------------------------------------------------- */

static void attempt_begin(struct cluster *c, struct attempt *a, struct kobj *p)
{
    arena_reset(c->arena);
    attempt_init(
        a,
        &(struct attempt_input){
            .profile = c->profile, .cache = c->cache, .objects = c->objects, .pod = p, .now = NOW },
        c->arena);
    attempt_filter(a);
    if (a->feasible < 2 || attempt_score(a) < 0)
        abort();
}

static uint32_t slot_of(const struct profile *p, const char *name)
{
    uint32_t i = 0;

    while (!streq(p->slots[i].plugin->name, name))
        i++;
    return i;
}

static void first(struct cluster *c, struct kobj *p)
{
    enum { TIMES = 200 };
    uint32_t slot = slot_of(c->profile, "LoadAwareScheduling");
    const struct profile_slot *s = &c->profile->slots[slot];
    uint8_t *skip = xnewn0(NODES, uint8_t), *why = xnewn0(NODES, uint8_t);
    int64_t *out = xnewn0(NODES, int64_t);
    double filter = 1e9, score = 1e9;
    struct attempt a;

    attempt_begin(c, &a, p);
    attempt_enter(&a, slot, a.state[slot]);
    for (int r = 0; r < ROUNDS; r++) {
        nsec_t t0 = cpu_time();
        for (int i = 0; i < TIMES; i++)
            s->plugin->filter(s->self, &a.cycle, &a.pod, (struct ks_span){ 0, a.n }, skip, why);
        nsec_t t1 = cpu_time();
        for (int i = 0; i < TIMES; i++)
            s->plugin->score(s->self, &a.cycle, &a.pod, (struct ks_span){ 0, a.n }, out);
        nsec_t t2 = cpu_time();
        filter = MIN(filter, (double)(t1 - t0) / TIMES / a.n);
        score = MIN(score, (double)(t2 - t1) / TIMES / a.n);
    }
    attempt_end(&a);
    printf("first nodes=%d ns=%.2f filter_ns=%.2f score_ns=%.2f\n", NODES, filter + score, filter,
           score);
    free(skip);
    free(why);
    free(out);
}

static double attempt_ns(struct cluster *c, struct kobj *p)
{
    struct attempt a;
    nsec_t began = cpu_time();

    attempt_begin(c, &a, p);
    nsec_t took = cpu_time() - began;
    attempt_end(&a);
    return (double)took;
}

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static nsec_t wall_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (nsec_t)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

/* One at a time, as they come from a watch. The median: whatever else runs on the machine does not
 * count. What the old object costs when it is freed is the cache's matter. */
static void reports(struct cluster *c, struct kobj *p)
{
    enum { NEWS = 1000 };
    double took[NEWS], quiet_ns = 1e9, rows = 1e9;
    char name[32];

    for (int i = 0; i < 20; i++)
        quiet_ns = MIN(quiet_ns, attempt_ns(c, p));
    for (int r = 0; r < ROUNDS; r++) {
        for (int i = 0; i < NEWS; i++) {
            int node = (r * NEWS + i) * 7919 % NODES;
            (void)snprintf(name, sizeof name, "node-%d", node);
            struct kobj *old = kobj_ref(objects_get(c->objects, &kind_nodemetric, NULL, name));
            struct kobj *new = report(c, node, 2 + r);
            nsec_t began = wall_time();
            objects_put(c->objects, new);
            took[i] = (double)(wall_time() - began);
            kobj_unref(new);
            kobj_unref(old);
        }
        rows = MIN(rows, (attempt_ns(c, p) - quiet_ns) / NEWS); /* filled in the next attempt */
    }
    qsort(took, NEWS, sizeof *took, by_number);
    printf("report pods=%d us=%.2f sums_us=%.2f row_us=%.2f\n", PODS, (took[NEWS / 2] + rows) / 1e3,
           took[NEWS / 2] / 1e3, rows / 1e3);
}

int main(int argc, char **argv)
{
    struct cluster c;
    const char *what = argc == 2 ? argv[1] : "";

    klog_set_sink(quiet, NULL);
    if (!streq(what, "first") && !streq(what, "report") && !streq(what, "memory")) {
        fprintf(stderr, "usage: bench_load first | report | memory\n");
        return 2;
    }
    cluster_init(&c);
    struct kobj *p = pod(&c, -1, 0);
    size_t before = mallinfo2().uordblks;
    tell_services(&c);
    size_t after = mallinfo2().uordblks;
    if (streq(what, "first"))
        first(&c, p);
    else if (streq(what, "report"))
        reports(&c, p);
    else
        printf("memory pods=%d bytes=%.1f\n", NODES * PODS,
               (double)(after - before) / (NODES * PODS));
    kobj_unref(p);
    cluster_fini(&c);
    return 0;
}
