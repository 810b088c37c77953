/* test_migration_limits.c - what holds jobs back, and which jobs there are at all (descheduler 4.4
 * to 4.6, 4.8).
 */
#include "descheduler/migration/test/migration_fixture.h"

/* ---- limits ---------------------------------------------------------------------------------- */

/* koordinator#1150: more waiting jobs than the limit must not block each other. */
static void test_ten_jobs_of_a_node_all_finish(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;
    char pod[16], job[16];

    (void)state;
    mig_prepare(&f, 9,
                "{'maxMigratingPerNode':2,'maxMigratingPerWorkload':10,"
                "'maxUnavailablePerWorkload':10,'objectLimiters':{'workload':{'duration':'0s'}}"
                "}");
    mig_replicaset(&f, "web", 40);
    for (int i = 0; i < 10; i++) {
        (void)snprintf(pod, sizeof pod, "web-%d", i);
        mig_pod(&f, pod, "web", "n1");
    }
    mig_lead(&f);
    for (int i = 0; i < 10; i++) {
        (void)snprintf(pod, sizeof pod, "web-%d", i);
        (void)snprintf(job, sizeof job, "job-%d", i);
        mig_new_job(&f, job, pod, "'ttl':'5m',");
    }
    f.no_scheduler = true;
    mig_run(&f, 5 * SEC);
    assert_int_equal(fake_count(f.client.fake, "reservations"), 2);
    unsigned waiting = 0;
    for (int i = 0; i < 10; i++) {
        (void)snprintf(job, sizeof job, "job-%d", i);
        if (*mig_annotation(&f, job, "descheduler.koordinator.sh/passed-arbitration"))
            continue;
        waiting++;
        assert_string_equal(mig_job(&f, job, "status.phase"), "");
        assert_string_equal(mig_condition(&f, job, "Arbitration", "reason"), "MaxMigratingPerNode");
        assert_contains(mig_condition(&f, job, "Arbitration", "message"),
                        "2 pods are being moved from node n1, and 2 may be; held by job-");
    }
    assert_int_equal(waiting, 8);
    f.no_scheduler = false;
    for (int i = 0; i < 10; i++) {
        (void)snprintf(job, sizeof job, "job-%d", i);
        mig_until_over(&f, job, 5 * MINUTE);
        assert_string_equal(mig_job(&f, job, "status.phase"), "Succeeded");
        assert_string_equal(mig_condition(&f, job, "Arbitration", "reason"), "");
    }
    assert_int_equal(f.evictions, 10);
}

/* An edit, even one that claims the verdict, does not replace it. */
static void test_editing_a_waiting_job_does_not_let_it_pass(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    mig_prepare(&f, 10, "{'maxMigratingGlobally':1}");
    mig_four_pods(&f);
    f.no_scheduler = true;
    mig_lead(&f);
    mig_new_job(&f, "first", "web-0", "'ttl':'10m',");
    mig_run(&f, 3 * SEC);
    mig_new_job(&f, "second", "web-2", "'ttl':'10m',");
    mig_run(&f, 3 * SEC);
    mig_patch(&f, JOBS, "second", "{'metadata':{'labels':{'edited':'yes'}}}");
    mig_run(&f, 5 * SEC);
    mig_patch(&f, JOBS, "second",
              "{'metadata':{'annotations':{'descheduler.koordinator.sh/passed-arbitration':'true'"
              "}}}");
    mig_run(&f, 10 * SEC);
    assert_string_equal(mig_job(&f, "second", "status.phase"), "");
    assert_int_equal(fake_count(f.client.fake, "reservations"), 1);
    f.no_scheduler = false;
    mig_until_over(&f, "second", 5 * MINUTE);
    assert_string_equal(mig_job(&f, "second", "status.phase"), "Succeeded");
}

