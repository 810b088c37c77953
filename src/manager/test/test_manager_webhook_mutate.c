/* test_manager_webhook_mutate.c - profiles and resources of new pods and Reservations. */
#include "api/koord/quota.h"
#include "api/protocol/keys.h"
#include "fixture_webhook.h"
#include "manager/profile/explain.h"
#include "manager/quota/topology.h"
#include "json/patch.h"

static void send(struct webhook_fixture *x, const char *pod)
{
    webhook_fixture_send(x, WEBHOOK_MUTATE_POD, WEBHOOK_CREATE, pod, NULL);
}

static const struct kj_val *container(struct webhook_fixture *x, const char *list, size_t i)
{
    return kj_get(kj_at(kj_get(kj_get(kj_root(x->after), "spec"), list), i), "resources");
}

/* "requests" or "limits" of the first container. */
static const char *amount(struct webhook_fixture *x, const char *field, const char *name)
{
    return kj_str(kj_get(kj_get(container(x, "containers", 0), field), name));
}

static void fixture_batch(struct webhook_fixture *x, const char *gates)
{
    webhook_fixture_init(x, gates);
    webhook_fixture_object(x, &kind_namespace, "{metadata: {name: default, labels: {colo: 'on'}}}");
    webhook_fixture_object(x, &kind_priority_class, "{metadata: {name: koord-batch}, value: 5000}");
}

#define BATCH "qosClass: BE, priorityClassName: koord-batch"
#define POD(labels, containers) \
    "{metadata: {name: p, labels: {" labels "}}, spec: {containers: [" containers "]}}"
#define MAIN(resources) "{name: main, resources: {" resources "}}"

/* ---- resources ------------------------------------------------------------------------------- */

static void test_a_batch_pod_has_batch_resources(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    fixture_batch(&x, "");
    webhook_fixture_profile(&x, "batch", BATCH);
    send(&x, "{metadata: {name: p}, spec: {overhead: {cpu: '1', memory: 2Gi}, "
             "initContainers: [{name: i, resources: {requests: {cpu: 500m, memory: 1Gi}}}], "
             "containers: [{name: main, resources: {requests: {cpu: '1', memory: 4Gi}}}]}}");
    assert_true(x.answer.allowed);
    assert_string_equal(amount(&x, "requests", RES_BATCH_CPU), "1k");
    assert_string_equal(amount(&x, "requests", RES_BATCH_MEMORY), "4Gi");
    assert_null(amount(&x, "requests", RES_CPU));
    assert_null(kj_get(container(&x, "containers", 0), "limits"));
    const struct kj_val *init = kj_get(container(&x, "initContainers", 0), "requests");
    assert_string_equal(kj_str(kj_get(init, RES_BATCH_CPU)), "500");
    assert_int_equal(kj_len(init), 2);
    const struct kj_val *overhead = kj_path(kj_root(x.after), "spec.overhead");
    assert_string_equal(kj_str(kj_get(overhead, RES_BATCH_CPU)), "1k");
    assert_string_equal(kj_str(kj_get(overhead, RES_BATCH_MEMORY)), "2Gi");
    assert_int_equal(kj_len(overhead), 2);
    assert_string_equal(webhook_fixture_meta(&x, "annotations", ANNO_EXTENDED_RESOURCES),
                        "{\"containers\":{\"main\":{\"requests\":{\"kubernetes.io/batch-cpu\":"
                        "\"1k\",\"kubernetes.io/batch-memory\":\"4Gi\"}}}}");
}

static void test_limits_give_requests(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    fixture_batch(&x, "");
    webhook_fixture_profile(&x, "batch", BATCH);
    send(&x, POD("", MAIN("limits: {cpu: 100u, memory: 1000}")));
    assert_string_equal(amount(&x, "limits", RES_BATCH_CPU), "1"); /* rounded up to milli */
    assert_string_equal(amount(&x, "requests", RES_BATCH_CPU), "1");
    assert_string_equal(amount(&x, "requests", RES_BATCH_MEMORY), "1k");
}

