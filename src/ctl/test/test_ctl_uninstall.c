/* test_ctl_uninstall.c - koordctl uninstall: the order, what goes, what stays, and once more. */
#include "ctl/test/fixture_cluster.h"

#define RESTORE_POD "koordlet-restore-n1"

struct journal { /* what was written, in order; and a cluster that does its part */
    struct cluster_fixture *x;
    struct strbuf text;
    const char *phase; /* what becomes of pods that restore */
};

/* The controllers and the kubelet: pods go with their workload, and new ones end at once. */
static void on_write(void *arg, const char *agent, const char *method, const char *target,
                     const struct kj_val *body)
{
    struct journal *j = arg;
    const char *name = strrchr(target, '/') + 1;
    CLEANUP(strbuf_fini) struct strbuf status = STRBUF_INIT;

    (void)agent;
    strbuf_appendf(&j->text, "%s %.*s\n", method, (int)strcspn(target, "?"), target);
    if (streq(method, "DELETE") &&
        (strstr(target, "/deployments/") || strstr(target, "/daemonsets/")))
        fake_delete(j->x->f.fake, SYSTEM_PODS, name);
    if (!streq(method, "POST") || !str_ends(target, "/pods"))
        return;
    strbuf_appendf(&status,
                   "{\"status\":{\"phase\":\"%s\",\"containerStatuses\":[{\"state\":{"
                   "\"terminated\":{\"message\":\"cpu.max: read-only\"}}}]}}",
                   j->phase);
    fake_patch(j->x->f.fake, SYSTEM_PODS, kj_str_or(kj_path(body, "metadata.name"), ""),
               strbuf_str(&status));
}

static void journal_init(struct journal *j, struct cluster_fixture *x)
{
    *j = (struct journal){ .x = x, .phase = "Succeeded" };
    cluster_init(x);
    cluster_install(x);
    fake_put(
        x->f.fake, NODES, "n1",
        "{\"metadata\":{\"labels\":{\"node.koordinator.sh/gpu-model\":\"A100\",\"disk\":\"ssd\"},"
        "\"annotations\":{\"node.koordinator.sh/cpu-normalization-ratio\":\"1.20\","
        "\"node.koordinator.sh/colocation-strategy\":\"{}\"}},\"status\":{\"conditions\":[{"
        "\"type\":\"Ready\",\"status\":\"True\"}],\"capacity\":{\"cpu\":\"8\","
        "\"kubernetes.io/batch-cpu\":\"4000\"},\"allocatable\":{\"cpu\":\"8\","
        "\"kubernetes.io/batch-cpu\":\"4000\",\"kubernetes.io/mid-memory\":\"1Gi\","
        "\"koordinator.sh/gpu\":\"100\"}}}");
    fake_on_write(x->f.fake, on_write, j);
}

static void journal_fini_p(struct journal *j)
{
    strbuf_fini(&j->text);
    cluster_fini_p(j->x);
}

static void assert_order(const struct journal *j, const char *first, const char *second)
{
    const char *text = strbuf_str(&j->text);

    assert_contains(text, first);
    assert_contains(text, second);
    assert_true(strstr(text, first) < strstr(text, second));
}

static void test_webhooks_first_then_nodes(void **state)
{
    struct cluster_fixture x;
    CLEANUP(journal_fini) struct journal j;

    (void)state;
    journal_init(&j, &x);
    assert_int_equal(run(&x, "uninstall"), CTL_OK);
    assert_string_equal(x.err, "");
    assert_true(str_starts(strbuf_str(&j.text), "DELETE " HOOKS "mutatingwebhookconfigurations/"));
    assert_order(&j, "DELETE " HOOKS "validating", "DELETE " DEPLOYMENTS "/koord-manager");
    assert_order(&j, "DELETE " DAEMONSETS "/koordlet", "POST " SYSTEM_PODS);
    assert_order(&j, "DELETE " SYSTEM_PODS "/" RESTORE_POD, "PATCH " NODES "/n1/status");
    assert_order(&j, "PATCH " NODES "/n1/status", "DELETE " DEPLOYMENTS "/koord-scheduler");
    assert_contains(x.out, "restored the cgroups of node n1\n");
    assert_contains(x.out,
                    "cleaned node n1: 4 resources in its status, 2 labels and annotations\n");
    const char *node = fake_find(x.f.fake, NODES, "n1");
    assert_null(strstr(node, "batch"));
    assert_null(strstr(node, "mid-memory"));
    assert_null(strstr(node, "gpu"));
    assert_null(strstr(node, "normalization"));
    assert_contains(node, "colocation-strategy"); /* people wrote that */
    assert_contains(node, "\"disk\":\"ssd\"");
    assert_non_null(fake_find(x.f.fake, CRDS, "nodeslos.slo.koordinator.sh"));
    assert_non_null(fake_find(x.f.fake, CONFIGMAPS, CONFIGMAP_SLO));
    assert_null(fake_find(x.f.fake, LEASES, "koord-scheduler"));
    assert_null(fake_find(x.f.fake, CONFIGMAPS, "koordlet-restore"));
    /* Nothing is left to do. */
    strbuf_reset(&j.text);
    assert_int_equal(run(&x, "uninstall"), CTL_OK);
    assert_string_equal(x.out, "");
    assert_string_equal(strbuf_str(&j.text), "");
}