static void test_forbidden_pods_are_refused(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    mig_prepare(&f, 11, "{}");
    mig_replicaset(&f, "lone", 1);
    mig_pod(&f, "lone", "lone", "n1");
    mig_put(&f, PODS, "bare", "{'spec':{'nodeName':'n1','containers':[]},'status':{}}");
    mig_lead(&f);
    mig_new_job(&f, "lone", "lone", "'ttl':'5m',");
    mig_new_job(&f, "bare", "bare", "'ttl':'5m','mode':'EvictDirectly',");
    mig_run(&f, 5 * SEC);
    assert_string_equal(mig_job(&f, "lone", "status.phase"), "Failed");
    assert_string_equal(mig_job(&f, "lone", "status.reason"), "ForbiddenMigratePod");
    assert_string_equal(mig_job(&f, "lone", "status.message"),
                        "Pod \"ns/lone\" is forbidden to migrate because it does not meet the "
                        "requirements");
    assert_string_equal(mig_job(&f, "bare", "status.reason"), "ForbiddenMigratePod");
    assert_int_equal(f.evictions, 0);
}

/* "0.1" is six in a minute. */
static void test_evictions_keep_their_rate(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;
    char pod[16], job[16];

    (void)state;
    mig_prepare(&f, 12,
                "{'evictQPS':'0.1','maxMigratingPerNode':20,'maxMigratingPerWorkload':20,"
                "'maxUnavailablePerWorkload':20,'objectLimiters':{'workload':{'duration':"
                "'0s'}}}");
    mig_replicaset(&f, "web", 40);
    for (int i = 0; i < 8; i++) {
        (void)snprintf(pod, sizeof pod, "web-%d", i);
        mig_pod(&f, pod, "web", "n1");
    }
    mig_lead(&f);
    for (int i = 0; i < 8; i++) {
        (void)snprintf(pod, sizeof pod, "web-%d", i);
        (void)snprintf(job, sizeof job, "job-%d", i);
        mig_new_job(&f, job, pod, "'ttl':'10m','mode':'EvictDirectly',");
    }
    mig_run(&f, 2 * MINUTE);
    assert_int_equal(f.evictions, 8);
    for (unsigned i = 1; i < f.evictions; i++) {
        assert_that(f.evicted_at[i] - f.evicted_at[i - 1], >=, 10 * SEC);
        assert_that(f.evicted_at[i] - f.evicted_at[i - 1], <=, 12 * SEC);
    }
}

/* The same after a restart: what was evicted before counts. */
static void test_the_rate_survives_a_restart(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    mig_prepare(&f, 13,
                "{'evictQPS':0.02,'maxMigratingPerNode':20,'maxMigratingPerWorkload':3,"
                "'maxUnavailablePerWorkload':3,'objectLimiters':{'workload':{'duration':"
                "'0s'}}}");
    mig_four_pods(&f);
    mig_lead(&f);
    mig_new_job(&f, "a", "web-0", "'ttl':'10m','mode':'EvictDirectly',");
    mig_until_over(&f, "a", MINUTE);
    mig_resign(&f);
    mig_lead(&f);
    mig_new_job(&f, "b", "web-1", "'ttl':'10m','mode':'EvictDirectly',");
    mig_until_over(&f, "b", 2 * MINUTE);
    assert_int_equal(f.evictions, 2);
    assert_that(f.evicted_at[1] - f.evicted_at[0], >=, 49 * SEC);
}

/* One of a workload of 100 in 30 s: ten in five minutes. */
static void test_a_workload_is_not_moved_too_fast(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    mig_prepare(&f, 14, "{}");
    mig_replicaset(&f, "web", 100);
    mig_pod(&f, "web-0", "web", "n1");
    mig_pod(&f, "web-1", "web", "n2");
    mig_lead(&f);
    mig_new_job(&f, "a", "web-0", "'ttl':'10m','mode':'EvictDirectly',");
    mig_until_over(&f, "a", MINUTE);
    mig_new_job(&f, "b", "web-1", "'ttl':'10m','mode':'EvictDirectly',");
    mig_run(&f, 5 * SEC);
    assert_string_equal(mig_condition(&f, "b", "Arbitration", "reason"), "ObjectLimiter");
    mig_until_over(&f, "b", 2 * MINUTE);
    assert_string_equal(mig_job(&f, "b", "status.phase"), "Succeeded");
    assert_that(f.evicted_at[1] - f.evicted_at[0], >=, 30 * SEC);
    assert_that(f.evicted_at[1] - f.evicted_at[0], <=, 40 * SEC);
}

