/* test_notify.c - services of plugins are told of pods, once and in order (framework/service.h). */
#include "scheduler/test/engine_fixture.h"

#include "api/policy.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"

/* ---- a plugin whose service keeps a diary ---------------------------------------------------- */

static struct diary {
    struct ks_env env;
    int made, instances;
    struct strbuf text;
    enum ks_code permit;
    bool gates; /* keeps pods out of the queue that it has not heard of */
    char known[256];
} diary;
KS_SERVICE(diary, struct diary)

static void note(const char *what, const struct pod *p, const char *node)
{
    strbuf_appendf(&diary.text, "%s%s %s%s%s", diary.text.len ? ", " : "", what, p->obj.meta.name,
                   node && *node ? " " : "", node ? node : "");
}

static void on_pending(void *service, const struct pod *before, const struct pod *now)
{
    assert_ptr_equal(service, &diary);
    note(before ? "pending again" : "pending", now, NULL);
    if (before)
        assert_true(kuid_equal(before->obj.meta.uid, now->obj.meta.uid));
    (void)snprintf(diary.known + strlen(diary.known), sizeof diary.known - strlen(diary.known),
                   "%s ", now->obj.meta.name);
}

static void on_placed(void *service, const struct pod *before, const struct pod *now)
{
    assert_ptr_equal(service, &diary);
    note(before ? "placed" : "placed first", now, now->node_name);
}

static void on_changed(void *service, const struct pod *before, const struct pod *now)
{
    assert_ptr_equal(service, &diary);
    assert_non_null(before);
    note("changed", now, now->node_name);
}

static void on_gone(void *service, const struct pod *last)
{
    assert_ptr_equal(service, &diary);
    note("gone", last, last->node_name);
}

static void on_assumed(void *service, const struct pod *p, const char *node)
{
    assert_ptr_equal(service, &diary);
    note("assumed", p, node);
}

static void on_forgotten(void *service, const struct pod *p, const char *node)
{
    assert_ptr_equal(service, &diary);
    note("forgotten", p, node);
}

static int diary_create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    (void)args, (void)err;
    diary.env = *env;
    diary.made++;
    *ret = &diary;
    return 0;
}

static const struct ks_pod_handler diary_pods = {
    .pending = on_pending,
    .placed = on_placed,
    .changed = on_changed,
    .gone = on_gone,
    .assumed = on_assumed,
    .forgotten = on_forgotten,
};
const struct ks_service diary_service = {
    .name = "Diary",
    .create = diary_create,
    .pods = &diary_pods,
};
static const struct ks_service *const diary_services[] = { &diary_service, NULL };
static const struct kind *const diary_kinds[] = { &kind_pdb, NULL };

static int plugin_create(const struct ks_env *env, const void *args, void **ret_self,
                         struct kerr *err)
{
    (void)args, (void)err;
    *ret_self = diary_of(env);
    assert_ptr_equal(*ret_self, &diary);
    diary.instances++;
    return 0;
}

static void plugin_destroy(void *self)
{
    (void)self;
    diary.instances--;
}

static enum ks_code plugin_pre_enqueue(void *self, const struct pod *p, struct ks_texts *why)
{
    char name[32];

    (void)self;
    (void)snprintf(name, sizeof name, "%s ", p->obj.meta.name);
    if (!diary.gates || strstr(diary.known, name))
        return KS_SUCCESS;
    ks_texts_add(why, "never heard of it");
    return KS_UNRESOLVABLE;
}

static enum ks_code plugin_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                   uint32_t row, struct ks_texts *why)
{
    (void)self, (void)c, (void)row, (void)why;
    note("reserve", p->pod, NULL);
    return KS_SUCCESS;
}

static void plugin_unreserve(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)node;
    note("unreserve", p, NULL);
}

static enum ks_code plugin_permit(void *self, const struct pod *p, const char *node,
                                  nsec_t *ret_timeout, struct ks_texts *why)
{
    (void)self, (void)p, (void)node;
    *ret_timeout = 600 * SEC;
    ks_texts_add(why, "closed");
    return diary.permit;
}