static void test_gates_and_the_annotation_leave_resources_alone(void **state)
{
    static const char pod[] = POD("koordinator.sh/qosClass: BE", MAIN("requests: {cpu: '1'}"));
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x, y;

    (void)state;
    fixture_batch(&x, "ColocationProfileSkipMutatingResources,DisableExtendedResourceSpec");
    webhook_fixture_profile(&x, "p", "labels: {a: b}");
    send(&x, pod);
    assert_string_equal(amount(&x, "requests", RES_CPU), "1");
    fixture_batch(&y, "");
    profile_set_put(y.profiles,
                    webhook_fixture_object(&y, &kind_colocation_profile,
                                           "{metadata: {name: a, annotations: {"
                                           "config.koordinator.sh/skip-update-resources: ''}}, "
                                           "spec: {probability: 0}}"));
    webhook_fixture_profile(&y, "b", "labels: {a: b}");
    send(&y, pod);
    assert_string_equal(amount(&y, "requests", RES_CPU), "1");
}

static void test_gpus_are_spread(void **state)
{
    static const struct {
        const char *given, *core, *ratio, *shared;
    } rows[] = {
        { "koordinator.sh/gpu: 200", "200", "200", "2" },
        { "koordinator.sh/gpu-core: '100', koordinator.sh/gpu-memory-ratio: '50'", "100", "50",
          "1" },
        { "koordinator.sh/gpu-core: '100', koordinator.sh/gpu-memory-ratio: '200'", "100", "200",
          "2" },
    };
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    webhook_fixture_init(&x, "");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        send(&x, arena_printf(x.f.arena, POD("", "{name: c, resources: {requests: {%s}}}"),
                              rows[i].given));
        assert_null(amount(&x, "requests", RES_GPU));
        assert_string_equal(amount(&x, "requests", RES_GPU_CORE), rows[i].core);
        assert_string_equal(amount(&x, "requests", RES_GPU_MEMORY_RATIO), rows[i].ratio);
        assert_string_equal(amount(&x, "requests", RES_GPU_SHARED), rows[i].shared);
        assert_string_equal(amount(&x, "limits", RES_GPU_SHARED), rows[i].shared);
    }
}

/* ---- matching -------------------------------------------------------------------------------- */

static void test_selectors_decide(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    fixture_batch(&x, "");
    webhook_fixture_profile(&x, "ns",
                            "namespaceSelector: {matchLabels: {colo: 'off'}}, "
                            "labels: {ns: x}");
    webhook_fixture_profile(&x, "app", "selector: {matchLabels: {app: spark}}, labels: {app2: x}");
    send(&x, POD("app: web", ""));
    assert_false(x.answer.changed);
    send(&x, POD("app: spark", ""));
    assert_string_equal(webhook_fixture_meta(&x, "labels", "app2"), "x");
    assert_null(webhook_fixture_meta(&x, "labels", "ns"));
    webhook_fixture_send(&x, WEBHOOK_MUTATE_POD, WEBHOOK_UPDATE, POD("app: spark", ""), NULL);
    assert_false(x.answer.changed);
    profile_set_remove(x.profiles, "app");
    assert_int_equal(profile_set_count(x.profiles), 1);
    send(&x, POD("app: spark", ""));
    assert_false(x.answer.changed);
}

static void test_a_bad_profile_harms_nobody(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;
    const struct profile *p;

    (void)state;
    fixture_batch(&x, "");
    p = webhook_fixture_profile(
        &x, "bad", "selector: {matchExpressions: [{key: a, operator: Like}]}, labels: {bad: x}");
    assert_non_null(strstr(p->problem, "spec.selector"));
    p = webhook_fixture_profile(&x, "good", "labels: {good: x}");
    assert_null(p->problem);
    send(&x, POD("", ""));
    assert_true(x.answer.allowed);
    assert_null(webhook_fixture_meta(&x, "labels", "bad"));
    assert_string_equal(webhook_fixture_meta(&x, "labels", "good"), "x");
    /* These are refused, as upstream does: the pod would not be what the profile asks for. */
    p = webhook_fixture_profile(&x, "bad", "priorityClassName: missing");
    send(&x, POD("", ""));
    assert_int_equal(x.answer.code, 500);
    assert_string_equal(x.answer.message,
                        "priorityclasses.scheduling.k8s.io \"missing\" not found");
    p = webhook_fixture_profile(&x, "bad", "probability: '5x%'");
    assert_non_null(strstr(p->problem, "spec.probability"));
    send(&x, POD("", ""));
    assert_string_equal(x.answer.message,
                        "invalid value for IntOrString: invalid value \"5x%\": strconv.Atoi: "
                        "parsing \"5x\": invalid syntax");
    p = webhook_fixture_profile(&x, "bad", "patch: [1]");
    assert_string_equal(p->problem, "spec.patch: the patch is no JSON object");
    send(&x, POD("", ""));
    assert_int_equal(x.answer.code, 500);
}

