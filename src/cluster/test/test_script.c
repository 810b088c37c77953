/* test_script.c - what the commands of containers mean to a hollow node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cluster/hollow_script.h"
#include "json/kj.h"

#define UNKNOWN "?"

static struct hfiles files;

/* "run/exit code" */
static void check(const char *command, int restarts, const char *want)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    char text[1024], got[64] = UNKNOWN;
    struct hscript s;

    (void)snprintf(text, sizeof text,
                   "{\"metadata\":{\"annotations\":{\"batch.kubernetes.io/job-completion-index\":"
                   "\"3\"}},\"spec\":{\"volumes\":[{\"name\":\"h\",\"hostPath\":{\"path\":\"/x\"}},"
                   "{\"name\":\"e\",\"emptyDir\":{}}],\"containers\":[{%s}]}}",
                   command);
    assert_int_equal(kj_parse(text, strlen(text), 0, &doc, NULL), 0);
    if (hscript_read(kj_root(doc), restarts, 7, &files, &s))
        (void)snprintf(got, sizeof got, "%lld/%d", (long long)(s.run / NSEC_PER_SEC), s.exit_code);
    if (!streq(got, want))
        fail_msg("%s: %s instead of %s", command, got, want);
}
#define SH(script) "\"command\":[\"/bin/sh\",\"-c\",\"" script "\"]"

static void test_commands(void **state)
{
    (void)state;
    check("\"image\":\"nginx\"", 0, UNKNOWN);
    check("\"args\":[\"sleep\",\"3\"]", 0, UNKNOWN);
    check("\"command\":[\"sleep\",\"300\"]", 0, "300/0");
    check("\"command\":[\"/bin/sleep\"],\"args\":[\"5m\"]", 0, "300/0");
    check("\"command\":[\"false\"]", 0, "0/1");
    check("\"command\":[\"nginx\",\"-g\"]", 0, UNKNOWN);
    check(SH("exit 0"), 0, "0/0");
    check(SH("exit 1"), 0, "0/1");
    check(SH("sleep 2; exit 3"), 0, "2/3");
    check(SH("sleep 2 && false && sleep 9"), 0, "2/1");
    check(SH("echo hi\\nsleep 1"), 0, "1/0");
    check(SH("sleep 1000000"), 0, "1000000/0");
    check(SH("curl http://x; exit 0"), 0, UNKNOWN);
    check(SH("exit $(expr ${JOB_COMPLETION_INDEX} % 2)"), 0, "0/1");
    check(SH("exit $(( 9 / 4 ))"), 0, "0/2");
    check(SH("exit $(( 9 / 0 ))"), 0, UNKNOWN);
    check(SH("exit $(rm -r x)"), 0, UNKNOWN);
    check(SH("if [[ -r /d/f ]] ; then exit 0 ; else touch /d/f ; exit 1 ; fi"), 0, "0/1");
    check(SH("if [[ -r /d/f ]] ; then exit 0 ; else touch /d/f ; exit 1 ; fi"), 1, "0/0");
    check(SH("if [[ -r /d/f ]] ; then exit 0"), 0, UNKNOWN);
    check(SH("while true; do sleep 1; done"), 0, "31536000/0");
    check(SH("sleep 99999999999999999999"), 0, UNKNOWN);
    check(SH(""), 0, "0/0");
    check("\"command\":[\"sh\",\"-c\",\"sleep 4\"]},{\"command\":[\"false\"]", 0, "4/1");
}

#define ODD(test) \
    SH("\\n\\tif [ " test " ]; then\\n\\t\\texit 1\\n\\telse\\n\\t\\texit 2\\n\\tfi\\n\\t")

static void test_conditions(void **state)
{
    (void)state;
    check(ODD("$(expr ${JOB_COMPLETION_INDEX} % 2) -ne 0"), 0, "0/1");
    check(ODD("$(expr ${JOB_COMPLETION_INDEX} % 3) -ne 0"), 0, "0/2");
    check(ODD("$JOB_COMPLETION_INDEX -eq 3"), 0, "0/1");
    check(ODD("$JOB_COMPLETION_INDEX -lt 3"), 0, "0/2");
    check(ODD("$JOB_COMPLETION_INDEX -le 3"), 0, "0/1");
    check(ODD("$JOB_COMPLETION_INDEX -gt 3"), 0, "0/2");
    check(ODD("$JOB_COMPLETION_INDEX -ge 3"), 0, "0/1");
    check(ODD("$HOSTNAME -ge 3"), 0, UNKNOWN);
    check(ODD("a = a"), 0, UNKNOWN);
    check(ODD(""), 0, UNKNOWN);
}

/* A file on the host outlives the pod that made it, one of another volume does not. */
#define ONCE(volume, file)                                                                   \
    "\"volumeMounts\":[{\"name\":\"" volume "\",\"mountPath\":\"/data\"}]," SH(              \
        "\\n\\tif [[ -r /data/" file " ]]\\n\\tthen\\n\\t\\texit 0\\n\\telse\\n\\t\\ttouch " \
        "/data/" file "\\n\\t\\tsleep 9\\n\\tfi\\n\\t")

static void test_files(void **state)
{
    (void)state;
    check(ONCE("h", "foo-$JOB_COMPLETION_INDEX"), 0, "9/0");
    check(ONCE("h", "foo-2"), 0, "9/0");
    check(ONCE("h", "foo-3"), 0, "0/0");
    check(ONCE("h", "foo-$JOB_COMPLETION_INDEX"), 0, "0/0");
    check(ONCE("e", "bar"), 0, "9/0");
    check(ONCE("e", "bar"), 0, "9/0");
    check(ONCE("e", "bar"), 1, "0/0");
    for (unsigned i = 0; i < 3000; i++) {
        char command[512];
        (void)snprintf(command, sizeof command, ONCE("h", "many-%u"), i, i);
        check(command, 0, "9/0");
    }
    assert_int_equal(files.made.n, 1024);
    check(ONCE("h", "many-2999"), 0, "0/0");
    check(ONCE("h", "foo-3"), 0, "9/0"); /* forgotten */
    hfiles_fini(&files);
}

static void test_images(void **state)
{
    (void)state;
    assert_true(hscript_image_is_missing("webserver:404"));
    assert_true(hscript_image_is_missing("foo:non-existent"));
    assert_false(hscript_image_is_missing("registry.example.com:4040/nginx"));
    assert_false(hscript_image_is_missing("nginx"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_commands),
                                        cmocka_unit_test(test_conditions),
                                        cmocka_unit_test(test_files),
                                        cmocka_unit_test(test_images) };
    return cmocka_run_group_tests_name("script", tests, NULL, NULL);
}
