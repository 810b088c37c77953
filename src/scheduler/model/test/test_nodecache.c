/* test_nodecache.c - sums stay right whatever comes in whatever order; assumed pods. */
#include "api/test/object_fixture.h"
#include "base/test/asserts.h"

#include <stdio.h>

#include "api/node.h"
#include "api/pod.h"
#include "loop/loop.h"
#include "scheduler/model/nodecache.h"

static struct kobj *make_node(struct object_fixture *b, const char *name, const char *alloc)
{
    char text[256];
    (void)snprintf(text, sizeof text, "{'metadata':{'name':'%s'},'status':{'allocatable':{%s}}}",
                   name, alloc);
    return fixture_object(b, &kind_node, text);
}

static struct kobj *make_pod(struct object_fixture *b, int id, const char *node,
                             const char *requests)
{
    char text[512];
    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'p%d','namespace':'ns','uid':'0000000%d-0000-4000-8000-"
                   "000000000000'},'spec':{'nodeName':'%s','containers':[{'name':'c','resources':"
                   "{'requests':{%s}}}]}}",
                   id, id % 10, node, requests);
    return fixture_object(b, &kind_pod, text);
}

static void check(const struct nodecache *c)
{
    struct kerr err = { 0 };
    if (nodecache_verify(c, &err) < 0)
        fail_msg("%s", err.text);
}

static int64_t used(const struct nodecache *c, const char *node, const char *resource)
{
    const struct ks_nodes *n = nodecache_nodes(c);
    for (uint32_t i = 0; i < n->n; i++)
        if (streq(nodecache_row_name(c, i), node))
            return n->used[ks_column_of(nodecache_nodes(c), resource)][i];
    return -1;
}

static void test_pods_may_come_before_their_node(void **state)
{
    CLEANUP(nodecache_free) struct nodecache *c = nodecache_new(NULL);
    CLEANUP(kobj_unref) struct kobj *p = make_pod(*state, 1, "n", "'cpu':'2','x.io/card':'3'");
    CLEANUP(kobj_unref) struct kobj *plain = make_node(*state, "n", "'cpu':'4','pods':'9'");
    CLEANUP(kobj_unref)
    struct kobj *cards = make_node(*state, "n", "'cpu':'4','pods':'9','x.io/card':'8'");

    nodecache_put_pod(c, p);
    assert_int_equal(nodecache_stats(c).nodes, 0);
    nodecache_put_node(c, plain);
    assert_int_equal(used(c, "n", "cpu"), 2000);
    assert_int_equal(used(c, "n", "pods"), 1);
    assert_that(ks_column_of(nodecache_nodes(c), "x.io/card"), ==,
                KS_NO_COLUMN); /* pods make no columns */
    nodecache_put_node(c, cards);
    assert_int_equal(used(c, "n", "x.io/card"), 3);
    check(c);
    nodecache_remove_node(c, "n");
    assert_int_equal(nodecache_stats(c).pods, 1);
    nodecache_put_node(c, cards);
    assert_int_equal(used(c, "n", "x.io/card"), 3);
    assert_true(nodecache_remove_pod(c, p->meta.uid));
    assert_int_equal(used(c, "n", "cpu"), 0);
    check(c);
}

