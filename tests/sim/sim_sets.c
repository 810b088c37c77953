/* sim_sets.c - StatefulSets and DaemonSets against the embedded API server, on the virtual loop,
 * with lost, refused and slow answers. */
#include "base/test/asserts.h"
#include "sim_cluster.h"

#include <stdio.h>

#include "api/event.h"
#include "api/storage.h"
#include "api/workload.h"

#define TEMPLATE(app, image)                                            \
    "\"template\":{\"metadata\":{\"labels\":{\"app\":\"" app            \
    "\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"" image \
    "\",\"resources\":{\"requests\":{\"cpu\":\"100m\"}}}]}}"
#define STS(name, replicas, extra)                                                        \
    "{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"metadata\":{\"name\":\"" name \
    "\"},\"spec\":{\"serviceName\":\"svc\",\"replicas\":" #replicas                       \
    ",\"selector\":{\"matchLabels\":{\"app\":\"" name "\"}}," extra                       \
    TEMPLATE(name, "a:1") "}}"
#define DS(name, extra)                                                                 \
    "{\"apiVersion\":\"apps/v1\",\"kind\":\"DaemonSet\",\"metadata\":{\"name\":\"" name \
    "\"},\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"" name "\"}}," extra        \
    TEMPLATE(name, "a:1") "}}"
#define CLAIMS                                                                                \
    "\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"data\"},\"spec\":{\"accessModes\":[" \
    "\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}],"

static const struct kind kind_revisions = { .group = "apps",
                                            .version = "v1",
                                            .kind = "ControllerRevision",
                                            .plural = "controllerrevisions",
                                            .namespaced = true,
                                            .schema = &kobj_schema };
static const struct kind kind_rc = { .group = "",
                                     .version = "v1",
                                     .kind = "ReplicationController",
                                     .plural = "replicationcontrollers",
                                     .namespaced = true,
                                     .schema = &kobj_schema };
static const struct sim_faults some_faults = {
    .refuse = 50, .lose = 100, .slow = 200, .slow_max = 2 * SEC
};

static uint64_t seeds(void)
{
    const char *n = getenv("SIM_SEEDS");
    return n ? strtoull(n, NULL, 10) : 3;
}

static void set_image(struct sim *s, const struct kind *k, const char *name, const char *image)
{
    char body[256];
    (void)snprintf(body, sizeof body,
                   "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
                   "\"%s\",\"resources\":{\"requests\":{\"cpu\":\"100m\"}}}]}}}}",
                   image);
    assert_int_equal(sim_patch(s, k, "default", name, NULL, body), 200);
}

/* ---- StatefulSets -------------------------------------------------------------------------- */

struct numbered { /* pods of a set by ordinal, as the server has them */
    const struct pod *pod[16];
    size_t n, ready;
};

static struct numbered look(struct sim *s, const char *name)
{
    struct numbered v = { 0 };
    struct kobj *o;
    size_t it = 0, len = strlen(name);

    while ((o = informer_next(s->pods, &it))) {
        const char *app = kstrmap_get(&o->meta.labels, "app");
        if (!app || !streq(app, name))
            continue;
        size_t i = (size_t)atoi(o->meta.name + len + 1);
        assert_in_range(i, 0, 15);
        v.pod[i] = pod_of(o);
        v.n++;
        v.ready += pod_is_ready(pod_of(o)) && !o->meta.deleted;
    }
    return v;
}

/* While a set grows or shrinks in order, its pods are the first ones without a hole, and all but
 * the last are ready. */
static void check_order(struct sim *s, const char *name)
{
    struct numbered v = look(s, name);

    for (size_t i = 0; i + 1 < v.n; i++) {
        assert_non_null(v.pod[i]);
        assert_true(pod_is_ready(v.pod[i]));
        assert_int_equal(v.pod[i]->obj.meta.deleted, 0);
    }
}

