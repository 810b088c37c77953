/* test_volumerestrictions.c - disks and claims that cannot be shared (scheduler-core 8.13). */
#include "scheduler/test/volume_objects.h"

#include "scheduler/plugins/volume/rows.h"

#define NAME            "VolumeRestrictions"
#define GCE(id, more)   "{'name':'d','gcePersistentDisk':{'pdName':'" id "'" more "}}"
#define EBS(id, more)   "{'name':'d','awsElasticBlockStore':{'volumeID':'" id "'" more "}}"
#define ISCSI(id, more) "{'name':'d','iscsi':{'iqn':'" id "'" more "}}"
#define RBD(monitors, pool, image, more) \
    "{'name':'d','rbd':{'monitors':[" monitors "],'pool':'" pool "','image':'" image "'" more "}}"
#define RO ",'readOnly':true"

static void test_disks(void **state)
{
    static const struct {
        const char *there, *asked;
        bool fits;
    } cases[] = {
        { GCE("x", ""), GCE("x", ""), false },
        { GCE("x", RO), GCE("x", ""), false },
        { GCE("x", RO), GCE("x", RO), true },
        { GCE("x", ""), GCE("y", ""), true },
        { EBS("x", RO), EBS("x", RO), false },
        { EBS("x", ""), GCE("x", ""), true },
        { ISCSI("x", ""), ISCSI("x", RO), false },
        { ISCSI("x", RO), ISCSI("x", RO), true },
        { RBD("'a','b'", "p", "i", ""), RBD("'b','c'", "p", "i", ""), false },
        { RBD("'a','b'", "p", "i", ""), RBD("'c'", "p", "i", ""), true },
        { RBD("'a'", "p", "i", ""), RBD("'a'", "q", "i", ""), true },
        { RBD("'a'", "p", "i", RO), RBD("'a'", "p", "i", RO), true },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(fixture_fini) struct plugin_fixture f;
        fixture_init(&f, state, NAME, NULL);
        vol_node(&f, "a", "");
        vol_node(&f, "b", "");
        vol_running(&f, "q", "a", cases[i].there);
        vol_try(&f, cases[i].asked);
        if (fixture_fits(&f, "a") != cases[i].fits)
            fail_msg("case %zu", i);
        assert_true(fixture_fits(&f, "b"));
        if (!cases[i].fits) {
            assert_int_equal(fixture_code(&f, "a"), KS_UNSCHEDULABLE);
            assert_string_equal(fixture_why(&f, "a"), "node(s) had no available disk");
        }
    }
}

static void test_rows_that_come_and_go(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    vol_node(&f, "a", "");
    vol_node(&f, "b", "");
    vol_running(&f, "q", "b", EBS("x", ""));
    vol_try(&f, EBS("x", ""));
    assert_false(fixture_fits(&f, "b"));
    nodecache_remove_node(f.cache, "a"); /* b moves to the first row */
    vol_try(&f, EBS("x", ""));
    assert_false(fixture_fits(&f, "b"));
    nodecache_remove_pod(f.cache, kuid_parse("q", 1));
    vol_try(&f, EBS("x", ""));
    assert_true(fixture_fits(&f, "b"));
}

static bool is_ebs(const struct pod_volume *v)
{
    return v->ebs;
}

static void count_ebs(void *self, struct ks_fill *f)
{
    (void)self;
    f->column[0] = volumes_of_pods(&f->nodes->pods[f->row], is_ebs);
}

static void test_counts_follow_the_rows(void **state)
{
    static const struct ks_row_data counts = { .columns = 1, .pods = true, .fill = count_ebs };
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const struct ks_nodes *nodes;
    struct rowset *set;

    fixture_init(&f, state, NAME, NULL);
    nodes = nodecache_nodes(f.cache);
    set = rowset_new(nodes, &counts, NULL, NULL, NULL);
    const struct ks_rows *r = rowset_rows(set);
    vol_node(&f, "a", "");
    vol_node(&f, "b", "");
    vol_running(&f, "q", "b", EBS("x", "") "," GCE("y", ""));
    rowset_sync(set, 0);
    assert_int_equal(r->column[0][fixture_row(&f, "a")], 0);
    assert_int_equal(r->column[0][fixture_row(&f, "b")], 1);
    nodecache_remove_node(f.cache, "a");
    vol_node(&f, "c", "");
    rowset_sync(set, 0);
    assert_int_equal(r->column[0][fixture_row(&f, "b")], 1);
    assert_int_equal(r->column[0][fixture_row(&f, "c")], 0);
    for (int i = 0; i < KS_JOURNAL; i++) { /* more changes than the journal remembers */
        vol_running(&f, "r", "c", EBS("x", ""));
        nodecache_remove_pod(f.cache, kuid_parse("r", 1));
    }
    nodecache_remove_pod(f.cache, kuid_parse("q", 1));
    vol_running(&f, "s", "c", EBS("x", ""));
    rowset_sync(set, 0);
    assert_int_equal(r->column[0][fixture_row(&f, "b")], 0);
    assert_int_equal(r->column[0][fixture_row(&f, "c")], 1);
    rowset_free(set);
}

#define RWOP_TEXT                                                                                 \
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already " \
    "in-use by another pod"

