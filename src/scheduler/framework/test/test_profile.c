/* test_profile.c - the plugins' verdicts, scores and texts, over columns (scheduler-core 5, 8). */
#include "scheduler/test/plugin_fixture.h"

#include "loop/loop.h"

static void run_node(struct plugin_fixture *f, const char *name, const char *alloc,
                     const char *spec)
{
    char text[512];
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s'},'spec':{%s},'status':{'allocatable':{%s}}}", name,
                   spec, alloc);
    fixture_node(f, text);
}

static void run_try(struct plugin_fixture *f, const char *requests, const char *spec)
{
    char text[512];
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{'containers':"
                   "[{'name':'c','resources':{'requests':{%s}}}]%s}}",
                   requests, spec);
    fixture_try(f, text);
}

static void test_least_allocated(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture r;

    fixture_init(&r, state, NULL, NULL);
    run_node(&r, "a", "'cpu':'4','memory':'10000','pods':'9'", "");
    run_node(&r, "b", "'cpu':'6','memory':'10000','pods':'9'", "");
    run_node(&r, "c", "'cpu':'6','pods':'9'", "");
    run_try(&r, "'cpu':'3','memory':'5000'", "");
    assert_int_equal(fixture_score(&r, "NodeResourcesFit", "a"), 37);
    assert_int_equal(fixture_score(&r, "NodeResourcesFit", "b"), 50);
    assert_int_equal(fixture_score(&r, "NodeResourcesFit", "c"), 50); /* memory is left out */
    run_try(&r, "'cpu':'5','memory':'10000'", "");
    assert_int_equal(fixture_score(&r, "NodeResourcesFit", "a"), 0); /* more than there is: 0 */
}

static void test_silent_containers_weigh_something(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture r;

    fixture_init(&r, state, NULL, NULL);
    run_node(&r, "a", "'cpu':'1','memory':'400Mi','pods':'9'", "");
    run_try(&r, "", "");
    assert_int_equal(r.a.pod.requests.mcpu_nz, 100);
    assert_int_equal(r.a.pod.requests.memory_nz, 209715200);
    assert_int_equal(r.a.pod.requests.fixed[KS_MCPU], 0);
    assert_int_equal(fixture_score(&r, "NodeResourcesFit", "a"), (90 + 50) / 2);
    run_try(&r, "'cpu':'0'", "");
    assert_int_equal(r.a.pod.requests.mcpu_nz, 0); /* said so on purpose */
}

static void test_balanced(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture r;

    fixture_init(&r, state, NULL, NULL);
    run_node(&r, "a", "'cpu':'4','memory':'10000','pods':'9'", "");
    run_node(&r, "b", "'cpu':'5','memory':'20000','pods':'9'", "");
    run_node(&r, "c", "'cpu':'3','memory':'100000000','pods':'9'", "");
    run_try(&r, "'cpu':'3','memory':'5000'", "");
    assert_int_equal(fixture_score(&r, "NodeResourcesBalancedAllocation", "a"), 87);
    assert_int_equal(fixture_score(&r, "NodeResourcesBalancedAllocation", "b"), 82);
    assert_int_equal(fixture_score(&r, "NodeResourcesBalancedAllocation", "c"), 50);
}

static void test_taints_are_counted_and_reversed(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture r;

    fixture_init(&r, state, NULL, NULL);
    run_node(&r, "a", "'pods':'9'",
             "'taints':[{'key':'a','effect':'PreferNoSchedule'},"
             "{'key':'b','effect':'PreferNoSchedule'}]");
    run_node(&r, "b", "'pods':'9'", "");
    run_try(&r, "", ",'tolerations':[{'key':'a','operator':'Exists'}]");
    assert_int_equal(fixture_score(&r, "TaintToleration", "a"), 0);
    assert_int_equal(fixture_score(&r, "TaintToleration", "b"), 100);
}

static void test_exists_tolerates_everything(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture r;

    fixture_init(&r, state, NULL, NULL);
    run_node(&r, "a", "'pods':'9'",
             "'unschedulable':true,'taints':[{'key':'x','effect':'NoExecute'}]");
    run_try(&r, "", ",'tolerations':[{'operator':'Exists'}]");
    assert_int_equal(r.a.feasible, 1);
    run_try(&r, "", "");
    assert_int_equal(fixture_code(&r, "a"), KS_UNRESOLVABLE);
    /* The first plugin that says no gives the reason. */
    assert_string_equal(fixture_message(&r),
                        "0/1 nodes are available: 1 node(s) were unschedulable.");
}

static void test_too_small_for_ever_or_just_now(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture r;

    fixture_init(&r, state, NULL, NULL);
    fixture_pod(&r, "{'metadata':{'name':'s','namespace':'ns','uid':'s'},'spec':{'nodeName':'b',"
                    "'containers':[{'name':'c','resources':{'requests':{'cpu':'4'}}}]}}");
    run_node(&r, "a", "'cpu':'4','pods':'9'", "");
    run_node(&r, "b", "'cpu':'8','pods':'9'", "");
    run_node(&r, "c", "'cpu':'8','pods':'0'", "");
    run_try(&r, "'cpu':'5'", "");
    assert_int_equal(fixture_code(&r, "a"), KS_UNRESOLVABLE);
    assert_int_equal(fixture_code(&r, "b"), KS_UNSCHEDULABLE);
    assert_int_equal(fixture_code(&r, "c"), KS_UNSCHEDULABLE);
    assert_string_equal(fixture_message(&r),
                        "0/3 nodes are available: 1 Too many pods, 2 Insufficient cpu.");
}