static bool sts_done(struct sim *s, void *arg)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(s, &kind_statefulset, "default", arg);
    const struct kj_val *r = doc ? kj_root(doc) : NULL, *t = kj_get(r, "status");
    int64_t want = kj_i64_or(kj_path(r, "spec.replicas"), -1);

    return kj_i64_or(kj_get(t, "observedGeneration"), 0) ==
               kj_i64_or(kj_path(r, "metadata.generation"), -1) &&
           kj_i64_or(kj_get(t, "replicas"), 0) == want &&
           kj_i64_or(kj_get(t, "readyReplicas"), 0) == want &&
           kj_i64_or(kj_get(t, "availableReplicas"), 0) == want &&
           kj_i64_or(kj_get(t, "updatedReplicas"), 0) == want &&
           streq(kj_str_or(kj_get(t, "currentRevision"), ""),
                 kj_str_or(kj_get(t, "updateRevision"), "-"));
}

static bool watched(struct sim *s, const char *name, nsec_t limit,
                    void (*check)(struct sim *s, const char *name))
{
    for (nsec_t t = 0; t < limit; t += 20 * NSEC_PER_MSEC) {
        check(s, name);
        if (t % SEC == 0 && t > SEC && sts_done(s, (void *)name))
            return true;
        loop_advance(s->loop, 20 * NSEC_PER_MSEC);
    }
    return false;
}

static void scale(struct sim *s, const struct kind *k, const char *name, int n)
{
    char body[64];
    (void)snprintf(body, sizeof body, "{\"spec\":{\"replicas\":%d}}", n);
    assert_int_equal(sim_patch(s, k, "default", name, NULL, body), 200);
}

static void test_pods_come_and_go_in_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        CLEANUP(sim_fini) struct sim s;
        sim_begin(&s, seed);
        s.faults = some_faults;
        assert_int_equal(sim_create(&s, STS("web", 4, "")), 201);
        assert_true(watched(&s, "web", 600 * SEC, check_order));
        scale(&s, &kind_statefulset, "web", 1);
        assert_true(watched(&s, "web", 600 * SEC, check_order));
        assert_int_equal(look(&s, "web").n, 1);
        assert_non_null(look(&s, "web").pod[0]);
        scale(&s, &kind_statefulset, "web", 3);
        assert_true(watched(&s, "web", 600 * SEC, check_order));
    }
}

/* kubectl and Go's controllers compare data with what they would write themselves: maps by key. */
static void check_sorted(struct sim *s, const char *name)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(s, &kind_revisions, "default", name);
    CLEANUP(strbuf_fini) struct strbuf is = STRBUF_INIT, sorted = STRBUF_INIT;

    kj_write(kj_get(kj_root(doc), "data"), 0, &is);
    kj_write(kj_get(kj_root(doc), "data"), KJ_SORTED, &sorted);
    assert_string_equal(is.data, sorted.data);
    assert_true(str_starts(is.data, "{\"spec\":{\"template\":{\"$patch\":\"replace\""));
}

