/* sim_volumes.c - PersistentVolumes and claims find each other, on the virtual loop, with lost,
 * refused and slow answers. */
#include "base/test/asserts.h"
#include "sim_cluster.h"

#include <stdio.h>

#include "api/storage.h"

static void make_pv(struct sim *s, const char *name, const char *size, const char *class,
                    const char *policy, const char *more)
{
    char json[800];

    (void)snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"v1\",\"kind\":\"PersistentVolume\",\"metadata\":{\"name\":\"%s\"},"
        "\"spec\":{\"capacity\":{\"storage\":\"%s\"},\"accessModes\":[\"ReadWriteOnce\"],"
        "\"storageClassName\":\"%s\",\"persistentVolumeReclaimPolicy\":\"%s\","
        "\"hostPath\":{\"path\":\"/x\"}%s}}",
        name, size, class, policy, more);
    assert_int_equal(sim_create(s, json), 201);
}

static void make_claim(struct sim *s, const char *name, const char *size, const char *class,
                       const char *more)
{
    char json[800];

    (void)snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"v1\",\"kind\":\"PersistentVolumeClaim\",\"metadata\":{\"name\":"
        "\"%s\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"storageClassName\":"
        "\"%s\",\"resources\":{\"requests\":{\"storage\":\"%s\"}}%s}}",
        name, class, size, more);
    assert_int_equal(sim_create(s, json), 201);
}

static const char *claim_text(struct sim *s, const char *name, const char *path)
{
    static char text[4][128];
    static unsigned next;
    char *out = text[next++ % 4];

    sim_text(s, &kind_pvc, "default", name, path, out, sizeof text[0]);
    return out;
}

static const char *volume_text(struct sim *s, const char *name, const char *path)
{
    static char text[4][128];
    static unsigned next;
    char *out = text[next++ % 4];

    sim_text(s, &kind_pv, NULL, name, path, out, sizeof text[0]);
    return out;
}

static void test_the_smallest_that_will_do(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 81);
    make_pv(&s, "big", "10Gi", "", "Retain", "");
    make_pv(&s, "small", "1Gi", "", "Retain", "");
    make_pv(&s, "fitting", "5Gi", "", "Retain", "");
    make_pv(&s, "other", "5Gi", "fast", "Retain", "");
    sim_run(&s, SEC);
    assert_string_equal(volume_text(&s, "big", "status.phase"), "Available");
    make_claim(&s, "c", "3Gi", "", "");
    sim_run(&s, SEC);
    assert_string_equal(claim_text(&s, "c", "spec.volumeName"), "fitting");
    assert_string_equal(claim_text(&s, "c", "status.phase"), "Bound");
    assert_string_equal(claim_text(&s, "c", "status.capacity.storage"), "5Gi");
    assert_string_equal(volume_text(&s, "fitting", "status.phase"), "Bound");
    assert_string_equal(volume_text(&s, "fitting", "spec.claimRef.name"), "c");
    assert_string_equal(volume_text(&s, "fitting", "spec.claimRef.uid"),
                        claim_text(&s, "c", "metadata.uid"));
    /* Nothing is left for this one, until something comes. */
    make_claim(&s, "late", "50Gi", "", "");
    sim_run(&s, 5 * SEC);
    assert_string_equal(claim_text(&s, "late", "status.phase"), "Pending");
    make_pv(&s, "huge", "100Gi", "", "Retain", "");
    sim_run(&s, SEC);
    assert_string_equal(claim_text(&s, "late", "spec.volumeName"), "huge");
    assert_string_equal(claim_text(&s, "late", "status.phase"), "Bound");
}

static void test_those_that_name_each_other(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 82);
    make_pv(&s, "kept", "9Gi", "", "Retain",
            ",\"claimRef\":{\"namespace\":\"default\",\"name\":\"mine\"}");
    make_pv(&s, "free", "1Gi", "", "Retain", "");
    make_claim(&s, "mine", "1Gi", "", "");
    sim_run(&s, SEC);
    assert_string_equal(claim_text(&s, "mine", "spec.volumeName"), "kept");
    assert_string_equal(claim_text(&s, "mine", "status.phase"), "Bound");
    make_claim(&s, "too-big", "5Gi", "", ",\"volumeName\":\"free\"");
    make_claim(&s, "taken", "1Gi", "", ",\"volumeName\":\"kept\"");
    sim_run(&s, SEC);
    assert_string_equal(claim_text(&s, "too-big", "status.phase"), "Pending");
    assert_string_equal(claim_text(&s, "taken", "status.phase"), "Pending");
    make_claim(&s, "asks", "1Gi", "", ",\"volumeName\":\"free\"");
    sim_run(&s, SEC);
    assert_string_equal(claim_text(&s, "asks", "status.phase"), "Bound");
    assert_string_equal(volume_text(&s, "free", "status.phase"), "Bound");
}

