/* test_forest.c - the tree: sums, runtimes, pods that move, bad input (sched-quota 'Must hold'). */
#include "quota_fixture.h"

static const struct quota_options usual = { .scale_min = true };

#define RUNTIME(q) amount(&x, q, QUOTA_RUNTIME)
#define REQUEST(q) amount(&x, q, QUOTA_REQUEST)
#define USED(q)    amount(&x, q, QUOTA_USED)

static void test_requests_are_limited_on_their_way_up(void **state)
{
    struct quota_fixture x;

    (void)state;
    fixture_begin(&x, usual);
    add_total(&x, 300);
    put(&x, "parent", "'is-parent':'true'", 600, 100);
    put(&x, "child", "'parent':'parent'", 500, 100);
    put_pod(&x, 1, "child", 1050, false);
    assert_int_equal(REQUEST("child"), 1050);
    assert_int_equal(REQUEST("parent"), 500);
    assert_int_equal(RUNTIME("parent"), 300);
    assert_int_equal(RUNTIME("child"), 300);
    forest_remove_pod(x.forest, pod_uid(1));
    assert_int_equal(REQUEST("parent"), 0);
    assert_int_equal(RUNTIME("child"), 0);
    fixture_end(&x);
}

static void test_who_does_not_lend_asks_for_min(void **state)
{
    struct quota_fixture x;

    (void)state;
    fixture_begin(&x, usual);
    add_total(&x, 100);
    put(&x, "q1", "'allow-lent-resource':'false','is-parent':'true'", 40, 20);
    put(&x, "q2", "'allow-lent-resource':'false','parent':'q1'", 40, 10);
    put(&x, "q3", "'allow-lent-resource':'false','parent':'q1'", 40, 5);
    assert_int_equal(amount(&x, "q1", QUOTA_CHILD_REQUEST), 15);
    assert_int_equal(REQUEST("q1"), 20);
    put_pod(&x, 1, "q2", 5, false);
    assert_int_equal(amount(&x, "q2", QUOTA_CHILD_REQUEST), 5);
    assert_int_equal(REQUEST("q2"), 10);
    put_pod(&x, 2, "q2", 20, false);
    assert_int_equal(REQUEST("q2"), 25);
    assert_int_equal(REQUEST("q1"), 30);
    fixture_end(&x);
}

static void test_guarantees_follow_use(void **state)
{
    struct quota_fixture x;

    (void)state;
    fixture_begin(&x, (struct quota_options){ .scale_min = true, .guarantee = true });
    add_total(&x, 100);
    put(&x, "q1", "'is-parent':'true'", 40, 20);
    put(&x, "q2", "'parent':'q1'", 40, 10);
    put(&x, "q3", "'parent':'q1'", 40, 5);
    put_pod(&x, 1, "q2", 5, true);
    assert_int_equal(amount(&x, "q2", QUOTA_GUARANTEED), 10);
    assert_int_equal(amount(&x, "q1", QUOTA_ALLOCATED), 15);
    assert_int_equal(amount(&x, "q1", QUOTA_GUARANTEED), 20);
    put_pod(&x, 2, "q2", 20, true);
    assert_int_equal(amount(&x, "q2", QUOTA_ALLOCATED), 25);
    assert_int_equal(amount(&x, "q1", QUOTA_GUARANTEED), 30);
    forest_remove_pod(x.forest, pod_uid(2));
    put(&x, "q2", "'parent':'q1'", 40, 20);
    assert_int_equal(amount(&x, "q2", QUOTA_GUARANTEED), 20);
    assert_int_equal(amount(&x, "q1", QUOTA_ALLOCATED), 25);
    fixture_end(&x);
}

