/* sim_hpa.c - HorizontalPodAutoscalers on hollow pods whose load rises and falls, on the virtual
 * loop: the whole way from the load to metrics.k8s.io, the autoscaler, the Deployment and its pods,
 * with lost, refused and slow answers. */
#include "base/test/asserts.h"
#include "sim_cluster.h"

#include <stdio.h>

#include "api/workload.h"

static const struct kind kind_hpa = { .group = "autoscaling",
                                      .version = "v2",
                                      .kind = "HorizontalPodAutoscaler",
                                      .plural = "horizontalpodautoscalers",
                                      .namespaced = true,
                                      .has_status = true,
                                      .schema = &kobj_schema };

/* ---- what main wires together -------------------------------------------------------------------- */

static bool node_use(void *self, const char *name, struct apiserver_use *ret)
{
    struct cluster_use u;

    if (!cluster_node_use(((struct sim *)self)->cluster, name, &u))
        return false;
    *ret = (struct apiserver_use){ u.at, u.window, u.mcpu * 1000000, u.bytes };
    return true;
}

static bool pod_use(void *self, const struct apiserver_pod *pod, struct apiserver_use *ret)
{
    const struct cluster_pod p = { pod->ns, pod->name, pod->uid, pod->node };
    struct cluster_use u;

    if (!cluster_pod_use(((struct sim *)self)->cluster, &p, &u))
        return false;
    *ret = (struct apiserver_use){ u.at, u.window, u.mcpu * 1000000, u.bytes };
    return true;
}

static void begin(struct sim *s, uint64_t seed)
{
    static const struct apiserver_usage usage = { node_use, pod_use };
    struct kerr err = { 0 };

    sim_begin(s, seed);
    assert_int_equal(apiserver_serve_usage(s->server, &usage, s, &err), 0);
}

/* ---- objects -------------------------------------------------------------------------------------- */

#define DEPLOYMENT(load)                                                                       \
    "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\"},"     \
    "\"spec\":{\"replicas\":2,\"selector\":{\"matchLabels\":{\"app\":\"web\"}},\"template\":{" \
    "\"metadata\":{\"labels\":{\"app\":\"web\"},\"annotations\":{"                             \
    "\"sim.koordinator.sh/load\":\"" load "\"}},\"spec\":{\"containers\":[{\"name\":\"c\","    \
    "\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"100m\",\"memory\":\"64Mi\"}}}]}}}}"

static void make_hpa(struct sim *s, const char *name, const char *spec)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    strbuf_appendf(&body,
                   "{\"apiVersion\":\"autoscaling/v2\",\"kind\":\"HorizontalPodAutoscaler\","
                   "\"metadata\":{\"name\":\"%s\"},\"spec\":{\"scaleTargetRef\":{\"apiVersion\":"
                   "\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"},%s}}",
                   name, spec);
    assert_int_equal(sim_do(s,
                            &(struct kube_req){ .verb = KUBE_CREATE,
                                                .kind = &kind_hpa,
                                                .ns = "default",
                                                .body = body.data,
                                                .body_len = body.len },
                            NULL),
                     201);
}

#define CPU(percent)                                                              \
    "{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":" \
    "\"Utilization\",\"averageUtilization\":" #percent "}}}"

/* The same load for every pod, whatever their number. */
static void set_load(struct sim *s, const char *load)
{
    char patch[200];
    const struct kj_val *pod;
    struct str key;

    (void)snprintf(patch, sizeof patch,
                   "{\"metadata\":{\"annotations\":{\"sim.koordinator.sh/load\":\"%s\"}}}", load);
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_list(s, &kind_pod, "default", NULL);
    for (struct kj_iter it = kj_iter(kj_get(kj_root(doc), "items")); kj_next(&it, &key, &pod);)
        (void)sim_patch(s, &kind_pod, "default", kj_str(kj_path(pod, "metadata.name")), NULL,
                        patch);
}

