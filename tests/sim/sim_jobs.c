/* sim_jobs.c - Jobs with policies against the embedded API server, on the virtual loop, with
 * lost, refused and slow answers. */
#include "base/test/asserts.h"
#include "sim_cluster.h"

#include <stdio.h>

#include "api/workload.h"

static const struct sim_faults some_faults = {
    .refuse = 50, .lose = 100, .slow = 200, .slow_max = 2 * SEC
};

#define JOB(name, spec, script)                                                              \
    "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"" name           \
    "\"},\"spec\":{" spec "\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers" \
    "\":[{\"name\":\"c\",\"image\":\"a\",\"command\":[\"sh\",\"-c\",\"" script "\"]}]}}}}"
#define INDEXED(n) "\"completionMode\":\"Indexed\",\"completions\":" #n ",\"parallelism\":" #n ","

static bool is_over(struct sim *s, void *arg)
{
    return streq(sim_condition(s, &kind_job, "default", arg, "Complete"), "True") ||
           streq(sim_condition(s, &kind_job, "default", arg, "Failed"), "True");
}

static void check_text(struct sim *s, const char *job, const char *path, const char *want)
{
    char text[160];

    sim_text(s, &kind_job, "default", job, path, text, sizeof text);
    assert_string_equal(text, want);
}

/* The reason of the condition that says how it ended. */
static void check_end(struct sim *s, const char *job, const char *type, const char *reason)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(s, &kind_job, "default", job);
    const struct kj_val *c;
    struct str key;

    for (struct kj_iter it = kj_iter(kj_path(kj_root(doc), "status.conditions"));
         kj_next(&it, &key, &c);)
        if (streq(kj_str_or(kj_get(c, "type"), ""), type)) {
            assert_string_equal(kj_str_or(kj_get(c, "reason"), ""), reason);
            return;
        }
    fail_msg("%s has no condition %s", job, type);
}

static void run_job(struct sim *s, const char *json, const char *name)
{
    assert_int_equal(sim_create(s, json), 201);
    assert_true(sim_until(s, 1200 * SEC, is_over, (void *)(uintptr_t)name));
}

static void test_index_is_known_to_the_pod(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 1);
    assert_int_equal(sim_create(&s, JOB("j", INDEXED(3), "sleep 60")), 201);
    sim_run(&s, 10 * SEC);
    CLEANUP(kj_doc_free)
    struct kj_doc *doc =
        sim_list(&s, &kind_pod, "default", "batch.kubernetes.io/job-completion-index=2");
    const struct kj_val *pod = kj_at(kj_get(kj_root(doc), "items"), 0);
    assert_string_equal(kj_str_or(kj_path(pod, "spec.hostname"), ""), "j-2");
    const struct kj_val *env = kj_get(kj_at(kj_path(pod, "spec.containers"), 0), "env");
    assert_string_equal(kj_str_or(kj_get(kj_at(env, 0), "name"), ""), "JOB_COMPLETION_INDEX");
    assert_int_equal(sim_num(&s, &kind_job, "default", "j", "status.active"), 3);
}

#define MANY(n, more) "\"completionMode\":\"Indexed\",\"completions\":" #n "," more

static void check_first_pods(struct sim *s, const char *job, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char selector[160], host[80], want[8];
        (void)snprintf(
            selector, sizeof selector,
            "batch.kubernetes.io/job-name=%s,batch.kubernetes.io/job-completion-index=%zu", job, i);
        (void)snprintf(host, sizeof host, "%s-%zu", job, i);
        (void)snprintf(want, sizeof want, "%zu", i);
        CLEANUP(kj_doc_free) struct kj_doc *doc = sim_list(s, &kind_pod, "default", selector);
        const struct kj_val *pod = kj_at(kj_get(kj_root(doc), "items"), 0);
        assert_string_equal(kj_str_or(kj_path(pod, "spec.hostname"), ""), host);
        assert_string_equal(kj_str_or(kj_get(kj_path(pod, "metadata.annotations"),
                                             "batch.kubernetes.io/job-completion-index"),
                                      ""),
                            want);
    }
}

