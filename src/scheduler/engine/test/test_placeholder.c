/* test_placeholder.c - objects that get nodes like pods: placeholders in the queue and on nodes,
 * and what becomes of them (framework/service.h, subject.h).
 */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "api/koord/reservation.h"
#include "base/arena.h"
#include "scheduler/framework/profile.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/registry.h"

#define RESERVATIONS "/apis/scheduling.koordinator.sh/v1alpha1/reservations"

/* ---- a plugin that places reservations ------------------------------------------------------- */

static struct {
    struct ks_env env;
    struct strbuf heard; /* of placeholders */
} maker;

static int maker_create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    (void)args, (void)err;
    maker.env = *env;
    *ret = &maker;
    return 0;
}

static const char *label(const struct kobj *o, const char *key)
{
    const char *value = kstrmap_get(&o->meta.labels, key);
    return value ? value : "0";
}

static struct kobj *maker_pod(void *service, const struct kobj *o)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(maker.env.kube->strings);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const char *node = reservation_of(o)->status.node_name;
    char uid[KUID_TEXT_MAX];
    struct kobj *pod = NULL;

    assert_ptr_equal(service, &maker);
    if (reservation_of(o)->spec.unschedulable)
        return NULL;
    kuid_format(o->meta.uid, uid, sizeof uid);
    strbuf_appendf(
        &b,
        "{\"metadata\":{\"name\":\"reserve-%s\",\"namespace\":\"default\",\"uid\":\"%s\"},"
        "\"spec\":{\"schedulerName\":\"koord-scheduler\",\"nodeName\":\"%s\","
        "\"priority\":%s,\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":"
        "{\"cpu\":\"%sm\"}}}]}}",
        o->meta.name, uid, str_empty(node) ? "" : node, label(o, "priority"), label(o, "mcpu"));
    assert_int_equal(kj_parse(b.data, b.len, 0, &doc, NULL), 0);
    assert_int_equal(kobj_decode(&kind_pod, kj_root(doc), scratch, &pod, NULL), 0);
    return pod;
}

static void hear(const struct pod *p, const char *what)
{
    if (strncmp(p->obj.meta.name, "reserve-", 8) == 0)
        strbuf_appendf(&maker.heard, "%s%s", maker.heard.len ? " " : "", what);
}

static void on_pending(void *service, const struct pod *before, const struct pod *now)
{
    (void)service, (void)before;
    hear(now, "pending");
}

static void on_placed(void *service, const struct pod *before, const struct pod *now)
{
    (void)service, (void)before;
    hear(now, "placed");
}

static void on_gone(void *service, const struct pod *last)
{
    (void)service;
    hear(last, "gone");
}

static void on_assumed(void *service, const struct pod *p, const char *node)
{
    (void)service, (void)node;
    hear(p, "assumed");
}

static const struct ks_pod_handler maker_pods = {
    .pending = on_pending, .placed = on_placed, .gone = on_gone, .assumed = on_assumed
};
static const struct ks_placeholder maker_placeholder = { &kind_reservation, maker_pod };
static const struct ks_service maker_service = {
    .name = "Maker",
    .create = maker_create,
    .pods = &maker_pods,
    .placeholder = &maker_placeholder,
};
static const struct ks_service *const maker_services[] = { &maker_service, NULL };

static const struct kobj *object(void *self, const struct pod *p)
{
    (void)self;
    return objects_get(maker.env.objects, &kind_reservation, NULL, p->obj.meta.name + 8);
}

static void write_status(struct kube_req *r, struct kjw *w, const char *key, const char *value)
{
    r->verb = KUBE_PATCH;
    r->patch = KUBE_PATCH_MERGE;
    r->subresource = "status";
    kjw_obj(w, NULL);
    kjw_obj(w, "status");
    kjw_str(w, key, value);
    kjw_end(w);
    kjw_end(w);
}