static void test_objects_of_a_wrong_shape(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    fixture_batch(&x, "");
    webhook_fixture_profile(&x, "batch", BATCH);
    send(&x, "{metadata: {name: p, labels: {a: 1}}, spec: {}}");
    assert_int_equal(x.answer.code, 400);
    send(&x, POD("", MAIN("requests: {cpu: much}")));
    assert_int_equal(x.answer.code, 400);
    assert_true(str_starts(x.answer.message,
                           "spec.containers[0].resources.requests: cpu: quantity \"much\": "));
    send(&x, "{metadata: null, spec: {containers: 5}}");
    assert_true(x.answer.allowed);
}

static void test_chance(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;
    const struct profile *p;
    int applied = 0;

    (void)state;
    fixture_batch(&x, "");
    p = webhook_fixture_profile(&x, "p", "probability: 50%, labels: {a: b}");
    assert_true(profile_drawn(p, 30));
    assert_false(profile_drawn(p, 70));
    assert_false(profile_drawn(p, 50)); /* upstream: 51 of 100 */
    for (int i = 0; i < 1000; i++) {
        send(&x, POD("", ""));
        applied += x.answer.changed;
    }
    assert_in_range(applied, 440, 560);
    webhook_fixture_profile(&x, "p", "probability: 0, labels: {a: b}");
    send(&x, POD("koordinator.sh/qosClass: BE", MAIN("requests: {cpu: '1'}")));
    assert_null(webhook_fixture_meta(&x, "labels", "a"));
    assert_string_equal(amount(&x, "requests", RES_BATCH_CPU), "1k"); /* translated all the same */
}

/* ---- what a profile sets --------------------------------------------------------------------- */

static void test_everything_a_profile_can_set(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    fixture_batch(&x, "ColocationProfileSkipMutatingResources");
    webhook_fixture_profile(
        &x, "p",
        "labels: {l: '1'}, annotations: {a: '2'}, labelKeysMapping: {app: app2, "
        "none: app3}, annotationKeysMapping: {a: b}, labelSuffixes: {app: -s, "
        "none: -s}, schedulerName: koord-scheduler, qosClass: BE, "
        "priorityClassName: koord-batch, koordinatorPriority: 1111, "
        "patch: {spec: {nodeSelector: {n: m}}}");
    send(&x, "{metadata: {labels: {app: web}}, spec: {preemptionPolicy: Never, priority: 0}}");
    assert_string_equal(webhook_fixture_meta(&x, "labels", "l"), "1");
    assert_string_equal(webhook_fixture_meta(&x, "labels", "app"), "web-s");
    assert_string_equal(webhook_fixture_meta(&x, "labels", "app2"), "web");
    assert_string_equal(webhook_fixture_meta(&x, "labels", "app3"), "");
    assert_null(webhook_fixture_meta(&x, "labels", "none"));
    assert_string_equal(webhook_fixture_meta(&x, "annotations", "b"), "2");
    assert_string_equal(webhook_fixture_meta(&x, "labels", LABEL_QOS_CLASS), "BE");
    assert_string_equal(webhook_fixture_meta(&x, "labels", LABEL_PRIORITY), "1111");
    assert_string_equal(webhook_fixture_text(&x, "spec.schedulerName"), "koord-scheduler");
    assert_string_equal(webhook_fixture_text(&x, "spec.priorityClassName"), "koord-batch");
    assert_int_equal(kj_i64_or(kj_path(kj_root(x.after), "spec.priority"), 0), 5000);
    assert_null(kj_path(kj_root(x.after), "spec.preemptionPolicy")); /* the class has none */
    assert_string_equal(webhook_fixture_text(&x, "spec.nodeSelector.n"), "m");
}