static void test_the_pod_that_restores(void **state)
{
    struct cluster_fixture x;
    CLEANUP(journal_fini) struct journal j;

    (void)state;
    journal_init(&j, &x);
    j.phase = "Failed";
    assert_int_equal(run(&x, "uninstall", "--prepare", "--image=elsewhere/koordlet:v2"),
                     CTL_FAILED);
    assert_contains(x.err, "error: koordlet --restore on node n1: cpu.max: read-only\n");
    /* The rest was done, and what is needed to try again is there. */
    assert_contains(x.out, "cleaned node n1");
    const char *note = fake_find(x.f.fake, CONFIGMAPS, "koordlet-restore");
    assert_non_null(note);
    assert_contains(note, "\"nodes\":\"n1\\n\"");
    fake_on_write(x.f.fake, NULL, NULL);
    assert_null(fake_find(x.f.fake, DAEMONSETS, "koordlet"));
    assert_non_null(fake_find(x.f.fake, DEPLOYMENTS, "koord-scheduler")); /* Helm's */
    /* Nobody lets it end this time. */
    assert_int_equal(run(&x, "uninstall", "--prepare", "--timeout=3s"), CTL_FAILED);
    assert_contains(x.err, "koordlet --restore on node n1: it has not ended in time\n");
    /* It was installed again in the meantime, on another node. */
    fake_put(x.f.fake, NODES, "n2",
             "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    cluster_put_part(&x, PART_KOORDLET, 1, 0);
    cluster_put_pod(&x, "koordlet", "koordlet", "http", true);
    fake_patch(x.f.fake, SYSTEM_PODS, "koordlet", "{\"spec\":{\"nodeName\":\"n2\"}}");
    j.phase = "Succeeded";
    fake_on_write(x.f.fake, on_write, &j);
    assert_int_equal(run(&x, "uninstall", "--prepare"), CTL_OK);
    assert_contains(x.out, "restored the cgroups of node n2\n");
    assert_null(fake_find(x.f.fake, CONFIGMAPS, "koordlet-restore"));
}

static void keep_pod(void *arg, const char *agent, const char *method, const char *target,
                     const struct kj_val *body)
{
    char **kept = arg;

    (void)agent;
    if (!streq(method, "POST") || !str_ends(target, "/pods"))
        return;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    kj_write(body, 0, &text);
    free(*kept);
    *kept = strbuf_take(&text);
}

static void test_what_is_made_of_the_template(void **state)
{
    CLEANUP(cluster_fini) struct cluster_fixture x;
    CLEANUP(mem_free) char *pod = NULL;

    (void)state;
    cluster_init(&x);
    cluster_install(&x);
    for (enum part_id id = 0; id < PARTS; id++)
        if (id != PART_KOORDLET)
            fake_delete(x.f.fake, SYSTEM_PODS, koord_parts[id].program);
    assert_int_equal(run(&x, "uninstall", "--prepare", "--timeout=1s"), CTL_FAILED);
    assert_contains(x.err, "1 pods of koord are still there after --timeout");
    fake_delete(x.f.fake, SYSTEM_PODS, "koordlet");
    fake_on_write(x.f.fake, keep_pod, &pod);
    assert_int_equal(run(&x, "uninstall", "--prepare", "--timeout=1s", "--image=i"), CTL_FAILED);
    assert_non_null(pod);
    assert_contains(pod, "\"args\":[\"--v=4\",\"--restore\"]");
    assert_contains(pod, "\"image\":\"i\"");
    assert_contains(pod, "\"nodeName\":\"n1\"");
    assert_contains(pod, "\"restartPolicy\":\"Never\"");
    assert_contains(pod, "\"tolerations\":[{\"operator\":\"Exists\"}]");
    assert_contains(pod, "\"serviceAccountName\":\"koordlet\"");
    assert_null(strstr(pod, "livenessProbe"));
    assert_null(strstr(pod, "nodeSelector"));
}

static void test_a_dry_run_changes_nothing(void **state)
{
    struct cluster_fixture x;
    CLEANUP(journal_fini) struct journal j;

    (void)state;
    journal_init(&j, &x);
    assert_int_equal(run(&x, "uninstall", "--dry-run", "--crds", "--objects"), CTL_OK);
    assert_string_equal(strbuf_str(&j.text), "");
    assert_contains(x.out, "would delete MutatingWebhookConfiguration " MUTATING_WEBHOOKS "\n");
    assert_contains(x.out, "would note the nodes of koordlet: 1\n");
    assert_contains(x.out, "would clean node n1: 4 resources");
    assert_contains(x.out, "would delete CustomResourceDefinition nodeslos.slo.koordinator.sh\n");
    assert_contains(x.out, "would delete ConfigMap " CONFIGMAP_SLO "\n");
}

static void test_objects_and_crds_when_asked(void **state)
{
    struct cluster_fixture x;
    CLEANUP(journal_fini) struct journal j;

    (void)state;
    journal_init(&j, &x);
    fake_put(x.f.fake, "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/ns/podgroups", "g", "{}");
    assert_int_equal(run(&x, "uninstall", "--objects", "--keep-cgroups"), CTL_OK);
    assert_int_equal(fake_count(x.f.fake, "podgroups"), 0);
    assert_null(strstr(strbuf_str(&j.text), "POST"));
    assert_null(fake_find(x.f.fake, CONFIGMAPS, CONFIGMAP_SLO));
    assert_int_equal(fake_count(x.f.fake, "customresourcedefinitions"), 13);
    assert_int_equal(run(&x, "uninstall", "--crds"), CTL_OK);
    assert_int_equal(fake_count(x.f.fake, "customresourcedefinitions"), 0);
}

static void test_one_component(void **state)
{
    struct cluster_fixture x;
    CLEANUP(journal_fini) struct journal j;

    (void)state;
    journal_init(&j, &x);
    assert_int_equal(run(&x, "uninstall", "--components=scheduler"), CTL_OK);
    assert_non_null(fake_find(x.f.fake, DEPLOYMENTS, "koord-manager"));
    assert_non_null(fake_find(x.f.fake, HOOKS "mutatingwebhookconfigurations", MUTATING_WEBHOOKS));
    assert_contains(fake_find(x.f.fake, NODES, "n1"), "batch-cpu");
    assert_null(fake_find(x.f.fake, DEPLOYMENTS, "koord-scheduler"));
    assert_int_equal(run(&x, "uninstall", "--components=shceduler"), CTL_USAGE);
}

static void test_what_helm_has_installed(void **state)
{
    struct cluster_fixture x;
    CLEANUP(journal_fini) struct journal j;

    (void)state;
    journal_init(&j, &x);
    fake_patch(x.f.fake, DEPLOYMENTS, "koord-manager",
               "{\"metadata\":{\"annotations\":{\"meta.helm.sh/release-name\":\"koord\","
               "\"meta.helm.sh/release-namespace\":\"ops\"}}}");
    strbuf_reset(&j.text);
    assert_int_equal(run(&x, "uninstall"), CTL_FAILED);
    assert_contains(x.err, "use helm uninstall koord --namespace ops");
    assert_string_equal(strbuf_str(&j.text), "");
    assert_int_equal(run(&x, "uninstall", "--force"), CTL_OK);
}

static void test_a_node_that_is_away_does_not_hold_it_up(void **state)
{
    struct cluster_fixture x;
    CLEANUP(journal_fini) struct journal j;

    (void)state;
    journal_init(&j, &x);
    fake_patch(x.f.fake, NODES, "n1",
               "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"Unknown\"}]}}");
    assert_int_equal(run(&x, "uninstall"), CTL_OK);
    assert_contains(x.out, "passed over node n1, which is not ready");
    assert_null(strstr(strbuf_str(&j.text), "POST " SYSTEM_PODS));
}

static void test_no_rights_are_told(void **state)
{
    struct cluster_fixture x;
    CLEANUP(journal_fini) struct journal j;

    (void)state;
    journal_init(&j, &x);
    fake_answer_next_to(x.f.fake, "DELETE", "mutatingwebhook", 100, 403);
    assert_int_equal(run(&x, "uninstall"), CTL_FAILED);
    assert_contains(x.err,
                    "error: MutatingWebhookConfiguration " MUTATING_WEBHOOKS ": asked to fail\n");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_webhooks_first_then_nodes),
        cmocka_unit_test(test_the_pod_that_restores),
        cmocka_unit_test(test_what_is_made_of_the_template),
        cmocka_unit_test(test_a_dry_run_changes_nothing),
        cmocka_unit_test(test_objects_and_crds_when_asked),
        cmocka_unit_test(test_one_component),
        cmocka_unit_test(test_what_helm_has_installed),
        cmocka_unit_test(test_a_node_that_is_away_does_not_hold_it_up),
        cmocka_unit_test(test_no_rights_are_told),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
