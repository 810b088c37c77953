/* test_ctl_cel.c - koordctl cel: types, costs, hints, devices. */
#include <unistd.h>

#include "base/test/asserts.h"
#include "ctl/test/fixture.h"

static void write_file(char *path, const char *text)
{
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void test_an_object_is_tried(void **state)
{
    char path[] = "/tmp/koordctl-test-XXXXXX";
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    write_file(path, "spec:\n  replicas: 3\n  names: [a, b]\n");
    fixture_init(&x);
    assert_int_equal(
        run(&x, "cel", "self.spec.replicas > 2 && 'a' in self.spec.names", "--object", path),
        CTL_OK);
    assert_contains(x.out, "Type:      bool\n");
    assert_contains(x.out, "Cost:      8 of 1000000\nValue:     true\n");
    assert_int_equal(run(&x, "cel", "self.spec.missing", "--object", path), CTL_FAILED);
    assert_contains(x.out, "Error:     no such key: missing\n");
    assert_int_equal(run(&x, "-o", "json", "cel", "self.spec.names", "--object", path), CTL_OK);
    assert_contains(x.out, "\"value\":\"[\\\"a\\\", \\\"b\\\"]\"");
    unlink(path);
}

static void test_a_schema_gives_types_and_bounds(void **state)
{
    char path[] = "/tmp/koordctl-test-XXXXXX";
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    write_file(path, "spec:\n  versions:\n  - storage: true\n    schema:\n      openAPIV3Schema:\n"
                     "        type: object\n        properties:\n          n: {type: integer}\n");
    fixture_init(&x);
    assert_int_equal(run(&x, "cel", "self.x", "--crd", path), CTL_FAILED);
    assert_contains(x.out, "undefined field 'x'");
    /* kubernetes#124234 */
    assert_int_equal(run(&x, "cel", "[self.n].map(i, string(i) + 'x').join('-')", "--crd", path),
                     CTL_FAILED);
    assert_contains(x.out, "Error:     no such attribute(s): self\n");
    unlink(path);
}

static void test_people_get_a_hint(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    fixture_init(&x);
    assert_int_equal(run(&x, "cel", "has(object.metadata.labels['a/b'])"), CTL_FAILED);
    assert_contains(x.out, "invalid argument to has() macro");
    assert_contains(x.out, "Hint:      has() asks for a field");
    assert_int_equal(run(&x, "cel", "object.all(x, x == 1)"), CTL_FAILED);
    assert_contains(x.out, "to unlimited");
    assert_contains(x.out, "the cost has no bound");
}

static void test_an_expression_may_begin_with_a_minus(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    fixture_init(&x);
    assert_int_equal(run(&x, "cel", "-1"), CTL_USAGE);
    assert_contains(x.err, "unknown flag -1; an expression that begins with a minus "
                           "stands last, behind --");
    assert_int_equal(run(&x, "cel", "-o.x > 1"), CTL_USAGE);
    assert_contains(x.err, "behind --");
    assert_int_equal(run(&x, "-o", "json", "cel", "--", "-1"), CTL_OK);
    assert_contains(x.out, "\"value\":\"-1\"");
    assert_int_equal(run(&x, "cel", "--help"), CTL_OK);
    assert_contains(x.out, "-- \"-self.spec.n < 0\"");
}

static void test_a_device_is_tried(void **state)
{
    char path[] = "/tmp/koordctl-test-XXXXXX";
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    write_file(path, "driver: gpu.example.com\nattributes:\n  model: {string: a100}\n"
                     "capacity:\n  memory: {value: 40Gi}\n");
    fixture_init(&x);
    assert_int_equal(
        run(&x, "cel", "device.attributes['gpu.example.com'].model == 'a100'", "--device", path),
        CTL_OK);
    assert_contains(x.out, "Value:     true\n");
    assert_int_equal(run(&x, "cel", "device.driver", "--device", path), CTL_FAILED);
    assert_contains(x.out, "must evaluate to bool or the unknown type, not string");
    unlink(path);
}

/* What is no file is asked of the server. */
static void test_names_are_looked_up(void **state)
{
    static const char crd[] =
        "{\"spec\":{\"versions\":[{\"storage\":true,\"schema\":{\"openAPIV3Schema\":{"
        "\"type\":\"object\",\"properties\":{\"names\":{\"type\":\"array\",\"items\":{\"type\":"
        "\"string\"}},\"n\":{\"type\":\"integer\"}}}}}]}}";
    static const char slices[] =
        "{\"metadata\":{},\"items\":["
        "{\"spec\":{\"driver\":\"gpu.example.com\",\"nodeName\":\"n1\",\"pool\":{\"name\":\"p\","
        "\"generation\":2},\"devices\":[{\"name\":\"d0\",\"attributes\":{\"model\":{\"string\":"
        "\"a100\"}}}]}},"
        "{\"spec\":{\"driver\":\"gpu.example.com\",\"nodeName\":\"n1\",\"pool\":{\"name\":\"p\","
        "\"generation\":1},\"devices\":[{\"name\":\"d0\"}]}},"
        "{\"spec\":{\"driver\":\"gpu.example.com\",\"nodeName\":\"n2\",\"pool\":{\"name\":\"p\","
        "\"generation\":9},\"devices\":[{\"name\":\"d0\"}]}}]}";
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    fixture_init(&x);
    fake_add(&x.f, (struct fake_answer){
                       "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com",
                       200, crd });
    fake_add(&x.f, (struct fake_answer){ "/api/v1/nodes/n1", 200,
                                         "{\"metadata\":{\"labels\":{\"a/b\":\"c\"}}}" });
    fake_add(&x.f, (struct fake_answer){ "/apis/resource.k8s.io/v1/resourceslices", 200, slices });
    assert_int_equal(run(&x, "cel", "'a/b' in object.metadata.labels", "--object", "node/n1"),
                     CTL_OK);
    assert_contains(x.out, "Value:     true\n");
    assert_int_equal(run(&x, "cel", "self.x", "--crd", "things.example.com"), CTL_FAILED);
    assert_contains(x.out, "undefined field 'x'");
    /* kubernetes#124234 */
    assert_int_equal(run(&x, "cel", "'n is ' + string(self.n)", "--crd", "things.example.com"),
                     CTL_FAILED);
    assert_contains(x.out, "to unlimited, most of it at 1:9  + string(self.n)\n");
    assert_contains(x.out, "how long the text of string(x) becomes");
    static char model[] = "device.attributes['gpu.example.com'].model == 'a100'";
    assert_int_equal(run(&x, "cel", model, "--device", "n1/p/d0"), CTL_OK);
    assert_contains(x.out, "Value:     true\n");
    assert_int_equal(run(&x, "cel", model, "--device", "n3/p/d0"), CTL_FAILED);
    assert_string_equal(x.err, "error: no ResourceSlice has device d0 in pool p for node n3\n");
    assert_int_equal(run(&x, "cel", "true", "--crd", "gone.example.com"), CTL_FAILED);
    assert_int_equal(run(&x, "cel", "true", "--object", "node/gone"), CTL_FAILED);
}

static void test_the_expensive_part_is_named(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    fixture_init(&x);
    assert_int_equal(
        run(&x, "cel", "1 < 2 && lists.range(100).all(n, string(n).matches('^[0-9]+$'))"), CTL_OK);
    assert_contains(x.out, "Parts:     ");
    assert_contains(x.out, "  at 1:27  all(n, ");
    assert_contains(x.out, "matches('^[0-9]+$'))  (100 times)\n");
    assert_int_equal(run(&x, "-o", "json", "cel", "1 + 2"), CTL_OK);
    assert_contains(x.out, "\"parts\":[{\"cost\":1,\"times\":1,\"offset\":2}]");
}

static void test_wrong_usage(void **state)
{
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    fixture_init(&x);
    assert_int_equal(run(&x, "cel"), CTL_USAGE);
    assert_int_equal(run(&x, "cel", "1", "--device", "x", "--object", "y"), CTL_USAGE);
    assert_int_equal(run(&x, "cel", "1", "--object", "/nonexistent"), CTL_FAILED);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_object_is_tried),
        cmocka_unit_test(test_a_schema_gives_types_and_bounds),
        cmocka_unit_test(test_people_get_a_hint),
        cmocka_unit_test(test_an_expression_may_begin_with_a_minus),
        cmocka_unit_test(test_a_device_is_tried),
        cmocka_unit_test(test_names_are_looked_up),
        cmocka_unit_test(test_the_expensive_part_is_named),
        cmocka_unit_test(test_wrong_usage),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
