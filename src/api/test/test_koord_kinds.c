/* Koordinator's kinds: every field is decoded and written again; the small helpers. */
#include "base/test/asserts.h"
#include "pairs.h"

#include "api/koord/crds.h"
#include "api/koord/device.h"
#include "api/koord/nodemetric.h"
#include "api/koord/noderesourcetopology.h"
#include "api/koord/nodeslo.h"
#include "api/koord/podgroup.h"
#include "api/koord/podmigrationjob.h"
#include "api/koord/profile.h"
#include "api/koord/quota.h"
#include "api/koord/reservation.h"
#include "base/intern.h"
#include "source_file.h"
#include "json/kj.h"

struct fixture {
    struct intern *strings;
    struct kj_scratch *scratch;
};

static int setup(void **state)
{
    struct fixture *f = xnew0(struct fixture);

    f->strings = intern_new();
    f->scratch = kj_scratch_new(f->strings);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    kj_scratch_free(f->scratch);
    assert_int_equal(intern_count(f->strings), 0); /* no object kept a string */
    intern_free(f->strings);
    free(f);
    return 0;
}

static struct kobj *decode(struct fixture *f, const struct kind *k, const char *json)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };
    struct kobj *o = NULL;

    if (kj_parse(json, strlen(json), 0, &doc, &err) < 0 ||
        kobj_decode(k, kj_root(doc), f->scratch, &o, &err) < 0)
        fail_msg("%s: %s", k->kind, err.text);
    return o;
}

/* Members that are null are the same as none. */
static void drop_nulls(struct kj_mval *v)
{
    struct kj_miter it;
    struct kj_mval *item;
    struct str key, null_key = { 0 };

    do {
        null_key.p = NULL;
        for (it = kj_miter(v); kj_mnext(&it, &key, &item);) {
            if (it.is_obj && kj_mtype(item) == KJ_NULL)
                null_key = key;
            else
                drop_nulls(item);
        }
    } while (null_key.p && kj_mdel(v, null_key.p, null_key.n));
}

static void check_round_trip(struct fixture *f, const struct kind *k, const char *file)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL, *again = NULL, *want = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *edit = kj_mdoc_new();
    CLEANUP(mem_free) char *text = source_file(file);
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kerr err = { 0 };
    char api_version[128];

    assert_int_equal(kj_parse(text, strlen(text), 0, &doc, &err), 0);
    kind_api_version(k, api_version, sizeof api_version);
    assert_string_equal(kj_str(kj_get(kj_root(doc), "apiVersion")), api_version);
    assert_string_equal(kj_str(kj_get(kj_root(doc), "kind")), k->kind);

    CLEANUP(kobj_unref) struct kobj *o = decode(f, k, text);
    kj_encode(k->schema, o, &out);
    assert_int_equal(kj_parse(out.data, out.len, 0, &again, &err), 0);
    struct kj_mval *root = kj_mcopy(edit, kj_root(doc));
    kj_mdel(root, "apiVersion", 10);
    kj_mdel(root, "kind", 4);
    drop_nulls(root);
    want = kj_freeze(root);
    if (!kj_equal(kj_root(want), kj_root(again)))
        fail_msg("%s comes back as %s", file, strbuf_str(&out));
}

static void test_every_field_survives(void **state)
{
    char file[160];

    for (size_t i = 0; crd_at(i); i++) {
        const struct kind_crd *c = crd_at(i);
        for (size_t v = 0; v < 2 && c->versions[v].kind; v++) {
            const struct kind *k = c->versions[v].kind;
            size_t n = (size_t)snprintf(file, sizeof file, "src/api/test/objects/%s%s%s.json",
                                        k->kind, v ? "_" : "", v ? k->version : "");
            for (size_t j = strlen("src/api/test/objects/"); j < n; j++)
                if (file[j] >= 'A' && file[j] <= 'Z')
                    file[j] = (char)(file[j] | 0x20);
            check_round_trip(*state, k, file);
            assert_ptr_equal(kind_find_gvk(k->group, k->version, k->kind), k);
        }
    }
}