static int64_t replicas(struct sim *s)
{
    return sim_num(s, &kind_deployment, "default", "web", "spec.replicas");
}

static const char *condition(struct sim *s, const char *name, const char *type)
{
    static char text[512];
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(s, &kind_hpa, "default", name);
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

static bool has_replicas(struct sim *s, void *arg)
{
    return replicas(s) == *(int *)arg;
}

/* ---- the usual way ---------------------------------------------------------------------------------- */

static void rise_and_fall(struct sim *s)
{
    int four = 4, two = 2;

    assert_int_equal(sim_create(s, DEPLOYMENT("constant:50m,10Mi,noise=0")), 201);
    make_hpa(s, "web", "\"minReplicas\":2,\"maxReplicas\":6,\"metrics\":[" CPU(50) "]");
    sim_run(s, 400 * SEC); /* pods count as starting for five minutes after a change */
    assert_int_equal(replicas(s), 2);
    set_load(s, "constant:100m,10Mi,noise=0");
    assert_true(sim_until(s, 60 * SEC, has_replicas, &four));
    nsec_t risen = loop_mono(s->loop);
    sim_run(s, 60 * SEC);
    set_load(s, "constant:20m,10Mi,noise=0");
    assert_true(sim_until(s, 900 * SEC, has_replicas, &two));
    assert_that(loop_mono(s->loop) - risen, >=, 300 * SEC);
}

static void test_load_rises_and_falls(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char text[64];

    (void)state;
    begin(&s, 61);
    rise_and_fall(&s);
    sim_run(&s, 330 * SEC); /* until two are no recent recommendation any more */
    assert_string_equal(condition(&s, "web", "ScalingActive"),
                        "True|ValidMetricFound|the HPA was able to successfully calculate a "
                        "replica count from cpu resource utilization (percentage of request)");
    assert_string_equal(condition(&s, "web", "ScalingLimited"),
                        "True|TooFewReplicas|the desired replica count is less than the minimum "
                        "replica count");
    assert_string_equal(condition(&s, "web", "AbleToScale"),
                        "True|ReadyForNewScale|recommended size matches current size");
    assert_int_equal(sim_num(&s, &kind_hpa, "default", "web", "status.currentReplicas"), 2);
    assert_int_equal(sim_num(&s, &kind_hpa, "default", "web", "status.desiredReplicas"), 2);
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(&s, &kind_hpa, "default", "web");
    const struct kj_val *m = kj_at(kj_path(kj_root(doc), "status.currentMetrics"), 0);
    assert_string_equal(kj_str_or(kj_get(m, "type"), ""), "Resource");
    assert_int_equal(kj_i64_or(kj_path(m, "resource.current.averageUtilization"), -1), 20);
    assert_string_equal(kj_str_or(kj_path(m, "resource.current.averageValue"), ""), "20m");
    sim_text(&s, &kind_hpa, "default", "web", "status.lastScaleTime", text, sizeof text);
    assert_true(*text);
}

static void test_under_faults(void **state)
{
    (void)state;
    for (uint64_t seed = 70; seed < 73; seed++) {
        CLEANUP(sim_fini) struct sim s;

        begin(&s, seed);
        s.faults =
            (struct sim_faults){ .refuse = 50, .lose = 50, .slow = 100, .slow_max = 3 * SEC };
        rise_and_fall(&s);
    }
}

/* ---- what can be wrong ------------------------------------------------------------------------------ */

static void test_what_is_wrong_is_told(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 62);
    make_hpa(&s, "web", "\"maxReplicas\":6,\"metrics\":[" CPU(50) "]");
    sim_run(&s, 20 * SEC);
    assert_true(str_starts(condition(&s, "web", "AbleToScale"),
                           "False|FailedGetScale|the HPA controller was unable to get the target's "
                           "current scale: deployments.apps \"web\" not found"));
    assert_int_equal(sim_create(&s, DEPLOYMENT("constant:50m,10Mi,noise=0")), 201);
    sim_run(&s, 15 * SEC);
    assert_true(str_starts(condition(&s, "web", "ScalingActive"), "False|FailedGetResourceMetric|"
                                                                  "the HPA was unable to compute "
                                                                  "the replica count: "));
    sim_run(&s, 400 * SEC);
    assert_true(str_starts(condition(&s, "web", "ScalingActive"), "True|ValidMetricFound|"));
    /* Nobody serves such metrics here. */
    assert_int_equal(
        sim_patch(
            &s, &kind_hpa, "default", "web", NULL,
            "{\"spec\":{\"metrics\":[{\"type\":\"Pods\",\"pods\":{\"metric\":{\"name\":\"qps\"},"
            "\"target\":{\"type\":\"AverageValue\",\"averageValue\":\"10\"}}}]}}"),
        200);
    sim_run(&s, 5 * SEC);
    assert_string_equal(
        condition(&s, "web", "ScalingActive"),
        "False|FailedGetPodsMetric|the HPA was unable to compute the replica count: "
        "unable to get metric qps: unable to fetch metrics from custom metrics API: "
        "no custom metrics API (custom.metrics.k8s.io) registered");
    assert_int_equal(sim_patch(&s, &kind_hpa, "default", "web", NULL,
                               "{\"spec\":{\"scaleTargetRef\":{\"kind\":\"Widget\"}}}"),
                     200);
    sim_run(&s, 5 * SEC);
    assert_string_equal(condition(&s, "web", "AbleToScale"),
                        "False|FailedGetScale|the HPA controller was unable to get the target's "
                        "current scale: no matches for kind \"Widget\" in group \"apps\"");
}

