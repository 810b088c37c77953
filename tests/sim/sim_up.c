/* sim_up.c - all that koordctl up runs, together, for hours and days, with everything going wrong
 * around it: lost, refused and slow answers, watches that break off, schedulers, managers and
 * controllers that are replaced, nodes that are cordoned, rollouts, jobs without end.
 *
 *     sim_up          12 nodes for 3 hours; 200 for a week with KOORD_TEST_FULL
 *
 * Every five minutes an independent look is taken at what the API server has: no node holds more
 * than it can, what is offered to batch pods stays below the ceiling, controllers keep their
 * bounds. At each binding batch pods fit what their node offered. Memory does not grow.
 */
#include "base/test/asserts.h"
#include "sim_cluster.h"

#include <malloc.h>
#include <stdio.h>

#include "api/koord/nodemetric.h"
#include "api/podresources.h"
#include "api/workload.h"
#include "apiserver/schema/types.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/num.h"
#include "controllers/caches.h"
#include "main/up.h"
#include "manager/manager.h"
#include "manager/webhook/webhook.h"
#include "scheduler/config/config.h"
#include "scheduler/scheduler.h"

#define MINUTE  (60 * SEC)
#define ROUND   (5 * MINUTE)
#define SETTLED (30 * SEC) /* the writes that follow a report take their time */
enum { CPU_CEILING = 60, SERVICES_PER_NODE = 4, JOB_PODS = 4, APPS = 4 };

struct offer { /* of batch-cpu, by a node */
    int64_t now, before;
    nsec_t changed_at;
};
struct fixture {
    struct sim s;
    struct manager *webhooks, *leader; /* a replica that only answers, and one that acts */
    struct scheduler *scheduler;
    struct config *config;
    struct informer *metrics;
    struct offer *offers; /* by number of the node */
    unsigned nodes, replicas, jobs, jobs_done, judged, bindings, schedulers, managers, clusters;
    struct vec_of(unsigned) open; /* numbers of jobs */
    size_t bytes_early;
};

/* ---- the parts ---------------------------------------------------------------------------------- */

static void start_cluster(struct fixture *w)
{
    const struct hollow_shape shape = { .count = w->nodes, .zones = 3 };
    const struct cluster_opts o = {
        .deployment = true,
        .replicaset = true,
        .job = true,
        .cronjob = true,
        .gc = true,
        .namespaces = true,
        .nodes = true,
        .pdb = true,
        .resourceclaims = true,
        .node_grace = 20 * MINUTE,
        .discovery_interval = ROUND,
        .hollow = { .shapes = &shape, .nshapes = 1, .seed = 3, .lease_interval = ROUND }
    };
    sim_start(&w->s, &o);
    w->clusters++;
}

static void start_scheduler(struct fixture *w)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct sched_config *c = w->config->value;
    struct profile_config *all = arena_newn0(a, c->profiles.n + 1, struct profile_config);
    struct kerr err = { 0 };

    memcpy(all, c->made, c->profiles.n * sizeof *all);
    all[c->profiles.n] = profile_config_default(ks_registry, "default-scheduler", a);
    w->scheduler = scheduler_new(
        w->s.loop, w->s.faulty,
        &(struct scheduler_opts){ .profiles = all, .nprofiles = c->profiles.n + 1 }, &err);
    if (!w->scheduler)
        fail_msg("scheduler: %s", err.text);
    scheduler_start(w->scheduler);
    w->schedulers++;
}

static void start_leader(struct fixture *w)
{
    w->leader = manager_new(w->s.loop, w->s.faulty, &(struct manager_opts){ 0 });
    manager_watch(w->leader);
    manager_lead(w->leader);
    w->managers++;
}

static void start_webhooks(struct fixture *w)
{
    const struct webhook_opts o = { .gates = webhook_gates_default() };

    w->webhooks =
        manager_new(w->s.loop, w->s.kube,
                    &(struct manager_opts){ .pod_merge = types_merge(types_find("", "v1", "Pod")),
                                            .webhooks = &o });
    up_add_webhooks(w->s.server, manager_webhooks(w->webhooks));
    manager_watch(w->webhooks);
}

/* ---- objects ------------------------------------------------------------------------------------ */

static void create_profile(struct fixture *w, const char *tier, const char *qos, const char *class)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{\"apiVersion\":\"config.koordinator.sh/v1alpha1\",\"kind\":"
                   "\"ClusterColocationProfile\",\"metadata\":{\"name\":\"%s\"},\"spec\":{"
                   "\"selector\":{\"matchLabels\":{\"tier\":\"%s\"}},\"qosClass\":\"%s\","
                   "\"priorityClassName\":\"%s\",\"schedulerName\":\"koord-scheduler\"}}",
                   tier, tier, qos, class);
    assert_int_equal(sim_create(&w->s, body), 201);
}