static void test_mins_shrink_with_the_cluster(void **state)
{
    struct quota_fixture x;

    (void)state;
    fixture_begin(&x, usual);
    add_total(&x, 200000);
    put(&x, "p", "'is-parent':'true'", 600000, 300000);
    put(&x, "a", "'parent':'p'", 600000, 100000);
    put(&x, "b", "'parent':'p'", 600000, 100000);
    put(&x, "c", "'parent':'p'", 600000, 100000);
    put_pod(&x, 1, "a", 200000, false);
    put_pod(&x, 2, "b", 200000, false);
    put_pod(&x, 3, "c", 200000, false);
    assert_int_equal(amount(&x, "p", QUOTA_SCALED_MIN), 200000);
    assert_int_equal(amount(&x, "b", QUOTA_SCALED_MIN), 66666);
    assert_int_equal(RUNTIME("a"), 66667);
    assert_int_equal(RUNTIME("b"), 66667);
    assert_int_equal(RUNTIME("c"), 66666);
    add_total(&x, 400000);
    assert_int_equal(amount(&x, "b", QUOTA_SCALED_MIN), 100000);
    assert_int_equal(RUNTIME("p"), 600000);
    assert_int_equal(RUNTIME("c"), 200000);
    fixture_end(&x);
}

static void test_a_quota_moves_with_all_it_has(void **state)
{
    struct quota_fixture x;

    (void)state;
    fixture_begin(&x, usual);
    add_total(&x, 1000);
    put(&x, "test1", "'is-parent':'true'", 200, 100);
    put(&x, "test1-a", "'is-parent':'true','parent':'test1'", 200, 100);
    put(&x, "test2", "'is-parent':'true'", 200, 100);
    put(&x, "test2-a", "'parent':'test2'", 200, 100);
    put(&x, "a-123", "'parent':'test1-a'", 200, 0);
    put_pod(&x, 1, "a-123", 100, true);
    put_pod(&x, 2, "test2-a", 40, true);
    assert_int_equal(USED("test1"), 100);
    put(&x, "a-123", "'parent':'test2'", 200, 0);
    assert_int_equal(USED("test1"), 0);
    assert_int_equal(REQUEST("test1-a"), 0);
    assert_int_equal(RUNTIME("test1"), 0);
    assert_int_equal(USED("test2"), 140);
    assert_int_equal(RUNTIME("test2"), 140);
    assert_int_equal(RUNTIME("a-123"), 100);
    fixture_end(&x);
}

static void test_what_the_system_uses_is_not_shared(void **state)
{
    struct quota_fixture x;
    struct quota *root;
    bool known;

    (void)state;
    fixture_begin(&x, usual);
    add_total(&x, 540);
    put(&x, "a", "", 1000, 0);
    CLEANUP(kobj_unref)
    struct kobj *o =
        quota_object(&x, QUOTA_SYSTEM_NAME, "", "", "'cpu':'9999','memory':'9999'", "");
    struct kerr err = { 0 };
    assert_int_equal(forest_put(x.forest, elasticquota_of(o), &err), 0);
    put_pod(&x, 1, QUOTA_SYSTEM_NAME, 30, true);
    put_pod(&x, 2, "a", 5, true);
    root = forest_find(x.forest, QUOTA_ROOT_NAME);
    int c = quota_columns_find(forest_columns(x.forest), "memory");
    assert_int_equal(quota_total(x.forest, root, (uint64_t)c, &known), 510);
    assert_int_equal(REQUEST(QUOTA_ROOT_NAME), 35);
    fixture_end(&x);
}

/* ---- pods and their quotas ------------------------------------------------------------------- */

static const char *home(struct quota_fixture *x, unsigned pod)
{
    struct quota *q = forest_charged(x->forest, pod_uid(pod));

    return q ? quota_name(q) : "";
}

static void test_pods_find_their_quota(void **state)
{
    struct quota_fixture x;
    struct kerr err = { 0 };
    const char *max = "'memory':'100'";

    (void)state;
    fixture_begin(&x, usual);
    CLEANUP(kobj_unref) struct kobj *o = pod_object(&x, 1, "team", NULL, 1, 7, true);
    forest_put_pod(x.forest, pod_of(o), true);
    assert_string_equal(home(&x, 1), QUOTA_DEFAULT_NAME);
    put_quota(&x, "other", "", "'namespaces':'team'", max, "", &err);
    assert_string_equal(home(&x, 1), QUOTA_DEFAULT_NAME); /* not JSON: ignored */
    put_quota(&x, "other", "", "'namespaces':'[\\u0022team\\u0022]'", max, "", &err);
    assert_string_equal(home(&x, 1), "other");
    assert_int_equal(USED("other"), 7);
    put_quota(&x, "team", "", "", max, "", &err); /* in the namespace of its name */
    assert_string_equal(home(&x, 1), "team");
    assert_int_equal(USED("other"), 0);
    forest_remove(x.forest, "team");
    assert_string_equal(home(&x, 1), "other");
    put_quota(&x, "other", "", "", max, "", &err);
    assert_string_equal(home(&x, 1), QUOTA_DEFAULT_NAME);
    assert_int_equal(USED("other"), 0);
    fixture_end(&x);
}

