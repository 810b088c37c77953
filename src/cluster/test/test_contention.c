/* test_contention.c - CPU is shared by weight, nobody gets more than is wanted, best effort comes
 * last and is held below the threshold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/koord/nodeslo.h"
#include "base/test/asserts.h"
#include "cluster/contention.h"
#include "cluster/load.h"

enum { NODE = 16000 };

struct fixture {
    claimvec others, be;
};

static int setup(void **state)
{
    *state = xnew0(struct fixture);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    vec_fini(&f->others);
    vec_fini(&f->be);
    free(f);
    return 0;
}

static void add(claimvec *to, int64_t want, int64_t request)
{
    struct cpu_claim c = { .want_mcpu = want, .weight = cpu_weight(request) };
    vec_push(to, c);
}

static int64_t got(const claimvec *of, size_t i)
{
    return of->items[i].got_mcpu;
}

static void test_enough_for_all(void **state)
{
    struct fixture *f = *state;

    add(&f->others, 4000, 1000);
    add(&f->others, 0, 1000);
    add(&f->be, 8000, 4000);
    cpu_share(&f->others, &f->be, NODE, INT64_MAX);
    assert_int_equal(got(&f->others, 0), 4000);
    assert_int_equal(got(&f->others, 1), 0);
    assert_int_equal(got(&f->be, 0), 8000);
}

static void test_requests_are_weights(void **state)
{
    struct fixture *f = *state;

    add(&f->others, 20000, 1000);
    add(&f->others, 20000, 3000);
    add(&f->others, 1000, 1000); /* less than its share of 3.2 cores: the rest is for others */
    cpu_share(&f->others, &f->be, NODE, INT64_MAX);
    assert_int_equal(got(&f->others, 2), 1000);
    assert_in_range(got(&f->others, 0), 3700, 3751);
    assert_in_range(got(&f->others, 1), 11200, 11251);
}

static void test_best_effort_comes_last(void **state)
{
    struct fixture *f = *state;

    add(&f->others, 15000, 500);
    add(&f->be, 8000, 16000); /* what it requests counts among its like only */
    add(&f->be, 8000, 48000);
    cpu_share(&f->others, &f->be, NODE, INT64_MAX);
    assert_int_equal(got(&f->others, 0), 15000);
    assert_in_range(got(&f->be, 0), 248, 250);
    assert_in_range(got(&f->be, 1), 748, 750);
    f->others.items[0].want_mcpu = 20000; /* now a weight of 512 beside one of 2 */
    cpu_share(&f->others, &f->be, NODE, INT64_MAX);
    assert_in_range(got(&f->others, 0), 15900, 15940);
    assert_that(got(&f->be, 0) + got(&f->be, 1), >, 50);
}

static void test_held_below_the_threshold(void **state)
{
    struct threshold_strategy slo = threshold_strategy_default;

    (void)state;
    assert_true(cpu_suppressed(NULL, NODE, 0, 0) == INT64_MAX);
    assert_true(cpu_suppressed(&slo, NODE, 0, 0) == INT64_MAX); /* switched off */
    slo.enable = (struct opt_bool){ true, true };
    /* 65% of 16 cores are 10.4: with whole CPUs that is rounded up, as koordlet does. */
    assert_int_equal(cpu_suppressed(&slo, NODE, 4000, 400), 6000);
    assert_int_equal(cpu_suppressed(&slo, NODE, 4001, 0), 7000);
    assert_int_equal(cpu_suppressed(&slo, NODE, 16000, 400), 2000);
    slo.cpu_suppress_policy = "cfsQuota";
    assert_int_equal(cpu_suppressed(&slo, NODE, 4001, 0), 6399);
    assert_int_equal(cpu_suppressed(&slo, NODE, 16000, 0), 20);
    slo.cpu_suppress_min_percent = (struct opt_i64){ true, 10 };
    assert_int_equal(cpu_suppressed(&slo, NODE, 16000, 0), 1600);
    slo.cpu_suppress_threshold_percent = (struct opt_i64){ true, 50 };
    assert_int_equal(cpu_suppressed(&slo, NODE, 4000, 0), 4000);
}

static void test_the_limit_is_for_all_best_effort(void **state)
{
    struct fixture *f = *state;

    add(&f->others, 2000, 2000);
    add(&f->be, 4000, 4000);
    add(&f->be, 4000, 4000);
    cpu_share(&f->others, &f->be, NODE, 5000);
    assert_int_equal(got(&f->others, 0), 2000);
    assert_int_equal(got(&f->be, 0) + got(&f->be, 1), 5000);
}

/* Whatever the claims: nobody gets more than wanted, no core is given twice, and a core is idle
 * only when nobody waits for it. */
static void test_any_claims(void **state)
{
    struct fixture *f = *state;

    for (uint64_t seed = 0; seed < 500; seed++) {
        int64_t wanted = 0, given = 0;
        size_t n = (size_t)(load_noise(seed, 1) * 20);
        f->others.n = f->be.n = 0;
        for (uint64_t i = 0; i < n; i++) {
            int64_t want = (int64_t)(load_noise(seed, 10 + i) * 4000);
            add(load_noise(seed, 50 + i) < 0.5 ? &f->others : &f->be, want,
                (int64_t)(load_noise(seed, 90 + i) * 4000));
            wanted += want;
        }
        cpu_share(&f->others, &f->be, NODE, INT64_MAX);
        vec_foreach(&f->others, i) {
            assert_in_range(got(&f->others, i), 0, f->others.items[i].want_mcpu);
            given += got(&f->others, i);
        }
        vec_foreach(&f->be, i) {
            assert_in_range(got(&f->be, i), 0, f->be.items[i].want_mcpu);
            given += got(&f->be, i);
        }
        assert_that(given, <=, MIN(wanted, (int64_t)NODE));
        assert_that(given + (int64_t)n + 1, >=, MIN(wanted, (int64_t)NODE)); /* rounded down */
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_enough_for_all, setup, teardown),
        cmocka_unit_test_setup_teardown(test_requests_are_weights, setup, teardown),
        cmocka_unit_test_setup_teardown(test_best_effort_comes_last, setup, teardown),
        cmocka_unit_test(test_held_below_the_threshold),
        cmocka_unit_test_setup_teardown(test_the_limit_is_for_all_best_effort, setup, teardown),
        cmocka_unit_test_setup_teardown(test_any_claims, setup, teardown),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
