/* sim_cluster.c - controllers and hollow nodes against the embedded API server, on the virtual
 * loop. */
#include "sim_cluster.h"
#include "base/test/asserts.h"

#include <stdio.h>

#include "api/core.h"
#include "api/koord/device.h"
#include "api/koord/nodemetric.h"
#include "api/koord/noderesourcetopology.h"
#include "api/lease.h"
#include "api/policy.h"
#include "api/workload.h"
#include "base/ktime.h"

#define DEPLOY(name, replicas, image, extra)                                                  \
    "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"" name      \
    "\"},\"spec\":{\"replicas\":" #replicas ",\"selector\":{\"matchLabels\":{\"app\":\"" name \
    "\"}}," extra "\"template\":{\"metadata\":{\"labels\":{\"app\":\"" name                   \
    "\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"" image                       \
    "\",\"resources\":{\"requests\":{\"cpu\":\"100m\"}}}]}}}}"

static bool rolled_out(struct sim *s, void *arg)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(s, &kind_deployment, "default", arg);
    const struct kj_val *r = doc ? kj_root(doc) : NULL;
    int64_t want = kj_i64_or(kj_path(r, "spec.replicas"), -1);
    return kj_i64_or(kj_path(r, "status.observedGeneration"), 0) ==
               kj_i64_or(kj_path(r, "metadata.generation"), -1) &&
           kj_i64_or(kj_path(r, "status.replicas"), 0) == want &&
           kj_i64_or(kj_path(r, "status.updatedReplicas"), 0) == want &&
           kj_i64_or(kj_path(r, "status.availableReplicas"), 0) == want;
}

/* ---- nodes and pods ------------------------------------------------------------------------ */

static void test_nodes_register_and_live(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 1);
    assert_int_equal(sim_count(&s, &kind_node, NULL, NULL), 5);
    sim_run(&s, 120 * SEC);
    for (int i = 0; i < 5; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "hollow-%d", i);
        assert_string_equal(sim_condition(&s, &kind_node, NULL, name, "Ready"), "True");
    }
    assert_int_equal(sim_count(&s, &kind_lease, "kube-node-lease", NULL), 5);
}

static void test_deployment_runs(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 2);
    assert_int_equal(sim_create(&s, DEPLOY("web", 10, "a:1", "")), 201);
    assert_true(sim_until(&s, 60 * SEC, rolled_out, "web"));
    sim_run(&s, 2 * SEC);
    assert_int_equal(sim_count(&s, &kind_pod, "default", "app=web"), 10);
    assert_string_equal(sim_condition(&s, &kind_deployment, "default", "web", "Available"), "True");
    assert_string_equal(sim_condition(&s, &kind_deployment, "default", "web", "Progressing"),
                        "True");
    assert_int_equal(sim_count(&s, &kind_replicaset, "default", NULL), 1);
}

/* ---- rollouts ------------------------------------------------------------------------------ */

struct watched { /* limits that hold at every moment of a rollout */
    const char *name;
    int64_t max_pods, min_available;
    int64_t worst_pods, worst_available;
};

/* Pods that are not on their way out, and pods that serve, as the server has them. */
static void look(struct sim *s, struct watched *w)
{
    int64_t pods = 0, ready = 0;
    struct kobj *o;
    size_t it = 0;

    while ((o = informer_next(s->pods, &it))) {
        const char *app = kstrmap_get(&o->meta.labels, "app");
        if (!app || !streq(app, w->name) || pod_is_terminal(pod_of(o)) || o->meta.deleted)
            continue;
        pods++;
        ready += pod_is_ready(pod_of(o));
    }
    w->worst_pods = MAX(w->worst_pods, pods);
    w->worst_available = MIN(w->worst_available, ready);
}

static bool watched_rollout(struct sim *s, struct watched *w, nsec_t limit)
{
    w->worst_pods = 0;
    w->worst_available = INT64_MAX;
    for (nsec_t t = 0; t < limit; t += 10 * NSEC_PER_MSEC) {
        look(s, w);
        if (w->worst_pods > w->max_pods || w->worst_available < w->min_available) {
            print_error("%s: %lld pods, %lld available\n", w->name, (long long)w->worst_pods,
                        (long long)w->worst_available);
            return false;
        }
        if (t % SEC == 0 && rolled_out(s, (void *)w->name))
            return true;
        loop_advance(s->loop, 10 * NSEC_PER_MSEC);
    }
    return false;
}

static void set_image(struct sim *s, const char *name, const char *image)
{
    char body[256];
    (void)snprintf(body, sizeof body,
                   "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
                   "\"%s\",\"resources\":{\"requests\":{\"cpu\":\"100m\"}}}]}}}}",
                   image);
    assert_int_equal(sim_patch(s, &kind_deployment, "default", name, NULL, body), 200);
}

