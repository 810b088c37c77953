/* bench_rows.c - what objects of nodes cost that change all the time, and what row data of plugins
 * costs: the scheduler alone, as in bench_scheduler.c.
 *
 *     bench_rows churn quiet|nodes|nodemetrics|devices|noderesourcetopologies [NODES PODS]
 *     bench_rows object       one changed NodeMetric, with 100 shapes kept
 *     bench_rows rest         a plugin with row data and a column while nothing changes
 *
 * One line each: a name, then words with numbers.
 */
#include <stdio.h>
#include <time.h>

#include "memkube.h"

#include "api/koord/device.h"
#include "api/koord/nodemetric.h"
#include "api/koord/noderesourcetopology.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/klog.h"
#include "base/ktime.h"
#include "base/vec.h"
#include "component/metrics.h"
#include "loop/loop.h"
#include "scheduler/framework/attempt.h"
#include "scheduler/framework/shapes.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/model/objects.h"
#include "scheduler/scheduler.h"
#include "json/kj.h"

enum { NODES = 5000, PODS = 60000, LIVE = 10000, SHAPES = 10, KEPT = 100, CHANGES_A_SECOND = 200 };

/* ---- a plugin that reads the objects of nodes ------------------------------------------------ */

struct meter {
    const struct objects *objects;
};
struct meter_row {
    nsec_t reported;
    int64_t devices, zones;
};

static void meter_fill(void *self, struct ks_fill *f)
{
    const struct objects *w = ((const struct meter *)self)->objects;
    const char *node = f->nodes->node[f->row]->obj.meta.name;
    const struct kobj *m = objects_get(w, &kind_nodemetric, NULL, node);
    const struct kobj *d = objects_get(w, &kind_device, NULL, node);
    const struct kobj *t = objects_get(w, &kind_noderesourcetopology, NULL, node);
    const struct nodemetric_status *status = m ? &nodemetric_of(m)->status : NULL;
    struct meter_row *row = f->data;

    *row = (struct meter_row){ .reported = status ? status->update_time : 0,
                               .devices = d ? 1 : 0,
                               .zones = t ? 1 : 0 };
    if (!status || !status->node_metric)
        return;
    f->valid_until = status->update_time + 3600 * NSEC_PER_SEC;
    f->column[0] = requests_count(&status->node_metric->node_usage.resources, "cpu") / 40;
}

static const struct ks_row_data meter_data = { .size = sizeof(struct meter_row),
                                               .columns = 1,
                                               .fill = meter_fill };

static int meter_create(const struct ks_env *env, const void *args, void **ret_self,
                        struct kerr *err)
{
    struct meter *m = xnew0(struct meter);

    (void)args, (void)err;
    m->objects = env->objects;
    *ret_self = m;
    return 0;
}

static void meter_destroy(void *self)
{
    free(self);
}

static void meter_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                        struct ks_span s, int64_t *restrict out)
{
    (void)self, (void)p;
    for (uint32_t i = s.begin; i < s.end; i++)
        out[i] = KS_SCORE_MAX - MIN(c->rows->column[0][i], KS_SCORE_MAX);
}

/* The same without row data. */
static void bare_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                       struct ks_span s, int64_t *restrict out)
{
    (void)self, (void)p;
    for (uint32_t i = s.begin; i < s.end; i++)
        out[i] = KS_SCORE_MAX - MIN(c->nodes->used[KS_EPHEMERAL][i], KS_SCORE_MAX);
}

static const struct kind *const meter_kinds[] = { &kind_nodemetric, &kind_device,
                                                  &kind_noderesourcetopology, NULL };
static const struct ks_plugin meter = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Meter",
    .reuse = KS_REUSE_LOCAL,
    .kinds = meter_kinds,
    .row = &meter_data,
    .create = meter_create,
    .destroy = meter_destroy,
    .score = meter_score,
};
static const struct ks_plugin bare = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Meter",
    .reuse = KS_REUSE_LOCAL,
    .kinds = meter_kinds,
    .create = meter_create,
    .destroy = meter_destroy,
    .score = bare_score,
};

