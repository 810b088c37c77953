/* test_gangcases.c - gangs that are described badly, change while they wait, or are large: people
 * are told, a default counts, and no other gang is disturbed (sched-gang 1.3, 2). */
#include "gang_engine.h"

#include "api/protocol/keys.h"
#include "scheduler/extender/test/extender_fixture.h"

#define GROUPS(text) "\"" ANNO_GANG_GROUPS "\":\"" text "\""

/* For fake_each: events of the reason whose note begins with this. */
static void engine_match_part(void *arg, const char *ns, const char *name, const char *version)
{
    struct engine_search *s = arg;
    CLEANUP(mem_free) char *path = xasprintf("/api/v1/namespaces/%s/events", ns);
    const char *json = fake_find(s->b->client.fake, path, name);

    (void)version;
    s->found += json && strstr(json, s->reason) && strstr(json, s->note);
}

static void pods(struct engine_fixture *b, const char *prefix, const char *gang, int n)
{
    char name[64];

    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "%s%d", prefix, i);
        gang_pod(b, name, gang, 1);
    }
}

static void settle(struct engine_fixture *b)
{
    client_fixture_run(&b->client, 12 * SEC);
}

/* Room for all, and a gang that nobody complains about. */
static void start(struct engine_fixture *b)
{
    gang_start(b, "{}");
    gang_node(b, "n1", 100);
    gang_podgroup(b, "other", 2, "");
}

