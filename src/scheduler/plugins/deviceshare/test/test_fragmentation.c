/* test_fragmentation.c - what free GPUs are worth to a mix of pods, and the mix itself. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scheduler/plugins/deviceshare/podmix.h"

#define GIB  (INT64_C(1) << 30)
#define DAY  (24 * 3600 * NSEC_PER_SEC)
#define HOUR (3600 * NSEC_PER_SEC)

static const struct frag_kind whole = { 1, 100, 4000, 8 * GIB }, half = { 1, 50, 2000, 4 * GIB },
                              four = { 4, 100, 16000, 32 * GIB };

static double waste(const struct frag_node *n, struct frag_kind kind)
{
    const double one = 1;
    return frag_waste(n, &(struct frag_mix){ &kind, &one, 1 });
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static void test_what_a_kind_cannot_use(void **state)
{
    struct frag_node n = { { 100, 100, 60, 30 }, 4, 64000, 256 * GIB };

    (void)state;
    assert_true(near(waste(&n, whole), 90));
    assert_true(near(waste(&n, half), 30));
    assert_true(near(waste(&n, four), 290)); /* no such pod fits */
    n.mcpu = 3999;
    assert_true(near(waste(&n, whole), 290)); /* nor this one, for want of CPUs */
    assert_true(waste(&n, half) < 90);
    n = (struct frag_node){ { 0, 0 }, 2, 64000, 256 * GIB };
    assert_true(near(waste(&n, whole), 0)); /* nothing is free: nothing is wasted */
}

/* CPUs for one of two cards: a quarter of the other one counts. */
static void test_cards_that_cpus_do_not_suffice_for(void **state)
{
    const struct frag_node n = { { 100, 100 }, 2, 4000, 256 * GIB };

    (void)state;
    assert_true(near(waste(&n, whole), 25));
    assert_true(near(waste(&n, (struct frag_kind){ 1, 50, 1000, 0 }), 0));
}

static void test_a_share_goes_where_it_spoils_least(void **state)
{
    const struct frag_node n = { { 100, 50, 60 }, 3, 64000, 256 * GIB };
    const struct frag_kind kinds[] = { whole, half };
    const double weights[] = { 0.5, 0.5 };
    const struct frag_mix m = { kinds, weights, 2 };
    uint32_t card;

    (void)state;
    double growth = frag_growth(&n, &m, &half, &card);
    assert_int_equal(card, 1); /* it leaves nothing that nobody can use */
    assert_true(growth < 0);   /* what whole ones could not use anyway is gone */
    const struct frag_node free = { { 100, 100 }, 2, 64000, 256 * GIB };
    assert_true(frag_growth(&free, &m, &half, &card) > 0);
    assert_int_equal(card, 0);
    frag_growth(&free, &m, &whole, &card);
    assert_int_equal(card, UINT32_MAX);
}

static int draw(void)
{
    static uint64_t x = 7;

    x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (int)(x >> 34);
}

/* The quick tally says what a plain sum over the cards says. */
static void test_equals_a_plain_sum(void **state)
{
    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct frag_node n = { .n_cards = (uint32_t)(draw() % 9),
                               .mcpu = draw() % 40000,
                               .memory = draw() % 100 * GIB };
        struct frag_kind k = { (uint32_t)(1 + draw() % 4), 1 + draw() % 100, draw() % 9000,
                               draw() % 20 * GIB };
        double free = 0, usable = 0;
        uint32_t fit = 0;
        for (uint32_t i = 0; i < n.n_cards; i++) {
            n.card[i] = draw() % 4 ? draw() % 101 : 100;
            free += n.card[i];
            usable += n.card[i] >= k.share ? n.card[i] : 0;
            fit += n.card[i] >= k.share;
        }
        double want = free;
        if (fit >= k.cards && n.mcpu >= k.mcpu && n.memory >= k.memory) {
            double each = (double)k.cards * k.share, room = 1e18;
            if (k.mcpu)
                room = fmin(room, (double)n.mcpu / (double)k.mcpu * each);
            if (k.memory)
                room = fmin(room, (double)n.memory / (double)k.memory * each);
            want = free - (room < usable ? 0.25 * room + 0.75 * usable : usable);
        }
        assert_true(fabs(waste(&n, k) - want) < 1e-6);
        uint32_t card;
        if (fit >= k.cards && n.mcpu >= k.mcpu && n.memory >= k.memory) {
            frag_growth(&n, &(struct frag_mix){ &k, &(const double){ 1 }, 1 }, &k, &card);
            if (k.cards == 1 && k.share < 100)
                assert_true(card < n.n_cards && n.card[card] >= k.share);
        }
    }
}

/* ---- the mix --------------------------------------------------------------------------------- */