static void revision_of(struct sim *s, const char *name, char *out, size_t size)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(s, &kind_deployment, "default", name);
    const struct kj_val *a = kj_path(kj_root(doc), "metadata.annotations");
    (void)snprintf(out, size, "%s", kj_str_or(kj_get(a, "deployment.kubernetes.io/revision"), ""));
}

static void test_rolling_update_keeps_its_limits(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    struct watched w = { .name = "web", .max_pods = 13, .min_available = 8 };
    char revision[16];

    (void)state;
    sim_begin(&s, 3);
    assert_int_equal(sim_create(&s, DEPLOY("web", 10, "a:1", "")), 201);
    assert_true(sim_until(&s, 60 * SEC, rolled_out, "web"));
    set_image(&s, "web", "a:2");
    assert_true(watched_rollout(&s, &w, 300 * SEC));
    assert_int_equal(sim_count(&s, &kind_replicaset, "default", NULL), 2);
    revision_of(&s, "web", revision, sizeof revision);
    assert_string_equal(revision, "2");
    /* Back to the old template: the old ReplicaSet is used again, as revision 3. */
    set_image(&s, "web", "a:1");
    assert_true(watched_rollout(&s, &w, 300 * SEC));
    assert_int_equal(sim_count(&s, &kind_replicaset, "default", NULL), 2);
    revision_of(&s, "web", revision, sizeof revision);
    assert_string_equal(revision, "3");
}

/* SIM_SEEDS=100 is the long form. */
static uint64_t seeds(void)
{
    const char *n = getenv("SIM_SEEDS");
    return n ? strtoull(n, NULL, 10) : 5;
}

static void test_rollout_under_faults(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        CLEANUP(sim_fini) struct sim s;
        struct watched w = { .name = "web", .max_pods = 10, .min_available = 0 };
        sim_begin(&s, seed);
        s.faults =
            (struct sim_faults){ .refuse = 50, .lose = 100, .slow = 200, .slow_max = 2 * SEC };
        /* No surge: a pod too many can only be a double create. */
        assert_int_equal(sim_create(&s, DEPLOY("web", 10, "a:1",
                                               "\"strategy\":{\"rollingUpdate\":{\"maxSurge\":0,"
                                               "\"maxUnavailable\":3}},")),
                         201);
        assert_true(watched_rollout(&s, &w, 600 * SEC));
        w.min_available = 7;
        for (int i = 2; i < 5; i++) {
            char image[16];
            (void)snprintf(image, sizeof image, "a:%d", i);
            set_image(&s, "web", image);
            assert_true(watched_rollout(&s, &w, 1200 * SEC));
        }
        sim_run(&s, 30 * SEC);
        assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 10);
    }
}

static void test_scale_pause_and_history(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 4);
    assert_int_equal(sim_create(&s, DEPLOY("web", 4, "a:1", "\"revisionHistoryLimit\":1,")), 201);
    assert_true(sim_until(&s, 60 * SEC, rolled_out, "web"));
    assert_int_equal(
        sim_patch(&s, &kind_deployment, "default", "web", NULL, "{\"spec\":{\"replicas\":7}}"),
        200);
    assert_true(sim_until(&s, 60 * SEC, rolled_out, "web"));
    assert_int_equal(
        sim_patch(&s, &kind_deployment, "default", "web", NULL, "{\"spec\":{\"paused\":true}}"),
        200);
    set_image(&s, "web", "a:2");
    sim_run(&s, 20 * SEC);
    assert_int_equal(sim_count(&s, &kind_replicaset, "default", NULL), 1);
    assert_string_equal(sim_condition(&s, &kind_deployment, "default", "web", "Progressing"),
                        "Unknown");
    assert_int_equal(sim_patch(&s, &kind_deployment, "default", "web", NULL,
                               "{\"spec\":{\"paused\":false,\"replicas\":3}}"),
                     200);
    assert_true(sim_until(&s, 120 * SEC, rolled_out, "web"));
    set_image(&s, "web", "a:3");
    assert_true(sim_until(&s, 120 * SEC, rolled_out, "web"));
    set_image(&s, "web", "a:4");
    assert_true(sim_until(&s, 120 * SEC, rolled_out, "web"));
    sim_run(&s, 20 * SEC);
    assert_int_equal(sim_count(&s, &kind_replicaset, "default", NULL), 2);
}

