/* test_nodevolumelimits.c - how many volumes a node can attach (scheduler-core 8.14). */
#include "base/test/asserts.h"
#include "scheduler/test/volume_objects.h"

#define NAME                "NodeVolumeLimits"
#define TOO_MANY            "node(s) exceed max volume count"
#define CSI(driver, handle) "'csi':{'driver':'" driver "','volumeHandle':'" handle "'}"

static void limit(struct plugin_fixture *f, const char *node, const char *driver, int count)
{
    char text[512];
    fixture_put(f, &kind_csi_node,
                TEXT(text,
                     "{'metadata':{'name':'%s'},'spec':{'drivers':[{'name':'x','nodeID':'i'},"
                     "{'name':'%s','nodeID':'i','allocatable':{'count':%d}}]}}",
                     node, driver, count));
}
static void attach(struct plugin_fixture *f, const char *node, const char *driver,
                   const char *source)
{
    char text[512];
    static int n;
    fixture_put(f, &kind_volume_attachment,
                TEXT(text,
                     "{'metadata':{'name':'va%d'},'spec':{'attacher':'%s','nodeName':'%s',"
                     "'source':{%s}}}",
                     n++, driver, node, source));
}
static void start(struct plugin_fixture *f, void **state)
{
    fixture_init(f, state, NAME, NULL);
    vol_node(f, "a", "");
    vol_node(f, "b", "");
}

static void test_limit(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    limit(&f, "a", "d", 2);
    vol_bound(&f, "c1", "", CSI("d", "h1"));
    vol_bound(&f, "c2", "", CSI("d", "h2"));
    vol_bound(&f, "c3", "", CSI("d", "h3"));
    vol_running(&f, "q", "a", CLAIM("c1") "," CLAIM("c2"));
    vol_try(&f, CLAIM("c1"));
    assert_true(fixture_fits(&f, "a")); /* it is there already */
    vol_try(&f, CLAIM("c3"));
    assert_int_equal(fixture_code(&f, "a"), KS_UNSCHEDULABLE);
    assert_string_equal(fixture_why(&f, "a"), TOO_MANY);
    assert_true(fixture_fits(&f, "b")); /* no CSINode: no limit */
    limit(&f, "a", "d", 1);             /* too many are there: still nothing is added */
    vol_try(&f, CLAIM("c1"));
    assert_true(fixture_fits(&f, "a"));
    limit(&f, "a", "d", 3);
    vol_try(&f, CLAIM("c3"));
    assert_true(fixture_fits(&f, "a"));
    vol_try(&f, CLAIM("c1") "," CLAIM("c3"));
    assert_true(fixture_fits(&f, "a"));
}

static void test_other_drivers_do_not_count(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    limit(&f, "a", "d", 1);
    vol_bound(&f, "c1", "", CSI("e", "h1"));
    vol_bound(&f, "c2", "", CSI("e", "h2"));
    vol_bound(&f, "c3", "", CSI("d", "h1"));
    vol_bound(&f, "none", "", "'nfs':{}");
    vol_running(&f, "q", "a", CLAIM("c1") "," CLAIM("c2") "," CLAIM("none"));
    vol_try(&f, CLAIM("c3"));
    assert_true(fixture_fits(&f, "a"));
    vol_running(&f, "r", "a", CLAIM("c3"));
    vol_try(&f, CLAIM("c1") "," CLAIM("none")); /* no limit for its driver, or no driver */
    assert_true(f.a.skip_filter >> profile_slot(f.profile, NAME) & 1);
}

static void test_one_volume_of_several_pods(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    limit(&f, "a", "d", 2);
    vol_bound(&f, "c1", "", CSI("d", "h1"));
    vol_bound(&f, "c2", "", CSI("d", "h2"));
    for (int i = 0; i < 5; i++) {
        char name[8];
        vol_running(&f, TEXT(name, "q%d", i), "a", CLAIM("c1"));
    }
    vol_try(&f, CLAIM("c2"));
    assert_true(fixture_fits(&f, "a"));
    vol_try(&f, CLAIM("c2") ",{'name':'again','persistentVolumeClaim':{'claimName':'c2'}}");
    assert_true(fixture_fits(&f, "a"));
}