/* The registry and one more. */
static const struct ks_registered *table_with(const struct ks_plugin *p)
{
    static struct ks_registered all[PROFILE_PLUGINS_MAX];
    size_t n = 0;

    for (; ks_registry[n].plugin; n++)
        all[n] = ks_registry[n];
    all[n] = (struct ks_registered){ p, 1, true };
    all[n + 1] = (struct ks_registered){ NULL, 0, false };
    return all;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static const char *node_text(int i, int revision, char *buf, size_t size)
{
    (void)snprintf(buf, size,
                   "{\"metadata\":{\"name\":\"node-%d\",\"uid\":\"n%d\",\"resourceVersion\":\"%d\","
                   "\"labels\":{\"kubernetes.io/hostname\":\"node-%d\",\"rev\":\"%d\"}},\"status\":"
                   "{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"32Gi\",\"pods\":\"110\"}}}",
                   i, i, revision, i, revision);
    return buf;
}

static nsec_t reported; /* when the first reports were written */

/* An object of the node, as its reporter writes it. */
static const char *object_text(const char *plural, int i, int revision, char *buf, size_t size)
{
    char at[KTIME_TEXT_MAX];
    int n = snprintf(buf, size,
                     "{\"metadata\":{\"name\":\"node-%d\",\"uid\":\"o%d\",\"resourceVersion\":"
                     "\"%d\",\"annotations\":{\"rev\":\"%d\"}},",
                     i, i, revision, revision);

    ktime_format(reported + revision * NSEC_PER_SEC, at);
    if (streq(plural, "nodemetrics"))
        (void)snprintf(buf + n, size - (size_t)n,
                       "\"status\":{\"updateTime\":\"%s\",\"nodeMetric\":{"
                       "\"nodeUsage\":{\"resources\":{\"cpu\":\"%dm\",\"memory\":\"3Gi\"}}}}}",
                       at, revision * 37 % 4000);
    else if (streq(plural, "devices"))
        (void)snprintf(
            buf + n, size - (size_t)n,
            "\"spec\":{\"devices\":[{\"type\":\"gpu\",\"id\":\"g\",\"minor\":0,\"health\""
            ":true,\"resources\":{\"koordinator.sh/gpu-core\":\"100\"}}]}}");
    else
        (void)snprintf(buf + n, size - (size_t)n,
                       "\"topologyPolicies\":[\"None\"],\"zones\":[{\"name\":\"node-0\",\"type\":"
                       "\"Node\"}]}");
    return buf;
}

static const char *pod_text(int i, int shapes, char *buf, size_t size)
{
    (void)snprintf(
        buf, size,
        "{\"metadata\":{\"name\":\"pod-%d\",\"namespace\":\"default\",\"uid\":"
        "\"00000000-0000-4000-8000-%012d\",\"resourceVersion\":\"1\",\"labels\":{\"app\":"
        "\"a%d\"}},\"spec\":{\"schedulerName\":\"koord-scheduler\",\"containers\":[{"
        "\"name\":\"c\",\"image\":\"registry.k8s.io/pause:3.10\",\"resources\":{"
        "\"requests\":{\"cpu\":\"100m\",\"memory\":\"500Mi\"}}}]},\"status\":{\"phase\":"
        "\"Pending\"}}",
        i, i, i % shapes);
    return buf;
}

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

/* ---- the engine while objects change --------------------------------------------------------- */

struct bench {
    struct loop *loop;
    struct kube *kube;
    struct scheduler *s;
    const char *plural; /* that changes; NULL: nothing does */
    int nodes, pods, bound, gone, changed;
    struct vec_of(int) live; /* pods in the order of their bindings */
    struct timer *timer;
    nsec_t began;
};

static void on_bind(void *arg, const char *pod)
{
    struct bench *b = arg;
    char text[256];

    vec_push(&b->live, atoi(pod + strlen("default/pod-")));
    if (++b->bound - b->gone > LIVE) { /* the oldest goes */
        int old = b->live.items[b->gone++];
        (void)snprintf(text, sizeof text,
                       "{\"metadata\":{\"name\":\"pod-%d\",\"namespace\":\"default\",\"uid\":"
                       "\"00000000-0000-4000-8000-%012d\",\"resourceVersion\":\"2\"}}",
                       old, old);
        memkube_push(b->kube, "pods", KUBE_DELETED, text);
    }
    if (b->bound == b->pods)
        loop_stop(b->loop);
}

/* As many as are due, so that a busy loop does not get fewer. */
static void on_change(struct loop *l, void *arg)
{
    struct bench *b = arg;
    nsec_t since = loop_stopwatch(l) - b->began;
    char text[512];

    for (; b->changed < since * CHANGES_A_SECOND / NSEC_PER_SEC; b->changed++) {
        int node = (int)((uint32_t)b->changed * 2654435761u % (uint32_t)b->nodes);
        int revision = b->changed + 2;
        memkube_push(b->kube, b->plural, KUBE_MODIFIED,
                     streq(b->plural, "nodes")
                         ? node_text(node, revision, text, sizeof text)
                         : object_text(b->plural, node, revision, text, sizeof text));
    }
    b->timer = loop_after(l, NSEC_PER_MSEC, on_change, b);
}

static void on_poll(struct loop *l, void *arg)
{
    struct bench *b = arg;

    if (scheduler_synced(b->s))
        loop_stop(l);
    else
        loop_after(l, NSEC_PER_MSEC, on_poll, b);
}

static void add_objects(struct bench *b)
{
    static const char *const plurals[] = { "nodemetrics", "devices", "noderesourcetopologies" };
    char text[512];

    for (int i = 0; i < b->nodes; i++) {
        memkube_add(b->kube, "nodes", node_text(i, 1, text, sizeof text));
        for (size_t k = 0; k < ARRAY_LEN(plurals); k++)
            memkube_add(b->kube, plurals[k], object_text(plurals[k], i, 1, text, sizeof text));
    }
}

static int churn(const char *plural, int nodes, int pods)
{
    struct bench b = { .nodes = nodes, .pods = pods };
    struct intern *strings = intern_new();
    struct kerr err = { 0 };
    char text[640];

    b.plural = streq(plural, "quiet") ? NULL : plural;
    b.loop = loop_new();
    reported = loop_wall(b.loop);
    b.kube = memkube_new(b.loop, strings);
    memkube_on_bind(b.kube, on_bind, &b);
    add_objects(&b);
    struct metrics *metrics = metrics_new();
    b.s = scheduler_new(
        b.loop, b.kube,
        &(struct scheduler_opts){ .metrics = metrics, .plugins = table_with(&meter) }, &err);
    if (!b.s) {
        fprintf(stderr, "bench_rows: %s\n", err.text);
        return 1;
    }
    scheduler_start(b.s);
    on_poll(b.loop, &b);
    loop_run(b.loop);
    for (int i = 0; i < pods; i++)
        memkube_push(b.kube, "pods", KUBE_ADDED, pod_text(i, SHAPES, text, sizeof text));
    b.began = loop_stopwatch(b.loop);
    nsec_t cpu = cpu_time();
    if (b.plural)
        on_change(b.loop, &b);
    loop_run(b.loop);
    double took = (double)(loop_stopwatch(b.loop) - b.began) / 1e9;
    struct scheduler_stats st = scheduler_stats(b.s);
    printf("%s nodes=%d pods=%d rate=%.0f cpu_us=%.2f changed=%d reused=%.3f\n", plural, nodes,
           pods, pods / took, (double)(cpu_time() - cpu) / 1e3 / pods, b.changed,
           (double)st.reused / (double)st.attempts);
    timer_cancel(b.timer);
    scheduler_free(b.s);
    metrics_free(metrics);
    kube_free(b.kube);
    intern_free(strings);
    loop_free(b.loop);
    vec_fini(&b.live);
    return b.bound == pods ? 0 : 1;
}

/* ---- attempts alone -------------------------------------------------------------------------- */

struct cluster {
    struct intern *strings;
    struct kj_scratch *scratch;
    struct objects *objects;
    struct nodecache *cache;
    struct shapes *shapes;
    struct profile *profile;
    struct arena *arena;
    struct kobj *pods[KEPT];
};

static struct kobj *object(struct cluster *c, const struct kind *k, const char *text)
{
    struct kj_doc *doc = NULL;
    struct kobj *o = NULL;

    if (kj_parse(text, strlen(text), 0, &doc, NULL) < 0 ||
        kobj_decode(k, kj_root(doc), c->scratch, &o, NULL) < 0)
        abort();
    kj_doc_free(doc);
    return o;
}

static void cluster_init(struct cluster *c, const struct ks_plugin *p)
{
    char text[640];
    struct kerr err = { 0 };

    *c = (struct cluster){ .strings = intern_new() };
    c->scratch = kj_scratch_new(c->strings);
    c->objects = objects_new();
    c->cache = nodecache_new(c->objects);
    c->shapes = shapes_new(128);
    c->arena = arena_new();
    struct ks_env env = { .objects = c->objects, .nodes = nodecache_nodes(c->cache) };
    struct profile_config config =
        profile_config_default(table_with(p), "koord-scheduler", c->arena);
    c->profile = profile_new(&config, table_with(p), &env, &err);
    if (!c->profile)
        abort();
    for (int i = 0; i < NODES; i++) {
        struct kobj *n = object(c, &kind_node, node_text(i, 1, text, sizeof text));
        nodecache_put_node(c->cache, n);
        kobj_unref(n);
        n = object(c, &kind_nodemetric, object_text("nodemetrics", i, 1, text, sizeof text));
        objects_put(c->objects, n);
        kobj_unref(n);
    }
    for (int i = 0; i < KEPT; i++)
        c->pods[i] = object(c, &kind_pod, pod_text(i, KEPT, text, sizeof text));
}

static void cluster_fini(struct cluster *c)
{
    for (int i = 0; i < KEPT; i++)
        kobj_unref(c->pods[i]);
    shapes_free(c->shapes);
    profile_free(c->profile);
    nodecache_free(c->cache);
    objects_free(c->objects);
    arena_free(c->arena);
    kj_scratch_free(c->scratch);
    intern_free(c->strings);
}

static void attempt_one(struct cluster *c, int i)
{
    struct attempt a;

    arena_reset(c->arena);
    attempt_init(&a,
                 &(struct attempt_input){ .profile = c->profile,
                                          .cache = c->cache,
                                          .shapes = c->shapes,
                                          .objects = c->objects,
                                          .pod = c->pods[i],
                                          .now = NSEC_PER_SEC },
                 c->arena);
    attempt_filter(&a);
    if (a.feasible < 2 || attempt_score(&a) < 0)
        abort();
    attempt_end(&a);
}

/* Microseconds of CPU for one round: an attempt for each of the shapes, after so many changes. */
static double rounds(struct cluster *c, struct kobj **news, int changes, double *ret_change_us)
{
    enum { ROUNDS = 20 };
    nsec_t began = cpu_time(), changing = 0;

    for (int r = 0; r < ROUNDS; r++) {
        nsec_t at = cpu_time();
        for (int k = 0; k < changes; k++)
            objects_put(c->objects, news[r * changes + k]);
        changing += cpu_time() - at;
        for (int i = 0; i < KEPT; i++)
            attempt_one(c, i);
    }
    *ret_change_us = changes ? (double)changing / 1e3 / ROUNDS / changes : 0;
    return (double)(cpu_time() - began) / 1e3 / ROUNDS;
}

/* What one change costs: taking the object, and all that the shapes make again because of it. */
static int one_object(void)
{
    enum { CHANGES = 50, NEWS = 20 * CHANGES, TIMES = 9 };
    struct cluster c;
    struct kobj **news = xnewn0(NEWS, struct kobj *);
    double best = 1e9, taking = 0, unused;
    uint64_t misses;
    char text[512];

    cluster_init(&c, &meter);
    for (int i = 0; i < KEPT; i++)
        attempt_one(&c, i);
    misses = shapes_stats(c.shapes).misses;
    for (int t = 0; t < TIMES; t++) {
        for (int i = 0; i < NEWS; i++) {
            kobj_unref(news[i]);
            news[i] = object(&c, &kind_nodemetric,
                             object_text("nodemetrics", (t * NEWS + i) * 7919 % NODES,
                                         2 + t * NEWS + i, text, sizeof text));
        }
        double still = rounds(&c, news, 0, &unused), change_us;
        double moving = rounds(&c, news, CHANGES, &change_us);
        if ((moving - still) / CHANGES < best) {
            best = (moving - still) / CHANGES;
            taking = change_us;
        }
    }
    printf("object nodes=%d shapes=%d us=%.2f taking_us=%.2f dropped=%llu\n", NODES, KEPT, best,
           taking, (unsigned long long)(shapes_stats(c.shapes).misses - misses));
    for (int i = 0; i < NEWS; i++)
        kobj_unref(news[i]);
    free(news);
    cluster_fini(&c);
    return 0;
}

/* Both plugins score; one of them has row data. */
static int at_rest(void)
{
    enum { TIMES = 9 };
    struct cluster with, without;
    double best_with = 1e9, best_without = 1e9, unused;

    cluster_init(&with, &meter);
    cluster_init(&without, &bare);
    for (int t = 0; t < TIMES; t++) {
        double w = rounds(&with, NULL, 0, &unused), o = rounds(&without, NULL, 0, &unused);
        best_with = MIN(best_with, w);
        best_without = MIN(best_without, o);
    }
    printf("rest nodes=%d with_us=%.3f without_us=%.3f\n", NODES, best_with / KEPT,
           best_without / KEPT);
    cluster_fini(&with);
    cluster_fini(&without);
    return 0;
}

int main(int argc, char **argv)
{
    klog_set_sink(quiet, NULL);
    if (argc > 2 && streq(argv[1], "churn"))
        return churn(argv[2], argc > 4 ? atoi(argv[3]) : NODES, argc > 4 ? atoi(argv[4]) : PODS);
    if (argc == 2 && streq(argv[1], "object"))
        return one_object();
    if (argc == 2 && streq(argv[1], "rest"))
        return at_rest();
    fprintf(stderr, "usage: bench_rows churn WHAT [NODES PODS] | object | rest\n");
    return 2;
}
