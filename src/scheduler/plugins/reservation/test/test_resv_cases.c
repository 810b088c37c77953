/* test_resv_cases.c - what must hold of pre-allocation and preemption (sched-reservation 9, 11), on
 * a whole scheduler.
 */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "api/koord/reservation.h"
#include "api/protocol/keys.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/framework/args.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"

#define RESERVATIONS "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
#define CLUSTER      "{\"preAllocationConfig\":{\"enableClusterMode\":true}}"
#define CLUSTER_NONE \
    "{\"preAllocationConfig\":{\"enableClusterMode\":true,\"preferNoPreAllocatedPods\":true}}"

/* The plugin alone, as the specification looks at it; and with one that says when a node is full.
 */
static const struct ks_registered alone[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_reservation, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};
static const struct ks_registered with_fit[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_fit, 1, true },
    { &ks_plugin_reservation, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

static void start(struct engine_fixture *b, const struct ks_registered *table, const char *args,
                  int cpu, int gib)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct profile_config c = profile_config_default(table, "koord-scheduler", a);
    struct profile_args given = { "Reservation", NULL };
    struct kerr err = { 0 };
    void *decoded = NULL;

    assert_int_equal(kj_parse(args, strlen(args), 0, &doc, &err), 0);
    args_decode(ks_plugin_reservation.args, kj_root(doc), &(struct ks_args_context){ 0 }, a,
                &decoded, &err);
    assert_string_equal(err.text, "");
    given.args = decoded;
    c.args = &given;
    c.nargs = 1;
    engine_start_opts(b, 1,
                      (struct scheduler_opts){ .plugins = table, .profiles = &c, .nprofiles = 1 });
    engine_node(b, "n", cpu * 1000, gib * 1024, 100, "");
    client_fixture_run(&b->client, SEC);
}

/* ---- pre-allocation -------------------------------------------------------------------------- */

struct held {
    int cpu, gib;
    const char *rank; /* "": it cannot be taken over; NULL: there is no further one */
};
struct pre_case {
    const char *name, *args;
    const char *policy; /* of the Reservation */
    bool required;
    int cpu, gib; /* that are reserved */
    struct held pods[4];
    const char *taken; /* ranks of the pods that are taken over; NULL: it is not placed */
    const char *why;   /* a part of what it says then */
};

#define MANY    "{\"mode\":\"Cluster\",\"enableMultiple\":true}"
#define ONE     "{\"mode\":\"Cluster\"}"
#define BY_NODE "Insufficient cpu by node, 1 Insufficient memory by node"

static const struct pre_case pre_cases[] = {
    { "one is enough",
      CLUSTER,
      MANY,
      false,
      8,
      16,
      { { 2, 4, "10" }, { 2, 4, "20" }, { 1, 2, "" } },
      "20 ",
      NULL },
    { "none is better",
      CLUSTER_NONE,
      MANY,
      false,
      8,
      16,
      { { 2, 4, "10" }, { 2, 4, "20" }, { 1, 2, "" } },
      "",
      NULL },
    { "one that is too large is passed over",
      CLUSTER,
      MANY,
      false,
      4,
      8,
      { { 7, 14, "" }, { 1, 2, "70" }, { 5, 10, "90" }, { 1, 2, "50" } },
      "70 50 ",
      NULL },
    { "they do not make enough room",
      CLUSTER,
      MANY,
      false,
      4,
      8,
      { { 7, 14, "" }, { 1, 2, "70" }, { 2, 10, "90" }, { 4, 2, "50" } },
      NULL,
      BY_NODE },
    { "no single one will do",
      CLUSTER,
      ONE,
      true,
      4,
      8,
      { { 7, 14, "" }, { 2, 10, "90" }, { 1, 2, "70" }, { 5, 2, "50" } },
      NULL,
      "1 Reservation(s) Insufficient cpu, 1 Reservation(s) Insufficient memory" },
    { "nobody is there, and somebody has to",
      CLUSTER,
      MANY,
      true,
      4,
      8,
      { { 1, 1, "" } },
      NULL,
      "node(s) no pod match reservation with pre allocation required" },
    { "nobody there has any of it",
      CLUSTER,
      ONE,
      true,
      4,
      8,
      { { 0, 0, "10" } },
      NULL,
      "node(s) no pod(s) to meet the pre-allocation requirements" },
    { "others say that the node is full",
      CLUSTER,
      MANY,
      false,
      8,
      16,
      { { 11, 16, "" } },
      "",
      NULL },
    { "the node is full",
      CLUSTER_NONE,
      MANY,
      false,
      8,
      16,
      { { 11, 16, "" } },
      NULL,
      "Insufficient cpu by node" },
    { "owners, those first that fill more of it",
      "{}",
      "{\"enableMultiple\":true}",
      false,
      8,
      16,
      { { 7, 1, "" }, { 1, 1, "1" }, { 4, 1, "4" }, { 2, 1, "2" } },
      "4 2 ",
      NULL },
    { "cluster mode is off",
      "{}",
      MANY,
      false,
      4,
      8,
      { { 1, 1, "10" } },
      NULL,
      "reservation requires cluster mode pre-allocation which is disabled" },
};

