/* test_events.c - Events: counted, folded, cut off, written in the background. */
#include <stdio.h>

#include "base/test/asserts.h"
#include "client/events.h"
#include "client/test/client_fixture.h"
#include "json/kj.h"

#define EVENTS "/api/v1/namespaces/ns/events"

static const struct event_about pod = {
    .api_version = "v1",
    .kind = "Pod",
    .ns = "ns",
    .name = "web-0",
    .uid = "11111111-2222-4333-8444-555555555555",
};

struct first {
    char name[256];
    int n;
};
static void keep_first(void *arg, const char *ns, const char *name, const char *version)
{
    struct first *f = arg;
    (void)ns, (void)version;
    if (f->n++ == 0)
        snprintf(f->name, sizeof f->name, "%s", name);
}

/* The only event there is, parsed. */
static struct kj_doc *the_event(struct client_fixture *r)
{
    struct first f = { 0 };
    struct kj_doc *doc = NULL;
    fake_each(r->fake, "events", keep_first, &f);
    assert_int_equal(f.n, 1);
    const char *json = fake_find(r->fake, EVENTS, f.name);
    assert_int_equal(kj_parse(json, strlen(json), 0, &doc, NULL), 0);
    return doc;
}

static void test_an_event_has_the_usual_shape(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;

    (void)state;
    client_fixture_init(&r, 1);
    CLEANUP(recorder_free)
    struct recorder *rec =
        recorder_new(r.kube, &(struct recorder_opts){ .component = "koordlet", .host = "node-1" });
    recorder_event(rec, &pod, true, "Evicted", NULL, "used %d%% of %s", 95, "memory");
    assert_int_equal(fake_count(r.fake, "events"), 0); /* never from inside the call */
    client_fixture_run(&r, NSEC_PER_SEC);
    CLEANUP(kj_doc_free) struct kj_doc *doc = the_event(&r);
    const struct kj_val *e = kj_root(doc);
    assert_string_equal(kj_str(kj_get(e, "reason")), "Evicted");
    assert_string_equal(kj_str(kj_get(e, "message")), "used 95% of memory");
    assert_string_equal(kj_str(kj_get(e, "type")), "Warning");
    assert_string_equal(kj_str(kj_path(e, "involvedObject.name")), "web-0");
    assert_string_equal(kj_str(kj_path(e, "involvedObject.uid")), pod.uid);
    assert_string_equal(kj_str(kj_path(e, "source.component")), "koordlet");
    assert_string_equal(kj_str(kj_path(e, "source.host")), "node-1");
    assert_string_equal(kj_str(kj_get(e, "firstTimestamp")), "2025-11-15T09:46:40Z");
    assert_int_equal(kj_i64_or(kj_get(e, "count"), 0), 1);
    assert_starts(kj_str(kj_path(e, "metadata.name")), "web-0.");
}

static void test_repeats_count_up_one_object(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;

    (void)state;
    client_fixture_init(&r, 2);
    CLEANUP(recorder_free)
    struct recorder *rec = recorder_new(r.kube, &(struct recorder_opts){ .component = "c" });
    for (int i = 0; i < 5; i++) {
        recorder_event(rec, &pod, false, "Same", NULL, "text");
        client_fixture_run(&r, 10 * NSEC_PER_SEC);
    }
    CLEANUP(kj_doc_free) struct kj_doc *doc = the_event(&r);
    assert_int_equal(kj_i64_or(kj_get(kj_root(doc), "count"), 0), 5);
    assert_string_equal(kj_str(kj_get(kj_root(doc), "firstTimestamp")), "2025-11-15T09:46:40Z");
    assert_string_equal(kj_str(kj_get(kj_root(doc), "lastTimestamp")), "2025-11-15T09:47:20Z");
    assert_int_equal(recorder_stats(rec).patched, 4);
}

static void test_series_form(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;

    (void)state;
    client_fixture_init(&r, 3);
    CLEANUP(recorder_free)
    struct recorder *rec = recorder_new(
        r.kube, &(struct recorder_opts){ .component = "koord-scheduler", .series = true });
    for (int i = 0; i < 3; i++) {
        recorder_event(rec, &pod, true, "FailedScheduling", "Scheduling", "0/5 nodes");
        client_fixture_run(&r, NSEC_PER_SEC);
    }
    CLEANUP(kj_doc_free) struct kj_doc *doc = the_event(&r);
    const struct kj_val *e = kj_root(doc);
    assert_string_equal(kj_str(kj_get(e, "action")), "Scheduling");
    assert_string_equal(kj_str(kj_get(e, "reportingComponent")), "koord-scheduler");
    assert_string_equal(kj_str(kj_get(e, "eventTime")), "2025-11-15T09:46:40.000000Z");
    assert_int_equal(kj_i64_or(kj_path(e, "series.count"), 0), 3);
    assert_null(kj_get(e, "count"));
}

static void test_series_form_always_has_an_action(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;

    (void)state;
    client_fixture_init(&r, 8);
    CLEANUP(recorder_free)
    struct recorder *rec =
        recorder_new(r.kube, &(struct recorder_opts){ .component = "c", .series = true });
    recorder_event(rec, &pod, true, "Evicted", NULL, "m");
    client_fixture_run(&r, NSEC_PER_SEC);
    CLEANUP(kj_doc_free) struct kj_doc *doc = the_event(&r);
    assert_string_equal(kj_str_or(kj_get(kj_root(doc), "action"), ""), "Evicted");
}

