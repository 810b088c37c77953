/* sim_namespaces.c - what namespaces have from their first moment on, and how they end, on the
 * virtual loop, with lost, refused and slow answers. */
#include "base/test/asserts.h"
#include "sim_cluster.h"

#include <stdio.h>

#include "api/core.h"

#define CA_MAP "kube-root-ca.crt"

static const struct kind kind_account = { .group = "",
                                          .version = "v1",
                                          .kind = "ServiceAccount",
                                          .plural = "serviceaccounts",
                                          .namespaced = true,
                                          .schema = &kobj_schema };

static void make_namespace(struct sim *s, const char *name)
{
    char json[256];

    (void)snprintf(json, sizeof json,
                   "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}",
                   name);
    assert_int_equal(sim_create(s, json), 201);
}

/* ---- accounts and the server's certificate --------------------------------------------------- */

static void assert_published(struct sim *s, const char *ns, const char *pem)
{
    CLEANUP(kj_doc_free) struct kj_doc *map = sim_get(s, &kind_configmap, ns, CA_MAP);
    CLEANUP(kj_doc_free) struct kj_doc *account = sim_get(s, &kind_account, ns, "default");

    assert_non_null(account);
    assert_non_null(map);
    const struct kj_val *data = kj_get(kj_root(map), "data");
    assert_int_equal(kj_len(data), 1);
    assert_string_equal(kj_str_or(kj_get(data, "ca.crt"), ""), pem);
    assert_non_null(
        kj_get(kj_path(kj_root(map), "metadata.annotations"), "kubernetes.io/description"));
}

static void test_every_namespace_has_them(void **state)
{
    static const char *const first[] = { "default", "kube-system", "kube-public",
                                         "kube-node-lease" };
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 31);
    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        assert_published(&s, first[i], SIM_ROOT_CA);
    make_namespace(&s, "x");
    sim_run(&s, SEC / 10);
    assert_published(&s, "x", SIM_ROOT_CA);
}

static void test_they_come_back_and_are_put_right(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char uid[64], again[64];

    (void)state;
    sim_begin(&s, 32);
    sim_text(&s, &kind_account, "default", "default", "metadata.uid", uid, sizeof uid);
    assert_int_equal(sim_delete(&s, &kind_account, "default", "default", NULL), 200);
    assert_int_equal(sim_delete(&s, &kind_configmap, "default", CA_MAP, NULL), 200);
    sim_run(&s, SEC);
    assert_published(&s, "default", SIM_ROOT_CA);
    sim_text(&s, &kind_account, "default", "default", "metadata.uid", again, sizeof again);
    assert_string_not_equal(uid, again);

    assert_int_equal(sim_patch(&s, &kind_configmap, "default", CA_MAP, NULL,
                               "{\"data\":{\"ca.crt\":\"mine\",\"other\":\"x\"},\"metadata\":{"
                               "\"annotations\":null,\"labels\":{\"of\":\"mine\"}}}"),
                     200);
    sim_run(&s, SEC);
    assert_published(&s, "default", SIM_ROOT_CA);
    sim_text(&s, &kind_configmap, "default", CA_MAP, "metadata.labels.of", again, sizeof again);
    assert_string_equal(again, "mine");
    /* Who edits an account keeps what was written, and so does another description. */
    assert_int_equal(sim_patch(&s, &kind_account, "default", "default", NULL,
                               "{\"automountServiceAccountToken\":false}"),
                     200);
    assert_int_equal(sim_patch(&s, &kind_configmap, "default", CA_MAP, NULL,
                               "{\"metadata\":{\"annotations\":{\"kubernetes.io/description\":"
                               "\"else\"}}}"),
                     200);
    sim_run(&s, 5 * SEC);
    CLEANUP(kj_doc_free) struct kj_doc *account = sim_get(&s, &kind_account, "default", "default");
    assert_false(kj_bool(kj_get(kj_root(account), "automountServiceAccountToken"), true));
    CLEANUP(kj_doc_free) struct kj_doc *map = sim_get(&s, &kind_configmap, "default", CA_MAP);
    assert_string_equal(
        kj_str_or(
            kj_get(kj_path(kj_root(map), "metadata.annotations"), "kubernetes.io/description"), ""),
        "else");
}