static void create_app(struct fixture *w, unsigned i)
{
    char body[1024];

    (void)snprintf(
        body, sizeof body,
        "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"app-%u\"},"
        "\"spec\":{\"replicas\":%u,\"selector\":{\"matchLabels\":{\"app\":\"app-%u\"}},"
        "\"template\":{\"metadata\":{\"labels\":{\"app\":\"app-%u\",\"tier\":\"service\"},"
        "\"annotations\":{\"sim.koordinator.sh/load\":\"wave:low=200m,high=1500m,phase=%uh\"}},"
        "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i:0\",\"resources\":{\"requests\":"
        "{\"cpu\":\"2\",\"memory\":\"2Gi\"}}}]}}}}",
        i, w->replicas, i, i, i * 6);
    assert_int_equal(sim_create(&w->s, body), 201);
}

static void submit(struct fixture *w)
{
    char body[1024];

    (void)snprintf(
        body, sizeof body,
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"job-%u\"},\"spec\":"
        "{\"completions\":%d,\"parallelism\":%d,\"backoffLimit\":1000,\"template\":{\"metadata\":"
        "{\"labels\":{\"app\":\"job-%u\",\"tier\":\"batch\"},\"annotations\":"
        "{\"sim.koordinator.sh/work\":\"2400\"}},\"spec\":{\"restartPolicy\":\"Never\","
        "\"containers\":[{\"name\":\"c\",\"image\":\"i:0\",\"resources\":{\"requests\":{\"cpu\":"
        "\"2\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"2\",\"memory\":\"1Gi\"}}}]}}}}",
        w->jobs, JOB_PODS, JOB_PODS, w->jobs);
    assert_int_equal(sim_create(&w->s, body), 201);
    vec_push(&w->open, w->jobs);
    w->jobs++;
}

/* Jobs that are complete have exactly as many succeeded pods as they should, and go. */
static void tend_jobs(struct fixture *w)
{
    char name[32];

    for (size_t i = w->open.n; i-- > 0;) {
        (void)snprintf(name, sizeof name, "job-%u", w->open.items[i]);
        int64_t done = sim_num(&w->s, &kind_job, "default", name, "status.succeeded");
        assert_that(done, <=, JOB_PODS);
        if (!streq(sim_condition(&w->s, &kind_job, "default", name, "Complete"), "True"))
            continue;
        assert_int_equal(done, JOB_PODS);
        assert_int_equal(
            sim_delete(&w->s, &kind_job, "default", name, "{\"propagationPolicy\":\"Background\"}"),
            200);
        vec_remove(&w->open, i);
        w->jobs_done++;
    }
    while (w->open.n < w->nodes / 2)
        submit(w);
}

/* ---- at each binding ---------------------------------------------------------------------------- */

/* "hollow-12" */
static struct offer *offer_of(struct fixture *w, const char *node)
{
    uint64_t i = w->nodes;

    (void)u64_parse(node + strlen("hollow-"), strlen(node) - strlen("hollow-"), &i);
    assert_that(i, <, w->nodes);
    return &w->offers[i];
}

static void on_node(void *arg, struct kobj *o)
{
    struct fixture *w = arg;
    struct offer *f = offer_of(w, o->meta.name);
    int64_t now = qty_value(reslist_get(&node_of(o)->status.allocatable, RES_BATCH_CPU));

    if (now == f->now)
        return;
    f->before = f->now;
    f->now = now;
    f->changed_at = loop_wall(w->s.loop);
}

static void on_node_update(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old;
    on_node(arg, o);
}

static int64_t held(struct fixture *w, const char *node, const char *resource)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    kobjvec pods = { 0 };
    int64_t sum = 0;

    objects_by(w->s.pods, index_pod_node, node, &pods);
    vec_foreach(&pods, i) {
        const struct pod *p = pod_of(pods.items[i]);
        reslist requests = pod_requests(p, NULL, a);
        if (!pod_is_terminal(p))
            sum += resource_count(resource, reslist_get(&requests, resource));
    }
    vec_fini(&pods);
    return sum;
}

/* What a node offered a minute ago counts: news take their time, with watches that break off. */
static void on_pod_update(void *arg, struct kobj *old, struct kobj *o)
{
    struct fixture *w = arg;
    const char *node = pod_of(o)->node_name;

    if (str_empty(node) || !str_empty(pod_of(old)->node_name))
        return;
    const struct offer *f = offer_of(w, node);
    bool fresh = loop_wall(w->s.loop) - f->changed_at < MINUTE;
    int64_t room = fresh ? MAX(f->now, f->before) : f->now, use = held(w, node, RES_BATCH_CPU);
    CLEANUP(arena_free) struct arena *a = arena_new();
    reslist requests = pod_requests(pod_of(o), NULL, a);
    w->bindings++;
    if (reslist_has(&requests, RES_BATCH_CPU) && use > room)
        fail_msg("%s: %lld of batch-cpu bound, %lld offered", node, (long long)use,
                 (long long)room);
}

