/* test_ctl_migrate.c - koordctl migrate against the fake API server. */
#include "client/test/client_fixture.h"

#include "base/ktime.h"
#include "base/test/asserts.h"
#include "ctl/ctl.h"

#define JOBS "/apis/scheduling.koordinator.sh/v1alpha1/podmigrationjobs"

struct migrate_fixture {
    struct client_fixture f;
    char *out, *err;
    size_t out_n, err_n;
};

static void put_job(struct migrate_fixture *x, const char *name, int age, const char *spec,
                    const char *status)
{
    char body[2048], created[KTIME_TEXT_MAX];

    ktime_format(WALL0 - age * NSEC_PER_SEC, created);
    (void)snprintf(
        body, sizeof body,
        "{'metadata':{'creationTimestamp':'%s','annotations':{"
        "'koordinator.sh/evict-trigger':'LowNodeLoad','koordinator.sh/evict-reason':"
        "'node is overutilized','descheduler.koordinator.sh/paused-since':'%s'}},'spec':{"
        "%s'podRef':{'namespace':'ns','name':'%s-pod','uid':'u'}},'status':{%s}}",
        created, created, spec, name, status);
    for (char *p = body; *p; p++)
        if (*p == '\'')
            *p = '"';
    fake_put(x->f.fake, JOBS, name, body);
}

static void fixture_init(struct migrate_fixture *x)
{
    *x = (struct migrate_fixture){ 0 };
    client_fixture_init(&x->f, 7);
    put_job(x, "held", 30, "'paused':true,", "");
    put_job(x, "waits", 300, "",
            "'conditions':[{'type':'Arbitration','status':'False','reason':'MaxMigratingPerNode',"
            "'message':'2 pods are being moved from node n1, and 2 may be; held by a, b'}]");
    put_job(x, "runs", 90, "",
            "'phase':'Running','status':'PodBoundReservation','reason':"
            "'WaitForPodBindReservation','nodeName':'n9'");
    put_job(x, "done", 9000, "", "'phase':'Failed','reason':'Timeout','message':'Abort job'");
}

static void fixture_fini_p(struct migrate_fixture *x)
{
    free(x->out);
    free(x->err);
    client_fixture_fini(&x->f);
}

static int migrate_run(struct migrate_fixture *x, char *const *argv)
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
#define run(x, ...) migrate_run((x), (char *const[]){ "koordctl", "migrate", __VA_ARGS__, NULL })

static void test_the_list_says_what_each_waits_for(void **state)
{
    CLEANUP(fixture_fini) struct migrate_fixture x;

    (void)state;
    fixture_init(&x);
    assert_int_equal(run(&x, "list"), CTL_OK);
    assert_string_equal(
        x.out,
        "NAME    STATE     AGE   POD            TO   MESSAGE\n"
        "waits   Waiting   5m    ns/waits-pod   -    MaxMigratingPerNode: 2 pods are being "
        "moved from node n1, and 2 may be; held by a, b\n"
        "runs    Running   90s   ns/runs-pod    n9   WaitForPodBindReservation\n"
        "held    Paused    30s   ns/held-pod    -    waits for approval: LowNodeLoad: node is "
        "overutilized\n");
    assert_int_equal(run(&x, "list", "--all"), CTL_OK);
    assert_contains(x.out, "done    Failed    2h    ns/done-pod    -    Timeout: Abort job\n");
    assert_int_equal(run(&x, "list", "-o", "json"), CTL_OK);
    assert_contains(x.out, "{\"name\":\"held\",\"state\":\"Paused\",\"pod\":\"ns/held-pod\"");
}

static void test_approval_releases_the_job(void **state)
{
    CLEANUP(fixture_fini) struct migrate_fixture x;

    (void)state;
    fixture_init(&x);
    assert_int_equal(run(&x, "approve", "held"), CTL_OK);
    assert_string_equal(x.out, "podmigrationjob/held approved\n");
    const char *job = fake_find(x.f.fake, JOBS, "held");
    assert_contains(job, "\"paused\":false");
    assert_contains(job, "descheduler.koordinator.sh/released-at");
    assert_lacks(job, "paused-since");
    assert_int_equal(run(&x, "approve", "held"), CTL_FAILED);
    assert_contains(x.err, "is not paused");
    assert_int_equal(run(&x, "approve", "nobody"), CTL_FAILED);
    assert_int_equal(run(&x, "approve"), CTL_USAGE);
    assert_int_equal(run(&x, "approve", "held", "--all"), CTL_USAGE);
}

