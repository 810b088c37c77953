/* test_manager_profiles.c - profiles in a running manager: the webhooks' view of the cluster,
 * events, and the controller that applies profiles to pods that wait. */
#include "fixture_manager.h"
#include "manager/profile/profiles.h"
#include "manager/webhook/webhook.h"

#define PROFILES     "/apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles"
#define NAMESPACES   "/api/v1/namespaces"
#define CLASSES      "/apis/scheduling.k8s.io/v1/priorityclasses"
#define DEFAULT_PODS "/api/v1/namespaces/default/pods"

static unsigned changes;

static void on_changed(void *arg)
{
    (void)arg;
    changes++;
}

static void fixture_init_with(struct fixture *f, struct webhook_opts *w, bool controller)
{
    struct manager_opts o = { .webhooks = w,
                              .profiles = { .enabled = controller },
                              .profiles_changed = on_changed };

    changes = 0;
    fixture_init(f, &o);
    fake_put(f->r.fake, NAMESPACES, "default", "{\"metadata\":{\"labels\":{\"colo\":\"on\"}}}");
    fake_put(f->r.fake, CLASSES, "koord-batch", "{\"value\":5000}");
}

/* A pod of this name, label app=web, bound to a node or not. */
static void put_pod(struct fixture *f, const char *name, const char *node)
{
    char body[400];

    (void)snprintf(
        body, sizeof body,
        "{\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{\"nodeName\":\"%s\","
        "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},"
        "\"status\":{\"phase\":\"Pending\"}}",
        node);
    fake_put(f->r.fake, DEFAULT_PODS, name, body);
}

static const char *label(struct fixture *f, const char *pod, const char *key)
{
    return fixture_get(f, DEFAULT_PODS, pod, "metadata.labels", key);
}

#define MANAGED \
    "{\"metadata\":{\"labels\":{\"config.koordinator.sh/controller-managed\":\"true\"}},"
#define SPEC "\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"web\"}},"

/* ---- webhooks -------------------------------------------------------------------------------- */

static void create(struct fixture *f, struct arena *a, struct webhook_answer *ret)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    static const char pod[] = "{\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{}}";
    struct webhook_request r = { .op = WEBHOOK_CREATE, .resource = "pods", .ns = "default" };

    webhook_mutate(manager_webhooks(f->m), WEBHOOK_MUTATE_POD, &r, d,
                   kj_mraw(d, pod, sizeof pod - 1), a, ret);
}

static void test_the_webhooks_follow_the_cluster(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct webhook_opts w = { .gates = webhook_gates_default() };
    struct webhook_answer answer;

    (void)state;
    fixture_init_with(&f, &w, false);
    fake_put(f.r.fake, PROFILES, "p",
             "{" SPEC "\"namespaceSelector\":{\"matchLabels\":{\"colo\":\"on\"}},\"labels\":{\"a\":"
             "\"b\"},\"priorityClassName\":\"koord-batch\"}}");
    fixture_start(&f);
    assert_true(manager_synced(f.m));
    assert_int_equal(profile_set_count(manager_profiles(f.m)), 1);
    assert_int_equal(changes, 1);
    create(&f, a, &answer);
    assert_true(answer.allowed && answer.changed);
    /* Without its class pods are refused, and the profile says why. */
    fake_delete(f.r.fake, CLASSES, "koord-batch");
    fixture_run(&f, SECONDS(2));
    assert_int_equal(f.events, 1);
    assert_true(str_starts(f.last_event,
                           "Warning ClusterColocationProfile PriorityClassNotFound: "
                           "spec.priorityClassName: there is no PriorityClass koord-batch"));
    create(&f, a, &answer);
    assert_int_equal(answer.code, 500);
    fake_delete(f.r.fake, PROFILES, "p");
    fixture_run(&f, SECONDS(2));
    create(&f, a, &answer);
    assert_true(answer.allowed && !answer.changed);
    assert_int_equal(changes, 2);
}

static void test_a_bad_profile_is_told(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct webhook_opts w = { .gates = webhook_gates_default() };
    struct webhook_answer answer;

    (void)state;
    fixture_init_with(&f, &w, false);
    fake_put(f.r.fake, PROFILES, "bad",
             "{\"spec\":{\"selector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\"}]},"
             "\"labels\":{\"a\":\"b\"}}}");
    fixture_start(&f);
    assert_int_equal(f.events, 1);
    assert_true(str_starts(f.last_event,
                           "Warning ClusterColocationProfile InvalidProfile: spec.selector: "));
    create(&f, a, &answer);
    assert_true(answer.allowed && !answer.changed);
}

static void test_rules_of_the_enhanced_validator_are_live(void **state)
{
    static const char name[] = "pod-enhanced-validator-config";
    CLEANUP(fixture_fini) struct fixture f;
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_doc_free) struct kj_doc *pod = NULL;
    struct webhook_opts w = { .gates = webhook_gates_default() | 1u << GATE_ENHANCED_VALIDATOR };
    struct webhook_request r = { .op = WEBHOOK_CREATE, .resource = "pods", .ns = "default" };
    struct webhook_answer answer;

    (void)state;
    fixture_init_with(&f, &w, false);
    fixture_start(&f);
    assert_int_equal(kj_parse("{}", 2, 0, &pod, NULL), 0);