static void put_held(struct engine_fixture *b, const struct held *h, int number)
{
    char name[16];
    CLEANUP(mem_free)
    char *meta =
        *h->rank ? xasprintf("\"labels\":{\"app\":\"a\",\"pod.koordinator.sh/is-pre-allocatable\":"
                             "\"true\"},\"annotations\":{\"pod.koordinator.sh/"
                             "pre-allocatable-priority\":\"%s\"}",
                             h->rank)
                 : xstrdup("");
    CLEANUP(mem_free)
    char *body = xasprintf("{\"metadata\":{%s},\"spec\":{\"nodeName\":\"n\",\"containers\":[{"
                           "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"%d\","
                           "\"memory\":\"%dGi\"}}}]},\"status\":{\"phase\":\"Running\"}}",
                           meta, h->cpu, h->gib);

    (void)snprintf(name, sizeof name, "p%d", number);
    fake_put(b->client.fake, PODS, name, body);
}

static void put_reservation(struct engine_fixture *b, const struct pre_case *c)
{
    CLEANUP(mem_free)
    char *body = xasprintf(
        "{\"metadata\":{\"labels\":{\"%s\":\"%s\"}},\"spec\":{\"ttl\":\"0s\",\"preAllocation\":true"
        ",\"preAllocationPolicy\":%s,\"allocatePolicy\":\"Restricted\",\"allocateOnce\":false,"
        "\"owners\":[{\"labelSelector\":{\"matchLabels\":{\"app\":\"a\"}}}],\"template\":{\"spec\":"
        "{\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":\"c\",\"resources\":{"
        "\"requests\":{\"cpu\":\"%d\",\"memory\":\"%dGi\"}}}]}}}}",
        LABEL_PRE_ALLOCATION_REQUIRED, c->required ? "true" : "false", c->policy, c->cpu, c->gib);

    fake_put(b->client.fake, RESERVATIONS, "r", body);
    client_fixture_run(&b->client, 5 * SEC);
}

static void check_pre_case(const struct pre_case *c)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    CLEANUP(strbuf_fini) struct strbuf taken = STRBUF_INIT;
    char name[16];

    start(&b, alone, c->args, 16, 32);
    for (int i = 0; i < (int)ARRAY_LEN(c->pods) && c->pods[i].rank; i++)
        put_held(&b, &c->pods[i], i);
    client_fixture_run(&b.client, SEC);
    put_reservation(&b, c);
    for (int i = 0; i < (int)ARRAY_LEN(c->pods) && c->pods[i].rank; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        if (strstr(fake_find(b.client.fake, PODS, name), ANNO_RESERVATION_ALLOCATED))
            strbuf_appendf(&taken, "%s ", c->pods[i].rank);
    }
    const char *r = fake_find(b.client.fake, RESERVATIONS, "r");
    print_message("%s\n", c->name);
    assert_string_equal(strbuf_str(&taken), c->taken ? c->taken : "");
    assert_int_equal(strstr(r, "\"nodeName\":\"n\"") != NULL, c->taken != NULL);
    if (c->why)
        assert_contains(r, c->why);
    engine_verify(&b);
}

