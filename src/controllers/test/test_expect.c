/* test_expect.c - what is outstanding holds a controller back, and not for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controllers/expect.h"
#include "loop/loop.h"

static void test_seen_is_settled(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct expect *e = expect_new(l);

    (void)state;
    assert_true(expect_settled(e, "ns/a"));
    expect_create(e, "ns/a", "a-1");
    expect_delete(e, "ns/a", "a-0");
    assert_false(expect_settled(e, "ns/a"));
    assert_true(expect_settled(e, "ns/b"));
    expect_created(e, "ns/a", "a-1");
    assert_false(expect_settled(e, "ns/a"));
    expect_deleted(e, "ns/a", "a-0");
    assert_true(expect_settled(e, "ns/a"));
    expect_free(e);
}

static void test_doubt_is_tried_again_under_its_name(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct expect *e = expect_new(l);
    char name[64];

    (void)state;
    expect_create(e, "ns/a", "a-3-x");
    expect_doubt(e, "ns/a", "a-3-x");
    assert_true(expect_settled(e, "ns/a")); /* it may go on: by asking for the same again */
    assert_false(expect_take_doubt(e, "ns/a", "a-4-", name, sizeof name));
    assert_true(expect_take_doubt(e, "ns/a", "a-3-", name, sizeof name));
    assert_string_equal(name, "a-3-x");
    assert_false(expect_take_doubt(e, "ns/a", "a-3-", name, sizeof name));
    /* Seen before its lost answer was noticed: no doubt at all. */
    expect_create(e, "ns/a", "a-y");
    expect_created(e, "ns/a", "a-y");
    expect_doubt(e, "ns/a", "a-y");
    assert_false(expect_take_doubt(e, "ns/a", "a-", name, sizeof name));
    expect_free(e);
}

static void test_five_minutes_are_the_end(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct expect *e = expect_new(l);

    (void)state;
    expect_create(e, "ns/a", "a-1");
    loop_advance(l, 299 * NSEC_PER_SEC);
    assert_false(expect_settled(e, "ns/a"));
    loop_advance(l, 2 * NSEC_PER_SEC);
    assert_true(expect_settled(e, "ns/a"));
    expect_free(e);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seen_is_settled),
        cmocka_unit_test(test_doubt_is_tried_again_under_its_name),
        cmocka_unit_test(test_five_minutes_are_the_end),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