static void test_a_patch_merges_containers_by_name(void **state)
{
    static const struct kmerge by_name[] = {
        { .field = "containers", .list = KMERGE_BY_KEY, .key = "name" }, { .field = NULL }
    };
    static const struct kmerge pod[] = { { .field = "spec", .sub = by_name }, { .field = NULL } };
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    fixture_batch(&x, "");
    webhooks_free(x.w);
    x.opts.pod_merge = pod;
    x.w = webhooks_new(x.loop, &x.src, &x.opts);
    webhook_fixture_profile(&x, "p",
                            BATCH
                            ", patch: {spec: {containers: [{name: main, resources: {requests: "
                            "{cpu: '2'}}}]}}");
    send(&x, POD("", "{name: other}, " MAIN("requests: {cpu: '1', memory: 1Gi}")));
    const struct kj_val *requests = kj_get(container(&x, "containers", 1), "requests");
    assert_string_equal(kj_str(kj_get(requests, RES_BATCH_CPU)), "2k");
    assert_string_equal(kj_str(kj_get(requests, RES_BATCH_MEMORY)), "1Gi");
}

/* ---- warnings -------------------------------------------------------------------------------- */

static void test_profiles_that_override_each_other_are_named(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    fixture_batch(&x, "");
    webhook_fixture_profile(&x, "b", "schedulerName: two, labels: {x: '1', y: '1'}");
    webhook_fixture_profile(&x, "a", "schedulerName: one, labels: {x: '1', y: '2'}");
    webhook_fixture_profile(&x, "c",
                            "patch: {metadata: {labels: {x: '3'}}}, labelSuffixes: {y: z}");
    send(&x, POD("", ""));
    assert_string_equal(webhook_fixture_text(&x, "spec.schedulerName"), "two");
    assert_int_equal(x.answer.nwarnings, 3);
    assert_string_equal(x.answer.warnings[0],
                        "ClusterColocationProfile b sets label y to \"1\" and overrides \"2\" of "
                        "ClusterColocationProfile a");
    assert_string_equal(x.answer.warnings[1],
                        "ClusterColocationProfile b sets schedulerName to \"two\" and overrides "
                        "\"one\" of ClusterColocationProfile a");
    assert_string_equal(x.answer.warnings[2],
                        "ClusterColocationProfile c sets label x to \"3\" and overrides \"1\" of "
                        "ClusterColocationProfile b");
}

static void test_a_limit_range_that_gets_in_the_way_is_named(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    fixture_batch(&x, "");
    webhook_fixture_profile(&x, "batch", BATCH);
    send(&x, "{metadata: {name: p, annotations: {kubernetes.io/limit-ranger: 'LimitRanger plugin "
             "set: cpu request for container main'}}, spec: {containers: [{name: main, resources: "
             "{requests: {cpu: 100m, kubernetes.io/batch-cpu: '2000'}}}]}}");
    assert_string_equal(amount(&x, "requests", RES_BATCH_CPU), "100"); /* as upstream */
    assert_int_equal(x.answer.nwarnings, 1);
    assert_string_equal(x.answer.warnings[0],
                        "container main has cpu beside kubernetes.io/batch-cpu, which it replaces; "
                        "a LimitRange of the namespace set: cpu request for container main");
}

/* ---- Reservations ---------------------------------------------------------------------------- */