static void test_identity(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char text[64];

    (void)state;
    sim_begin(&s, 1);
    assert_int_equal(sim_create(&s, STS("web", 2, "\"ordinals\":{\"start\":3}," CLAIMS)), 201);
    assert_true(sim_until(&s, 60 * SEC, sts_done, "web"));
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(&s, &kind_pod, "default", "web-4");
    const struct kj_val *r = kj_root(doc), *labels = kj_path(r, "metadata.labels");
    assert_string_equal(kj_str_or(kj_path(r, "spec.hostname"), ""), "web-4");
    assert_string_equal(kj_str_or(kj_path(r, "spec.subdomain"), ""), "svc");
    assert_string_equal(kj_str_or(kj_get(labels, "statefulset.kubernetes.io/pod-name"), ""),
                        "web-4");
    assert_string_equal(kj_str_or(kj_get(labels, "apps.kubernetes.io/pod-index"), ""), "4");
    sim_text(&s, &kind_statefulset, "default", "web", "status.updateRevision", text, sizeof text);
    assert_string_equal(kj_str_or(kj_get(labels, "controller-revision-hash"), ""), text);
    check_sorted(&s, text);
    const struct kj_val *volume = kj_at(kj_path(r, "spec.volumes"), 0);
    assert_string_equal(kj_str_or(kj_path(volume, "persistentVolumeClaim.claimName"), ""),
                        "data-web-4");
    assert_int_equal(sim_count(&s, &kind_pvc, "default", "app=web"), 2);
    /* Its labels come back, and so does the pod. */
    assert_int_equal(
        sim_patch(&s, &kind_pod, "default", "web-4", NULL,
                  "{\"metadata\":{\"labels\":{\"apps.kubernetes.io/pod-index\":null}}}"),
        200);
    sim_run(&s, 2 * SEC);
    CLEANUP(kj_doc_free) struct kj_doc *again = sim_get(&s, &kind_pod, "default", "web-4");
    labels = kj_path(kj_root(again), "metadata.labels");
    assert_string_equal(kj_str_or(kj_get(labels, "apps.kubernetes.io/pod-index"), ""), "4");
    assert_int_equal(sim_delete(&s, &kind_pod, "default", "web-3", NULL), 200);
    sim_run(&s, 2 * SEC);
    assert_true(sim_until(&s, 60 * SEC, sts_done, "web"));
    assert_int_equal(sim_count(&s, &kind_pvc, "default", NULL), 2);
}

/* ---- updates of StatefulSets --------------------------------------------------------------- */

static void check_one_down(struct sim *s, const char *name)
{
    struct numbered v = look(s, name);
    assert_true(v.ready + 1 >= 4);
}

static size_t count_image(struct sim *s, const char *name, const char *image)
{
    struct numbered v = look(s, name);
    size_t n = 0;

    for (size_t i = 0; i < 16; i++)
        n += v.pod[i] && streq(v.pod[i]->spec->containers.items[0].image, image);
    return n;
}

static void test_update_and_back_under_faults(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        CLEANUP(sim_fini) struct sim s;
        char before[64], after[64];
        sim_begin(&s, seed);
        assert_int_equal(sim_create(&s, STS("web", 4, "")), 201);
        assert_true(sim_until(&s, 60 * SEC, sts_done, "web"));
        sim_text(&s, &kind_statefulset, "default", "web", "status.currentRevision", before,
                 sizeof before);
        s.faults = some_faults;
        set_image(&s, &kind_statefulset, "web", "a:2");
        assert_true(watched(&s, "web", 900 * SEC, check_one_down));
        assert_int_equal(count_image(&s, "web", "a:2"), 4);
        assert_int_equal(sim_count(&s, &kind_revisions, "default", NULL), 2);
        set_image(&s, &kind_statefulset, "web", "a:1");
        assert_true(watched(&s, "web", 900 * SEC, check_one_down));
        assert_int_equal(count_image(&s, "web", "a:1"), 4);
        /* The old revision is today's again. */
        sim_text(&s, &kind_statefulset, "default", "web", "status.currentRevision", after,
                 sizeof after);
        assert_string_equal(before, after);
        assert_int_equal(sim_num(&s, &kind_revisions, "default", before, "revision"), 3);
        assert_int_equal(sim_count(&s, &kind_revisions, "default", NULL), 2);
    }
}