static void test_pods_wait_in_the_default_quota_for_theirs(void **state)
{
    struct quota_fixture x;

    (void)state;
    fixture_begin(&x, usual);
    for (unsigned i = 1; i <= 4; i++)
        put_pod(&x, i, "late", 10, true);
    assert_string_equal(home(&x, 3), QUOTA_DEFAULT_NAME);
    put(&x, "late", "", 100, 0);
    assert_int_equal(USED("late"), 40);
    assert_int_equal(REQUEST("late"), 40);
    assert_string_equal(home(&x, 3), "late");
    fixture_end(&x);
}

static void test_a_new_key_counts_the_pods_that_are_there(void **state)
{
    struct quota_fixture x;
    struct kerr err = { 0 };

    (void)state;
    fixture_begin(&x, usual);
    put_quota(&x, "a", "", "", "'cpu':'10'", "", &err);
    put_pod(&x, 1, "a", 5, true);
    put_quota(&x, "a", "", "", "'cpu':'10','memory':'50'", "", &err);
    assert_int_equal(USED("a"), 5);
    assert_int_equal(USED(QUOTA_ROOT_NAME), 5);
    put_quota(&x, "a", "", "", "'cpu':'10'", "", &err);
    assert_int_equal(USED("a"), 0);
    fixture_end(&x);
}

static void test_without_a_default_quota_pods_are_outside(void **state)
{
    struct quota_fixture x;

    (void)state;
    fixture_begin(&x, (struct quota_options){ .no_default = true });
    put_pod(&x, 1, "a", 5, true);
    assert_null(forest_charged(x.forest, pod_uid(1)));
    put(&x, "a", "", 100, 0);
    assert_int_equal(USED("a"), 5);
    fixture_end(&x);
}

/* ---- several trees --------------------------------------------------------------------------- */

static int64_t default_total(struct quota_fixture *x)
{
    int c = quota_columns_find(forest_columns(x->forest), "memory");
    bool known;

    return quota_total(x->forest, forest_find(x->forest, QUOTA_ROOT_NAME), (uint64_t)c, &known);
}

static void put_head(struct quota_fixture *x, int total)
{
    struct kerr err = { 0 };
    const char *anno =
        arena_printf(x->arena, "'total-resource':'{\\u0022memory\\u0022:\\u0022%d\\u0022}'", total);

    put_quota(x, "head", "'tree-id':'t','is-root':'true'", anno, "'memory':'9999'", "", &err);
}

static void test_trees_have_their_own_total(void **state)
{
    struct quota_fixture x;

    (void)state;
    fixture_begin(&x, (struct quota_options){ .trees = true });
    for (int i = 0; i < 3; i++)
        add_total(&x, 1000);
    put_head(&x, 2000);
    put_pod(&x, 1, "head", 5000, false);
    assert_int_equal(default_total(&x), 1000);
    assert_int_equal(RUNTIME("head"), 2000);
    put_head(&x, 2500);
    assert_int_equal(default_total(&x), 500);
    assert_int_equal(RUNTIME("head"), 2500);
    forest_remove(x.forest, "head");
    assert_int_equal(default_total(&x), 3000);
    fixture_end(&x);
}

/* ---- bad input ------------------------------------------------------------------------------- */

static void test_a_parent_that_cannot_be(void **state)
{
    struct quota_fixture x;
    struct kerr err = { 0 };
    const char *max = "'cpu':'10','memory':'10'";

    (void)state;
    fixture_begin(&x, usual);
    add_total(&x, 100);
    put(&x, "a", "", 10, 0);
    put(&x, "b", "'parent':'a'", 10, 0);
    put_pod(&x, 1, "b", 5, true);
    assert_int_equal(put_quota(&x, "a", "'parent':'b'", "", max, "", &err), -EINVAL);
    assert_string_equal(err.text, "parent quota b is below quota a itself");
    assert_int_equal(put_quota(&x, "a", "'parent':'a'", "", max, "", &err), -EINVAL);
    assert_int_equal(put_quota(&x, "b", "'parent':'x'", "", "'memory':'1'", "", &err), -ENOENT);
    assert_int_equal(USED("a"), 5); /* the last good state */
    assert_int_equal(RUNTIME("b"), 5);
    fixture_end(&x);
}

