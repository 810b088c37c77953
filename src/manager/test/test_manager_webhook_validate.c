/* test_manager_webhook_validate.c - what pods and bindings are refused, and in which words. */
#include "api/protocol/keys.h"
#include "base/test/asserts.h"
#include "fixture_webhook.h"
#include "manager/webhook/validator.h"

static void send(struct webhook_fixture *x, const char *pod)
{
    webhook_fixture_send(x, WEBHOOK_VALIDATE_POD, WEBHOOK_CREATE, pod, NULL);
}

static void refused(struct webhook_fixture *x, int code, const char *message)
{
    assert_false(x->answer.allowed);
    assert_int_equal(x->answer.code, code);
    assert_string_equal(x->answer.message, message);
}

#define POD(labels, spec, requests)                            \
    "{metadata: {name: p, labels: {" labels "}}, spec: {" spec \
    "containers: [{name: c, resources: "                       \
    "{requests: {" requests "}}}]}}"
#define QOS(class) "koordinator.sh/qosClass: " class

/* ---- QoS and priority ------------------------------------------------------------------------ */

static void test_legal_pods_pass(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    webhook_fixture_init(&x, "");
    send(&x, POD(QOS("LSR"), "priority: 9500, ", "cpu: '2'"));
    assert_true(x.answer.allowed);
    send(&x, POD(QOS("BE"), "priority: 5500, ", "kubernetes.io/batch-cpu: 1000"));
    assert_true(x.answer.allowed);
    assert_int_equal(x.answer.nwarnings, 0);
    send(&x, POD("", "", ""));
    assert_true(x.answer.allowed);
}

static void test_combinations(void **state)
{
    static const char lsr[] =
        "Pod: Forbidden: koordinator.sh/qosClass=LSR and priorityClass=koord-batch cannot be used "
        "in combination";
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    webhook_fixture_init(&x, "");
    send(&x, POD(QOS("BE"), "", ""));
    refused(&x, 400,
            "Pod: Forbidden: koordinator.sh/qosClass=BE and priorityClass= cannot be used in "
            "combination");
    send(&x, POD(QOS("LSR"), "priority: 5500, ", "cpu: '2'"));
    refused(&x, 400, lsr);
    send(&x, POD(QOS("LSR"), "priority: 9500, ", "cpu: 100m"));
    refused(&x, 400,
            "pod.spec.containers[*].resources.requests: Invalid value: \"100m\": the requested "
            "CPUs of LSR Pod must be integer");
    send(&x, POD("", "", "kubernetes.io/batch-cpu: 1000"));
    refused(&x, 400,
            "labels.koordinator.sh/qosClass: Required value: must specify koordinator QoS BE with "
            "koordinator colocation resources");
    /* Several at once. */
    send(&x, POD(QOS("LSR"), "priority: 5500, ", ""));
    refused(&x, 400,
            arena_printf(x.f.arena,
                         "[%s, pod.spec.containers[*].resources.requests: Required value: LSR Pod "
                         "must declare the requested CPUs]",
                         lsr));
}

static void test_what_may_not_change(void **state)
{
    static const char was[] =
        POD(QOS("LS") ", koordinator.sh/priority: '1111'", "priority: 9500, ", "cpu: '1'");
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x, y;

    (void)state;
    webhook_fixture_init(&x, "");
    webhook_fixture_send(
        &x, WEBHOOK_VALIDATE_POD, WEBHOOK_UPDATE,
        POD(QOS("LSE") ", koordinator.sh/priority: '8888'", "priority: 7500, ", "cpu: '1'"), was);
    refused(&x, 400,
            "[labels.koordinator.sh/qosClass: Invalid value: \"LSE\": field is immutable, "
            "spec.priority: Invalid value: \"koord-mid\": field is immutable, "
            "labels.koordinator.sh/priority: Invalid value: \"8888\": field is immutable]");
    webhook_fixture_init(&y, "ColocationProfileSkipValidatingPriority");
    webhook_fixture_send(
        &y, WEBHOOK_VALIDATE_POD, WEBHOOK_UPDATE,
        POD(QOS("LS") ", koordinator.sh/priority: '8888'", "priority: 9500, ", "cpu: '1'"), was);
    assert_true(y.answer.allowed);
    webhook_fixture_send(&y, WEBHOOK_VALIDATE_POD, WEBHOOK_UPDATE,
                         POD("quota.scheduling.koordinator.sh/preemptible: 'false'", "", ""),
                         POD("", "", ""));
    refused(&y, 400, "Preemptible label is forbidden modify now.");
}

