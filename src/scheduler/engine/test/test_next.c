/* test_next.c - a plugin names the pod that goes next, also one that only itself keeps out of the
 * queue; and wakes the pods that wait for a key of its, and no others (scheduler-core 10).
 */
#include "scheduler/test/engine_fixture.h"

#include "base/map.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"

/* ---- a plugin with groups: the label "group" of a pod -----------------------------------------
 */

struct member {      /* one instance, of one profile */
    char wishes[64]; /* pods that must go next, with blanks between */
    bool again;      /* it repeats the last wish for ever */
};
static struct {
    struct ks_env env;
    struct engine_fixture *engine;
    struct member members[2];
    int n;         /* of them */
    bool shut;     /* pods with a group stay out of the queue */
    char open[16]; /* but those of this one */
    enum ks_code pre_filter, permit;
    int asked, gates, tried; /* calls of next, pre_enqueue and pre_filter */
    char order[64];          /* of the attempts */
} group;

static int group_create(const struct ks_env *env, const void *args, void **ret_self,
                        struct kerr *err)
{
    (void)args, (void)err;
    group.env = *env;
    *ret_self = &group.members[group.n++ % 2];
    return 0;
}

static const char *group_of(const struct pod *p)
{
    const char *name = kstrmap_get(&p->obj.meta.labels, "group");
    return name ? name : "";
}

static uint64_t key_of(const char *name)
{
    return *name ? hash_bytes(name, strlen(name)) : 0;
}

static uint64_t group_waits_for(void *self, const struct pod *p)
{
    (void)self;
    return key_of(group_of(p));
}

static enum ks_code group_pre_enqueue(void *self, const struct pod *p, struct ks_texts *why)
{
    (void)self;
    group.gates++;
    if (!group.shut || !*group_of(p) || streq(group_of(p), group.open))
        return KS_SUCCESS;
    ks_texts_add(why, "the group is closed");
    return KS_UNRESOLVABLE;
}

static enum ks_code group_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                     void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    size_t len = strlen(group.order);

    (void)self, (void)ret_state, (void)only;
    if (!c->complete) { /* otherwise it is a test of what is reused */
        group.tried++;
        (void)snprintf(group.order + len, sizeof group.order - len, "%s ", p->pod->obj.meta.name);
    }
    if (!*group_of(p->pod) || group.pre_filter == KS_SUCCESS)
        return KS_SKIP;
    ks_texts_add(why, "the group is too small");
    return group.pre_filter;
}

static enum ks_code group_permit(void *self, const struct pod *p, const char *node,
                                 nsec_t *ret_timeout, struct ks_texts *why)
{
    (void)self, (void)node, (void)why;
    *ret_timeout = 600 * SEC;
    return *group_of(p) ? group.permit : KS_SUCCESS;
}

static bool group_next(void *self, struct kuid *ret_uid)
{
    struct member *m = self;
    char name[8] = "", rest[sizeof m->wishes] = "";

    group.asked++;
    if (sscanf(m->wishes, "%7s %63[^\n]", name, rest) < 1)
        return false;
    if (!m->again)
        memcpy(m->wishes, rest, sizeof rest);
    *ret_uid = engine_uid(group.engine, name);
    return true;
}

static const struct ks_plugin group_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Group",
    .create = group_create,
    .waits_for = group_waits_for,
    .pre_enqueue = group_pre_enqueue,
    .pre_filter = group_pre_filter,
    .permit = group_permit,
    .next = group_next,
};

/* Another one that may keep pods out. */
static bool gate_shut;

static enum ks_code gate_pre_enqueue(void *self, const struct pod *p, struct ks_texts *why)
{
    (void)self, (void)p;
    ks_texts_add(why, "the gate is shut");
    return gate_shut ? KS_UNRESOLVABLE : KS_SUCCESS;
}

static const struct ks_plugin gate_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Gate",
    .pre_enqueue = gate_pre_enqueue,
};
static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &group_plugin, 0, true }, /* before the gates: they are asked all the same */
    { &ks_plugin_scheduling_gates, 0, true },
    { &gate_plugin, 0, true },
    { &ks_plugin_fit, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

/* ---- the fixture ----------------------------------------------------------------------------- */

static void start(struct engine_fixture *b)
{
    memset(&group, 0, sizeof group);
    group.pre_filter = group.permit = KS_SUCCESS;
    group.engine = b;
    gate_shut = false;
    engine_start_with(b, 1, plugins);
    engine_node(b, "n", 4000, 4096, 20, "");
    client_fixture_run(&b->client, SEC);
}

static void put(struct engine_fixture *b, const char *name, const char *of, const char *more)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"labels\":{\"group\":\"%s\"}},\"spec\":{\"schedulerName\":"
                   "\"koord-scheduler\",\"containers\":[{\"name\":\"c\"}]%s}}",
                   of, more);
    fake_put(b->client.fake, PODS, name, body);
}