static void test_claim_of_one_pod(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    int slot;

    fixture_init(&f, state, NAME, NULL);
    vol_node(&f, "a", "");
    vol_node(&f, "b", "");
    vol_pvc(&f, "c", "", "'accessModes':['ReadWriteOncePod']", "Bound");
    vol_try(&f, CLAIM("c"));
    assert_int_equal(f.a.feasible, 2);
    slot = profile_slot(f.profile, NAME);
    assert_true(f.a.skip_filter >> slot & 1);
    vol_running(&f, "q", "a", CLAIM("c"));
    vol_try(&f, CLAIM("c"));
    assert_int_equal(fixture_code(&f, "a"), KS_UNSCHEDULABLE);
    assert_string_equal(fixture_why(&f, "b"), RWOP_TEXT); /* on every node */

    /* Preemption may remove the user: then there is room on every node. */
    const struct pod *q = nodecache_nodes(f.cache)->pods[fixture_row(&f, "a")].items[0];
    uint32_t row = fixture_row(&f, "a");
    ks_overlay_remove_pod(f.a.overlay, row, q);
    assert_true(attempt_fits(&f.a, row, NULL));
    ks_overlay_restore_pod(f.a.overlay, row, q);
    assert_false(attempt_fits(&f.a, row, NULL));
    ks_overlay_rollback(f.a.overlay, 0);
    assert_string_equal(fixture_why(&f, "b"), RWOP_TEXT);
}

static void test_disks_overlay_gone_or_there(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    vol_node(&f, "a", "");
    vol_node(&f, "b", "");
    vol_running(&f, "q", "a", EBS("x", ""));
    vol_try(&f, EBS("x", ""));
    const struct pod *q = nodecache_nodes(f.cache)->pods[fixture_row(&f, "a")].items[0];
    uint32_t row = fixture_row(&f, "a");
    ks_overlay_remove_pod(f.a.overlay, row, q);
    assert_true(attempt_fits(&f.a, row, NULL));
    ks_overlay_rollback(f.a.overlay, 0);
    fixture_nominate(&f,
                     "{'metadata':{'name':'n','namespace':'ns','uid':'n'},'spec':{'volumes':[" EBS(
                         "x", "") "]},'status':{'nominatedNodeName':'b'}}");
    vol_try(&f, EBS("x", ""));
    assert_false(fixture_fits(&f, "b")); /* no disk was counted there */
    assert_string_equal(fixture_why(&f, "b"), "node(s) had no available disk");
}

static void test_claims_of_others(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    vol_node(&f, "a", "");
    vol_pvc(&f, "c", "", "'accessModes':['ReadWriteOncePod']", "Bound");
    vol_pvc(&f, "many", "", "'accessModes':['ReadWriteMany']", "Bound");
    fixture_pod(&f, "{'metadata':{'name':'q','namespace':'other','uid':'q'},'spec':{'nodeName':'a',"
                    "'volumes':[" CLAIM("c") "]}}");
    vol_running(&f, "r", "a", CLAIM("many"));
    vol_try(&f, CLAIM("c") "," CLAIM("many"));
    assert_true(fixture_fits(&f, "a"));
}

static void test_missing_claim(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, NULL);
    vol_node(&f, "a", "");
    vol_try(&f, CLAIM("gone"));
    assert_int_equal(fixture_code(&f, "a"), KS_UNRESOLVABLE);
    assert_string_equal(fixture_message(&f),
                        "0/1 nodes are available: persistentvolumeclaim \"gone\" not found.");
    vol_try(&f, "{'name':'e','emptyDir':{}}");
    assert_true(fixture_fits(&f, "a"));
}

static void test_hints(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    char text[1024];
    const char *mine = CLAIM("c") "," EBS("x", "");

    fixture_init(&f, state, NAME, NULL);
#define GONE(volumes)                                              \
    vol_worth(&f, NAME, KS_RES_ASSIGNED_POD, KS_DELETE, &kind_pod, \
              vol_pod(text, sizeof text, "q", "n", volumes), NULL, mine)
    assert_true(GONE(CLAIM("c")));
    assert_true(GONE(EBS("x", "")));
    assert_false(GONE(CLAIM("d")));
    assert_false(GONE(EBS("y", "")));
    assert_true(vol_worth(&f, NAME, KS_RES_NODE, KS_ADD, &kind_node, NULL,
                          "{'metadata':{'name':'n'}}", mine));
    assert_true(vol_worth(&f, NAME, KS_RES_PVC, KS_ADD, &kind_pvc, NULL,
                          "{'metadata':{'name':'c','namespace':'ns'}}", mine));
    assert_false(vol_worth(&f, NAME, KS_RES_PVC, KS_ADD, &kind_pvc, NULL,
                           "{'metadata':{'name':'c','namespace':'other'}}", mine));
    assert_false(vol_worth(&f, NAME, KS_RES_PVC, KS_ADD, &kind_pvc, NULL,
                           "{'metadata':{'name':'d','namespace':'ns'}}", mine));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_disks),
        FIXTURE_TEST(test_rows_that_come_and_go),
        FIXTURE_TEST(test_counts_follow_the_rows),
        FIXTURE_TEST(test_claim_of_one_pod),
        FIXTURE_TEST(test_claims_of_others),
        FIXTURE_TEST(test_disks_overlay_gone_or_there),
        FIXTURE_TEST(test_missing_claim),
        FIXTURE_TEST(test_hints),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
