/* test_ctl_quota.c - koordctl quota against the fake API server: the worked example of
 * docs/quota.md. */
#include "client/test/client_fixture.h"

#include "api/koord/quota.h"
#include "api/protocol/quota.h"
#include "base/test/asserts.h"
#include "ctl/ctl.h"
#include "ctl/explain.h"

#define QUOTAS "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/ns/elasticquotas"

struct quota_fixture {
    struct client_fixture f;
    char *out, *err;
    size_t out_n, err_n;
    const struct ctl_parts *parts;
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
        .parts = x->parts,
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

/* ---- koordctl explain pod --------------------------------------------------------------------- */

/* A scheduler that reads quotas, and has nothing to say. */
static int stub_open(const char *name, const struct explain_config *config, struct strbuf *notes,
                     void **ret, struct kerr *err)
{
    (void)name, (void)config, (void)notes, (void)err;
    *ret = NULL;
    return 0;
}
static void stub_close(void *self)
{
    (void)self;
}
static const struct kind *stub_kind(const void *self, unsigned i)
{
    (void)self;
    return i == 0 ? &kind_elasticquota : NULL;
}
static int stub_add(void *self, struct kobj *o, struct kerr *err)
{
    (void)self, (void)o, (void)err;
    return 0;
}
static int stub_try(void *self, struct kobj *pod, nsec_t now, struct strbuf *json, struct kerr *err)
{
    (void)self, (void)pod, (void)now, (void)err;
    strbuf_append(json, "{\"nodes\":{}}");
    return 0;
}
static const struct explain_scheduler stub = {
    .open = stub_open, .close = stub_close, .kind = stub_kind, .add = stub_add, .try_pod = stub_try
};

static int explain(struct quota_fixture *x, const char *pod)
{
    static const struct ctl_parts parts = { .explain = &stub };

    x->parts = &parts;
    return quota_run(x,
                     (char *const[]){ "koordctl", "explain", "pod", (char *)(uintptr_t)pod, NULL });
}

static void put_child(struct quota_fixture *x, const char *name, const char *parent, int max,
                      int min)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"labels\":{\"%s\":\"%s\",\"%s\":\"%s\"}},\"spec\":{"
                   "\"max\":{\"cpu\":\"%d\"},\"min\":{\"cpu\":\"%d\"}}}",
                   LABEL_QUOTA_PARENT, parent, LABEL_QUOTA_IS_PARENT, *parent ? "false" : "true",
                   max, min);
    fake_put(x->f.fake, QUOTAS, name, body);
}

static void test_why_a_pod_waits_for_quota(void **state)
{
    CLEANUP(fixture_fini) struct quota_fixture x;

    (void)state;
    fixture_init(&x);
    /* The tree is shared: nobody above is at its max. */
    assert_int_equal(explain(&x, "ns/pd"), CTL_OK);
    assert_contains(x.out, "Quota d has no room for it:\n  cpu: 0 of 39615m are used, the pod "
                           "requests 70: 30385m are missing; the tree has no more, others have "
                           "their share of it\n");
    fake_put(x.f.fake, "/api/v1/nodes", "n", "{\"status\":{\"allocatable\":{\"cpu\":\"900\"}}}");
    put_child(&x, "dept", "", 12, 5);
    put_child(&x, "team", "dept", 100, 3);
    put_pod(&x, "t1", "team", 10, true);
    put_pod(&x, "t2", "team", 4, false);
    assert_int_equal(explain(&x, "ns/t2"), CTL_OK);
    assert_contains(x.out, "Quota team (below dept) has no room for it:\n  cpu: 10 of 12 are used, "
                           "the pod requests 4: 2 are missing; dept above it is at its max of "
                           "12\n");
    put_child(&x, "team", "dept", 11, 3);
    assert_int_equal(explain(&x, "ns/t2"), CTL_OK);
    assert_contains(x.out, "3 are missing; its own max is 11\n");
    put_pod(&x, "t2", "team", 1, false);
    assert_int_equal(explain(&x, "ns/t2"), CTL_OK);
    assert_contains(x.out, "Quota team (below dept) has room for it.\n");
    fake_delete(x.f.fake, QUOTAS, "dept");
    assert_int_equal(explain(&x, "ns/t2"), CTL_OK);
    assert_contains(x.out,
                    "waits for its parent, which does not exist:\n  there is no quota dept\n");
    /* One that is not preemptible counts against min. */
    put_child(&x, "dept", "", 12, 5);
    fake_put(x.f.fake, PODS, "t2",
             "{\"metadata\":{\"labels\":{\"" LABEL_QUOTA_NAME
             "\":\"team\",\"" LABEL_QUOTA_PREEMPTIBLE
             "\":\"false\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{"
             "\"requests\":{\"cpu\":\"500m\"}}},{\"name\":\"d\"}]}}");
    put_child(&x, "team", "dept", 11, 0);
    assert_int_equal(explain(&x, "ns/t2"), CTL_OK);
    assert_contains(x.out, "they may not use more than the min of team\n");
    assert_int_equal(explain(&x, "ns/pa"), CTL_OK); /* it has a node */
    assert_null(strstr(x.out, "Quota"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_what_if),
        cmocka_unit_test(test_why_a_pod_waits_for_quota),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
