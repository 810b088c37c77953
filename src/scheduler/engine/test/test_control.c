/* test_control.c - controllers of plugins run where the scheduler leads (scheduler-core 9.1). */
#include "scheduler/test/engine_fixture.h"

#include "api/policy.h"
#include "controllers/controller.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/registry.h"

/* ---- a clerk who stamps all disruption budgets ------------------------------------------------
 */

#define PDBS "/apis/policy/v1/namespaces/ns/poddisruptionbudgets"

static struct clerk {
    int made, started, stopped;
    size_t pods; /* it has heard of */
    size_t pods_at_start;
    struct controller *c;
} clerk;

static void clerk_sync(void *self, struct batch *b, const char *key, struct kobj *o)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    (void)self, (void)key;
    if (!o || kstrmap_get(&o->meta.labels, "stamp"))
        return;
    strbuf_append(&body, "{\"metadata\":{\"labels\":{\"stamp\":\"yes\"}}}");
    batch_patch(b, o, NULL, KUBE_PATCH_MERGE, &body, NULL, NULL);
}

static void *clerk_start(void *service, struct controllers *all, const struct controller_env *env)
{
    struct informer *budgets = caches_get(env->caches, &kind_pdb);

    assert_ptr_equal(service, &clerk);
    clerk.pods_at_start = clerk.pods;
    clerk.started++;
    clerk.c = controller_new(
        all, &(struct controller_opts){ .name = "clerk", .of = budgets, .sync = clerk_sync });
    controller_watch(clerk.c, budgets, NULL, NULL);
    return &clerk;
}

static void clerk_stop(void *started)
{
    assert_ptr_equal(started, &clerk);
    clerk.stopped++;
    clerk.c = controller_free(clerk.c);
}

static int clerk_create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    (void)env, (void)args, (void)err;
    clerk.made++;
    *ret = &clerk;
    return 0;
}

static void clerk_destroy(void *service)
{
    assert_ptr_equal(service, &clerk);
    assert_null(clerk.c); /* its controller has ended before */
}

static void on_pending(void *service, const struct pod *before, const struct pod *now)
{
    (void)service, (void)now;
    clerk.pods += !before;
}

static const struct ks_pod_handler clerk_pods = { .pending = on_pending };
static const struct ks_controller clerk_controller = { clerk_start, clerk_stop };
static const struct ks_service clerk_service = {
    .name = "Clerk",
    .create = clerk_create,
    .destroy = clerk_destroy,
    .pods = &clerk_pods,
    .controller = &clerk_controller,
};
static const struct ks_service *const clerk_services[] = { &clerk_service, NULL };

static void clerk_post_bind(void *self, const struct pod *p, const char *node)
{
    (void)self, (void)p, (void)node;
}

static const struct ks_plugin clerk_plugin = { .abi = KS_PLUGIN_ABI,
                                               .size = sizeof(struct ks_plugin),
                                               .name = "Clerk",
                                               .services = clerk_services,
                                               .post_bind = clerk_post_bind };
static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &clerk_plugin, 0, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

/* ---- the fixture ----------------------------------------------------------------------------- */

static void prepare(struct engine_fixture *b, const char *const *enabled, size_t n)
{
    static const char *const names[] = { "koord-scheduler", "second", NULL };
    struct kerr err = { 0 };

    clerk = (struct clerk){ 0 };
    client_fixture_init(&b->client, 1);
    fake_put(b->client.fake, PDBS, "first", "{}");
    engine_pod(b, "p", 1, 1, "");
    b->s = scheduler_new(b->client.loop, b->client.kube,
                         &(struct scheduler_opts){ .plugins = plugins,
                                                   .scheduler_names = names,
                                                   .controller_plugins = enabled,
                                                   .ncontroller_plugins = n },
                         &err);
    assert_string_equal(err.text, "");
}

