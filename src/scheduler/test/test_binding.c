/* test_binding.c - from the choice to the server's answer: permits, pre-bind, what is written on
 * the pod, and giving up at any moment (scheduler-core 5.7, 6).
 */
#include "scheduler/test/bed.h"

#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"

/* A plugin that does as it is told. */
static struct door {
    const struct ks_env *env;
    enum ks_code permit, pre_bind;
    nsec_t wait;
    struct ks_bind *asked; /* pre_bind said KS_WAIT */
    int reserved, unreserved, cancelled, bound;
} door;
static struct ks_env door_env;

static int door_create(const struct ks_env *env, const struct kj_val *args, void **ret_self,
                       struct kerr *err)
{
    (void)args, (void)err;
    door_env = *env;
    door.env = &door_env;
    *ret_self = &door;
    return 0;
}

static enum ks_code door_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                 uint32_t row, struct ks_texts *why)
{
    (void)self, (void)c, (void)p, (void)row, (void)why;
    door.reserved++;
    return KS_SUCCESS;
}

static void door_unreserve(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)p, (void)node;
    door.unreserved++;
}

static enum ks_code door_permit(void *self, const struct pod *p, const char *node,
                                nsec_t *ret_timeout, struct ks_texts *why)
{
    (void)self, (void)p, (void)node;
    ks_texts_add(why, "the door is shut");
    *ret_timeout = door.wait;
    return door.permit;
}

static enum ks_code door_flight(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)p, (void)node;
    return door.pre_bind == KS_SKIP ? KS_SKIP : KS_SUCCESS;
}

static enum ks_code door_pre_bind(void *self, struct ks_bind *b, struct ks_texts *why)
{
    (void)self;
    ks_texts_add(why, "no key");
    door.asked = door.pre_bind == KS_WAIT ? b : NULL;
    ks_bind_annotate(b, "door/one", "1");
    ks_bind_annotate(b, "door/two", "2");
    ks_bind_label(b, "door", "open");
    return door.pre_bind;
}

static void door_cancel(void *self, struct ks_bind *b)
{
    (void)self;
    assert_ptr_equal(b, door.asked);
    door.cancelled++;
}

static void door_post_bind(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)p, (void)node;
    door.bound++;
}

static const struct ks_hint door_hints[] = { { KS_RES_NODE, KS_ADD, NULL } };
static const struct ks_plugin door_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Door",
    .hints = door_hints,
    .nhints = ARRAY_LEN(door_hints),
    .create = door_create,
    .reserve = door_reserve,
    .unreserve = door_unreserve,
    .permit = door_permit,
    .pre_flight = door_flight,
    .pre_bind = door_pre_bind,
    .cancel = door_cancel,
    .post_bind = door_post_bind,
};
static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },  { &ks_plugin_fit, 1, true }, { &door_plugin, 0, true },
    { &ks_plugin_default_binder, 0, true }, { NULL, 0, false },
};

static void start(struct bed *b)
{
    door = (struct door){ .permit = KS_SUCCESS, .pre_bind = KS_SKIP, .wait = 60 * SEC };
    bed_start_with(b, 1, plugins);
    bed_node(b, "n", 4000, 4096, 10, "");
    rig_run(&b->rig, SEC);
}

static struct kuid uid_of(const struct bed *b, const char *pod)
{
    const char *text = bed_get(b, pod, "metadata.uid");
    return kuid_parse(text, strlen(text));
}

static void test_an_open_door(void **state)
{
    CLEANUP(bed_stop) struct bed b;
    (void)state;
    start(&b);
    bed_pod(&b, "p", 100, 100, "");
    rig_run(&b.rig, SEC);
    assert_string_equal(bed_node_of(&b, "p"), "n");
    assert_int_equal(door.bound, 1);
    assert_int_equal(door.unreserved, 0);
}

static void test_a_pod_waits_for_its_permit(void **state)
{
    CLEANUP(bed_stop) struct bed b;
    (void)state;
    start(&b);
    door.permit = KS_WAIT;
    bed_pod(&b, "p", 100, 100, "");
    rig_run(&b.rig, SEC);
    assert_string_equal(bed_node_of(&b, "p"), "");
    assert_int_equal(scheduler_stats(b.s).waiting, 1);
    /* Nobody is left in the dark, and the room is kept. */
    assert_string_equal(bed_condition(&b, "p", "message"), "waiting on permit of Door for node n");
    assert_string_equal(bed_get(&b, "p", "status.nominatedNodeName"), "n");
    assert_int_equal(scheduler_stats(b.s).assumed, 1);
    ks_allow(door.env, uid_of(&b, "p"), "Other");
    rig_run(&b.rig, SEC);
    assert_string_equal(bed_node_of(&b, "p"), "");
    ks_allow(door.env, uid_of(&b, "p"), "Door");
    rig_run(&b.rig, SEC);
    assert_string_equal(bed_node_of(&b, "p"), "n");
    bed_verify(&b);
}

