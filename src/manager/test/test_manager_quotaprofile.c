/* test_manager_quotaprofile.c - the root quotas of ElasticQuotaProfiles: what they say, when they
 * are written, and what happens when a write fails (manager 11, sched-quota 18). */
#include "api/protocol/quota.h"
#include "base/intern.h"
#include "fixture_manager.h"
#include "manager/quota/profile.h"

#define PROFILES "/apis/quota.koordinator.sh/v1alpha1/namespaces/kube-system/elasticquotaprofiles"
#define QUOTAS   "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/kube-system/elasticquotas"
#define P        "quota.scheduling.koordinator.sh/"

static void put(struct fixture *f, const char *collection, const char *name, const char *text)
{
    char *json = xstrdup(text); /* ' stands for " */

    for (char *p = json; *p; p++)
        if (*p == '\'')
            *p = '"';
    fake_put(f->r.fake, collection, name, json);
    free(json);
}

#define NODE(labels, spec, ready)                                                                 \
    "{'metadata':{'labels':{" labels "}},'spec':{" spec                                           \
    "},'status':{'allocatable':{'cpu':'10','memory':'1000','pods':'1000'},'conditions':[{'type':" \
    "'Ready','status':'" ready "'}]}}"
#define PROFILE(meta, spec)                                                                \
    "{'metadata':{" meta "},'spec':{'quotaName':'root-1','quotaLabels':{'team':'a'}," spec \
    "'nodeSelector':{'matchLabels':{'pool':'1'}}}}"

static const char *quota_get(struct fixture *f, const char *parent, const char *member)
{
    return fixture_get(f, QUOTAS, "root-1", parent, member);
}

static void start(struct fixture *f, const char *profile)
{
    fixture_init(f, NULL);
    put(f, NODES, "a", NODE("'pool':'1'", "", "True"));
    put(f, NODES, "b", NODE("'pool':'1'", "", "False"));
    put(f, NODES, "c", NODE("'pool':'2'", "", "True"));
    put(f, PROFILES, "profile1", profile);
    fixture_start(f);
}

static void test_the_nodes_of_a_profile_make_a_tree(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    start(&f, PROFILE("", ""));
    assert_string_equal(quota_get(&f, "spec", "min"), "{\"cpu\":\"20\",\"memory\":\"2k\"}");
    assert_string_equal(quota_get(&f, "spec", "max"),
                        "{\"cpu\":\"4611686018427387\",\"memory\":\"4611686018427387\"}");
    assert_string_equal(quota_get(&f, "metadata.annotations", P "total-resource"),
                        "{\"cpu\":\"20\",\"memory\":\"2k\",\"pods\":\"2k\"}");
    assert_string_equal(quota_get(&f, "metadata.annotations", P "unschedulable-resource"),
                        "{\"cpu\":\"10\",\"memory\":\"1k\",\"pods\":\"1k\"}");
    assert_string_equal(quota_get(&f, "metadata.labels", P "is-root"), "true");
    assert_string_equal(quota_get(&f, "metadata.labels", P "profile"), "profile1");
    assert_string_equal(quota_get(&f, "metadata.labels", "team"), "a");
    /* Both have the number that is made of the profile's name. */
    const char *tree = fixture_get(&f, PROFILES, "profile1", "metadata.labels", P "tree-id");
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct objmeta m = { .ns = "kube-system", .name = "profile1" };
    assert_string_equal(tree, quota_profile_tree(&m, a));
    assert_string_equal(quota_get(&f, "metadata.labels", P "tree-id"), quota_profile_tree(&m, a));
    m.ns = "";
    assert_string_equal(quota_profile_tree(&m, a), "2862972692226656278");
}

