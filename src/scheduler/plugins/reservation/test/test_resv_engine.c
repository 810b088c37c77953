/* test_resv_engine.c - Reservations on a whole scheduler: who gets the room, who does not, and what
 * is left when something fails.
 */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "api/koord/reservation.h"
#include "scheduler/framework/profile.h"
#include "scheduler/framework/reservation.h"
#include "scheduler/plugins/registry.h"

#define RESERVATIONS "/apis/scheduling.koordinator.sh/v1alpha1/reservations"
#define ALLOCATED    "scheduling.koordinator.sh/reservation-allocated"

/* ---- a plugin that takes part in reservations ------------------------------------------------ */

static struct {
    int restored, unmatched; /* calls */
    char refuses[32];        /* the name of a reservation that nobody may use */
    char prefers[32];
    char nominated[32];  /* as seen when the pod is resized */
    char candidates[64]; /* running pods whose room was given back at last: "node: name name" */
} guest;

static void guest_restore(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                          struct ks_overlay *o, const struct ks_restored *r)
{
    (void)self, (void)c, (void)p, (void)o;
    guest.restored += (int)r->nmatched;
    guest.unmatched += (int)r->nunmatched;
}

static void guest_restore_pods(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                               struct ks_overlay *o, uint32_t row, const struct pod *const *pods,
                               uint32_t n)
{
    size_t at = (size_t)snprintf(guest.candidates, sizeof guest.candidates,
                                 "%s:", c->nodes->node[row]->obj.meta.name);

    (void)self, (void)p, (void)o;
    for (uint32_t i = 0; i < n && at < sizeof guest.candidates; i++)
        at += (size_t)snprintf(guest.candidates + at, sizeof guest.candidates - at, " %s",
                               pods[i]->obj.meta.name);
}

static enum ks_code guest_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                 const struct ks_reservation *r, uint32_t row, struct ks_texts *why)
{
    (void)self, (void)c, (void)p, (void)row;
    if (!streq(r->name, guest.refuses))
        return KS_SUCCESS;
    ks_texts_add(why, "Reservation(s) not for guests");
    return KS_UNSCHEDULABLE;
}

static int64_t guest_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                           const struct ks_reservation *r, uint32_t row)
{
    (void)self, (void)c, (void)p, (void)row;
    return streq(r->name, guest.prefers) ? KS_SCORE_MAX : 0;
}

static enum ks_code guest_resize(void *self, const struct ks_cycle *c, struct ks_pod *p,
                                 uint32_t row, struct ks_texts *why)
{
    const struct ks_reservation *r = ks_nominated(c, row);

    (void)self, (void)p, (void)why;
    (void)snprintf(guest.nominated, sizeof guest.nominated, "%s", r ? r->name : "");
    return KS_SKIP;
}

static enum ks_code guest_pre_bind(void *self, struct ks_bind *b, struct ks_texts *why)
{
    (void)self, (void)b, (void)why;
    return KS_SKIP;
}

static enum ks_code guest_pre_bind_reservation(void *self, struct ks_bind *b, struct ks_texts *why)
{
    (void)self, (void)why;
    ks_bind_annotate(b, "guest", "was here");
    return KS_SUCCESS;
}

static const struct ks_reservation_hooks guest_hooks = {
    .restore = guest_restore,
    .restore_pre_allocation = guest_restore_pods,
    .filter_reservation = guest_filter,
    .filter_nominated = guest_filter,
    .score_reservation = guest_score,
    .pre_bind_reservation = guest_pre_bind_reservation,
};
static const struct ks_plugin guest_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Guest",
    .resize = guest_resize,
    .pre_bind = guest_pre_bind,
    .reservations = &guest_hooks,
};

static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_node_ports, 0, true },
    { &ks_plugin_fit, 1, true },
    { &ks_plugin_pod_topology_spread, 1, true },
    { &ks_plugin_reservation, 5000, true },
    { &ks_plugin_default_preemption, 0, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};