static long long order_of(const struct migration_fixture *f, const char *job)
{
    const char *json = fake_find(f->client.fake, RESERVATIONS, mig_job(f, job, "metadata.uid"));
    const char *at = json ? strstr(json, "scheduling.koordinator.sh/reservation-order\":\"") : NULL;

    return at ? strtoll(strchr(at, ':') + 2, NULL, 10) : 0;
}

/* New pods of a workload take the Reservation with the smallest order: not that of a pod which is
 * still there. */
static void test_the_place_of_a_pod_that_goes_is_taken_first(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    mig_prepare(&f, 29, "{'objectLimiters':{'workload':{'duration':'0s'}}}");
    mig_four_pods(&f);
    f.no_scheduler = true;
    mig_lead(&f);
    mig_new_job(&f, "early", "web-0", "'ttl':'5m',");
    mig_run(&f, 3 * SEC);
    mig_new_job(&f, "late", "web-2", "'ttl':'5m',");
    mig_run(&f, 3 * SEC);
    assert_that(order_of(&f, "early"), <, order_of(&f, "late"));
    mig_place(&f, mig_job(&f, "late", "metadata.uid"), "n9");
    mig_run(&f, 3 * SEC);
    assert_int_equal(f.evictions, 1);
    assert_true(mig_has(&f, PODS, "web-0"));
    assert_that(order_of(&f, "late"), <, order_of(&f, "early"));
    assert_that(order_of(&f, "late"), >, 0);
}

/* ---- workloads in the middle of something ---------------------------------------------------- */

static void test_a_rollout_is_left_alone(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    mig_prepare(&f, 15, "{}");
    mig_put(&f, DEPLOYMENTS, "web",
            "{'metadata':{'generation':2},'spec':{'replicas':4},'status':{'observedGeneration':2,"
            "'replicas':5,'updatedReplicas':1,'readyReplicas':4}}");
    mig_put(&f, REPLICASETS, "web",
            "{'metadata':{'ownerReferences':[{'apiVersion':'apps/v1','kind':'Deployment','name':"
            "'web','uid':'%s','controller':true}]},'spec':{'replicas':4}}",
            mig_text(&f, DEPLOYMENTS, "web", "metadata.uid"));
    mig_pod(&f, "web-0", "web", "n1");
    mig_pod(&f, "web-1", "web", "n2");
    mig_lead(&f);
    mig_new_job(&f, "job", "web-0", "'ttl':'10m','mode':'EvictDirectly',");
    mig_run(&f, 5 * SEC);
    assert_string_equal(mig_condition(&f, "job", "Arbitration", "reason"), "WorkloadChanging");
    assert_contains(mig_condition(&f, "job", "Arbitration", "message"),
                    "Deployment ns/web is rolling out");
    mig_patch(&f, DEPLOYMENTS, "web",
              "{'status':{'replicas':5,'updatedReplicas':5,'readyReplicas':5}}");
    mig_run(&f, 35 * SEC);
    assert_contains(mig_condition(&f, "job", "Arbitration", "message"), "is scaling down");
    /* Complete, but short of ready pods: two may be missing, and two are. */
    mig_patch(&f, DEPLOYMENTS, "web",
              "{'status':{'replicas':4,'updatedReplicas':4,'readyReplicas':2}}");
    mig_run(&f, 35 * SEC);
    assert_string_equal(mig_condition(&f, "job", "Arbitration", "reason"), "WorkloadNotReady");
    assert_int_equal(f.evictions, 0);
    mig_patch(&f, DEPLOYMENTS, "web", "{'status':{'readyReplicas':4}}");
    mig_until_over(&f, "job", MINUTE);
    assert_string_equal(mig_job(&f, "job", "status.phase"), "Succeeded");
}

