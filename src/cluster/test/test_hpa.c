/* test_hpa.c - autoscaling: from samples to replicas, and what of it is allowed when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "cluster/hpa.h"

#define SEC  NSEC_PER_SEC
#define WALL (INT64_C(1763200000) * SEC)

/* ---- samples ------------------------------------------------------------------------------------- */

struct pods { /* ready for an hour, with 100m each, unless changed */
    struct pod p[8];
    struct condition ready[8];
    hpa_samplevec v;
};

static void pods_init(struct pods *x, size_t n, int64_t value)
{
    memset(x, 0, sizeof *x);
    for (size_t i = 0; i < n; i++) {
        x->ready[i] = (struct condition){ .type = "Ready",
                                          .status = COND_TRUE,
                                          .last_transition_time = WALL - 3600 * SEC };
        x->p[i].status.phase = POD_RUNNING;
        x->p[i].status.start_time = WALL - 3601 * SEC;
        x->p[i].status.conditions.items = &x->ready[i];
        x->p[i].status.conditions.n = 1;
        struct hpa_sample s = { .pod = &x->p[i],
                                .known = true,
                                .at = WALL,
                                .window = 15 * SEC,
                                .value = value,
                                .request = 100 };
        vec_push(&x->v, s);
    }
}

static int32_t calc(struct pods *x, int64_t target)
{
    struct hpa_goal g = { .is_utilization = true,
                          .is_cpu = true,
                          .target = target,
                          .down = 0.1,
                          .up = 0.1,
                          .replicas = (int32_t)x->v.n,
                          .now = WALL };
    struct hpa_proposal p = { 0 };
    const char *problem = hpa_calc(&x->v, &g, &p);

    vec_fini(&x->v);
    assert_null(problem);
    return p.replicas;
}

