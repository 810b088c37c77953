/* test_leader.c - leader election: one at a time, takeover, release, freezing. */
#include <stdio.h>

#include "base/test/asserts.h"
#include "client/leader.h"
#include "client/test/client_fixture.h"
#include "json/kj.h"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"

struct seat {
    struct leader *ld;
    int started, stopped;
    char holder[32];
};

static void on_started(void *arg)
{
    ((struct seat *)arg)->started++;
}
static void on_stopped(void *arg)
{
    ((struct seat *)arg)->stopped++;
}
static void on_new_leader(void *arg, const char *id)
{
    struct seat *s = arg;
    snprintf(s->holder, sizeof s->holder, "%s", id);
}
static const struct leader_handler handler = { on_started, on_stopped, on_new_leader };

static void seat_init(struct seat *s, struct kube *k, const char *id)
{
    struct kerr err = { 0 };
    *s = (struct seat){ 0 };
    struct leader_opts o = { .ns = "kube-system", .name = "koord", .identity = id };
    assert_int_equal(leader_new(k, &o, &handler, s, &s->ld, &err), 0);
    leader_start(s->ld);
}

static void test_exactly_one_of_two_leads(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct seat a, b;

    (void)state;
    client_fixture_init(&r, 1);
    seat_init(&a, r.kube, "a");
    seat_init(&b, r.kube, "b");
    for (int i = 0; i < 300; i++) {
        client_fixture_run(&r, NSEC_PER_SEC);
        assert_that(leader_is(a.ld) + leader_is(b.ld), <=, 1);
    }
    assert_int_equal(leader_is(a.ld) + leader_is(b.ld), 1);
    assert_int_equal(a.started + b.started, 1);
    assert_int_equal(a.stopped + b.stopped, 0);
    assert_string_equal(a.holder, b.holder);
    leader_free(a.ld);
    leader_free(b.ld);
}

static void test_the_other_takes_over_when_the_leader_dies(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct seat a, b;
    nsec_t died;

    (void)state;
    client_fixture_init(&r, 2);
    seat_init(&a, r.kube, "a");
    client_fixture_run(&r, NSEC_PER_SEC);
    seat_init(&b, r.kube, "b");
    client_fixture_run(&r, 60 * NSEC_PER_SEC);
    assert_true(leader_is(a.ld));
    leader_free(a.ld);
    died = loop_mono(r.loop);
    while (!leader_is(b.ld) && loop_mono(r.loop) < died + 60 * NSEC_PER_SEC)
        client_fixture_run(&r, NSEC_PER_SEC / 10);
    assert_true(leader_is(b.ld));
    /* Not before the lease ran out, and soon after: 15 s plus at most a jittered retry. */
    assert_in_range(loop_mono(r.loop) - died, 12 * NSEC_PER_SEC, 21 * NSEC_PER_SEC);
    assert_string_equal(b.holder, "b");
    leader_free(b.ld);
}

static void released(void *arg)
{
    *(bool *)arg = true;
}

/* It was seen at most a jittered retry late, and is taken the moment it has run out. */
static void test_a_lease_that_has_run_out_does_not_lie_idle(void **state)
{
    nsec_t sum = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        CLEANUP(client_fixture_fini) struct client_fixture r;
        struct seat a, b;
        client_fixture_init(&r, seed);
        seat_init(&a, r.kube, "a");
        client_fixture_run(&r, NSEC_PER_SEC);
        seat_init(&b, r.kube, "b");
        client_fixture_run(&r, (nsec_t)(30 + seed) * NSEC_PER_SEC);
        leader_free(a.ld);
        nsec_t died = loop_mono(r.loop);
        while (!leader_is(b.ld) && loop_mono(r.loop) < died + 60 * NSEC_PER_SEC)
            client_fixture_run(&r, NSEC_PER_SEC / 10);
        assert_that(loop_mono(r.loop) - died, <=, 19600 * NSEC_PER_MSEC);
        sum += loop_mono(r.loop) - died;
        leader_free(b.ld);
    }
    assert_that(sum / 20, <=, 15500 * NSEC_PER_MSEC); /* 16.7 s with another retry behind it */
}

