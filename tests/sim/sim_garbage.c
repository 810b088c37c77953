/* sim_garbage.c - what goes with its owner: objects that own each other, pods of a deleted Job. */
#include "base/test/asserts.h"
#include "sim_cluster.h"

#include <stdio.h>

#include "api/core.h"
#include "api/policy.h"
#include "api/workload.h"

#define FOREGROUND "{\"propagationPolicy\":\"Foreground\"}"
#define BACKGROUND "{\"propagationPolicy\":\"Background\"}"
#define ORPHAN     "{\"propagationPolicy\":\"Orphan\"}"

static bool ready(struct sim *s, void *arg)
{
    (void)arg;
    return cluster_ready(s->cluster);
}

static void start(struct sim *s)
{
    struct hollow_shape shape = { .count = 2 };

    sim_start(s, &(struct cluster_opts){ .job = true,
                                         .gc = true,
                                         .nodes = true,
                                         .hollow = { .shapes = &shape, .nshapes = 1 } });
    assert_true(sim_until(s, 30 * SEC, ready, NULL));
}

static void begin(struct sim *s, uint64_t seed)
{
    sim_init(s, seed);
    start(s);
}

/* ---- owners of each other ------------------------------------------------------------------ */

static void make(struct sim *s, const char *name)
{
    char json[200];

    (void)snprintf(json, sizeof json,
                   "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\"}}",
                   name);
    assert_int_equal(sim_create(s, json), 201);
}

/* The owners: names that exist, separated by blanks. */
static void own(struct sim *s, const char *name, const char *owners)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    char owner[64], uid[64];
    int used = 0;

    strbuf_append(&body, "{\"metadata\":{\"ownerReferences\":[");
    for (const char *at = owners; sscanf(at, " %63s%n", owner, &used) == 1; at += used) {
        sim_text(s, &kind_configmap, "default", owner, "metadata.uid", uid, sizeof uid);
        strbuf_appendf(&body,
                       "%s{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"%s\",\"uid\":"
                       "\"%s\",\"blockOwnerDeletion\":true}",
                       at == owners ? "" : ",", owner, uid);
    }
    strbuf_append(&body, "]}}");
    assert_int_equal(sim_patch(s, &kind_configmap, "default", name, NULL, strbuf_str(&body)), 200);
}

static bool is_there(struct sim *s, const char *name)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(s, &kind_configmap, "default", name);
    return doc && streq(kj_str_or(kj_path(kj_root(doc), "kind"), ""), "ConfigMap");
}

static bool maps_gone(struct sim *s, void *arg)
{
    (void)arg;
    return sim_count(s, &kind_configmap, "default", NULL) == 0;
}

static uint64_t syncs(const struct sim *s)
{
    return cluster_stats(s->cluster).syncs;
}

static void drop(struct sim *s, const char *name, const char *how)
{
    assert_int_equal(sim_delete(s, &kind_configmap, "default", name, how), 200);
}

static void test_an_object_that_owns_itself_is_deleted(void **state)
{
    static const char *const how[] = { FOREGROUND, BACKGROUND, ORPHAN };
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 1);
    for (size_t i = 0; i < ARRAY_LEN(how); i++) {
        make(&s, "narcissus");
        own(&s, "narcissus", "narcissus");
        sim_run(&s, SEC);
        assert_true(is_there(&s, "narcissus"));
        drop(&s, "narcissus", how[i]);
        assert_true(sim_until(&s, 10 * SEC, maps_gone, NULL));
    }
}

static void test_a_cycle_of_owners_is_deleted(void **state)
{
    static const char *const how[] = { FOREGROUND, BACKGROUND };
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 2);
    for (size_t i = 0; i < ARRAY_LEN(how); i++) {
        make(&s, "a"), make(&s, "b"), make(&s, "c");
        own(&s, "b", "a"), own(&s, "c", "b"), own(&s, "a", "c");
        sim_run(&s, 5 * SEC);
        assert_int_equal(sim_count(&s, &kind_configmap, "default", NULL), 3);
        uint64_t before = syncs(&s);
        drop(&s, "b", how[i]);
        assert_true(sim_until(&s, 10 * SEC, maps_gone, NULL));
        assert_in_range(syncs(&s) - before, 1, 200); /* and nobody was kept busy with it */
    }
}

/* kube-controller-manager finds a cycle when it deletes the first dependent; here there is none
 * left that it would delete. */
static void test_a_cycle_whose_members_are_all_being_deleted(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 3);
    make(&s, "a"), make(&s, "b"), make(&s, "c");
    own(&s, "a", "b c"), own(&s, "b", "a"), own(&s, "c", "a");
    sim_stop_cluster(&s);
    drop(&s, "a", FOREGROUND), drop(&s, "b", FOREGROUND), drop(&s, "c", FOREGROUND);
    sim_run(&s, 10 * SEC);
    assert_int_equal(sim_count(&s, &kind_configmap, "default", NULL), 3);
    start(&s);
    assert_true(sim_until(&s, 10 * SEC, maps_gone, NULL));
}