static void test_a_ratio_and_other_keys(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    start(&f, PROFILE("'annotations':{'" P "resource-keys':'[\\u0022cpu\\u0022]'}",
                      "'resourceRatio':'0.9',"));
    assert_string_equal(quota_get(&f, "spec", "min"), "{\"cpu\":\"18\"}");
    assert_string_equal(quota_get(&f, "metadata.annotations", P "total-resource"),
                        "{\"cpu\":\"18\",\"memory\":\"1800\",\"pods\":\"1800\"}");
    assert_string_equal(quota_get(&f, "metadata.annotations", P "unschedulable-resource"),
                        "{\"cpu\":\"9\",\"memory\":\"900\",\"pods\":\"900\"}");
    /* What is no ratio is 1; keys that are no JSON are the usual ones. */
    put(&f, PROFILES, "profile1",
        PROFILE("'annotations':{'" P "resource-keys':'cpu'}", "'resourceRatio':'1.5',"));
    fixture_run(&f, SECONDS(2));
    assert_string_equal(quota_get(&f, "spec", "min"), "{\"cpu\":\"20\",\"memory\":\"2000\"}");
}

/* manager 11's own example. */
static void test_cordoned_nodes_count_and_are_told(void **state)
{
#define BIG(spec)                                                                           \
    "{'metadata':{'labels':{'pool':'1'}},'spec':{" spec "},'status':{'allocatable':{'cpu':" \
    "'4','memory':'8Gi'},'conditions':[{'type':'Ready','status':'True'}]}}"
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f, NULL);
    put(&f, NODES, "a", BIG(""));
    put(&f, NODES, "b", BIG("'unschedulable':true"));
    put(&f, PROFILES, "profile1", PROFILE("", "'resourceRatio':'0.5',"));
    fixture_start(&f);
    assert_string_equal(quota_get(&f, "spec", "min"), "{\"cpu\":\"4\",\"memory\":\"8Gi\"}");
    assert_string_equal(quota_get(&f, "metadata.annotations", P "total-resource"),
                        "{\"cpu\":\"4\",\"memory\":\"8Gi\"}");
    assert_string_equal(quota_get(&f, "metadata.annotations", P "unschedulable-resource"),
                        "{\"cpu\":\"2\",\"memory\":\"4Gi\"}");
}

static void test_what_differs_is_written_and_nothing_else(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    start(&f, PROFILE("", ""));
    fixture_run(&f, SECONDS(60));
    fixture_reset(&f);
    /* The scheduler's status, a heartbeat, and a label of somebody else. */
    fake_patch(f.r.fake, QUOTAS, "root-1",
               "{\"metadata\":{\"annotations\":{\"" P "runtime\":\"{}\"},\"labels\":{\"x\":\"y\"}},"
               "\"status\":{\"used\":{\"cpu\":\"1\"}}}");
    fake_patch(f.r.fake, NODES, "a", "{\"metadata\":{\"annotations\":{\"beat\":\"1\"}}}");
    fixture_run(&f, SECONDS(60));
    assert_int_equal(f.nwrites, 0);
    /* A node that gets ready, one that comes, one that leaves the pool: within two seconds. */
    put(&f, NODES, "b", NODE("'pool':'1'", "", "True"));
    fixture_run(&f, SECONDS(2));
    assert_string_equal(strbuf_str(&f.writes),
                        "PATCH " QUOTAS "/root-1 {\"metadata\":{\"annotations\":{\"" P
                        "unschedulable-resource\":\"{}\"}}};");
    put(&f, NODES, "d", NODE("'pool':'1'", "", "True"));
    fixture_run(&f, SECONDS(2));
    assert_string_equal(quota_get(&f, "spec", "min"), "{\"cpu\":\"30\",\"memory\":\"3k\"}");
    put(&f, NODES, "d", NODE("'pool':'3'", "", "True"));
    fake_delete(f.r.fake, NODES, "a");
    fixture_run(&f, SECONDS(2));
    assert_string_equal(quota_get(&f, "spec", "min"), "{\"cpu\":\"10\",\"memory\":\"1k\"}");
    assert_string_equal(quota_get(&f, "metadata.labels", "x"), "y");
    assert_string_equal(quota_get(&f, "status.used", "cpu"), "1");
    /* Somebody's hand is put right, and a quota that was deleted comes back. */
    fake_patch(f.r.fake, QUOTAS, "root-1",
               "{\"spec\":{\"min\":{\"cpu\":\"1\",\"gpu\":\"2\"}},\"metadata\":{\"labels\":{\"" P
               "is-root\":\"false\"}}}");
    fixture_run(&f, SECONDS(2));
    assert_string_equal(quota_get(&f, "spec", "min"), "{\"cpu\":\"10\",\"memory\":\"1k\"}");
    assert_string_equal(quota_get(&f, "metadata.labels", P "is-root"), "true");
    fake_delete(f.r.fake, QUOTAS, "root-1");
    fixture_run(&f, SECONDS(2));
    assert_string_equal(quota_get(&f, "spec", "min"), "{\"cpu\":\"10\",\"memory\":\"1k\"}");
}