static void bind_status(void *self, const struct ks_bind *b, struct kube_req *r, struct kjw *w)
{
    (void)self;
    write_status(r, w, "nodeName", b->node);
}

static void waits(void *self, const struct pod *p, const struct ks_waiting *why, struct kube_req *r,
                  struct kjw *w)
{
    (void)self, (void)p;
    write_status(r, w, "why", why->message ? why->message : "");
}

static const char *node_in_status(const struct kj_val *o)
{
    return kj_str_or(kj_path(o, "status.nodeName"), "");
}

static const struct ks_subject reservation = {
    .object = object, .bind = bind_status, .waits = waits, .node = node_in_status
};

static const struct ks_subject *maker_bind(void *self, const struct pod *p)
{
    (void)self;
    return strncmp(p->obj.meta.name, "reserve-", 8) == 0 ? &reservation : NULL;
}

static const struct kind *const kinds[] = { &kind_reservation, NULL };
static const struct ks_plugin maker_plugin = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "Maker",
    .kinds = kinds,
    .services = maker_services,
    .bind = maker_bind,
};
static const struct ks_registered plugins[] = {
    { &ks_plugin_priority_sort, 0, true },      { &ks_plugin_fit, 1, true },
    { &ks_plugin_default_preemption, 0, true }, { &maker_plugin, 0, true },
    { &ks_plugin_default_binder, 0, true },     { NULL, 0, false },
};
static const struct ks_registered fewer[] = {
    { &ks_plugin_priority_sort, 0, true },
    { &ks_plugin_fit, 1, true },
    { &ks_plugin_default_binder, 0, true },
    { NULL, 0, false },
};

/* ---- the fixture ----------------------------------------------------------------------------- */

static void start(struct engine_fixture *b)
{
    strbuf_fini(&maker.heard);
    maker.heard = (struct strbuf)STRBUF_INIT;
    engine_start_with(b, 1, plugins);
    engine_node(b, "n", 1000, 4096, 10, "");
    client_fixture_run(&b->client, SEC);
}

static void stop_p(struct engine_fixture *b)
{
    engine_stop_p(b);
    strbuf_fini(&maker.heard);
}

static void reserve(struct engine_fixture *b, const char *name, int mcpu, int priority)
{
    char body[256];

    (void)snprintf(body, sizeof body,
                   "{\"metadata\":{\"labels\":{\"mcpu\":\"%d\",\"priority\":\"%d\"}}}", mcpu,
                   priority);
    fake_put(b->client.fake, RESERVATIONS, name, body);
    client_fixture_run(&b->client, SEC);
}