static void wish(int member, const char *names)
{
    (void)snprintf(group.members[member].wishes, sizeof group.members[member].wishes, "%s", names);
}

#define GATED ",\"schedulingGates\":[{\"name\":\"g\"}]"

/* ---- next ------------------------------------------------------------------------------------ */

static void test_every_profile_is_asked(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    put(&b, "a", "", ",\"priority\":9");
    put(&b, "b", "", "");
    put(&b, "c", "", "");
    wish(1, "c");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(group.order, "c a b ");
    wish(0, "e");
    wish(1, "f");
    put(&b, "d", "", "");
    put(&b, "e", "", "");
    put(&b, "f", "", "");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(group.order, "c a b e f d ");
}

static void test_a_pod_that_only_the_asking_plugin_keeps_out(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    group.shut = true;
    put(&b, "a", "g", "");
    put(&b, "b", "g", GATED);
    put(&b, "c", "g", "");
    client_fixture_run(&b.client, SEC);
    assert_int_equal(scheduler_stats(b.s).gated, 3);
    wish(0, "b a");
    ks_ask_next(&group.env); /* nothing is ready */
    client_fixture_run(&b.client, SEC);
    assert_string_equal(group.order, "a "); /* the wish for b is passed over, the next one is met */
    assert_string_equal(engine_node_of(&b, "a"), "n");
    assert_int_equal(scheduler_stats(b.s).gated, 2);
    gate_shut = true;
    wish(1, "c");
    ks_ask_next(&group.env);
    client_fixture_run(&b.client, SEC);
    assert_int_equal(scheduler_stats(b.s).gated, 2); /* another plugin keeps it out, too */
    gate_shut = false;
    wish(1, "c");
    ks_ask_next(&group.env);
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "c"), "n");
    engine_verify(&b);
}

static void test_a_pod_that_is_fetched_and_fails_is_kept_out_again(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    group.shut = true;
    group.pre_filter = KS_UNSCHEDULABLE;
    put(&b, "a", "g", "");
    client_fixture_run(&b.client, SEC);
    wish(0, "a");
    ks_ask_next(&group.env);
    client_fixture_run(&b.client, SEC);
    assert_string_equal(group.order, "a ");
    assert_int_equal(scheduler_stats(b.s).unschedulable, 1);
    ks_wake(&group.env, "Group", key_of("g"));
    assert_int_equal(scheduler_stats(b.s).gated, 1);
    client_fixture_run(&b.client, 30 * SEC);
    assert_string_equal(group.order, "a ");
}

static void test_a_wish_that_is_repeated_in_vain(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    wish(0, "nobody");
    group.members[0].again = true;
    put(&b, "a", "", "");
    put(&b, "b", "", "");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "a"), "n");
    assert_string_equal(engine_node_of(&b, "b"), "n");
    assert_in_range(group.asked, 3, 30);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void test_only_pods_of_the_key_are_woken(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    group.shut = true;
    put(&b, "a", "g", "");
    put(&b, "b", "g", "");
    for (int i = 0; i < 10; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "x%d", i);
        put(&b, name, "h", "");
    }
    client_fixture_run(&b.client, SEC);
    assert_int_equal(scheduler_stats(b.s).gated, 12);
    group.gates = 0;
    ks_wake(&group.env, "Group", key_of("nobody"));
    assert_int_equal(group.gates, 0);
    ks_wake(&group.env, "Group", key_of("g")); /* in vain: each is asked once, and stays */
    assert_int_equal(group.gates, 2);
    (void)snprintf(group.open, sizeof group.open, "g");
    ks_wake(&group.env, "Gate", key_of("g")); /* a key of another plugin is another one */
    assert_int_equal(group.gates, 2);
    ks_wake(&group.env, "Group", key_of("g"));
    assert_int_equal(group.gates, 4);
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "a"), "n");
    assert_string_equal(engine_node_of(&b, "b"), "n");
    assert_int_equal(scheduler_stats(b.s).gated, 10);
    assert_int_equal(group.gates, 4); /* no event asked anybody */
}