/* The API knows no limit for completions; what is kept of them grows with the ranges only. */
static void test_millions_of_indexes(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 46);
    assert_int_equal(sim_create(&s, JOB("l", MANY(100001, "\"parallelism\":1,"), "sleep 60")), 201);
    assert_int_equal(sim_create(&s, JOB("m", MANY(2147483647, "\"parallelism\":3,"), "sleep 60")),
                     201);
    sim_run(&s, 10 * SEC);
    check_first_pods(&s, "l", 1);
    check_first_pods(&s, "m", 3);
    sim_run(&s, 60 * SEC);
    check_first_pods(&s, "m", 6);
    check_text(&s, "m", "status.completedIndexes", "0-2");
    run_job(&s,
            JOB("p",
                MANY(2147483647, "\"parallelism\":4,\"successPolicy\":{\"rules\":[{"
                                 "\"succeededIndexes\":\"2-2147483646\",\"succeededCount\":2}]},"),
                "exit 0"),
            "p");
    check_end(&s, "p", "Complete", "SuccessPolicy");
    run_job(&s,
            JOB("f",
                MANY(2147483647, "\"parallelism\":2,\"backoffLimitPerIndex\":1,"
                                 "\"maxFailedIndexes\":1,"),
                "exit $(expr ${JOB_COMPLETION_INDEX} % 2)"),
            "f");
    check_end(&s, "f", "Failed", "MaxFailedIndexesExceeded");
    check_text(&s, "f", "status.failedIndexes", "1,3");
}

static void test_failures_by_index_under_faults(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 2);
    s.faults = some_faults;
    run_job(&s,
            JOB("odd", INDEXED(4) "\"backoffLimitPerIndex\":1,",
                "exit $(expr ${JOB_COMPLETION_INDEX} % 2)"),
            "odd");
    check_end(&s, "odd", "Failed", "FailedIndexes");
    check_text(&s, "odd", "status.completedIndexes", "0,2");
    check_text(&s, "odd", "status.failedIndexes", "1,3");
    assert_int_equal(sim_num(&s, &kind_job, "default", "odd", "status.failed"), 4);
    run_job(&s,
            JOB("few", INDEXED(4) "\"backoffLimitPerIndex\":0,\"maxFailedIndexes\":1,",
                "exit $(expr ${JOB_COMPLETION_INDEX} % 2)"),
            "few");
    check_end(&s, "few", "Failed", "MaxFailedIndexesExceeded");
    run_job(
        &s,
        JOB("idx",
            INDEXED(2) "\"backoffLimitPerIndex\":5,\"podFailurePolicy\":{\"rules\":[{\"action\":"
                       "\"FailIndex\",\"onExitCodes\":{\"operator\":\"In\",\"values\":[1]}}]},",
            "exit $(expr ${JOB_COMPLETION_INDEX} % 2)"),
        "idx");
    check_end(&s, "idx", "Failed", "FailedIndexes");
    assert_int_equal(sim_num(&s, &kind_job, "default", "idx", "status.failed"), 1);
}

static void test_failure_policy(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 3);
    run_job(&s,
            JOB("all",
                "\"podFailurePolicy\":{\"rules\":[{\"action\":\"FailJob\",\"onExitCodes\":"
                "{\"containerName\":\"c\",\"operator\":\"NotIn\",\"values\":[7]}}]},",
                "exit 3"),
            "all");
    check_end(&s, "all", "Failed", "PodFailurePolicy");
    assert_int_equal(sim_num(&s, &kind_job, "default", "all", "status.failed"), 1);
    /* Disruptions that are ignored do not count, and another pod is made. */
    assert_int_equal(
        sim_create(&s, JOB("kept",
                           "\"backoffLimit\":0,\"podFailurePolicy\":{\"rules\":[{\"action\":"
                           "\"Ignore\",\"onPodConditions\":[{\"type\":\"DisruptionTarget\","
                           "\"status\":\"True\"}]}]},",
                           "sleep 60")),
        201);
    sim_run(&s, 10 * SEC);
    CLEANUP(kj_doc_free)
    struct kj_doc *doc = sim_list(&s, &kind_pod, "default", "batch.kubernetes.io/job-name=kept");
    const char *pod =
        kj_str_or(kj_path(kj_at(kj_get(kj_root(doc), "items"), 0), "metadata.name"), "");
    assert_int_equal(sim_patch(&s, &kind_pod, "default", pod, "status",
                               "{\"status\":{\"phase\":\"Failed\",\"conditions\":[{\"type\":"
                               "\"DisruptionTarget\",\"status\":\"True\"}]}}"),
                     200);
    assert_true(sim_until(&s, 600 * SEC, is_over, "kept"));
    check_end(&s, "kept", "Complete", "CompletionsReached");
    assert_true(sim_num(&s, &kind_job, "default", "kept", "status.failed") <= 0);
}

