/* test_election.c - who stands for election, what winning and losing mean, and the orderly end. */
#include "base/test/asserts.h"
#include "client/test/client_fixture.h"
#include "component/election.h"
#include "component/run.h"
#include "json/kj.h"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/ns/leases"

struct fixture {
    struct client_fixture r;
    struct run run;
    struct election *e;
    bool is_ready;
    int led, asked;
};

static bool ready(void *arg)
{
    struct fixture *f = arg;

    f->asked++;
    return f->is_ready;
}

static void lead(void *arg)
{
    ((struct fixture *)arg)->led++;
}

static const struct election_handler handler = { .ready = ready,
                                                 .lead = lead,
                                                 .lost = "Leaderelection lost" };

static void fixture_init(struct fixture *f, bool enabled)
{
    const struct election_options o = { .enabled = enabled,
                                        .lease_duration = 15 * NSEC_PER_SEC,
                                        .renew_deadline = 10 * NSEC_PER_SEC,
                                        .retry_period = 2 * NSEC_PER_SEC,
                                        .lock = "leases",
                                        .name = "lease",
                                        .ns = "ns" };
    struct kerr err = { 0 };

    *f = (struct fixture){ 0 };
    client_fixture_init(&f->r, 1);
    f->run.loop = f->r.loop;
    assert_int_equal(election_new(&f->run, f->r.kube, &o, &handler, f, &f->e, &err), 0);
}

static void fixture_fini(struct fixture *f)
{
    election_free(f->e);
    client_fixture_fini(&f->r);
}

static UNUSED void fixture_fini_p(struct fixture *f)
{
    fixture_fini(f);
}

/* Of the lease in the server; NULL: there is none. */
static char *holder(struct fixture *f)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const char *text = fake_find(f->r.fake, LEASES, "lease");

    if (!text || kj_parse(text, strlen(text), 0, &doc, NULL) < 0)
        return NULL;
    return xstrdup(kj_str_or(kj_path(kj_root(doc), "spec.holderIdentity"), ""));
}

static void test_stands_when_it_is_ready(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f, true);
    assert_true(election_has_lease(f.e));
    election_start(f.e);
    client_fixture_run(&f.r, 10 * NSEC_PER_SEC);
    assert_in_range(f.asked, 90, 110); /* ten times a second */
    assert_null(holder(&f));
    assert_int_equal(f.led, 0);
    f.is_ready = true;
    client_fixture_run(&f.r, NSEC_PER_SEC);
    CLEANUP(mem_free) char *who = holder(&f);
    assert_non_null(strchr(who, '_'));
    assert_int_equal(f.led, 1);
    assert_true(election_leads(f.e));
    client_fixture_run(&f.r, 60 * NSEC_PER_SEC);
    assert_int_equal(f.led, 1);
    assert_int_equal(f.run.exit_code, 0);
}

static void test_a_lost_lease_ends_the_program(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    struct kerr err = { 0 };

    (void)state;
    fixture_init(&f, true);
    f.is_ready = true;
    election_start(f.e);
    client_fixture_run(&f.r, NSEC_PER_SEC);
    assert_int_equal(f.led, 1);
    fake_refuse(f.r.fake, true);
    fake_break_connections(f.r.fake);
    client_fixture_run(&f.r, 5 * NSEC_PER_SEC);
    assert_int_equal(f.run.exit_code, 0);
    assert_true(election_leads(f.e));
    client_fixture_run(&f.r, 10 * NSEC_PER_SEC);
    assert_int_equal(f.run.exit_code, 1);
    assert_false(election_leads(f.e));
    /* Should it hang instead of ending, its health check says so. */
    assert_int_equal(election_check(f.e, &err), 0);
    client_fixture_run(&f.r, 25 * NSEC_PER_SEC);
    assert_int_equal(election_check(f.e, &err), -ETIMEDOUT);
    assert_string_equal(err.text, "failed election to renew leadership on lease lease");
}

static void test_an_orderly_end_gives_the_lease_back(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f, true);
    f.is_ready = true;
    election_start(f.e);
    client_fixture_run(&f.r, NSEC_PER_SEC);
    assert_true(election_leads(f.e));
    nsec_t before = loop_mono(f.r.loop);
    f.run.stopping = true;
    election_stop(f.e);
    assert_false(election_leads(f.e));
    loop_run(f.r.loop); /* until it is ended */
    CLEANUP(mem_free) char *who = holder(&f);
    assert_string_equal(who, "");
    assert_that(loop_mono(f.r.loop) - before, <, NSEC_PER_SEC);
    assert_int_equal(f.run.exit_code, 0);
}

static void test_a_silent_server_does_not_hold_up_the_end(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f, true);
    f.is_ready = true;
    election_start(f.e);
    client_fixture_run(&f.r, NSEC_PER_SEC);
    fake_slow(f.r.fake, 3600 * NSEC_PER_SEC);
    nsec_t before = loop_mono(f.r.loop);
    f.run.stopping = true;
    election_stop(f.e);
    loop_run(f.r.loop);
    assert_int_equal(loop_mono(f.r.loop) - before, 5 * NSEC_PER_SEC);
    assert_int_equal(f.run.exit_code, 0);
}

static void test_without_a_lease_it_acts_at_once(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    struct kerr err = { 0 };

    (void)state;
    fixture_init(&f, false);
    assert_false(election_has_lease(f.e));
    assert_false(election_leads(f.e));
    election_start(f.e);
    assert_int_equal(f.led, 1);
    assert_true(election_leads(f.e));
    assert_int_equal(election_check(f.e, &err), 0);
    election_stop(f.e);
    assert_false(election_leads(f.e));
    assert_int_equal(fake_stats(f.r.fake).requests, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stands_when_it_is_ready),
        cmocka_unit_test(test_a_lost_lease_ends_the_program),
        cmocka_unit_test(test_an_orderly_end_gives_the_lease_back),
        cmocka_unit_test(test_a_silent_server_does_not_hold_up_the_end),
        cmocka_unit_test(test_without_a_lease_it_acts_at_once),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