/* d depends on the cycle and does not go: its owner waits, and only its owner. */
static void test_a_cycle_waits_for_what_depends_on_it(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 4);
    make(&s, "a"), make(&s, "b"), make(&s, "d");
    own(&s, "a", "b"), own(&s, "b", "a"), own(&s, "d", "a");
    assert_int_equal(sim_patch(&s, &kind_configmap, "default", "d", NULL,
                               "{\"metadata\":{\"finalizers\":[\"a.b/c\"]}}"),
                     200);
    drop(&s, "a", FOREGROUND);
    sim_run(&s, 60 * SEC);
    assert_true(is_there(&s, "a"));
    assert_true(is_there(&s, "d"));
    uint64_t before = syncs(&s);
    sim_run(&s, 60 * SEC);
    assert_in_range(syncs(&s) - before, 0, 400); /* of hollow nodes and the like: no spinning */
    assert_int_equal(sim_patch(&s, &kind_configmap, "default", "d", NULL,
                               "{\"metadata\":{\"finalizers\":null}}"),
                     200);
    assert_true(sim_until(&s, 10 * SEC, maps_gone, NULL));
}

/* Whoever stops to block its owner lets it go at once. */
static void test_an_owner_goes_when_its_dependent_no_longer_blocks(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char uid[64], json[300];

    (void)state;
    begin(&s, 5);
    make(&s, "a"), make(&s, "d");
    own(&s, "d", "a");
    assert_int_equal(sim_patch(&s, &kind_configmap, "default", "d", NULL,
                               "{\"metadata\":{\"finalizers\":[\"a.b/c\"]}}"),
                     200);
    drop(&s, "a", FOREGROUND);
    sim_run(&s, 10 * SEC);
    assert_true(is_there(&s, "a"));
    sim_text(&s, &kind_configmap, "default", "a", "metadata.uid", uid, sizeof uid);
    (void)snprintf(json, sizeof json,
                   "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":"
                   "\"ConfigMap\",\"name\":\"a\",\"uid\":\"%s\",\"blockOwnerDeletion\":false}]}}",
                   uid);
    assert_int_equal(sim_patch(&s, &kind_configmap, "default", "d", NULL, json), 200);
    sim_run(&s, SEC);
    assert_false(is_there(&s, "a"));
    assert_true(is_there(&s, "d"));
}

/* An object of the cluster cannot be owned by one of a namespace: which one would it be? */
static void test_an_owner_that_cannot_be_looked_up_deletes_nothing(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char uid[64], json[400];

    (void)state;
    begin(&s, 6);
    make(&s, "a");
    sim_text(&s, &kind_configmap, "default", "a", "metadata.uid", uid, sizeof uid);
    (void)snprintf(json, sizeof json,
                   "{\"apiVersion\":\"scheduling.k8s.io/"
                   "v1\",\"kind\":\"PriorityClass\",\"value\":7,\"metadata\":{\"name\":\"n\","
                   "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
                   "\"name\":\"a\",\"uid\":\"%s\"}]}}",
                   uid);
    assert_int_equal(sim_create(&s, json), 201);
    sim_run(&s, 10 * SEC);
    drop(&s, "a", BACKGROUND);
    sim_run(&s, 10 * SEC);
    assert_int_equal(sim_num(&s, &kind_priority_class, NULL, "n", "value"), 7);
    assert_int_equal(cluster_stats(s.cluster).retries, 0);
}

/* ---- pods of a Job ------------------------------------------------------------------------- */

#define JOB(name, extra)                                                                      \
    "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"" name            \
    "\"},\"spec\":{" extra "\"parallelism\":3,\"completions\":3,\"template\":{\"metadata\":{" \
    "\"annotations\":{\"sim.koordinator.sh/run\":\"1h\"}},\"spec\":{"                         \
    "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"a\"}]}}}}"

static bool pods_gone(struct sim *s, void *arg)
{
    (void)arg;
    return sim_count(s, &kind_pod, "default", NULL) == 0;
}

static bool job_runs(struct sim *s, void *arg)
{
    return sim_num(s, &kind_job, "default", arg, "status.ready") == 3;
}

static bool job_waits(struct sim *s, void *arg)
{
    return sim_num(s, &kind_job, "default", arg, "status.active") == 3;
}

static void test_a_job_takes_its_running_pods_with_it(void **state)
{
    static const char *const how[] = { FOREGROUND, BACKGROUND };
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 7);
    for (size_t i = 0; i < 8 * ARRAY_LEN(how); i++) {
        const char *json = i % 2 ? JOB("j", "\"completionMode\":\"Indexed\",") : JOB("j", "");
        assert_int_equal(sim_create(&s, json), 201);
        assert_true(sim_until(&s, 60 * SEC, job_runs, "j"));
        assert_int_equal(sim_delete(&s, &kind_job, "default", "j", how[i / 2 % 2]), 200);
        assert_true(sim_until(&s, 60 * SEC, pods_gone, NULL));
        assert_int_equal(sim_count(&s, &kind_job, "default", NULL), 0);
    }
}

