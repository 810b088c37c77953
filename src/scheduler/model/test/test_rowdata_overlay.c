/* test_rowdata_overlay.c - what plugins derive from rows follows overlays, there and back to the
 * byte.
 */
#include "base/test/asserts.h"
#include "scheduler/model/test/rowdata_fixture.h"

/* ---- overlays -------------------------------------------------------------------------------- */

static void test_rows_of_an_overlay_and_back(void **fixture)
{
    struct cluster c;

    start(&c, fixture);
    three_nodes(&c);
    put_pod(&c, "p", "b");
    put_pod(&c, "q", "b");
    struct rowset *s = make(&c, &counted), *l = rowset_new(c.nodes, &copied, NULL, NULL, NULL);
    const struct ks_rows *r = rowset_rows(s);
    rowset_begin(s);
    rowset_begin(l);
    rowset_sync(s, 1);
    rowset_sync(l, 1);
    uint32_t b = row_of(&c, "b");
    const uint64_t *items = ((struct list *)ks_row(rowset_rows(l), b))->items;
    seen.fills = 0;
    overlay_remove_pod(c.cache, b, c.nodes->pods[b].items[0]);
    assert_int_equal(seen.removed, 1);
    assert_int_equal(seen.copied, 1);
    overlay_add_own(s, b, 1, 40);
    assert_int_equal(r->column[0][b], 1); /* at once: nothing is to be filled */
    assert_int_equal(r->column[1][b], 42);
    rowset_sync(s, 1);
    assert_int_equal(seen.fills, 0);
    rowset_sync(l, 1);
    assert_int_equal(seen.fills, 1);
    assert_that(((struct list *)ks_row(rowset_rows(l), b))->items, !=, items);
    verify(s, 1);
    verify(l, 1);
    CLEANUP(kobj_unref) struct kobj *x = make_pod(&c, "x", "");
    assert_int_equal(nodecache_assume(c.cache, x, "c", NULL, NULL), 0); /* this stays */
    assert_int_equal(r->column[0][row_of(&c, "c")], 1);
    undo_to(c.cache, 0);
    rowset_sync(s, 1);
    assert_int_equal(r->column[0][b], 2);
    assert_int_equal(r->column[1][b], 2);
    assert_ptr_equal(((struct list *)ks_row(rowset_rows(l), b))->items, items);
    rowset_end(s);
    rowset_end(l);
    rowset_free(s);
    rowset_free(l);
    stop(&c);
}

static void test_who_begins_within_an_overlay(void **fixture)
{
    struct cluster c;

    start(&c, fixture);
    three_nodes(&c);
    put_pod(&c, "p", "b");
    struct rowset *s = make(&c, &filled);
    rowset_sync(s, 1);
    uint32_t b = row_of(&c, "b");
    overlay_remove_pod(c.cache, b, c.nodes->pods[b].items[0]);
    assert_int_equal(fills(s, 1), 0); /* nobody reads it */
    rowset_begin(s);
    ks_touch_row(c.nodes, "b");
    assert_int_equal(fills(s, 1), 1);
    assert_int_equal(rowset_rows(s)->column[0][b], 0);
    rowset_end(s);
    undo_to(c.cache, 0);
    assert_int_equal(fills(s, 1), 1); /* what it was set aside as is out of date */
    assert_int_equal(rowset_rows(s)->column[0][b], 1);
    rowset_free(s);
    stop(&c);
}

/* ---- anything -------------------------------------------------------------------------------- */

static uint64_t state;
static uint32_t below(uint32_t n)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

enum { SETS = 5, GUESTS = 6 };
struct all {
    struct cluster c;
    struct rowset *sets[SETS];
    struct kobj *guests[GUESTS];
    nsec_t now;
};

static void verify_all(struct all *a)
{
    for (int i = 0; i < SETS; i++)
        verify(a->sets[i], a->now);
}

