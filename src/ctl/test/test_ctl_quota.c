/* test_ctl_quota.c - koordctl quota against the fake API server: the worked example of
 * docs/quota.md. */
#include "client/test/client_fixture.h"

#include "api/protocol/quota.h"
#include "base/test/asserts.h"
#include "ctl/ctl.h"

#define QUOTAS "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/ns/elasticquotas"

struct quota_fixture {
    struct client_fixture f;
    char *out, *err;
    size_t out_n, err_n;
};

static void put_quota(struct quota_fixture *x, const char *name, int weight, int min)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"annotations\":{\"%s\":\"{\\\"cpu\\\":\\\"%d\\\"}\"}},"
                   "\"spec\":{\"max\":{\"cpu\":\"100\"},\"min\":{\"cpu\":\"%d\"}}}",
                   ANNO_QUOTA_SHARED_WEIGHT, weight, min);
    fake_put(x->f.fake, QUOTAS, name, body);
}

static void put_pod(struct quota_fixture *x, const char *name, const char *quota, int cpu,
                    bool runs)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"labels\":{\"%s\":\"%s\"}},\"spec\":{%s\"containers\":[{"
                   "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"%d\"}}}]}}",
                   LABEL_QUOTA_NAME, quota, runs ? "\"nodeName\":\"n\"," : "", cpu);
    fake_put(x->f.fake, PODS, name, body);
}

/* A 5, B 20, C 35, D 40 (sched-quota 5). */
static void fixture_init(struct quota_fixture *x)
{
    *x = (struct quota_fixture){ 0 };
    client_fixture_init(&x->f, 7);
    fake_put(x->f.fake, "/api/v1/nodes", "n", "{\"status\":{\"allocatable\":{\"cpu\":\"100\"}}}");
    put_quota(x, "a", 40, 10);
    put_quota(x, "b", 60, 15);
    put_quota(x, "c", 50, 20);
    put_quota(x, "d", 80, 15);
    put_pod(x, "pa", "a", 5, true);
    put_pod(x, "pb", "b", 20, true);
    put_pod(x, "pc", "c", 40, true);
    put_pod(x, "pd", "d", 70, false);
}

static void fixture_fini_p(struct quota_fixture *x)
{
    free(x->out);
    free(x->err);
    client_fixture_fini(&x->f);
}

static int quota_run(struct quota_fixture *x, char *const *argv)
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
#define run(x, ...) quota_run((x), (char *const[]){ "koordctl", "quota", __VA_ARGS__, NULL })

static void test_tree(void **state)
{
    CLEANUP(fixture_fini) struct quota_fixture x;

    (void)state;
    fixture_init(&x);
    assert_int_equal(run(&x, "tree"), CTL_OK);
    assert_contains(x.out, "        10          5          5        100  lends 5\n");
    assert_contains(x.out, "borrows 15385m");
    assert_contains(x.out, "[#|");
}

static void test_rounds(void **state)
{
    CLEANUP(fixture_fini) struct quota_fixture x;

    (void)state;
    fixture_init(&x);
    assert_int_equal(run(&x, "explain", "c"), CTL_OK);
    assert_contains(x.out, "cpu: 100 is shared by 4 quotas below koordinator-root-quota");
    assert_contains(x.out, "start: what each asks for, up to its min; 45 left, 3 want more");
    assert_contains(x.out, "(asks for 40, min 20, weight 50)");
    assert_contains(x.out, "round 2: ");
    assert_contains(x.out, "runtime of c: 35385m (used 40)");
    assert_int_equal(run(&x, "explain", "none"), CTL_FAILED);
    assert_contains(x.err, "there is no quota none");
}

static void test_what_if(void **state)
{
    CLEANUP(fixture_fini) struct quota_fixture x;

    (void)state;
    fixture_init(&x);
    assert_int_equal(run(&x, "what-if", "--set", "b.max.cpu=5", "--set", "c.max.cpu=10"), CTL_OK);
    assert_contains(x.out, "39615m -> 70\n");
    assert_contains(x.out, "35385m -> 10\n");
    assert_contains(x.out, "ns/pb would be evicted (with monitorAllQuotas)\n");
    assert_contains(x.out, "ns/pd would have room in its quota\n");
    assert_int_equal(run(&x, "what-if", "--set", "none.min.cpu=70"), CTL_FAILED);
    assert_int_equal(run(&x, "what-if", "--set", "d.cpu=70"), CTL_USAGE);
    assert_int_equal(run(&x, "what-if"), CTL_USAGE);
    assert_int_equal(run(&x, "something"), CTL_USAGE);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_what_if),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
