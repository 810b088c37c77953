/* test_ctl_adopt.c - koordctl adopt: a release of Koordinator's chart, one without Helm, and what
 * our programs refuse. */
#include <unistd.h>

#include "base/b64.h"
#include "ctl/adopt.h"
#include "ctl/test/fixture_cluster.h"
#include "net/gzip.h"
#include "sys/test/tmpdir.h"

#define SECRETS "/api/v1/namespaces/ops/secrets"

/* Programs that know everything but what is called wrong, and nothing of what is called idle. */
static int try_arg(const char *program, const char *arg, struct kerr *err)
{
    if (strstr(arg, "wrong") || strstr(arg, "Wrong"))
        return kerr_set(err, -EINVAL, "%s does not know it", program);
    return strstr(arg, "idle") != NULL;
}

static int try_config(const char *what, const char *text, struct strbuf *notes, struct kerr *err)
{
    if (strstr(text, "wrong"))
        return kerr_set(err, -EINVAL, "%s: wrong", what);
    if (strstr(text, "Novel"))
        strbuf_append(notes, "plugins that are not there yet: Novel");
    return 0;
}

static const struct adopt_programs programs = { .try_arg = try_arg, .try_config = try_config };
static const struct ctl_parts parts = { .adopt = &programs };

static void fixture_init(struct cluster_fixture *x)
{
    cluster_init(x);
    cluster_install(x);
    x->parts = &parts;
}

/* As Helm keeps it. */
static void put_release_of(struct cluster_fixture *x, const char *name, const char *config,
                           const char *manifest, const char *chart)
{
    CLEANUP(strbuf_fini)
    struct strbuf json = STRBUF_INIT, zipped = STRBUF_INIT, once = STRBUF_INIT, twice = STRBUF_INIT,
                  body = STRBUF_INIT;
    CLEANUP(gzip_free) struct gzip *g = gzip_new();
    struct kjw w = kjw_to(&json);

    kjw_obj(&w, NULL);
    kjw_str(&w, "name", name);
    kjw_str(&w, "manifest", manifest);
    kjw_raw(&w, "config", config, strlen(config));
    kjw_raw(&w, "chart", chart, strlen(chart));
    kjw_end(&w);
    gzip_write(g, json.data, json.len, GZIP_END, &zipped);
    b64_encode(zipped.data, zipped.len, &once);
    b64_encode(once.data, once.len, &twice);
    strbuf_appendf(&body,
                   "{\"type\":\"helm.sh/release.v1\",\"metadata\":{\"labels\":{\"owner\":\"helm\","
                   "\"status\":\"deployed\"}},\"data\":{\"release\":\"%s\"}}",
                   strbuf_str(&twice));
    fake_put(x->f.fake, SECRETS, name, strbuf_str(&body));
}

static void put_release(struct cluster_fixture *x, const char *name, const char *config,
                        const char *manifest)
{
    put_release_of(x, name, config, manifest,
                   "{\"metadata\":{\"name\":\"koordinator\",\"version\":\"1.8.0\"},"
                   "\"values\":{\"manager\":{\"replicas\":2,\"log\":{\"level\":\"4\"}}}}");
}