/* One pod, whose container is started again and again. */
static void test_restarts_in_place_reach_the_limit(void **state)
{
    static const char json[] =
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\"},\"spec\":{"
        "\"backoffLimit\":2,\"template\":{\"spec\":{\"restartPolicy\":\"OnFailure\","
        "\"containers\":[{\"name\":\"c\",\"image\":\"a\",\"command\":[\"sh\",\"-c\","
        "\"exit 1\"]}]}}}}";

    (void)state;
    for (uint64_t seed = 30; seed < 33; seed++) {
        CLEANUP(sim_fini) struct sim s;
        sim_begin(&s, seed);
        s.faults = some_faults;
        run_job(&s, json, "j");
        check_end(&s, "j", "Failed", "BackoffLimitExceeded");
        assert_int_equal(sim_num(&s, &kind_job, "default", "j", "status.failed"), 1);
        assert_true(sim_num(&s, &kind_job, "default", "j", "status.active") <= 0);
    }
}

static void test_success_policy(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 4);
    s.faults = some_faults;
    run_job(&s,
            JOB("lead", INDEXED(3) "\"successPolicy\":{\"rules\":[{\"succeededIndexes\":\"0\"}]},",
                "exit $(expr ${JOB_COMPLETION_INDEX} % 9)"),
            "lead");
    check_end(&s, "lead", "Complete", "SuccessPolicy");
    run_job(&s,
            JOB("some",
                INDEXED(4) "\"successPolicy\":{\"rules\":[{\"succeededIndexes\":\"0-2\","
                           "\"succeededCount\":2}]},",
                "exit $(expr ${JOB_COMPLETION_INDEX} % 2)"),
            "some");
    check_end(&s, "some", "Complete", "SuccessPolicy");
}

static void test_managed_elsewhere(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 5);
    assert_int_equal(sim_create(&s, JOB("j", "\"managedBy\":\"example.com/queue\",", "exit 0")),
                     201);
    sim_run(&s, 20 * SEC);
    assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 0);
}

/* ---- pods that come and go ------------------------------------------------------------------ */

static void first_pod(struct sim *s, const char *selector, char *out, size_t size)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_list(s, &kind_pod, "default", selector);
    const struct kj_val *pod = kj_at(kj_get(kj_root(doc), "items"), 0);

    (void)snprintf(out, size, "%s", kj_str_or(kj_path(pod, "metadata.name"), ""));
}

static void check_owned(struct sim *s, const char *pod, bool owned)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(s, &kind_pod, "default", pod);
    const struct kj_val *meta = kj_get(kj_root(doc), "metadata");

    assert_int_equal(kj_len(kj_get(meta, "ownerReferences")), owned ? 1 : 0);
    assert_int_equal(kj_len(kj_get(meta, "finalizers")), owned ? 1 : 0);
}

static bool has_two_active(struct sim *s, void *arg)
{
    return sim_num(s, &kind_job, "default", arg, "status.active") == 2 &&
           sim_count(s, &kind_pod, "default", "batch.kubernetes.io/job-name=j") == 2;
}

