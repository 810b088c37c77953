/* test_quotacontrol.c - what ElasticQuota writes: the status of quotas, the built-in ones, events,
 * and evictions from quotas that use more than their runtime (sched-quota 7, 15, 16). */
#include "quota_engine.h"

#define BUILT_IN "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/koordinator-system/elasticquotas"

static void settle(struct engine_fixture *b)
{
    client_fixture_run(&b->client, 15 * SEC);
}

/* A text of a stored quota. */
static bool says(const struct engine_fixture *b, const char *quota, const char *text)
{
    const char *json = fake_find(b->client.fake, QUOTAS, quota);

    return json && strstr(json, text);
}

static void test_status_is_written(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    quota_start(&b, 100);
    engine_quota(&b, "a", "", 10, 5);
    client_fixture_run(&b.client, SEC);
    quota_pod(&b, "p", "a", 8, "");
    settle(&b);
    assert_true(says(&b, "a", "\"status\":{\"used\":{\"cpu\":\"8\",\"memory\":\"8Gi\"}}"));
    assert_true(says(&b, "a",
                     ANNO_QUOTA_RUNTIME "\":\"{\\\"cpu\\\":\\\"8\\\",\\\"memory\\\":"
                                        "\\\"8Gi\\\"}\""));
    assert_false(says(&b, "a", ANNO_QUOTA_GUARANTEED)); /* nothing: it stays away */
    unsigned before = fake_stats(b.client.fake).patches;
    client_fixture_run(&b.client, 60 * SEC);
    assert_int_equal(fake_stats(b.client.fake).patches, before);
    fake_delete(b.client.fake, PODS, "p");
    settle(&b);
    assert_true(says(&b, "a", "\"used\":{\"cpu\":\"0\",\"memory\":\"0\"}"));
}

/* A resource that is no key of max any more leaves the status, in one write. */
static void test_what_is_not_counted_any_more_leaves_the_status(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    quota_start(&b, 100);
    engine_quota(&b, "a", "", 10, 5);
    quota_pod(&b, "p", "a", 8, "");
    settle(&b);
    assert_true(says(&b, "a", "\"used\":{\"cpu\":\"8\",\"memory\":\"8Gi\"}"));
    fake_patch(b.client.fake, QUOTAS, "a",
               "{\"spec\":{\"max\":{\"memory\":null},\"min\":{\"memory\":null}}}");
    settle(&b);
    assert_true(says(&b, "a", "\"used\":{\"cpu\":\"8\"}"));
    unsigned before = fake_stats(b.client.fake).patches;
    client_fixture_run(&b.client, 60 * SEC);
    assert_int_equal(fake_stats(b.client.fake).patches, before);
}

#define CHARGED(n) ANNO_QUOTA_CHILD_REQUEST "\":\"{\\\"cpu\\\":\\\"" n "\\\"}\""

/* What quota evaluate has charged for pods that are on their way is not lowered for a while, also
 * by a leader that has just begun; then the truth is written (sched-quota 20). */
static void test_fresh_charges_stay(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    quota_start(&b, 100);
    fake_put(b.client.fake, QUOTAS, "a",
             "{\"metadata\":{\"annotations\":{\"" CHARGED("7") "}},\"spec\":{\"max\":{\"cpu\":"
                                                               "\"10\"}}}");
    client_fixture_run(&b.client, 3 * SEC);
    assert_true(says(&b, "a", CHARGED("7")));
    client_fixture_run(&b.client, 10 * SEC);
    assert_false(says(&b, "a", CHARGED("7")));
    fake_patch(b.client.fake, QUOTAS, "a", "{\"metadata\":{\"annotations\":{\"" CHARGED("5") "}}}");
    client_fixture_run(&b.client, 3 * SEC);
    assert_true(says(&b, "a", CHARGED("5")));
    quota_pod(&b, "p", "a", 5, ""); /* here it comes */
    client_fixture_run(&b.client, 20 * SEC);
    assert_true(says(&b, "a", CHARGED("5")));
    fake_delete(b.client.fake, PODS, "p");
    client_fixture_run(&b.client, 20 * SEC);
    assert_false(says(&b, "a", CHARGED("5")));
}