/* ---- paused ---------------------------------------------------------------------------------- */

static void test_a_paused_job_waits_and_holds_no_slot(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;

    (void)state;
    mig_prepare(&f, 16,
                "{'maxMigratingGlobally':1,'objectLimiters':{'workload':{'duration':'0s'}}}");
    mig_four_pods(&f);
    mig_lead(&f);
    mig_new_job(&f, "held", "web-0", "'ttl':'2m','paused':true,");
    mig_run(&f, 10 * MINUTE); /* longer than its time, and than the scavenger waits */
    assert_true(mig_has(&f, JOBS, "held"));
    assert_null(strstr(fake_find(f.client.fake, JOBS, "held"), "\"status\""));
    mig_new_job(&f, "other", "web-2", "'ttl':'5m',");
    mig_until_over(&f, "other", MINUTE);
    assert_string_equal(mig_job(&f, "other", "status.phase"), "Succeeded");
    mig_patch(&f, JOBS, "held", "{'spec':{'paused':false}}");
    mig_until_over(&f, "held", MINUTE);
    assert_string_equal(mig_job(&f, "held", "status.phase"), "Succeeded");
    assert_int_equal(f.evictions, 2);
}

/* ---- jobs that plugins ask for --------------------------------------------------------------- */

static bool evict(struct migration_fixture *f, const char *pod, struct kd_why *why)
{
    const struct kd_plugin *p = &plugin_migrationcontroller;
    struct informer *pods = caches_get(f->caches, &kind_pod);
    char key[64];

    (void)snprintf(key, sizeof key, "ns/%s", pod);
    *why = (struct kd_why){ 0 };
    const struct kobj *o = informer_get(pods, key);
    assert_non_null(o);
    return p->filter(f->plugin, NULL, pod_of(o), why) &&
           p->evict(f->plugin, NULL, pod_of(o),
                    &(struct kd_eviction){ .plugin = "LowNodeLoad", .reason = "hot" }, why);
}

static const char *only_job(struct migration_fixture *f)
{
    static struct mig_names l;

    l.n = 0;
    fake_each(f->client.fake, "podmigrationjobs", mig_add_name, &l);
    assert_int_equal(l.n, 1);
    return l.items[0];
}

static void test_an_evicted_pod_gets_one_job(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;
    CLEANUP(strbuf_fini) struct strbuf events = STRBUF_INIT;
    struct kd_why why;

    (void)state;
    mig_prepare(&f, 22, "{'defaultDeleteOptions':{'gracePeriodSeconds':30}}");
    mig_four_pods(&f);
    f.no_scheduler = true;
    mig_lead(&f);
    assert_true(evict(&f, "web-0", &why));
    assert_false(evict(&f, "web-0", &why)); /* before the server has answered */
    assert_string_equal(why.text, "there is a PodMigrationJob for it");
    mig_run(&f, SEC);
    assert_false(evict(&f, "web-0", &why));
    const char *job = only_job(&f);
    assert_int_equal(strlen(job), 36);
    assert_string_equal(mig_annotation(&f, job, "koordinator.sh/evict-reason"), "hot");
    assert_string_equal(mig_annotation(&f, job, "koordinator.sh/evict-trigger"), "LowNodeLoad");
    assert_int_equal(strlen(mig_annotation(&f, job, "koordinator.sh/job-created-by")), 36);
    assert_string_equal(mig_job(&f, job, "spec.mode"), "ReservationFirst");
    assert_string_equal(mig_job(&f, job, "spec.ttl"), "5m0s");
    assert_string_equal(mig_job(&f, job, "spec.podRef.uid"),
                        mig_text(&f, PODS, "web-0", "metadata.uid"));
    assert_contains(fake_find(f.client.fake, JOBS, job), "\"gracePeriodSeconds\":30");
    f.no_scheduler = false;
    mig_until_over(&f, job, MINUTE);
    assert_string_equal(mig_job(&f, job, "status.phase"), "Succeeded");
    mig_events(&f, &events);
    assert_contains(strbuf_str(&events),
                    "Descheduled: Pod evicted from node \"n1\" by the reason \"hot\"");
}

