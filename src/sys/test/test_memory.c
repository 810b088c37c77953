/* test_memory.c - what the start touched goes, and everything still works. */
#include "base/test/asserts.h"
#include "sys/memory.h"

#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

/* Big enough to be seen, constant, and of the program's own file. */
static const char table[4 << 20] = { 1, 2, 3 };

static long resident_kb(const char *what)
{
    char line[128];
    long kb = -1;
    FILE *f = fopen("/proc/self/status", "re");

    while (f && kb < 0 && fgets(line, sizeof line, f))
        if (strncmp(line, what, strlen(what)) == 0)
            kb = atol(line + strlen(what));
    fclose(f);
    return kb;
}

static unsigned sum_table(void)
{
    unsigned sum = 0;
    const volatile char *t = table;

    for (size_t i = 0; i < sizeof table; i += 512)
        sum += (unsigned char)t[i] + 1u;
    return sum;
}

static void test_pages_of_the_program_go_and_come_back(void **state)
{
    (void)state;
    unsigned before = sum_table();
    long touched = resident_kb("RssFile:");
    memory_settle();
    long left = resident_kb("RssFile:");

    assert_that(touched, >=, 4 << 10);
    assert_that(left, <, touched - (3 << 10));
    assert_int_equal(sum_table(), before);
    assert_int_equal(table[2], 3);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_of_the_program_go_and_come_back),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
