/* test_config.c - configuration files: defaults, merging, refusals (scheduler-core 4, 9.1-9.3). */
#include "scheduler/config/config.h"

#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "loop/loop.h"
#include "scheduler/config/test/config_fixture.h"
#include "scheduler/plugins/noderesources/args.h"
#include "sys/test/tmpdir.h"

static int64_t weight_of(const struct config *c, const char *plugin)
{
    const struct profile_set *s = &of(c)->profiles.items[0].order[KS_POINT_SCORE];

    for (uint32_t i = 0; i < s->n; i++)
        if (streq(s->items[i].plugin, plugin))
            return s->items[i].weight;
    return 0;
}

/* ---- defaults -------------------------------------------------------------------------------- */

#define DEFAULT_FILTERS                                                                   \
    "NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts NodeResourcesFit " \
    "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread "     \
    "InterPodAffinity DynamicResources"

static void test_an_empty_file_is_all_defaults(void **state)
{
    CLEANUP(config_unref) struct config *conf = load(HEAD);
    const struct sched_config *c = of(conf);

    (void)state;
    assert_int_equal(c->profiles.n, 1);
    assert_string_equal(c->profiles.items[0].scheduler_name, "default-scheduler");
    assert_int_equal(c->profiles.items[0].plugins.multi_point.enabled.n, 19);
    assert_int_equal(c->parallelism.v, 16);
    assert_int_equal(c->percentage.v, 0);
    assert_int_equal(c->backoff_initial.v, 1);
    assert_int_equal(c->backoff_max.v, 10);
    assert_true(c->election.elect.v && c->profiling.v && c->contention_profiling.v);
    assert_false(c->delay_cache);
    assert_int_equal(c->election.lease_duration, 15 * NSEC_PER_SEC);
    assert_int_equal(c->election.renew_deadline, 10 * NSEC_PER_SEC);
    assert_int_equal(c->election.retry_period, 2 * NSEC_PER_SEC);
    assert_string_equal(c->election.lock, "leases");
    assert_string_equal(c->election.name, "kube-scheduler");
    assert_string_equal(c->election.ns, "kube-system");
    assert_string_equal(c->client.content_type, "application/vnd.kubernetes.protobuf");
    assert_that(c->client.qps, ==, 0);
    assert_that(c->client.burst, ==, 0); /* no limit: unlike upstream */
    assert_int_equal(c->extenders.n, 0);
    assert_string_equal(order_of(conf, KS_POINT_FILTER), DEFAULT_FILTERS);
    assert_string_equal(order_of(conf, KS_POINT_QUEUE_SORT), "PrioritySort");
    assert_string_equal(order_of(conf, KS_POINT_BIND), "DefaultBinder");
    assert_string_equal(order_of(conf, KS_POINT_POST_FILTER), "DynamicResources DefaultPreemption");
    assert_string_equal(order_of(conf, KS_POINT_SCORE),
                        "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding "
                        "PodTopologySpread InterPodAffinity DynamicResources "
                        "NodeResourcesBalancedAllocation ImageLocality");
    assert_int_equal(weight_of(conf, "TaintToleration"), 3);
    assert_int_equal(weight_of(conf, "NodeAffinity"), 2);
    assert_int_equal(weight_of(conf, "NodeResourcesFit"), 1);
    assert_int_equal(weight_of(conf, "VolumeBinding"), 1); /* none given */
}

/* The first plugins of the registry are the default profile; what a plugin does, a configuration
 * may enable, but for what it does without being asked. */
static void test_the_registry_is_in_order(void **state)
{
    bool behind = false;

    (void)state;
    for (const struct ks_registered *r = ks_registry; r->plugin; r++) {
        const struct ks_plugin *pl = r->plugin;
        if (behind && r->by_default)
            fail_msg("%s stands behind the default profile", pl->name);
        behind = !r->by_default;
        for (int p = 0; p < KS_POINTS; p++)
            if (ks_implements(pl, p) && !ks_extends(pl, p) && p != KS_POINT_PRE_FILTER &&
                p != KS_POINT_PRE_SCORE && p != KS_POINT_POST_BIND)
                fail_msg("%s cannot be enabled at %s", pl->name, ks_point_names[p]);
        for (const struct ks_registered *q = ks_registry; q != r; q++)
            if (streq(q->plugin->name, pl->name))
                fail_msg("%s is there twice", pl->name);
        if (pl->planned)
            assert_true(pl->points && !pl->create && !r->by_default);
    }
}