static void test_a_permit_runs_out(void **state)
{
    CLEANUP(bed_stop) struct bed b;
    (void)state;
    start(&b);
    door.permit = KS_WAIT;
    bed_pod(&b, "p", 100, 100, "");
    rig_run(&b.rig, 61 * SEC);
    assert_int_equal(door.reserved, 1);
    assert_int_equal(door.unreserved, 1);
    assert_int_equal(scheduler_stats(b.s).assumed, 0);
    assert_int_equal(scheduler_stats(b.s).turned_down, 1);
    assert_string_equal(bed_condition(&b, "p", "message"),
                        "0/1 nodes are available: 1 rejected due to timeout after waiting 1m0s at "
                        "plugin Door.");
}

static void test_a_permit_is_refused(void **state)
{
    CLEANUP(bed_stop) struct bed b;
    (void)state;
    start(&b);
    door.permit = KS_UNSCHEDULABLE;
    bed_pod(&b, "p", 100, 100, "");
    rig_run(&b.rig, SEC);
    assert_string_equal(bed_condition(&b, "p", "message"),
                        "0/1 nodes are available: 1 the door is shut.");
    assert_int_equal(door.unreserved, 1);
}

static void test_what_happened_while_waiting_counts(void **state)
{
    CLEANUP(bed_stop) struct bed b;
    (void)state;
    start(&b);
    door.permit = KS_WAIT;
    bed_pod(&b, "p", 100, 100, "");
    rig_run(&b.rig, SEC);
    bed_node(&b, "m", 4000, 4096, 10, ""); /* the plugin hears of it */
    rig_run(&b.rig, SEC);
    ks_reject(door.env, uid_of(&b, "p"), "Door", "no");
    assert_int_equal(scheduler_stats(b.s).turned_down, 0);
    assert_int_equal(scheduler_stats(b.s).backoff, 1);
}

static void test_a_waiting_pod_is_deleted(void **state)
{
    CLEANUP(bed_stop) struct bed b;
    (void)state;
    start(&b);
    door.permit = KS_WAIT;
    bed_pod(&b, "p", 100, 100, "");
    rig_run(&b.rig, SEC);
    fake_delete(b.rig.fake, PODS, "p");
    rig_run(&b.rig, SEC);
    assert_int_equal(door.unreserved, 1);
    assert_int_equal(scheduler_stats(b.s).assumed, 0);
    assert_int_equal(scheduler_stats(b.s).pending, 0);
    assert_int_equal(scheduler_stats(b.s).waiting, 0);
}

static void test_pre_bind_takes_its_time(void **state)
{
    CLEANUP(bed_stop) struct bed b;
    (void)state;
    start(&b);
    door.pre_bind = KS_WAIT;
    bed_pod(&b, "p", 100, 100, "");
    rig_run(&b.rig, 10 * SEC);
    assert_non_null(door.asked);
    assert_string_equal(bed_node_of(&b, "p"), "");
    assert_string_equal(bed_get(&b, "p", "status.nominatedNodeName"), "n");
    ks_bind_done(door.asked, KS_SUCCESS, NULL);
    rig_run(&b.rig, SEC);
    assert_string_equal(bed_node_of(&b, "p"), "n");
    assert_string_equal(bed_get(&b, "p", "metadata.labels.door"), "open");
}

static void test_pre_bind_fails(void **state)
{
    CLEANUP(bed_stop) struct bed b;
    (void)state;
    start(&b);
    door.pre_bind = KS_ERROR;
    bed_pod(&b, "p", 100, 100, "");
    rig_run(&b.rig, SEC);
    assert_string_equal(bed_condition(&b, "p", "message"),
                        "running PreBind plugin \"Door\": no key");
    assert_string_equal(bed_condition(&b, "p", "reason"), "SchedulerError");
    assert_true(door.unreserved >= 1);
    door.pre_bind = KS_SUCCESS;
    rig_run(&b.rig, 20 * SEC);
    assert_string_equal(bed_node_of(&b, "p"), "n");
}