static void test_rejection_ends_the_job(void **state)
{
    CLEANUP(fixture_fini) struct migrate_fixture x;

    (void)state;
    fixture_init(&x);
    put_job(&x, "held2", 10, "'paused':true,", "");
    assert_int_equal(run(&x, "reject", "--all", "--reason", "not in business hours"), CTL_OK);
    assert_contains(x.out, "podmigrationjob/held rejected\n");
    assert_contains(x.out, "podmigrationjob/held2 rejected\n");
    const char *job = fake_find(x.f.fake, JOBS, "held");
    assert_contains(job, "\"phase\":\"Aborted\"");
    assert_contains(job, "\"reason\":\"Rejected\"");
    assert_contains(job, "not in business hours");
    assert_lacks(fake_find(x.f.fake, JOBS, "waits"), "Aborted");
    assert_int_equal(run(&x, "reject", "done"), CTL_FAILED);
    assert_contains(x.err, "is over: Failed");
}

struct names {
    char last[256];
};
static void note_name(void *arg, const char *ns, const char *name, const char *version)
{
    struct names *n = arg;

    (void)ns, (void)version;
    if (str_starts(name, "migrate-"))
        (void)snprintf(n->last, sizeof n->last, "%s", name);
}

static void test_a_pod_is_moved_by_hand(void **state)
{
    CLEANUP(fixture_fini) struct migrate_fixture x;
    struct names n = { "" };

    (void)state;
    fixture_init(&x);
    fake_put(x.f.fake, PODS, "web-0", "{\"spec\":{\"containers\":[]}}");
    assert_int_equal(run(&x, "pod", "ns/web-0", "--mode", "EvictDirectly", "--ttl", "2m"), CTL_OK);
    fake_each(x.f.fake, "podmigrationjobs", note_name, &n);
    assert_contains(x.out, "podmigrationjob/migrate-web-0-");
    const char *job = fake_find(x.f.fake, JOBS, n.last);
    assert_contains(job, "\"mode\":\"EvictDirectly\"");
    assert_contains(job, "\"ttl\":\"2m0s\"");
    assert_contains(job, "\"namespace\":\"ns\",\"name\":\"web-0\",\"uid\":\"0000");
    assert_int_equal(run(&x, "pod", "ns/nobody"), CTL_FAILED);
    assert_int_equal(run(&x, "pod"), CTL_USAGE);
    assert_int_equal(run(&x, "walk"), CTL_USAGE);
}

static void end_job(struct loop *l, void *arg)
{
    struct migrate_fixture *x = arg;
    struct names n = { "" };

    (void)l;
    fake_each(x->f.fake, "podmigrationjobs", note_name, &n);
    fake_patch(
        x->f.fake, JOBS, n.last,
        "{\"status\":{\"phase\":\"Succeeded\",\"status\":\"Complete\",\"message\":\"moved\"}}");
}

static void test_waiting_tells_the_steps(void **state)
{
    CLEANUP(fixture_fini) struct migrate_fixture x;

    (void)state;
    fixture_init(&x);
    fake_put(x.f.fake, PODS, "web-0", "{\"spec\":{\"containers\":[]}}");
    loop_after(x.f.loop, 5 * NSEC_PER_SEC, end_job, &x);
    assert_int_equal(run(&x, "pod", "ns/web-0", "--wait"), CTL_OK);
    assert_contains(x.out, "Waiting: \nSucceeded: moved\n");
    assert_int_equal(run(&x, "pod", "ns/web-0", "--wait", "--timeout", "3s"), CTL_FAILED);
    assert_contains(x.err, "is not over yet");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_list_says_what_each_waits_for),
        cmocka_unit_test(test_approval_releases_the_job),
        cmocka_unit_test(test_rejection_ends_the_job),
        cmocka_unit_test(test_a_pod_is_moved_by_hand),
        cmocka_unit_test(test_waiting_tells_the_steps),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