static void test_release_lets_the_next_one_in_at_once(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct seat a, b;
    bool done = false;

    (void)state;
    client_fixture_init(&r, 3);
    seat_init(&a, r.kube, "a");
    client_fixture_run(&r, NSEC_PER_SEC);
    seat_init(&b, r.kube, "b");
    client_fixture_run(&r, 30 * NSEC_PER_SEC);
    leader_release(a.ld, released, &done);
    assert_false(done);
    assert_int_equal(a.stopped, 1);
    client_fixture_run(&r, 6 * NSEC_PER_SEC);
    assert_true(done);
    assert_true(leader_is(b.ld));
    leader_free(a.ld);
    leader_free(b.ld);
}

/* A transport whose requests are carried out at once and answered a second later. */
struct late {
    struct kube kube;
    struct kube *inner;
};
struct late_call {
    struct kube_call head;
    kube_done_fn fn;
    void *arg;
    struct kube_resp resp;
    struct kerr err;
    struct timer *timer;
    bool dead;
};

static void late_call_free(struct late_call *c)
{
    timer_cancel(c->timer);
    free(c->resp.body);
    free(c);
}

static void late_answer(struct loop *l, void *arg)
{
    struct late_call *c = arg;
    (void)l;
    c->timer = NULL;
    c->fn(c->arg, &c->resp, c->err.code ? &c->err : NULL);
    late_call_free(c);
}

static void late_arrived(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct late_call *c = arg;
    if (c->dead) {
        late_call_free(c);
        return;
    }
    c->resp = *resp;
    c->resp.body = xcalloc(1, resp->n + KJ_PADDING);
    memcpy(c->resp.body, resp->body, resp->n);
    if (err)
        c->err = *err;
    c->timer = loop_after(c->head.kube->loop, NSEC_PER_SEC, late_answer, c);
}

static struct kube_call *late_do(struct kube *k, const struct kube_req *req, kube_done_fn fn,
                                 void *arg)
{
    struct late_call *c = xnew0(struct late_call);
    c->head.kube = k;
    c->fn = fn;
    c->arg = arg;
    kube_do(container_of(k, struct late, kube)->inner, req, late_arrived, c);
    return &c->head;
}

static void late_cancel(struct kube_call *head)
{
    struct late_call *c = container_of(head, struct late_call, head);
    c->dead = true;
    if (c->timer)
        late_call_free(c);
}

static void test_release_in_the_middle_of_a_renewal(void **state)
{
    static const struct kube_ops ops = { .call = late_do, .cancel = late_cancel };
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct seat a, b;
    bool done = false;

    (void)state;
    client_fixture_init(&r, 9);
    struct late late = { { &ops, r.loop, r.strings }, r.kube };
    seat_init(&a, &late.kube, "a");
    client_fixture_run(&r, 10 * NSEC_PER_SEC);
    seat_init(&b, r.kube, "b");
    client_fixture_run(&r, 30 * NSEC_PER_SEC);
    assert_true(leader_is(a.ld));
    unsigned patches = fake_stats(r.fake).patches;
    while (fake_stats(r.fake).patches == patches)
        client_fixture_run(&r, NSEC_PER_SEC / 100);
    leader_release(a.ld, released, &done);
    assert_int_equal(a.stopped, 1);
    client_fixture_run(&r, 8 * NSEC_PER_SEC);
    assert_true(done);
    assert_true(leader_is(b.ld));
    leader_free(a.ld);
    leader_free(b.ld);
}

static void test_a_leader_cut_off_from_the_server_stops_before_its_lease_runs_out(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct seat a;

    (void)state;
    client_fixture_init(&r, 4);
    seat_init(&a, r.kube, "a");
    client_fixture_run(&r, 30 * NSEC_PER_SEC);
    assert_true(leader_is(a.ld));
    fake_refuse(r.fake, true);
    fake_break_connections(r.fake);
    client_fixture_run(&r, 13 * NSEC_PER_SEC);
    assert_false(leader_is(a.ld));
    assert_int_equal(a.stopped, 1);
    fake_refuse(r.fake, false);
    client_fixture_run(&r, 60 * NSEC_PER_SEC);
    assert_true(leader_is(a.ld));
    assert_int_equal(a.started, 2);
    leader_free(a.ld);
}

static void test_a_server_that_does_not_answer_cannot_delay_the_end(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct seat a;

    (void)state;
    client_fixture_init(&r, 8);
    seat_init(&a, r.kube, "a");
    client_fixture_run(&r, 30 * NSEC_PER_SEC);
    nsec_t renewed = leader_renewed(a.ld);
    fake_slow(r.fake, 3600 * NSEC_PER_SEC);
    while (a.stopped == 0 && loop_mono(r.loop) < renewed + 60 * NSEC_PER_SEC)
        client_fixture_run(&r, NSEC_PER_SEC / 10);
    /* renewed may have moved once more before the server fell silent */
    assert_that(loop_mono(r.loop), <=,
                leader_renewed(a.ld) + 10 * NSEC_PER_SEC + NSEC_PER_SEC / 10);
    leader_free(a.ld);
}