static void test_the_share_of_the_target(void **state)
{
    static const struct {
        size_t n;
        int64_t value, target;
        int32_t want;
    } cases[] = {
        { 3, 100, 50, 6 },                   /* twice the target */
        { 3, 50, 50, 3 },  { 3, 54, 50, 3 }, /* within a tenth */
        { 3, 45, 50, 3 },  { 3, 56, 50, 4 },     { 4, 25, 50, 2 },
        { 4, 0, 50, 0 },   { 1, 1000, 10, 100 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pods x;
        pods_init(&x, cases[i].n, cases[i].value);
        assert_int_equal(calc(&x, cases[i].target), cases[i].want);
    }
}

static void test_pods_without_a_sample(void **state)
{
    struct pods x;

    (void)state;
    /* Rising: the missing one counts as idle. 2 x 100 of 3 x 100 are 66 %. */
    pods_init(&x, 3, 100);
    x.v.items[2].known = false;
    assert_int_equal(calc(&x, 50), 4);
    /* Falling: it counts as busy. (20 + 20 + 100) of 300 are 46 %: close enough to 50. */
    pods_init(&x, 3, 20);
    x.v.items[2].known = false;
    assert_int_equal(calc(&x, 50), 3);
    /* It never turns the direction. */
    pods_init(&x, 2, 60);
    x.v.items[1].known = false;
    assert_int_equal(calc(&x, 50), 2);
    /* On the target: nothing is added for it. */
    pods_init(&x, 2, 50);
    x.v.items[1].known = false;
    assert_int_equal(calc(&x, 50), 2);
}

static void test_pods_that_start_or_end(void **state)
{
    struct pods x;

    (void)state;
    /* Not ready yet: idle when rising, not counted when falling. */
    pods_init(&x, 3, 100);
    x.ready[2].status = COND_FALSE;
    x.p[2].status.start_time = WALL - 60 * SEC;
    assert_int_equal(calc(&x, 50), 4);
    pods_init(&x, 3, 10);
    x.ready[2].status = COND_FALSE;
    x.p[2].status.start_time = WALL - 60 * SEC;
    assert_int_equal(calc(&x, 50), 1);
    /* Ready, but its sample is from before. */
    pods_init(&x, 2, 100);
    x.p[1].status.start_time = WALL - 60 * SEC;
    x.ready[1].last_transition_time = WALL - 10 * SEC;
    assert_int_equal(calc(&x, 50), 2);
    /* The same, whatever the metrics server says of its window. */
    pods_init(&x, 2, 100);
    x.p[1].status.start_time = WALL - 60 * SEC;
    x.v.items[1].window = NSEC_MAX;
    assert_int_equal(calc(&x, 50), 2);
    /* Long ready once, not now: it counts. */
    pods_init(&x, 2, 100);
    x.ready[1].status = COND_FALSE;
    x.ready[1].last_transition_time = WALL - 600 * SEC;
    assert_int_equal(calc(&x, 50), 4);
    /* Pending as not ready; failed and deleted ones not at all. */
    pods_init(&x, 4, 100);
    x.p[1].status.phase = POD_PENDING;
    x.p[2].status.phase = POD_FAILED;
    x.p[3].obj.meta.deleted = WALL;
    assert_int_equal(calc(&x, 50), 4);
}

static void test_what_cannot_be_calculated(void **state)
{
    struct hpa_goal g = { .is_utilization = true, .target = 50, .replicas = 2, .now = WALL };
    struct hpa_proposal p;
    struct pods x;

    (void)state;
    pods_init(&x, 0, 0);
    assert_string_equal(hpa_calc(&x.v, &g, &p),
                        "no pods returned by selector while calculating replica count");
    pods_init(&x, 1, 0);
    x.v.items[0].known = false;
    assert_string_equal(hpa_calc(&x.v, &g, &p),
                        "did not receive metrics for targeted pods (pods might be unready)");
    x.v.items[0].known = true;
    x.v.items[0].request = 0;
    assert_string_equal(hpa_calc(&x.v, &g, &p), "no metrics returned matched known pods");
    vec_fini(&x.v);
    /* Absurd numbers end in a number. */
    pods_init(&x, 8, INT64_MAX);
    assert_null(hpa_calc(&x.v, &g, &p));
    assert_that(p.replicas, >, 0);
    vec_fini(&x.v);
}

static void test_raw_values(void **state)
{
    struct hpa_goal g = { .target = 1000, .down = 0.1, .up = 0.5, .replicas = 3, .now = WALL };
    struct hpa_proposal p;
    struct pods x;

    (void)state;
    pods_init(&x, 3, 2000);
    assert_null(hpa_calc(&x.v, &g, &p));
    assert_int_equal(p.replicas, 6);
    assert_int_equal(p.average, 2000);
    vec_fini(&x.v);
    pods_init(&x, 3, 1400); /* within the tolerance for rising */
    assert_null(hpa_calc(&x.v, &g, &p));
    assert_int_equal(p.replicas, 3);
    vec_fini(&x.v);
}

/* ---- rules ----------------------------------------------------------------------------------------- */

struct scaler {
    struct hpa_memory m;
    struct hpa_limits l;
    struct hpa_verdict v;
};

/* One look; what it says is done. */
static int32_t look(struct scaler *s, nsec_t after, int32_t desired)
{
    s->l.now += after;
    s->l.desired = desired;
    hpa_remember_first(&s->m, s->l.current, s->l.now);
    s->v = hpa_judge(&s->m, &s->l);
    hpa_remember_change(&s->m, &s->l, s->v.replicas);
    s->l.current = s->v.replicas;
    return s->v.replicas;
}

static void test_the_usual_rules(void **state)
{
    struct scaler s = { .l = { .current = 3, .min = 2, .max = 20, .now = 1000 * SEC } };

    (void)state;
    assert_int_equal(look(&s, 0, 3), 3);
    assert_string_equal(s.v.stable_reason, "ReadyForNewScale");
    assert_string_equal(s.v.limited_reason, "DesiredWithinRange");
    assert_int_equal(look(&s, 15 * SEC, 100), 6); /* twice as many at most */
    assert_true(s.v.is_limited);
    assert_string_equal(s.v.limited_reason, "ScaleUpLimit");
    assert_int_equal(look(&s, 15 * SEC, 100), 12);
    assert_int_equal(look(&s, 15 * SEC, 100), 20);
    assert_string_equal(s.v.limited_reason, "TooManyReplicas");
    assert_int_equal(look(&s, 15 * SEC, 1), 20); /* five minutes of the highest */
    assert_string_equal(s.v.stable_reason, "ScaleDownStabilized");
    for (int i = 0; i < 18; i++)
        assert_int_equal(look(&s, 15 * SEC, 5), 20);
    assert_int_equal(look(&s, 30 * SEC, 1), 5);
    for (int i = 0; i < 20; i++)
        (void)look(&s, 15 * SEC, 1);
    assert_int_equal(s.l.current, 2);
    assert_string_equal(s.v.limited_reason, "TooFewReplicas");
    assert_that(s.m.recommended.n, <=, 25); /* it does not grow for ever */
    hpa_memory_fini(&s.m);
}

#define DIRECTION(window, select, ...)                                                    \
    {                                                                                     \
        .window_seconds = { true, window }, .select_policy = (select), .policies = {      \
            .items = (struct hpa_policy[]){ __VA_ARGS__ },                                \
            .n = sizeof((struct hpa_policy[]){ __VA_ARGS__ }) / sizeof(struct hpa_policy) \
        }                                                                                 \
    }

static void test_policies(void **state)
{
    struct hpa_direction up = DIRECTION(0, "Max", { "Pods", 2, 60 }, { "Percent", 50, 60 });
    struct hpa_direction down = DIRECTION(0, "Min", { "Pods", 3, 60 }, { "Percent", 10, 60 });
    struct hpa_behavior b = { &up, &down };
    struct scaler s = {
        .l = { .current = 4, .min = 1, .max = 100, .behavior = &b, .now = 1000 * SEC }
    };

    (void)state;
    assert_int_equal(look(&s, 0, 50), 6);        /* two pods or 50 %: both are 6 */
    assert_int_equal(look(&s, 15 * SEC, 50), 6); /* within the minute there are no more */
    assert_string_equal(s.v.limited_reason, "ScaleUpLimit");
    assert_int_equal(look(&s, 60 * SEC, 50), 9); /* 50 % of 6 are more than two */
    assert_int_equal(look(&s, 61 * SEC, 50), 14);
    assert_int_equal(look(&s, 61 * SEC, 1), 12); /* a tenth, rounded down, is less than three */
    assert_string_equal(s.v.limited_reason, "ScaleDownLimit");
    assert_int_equal(look(&s, 30 * SEC, 1), 12);
    assert_int_equal(look(&s, 61 * SEC, 1), 10);
    down.select_policy = "Disabled";
    assert_int_equal(look(&s, 61 * SEC, 1), 10);
    up.select_policy = "Min";
    assert_int_equal(look(&s, 61 * SEC, 50), 12);
    hpa_memory_fini(&s.m);
}

static void test_windows(void **state)
{
    struct hpa_direction up = DIRECTION(60, "Max", { "Pods", 100, 15 });
    struct hpa_direction down = DIRECTION(30, "Max", { "Percent", 100, 15 });
    struct hpa_behavior b = { &up, &down };
    struct scaler s = {
        .l = { .current = 5, .min = 1, .max = 100, .behavior = &b, .now = 1000 * SEC }
    };

    (void)state;
    assert_int_equal(look(&s, 0, 5), 5);
    assert_int_equal(look(&s, 15 * SEC, 9), 5); /* the lowest of a minute */
    assert_string_equal(s.v.stable_reason, "ScaleUpStabilized");
    assert_int_equal(look(&s, 15 * SEC, 8), 5);
    assert_int_equal(look(&s, 46 * SEC, 9), 8);
    assert_int_equal(look(&s, 15 * SEC, 2), 8); /* the highest of half a minute */
    assert_string_equal(s.v.stable_reason, "ScaleDownStabilized");
    assert_int_equal(look(&s, 31 * SEC, 2), 2);
    hpa_memory_fini(&s.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_share_of_the_target),
        cmocka_unit_test(test_pods_without_a_sample),
        cmocka_unit_test(test_pods_that_start_or_end),
        cmocka_unit_test(test_what_cannot_be_calculated),
        cmocka_unit_test(test_raw_values),
        cmocka_unit_test(test_the_usual_rules),
        cmocka_unit_test(test_policies),
        cmocka_unit_test(test_windows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