/* A claim does not get less than it asks for, though a volume is kept for it; it may have another.
 */
static void test_one_that_is_kept_must_do(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 84);
    make_pv(&s, "small", "1Gi", "", "Retain",
            ",\"claimRef\":{\"namespace\":\"default\",\"name\":\"c\"}");
    make_pv(&s, "block", "9Gi", "", "Retain",
            ",\"volumeMode\":\"Block\","
            "\"claimRef\":{\"namespace\":\"default\",\"name\":\"c\"}");
    make_claim(&s, "c", "5Gi", "", "");
    sim_run(&s, 5 * SEC);
    assert_string_equal(claim_text(&s, "c", "status.phase"), "Pending");
    assert_string_equal(volume_text(&s, "small", "status.phase"), "Available");
    make_pv(&s, "other", "5Gi", "", "Retain", "");
    sim_run(&s, SEC);
    assert_string_equal(claim_text(&s, "c", "spec.volumeName"), "other");
    assert_string_equal(claim_text(&s, "c", "status.phase"), "Bound");
    /* Its class is nobody's business. */
    make_pv(&s, "fast", "5Gi", "fast", "Retain",
            ",\"claimRef\":{\"namespace\":\"default\",\"name\":\"d\"}");
    make_claim(&s, "d", "5Gi", "", "");
    sim_run(&s, SEC);
    assert_string_equal(claim_text(&s, "d", "spec.volumeName"), "fast");
}

static void test_one_that_waits_for_its_pod(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char patch[400];

    (void)state;
    sim_begin(&s, 83);
    assert_int_equal(sim_create(&s,
                                "{\"apiVersion\":\"storage.k8s.io/v1\",\"kind\":\"StorageClass\","
                                "\"metadata\":{\"name\":\"local\"},\"provisioner\":"
                                "\"kubernetes.io/no-provisioner\",\"volumeBindingMode\":"
                                "\"WaitForFirstConsumer\"}"),
                     201);
    make_pv(&s, "a", "1Gi", "local", "Retain", "");
    make_pv(&s, "b", "2Gi", "local", "Retain", "");
    make_claim(&s, "c", "1Gi", "local", "");
    sim_run(&s, 10 * SEC);
    assert_string_equal(claim_text(&s, "c", "status.phase"), "Pending");
    assert_string_equal(volume_text(&s, "a", "status.phase"), "Available");
    /* The scheduler chooses. */
    (void)snprintf(
        patch, sizeof patch,
        "{\"spec\":{\"claimRef\":{\"apiVersion\":\"v1\",\"kind\":\"PersistentVolumeClaim\","
        "\"namespace\":\"default\",\"name\":\"c\",\"uid\":\"%s\"}}}",
        claim_text(&s, "c", "metadata.uid"));
    assert_int_equal(sim_patch(&s, &kind_pv, NULL, "b", NULL, patch), 200);
    sim_run(&s, SEC);
    assert_string_equal(claim_text(&s, "c", "spec.volumeName"), "b");
    assert_string_equal(claim_text(&s, "c", "status.phase"), "Bound");
    assert_string_equal(volume_text(&s, "b", "status.phase"), "Bound");
}

