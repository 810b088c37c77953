/* test_rollout.c - the arithmetic of rollouts, played to the end with random delays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "cluster/deploy.h"

struct fixture {
    struct deploy d;
    struct rolling rolling;
    struct rs rs[4];
    struct dset sets[4];
    struct dview v;
};

static void fixture_init(struct fixture *b, int replicas, const char *surge,
                         const char *unavailable)
{
    memset(b, 0, sizeof *b);
    b->rolling = (struct rolling){ { .s = surge }, { .s = unavailable } };
    b->d.spec.replicas = (struct opt_i32){ true, replicas };
    b->d.spec.strategy = (struct strategy){ "RollingUpdate", &b->rolling };
    b->v = (struct dview){ .d = &b->d, .sets = b->sets };
    dview_resolve(&b->v);
}

static struct dset *fixture_add(struct fixture *b, int64_t replicas, int64_t available)
{
    struct dset *s = &b->sets[b->v.n++];
    *s = (struct dset){ .rs = &b->rs[b->v.n - 1],
                        .replicas = replicas,
                        .want = replicas,
                        .available = available,
                        .actual = replicas,
                        .annotated_desired = b->v.replicas,
                        .annotated_max = b->v.replicas + b->v.surge };
    return s;
}

static void test_percentages(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b, 10, "25%", "25%");
    assert_int_equal(b.v.surge, 3);       /* rounded up */
    assert_int_equal(b.v.unavailable, 2); /* rounded down */
    fixture_init(&b, 1, "0%", "25%");
    assert_int_equal(b.v.unavailable, 1); /* something must move */
    fixture_init(&b, 0, "25%", "25%");
    assert_int_equal(b.v.surge, 0);
}

static void test_first_steps(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b, 10, "25%", "25%");
    fixture_add(&b, 10, 10);
    assert_int_equal(rollout_fresh_replicas(&b.v, 0), 3);
    b.v.fresh = fixture_add(&b, 3, 0);
    assert_false(rollout_grow(&b.v));
    assert_true(rollout_shrink(&b.v));
    assert_int_equal(b.sets[0].want, 8);
}

static void test_unhealthy_go_first(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b, 10, "0%", "20%");
    fixture_add(&b, 8, 8);
    fixture_add(&b, 2, 0); /* a rollout that never came up */
    b.v.fresh = fixture_add(&b, 0, 0);
    assert_true(rollout_shrink(&b.v));
    assert_int_equal(b.sets[0].want, 8);
    assert_int_equal(b.sets[1].want, 0);
}

static void test_scaling_in_proportion(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b, 10, "30%", "20%");
    fixture_add(&b, 8, 8);
    b.v.fresh = fixture_add(&b, 5, 2);
    b.d.spec.replicas.v = 15;
    dview_resolve(&b.v);
    assert_int_equal(b.v.surge, 5);
    assert_true(rollout_is_scaling(&b.v));
    assert_true(rollout_scale(&b.v));
    assert_int_equal(b.sets[0].want + b.sets[1].want, 20);
    assert_int_equal(b.sets[0].want, 12);
    assert_int_equal(b.sets[1].want, 8);
    /* To nothing. */
    b.d.spec.replicas.v = 0;
    dview_resolve(&b.v);
    for (size_t i = 0; i < b.v.n; i++)
        b.sets[i].want = b.sets[i].replicas;
    assert_true(rollout_scale(&b.v));
    assert_int_equal(b.sets[0].want + b.sets[1].want, 0);
}

/* Pods come and go with delays; the limits hold all the way and the end is reached. */
static void play(struct loop *l, int replicas, const char *surge, const char *unavailable)
{
    struct fixture b;

    fixture_init(&b, replicas, surge, unavailable);
    fixture_add(&b, replicas, replicas);
    b.v.fresh = fixture_add(&b, 0, 0);
    for (int step = 0; step < 5000; step++) {
        if (rollout_grow(&b.v) || rollout_shrink(&b.v))
            for (size_t i = 0; i < 2; i++)
                b.sets[i].replicas = b.sets[i].want;
        for (size_t i = 0; i < 2; i++) {
            struct dset *s = &b.sets[i];
            if (s->actual > s->replicas && loop_rand_below(l, 2))
                s->actual--;
            else if (s->actual < s->replicas && loop_rand_below(l, 2))
                s->actual++;
            s->available = MIN(s->available, s->actual);
            if (s->available < s->actual && loop_rand_below(l, 3) == 0)
                s->available++;
            s->want = s->replicas;
        }
        assert_that(b.sets[0].actual + b.sets[1].actual, <=, replicas + b.v.surge);
        assert_that(dview_available(&b.v), >=, replicas - b.v.unavailable);
        if (b.sets[0].actual == 0 && b.sets[1].available == replicas)
            return;
    }
    fail_msg("%d replicas, surge %s, unavailable %s: never ends", replicas, surge, unavailable);
}

static void test_every_rollout_ends_within_limits(void **state)
{
    static const char *const shares[] = { "0%", "10%", "25%", "50%", "100%" };
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 5);

    (void)state;
    for (int n = 1; n <= 40; n += 3)
        for (size_t i = 0; i < ARRAY_LEN(shares); i++)
            for (size_t k = 0; k < ARRAY_LEN(shares); k++)
                play(l, n, shares[i], shares[k]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_percentages),
        cmocka_unit_test(test_first_steps),
        cmocka_unit_test(test_unhealthy_go_first),
        cmocka_unit_test(test_scaling_in_proportion),
        cmocka_unit_test(test_every_rollout_ends_within_limits),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