static void test_partition_and_history(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char current[64], update[64];

    (void)state;
    sim_begin(&s, 2);
    assert_int_equal(sim_create(&s, STS("web", 4,
                                        "\"revisionHistoryLimit\":1,\"updateStrategy\":{\"type\":"
                                        "\"RollingUpdate\",\"rollingUpdate\":{\"partition\":3}},")),
                     201);
    assert_true(sim_until(&s, 60 * SEC, sts_done, "web"));
    set_image(&s, &kind_statefulset, "web", "a:2");
    sim_run(&s, 60 * SEC);
    assert_int_equal(count_image(&s, "web", "a:2"), 1);
    assert_string_equal(look(&s, "web").pod[3]->spec->containers.items[0].image, "a:2");
    sim_text(&s, &kind_statefulset, "default", "web", "status.currentRevision", current,
             sizeof current);
    sim_text(&s, &kind_statefulset, "default", "web", "status.updateRevision", update,
             sizeof update);
    assert_string_not_equal(current, update);
    assert_int_equal(sim_num(&s, &kind_statefulset, "default", "web", "status.currentReplicas"), 3);
    /* Below the partition a deleted pod comes back with the old template. */
    assert_int_equal(sim_delete(&s, &kind_pod, "default", "web-1", NULL), 200);
    sim_run(&s, 30 * SEC);
    assert_string_equal(look(&s, "web").pod[1]->spec->containers.items[0].image, "a:1");
    assert_int_equal(sim_patch(&s, &kind_statefulset, "default", "web", NULL,
                               "{\"spec\":{\"updateStrategy\":{\"rollingUpdate\":"
                               "{\"partition\":0,\"maxUnavailable\":2}}}}"),
                     200);
    assert_true(sim_until(&s, 120 * SEC, sts_done, "web"));
    for (int i = 3; i < 6; i++) {
        char image[8];
        (void)snprintf(image, sizeof image, "a:%d", i);
        set_image(&s, &kind_statefulset, "web", image);
        assert_true(sim_until(&s, 120 * SEC, sts_done, "web"));
    }
    sim_run(&s, 5 * SEC);
    assert_int_equal(sim_count(&s, &kind_revisions, "default", NULL), 2);
}

static void test_on_delete(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 3);
    assert_int_equal(sim_create(&s, STS("web", 3, "\"updateStrategy\":{\"type\":\"OnDelete\"},")),
                     201);
    assert_true(sim_until(&s, 60 * SEC, sts_done, "web"));
    set_image(&s, &kind_statefulset, "web", "a:2");
    sim_run(&s, 30 * SEC);
    assert_int_equal(count_image(&s, "web", "a:2"), 0);
    assert_int_equal(sim_delete(&s, &kind_pod, "default", "web-0", NULL), 200);
    sim_run(&s, 30 * SEC);
    assert_int_equal(count_image(&s, "web", "a:2"), 1);
    assert_string_equal(look(&s, "web").pod[0]->spec->containers.items[0].image, "a:2");
}

/* ---- in parallel, claims ------------------------------------------------------------------- */

static void test_parallel_with_claims_under_faults(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        CLEANUP(sim_fini) struct sim s;
        sim_begin(&s, seed);
        s.faults = some_faults;
        assert_int_equal(
            sim_create(&s, STS("web", 8,
                               CLAIMS "\"podManagementPolicy\":\"Parallel\","
                                      "\"persistentVolumeClaimRetentionPolicy\":{\"whenScaled\":"
                                      "\"Delete\",\"whenDeleted\":\"Delete\"},")),
            201);
        assert_true(sim_until(&s, 300 * SEC, sts_done, "web"));
        assert_int_equal(sim_count(&s, &kind_pvc, "default", NULL), 8);
        scale(&s, &kind_statefulset, "web", 5);
        assert_true(sim_until(&s, 300 * SEC, sts_done, "web"));
        sim_run(&s, 120 * SEC);
        assert_int_equal(sim_count(&s, &kind_pvc, "default", NULL), 5);
        assert_int_equal(sim_delete(&s, &kind_statefulset, "default", "web", NULL), 200);
        sim_run(&s, 240 * SEC);
        assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 0);
        assert_int_equal(sim_count(&s, &kind_pvc, "default", NULL), 0);
        assert_int_equal(sim_count(&s, &kind_revisions, "default", NULL), 0);
    }
}