static bool stamped(const struct engine_fixture *b, const char *name)
{
    return strstr(fake_find(b->client.fake, PDBS, name), "stamp") != NULL;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_it_runs_where_the_scheduler_leads(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    prepare(&b, NULL, 0);
    scheduler_watch(b.s);
    client_fixture_run(&b.client, 10 * SEC);
    assert_int_equal(clerk.started, 0); /* it stands by */
    assert_false(stamped(&b, "first"));
    scheduler_lead(b.s);
    client_fixture_run(&b.client, SEC);
    assert_int_equal(clerk.started, 1); /* once for two profiles */
    assert_true(stamped(&b, "first"));
    fake_put(b.client.fake, PDBS, "second", "{}");
    client_fixture_run(&b.client, SEC);
    assert_true(stamped(&b, "second"));
    b.s = scheduler_free(b.s);
    assert_int_equal(clerk.stopped, 1);
}

static void test_it_begins_when_all_is_known(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    prepare(&b, NULL, 0);
    fake_answer_next_to(b.client.fake, "GET", "/nodes", 2, 500);
    scheduler_start(b.s);
    client_fixture_run(&b.client, 100 * NSEC_PER_MSEC);
    assert_int_equal(clerk.started, 0);
    client_fixture_run(&b.client, 10 * SEC);
    assert_int_equal(clerk.started, 1);
    assert_int_equal(clerk.pods_at_start, 1);
}

static void test_which_controllers_run(void **state)
{
    static const struct {
        const char *items[3];
        size_t n;
        bool runs;
    } cases[] = {
        { { "*" }, 1, true },
        { { "*", "-Clerk" }, 2, false },
        { { "-Clerk", "*" }, 2, false },
        { { "Clerk", "-Clerk" }, 2, true },
        { { "-Other", "*" }, 2, true },
        { { "Other" }, 1, false },
        { { "Other", "Clerk" }, 2, true },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(engine_stop) struct engine_fixture b;
        prepare(&b, cases[i].items, cases[i].n);
        scheduler_start(b.s);
        client_fixture_run(&b.client, SEC);
        assert_int_equal(clerk.started, cases[i].runs);
        assert_int_equal(stamped(&b, "first"), cases[i].runs);
    }
}

static void test_it_comes_and_goes_with_the_configuration(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;
    CLEANUP(arena_free) struct arena *a = arena_new();
    static const struct ks_registered fewer[] = {
        { &ks_plugin_priority_sort, 0, true },
        { &ks_plugin_default_binder, 0, true },
        { NULL, 0, false },
    };
    struct profile_config with = profile_config_default(plugins, "koord-scheduler", a);
    struct profile_config without = profile_config_default(fewer, "koord-scheduler", a);
    struct kerr err = { 0 };

    (void)state;
    prepare(&b, NULL, 0);
    scheduler_start(b.s);
    client_fixture_run(&b.client, SEC);
    assert_int_equal(
        scheduler_reload(b.s, &(struct scheduler_opts){ .profiles = &with, .nprofiles = 1 }, &err),
        0);
    client_fixture_run(&b.client, SEC);
    assert_int_equal(clerk.made, 1);
    assert_int_equal(clerk.started, 1); /* it goes on */
    assert_int_equal(clerk.stopped, 0);
    assert_int_equal(
        scheduler_reload(b.s, &(struct scheduler_opts){ .profiles = &without, .nprofiles = 1 },
                         &err),
        0);
    client_fixture_run(&b.client, SEC);
    assert_int_equal(clerk.stopped, 1);
    fake_put(b.client.fake, PDBS, "later", "{}");
    client_fixture_run(&b.client, 10 * SEC);
    assert_false(stamped(&b, "later"));
    assert_int_equal(
        scheduler_reload(b.s, &(struct scheduler_opts){ .profiles = &with, .nprofiles = 1 }, &err),
        0);
    client_fixture_run(&b.client, SEC);
    assert_int_equal(clerk.started, 2);
    assert_true(stamped(&b, "later"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_runs_where_the_scheduler_leads),
        cmocka_unit_test(test_it_begins_when_all_is_known),
        cmocka_unit_test(test_which_controllers_run),
        cmocka_unit_test(test_it_comes_and_goes_with_the_configuration),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
