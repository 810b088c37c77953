/* test_runtimeproxy_store.c - what the proxy knows, in memory and on disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "base/test/asserts.h"
#include "loop/loop.h"
#include "runtimeproxy/store.h"
#include "sys/file.h"

static char path[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/runtimeproxy.XXXXXX");
    int fd = mkstemp(path);
    close(fd);
    return unlink(path);
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(path);
    return 0;
}

static void test_entries_survive(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct podstore *s = podstore_new(l, path);
    struct stat st;
    struct kerr err;

    (void)state;
    assert_int_equal(podstore_load(s, &err), 0); /* none yet */
    podstore_put(s, STORE_POD, STR("p1"), STR("pod"));
    podstore_put(s, STORE_CONTAINER, STR("c1"), STR("container"));
    podstore_put(s, STORE_CONTAINER, STR("c1"), STR("changed"));
    podstore_put(s, STORE_CONTAINER, STR("c2"), STR(""));
    podstore_put(s, STORE_CONTAINER, STR(""), STR("nobody"));
    loop_advance(l, 2 * NSEC_PER_SEC); /* written by itself */
    podstore_free(s);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    s = podstore_new(l, path);
    assert_int_equal(podstore_load(s, &err), 0);
    assert_true(str_eqz(podstore_get(s, STORE_POD, STR("p1")), "pod"));
    assert_true(str_eqz(podstore_get(s, STORE_CONTAINER, STR("c1")), "changed"));
    assert_non_null(podstore_get(s, STORE_CONTAINER, STR("c2")).p);
    assert_null(podstore_get(s, STORE_POD, STR("c1")).p);
    assert_int_equal(podstore_count(s, STORE_CONTAINER), 2);
    podstore_keep_only(s, STORE_CONTAINER, (const struct str[]){ STR("c2"), STR("c9") }, 2);
    assert_int_equal(podstore_count(s, STORE_CONTAINER), 1);
    podstore_remove(s, STORE_CONTAINER, STR("c2"));
    podstore_remove(s, STORE_CONTAINER, STR("c2"));
    assert_int_equal(podstore_flush(s, &err), 0);
    podstore_free(s);
    s = podstore_new(l, path);
    assert_int_equal(podstore_load(s, &err), 0);
    assert_int_equal(podstore_count(s, STORE_CONTAINER), 0);
    assert_int_equal(podstore_count(s, STORE_POD), 1);
    podstore_free(s);
}

static void test_damaged_file(void **state)
{
    static const char *const texts[] = { "garbage", "\x0a\x7f", "\x7a\x03other" };
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        CLEANUP(podstore_free) struct podstore *s = podstore_new(l, path);
        struct kerr err = { 0 };
        assert_int_equal(file_write_atomic(AT_FDCWD, path, texts[i], strlen(texts[i]), 0600, NULL),
                         0);
        assert_true(podstore_load(s, &err) < 0);
        assert_contains(err.text, path);
        assert_int_equal(podstore_count(s, STORE_POD), 0);
    }
}

static void test_disk_that_does_not_take_it(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    CLEANUP(podstore_free) struct podstore *s = podstore_new(l, "/proc/no/such/file");
    struct kerr err;

    (void)state;
    podstore_put(s, STORE_POD, STR("p1"), STR("pod"));
    loop_advance(l, 5 * NSEC_PER_SEC);
    assert_true(str_eqz(podstore_get(s, STORE_POD, STR("p1")), "pod"));
    assert_true(podstore_flush(s, &err) < 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_entries_survive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_disk_that_does_not_take_it, set_up, tear_down),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