static void test_values_of_a_release(void **state)
{
    CLEANUP(cluster_fini) struct cluster_fixture x;

    (void)state;
    fixture_init(&x);
    put_release(&x, "koordinator",
                "{\"manager\":{\"replicas\":1,\"image\":{\"tag\":\"v1.8.0\"}},\"koordlet\":{"
                "\"hostDirs\":{\"kubeletLibDir\":\"/data/kubelet\",\"koordletTSDBDir\":\"/tsdb\"},"
                "\"features\":\"BECPUEvict=true,WrongGate=true\"},\"scheduler\":{"
                "\"compatible122FeatureGates\":\"X=true\"},\"novelty\":{\"on\":true},"
                "\"imageRepositoryHost\":\"registry.example.org\",\"crds\":{\"podgroups\":false}}",
                "");
    assert_int_equal(run(&x, "adopt", "--out=-"), CTL_OK);
    assert_string_equal(x.out,
                        "# Made by koordctl adopt from release koordinator in namespace ops, chart "
                        "koordinator-1.8.0.\n"
                        "crds:\n  podgroups: false\ndescheduler:\n  replicas: 1\n"
                        "koordlet:\n  features: BECPUEvict=true\n  hostDirs:\n    kubeletLibDir: "
                        "/data/kubelet\nmanager:\n  replicas: 1\nscheduler:\n  replicas: 1\n");
    assert_contains(x.err, "kept     koordlet.hostDirs.kubeletLibDir: \"/data/kubelet\"\n");
    assert_contains(x.err, "kept     scheduler.replicas: 1 (changed by hand)\n");
    assert_contains(x.err, "changed  imageRepositoryHost: \"registry.example.org\" (left out");
    assert_contains(x.err, "changed  manager.image: {\"tag\":\"v1.8.0\"} (left out");
    assert_contains(x.err,
                    "unused   koordlet.hostDirs.koordletTSDBDir: \"/tsdb\" (samples are kept "
                    "in memory)\n");
    assert_contains(x.err, "unused   scheduler.compatible122FeatureGates");
    assert_contains(x.err, "missing  novelty: {\"on\":true} (no value of chart 1.8.0; left out)\n");
    assert_contains(
        x.err, "missing  feature gate of koordlet: WrongGate=true (koordlet does not know it)\n");
}

static void put_args(struct cluster_fixture *x, const char *collection, const char *name,
                     const char *args)
{
    CLEANUP(strbuf_fini) struct strbuf patch = STRBUF_INIT;

    strbuf_appendf(
        &patch,
        "{\"spec\":{\"template\":{\"spec\":{\"hostNetwork\":true,\"containers\":[{"
        "\"image\":\"i:v1.8.0\",\"resources\":{\"limits\":{\"cpu\":\"2\"}},\"args\":[%s]}]}}}}",
        args);
    fake_patch(x->f.fake, collection, name, strbuf_str(&patch));
}

static void test_what_runs_without_helm(void **state)
{
    CLEANUP(cluster_fini) struct cluster_fixture x;

    (void)state;
    fixture_init(&x);
    fake_delete(x.f.fake, DEPLOYMENTS, "koord-descheduler");
    put_args(&x, DEPLOYMENTS, "koord-manager",
             "\"--v\",\"6\",\"--metrics-addr=10.0.0.1:9090\",\"--enable-leader-election\","
             "\"--rest-config-qps=99\",\"--idle-flag\",\"--wrong=1\",\"--feature-gates=A=true\"");
    fake_patch(
        x.f.fake, HOOKS "mutatingwebhookconfigurations", MUTATING_WEBHOOKS,
        "{\"webhooks\":[{\"name\":\"mpod-create.koordinator.sh\",\"failurePolicy\":\"Fail\"}]}");
    assert_int_equal(run(&x, "adopt", "--out=-", "-o", "json"), CTL_OK);
    assert_contains(x.out,
                    "what runs in namespace koordinator-system; Helm has no record of it.\n");
    assert_contains(x.out, "featureGates: A=true\n");
    assert_contains(x.out, "  metrics:\n    addr: 10.0.0.1\n    port: 9090\n");
    assert_contains(x.out, "  log:\n    level: \"6\"\n");
    assert_contains(x.out, "  extraArgs:\n  - --rest-config-qps=99\n");
    assert_contains(x.out, "  hostNetwork: true\n");
    assert_contains(x.out, "descheduler:\n  enabled: false\n");
    assert_contains(x.out, "webhookConfiguration:\n  failurePolicy:\n    pods: Fail\n");
    assert_contains(x.err, "\"what\": \"argument of koord-manager: --wrong=1\"");
    assert_contains(x.err, "\"note\": \"koord-manager does not know it\"");
    assert_contains(x.err, "\"note\": \"taken without effect; left out\"");
}