static void test_reservations(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;

    (void)state;
    fixture_batch(&x, "ReservationMutatingWebhook");
    webhook_fixture_profile(&x, "p",
                            BATCH
                            ", namespaceSelector: {matchLabels: {no: such}}, selector: "
                            "{matchLabels: {app: web}}, schedulerName: s, patch: {spec: {ttl: "
                            "1h}}");
    webhook_fixture_send(&x, WEBHOOK_MUTATE_RESERVATION, WEBHOOK_CREATE,
                         "{metadata: {name: r, labels: {app: web}}, spec: {template: {spec: "
                         "{containers: [{name: main, resources: {requests: {cpu: '1'}}}]}}}}",
                         NULL);
    assert_true(x.answer.allowed);
    assert_string_equal(webhook_fixture_meta(&x, "labels", LABEL_QOS_CLASS), "BE");
    assert_string_equal(webhook_fixture_text(&x, "spec.template.spec.schedulerName"), "s");
    assert_string_equal(webhook_fixture_text(&x, "spec.template.spec.priorityClassName"),
                        "koord-batch");
    assert_string_equal(webhook_fixture_text(&x, "spec.ttl"), "1h");
    const struct kj_val *containers = kj_path(kj_root(x.after), "spec.template.spec.containers");
    assert_string_equal(kj_str(kj_path(kj_at(containers, 0), "resources.requests.cpu")), "1");
    webhook_fixture_send(&x, WEBHOOK_MUTATE_RESERVATION, WEBHOOK_CREATE,
                         "{metadata: {name: r, labels: {app: web}}, spec: {}}", NULL);
    assert_null(kj_path(kj_root(x.after), "spec.template"));
    assert_string_equal(webhook_fixture_meta(&x, "labels", LABEL_QOS_CLASS), "BE");
}

/* ---- quota trees ----------------------------------------------------------------------------- */

static struct quota_topology *tree_topology;

static struct quota_topology *tree_quotas(void *self)
{
    (void)self;
    return tree_topology;
}

static const struct elasticquotaprofile *tree_profile(void *self, const char *tree)
{
    struct kobj *o = fixture_find(self, &kind_elasticquotaprofile, "pool");

    return streq(tree, "t") ? elasticquotaprofile_of(o) : NULL;
}

#define TERMS \
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"

static const char *terms_after(struct webhook_fixture *x, const char *pod)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    webhook_fixture_send(x, WEBHOOK_MUTATE_POD, WEBHOOK_CREATE, pod, NULL);
    assert_true(x->answer.allowed);
    if (kj_path(kj_root(x->after), TERMS))
        kj_write(kj_path(kj_root(x->after), TERMS), KJ_SORTED, &out);
    return arena_strdup(x->f.arena, strbuf_str(&out));
}

static void test_pods_of_a_tree_run_on_its_nodes(void **state)
{
#define IN_POOL                                                                    \
    "{\"key\":\"pool\",\"operator\":\"In\",\"values\":[\"1\"]},{\"key\":\"gone\"," \
    "\"operator\":\"DoesNotExist\"}"
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;
    struct topology_gates gates = { 0 };
    struct topology_pods pods = { 0 };

    (void)state;
    webhook_fixture_init(&x, "MultiQuotaTree");
    tree_topology = topology_new(&gates, &pods);
    x.src.quotas = tree_quotas;
    x.src.tree_profile = tree_profile;
    topology_put(tree_topology,
                 webhook_fixture_object(&x, &kind_elasticquota,
                                        "{metadata: {name: team, namespace: other, labels: "
                                        "{quota.scheduling.koordinator.sh/tree-id: t}}}"));
    topology_put(tree_topology,
                 webhook_fixture_object(&x, &kind_elasticquota,
                                        "{metadata: {name: plain, namespace: other}}"));
    webhook_fixture_object(&x, &kind_elasticquotaprofile,
                           "{metadata: {name: pool, namespace: n}, spec: {quotaName: q, "
                           "nodeSelector: {matchLabels: {pool: '1'}, matchExpressions: [{key: "
                           "gone, operator: DoesNotExist}]}}}");
    assert_string_equal(
        terms_after(&x, "{metadata: {name: p, labels: {quota.scheduling.koordinator.sh/name: "
                        "team}}, spec: {containers: []}}"),
        "[{\"matchExpressions\":[" IN_POOL "]}]");
    /* By the name of the namespace; every term that is there gets the demand. */
    assert_string_equal(
        terms_after(&x, "{metadata: {name: p, namespace: team}, spec: {affinity: {nodeAffinity: "
                        "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
                        "[{matchExpressions: [{key: a, operator: Exists}]}, {matchFields: []}]}}}"
                        "}}"),
        "[{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\"}," IN_POOL
        "]},{\"matchExpressions\":[" IN_POOL "],\"matchFields\":[]}]");
    /* No such quota, none at all, a quota of the default tree. */
    assert_string_equal(terms_after(&x, "{metadata: {name: p}, spec: {}}"), "");
    assert_string_equal(terms_after(&x, "{metadata: {name: p, namespace: plain}, spec: {}}"), "");
    topology_free(tree_topology);
}