static void test_absent_is_not_zero(void **state)
{
    CLEANUP(kobj_unref)
    struct kobj *o =
        decode(*state, &kind_nodeslo,
               "{\"spec\":{\"resourceQOSStrategy\":{\"beClass\":{\"networkQOS\":"
               "{\"ingressLimit\":0,\"egressLimit\":\"50M\"}}},\"cpuBurstStrategy\":"
               "{\"cfsQuotaBurstPeriodSeconds\":-1,\"sharePoolThresholdPercent\":0}}}");
    const struct nodeslo *s = nodeslo_of(o);
    const struct network_qos *n = s->spec.resource_qos->be->network;

    assert_null(s->spec.threshold);
    assert_null(s->spec.resource_qos->ls);
    assert_null(n->ingress_request);
    assert_int_equal(n->ingress_limit->i, 0);
    assert_null(n->ingress_limit->s);
    assert_string_equal(n->egress_limit->s, "50M");
    assert_false(s->spec.cpu_burst->config.cpu_burst_percent.set);
    assert_int_equal(s->spec.cpu_burst->config.cfs_quota_burst_period_seconds.v, -1);
    assert_true(s->spec.cpu_burst->share_pool_threshold_percent.set);
    assert_string_equal(s->spec.cpu_burst->config.policy, "");
}

static void test_bandwidth_is_always_written(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)state;
    kj_encode(&system_strategy_schema, &(struct system_strategy){ 0 }, &b);
    assert_string_equal(strbuf_str(&b), "{\"totalNetworkBandwidth\":\"0\"}");
}

static void test_defaults_of_the_tables(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct network_qos n = { 0 };
    struct reservation r = { 0 };

    (void)state;
    kj_default(&network_qos_schema, a, &n);
    assert_int_equal(n.ingress_request->i, 0);
    assert_int_equal(n.egress_limit->i, 100);
    r.spec.pre_allocation_policy = arena_new0(a, struct pre_allocation_policy);
    kj_default(&reservation_schema, a, &r);
    assert_int_equal(r.spec.ttl_ns.v, 24 * 3600 * NSEC_PER_SEC);
    assert_true(r.spec.allocate_once.v);
    assert_int_equal(r.spec.pre_allocation_policy->mode, PRE_ALLOCATION_DEFAULT);
    assert_int_equal(r.status.phase, RESERVATION_PENDING);
}

static void test_limits_of_the_tables(void **state)
{
    struct cpu_burst_strategy burst = { .config.cpu_burst_percent = { true, 10001 } };
    struct memory_qos memory = { .wmark_scale_permill = { true, 0 } };
    struct kerr err = { 0 };

    (void)state;
    assert_that(kj_validate(&cpu_burst_strategy_schema, &burst, &err), <, 0);
    assert_contains(err.text, "cpuBurstPercent");
    burst.config.cpu_burst_percent.v = 0;
    assert_int_equal(kj_validate(&cpu_burst_strategy_schema, &burst, &err), 0);
    assert_that(kj_validate(&memory_qos_schema, &memory, &err), <, 0);
}

static void test_reservation_template_is_decoded_on_demand(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kobj_unref)
    struct kobj *good =
        decode(*state, &kind_reservation,
               "{\"spec\":{\"template\":{\"metadata\":{\"namespace\":\"ns\"},\"spec\":{"
               "\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\"}]}}}}");
    CLEANUP(kobj_unref)
    struct kobj *bad =
        decode(*state, &kind_reservation, "{\"spec\":{\"template\":{\"spec\":\"?\"}}}");
    CLEANUP(kobj_unref) struct kobj *none = decode(*state, &kind_reservation, "{}");
    struct pod_template t;
    struct kerr err = { 0 };

    assert_int_equal(reservation_template(reservation_of(good), a, &t, &err), 0);
    assert_string_equal(t.spec.node_name, "n1");
    assert_string_equal(t.meta.ns, "ns");
    assert_that(reservation_template(reservation_of(bad), a, &t, &err), <, 0);
    assert_int_equal(strncmp(err.text, "spec.template: ", 15), 0);
    assert_that(reservation_template(reservation_of(bad), a, &t, NULL), <, 0);
    assert_int_equal(reservation_template(reservation_of(none), a, &t, &err), -ENOENT);
}