static void test_configuration(void **state)
{
    static const char manifest[] =
        "kind: ConfigMap\nmetadata: {name: koord-scheduler-config}\ndata: "
        "{koord-scheduler-config: same}\n---\nkind: ConfigMap\nmetadata: "
        "{name: koord-descheduler-config}\ndata: "
        "{koord-descheduler-config: as it was}\n";
    CLEANUP(cluster_fini) struct cluster_fixture x;

    (void)state;
    fixture_init(&x);
    put_release(&x, "koordinator", "{}", manifest);
    fake_patch(x.f.fake, CONFIGMAPS, CONFIGMAP_SLO, "{\"data\":{\"cpu-burst-config\":\"wrong\"}}");
    fake_put(x.f.fake, CONFIGMAPS, "koord-scheduler-config",
             "{\"data\":{\"koord-scheduler-config\":\"same\"}}");
    fake_put(x.f.fake, CONFIGMAPS, "koord-descheduler-config",
             "{\"data\":{\"koord-descheduler-config\":\"as it is\"}}");
    assert_int_equal(run(&x, "adopt", "--out=-"), CTL_OK);
    assert_contains(x.err, "kept     slo-controller-config: colocation-config\n");
    assert_contains(x.err, "missing  slo-controller-config: cpu-burst-config (cpu-burst-config: "
                           "wrong)\n");
    assert_contains(x.err, "kept     koord-scheduler-config\n");
    assert_contains(x.err,
                    "changed  koord-descheduler-config, which was changed by hand (the chart");
    fake_patch(x.f.fake, CONFIGMAPS, "koord-scheduler-config",
               "{\"data\":{\"koord-scheduler-config\":\"wrong\"}}");
    assert_int_equal(run(&x, "adopt", "--out=-"), CTL_OK);
    assert_contains(x.err, "missing  koord-scheduler-config: our program cannot read it "
                           "(koord-scheduler: wrong)\n");
}

static void test_which_release(void **state)
{
    CLEANUP(cluster_fini) struct cluster_fixture x;

    (void)state;
    fixture_init(&x);
    put_release(&x, "a", "{\"manager\":{\"replicas\":1}}", "");
    put_release(&x, "b", "{}", "");
    assert_int_equal(run(&x, "adopt", "--out=-"), CTL_FAILED);
    assert_contains(x.err, "there are two releases of the chart: ");
    assert_int_equal(run(&x, "adopt", "--out=-", "--release=a"), CTL_OK);
    assert_contains(x.out, "from release a in namespace ops");
    assert_int_equal(run(&x, "adopt", "--out=-", "--release=c"), CTL_FAILED);
    assert_contains(x.err, "no release c of the chart koordinator is deployed");
    put_release_of(&x, "a", "{}", "",
                   "{\"metadata\":{\"name\":\"koordinator\"},\"values\":{\"uninstallHook\":{}}}");
    assert_int_equal(run(&x, "adopt", "--out=-", "--release=a"), CTL_FAILED);
    assert_contains(x.err, "release a is of koord's own chart: there is nothing to adopt");
    fake_delete(x.f.fake, SECRETS, "a");
    /* Secrets that are no release, or a broken one, are passed over. */
    fake_put(x.f.fake, SECRETS, "b",
             "{\"type\":\"helm.sh/release.v1\",\"metadata\":{\"labels\":{\"status\":\"deployed\"}},"
             "\"data\":{\"release\":\"SDRzSUFBQUE=\"}}");
    assert_int_equal(run(&x, "adopt", "--out=-"), CTL_OK);
    assert_int_equal(run(&x, "-n", "elsewhere", "adopt", "--out=-"), CTL_FAILED);
    assert_contains(x.err, "nothing of Koordinator is installed in elsewhere");
}

static void test_the_file(void **state)
{
    CLEANUP(cluster_fini) struct cluster_fixture x;
    CLEANUP(strbuf_fini) struct strbuf flag = STRBUF_INIT;
    struct tmpdir t;

    (void)state;
    fixture_init(&x);
    tmpdir_init(&t);
    put_release(&x, "koordinator", "{}", "");
    strbuf_appendf(&flag, "--out=%s", tmpdir_at(&t, "values.yaml"));
    assert_int_equal(run(&x, "adopt", flag.data), CTL_OK);
    assert_contains(x.out, "  helm upgrade koordinator packaging/chart --namespace ops --values ");
    assert_int_equal(access(tmpdir_at(&t, "values.yaml"), R_OK), 0);
    assert_int_equal(run(&x, "adopt", flag.data), CTL_FAILED);
    assert_contains(x.err, "is there already; --out names another file");
    tmpdir_fini(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_of_a_release),
        cmocka_unit_test(test_what_runs_without_helm),
        cmocka_unit_test(test_configuration),
        cmocka_unit_test(test_which_release),
        cmocka_unit_test(test_the_file),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