static const struct ks_registered with_guest[] = {
    { &ks_plugin_priority_sort, 0, true },  { &ks_plugin_fit, 1, true },
    { &ks_plugin_reservation, 1, true },    { &guest_plugin, 0, true },
    { &ks_plugin_default_binder, 0, true }, { NULL, 0, false },
};

/* ---- the fixture ----------------------------------------------------------------------------- */

static void start_with(struct engine_fixture *b, const struct ks_registered *table)
{
    memset(&guest, 0, sizeof guest);
    engine_start_opts(b, 1, (struct scheduler_opts){ .plugins = table, .resize_pods = true });
    client_fixture_run(&b->client, SEC);
}

static void start(struct engine_fixture *b)
{
    start_with(b, plugins);
}

static void run(struct engine_fixture *b)
{
    client_fixture_run(&b->client, 5 * SEC);
}

static void node(struct engine_fixture *b, const char *name, int cpu)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"labels\":{\"kubernetes.io/hostname\":\"%s\"}},\"status\":{"
                   "\"allocatable\":{\"cpu\":\"%d\",\"memory\":\"32Gi\",\"pods\":\"20\"}}}",
                   name, cpu);
    fake_put(b->client.fake, NODES, name, body);
    run(b);
}

/* For pods with the label app=NAME's first letter. spec, pod: further members of the spec and of
 * the template's. */
static void reserve(struct engine_fixture *b, const char *name, int cpu, const char *spec,
                    const char *pod)
{
    CLEANUP(mem_free)
    char *body = xasprintf(
        "{\"spec\":{\"ttl\":\"0s\",\"owners\":[{\"labelSelector\":{\"matchLabels\":{\"app\":\"%c\""
        "}}}],\"template\":{\"metadata\":{\"labels\":{\"app\":\"%c\"}},\"spec\":{\"schedulerName\":"
        "\"koord-scheduler\",\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":"
        "\"%d\"}}%s}]}}%s}}",
        *name, *name, cpu, pod, spec);
    fake_put(b->client.fake, RESERVATIONS, name, body);
    run(b);
}

static void pod(struct engine_fixture *b, const char *name, char app, int cpu, const char *spec,
                const char *container)
{
    CLEANUP(mem_free)
    char *body = xasprintf(
        "{\"metadata\":{\"labels\":{\"app\":\"%c\"}},\"spec\":{\"schedulerName\":"
        "\"koord-scheduler\",\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":"
        "\"%d\"}}%s}]%s}}",
        app, cpu, container, spec);
    fake_put(b->client.fake, PODS, name, body);
    run(b);
}

static bool has(const struct engine_fixture *b, const char *reservation, const char *text)
{
    const char *json = fake_find(b->client.fake, RESERVATIONS, reservation);
    return json && strstr(json, text);
}

/* The name of the reservation that the pod has by its annotation; "": none. */
static const char *owned(const struct engine_fixture *b, const char *name)
{
    static char text[256];
    const char *json = fake_find(b->client.fake, PODS, name);
    const char *at = json ? strstr(json, ALLOCATED) : NULL;

    text[0] = '\0';
    if (at)
        (void)sscanf(at + strlen(ALLOCATED), "\":\"{\\\"name\\\":\\\"%200[^\\\"]", text);
    return text;
}

static void expect(struct engine_fixture *b, const char *name, const char *on, const char *of)
{
    assert_string_equal(engine_node_of(b, name), on);
    assert_string_equal(owned(b, name), of);
}

/* ---- the room -------------------------------------------------------------------------------- */

static void test_the_owner_takes_the_room(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    node(&b, "n", 8);
    reserve(&b, "r", 6, "", "");
    assert_true(has(&b, "r", "\"phase\":\"Available\""));
    assert_true(has(&b, "r", "\"nodeName\":\"n\""));
    assert_int_equal(engine_events(&b, "Scheduled", "Successfully assigned r to n"), 1);
    pod(&b, "stranger", 'x', 4, "", "");
    expect(&b, "stranger", "", "");
    pod(&b, "owner", 'r', 6, "", ""); /* on the only node that there is */
    expect(&b, "owner", "n", "r");
    pod(&b, "second", 'r', 6, "", "");
    expect(&b, "second", "", "");
    engine_verify(&b);
}