/* What the plain ones say, byte by byte. */
static char *picture_of(struct all *a)
{
    const uint32_t n = a->c.nodes->n;
    char *p = xcalloc(2 * n + 1, sizeof(struct plain) + 2 * sizeof(int64_t)), *at = p;

    for (int i = 0; i < 2; i++) {
        const struct ks_rows *r = rowset_rows(a->sets[i]);
        for (uint32_t row = 0; row < n; row++) {
            memcpy(at, ks_row(r, row), sizeof(struct plain));
            at += sizeof(struct plain);
            for (int k = 0; k < 2; k++, at += sizeof(int64_t))
                memcpy(at, &r->column[k][row], sizeof(int64_t));
        }
    }
    return p;
}

static void change_overlay(struct all *a)
{
    const struct ks_nodes *v = a->c.nodes;
    uint32_t row = below(v->n);

    switch (below(4)) {
    case 0: overlay_add_pod(a->c.cache, row, a->guests[below(GUESTS)]); break;
    case 1:
        if (v->pods[row].n)
            overlay_remove_pod(a->c.cache, row, v->pods[row].items[below(v->pods[row].n)]);
        break;
    case 2: overlay_use(a->c.cache, row, KS_MCPU, 5); break;
    case 3: overlay_add_own(a->sets[below(3)], row, 0, (int64_t)below(9) - 4); break;
    }
}

static void nest(struct all *a, int depth)
{
    uint32_t mark = overlay_mark(a->c.cache);

    verify_all(a);
    CLEANUP(mem_free) char *was = picture_of(a), *now = NULL;
    for (uint32_t i = below(6); i > 0; i--) {
        change_overlay(a);
        if (below(3) == 0)
            verify_all(a);
    }
    verify_all(a);
    for (uint32_t i = below(3); depth > 0 && i > 0; i--)
        nest(a, depth - 1);
    undo_to(a->c.cache, mark);
    verify_all(a);
    now = picture_of(a);
    assert_memory_equal(was, now, 2 * a->c.nodes->n * (sizeof(struct plain) + 2 * sizeof(int64_t)));
}

static void change(struct all *a)
{
    char name[8];

    switch (below(6)) {
    case 0:
        (void)snprintf(name, sizeof name, "n%u", below(6));
        if (a->c.nodes->n > 2 && below(3) == 0)
            nodecache_remove_node(a->c.cache, name);
        else
            put_node(&a->c, name, (int)below(3));
        break;
    case 1: ks_touch_row(a->c.nodes, "n1"); break;
    case 2: a->now = a->now + (nsec_t)below(50) - (below(20) == 0 ? 100 : 0); break;
    case 3:
        (void)snprintf(name, sizeof name, "p%u", below(12));
        remove_pod(&a->c, name);
        break;
    default:
        (void)snprintf(name, sizeof name, "p%u", below(12));
        put_pod(&a->c, name, arena_printf(a->c.base->arena, "n%u", below(6)));
    }
    seen.until = below(2) ? a->now + (nsec_t)below(100) : 0;
    seen.reads = below(4) == 0;
}

static void test_random_changes(void **fixture)
{
    static const struct ks_row_data *const kinds[SETS] = { &filled, &counted, &of_node, &owning,
                                                           &copied };
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct all a = { .now = 1000 };
        state = seed;
        start(&a.c, fixture);
        three_nodes(&a.c);
        for (int i = 0; i < SETS; i++)
            a.sets[i] = make(&a.c, kinds[i]);
        for (uint32_t i = 0; i < GUESTS; i++)
            a.guests[i] = make_pod(&a.c, arena_printf(a.c.base->arena, "g%u", i), "");
        for (int i = 0; i < 60; i++) {
            for (uint32_t n = below(4); n > 0; n--)
                change(&a);
            bool begun = below(3) > 0;
            for (int k = 0; begun && k < SETS; k++)
                rowset_begin(a.sets[k]);
            if (begun)
                nest(&a, 2);
            for (int k = 0; begun && k < SETS; k++)
                rowset_end(a.sets[k]);
            verify_all(&a);
        }
        for (int i = 0; i < SETS; i++)
            rowset_free(a.sets[i]);
        for (int i = 0; i < GUESTS; i++)
            kobj_unref(a.guests[i]);
        stop(&a.c);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_rows_of_an_overlay_and_back),
        FIXTURE_TEST(test_who_begins_within_an_overlay),
        FIXTURE_TEST(test_random_changes),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