/* As the conformance test has it: nothing else happens that would wake the Job. */
static void adopt_and_release(struct sim *s)
{
    char pod[128];

    assert_int_equal(
        sim_create(s, JOB("j", "\"parallelism\":2,\"completions\":2,", "sleep 100000")), 201);
    assert_true(sim_until(s, 120 * SEC, has_two_active, "j"));
    sim_run(s, 60 * SEC);
    first_pod(s, "batch.kubernetes.io/job-name=j", pod, sizeof pod);
    assert_int_equal(
        sim_patch(s, &kind_pod, "default", pod, NULL, "{\"metadata\":{\"ownerReferences\":null}}"),
        200);
    sim_run(s, 60 * SEC);
    check_owned(s, pod, true);
    assert_true(has_two_active(s, "j"));
    assert_int_equal(
        sim_patch(s, &kind_pod, "default", pod, NULL, "{\"metadata\":{\"labels\":null}}"), 200);
    sim_run(s, 60 * SEC);
    check_owned(s, pod, false);
    assert_true(has_two_active(s, "j")); /* another one was made in its place */
}

static void test_adoption_and_release(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 7);
    adopt_and_release(&s);
}

static void test_adoption_and_release_under_faults(void **state)
{
    (void)state;
    for (uint64_t seed = 8; seed < 14; seed++) {
        CLEANUP(sim_fini) struct sim s;
        sim_begin(&s, seed);
        s.faults = some_faults;
        adopt_and_release(&s);
    }
}

/* What is adopted counts as one that was made, and no other is made for it. */
static void test_adopted_pod_is_counted_once(void **state)
{
    (void)state;
    for (uint64_t seed = 14; seed < 20; seed++) {
        CLEANUP(sim_fini) struct sim s;
        char pod[128];
        sim_begin(&s, seed);
        assert_int_equal(
            sim_create(&s, JOB("j", "\"parallelism\":2,\"completions\":2,", "sleep 300")), 201);
        assert_true(sim_until(&s, 120 * SEC, has_two_active, "j"));
        s.faults = some_faults;
        first_pod(&s, "batch.kubernetes.io/job-name=j", pod, sizeof pod);
        assert_int_equal(sim_patch(&s, &kind_pod, "default", pod, NULL,
                                   "{\"metadata\":{\"ownerReferences\":null}}"),
                         200);
        assert_true(sim_until(&s, 1200 * SEC, is_over, "j"));
        check_end(&s, "j", "Complete", "CompletionsReached");
        assert_int_equal(sim_num(&s, &kind_job, "default", "j", "status.succeeded"), 2);
        assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 2);
    }
}

/* A new pod that matches is the Job's at once, here one too many. */
static void test_new_orphan_is_adopted(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    static const char matching[] = "\"labels\":{\"app\":\"m\"}";
    static const char spec[] = "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":"
                               "\"c\",\"image\":\"a\",\"command\":[\"sleep\",\"100000\"]}]}";
    char json[1024];

    (void)state;
    sim_begin(&s, 20);
    (void)snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"m\"},"
        "\"spec\":{\"manualSelector\":true,\"selector\":{\"matchLabels\":{\"app\":\"m\"}},"
        "\"template\":{\"metadata\":{%s},%s}}}",
        matching, spec);
    assert_int_equal(sim_create(&s, json), 201);
    sim_run(&s, 60 * SEC);
    assert_int_equal(sim_count(&s, &kind_pod, "default", "app=m"), 1);
    (void)snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"stray\",%s},%s}",
        matching, spec);
    assert_int_equal(sim_create(&s, json), 201);
    sim_run(&s, 60 * SEC);
    assert_int_equal(sim_count(&s, &kind_pod, "default", "app=m"), 1);
    assert_int_equal(sim_num(&s, &kind_job, "default", "m", "status.active"), 1);
    assert_true(sim_num(&s, &kind_job, "default", "m", "status.failed") <= 0);
}

static bool has_no_pods(struct sim *s, void *arg)
{
    (void)arg;
    return sim_count(s, &kind_pod, "default", NULL) == 0;
}

/* Pods that the Job gives up have not failed, whatever of their two writes comes first or gets
 * lost.
 */