static void test_what_becomes_of_volumes(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 84);
    make_pv(&s, "retain", "1Gi", "r", "Retain", "");
    make_pv(&s, "delete", "1Gi", "d", "Delete", "");
    make_pv(&s, "recycle", "1Gi", "y", "Recycle", "");
    make_pv(&s, "lost", "1Gi", "l", "Retain", "");
    make_claim(&s, "r", "1Gi", "r", "");
    make_claim(&s, "d", "1Gi", "d", "");
    make_claim(&s, "y", "1Gi", "y", "");
    make_claim(&s, "l", "1Gi", "l", "");
    sim_run(&s, SEC);
    assert_string_equal(volume_text(&s, "delete", "status.phase"), "Bound");
    assert_int_equal(sim_delete(&s, &kind_pvc, "default", "r", NULL), 200);
    assert_int_equal(sim_delete(&s, &kind_pvc, "default", "d", NULL), 200);
    assert_int_equal(sim_delete(&s, &kind_pvc, "default", "y", NULL), 200);
    assert_int_equal(sim_delete(&s, &kind_pv, NULL, "lost", NULL), 200);
    sim_run(&s, SEC);
    assert_string_equal(claim_text(&s, "l", "status.phase"), "Bound"); /* it is in use */
    assert_int_equal(
        sim_patch(&s, &kind_pv, NULL, "lost", NULL, "{\"metadata\":{\"finalizers\":null}}"), 200);
    sim_run(&s, SEC);
    assert_string_equal(volume_text(&s, "retain", "status.phase"), "Released");
    CLEANUP(kj_doc_free) struct kj_doc *gone = sim_get(&s, &kind_pv, NULL, "delete");
    assert_null(gone);
    assert_string_equal(volume_text(&s, "recycle", "status.phase"), "Available");
    assert_string_equal(volume_text(&s, "recycle", "spec.claimRef.name"), "");
    assert_string_equal(claim_text(&s, "l", "status.phase"), "Lost");
    make_pv(&s, "lost", "1Gi", "l", "Retain", ""); /* from a backup, say */
    sim_run(&s, SEC);
    assert_string_equal(claim_text(&s, "l", "status.phase"), "Bound");
    assert_string_equal(volume_text(&s, "lost", "status.phase"), "Bound");
    /* A claim of the same name is another one. */
    make_claim(&s, "r", "1Gi", "r", "");
    sim_run(&s, 5 * SEC);
    assert_string_equal(claim_text(&s, "r", "status.phase"), "Pending");
}

static void test_what_is_in_use_stays(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 85);
    make_pv(&s, "v", "1Gi", "", "Delete", "");
    make_claim(&s, "c", "1Gi", "", "");
    assert_int_equal(sim_create(&s,
                                "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
                                "\"p\"},\"spec\":{\"volumes\":[{\"name\":\"x\","
                                "\"persistentVolumeClaim\":{\"claimName\":\"c\"}}],"
                                "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"),
                     201);
    sim_run(&s, 5 * SEC);
    assert_int_equal(sim_delete(&s, &kind_pvc, "default", "c", NULL), 200);
    assert_int_equal(sim_delete(&s, &kind_pv, NULL, "v", NULL), 200);
    sim_run(&s, 60 * SEC);
    assert_string_equal(claim_text(&s, "c", "status.phase"), "Bound");
    assert_string_equal(volume_text(&s, "v", "status.phase"), "Bound");
    assert_int_equal(sim_delete(&s, &kind_pod, "default", "p", NULL), 200);
    sim_run(&s, 60 * SEC);
    CLEANUP(kj_doc_free) struct kj_doc *claim = sim_get(&s, &kind_pvc, "default", "c");
    CLEANUP(kj_doc_free) struct kj_doc *volume = sim_get(&s, &kind_pv, NULL, "v");
    assert_null(claim);
    assert_null(volume);
    /* Nobody uses this one. */
    make_claim(&s, "idle", "1Gi", "", "");
    sim_run(&s, SEC);
    assert_int_equal(sim_delete(&s, &kind_pvc, "default", "idle", NULL), 200);
    sim_run(&s, SEC);
    CLEANUP(kj_doc_free) struct kj_doc *idle = sim_get(&s, &kind_pvc, "default", "idle");
    assert_null(idle);
}

/* ---- ephemeral volumes ------------------------------------------------------------------------ */

static const struct kind kind_event = { .group = "",
                                        .version = "v1",
                                        .kind = "Event",
                                        .plural = "events",
                                        .namespaced = true,
                                        .schema = &kobj_schema };

static void make_ephemeral_pod(struct sim *s, const char *name)
{
    char json[1024];

    (void)snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\"},\"spec\":{"
        "\"volumes\":[{\"name\":\"x\",\"ephemeral\":{\"volumeClaimTemplate\":{\"metadata\":{"
        "\"labels\":{\"l\":\"1\"},\"annotations\":{\"a\":\"2\"}},\"spec\":{\"accessModes\":["
        "\"ReadWriteOnce\"],\"storageClassName\":\"\",\"resources\":{\"requests\":{\"storage\":"
        "\"1Gi\"}}}}}}],\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
        name);
    assert_int_equal(sim_create(s, json), 201);
}