static void test_weights_that_were_given_are_shown(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;
    CLEANUP(strbuf_fini) struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
    struct topology_gates gates = { 0 };
    struct topology_pods pods = { 0 };
    static const char given[] = "koord_manager_webhook_quota_shared_weight{elasticquota_name=\"q\","
                                "resource_name=\"cpu\"} 4000";

    (void)state;
    webhook_fixture_init(&x, "");
    tree_topology = topology_new(&gates, &pods);
    x.src.quotas = tree_quotas;
    webhook_fixture_send(&x, WEBHOOK_MUTATE_QUOTA, WEBHOOK_CREATE,
                         "{metadata: {name: q}, spec: {max: {cpu: '4', memory: 1Gi}}}", NULL);
    assert_true(x.answer.allowed);
    webhook_fixture_send(&x, WEBHOOK_MUTATE_QUOTA, WEBHOOK_CREATE,
                         "{metadata: {name: own, annotations: "
                         "{quota.scheduling.koordinator.sh/shared-weight: '{\"cpu\":1}'}}, spec: "
                         "{max: {cpu: '4'}}}",
                         NULL);
    metrics_write((struct metrics *const[]){ x.metrics }, 1, &before);
    assert_non_null(strstr(strbuf_str(&before), given));
    assert_null(strstr(strbuf_str(&before), "elasticquota_name=\"own\""));
    topology_put(tree_topology, webhook_fixture_object(&x, &kind_elasticquota,
                                                       "{metadata: {name: q, namespace: n}}"));
    struct webhook_request r = { .op = WEBHOOK_DELETE,
                                 .group = "scheduling.sigs.k8s.io",
                                 .resource = "elasticquotas",
                                 .ns = "n",
                                 .name = "q" };
    webhook_validate(x.w, WEBHOOK_VALIDATE_QUOTA, &r, NULL, x.f.arena, &x.answer);
    assert_true(x.answer.allowed);
    metrics_write((struct metrics *const[]){ x.metrics }, 1, &after);
    assert_null(strstr(strbuf_str(&after), "elasticquota_name=\"q\""));
    topology_free(tree_topology);
}

/* ---- explanations ---------------------------------------------------------------------------- */

static struct kj_doc *explain(struct webhook_fixture *x, const char *pod, const char *ranges)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL, *list = NULL;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kj_doc *answer = NULL;

    assert_int_equal(kj_parse_yaml(pod, strlen(pod), 0, &doc, NULL), 0);
    assert_int_equal(kj_parse_yaml(ranges, strlen(ranges), 0, &list, NULL), 0);
    struct profile_explain_in in = {
        .pod = kj_root(doc),
        .ns = "default",
        .profiles = x->profiles,
        .namespace_labels = fixture_namespace_labels(x, "default"),
        .priority_class = fixture_priority_class,
        .self = x,
        .limit_ranges = kj_root(list),
    };
    profile_explain(&in, &out);
    assert_int_equal(kj_parse(strbuf_str(&out), out.len, 0, &answer, NULL), 0);
    return answer;
}

static const struct kj_val *profile_at(const struct kj_doc *answer, size_t i)
{
    return kj_at(kj_get(kj_root(answer), "profiles"), i);
}

