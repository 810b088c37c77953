/* test_volumezone.c - zones that volumes and nodes name (scheduler-core 8.15). */
#include "scheduler/test/volume_objects.h"

#define NAME   "VolumeZone"
#define ZONE   "'topology.kubernetes.io/zone'"
#define REGION "'topology.kubernetes.io/region'"
#define OLD    "'failure-domain.beta.kubernetes.io/zone'"

static void test_zones(void **state)
{
    static const struct {
        const char *volume, *node;
        bool fits;
    } cases[] = {
        { ZONE ":'us-1a'", ZONE ":'us-1a'", true },
        { ZONE ":'us-1a'", ZONE ":'us-1b'", false },
        { ZONE ":'us-1a__us-1b'", ZONE ":'us-1b'", true },
        { ZONE ":' us-1a __us-1b'", ZONE ":'us-1a'", true },
        { ZONE ":'us-1a__us-1b'", ZONE ":'us-1'", false },
        { ZONE ":'us-1a'", "", true },              /* the node says nothing */
        { ZONE ":'us-1a'", REGION ":'us'", false }, /* it says something, but not this */
        { OLD ":'us-1a'", ZONE ":'us-1a'", true },  /* the new name does as well */
        { OLD ":'us-1a'", ZONE ":'us-1b'", false },
        { OLD ":'us-1a'", OLD ":'us-1a'," ZONE ":'x'", true }, /* the same name goes first */
        { ZONE ":'us-1a'", OLD ":'us-1a'", false },
        { ZONE ":'us-1a'," REGION ":'us'", ZONE ":'us-1a'," REGION ":'eu'", false },
        { ZONE ":'us-1a__'", ZONE ":'us-1b'", true }, /* not understood: says nothing */
        { "", ZONE ":'us-1b'", true },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(fixture_fini) struct plugin_fixture f;
        fixture_init(&f, state, NAME, NULL);
        vol_node(&f, "a", cases[i].node);
        vol_bound(&f, "c", cases[i].volume, "");
        vol_try(&f, CLAIM("c"));
        if (fixture_fits(&f, "a") != cases[i].fits)
            fail_msg("case %zu", i);
        if (!cases[i].fits) {
            assert_int_equal(fixture_code(&f, "a"), KS_UNRESOLVABLE);
            assert_string_equal(fixture_why(&f, "a"), "node(s) had no available volume zone");
        }
    }
}

static void test_every_volume_counts(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    vol_node(&f, "a", ZONE ":'a'");
    vol_node(&f, "b", ZONE ":'b'");
    vol_bound(&f, "c", ZONE ":'a__b'", "");
    vol_bound(&f, "d", ZONE ":'b'", "");
    vol_try(&f, CLAIM("c") "," CLAIM("d"));
    assert_false(fixture_fits(&f, "a"));
    assert_true(fixture_fits(&f, "b"));
    vol_node(&f, "a", ZONE ":'b'"); /* the node's label changes */
    vol_try(&f, CLAIM("c") "," CLAIM("d"));
    assert_true(fixture_fits(&f, "a"));
}

static void test_claims_without_volume(void **state)
{
    static const struct {
        const char *spec, *text; /* NULL: fits */
    } cases[] = {
        { "'storageClassName':'wait'", NULL },
        { "'accessModes':[]", "PersistentVolumeClaim had no pv name and storageClass name" },
        { "'storageClassName':''", "PersistentVolumeClaim had no pv name and storageClass name" },
        { "'storageClassName':'none'", "VolumeBindingMode not set for StorageClass \"none\"" },
        { "'storageClassName':'now'", "PersistentVolume had no name" },
        { "'storageClassName':'gone'", "storageclass.storage.k8s.io \"gone\" not found" },
        { "'volumeName':'gone'", "persistentvolume \"gone\" not found" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(fixture_fini) struct plugin_fixture f;
        fixture_init(&f, state, NAME, NULL);
        vol_node(&f, "a", ZONE ":'a'");
        vol_class(&f, "wait", "x", "WaitForFirstConsumer", "");
        vol_class(&f, "now", "x", "Immediate", "");
        vol_class(&f, "none", "x", "", "");
        vol_pvc(&f, "c", "", cases[i].spec, "Pending");
        vol_try(&f, CLAIM("c"));
        assert_int_equal(fixture_code(&f, "a"), cases[i].text ? KS_UNRESOLVABLE : KS_SUCCESS);
        if (cases[i].text)
            assert_string_equal(fixture_why(&f, "a"), cases[i].text);
    }
}

static void test_missing_claim_and_nothing_to_check(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    vol_node(&f, "a", ZONE ":'a'");
    vol_try(&f, "{'name':'e','ephemeral':{}}");
    assert_string_equal(fixture_why(&f, "a"), "persistentvolumeclaim \"p-e\" not found");
    vol_bound(&f, "c", "'x':'y'", "");
    vol_try(&f, CLAIM("c"));
    assert_true(f.a.skip_filter >> profile_slot(f.profile, NAME) & 1);
    vol_try(&f, "");
    assert_true(f.a.skip_filter >> profile_slot(f.profile, NAME) & 1);
}

static void test_hints(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
#define WORTH(res, action, kind, before, now) \
    vol_worth(&f, NAME, res, action, kind, before, now, CLAIM("c") ",{'name':'e','ephemeral':{}}")
    assert_true(WORTH(KS_RES_STORAGE_CLASS, KS_ADD, &kind_storage_class, NULL,
                      "{'metadata':{'name':'s'},'volumeBindingMode':'WaitForFirstConsumer'}"));
    assert_false(WORTH(KS_RES_STORAGE_CLASS, KS_ADD, &kind_storage_class, NULL,
                       "{'metadata':{'name':'s'},'volumeBindingMode':'Immediate'}"));
    assert_true(WORTH(KS_RES_NODE, KS_NODE_LABEL, &kind_node, "{'metadata':{'name':'n'}}",
                      "{'metadata':{'name':'n'}}"));
    assert_true(WORTH(KS_RES_PVC, KS_UPDATE, &kind_pvc, "{'metadata':{'name':'c'}}",
                      "{'metadata':{'name':'c','namespace':'ns'}}"));
    assert_true(
        WORTH(KS_RES_PVC, KS_ADD, &kind_pvc, NULL, "{'metadata':{'name':'p-e','namespace':'ns'}}"));
    assert_false(
        WORTH(KS_RES_PVC, KS_ADD, &kind_pvc, NULL, "{'metadata':{'name':'x','namespace':'ns'}}"));
    assert_true(WORTH(KS_RES_PV, KS_ADD, &kind_pv, NULL, "{'metadata':{'name':'v'}}"));
    assert_false(WORTH(KS_RES_PV, KS_UPDATE, &kind_pv, "{'metadata':{'name':'v'}}",
                       "{'metadata':{'name':'v','labels':{'x':'y'}}}"));
    assert_true(WORTH(KS_RES_PV, KS_UPDATE, &kind_pv, "{'metadata':{'name':'v'}}",
                      "{'metadata':{'name':'v','labels':{" ZONE ":'y'}}}"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_zones),
        FIXTURE_TEST(test_every_volume_counts),
        FIXTURE_TEST(test_claims_without_volume),
        FIXTURE_TEST(test_missing_claim_and_nothing_to_check),
        FIXTURE_TEST(test_hints),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