static void test_recreate_never_mixes(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 5);
    assert_int_equal(
        sim_create(&s, DEPLOY("web", 4, "a:1", "\"strategy\":{\"type\":\"Recreate\"},")), 201);
    assert_true(sim_until(&s, 60 * SEC, rolled_out, "web"));
    set_image(&s, "web", "a:2");
    for (int i = 0; i < 6000 && !(i % 100 == 0 && i && rolled_out(&s, "web")); i++) {
        const char *seen = NULL;
        struct kobj *o;
        size_t it = 0;
        while ((o = informer_next(s.pods, &it))) {
            const char *hash = kstrmap_get(&o->meta.labels, "pod-template-hash");
            assert_true(!seen || streq(seen, hash));
            seen = hash;
        }
        sim_run(&s, 10 * NSEC_PER_MSEC);
    }
    assert_true(rolled_out(&s, "web"));
}

static void test_progress_deadline(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char reason[64] = "";
    struct str key;
    const struct kj_val *c;

    (void)state;
    sim_begin(&s, 6);
    s.no_binder = true;
    assert_int_equal(sim_create(&s, DEPLOY("web", 2, "a:1", "\"progressDeadlineSeconds\":30,")),
                     201);
    sim_run(&s, 60 * SEC);
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(&s, &kind_deployment, "default", "web");
    for (struct kj_iter it = kj_iter(kj_path(kj_root(doc), "status.conditions"));
         kj_next(&it, &key, &c);)
        if (streq(kj_str_or(kj_get(c, "type"), ""), "Progressing"))
            (void)snprintf(reason, sizeof reason, "%s", kj_str_or(kj_get(c, "reason"), ""));
    assert_string_equal(reason, "ProgressDeadlineExceeded");
}

/* ---- ReplicaSets --------------------------------------------------------------------------- */

#define RS(name, replicas)                                                                    \
    "{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"metadata\":{\"name\":\"" name      \
    "\"},\"spec\":{\"replicas\":" #replicas ",\"selector\":{\"matchLabels\":{\"app\":\"" name \
    "\"}},\"template\":{\"metadata\":{\"labels\":{\"app\":\"" name                            \
    "\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"a\"}]}}}}"
#define POD(name, labels, annotations, spec)                                        \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name        \
    "\",\"labels\":{" labels "},\"annotations\":{" annotations "}},\"spec\":{" spec \
    "\"containers\":[{\"name\":\"c\",\"image\":\"a\"}]}}"

static void test_adoption_and_release(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 7);
    assert_int_equal(sim_create(&s, POD("stray", "\"app\":\"r\"", "", "")), 201);
    sim_run(&s, 5 * SEC);
    assert_int_equal(sim_create(&s, RS("r", 3)), 201);
    sim_run(&s, 15 * SEC);
    assert_int_equal(sim_count(&s, &kind_pod, "default", "app=r"), 3);
    {
        CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(&s, &kind_pod, "default", "stray");
        assert_int_equal(kj_len(kj_path(kj_root(doc), "metadata.ownerReferences")), 1);
    }
    assert_int_equal(sim_patch(&s, &kind_pod, "default", "stray", NULL,
                               "{\"metadata\":{\"labels\":{\"app\":\"other\"}}}"),
                     200);
    sim_run(&s, 15 * SEC);
    assert_int_equal(sim_count(&s, &kind_pod, "default", "app=r"), 3);
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(&s, &kind_pod, "default", "stray");
    assert_int_equal(kj_len(kj_path(kj_root(doc), "metadata.ownerReferences")), 0);
}

static void test_scale_down_prefers_the_cheap(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 8);
    assert_int_equal(
        sim_create(&s, POD("dear", "\"app\":\"r\"",
                           "\"controller.kubernetes.io/pod-deletion-cost\":\"100\"", "")),
        201);
    assert_int_equal(sim_create(&s, RS("r", 4)), 201);
    sim_run(&s, 20 * SEC);
    assert_int_equal(
        sim_patch(&s, &kind_replicaset, "default", "r", NULL, "{\"spec\":{\"replicas\":1}}"), 200);
    sim_run(&s, 40 * SEC);
    assert_int_equal(sim_count(&s, &kind_pod, "default", "app=r"), 1);
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(&s, &kind_pod, "default", "dear");
    assert_non_null(doc);
}

/* ---- Jobs ---------------------------------------------------------------------------------- */

#define JOB(name, spec, annotations)                                                               \
    "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"" name                 \
    "\"},\"spec\":{" spec "\"template\":{\"metadata\":{\"annotations\":{" annotations              \
    "}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"a\"}]}}" \
    "}}"