static void test_repeats_in_one_turn_arrive_in_order(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;

    (void)state;
    client_fixture_init(&r, 9);
    CLEANUP(recorder_free)
    struct recorder *rec = recorder_new(r.kube, &(struct recorder_opts){ .component = "c" });
    http_fault_set(r.faulty, &(struct http_faults){ .slow = 500, .slow_max = NSEC_PER_SEC });
    for (int i = 0; i < 20; i++)
        recorder_event(rec, &pod, false, "Same", NULL, "text");
    client_fixture_run(&r, 60 * NSEC_PER_SEC);
    CLEANUP(kj_doc_free) struct kj_doc *doc = the_event(&r);
    assert_int_equal(kj_i64_or(kj_get(kj_root(doc), "count"), 0), 20);
    assert_int_equal(recorder_stats(rec).written, 1);
    assert_int_equal(recorder_stats(rec).failed, 0);
}

static void test_many_messages_of_one_reason_are_folded(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;

    (void)state;
    client_fixture_init(&r, 4);
    CLEANUP(recorder_free)
    struct recorder *rec = recorder_new(r.kube, &(struct recorder_opts){ .component = "c" });
    for (int i = 0; i < 20; i++) {
        recorder_event(rec, &pod, true, "Bad", NULL, "attempt %d", i);
        client_fixture_run(&r, NSEC_PER_SEC);
    }
    assert_int_equal(fake_count(r.fake, "events"), 11); /* ten, and one for all the others */
    assert_int_equal(recorder_stats(rec).folded, 10);
}

static void test_a_noisy_object_is_cut_off_others_are_not(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct event_about other = pod;

    (void)state;
    client_fixture_init(&r, 5);
    CLEANUP(recorder_free)
    struct recorder *rec = recorder_new(r.kube, &(struct recorder_opts){ .component = "c" });
    for (int i = 0; i < 100; i++)
        recorder_event(rec, &pod, true, "Bad", NULL, "same");
    assert_int_equal(recorder_stats(rec).suppressed, 75);
    other.name = "web-1";
    recorder_event(rec, &other, true, "Bad", NULL, "same");
    assert_int_equal(recorder_stats(rec).suppressed, 75);
    client_fixture_run(&r, 301 * NSEC_PER_SEC);
    recorder_event(rec, &pod, true, "Bad", NULL, "same");
    assert_int_equal(recorder_stats(rec).suppressed, 75); /* one more every five minutes */
    client_fixture_run(&r, NSEC_PER_SEC);
    assert_int_equal(fake_count(r.fake, "events"), 2);
}

static void test_an_expired_event_starts_anew(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;
    struct first f = { 0 };

    (void)state;
    client_fixture_init(&r, 6);
    CLEANUP(recorder_free)
    struct recorder *rec = recorder_new(r.kube, &(struct recorder_opts){ .component = "c" });
    recorder_event(rec, &pod, false, "R", NULL, "m");
    client_fixture_run(&r, NSEC_PER_SEC);
    fake_each(r.fake, "events", keep_first, &f);
    assert_true(fake_delete(r.fake, EVENTS, f.name));
    recorder_event(rec, &pod, false, "R", NULL, "m");
    client_fixture_run(&r, NSEC_PER_SEC);
    CLEANUP(kj_doc_free) struct kj_doc *doc = the_event(&r);
    assert_int_equal(kj_i64_or(kj_get(kj_root(doc), "count"), 0), 2);
}

static void test_the_queue_is_bounded_and_survives_an_outage(void **state)
{
    CLEANUP(client_fixture_fini) struct client_fixture r;

    (void)state;
    client_fixture_init(&r, 7);
    CLEANUP(recorder_free)
    struct recorder *rec =
        recorder_new(r.kube, &(struct recorder_opts){ .component = "c", .queue_max = 50 });
    fake_refuse(r.fake, true);
    for (int i = 0; i < 200; i++) {
        char name[32];
        snprintf(name, sizeof name, "pod-%d", i);
        struct event_about about = pod;
        about.name = name;
        recorder_event(rec, &about, false, "R", NULL, "m");
    }
    assert_int_equal(recorder_stats(rec).dropped, 150);
    client_fixture_run(&r, 30 * NSEC_PER_SEC);
    assert_int_equal(fake_count(r.fake, "events"), 0);
    fake_refuse(r.fake, false);
    client_fixture_run(&r, 120 * NSEC_PER_SEC);
    assert_int_equal(fake_count(r.fake, "events"), 50);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_event_has_the_usual_shape),
        cmocka_unit_test(test_repeats_count_up_one_object),
        cmocka_unit_test(test_series_form),
        cmocka_unit_test(test_series_form_always_has_an_action),
        cmocka_unit_test(test_repeats_in_one_turn_arrive_in_order),
        cmocka_unit_test(test_many_messages_of_one_reason_are_folded),
        cmocka_unit_test(test_a_noisy_object_is_cut_off_others_are_not),
        cmocka_unit_test(test_an_expired_event_starts_anew),
        cmocka_unit_test(test_the_queue_is_bounded_and_survives_an_outage),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
