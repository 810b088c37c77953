/* test_resv_cache.c - what the cache of reservations holds of them, and what it shows (2, 5, 13).
 */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "api/pod.h"
#include "api/podresources.h"
#include "api/protocol/keys.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/plugins/reservation/cache.h"
#include "json/kj.h"

#define RESERVATIONS "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
#define OWNERS       "\"owners\":[{\"labelSelector\":{\"matchLabels\":{\"app\":\"a\"}}}]"

/* A plugin that reads the cache, as others do. */
static struct reservations *cache;

static int reader_create(const struct ks_env *env, const void *args, void **ret_self,
                         struct kerr *err)
{
    (void)args, (void)err;
    cache = reservations_of(env);
    *ret_self = NULL;
    return 0;
}

static enum ks_code reader_pre_bind(void *self, struct ks_bind *b, struct ks_texts *why)
{
    (void)self, (void)b, (void)why;
    return KS_SKIP; /* a plugin without any point is no part of a profile */
}

static const struct ks_plugin reader = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Reader",
    .create = reader_create,
    .pre_bind = reader_pre_bind,
};
static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },  { &ks_plugin_fit, 1, true },
    { &ks_plugin_reservation, 1, true },    { &reader, 0, true },
    { &ks_plugin_default_binder, 0, true }, { NULL, 0, false },
};

static void start(struct engine_fixture *b)
{
    engine_start_with(b, 1, plugins);
    assert_non_null(cache);
    engine_node(b, "n", 8000, 16384, 10, "");
    engine_node(b, "m", 8000, 16384, 10, "");
    client_fixture_run(&b->client, SEC);
}

static void put(struct engine_fixture *b, const char *collection, const char *name,
                const char *body)
{
    fake_put(b->client.fake, collection, name, body);
    client_fixture_run(&b->client, SEC);
}

static const struct resv *find(const char *name)
{
    struct resv *r;

    for (size_t it = 0; (r = reservations_next(cache, &it));)
        if (streq(r->view.name, name))
            return r;
    fail_msg("%s is not there", name);
    return NULL;
}

static const struct pod *reserve_pod(const char *name)
{
    const struct resv *r = find(name);

    assert_non_null(r->view.pod);
    return pod_of(r->view.pod);
}

static int64_t amount(const reslist *l, const char *name)
{
    return resource_count(name, reslist_get(l, name));
}

/* ---- reserve pods (2) ------------------------------------------------------------------------ */

#define TEMPLATE(more)                                                                           \
    "\"template\":{\"spec\":{\"schedulerName\":\"koord-scheduler\"" more                         \
    ",\"containers\":[{\"name\":\"test-container\",\"resources\":{\"requests\":{\"e.io/x\":100}" \
    ",\"limits\":{\"e.io/x\":100}}}],\"initContainers\":[{\"name\":\"i\",\"resources\":{"        \
    "\"requests\":{\"e.io/x\":10}}}]}}"

static void test_it_holds_what_the_status_says(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    put(&b, RESERVATIONS, "r",
        "{\"spec\":{\"ttl\":\"0s\"," OWNERS "," TEMPLATE(
            ",\"nodeName\":\"n\",\"overhead\":{\"e.io/x\":0}") "},\"status\":{\"phase\":"
                                                               "\"Available\",\"nodeName\":\"n\","
                                                               "\"allocatable\":{\"e.io/"
                                                               "x\":200}}}");
    const struct pod *p = reserve_pod("r");
    const containerlist *l = &p->spec->containers;
    assert_int_equal(l->n, 2);
    assert_string_equal(l->items[0].name, "test-container");
    assert_int_equal(l->items[0].resources.requests.n + l->items[0].resources.limits.n, 0);
    assert_string_equal(l->items[1].name, "__internal_fake_container__");
    assert_int_equal(amount(&l->items[1].resources.requests, "e.io/x"), 200);
    assert_int_equal(amount(&l->items[1].resources.limits, "e.io/x"), 200);
    assert_int_equal(p->spec->init_containers.items[0].resources.requests.n, 0);
    assert_int_equal(p->spec->overhead.n, 0);
    assert_int_equal(pod_priority(p), INT32_MAX);
    assert_string_equal(p->node_name, "n");
    assert_string_equal(kstrmap_get(&p->obj.meta.annotations, ANNO_RESERVATION_NODE), "n");
    assert_string_equal(kstrmap_get(&p->obj.meta.annotations, ANNO_RESERVE_POD), "true");
    engine_verify(&b);
}

