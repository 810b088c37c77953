/* test_ctl_explain_profile.c - koordctl explain profile: what it reads, what it says; and diffs. */
#include <unistd.h>

#include "ctl/explain.h"
#include "ctl/linediff.h"
#include "ctl/test/fixture.h"
#include "json/kj.h"

/* A manager that says what it was given. */
static void profile(const struct explain_profile_objects *o, struct strbuf *json)
{
    assert_string_equal(kj_str(kj_path(o->pod, "metadata.name")), "web");
    assert_string_equal(o->ns, "shop");
    assert_string_equal(o->ns_object->meta.name, "shop");
    assert_int_equal(o->nprofiles, 2);
    assert_int_equal(o->nclasses, 1);
    assert_int_equal(kj_len(o->limit_ranges), 1);
    strbuf_append(
        json,
        "{\"pod\":\"web\",\"namespace\":\"shop\",\"namespaceFound\":true,\"profiles\":["
        "{\"name\":\"a\",\"matches\":true,\"percent\":50,\"skipsResources\":true,\"changes\":["
        "{\"field\":\"label x\",\"from\":\"1\",\"to\":\"2\",\"overrides\":\"z\"},"
        "{\"field\":\"schedulerName\",\"to\":\"s\"},{\"field\":\"label y\",\"from\":\"1\"}]},"
        "{\"name\":\"b\",\"matches\":false,\"why\":\"selector wants a=b, it has a=c (the pod)\","
        "\"problem\":\"p\",\"percent\":100},"
        "{\"name\":\"c\",\"matches\":true,\"why\":\"its probability is 0\",\"percent\":0}],"
        "\"mutation\":{\"allowed\":true,\"code\":200},"
        "\"validation\":{\"allowed\":false,\"code\":400,\"message\":\"no\"},"
        "\"warnings\":[\"w\"],\"before\":{\"a\":1,\"b\":2},\"after\":{\"a\":1,\"b\":3}}");
}

static const struct explain_manager manager = { .profile = profile };
static const struct ctl_parts parts = { .explain_manager = &manager };

#define LIST(items) "{\"items\":[" items "]}"
#define NAMED(name) "{\"metadata\":{\"name\":\"" name "\"}}"

static void write_pod(char *path, const char *text)
{
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void explain_init(struct fixture *x)
{
    static const struct fake_answer answers[] = {
        { "/apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles", 200,
          LIST(NAMED("a") "," NAMED("b")) },
        { "/apis/scheduling.k8s.io/v1/priorityclasses", 200, LIST(NAMED("c")) },
        { "/api/v1/namespaces/shop/limitranges", 200, LIST("{}") },
        { "/api/v1/namespaces/shop", 200, NAMED("shop") },
    };

    fixture_init(x);
    x->parts = &parts;
    for (size_t i = 0; i < ARRAY_LEN(answers); i++)
        fake_add(&x->f, answers[i]);
}

static void test_what_becomes_of_a_pod(void **state)
{
    char path[] = "/tmp/koordctl-test-XXXXXX";
    char *const argv[] = { "koordctl", "explain", "profile", "-f", path, NULL };
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    write_pod(path, "kind: Pod\nmetadata: {name: web, namespace: shop}\n");
    explain_init(&x);
    assert_int_equal(fixture_run(&x, argv), CTL_OK);
    assert_string_equal(x.out,
                        "Pod web in namespace shop:\n"
                        "  a: matches; applied to 50% of such pods; resources are left as they "
                        "are\n"
                        "    label x: 1 -> 2   overrides profile z\n"
                        "    schedulerName: s\n"
                        "    label y: 1 -> removed\n"
                        "  b: does not match: selector wants a=b, it has a=c (the pod)\n"
                        "    problem: p\n"
                        "  c: matches, but its probability is 0\n"
                        "\nWarning: w\n"
                        "\nRefused by vpod.koordinator.sh (400): no\n"
                        "\n a: 1\n-b: 2\n+b: 3\n");
    unlink(path);
}

static void test_wrong_usage_and_files(void **state)
{
    char path[] = "/tmp/koordctl-test-XXXXXX";
    char *const without[] = { "koordctl", "explain", "profile", NULL };
    char *const missing[] = { "koordctl", "explain", "profile", "-f", "/nonexistent", NULL };
    char *const other[] = { "koordctl", "explain", "profile", "-f", path, NULL };
    CLEANUP(fixture_fini) struct fixture x;

    (void)state;
    write_pod(path, "kind: Service\n");
    explain_init(&x);
    assert_int_equal(fixture_run(&x, without), CTL_USAGE);
    assert_int_equal(fixture_run(&x, missing), CTL_FAILED);
    assert_int_equal(fixture_run(&x, other), CTL_FAILED);
    assert_non_null(strstr(x.err, "the first document is no Pod"));
    unlink(path);
}

static void diff_is(const char *from, const char *to, const char *expected)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    linediff(from, to, &out);
    assert_string_equal(strbuf_str(&out), expected);
}

static void test_diffs(void **state)
{
    (void)state;
    diff_is("", "", "");
    diff_is("a\nb\n", "a\nb\n", "");
    diff_is("a\nb\nc\n", "a\nx\nc\n", " a\n-b\n+x\n c\n");
    diff_is("", "a\n", "+a\n");
    diff_is("a\n", "", "-a\n");
    diff_is("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\nx\n",
            " ...\n 6\n 7\n 8\n-9\n+x\n");
    diff_is("a\nb\nc\nd\n", "b\nc\ne\nd\n", "-a\n b\n c\n+e\n d\n");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_becomes_of_a_pod),
        cmocka_unit_test(test_wrong_usage_and_files),
        cmocka_unit_test(test_diffs),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
