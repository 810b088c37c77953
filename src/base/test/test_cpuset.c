/* test_cpuset.c - the kernel's CPU lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cpuset.h"
#include "base/test/asserts.h"

static struct cpuset parsed(const char *text)
{
    struct cpuset c;
    struct kerr err = { 0 };
    if (cpuset_parse(text, strlen(text), &c, &err) < 0)
        fail_msg("'%s': %s", text, err.text);
    return c;
}

static void test_text_forms(void **state)
{
    static const struct {
        const char *in, *out;
        unsigned count;
    } cases[] = {
        { "", "", 0 },
        { "\n", "", 0 },
        { "0", "0", 1 },
        { "0-3", "0-3", 4 },
        { "0-3,8,10-11\n", "0-3,8,10-11", 7 },
        { " 1,2,3 ", "1-3", 3 },
        { "7,5-6,1", "1,5-7", 4 },
        { "3,3,2-4", "2-4", 3 },
        { "5-5", "5", 1 },
        { "0,2,4", "0,2,4", 3 },
        { "62-65", "62-65", 4 },
        { "00,0001", "0-1", 2 },
        { "0-1023", "0-1023", 1024 },
        { "1023", "1023", 1 },
        { "3-1", "", 0 },
        { "0,7-5,2", "0,2", 2 },
    };

    (void)state;
    CLEANUP(arena_free) struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cpuset c = parsed(cases[i].in);
        assert_string_equal(cpuset_format(&c, a), cases[i].out);
        assert_int_equal(cpuset_count(&c), cases[i].count);
        assert_int_equal(cpuset_is_empty(&c), cases[i].count == 0);
    }
}

static void test_bad_text_is_refused_and_named(void **state)
{
    static const struct {
        const char *in;
        int code;
    } cases[] = {
        { "a", -EINVAL },    { ",", -EINVAL },       { "1,", -EINVAL },
        { ",1", -EINVAL },   { "1,,2", -EINVAL },    { "3-", -EINVAL },
        { "1-", -EINVAL },   { "-1", -EINVAL },      { "1 2", -EINVAL },
        { "1, 2", -EINVAL }, { "0-3:1/2", -EINVAL }, { "0x1", -EINVAL },
        { "1024", -ERANGE }, { "0-1024", -ERANGE },  { "99999999999999999999", -ERANGE },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cpuset c = { { 42 } };
        struct kerr err = { 0 };
        assert_int_equal(cpuset_parse(cases[i].in, strlen(cases[i].in), &c, &err), cases[i].code);
        assert_int_equal(err.code, cases[i].code);
        assert_contains(err.text, cases[i].in);
        assert_int_equal(c.w[0], 42); /* outputs are written on success only */
    }
}

static void test_length_bounds_the_text(void **state)
{
    struct cpuset c;

    (void)state;
    assert_int_equal(cpuset_parse("0-35", 3, &c, NULL), 0);
    assert_int_equal(cpuset_count(&c), 4);
}

static void test_add_del_has(void **state)
{
    struct cpuset c = { 0 };

    (void)state;
    cpuset_add(&c, 0);
    cpuset_add(&c, 1023);
    assert_true(cpuset_has(&c, 0) && cpuset_has(&c, 1023));
    assert_false(cpuset_has(&c, 1) || cpuset_has(&c, 1024) || cpuset_has(&c, UINT32_MAX));
    cpuset_del(&c, 0);
    assert_false(cpuset_has(&c, 0));
    assert_int_equal(cpuset_count(&c), 1);
}

static void test_next_and_foreach_go_up(void **state)
{
    static const int want[] = { 1, 63, 64, 1023 };
    struct cpuset c = parsed("1,63-64,1023"), none = { 0 };
    size_t n = 0;

    (void)state;
    cpuset_foreach(&c, cpu)
        assert_int_equal(cpu, want[n++]);
    assert_int_equal(n, ARRAY_LEN(want));
    assert_int_equal(cpuset_next(&c, 65), 1023);
    assert_int_equal(cpuset_next(&c, 1024), -1);
    assert_int_equal(cpuset_next(&c, -5), 1);
    assert_int_equal(cpuset_next(&none, 0), -1);
}

static void test_algebra(void **state)
{
    struct cpuset a = parsed("0-3"), b = parsed("2-5,100");
    struct cpuset all = parsed("0-5,100"), both = parsed("2-3"), only_a = parsed("0-1");
    struct cpuset u = cpuset_union(&a, &b), i = cpuset_intersect(&a, &b), m = cpuset_minus(&a, &b);

    (void)state;
    assert_true(cpuset_equal(&u, &all));
    assert_true(cpuset_equal(&i, &both));
    assert_true(cpuset_equal(&m, &only_a));
    assert_false(cpuset_equal(&a, &b));
    assert_true(cpuset_subset(&both, &a) && cpuset_subset(&a, &a));
    assert_false(cpuset_subset(&b, &a));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_forms),
        cmocka_unit_test(test_bad_text_is_refused_and_named),
        cmocka_unit_test(test_length_bounds_the_text),
        cmocka_unit_test(test_add_del_has),
        cmocka_unit_test(test_next_and_foreach_go_up),
        cmocka_unit_test(test_algebra),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