/* koordinator#1527: no job that cannot succeed. */
static void test_no_job_that_cannot_succeed(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;
    struct kd_why why;

    (void)state;
    mig_prepare(&f, 23, "{}");
    mig_replicaset(&f, "lone", 1);
    mig_pod(&f, "lone", "lone", "n1");
    mig_four_pods(&f);
    mig_patch(&f, PODS, "web-0", "{'spec':{'schedulerName':'default-scheduler'}}");
    mig_pod_with(&f, "web-1", "web", "n1",
                 "'annotations':{'scheduling.koordinator.sh/eviction-cost':'2147483647'},");
    mig_pod_with(&f, "web-2", "web", "n1", "'deletionTimestamp':'2025-11-15T09:46:40Z',");
    mig_lead(&f);
    assert_false(evict(&f, "lone", &why));
    assert_contains(why.text, "has 1 replicas");
    assert_false(evict(&f, "web-0", &why));
    assert_contains(why.text, "scheduler");
    assert_false(evict(&f, "web-1", &why));
    assert_contains(why.text, "eviction cost");
    assert_false(evict(&f, "web-2", &why));
    assert_contains(why.text, "on its way out");
    assert_true(evict(&f, "web-3", &why));
}

static void test_manual_approval_pauses_new_jobs(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;
    struct kd_why why;

    (void)state;
    mig_prepare(&f, 24, "{'approval':'Manual','maxMigratingGlobally':1}");
    mig_four_pods(&f);
    mig_lead(&f);
    assert_true(evict(&f, "web-0", &why));
    mig_run(&f, 20 * MINUTE);
    const char *job = only_job(&f);
    assert_contains(fake_find(f.client.fake, JOBS, job), "\"paused\":true");
    assert_int_equal(f.evictions, 0);
    assert_false(evict(&f, "web-0", &why)); /* one job is enough */
    mig_patch(&f, JOBS, job, "{'spec':{'paused':false}}");
    mig_until_over(&f, job, MINUTE);
    assert_string_equal(mig_job(&f, job, "status.phase"), "Succeeded");
}

/* What `koordctl migrate reject` writes: the pod stays, and gets no other job for a day. */
static void test_a_rejected_pod_stays(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;
    struct kd_why why;

    (void)state;
    mig_prepare(&f, 27, "{'approval':'Manual'}");
    mig_four_pods(&f);
    mig_lead(&f);
    assert_true(evict(&f, "web-0", &why));
    mig_run(&f, SEC);
    CLEANUP(mem_free) char *job = xstrdup(only_job(&f));
    mig_patch(&f, JOBS, job, "{'status':{'phase':'Aborted','reason':'Rejected'}}");
    mig_run(&f, 23 * 60 * MINUTE);
    assert_false(evict(&f, "web-0", &why));
    assert_contains(why.text, "a person has rejected");
    assert_int_equal(f.evictions, 0);
    mig_run(&f, 2 * 60 * MINUTE);
    assert_false(mig_has(&f, JOBS, job));
    assert_true(evict(&f, "web-0", &why));
}

static void test_a_dry_run_makes_no_job(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;
    struct kd_why why;

    (void)state;
    mig_prepare(&f, 25, "{'dryRun':true}");
    mig_four_pods(&f);
    mig_lead(&f);
    assert_true(evict(&f, "web-0", &why));
    mig_run(&f, SEC);
    assert_int_equal(fake_count(f.client.fake, "podmigrationjobs"), 0);
}