static void test_a_quota_waits_for_its_parent(void **state)
{
    struct quota_fixture x;
    struct kerr err = { 0 };

    (void)state;
    fixture_begin(&x, usual);
    add_total(&x, 100);
    assert_int_equal(put_quota(&x, "b", "'parent':'a'", "", "'memory':'10'", "", &err), -ENOENT);
    put_pod(&x, 1, "b", 5, true);
    assert_true(quota_waits_for_parent(forest_find(x.forest, "b")));
    assert_int_equal(RUNTIME("b"), 0);
    put(&x, "a", "", 10, 0);
    assert_int_equal(USED("a"), 5);
    assert_int_equal(RUNTIME("b"), 5);
    forest_remove(x.forest, "a");
    assert_true(quota_waits_for_parent(forest_find(x.forest, "b")));
    assert_int_equal(USED("b"), 5);
    assert_int_equal(USED(QUOTA_ROOT_NAME), 0);
    fixture_end(&x);
}

static void test_negative_amounts_and_other_trees_are_refused(void **state)
{
    struct quota_fixture x;
    struct kerr err = { 0 };

    (void)state;
    fixture_begin(&x, (struct quota_options){ .trees = true });
    put(&x, "a", "", 10, 0);
    assert_int_equal(put_quota(&x, "a", "", "", "'memory':'-1'", "", &err), -EINVAL);
    assert_string_equal(err.text, "max of memory is negative");
    assert_int_equal(put_quota(&x, "a", "'tree-id':'t'", "", "'memory':'1'", "", &err), -EINVAL);
    assert_string_equal(err.text, "tree id changed from \"\" to \"t\"");
    assert_int_equal(put_quota(&x, "b", "'tree-id':'t','parent':'a'", "", "'memory':'1'", "", &err),
                     -EINVAL);
    assert_int_equal(amount(&x, "a", QUOTA_MAX), 10);
    fixture_end(&x);
}

/* Sums of absurd amounts are cut, and right again when the pods are gone. */
static void test_absurd_amounts(void **state)
{
    struct quota_fixture x;
    struct kerr err = { 0 };

    (void)state;
    fixture_begin(&x, usual);
    put(&x, "a", "", 10, 0);
    for (unsigned i = 1; i <= 3000; i++) {
        CLEANUP(kobj_unref)
        struct kobj *o = fixture_object(
            &x, &kind_pod,
            "{'metadata':{'name':'p','namespace':'work','labels':{'" LABEL_QUOTA_NAME "':'a'}},"
            "'spec':{'containers':[{'name':'c','resources':{'requests':{'memory':'9Ei'}}}]}}");
        o->meta.uid = pod_uid(i);
        forest_put_pod(x.forest, pod_of(o), true);
    }
    assert_int_equal(USED("a"), QUOTA_AMOUNT_MAX);
    put_pod(&x, 9000, "a", 5, true);
    for (unsigned i = 1; i <= 3000; i++)
        forest_remove_pod(x.forest, pod_uid(i));
    assert_int_equal(USED("a"), 5);
    assert_int_equal(USED(QUOTA_ROOT_NAME), 5);
    assert_int_equal(
        put_quota(&x, "b", "",
                  "'shared-weight':'{\\u0022memory\\u0022:\\u00229223372036854775808\\u0022}'",
                  "'memory':'9Ei'", "", &err),
        0);
    fixture_end(&x);
}

/* It is refused, and takes nothing away from those that come later. */
static void test_too_many_resources(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf max = STRBUF_INIT;
    struct quota_fixture x;
    struct kerr err = { 0 };

    (void)state;
    fixture_begin(&x, usual);
    for (int i = 0; i < 70; i++)
        strbuf_appendf(&max, "%s'example.com/r%d':'1'", i ? "," : "", i);
    assert_int_equal(put_quota(&x, "many", "", "", strbuf_str(&max), "", &err), -EINVAL);
    assert_string_equal(err.text, "quotas name more than 64 resources in all");
    put(&x, "a", "", 10, 0);
    put_pod(&x, 1, "a", 5, true);
    assert_int_equal(USED("a"), 5);
    fixture_end(&x);
}