static void test_job_completes(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    int64_t most = 0;

    (void)state;
    sim_begin(&s, 9);
    s.faults = (struct sim_faults){ .refuse = 30, .lose = 60, .slow = 100, .slow_max = SEC };
    assert_int_equal(sim_create(&s, JOB("j", "\"completions\":7,\"parallelism\":3,",
                                        "\"sim.koordinator.sh/run\":\"4s\"")),
                     201);
    for (int i = 0; i < 3000; i++) {
        int64_t active = 0;
        struct kobj *o;
        size_t it = 0;
        while ((o = informer_next(s.pods, &it)))
            active += !pod_is_terminal(pod_of(o)) && o->meta.deleted == 0;
        most = MAX(most, active);
        sim_run(&s, 100 * NSEC_PER_MSEC);
    }
    assert_int_equal(most, 3);
    assert_string_equal(sim_condition(&s, &kind_job, "default", "j", "Complete"), "True");
    assert_int_equal(sim_num(&s, &kind_job, "default", "j", "status.succeeded"), 7);
    assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 7);
}

#define ONCE(name, image)                                                                          \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name                       \
    "\"},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"" image \
    "\"}]}}"

static void test_pause_does_not_end(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    int64_t ended = 0, running = 0;
    struct kobj *o;
    size_t it = 0;

    (void)state;
    sim_begin(&s, 9);
    assert_int_equal(sim_create(&s, ONCE("a", "registry.k8s.io/pause:3.10")), 201);
    assert_int_equal(sim_create(&s, ONCE("b", "pause@sha256:00")), 201);
    assert_int_equal(sim_create(&s, ONCE("c", "pauser")), 201);
    sim_run(&s, 60 * SEC);
    while ((o = informer_next(s.pods, &it)))
        if (pod_is_terminal(pod_of(o)))
            ended++;
        else
            running++;
    assert_int_equal(ended, 1);
    assert_int_equal(running, 2);
}

static void test_job_backs_off_and_fails(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 10);
    assert_int_equal(sim_create(&s, JOB("j", "\"backoffLimit\":2,\"ttlSecondsAfterFinished\":60,",
                                        "\"sim.koordinator.sh/run\":\"2s\","
                                        "\"sim.koordinator.sh/exit-code\":\"3\"")),
                     201);
    sim_run(&s, 12 * SEC);
    assert_int_equal(sim_num(&s, &kind_job, "default", "j", "status.failed"), 1);
    sim_run(&s, 60 * SEC);
    assert_string_equal(sim_condition(&s, &kind_job, "default", "j", "Failed"), "True");
    assert_int_equal(sim_num(&s, &kind_job, "default", "j", "status.failed"), 3);
    sim_run(&s, 90 * SEC);
    assert_int_equal(sim_count(&s, &kind_job, "default", NULL), 0);
    assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 0);
}

static void test_job_indexed_and_suspended(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char text[64];

    (void)state;
    sim_begin(&s, 11);
    assert_int_equal(
        sim_create(&s, JOB("j",
                           "\"completions\":5,\"parallelism\":2,\"completionMode\":\"Indexed\","
                           "\"suspend\":true,",
                           "")),
        201);
    sim_run(&s, 10 * SEC);
    assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 0);
    assert_string_equal(sim_condition(&s, &kind_job, "default", "j", "Suspended"), "True");
    assert_int_equal(
        sim_patch(&s, &kind_job, "default", "j", NULL, "{\"spec\":{\"suspend\":false}}"), 200);
    sim_run(&s, 60 * SEC);
    assert_string_equal(sim_condition(&s, &kind_job, "default", "j", "Complete"), "True");
    sim_text(&s, &kind_job, "default", "j", "status.completedIndexes", text, sizeof text);
    assert_string_equal(text, "0-4");
    assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 5);
}

static void test_indexed_job_under_faults(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        CLEANUP(sim_fini) struct sim s;
        sim_begin(&s, 100 + seed);
        s.faults =
            (struct sim_faults){ .refuse = 50, .lose = 150, .slow = 200, .slow_max = 2 * SEC };
        assert_int_equal(sim_create(&s, JOB("j",
                                            "\"completions\":8,\"parallelism\":4,"
                                            "\"completionMode\":\"Indexed\",",
                                            "\"sim.koordinator.sh/run\":\"3s\"")),
                         201);
        sim_run(&s, 300 * SEC);
        assert_string_equal(sim_condition(&s, &kind_job, "default", "j", "Complete"), "True");
        assert_int_equal(sim_num(&s, &kind_job, "default", "j", "status.succeeded"), 8);
        /* One pod for each index: none was made twice. */
        assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 8);
    }
}

static bool many_ready(struct sim *s, void *arg)
{
    (void)arg;
    return sim_num(s, &kind_replicaset, "default", "r", "status.readyReplicas") == 1000;
}