static void test_pre_allocation(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pre_cases); i++)
        check_pre_case(&pre_cases[i]);
}

/* ---- preemption ------------------------------------------------------------------------------ */

static void put_pod(struct engine_fixture *b, const char *name, int priority, const char *meta)
{
    CLEANUP(mem_free)
    char *body = xasprintf("{\"metadata\":{%s},\"spec\":{\"schedulerName\":\"koord-scheduler\","
                           "\"priority\":%d,\"containers\":[{\"name\":\"c\",\"resources\":{"
                           "\"requests\":{\"cpu\":\"2\"}}}]}}",
                           meta, priority);

    fake_put(b->client.fake, PODS, name, body);
    client_fixture_run(&b->client, 5 * SEC);
}

static void reserve(struct engine_fixture *b, const char *name, int cpu)
{
    CLEANUP(mem_free)
    char *body = xasprintf(
        "{\"spec\":{\"ttl\":\"0s\",\"owners\":[{\"labelSelector\":{\"matchLabels\":{\"app\":\"a\"}}"
        "}],\"template\":{\"spec\":{\"priority\":500,\"schedulerName\":\"koord-scheduler\","
        "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"%d\"}}}]}}}}",
        cpu);

    fake_put(b->client.fake, RESERVATIONS, name, body);
    client_fixture_run(&b->client, 30 * SEC);
}

static bool is_placed(const struct engine_fixture *b, const char *reservation)
{
    return strstr(fake_find(b->client.fake, RESERVATIONS, reservation), "\"nodeName\":\"n\"");
}

static void test_there_is_room(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, with_fit, "{\"enablePreemption\":true}", 32, 32);
    put_pod(&b, "low", 1, "");
    put_pod(&b, "high", 1000, "");
    reserve(&b, "r", 2);
    assert_true(is_placed(&b, "r"));
    assert_int_equal(scheduler_stats(b.s).victims, 0);
    engine_verify(&b);
}

static void test_the_low_one_makes_way(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, with_fit, "{\"enablePreemption\":true}", 6, 32);
    put_pod(&b, "low", 1, "");
    put_pod(&b, "high", 1000, "");
    put_pod(&b, "kept", 1, "\"labels\":{\"" LABEL_DISABLE_PREEMPTIBLE "\":\"true\"}");
    reserve(&b, "r", 2);
    assert_true(is_placed(&b, "r"));
    assert_null(fake_find(b.client.fake, PODS, "low"));
    assert_string_equal(engine_node_of(&b, "high"), "n");
    assert_string_equal(engine_node_of(&b, "kept"), "n");
    reserve(&b, "s", 2); /* nobody is left, and r is no victim either */
    assert_false(is_placed(&b, "s"));
    assert_true(is_placed(&b, "r"));
    assert_int_equal(scheduler_stats(b.s).victims, 1);
    engine_verify(&b);
}

static void test_not_unless_it_is_on(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, with_fit, "{}", 2, 32);
    put_pod(&b, "low", 1, "");
    reserve(&b, "r", 2);
    assert_false(is_placed(&b, "r"));
    assert_string_equal(engine_node_of(&b, "low"), "n");
    engine_verify(&b);
}

/* First what the search for victims says, then the reservations. */
static void test_the_order_of_reasons(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b, with_fit, "{\"enablePreemption\":true}", 2, 32);
    put_pod(&b, "high", 1000, "");
    put_pod(&b, "p", 10,
            "\"annotations\":{\"scheduling.koordinator.sh/reservation-affinity\":\"{}\"}");
    const char *why = engine_condition(&b, "p", "message");
    const char *first = strstr(why, "preemption: "), *then = strstr(why, " matched owner total");
    assert_non_null(first);
    assert_non_null(then);
    assert_true(first < then);
    engine_verify(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pre_allocation),        cmocka_unit_test(test_there_is_room),
        cmocka_unit_test(test_the_low_one_makes_way), cmocka_unit_test(test_not_unless_it_is_on),
        cmocka_unit_test(test_the_order_of_reasons),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