static void test_node_metric_lookups(void **state)
{
    CLEANUP(kobj_unref)
    struct kobj *o =
        decode(*state, &kind_nodemetric,
               "{\"status\":{\"nodeMetric\":{\"aggregatedNodeUsages\":[{\"usage\":{\"p95\":"
               "{\"resources\":{\"cpu\":\"3200m\"}}},\"duration\":\"5m0s\"}]}}}");
    const struct node_metric_info *m = nodemetric_of(o)->status.node_metric;
    const struct aggregated_usage *u =
        aggregated_usage_find(&m->aggregated_node_usages, 300 * NSEC_PER_SEC);

    assert_non_null(u);
    assert_null(aggregated_usage_find(&m->aggregated_node_usages, NSEC_PER_SEC));
    assert_int_equal(
        qty_milli(reslist_get(&aggregated_usage_get(u, AGGREGATE_P95)->resources, "cpu")), 3200);
    assert_null(aggregated_usage_get(u, AGGREGATE_P50));
    assert_int_equal(nodemetric_of(o)->status.update_time, 0);
}

static void test_profile_probability(void **state)
{
    static const struct {
        const char *spec;
        int r;
        int32_t percent;
    } cases[] = {
        { "{}", 0, 100 },
        { "{\"probability\":0}", 0, 0 },
        { "{\"probability\":50}", 0, 50 },
        { "{\"probability\":\"30%\"}", 0, 30 },
        { "{\"probability\":\"30\"}", -EINVAL, 0 },
        { "{\"probability\":\"%\"}", -EINVAL, 0 },
        { "{\"probability\":\"\"}", -EINVAL, 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        int32_t percent = 0;

        strbuf_appendf(&b, "{\"spec\":%s}", cases[i].spec);
        CLEANUP(kobj_unref) struct kobj *o = decode(*state, &kind_colocation_profile, b.data);
        assert_int_equal(
            colocation_profile_percent(colocation_profile_of(o), &percent, &(struct kerr){ 0 }),
            cases[i].r);
        assert_int_equal(percent, cases[i].percent);
    }
}

static void test_zones_are_numa_nodes(void **state)
{
    static const struct {
        const char *name, *type;
        int numa;
    } cases[] = {
        { "node-0", "Node", 0 },  { "node-12", "Node", 12 }, { "node-", "Node", -1 },
        { "node-x", "Node", -1 }, { "core-1", "Node", -1 },  { "node-1", "Core", -1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(
            nrt_zone_numa(&(struct nrt_zone){ .name = cases[i].name, .type = cases[i].type }),
            cases[i].numa);
}

static void test_unknown_phase_is_not_an_error(void **state)
{
    CLEANUP(kobj_unref)
    struct kobj *o = decode(*state, &kind_podgroup,
                            "{\"status\":{\"phase\":"
                            "\"Dreaming\"}}");

    assert_int_equal(podgroup_of(o)->status.phase, PODGROUP_PHASE_NONE);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_field_survives, setup, teardown),
        cmocka_unit_test_setup_teardown(test_absent_is_not_zero, setup, teardown),
        cmocka_unit_test(test_bandwidth_is_always_written),
        cmocka_unit_test(test_defaults_of_the_tables),
        cmocka_unit_test(test_limits_of_the_tables),
        cmocka_unit_test_setup_teardown(test_reservation_template_is_decoded_on_demand, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_node_metric_lookups, setup, teardown),
        cmocka_unit_test_setup_teardown(test_profile_probability, setup, teardown),
        cmocka_unit_test(test_zones_are_numa_nodes),
        cmocka_unit_test_setup_teardown(test_unknown_phase_is_not_an_error, setup, teardown),
    };
    RUN_TESTS(tests);
}
