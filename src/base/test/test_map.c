/* test_map.c - text to pointer, through growth and removal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/map.h"
#include "base/test/asserts.h"

static void test_put_replaces_and_returns_the_old_value(void **state)
{
    CLEANUP(map_fini) struct map m = { 0 };
    char key1[] = "cpu", key2[] = "cpu";
    int a, b;

    (void)state;
    assert_null(map_getz(&m, "cpu"));
    assert_null(map_removez(&m, "cpu"));
    assert_null(map_putz(&m, key1, &a));
    assert_ptr_equal(map_putz(&m, key2, &b), &a);
    key1[0] = '?'; /* the new key pointer counts from now on */
    assert_ptr_equal(map_getz(&m, "cpu"), &b);
    assert_ptr_equal(map_get(&m, "cpuset", 3), &b);
    assert_null(map_get(&m, "cpu", 2));
    assert_int_equal(m.n, 1);
}

static void test_empty_key_is_a_key(void **state)
{
    CLEANUP(map_fini) struct map m = { 0 };
    int a, b;

    (void)state;
    map_put(&m, NULL, 0, &a);
    map_put(&m, "\0", 1, &b);
    assert_ptr_equal(map_getz(&m, ""), &a);
    assert_ptr_equal(map_get(&m, "\0", 1), &b);
}

enum { MANY = 5000 };
static char keys[MANY][16];

static void fill(struct map *m)
{
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "pod-%d", i);
        assert_null(map_putz(m, keys[i], keys[i]));
    }
}

static void test_everything_is_found_through_growth_and_removal(void **state)
{
    CLEANUP(map_fini) struct map m = { 0 };

    (void)state;
    fill(&m);
    assert_int_equal(m.n, MANY);
    for (int i = 0; i < MANY; i++) /* removal shifts others: they must stay reachable */
        if (i % 3 != 0)
            assert_ptr_equal(map_removez(&m, keys[i]), keys[i]);
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(map_getz(&m, keys[i]), i % 3 != 0 ? NULL : keys[i]);
    for (int i = 0; i < MANY; i++)
        map_putz(&m, keys[i], keys[i]);
    assert_int_equal(m.n, MANY);
    for (int i = MANY; i-- > 0;)
        assert_ptr_equal(map_removez(&m, keys[i]), keys[i]);
    assert_int_equal(m.n, 0);
}

static void test_iteration_visits_each_entry_once(void **state)
{
    CLEANUP(map_fini) struct map m = { 0 };
    static int seen[MANY];
    int stopped = 0;

    (void)state;
    map_foreach(&m, none)
        fail_msg("an empty map has %s", none->key);
    fill(&m);
    map_foreach(&m, e)
        seen[(char(*)[16])e->value - keys]++;
    for (int i = 0; i < MANY; i++)
        assert_int_equal(seen[i], 1);
    map_foreach(&m, e) {
        (void)e;
        if (++stopped == 3)
            break;
    }
    assert_int_equal(stopped, 3);
}

static void test_reserve_avoids_growth(void **state)
{
    CLEANUP(map_fini) struct map m = { 0 };

    (void)state;
    map_reserve(&m, MANY);
    const struct map_entry *slots = m.slots;
    fill(&m);
    assert_ptr_equal(m.slots, slots);
}

static void test_hash_is_siphash_1_3(void **state)
{
    unsigned char in[64];

    (void)state;
    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (unsigned char)i;
    /* The key and messages of the SipHash paper; values of the 1-3 variant. */
    hash_set_key(0x0706050403020100, 0x0f0e0d0c0b0a0908);
    assert_that(hash_bytes(in, 0), ==, 0xabac0158050fc4dc);
    uint64_t other = hash_bytes(in, 15);
    hash_set_key(1, 2);
    assert_that(hash_bytes(in, 15), !=, other);
}

static void test_stable_hash_is_fnv_1a(void **state)
{
    (void)state;
    assert_that(hash_stable("", 0), ==, 0xcbf29ce484222325);
    assert_that(hash_stable("a", 1), ==, 0xaf63dc4c8601ec8c);
    assert_that(hash_stable("foobar", 6), ==, 0x85944171f73967e8);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_replaces_and_returns_the_old_value),
        cmocka_unit_test(test_empty_key_is_a_key),
        cmocka_unit_test(test_everything_is_found_through_growth_and_removal),
        cmocka_unit_test(test_iteration_visits_each_entry_once),
        cmocka_unit_test(test_reserve_avoids_growth),
        cmocka_unit_test(test_hash_is_siphash_1_3),
        cmocka_unit_test(test_stable_hash_is_fnv_1a),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