static void test_pods_that_were_rejected_are_woken_and_back_off(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    group.pre_filter = KS_UNSCHEDULABLE;
    put(&b, "a", "g", "");
    put(&b, "b", "h", "");
    client_fixture_run(&b.client, SEC / 10);
    assert_int_equal(scheduler_stats(b.s).unschedulable, 2);
    engine_node(&b, "m", 4000, 4096, 20, ""); /* it says what it waits for: events are not asked */
    client_fixture_run(&b.client, SEC / 10);
    assert_int_equal(scheduler_stats(b.s).unschedulable, 2);
    put(&b, "c", "", ""); /* the queue is not empty, so that nobody is popped before his time */
    group.pre_filter = KS_SUCCESS;
    ks_wake(&group.env, "Group", key_of("g"));
    assert_int_equal(scheduler_stats(b.s).backoff, 1);
    client_fixture_run(&b.client, 5 * SEC);
    assert_string_not_equal(engine_node_of(&b, "a"), "");
    assert_string_equal(engine_node_of(&b, "b"), "");
    assert_int_equal(scheduler_stats(b.s).unschedulable, 1);
}

static void test_who_waits_for_another_component_is_tried_at_once(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    group.permit = KS_PENDING;
    put(&b, "a", "g", "");
    client_fixture_run(&b.client, SEC / 10);
    group.permit = KS_SUCCESS;
    ks_wake(&group.env, "Group", key_of("g"));
    assert_int_equal(scheduler_stats(b.s).ready, 1);
    assert_int_equal(scheduler_stats(b.s).backoff, 0);
}

static void test_the_key_changes_with_the_pod(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    start(&b);
    group.permit = KS_PENDING;
    put(&b, "a", "g", "");
    client_fixture_run(&b.client, SEC / 10);
    fake_patch(b.client.fake, PODS, "a", "{\"metadata\":{\"labels\":{\"group\":\"h\"}}}");
    client_fixture_run(&b.client, SEC / 10);
    ks_wake(&group.env, "Group", key_of("g"));
    assert_int_equal(scheduler_stats(b.s).unschedulable, 1);
    ks_wake(&group.env, "Group", key_of("h"));
    assert_int_equal(scheduler_stats(b.s).ready, 1);
}

/* What it may wait for happens while it is held, before it is known that it waits. */
static void test_a_pod_that_is_held_hears_of_its_key(void **state)
{
    (void)state;
    for (int heard = 0; heard < 2; heard++) {
        CLEANUP(engine_stop) struct engine_fixture b;
        start(&b);
        group.permit = KS_WAIT;
        put(&b, "a", "g", "");
        client_fixture_run(&b.client, SEC / 10);
        assert_int_equal(scheduler_stats(b.s).waiting, 1);
        ks_wake(&group.env, "Group", key_of(heard ? "g" : "h"));
        ks_reject(&group.env, engine_uid(&b, "a"), "Group", "changed its mind");
        assert_int_equal(scheduler_stats(b.s).backoff, heard);
        assert_int_equal(scheduler_stats(b.s).unschedulable, !heard);
    }
}

static void test_keys_survive_a_new_configuration(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct profile_config c = profile_config_default(plugins, "koord-scheduler", a);
    struct kerr err = { 0 };

    (void)state;
    start(&b);
    group.shut = true;
    put(&b, "a", "g", "");
    client_fixture_run(&b.client, SEC);
    assert_int_equal(
        scheduler_reload(b.s, &(struct scheduler_opts){ .profiles = &c, .nprofiles = 1 }, &err), 0);
    client_fixture_run(&b.client, SEC);
    (void)snprintf(group.open, sizeof group.open, "g");
    ks_wake(&group.env, "Group", key_of("g"));
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "a"), "n");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_profile_is_asked),
        cmocka_unit_test(test_a_pod_that_only_the_asking_plugin_keeps_out),
        cmocka_unit_test(test_a_pod_that_is_fetched_and_fails_is_kept_out_again),
        cmocka_unit_test(test_a_wish_that_is_repeated_in_vain),
        cmocka_unit_test(test_only_pods_of_the_key_are_woken),
        cmocka_unit_test(test_pods_that_were_rejected_are_woken_and_back_off),
        cmocka_unit_test(test_who_waits_for_another_component_is_tried_at_once),
        cmocka_unit_test(test_the_key_changes_with_the_pod),
        cmocka_unit_test(test_a_pod_that_is_held_hears_of_its_key),
        cmocka_unit_test(test_keys_survive_a_new_configuration),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
