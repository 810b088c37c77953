/* test_podhold.c - replacements of refused pods wait, and no others do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster/internal.h"

static void refuse(struct podhold *h, int n)
{
    for (int i = 0; i < n; i++)
        podhold_refused(h, "ns/a");
}

static void test_the_wait_doubles_up_to_its_limit(void **state)
{
    static const int seconds[] = { 1, 2, 4, 8, 16, 30, 30, 30 };
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct podhold *h = podhold_new(l);
    nsec_t wait;

    (void)state;
    assert_int_equal(podhold_allow(h, "ns/a", 1, &wait), 1);
    for (size_t i = 0; i < ARRAY_LEN(seconds); i++) {
        refuse(h, 1);
        assert_int_equal(podhold_allow(h, "ns/a", 1, &wait), 0);
        assert_int_equal(wait, seconds[i] * NSEC_PER_SEC);
        loop_advance(l, wait - 1);
        assert_int_equal(podhold_allow(h, "ns/a", 1, &wait), 0);
        loop_advance(l, 1);
        assert_int_equal(podhold_allow(h, "ns/a", 1, &wait), 1);
        assert_int_equal(wait, 0);
    }
    podhold_free(h);
}

static void test_one_is_tried_for_all(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct podhold *h = podhold_new(l);
    nsec_t wait;

    (void)state;
    refuse(h, 10); /* of one round: one failure */
    assert_int_equal(podhold_allow(h, "ns/a", 10, &wait), 0);
    assert_int_equal(wait, NSEC_PER_SEC);
    loop_advance(l, wait);
    assert_int_equal(podhold_allow(h, "ns/a", 10, &wait), 1);
    refuse(h, 1);
    assert_int_equal(podhold_allow(h, "ns/a", 10, &wait), 0);
    assert_int_equal(wait, 2 * NSEC_PER_SEC);
    /* Nobody refuses the next ones: they may just be slow. */
    for (uint32_t missing = 10, let = 1; missing; missing -= let, let = MIN(2 * let, missing)) {
        loop_advance(l, wait);
        assert_int_equal(podhold_allow(h, "ns/a", missing, &wait), let);
        assert_int_equal(wait, missing > let ? 2 * NSEC_PER_SEC : 0);
    }
    podhold_free(h);
}

static void test_other_pods_do_not_wait(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct podhold *h = podhold_new(l);
    nsec_t wait;

    (void)state;
    refuse(h, 2);
    assert_int_equal(podhold_allow(h, "ns/a", 5, &wait), 3);
    assert_int_equal(wait, NSEC_PER_SEC);
    assert_int_equal(podhold_allow(h, "ns/b", 5, &wait), 5);
    assert_int_equal(wait, 0);
    podhold_forget(h, "ns/a"); /* one of them runs */
    assert_int_equal(podhold_allow(h, "ns/a", 2, &wait), 2);
    refuse(h, 1); /* from the beginning */
    assert_int_equal(podhold_allow(h, "ns/a", 1, &wait), 0);
    assert_int_equal(wait, NSEC_PER_SEC);
    podhold_free(h);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_wait_doubles_up_to_its_limit),
        cmocka_unit_test(test_one_is_tried_for_all),
        cmocka_unit_test(test_other_pods_do_not_wait),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