static void test_built_in_quotas_come_back(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    quota_start(&b, 10);
    settle(&b);
    assert_non_null(fake_find(b.client.fake, BUILT_IN, QUOTA_DEFAULT_NAME));
    assert_non_null(fake_find(b.client.fake, BUILT_IN, QUOTA_SYSTEM_NAME));
    const char *root = fake_find(b.client.fake, BUILT_IN, QUOTA_ROOT_NAME);
    assert_non_null(root);
    assert_non_null(strstr(root, LABEL_QUOTA_IS_PARENT "\":\"true\""));
    fake_delete(b.client.fake, BUILT_IN, QUOTA_ROOT_NAME);
    settle(&b);
    assert_non_null(fake_find(b.client.fake, BUILT_IN, QUOTA_ROOT_NAME));
}

static void test_wrong_quotas_get_an_event(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    quota_start(&b, 100);
    engine_quota(&b, "a", "", 10, 5);
    engine_quota(&b, "b", "\"parent\":\"none\"", 10, 5);
    settle(&b);
    assert_int_equal(engine_events(&b, "InvalidQuota", "parent quota none does not exist"), 1);
    quota_pod(&b, "p", "b", 1, "");
    settle(&b);
    assert_non_null(strstr(engine_condition(&b, "p", "message"),
                           "Quota b waits for its parent quota none, which does not exist"));
    quota_pod(&b, "q", "a", 1, "");
    settle(&b);
    assert_string_equal(engine_node_of(&b, "q"), "n1"); /* others are not touched */
    engine_quota(&b, "none", "", 10, 5);
    settle(&b);
    assert_string_equal(engine_node_of(&b, "p"), "n1");
    fake_patch(b.client.fake, QUOTAS, "a",
               "{\"metadata\":{\"annotations\":{\"" ANNO_QUOTA_SHARED_WEIGHT "\":\"x\"}}}");
    settle(&b);
    assert_true(says(&b, "a", "\"x\""));
}

#define OTHER "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/other/elasticquotas"