static void test_failed_pods_are_made_again(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 4);
    assert_int_equal(sim_create(&s, STS("web", 2, "")), 201);
    assert_true(sim_until(&s, 60 * SEC, sts_done, "web"));
    assert_int_equal(sim_patch(&s, &kind_pod, "default", "web-1", "status",
                               "{\"status\":{\"phase\":\"Failed\",\"reason\":\"Evicted\"}}"),
                     200);
    sim_run(&s, 5 * SEC);
    assert_true(sim_until(&s, 60 * SEC, sts_done, "web"));
    sim_run(&s, 5 * SEC);
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_list(&s, &kind_core_event, "default", NULL);
    size_t told = 0;
    for (size_t i = 0; i < kj_len(kj_get(kj_root(doc), "items")); i++)
        told += streq(kj_str_or(kj_get(kj_at(kj_get(kj_root(doc), "items"), i), "reason"), ""),
                      "RecreatingFailedPod");
    assert_true(told > 0);
}

/* ---- DaemonSets ---------------------------------------------------------------------------- */

static bool ds_done(struct sim *s, void *arg)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(s, &kind_daemonset, "default", arg);
    const struct kj_val *r = doc ? kj_root(doc) : NULL, *t = kj_get(r, "status");
    int64_t want = kj_i64_or(kj_get(t, "desiredNumberScheduled"), -1);

    return kj_i64_or(kj_get(t, "observedGeneration"), 0) ==
               kj_i64_or(kj_path(r, "metadata.generation"), -1) &&
           kj_i64_or(kj_get(t, "numberAvailable"), -1) == want &&
           kj_i64_or(kj_get(t, "updatedNumberScheduled"), -1) == want;
}

/* At most this many pods that stay on a node; how many nodes have a ready one. */
static size_t look_nodes(struct sim *s, const char *name, size_t most)
{
    size_t it = 0, nodes = 0;
    struct kobj *node, *o;

    while ((node = informer_next(s->nodes, &it))) {
        size_t pods = 0, ready = 0, k = 0;
        while ((o = informer_next(s->pods, &k))) {
            const char *app = kstrmap_get(&o->meta.labels, "app");
            if (!app || !streq(app, name) || o->meta.deleted || pod_is_terminal(pod_of(o)) ||
                !streq(str_or(pod_of(o)->node_name, ""), node->meta.name))
                continue;
            pods++;
            ready += pod_is_ready(pod_of(o));
        }
        assert_true(pods <= most);
        nodes += ready > 0;
    }
    return nodes;
}

static bool watched_ds(struct sim *s, const char *name, size_t most, size_t fewest)
{
    for (nsec_t t = 0; t < 900 * SEC; t += 20 * NSEC_PER_MSEC) {
        assert_true(look_nodes(s, name, most) >= fewest);
        if (t % SEC == 0 && t > SEC && ds_done(s, (void *)name))
            return true;
        loop_advance(s->loop, 20 * NSEC_PER_MSEC);
    }
    return false;
}

static void test_daemons_under_faults(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        CLEANUP(sim_fini) struct sim s;
        sim_begin(&s, seed);
        s.faults = some_faults;
        assert_int_equal(sim_create(&s, DS("agent", "")), 201);
        assert_true(watched_ds(&s, "agent", 1, 0));
        set_image(&s, &kind_daemonset, "agent", "a:2");
        assert_true(watched_ds(&s, "agent", 1, 4));
        set_image(&s, &kind_daemonset, "agent", "a:1");
        assert_true(watched_ds(&s, "agent", 1, 4));
        assert_int_equal(sim_patch(&s, &kind_daemonset, "default", "agent", NULL,
                                   "{\"spec\":{\"updateStrategy\":{\"rollingUpdate\":{"
                                   "\"maxSurge\":2,\"maxUnavailable\":0}}}}"),
                         200);
        set_image(&s, &kind_daemonset, "agent", "a:3");
        assert_true(watched_ds(&s, "agent", 2, 5));
        sim_run(&s, 60 * SEC);
        assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 5);
        assert_int_equal(sim_count(&s, &kind_revisions, "default", NULL), 3);
    }
}