static void test_it_asks_for_what_the_template_says(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    CLEANUP(arena_free) struct arena *a = arena_new();

    (void)state;
    start(&b);
    put(&b, RESERVATIONS, "r", /* no node has any */
        "{\"spec\":{\"ttl\":\"0s\"," OWNERS "," TEMPLATE(",\"overhead\":{\"e.io/x\":10}") "}}");
    const reslist wants = pod_requests(reserve_pod("r"), NULL, a);
    assert_int_equal(amount(&wants, "e.io/x"), 110);
    assert_string_equal(reserve_pod("r")->node_name, "");
    engine_verify(&b);
}

/* ---- who can be found (5) -------------------------------------------------------------------- */

static void put_available(struct engine_fixture *b, const char *name, const char *node)
{
    CLEANUP(mem_free)
    char *body = xasprintf(
        "{\"spec\":{\"ttl\":\"0s\",\"allocateOnce\":false," OWNERS ",\"template\":{\"spec\":{"
        "\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":\"c\",\"resources\":{"
        "\"requests\":{\"cpu\":\"4\"}}}]}}},\"status\":{\"phase\":\"Available\",\"nodeName\":"
        "\"%s\",\"allocatable\":{\"cpu\":\"4\"}}}",
        node);

    put(b, RESERVATIONS, name, body);
}

static void test_owners_leave_it_matchable(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    put_available(&b, "r1", "n");
    put_available(&b, "r2", "m");
    assert_int_equal(cache->matchable.n, 2);
    assert_int_equal(find("r1")->view.nowners + find("r2")->view.nowners, 0);
    CLEANUP(mem_free)
    char *owner =
        xasprintf("{\"metadata\":{\"annotations\":{\"" ANNO_RESERVATION_ALLOCATED
                  "\":\"{\\\"name\\\":\\\"r1\\\",\\\"uid\\\":\\\"%s\\\"}\"}},\"spec\":{"
                  "\"nodeName\":\"n\",\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
                  "\"cpu\":\"1\"}}}]}}",
                  find("r1")->uid_text);
    put(&b, PODS, "p", owner);
    assert_int_equal(cache->matchable.n, 2);
    assert_int_equal(find("r1")->view.nowners, 1);
    assert_int_equal(find("r2")->view.nowners, 0);
    assert_int_equal(ks_amounts_get(&find("r1")->view.allocated, "cpu"), 1000);
    fake_delete(b.client.fake, PODS, "p");
    client_fixture_run(&b.client, SEC);
    assert_int_equal(find("r1")->view.nowners, 0);
    engine_verify(&b);
}

/* ---- pods in operating mode Reservation (13) ------------------------------------------------- */

static void test_an_operating_pod_is_listed(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const char *const params[] = { "n" };
    struct kjw w = kjw_to(&text);
    struct kerr err = { 0 };

    (void)state;
    start(&b);
    put(&b, PODS, "o",
        "{\"metadata\":{\"labels\":{\"" LABEL_OPERATING_MODE "\":\"Reservation\"},"
        "\"annotations\":{\"" ANNO_RESERVATION_OWNERS
        "\":\"[{\\\"labelSelector\\\":{\\\"matchLabels\\\":{\\\"app\\\":\\\"a\\\"}}}]\","
        "\"" ANNO_RESERVATION_CURRENT_OWNER
        "\":\"{\\\"namespace\\\":\\\"default\\\",\\\"name\\\":\\\"heir\\\",\\\"uid\\\":"
        "\\\"00000000-0000-4000-9000-000000000001\\\"}\"}},\"spec\":{\"nodeName\":\"n\","
        "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"4\",\"memory\":"
        "\"8Gi\"}}}]},\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\","
        "\"status\":\"True\"}]}}");
    assert_false(find("o")->matchable);
    assert_int_equal(reservations_paths[0].get(cache, &(struct ks_get){ params, "", a }, &w, &err),
                     0);
    const char *got = strbuf_str(&text);
    assert_contains(got, "\"kind\":\"Pod\"");
    assert_contains(got, "\"available\":true,\"allocateOnce\":true");
    assert_contains(got, "\"availableResource\":{\"MilliCPU\":4000,\"Memory\":8589934592");
    assert_contains(got, "\"allocatePolicy\":\"Aligned\"");
    assert_contains(got, "\"assignedPods\":[{\"Namespace\":\"default\",\"Name\":\"heir\",\"UID\":"
                         "\"00000000-0000-4000-9000-000000000001\",\"Requests\":{}}]");
    engine_verify(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_holds_what_the_status_says),
        cmocka_unit_test(test_it_asks_for_what_the_template_says),
        cmocka_unit_test(test_owners_leave_it_matchable),
        cmocka_unit_test(test_an_operating_pod_is_listed),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