static void test_a_failed_write_is_told_and_repeated(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f, NULL);
    put(&f, NODES, "a", NODE("'pool':'1'", "", "True"));
    put(&f, PROFILES, "profile1", PROFILE("'labels':{'" P "tree-id':'t'}", ""));
    fake_answer_next_to(f.r.fake, "POST", "/elasticquotas", 1, 403);
    fixture_start(&f);
    assert_int_equal(f.events, 1);
    assert_non_null(strstr(f.last_event, "Warning ElasticQuotaProfile CreateQuotaFailed: "
                                         "failed to create quota, err: "));
    assert_string_equal(quota_get(&f, "metadata.labels", P "tree-id"), "t");
    fake_answer_next_to(f.r.fake, "PATCH", "/elasticquotas/root-1", 1, 422);
    put(&f, NODES, "b", NODE("'pool':'1'", "", "True"));
    fixture_run(&f, SECONDS(2));
    assert_string_equal(quota_get(&f, "spec", "min"), "{\"cpu\":\"10\",\"memory\":\"1k\"}");
    assert_non_null(strstr(f.last_event, "UpdateQuotaFailed: failed to update quota, err: "));
    fixture_run(&f, SECONDS(2));
    assert_string_equal(quota_get(&f, "spec", "min"), "{\"cpu\":\"20\",\"memory\":\"2k\"}");
}

/* 5xx, 429, dropped watches, a forgotten history, a second manager: the quota is right in the end.
 */
static void test_faults_on_the_way(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    start(&f, PROFILE("", ""));
    fake_answer_next(f.r.fake, 3, 503, 1);
    put(&f, NODES, "d", NODE("'pool':'1'", "", "True"));
    fixture_run(&f, SECONDS(30));
    assert_string_equal(quota_get(&f, "spec", "min"), "{\"cpu\":\"30\",\"memory\":\"3k\"}");
    fake_break_connections(f.r.fake);
    put(&f, NODES, "e", NODE("'pool':'1'", "", "True"));
    fake_compact(f.r.fake);
    fixture_run(&f, SECONDS(60));
    assert_string_equal(quota_get(&f, "spec", "min"), "{\"cpu\":\"40\",\"memory\":\"4k\"}");
    manager_rest(f.m); /* it leads no more */
    fixture_reset(&f);
    put(&f, NODES, "f", NODE("'pool':'1'", "", "True"));
    fixture_run(&f, SECONDS(30));
    assert_int_equal(f.nwrites, 0);
    manager_lead(f.m);
    fixture_run(&f, SECONDS(5));
    assert_string_equal(quota_get(&f, "spec", "min"), "{\"cpu\":\"50\",\"memory\":\"5k\"}");
}

static void test_a_selector_that_is_wrong_is_told(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    start(&f, "{'spec':{'quotaName':'root-1','nodeSelector':{'matchExpressions':[{'key':'pool',"
              "'operator':'In'}]}}}");
    assert_non_null(strstr(f.last_event, "Warning ElasticQuotaProfile InvalidProfile: "
                                         "spec.nodeSelector: "));
    assert_null(fake_find(f.r.fake, QUOTAS, "root-1"));
    put(&f, PROFILES, "profile1", PROFILE("", ""));
    fixture_run(&f, SECONDS(2));
    assert_string_equal(quota_get(&f, "spec", "min"), "{\"cpu\":\"20\",\"memory\":\"2k\"}");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_nodes_of_a_profile_make_a_tree),
        cmocka_unit_test(test_a_ratio_and_other_keys),
        cmocka_unit_test(test_cordoned_nodes_count_and_are_told),
        cmocka_unit_test(test_what_differs_is_written_and_nothing_else),
        cmocka_unit_test(test_a_failed_write_is_told_and_repeated),
        cmocka_unit_test(test_faults_on_the_way),
        cmocka_unit_test(test_a_selector_that_is_wrong_is_told),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
