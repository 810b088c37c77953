/* test_names.c - grammars of names. */
#include "api/test/object_fixture.h"

#include "api/names.h"

static bool key_ok(const char *s)
{
    return !name_check_label_key(str_of(s));
}

static void test_label_keys(void **state)
{
    char name[70], prefix[270];

    (void)state;
    assert_true(key_ok("a"));
    assert_true(key_ok("A.b_c-9"));
    assert_true(key_ok("example.com/Name"));
    assert_true(key_ok("kubernetes.io/batch-cpu"));
    assert_false(key_ok(""));
    assert_false(key_ok("-a"));
    assert_false(key_ok("a-"));
    assert_false(key_ok("a b"));
    assert_false(key_ok("/a"));
    assert_false(key_ok("a/"));
    assert_false(key_ok("a/b/c"));
    assert_false(key_ok("Example.com/a"));
    assert_false(key_ok("a..b/c"));
    memset(name, 'x', 63);
    name[63] = '\0';
    assert_true(key_ok(name));
    name[63] = 'x';
    name[64] = '\0';
    assert_false(key_ok(name));
    memset(prefix, 'x', 254);
    memcpy(prefix + 254, "/a", 3);
    assert_false(key_ok(prefix));
}

static void test_label_values(void **state)
{
    (void)state;
    assert_null(name_check_label_value(str_of("")));
    assert_null(name_check_label_value(str_of("A_b.c-1")));
    assert_non_null(name_check_label_value(str_of("a/b")));
    assert_non_null(name_check_label_value(str_of("_a")));
    assert_non_null(name_check_label_value(str_of("a\n")));
}

static void test_object_names(void **state)
{
    (void)state;
    assert_null(name_check_dns_subdomain(str_of("a-b.c1")));
    assert_non_null(name_check_dns_subdomain(str_of("")));
    assert_non_null(name_check_dns_subdomain(str_of("a.")));
    assert_non_null(name_check_dns_subdomain(str_of("a_b")));
    assert_null(name_check_dns_label(str_of("a-b")));
    assert_non_null(name_check_dns_label(str_of("a.b")));
    assert_non_null(name_check_dns_label(str_of("A")));
}

static void test_extended_resources(void **state)
{
    (void)state;
    assert_true(name_is_extended_resource("example.com/gpu"));
    assert_false(name_is_extended_resource("cpu"));
    assert_false(name_is_extended_resource("node.kubernetes.io/cpu"));
    assert_false(name_is_extended_resource("requests.example.com/gpu"));
    assert_false(name_is_extended_resource("example.com/"));
    assert_false(name_is_extended_resource("example.com/a b"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_label_keys),
        cmocka_unit_test(test_label_values),
        cmocka_unit_test(test_object_names),
        cmocka_unit_test(test_extended_resources),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