static bool is_told(struct sim *s, const char *reason, const char *message)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_list(s, &kind_event, "default", NULL);
    const struct kj_val *e;
    struct str key;

    for (struct kj_iter it = kj_iter(kj_get(kj_root(doc), "items")); kj_next(&it, &key, &e);)
        if (streq(kj_str_or(kj_get(e, "reason"), ""), reason) &&
            streq(kj_str_or(kj_get(e, "message"), ""), message))
            return true;
    return false;
}

static void test_claim_of_an_ephemeral_volume(void **state)
{
    CLEANUP(sim_fini) struct sim s;

    (void)state;
    sim_begin(&s, 86);
    make_pv(&s, "v", "1Gi", "", "Delete", "");
    make_ephemeral_pod(&s, "p");
    sim_run(&s, SEC);
    assert_string_equal(claim_text(&s, "p-x", "status.phase"), "Bound");
    assert_string_equal(claim_text(&s, "p-x", "metadata.labels.l"), "1");
    assert_string_equal(claim_text(&s, "p-x", "metadata.annotations.a"), "2");
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(&s, &kind_pvc, "default", "p-x");
    const struct kj_val *ref = kj_at(kj_path(kj_root(doc), "metadata.ownerReferences"), 0);
    assert_string_equal(kj_str_or(kj_get(ref, "kind"), ""), "Pod");
    assert_true(kj_bool(kj_get(ref, "controller"), false));
    /* It goes with the pod. */
    assert_int_equal(sim_delete(&s, &kind_pod, "default", "p", NULL), 200);
    sim_run(&s, 60 * SEC);
    CLEANUP(kj_doc_free) struct kj_doc *gone = sim_get(&s, &kind_pvc, "default", "p-x");
    assert_null(gone);
}

/* A claim that somebody else has made is not taken, and the pod says so. */
static void test_claim_of_somebody_else(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char uid[64];

    (void)state;
    sim_begin(&s, 87);
    s.no_binder = true; /* on a node, the pod would keep the claim */
    make_claim(&s, "p-x", "1Gi", "", "");
    (void)snprintf(uid, sizeof uid, "%s", claim_text(&s, "p-x", "metadata.uid"));
    make_ephemeral_pod(&s, "p");
    sim_run(&s, 20 * SEC);
    assert_string_equal(claim_text(&s, "p-x", "metadata.uid"), uid);
    assert_true(is_told(&s, "FailedBinding",
                        "ephemeral volume x: PVC default/p-x was not created for pod default/p "
                        "(pod is not owner)"));
    assert_int_equal(sim_delete(&s, &kind_pvc, "default", "p-x", NULL), 200);
    sim_run(&s, 5 * SEC);
    assert_string_not_equal(claim_text(&s, "p-x", "metadata.uid"), uid);
    assert_string_equal(claim_text(&s, "p-x", "metadata.labels.l"), "1");
}

enum { EPHEMERAL = 20 };

static bool all_have_claims(struct sim *s, void *arg)
{
    (void)arg;
    return sim_count(s, &kind_pvc, "default", "l=1") == EPHEMERAL;
}

static void test_one_claim_for_each_pod_under_faults(void **state)
{
    (void)state;
    for (uint64_t seed = 93; seed < 96; seed++) {
        CLEANUP(sim_fini) struct sim s;
        char name[32];

        sim_begin(&s, seed);
        s.faults =
            (struct sim_faults){ .refuse = 100, .lose = 100, .slow = 200, .slow_max = 2 * SEC };
        for (int i = 0; i < EPHEMERAL; i++) {
            (void)snprintf(name, sizeof name, "p-%d", i);
            make_ephemeral_pod(&s, name);
            if (i % 8 == 7)
                sim_drop_watches(&s);
        }
        assert_true(sim_until(&s, 300 * SEC, all_have_claims, NULL));
        sim_run(&s, 60 * SEC);
        assert_int_equal(sim_count(&s, &kind_pvc, "default", NULL), EPHEMERAL);
    }
}

/* ---- hollow volumes --------------------------------------------------------------------------- */