static void test_shipped_configuration(void **state)
{
    CLEANUP(config_unref) struct config *c = NULL;
    struct kerr err = { 0 };

    (void)state;
    if (sched_config_shipped(&c, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(of(c)->profiles.items[0].scheduler_name, "koord-scheduler");
    assert_string_equal(of(c)->election.name, "koord-scheduler");
    assert_string_equal(of(c)->election.ns, "koordinator-system");
    assert_string_equal(order_of(c, KS_POINT_FILTER), DEFAULT_FILTERS
                        " LoadAwareScheduling NodeNUMAResource DeviceShare Reservation");
    assert_string_equal(order_of(c, KS_POINT_POST_FILTER),
                        "Reservation Coscheduling ElasticQuota DefaultPreemption");
    assert_string_equal(order_of(c, KS_POINT_QUEUE_SORT), "PrioritySort");
    assert_string_equal(order_of(c, KS_POINT_BIND), "Reservation DefaultBinder");
    assert_string_equal(order_of(c, KS_POINT_PRE_BIND),
                        "VolumeBinding DynamicResources NodeNUMAResource DeviceShare Reservation "
                        "Coscheduling DefaultPreBind");
    assert_int_equal(weight_of(c, "Reservation"), 5000);
    assert_contains(args_of(c, "NodeResourcesFit"), "\"type\":\"LeastAllocated\"");
    assert_contains(args_of(c, "NodeResourcesFit"),
                    "{\"name\":\"kubernetes.io/batch-memory\",\"weight\":1}]");
}

static void test_configuration_of_the_chart(void **state)
{
    CLEANUP(config_unref) struct config *c = NULL;
    struct kerr err = { 0 };

    (void)state;
    if (sched_config_chart(&c, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(of(c)->profiles.items[0].scheduler_name, "koord-scheduler");
    assert_string_equal(order_of(c, KS_POINT_PRE_FILTER),
                        "NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions "
                        "NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread "
                        "InterPodAffinity DynamicResources SchedulingHint Coscheduling Reservation "
                        "NodeNUMAResource DeviceShare ElasticQuota");
    assert_string_equal(order_of(c, KS_POINT_FILTER), DEFAULT_FILTERS
                        " Reservation LoadAwareScheduling NodeNUMAResource DeviceShare");
    assert_string_equal(order_of(c, KS_POINT_RESERVE),
                        "VolumeBinding DynamicResources Reservation LoadAwareScheduling "
                        "NodeNUMAResource DeviceShare Coscheduling ElasticQuota");
    assert_contains(args_of(c, "LoadAwareScheduling"),
                    "\"usageThresholds\":{\"cpu\":65,\"memory\":95}");
    assert_contains(args_of(c, "Coscheduling"),
                    "\"enablePreemption\":true,\"awareNetworkTopology\":true");
    assert_contains(args_of(c, "DeviceShare"), "Ascend-310P3-300I-DUO");
    /* Coscheduling makes room for pods, for whole jobs and single ones. */
    assert_string_equal(order_of(c, KS_POINT_POST_FILTER), "Reservation Coscheduling ElasticQuota");
}

/* ---- merging --------------------------------------------------------------------------------- */

static void test_a_weight_puts_a_plugin_first(void **state)
{
    CLEANUP(config_unref)
    struct config *c = load(PLUGINS("score: {enabled: [{name: NodeResourcesFit, weight: 5}]}"));

    (void)state;
    assert_starts(order_of(c, KS_POINT_SCORE),
                  "NodeResourcesFit TaintToleration NodeAffinity VolumeBinding ");
    assert_int_equal(weight_of(c, "NodeResourcesFit"), 5);
    assert_int_equal(weight_of(c, "TaintToleration"), 3);
    assert_string_equal(order_of(c, KS_POINT_FILTER), DEFAULT_FILTERS);
}

static void test_all_off_but_one(void **state)
{
    CLEANUP(config_unref)
    struct config *c =
        load(PLUGINS("filter: {disabled: [{name: '*'}], enabled: [{name: NodeName}]}"));

    (void)state;
    assert_string_equal(order_of(c, KS_POINT_FILTER), "NodeName");
    assert_string_equal(order_of(c, KS_POINT_PRE_FILTER),
                        "NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions "
                        "NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread "
                        "InterPodAffinity DynamicResources");
}

static void test_one_off_at_one_point(void **state)
{
    CLEANUP(config_unref)
    struct config *c = load(PLUGINS("filter: {disabled: [{name: NodeName}]}, "
                                    "score: {disabled: [{name: '*'}]}"));

    (void)state;
    assert_lacks(order_of(c, KS_POINT_FILTER), "NodeName");
    assert_contains(order_of(c, KS_POINT_FILTER), "NodeUnschedulable");
    assert_string_equal(order_of(c, KS_POINT_SCORE), "");
    assert_int_equal(of(c)->made[0].points[KS_POINT_SCORE].n, 0);
}

static void test_multi_point_over_the_defaults(void **state)
{
    CLEANUP(config_unref)
    struct config *c =
        load(PLUGINS("multiPoint: {enabled: [{name: DeviceShare, weight: 7}, {name: NodeAffinity,"
                     " weight: 9}], disabled: [{name: ImageLocality}]}, "
                     "filter: {enabled: [{name: DeviceShare}, {name: Reservation}]}"));

    (void)state;
    /* In place where it was a default, at the end where not. */
    assert_string_equal(order_of(c, KS_POINT_SCORE),
                        "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding "
                        "PodTopologySpread InterPodAffinity DynamicResources "
                        "NodeResourcesBalancedAllocation DeviceShare");
    assert_int_equal(weight_of(c, "NodeAffinity"), 9);
    assert_int_equal(weight_of(c, "DeviceShare"), 7);
    /* Explicit and in multiPoint: first. Explicit only: last. */
    assert_string_equal(order_of(c, KS_POINT_FILTER),
                        "DeviceShare " DEFAULT_FILTERS " Reservation");
    assert_string_equal(order_of(c, KS_POINT_RESERVE),
                        "VolumeBinding DynamicResources DeviceShare");
}

static void test_multi_point_all_off(void **state)
{
    CLEANUP(config_unref)
    struct config *c =
        load(PLUGINS("multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, "
                     "{name: DefaultBinder}, {name: NodeName}]}"));

    (void)state;
    assert_string_equal(order_of(c, KS_POINT_FILTER), "NodeName");
    assert_string_equal(names_of(&of(c)->made[0].points[KS_POINT_FILTER]), "NodeName");
    assert_string_equal(order_of(c, KS_POINT_QUEUE_SORT), "PrioritySort");
    assert_string_equal(order_of(c, KS_POINT_SCORE), "");
}

static void test_a_weight_of_zero_is_one(void **state)
{
    CLEANUP(config_unref)
    struct config *c = load(PLUGINS("score: {enabled: [{name: NodeAffinity, weight: 0}]}"));

    (void)state;
    assert_int_equal(weight_of(c, "NodeAffinity"), 1);
}

static void test_default_pre_bind_comes_last_unless_disabled(void **state)
{
    static const char *const off[] = { PLUGINS("preBind: {disabled: [{name: DefaultPreBind}]}"),
                                       PLUGINS("preBind: {disabled: [{name: '*'}]}") };
    struct config *c = load(PLUGINS("preBind: {enabled: [{name: DeviceShare}]}"));

    (void)state;
    assert_string_equal(order_of(c, KS_POINT_PRE_BIND),
                        "VolumeBinding DynamicResources DeviceShare DefaultPreBind");
    c = config_unref(c);
    c = load(PLUGINS("preBind: {enabled: [{name: DefaultPreBind}, {name: DeviceShare}]}"));
    assert_string_equal(order_of(c, KS_POINT_PRE_BIND),
                        "VolumeBinding DynamicResources DefaultPreBind DeviceShare");
    c = config_unref(c);
    for (size_t i = 0; i < ARRAY_LEN(off); i++) {
        c = load(off[i]);
        assert_lacks(order_of(c, KS_POINT_PRE_BIND), "DefaultPreBind");
        c = config_unref(c);
    }
}

/* ---- args ------------------------------------------------------------------------------------ */

/* What create() gets; NULL: the plugin has no args. */
static const void *made_args(const struct config *c, const char *plugin)
{
    const struct profile_config *made = &of(c)->made[0];

    for (uint32_t i = 0; i < made->nargs; i++)
        if (streq(made->args[i].plugin, plugin))
            return made->args[i].args;
    return NULL;
}

static void test_args_are_completed(void **state)
{
    CLEANUP(config_unref)
    struct config *c = load(ARGS(
        "NodeResourcesFit", "{apiVersion: kubescheduler.config.k8s.io/v1, "
                            "kind: NodeResourcesFitArgs, ignoredResources: [a.b/c], "
                            "scoringStrategy: {type: MostAllocated, resources: [{name: x}]}}"));

    (void)state;
    assert_string_equal(args_of(c, "NodeResourcesFit"),
                        "{\"apiVersion\":\"kubescheduler.config.k8s.io/v1\","
                        "\"kind\":\"NodeResourcesFitArgs\",\"ignoredResources\":[\"a.b/c\"],"
                        "\"scoringStrategy\":{\"type\":\"MostAllocated\","
                        "\"resources\":[{\"name\":\"x\",\"weight\":1}]}}");
    assert_contains(args_of(c, "DefaultPreemption"), "\"minCandidateNodesPercentage\":10");
    assert_contains(args_of(c, "DefaultPreemption"), "\"minCandidateNodesAbsolute\":100");
    assert_contains(args_of(c, "InterPodAffinity"), "\"hardPodAffinityWeight\":1");
    assert_contains(args_of(c, "PodTopologySpread"), "\"defaultingType\":\"System\"");
    assert_contains(args_of(c, "VolumeBinding"), "\"bindTimeoutSeconds\":600");
    assert_contains(args_of(c, "DynamicResources"), "\"filterTimeout\":\"10s\"");
    assert_contains(args_of(c, "NodeResourcesBalancedAllocation"),
                    "[{\"name\":\"cpu\",\"weight\":1},{\"name\":\"memory\",\"weight\":1}]");
    /* The plugin gets the same as a struct. */
    const struct fit_args *fit = made_args(c, "NodeResourcesFit");
    assert_string_equal(fit->strategy.type, "MostAllocated");
    assert_string_equal(fit->strategy.resources.items[0].name, "x");
    assert_int_equal(fit->strategy.resources.items[0].weight, 1);
    assert_null(made_args(c, "NodeName"));
}

/* ---- extenders ------------------------------------------------------------------------------- */

static void test_extenders(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    CLEANUP(config_unref)
    struct config *c = load(
        HEAD "extenders:\n"
             "- {urlPrefix: 'http://a/', filterVerb: filter, ignorable: true}\n"
             "- {urlPrefix: 'https://b', prioritizeVerb: rank, weight: 3, enableHTTPS: true,\n"
             "   httpTimeout: 30s, tlsConfig: {keyData: c2VjcmV0}, nodeCacheCapable: true,\n"
             "   managedResources: [{name: b.io/x, ignoredByScheduler: true}, {name: b.io/y}]}\n"
             "profiles:\n- pluginConfig: [{name: NodeResourcesFit,\n"
             "    args: {ignoredResources: [z.io/z]}}]\n");

    (void)state;
    assert_int_equal(of(c)->extenders.n, 2);
    assert_string_equal(of(c)->extenders.items[0].url_prefix, "https://b"); /* not ignorable */
    assert_int_equal(of(c)->extenders.items[0].timeout, 30 * NSEC_PER_SEC);
    assert_int_equal(of(c)->extenders.items[1].timeout, 5 * NSEC_PER_SEC);
    assert_contains(args_of(c, "NodeResourcesFit"), "\"ignoredResources\":[\"b.io/x\"]");
    const struct fit_args *fit = made_args(c, "NodeResourcesFit");
    assert_int_equal(fit->ignored.n, 1);
    assert_string_equal(fit->ignored.items[0], "b.io/x");
    sched_config_write(of(c), true, &out);
    assert_contains(strbuf_str(&out), "c2VjcmV0");
    strbuf_reset(&out);
    sched_config_write(of(c), false, &out);
    assert_lacks(strbuf_str(&out), "c2VjcmV0");
    assert_contains(strbuf_str(&out), "prioritizeVerb");
}

/* ---- written and read again ------------------------------------------------------------------ */

static void assert_same_made(const struct sched_config *a, const struct sched_config *b)
{
    assert_int_equal(a->profiles.n, b->profiles.n);
    for (uint32_t i = 0; i < a->profiles.n; i++)
        for (int p = 0; p < KS_POINTS; p++) {
            const struct profile_set *x = &a->made[i].points[p], *y = &b->made[i].points[p];
            assert_int_equal(x->n, y->n);
            for (uint32_t k = 0; k < x->n; k++) {
                assert_string_equal(x->items[k].plugin, y->items[k].plugin);
                assert_int_equal(x->items[k].weight, y->items[k].weight);
            }
        }
}

static void check_round_trip(const struct config *c)
{
    CLEANUP(strbuf_fini) struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;

    sched_config_write(of(c), true, &first);
    CLEANUP(config_unref) struct config *again = load(strbuf_str(&first));
    sched_config_write(of(again), true, &second);
    assert_string_equal(strbuf_str(&first), strbuf_str(&second));
    assert_same_made(of(c), of(again));
}

static void test_what_is_written_reads_the_same(void **state)
{
    static const char *const texts[] = {
        HEAD,
        PLUGINS("multiPoint: {enabled: [{name: DeviceShare, weight: 7}], disabled: [{name: "
                "ImageLocality}]}, filter: {disabled: [{name: '*'}], enabled: [{name: NodeName}]}"),
        ARGS("PodTopologySpread", "{defaultingType: List, defaultConstraints: [{maxSkew: 1, "
                                  "topologyKey: z, whenUnsatisfiable: ScheduleAnyway}]}"),
        ARGS("NodeAffinity",
             "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
             "[{matchExpressions: [{key: a, operator: Exists}]}]}}}"),
        HEAD "extenders: [{urlPrefix: 'http://a', managedResources: [{name: a.io/x, "
             "ignoredByScheduler: true}]}]\nprofiles: [{schedulerName: a}, {schedulerName: b}]\n",
    };
    struct config *c = NULL;
    struct kerr err = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        c = load(texts[i]);
        check_round_trip(c);
        c = config_unref(c);
    }
    assert_int_equal(sched_config_shipped(&c, &err), 0);
    check_round_trip(c);
    c = config_unref(c);
    assert_int_equal(sched_config_chart(&c, &err), 0);
    check_round_trip(c);
    config_unref(c);
}

/* ---- examples -------------------------------------------------------------------------------- */

static void put_order(const struct sched_profile *p, struct strbuf *out)
{
    strbuf_appendf(out, "%s\n", p->scheduler_name);
    for (int point = 0; point < KS_POINTS; point++) {
        const struct profile_set *s = &p->order[point];
        strbuf_appendf(out, "  %s:", ks_point_names[point]);
        for (uint32_t i = 0; i < s->n; i++) {
            strbuf_appendf(out, " %s", s->items[i].plugin);
            if (point == KS_POINT_SCORE)
                strbuf_appendf(out, "=%lld", (long long)s->items[i].weight);
        }
        strbuf_appendc(out, '\n');
    }
}

/* NAME.yaml, and beside it who takes part where. */
static void check_example(const char *name)
{
    CLEANUP(strbuf_fini) struct strbuf have = STRBUF_INIT, want = STRBUF_INIT;
    CLEANUP(config_unref) struct config *c = NULL;
    struct kerr err = { 0 };
    char path[512];

    (void)snprintf(path, sizeof path, SOURCE_ROOT "/src/scheduler/config/test/%s.yaml", name);
    if (config_load(&sched_config_spec, path, &c, &err) < 0)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < of(c)->profiles.n; i++)
        put_order(&of(c)->profiles.items[i], &have);
    (void)snprintf(path, sizeof path, SOURCE_ROOT "/src/scheduler/config/test/%s.order", name);
    if (file_read_all(AT_FDCWD, path, 1 << 16, &want, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(strbuf_str(&have), strbuf_str(&want));
    check_round_trip(c);
}

static void test_examples(void **state)
{
    (void)state;
    check_example("koord");
    check_example("packing");
    check_example("minimal");
}

/* ---- reloading ------------------------------------------------------------------------------- */

struct seen {
    unsigned changes, refusals;
    char reason[256];
    int64_t weight;
};

static int on_change(void *arg, struct config *next, struct kerr *err)
{
    struct seen *s = arg;

    (void)err;
    s->changes++;
    s->weight = weight_of(next, "NodeAffinity");
    return 0;
}

static void on_refused(void *arg, const struct kerr *err)
{
    struct seen *s = arg;

    s->refusals++;
    (void)snprintf(s->reason, sizeof s->reason, "%s", err->text);
}

static void test_a_changed_file_is_read_again(void **state)
{
    static const struct config_handler handler = { on_change, on_refused };
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct seen seen = { 0 };
    struct tmpdir dir;
    struct config *c = NULL;
    struct kerr err = { 0 };

    (void)state;
    tmpdir_init(&dir);
    const char *path = tmpdir_write(&dir, "conf", HEAD);
    assert_int_equal(config_load(&sched_config_spec, path, &c, &err), 0);
    struct config_watch *w = config_watch_new(l, c, &handler, &seen);
    config_unref(c);

    tmpdir_write(&dir, "conf", HEAD "parallelism: 16\n"); /* the same in other words */
    config_watch_check(w);
    assert_int_equal(seen.changes, 0);
    tmpdir_write(&dir, "conf", PLUGINS("score: {enabled: [{name: NodeAffinity, weight: 8}]}"));
    config_watch_check(w);
    assert_int_equal(seen.changes, 1);
    assert_int_equal(seen.weight, 8);
    tmpdir_write(&dir, "conf", PLUGINS("score: {enabled: [{name: Nonsense}]}"));
    config_watch_check(w);
    assert_int_equal(seen.refusals, 1);
    assert_contains(seen.reason, "conf: profiles[0].plugins.score.enabled[0]: ScorePlugin "
                                 "\"Nonsense\" does not exist");
    assert_int_equal(weight_of(config_watch_current(w), "NodeAffinity"), 8);
    config_watch_free(w);
    tmpdir_fini(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_file_is_all_defaults),
        cmocka_unit_test(test_the_registry_is_in_order),
        cmocka_unit_test(test_shipped_configuration),
        cmocka_unit_test(test_configuration_of_the_chart),
        cmocka_unit_test(test_a_weight_puts_a_plugin_first),
        cmocka_unit_test(test_all_off_but_one),
        cmocka_unit_test(test_one_off_at_one_point),
        cmocka_unit_test(test_multi_point_over_the_defaults),
        cmocka_unit_test(test_multi_point_all_off),
        cmocka_unit_test(test_a_weight_of_zero_is_one),
        cmocka_unit_test(test_default_pre_bind_comes_last_unless_disabled),
        cmocka_unit_test(test_args_are_completed),
        cmocka_unit_test(test_extenders),
        cmocka_unit_test(test_what_is_written_reads_the_same),
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_a_changed_file_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
