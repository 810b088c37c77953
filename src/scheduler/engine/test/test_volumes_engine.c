/* test_volumes_engine.c - pods with claims through the whole scheduler, against the fake server. */
#include "base/test/asserts.h"
#include "scheduler/test/engine_fixture.h"

#include "base/arena.h"
#include "scheduler/framework/profile.h"

#define PVS     "/api/v1/persistentvolumes"
#define PVCS    "/api/v1/namespaces/ns/persistentvolumeclaims"
#define CLASSES "/apis/storage.k8s.io/v1/storageclasses"
#define CLAIM   ",\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"c\"}}]"
#define PVC(annotations, spec)                                          \
    "{\"metadata\":{\"namespace\":\"ns\",\"annotations\":{" annotations \
    "}},\"spec\":{\"storageClassName\":\"wait\"" spec "},\"status\":{\"phase\":\"Pending\"}}"
#define DONE "\"pv.kubernetes.io/bind-completed\":\"yes\""
#define FREE_VOLUME                                                                 \
    "{\"spec\":{\"storageClassName\":\"wait\",\"capacity\":{\"storage\":\"1Gi\"}}," \
    "\"status\":{\"phase\":\"Available\"}}"

static void put_class(struct engine_fixture *b)
{
    fake_put(b->client.fake, CLASSES, "wait",
             "{\"provisioner\":\"d\",\"volumeBindingMode\":\"WaitForFirstConsumer\"}");
}

static void test_a_claim_gets_its_volume_before_the_pod_its_node(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start(&b, 3);
    engine_node(&b, "n1", 4000, 4096, 10, "");
    put_class(&b);
    fake_put(b.client.fake, PVS, "v", FREE_VOLUME);
    fake_put(b.client.fake, PVCS, "c", PVC("", ""));
    client_fixture_run(&b.client, SEC);
    engine_pod(&b, "p", 100, 100, CLAIM);
    client_fixture_run(&b.client, 5 * SEC);
    assert_contains(fake_find(b.client.fake, PVS, "v"), "\"claimRef\"");
    assert_string_equal(engine_get(&b, "p", "spec.nodeName"), "");
    fake_put(b.client.fake, PVCS, "c", PVC(DONE, ",\"volumeName\":\"v\""));
    client_fixture_run(&b.client, 5 * SEC);
    assert_string_equal(engine_get(&b, "p", "spec.nodeName"), "n1");
    engine_verify(&b);
}

static void test_a_pod_waits_for_its_claim(void **state)
{
    CLEANUP(engine_stop) struct engine_fixture b;

    (void)state;
    engine_start(&b, 4);
    engine_node(&b, "n1", 4000, 4096, 10, "");
    put_class(&b);
    client_fixture_run(&b.client, SEC);
    engine_pod(&b, "p", 100, 100, CLAIM);
    client_fixture_run(&b.client, 30 * SEC);
    assert_contains(fake_find(b.client.fake, PODS, "p"),
                    "0/1 nodes are available: persistentvolumeclaim \\\"c\\\" not found.");
    fake_put(b.client.fake, PVCS, "c", PVC("", "")); /* the event is worth an attempt */
    client_fixture_run(&b.client, 15 * SEC);
    assert_contains(fake_find(b.client.fake, PVCS, "c"), "selected-node\":\"n1\"");
    /* The provisioner gives up: the pod is tried again, and says so again. */
    fake_put(b.client.fake, PVCS, "c", PVC("", ""));
    client_fixture_run(&b.client, 15 * SEC);
    assert_contains(fake_find(b.client.fake, PVCS, "c"), "selected-node\":\"n1\"");
    assert_string_equal(engine_get(&b, "p", "spec.nodeName"), "");
    fake_delete(b.client.fake, PODS, "p"); /* while its claim is being provisioned */
    client_fixture_run(&b.client, 5 * SEC);
    engine_verify(&b);
}

/* ---- a pod that waits with a volume in its hands --------------------------------------------- */

static struct ks_env stub_permit_env;

static int stub_permit_create(const struct ks_env *env, const void *args, void **ret_self,
                              struct kerr *err)
{
    (void)args, (void)err;
    stub_permit_env = *env;
    *ret_self = &stub_permit_env;
    return 0;
}

static enum ks_code stub_permit_permit(void *self, const struct pod *p, const char *node,
                                       nsec_t *ret_timeout, struct ks_texts *why)
{
    (void)self, (void)node, (void)why;
    *ret_timeout = 60 * SEC;
    return streq(p->obj.meta.name, "p") ? KS_WAIT : KS_SUCCESS;
}

