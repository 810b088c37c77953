/* test_registry_watch.c - watches: where they start, what selectors make of changes, how they end.
 */
#include "apiserver/test/api_fixture.h"

static void settle(struct fixture *r)
{
    loop_advance(r->loop, 10 * NSEC_PER_MSEC);
}

static void test_from_a_revision_only_what_follows(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct fixture_watch w = { 0 };
    char target[200];
    (void)state;
    fixture_init(&r, 1);
    fixture_cm(&r, "a", "");
    (void)snprintf(target, sizeof target, CMS "?watch=1&resourceVersion=%s",
                   fixture_str(&r, "metadata.resourceVersion"));
    fixture_cm(&r, "b", "");
    fixture_watch(&r, &w, target);
    assert_int_equal(w.opened, 1);
    assert_string_equal(w.log, "ADDED b;");
    fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"data\":{\"k\":\"2\"}}");
    fixture_delete(&r, CMS "/b", NULL);
    settle(&r);
    assert_string_equal(w.log, "ADDED b;MODIFIED a;DELETED b;");
    char rev[24];
    (void)snprintf(rev, sizeof rev, "%llu",
                   (unsigned long long)store_revision(apiserver_store(r.s)));
    assert_string_equal(w.last_rev, rev); /* DELETED carries the revision of the deletion */
    api_cancel(w.c);
}

static void test_without_a_revision_what_is_there_comes_first(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct fixture_watch w = { 0 }, zero = { 0 };
    (void)state;
    fixture_init(&r, 2);
    fixture_cm(&r, "b", "");
    fixture_cm(&r, "a", "");
    fixture_watch(&r, &w, CMS "?watch=true");
    fixture_watch(&r, &zero, CMS "?watch=1&resourceVersion=0");
    fixture_cm(&r, "c", "");
    settle(&r);
    assert_string_equal(w.log, "ADDED a;ADDED b;ADDED c;");
    assert_string_equal(zero.log, "ADDED a;ADDED b;ADDED c;");
    api_cancel(w.c);
    api_cancel(zero.c);
}

static void test_initial_events_end_with_a_bookmark(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct fixture_watch w = { 0 }, no = { 0 }, bad = { 0 };
    (void)state;
    fixture_init(&r, 3);
    fixture_cm(&r, "a", "");
    fixture_watch(&r, &w,
                  CMS "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
                      "allowWatchBookmarks=true");
    assert_string_equal(w.log, "ADDED a;BOOKMARK;");
    assert_true(w.initial_end);
    fixture_watch(&r, &no,
                  CMS "?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan");
    fixture_cm(&r, "b", "");
    settle(&r);
    assert_string_equal(w.log, "ADDED a;BOOKMARK;ADDED b;");
    assert_string_equal(no.log, "ADDED b;");
    fixture_watch(&r, &bad, CMS "?watch=1&sendInitialEvents=true");
    assert_memory_equal(bad.log, "422 ", 4);
    api_cancel(w.c);
    api_cancel(no.c);
}

static void test_selectors_turn_changes_into_coming_and_going(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct fixture_watch w = { 0 };
    (void)state;
    fixture_init(&r, 4);
    fixture_cm(&r, "a", "");
    fixture_watch(&r, &w, CMS "?watch=1&resourceVersion=&labelSelector=on%3Dyes");
    fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"metadata\":{\"labels\":{\"on\":\"yes\"}}}");
    fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"data\":{\"k\":\"2\"}}");
    fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"metadata\":{\"labels\":{\"on\":\"no\"}}}");
    fixture_do(&r, "PATCH", CMS "/a", MERGE, "{\"data\":{\"k\":\"3\"}}");
    fixture_delete(&r, CMS "/a", NULL);
    fixture_cm(&r, "b", "\"on\":\"yes\"");
    fixture_delete(&r, CMS "/b", NULL);
    settle(&r);
    assert_string_equal(w.log, "ADDED a;MODIFIED a;DELETED a;ADDED b;DELETED b;");
    api_cancel(w.c);
}