/* It still runs, and nobody has said anything about it. */
static void check_other(struct engine_fixture *b)
{
    pods(b, "other", "other", 2);
    client_fixture_run(&b->client, SEC);
    assert_int_equal(gang_bound(b, "other", 2), 2);
    engine_verify(b);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void test_groups_that_are_no_json(void **state)
{
    static const char *const bad[] = { "ns/g,ns/other", "{}", "[1,2]", "[", "" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CLEANUP(engine_stop) struct engine_fixture b;
        CLEANUP(mem_free) char *groups = xasprintf("\"" ANNO_GANG_GROUPS "\":\"%s\"", bad[i]);
        struct engine_search s = { &b, "InvalidGang", ANNO_GANG_GROUPS, 0 };
        start(&b);
        gang_podgroup(&b, "g", 2, groups);
        pods(&b, "g", "g", 2);
        settle(&b);
        assert_int_equal(gang_bound(&b, "g", 2), 2); /* it stands alone */
        fake_each(b.client.fake, "events", engine_match_part, &s);
        assert_int_equal(s.found, *bad[i] != '\0');
        check_other(&b);
    }
}

static void test_groups_that_name_a_missing_gang(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    gang_podgroup(&b, "g", 2, GROUPS("[\\\"ns/g\\\",\\\"ns/late\\\"]"));
    pods(&b, "g", "g", 2);
    settle(&b);
    assert_int_equal(gang_bound(&b, "g", 2), 0);
    assert_int_equal(engine_events(&b, "InvalidGang",
                                   ANNO_GANG_GROUPS ": ns/late does not exist: ns/g waits for it"),
                     1);
    check_other(&b);
    gang_podgroup(&b, "late", 1, GROUPS("[\\\"ns/g\\\",\\\"ns/late\\\"]"));
    pods(&b, "late", "late", 1);
    settle(&b);
    assert_int_equal(gang_bound(&b, "g", 2) + gang_bound(&b, "late", 1), 3);
}

/* The one that is named does not name back: it does not wait. */
static void test_groups_that_disagree(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    gang_podgroup(&b, "g", 2, GROUPS("[\\\"ns/g\\\",\\\"ns/h\\\"]"));
    gang_podgroup(&b, "h", 2, "");
    pods(&b, "g", "g", 2);
    settle(&b);
    assert_int_equal(gang_bound(&b, "g", 2), 0);
    assert_int_equal(engine_events(&b, "InvalidGang",
                                   ANNO_GANG_GROUPS ": ns/g says [ns/g,ns/h], and ns/h says "
                                                    "[ns/h]: each waits for those that it names "
                                                    "itself"),
                     1);
    check_other(&b);
    pods(&b, "h", "h", 2);
    settle(&b);
    assert_int_equal(gang_bound(&b, "h", 2), 2);
    assert_int_equal(gang_bound(&b, "g", 2), 2);
}

/* Upstream leaves the old group attached. */
static void test_groups_that_change(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    gang_podgroup(&b, "g", 2, "");
    gang_podgroup(&b, "h", 2, "");
    client_fixture_run(&b.client, SEC);
    gang_podgroup(&b, "g", 2, GROUPS("[\\\"ns/g\\\",\\\"ns/h\\\"]"));
    gang_podgroup(&b, "h", 2, GROUPS("[\\\"ns/g\\\",\\\"ns/h\\\"]"));
    client_fixture_run(&b.client, SEC);
    pods(&b, "g", "g", 2);
    settle(&b);
    assert_int_equal(gang_bound(&b, "g", 2), 0); /* it waits for the new one */
    gang_podgroup(&b, "g", 2, GROUPS("nonsense"));
    settle(&b);
    assert_int_equal(gang_bound(&b, "g", 2), 2); /* and not any more */
    pods(&b, "h", "h", 2);
    settle(&b);
    assert_int_equal(gang_bound(&b, "h", 2), 2);
    check_other(&b);
}

/* ---- news in the middle ---------------------------------------------------------------------- */

/* Extenders make the round long: the PodGroup goes before all members were tried. Nobody of it is
 * bound, nothing is held, and it begins anew when the PodGroup comes again. */
static void test_a_podgroup_deleted_in_its_round(void **state)
{
    CLEANUP(fake_extender_stop) struct fake_extenders o;
    struct sched_extender e = fake_extender_extender();
    struct engine_fixture *b = &o.engine;

    (void)state;
    e.filter_verb = "filter";
    fake_extender_start_with(&o, &e, 1, gang_table);
    fake_extender_answer(&o, "/x/filter", 200, "{'NodeNames':['n1']}");
    fake_extender_path(&o, "/x/filter")->delay = SEC / 2;
    gang_node(b, "n1", 100);
    gang_podgroup(b, "g", 4, "");
    gang_podgroup(b, "other", 2, "");
    client_fixture_run(&b->client, SEC);
    pods(b, "g", "g", 4);
    client_fixture_run(&b->client, 1100 * NSEC_PER_MSEC);
    assert_int_equal(scheduler_stats(b->s).assumed, 2); /* they wait, the third is asked about */
    fake_delete(b->client.fake, PODGROUPS, "g");
    client_fixture_run(&b->client, 5 * SEC);
    assert_int_equal(scheduler_stats(b->s).assumed, 0);
    assert_int_equal(gang_bound(b, "g", 4), 0);
    pods(b, "other", "other", 2);
    client_fixture_run(&b->client, 5 * SEC);
    assert_int_equal(gang_bound(b, "other", 2), 2);
    gang_podgroup(b, "g", 4, "");
    client_fixture_run(&b->client, 20 * SEC);
    assert_int_equal(gang_bound(b, "g", 4), 4);
    engine_verify(b);
}

/* ---- many ------------------------------------------------------------------------------------ */

/* One gang of ten thousand beside a small one. It has room for a few of them, then for all. */
static void test_ten_thousand_members(void **state)
{
    enum { MEMBERS = 10000, BIG_NODES = 10 };
    CLEANUP(engine_stop) struct engine_fixture b;
    char name[32];

    (void)state;
    gang_opts = (struct scheduler_opts){ .max_binding = 1000 };
    gang_start(&b, "{}");
    gang_opts = (struct scheduler_opts){ 0 };
    gang_node(&b, "small", 100);
    gang_podgroup(&b, "big", MEMBERS, "");
    gang_podgroup(&b, "other", 2, "");
    pods(&b, "big", "big", MEMBERS);
    client_fixture_run(&b.client, 5 * SEC);
    assert_int_equal(gang_attempts(&b), 101); /* the rest is only told */
    assert_string_equal(engine_condition(&b, "big9999", "reason"), "Unschedulable");
    assert_int_equal(scheduler_stats(b.s).assumed, 0);
    pods(&b, "other", "other", 2);
    client_fixture_run(&b.client, 5 * SEC);
    assert_int_equal(gang_bound(&b, "other", 2), 2);
    for (int i = 0; i < BIG_NODES; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        gang_node(&b, name, MEMBERS / BIG_NODES);
    }
    client_fixture_run(&b.client, 20 * SEC);
    assert_int_equal(gang_bound(&b, "big", MEMBERS), MEMBERS);
}

/* ---- cards ----------------------------------------------------------------------------------- */

#define DEVICES "/apis/scheduling.koordinator.sh/v1alpha1/devices"

static const struct ks_registered gpu_table[] = {
    { &ks_plugin_priority_sort, 0, true },  { &ks_plugin_fit, 1, true },
    { &ks_plugin_device_share, 1, true },   { &ks_plugin_coscheduling, 0, true },
    { &ks_plugin_default_binder, 0, true }, { NULL, 0, false },
};

/* Eight cards: two on each PCIe, four on each NUMA node. */
static void gpu_node(struct engine_fixture *b, const char *name)
{
    CLEANUP(strbuf_fini) struct strbuf cards = STRBUF_INIT;

    for (int i = 0; i < 8; i++)
        strbuf_appendf(
            &cards,
            "%s{\"type\":\"gpu\",\"minor\":%d,\"id\":\"GPU-%d\",\"health\":true,\"topology\":{"
            "\"socketID\":%d,\"nodeID\":%d,\"pcieID\":\"%d\",\"busID\":\"0000:%d:00.0\"},"
            "\"resources\":{\"koordinator.sh/gpu-core\":\"100\",\"koordinator.sh/"
            "gpu-memory-ratio\":\"100\",\"koordinator.sh/gpu-memory\":\"8Gi\"}}",
            i ? "," : "", i, i, i / 4, i / 4, i / 2, i);
    CLEANUP(mem_free)
    char *device = xasprintf("{\"spec\":{\"devices\":[%s]}}", strbuf_str(&cards));
    fake_put(b->client.fake, NODES, name,
             "{\"status\":{\"allocatable\":{\"cpu\":\"64\",\"memory\":\"64Gi\",\"pods\":\"100\","
             "\"koordinator.sh/gpu\":\"800\",\"koordinator.sh/gpu-core\":\"800\","
             "\"koordinator.sh/gpu-memory-ratio\":\"800\",\"koordinator.sh/gpu-memory\":"
             "\"64Gi\"}}}");
    fake_put(b->client.fake, DEVICES, name, device);
}

static void gpu_pod(struct engine_fixture *b, const char *name, const char *gang, int cards)
{
    CLEANUP(mem_free)
    char *body = xasprintf("{\"metadata\":{\"labels\":{\"%s\":\"%s\"}},\"spec\":{\"schedulerName\":"
                           "\"koord-scheduler\",\"containers\":[{\"name\":\"c\",\"resources\":{"
                           "\"requests\":{\"koordinator.sh/gpu\":\"%d\"}}}]}}",
                           LABEL_POD_GROUP, gang, cards * 100);
    fake_put(b->client.fake, PODS, name, body);
}

/* A bit for each card that the pod has. */
static unsigned cards_of(const struct engine_fixture *b, const char *pod)
{
    const char *at = strstr(fake_find(b->client.fake, PODS, pod), ANNO_DEVICE_ALLOCATED);
    const char *end = at ? strchr(at, ']') : NULL;
    unsigned cards = 0;

    while (at && (at = strstr(at, "minor\\\":")) && at < end) {
        at += strlen("minor\\\":");
        cards |= 1u << atoi(at);
    }
    return cards;
}

static unsigned cards_of_all(const struct engine_fixture *b, const char *prefix, int n)
{
    char name[32];
    unsigned cards = 0;

    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "%s%d", prefix, i);
        unsigned its = cards_of(b, name);
        assert_int_equal(cards & its, 0);
        cards |= its;
    }
    return cards;
}