static void test_daemons_follow_nodes(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    const struct kj_val *r;

    (void)state;
    sim_begin(&s, 2);
    assert_int_equal(sim_create(&s, DS("agent", "")), 201);
    sim_run(&s, 2 * SEC);
    assert_true(sim_until(&s, 60 * SEC, ds_done, "agent"));
    assert_int_equal(look_nodes(&s, "agent", 1), 5);
    /* Cordoned: it stays. Tainted: no new one. NoExecute: it goes. */
    assert_int_equal(
        sim_patch(&s, &kind_node, NULL, "hollow-0", NULL, "{\"spec\":{\"unschedulable\":true}}"),
        200);
    assert_int_equal(
        sim_patch(&s, &kind_node, NULL, "hollow-1", NULL,
                  "{\"spec\":{\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]}}"),
        200);
    sim_run(&s, 10 * SEC);
    assert_int_equal(look_nodes(&s, "agent", 1), 5);
    assert_int_equal(sim_num(&s, &kind_daemonset, "default", "agent", "status.numberMisscheduled"),
                     1);
    assert_int_equal(
        sim_patch(&s, &kind_node, NULL, "hollow-1", NULL,
                  "{\"spec\":{\"taints\":[{\"key\":\"k\",\"effect\":\"NoExecute\"}]}}"),
        200);
    sim_run(&s, 20 * SEC);
    assert_int_equal(look_nodes(&s, "agent", 1), 4);
    assert_int_equal(
        sim_num(&s, &kind_daemonset, "default", "agent", "status.desiredNumberScheduled"), 4);
    /* A selector that one node answers. */
    assert_int_equal(sim_patch(&s, &kind_daemonset, "default", "agent", NULL,
                               "{\"spec\":{\"template\":{\"spec\":{\"nodeSelector\":"
                               "{\"kubernetes.io/hostname\":\"hollow-2\"}}}}}"),
                     200);
    sim_run(&s, 30 * SEC);
    assert_int_equal(look_nodes(&s, "agent", 1), 1);
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_list(&s, &kind_pod, "default", NULL);
    r = kj_at(kj_get(kj_root(doc), "items"), 0);
    assert_string_equal(kj_str_or(kj_path(r, "spec.nodeName"), ""), "hollow-2");
    assert_int_equal(kj_len(kj_path(r, "spec.tolerations")), 6);
}

static void test_failed_daemons_come_back(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 3);
    assert_int_equal(sim_create(&s, DS("agent", "")), 201);
    sim_run(&s, 2 * SEC);
    assert_true(sim_until(&s, 60 * SEC, ds_done, "agent"));
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_list(&s, &kind_pod, "default", NULL);
    const char *name =
        kj_str_or(kj_path(kj_at(kj_get(kj_root(doc), "items"), 0), "metadata.name"), "");
    assert_int_equal(
        sim_patch(&s, &kind_pod, "default", name, "status", "{\"status\":{\"phase\":\"Failed\"}}"),
        200);
    sim_run(&s, 20 * SEC);
    assert_int_equal(look_nodes(&s, "agent", 1), 5);
    assert_null(sim_get(&s, &kind_pod, "default", name));
}

/* ---- ReplicationControllers ---------------------------------------------------------------- */

#define RC(name, replicas)                                                                     \
    "{\"apiVersion\":\"v1\",\"kind\":\"ReplicationController\",\"metadata\":{\"name\":\"" name \
    "\"},\"spec\":{\"replicas\":" #replicas ",\"selector\":{\"app\":\"" name                   \
    "\"}," TEMPLATE(name, "a:1") "}}"

static int create_rc(struct sim *s, const char *json)
{
    struct kube_req r = { .verb = KUBE_CREATE,
                          .kind = &kind_rc,
                          .ns = "default",
                          .body = json,
                          .body_len = strlen(json) };
    return sim_do(s, &r, NULL);
}