/* ---- every five minutes ------------------------------------------------------------------------- */

static void judge_node(struct fixture *w, const struct node *n)
{
    static const char *const kinds[] = { RES_CPU, RES_MEMORY };
    const char *name = n->obj.meta.name;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        int64_t has = resource_count(kinds[i], reslist_get(&n->status.allocatable, kinds[i]));
        int64_t use = held(w, name, kinds[i]);
        if (use > has)
            fail_msg("%s: %lld of %s is bound, it has %lld", name, (long long)use, kinds[i],
                     (long long)has);
    }
}

/* The ceiling of the configuration: what other pods and the system use, and what batch is offered.
 */
static void judge_offer(struct fixture *w, const struct node *n)
{
    struct kobj *o = informer_get(w->metrics, n->obj.meta.name);
    const struct nodemetric_status *st = o ? &nodemetric_of(o)->status : NULL;

    if (!st || !st->node_metric || loop_wall(w->s.loop) - st->update_time < SETTLED)
        return;
    int64_t use = qty_milli(reslist_get(&st->node_metric->system_usage.resources, RES_CPU));
    for (uint32_t i = 0; i < st->pods_metric.n; i++)
        if (!streq(st->pods_metric.items[i].priority, "koord-batch"))
            use += qty_milli(reslist_get(&st->pods_metric.items[i].usage.resources, RES_CPU));
    int64_t capacity = qty_milli(reslist_get(&n->status.capacity, RES_CPU));
    int64_t offered = qty_value(reslist_get(&n->status.allocatable, RES_BATCH_CPU));
    int64_t slack = offered / 9 + capacity / 50; /* less than the threshold is not written */
    if (use + offered > capacity * CPU_CEILING / 100 + slack)
        fail_msg("%s: %lld in use and %lld offered", n->obj.meta.name, (long long)use,
                 (long long)offered);
    w->judged++;
}

/* Never more than replicas and a quarter; none was refused by a kubelet for want of cpu. */
static void judge_pods(struct fixture *w)
{
    unsigned active[APPS] = { 0 };
    struct kobj *o;
    size_t it = 0;

    while ((o = informer_next(w->s.pods, &it))) {
        const struct pod *p = pod_of(o);
        const char *app = kstrmap_get(&o->meta.labels, "app");
        if (streq(str_or(p->status.reason, ""), "OutOfcpu"))
            fail_msg("%s was refused on %s", o->meta.name, p->node_name);
        if (app && str_starts(app, "app-") && !o->meta.deleted && !pod_is_terminal(p))
            active[(unsigned)(app[4] - '0') % APPS]++;
    }
    for (unsigned i = 0; i < APPS; i++)
        assert_that(active[i], <=, w->replicas + 2 + (w->replicas + 3) / 4);
}

static void judge(struct fixture *w)
{
    struct kerr err = { 0 };
    struct kobj *o;
    size_t it = 0;

    while ((o = informer_next(w->s.nodes, &it))) {
        judge_node(w, node_of(o));
        judge_offer(w, node_of(o));
    }
    judge_pods(w);
    if (scheduler_verify(w->scheduler, &err) < 0)
        fail_msg("scheduler: %s", err.text);
}

#ifdef __SANITIZE_ADDRESS__
size_t __sanitizer_get_current_allocated_bytes(void); /* gcc's packages lack its header */
#endif

static size_t heap_bytes(void)
{
#ifdef __SANITIZE_ADDRESS__
    return __sanitizer_get_current_allocated_bytes();
#else
    return mallinfo2().uordblks;
#endif
}

/* ---- what goes wrong ---------------------------------------------------------------------------- */

static void cordon(struct fixture *w, unsigned round, bool on)
{
    char name[32];

    (void)snprintf(name, sizeof name, "hollow-%u", round / 12 % w->nodes);
    assert_int_equal(sim_patch(&w->s, &kind_node, NULL, name, NULL,
                               on ? "{\"spec\":{\"unschedulable\":true}}"
                                  : "{\"spec\":{\"unschedulable\":null}}"),
                     200);
}

static void roll_out(struct fixture *w, unsigned round)
{
    char name[32], body[160];

    (void)snprintf(name, sizeof name, "app-%u", round % APPS);
    (void)snprintf(body, sizeof body,
                   "{\"spec\":{\"replicas\":%u,\"template\":{\"metadata\":{\"annotations\":"
                   "{\"round\":\"%u\"}}}}}",
                   w->replicas + round % 3, round);
    assert_int_equal(sim_patch(&w->s, &kind_deployment, "default", name, NULL, body), 200);
}