static void test_absurd_numbers_fit_nowhere(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture r;

    fixture_init(&r, state, NULL, NULL);
    run_node(&r, "a", "'cpu':'9E','memory':'8Ei','pods':'9'", "");
    run_node(&r, "b", "'cpu':'-4','memory':'-1','pods':'-9'", "");
    run_try(&r, "'cpu':'100m','memory':'1Gi'", "");
    assert_int_equal(r.a.feasible, 1);
    assert_int_equal(r.a.by[0], 0);
    assert_in_range(fixture_score(&r, "NodeResourcesFit", "a"), 0, 100);
    run_try(&r, "'memory':'7Ei'", "");
    assert_int_equal(r.a.feasible, 0);
}

static void test_counts_sort_as_text(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture r;
    char name[16];

    fixture_init(&r, state, NULL, NULL);
    for (int i = 0; i < 12; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        run_node(&r, name, i < 10 ? "'pods':'9'" : "'pods':'0','cpu':'1'", "");
    }
    run_try(&r, "'cpu':'1'", "");
    assert_string_equal(fixture_message(&r),
                        "0/12 nodes are available: 10 Insufficient cpu, 2 Too many pods.");
}

static void test_normalize(void **state)
{
    int64_t a[4] = { 1, 2, 3, 4 }, b[4] = { 1, 2, 3, 4 }, c[3] = { 0 }, d[4] = { 1000, 1, 1, 1 };
    const uint8_t all[4] = { 0 }, last[4] = { 0, 0, 0, 1 };

    (void)state;
    ks_normalize(NULL, NULL, all, 4, a);
    assert_memory_equal(a, ((int64_t[]){ 25, 50, 75, 100 }), sizeof a);
    ks_normalize_reversed(NULL, NULL, all, 4, b);
    assert_memory_equal(b, ((int64_t[]){ 75, 50, 25, 0 }), sizeof b);
    ks_normalize_reversed(NULL, NULL, all, 3, c);
    assert_memory_equal(c, ((int64_t[]){ 100, 100, 100 }), sizeof c);
    ks_normalize(NULL, NULL, all, 4, d);
    assert_memory_equal(d, ((int64_t[]){ 100, 0, 0, 0 }), sizeof d);
    int64_t e[4] = { 1, 2, 4, 1000 }; /* who is no candidate has no say */
    ks_normalize(NULL, NULL, last, 4, e);
    assert_memory_equal(e, ((int64_t[]){ 25, 50, 100, 0 }), sizeof e);
}

static void test_ties_are_drawn(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 5);
    CLEANUP(arena_free) struct arena *arena = arena_new();
    uint8_t by[4] = { 0, 1, 0, 0 };
    int64_t total[4] = { 7, 9, 7, 3 };
    struct attempt v = { .n = 4, .feasible = 3, .by = by, .total = total, .arena = arena };
    int hits[4] = { 0 };

    (void)state;
    for (int i = 0; i < 200; i++)
        hits[attempt_pick(&v, l)]++;
    assert_int_equal(hits[1] + hits[3], 0);
    assert_in_range(hits[0], 60, 140);
}

static const struct ks_subject *any_bind(void *self, const struct pod *p)
{
    (void)self, (void)p;
    return &ks_subject_pod;
}

static void test_a_plugin_of_another_build_is_refused(void **state)
{
    static const struct ks_reason reasons[] = { { KS_SUCCESS, "" } };
    struct ks_plugin other = { .abi = 99, .size = sizeof other, .name = "X", .reasons = reasons };
    other.bind = any_bind;
    const struct ks_registered table[] = { { &other, 0, true }, { NULL, 0, false } };
    struct object_fixture *base = *state;
    struct profile_config c = profile_config_default(table, "s", base->arena);
    struct kerr err = { 0 };

    assert_null(profile_new(&c, table, &(struct ks_env){ 0 }, &err));
    assert_string_equal(err.text, "plugin X is built for another interface");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_least_allocated),
        FIXTURE_TEST(test_silent_containers_weigh_something),
        FIXTURE_TEST(test_balanced),
        FIXTURE_TEST(test_taints_are_counted_and_reversed),
        FIXTURE_TEST(test_exists_tolerates_everything),
        FIXTURE_TEST(test_too_small_for_ever_or_just_now),
        FIXTURE_TEST(test_absurd_numbers_fit_nowhere),
        FIXTURE_TEST(test_counts_sort_as_text),
        cmocka_unit_test(test_normalize),
        cmocka_unit_test(test_ties_are_drawn),
        FIXTURE_TEST(test_a_plugin_of_another_build_is_refused),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
