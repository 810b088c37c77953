/* test_jobindexes.c - sets of indexes of a Job, however many there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "cluster/job_indexes.h"

#define ALL INT64_C(2147483647) /* completions */

static jrangevec parse(const char *text, int64_t limit)
{
    jrangevec r = { 0 };

    jranges_parse(&r, text, limit);
    jranges_settle(&r);
    return r;
}

static void test_text(void **state)
{
    static const struct {
        const char *in, *out;
        int64_t limit, count;
    } cases[] = {
        { NULL, "", 9, 0 },
        { "", "", 9, 0 },
        { "3", "3", 9, 1 },
        { "0-3,5", "0-3,5", 9, 5 },
        { "3,4", "3,4", 9, 2 },
        { "3,4,5", "3-5", 9, 3 },
        { "8-9", "8", 9, 1 },
        { "9", "", 9, 0 },
        { "5,1-2,0", "0-2,5", 9, 4 },
        { "1-4,2-3,3-6", "1-6", 9, 6 },
        { "x,2,-1,4-,5-4,7", "2,7", 9, 2 },
        { "0-9223372036854775807,5", "0-8", 9, 9 },
        { "9223372036854775807", "", ALL, 0 },
        { "0-2147483646", "0-2147483646", ALL, ALL },
        { "0", "", 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(arena_free) struct arena *a = arena_new();
        jrangevec r = parse(cases[i].in, cases[i].limit);
        assert_string_equal(jranges_text(&r, a), cases[i].out);
        assert_int_equal(jranges_count(&r), cases[i].count);
        vec_fini(&r);
    }
}

static void test_what_two_sets_have_in_common(void **state)
{
    static const struct {
        const char *a, *b;
        int64_t count;
    } cases[] = {
        { "", "0-5", 0 },        { "0-5", "6", 0 },          { "0-5", "5-9", 1 },
        { "0-5", "1,3,5,7", 3 }, { "2-3,8-9", "0-10", 4 },   { "0-4,6-9", "3-7", 4 },
        { "0-3,5", "0-3,5", 5 }, { "0-2147483646", "7", 1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        jrangevec a = parse(cases[i].a, ALL), b = parse(cases[i].b, ALL);
        assert_int_equal(jranges_count_common(&a, &b), cases[i].count);
        assert_int_equal(jranges_count_common(&b, &a), cases[i].count);
        vec_fini(&a);
        vec_fini(&b);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_what_two_sets_have_in_common),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("jobindexes", tests, NULL, NULL);
}