static void test_foreign_fields_of_the_lease_survive(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct seat a;

    (void)state;
    client_fixture_init(&r, 5);
    fake_put(r.fake, LEASES, "koord",
             "{\"metadata\":{\"labels\":{\"keep\":\"me\"}},\"spec\":{\"strategy\":\"x\"}}");
    seat_init(&a, r.kube, "a");
    client_fixture_run(&r, 10 * NSEC_PER_SEC);
    assert_true(leader_is(a.ld));
    const char *json = fake_find(r.fake, LEASES, "koord");
    assert_int_equal(kj_parse(json, strlen(json), 0, &doc, NULL), 0);
    const struct kj_val *root = kj_root(doc);
    assert_string_equal(kj_str_or(kj_path(root, "metadata.labels.keep"), ""), "me");
    assert_string_equal(kj_str_or(kj_path(root, "spec.strategy"), ""), "x");
    assert_string_equal(kj_str_or(kj_path(root, "spec.holderIdentity"), ""), "a");
    assert_int_equal(kj_i64_or(kj_path(root, "spec.leaseDurationSeconds"), 0), 15);
    assert_int_equal(kj_i64_or(kj_path(root, "spec.leaseTransitions"), 0), 1);
    leader_free(a.ld);
}

static void test_durations_that_contradict_are_refused(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct kerr err = { 0 };
    struct leader *ld = NULL;
    struct leader_opts o = { .ns = "n", .name = "x", .identity = "a" };

    (void)state;
    client_fixture_init(&r, 6);
    o.lease_duration = 10 * NSEC_PER_SEC;
    o.renew_deadline = 10 * NSEC_PER_SEC;
    assert_int_equal(leader_new(r.kube, &o, &handler, NULL, &ld, &err), -EINVAL);
    assert_contains(err.text, "renewDeadline");
    o.renew_deadline = 2 * NSEC_PER_SEC;
    o.retry_period = 2 * NSEC_PER_SEC;
    assert_int_equal(leader_new(r.kube, &o, &handler, NULL, &ld, &err), -EINVAL);
    o = (struct leader_opts){ .ns = "n", .name = "x" };
    assert_int_equal(leader_new(r.kube, &o, &handler, NULL, &ld, &err), -EINVAL);
}

static void test_faults_never_make_two_leaders(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        CLEANUP(client_fixture_fini) struct client_fixture r;
        struct seat s[3];
        client_fixture_init(&r, seed);
        http_fault_set(r.faulty, &(struct http_faults){ .refuse = 100,
                                                        .lose_answer = 100,
                                                        .status_500 = 50,
                                                        .slow = 200,
                                                        .slow_max = 3 * NSEC_PER_SEC });
        seat_init(&s[0], r.kube, "a");
        seat_init(&s[1], r.kube, "b");
        seat_init(&s[2], r.kube, "c");
        for (int i = 0; i < 600; i++) {
            client_fixture_run(&r, NSEC_PER_SEC / 2);
            assert_that(leader_is(s[0].ld) + leader_is(s[1].ld) + leader_is(s[2].ld), <=, 1);
        }
        assert_that(s[0].started + s[1].started + s[2].started, >=, 1);
        for (int i = 0; i < 3; i++)
            leader_free(s[i].ld);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exactly_one_of_two_leads),
        cmocka_unit_test(test_the_other_takes_over_when_the_leader_dies),
        cmocka_unit_test(test_a_lease_that_has_run_out_does_not_lie_idle),
        cmocka_unit_test(test_release_lets_the_next_one_in_at_once),
        cmocka_unit_test(test_release_in_the_middle_of_a_renewal),
        cmocka_unit_test(test_a_leader_cut_off_from_the_server_stops_before_its_lease_runs_out),
        cmocka_unit_test(test_a_server_that_does_not_answer_cannot_delay_the_end),
        cmocka_unit_test(test_foreign_fields_of_the_lease_survive),
        cmocka_unit_test(test_durations_that_contradict_are_refused),
        cmocka_unit_test(test_faults_never_make_two_leaders),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