static const struct ks_plugin stub_permit = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "StubPermit",
    .create = stub_permit_create,
    .permit = stub_permit_permit,
};

struct lobby {
    struct engine_fixture b;
    struct ks_registered table[PROFILE_PLUGINS_MAX + 1];
    struct arena *arena;
};

/* One volume, which p waits with; q wants one too. The configuration is another one since. */
static void lobby_init(struct lobby *l, uint64_t seed)
{
    struct profile_config c;
    struct kerr err = { 0 };
    uint32_t n = 0;

    *l = (struct lobby){ .arena = arena_new() };
    for (; ks_registry[n].plugin; n++)
        l->table[n] = ks_registry[n];
    l->table[n] = (struct ks_registered){ &stub_permit, 0, true };
    engine_start_with(&l->b, seed, l->table);
    engine_node(&l->b, "n1", 4000, 4096, 10, "");
    fake_put(l->b.client.fake, CLASSES, "wait",
             "{\"provisioner\":\"kubernetes.io/no-provisioner\","
             "\"volumeBindingMode\":\"WaitForFirstConsumer\"}");
    fake_put(l->b.client.fake, PVS, "v", FREE_VOLUME);
    fake_put(l->b.client.fake, PVCS, "c", PVC("", ""));
    fake_put(l->b.client.fake, PVCS, "d", PVC("", ""));
    client_fixture_run(&l->b.client, SEC);
    engine_pod(&l->b, "p", 100, 100, CLAIM);
    client_fixture_run(&l->b.client, SEC);
    assert_int_equal(scheduler_stats(l->b.s).waiting, 1);
    c = profile_config_default(l->table, "koord-scheduler", l->arena);
    assert_int_equal(
        scheduler_reload(l->b.s, &(struct scheduler_opts){ .profiles = &c, .nprofiles = 1 }, &err),
        0);
    engine_pod(&l->b, "q", 100, 100,
               ",\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"d\"}}]");
    client_fixture_run(&l->b.client, 3 * SEC);
}

static void lobby_fini_p(struct lobby *l)
{
    engine_stop_p(&l->b);
    arena_free(l->arena);
}

static struct kuid uid_of_p(const struct lobby *l)
{
    const char *text = engine_get(&l->b, "p", "metadata.uid");
    return kuid_parse(text, strlen(text));
}

static const char *owner_of_v(const struct lobby *l)
{
    const char *json = fake_find(l->b.client.fake, PVS, "v");
    return strstr(json, "\"name\":\"c\"") ? "c" : strstr(json, "\"name\":\"d\"") ? "d" : "";
}

static void test_a_new_configuration_knows_who_has_a_volume(void **state)
{
    CLEANUP(lobby_fini) struct lobby l;

    (void)state;
    lobby_init(&l, 5);
    assert_string_equal(owner_of_v(&l), "");
    assert_contains(engine_condition(&l.b, "q", "message"),
                    "1 node(s) didn't find available persistent volumes to bind");
    ks_allow(&stub_permit_env, uid_of_p(&l), "StubPermit");
    client_fixture_run(&l.b.client, 3 * SEC);
    assert_string_equal(owner_of_v(&l), "c");
    fake_put(l.b.client.fake, PVCS, "c", PVC(DONE, ",\"volumeName\":\"v\""));
    client_fixture_run(&l.b.client, 30 * SEC);
    assert_string_equal(engine_node_of(&l.b, "p"), "n1");
    assert_string_equal(engine_node_of(&l.b, "q"), "");
    assert_string_equal(owner_of_v(&l), "c");
    engine_verify(&l.b);
}

static void test_a_volume_that_is_given_back_finds_its_next_pod(void **state)
{
    CLEANUP(lobby_fini) struct lobby l;

    (void)state;
    lobby_init(&l, 6);
    assert_string_equal(owner_of_v(&l), "");
    fake_delete(l.b.client.fake, PODS, "p");
    client_fixture_run(&l.b.client,
                       15 * SEC); /* long before pods that nobody woke are tried again */
    assert_string_equal(owner_of_v(&l), "d");
    engine_verify(&l.b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_claim_gets_its_volume_before_the_pod_its_node),
        cmocka_unit_test(test_a_pod_waits_for_its_claim),
        cmocka_unit_test(test_a_new_configuration_knows_who_has_a_volume),
        cmocka_unit_test(test_a_volume_that_is_given_back_finds_its_next_pod),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