static void test_a_thousand_pods(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    struct hollow_shape shape = { .count = 50, .max_pods = 200 };
    struct cluster_opts o = {
        .replicaset = true, .gc = true, .nodes = true, .hollow = { .shapes = &shape, .nshapes = 1 }
    };

    (void)state;
    sim_init(&s, 30);
    sim_start(&s, &o);
    assert_true(sim_until(&s, 60 * SEC, sim_nodes_ready, NULL));
    assert_int_equal(sim_create(&s, RS("r", 1000)), 201);
    assert_true(sim_until(&s, 120 * SEC, many_ready, NULL));
    assert_int_equal(cluster_stats(s.cluster).pods_created, 1000);
    assert_int_equal(sim_delete(&s, &kind_replicaset, "default", "r", NULL), 200);
    sim_run(&s, 60 * SEC);
    assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 0);
}

/* ---- garbage, namespaces ------------------------------------------------------------------- */

static void test_garbage_background(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 12);
    s.faults = (struct sim_faults){ .refuse = 30, .lose = 60, .slow = 100, .slow_max = SEC };
    assert_int_equal(sim_create(&s, DEPLOY("web", 5, "a:1", "")), 201);
    assert_true(sim_until(&s, 120 * SEC, rolled_out, "web"));
    assert_int_equal(sim_delete(&s, &kind_deployment, "default", "web", NULL), 200);
    sim_run(&s, 90 * SEC);
    assert_int_equal(sim_count(&s, &kind_replicaset, "default", NULL), 0);
    assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 0);
}

static void test_garbage_foreground(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 13);
    assert_int_equal(sim_create(&s, DEPLOY("web", 3, "a:1", "")), 201);
    assert_true(sim_until(&s, 60 * SEC, rolled_out, "web"));
    assert_int_equal(sim_delete(&s, &kind_deployment, "default", "web",
                                "{\"propagationPolicy\":\"Foreground\"}"),
                     200);
    assert_int_equal(sim_count(&s, &kind_deployment, "default", NULL), 1);
    /* The owner goes last. */
    for (int i = 0; i < 600; i++) {
        if (sim_count(&s, &kind_deployment, "default", NULL) == 0)
            assert_int_equal(sim_count(&s, &kind_replicaset, "default", NULL), 0);
        sim_run(&s, 100 * NSEC_PER_MSEC);
    }
    assert_int_equal(sim_count(&s, &kind_deployment, "default", NULL), 0);
    assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 0);
}

static void test_garbage_orphan(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 14);
    assert_int_equal(sim_create(&s, DEPLOY("web", 3, "a:1", "")), 201);
    assert_true(sim_until(&s, 60 * SEC, rolled_out, "web"));
    assert_int_equal(
        sim_delete(&s, &kind_deployment, "default", "web", "{\"propagationPolicy\":\"Orphan\"}"),
        200);
    sim_run(&s, 30 * SEC);
    assert_int_equal(sim_count(&s, &kind_deployment, "default", NULL), 0);
    assert_int_equal(sim_count(&s, &kind_replicaset, "default", NULL), 1);
    assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 3);
    /* A Deployment of the same template takes them over again. */
    assert_int_equal(sim_create(&s, DEPLOY("web", 3, "a:1", "")), 201);
    assert_true(sim_until(&s, 60 * SEC, rolled_out, "web"));
    assert_int_equal(sim_count(&s, &kind_replicaset, "default", NULL), 1);
}

static void test_namespace_ends(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 15);
    assert_int_equal(
        sim_create(&s,
                   "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"x\"}}"),
        201);
    assert_int_equal(sim_create(&s,
                                "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                                "\"name\":\"c\",\"namespace\":\"x\",\"finalizers\":[\"a.b/c\"]}}"),
                     201);
    assert_int_equal(sim_create(&s,
                                "{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\","
                                "\"metadata\":{\"name\":\"r\",\"namespace\":\"x\"},\"spec\":{"
                                "\"replicas\":3,\"selector\":{\"matchLabels\":{\"a\":\"b\"}},"
                                "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{"
                                "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}"),
                     201);
    sim_run(&s, 15 * SEC);
    assert_int_equal(sim_count(&s, &kind_pod, "x", NULL), 3);
    assert_int_equal(sim_delete(&s, &kind_namespace, NULL, "x", NULL), 200);
    sim_run(&s, 60 * SEC);
    assert_int_equal(sim_count(&s, &kind_pod, "x", NULL), 0);
    assert_string_equal(
        sim_condition(&s, &kind_namespace, NULL, "x", "NamespaceFinalizersRemaining"), "True");
    assert_int_equal(
        sim_patch(&s, &kind_configmap, "x", "c", NULL, "{\"metadata\":{\"finalizers\":null}}"),
        200);
    sim_run(&s, 10 * SEC);
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(&s, &kind_namespace, NULL, "x");
    assert_null(doc);
}

/* ---- nodes that fail, budgets -------------------------------------------------------------- */