/* A quota that is wrong keeps its last good state and gets an event; others do not notice. */
static void test_bad_input(void **state)
{
    static const struct {
        const char *patch, *event;
    } cases[] = {
        { "{\"metadata\":{\"labels\":{\"" LABEL_QUOTA_PARENT "\":\"a\"}}}",
          "quota a is its own parent" },
        { "{\"metadata\":{\"labels\":{\"" LABEL_QUOTA_PARENT "\":\"below\"}}}",
          "parent quota below is below quota a itself" },
        { "{\"metadata\":{\"labels\":{\"" LABEL_QUOTA_PARENT "\":\"gone\"}}}",
          "parent quota gone does not exist" },
        { "{\"spec\":{\"max\":{\"cpu\":\"-1\"}}}", "max of cpu is negative" },
        { "{\"spec\":{\"min\":{\"cpu\":\"-1\"}}}", "min of cpu is negative" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(engine_stop) struct engine_fixture b;
        quota_start(&b, 100);
        engine_quota(&b, "a", "\"is-parent\":\"true\"", 10, 5);
        engine_quota(&b, "below", "\"parent\":\"a\"", 10, 5);
        engine_quota(&b, "beside", "", 10, 5);
        client_fixture_run(&b.client, 2 * SEC);
        quota_pod(&b, "p1", "below", 6, "");
        settle(&b);
        fake_patch(b.client.fake, QUOTAS, "a", cases[i].patch);
        settle(&b);
        assert_int_equal(engine_events(&b, "InvalidQuota", cases[i].event), 1);
        quota_pod(&b, "p2", "below", 6, ""); /* judged by the last good state: 10, 6 are used */
        quota_pod(&b, "p3", "below", 4, "");
        quota_pod(&b, "p4", "beside", 9, "");
        settle(&b);
        assert_string_equal(engine_node_of(&b, "p2"), "");
        assert_string_equal(engine_node_of(&b, "p3"), "n1");
        assert_string_equal(engine_node_of(&b, "p4"), "n1");
    }
}

static void test_one_name_in_two_namespaces(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    quota_start(&b, 100);
    engine_quota(&b, "a", "", 10, 5);
    settle(&b);
    fake_put(b.client.fake, OTHER, "a", "{\"spec\":{\"max\":{\"cpu\":\"1\"}}}");
    settle(&b);
    assert_int_equal(engine_events(&b, "InvalidQuota", "the name belongs to quota ns/a"), 1);
    quota_pod(&b, "p", "a", 8, "");
    settle(&b);
    assert_string_equal(engine_node_of(&b, "p"), "n1"); /* the older one has the name */
    fake_delete(b.client.fake, QUOTAS, "a");
    settle(&b);
    quota_pod(&b, "q", "a", 1, ""); /* now the other has it, and more than its max is used */
    settle(&b);
    assert_string_equal(engine_node_of(&b, "q"), "");
    assert_non_null(strstr(engine_condition(&b, "q", "message"),
                           "runtime: cpu:1, used: cpu:8, pod's request: cpu:1"));
}

/* ---- revoking -------------------------------------------------------------------------------- */

static int running(const struct engine_fixture *b, const char *prefix)
{
    char name[16];
    int n = 0;

    for (int i = 0; i < 10; i++) {
        (void)snprintf(name, sizeof name, "%s%d", prefix, i);
        n += *engine_node_of(b, name) != '\0';
    }
    return n;
}

/* Those of b are less important: they do not preempt. */
static void ask(struct engine_fixture *b, const char *quota)
{
    char name[16], priority[32];

    for (int i = 0; i < 10; i++) {
        (void)snprintf(name, sizeof name, "%s%d", quota, i);
        (void)snprintf(priority, sizeof priority, ",\"priority\":%d", *quota == 'a' ? i : i - 100);
        quota_pod(b, name, quota, 1, priority);
    }
}

#define REVOKE "{\"monitorAllQuotas\":true,\"delayEvictTime\":\"30s\"}"

/* a has lent what b has, until b asks. */
static void lend(struct engine_fixture *b)
{
    quota_start_args(b, 10, REVOKE);
    engine_quota(b, "a", "", 10, 5);
    engine_quota(b, "b", "", 10, 5);
    client_fixture_run(&b->client, SEC);
    ask(b, "a");
    settle(b);
    assert_int_equal(running(b, "a"), 10);
    ask(b, "b");
}

static void test_what_was_lent_comes_back(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    lend(&b);
    client_fixture_run(&b.client, 20 * SEC);
    assert_int_equal(running(&b, "a"), 10); /* not yet */
    client_fixture_run(&b.client, 40 * SEC);
    assert_int_equal(running(&b, "a"), 5);
    assert_int_equal(running(&b, "b"), 5);
    assert_null(fake_find(b.client.fake, PODS, "a0")); /* the least important */
    assert_non_null(fake_find(b.client.fake, PODS, "a9"));
    client_fixture_run(&b.client, 24 * 3600 * SEC); /* and there it stays */
    assert_int_equal(running(&b, "a"), 5);
    assert_int_equal(running(&b, "b"), 5);
}

/* volcano#3729, kueue#14468: both ask for more all the time, and whoever is evicted comes back. */
static void test_no_eviction_after_the_balance(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    char name[16];
    unsigned gone = 0;

    (void)state;
    lend(&b);
    client_fixture_run(&b.client, 120 * SEC);
    for (int i = 0; i < 10; i++) { /* who was evicted is made again, and waits now */
        (void)snprintf(name, sizeof name, "a%d", i);
        if (!fake_find(b.client.fake, PODS, name))
            quota_pod(&b, name, "a", 1, ",\"priority\":0");
    }
    settle(&b);
    for (int hour = 0; hour < 24; hour++) {
        client_fixture_run(&b.client, 3600 * SEC);
        for (int i = 0; i < 20; i++) {
            (void)snprintf(name, sizeof name, "%c%d", i < 10 ? 'a' : 'b', i % 10);
            gone += !fake_find(b.client.fake, PODS, name);
        }
    }
    assert_int_equal(gone, 0);
    assert_int_equal(running(&b, "a") + running(&b, "b"), 10);
    assert_int_equal(running(&b, "a"), 5);
}

#define BLOCKED                                                                                 \
    "The quota uses more than its runtime, and the pods that may be evicted (preemptible, and " \
    "allowed by their disruption budgets) are not enough"
#define PDBS "/apis/policy/v1/namespaces/ns/poddisruptionbudgets"

/* koord#2651: the least important ones are protected, so others go; and when nobody else is left,
 * the quota says so. */
static void test_budgets_decide_who_goes(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    char name[16];

    (void)state;
    lend(&b);
    for (int i = 0; i < 5; i++) {
        (void)snprintf(name, sizeof name, "a%d", i);
        fake_patch(b.client.fake, PODS, name, "{\"metadata\":{\"labels\":{\"keep\":\"yes\"}}}");
    }
    fake_put(b.client.fake, PDBS, "keep",
             "{\"spec\":{\"selector\":{\"matchLabels\":{\"keep\":\"yes\"}}},\"status\":{"
             "\"disruptionsAllowed\":0}}");
    client_fixture_run(&b.client, 60 * SEC);
    assert_int_equal(running(&b, "a"), 5);
    for (int i = 0; i < 10; i++) {
        (void)snprintf(name, sizeof name, "a%d", i);
        assert_int_equal(fake_find(b.client.fake, PODS, name) != NULL, i < 5);
    }
    assert_int_equal(engine_events(&b, "RevokeBlocked", BLOCKED), 0);
    engine_quota(&b, "a", "", 3, 3); /* two more would have to go */
    client_fixture_run(&b.client, 120 * SEC);
    assert_int_equal(running(&b, "a"), 5);
    assert_true(engine_events(&b, "RevokeBlocked", BLOCKED) > 0);
    fake_patch(b.client.fake, PDBS, "keep", "{\"status\":{\"disruptionsAllowed\":5}}");
    client_fixture_run(&b.client, 120 * SEC);
    assert_int_equal(running(&b, "a"), 3);
}

/* Pods that take their time to leave are not followed by others. */
static void test_not_one_eviction_too_many(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    int marked = 0;

    (void)state;
    lend(&b);
    fake_graceful(b.client.fake, true);
    client_fixture_run(&b.client, 300 * SEC);
    for (int i = 0; i < 10; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "a%d", i);
        marked += *engine_get(&b, name, "metadata.deletionTimestamp") != '\0';
    }
    assert_int_equal(marked, 5);
}

static void test_nothing_is_revoked_unless_asked_for(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    quota_start(&b, 10);
    engine_quota(&b, "a", "", 10, 5);
    engine_quota(&b, "b", "", 10, 5);
    client_fixture_run(&b.client, SEC);
    ask(&b, "a");
    settle(&b);
    ask(&b, "b");
    client_fixture_run(&b.client, 600 * SEC);
    assert_int_equal(running(&b, "a"), 10);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_is_written),
        cmocka_unit_test(test_what_is_not_counted_any_more_leaves_the_status),
        cmocka_unit_test(test_fresh_charges_stay),
        cmocka_unit_test(test_built_in_quotas_come_back),
        cmocka_unit_test(test_wrong_quotas_get_an_event),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_one_name_in_two_namespaces),
        cmocka_unit_test(test_what_was_lent_comes_back),
        cmocka_unit_test(test_not_one_eviction_too_many),
        cmocka_unit_test(test_no_eviction_after_the_balance),
        cmocka_unit_test(test_budgets_decide_who_goes),
        cmocka_unit_test(test_nothing_is_revoked_unless_asked_for),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
