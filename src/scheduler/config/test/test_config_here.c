/* test_config_here.c - profiles made of a configuration, with the plugins that are here. */
#include "base/test/asserts.h"
#include "scheduler/config/config.h"

#include "api/core.h"
#include "loop/loop.h"
#include "scheduler/config/test/config_fixture.h"
#include "scheduler/scheduler.h"
#include "scheduler/test/plugin_fixture.h"

static bool lists(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (streq(*names, name))
            return true;
    return false;
}

static void test_plugins_not_here_are_left_out_and_listed(void **state)
{
    CLEANUP(config_unref)
    struct config *c =
        load(PLUGINS("multiPoint: {enabled: [{name: ElasticQuota}, {name: Coscheduling}]}"));

    (void)state;
    for (const struct ks_registered *r = ks_registry; r->plugin; r++) {
        const char *name = r->plugin->name;
        bool used = r->by_default || streq(name, "ElasticQuota") || streq(name, "Coscheduling") ||
                    streq(name, "DefaultPreBind");
        assert_int_equal(lists(of(c)->not_yet, name), used && !ks_registered_find(name));
    }
    for (int p = 0; p < KS_POINTS; p++)
        for (uint32_t i = 0; i < of(c)->made[0].points[p].n; i++)
            assert_non_null(ks_registered_find(of(c)->made[0].points[p].items[i].plugin));
}

/* Preparations cannot be turned off alone: the filter would read what nobody made. */
static unsigned check_prepared(const struct config *c, enum ks_point point, enum ks_point before)
{
    const struct profile_config *made = of(c)->made;
    unsigned prepared = 0;

    assert_string_equal(order_of(c, before), "");
    for (uint32_t i = 0; i < made->points[point].n; i++) {
        const char *name = made->points[point].items[i].plugin;
        bool found = strstr(names_of(&made->points[before]), name);
        assert_int_equal(found, ks_implements(ks_registered_find(name)->plugin, before));
        prepared += found;
    }
    return prepared;
}

static void test_who_takes_part_is_prepared(void **state)
{
    struct config *c =
        load(PLUGINS("preFilter: {disabled: [{name: '*'}]}, preScore: {disabled: [{name: '*'}]}"));

    (void)state;
    assert_that(check_prepared(c, KS_POINT_FILTER, KS_POINT_PRE_FILTER), >, 0);
    assert_that(check_prepared(c, KS_POINT_SCORE, KS_POINT_PRE_SCORE), >, 0);
    config_unref(c);
    c = load(PLUGINS("preFilter: {disabled: [{name: '*'}]}, filter: {disabled: [{name: '*'}]}"));
    assert_int_equal(of(c)->made->points[KS_POINT_FILTER].n, 0);
    if (of(c)->made->points[KS_POINT_RESERVE].n)
        assert_that(check_prepared(c, KS_POINT_RESERVE, KS_POINT_PRE_FILTER), >, 0);
    config_unref(c);
}

/* What was reserved is settled when the pod is bound, also by a plugin that configurations cannot
 * enable there. */
static void test_who_reserves_hears_of_the_binding(void **state)
{
    static const char *const texts[] = { HEAD, PLUGINS("postBind: {disabled: [{name: '*'}]}") };
    static const char both[] = "VolumeBinding DynamicResources";

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        CLEANUP(config_unref) struct config *c = load(texts[i]);
        assert_string_equal(order_of(c, KS_POINT_POST_BIND), "");
        assert_string_equal(names_of(&of(c)->made->points[KS_POINT_RESERVE]), both);
        assert_string_equal(names_of(&of(c)->made->points[KS_POINT_POST_BIND]), both);
    }
}

static void test_a_profile_always_binds(void **state)
{
    CLEANUP(config_unref)
    struct config *c =
        load(PLUGINS("bind: {disabled: [{name: '*'}], enabled: [{name: Reservation}]}"));

    (void)state;
    assert_string_equal(order_of(c, KS_POINT_BIND), "Reservation");
    assert_string_equal(names_of(&of(c)->made->points[KS_POINT_BIND]),
                        ks_registered_find("Reservation") ? "Reservation" : "DefaultBinder");
}

static void test_profiles_can_be_made(void **state)
{
    CLEANUP(config_unref) struct config *c = load(PLUGINS(""));
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct kerr err = { 0 };

    (void)state;
    struct scheduler_opts o = { .profiles = of(c)->made, .nprofiles = of(c)->profiles.n };
    assert_int_equal(o.nprofiles, 1);
    assert_string_equal(o.profiles->scheduler_name, "default-scheduler");
    struct profile_config only = *o.profiles;
    /* Plugins that need a cluster to be made have tests of their own. */
    for (int p = 0; p < KS_POINTS; p++)
        if (p != KS_POINT_QUEUE_SORT && p != KS_POINT_BIND)
            only.points[p].n = 0;
    CLEANUP(profile_free)
    struct profile *p = profile_new(&only, ks_registry, &(struct ks_env){ .loop = l }, &err);
    if (!p)
        fail_msg("%s", err.text);
    assert_int_equal(p->points[KS_POINT_QUEUE_SORT].n, 1);
}