static void test_reserve_pods_and_nonsense(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    webhook_fixture_init(&x, "");
    send(&x, "{metadata: {annotations: {scheduling.koordinator.sh/reserve-pod: 'true'}}}");
    refused(&x, 400,
            "annotations.scheduling.koordinator.sh/reserve-pod: Forbidden: cannot set in "
            "annotations");
    send(&x, "{metadata: {labels: [1]}}");
    assert_int_equal(x.answer.code, 400);
    assert_starts(x.answer.message, "pod cannot be decoded: ");
}

static void test_cpu_beside_batch_cpu_is_warned_of(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    webhook_fixture_init(&x, "");
    send(&x, "{metadata: {labels: {koordinator.sh/qosClass: BE}, annotations: {"
             "kubernetes.io/limit-ranger: 'LimitRanger plugin set: cpu limit for container c'}}, "
             "spec: {priority: 5500, containers: [{name: c, resources: {requests: {"
             "kubernetes.io/batch-cpu: '1000'}, limits: {cpu: '1', kubernetes.io/batch-cpu: "
             "'1000'}}}]}}");
    assert_true(x.answer.allowed);
    assert_int_equal(x.answer.nwarnings, 1);
    assert_string_equal(x.answer.warnings[0],
                        "container c has cpu beside kubernetes.io/batch-cpu, and both count; a "
                        "LimitRange of the namespace set: cpu limit for container c");
}

/* ---- devices --------------------------------------------------------------------------------- */

static void test_devices(void **state)
{
#define INVALID(value) "pod.spec.containers[*].resources.requests: Invalid value: \"" value "\": "
#define FORBIDDEN      "pod.spec.containers[*].resources.requests: Forbidden: "
    static const struct {
        const char *requests, *message;
    } rows[] = {
        { "koordinator.sh/gpu.shared: 2, koordinator.sh/gpu-core: 101, "
          "koordinator.sh/gpu-memory-ratio: 100",
          INVALID("101") "the requested gpuCore must multiple of shared" },
        { "koordinator.sh/gpu.shared: 3, koordinator.sh/gpu-memory-ratio: 100",
          INVALID("100") "the requested gpuMemoryRatio must multiple of shared" },
        { "koordinator.sh/gpu: 100, koordinator.sh/gpu.shared: 1",
          FORBIDDEN "Forbidden declare GPU and GPU share at same time" },
        { "koordinator.sh/gpu: 0", INVALID("0") "the requested GPU must be greater than zero" },
        { "koordinator.sh/gpu: 150", INVALID("150") "the requested GPU must be percentage of 100" },
        { "koordinator.sh/gpu.shared: 1", FORBIDDEN "GPU memory and GPU memory ratio all is zero" },
        { "koordinator.sh/gpu.shared: 1, koordinator.sh/gpu-memory: 1Gi, "
          "koordinator.sh/gpu-memory-ratio: 50",
          FORBIDDEN "declare GPU memory and GPU memory ratio at same time" },
    };
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x, y;

    (void)state;
    webhook_fixture_init(&x, "ValidatePodDeviceResource");
    webhook_fixture_init(&y, "");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *pod = arena_printf(x.f.arena, POD("", "", "%s"), rows[i].requests);
        send(&x, pod);
        refused(&x, 400, rows[i].message);
        send(&y, pod); /* the gate is off */
        assert_true(y.answer.allowed);
    }
    send(&x, POD("", "", "koordinator.sh/gpu.shared: 1, huawei.com/npu-core: 1"));
    assert_true(x.answer.allowed);
    send(&x, POD("", "", "koordinator.sh/gpu: 50"));
    assert_true(x.answer.allowed);
}

/* ---- the enhanced validator ------------------------------------------------------------------ */

static struct validator validator;
static const struct validator *get_rules(void *self)
{
    (void)self;
    return &validator;
}

static int set_rules(struct webhook_fixture *x, const char *enable, const char *rules)
{
    struct kstrpair pairs[] = { { "enable", enable }, { "rules", rules } };
    kstrmap data = { pairs, rules ? 2 : 1 };

    struct kerr err = { 0 };

    return validator_decode(&data, x->f.arena, &validator, &err);
}

