/* test_ctl_apply.c - koordctl apply and delete against a scripted server: what is asked, what is
 * said, and what bad input gets. */
#include "base/test/asserts.h"
#include "ctl/test/fixture.h"
#include "sys/test/tmpdir.h"

#define MAPS "/api/v1/namespaces/default/configmaps"
#define MAP  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1'}\n"
#define NOT_FOUND                                                                       \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"NotFound\",\"code\":404," \
    "\"message\":\"configmaps \\\"a\\\" not found\"}"
#define NOTE                                                                                      \
    "\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":\"{\\\"apiVersion\\\"" \
    ":\\\"v1\\\",\\\"data\\\":{\\\"x\\\":\\\"1\\\"},\\\"kind\\\":\\\"ConfigMap\\\","              \
    "\\\"metadata\\\":{\\\"annotations\\\":{},\\\"name\\\":\\\"a\\\",\\\"namespace\\\":"          \
    "\\\"default\\\"}}\\n\"}"
#define STORED                                                                            \
    "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"uid\":" \
    "\"u1\",\"namespace\":\"default\"," NOTE "},\"data\":{\"x\":\"1\"}}"

struct files {
    struct fixture x;
    struct tmpdir t;
};

static void files_init(struct files *f)
{
    fixture_init(&f->x);
    tmpdir_init(&f->t);
}

static void files_fini(struct files *f)
{
    tmpdir_fini(&f->t);
    fixture_fini(&f->x);
}

static char *file(struct files *f, const char *text)
{
    tmpdir_write(&f->t, "file.yaml", text);
    return (char *)(uintptr_t)tmpdir_at(&f->t, "file.yaml");
}

static void test_what_is_missing_is_created(void **state)
{
    struct files f;

    (void)state;
    files_init(&f);
    fake_add(&f.x.f, (struct fake_answer){ MAPS "/a", 404, NOT_FOUND });
    fake_add(&f.x.f, (struct fake_answer){ MAPS "?", 201, STORED });
    assert_int_equal(run(&f.x, "apply", "-f", file(&f, MAP)), CTL_OK);
    assert_string_equal(f.x.out, "configmap/a created\n");
    assert_contains(strbuf_str(&f.x.f.log), "GET " MAPS "/a;POST " MAPS "?");
    assert_contains(strbuf_str(&f.x.f.log), "fieldManager=kubectl-client-side-apply");
    files_fini(&f);
}

static void test_what_is_there_is_left_alone(void **state)
{
    const char *changed = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '2'}\n";
    struct files f;

    (void)state;
    files_init(&f);
    fake_add(&f.x.f, (struct fake_answer){ MAPS "/a", 200, STORED });
    assert_int_equal(run(&f.x, "apply", "-f", file(&f, MAP)), CTL_OK);
    assert_string_equal(f.x.out, "configmap/a unchanged\n");
    assert_string_equal(strbuf_str(&f.x.f.log), "GET " MAPS "/a;");
    assert_int_equal(run(&f.x, "apply", "-f", file(&f, changed), "-oname"), CTL_OK);
    assert_string_equal(f.x.out, "configmap/a\n");
    assert_contains(strbuf_str(&f.x.f.log), "PATCH " MAPS "/a?");
    files_fini(&f);
}

/* One line that says what to do; 1 for what is wrong with files, 2 for what is wrong with words. */
static void test_bad_input_of_apply(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        { "a: [1,\n", "line 2" },
        { "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a\n", "line 4" },
        { "hello\n", "not an object" },
        { "kind: ConfigMap\n", "needs apiVersion and kind" },
        { "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n", "needs metadata.name" },
        { "\n---\n", "no objects in it" },
        { MAP "---\napiVersion: v1\n", "an object needs apiVersion and kind" },
    };
    struct files f;

    (void)state;
    files_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(run(&f.x, "apply", "-f", file(&f, cases[i].text)), CTL_FAILED);
        assert_starts(f.x.err, "error: ");
        assert_contains(f.x.err, "file.yaml");
        assert_contains(f.x.err, cases[i].says);
        assert_ptr_equal(strchr(f.x.err, '\n'), f.x.err + strlen(f.x.err) - 1);
        assert_string_equal(strbuf_str(&f.x.f.log), ""); /* nothing was done */
    }
    assert_int_equal(run(&f.x, "apply"), CTL_USAGE);
    assert_contains(f.x.err, "apply -f web.yaml");
    assert_int_equal(run(&f.x, "apply", "-f", "/nowhere/x.yaml"), CTL_FAILED);
    assert_contains(f.x.err, "/nowhere/x.yaml: No such file or directory");
    assert_int_equal(run(&f.x, "apply", "-f", f.t.path, "--dry-run=maybe"), CTL_USAGE);
    const char *elsewhere = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n";
    assert_int_equal(run(&f.x, "apply", "-n", "c", "-f", file(&f, elsewhere)), CTL_FAILED);
    assert_contains(f.x.err, "does not match the namespace \"c\"");
    files_fini(&f);
}

static void test_delete_waits_until_it_is_gone(void **state)
{
    struct files f;

    (void)state;
    files_init(&f);
    fake_add(&f.x.f, (struct fake_answer){ MAPS "/a", 200, STORED, .once = true });
    fake_add(&f.x.f, (struct fake_answer){ MAPS "/a", 200, STORED, .once = true });
    fake_add(&f.x.f, (struct fake_answer){ MAPS "/a", 404, NOT_FOUND });
    assert_int_equal(run(&f.x, "delete", "cm", "a"), CTL_OK);
    assert_string_equal(f.x.out, "configmap \"a\" deleted from default namespace\n");
    assert_string_equal(strbuf_str(&f.x.f.log), "DELETE " MAPS "/a;GET " MAPS "/a;GET " MAPS "/a;");
    assert_int_equal(run(&f.x, "delete", "configmap/a"), CTL_FAILED);
    assert_contains(f.x.err, "NotFound");
    assert_int_equal(run(&f.x, "delete", "configmap/a", "--ignore-not-found"), CTL_OK);
    assert_int_equal(run(&f.x, "delete", "-f", file(&f, MAP), "--ignore-not-found"), CTL_OK);
    files_fini(&f);
}

static void test_bad_input_of_delete(void **state)
{
    struct files f;

    (void)state;
    files_init(&f);
    assert_int_equal(run(&f.x, "delete"), CTL_USAGE);
    assert_int_equal(run(&f.x, "delete", "pods"), CTL_USAGE);
    assert_contains(f.x.err, "Give names, -l SELECTOR or --all");
    assert_int_equal(run(&f.x, "delete", "pods", "a", "--all"), CTL_USAGE);
    assert_int_equal(run(&f.x, "delete", "pods/a", "b"), CTL_USAGE);
    assert_int_equal(run(&f.x, "delete", "pods", ".."), CTL_USAGE);
    assert_int_equal(run(&f.x, "delete", "pods", "a", "-f", "x"), CTL_USAGE);
    assert_int_equal(run(&f.x, "delete", "pods", "a", "--cascade=maybe"), CTL_USAGE);
    assert_string_equal(strbuf_str(&f.x.f.log), "");
    files_fini(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_missing_is_created),
        cmocka_unit_test(test_what_is_there_is_left_alone),
        cmocka_unit_test(test_bad_input_of_apply),
        cmocka_unit_test(test_delete_waits_until_it_is_gone),
        cmocka_unit_test(test_bad_input_of_delete),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