static bool rc_done(struct sim *s, void *arg)
{
    return sim_num(s, &kind_rc, "default", arg, "status.readyReplicas") ==
               sim_num(s, &kind_rc, "default", arg, "spec.replicas") &&
           sim_num(s, &kind_rc, "default", arg, "status.replicas") ==
               sim_num(s, &kind_rc, "default", arg, "spec.replicas");
}

static void test_replication_controllers(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 5);
    s.faults = some_faults;
    assert_int_equal(create_rc(&s, RC("old", 4)), 201);
    sim_run(&s, SEC);
    assert_true(sim_until(&s, 300 * SEC, rc_done, "old"));
    scale(&s, &kind_rc, "old", 2);
    assert_true(sim_until(&s, 300 * SEC, rc_done, "old"));
    sim_run(&s, 60 * SEC);
    assert_int_equal(sim_count(&s, &kind_pod, "default", "app=old"), 2);
    /* A pod that no longer matches is let go and replaced. */
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_list(&s, &kind_pod, "default", "app=old");
    const char *pod =
        kj_str_or(kj_path(kj_at(kj_get(kj_root(doc), "items"), 0), "metadata.name"), "");
    assert_int_equal(sim_patch(&s, &kind_pod, "default", pod, NULL,
                               "{\"metadata\":{\"labels\":{\"app\":\"free\"}}}"),
                     200);
    sim_run(&s, 120 * SEC);
    assert_int_equal(sim_count(&s, &kind_pod, "default", "app=old"), 2);
    CLEANUP(kj_doc_free) struct kj_doc *freed = sim_get(&s, &kind_pod, "default", pod);
    assert_int_equal(kj_len(kj_path(kj_root(freed), "metadata.ownerReferences")), 0);
}

/* ---- minReadySeconds ----------------------------------------------------------------------- */

struct waiting { /* for pods that are ready to be available */
    const struct kind *kind;
    const char *name, *ready, *available; /* paths of the numbers */
    int64_t n;                            /* how many pods */
};

static bool all_ready(struct sim *s, void *arg)
{
    const struct waiting *w = arg;
    return sim_num(s, w->kind, "default", w->name, w->ready) == w->n;
}

static int64_t available(struct sim *s, const struct waiting *w)
{
    return MAX(sim_num(s, w->kind, "default", w->name, w->available), (int64_t)0);
}

/* When the last pod became ready. */
static nsec_t last_ready(struct sim *s, const char *name)
{
    struct kobj *o;
    size_t it = 0;
    nsec_t last = 0;

    while ((o = informer_next(s->pods, &it))) {
        const struct condition *c = condition_find(&pod_of(o)->status.conditions, "Ready");
        if (c && c->status == COND_TRUE &&
            streq(str_or(kstrmap_get(&o->meta.labels, "app"), ""), name))
            last = MAX(last, c->last_transition_time);
    }
    return last;
}

/* With minReadySeconds 60. Nothing happens to the pods while they wait: only the time does it. */
static void check_available_in_time(struct sim *s, const struct waiting *w)
{
    assert_true(sim_until(s, 30 * SEC, all_ready, (void *)(uintptr_t)w));
    assert_int_equal(available(s, w), 0);
    nsec_t due = last_ready(s, w->name) + 60 * SEC;
    sim_run(s, due - 20 * SEC - loop_wall(s->loop));
    assert_int_equal(available(s, w), 0);
    sim_run(s, due + 2 * SEC - loop_wall(s->loop));
    assert_int_equal(available(s, w), w->n);
    assert_int_equal(last_ready(s, w->name) + 60 * SEC, due);
}

#define WAITS "\"minReadySeconds\":60,"

