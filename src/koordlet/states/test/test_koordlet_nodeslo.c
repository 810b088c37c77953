/* test_koordlet_nodeslo.c - NodeSLO over its defaults (api-config 1.1 and 2). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/arena.h"
#include "koordlet/states/nodeslo.h"
#include "json/kj.h"

struct merged {
    struct arena *arena;
    struct nodeslo_spec spec;
    struct kerr why[NODESLO_SECTIONS];
    unsigned refused;
};

static void merged_fini_p(struct merged *m)
{
    arena_free(m->arena);
}

/* Single quotes in the text stand for double ones. */
static struct merged merge(const char *text, const struct nodeslo_spec *previous)
{
    struct merged m = { .arena = arena_new() };
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(mem_free) char *json = xstrdup(text);
    struct kerr err = { 0 };

    for (char *c = json; *c; c++)
        if (*c == '\'')
            *c = '"';
    assert_int_equal(kj_parse(json, strlen(json), 0, &doc, &err), 0);
    m.refused = nodeslo_merge(kj_root(doc), previous, m.arena, &m.spec, m.why);
    return m;
}
#define MERGED CLEANUP(merged_fini) struct merged

static void test_an_empty_spec_is_the_default_switched_off(void **state)
{
    MERGED m = merge("{}", NULL);
    const struct nodeslo_spec *s = &m.spec;

    (void)state;
    assert_int_equal(m.refused, 0);
    assert_true(s->threshold->enable.set && !s->threshold->enable.v);
    assert_int_equal(s->threshold->cpu_suppress_threshold_percent.v, 65);
    assert_string_equal(s->threshold->cpu_suppress_policy, "cpuset");
    assert_int_equal(s->threshold->memory_evict_threshold_percent.v, 70);
    assert_string_equal(s->threshold->cpu_evict_policy, "evictByRealLimit");
    assert_false(s->threshold->memory_evict_lower_percent.set);
    assert_string_equal(s->cpu_burst->config.policy, "none");
    assert_int_equal(s->cpu_burst->config.cpu_burst_percent.v, 1000);
    assert_int_equal(s->cpu_burst->config.cfs_quota_burst_percent.v, 300);
    assert_int_equal(s->cpu_burst->config.cfs_quota_burst_period_seconds.v, -1);
    assert_int_equal(s->cpu_burst->share_pool_threshold_percent.v, 50);
    assert_int_equal(qty_value(s->system->total_network_bandwidth), 0);
    assert_string_equal(s->resource_qos->policies->cpu_policy, "groupIdentity");
    assert_string_equal(s->resource_qos->policies->net_policy, "tc");
    /* Switched off: the none set for LSR, LS, BE; SYSTEM keeps its own. */
    assert_int_equal(s->resource_qos->be->cpu->group_identity.v, 0);
    assert_int_equal(s->resource_qos->ls->memory->wmark_ratio.v, 0);
    assert_int_equal(s->resource_qos->be->resctrl->cat_range_end_percent.v, 100);
    assert_int_equal(s->resource_qos->system->memory->wmark_scale_permill.v, 50);
    assert_int_equal(s->resource_qos->ls->network->ingress_limit->i, 0);
    assert_false(s->resource_qos->cgroup_root->blkio->enable.v);
    assert_null(s->resource_qos->cgroup_root->cpu);
    assert_int_equal(s->host_applications.n, 0);
}

static void test_defaults_alone_are_not_switched_off(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct nodeslo_spec d;

    (void)state;
    nodeslo_defaults(a, &d);
    const struct resource_qos_strategy *q = d.resource_qos;
    assert_int_equal(q->lsr->cpu->group_identity.v, 2);
    assert_int_equal(q->be->cpu->group_identity.v, -1);
    assert_int_equal(q->system->cpu->group_identity.v, 0);
    assert_true(q->ls->cpu->core_expeller.v);
    assert_false(q->be->cpu->core_expeller.v);
    assert_int_equal(q->be->resctrl->cat_range_end_percent.v, 30);
    assert_int_equal(q->lsr->memory->wmark_min_adj.v, -25);
    assert_int_equal(q->be->memory->wmark_min_adj.v, 50);
    assert_int_equal(q->system->memory->wmark_ratio.v, 0);
    assert_false(q->be->memory->page_cache_enable.set);
    assert_int_equal(q->be->blkio->blocks.n, 0);
}