static void test_a_deleted_reservation_wakes(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    node(&b, "n", 4);
    reserve(&b, "r", 4, "", "");
    pod(&b, "p", 'x', 3, "", "");
    expect(&b, "p", "", "");
    fake_delete(b.client.fake, RESERVATIONS, "r");
    client_fixture_run(&b.client, 15 * SEC);
    expect(&b, "p", "n", "");
    engine_verify(&b);
}

/* koord#2731, #2729 */
static void test_nobody_uses_reserved_room_unrecorded(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    char name[8];

    (void)state;
    start(&b);
    node(&b, "n", 8);
    for (int i = 0; i < 4; i++) {
        (void)snprintf(name, sizeof name, "r%d", i);
        reserve(&b, name, 2, ",\"allocateOnce\":false,\"allocatePolicy\":\"Aligned\"", "");
        assert_true(has(&b, name, "Available"));
    }
    pod(&b, "large", 'r', 3, "", ""); /* two of them would have the room for it */
    expect(&b, "large", "", "");
    for (int i = 0; i < 4; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        pod(&b, name, 'r', 2, "", "");
        assert_string_equal(engine_node_of(&b, name), "n");
        assert_string_not_equal(owned(&b, name), "");
    }
    pod(&b, "more", 'r', 2, "", "");
    expect(&b, "more", "", "");
    engine_verify(&b);
}

/* One that is used up keeps its order: its node is not preferred to that of one which is free. */
static void test_each_owner_takes_the_next_in_order(void **state)
{
    static const char body[] =
        "{\"metadata\":{\"labels\":{\"app\":\"r\"}},\"spec\":{\"schedulerName\":"
        "\"koord-scheduler\",\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
        "\"cpu\":\"1\"}}}]}}";
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    node(&b, "n1", 8);
    node(&b, "n2", 8);
    reserve(&b, "r1", 6, "", "");
    reserve(&b, "r2", 6, "", "");
    fake_patch(
        b.client.fake, RESERVATIONS, "r1",
        "{\"metadata\":{\"labels\":{\"scheduling.koordinator.sh/reservation-order\":\"1\"}}}");
    fake_patch(
        b.client.fake, RESERVATIONS, "r2",
        "{\"metadata\":{\"labels\":{\"scheduling.koordinator.sh/reservation-order\":\"2\"}}}");
    run(&b);
    fake_put(b.client.fake, PODS, "first", body);
    client_fixture_run(&b.client, 50 * NSEC_PER_MSEC);
    assert_string_equal(owned(&b, "first"), "r1");
    assert_true(has(&b, "r1", "Available")); /* it has not been told yet */
    fake_put(b.client.fake, PODS, "second", body);
    run(&b);
    assert_string_equal(owned(&b, "second"), "r2");
    engine_verify(&b);
}

static void test_a_large_owner_over_commits_nobody(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    node(&b, "n", 8);
    reserve(&b, "r", 4, ",\"allocateOnce\":false,\"allocatePolicy\":\"Aligned\"", "");
    pod(&b, "owner", 'r', 6, "", "");
    expect(&b, "owner", "n", "r");
    pod(&b, "stranger", 'x', 3, "", "");
    expect(&b, "stranger", "", "");
    pod(&b, "fits", 'x', 2, "", "");
    expect(&b, "fits", "n", "");
    engine_verify(&b);
}

static void test_restricted(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    node(&b, "n", 12);
    reserve(&b, "r", 4, ",\"allocateOnce\":false,\"allocatePolicy\":\"Restricted\"", "");
    pod(&b, "beside", 'r', 6, "", "");
    expect(&b, "beside", "n", "");
    pod(&b, "in", 'r', 3, "", "");
    expect(&b, "in", "n", "r");
    engine_verify(&b);
}