static void test_an_explanation_says_why(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;
    CLEANUP(kj_doc_free) struct kj_doc *answer = NULL;

    (void)state;
    fixture_batch(&x, "");
    webhook_fixture_profile(&x, "a", BATCH ", probability: 1, schedulerName: one");
    webhook_fixture_profile(&x, "b", "selector: {matchLabels: {app: spark}}");
    webhook_fixture_profile(&x, "c",
                            "namespaceSelector: {matchExpressions: [{key: colo, operator: "
                            "NotIn, values: ['on']}]}");
    webhook_fixture_profile(&x, "d", "schedulerName: two");
    webhook_fixture_profile(&x, "e", "selector: {matchExpressions: [{key: a, operator: Like}]}");
    answer = explain(&x, POD("app: web", MAIN("requests: {cpu: '1'}")), "[]");
    assert_true(kj_bool(kj_get(profile_at(answer, 0), "matches"), false));
    assert_string_equal(kj_str(kj_get(profile_at(answer, 1), "why")),
                        "selector wants app=spark, it has app=web (the pod)");
    assert_string_equal(kj_str(kj_get(profile_at(answer, 2), "why")),
                        "namespaceSelector wants colo notin (on), it has colo=on (namespace "
                        "default)");
    const struct kj_val *change = kj_at(kj_get(profile_at(answer, 3), "changes"), 0);
    assert_string_equal(kj_str(kj_get(change, "overrides")), "a");
    assert_string_equal(kj_str(kj_get(change, "from")), "one");
    assert_non_null(kj_get(profile_at(answer, 4), "problem"));
    assert_true(kj_bool(kj_path(kj_root(answer), "validation.allowed"), false));
    assert_string_equal(kj_str(kj_path(kj_root(answer), "after.spec.schedulerName")), "two");
}

/* koord#1344: cpu of a LimitRange in place of the batch-cpu that was asked for. */
static void test_an_explanation_counts_limit_ranges(void **state)
{
    CLEANUP(webhook_fixture_fini) struct webhook_fixture x;
    CLEANUP(kj_doc_free) struct kj_doc *answer = NULL;

    (void)state;
    fixture_batch(&x, "");
    webhook_fixture_profile(&x, "a", BATCH);
    answer = explain(&x, POD("", MAIN("requests: {kubernetes.io/batch-cpu: '2000'}")),
                     "[{spec: {limits: [{type: Pod}, {type: Container, default: {cpu: '1'}, "
                     "defaultRequest: {cpu: 100m}}]}}]");
    const struct kj_val *c = kj_at(kj_path(kj_root(answer), "after.spec.containers"), 0);
    assert_string_equal(kj_str(kj_get(kj_path(c, "resources.requests"), RES_BATCH_CPU)), "100");
    assert_string_equal(kj_str(kj_at(kj_get(kj_root(answer), "warnings"), 0)),
                        "container main has cpu beside kubernetes.io/batch-cpu, which it replaces; "
                        "a LimitRange of the namespace set: cpu request for container main; cpu "
                        "limit for container main");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_batch_pod_has_batch_resources),
        cmocka_unit_test(test_limits_give_requests),
        cmocka_unit_test(test_gates_and_the_annotation_leave_resources_alone),
        cmocka_unit_test(test_gpus_are_spread),
        cmocka_unit_test(test_selectors_decide),
        cmocka_unit_test(test_a_bad_profile_harms_nobody),
        cmocka_unit_test(test_objects_of_a_wrong_shape),
        cmocka_unit_test(test_chance),
        cmocka_unit_test(test_everything_a_profile_can_set),
        cmocka_unit_test(test_a_patch_merges_containers_by_name),
        cmocka_unit_test(test_profiles_that_override_each_other_are_named),
        cmocka_unit_test(test_a_limit_range_that_gets_in_the_way_is_named),
        cmocka_unit_test(test_reservations),
        cmocka_unit_test(test_pods_of_a_tree_run_on_its_nodes),
        cmocka_unit_test(test_weights_that_were_given_are_shown),
        cmocka_unit_test(test_an_explanation_says_why),
        cmocka_unit_test(test_an_explanation_counts_limit_ranges),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