static bool has(const struct engine_fixture *b, const char *name, const char *text)
{
    const char *json = fake_find(b->client.fake, RESERVATIONS, name);
    return json && strstr(json, text);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_an_object_gets_a_node(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    reserve(&b, "r", 800, 0);
    assert_true(has(&b, "r", "\"nodeName\":\"n\""));
    assert_string_equal(strbuf_str(&maker.heard), "pending assumed placed");
    assert_int_equal(scheduler_stats(b.s).pods, 1);
    assert_int_equal(scheduler_stats(b.s).assumed, 0); /* the object's new state confirms it */
    assert_int_equal(engine_events(&b, "Scheduled", "Successfully assigned r to n"), 1);
    engine_pod(&b, "p", 500, 100, ",\"priority\":0"); /* its room counts */
    client_fixture_run(&b.client, SEC);
    assert_string_equal(engine_node_of(&b, "p"), "");
    fake_delete(b.client.fake, RESERVATIONS, "r");
    client_fixture_run(&b.client, 10 * SEC);
    assert_string_equal(engine_node_of(&b, "p"), "n");
    assert_contains(strbuf_str(&maker.heard), "gone");
    assert_int_equal(scheduler_stats(b.s).pods, 1);
    engine_verify(&b);
}

static void test_an_object_waits(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    reserve(&b, "r", 2000, 0);
    assert_true(has(&b, "r", "\"why\":\"0/1 nodes are available: 1 Insufficient cpu."));
    assert_int_equal(scheduler_stats(b.s).pending, 1);
    engine_node(&b, "m", 4000, 4096, 10, "");
    client_fixture_run(&b.client, 10 * SEC);
    assert_true(has(&b, "r", "\"nodeName\":\"m\""));
    assert_int_equal(scheduler_stats(b.s).pending, 0);
    reserve(&b, "s", 9000, 0);
    assert_int_equal(scheduler_stats(b.s).pending, 1);
    fake_patch(b.client.fake, RESERVATIONS, "s", "{\"spec\":{\"unschedulable\":true}}");
    client_fixture_run(&b.client, SEC); /* it needs none any more */
    assert_int_equal(scheduler_stats(b.s).pending, 0);
    engine_verify(&b);
}

static void test_an_object_makes_way(void **state)
{
    CLEANUP(stop) struct engine_fixture b;

    (void)state;
    start(&b);
    reserve(&b, "r", 800, 1);
    reserve(&b, "s", 100, 100);
    assert_true(has(&b, "r", "\"nodeName\":\"n\"") && has(&b, "s", "\"nodeName\":\"n\""));
    engine_pod(&b, "p", 800, 100, ",\"priority\":10");
    client_fixture_run(&b.client, 10 * SEC);
    assert_null(fake_find(b.client.fake, RESERVATIONS, "r"));
    assert_non_null(fake_find(b.client.fake, RESERVATIONS, "s"));
    assert_string_equal(engine_node_of(&b, "p"), "n");
    assert_int_equal(scheduler_stats(b.s).victims, 1);
    engine_verify(&b);
}

static void test_after_a_restart(void **state)
{
    CLEANUP(stop) struct engine_fixture b;
    struct kerr err = { 0 };

    (void)state;
    start(&b);
    reserve(&b, "r", 800, 0);
    scheduler_free(b.s);
    strbuf_reset(&maker.heard);
    b.s = scheduler_new(b.client.loop, b.client.kube,
                        &(struct scheduler_opts){ .plugins = plugins }, &err);
    assert_string_equal(err.text, "");
    scheduler_start(b.s);
    client_fixture_run(&b.client, SEC);
    assert_string_equal(strbuf_str(&maker.heard), "placed");
    assert_int_equal(scheduler_stats(b.s).pods, 1);
    engine_verify(&b);
}

/* The service goes with the last profile that has the plugin, and its placeholders with it. */
static void test_a_new_configuration(void **state)
{
    CLEANUP(stop) struct engine_fixture b;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct profile_config with = profile_config_default(plugins, "koord-scheduler", a);
    struct profile_config without = profile_config_default(fewer, "koord-scheduler", a);
    struct scheduler_opts first = { .profiles = &without, .nprofiles = 1 },
                          then = { .profiles = &with, .nprofiles = 1 };
    struct kerr err = { 0 };

    (void)state;
    start(&b);
    reserve(&b, "r", 800, 0);
    reserve(&b, "s", 800, 0);
    assert_int_equal(scheduler_stats(b.s).pods, 1);
    assert_int_equal(scheduler_stats(b.s).pending, 1);
    assert_int_equal(scheduler_reload(b.s, &first, &err), 0);
    client_fixture_run(&b.client, SEC);
    assert_int_equal(scheduler_stats(b.s).pods, 0);
    assert_int_equal(scheduler_stats(b.s).pending, 0);
    assert_int_equal(scheduler_reload(b.s, &then, &err), 0);
    client_fixture_run(&b.client, SEC);
    assert_int_equal(scheduler_stats(b.s).pods, 1);
    assert_int_equal(scheduler_stats(b.s).pending, 1);
    engine_verify(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_object_gets_a_node), cmocka_unit_test(test_an_object_waits),
        cmocka_unit_test(test_an_object_makes_way),   cmocka_unit_test(test_after_a_restart),
        cmocka_unit_test(test_a_new_configuration),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