static void test_lost_node_is_tainted_and_emptied(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    struct hollow_shape shape = { .count = 3 };
    struct cluster_opts control = { .replicaset = true, .nodes = true, .gc = true };
    struct cluster_opts kubelets = { .hollow = { .shapes = &shape, .nshapes = 1 } };
    struct kerr err = { 0 };

    (void)state;
    sim_init(&s, 16);
    sim_start(&s, &control);
    CLEANUP(cluster_free) struct cluster *h = cluster_new(s.loop, s.kube, &kubelets, &err);
    sim_run(&s, 5 * SEC);
    assert_int_equal(sim_create(&s, RS("r", 3)), 201);
    sim_run(&s, 20 * SEC);
    assert_int_equal(sim_num(&s, &kind_replicaset, "default", "r", "status.readyReplicas"), 3);
    h = cluster_free(h); /* all kubelets die */
    sim_run(&s, 35 * SEC);
    assert_string_equal(sim_condition(&s, &kind_node, NULL, "hollow-0", "Ready"), "True");
    sim_run(&s, 20 * SEC);
    assert_string_equal(sim_condition(&s, &kind_node, NULL, "hollow-0", "Ready"), "Unknown");
    {
        CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(&s, &kind_node, NULL, "hollow-0");
        assert_int_equal(kj_len(kj_path(kj_root(doc), "spec.taints")), 2);
    }
    assert_int_equal(sim_num(&s, &kind_replicaset, "default", "r", "status.readyReplicas"), -1);
    /* Pods tolerate it for five minutes, then go; nobody confirms their end. */
    sim_run(&s, 320 * SEC);
    assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 6);
    /* The kubelets come back, finish the old pods and take the new ones. */
    h = cluster_new(s.loop, s.kube, &kubelets, &err);
    sim_run(&s, 60 * SEC);
    assert_string_equal(sim_condition(&s, &kind_node, NULL, "hollow-0", "Ready"), "True");
    assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 3);
    assert_int_equal(sim_num(&s, &kind_replicaset, "default", "r", "status.readyReplicas"), 3);
}

static void test_pods_of_a_deleted_node_are_collected(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 22);
    assert_int_equal(sim_create(&s, RS("r", 10)), 201);
    sim_run(&s, 20 * SEC);
    assert_int_equal(sim_delete(&s, &kind_node, NULL, "hollow-2", NULL), 200);
    sim_run(&s, 120 * SEC);
    assert_int_equal(sim_count(&s, &kind_node, NULL, NULL), 4); /* it does not come back */
    assert_int_equal(sim_count(&s, &kind_lease, "kube-node-lease", NULL), 4);
    assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 10);
    assert_int_equal(sim_num(&s, &kind_replicaset, "default", "r", "status.readyReplicas"), 10);
}

static void test_budget_status(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 17);
    assert_int_equal(sim_create(&s, DEPLOY("web", 10, "a:1", "")), 201);
    assert_int_equal(
        sim_create(&s, "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\","
                       "\"metadata\":{\"name\":\"b\"},\"spec\":{\"maxUnavailable\":\"25%\","
                       "\"selector\":{\"matchLabels\":{\"app\":\"web\"}}}}"),
        201);
    assert_true(sim_until(&s, 60 * SEC, rolled_out, "web"));
    sim_run(&s, 5 * SEC);
    assert_int_equal(sim_num(&s, &kind_pdb, "default", "b", "status.expectedPods"), 10);
    assert_int_equal(sim_num(&s, &kind_pdb, "default", "b", "status.currentHealthy"), 10);
    assert_int_equal(sim_num(&s, &kind_pdb, "default", "b", "status.desiredHealthy"), 7);
    assert_int_equal(sim_num(&s, &kind_pdb, "default", "b", "status.disruptionsAllowed"), 3);
    assert_string_equal(sim_condition(&s, &kind_pdb, "default", "b", "DisruptionAllowed"), "True");
    s.no_binder = true;
    assert_int_equal(
        sim_patch(&s, &kind_deployment, "default", "web", NULL, "{\"spec\":{\"replicas\":14}}"),
        200);
    sim_run(&s, 5 * SEC);
    assert_int_equal(sim_num(&s, &kind_pdb, "default", "b", "status.disruptionsAllowed"), 0);
    assert_string_equal(sim_condition(&s, &kind_pdb, "default", "b", "DisruptionAllowed"), "False");
}

/* ---- hollow kubelets ----------------------------------------------------------------------- */