static double weight_of(const struct frag_mix *m, struct frag_kind k)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (m->kinds[i].cards == k.cards && m->kinds[i].share == k.share &&
            m->kinds[i].mcpu == k.mcpu)
            return m->weights[i];
    return 0;
}

static void test_a_mix_that_is_learned(void **state)
{
    CLEANUP(podmix_free) struct podmix *x = podmix_new();

    (void)state;
    assert_int_equal(podmix_look(x, HOUR)->n, 0);
    for (int i = 0; i < 3; i++)
        podmix_note(x, &whole, HOUR);
    podmix_note(x, &half, HOUR);
    assert_true(near(weight_of(podmix_look(x, HOUR), whole), 0.75));
    uint64_t version = podmix_version(x);
    assert_true(near(weight_of(podmix_look(x, HOUR), whole), 0.75));
    assert_int_equal(podmix_version(x), version); /* nothing new: the same picture */
    /* A day later three halves weigh as much as six whole ones of then: 1.5 + 0.5 + 3. */
    for (int i = 0; i < 3; i++)
        podmix_note(x, &half, HOUR + DAY);
    assert_true(near(weight_of(podmix_look(x, HOUR + DAY), whole), 1.5 / 5));
    assert_int_not_equal(podmix_version(x), version);
}

static void test_a_picture_changes_in_steps(void **state)
{
    CLEANUP(podmix_free) struct podmix *x = podmix_new();

    (void)state;
    for (int i = 0; i < 100; i++)
        podmix_note(x, &whole, HOUR);
    podmix_look(x, HOUR);
    uint64_t version = podmix_version(x);
    for (int i = 0; i < 20; i++) {
        podmix_note(x, &half, HOUR);
        podmix_look(x, HOUR);
    }
    assert_int_equal(podmix_version(x), version);
    podmix_look(x, 2 * HOUR); /* old */
    assert_int_equal(podmix_version(x), version + 1);
    for (int i = 0; i < 40; i++) {
        podmix_note(x, &half, 2 * HOUR);
        podmix_look(x, 2 * HOUR);
    }
    assert_int_equal(podmix_version(x), version + 2); /* a quarter more */
}

static void test_what_is_noted_in_vain(void **state)
{
    CLEANUP(podmix_free) struct podmix *x = podmix_new();
    static const struct frag_kind bad[] = { { 0, 100, 1, 1 },  { 1, 0, 1, 1 },   { 1, 101, 1, 1 },
                                            { 65, 100, 1, 1 }, { 1, 50, -1, 1 }, { 1, 50, 1, -1 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        podmix_note(x, &bad[i], HOUR);
    assert_int_equal(podmix_look(x, HOUR)->n, 0);
}

static void test_the_rarest_kind_makes_room(void **state)
{
    CLEANUP(podmix_free) struct podmix *x = podmix_new();

    (void)state;
    podmix_note(x, &whole, HOUR);
    podmix_note(x, &whole, HOUR);
    for (int i = 0; i < 1000; i++)
        podmix_note(x, &(struct frag_kind){ 1, 10, i, 0 }, HOUR);
    const struct frag_mix *m = podmix_look(x, HOUR);
    assert_int_equal(m->n, PODMIX_KINDS_MAX);
    assert_true(weight_of(m, whole) > 0);
    double sum = 0;
    for (uint32_t i = 0; i < m->n; i++)
        sum += m->weights[i];
    assert_true(near(sum, 1));
}

static void test_clocks_that_jump(void **state)
{
    CLEANUP(podmix_free) struct podmix *x = podmix_new();

    (void)state;
    podmix_note(x, &whole, 100 * DAY);
    podmix_note(x, &half, 99 * DAY);
    assert_true(near(weight_of(podmix_look(x, 100 * DAY), half), 0.5));
    for (int i = 0; i < 50; i++)
        podmix_note(x, &half, (101 + i * 1000) * DAY);
    const struct frag_mix *m = podmix_look(x, 60000 * DAY);
    assert_true(weight_of(m, half) > 0.999 && weight_of(m, half) <= 1);
    assert_true(weight_of(m, whole) < 0.001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_kind_cannot_use),
        cmocka_unit_test(test_cards_that_cpus_do_not_suffice_for),
        cmocka_unit_test(test_a_share_goes_where_it_spoils_least),
        cmocka_unit_test(test_equals_a_plain_sum),
        cmocka_unit_test(test_a_mix_that_is_learned),
        cmocka_unit_test(test_a_picture_changes_in_steps),
        cmocka_unit_test(test_what_is_noted_in_vain),
        cmocka_unit_test(test_the_rarest_kind_makes_room),
        cmocka_unit_test(test_clocks_that_jump),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