static void test_suspended_pods_have_not_failed(void **state)
{
    (void)state;
    for (uint64_t seed = 30; seed < 36; seed++) {
        CLEANUP(sim_fini) struct sim s;
        sim_begin(&s, seed);
        assert_int_equal(
            sim_create(&s, JOB("j", "\"parallelism\":8,\"backoffLimit\":0,", "sleep 100000")), 201);
        sim_run(&s, 60 * SEC);
        assert_int_equal(sim_num(&s, &kind_job, "default", "j", "status.active"), 8);
        s.faults = some_faults;
        s.faults.refuse = 300;
        assert_int_equal(
            sim_patch(&s, &kind_job, "default", "j", NULL, "{\"spec\":{\"suspend\":true}}"), 200);
        assert_true(sim_until(&s, 600 * SEC, has_no_pods, NULL));
        s.faults = (struct sim_faults){ 0 };
        sim_run(&s, 60 * SEC);
        assert_int_equal(sim_num(&s, &kind_job, "default", "j", "status.failed"), -1);
        assert_false(is_over(&s, "j"));
        check_end(&s, "j", "Suspended", "JobSuspended");
    }
}

/* ---- pods that are being deleted ------------------------------------------------------------- */

/* A pod of a node whose kubelet is away: what is deleted there ends when somebody says so. */
static void begin_on_silent_node(struct sim *s, uint64_t seed, const char *more)
{
    char json[1024];

    sim_begin(s, seed);
    assert_int_equal(sim_create(s,
                                "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":"
                                "\"silent\"}}"),
                     201);
    (void)snprintf(json, sizeof json,
                   "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\"},"
                   "\"spec\":{%s\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"nodeName\":"
                   "\"silent\",\"containers\":[{\"name\":\"c\",\"image\":\"a\"}]}}}}",
                   more);
    assert_int_equal(sim_create(s, json), 201);
    sim_run(s, 5 * SEC);
    assert_int_equal(sim_count(s, &kind_pod, "default", NULL), 1);
}

static int64_t job_num(struct sim *s, const char *path)
{
    return MAX(sim_num(s, &kind_job, "default", "j", path), (int64_t)0);
}

static void check_replaced_at_once(struct sim *s, const char *pod)
{
    char text[80];

    sim_run(s, 12 * SEC); /* the back-off of one failure */
    sim_text(s, &kind_pod, "default", pod, "metadata.deletionTimestamp", text, sizeof text);
    assert_true(text[0] != 0); /* still there */
    assert_int_equal(sim_count(s, &kind_pod, "default", NULL), 2);
    assert_int_equal(job_num(s, "status.active"), 1);
    assert_int_equal(job_num(s, "status.terminating"), 1);
    assert_int_equal(job_num(s, "status.failed"), 1);
}

static void test_deleted_pod_is_replaced_at_once(void **state)
{
    static const char *const kinds[] = { "", "\"completionMode\":\"Indexed\",\"completions\":1," };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        CLEANUP(sim_fini) struct sim s;
        char pod[128];
        begin_on_silent_node(&s, 40 + i, kinds[i]);
        first_pod(&s, NULL, pod, sizeof pod);
        assert_int_equal(sim_delete(&s, &kind_pod, "default", pod, NULL), 200);
        sim_run(&s, 5 * SEC);
        assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 1);
        check_replaced_at_once(&s, pod);
        /* That it ended well after all does not count twice. */
        assert_int_equal(sim_patch(&s, &kind_pod, "default", pod, "status",
                                   "{\"status\":{\"phase\":\"Succeeded\"}}"),
                         200);
        sim_run(&s, 5 * SEC);
        assert_int_equal(job_num(&s, "status.terminating"), 0);
        assert_int_equal(job_num(&s, "status.succeeded"), 0);
        assert_int_equal(job_num(&s, "status.failed"), 1);
    }
}