static void test_kubelet_refuses_what_does_not_fit(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char text[64];

    (void)state;
    sim_begin(&s, 18);
    assert_int_equal(
        sim_create(&s,
                   "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"big\"},"
                   "\"spec\":{\"nodeName\":\"hollow-0\",\"containers\":[{\"name\":\"c\",\"image\":"
                   "\"a\",\"resources\":{\"requests\":{\"cpu\":\"17\"}}}]}}"),
        201);
    sim_run(&s, 5 * SEC);
    sim_text(&s, &kind_pod, "default", "big", "status.reason", text, sizeof text);
    assert_string_equal(text, "OutOfcpu");
    sim_text(&s, &kind_pod, "default", "big", "status.phase", text, sizeof text);
    assert_string_equal(text, "Failed");
}

static void test_init_containers_and_restarts(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char text[64];

    (void)state;
    sim_begin(&s, 19);
    assert_int_equal(
        sim_create(&s, POD("p", "", "", "\"initContainers\":[{\"name\":\"i\",\"image\":\"a\"}],")),
        201);
    sim_run(&s, 15 * SEC);
    assert_string_equal(sim_condition(&s, &kind_pod, "default", "p", "Ready"), "True");
    assert_int_equal(sim_patch(&s, &kind_pod, "default", "p", NULL,
                               "{\"metadata\":{\"annotations\":{"
                               "\"sim.koordinator.sh/restarts\":\"3\"}}}"),
                     200);
    sim_run(&s, 10 * SEC);
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(&s, &kind_pod, "default", "p");
    const struct kj_val *c = kj_at(kj_path(kj_root(doc), "status.containerStatuses"), 0);
    assert_int_equal(kj_i64_or(kj_get(c, "restartCount"), -1), 3);
    sim_text(&s, &kind_pod, "default", "p", "status.phase", text, sizeof text);
    assert_string_equal(text, "Running");
    assert_int_equal(sim_delete(&s, &kind_pod, "default", "p", NULL), 200);
    sim_run(&s, 5 * SEC);
    assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 0);
}

static void test_shapes_devices_and_metrics(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    struct hollow_shape_text t = { 0 };
    struct kerr err = { 0 };

    (void)state;
    sim_init(&s, 20);
    assert_int_equal(hollow_shape_parse(
                         "2,cpu=32,memory=128Gi,gpus=8,gpu-model=H800,gpu-partitions=Honor,rdma=4,"
                         "rdma-vfs=7,numa=2,zones=2,prefix=gpu-,"
                         "label:pool=ml,taint:ml=yes:PreferNoSchedule",
                         &t, &err),
                     0);
    struct cluster_opts o = { .replicaset = true, .hollow = { .shapes = &t.shape, .nshapes = 1 } };
    sim_start(&s, &o);
    hollow_shape_fini(&t);
    sim_run(&s, 10 * SEC);
    CLEANUP(kj_doc_free) struct kj_doc *dev = sim_get(&s, &kind_device, NULL, "gpu-1");
    const struct kj_val *devices = kj_path(kj_root(dev), "spec.devices");
    assert_int_equal(kj_len(devices), 12);
    /* The last NIC is on the root complex of the last two GPUs, and so on their NUMA node. */
    const struct kj_val *nic = kj_at(devices, 11), *gpu = kj_at(devices, 7);
    assert_string_equal(kj_str(kj_get(nic, "type")), "rdma");
    assert_true(kj_equal(kj_path(nic, "topology.pcieID"), kj_path(gpu, "topology.pcieID")));
    assert_int_equal(kj_i64_or(kj_path(nic, "topology.nodeID"), -1), 1);
    const struct kj_val *vfs = kj_get(kj_at(kj_get(nic, "vfGroups"), 0), "vfs");
    assert_int_equal(kj_len(vfs), 7);
    assert_string_equal(kj_str(kj_get(kj_at(vfs, 0), "busID")), "0000:83:00.2");
    assert_string_equal(kj_str(kj_get(kj_at(vfs, 6), "busID")), "0000:83:01.0");
    assert_string_equal(
        kj_str(kj_get(kj_path(kj_root(dev), "metadata.labels"), "node.koordinator.sh/gpu-model")),
        "H800");
    const char *table = kj_str(kj_get(kj_path(kj_root(dev), "metadata.annotations"),
                                      "scheduling.koordinator.sh/gpu-partitions"));
    assert_non_null(strstr(table, "\"4\":[{\"minors\":[0,1,2,3],"));
    CLEANUP(kj_doc_free)
    struct kj_doc *nrt = sim_get(&s, &kind_noderesourcetopology, NULL, "gpu-0");
    assert_int_equal(kj_len(kj_path(kj_root(nrt), "zones")), 2);
    assert_int_equal(
        sim_create(&s, POD("p", "", "\"sim.koordinator.sh/load\":\"constant:2,4Gi,noise=0\"",
                           "\"nodeName\":\"gpu-0\",")),
        201);
    sim_run(&s, 130 * SEC);
    CLEANUP(kj_doc_free) struct kj_doc *nm = sim_get(&s, &kind_nodemetric, NULL, "gpu-0");
    const struct kj_val *pod = kj_at(kj_path(kj_root(nm), "status.podsMetric"), 0);
    assert_string_equal(kj_str_or(kj_path(pod, "podUsage.resources.cpu"), ""), "2");
    assert_int_equal(kj_len(kj_path(kj_root(nm), "status.nodeMetric.aggregatedNodeUsages")), 3);
}