static const char *hollow_name(struct sim *s, const char *claim)
{
    static char name[80];

    (void)snprintf(name, sizeof name, "pvc-%s", claim_text(s, claim, "metadata.uid"));
    return name;
}

static void class_text(struct sim *s, const char *path, char out[128])
{
    sim_text(s, &kind_storage_class, NULL, "hollow", path, out, 128);
}

static bool has_class(struct sim *s, void *arg)
{
    char text[128];

    (void)arg;
    class_text(s, "provisioner", text);
    return streq(text, "koord.sh/hollow");
}

static bool default_is_told(struct sim *s)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_get(s, &kind_storage_class, NULL, "hollow");
    const struct kj_val *notes = kj_path(kj_root(doc), "metadata.annotations");

    return streq(kj_str_or(kj_get(notes, "storageclass.kubernetes.io/is-default-class"), ""),
                 "true");
}

static void test_claims_get_hollow_volumes(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char name[80];

    (void)state;
    sim_begin(&s, 88);
    assert_true(sim_until(&s, 10 * SEC, has_class, NULL));
    assert_true(default_is_told(&s));
    make_claim(&s, "c", "3Gi", "hollow", "");
    (void)snprintf(name, sizeof name, "%s", hollow_name(&s, "c"));
    sim_run(&s, 2 * SEC);
    assert_string_equal(claim_text(&s, "c", "status.phase"), "Bound");
    assert_string_equal(claim_text(&s, "c", "spec.volumeName"), name);
    assert_string_equal(volume_text(&s, name, "status.phase"), "Bound");
    assert_string_equal(volume_text(&s, name, "spec.capacity.storage"), "3Gi");
    assert_string_equal(volume_text(&s, name, "spec.persistentVolumeReclaimPolicy"), "Delete");
    make_claim(&s, "picky", "1Gi", "hollow", ",\"selector\":{\"matchLabels\":{\"a\":\"b\"}}");
    assert_int_equal(sim_delete(&s, &kind_pvc, "default", "c", NULL), 200);
    sim_run(&s, 5 * SEC);
    CLEANUP(kj_doc_free) struct kj_doc *gone = sim_get(&s, &kind_pv, NULL, name);
    assert_null(gone);
    assert_string_equal(claim_text(&s, "picky", "status.phase"), "Pending");
    /* One that was deleted on purpose is not made again at once. */
    assert_int_equal(sim_delete(&s, &kind_storage_class, NULL, "hollow", NULL), 200);
    sim_run(&s, 60 * SEC);
    assert_false(has_class(&s, NULL));
}

/* A class of somebody's own: its mode and its policy count, and the default stays his. */
static void test_hollow_class_of_somebody_else(void **state)
{
    CLEANUP(sim_fini) struct sim s;
    char name[80];

    (void)state;
    sim_init(&s, 89);
    assert_int_equal(sim_create(&s,
                                "{\"apiVersion\":\"storage.k8s.io/v1\",\"kind\":\"StorageClass\","
                                "\"metadata\":{\"name\":\"mine\",\"annotations\":{\"storageclass."
                                "kubernetes.io/is-default-class\":\"true\"}},\"provisioner\":"
                                "\"koord.sh/hollow\",\"reclaimPolicy\":\"Retain\","
                                "\"volumeBindingMode\":\"WaitForFirstConsumer\"}"),
                     201);
    sim_start(&s, NULL);
    assert_true(sim_until(&s, 60 * SEC, has_class, NULL));
    assert_false(default_is_told(&s));
    make_claim(&s, "c", "1Gi", "mine", "");
    (void)snprintf(name, sizeof name, "%s", hollow_name(&s, "c"));
    sim_run(&s, 10 * SEC);
    assert_string_equal(claim_text(&s, "c", "status.phase"), "Pending");
    assert_int_equal(sim_count(&s, &kind_pv, NULL, NULL), 0);
    /* The scheduler has chosen. */
    assert_int_equal(sim_patch(&s, &kind_pvc, "default", "c", NULL,
                               "{\"metadata\":{\"annotations\":{\"volume.kubernetes.io/"
                               "selected-node\":\"hollow-0\"}}}"),
                     200);
    sim_run(&s, 2 * SEC);
    assert_string_equal(claim_text(&s, "c", "spec.volumeName"), name);
    assert_int_equal(sim_delete(&s, &kind_pvc, "default", "c", NULL), 200);
    sim_run(&s, 5 * SEC);
    assert_string_equal(volume_text(&s, name, "status.phase"), "Released");
}

