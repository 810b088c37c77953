/* test_volumes_engine.c - pods with claims through the whole scheduler, against the fake server. */
#include "scheduler/test/bed.h"

#define PVS     "/api/v1/persistentvolumes"
#define PVCS    "/api/v1/namespaces/ns/persistentvolumeclaims"
#define CLASSES "/apis/storage.k8s.io/v1/storageclasses"
#define CLAIM   ",\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"c\"}}]"
#define PVC(annotations, spec)                                          \
    "{\"metadata\":{\"namespace\":\"ns\",\"annotations\":{" annotations \
    "}},\"spec\":{\"storageClassName\":\"wait\"" spec "},\"status\":{\"phase\":\"Pending\"}}"
#define DONE "\"pv.kubernetes.io/bind-completed\":\"yes\""

static void put_class(struct bed *b)
{
    fake_put(b->rig.fake, CLASSES, "wait",
             "{\"provisioner\":\"d\",\"volumeBindingMode\":\"WaitForFirstConsumer\"}");
}

static void test_a_claim_gets_its_volume_before_the_pod_its_node(void **state)
{
    CLEANUP(bed_stop) struct bed b;

    (void)state;
    bed_start(&b, 3);
    bed_node(&b, "n1", 4000, 4096, 10, "");
    put_class(&b);
    fake_put(b.rig.fake, PVS, "v",
             "{\"spec\":{\"storageClassName\":\"wait\",\"capacity\":{\"storage\":\"1Gi\"}},"
             "\"status\":{\"phase\":\"Available\"}}");
    fake_put(b.rig.fake, PVCS, "c", PVC("", ""));
    rig_run(&b.rig, SEC);
    bed_pod(&b, "p", 100, 100, CLAIM);
    rig_run(&b.rig, 5 * SEC);
    assert_non_null(strstr(fake_find(b.rig.fake, PVS, "v"), "\"claimRef\""));
    assert_string_equal(bed_get(&b, "p", "spec.nodeName"), "");
    fake_put(b.rig.fake, PVCS, "c", PVC(DONE, ",\"volumeName\":\"v\""));
    rig_run(&b.rig, 5 * SEC);
    assert_string_equal(bed_get(&b, "p", "spec.nodeName"), "n1");
    bed_verify(&b);
}

static void test_a_pod_waits_for_its_claim(void **state)
{
    CLEANUP(bed_stop) struct bed b;

    (void)state;
    bed_start(&b, 4);
    bed_node(&b, "n1", 4000, 4096, 10, "");
    put_class(&b);
    rig_run(&b.rig, SEC);
    bed_pod(&b, "p", 100, 100, CLAIM);
    rig_run(&b.rig, 30 * SEC);
    assert_non_null(strstr(fake_find(b.rig.fake, PODS, "p"),
                           "0/1 nodes are available: persistentvolumeclaim \\\"c\\\" not found."));
    fake_put(b.rig.fake, PVCS, "c", PVC("", "")); /* the event is worth an attempt */
    rig_run(&b.rig, 15 * SEC);
    assert_non_null(strstr(fake_find(b.rig.fake, PVCS, "c"), "selected-node\":\"n1\""));
    /* The provisioner gives up: the pod is tried again, and says so again. */
    fake_put(b.rig.fake, PVCS, "c", PVC("", ""));
    rig_run(&b.rig, 15 * SEC);
    assert_non_null(strstr(fake_find(b.rig.fake, PVCS, "c"), "selected-node\":\"n1\""));
    assert_string_equal(bed_get(&b, "p", "spec.nodeName"), "");
    fake_delete(b.rig.fake, PODS, "p"); /* while its claim is being provisioned */
    rig_run(&b.rig, 5 * SEC);
    bed_verify(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_claim_gets_its_volume_before_the_pod_its_node),
        cmocka_unit_test(test_a_pod_waits_for_its_claim),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
