/* test_manager_quota.c - quotas beside each other: what was accepted counts at once, and not for
 * ever (sched-quota 19). */
#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/protocol/quota.h"
#include "base/intern.h"
#include "manager/quota/selfcheck.h"
#include "manager/quota/topology.h"
#include "json/kj.h"

struct quota_case {
    struct arena *arena;
    struct quota_topology *topology;
};

static void begin(struct quota_case *x, bool guarantee)
{
    x->arena = arena_new();
    x->topology = topology_new(&(struct topology_gates){ .guarantee = guarantee },
                               &(struct topology_pods){ 0 });
}

static void end(struct quota_case *x)
{
    topology_free(x->topology);
    arena_free(x->arena);
}

/* ' stands for ". */
static const struct elasticquota *quota(struct quota_case *x, const char *text)
{
    struct elasticquota *q = arena_new0(x->arena, struct elasticquota);
    char *json = arena_strdup(x->arena, text);
    struct kerr err = { 0 };

    for (char *p = json; *p; p++)
        if (*p == '\'')
            *p = '"';
    if (kj_decode_text(&elasticquota_schema, json, strlen(json), 0, x->arena, q, &err) < 0)
        fail_msg("%s", err.text);
    return q;
}

#define P "quota.scheduling.koordinator.sh/"
#define PARENT                              \
    "{'metadata':{'name':'p','labels':{'" P \
    "is-parent':'true'}},'spec':{'min':{'cpu':'10'},'max':{'cpu':'20'}}}"
#define CHILD(n)                                                                     \
    "{'metadata':{'name':'c','labels':{'" P "parent':'p'}},'spec':{'min':{'cpu':'" n \
    "'},'max':{'cpu':'20'}}}"

static const char *create(struct quota_case *x, const char *text)
{
    return topology_create(x->topology, quota(x, text), 10, x->arena);
}

static void test_what_was_accepted_counts_at_once(void **state)
{
    struct quota_case x;

    (void)state;
    begin(&x, false);
    assert_string_equal(create(&x, CHILD("5")),
                        "c has parentName p but not find parentInfo in quotaInfoMap");
    assert_null(create(&x, PARENT));
    assert_null(create(&x, CHILD("10")));
    assert_string_equal(create(&x, CHILD("10")), "AddQuota quota already exist:c");
    assert_string_equal(topology_delete(x.topology, "p", x.arena),
                        "delete quota failed, quota p has 1 child quotas");
    end(&x);
}

/* The write failed in the end, or another webhook refused it. */
static void test_what_nobody_confirms_is_forgotten(void **state)
{
    struct quota_case x;

    (void)state;
    begin(&x, false);
    assert_null(create(&x, PARENT));
    topology_expire(x.topology, 9);
    assert_non_null(topology_find(x.topology, "p"));
    topology_expire(x.topology, 10);
    assert_null(topology_find(x.topology, "p"));
    end(&x);
}

static void test_mins_of_children_fit_into_the_parent(void **state)
{
    struct quota_case x;

    (void)state;
    begin(&x, false);
    assert_null(create(&x, PARENT));
    assert_string_equal(create(&x, CHILD("16")),
                        "checkMinQuotaSum all brothers' MinQuota > parent MinQuota, parent: p");
    end(&x);
}

#define GUARANTEED(n) "'annotations':{'" P "guaranteed':'{\\u0022cpu\\u0022:\\u0022" n "\\u0022}'}"
#define TREE          "'" P "tree-id':'t'"

static void test_guarantees_are_kept(void **state)
{
    struct quota_case x;

    (void)state;
    begin(&x, true);
    assert_null(create(&x, "{'metadata':{'name':'p','labels':{'" P "is-parent':'true','" P
                           "is-root':'true'," TREE
                           "}," GUARANTEED("10") "},'spec':{'min':{"
                                                 "'cpu':'10'},'max':{'cpu':'20'}}}"));
    assert_null(create(&x, "{'metadata':{'name':'s','labels':{'" P "parent':'p'," TREE
                           "}," GUARANTEED("3") "},'spec':{'max':{'cpu':'20'}}}"));
    assert_string_equal(create(&x, "{'metadata':{'name':'c','labels':{'" P "parent':'p'," TREE
                                   "}," GUARANTEED("6") "},'spec':{'min':{'cpu':'8'},'max':{"
                                                        "'cpu':'20'}}}"),
                        "tree root quota p can't guarantee for min c");
    assert_null(create(&x,
                       "{'metadata':{'name':'c','labels':{'" P "parent':'p'," TREE
                       "}," GUARANTEED("6") "},'spec':{'min':{'cpu':'7'},'max':{'cpu':'20'}}}"));
    end(&x);
}

static void test_strict_keys(void **state)
{
    struct quota_case x;

    (void)state;
    begin(&x, false);
    assert_string_equal(
        selfcheck(quota(&x, "{'metadata':{'name':'temp','annotations':{'" P
                            "max-strict-check-resource-keys':'[\\u0022memory\\u0022]'}},'spec':{"
                            "'max':{'memory':'1048576'}},'status':{'used':{'memory':'10485760'}}}"),
                  x.arena),
        "resourceKey memory of quota temp max 1048576 < used 10485760");
    end(&x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_accepted_counts_at_once),
        cmocka_unit_test(test_what_nobody_confirms_is_forgotten),
        cmocka_unit_test(test_mins_of_children_fit_into_the_parent),
        cmocka_unit_test(test_guarantees_are_kept),
        cmocka_unit_test(test_strict_keys),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