static const struct ks_hint diary_hints[] = { { KS_RES_NODE, KS_ADD, NULL } };
static const struct ks_plugin diary_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Diary",
    .kinds = diary_kinds,
    .services = diary_services,
    .hints = diary_hints,
    .nhints = ARRAY_LEN(diary_hints),
    .create = plugin_create,
    .destroy = plugin_destroy,
    .pre_enqueue = plugin_pre_enqueue,
    .reserve = plugin_reserve,
    .unreserve = plugin_unreserve,
    .permit = plugin_permit,
};
static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },  { &ks_plugin_fit, 1, true }, { &diary_plugin, 0, true },
    { &ks_plugin_default_binder, 0, true }, { NULL, 0, false },
};

/* ---- the fixture ----------------------------------------------------------------------------- */

/* What was told since the last time. */
static const char *told(void)
{
    static char text[2048];

    (void)snprintf(text, sizeof text, "%s", strbuf_str(&diary.text));
    strbuf_reset(&diary.text);
    return text;
}

static void reset(void)
{
    strbuf_fini(&diary.text);
    diary = (struct diary){ .permit = KS_SUCCESS };
}

static void start(struct engine_fixture *b)
{
    reset();
    engine_start_with(b, 1, plugins);
    engine_node(b, "n", 4000, 4096, 10, "");
    client_fixture_run(&b->client, SEC);
}

static void stop_p(struct engine_fixture *b)
{
    engine_stop_p(b);
    assert_int_equal(diary.instances, 0);
    reset();
}

static void put_pod(struct engine_fixture *b, const char *name, const char *created,
                    const char *spec)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"creationTimestamp\":\"%s\"},\"spec\":{\"containers\":[{"
                   "\"name\":\"c\"}]%s}}",
                   created, spec);
    fake_put(b->client.fake, PODS, name, body);
}

#define OURS   ",\"schedulerName\":\"koord-scheduler\""
#define OTHERS ",\"schedulerName\":\"another\""
#define ON(n)  ",\"nodeName\":\"" n "\""

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_a_pod_on_its_way(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    assert_int_equal(diary.made, 1); /* for two profiles */
    assert_int_equal(diary.instances, 2);
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(told(), "pending p, assumed p n, reserve p, placed p n");
    fake_patch(b.client.fake, PODS, "p", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(told(), "changed p n");
    fake_delete(b.client.fake, PODS, "p");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(told(), "gone p n");
}

static void test_what_is_undone_is_told_in_reverse(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    diary.permit = KS_UNSCHEDULABLE;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC / 2);
    assert_string_equal(told(), "pending p, assumed p n, reserve p, unreserve p, forgotten p n, "
                                "pending again p");
}

static void test_a_pod_that_goes_while_it_is_assumed(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    diary.permit = KS_WAIT;
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(told(), "pending p, assumed p n, reserve p, pending again p");
    fake_delete(b.client.fake, PODS, "p");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(told(), "unreserve p, forgotten p n, gone p");
}