#define CHECK() \
    webhook_validate(manager_webhooks(f.m), WEBHOOK_VALIDATE_POD, &r, kj_root(pod), a, &answer)
    CHECK();
    assert_true(answer.allowed);
    fake_put(
        f.r.fake, CONFIGMAPS, name,
        "{\"data\":{\"enable\":\"true\",\"rules\":\"[{\\\"requiredLabels\\\":[\\\"x\\\"]}]\"}}");
    fixture_run(&f, SECONDS(2));
    CHECK();
    assert_string_equal(answer.message, "required label 'x' is missing");
    /* Nonsense: the old rules stay, and somebody is told. */
    fake_put(f.r.fake, CONFIGMAPS, name, "{\"data\":{\"enable\":\"true\",\"rules\":\"{\"}}");
    fixture_run(&f, SECONDS(2));
    assert_true(str_starts(f.last_event, "Warning ConfigMap InvalidRules: rules: "));
    CHECK();
    assert_false(answer.allowed);
    fake_delete(f.r.fake, CONFIGMAPS, name);
    fixture_run(&f, SECONDS(2));
    CHECK();
    assert_true(answer.allowed);
}

/* ---- the controller -------------------------------------------------------------------------- */

static void test_pods_that_wait_follow_their_profiles(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init_with(&f, NULL, true);
    put_pod(&f, "waits", "");
    put_pod(&f, "bound", "n1");
    fake_put(f.r.fake, PROFILES, "mine",
             MANAGED SPEC "\"labels\":{\"a\":\"b\"},\"qosClass\":\"BE\",\"schedulerName\":\"s\","
                          "\"priorityClassName\":\"missing\"}}");
    fake_put(f.r.fake, PROFILES, "other", "{" SPEC "\"labels\":{\"other\":\"x\"}}}");
    fixture_start(&f);
    assert_string_equal(label(&f, "waits", "a"), "b");
    assert_string_equal(label(&f, "waits", "koordinator.sh/qosClass"), "BE");
    assert_string_equal(label(&f, "waits", "other"), ""); /* nobody asked for that */
    assert_string_equal(fixture_get(&f, DEFAULT_PODS, "waits", "spec", "schedulerName"), "");
    assert_non_null(
        strstr(fixture_get(&f, DEFAULT_PODS, "waits", "spec", "containers"), "\"cpu\":\"1\""));
    assert_string_equal(label(&f, "bound", "a"), "");
    assert_int_equal(f.nwrites, 1);
    /* A pod that comes later, within one interval. */
    put_pod(&f, "late", "");
    fixture_run(&f, SECONDS(31));
    assert_string_equal(label(&f, "late", "a"), "b");
    assert_int_equal(f.nwrites, 2);
    fixture_run(&f, SECONDS(3600));
    assert_int_equal(f.nwrites, 2);
}

static void test_suffixes_are_appended_once(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init_with(&f, NULL, true);
    put_pod(&f, "p", "");
    fake_put(f.r.fake, PROFILES, "a", MANAGED SPEC "\"labelSuffixes\":{\"app\":\"-a\"}}}");
    fixture_start(&f);
    /* The label has changed, and with it whom the profile is for. */
    assert_string_equal(label(&f, "p", "app"), "web-a");
    fake_put(f.r.fake, PROFILES, "b",
             MANAGED "\"spec\":{\"selector\":{},\"labelSuffixes\":{\"app\":\"-b\"}}}");
    fake_put(f.r.fake, PROFILES, "a",
             MANAGED "\"spec\":{\"selector\":{},\"labelSuffixes\":{\"app\":\"-a\"}}}");
    fixture_run(&f, SECONDS(2));
    assert_string_equal(label(&f, "p", "app"), "web-a-b");
    fixture_run(&f, SECONDS(3600));
    assert_string_equal(label(&f, "p", "app"), "web-a-b");
    assert_int_equal(f.nwrites, 2);
}

static void test_not_more_than_the_bucket_holds(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    struct manager_opts o = { .profiles = { .enabled = true, .qps = 0.1, .burst = 3 } };
    char name[16];

    (void)state;
    fixture_init(&f, &o);
    for (int i = 0; i < 10; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        put_pod(&f, name, "");
    }
    fake_put(f.r.fake, PROFILES, "a", MANAGED SPEC "\"labels\":{\"a\":\"b\"}}}");
    fixture_start(&f);
    assert_int_equal(f.nwrites, 3);
    fixture_run(&f, SECONDS(31));
    assert_int_equal(f.nwrites, 6);
    fixture_run(&f, SECONDS(120));
    assert_int_equal(f.nwrites, 10);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_webhooks_follow_the_cluster),
        cmocka_unit_test(test_a_bad_profile_is_told),
        cmocka_unit_test(test_rules_of_the_enhanced_validator_are_live),
        cmocka_unit_test(test_pods_that_wait_follow_their_profiles),
        cmocka_unit_test(test_suffixes_are_appended_once),
        cmocka_unit_test(test_not_more_than_the_bucket_holds),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