static void disturb(struct fixture *w, unsigned round)
{
    if (round % 7 == 3)
        sim_drop_watches(&w->s);
    if (round % 6 == 1)
        roll_out(w, round);
    if (round % 12 == 5)
        cordon(w, round, true);
    if (round % 12 == 9)
        cordon(w, round, false);
    if (round % 11 == 6) {
        w->scheduler = scheduler_free(w->scheduler);
        sim_run(&w->s, 20 * SEC);
        start_scheduler(w);
    }
    if (round % 13 == 8) {
        w->leader = manager_free(w->leader);
        sim_run(&w->s, 20 * SEC);
        start_leader(w);
    }
    if (round % 17 == 10) {
        sim_stop_cluster(&w->s);
        sim_run(&w->s, 20 * SEC);
        start_cluster(w);
    }
}

/* ---- life --------------------------------------------------------------------------------------- */

static void begin(struct fixture *w, unsigned nodes)
{
    static const struct informer_handler pods = { .on_update = on_pod_update };
    static const struct informer_handler all_nodes = { .on_add = on_node,
                                                       .on_update = on_node_update };
    struct kerr err = { 0 };

    *w = (struct fixture){ .nodes = nodes,
                           .replicas = nodes * SERVICES_PER_NODE / APPS,
                           .offers = xnewn0(nodes, struct offer) };
    sim_init_koordinator(&w->s, 11);
    w->s.no_binder = true;
    if (sched_config_chart(&w->config, &err) < 0)
        fail_msg("%s", err.text);
    w->metrics = informer_new(w->s.kube, &(struct informer_opts){ .kind = &kind_nodemetric });
    informer_start(w->metrics);
    informer_add_handler(w->s.pods, &pods, w);
    informer_add_handler(w->s.nodes, &all_nodes, w);
    start_webhooks(w);
    start_cluster(w);
    start_scheduler(w);
    start_leader(w);
    assert_true(sim_until(&w->s, 10 * MINUTE, sim_nodes_ready, NULL));
    create_profile(w, "service", "LS", "koord-prod");
    create_profile(w, "batch", "BE", "koord-batch");
    sim_run(&w->s, 5 * MINUTE);
    for (unsigned i = 0; i < APPS; i++)
        create_app(w, i);
    sim_run(&w->s, 5 * MINUTE);
    w->s.faults = (struct sim_faults){ .refuse = 5, .lose = 5, .slow = 20, .slow_max = 3 * SEC };
}

static bool apps_available(struct sim *s, void *arg)
{
    char name[32];

    (void)arg;
    for (unsigned i = 0; i < APPS; i++) {
        (void)snprintf(name, sizeof name, "app-%u", i);
        if (sim_num(s, &kind_deployment, "default", name, "status.availableReplicas") !=
            sim_num(s, &kind_deployment, "default", name, "spec.replicas"))
            return false;
    }
    return true;
}

static void end(struct fixture *w)
{
    scheduler_free(w->scheduler);
    manager_free(w->leader);
    sim_stop_cluster(&w->s);
    manager_free(w->webhooks);
    config_unref(w->config);
    informer_free(w->metrics);
    sim_fini(&w->s);
    free(w->offers);
    vec_fini(&w->open);
}

static void test_all_of_up_under_faults(void **state)
{
    bool full = getenv("KOORD_TEST_FULL") != NULL;
    unsigned rounds = (full ? 7 * 24 : 3) * 12;
    struct fixture w;

    (void)state;
    begin(&w, full ? 200 : 12);
    for (unsigned round = 0; round < rounds; round++) {
        nsec_t began = loop_wall(w.s.loop);
        disturb(&w, round);
        tend_jobs(&w);
        sim_run(&w.s, ROUND - MIN(loop_wall(w.s.loop) - began, ROUND));
        judge(&w);
        if (round == rounds / 2)
            w.bytes_early = heap_bytes();
    }
    size_t bytes = heap_bytes();
    w.s.faults = (struct sim_faults){ 0 };
    assert_true(sim_until(&w.s, 30 * MINUTE, apps_available, NULL));
    print_message("%u looks, %u bindings, %u jobs done, %u schedulers, %u managers, %u clusters; "
                  "%zu KB in use half-way, %zu KB at the end\n",
                  w.judged, w.bindings, w.jobs_done, w.schedulers, w.managers, w.clusters,
                  w.bytes_early >> 10, bytes >> 10);
    assert_that(w.judged, >, rounds * w.nodes / 3);
    assert_that(w.jobs_done, >, rounds / 4);
    assert_that(bytes, <=, w.bytes_early + w.bytes_early / 10 + (1 << 20));
    end(&w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_all_of_up_under_faults) };

    /* The same run each time: the order of maps decides who draws which fault. */
    hash_set_key(1, 2);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
