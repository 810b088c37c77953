/* test_health.c - a disk that is full, and what /readyz, /livez, /metrics and the log say. */
#include "apiserver/store/store.h"
#include "apiserver/test/api_fixture.h"
#include "base/test/asserts.h"

/* The body of a plain text answer. */
static const char *text(const struct fixture *r)
{
    return strbuf_str(&r->text);
}

static void test_a_full_disk_is_told_and_reads_go_on(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 1);
    assert_int_equal(fixture_post(&r, CMS, "{\"metadata\":{\"name\":\"a\"}}"), 201);
    assert_int_equal(fixture_get(&r, "/readyz"), 200);
    store_fail_next_commit(apiserver_store(r.s), ENOSPC);
    assert_int_equal(fixture_post(&r, CMS, "{\"metadata\":{\"name\":\"b\"}}"), 500);
    assert_string_equal(fixture_str(&r, "kind"), "Status");
    assert_string_equal(fixture_str(&r, "reason"), "InternalError");
    assert_int_equal(fixture_get(&r, CMS "/a"), 200);
    assert_int_equal(fixture_get(&r, CMS "/b"), 404);
    assert_int_equal(fixture_get(&r, "/readyz"), 500);
#define WHY "failed: commit 1 writes to memory: No space left on device\n"
    assert_string_equal(text(&r), "[+]ping ok\n[+]log ok\n[-]etcd " WHY "[-]etcd-readiness " WHY
                                  "[+]informer-sync ok\n[+]shutdown ok\n[-]store " WHY
                                  "readyz check failed\n");
    assert_int_equal(fixture_get(&r, "/readyz/etcd"), 500);
    assert_string_equal(text(&r), "[-]etcd " WHY "readyz check failed\n");
    assert_int_equal(fixture_get(&r, "/readyz/store"), 500);
    assert_string_equal(text(&r), "[-]store " WHY "readyz check failed\n");
    assert_int_equal(fixture_get(&r, "/readyz/ping"), 200);
    assert_int_equal(fixture_get(&r, "/livez"), 200); /* a restart would not help */
    assert_int_equal(fixture_get(&r, "/readyz?exclude=etcd&exclude=etcd-readiness&exclude=store"),
                     200);
    assert_int_equal(fixture_do(&r, "DELETE", CMS "/a", NULL, NULL), 200); /* there is room again */
    assert_int_equal(fixture_get(&r, "/readyz"), 200);
    assert_string_equal(text(&r), "ok");
    assert_int_equal(fixture_post(&r, CMS, "{\"metadata\":{\"name\":\"b\"}}"), 201);
}

static void test_a_full_disk_is_over_without_writers(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 1);
    store_fail_next_commit(apiserver_store(r.s), ENOSPC);
    assert_int_equal(fixture_post(&r, CMS, "{\"metadata\":{\"name\":\"b\"}}"), 500);
    assert_int_equal(fixture_get(&r, "/readyz"), 500);
    store_fail_next_commit(apiserver_store(r.s), ENOSPC);
    loop_advance(r.loop, 2 * NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, "/readyz"), 500);
    loop_advance(r.loop, 2 * NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, "/readyz"), 200);
}

static void test_checks_have_the_names_of_upstream(void **state)
{
    static const char *const paths[] = { "/readyz/ping",         "/readyz/log", "/readyz/etcd",
                                         "/readyz/shutdown",     "/livez/ping", "/healthz/etcd",
                                         "/readyz/informer-sync" };
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 1);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        assert_int_equal(fixture_get(&r, paths[i]), 200);
    assert_int_equal(fixture_get(&r, "/livez/shutdown"), 404);
    assert_int_equal(fixture_get(&r, "/readyz/nothing"), 404);
    assert_int_equal(fixture_get(&r, "/readyzz"), 404);
    assert_int_equal(fixture_get(&r, "/readyz?verbose"), 200);
    assert_string_equal(text(&r),
                        "[+]ping ok\n[+]log ok\n[+]etcd ok\n[+]etcd-readiness ok\n[+]informer-sync "
                        "ok\n[+]shutdown ok\n[+]store ok\nreadyz check passed\n");
    assert_int_equal(fixture_get(&r, "/readyz?verbose&exclude=store"), 200);
    assert_contains(text(&r), "[+]store excluded: ok\nreadyz check passed\n");
    assert_int_equal(fixture_get(&r, "/livez?verbose"), 200);
    assert_string_equal(text(&r), "[+]ping ok\n[+]log ok\nlivez check passed\n");
}

static void test_requests_are_counted(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    (void)state;
    fixture_init(&r, 1);
    assert_int_equal(fixture_post(&r, CMS, "{\"metadata\":{\"name\":\"a\"}}"), 201);
    assert_int_equal(fixture_post(&r, CMS, "{\"metadata\":{\"name\":\"a\"}}"), 409);
    assert_int_equal(fixture_get(&r, CMS "/nope"), 404);
    assert_int_equal(fixture_get(&r, "/some/path/that/nobody/serves"), 404);
    assert_int_equal(fixture_get(&r, "/metrics"), 200);
    assert_contains(text(&r),
                    "apiserver_request_total{code=\"201\",component=\"apiserver\",dry_run="
                    "\"\",group=\"\",resource=\"configmaps\",scope=\"namespace\","
                    "subresource=\"\",verb=\"POST\",version=\"v1\"} 1\n");
    assert_contains(text(&r), "code=\"409\"");
    assert_contains(text(&r), "code=\"404\"");
    assert_null(strstr(text(&r), "nobody")); /* what clients make up is no label */
    assert_contains(text(&r), "apiserver_storage_objects{resource=\"configmaps\"} 1\n");
    assert_contains(text(&r), "apiserver_resource_objects{group=\"\",resource=\"configmaps\"} 1\n");
    assert_contains(text(&r), "apiserver_current_inflight_requests{request_kind=\"mutating\"} 0\n");
    assert_contains(text(&r), "apiserver_request_duration_seconds_bucket{");
    assert_contains(text(&r), "\nprocess_resident_memory_bytes ");
    assert_int_equal(fixture_post(&r, "/metrics", "{}"), 404);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_full_disk_is_told_and_reads_go_on),
    cmocka_unit_test(test_a_full_disk_is_over_without_writers),
    cmocka_unit_test(test_checks_have_the_names_of_upstream),
    cmocka_unit_test(test_requests_are_counted),
};

FIXTURE_MAIN(tests)
