/* test_top.c - koordctl top against the fake API server: figures, bars, order, what is refused. */
#include "dash/test/dash_fixture.h"

#include "base/test/asserts.h"
#include "ctl/ctl.h"

struct top_fixture {
    struct client_fixture f;
    char *out, *err;
    size_t out_n, err_n;
};

static void top_fixture_init(struct top_fixture *x)
{
    *x = (struct top_fixture){ 0 };
    client_fixture_init(&x->f, 7);
    put_cluster(&x->f);
}

static void top_fixture_fini_p(struct top_fixture *x)
{
    free(x->out);
    free(x->err);
    client_fixture_fini(&x->f);
}

static int top_run(struct top_fixture *x, char *const *argv)
{
    int argc = 0;

    free(x->out);
    free(x->err);
    if (!x->f.kube)
        x->f.kube = kube_http_over(x->f.loop, x->f.strings, x->f.faulty);
    struct ctl c = {
        .loop = x->f.loop,
        .strings = x->f.strings,
        .kube = take(x->f.kube), /* ctl_main() frees it */
        .out = open_memstream(&x->out, &x->out_n),
        .err = open_memstream(&x->err, &x->err_n),
    };
    while (argv[argc])
        argc++;
    int code = ctl_main(&c, argc, argv);
    fclose(c.out);
    fclose(c.err);
    return code;
}
#define run(x, ...) top_run((x), (char *const[]){ "koordctl", "top", __VA_ARGS__, NULL })
#define FIXTURE(x)                                  \
    CLEANUP(top_fixture_fini) struct top_fixture x; \
    top_fixture_init(&x)

/* 3 of 8 CPUs: prod 1, batch 0.5, system 1.5; the bar has 20 places. */
static void test_nodes(void **state)
{
    (void)state;
    FIXTURE(x);
    assert_int_equal(run(&x, "nodes"), CTL_OK);
    assert_string_equal(
        x.out,
        "NAME   CPU(CORES)   CPU(%)      █PROD ▓MID ▒BATCH ░SYS   MEMORY(BYTES)   MEMORY(%)   "
        "BATCH CPU(USED/ALLOCATABLE)   BATCH\n"
        "n1     3000m        37%         ██▒░░░░·············     9216Mi          28%         "
        "500m/4000m                    ▒·········\n"
        "n2     <unknown>    <unknown>                            <unknown>       <unknown>   "
        "<unknown>                     <unknown>\n");
    assert_string_equal(x.err, "");
}

static void test_pods(void **state)
{
    (void)state;
    FIXTURE(x);
    assert_int_equal(run(&x, "pods", "-A"), CTL_OK);
    assert_string_equal(
        x.out,
        "NAMESPACE   NAME   CPU(CORES)   REQUEST   OF IT        MEMORY(BYTES)   REQUEST   QOS   "
        "PRIORITY      NODE\n"
        "web         a      1000m        2000m     █████·····   4096Mi          6144Mi    LS    "
        "koord-prod    n1\n"
        "job         b      500m         1500m     ▒▒▒·······   1024Mi          2048Mi    BE    "
        "koord-batch   n1\n");
    assert_int_equal(run(&x, "pods", "-n", "job", "--no-headers"), CTL_OK);
    assert_starts(x.out, "b   ");
    assert_lacks(x.out, "web");
}

static void test_order_and_names(void **state)
{
    (void)state;
    FIXTURE(x);
    put_node(&x.f, "a0");
    assert_int_equal(run(&x, "nodes", "--sort-by=name", "--no-headers"), CTL_OK);
    assert_starts(x.out, "a0 ");
    assert_int_equal(run(&x, "nodes", "n2", "--no-headers"), CTL_OK);
    assert_starts(x.out, "n2 ");
    assert_lacks(x.out, "n1");
    assert_int_equal(run(&x, "pods", "-A", "--sort-by=name", "--no-headers"), CTL_OK);
    assert_starts(x.out, "job ");
}

static void test_json(void **state)
{
    (void)state;
    FIXTURE(x);
    assert_int_equal(run(&x, "nodes", "-o", "json"), CTL_OK);
    assert_contains(x.out, "\"name\":\"n1\",\"measured\":true,");
    assert_contains(x.out, "\"used\":{\"milliCPU\":3000,\"memoryBytes\":9663676416}");
    assert_contains(x.out, "\"batch\":{\"milliCPU\":500,");
    assert_contains(x.out, "\"name\":\"n2\",\"measured\":false,");
    assert_int_equal(run(&x, "pods", "-A", "-o", "json"), CTL_OK);
    assert_contains(x.out, "\"name\":\"b\",\"node\":\"n1\",\"qos\":\"BE\",");
}

static void stop(struct loop *l, void *arg)
{
    struct client_fixture *f = arg;

    (void)l;
    fake_answer_next_to(f->fake, "GET", "nodemetrics", 1000, 403);
    fake_end_watches(f->fake);
}

/* Follows until the rights are gone: one line says which. */
static void test_watch(void **state)
{
    (void)state;
    FIXTURE(x);
    loop_after(x.f.loop, 7 * NSEC_PER_SEC, stop, &x.f);
    assert_int_equal(run(&x, "nodes", "--watch", "--no-headers", "n1"), CTL_FAILED);
    int tables = 0;
    for (const char *p = x.out; (p = strstr(p, "n1 ")); p++)
        tables++;
    assert_that(tables, >=, 3);
    assert_starts(x.err, "error: top needs the right to list and watch "
                         "nodemetrics.slo.koordinator.sh: ");
}

static void test_what_is_refused(void **state)
{
    (void)state;
    FIXTURE(x);
    assert_int_equal(run(&x, NULL), CTL_USAGE);
    assert_int_equal(run(&x, "volumes"), CTL_USAGE);
    assert_contains(x.err, "nodes or pods, not 'volumes'");
    assert_int_equal(run(&x, "nodes", "-A"), CTL_USAGE);
    assert_int_equal(run(&x, "nodes", "-o", "yaml"), CTL_USAGE);
    fake_answer_next_to(x.f.fake, "GET", "/pods", 1000, 403);
    assert_int_equal(run(&x, "pods", "-A"), CTL_FAILED);
    assert_contains(x.err, "right to list and watch pods: ");
    fake_answer_next_to(x.f.fake, "GET", "nodemetrics", 1000, 404);
    assert_int_equal(run(&x, "nodes"), CTL_FAILED);
    assert_contains(x.err, "is Koordinator installed?");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes),           cmocka_unit_test(test_pods),
        cmocka_unit_test(test_order_and_names), cmocka_unit_test(test_json),
        cmocka_unit_test(test_watch),           cmocka_unit_test(test_what_is_refused),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