static void test_deleted_pod_is_replaced_when_it_has_ended(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char pod[128];

    (void)state;
    begin_on_silent_node(&s, 42, "\"podReplacementPolicy\":\"Failed\",");
    first_pod(&s, NULL, pod, sizeof pod);
    assert_int_equal(sim_delete(&s, &kind_pod, "default", pod, NULL), 200);
    sim_run(&s, 25 * SEC);
    assert_int_equal(sim_count(&s, &kind_pod, "default", NULL), 1);
    assert_int_equal(job_num(&s, "status.terminating"), 1);
    assert_int_equal(job_num(&s, "status.failed"), 0);
    assert_int_equal(
        sim_patch(&s, &kind_pod, "default", pod, "status", "{\"status\":{\"phase\":\"Failed\"}}"),
        200);
    sim_run(&s, 12 * SEC);
    assert_int_equal(job_num(&s, "status.terminating"), 0);
    assert_int_equal(job_num(&s, "status.failed"), 1);
    assert_int_equal(job_num(&s, "status.active"), 1);
}

/* ---- suspended with nothing left to do ------------------------------------------------------- */

static void test_suspended_without_work_completes(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 37);
    run_job(&s, JOB("j", "\"suspend\":true,\"completions\":0,", "exit 0"), "j");
    check_end(&s, "j", "Complete", "CompletionsReached");
    assert_string_equal(sim_condition(&s, &kind_job, "default", "j", "Suspended"), "");
    check_text(&s, "j", "status.startTime", "");
    /* With work it waits, as ever. */
    assert_int_equal(sim_create(&s, JOB("k", "\"suspend\":true,\"completions\":1,", "exit 0")),
                     201);
    sim_run(&s, 60 * SEC);
    assert_string_equal(sim_condition(&s, &kind_job, "default", "k", "Suspended"), "True");
    assert_false(is_over(&s, "k"));
}

/* The controller sees both at once. */
static void test_last_success_is_seen_after_suspending(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char pod[128], began[80], text[80];

    (void)state;
    begin_on_silent_node(&s, 38, "");
    sim_text(&s, &kind_job, "default", "j", "status.startTime", began, sizeof began);
    first_pod(&s, NULL, pod, sizeof pod);
    sim_stop_cluster(&s);
    assert_int_equal(
        sim_patch(&s, &kind_job, "default", "j", NULL, "{\"spec\":{\"suspend\":true}}"), 200);
    assert_int_equal(sim_patch(&s, &kind_pod, "default", pod, "status",
                               "{\"status\":{\"phase\":\"Succeeded\"}}"),
                     200);
    sim_start(&s, NULL);
    assert_true(sim_until(&s, 60 * SEC, is_over, "j"));
    check_end(&s, "j", "Complete", "CompletionsReached");
    assert_string_equal(sim_condition(&s, &kind_job, "default", "j", "Suspended"), "");
    sim_text(&s, &kind_job, "default", "j", "status.startTime", text, sizeof text);
    assert_string_equal(text, began);
    assert_true(*text);
}

/* A work queue whose first success has been seen: the pods that still run are given up. */
static void test_suspended_queue_completes(void **state)
{
    (void)state;
    for (uint64_t seed = 39; seed < 42; seed++) {
        CLEANUP(sim_fini) struct sim s;
        char pod[128];
        sim_begin(&s, seed);
        assert_int_equal(sim_create(&s, JOB("j", "\"parallelism\":4,", "sleep 100000")), 201);
        sim_run(&s, 10 * SEC);
        first_pod(&s, NULL, pod, sizeof pod);
        s.faults = some_faults;
        assert_int_equal(sim_patch(&s, &kind_pod, "default", pod, "status",
                                   "{\"status\":{\"phase\":\"Succeeded\"}}"),
                         200);
        sim_run(&s, 30 * SEC);
        assert_int_equal(sim_num(&s, &kind_job, "default", "j", "status.active"), 3);
        assert_int_equal(
            sim_patch(&s, &kind_job, "default", "j", NULL, "{\"spec\":{\"suspend\":true}}"), 200);
        assert_true(sim_until(&s, 600 * SEC, is_over, "j"));
        check_end(&s, "j", "Complete", "CompletionsReached");
        assert_int_equal(sim_num(&s, &kind_job, "default", "j", "status.succeeded"), 1);
        assert_int_equal(sim_num(&s, &kind_job, "default", "j", "status.failed"), -1);
    }
}