static void test_attachments_count_once(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    limit(&f, "a", "d", 2);
    limit(&f, "b", "d", 2);
    vol_bound(&f, "c1", "", CSI("d", "h1"));
    vol_bound(&f, "c2", "", CSI("d", "h2"));
    vol_bound(&f, "c3", "", CSI("d", "h3"));
    vol_running(&f, "q", "a", CLAIM("c1"));
    attach(&f, "a", "d", "'persistentVolumeName':'v-c1'"); /* of that pod */
    vol_try(&f, CLAIM("c3"));
    assert_true(fixture_fits(&f, "a"));
    attach(&f, "a", "d", "'persistentVolumeName':'v-c2'"); /* of a pod that went */
    attach(&f, "a", "d", "'persistentVolumeName':'gone'");
    vol_try(&f, CLAIM("c3"));
    assert_false(fixture_fits(&f, "a"));
    assert_true(fixture_fits(&f, "b"));
    vol_try(&f, CLAIM("c2"));
    assert_true(fixture_fits(&f, "a")); /* is attached */
    attach(&f, "b", "d", "'inlineVolumeSpec':{'csi':{'driver':'d','volumeHandle':'x'}}");
    attach(&f, "b", "d", "'inlineVolumeSpec':{'csi':{'driver':'d','volumeHandle':'y'}}");
    vol_try(&f, CLAIM("c3"));
    assert_false(fixture_fits(&f, "b"));
}

static void test_a_volume_that_we_hear_of_late(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    limit(&f, "a", "d", 1);
    vol_bound(&f, "c", "", CSI("d", "h"));
    attach(&f, "a", "d", "'persistentVolumeName':'late'");
    vol_try(&f, CLAIM("c"));
    assert_true(fixture_fits(&f, "a"));
    vol_pv(&f, "late", "", CSI("d", "h2"), "Bound");
    vol_try(&f, CLAIM("c"));
    assert_false(fixture_fits(&f, "a"));
}

static void test_what_was_counted_follows_the_pods(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    limit(&f, "a", "d", 2);
    vol_bound(&f, "c1", "", CSI("d", "h1"));
    vol_bound(&f, "c2", "", CSI("d", "h2"));
    vol_bound(&f, "c3", "", CSI("d", "h3"));
    vol_running(&f, "q", "a", CLAIM("c1"));
    vol_running(&f, "r", "a", CLAIM("c2"));
    vol_running(&f, "s", "a", CLAIM("c1"));
    vol_try(&f, CLAIM("c3"));
    assert_false(fixture_fits(&f, "a"));
    nodecache_remove_pod(f.cache, kuid_parse("r", 1));
    vol_try(&f, CLAIM("c3"));
    assert_true(fixture_fits(&f, "a"));
    vol_running(&f, "r", "a", CLAIM("c2"));
    vol_try(&f, CLAIM("c3"));
    assert_false(fixture_fits(&f, "a"));
}

static void test_claims_to_be_provisioned(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    limit(&f, "a", "d", 1);
    vol_class(&f, "s", "d", "WaitForFirstConsumer", "");
    vol_pvc(&f, "c1", "", "'storageClassName':'s'", "Pending");
    vol_pvc(&f, "c2", "", "'storageClassName':'s'", "Pending");
    vol_pvc(&f, "c3", "", "'storageClassName':'gone'", "Pending");
    vol_running(&f, "q", "a", CLAIM("c1"));
    vol_try(&f, CLAIM("c1"));
    assert_true(fixture_fits(&f, "a"));
    vol_try(&f, CLAIM("c2"));
    assert_false(fixture_fits(&f, "a"));
    vol_try(&f, CLAIM("c3"));
    assert_true(fixture_fits(&f, "a"));
    vol_pv(&f, "v", "", CSI("d", "h"), "Bound"); /* c1 gets its volume */
    vol_pvc(&f, "c1", "", "'storageClassName':'s','volumeName':'v'", "Bound");
    attach(&f, "a", "d", "'persistentVolumeName':'v'");
    vol_try(&f, CLAIM("c2"));
    assert_false(fixture_fits(&f, "a"));
    limit(&f, "a", "d", 2);
    vol_try(&f, CLAIM("c2"));
    assert_true(fixture_fits(&f, "a"));
}

