/* test_arena.c - pieces are apart, aligned, and memory settles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/test/asserts.h"

static void test_pieces_are_aligned_and_apart(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    char *last = NULL;

    (void)state;
    for (size_t i = 1; i < 200; i++) {
        size_t align = (size_t)1 << (i % 5);
        char *p = arena_alloc(a, i, align);
        assert_int_equal((uintptr_t)p % align, 0);
        memset(p, (int)i, i);
        if (last)
            assert_int_equal(*last, (char)(i - 1)); /* the neighbour is untouched */
        last = p;
    }
}

static void test_zalloc_clears_memory_used_before(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    static const char zero[512];

    (void)state;
    memset(arena_alloc(a, sizeof zero, 1), 0xFF, sizeof zero);
    arena_reset(a);
    assert_memory_equal(arena_zalloc(a, sizeof zero), zero, sizeof zero);
}

static void test_reset_reuses_the_largest_chunk(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();

    (void)state;
    for (int i = 0; i < 100; i++)
        (void)arena_alloc(a, 1000, 8);
    arena_reset(a);
    char *first = arena_alloc(a, 1, 1);
    for (int i = 0; i < 30; i++)
        (void)arena_alloc(a, 1000, 8);
    arena_reset(a);
    assert_ptr_equal(arena_alloc(a, 1, 1), first);
}

static void test_reset_keeps_a_large_first_chunk(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new_sized(3 << 20);

    (void)state;
    char *first = arena_alloc(a, 1, 1);
    for (int i = 0; i < 4000; i++)
        (void)arena_alloc(a, 1000, 8);
    arena_reset(a);
    assert_ptr_equal(arena_alloc(a, 1, 1), first);
}

static void test_a_huge_piece_leaves_the_current_chunk_in_use(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();

    (void)state;
    char *before = arena_alloc(a, 8, 8);
    char *huge = arena_alloc(a, 5 << 20, 16);
    huge[(5 << 20) - 1] = 1;
    char *after = arena_alloc(a, 8, 8);
    assert_that(after, >, before);
    assert_that(after, <, before + 4096);
    arena_reset(a);
    assert_ptr_equal(arena_alloc(a, 8, 8), before);
}

static void test_an_arena_of_size_zero_works(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new_sized(0);

    (void)state;
    assert_string_equal(arena_strdup(a, "x"), "x");
    assert_non_null(arena_alloc(a, 0, 1));
}

static void test_used_counts_what_was_asked_for(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();

    (void)state;
    (void)arena_alloc(a, 3, 1);
    (void)arena_alloc(a, 5, 16);
    assert_int_equal(arena_used(a), 8);
    arena_reset(a);
    assert_int_equal(arena_used(a), 0);
}

static void test_text_is_copied_and_terminated(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    char text[] = "node-17";

    (void)state;
    char *whole = arena_strdup(a, text), *part = arena_strndup(a, text, 4);
    char *none = arena_strndup(a, NULL, 0), *made = arena_printf(a, "%s=%d", text, 42);
    memset(text, '?', sizeof text);
    assert_string_equal(whole, "node-17");
    assert_string_equal(part, "node");
    assert_string_equal(none, "");
    assert_string_equal(made, "node-17=42");
}

static void test_typed_helpers_return_zeroed_objects(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();

    (void)state;
    int64_t *one = arena_new0(a, int64_t), *many = arena_newn0(a, 100, int64_t);
    assert_int_equal(*one, 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(many[i], 0);
}

struct told {
    struct arena_watch watch;
    const struct arena *of;
    unsigned times;
    size_t used;
};

static void note(struct arena_watch *w)
{
    struct told *t = container_of(w, struct told, watch);
    t->times++;
    t->used = arena_used(t->of) - w->since;
}

static void test_growth_is_told(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct told outer = { .watch.grown = note, .of = a }, inner = outer;

    (void)state;
    (void)arena_alloc(a, 100, 8);
    arena_watch_begin(a, &outer.watch);
    (void)arena_alloc(a, 100, 8); /* there is room for it */
    assert_int_equal(outer.times, 0);
    (void)arena_alloc(a, 10000, 8);
    assert_int_equal(outer.times, 1);
    assert_int_equal(outer.used, 10100);
    arena_watch_begin(a, &inner.watch);
    (void)arena_alloc(a, 5 << 20, 8);
    arena_watch_end(a, &inner.watch);
    assert_int_equal(inner.used, 5 << 20);
    assert_int_equal(outer.times, 1);
    (void)arena_alloc(a, 5 << 20, 8);
    assert_int_equal(outer.used, 10100 + (10 << 20));
    arena_watch_end(a, &outer.watch);
    (void)arena_alloc(a, 5 << 20, 8);
    assert_int_equal(outer.times, 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_are_aligned_and_apart),
        cmocka_unit_test(test_zalloc_clears_memory_used_before),
        cmocka_unit_test(test_reset_reuses_the_largest_chunk),
        cmocka_unit_test(test_reset_keeps_a_large_first_chunk),
        cmocka_unit_test(test_a_huge_piece_leaves_the_current_chunk_in_use),
        cmocka_unit_test(test_an_arena_of_size_zero_works),
        cmocka_unit_test(test_used_counts_what_was_asked_for),
        cmocka_unit_test(test_text_is_copied_and_terminated),
        cmocka_unit_test(test_typed_helpers_return_zeroed_objects),
        cmocka_unit_test(test_growth_is_told),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