static void test_bookmarks_each_minute_and_at_the_end(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct fixture_watch w = { 0 };
    (void)state;
    fixture_init(&r, 5);
    fixture_watch(&r, &w, PODS "?watch=1&allowWatchBookmarks=true&timeoutSeconds=300");
    fixture_cm(&r, "a", ""); /* of another kind: only the revision moves */
    loop_advance(r.loop, 90 * NSEC_PER_SEC);
    assert_string_equal(w.log, "BOOKMARK;");
    loop_advance(r.loop, 120 * NSEC_PER_SEC);
    assert_string_equal(w.log, "BOOKMARK;"); /* nothing new to tell */
    loop_advance(r.loop, 85 * NSEC_PER_SEC);
    fixture_cm(&r, "b", "");
    loop_advance(r.loop, 10 * NSEC_PER_SEC);
    assert_string_equal(w.log, "BOOKMARK;BOOKMARK;");
    assert_int_equal(w.ended, 1);
    assert_int_equal(apiserver_stats(r.s).open_watches, 0);
}

static void test_a_revision_too_old_is_an_error_event(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct fixture_watch w = { 0 };
    (void)state;
    fixture_init(&r, 6);
    fixture_cm(&r, "a", "");
    fixture_cm(&r, "b", "");
    store_compact(apiserver_store(r.s), store_revision(apiserver_store(r.s)));
    fixture_watch(&r, &w, CMS "?watch=1&resourceVersion=2");
    assert_string_equal(w.log, "ERROR Expired;");
    assert_int_equal(w.ended, 1);
}

static void test_a_full_sink_stops_the_flow(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct fixture_watch w = { .full_after = 2 };
    char name[8];
    (void)state;
    fixture_init(&r, 7);
    for (int i = 0; i < 4; i++) {
        (void)snprintf(name, sizeof name, "a%d", i);
        fixture_cm(&r, name, "");
    }
    fixture_watch(&r, &w, CMS "?watch=1");
    settle(&r);
    assert_int_equal(w.n, 2);
    w.full_after = 6;
    api_resume(w.c);
    fixture_cm(&r, "b0", "");
    fixture_cm(&r, "b1", "");
    fixture_cm(&r, "b2", "");
    settle(&r);
    assert_int_equal(w.n, 6);
    w.full_after = 0;
    api_resume(w.c);
    settle(&r);
    assert_string_equal(w.log, "ADDED a0;ADDED a1;ADDED a2;ADDED a3;ADDED b0;ADDED b1;ADDED b2;");
    api_cancel(w.c);
}

static void test_a_revision_to_come_waits(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct fixture_watch w = { 0 };
    char target[100];
    (void)state;
    fixture_init(&r, 8);
    (void)snprintf(target, sizeof target, CMS "?watch=1&resourceVersion=%llu",
                   (unsigned long long)store_revision(apiserver_store(r.s)) + 1);
    fixture_watch(&r, &w, target);
    fixture_cm(&r, "a", "");
    fixture_cm(&r, "b", "");
    settle(&r);
    assert_string_equal(w.log, "ADDED b;");
    api_cancel(w.c);
}

static void test_stop_ends_watches(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    struct fixture_watch w = { 0 };
    (void)state;
    fixture_init(&r, 9);
    fixture_watch(&r, &w, CMS "?watch=1");
    apiserver_stop(r.s, NSEC_PER_SEC, NULL, NULL);
    assert_int_equal(w.ended, 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_from_a_revision_only_what_follows),
    cmocka_unit_test(test_without_a_revision_what_is_there_comes_first),
    cmocka_unit_test(test_initial_events_end_with_a_bookmark),
    cmocka_unit_test(test_selectors_turn_changes_into_coming_and_going),
    cmocka_unit_test(test_bookmarks_each_minute_and_at_the_end),
    cmocka_unit_test(test_a_revision_too_old_is_an_error_event),
    cmocka_unit_test(test_a_full_sink_stops_the_flow),
    cmocka_unit_test(test_a_revision_to_come_waits),
    cmocka_unit_test(test_stop_ends_watches),
};

FIXTURE_MAIN(tests)