/* Two gangs that come at the same time, their pods in turns: the cards of each are neighbours,
 * since a gang is placed in one piece. */
static void test_gangs_on_one_node_get_neighbouring_cards(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    char name[32];

    (void)state;
    gang_opts = (struct scheduler_opts){ .plugins = gpu_table };
    gang_start(&b, "{}");
    gang_opts = (struct scheduler_opts){ 0 };
    gpu_node(&b, "n1");
    gang_podgroup(&b, "g", 4, "");
    gang_podgroup(&b, "h", 2, "");
    client_fixture_run(&b.client, SEC);
    for (int i = 0; i < 4; i++) {
        (void)snprintf(name, sizeof name, "g%d", i);
        gpu_pod(&b, name, "g", 1);
        (void)snprintf(name, sizeof name, "h%d", i);
        if (i < 2)
            gpu_pod(&b, name, "h", 2);
    }
    client_fixture_run(&b.client, 2 * SEC);
    unsigned g = cards_of_all(&b, "g", 4), h = cards_of_all(&b, "h", 2);
    assert_int_equal(g | h, 0xff);
    assert_true(g == 0x0f || g == 0xf0); /* a NUMA node each */
    for (int i = 0; i < 2; i++) {
        (void)snprintf(name, sizeof name, "h%d", i);
        unsigned its = cards_of(&b, name);
        assert_true(its == 0x03 || its == 0x0c || its == 0x30 || its == 0xc0); /* a PCIe */
    }
    engine_verify(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_that_are_no_json),
        cmocka_unit_test(test_groups_that_name_a_missing_gang),
        cmocka_unit_test(test_groups_that_disagree),
        cmocka_unit_test(test_groups_that_change),
        cmocka_unit_test(test_a_podgroup_deleted_in_its_round),
        cmocka_unit_test(test_ten_thousand_members),
        cmocka_unit_test(test_gangs_on_one_node_get_neighbouring_cards),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