static void test_assume_confirm_forget(void **state)
{
    CLEANUP(nodecache_free) struct nodecache *c = nodecache_new(NULL);
    CLEANUP(kobj_unref) struct kobj *p = make_pod(*state, 1, "", "'cpu':'2'");
    CLEANUP(kobj_unref) struct kobj *bound = make_pod(*state, 1, "b", "'cpu':'2'");
    CLEANUP(kobj_unref) struct kobj *a = make_node(*state, "a", "'cpu':'4','pods':'9'");
    CLEANUP(kobj_unref) struct kobj *b = make_node(*state, "b", "'cpu':'4','pods':'9'");
    const char *node = NULL;

    nodecache_put_node(c, a);
    nodecache_put_node(c, b);
    assert_int_equal(nodecache_assume(c, p, "a", NULL, NULL), 0);
    assert_int_equal(nodecache_assume(c, p, "a", NULL, NULL), -EEXIST);
    assert_int_equal(used(c, "a", "cpu"), 2000);
    assert_true(nodecache_forget(c, p->meta.uid));
    assert_false(nodecache_forget(c, p->meta.uid));
    assert_int_equal(used(c, "a", "cpu"), 0);
    assert_int_equal(nodecache_assume(c, p, "a", NULL, NULL), 0);
    assert_null(nodecache_overdue(c, 100, 200)); /* not bound yet */
    nodecache_bound(c, p->meta.uid, 50);
    assert_non_null(nodecache_overdue(c, 100, 200));
    assert_null(nodecache_overdue(c, 100, 200));
    nodecache_put_pod(c, bound); /* elsewhere, as it turns out */
    assert_int_equal(nodecache_find(c, p->meta.uid, &node), NODECACHE_ADDED);
    assert_string_equal(node, "b");
    assert_false(nodecache_forget(c, p->meta.uid));
    assert_int_equal(used(c, "a", "cpu"), 0);
    assert_int_equal(used(c, "b", "cpu"), 2000);
    check(c);
}

static void test_absurd_requests_leave_no_trace(void **state)
{
    CLEANUP(nodecache_free) struct nodecache *c = nodecache_new(NULL);
    CLEANUP(kobj_unref) struct kobj *n = make_node(*state, "n", "'memory':'8Gi','pods':'99'");
    CLEANUP(kobj_unref) struct kobj *sane = make_pod(*state, 0, "n", "'memory':'1Gi'");
    struct kobj *mad[9];

    nodecache_put_node(c, n);
    nodecache_put_pod(c, sane);
    for (int i = 0; i < 9; i++)
        nodecache_put_pod(c, mad[i] = make_pod(*state, i + 1, "n", "'memory':'8Ei'"));
    check(c);
    for (int i = 0; i < 9; i++) {
        nodecache_remove_pod(c, mad[i]->meta.uid);
        kobj_unref(mad[i]);
    }
    assert_that(used(c, "n", "memory"), ==, INT64_C(1) << 30);
    check(c);
}

/* Everything in any order, many times; the sums are added up again now and then. */
static void test_random_changes(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 99);
    CLEANUP(nodecache_free) struct nodecache *c = nodecache_new(NULL);
    static const char *const allocs[] = { "'cpu':'4','pods':'9'", "'memory':'1Gi','a.io/x':'1'",
                                          "'b.io/y':'5','pods':'3'" };
    static const char *const wants[] = { "'cpu':'1'", "'a.io/x':'1','memory':'1Mi'",
                                         "'memory':'8Ei'", "" };
    char name[8];

    for (int i = 0; i < 3000; i++) {
        (void)snprintf(name, sizeof name, "n%u", (unsigned)loop_rand_below(l, 5));
        int id = (int)loop_rand_below(l, 10);
        CLEANUP(kobj_unref) struct kobj *n = make_node(*state, name, allocs[loop_rand_below(l, 3)]);
        CLEANUP(kobj_unref)
        struct kobj *p = make_pod(*state, id, name, wants[loop_rand_below(l, 4)]);
        switch (loop_rand_below(l, 7)) {
        case 0: nodecache_put_node(c, n); break;
        case 1: nodecache_remove_node(c, name); break;
        case 2:
        case 3: nodecache_put_pod(c, p); break;
        case 4: nodecache_remove_pod(c, p->meta.uid); break;
        case 5: nodecache_assume(c, p, name, NULL, NULL); break;
        case 6: nodecache_forget(c, p->meta.uid); break;
        }
        if (i % 50 == 0)
            check(c);
    }
    check(c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_pods_may_come_before_their_node),
        FIXTURE_TEST(test_assume_confirm_forget),
        FIXTURE_TEST(test_absurd_requests_leave_no_trace),
        FIXTURE_TEST(test_random_changes),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