static void test_in_tree_volumes_moved(void **state)
{
    static const struct {
        const char *driver, *there, *same, *another;
    } cases[] = {
        { "ebs.csi.aws.com", "'awsElasticBlockStore':{'volumeID':'aws://us-1a/vol-1'}",
          "'csi':{'driver':'ebs.csi.aws.com','volumeHandle':'vol-1'}",
          "'awsElasticBlockStore':{'volumeID':'vol-2'}" },
        { "pd.csi.storage.gke.io", "'gcePersistentDisk':{'pdName':'d1'}",
          "'gcePersistentDisk':{'pdName':'d1'}", "'gcePersistentDisk':{'pdName':'d2'}" },
        { "disk.csi.azure.com", "'azureDisk':{'diskName':'a','diskURI':'/s/a'}",
          "'csi':{'driver':'disk.csi.azure.com','volumeHandle':'/s/a'}",
          "'azureDisk':{'diskName':'b','diskURI':'/s/b'}" },
        { "cinder.csi.openstack.org", "'cinder':{'volumeID':'1'}", "'cinder':{'volumeID':'1'}",
          "'cinder':{'volumeID':'2'}" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(fixture_fini) struct plugin_fixture f;
        char inlined[256];
        start(&f, state);
        limit(&f, "a", cases[i].driver, 1);
        vol_bound(&f, "there", "", cases[i].there);
        vol_bound(&f, "same", "", cases[i].same);
        vol_bound(&f, "another", "", cases[i].another);
        vol_running(&f, "q", "a", CLAIM("there"));
        vol_try(&f, CLAIM("same"));
        if (!fixture_fits(&f, "a"))
            fail_msg("case %zu: same", i);
        vol_try(&f, CLAIM("another"));
        if (fixture_fits(&f, "a"))
            fail_msg("case %zu: another", i);
        vol_try(&f, TEXT(inlined, "{'name':'v',%s}", cases[i].another));
        if (fixture_fits(&f, "a"))
            fail_msg("case %zu: inline", i);
    }
}

static void test_provisioners_moved(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    limit(&f, "a", "ebs.csi.aws.com", 0);
    limit(&f, "b", "kubernetes.io/vsphere-volume", 0);
    vol_class(&f, "s", "kubernetes.io/aws-ebs", "WaitForFirstConsumer", "");
    vol_class(&f, "t", "kubernetes.io/vsphere-volume", "WaitForFirstConsumer", "");
    vol_pvc(&f, "c", "", "'storageClassName':'s'", "Pending");
    vol_pvc(&f, "d", "", "'storageClassName':'t'", "Pending");
    vol_try(&f, CLAIM("c"));
    assert_false(fixture_fits(&f, "a"));
    vol_try(&f, CLAIM("d"));
    assert_true(fixture_fits(&f, "b")); /* moved, but not counted */
}

static void test_portworx_only_where_annotated(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *volume = "{'name':'v','portworxVolume':{'volumeID':'2'}}";

    start(&f, state);
    limit(&f, "a", "pxd.portworx.com", 1);
    limit(&f, "b", "pxd.portworx.com", 0);
    vol_running(&f, "q", "a", "{'name':'v','portworxVolume':{'volumeID':'1'}}");
    vol_try(&f, volume);
    assert_int_equal(f.a.feasible, 2);
    fixture_put(&f, &kind_csi_node,
                "{'metadata':{'name':'a','annotations':{'storage.alpha.kubernetes.io/migrated-"
                "plugins':'kubernetes.io/cinder,kubernetes.io/portworx-volume'}},'spec':{'drivers':"
                "[{'name':'pxd.portworx.com','nodeID':'i','allocatable':{'count':1}}]}}");
    vol_try(&f, volume);
    assert_false(fixture_fits(&f, "a"));
}

static void test_pods_overlay_gone_or_there(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    limit(&f, "a", "d", 1);
    vol_bound(&f, "c1", "", CSI("d", "h1"));
    vol_bound(&f, "c2", "", CSI("d", "h2"));
    vol_running(&f, "q", "a", CLAIM("c1"));
    vol_try(&f, CLAIM("c2"));
    assert_false(fixture_fits(&f, "a"));
    const struct pod *q = nodecache_nodes(f.cache)->pods[fixture_row(&f, "a")].items[0];
    uint32_t row = fixture_row(&f, "a");
    ks_overlay_remove_pod(f.a.overlay, row, q);
    assert_true(attempt_fits(&f.a, row, NULL));
    ks_overlay_restore_pod(f.a.overlay, row, q);
    assert_false(attempt_fits(&f.a, row, NULL));
    ks_overlay_rollback(f.a.overlay, 0);

    nodecache_remove_pod(f.cache, q->obj.meta.uid);
    vol_try(&f, CLAIM("c2"));
    assert_true(fixture_fits(&f, "a"));
    fixture_nominate(
        &f, "{'metadata':{'name':'n','namespace':'ns','uid':'n'},'spec':{'volumes':[" CLAIM(
                "c1") "]},'status':{'nominatedNodeName':'a'}}");
    vol_try(&f, CLAIM("c2"));
    assert_false(fixture_fits(&f, "a"));
    assert_string_equal(fixture_why(&f, "a"), TOO_MANY);
}

static void test_bad_input(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    limit(&f, "a", "ebs.csi.aws.com", 0);
    vol_try(&f, CLAIM("gone"));
    assert_int_equal(fixture_code(&f, "a"), KS_UNRESOLVABLE);
    assert_string_equal(fixture_why(&f, "a"), "persistentvolumeclaim \"gone\" not found");
    vol_bound(&f, "c", "", ""); /* a volume without a source */
    vol_try(&f, CLAIM("c"));
    assert_true(fixture_fits(&f, "a"));
    vol_bound(&f, "d", "", "'awsElasticBlockStore':{'volumeID':'aws://a/b/c'}");
    vol_try(&f, CLAIM("d"));
    assert_true(fixture_fits(&f, "a"));
    vol_running(&f, "q", "a", CLAIM("gone")); /* of others it does not matter */
    vol_bound(&f, "e", "", "'awsElasticBlockStore':{'volumeID':'vol-1'}");
    vol_try(&f, CLAIM("e"));
    assert_string_equal(fixture_why(&f, "a"), TOO_MANY);
    vol_pvc(&f, "p-e", "", "", "Pending"); /* somebody else's, under the name of an ephemeral one */
    vol_try(&f, "{'name':'e','ephemeral':{}}");
    assert_string_equal(fixture_why(&f, "a"),
                        "PVC ns/p-e was not created for pod ns/p (pod is not owner)");
}

static void test_hints(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    char text[512];
#define NODE(drivers) "{'metadata':{'name':'a'},'spec':{'drivers':[" drivers "]}}"
#define DRIVER(more)  "{'name':'d','nodeID':'i'" more "}"
#define WORTH(res, action, kind, before, now, volumes) \
    vol_worth(&f, NAME, res, action, kind, before, now, volumes)

    start(&f, state);
    const char *two = NODE(DRIVER(",'allocatable':{'count':2}"));
    const char *three = NODE(DRIVER(",'allocatable':{'count':3}"));
    assert_true(WORTH(KS_RES_CSI_NODE, KS_ADD, &kind_csi_node, NULL, two, ""));
    assert_true(WORTH(KS_RES_CSI_NODE, KS_UPDATE, &kind_csi_node, two, three, ""));
    assert_true(WORTH(KS_RES_CSI_NODE, KS_UPDATE, &kind_csi_node, two, NODE(DRIVER("")), ""));
    assert_false(WORTH(KS_RES_CSI_NODE, KS_UPDATE, &kind_csi_node, three, two, ""));
    assert_true(WORTH(KS_RES_ASSIGNED_POD, KS_DELETE, &kind_pod,
                      vol_pod(text, sizeof text, "q", "a", CLAIM("x")), NULL, CLAIM("c")));
    assert_false(WORTH(KS_RES_ASSIGNED_POD, KS_DELETE, &kind_pod,
                       vol_pod(text, sizeof text, "q", "a", ""), NULL, CLAIM("c")));
    assert_true(WORTH(KS_RES_PVC, KS_ADD, &kind_pvc, NULL,
                      "{'metadata':{'name':'c','namespace':'ns'}}", CLAIM("c")));
    assert_false(WORTH(KS_RES_PVC, KS_ADD, &kind_pvc, NULL,
                       "{'metadata':{'name':'x','namespace':'ns'}}", CLAIM("c")));
    const char *va = "{'metadata':{'name':'x'},'spec':{'attacher':'cinder.csi.openstack.org',"
                     "'nodeName':'a','source':{}}}";
    assert_true(
        WORTH(KS_RES_VOLUME_ATTACHMENT, KS_DELETE, &kind_volume_attachment, va, NULL, CLAIM("c")));
    assert_true(WORTH(KS_RES_VOLUME_ATTACHMENT, KS_DELETE, &kind_volume_attachment, va, NULL,
                      "{'name':'v','cinder':{'volumeID':'1'}}"));
    assert_false(WORTH(KS_RES_VOLUME_ATTACHMENT, KS_DELETE, &kind_volume_attachment, va, NULL,
                       "{'name':'v','azureDisk':{'diskURI':'1'}}"));
}

static void test_generation_of_a_kind(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    assert_int_equal(objects_generation_of(f.objects, &kind_pv), 0);
    vol_pv(&f, "v", "", "", "Bound");
    uint64_t before = objects_generation_of(f.objects, &kind_pv);
    vol_pvc(&f, "c", "", "", "Bound");
    assert_int_equal(objects_generation_of(f.objects, &kind_pv), before);
    vol_pv(&f, "v", "", "", "Bound");
    assert_that(objects_generation_of(f.objects, &kind_pv), >, before);
    before = objects_generation_of(f.objects, &kind_pv);
    assert_true(objects_remove(f.objects, objects_get(f.objects, &kind_pv, NULL, "v")));
    assert_that(objects_generation_of(f.objects, &kind_pv), >, before);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_limit),
        FIXTURE_TEST(test_other_drivers_do_not_count),
        FIXTURE_TEST(test_one_volume_of_several_pods),
        FIXTURE_TEST(test_attachments_count_once),
        FIXTURE_TEST(test_a_volume_that_we_hear_of_late),
        FIXTURE_TEST(test_what_was_counted_follows_the_pods),
        FIXTURE_TEST(test_claims_to_be_provisioned),
        FIXTURE_TEST(test_in_tree_volumes_moved),
        FIXTURE_TEST(test_provisioners_moved),
        FIXTURE_TEST(test_portworx_only_where_annotated),
        FIXTURE_TEST(test_pods_overlay_gone_or_there),
        FIXTURE_TEST(test_bad_input),
        FIXTURE_TEST(test_hints),
        FIXTURE_TEST(test_generation_of_a_kind),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