struct stub_placer {
    const char *node; /* NULL: nowhere */
};
static int stub_place(void *arg, const struct pod *p, struct kd_placement *ret)
{
    const struct stub_placer *s = arg;

    (void)p;
    ret->node = s->node;
    (void)snprintf(ret->why, sizeof ret->why, "%s", s->node ? "" : "0/3 nodes are available");
    return 0;
}

static void test_nobody_is_evicted_who_has_nowhere_to_go(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;
    struct stub_placer nodes = { NULL };
    const struct kd_placer placer = { stub_place, &nodes };
    struct kd_why why;

    (void)state;
    mig_prepare(&f, 28, "{'defaultJobMode':'EvictDirectly'}");
    f.placer = &placer;
    mig_four_pods(&f);
    mig_lead(&f);
    assert_false(evict(&f, "web-0", &why));
    assert_string_equal(why.text, "no other node: 0/3 nodes are available");
    mig_new_job(&f, "job", "web-1", "'ttl':'5m',");
    mig_run(&f, 30 * SEC);
    assert_int_equal(f.evictions, 0);
    assert_string_equal(mig_condition(&f, "job", "Eviction", "reason"), "Unschedulable");
    assert_string_equal(mig_job(&f, "job", "status.message"),
                        "no other node: 0/3 nodes are available");
    nodes.node = "n7";
    mig_until_over(&f, "job", MINUTE);
    assert_string_equal(mig_job(&f, "job", "status.phase"), "Succeeded");
    assert_true(evict(&f, "web-2", &why) || strstr(why.text, "objectLimiters"));
}

/* Jobs of another descheduler are its own; those of ours before a restart are not. */
static void test_own_jobs_are_known_again(void **state)
{
    CLEANUP(mig_end) struct migration_fixture f;
    struct kd_why why;

    (void)state;
    mig_prepare(&f, 26, "{}");
    mig_four_pods(&f);
    f.no_scheduler = true;
    mig_lead(&f);
    assert_true(evict(&f, "web-0", &why));
    mig_run(&f, SEC / 5);
    mig_resign(&f);
    mig_lead(&f);
    f.no_scheduler = false;
    CLEANUP(mem_free) char *job = xstrdup(only_job(&f));
    mig_until_over(&f, job, MINUTE);
    assert_string_equal(mig_job(&f, job, "status.phase"), "Succeeded");
    mig_new_job(&f, "strange", "web-2", "'ttl':'2m',");
    mig_patch(&f, JOBS, "strange",
              "{'metadata':{'annotations':{'koordinator.sh/job-created-by':'somebody'}}}");
    mig_run(&f, MINUTE);
    assert_string_equal(mig_job(&f, "strange", "status.phase"), "");
    mig_run(&f, 7 * MINUTE);
    assert_false(mig_has(&f, JOBS, "strange")); /* its time is over by far */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ten_jobs_of_a_node_all_finish),
        cmocka_unit_test(test_editing_a_waiting_job_does_not_let_it_pass),
        cmocka_unit_test(test_forbidden_pods_are_refused),
        cmocka_unit_test(test_evictions_keep_their_rate),
        cmocka_unit_test(test_the_rate_survives_a_restart),
        cmocka_unit_test(test_a_workload_is_not_moved_too_fast),
        cmocka_unit_test(test_the_place_of_a_pod_that_goes_is_taken_first),
        cmocka_unit_test(test_a_rollout_is_left_alone),
        cmocka_unit_test(test_a_paused_job_waits_and_holds_no_slot),
        cmocka_unit_test(test_an_evicted_pod_gets_one_job),
        cmocka_unit_test(test_no_job_that_cannot_succeed),
        cmocka_unit_test(test_manual_approval_pauses_new_jobs),
        cmocka_unit_test(test_a_rejected_pod_stays),
        cmocka_unit_test(test_a_dry_run_makes_no_job),
        cmocka_unit_test(test_nobody_is_evicted_who_has_nowhere_to_go),
        cmocka_unit_test(test_own_jobs_are_known_again),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