/* The server has not answered the binding yet, so it cannot be given up. */
static void test_a_pod_that_goes_while_it_is_bound(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    fake_slow(b.client.fake, 5 * SEC);
    engine_pod(&b, "p", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    fake_delete(b.client.fake, PODS, "p");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(told(), "pending p, assumed p n, reserve p, forgotten p n, gone p");
    client_fixture_run(&b.client, 20 * SEC);
    assert_string_equal(told(), "unreserve p");
}

static void test_pods_of_other_schedulers(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    put_pod(&b, "p", "2026-01-01T00:00:00Z", OTHERS);
    client_fixture_run(&b.client, SEC);
    assert_string_equal(told(), "pending p");
    fake_patch(b.client.fake, PODS, "p", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(told(), "pending again p");
    fake_patch(b.client.fake, PODS, "p", "{\"spec\":{\"nodeName\":\"n\"}}");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(told(), "placed p n");
    fake_patch(b.client.fake, PODS, "p", "{\"status\":{\"phase\":\"Succeeded\"}}");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(told(), "gone p n"); /* it has ended */
    fake_delete(b.client.fake, PODS, "p");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(told(), "");
}

static void test_a_pod_that_is_made_again(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    put_pod(&b, "p", "2026-01-01T00:00:00Z", OTHERS ON("n"));
    client_fixture_run(&b.client, SEC);
    assert_string_equal(told(), "placed first p n");
    fake_refuse(b.client.fake, true);
    fake_break_connections(b.client.fake);
    fake_delete(b.client.fake, PODS, "p");
    put_pod(&b, "p", "2026-01-02T00:00:00Z", OTHERS);
    fake_compact(
        b.client.fake); /* the watch cannot tell: a list does, with one object for the name */
    fake_refuse(b.client.fake, false);
    client_fixture_run(&b.client, 60 * SEC);
    assert_string_equal(told(), "gone p n, pending p");
}

/* Nothing is told before all informers are complete; then the oldest comes first. The node of one
 * is not known yet. */
static void test_the_order_after_a_restart(void **state)
{
    CLEANUP(stop) struct engine_fixture b;
    static const char *const names[] = { "koord-scheduler", NULL };
    struct kerr err = { 0 };

    (void)state;
    reset();
    client_fixture_init(&b.client, 1);
    put_pod(&b, "a", "2026-01-03T00:00:00Z", OURS ON("later"));
    put_pod(&b, "b", "2026-01-01T00:00:00Z", OTHERS ON("n"));
    put_pod(&b, "c", "2026-01-02T00:00:00Z", OURS);
    put_pod(&b, "d", "2026-01-01T00:00:00Z", OTHERS);
    fake_answer_next_to(b.client.fake, "GET", "/poddisruptionbudgets", 2, 500);
    b.s = scheduler_new(b.client.loop, b.client.kube,
                        &(struct scheduler_opts){
                            .plugins = plugins, .scheduler_names = names, .verify_reuse = true },
                        &err);
    scheduler_start(b.s);
    client_fixture_run(&b.client, 100 * NSEC_PER_MSEC);
    assert_false(scheduler_synced(b.s));
    assert_string_equal(told(), "");
    client_fixture_run(&b.client, 10 * SEC);
    assert_true(scheduler_synced(b.s));
    assert_string_equal(told(), "placed first b n, pending d, pending c, placed first a later, "
                                "pending again c");
}

/* A plugin may keep out what its service has not heard of: it is asked again when it has, and what
 * it said before is not written. */
static void test_gates_wait_for_the_service(void **state)
{
    CLEANUP(stop) struct engine_fixture b;
    static const char *const names[] = { "koord-scheduler", NULL };
    struct kerr err = { 0 };

    (void)state;
    reset();
    diary.gates = true;
    client_fixture_init(&b.client, 1);
    engine_node(&b, "n", 4000, 4096, 10, "");
    put_pod(&b, "p", "2026-01-03T00:00:00Z", OURS);
    fake_answer_next_to(b.client.fake, "GET", "/poddisruptionbudgets", 2, 500);
    b.s = scheduler_new(b.client.loop, b.client.kube,
                        &(struct scheduler_opts){
                            .plugins = plugins, .scheduler_names = names, .verify_reuse = true },
                        &err);
    scheduler_start(b.s);
    client_fixture_run(&b.client, 100 * NSEC_PER_MSEC);
    assert_int_equal(scheduler_stats(b.s).gated, 1);
    assert_string_equal(engine_condition(&b, "p", "message"), "");
    client_fixture_run(&b.client, 10 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n");
    assert_int_equal(engine_events(&b, "FailedScheduling", "never heard of it"), 0);
}

/* A configuration brings the plugin: its service hears of what is there, and of a pod that is on
 * its way. The next configuration keeps it. */
static void test_a_service_that_comes_later(void **state)
{
    CLEANUP(stop) struct engine_fixture b;
    CLEANUP(arena_free) struct arena *a = arena_new();
    static const struct ks_registered before[] = {
        { &ks_plugin_priority_sort, 0, true },
        { &ks_plugin_fit, 1, true },
        { &diary_plugin, 0, false },
        { &ks_plugin_default_binder, 0, true },
        { NULL, 0, false },
    };
    struct profile_config c = profile_config_default(plugins, "koord-scheduler", a);
    struct kerr err = { 0 };

    (void)state;
    reset();
    engine_start_with(&b, 1, before);
    engine_node(&b, "n", 4000, 4096, 10, "");
    put_pod(&b, "q", "2026-01-01T00:00:00Z", OTHERS ON("n"));
    client_fixture_run(&b.client, SEC);
    fake_slow(b.client.fake, SEC);
    put_pod(&b, "p", "2026-01-02T00:00:00Z", OURS);
    client_fixture_run(&b.client, SEC / 2);
    assert_int_equal(scheduler_stats(b.s).assumed, 1);
    const struct scheduler_opts o = { .profiles = &c, .nprofiles = 1 };
    assert_int_equal(scheduler_reload(b.s, &o, &err), 0);
    assert_string_equal(told(), ""); /* budgets are to be listed */
    client_fixture_run(&b.client, 100 * NSEC_PER_MSEC);
    assert_false(scheduler_synced(b.s));
    client_fixture_run(&b.client, 20 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n");
    assert_string_equal(told(), "placed first q n, placed first p n");
    assert_int_equal(diary.made, 1);
    fake_slow(b.client.fake, 2 * SEC);
    engine_pod(&b, "r", 100, 100, "");
    client_fixture_run(&b.client, SEC);
    assert_string_equal(told(), "pending r, assumed r n, reserve r");
    assert_int_equal(scheduler_reload(b.s, &o, &err), 0);
    client_fixture_run(&b.client, 20 * SEC);
    assert_int_equal(diary.made, 1);
    assert_string_equal(told(), "placed r n");
}

/* It reads no kinds of its own, so it hears at once of all, also of what is assumed. */
static void test_a_service_hears_of_assumed_pods(void **state)
{
    CLEANUP(stop) struct engine_fixture b;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct ks_plugin plain = diary_plugin;
    const struct ks_registered with[] = {
        { &ks_plugin_priority_sort, 0, true },  { &ks_plugin_fit, 1, true }, { &plain, 0, true },
        { &ks_plugin_default_binder, 0, true }, { NULL, 0, false },
    };
    struct ks_registered table[ARRAY_LEN(with)];
    struct profile_config c = profile_config_default(with, "koord-scheduler", a);
    struct kerr err = { 0 };

    (void)state;
    reset();
    plain.kinds = NULL;
    memcpy(table, with, sizeof table);
    table[2].by_default = false;
    engine_start_with(&b, 1, table);
    engine_node(&b, "n", 4000, 4096, 10, "");
    client_fixture_run(&b.client, SEC);
    fake_slow(b.client.fake, SEC);
    put_pod(&b, "q", "2026-01-01T00:00:00Z", OTHERS);
    put_pod(&b, "p", "2026-01-02T00:00:00Z", OURS);
    client_fixture_run(&b.client, SEC / 2);
    assert_int_equal(scheduler_stats(b.s).assumed, 1);
    const struct scheduler_opts o = { .profiles = &c, .nprofiles = 1 };
    assert_int_equal(scheduler_reload(b.s, &o, &err), 0);
    assert_string_equal(told(), "pending q, pending p, assumed p n");
    client_fixture_run(&b.client, 10 * SEC);
    assert_string_equal(told(), "placed p n");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pod_on_its_way),
        cmocka_unit_test(test_what_is_undone_is_told_in_reverse),
        cmocka_unit_test(test_a_pod_that_goes_while_it_is_assumed),
        cmocka_unit_test(test_a_pod_that_goes_while_it_is_bound),
        cmocka_unit_test(test_pods_of_other_schedulers),
        cmocka_unit_test(test_a_pod_that_is_made_again),
        cmocka_unit_test(test_the_order_after_a_restart),
        cmocka_unit_test(test_gates_wait_for_the_service),
        cmocka_unit_test(test_a_service_that_comes_later),
        cmocka_unit_test(test_a_service_hears_of_assumed_pods),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