static void test_must_holds_of_the_classes(void **state)
{
    (void)state;
    MERGED on = merge("{'resourceQOSStrategy':{'beClass':{'cpuQOS':{'enable':true}},"
                      "'lsClass':{'memoryQOS':{'enable':true,'wmarkRatio':90}},"
                      "'systemClass':{'cpuQOS':{'enable':false,'groupIdentity':1}}}}",
                      NULL);
    const struct resource_qos_strategy *q = on.spec.resource_qos;
    assert_int_equal(q->be->cpu->group_identity.v, -1);
    assert_int_equal(q->ls->memory->wmark_ratio.v, 90);
    assert_int_equal(q->ls->memory->wmark_scale_permill.v, 20);
    assert_int_equal(q->ls->memory->wmark_min_adj.v, -25);
    assert_int_equal(q->system->cpu->group_identity.v, 1);

    MERGED off =
        merge("{'resourceQOSStrategy':{'beClass':{'cpuQOS':{'enable':false,'groupIdentity':2},"
              "'memoryQOS':{'enable':false,'pageCacheEnable':true,'wmarkRatio':80}}}}",
              NULL);
    assert_int_equal(off.spec.resource_qos->be->cpu->group_identity.v, 0);
    assert_false(off.spec.resource_qos->be->memory->page_cache_enable.set);
    assert_int_equal(off.spec.resource_qos->be->memory->wmark_ratio.v, 0);
}

static void test_null_and_empty_text_count_as_absent(void **state)
{
    (void)state;
    MERGED m = merge("{'resourceUsedThresholdWithBE':{'enable':true,'cpuSuppressPolicy':'',"
                     "'memoryEvictThresholdPercent':null},'cpuBurstStrategy':null}",
                     NULL);
    assert_int_equal(m.refused, 0);
    assert_true(m.spec.threshold->enable.v);
    assert_string_equal(m.spec.threshold->cpu_suppress_policy, "cpuset");
    assert_int_equal(m.spec.threshold->memory_evict_threshold_percent.v, 70);
    assert_string_equal(m.spec.cpu_burst->config.policy, "none");
}

static void test_lists_have_the_length_of_the_newer(void **state)
{
    (void)state;
    MERGED m = merge("{'resourceQOSStrategy':{'beClass':{'blkioQOS':{'enable':true,'blocks':["
                     "{'name':'vda','type':'device','ioCfg':{'readIOPS':100}},"
                     "{'name':'vg0','type':'volumegroup'}]}}},"
                     "'systemStrategy':{'schedFeatures':{'ID_EXPELLER':true},"
                     "'totalNetworkBandwidth':'1000M'},"
                     "'hostApplications':[{'name':'nginx','qos':'LS','cgroupPath':"
                     "{'base':'CgroupRoot','parentDir':'a/','relativePath':'b/'}}]}",
                     NULL);
    assert_int_equal(m.refused, 0);
    const struct blkio_qos *b = m.spec.resource_qos->be->blkio;
    assert_int_equal(b->blocks.n, 2);
    assert_int_equal(b->blocks.items[0].io.read_iops.v, 100);
    assert_string_equal(b->blocks.items[1].type, "volumegroup");
    assert_int_equal(m.spec.system->sched_features.n, 1);
    assert_int_equal(qty_value(m.spec.system->total_network_bandwidth), 1000000000);
    assert_int_equal(m.spec.host_applications.n, 1);
    assert_string_equal(m.spec.host_applications.items[0].cgroup_path->parent_dir, "a/");
}