/* ---- pods that a hollow node ends, or cannot start ------------------------------------------ */

static void test_deadline_and_missing_images(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char text[80];

    (void)state;
    sim_begin(&s, 6);
    assert_int_equal(
        sim_create(&s, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"short\"},"
                       "\"spec\":{\"activeDeadlineSeconds\":20,\"containers\":[{\"name\":\"c\","
                       "\"image\":\"a\"}]}}"),
        201);
    assert_int_equal(
        sim_create(&s,
                   "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"stuck\"},"
                   "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"foo:non-existent\"}]}}"),
        201);
    sim_run(&s, 15 * SEC);
    sim_text(&s, &kind_pod, "default", "short", "status.phase", text, sizeof text);
    assert_string_equal(text, "Running");
    sim_run(&s, 15 * SEC);
    sim_text(&s, &kind_pod, "default", "short", "status.phase", text, sizeof text);
    assert_string_equal(text, "Failed");
    sim_text(&s, &kind_pod, "default", "short", "status.reason", text, sizeof text);
    assert_string_equal(text, "DeadlineExceeded");
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(&s, &kind_pod, "default", "stuck");
    const struct kj_val *status = kj_at(kj_path(kj_root(doc), "status.containerStatuses"), 0);
    assert_string_equal(kj_str_or(kj_path(status, "state.waiting.reason"), ""), "ImagePullBackOff");
}

static void check_phase(struct sim *s, const char *pod, const char *phase)
{
    char text[80];

    sim_text(s, &kind_pod, "default", pod, "status.phase", text, sizeof text);
    assert_string_equal(text, phase);
}

/* The largest numbers that the API takes are so long that the time never comes. */
static void test_times_without_end(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 45);
    run_job(&s, JOB("j", "\"activeDeadlineSeconds\":9223372036854775807,", "sleep 30"), "j");
    check_end(&s, "j", "Complete", "CompletionsReached");
    assert_int_equal(
        sim_create(&s, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\","
                       "\"annotations\":{\"sim.koordinator.sh/run\":\"2562047h\"}},\"spec\":{"
                       "\"terminationGracePeriodSeconds\":9223372036854775807,\"restartPolicy\":"
                       "\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"a\"}]}}"),
        201);
    sim_run(&s, 60 * SEC);
    check_phase(&s, "p", "Running");
    assert_int_equal(sim_delete(&s, &kind_pod, "default", "p", NULL), 200);
    sim_run(&s, 400 * NSEC_PER_MSEC); /* its containers take their time to end */
    check_phase(&s, "p", "Running");
    sim_run(&s, 5 * SEC);
    assert_null(sim_get(&s, &kind_pod, "default", "p"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index_is_known_to_the_pod),
        cmocka_unit_test(test_millions_of_indexes),
        cmocka_unit_test(test_failures_by_index_under_faults),
        cmocka_unit_test(test_failure_policy),
        cmocka_unit_test(test_restarts_in_place_reach_the_limit),
        cmocka_unit_test(test_success_policy),
        cmocka_unit_test(test_managed_elsewhere),
        cmocka_unit_test(test_adoption_and_release),
        cmocka_unit_test(test_adoption_and_release_under_faults),
        cmocka_unit_test(test_adopted_pod_is_counted_once),
        cmocka_unit_test(test_new_orphan_is_adopted),
        cmocka_unit_test(test_suspended_pods_have_not_failed),
        cmocka_unit_test(test_suspended_without_work_completes),
        cmocka_unit_test(test_last_success_is_seen_after_suspending),
        cmocka_unit_test(test_suspended_queue_completes),
        cmocka_unit_test(test_deleted_pod_is_replaced_at_once),
        cmocka_unit_test(test_deleted_pod_is_replaced_when_it_has_ended),
        cmocka_unit_test(test_deadline_and_missing_images),
        cmocka_unit_test(test_times_without_end),
    };
    return cmocka_run_group_tests_name("sim_jobs", tests, NULL, NULL);
}