/* Nobody ever ends a pod that has no node. */
static void test_a_job_takes_its_waiting_pods_with_it(void **state)
{
    static const char *const how[] = { FOREGROUND, BACKGROUND };
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 8);
    s.no_binder = true;
    for (size_t i = 0; i < ARRAY_LEN(how); i++) {
        assert_int_equal(sim_create(&s, JOB("j", "")), 201);
        assert_true(sim_until(&s, 60 * SEC, job_waits, "j"));
        sim_run(&s, 5 * SEC);
        assert_int_equal(sim_delete(&s, &kind_job, "default", "j", how[i]), 200);
        assert_true(sim_until(&s, 60 * SEC, pods_gone, NULL));
        assert_int_equal(sim_count(&s, &kind_job, "default", NULL), 0);
    }
}

/* What the Job itself gives up neither stays nor counts. */
static void test_a_suspended_job_takes_its_pods_back(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 11);
    assert_int_equal(sim_create(&s, JOB("j", "\"backoffLimit\":0,")), 201);
    for (int round = 0; round < 4; round++) {
        s.no_binder = round % 2; /* pods that wait for a node, and pods that run */
        assert_true(sim_until(&s, 60 * SEC, s.no_binder ? job_waits : job_runs, "j"));
        sim_run(&s, 2 * SEC);
        assert_int_equal(
            sim_patch(&s, &kind_job, "default", "j", NULL, "{\"spec\":{\"suspend\":true}}"), 200);
        assert_true(sim_until(&s, 60 * SEC, pods_gone, NULL));
        sim_run(&s, 5 * SEC); /* counters of zero are not written */
        assert_string_equal(sim_condition(&s, &kind_job, "default", "j", "Suspended"), "True");
        assert_that(sim_num(&s, &kind_job, "default", "j", "status.active"), <=, 0);
        assert_that(sim_num(&s, &kind_job, "default", "j", "status.failed"), <=, 0);
        assert_that(sim_num(&s, &kind_job, "default", "j", "status.succeeded"), <=, 0);
        s.no_binder = (round + 1) % 2;
        assert_int_equal(
            sim_patch(&s, &kind_job, "default", "j", NULL, "{\"spec\":{\"suspend\":false}}"), 200);
    }
}

static void test_an_orphaned_pod_of_a_job_can_be_deleted(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 9);
    assert_int_equal(sim_create(&s, JOB("j", "")), 201);
    assert_true(sim_until(&s, 60 * SEC, job_runs, "j"));
    assert_int_equal(sim_delete(&s, &kind_job, "default", "j", ORPHAN), 200);
    sim_run(&s, 30 * SEC);
    assert_int_equal(sim_count(&s, &kind_job, "default", NULL), 0);
    assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 3);
    CLEANUP(kj_doc_free) struct kj_doc *pods = sim_list(&s, &kind_pod, "default", NULL);
    struct kj_iter it = kj_iter(kj_get(kj_root(pods), "items"));
    for (const struct kj_val *p; kj_next(&it, NULL, &p);) {
        assert_int_equal(kj_len(kj_path(p, "metadata.finalizers")), 0);
        assert_int_equal(
            sim_delete(&s, &kind_pod, "default", kj_str_or(kj_path(p, "metadata.name"), ""), NULL),
            200);
    }
    assert_true(sim_until(&s, 60 * SEC, pods_gone, NULL));
}

/* While nobody watched: the Job went, its pods did not. */
static void test_pods_whose_job_went_during_a_restart(void **state)
{
    static const char *const how[] = { FOREGROUND, BACKGROUND };
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 10);
    for (size_t i = 0; i < ARRAY_LEN(how); i++) {
        assert_int_equal(sim_create(&s, JOB("j", "")), 201);
        assert_true(sim_until(&s, 60 * SEC, job_runs, "j"));
        sim_stop_cluster(&s);
        assert_int_equal(sim_delete(&s, &kind_job, "default", "j", how[i]), 200);
        sim_run(&s, 20 * SEC);
        start(&s);
        assert_true(sim_until(&s, 60 * SEC, pods_gone, NULL));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_object_that_owns_itself_is_deleted),
        cmocka_unit_test(test_a_cycle_of_owners_is_deleted),
        cmocka_unit_test(test_a_cycle_whose_members_are_all_being_deleted),
        cmocka_unit_test(test_a_cycle_waits_for_what_depends_on_it),
        cmocka_unit_test(test_an_owner_goes_when_its_dependent_no_longer_blocks),
        cmocka_unit_test(test_an_owner_that_cannot_be_looked_up_deletes_nothing),
        cmocka_unit_test(test_a_job_takes_its_running_pods_with_it),
        cmocka_unit_test(test_a_job_takes_its_waiting_pods_with_it),
        cmocka_unit_test(test_a_suspended_job_takes_its_pods_back),
        cmocka_unit_test(test_an_orphaned_pod_of_a_job_can_be_deleted),
        cmocka_unit_test(test_pods_whose_job_went_during_a_restart),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