static void test_required_labels(void **state)
{
    static const char rules[] =
        "[{\"name\":\"a\",\"requiredLabels\":[\"app\",\"team\"],\"namespaceWhitelist\":[\"free\"]},"
        "{\"name\":\"b\",\"requiredLabels\":[\"cost\"]}]";
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    webhook_fixture_init(&x, "EnablePodEnhancedValidator");
    x.src.rules = get_rules;
    assert_int_equal(set_rules(&x, " True\n", rules), 0);
    send(&x, POD("", "", ""));
    refused(&x, 400, "required labels are missing: [app team]");
    send(&x, POD("app: a, cost: c", "", ""));
    refused(&x, 400, "required label 'team' is missing");
    send(&x, POD("app: a, team: t", "", ""));
    refused(&x, 400, "required label 'cost' is missing");
    send(&x, "{metadata: {namespace: free, labels: {cost: c}}}");
    assert_true(x.answer.allowed);
    send(&x, POD("pod.koordinator.sh/skip-enhanced-validation: 'true'", "", ""));
    assert_true(x.answer.allowed);
    assert_int_equal(set_rules(&x, "yes", rules), 0);
    send(&x, POD("", "", ""));
    assert_true(x.answer.allowed);
    assert_int_equal(set_rules(&x, "true", NULL), 0);
    send(&x, POD("", "", ""));
    assert_true(x.answer.allowed);
    assert_int_equal(set_rules(&x, "true", "{"), -EINVAL);
}

/* ---- bindings -------------------------------------------------------------------------------- */

static struct objmeta bound;
static const struct objmeta *get_pod(void *self, const char *ns, const char *name)
{
    (void)self, (void)ns;
    return streq(name, "gone") ? NULL : &bound;
}

static void bind(struct webhook_fixture *x, const char *user, const char *ns, const char *name)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct webhook_request r = { .op = WEBHOOK_CREATE,
                                 .resource = "pods",
                                 .subresource = "binding",
                                 .ns = ns,
                                 .name = name,
                                 .user = user };

    assert_int_equal(kj_parse("{}", 2, 0, &doc, NULL), 0);
    webhook_validate(x->w, WEBHOOK_VALIDATE_BINDING, &r, kj_root(doc), x->f.arena, &x->answer);
}

static void rebuild(struct webhook_fixture *x)
{
    webhooks_free(x->w);
    x->src.pod = get_pod;
    x->w = webhooks_new(x->loop, &x->src, &x->opts);
}

static void test_who_may_bind(void **state)
{
    struct kstrpair mark = { "koordinator.sh/binding-admission-bypass", "" };
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    (void)state;
    webhook_fixture_init(&x, "BindingAdmissionWebhook");
    rebuild(&x);
    bind(&x, "mallory", "default", "p"); /* nobody is named: off */
    assert_true(x.answer.allowed);
    x.opts.binding_users = " koord-scheduler , kube-scheduler";
    x.opts.binding_namespaces = "*";
    rebuild(&x);
    bind(&x, "system:serviceaccount:koordinator-system:koord-scheduler", "default", "p");
    assert_true(x.answer.allowed);
    bind(&x, "mallory", "kube-system", "p");
    assert_true(x.answer.allowed);
    bind(&x, "mallory", "default", "gone");
    assert_true(x.answer.allowed);
    bind(&x, "mallory", "default", "p");
    refused(&x, 403, "binding denied: username is not in the allowed list");
    assert_string_equal(x.answer.reason, "Forbidden");
    bound.labels = (kstrmap){ &mark, 1 };
    bind(&x, "mallory", "default", "p");
    assert_true(x.answer.allowed);
    bound.labels = (kstrmap){ 0 };
    x.opts.binding_namespaces = "a,b";
    rebuild(&x);
    bind(&x, "mallory", "default", "p");
    assert_true(x.answer.allowed);
    bind(&x, "mallory", "b", "p");
    assert_false(x.answer.allowed);
    x.opts.binding_dry_run = true;
    rebuild(&x);
    bind(&x, "mallory", "b", "p");
    assert_true(x.answer.allowed);
    metrics_write((struct metrics *const[]){ x.metrics }, 1, &text);
#define COUNT(decision) \
    "koord_manager_webhook_binding_admission_decisions_total{decision=\"" decision "\"} "
    assert_contains(strbuf_str(&text), COUNT("denied") "2\n");
    assert_contains(strbuf_str(&text), COUNT("dry_run") "1\n");
    assert_contains(strbuf_str(&text), COUNT("out_of_scope") "1\n");
    assert_contains(strbuf_str(&text), COUNT("excluded_ns") "1\n");
    assert_contains(strbuf_str(&text), COUNT("allowed_username") "1\n");
    assert_contains(strbuf_str(&text), COUNT("bypass_label") "1\n");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_legal_pods_pass),
        cmocka_unit_test(test_combinations),
        cmocka_unit_test(test_what_may_not_change),
        cmocka_unit_test(test_reserve_pods_and_nonsense),
        cmocka_unit_test(test_cpu_beside_batch_cpu_is_warned_of),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_required_labels),
        cmocka_unit_test(test_who_may_bind),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