static void test_a_pod_that_pre_bind_turns_down_backs_off(void **state)
{
    CLEANUP(bed_stop) struct bed b;
    (void)state;
    start(&b);
    door.pre_bind = KS_UNSCHEDULABLE;
    bed_pod(&b, "p", 100, 100, "");
    rig_run(&b.rig, 100 * NSEC_PER_MSEC);
    assert_string_equal(bed_condition(&b, "p", "message"), "0/1 nodes are available: 1 no key.");
    assert_int_equal(scheduler_stats(b.s).turned_down, 0); /* nothing need happen */
    door.pre_bind = KS_SUCCESS;
    rig_run(&b.rig, 20 * SEC);
    assert_string_equal(bed_node_of(&b, "p"), "n");
}

static void test_pre_bind_is_cancelled(void **state)
{
    CLEANUP(bed_stop) struct bed b;
    (void)state;
    start(&b);
    door.pre_bind = KS_WAIT;
    bed_pod(&b, "p", 100, 100, "");
    rig_run(&b.rig, SEC);
    fake_delete(b.rig.fake, PODS, "p");
    rig_run(&b.rig, SEC);
    assert_int_equal(door.cancelled, 1);
    assert_int_equal(door.unreserved, 1);
    bed_verify(&b);
}

static void test_all_changes_in_one_patch(void **state)
{
    CLEANUP(bed_stop) struct bed b;
    (void)state;
    start(&b);
    door.pre_bind = KS_SUCCESS;
    bed_pod(&b, "p", 100, 100, "");
    uint64_t before = fake_stats(b.rig.fake).patches;
    rig_run(&b.rig, SEC);
    assert_string_equal(bed_node_of(&b, "p"), "n");
    /* one for the nominated node, since pre-bind may take time, and one for all of the plugin */
    assert_in_range(fake_stats(b.rig.fake).patches - before, 1, 2);
}

static void test_profiles_are_replaced(void **state)
{
    CLEANUP(bed_stop) struct bed b;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct profile_config c;
    const struct scheduler_opts o = { .profiles = &c, .nprofiles = 1 };
    struct kerr err = { 0 };

    (void)state;
    start(&b);
    door.permit = KS_WAIT;
    bed_pod(&b, "p", 100, 100, "");
    rig_run(&b.rig, SEC);
    c = profile_config_default(plugins, "other", a);
    assert_int_equal(scheduler_reload(b.s, &o, &err), 0);
    bed_pod(&b, "q", 100, 100, ""); /* not ours any more */
    rig_run(&b.rig, SEC);
    assert_int_equal(scheduler_stats(b.s).waiting, 1); /* on its way under the old profile */
    ks_allow(door.env, uid_of(&b, "p"), "Door");
    rig_run(&b.rig, SEC);
    assert_string_equal(bed_node_of(&b, "p"), "n");
    assert_string_equal(bed_node_of(&b, "q"), "");
    c = profile_config_default(plugins, "koord-scheduler", a);
    door.permit = KS_SUCCESS;
    assert_int_equal(scheduler_reload(b.s, &o, &err), 0);
    rig_run(&b.rig, SEC);
    assert_string_equal(bed_node_of(&b, "q"), "n");
    c.scheduler_name = "";
    assert_true(scheduler_reload(b.s, &o, &err) < 0);
    bed_pod(&b, "r", 100, 100, ""); /* the old ones stay in force */
    rig_run(&b.rig, SEC);
    assert_string_equal(bed_node_of(&b, "r"), "n");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_open_door),
        cmocka_unit_test(test_a_pod_waits_for_its_permit),
        cmocka_unit_test(test_a_permit_runs_out),
        cmocka_unit_test(test_a_permit_is_refused),
        cmocka_unit_test(test_what_happened_while_waiting_counts),
        cmocka_unit_test(test_a_waiting_pod_is_deleted),
        cmocka_unit_test(test_pre_bind_takes_its_time),
        cmocka_unit_test(test_pre_bind_fails),
        cmocka_unit_test(test_a_pod_that_pre_bind_turns_down_backs_off),
        cmocka_unit_test(test_pre_bind_is_cancelled),
        cmocka_unit_test(test_all_changes_in_one_patch),
        cmocka_unit_test(test_profiles_are_replaced),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