/* A report that was stored, and whose answer got lost, is not taken for one of a real koordlet. */
static void test_metrics_go_on_after_a_lost_answer(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    struct hollow_shape shape = { .count = 1 };
    struct cluster_opts o = { .hollow = { .shapes = &shape, .nshapes = 1 } };
    nsec_t updated = 0;

    (void)state;
    sim_init(&s, 22);
    sim_start(&s, &o);
    sim_run(&s, 70 * SEC);
    s.faults = (struct sim_faults){ .lose = 1000, .slow_max = SEC };
    sim_run(&s, 65 * SEC);
    s.faults = (struct sim_faults){ 0 };
    sim_run(&s, 150 * SEC);
    CLEANUP(kj_doc_free) struct kj_doc *nm = sim_get(&s, &kind_nodemetric, NULL, "hollow-0");
    const char *text = kj_str_or(kj_path(kj_root(nm), "status.updateTime"), "");
    assert_int_equal(ktime_parse(text, strlen(text), &updated, NULL), 0);
    assert_that(loop_wall(s.loop) - updated, <=, 61 * SEC);
}

/* A report that is never due is not due at once. */
static void test_metrics_that_are_never_due(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char before[80], after[80];

    (void)state;
    sim_begin(&s, 23);
    sim_run(&s, 70 * SEC);
    assert_int_equal(sim_patch(&s, &kind_nodemetric, NULL, "hollow-0", NULL,
                               "{\"spec\":{\"metricCollectPolicy\":{\"reportIntervalSeconds\":"
                               "9223372036854775807}}}"),
                     200);
    sim_run(&s, 70 * SEC); /* one more may be on its way */
    sim_text(&s, &kind_nodemetric, NULL, "hollow-0", "status.updateTime", before, sizeof before);
    sim_run(&s, 300 * SEC);
    sim_text(&s, &kind_nodemetric, NULL, "hollow-0", "status.updateTime", after, sizeof after);
    assert_string_equal(before, after);
}

static void test_restart_of_everything(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 21);
    assert_int_equal(sim_create(&s, DEPLOY("web", 6, "a:1", "")), 201);
    sim_run(&s, 3 * SEC);
    for (int i = 0; i < 5; i++) {
        sim_stop_cluster(&s);
        sim_start(&s, NULL);
        sim_run(&s, 1500 * NSEC_PER_MSEC);
        assert_that(sim_count(&s, &kind_pod, "default", NULL), <=, 6);
    }
    assert_true(sim_until(&s, 60 * SEC, rolled_out, "web"));
    assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 6);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_register_and_live),
        cmocka_unit_test(test_deployment_runs),
        cmocka_unit_test(test_rolling_update_keeps_its_limits),
        cmocka_unit_test(test_rollout_under_faults),
        cmocka_unit_test(test_scale_pause_and_history),
        cmocka_unit_test(test_recreate_never_mixes),
        cmocka_unit_test(test_progress_deadline),
        cmocka_unit_test(test_adoption_and_release),
        cmocka_unit_test(test_scale_down_prefers_the_cheap),
        cmocka_unit_test(test_job_completes),
        cmocka_unit_test(test_pause_does_not_end),
        cmocka_unit_test(test_job_backs_off_and_fails),
        cmocka_unit_test(test_job_indexed_and_suspended),
        cmocka_unit_test(test_indexed_job_under_faults),
        cmocka_unit_test(test_a_thousand_pods),
        cmocka_unit_test(test_garbage_background),
        cmocka_unit_test(test_garbage_foreground),
        cmocka_unit_test(test_garbage_orphan),
        cmocka_unit_test(test_namespace_ends),
        cmocka_unit_test(test_lost_node_is_tainted_and_emptied),
        cmocka_unit_test(test_pods_of_a_deleted_node_are_collected),
        cmocka_unit_test(test_budget_status),
        cmocka_unit_test(test_kubelet_refuses_what_does_not_fit),
        cmocka_unit_test(test_init_containers_and_restarts),
        cmocka_unit_test(test_shapes_devices_and_metrics),
        cmocka_unit_test(test_metrics_go_on_after_a_lost_answer),
        cmocka_unit_test(test_metrics_that_are_never_due),
        cmocka_unit_test(test_restart_of_everything),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