static void test_limits_and_rivals(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    begin(&s, 63);
    assert_int_equal(sim_create(&s, DEPLOYMENT("constant:50m,10Mi,noise=0")), 201);
    make_hpa(&s, "web", "\"minReplicas\":3,\"maxReplicas\":6,\"metrics\":[" CPU(50) "]");
    sim_run(&s, 5 * SEC);
    assert_int_equal(replicas(&s), 3); /* below the minimum: at once */
    assert_true(str_starts(condition(&s, "web", "AbleToScale"),
                           "True|SucceededRescale|the HPA controller "
                           "was able to update the target scale to 3"));
    assert_int_equal(
        sim_patch(&s, &kind_deployment, "default", "web", NULL, "{\"spec\":{\"replicas\":9}}"),
        200);
    sim_run(&s, 20 * SEC);
    assert_int_equal(replicas(&s), 6);
    make_hpa(&s, "other", "\"maxReplicas\":9,\"metrics\":[" CPU(50) "]");
    sim_run(&s, 20 * SEC);
    assert_string_equal(condition(&s, "other", "ScalingActive"),
                        "False|AmbiguousSelector|pods by selector app=web are controlled by "
                        "multiple HPAs: [{other default} {web default}]");
    assert_int_equal(sim_delete(&s, &kind_hpa, "default", "other", NULL), 200);
    sim_run(&s, 30 * SEC);
    assert_false(str_starts(condition(&s, "web", "ScalingActive"), "False|Ambiguous"));
    /* At zero it rests. */
    assert_int_equal(
        sim_patch(&s, &kind_deployment, "default", "web", NULL, "{\"spec\":{\"replicas\":0}}"),
        200);
    sim_run(&s, 60 * SEC);
    assert_int_equal(replicas(&s), 0);
    assert_string_equal(condition(&s, "web", "ScalingActive"),
                        "False|ScalingDisabled|scaling is disabled since the replica count of the "
                        "target is zero");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_rises_and_falls),
        cmocka_unit_test(test_under_faults),
        cmocka_unit_test(test_what_is_wrong_is_told),
        cmocka_unit_test(test_limits_and_rivals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