/* ---- all at once ------------------------------------------------------------------------------ */

enum { CLAIMS = 20 };

static bool all_bound(struct sim *s, void *arg)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = sim_list(s, &kind_pvc, "default", NULL);
    const struct kj_val *c;
    struct str key;
    size_t n = 0;

    (void)arg;
    for (struct kj_iter it = kj_iter(kj_get(kj_root(doc), "items")); kj_next(&it, &key, &c);)
        n += streq(kj_str_or(kj_path(c, "status.phase"), ""), "Bound");
    return n == CLAIMS;
}

static void test_one_hollow_volume_each_under_faults(void **state)
{
    (void)state;
    for (uint64_t seed = 96; seed < 99; seed++) {
        CLEANUP(sim_fini) struct sim s;
        char name[32];

        sim_begin(&s, seed);
        s.faults =
            (struct sim_faults){ .refuse = 100, .lose = 100, .slow = 200, .slow_max = 2 * SEC };
        assert_true(sim_until(&s, 120 * SEC, has_class, NULL));
        for (int i = 0; i < CLAIMS; i++) {
            (void)snprintf(name, sizeof name, "c-%d", i);
            make_claim(&s, name, "1Gi", "hollow", "");
            if (i % 8 == 7)
                sim_drop_watches(&s);
        }
        assert_true(sim_until(&s, 300 * SEC, all_bound, NULL));
        sim_run(&s, 60 * SEC);
        assert_int_equal(sim_count(&s, &kind_pv, NULL, NULL), CLAIMS);
    }
}

static void test_one_each_under_faults(void **state)
{
    (void)state;
    for (uint64_t seed = 90; seed < 93; seed++) {
        CLEANUP(sim_fini) struct sim s;
        const struct kj_val *v;
        struct str key;
        char name[32];
        size_t taken = 0;

        sim_begin(&s, seed);
        s.faults =
            (struct sim_faults){ .refuse = 100, .lose = 100, .slow = 200, .slow_max = 2 * SEC };
        for (int i = 0; i < CLAIMS + 5; i++) {
            (void)snprintf(name, sizeof name, "v-%d", i);
            make_pv(&s, name, i % 2 ? "1Gi" : "2Gi", "", "Retain", "");
            (void)snprintf(name, sizeof name, "c-%d", i);
            if (i < CLAIMS)
                make_claim(&s, name, "1Gi", "", "");
            if (i % 8 == 7)
                sim_drop_watches(&s);
        }
        assert_true(sim_until(&s, 300 * SEC, all_bound, NULL));
        sim_run(&s, 60 * SEC);
        CLEANUP(kj_doc_free) struct kj_doc *doc = sim_list(&s, &kind_pv, NULL, NULL);
        for (struct kj_iter it = kj_iter(kj_get(kj_root(doc), "items")); kj_next(&it, &key, &v);) {
            const char *claim = kj_str_or(kj_path(v, "spec.claimRef.name"), "");
            taken += *claim != '\0';
            assert_string_equal(kj_str_or(kj_path(v, "status.phase"), ""),
                                *claim ? "Bound" : "Available");
            if (*claim)
                assert_string_equal(claim_text(&s, claim, "spec.volumeName"),
                                    kj_str_or(kj_path(v, "metadata.name"), ""));
        }
        assert_int_equal(taken, CLAIMS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_smallest_that_will_do),
        cmocka_unit_test(test_those_that_name_each_other),
        cmocka_unit_test(test_one_that_is_kept_must_do),
        cmocka_unit_test(test_one_that_waits_for_its_pod),
        cmocka_unit_test(test_what_becomes_of_volumes),
        cmocka_unit_test(test_what_is_in_use_stays),
        cmocka_unit_test(test_claim_of_an_ephemeral_volume),
        cmocka_unit_test(test_claim_of_somebody_else),
        cmocka_unit_test(test_one_claim_for_each_pod_under_faults),
        cmocka_unit_test(test_claims_get_hollow_volumes),
        cmocka_unit_test(test_hollow_class_of_somebody_else),
        cmocka_unit_test(test_one_each_under_faults),
        cmocka_unit_test(test_one_hollow_volume_each_under_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
