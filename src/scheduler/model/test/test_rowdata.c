/* test_rowdata.c - what plugins derive from rows is filled when it must be, and only then; it moves
 * with the rows, and runs out in time.
 */
#include "scheduler/model/test/rowdata_fixture.h"

/* ---- when rows are filled -------------------------------------------------------------------- */

static void test_a_changed_row_is_filled_once(void **fixture)
{
    struct cluster c;

    start(&c, fixture);
    three_nodes(&c);
    struct rowset *s = make(&c, &filled);
    const struct ks_rows *r = rowset_rows(s);
    assert_int_equal(fills(s, 1), 3);
    assert_int_equal(fills(s, 2), 0);
    put_node(&c, "b", 2); /* says the same */
    assert_int_equal(fills(s, 2), 0);
    put_node(&c, "b", 7);
    put_pod(&c, "p", "b");
    put_pod(&c, "q", "b");
    assert_int_equal(fills(s, 2), 1);
    uint32_t b = row_of(&c, "b");
    assert_int_equal(((struct plain *)ks_row(r, b))->n, 2);
    assert_int_equal(r->column[0][b], 2);
    assert_int_equal(r->column[1][b], 7);
    assert_int_equal((uintptr_t)ks_row(r, b) % 16, 0);
    assert_int_equal(seen.pods_only, 0);
    remove_pod(&c, "p");
    assert_int_equal(fills(s, 2), 1);
    assert_int_equal(seen.pods_only, 1);
    assert_int_equal(r->column[0][b], 1);
    ks_touch_row(c.nodes, "c"); /* somebody knows something else of its pods */
    ks_touch_row(c.nodes, "unknown");
    assert_int_equal(fills(s, 2), 1);
    assert_int_equal(seen.pods_only, 2);
    verify(s, 2);
    rowset_free(s);
    stop(&c);
}

static void test_pods_do_not_concern_who_does_not_read_them(void **fixture)
{
    struct cluster c;

    start(&c, fixture);
    three_nodes(&c);
    struct rowset *s = make(&c, &of_node);
    assert_int_equal(fills(s, 1), 3);
    put_pod(&c, "p", "b");
    assert_int_equal(fills(s, 1), 0);
    CLEANUP(kobj_unref)
    struct kobj *m = fixture_object(c.base, &kind_nodemetric,
                                    "{'metadata':{'name':'c'},'status':{'updateTime':"
                                    "'2026-01-01T00:00:00Z'}}");
    objects_put(c.objects, m);
    assert_int_equal(fills(s, 1), 1);
    objects_put(c.objects, m);
    assert_int_equal(fills(s, 1), 0);
    rowset_free(s);
    stop(&c);
}

static void test_data_moves_with_its_row(void **fixture)
{
    struct cluster c;

    start(&c, fixture);
    three_nodes(&c);
    put_pod(&c, "p", "c");
    struct rowset *s = make(&c, &owning), *of = rowset_new(c.nodes, &of_node, NULL, NULL, NULL);
    rowset_sync(s, 1);
    rowset_sync(of, 1);
    nodecache_remove_node(c.cache, "a"); /* the last one comes here */
    assert_int_equal(seen.dropped, 1);
    verify(s, 1);
    verify(of, 1);
    for (int i = 0; i < 100; i++) /* there is room for 64 at first */
        put_node(&c, arena_printf(c.base->arena, "n%d", i), i);
    nodecache_remove_node(c.cache, "n99");
    verify(s, 1);
    verify(of, 1);
    assert_int_equal(rowset_rows(of)->column[0][row_of(&c, "n98")], 98);
    for (int i = 0; i < 2 * KS_JOURNAL; i++) { /* more than the journal remembers */
        put_pod(&c, "p", "b");
        put_node(&c, "n5", i);
    }
    verify(s, 1);
    verify(of, 1);
    assert_int_equal(rowset_rows(of)->column[0][row_of(&c, "n5")], 2 * KS_JOURNAL - 1);
    rowset_free(s);
    rowset_free(of);
    stop(&c);
}

static void test_pods_are_counted_as_they_come_and_go(void **fixture)
{
    struct cluster c;
    struct kerr err = { 0 };

    start(&c, fixture);
    three_nodes(&c);
    struct rowset *s = make(&c, &counted);
    put_pod(&c, "p", "b"); /* not filled yet: there is nothing to count */
    assert_int_equal(seen.added, 0);
    assert_int_equal(fills(s, 1), 3);
    put_pod(&c, "q", "b");
    put_pod(&c, "p", "a"); /* it leaves one and comes to the other */
    CLEANUP(kobj_unref) struct kobj *r = make_pod(&c, "r", "");
    assert_int_equal(nodecache_assume(c.cache, r, "c", NULL, &err), 0);
    assert_true(nodecache_forget(c.cache, r->meta.uid));
    assert_int_equal(seen.added, 3);
    assert_int_equal(seen.removed, 2);
    assert_int_equal(fills(s, 1), 0);
    verify(s, 1);
    seen.fills = seen.added = seen.removed = 0;
    put_node(&c, "b", 9);
    put_pod(&c, "q", "c"); /* the journal knows of b: from here on it is read */
    assert_int_equal(seen.added + seen.removed, 0);
    assert_int_equal(fills(s, 1), 2);
    verify(s, 1);
    rowset_free(s);
    stop(&c);
}