/* ---- what is left behind --------------------------------------------------------------------- */

/* koord#1741: at whichever request the way to the node ends. */
static void test_a_failed_binding_leaks_nothing(void **state)
{
    for (int fails = 1; fails <= 3; fails++) {
        CLEANUP(engine_stop) struct engine_fixture b;
        (void)state;
        start(&b);
        node(&b, "n", 4);
        reserve(&b, "r", 4, ",\"allocateOnce\":false", "");
        fake_answer_next_to(b.client.fake, "POST", "/binding", fails, 500);
        fake_put(b.client.fake, PODS, "owner",
                 "{\"metadata\":{\"labels\":{\"app\":\"r\"}},\"spec\":{\"schedulerName\":"
                 "\"koord-scheduler\",\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
                 "\"cpu\":\"3\"}}}]}}");
        client_fixture_run(&b.client, SEC / 2);
        expect(&b, "owner", "", ""); /* not even for a moment */
        fake_delete(b.client.fake, PODS, "owner");
        client_fixture_run(&b.client, 30 * SEC);
        pod(&b, "next", 'r', 4, "", "");
        expect(&b, "next", "n", "r"); /* all of it */
        pod(&b, "last", 'r', 1, "", "");
        expect(&b, "last", "", "");
        engine_verify(&b);
    }
}

/* koord#1247 */
static void test_a_host_port_stays_taken(void **state)
{
    static const char port[] = ",\"ports\":[{\"containerPort\":80,\"hostPort\":80}]";
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    node(&b, "n", 8);
    reserve(&b, "r", 2, ",\"allocateOnce\":false", port);
    pod(&b, "early", 'x', 1, "", port);
    expect(&b, "early", "", ""); /* the port is reserved */
    pod(&b, "owner", 'r', 1, "", port);
    expect(&b, "owner", "n", "r");
    fake_delete(b.client.fake, RESERVATIONS, "r");
    client_fixture_run(&b.client, 30 * SEC);
    expect(&b, "early", "", ""); /* the owner has it */
    fake_delete(b.client.fake, PODS, "owner");
    client_fixture_run(&b.client, 30 * SEC);
    expect(&b, "early", "n", "");
    engine_verify(&b);
}