static void test_a_tree_a_hundred_deep(void **state)
{
    struct quota_fixture x;

    (void)state;
    fixture_begin(&x, usual);
    add_total(&x, 50);
    put(&x, "d0", "", 100, 1);
    for (int i = 1; i < 100; i++)
        put(&x, arena_printf(x.arena, "d%d", i), arena_printf(x.arena, "'parent':'d%d'", i - 1),
            100, 1);
    put_pod(&x, 1, "d99", 70, true);
    assert_int_equal(USED("d0"), 70);
    assert_int_equal(RUNTIME("d99"), 50);
    fixture_end(&x);
}

/* ---- who has to go --------------------------------------------------------------------------- */

static void test_the_least_important_pods_go(void **state)
{
    static const struct {
        int priority, cpu, memory;
    } pods[] = { { 10, 20, 0 }, { 9, 10, 1 }, { 8, 20, 0 }, { 7, 40, 0 } };
    struct quota_fixture x;
    struct kerr err = { 0 };
    uint32_t n;
    bool enough;

    (void)state;
    fixture_begin(&x, usual);
    struct resqty items[] = { { "cpu", qty_from_i64(50, QTY_DECIMAL_SI) },
                              { "memory", qty_from_i64(0, QTY_DECIMAL_SI) } };
    forest_add_total(x.forest, &(reslist){ .items = items, .n = 2 }, 1);
    put_quota(&x, "a", "", "", "'cpu':'100','memory':'100'", "", &err);
    for (unsigned i = 0; i < ARRAY_LEN(pods); i++) {
        CLEANUP(kobj_unref)
        struct kobj *o = fixture_object(
            &x, &kind_pod,
            arena_printf(x.arena,
                         "{'metadata':{'name':'p%u','namespace':'work','labels':{'%s':'a'}},"
                         "'spec':{'priority':%d,'containers':[{'name':'c','resources':{'requests':"
                         "{'cpu':'%d','memory':'%d'}}}]}}",
                         i + 1, LABEL_QUOTA_NAME, pods[i].priority, pods[i].cpu, pods[i].memory));
        o->meta.uid = pod_uid(i + 1);
        forest_put_pod(x.forest, pod_of(o), true);
    }
    struct quota *a = forest_find(x.forest, "a");
    assert_true(revoke_is_overused(x.forest, a));
    const struct pod **gone = revoke_choose(x.forest, a, NULL, x.arena, &n, &enough);
    assert_true(enough);
    assert_int_equal(n, 2);
    assert_string_equal(gone[0]->obj.meta.name, "p2");
    assert_string_equal(gone[1]->obj.meta.name, "p4");
    fixture_end(&x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_are_limited_on_their_way_up),
        cmocka_unit_test(test_who_does_not_lend_asks_for_min),
        cmocka_unit_test(test_guarantees_follow_use),
        cmocka_unit_test(test_mins_shrink_with_the_cluster),
        cmocka_unit_test(test_a_quota_moves_with_all_it_has),
        cmocka_unit_test(test_what_the_system_uses_is_not_shared),
        cmocka_unit_test(test_pods_find_their_quota),
        cmocka_unit_test(test_pods_wait_in_the_default_quota_for_theirs),
        cmocka_unit_test(test_a_new_key_counts_the_pods_that_are_there),
        cmocka_unit_test(test_without_a_default_quota_pods_are_outside),
        cmocka_unit_test(test_trees_have_their_own_total),
        cmocka_unit_test(test_a_parent_that_cannot_be),
        cmocka_unit_test(test_a_quota_waits_for_its_parent),
        cmocka_unit_test(test_negative_amounts_and_other_trees_are_refused),
        cmocka_unit_test(test_absurd_amounts),
        cmocka_unit_test(test_too_many_resources),
        cmocka_unit_test(test_a_tree_a_hundred_deep),
        cmocka_unit_test(test_the_least_important_pods_go),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