static void test_statefulset_waits_for_its_pods(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    const struct waiting w = { &kind_statefulset, "web", "status.readyReplicas",
                               "status.availableReplicas", 3 };

    (void)state;
    sim_begin(&s, 6);
    assert_int_equal(sim_create(&s, STS("web", 3, WAITS "\"podManagementPolicy\":\"Parallel\",")),
                     201);
    check_available_in_time(&s, &w);
}

static bool has_second(struct sim *s, void *arg)
{
    return look(s, arg).pod[1] != NULL;
}

/* In order the second pod is made when the first is available. */
static void test_next_pod_waits_for_the_first(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    const struct waiting first = { &kind_statefulset, "web", "status.readyReplicas",
                                   "status.availableReplicas", 1 };

    (void)state;
    sim_begin(&s, 10);
    assert_int_equal(sim_create(&s, STS("web", 2, WAITS)), 201);
    assert_true(sim_until(&s, 30 * SEC, all_ready, (void *)(uintptr_t)&first));
    nsec_t due = last_ready(&s, "web") + 60 * SEC;
    assert_true(sim_until(&s, 70 * SEC, has_second, "web"));
    assert_that(look(&s, "web").pod[1]->obj.meta.created, >=, due);
    assert_that(look(&s, "web").pod[1]->obj.meta.created, <=, due + SEC);
}

static void test_daemonset_waits_for_its_pods(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    const struct waiting w = { &kind_daemonset, "agent", "status.numberReady",
                               "status.numberAvailable", 5 };

    (void)state;
    sim_begin(&s, 7);
    assert_int_equal(sim_create(&s, DS("agent", WAITS)), 201);
    check_available_in_time(&s, &w);
    assert_int_equal(
        MAX(sim_num(&s, &kind_daemonset, "default", "agent", "status.numberUnavailable"), 0), 0);
}

static void test_replicaset_waits_for_its_pods(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    const struct waiting w = { &kind_replicaset, "web", "status.readyReplicas",
                               "status.availableReplicas", 3 };

    (void)state;
    sim_begin(&s, 8);
    assert_int_equal(
        sim_create(&s,
                   "{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"metadata\":{"
                   "\"name\":\"web\"},\"spec\":{\"replicas\":3," WAITS
                   "\"selector\":{\"matchLabels\":{\"app\":\"web\"}}," TEMPLATE("web", "a:1") "}}"),
        201);
    check_available_in_time(&s, &w);
}

static void test_replication_controller_waits_for_its_pods(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    const struct waiting w = { &kind_rc, "old", "status.readyReplicas", "status.availableReplicas",
                               3 };

    (void)state;
    sim_begin(&s, 9);
    assert_int_equal(
        create_rc(&s, "{\"apiVersion\":\"v1\",\"kind\":\"ReplicationController\",\"metadata\":{"
                      "\"name\":\"old\"},\"spec\":{\"replicas\":3," WAITS
                      "\"selector\":{\"app\":\"old\"}," TEMPLATE("old", "a:1") "}}"),
        201);
    check_available_in_time(&s, &w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pods_come_and_go_in_order),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_update_and_back_under_faults),
        cmocka_unit_test(test_partition_and_history),
        cmocka_unit_test(test_on_delete),
        cmocka_unit_test(test_parallel_with_claims_under_faults),
        cmocka_unit_test(test_failed_pods_are_made_again),
        cmocka_unit_test(test_daemons_under_faults),
        cmocka_unit_test(test_daemons_follow_nodes),
        cmocka_unit_test(test_failed_daemons_come_back),
        cmocka_unit_test(test_replication_controllers),
        cmocka_unit_test(test_statefulset_waits_for_its_pods),
        cmocka_unit_test(test_next_pod_waits_for_the_first),
        cmocka_unit_test(test_daemonset_waits_for_its_pods),
        cmocka_unit_test(test_replicaset_waits_for_its_pods),
        cmocka_unit_test(test_replication_controller_waits_for_its_pods),
    };
    return cmocka_run_group_tests_name("sim_sets", tests, NULL, NULL);
}