/* koord#1238 */
static void test_a_reservation_counts_for_spread(void **state)
{
    static const char spread[] =
        ",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"kubernetes.io/hostname\","
        "\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":{\"app\":\"r\""
        "}}}]";
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    node(&b, "a", 8);
    reserve(&b, "r", 2, ",\"allocateOnce\":false,\"allocatePolicy\":\"Restricted\"", "");
    pod(&b, "owner", 'r', 2, "", "");
    expect(&b, "owner", "a", "r");
    fake_delete(b.client.fake, PODS, "owner");
    run(&b);
    node(&b, "b", 8);
    pod(&b, "one", 'r', 3, spread, ""); /* larger than the reservation: it goes beside one */
    expect(&b, "one", "b", "");
    engine_verify(&b);
}

/* koord#1405 */
static void test_no_owner_is_evicted_in_vain(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    node(&b, "n", 4);
    reserve(&b, "r", 4, ",\"allocateOnce\":false", "");
    pod(&b, "owner", 'r', 4, ",\"priority\":0", "");
    expect(&b, "owner", "n", "r");
    pod(&b, "high", 'x', 2, ",\"priority\":1000", "");
    client_fixture_run(&b.client, 30 * SEC);
    expect(&b, "high", "", "");
    expect(&b, "owner", "n", "r");
    assert_int_equal(scheduler_stats(b.s).victims, 0);
    pod(&b, "heir", 'r', 4, ",\"priority\":1000", ""); /* to one that may own it, it helps */
    client_fixture_run(&b.client, 30 * SEC);
    expect(&b, "heir", "n", "r");
    assert_null(fake_find(b.client.fake, PODS, "owner"));
    engine_verify(&b);
}

/* 11, 'We can do better': not even with a low priority of its own. Pods beside it are victims. */
static void test_a_reservation_is_no_victim(void **state)
{
    static const char low[] = "{\"spec\":{\"ttl\":\"0s\",\"owners\":[{\"labelSelector\":{"
                              "\"matchLabels\":{\"app\":\"r\"}}}]"
                              ",\"template\":{\"spec\":{\"priority\":1,\"schedulerName\":\"koord-"
                              "scheduler\",\"containers\":["
                              "{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"4\"}}}]}}}}";
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    node(&b, "n", 6);
    fake_put(b.client.fake, RESERVATIONS, "r", low);
    run(&b);
    assert_true(has(&b, "r", "\"nodeName\":\"n\""));
    pod(&b, "small", 'x', 2, ",\"priority\":2", "");
    expect(&b, "small", "n", "");
    pod(&b, "large", 'x', 4, ",\"priority\":1000", "");
    client_fixture_run(&b.client, 30 * SEC);
    expect(&b, "large", "", "");
    expect(&b, "small", "n", "");
    assert_true(has(&b, "r", "\"phase\":\"Available\""));
    assert_int_equal(scheduler_stats(b.s).victims, 0);
    pod(&b, "high", 'x', 2, ",\"priority\":1000", "");
    client_fixture_run(&b.client, 30 * SEC);
    expect(&b, "high", "n", "");
    assert_null(fake_find(b.client.fake, PODS, "small"));
    assert_true(has(&b, "r", "\"phase\":\"Available\""));
    engine_verify(&b);
}

/* ---- binding a Reservation ------------------------------------------------------------------- */

/* Somebody else changes it while it is on its way. */
static void test_a_conflict_is_no_failure(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    node(&b, "n", 4);
    fake_answer_next_to(b.client.fake, "PATCH", "/status", 1, 409);
    reserve(&b, "r", 4, "", "");
    assert_true(has(&b, "r", "\"phase\":\"Available\""));
    assert_int_equal(scheduler_stats(b.s).errors, 0);
    engine_verify(&b);
}

static void test_one_that_waits_says_so(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    node(&b, "n", 4);
    reserve(&b, "r", 6, "", "");
    assert_true(has(&b, "r", "\"reason\":\"Unschedulable\""));
    assert_true(has(&b, "r", "Insufficient cpu"));
    fake_patch(b.client.fake, RESERVATIONS, "r", "{\"status\":{\"phase\":\"Failed\"}}");
    node(&b, "m", 8);
    assert_false(has(&b, "r", "nodeName")); /* it has ended */
    engine_verify(&b);
}

static void test_a_bad_annotation_concerns_its_pod_alone(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    node(&b, "n", 8);
    reserve(&b, "r", 2, "", "");
    fake_put(b.client.fake, PODS, "bad",
             "{\"metadata\":{\"labels\":{\"app\":\"r\"},\"annotations\":{"
             "\"scheduling.koordinator.sh/reservation-affinity\":\"{bad\"}},\"spec\":{"
             "\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":\"c\"}]}}");
    run(&b);
    expect(&b, "bad", "", "");
    assert_contains(engine_condition(&b, "bad", "message"), "reservation-affinity");
    fake_put(b.client.fake, PODS, "fake", /* not a reserve pod, whatever it says */
             "{\"metadata\":{\"annotations\":{\"scheduling.koordinator.sh/reserve-pod\":\"true\"}},"
             "\"spec\":{\"schedulerName\":\"koord-scheduler\",\"containers\":[{\"name\":\"c\"}]}}");
    run(&b);
    expect(&b, "fake", "", "");
    assert_contains(engine_condition(&b, "fake", "message"), "reserve-pod");
    pod(&b, "good", 'r', 2, "", "");
    expect(&b, "good", "n", "r");
    engine_verify(&b);
}

/* ---- pre-allocation -------------------------------------------------------------------------- */

static const char pre[] = ",\"preAllocation\":true,\"allocatePolicy\":\"Restricted\"";

static void test_a_running_pod_is_taken_over(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    node(&b, "n", 4);
    pod(&b, "old", 'r', 4, "", "");
    expect(&b, "old", "n", "");
    reserve(&b, "r", 4, pre, "");
    assert_true(has(&b, "r", "\"nodeName\":\"n\""));
    expect(&b, "old", "n", "r");
    engine_verify(&b);
}

static void test_what_was_written_is_taken_back(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    node(&b, "n", 4);
    pod(&b, "old", 'r', 4, "", "");
    fake_answer_next_to(b.client.fake, "PATCH", "/reservations/r/status", 1000, 500);
    reserve(&b, "r", 4, pre, "");
    client_fixture_run(&b.client, SEC / 4);
    assert_false(has(&b, "r", "nodeName"));
    fake_patch(b.client.fake, RESERVATIONS, "r", "{\"status\":{\"phase\":\"Failed\"}}");
    client_fixture_run(&b.client, 60 * SEC);
    expect(&b, "old", "n", "");
    engine_verify(&b);
}

/* ---- other plugins --------------------------------------------------------------------------- */

static void test_plugins_take_part(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start_with(&b, with_guest);
    node(&b, "n", 16);
    reserve(&b, "r1", 4, ",\"allocateOnce\":false", "");
    assert_true(has(&b, "r1", "\"guest\":\"was here\""));
    assert_true(has(&b, "r1", "\"nodeName\":\"n\""));
    reserve(&b, "r2", 4, ",\"allocateOnce\":false", "");
    reserve(&b, "r3", 4, ",\"allocateOnce\":false", "");
    reserve(&b, "x", 1, "", "");
    strcpy(guest.prefers, "r3");
    pod(&b, "p", 'r', 2, "", "");
    expect(&b, "p", "n", "r3");
    assert_string_equal(guest.nominated, "r3");
    assert_that(guest.restored, >=, 3);
    assert_that(guest.unmatched, >=, 1);
    strcpy(guest.refuses, "r3");
    pod(&b, "q", 'r', 1, "", "");
    assert_string_not_equal(owned(&b, "q"), "r3");
    assert_string_not_equal(owned(&b, "q"), "");
    engine_verify(&b);
}

static void test_plugins_restore_what_is_taken_over(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start_with(&b, with_guest);
    node(&b, "n", 4);
    pod(&b, "old", 'o', 3, "", "");
    pod(&b, "other", 'x', 1, "", "");
    reserve(&b, "r", 1, "", ""); /* takes over nobody */
    assert_string_equal(guest.candidates, "");
    reserve(&b, "o1", 3, pre, "");
    assert_true(has(&b, "o1", "\"nodeName\":\"n\""));
    expect(&b, "old", "n", "o1");
    assert_string_equal(guest.candidates, "n: old");
    engine_verify(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_owner_takes_the_room),
        cmocka_unit_test(test_a_deleted_reservation_wakes),
        cmocka_unit_test(test_nobody_uses_reserved_room_unrecorded),
        cmocka_unit_test(test_a_large_owner_over_commits_nobody),
        cmocka_unit_test(test_restricted),
        cmocka_unit_test(test_a_failed_binding_leaks_nothing),
        cmocka_unit_test(test_a_host_port_stays_taken),
        cmocka_unit_test(test_a_reservation_counts_for_spread),
        cmocka_unit_test(test_no_owner_is_evicted_in_vain),
        cmocka_unit_test(test_a_reservation_is_no_victim),
        cmocka_unit_test(test_a_conflict_is_no_failure),
        cmocka_unit_test(test_one_that_waits_says_so),
        cmocka_unit_test(test_a_bad_annotation_concerns_its_pod_alone),
        cmocka_unit_test(test_a_running_pod_is_taken_over),
        cmocka_unit_test(test_what_was_written_is_taken_back),
        cmocka_unit_test(test_each_owner_takes_the_next_in_order),
        cmocka_unit_test(test_plugins_take_part),
        cmocka_unit_test(test_plugins_restore_what_is_taken_over),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