static void test_a_bad_part_does_not_stop_the_others(void **state)
{
    static const struct {
        enum nodeslo_section part;
        const char *text;
    } cases[] = {
        { NODESLO_THRESHOLD, "'resourceUsedThresholdWithBE':{'cpuSuppressThresholdPercent':'x'}" },
        { NODESLO_THRESHOLD, "'resourceUsedThresholdWithBE':{'cpuSuppressThresholdPercent':101}" },
        { NODESLO_THRESHOLD, "'resourceUsedThresholdWithBE':{'cpuSuppressThresholdPercent':''}" },
        { NODESLO_THRESHOLD, "'resourceUsedThresholdWithBE':7" },
        { NODESLO_THRESHOLD, "'resourceUsedThresholdWithBE':''" },
        { NODESLO_THRESHOLD, "'resourceUsedThresholdWithBE':[]" },
        { NODESLO_QOS, "'resourceQOSStrategy':{'beClass':3}" },
        { NODESLO_QOS, "'resourceQOSStrategy':{'beClass':{'memoryQOS':{'wmarkMinAdj':-26}}}" },
        { NODESLO_QOS, "'resourceQOSStrategy':{'beClass':{'blkioQOS':{'blocks':{}}}}" },
        { NODESLO_BURST, "'cpuBurstStrategy':{'cpuBurstPercent':10001}" },
        { NODESLO_SYSTEM, "'systemStrategy':{'totalNetworkBandwidth':'many'}" },
        { NODESLO_HOST_APPS, "'hostApplications':{'name':'x'}" },
        { NODESLO_HOST_APPS, "'hostApplications':[{'qos':'LS'}]" },
        { NODESLO_HOST_APPS, "'hostApplications':[1]" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        /* The good part comes along with each bad one. */
        bool burst = cases[i].part == NODESLO_BURST;
        CLEANUP(mem_free)
        char *text = xasprintf("{%s,%s}", cases[i].text,
                               burst ? "'systemStrategy':{'watermarkScaleFactor':20}"
                                     : "'cpuBurstStrategy':{'policy':'auto'}");
        MERGED m = merge(text, NULL);
        assert_int_equal(m.refused, 1);
        assert_int_not_equal(m.why[cases[i].part].code, 0);
        assert_int_not_equal(strlen(m.why[cases[i].part].text), 0);
        if (burst)
            assert_int_equal(m.spec.system->watermark_scale_factor.v, 20);
        else
            assert_string_equal(m.spec.cpu_burst->config.policy, "auto");
        /* The refused one is the default. */
        assert_int_equal(m.spec.threshold->cpu_suppress_threshold_percent.v, 65);
        assert_int_equal(m.spec.cpu_burst->config.cpu_burst_percent.v, 1000);
        assert_non_null(m.spec.resource_qos->be->memory);
        assert_non_null(m.spec.system);
        assert_int_equal(m.spec.host_applications.n, 0);
    }
}

static void test_a_bad_part_keeps_its_last_good_value(void **state)
{
    (void)state;
    struct merged first =
        merge("{'resourceUsedThresholdWithBE':{'enable':true,'cpuSuppressThresholdPercent':40},"
              "'resourceQOSStrategy':{'beClass':{'cpuQOS':{'enable':true}}},"
              "'hostApplications':[{'name':'nginx','cgroupPath':{'base':'Kubepods'}}]}",
              NULL);
    MERGED m = merge("{'resourceUsedThresholdWithBE':{'enable':'yes'},'resourceQOSStrategy':'no',"
                     "'hostApplications':'none'}",
                     &first.spec);
    arena_free(first.arena); /* nothing is borrowed from it */
    assert_int_equal(m.refused, 3);
    assert_int_equal(m.spec.threshold->cpu_suppress_threshold_percent.v, 40);
    assert_int_equal(m.spec.resource_qos->be->cpu->group_identity.v, -1);
    assert_string_equal(m.spec.host_applications.items[0].name, "nginx");
    assert_string_equal(m.spec.host_applications.items[0].cgroup_path->base, "Kubepods");
}

static void test_a_spec_that_is_no_object_is_the_default(void **state)
{
    (void)state;
    MERGED m = merge("[1,2]", NULL);
    assert_int_equal(m.refused, 0);
    assert_int_equal(m.spec.threshold->cpu_suppress_threshold_percent.v, 65);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_spec_is_the_default_switched_off),
        cmocka_unit_test(test_defaults_alone_are_not_switched_off),
        cmocka_unit_test(test_must_holds_of_the_classes),
        cmocka_unit_test(test_null_and_empty_text_count_as_absent),
        cmocka_unit_test(test_lists_have_the_length_of_the_newer),
        cmocka_unit_test(test_a_bad_part_does_not_stop_the_others),
        cmocka_unit_test(test_a_bad_part_keeps_its_last_good_value),
        cmocka_unit_test(test_a_spec_that_is_no_object_is_the_default),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