/* ---- time and other objects ------------------------------------------------------------------ */

static void test_a_row_runs_out(void **fixture)
{
    struct cluster c;

    start(&c, fixture);
    three_nodes(&c);
    struct rowset *s = make(&c, &of_node);
    seen.until = 100;
    assert_int_equal(fills(s, 10), 3);
    uint64_t generation = c.nodes->changes.generation, nodes = c.nodes->node_changes.generation;
    assert_int_equal(fills(s, 99), 0);
    assert_int_equal(c.nodes->changes.generation, generation);
    seen.until = 150;
    put_node(&c, "b", 9); /* it has news in time */
    assert_int_equal(fills(s, 99), 1);
    generation = c.nodes->changes.generation;
    seen.until = 0;
    assert_int_equal(fills(s, 100), 2);
    /* what was kept about these rows does not hold any more; the nodes are as they were */
    assert_int_equal(c.nodes->changes.generation, generation + 2);
    assert_int_equal(c.nodes->node_changes.generation, nodes + 1);
    assert_int_equal(fills(s, 149), 0);
    assert_int_equal(fills(s, 150), 1);
    assert_int_equal(fills(s, 5000), 0);
    seen.until = 10; /* a time that has passed: once is enough */
    put_node(&c, "a", 5);
    assert_int_equal(fills(s, 5000), 1);
    assert_int_equal(fills(s, 5001), 0);
    assert_int_equal(fills(s, 5001), 0);
    assert_int_equal(fills(s, 4999), 3); /* the clock was set back: nobody knows what holds */
    assert_int_equal(fills(s, 4999), 0);
    rowset_free(s);
    stop(&c);
}

static void pv(struct cluster *c, const char *class, const char *phase)
{
    CLEANUP(kobj_unref)
    struct kobj *o = fixture_object(
        c->base, &kind_pv,
        arena_printf(c->base->arena,
                     "{'metadata':{'name':'v','uid':'v'},'spec':{'storageClassName':'%s'},"
                     "'status':{'phase':'%s'}}",
                     class, phase));
    objects_put(c->objects, o);
}

static void pvc(struct cluster *c, const char *phase)
{
    CLEANUP(kobj_unref)
    struct kobj *o =
        fixture_object(c->base, &kind_pvc,
                       arena_printf(c->base->arena,
                                    "{'metadata':{'name':'c','namespace':'ns','uid':'c'},"
                                    "'status':{'phase':'%s'}}",
                                    phase));
    objects_put(c->objects, o);
}

static void test_objects_of_other_kinds(void **fixture)
{
    struct cluster c;

    start(&c, fixture);
    three_nodes(&c);
    struct rowset *s = make(&c, &filled);
    pv(&c, "x", "Available");
    assert_int_equal(fills(s, 1), 3);
    pv(&c, "y", "Available");
    assert_int_equal(fills(s, 1), 0); /* nobody has looked at one */
    seen.reads = true;
    ks_touch_row(c.nodes, "b");
    assert_int_equal(fills(s, 1), 1);
    uint64_t generation = c.nodes->changes.generation;
    pv(&c, "y", "Bound");
    assert_int_equal(fills(s, 1), 0); /* only its status */
    pv(&c, "z", "Bound");
    assert_int_equal(fills(s, 1), 1);
    pvc(&c, "Pending");
    assert_int_equal(fills(s, 1), 1);
    seen.reads = false;
    pvc(&c, "Bound"); /* this status is read */
    assert_int_equal(fills(s, 1), 1);
    pvc(&c, "Lost");
    assert_int_equal(fills(s, 1), 0);
    assert_int_equal(c.nodes->changes.generation, generation);
    rowset_free(s);
    stop(&c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_a_changed_row_is_filled_once),
        FIXTURE_TEST(test_pods_do_not_concern_who_does_not_read_them),
        FIXTURE_TEST(test_data_moves_with_its_row),
        FIXTURE_TEST(test_pods_are_counted_as_they_come_and_go),
        FIXTURE_TEST(test_a_row_runs_out),
        FIXTURE_TEST(test_objects_of_other_kinds),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