static void test_a_renewed_certificate_goes_everywhere(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 33);
    cluster_set_root_ca(s.cluster, "new");
    sim_run(&s, SEC);
    assert_published(&s, "default", "new");
    assert_published(&s, "kube-system", "new");
    make_namespace(&s, "x");
    sim_run(&s, SEC);
    assert_published(&s, "x", "new");
}

struct answers {
    int namespace, pod;
};

static void on_namespace(void *arg, struct kube_resp *r, const struct kerr *err)
{
    ((struct answers *)arg)->namespace = err ? kreason_http(err->reason) : r->status;
}

static void on_pod(void *arg, struct kube_resp *r, const struct kerr *err)
{
    ((struct answers *)arg)->pod = err ? kreason_http(err->reason) : r->status;
}

/* Both are asked for in one turn, before any controller can have heard of the namespace. */
static void test_a_pod_does_not_wait_for_its_account(void **state)
{
    static const char ns[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"x\"}}";
    static const char pod[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\","
        "\"namespace\":\"x\"},\"spec\":{\"containers\":[{\"name\":\"c\","
        "\"image\":\"i\"}]}}";
    CLEANUP(sim_fini) struct sim s;
    struct answers got = { 0 };

    (void)state;
    sim_begin(&s, 34);
    kube_do(s.kube,
            &(struct kube_req){
                .verb = KUBE_CREATE, .kind = &kind_namespace, .body = ns, .body_len = strlen(ns) },
            on_namespace, &got);
    kube_do(s.kube,
            &(struct kube_req){ .verb = KUBE_CREATE,
                                .kind = &kind_pod,
                                .ns = "x",
                                .body = pod,
                                .body_len = strlen(pod) },
            on_pod, &got);
    sim_run(&s, SEC);
    assert_int_equal(got.namespace, 201);
    assert_int_equal(got.pod, 201);
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(&s, &kind_pod, "x", "p");
    const struct kj_val *spec = kj_get(kj_root(doc), "spec");
    assert_string_equal(kj_str_or(kj_get(spec, "serviceAccountName"), ""), "default");
    assert_true(str_starts(kj_str_or(kj_get(kj_at(kj_get(spec, "volumes"), 0), "name"), ""),
                           "kube-api-access-"));
    assert_published(&s, "x", SIM_ROOT_CA);
}

static bool all_published(struct sim *s, void *arg)
{
    size_t n = *(size_t *)arg;
    return sim_count(s, &kind_account, NULL, NULL) == n &&
           sim_count(s, &kind_configmap, NULL, NULL) == n;
}

static bool all_gone(struct sim *s, void *arg)
{
    return sim_count(s, &kind_namespace, NULL, NULL) == *(size_t *)arg;
}

static void test_accounts_under_faults(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    size_t n = 4 + 30;
    char name[32];

    (void)state;
    sim_begin(&s, 35);
    s.faults = (struct sim_faults){ .refuse = 50, .lose = 50, .slow = 200, .slow_max = 3 * SEC };
    for (int i = 0; i < 30; i++) {
        (void)snprintf(name, sizeof name, "ns-%d", i);
        make_namespace(&s, name);
        if (i % 10 == 9)
            sim_drop_watches(&s);
    }
    for (int i = 0; i < 30; i += 3) {
        (void)snprintf(name, sizeof name, "ns-%d", i);
        (void)sim_delete(&s, &kind_account, name, "default", NULL);
        (void)sim_patch(&s, &kind_configmap, name, CA_MAP, NULL, "{\"data\":{\"ca.crt\":\"x\"}}");
    }
    assert_true(sim_until(&s, 120 * SEC, all_published, &n));
    sim_run(&s, 60 * SEC); /* the last changes are put right too */
    for (int i = 0; i < 30; i++) {
        (void)snprintf(name, sizeof name, "ns-%d", i);
        assert_published(&s, name, SIM_ROOT_CA);
    }
    /* Nobody makes them again in a namespace on its way out. */
    for (int i = 0; i < 30; i++) {
        (void)snprintf(name, sizeof name, "ns-%d", i);
        assert_int_equal(sim_delete(&s, &kind_namespace, NULL, name, NULL), 200);
    }
    n = 4;
    assert_true(sim_until(&s, 300 * SEC, all_gone, &n));
    assert_true(all_published(&s, &n));
}

/* ---- the end of a namespace -------------------------------------------------------------------- */

static void make(struct sim *s, const char *json)
{
    assert_int_equal(sim_create(s, json), 201);
}

static const char *message_of(struct sim *s, const char *ns, const char *type)
{
    static char text[512];
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(s, &kind_namespace, NULL, ns);
    const struct kj_val *c;
    struct str key;

    for (struct kj_iter it = kj_iter(kj_path(kj_root(doc), "status.conditions"));
         kj_next(&it, &key, &c);)
        if (streq(kj_str_or(kj_get(c, "type"), ""), type)) {
            (void)snprintf(text, sizeof text, "%s|%s|%s", kj_str_or(kj_get(c, "status"), ""),
                           kj_str_or(kj_get(c, "reason"), ""), kj_str_or(kj_get(c, "message"), ""));
            return text;
        }
    return "";
}

#define POD_HELD                                                                           \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"held\","             \
    "\"namespace\":\"x\",\"finalizers\":[\"a.b/c\",\"a.b/b\"]},\"spec\":{\"containers\":[" \
    "{\"name\":\"c\",\"image\":\"i\"}]}}"
#define CONFIG                                                                                  \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\",\"namespace\":" \
    "\"x\"}}"

static void test_pods_go_first(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    size_t n = 4;

    (void)state;
    sim_begin(&s, 41);
    make_namespace(&s, "x");
    make(&s, CONFIG);
    make(&s, POD_HELD);
    sim_run(&s, 10 * SEC);
    assert_int_equal(sim_delete(&s, &kind_namespace, NULL, "x", NULL), 200);
    sim_run(&s, 60 * SEC);
    /* A pod is left: what it may need is all there. */
    assert_int_equal(sim_count(&s, &kind_configmap, "x", NULL), 2);
    assert_int_equal(sim_count(&s, &kind_account, "x", NULL), 1);
    assert_string_equal(message_of(&s, "x", "NamespaceContentRemaining"),
                        "True|SomeResourcesRemain|Some resources are remaining: pods. has 1 "
                        "resource instances");
    assert_string_equal(message_of(&s, "x", "NamespaceFinalizersRemaining"),
                        "True|SomeFinalizersRemain|Some content in the namespace has finalizers "
                        "remaining: a.b/b in 1 resource instances, a.b/c in 1 resource instances");
    assert_string_equal(message_of(&s, "x", "NamespaceDeletionContentFailure"),
                        "False|ContentDeleted|All content successfully deleted, may be waiting on "
                        "finalization");
    assert_string_equal(message_of(&s, "x", "NamespaceDeletionDiscoveryFailure"),
                        "False|ResourcesDiscovered|All resources successfully discovered");
    assert_string_equal(message_of(&s, "x", "NamespaceDeletionGroupVersionParsingFailure"),
                        "False|ParsedGroupVersions|All legacy kube types successfully parsed");
    assert_int_equal(
        sim_patch(&s, &kind_pod, "x", "held", NULL, "{\"metadata\":{\"finalizers\":null}}"), 200);
    assert_true(sim_until(&s, 5 * SEC, all_gone, &n));
}

static void test_an_empty_namespace_goes_at_once(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    size_t n = 4;

    (void)state;
    sim_begin(&s, 42);
    make_namespace(&s, "x");
    make(&s, CONFIG);
    sim_run(&s, SEC);
    assert_int_equal(sim_delete(&s, &kind_namespace, NULL, "x", NULL), 200);
    assert_true(sim_until(&s, SEC / 2, all_gone, &n));
}

/* One that somebody else holds says that its content is gone. */
static void test_a_namespace_with_a_finalizer_of_its_own(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 43);
    make(&s, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"x\","
             "\"finalizers\":[\"a.b/ns\"]}}");
    make(&s, POD_HELD);
    sim_run(&s, 5 * SEC);
    assert_int_equal(sim_delete(&s, &kind_namespace, NULL, "x", NULL), 200);
    sim_run(&s, 40 * SEC);
    assert_string_equal(sim_condition(&s, &kind_namespace, NULL, "x", "NamespaceContentRemaining"),
                        "True");
    assert_int_equal(
        sim_patch(&s, &kind_pod, "x", "held", NULL, "{\"metadata\":{\"finalizers\":null}}"), 200);
    sim_run(&s, 5 * SEC);
    assert_string_equal(message_of(&s, "x", "NamespaceContentRemaining"),
                        "False|ContentRemoved|All content successfully removed");
    assert_string_equal(message_of(&s, "x", "NamespaceFinalizersRemaining"),
                        "False|ContentHasNoFinalizers|All content-preserving finalizers finished");
    assert_int_equal(
        sim_patch(&s, &kind_namespace, NULL, "x", NULL, "{\"metadata\":{\"finalizers\":null}}"),
        200);
    sim_run(&s, SEC);
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(&s, &kind_namespace, NULL, "x");
    assert_null(doc);
}

#define TEMPLATE(labels, rest)                                                                 \
    "\"template\":{\"metadata\":{\"labels\":{" labels "}},\"spec\":{" rest "\"containers\":[{" \
    "\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"10m\"}}}]}}"

/* Owners try to replace the pods that go, which the server refuses; pods of Jobs are held until
 * they are counted, those of a StatefulSet have claims. */
static void fill(struct sim *s, const char *ns)
{
    static const char *const objects[] = {
        "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\"},"
        "\"spec\":{\"replicas\":3,\"selector\":{\"matchLabels\":{\"app\":\"web\"}}," TEMPLATE(
            "\"app\":\"web\"", "") "}",
        "\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"metadata\":{\"name\":\"db\"},"
        "\"spec\":{\"replicas\":2,\"serviceName\":\"db\",\"selector\":{\"matchLabels\":{\"app\":"
        "\"db\"}}," TEMPLATE("\"app\":\"db\"", "") "}",
        "\"apiVersion\":\"apps/v1\",\"kind\":\"DaemonSet\",\"metadata\":{\"name\":\"each\"},"
        "\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"each\"}}," TEMPLATE("\"app\":\"each\"",
                                                                                "") "}",
        "\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"long\"},\"spec\":{"
        "\"parallelism\":3,\"completions\":9,\"template\":{\"metadata\":{\"annotations\":{"
        "\"sim.koordinator.sh/run\":\"1h\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":["
        "{\"name\":\"c\",\"image\":\"i\"}]}}}",
        "\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"stuck\"},\"spec\":{"
        "\"backoffLimit\":0,\"completionMode\":\"Indexed\",\"completions\":2,\"parallelism\":2,"
        "\"podReplacementPolicy\":\"Failed\",\"template\":{\"metadata\":{\"annotations\":{"
        "\"sim.koordinator.sh/run\":\"1h\"}},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":["
        "{\"name\":\"c\",\"image\":\"i\"}]}}}",
        ("\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"web\"},\"spec\":{"
         "\"selector\":{\"app\":\"web\"},\"ports\":[{\"port\":80}]}"),
    };

    for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
        CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
        const char *meta = strstr(objects[i], "\"metadata\":{") + strlen("\"metadata\":{");
        strbuf_appendf(&json, "{%.*s\"namespace\":\"%s\",%s}", (int)(meta - objects[i]), objects[i],
                       ns, meta);
        make(s, strbuf_str(&json));
    }
}

static void end_all(struct sim *s, int count)
{
    char name[32];
    size_t n = 4;

    for (int i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "ns-%d", i);
        make_namespace(s, name);
        fill(s, name);
    }
    sim_run(s, 20 * SEC);
    for (int i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "ns-%d", i);
        assert_int_equal(sim_delete(s, &kind_namespace, NULL, name, NULL), 200);
    }
    assert_true(sim_until(s, 300 * SEC, all_gone, &n));
    assert_int_equal(sim_count(s, &kind_pod, NULL, NULL), 0);
}

static void test_a_full_namespace_ends(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 44);
    end_all(&s, 1);
}

static void test_full_namespaces_end_under_faults(void **state)
{
    (void)state;
    for (uint64_t seed = 50; seed < 54; seed++) {
        CLEANUP(sim_fini) struct sim s;

        sim_begin(&s, seed);
        s.faults =
            (struct sim_faults){ .refuse = 50, .lose = 50, .slow = 200, .slow_max = 3 * SEC };
        end_all(&s, 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_namespace_has_them),
        cmocka_unit_test(test_they_come_back_and_are_put_right),
        cmocka_unit_test(test_a_renewed_certificate_goes_everywhere),
        cmocka_unit_test(test_a_pod_does_not_wait_for_its_account),
        cmocka_unit_test(test_accounts_under_faults),
        cmocka_unit_test(test_pods_go_first),
        cmocka_unit_test(test_an_empty_namespace_goes_at_once),
        cmocka_unit_test(test_a_namespace_with_a_finalizer_of_its_own),
        cmocka_unit_test(test_a_full_namespace_ends),
        cmocka_unit_test(test_full_namespaces_end_under_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