/* Pods on their way keep the old profile when a new configuration is in force. */
static void test_args_live_as_long_as_the_profile(void **state)
{
    static const char text[] = HEAD
        "profiles:\n- pluginConfig:\n"
        "  - name: PodTopologySpread\n"
        "    args: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone, "
        "whenUnsatisfiable: DoNotSchedule}]}\n"
        "  - name: NodeResourcesFit\n"
        "    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu}]}}\n";
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct config *c = load(text);
    struct kerr err = { 0 };

    fixture_init(&f, state, "NodeResourcesFit", NULL);
    profile_free(f.profile);
    f.profile = profile_new(of(c)->made, ks_registry, &f.env, &err);
    assert_string_equal(err.text, "");
    config_unref(c);
    fixture_node(&f, "{'metadata':{'name':'a'},'status':{'allocatable':{'cpu':'4','pods':'9'}}}");
    fixture_put(&f, &kind_service,
                "{'metadata':{'name':'s','namespace':'ns'},'spec':{'selector':{'app':'x'}}}");
    fixture_try(&f, "{'metadata':{'name':'p','namespace':'ns','uid':'u'},'spec':{'containers':[{"
                    "'name':'c','resources':{'requests':{'cpu':'1'}}}]}}");
    assert_int_equal(fixture_score(&f, "NodeResourcesFit", "a"), 25);
    fixture_try(&f, "{'metadata':{'name':'p','namespace':'ns','uid':'u','labels':{'app':'x'}}}");
    assert_string_equal(fixture_why(&f, "a"), "node(s) didn't match pod topology spread "
                                              "constraints (missing required label)");
}

/* A profile may name a plugin at one point alone: whatever it reads there must be there. */
static void try_alone(void **state, const char *plugin, enum ks_point point)
{
    CLEANUP(config_unref) struct config *c = NULL;
    struct kerr err = { 0 };
    char text[512];
    struct plugin_fixture f;

    (void)snprintf(text, sizeof text,
                   PLUGINS("multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, "
                           "{name: DefaultBinder}]}, %s: {enabled: [{name: %s}]}"),
                   ks_point_names[point], plugin);
    c = load(text);
    fixture_init(&f, state, plugin, NULL);
    profile_free(f.profile);
    f.profile = profile_new(of(c)->made, ks_registry, &f.env, &err);
    assert_string_equal(err.text, "");
    fixture_node(&f, "{'metadata':{'name':'a','labels':{'zone':'z'}},'spec':{'taints':[{'key':'t',"
                     "'effect':'PreferNoSchedule'}]},'status':{'allocatable':{'cpu':'4','memory':"
                     "'4Gi','pods':'9'}}}");
    fixture_node(&f, "{'metadata':{'name':'b'},'status':{'allocatable':{'cpu':'4','pods':'9'}}}");
    fixture_try(
        &f, "{'metadata':{'name':'p','namespace':'ns','uid':'u','labels':{'app':'x'}},'spec':{"
            "'nodeSelector':{'zone':'z'},'containers':[{'name':'c','image':'i','ports':["
            "{'hostPort':80,'containerPort':80}],'resources':{'requests':{'cpu':'1'}}}],"
            "'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'c'}}],'affinity':{"
            "'nodeAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':1,"
            "'preference':{'matchExpressions':[{'key':'zone','operator':'Exists'}]}}]},"
            "'podAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':1,"
            "'podAffinityTerm':{'topologyKey':'zone','labelSelector':{}}}]}},"
            "'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'zone','whenUnsatisfiable':"
            "'ScheduleAnyway','labelSelector':{}},{'maxSkew':1,'topologyKey':'zone',"
            "'whenUnsatisfiable':'DoNotSchedule','labelSelector':{}}]}}");
    fixture_fini_p(&f);
}

static void test_a_plugin_at_one_point_alone(void **state)
{
    unsigned tried = 0;

    for (const struct ks_registered *r = ks_registry; r->plugin; r++) {
        static const enum ks_point points[] = { KS_POINT_FILTER, KS_POINT_SCORE };
        for (size_t i = 0; i < ARRAY_LEN(points); i++)
            if (ks_extends(r->plugin, points[i]) && ks_registered_find(r->plugin->name)) {
                try_alone(state, r->plugin->name, points[i]);
                tried++;
            }
    }
    assert_that(tried, >, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plugins_not_here_are_left_out_and_listed),
        cmocka_unit_test(test_who_takes_part_is_prepared),
        cmocka_unit_test(test_who_reserves_hears_of_the_binding),
        cmocka_unit_test(test_a_profile_always_binds),
        cmocka_unit_test(test_profiles_can_be_made),
        FIXTURE_TEST(test_args_live_as_long_as_the_profile),
        FIXTURE_TEST(test_a_plugin_at_one_point_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
