/* test_volumebinding.c - which nodes do for a pod's claims (scheduler-core 8.16). */
#include "base/test/asserts.h"
#include "scheduler/test/volume_objects.h"

#include "scheduler/plugins/registry.h"
#include "scheduler/plugins/volumebinding/internal.h"
#include "scheduler/test/plugin_checks.h"

#define NAME      "VolumeBinding"
#define CONFLICT  "node(s) didn't match PersistentVolume's node affinity"
#define NO_VOLUME "node(s) didn't find available persistent volumes to bind"
#define NO_SPACE  "node(s) did not have enough free storage"
#define NO_PV     "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
#define ON(key, op, values)                                                              \
    "'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'" key \
    "','operator':'" op "','values':[" values "]}]}]}}"
#define WAITS(size) "'storageClassName':'wait','resources':{'requests':{'storage':'" size "'}}"
#define SIZE(size)  "'storageClassName':'wait','capacity':{'storage':'" size "'}"

static void start(struct plugin_fixture *f, void **state)
{
    fixture_init(f, state, NAME, NULL);
    vol_node(f, "a", "'zone':'a','host':'a'");
    vol_node(f, "b", "'zone':'b','host':'b'");
    vol_class(f, "wait", "d", "WaitForFirstConsumer", "");
    vol_class(f, "local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer", "");
    vol_class(f, "now", "d", "Immediate", "");
    vol_class(f, "none", "d", "", "");
}

/* ---- claims ---------------------------------------------------------------------------------- */

static void test_pods_without_claims(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    vol_try(&f, "{'name':'e','emptyDir':{}}");
    assert_true(f.a.skip_filter >> profile_slot(f.profile, NAME) & 1);
    vol_bound(&f, "c", "", "");
    vol_try(&f, CLAIM("c")); /* reachable from everywhere */
    assert_true(f.a.skip_filter >> profile_slot(f.profile, NAME) & 1);
}

static void test_claims_that_do_not_do(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    static const struct {
        const char *name, *annotations, *spec, *phase, *text;
    } cases[] = {
        { "lost", "", "'volumeName':'v'", "Lost",
          "persistentvolumeclaim \"lost\" bound to non-existent persistentvolume \"v\"" },
        { "now", "", "'storageClassName':'now'", "Pending",
          "pod has unbound immediate PersistentVolumeClaims" },
        { "noclass", "", "'storageClassName':''", "Pending",
          "pod has unbound immediate PersistentVolumeClaims" },
        { "strange", "", "'storageClassName':'gone'", "Pending",
          "pod has unbound immediate PersistentVolumeClaims" },
        { "prebound", "", "'storageClassName':'wait','volumeName':'v'", "Pending",
          "pod has unbound immediate PersistentVolumeClaims" },
    };

    start(&f, state);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char volume[128];
        vol_pvc(&f, cases[i].name, cases[i].annotations, cases[i].spec, cases[i].phase);
        vol_try(&f, TEXT(volume, "{'name':'x','persistentVolumeClaim':{'claimName':'%s'}}",
                         cases[i].name));
        assert_int_equal(fixture_code(&f, "a"), KS_UNRESOLVABLE);
        assert_string_equal(fixture_why(&f, "a"), cases[i].text);
    }
    vol_try(&f, CLAIM("gone"));
    assert_string_equal(fixture_why(&f, "a"), "persistentvolumeclaim \"gone\" not found");
    fixture_put(&f, &kind_pvc,
                "{'metadata':{'name':'old','namespace':'ns','deletionTimestamp':"
                "'2026-01-01T00:00:00Z'}}");
    vol_try(&f, CLAIM("old"));
    assert_string_equal(fixture_why(&f, "a"), "persistentvolumeclaim \"old\" is being deleted");
    vol_pvc(&f, "modeless", "", "'storageClassName':'none'", "Pending");
    vol_try(&f, CLAIM("modeless"));
    assert_int_equal(f.a.code, KS_ERROR);
    assert_string_equal(f.a.text, "running PreFilter plugin \"VolumeBinding\": VolumeBindingMode "
                                  "not set for StorageClass \"none\"");
}

static void test_ephemeral_volumes(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    const char *volume = "{'name':'e','ephemeral':{}}";

    start(&f, state);
    vol_try(&f, volume);
    assert_string_equal(fixture_why(&f, "a"),
                        "waiting for ephemeral volume controller to create the "
                        "persistentvolumeclaim \"p-e\"");
    vol_pvc(&f, "p-e", "", WAITS("1Gi"), "Pending");
    vol_try(&f, volume);
    assert_string_equal(fixture_why(&f, "a"),
                        "PVC ns/p-e was not created for pod ns/p (pod is not owner)");
    fixture_put(&f, &kind_pvc,
                "{'metadata':{'name':'p-e','namespace':'ns','uid':'x','ownerReferences':[{'kind':"
                "'Pod','name':'p','uid':'p','controller':true}]},'spec':{" WAITS("1Gi") "}}");
    vol_try(&f, volume);
    assert_int_equal(f.a.feasible, 2);
}

/* ---- bound ----------------------------------------------------------------------------------- */

static void test_bound_volumes(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    vol_bound(&f, "in", "", ON("zone", "In", "'x','a'"));
    vol_bound(&f, "notin", "", ON("zone", "NotIn", "'b'"));
    vol_bound(&f, "both", "",
              "'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone',"
              "'operator':'In','values':['a','b']},{'key':'host','operator':'In','values':"
              "['a']}]}]}}");
    vol_bound(&f, "nowhere", "", "'nodeAffinity':{'required':{'nodeSelectorTerms':[]}}");
    const char *const one[] = { CLAIM("in"), CLAIM("notin"), CLAIM("both") };
    for (size_t i = 0; i < ARRAY_LEN(one); i++) {
        vol_try(&f, one[i]);
        assert_true(fixture_fits(&f, "a"));
        assert_int_equal(fixture_code(&f, "b"), KS_UNRESOLVABLE);
        assert_string_equal(fixture_why(&f, "b"), CONFLICT);
    }
    vol_node(&f, "b", "'zone':'a','host':'b'"); /* the label changes */
    vol_try(&f, CLAIM("in"));
    assert_true(fixture_fits(&f, "b"));
    vol_try(&f, CLAIM("nowhere"));
    assert_int_equal(f.a.feasible, 0);
    struct ks_suggestion hint = { NULL, NULL };
    assert_true(ks_plugin_volume_binding.suggest(NULL, &f.a, &hint));
    assert_string_equal(hint.type, "DeleteConflictPVC");
    assert_string_equal(hint.message, "the volume of a claim keeps the pod from 2 node(s), and no "
                                      "other node will do");
    vol_pvc(&f, "dangling", "'pv.kubernetes.io/bind-completed':'yes'", "'volumeName':'gone'",
            "Bound");
    vol_try(&f, CLAIM("dangling"));
    assert_string_equal(fixture_why(&f, "a"), NO_PV);
    assert_int_equal(fixture_code(&f, "a"), KS_UNRESOLVABLE);
    assert_false(ks_plugin_volume_binding.suggest(NULL, &f.a, &hint)); /* the volume may come */
}

static void test_all_reasons_are_told(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    vol_bound(&f, "in", "", ON("zone", "In", "'x'"));
    vol_pvc(&f, "static", "", "'storageClassName':'local'", "Pending");
    vol_try(&f, CLAIM("in") "," CLAIM("static"));
    assert_string_equal(fixture_why(&f, "a"), CONFLICT ", " NO_VOLUME);
    assert_string_equal(fixture_message(&f),
                        "0/2 nodes are available: 2 " NO_VOLUME ", 2 " CONFLICT ".");
}

/* ---- volumes that wait ----------------------------------------------------------------------- */

/* What the claims of the pod in question get on a node: "claim=volume ..."; "": it is made. */
static const char *gets(struct plugin_fixture *f, const char *node)
{
    int slot = profile_slot(f->profile, NAME);
    const struct profile_slot *s = &f->profile->slots[slot];
    struct ks_texts why = { .arena = f->arena };
    const char *all = "";

    f->a.cycle.state = f->a.state[slot];
    assert_int_equal(
        s->plugin->reserve(s->self, &f->a.cycle, &f->a.pod, fixture_row(f, node), &why),
        KS_SUCCESS);
    const struct assumed *r = assumed_find(s->self, f->obj->meta.uid);
    assert_non_null(r);
    for (uint32_t i = 0; i < r->n; i++)
        all = arena_printf(f->arena, "%s%s%s=%s", all, i ? " " : "", r->steps[i].claim->meta.name,
                           r->steps[i].volume ? r->steps[i].volume->meta.name : "");
    s->plugin->unreserve(s->self, f->a.pod.pod, node);
    assert_null(assumed_find(s->self, f->obj->meta.uid));
    return all;
}

static void test_the_smallest_volume(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    vol_pv(&f, "v10", "", SIZE("10Gi"), "Available");
    vol_pv(&f, "v6", "", SIZE("6Gi"), "Available");
    vol_pv(&f, "v4", "", SIZE("4Gi"), "Available");
    vol_pvc(&f, "c5", "", WAITS("5Gi"), "Pending");
    vol_pvc(&f, "c6", "", WAITS("6Gi"), "Pending");
    vol_pvc(&f, "c20", "", WAITS("20Gi"), "Pending");
    vol_try(&f, CLAIM("c5"));
    assert_string_equal(gets(&f, "a"), "c5=v6");
    vol_try(&f, CLAIM("c6") "," CLAIM("c5")); /* the smaller claim chooses first */
    assert_string_equal(gets(&f, "a"), "c5=v6 c6=v10");
    vol_try(&f, CLAIM("c20") "," CLAIM("c6"));
    assert_string_equal(gets(&f, "a"), "c6=v6 c20=");
    vol_try(&f, CLAIM("c5") ",{'name':'x','persistentVolumeClaim':{'claimName':'c5'}}");
    assert_string_equal(gets(&f, "a"), "c5=v6"); /* a claim named twice is one */
}

static void test_volumes_that_do_not_do(void **state)
{
    static const struct {
        const char *labels, *spec, *phase;
    } volumes[] = {
        { "", "'storageClassName':'wait','capacity':{'storage':'4Gi'}", "Available" },
        { "", "'storageClassName':'other','capacity':{'storage':'9Gi'}", "Available" },
        { "'k':'v'", SIZE("9Gi"), "Available" }, /* access mode */
        { "'k':'v'", SIZE("9Gi") ",'accessModes':['ReadWriteOnce'],'volumeMode':'Block'",
          "Available" },
        { "'k':'v'", SIZE("9Gi") ",'accessModes':['ReadWriteOnce']", "Released" },
        { "'k':'x'", SIZE("9Gi") ",'accessModes':['ReadWriteOnce']", "Available" },
        { "'k':'v'",
          SIZE("9Gi") ",'accessModes':['ReadWriteOnce'],'volumeAttributesClassName':'gold'",
          "Available" },
        { "'k':'v'",
          SIZE("9Gi") ",'accessModes':['ReadWriteOnce'],'claimRef':{'namespace':'ns','name':'x'}",
          "Available" },
        { "'k':'v'",
          SIZE("9Gi") ",'accessModes':['ReadWriteOnce'],'claimRef':{'namespace':'ns','name':'c',"
                      "'uid':'earlier'}",
          "Available" },
    };
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    vol_pvc(&f, "c", "",
            WAITS("5Gi") ",'accessModes':['ReadWriteOnce'],'selector':{'matchLabels':{'k':'v'}}",
            "Pending");
    for (size_t i = 0; i < ARRAY_LEN(volumes); i++) {
        vol_pv(&f, "v", volumes[i].labels, volumes[i].spec, volumes[i].phase);
        vol_try(&f, CLAIM("c"));
        if (!streq(gets(&f, "a"), "c="))
            fail_msg("case %zu", i);
    }
    vol_pv(&f, "v", "'k':'v'", SIZE("9Gi") ",'accessModes':['ReadWriteOnce']", "Available");
    vol_try(&f, CLAIM("c"));
    assert_string_equal(gets(&f, "a"), "c=v");
}

static void test_a_prebound_volume_wins(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    vol_pvc(&f, "c", "", WAITS("5Gi"), "Pending");
    vol_pv(&f, "small", "", SIZE("5Gi"), "Available");
    vol_pv(&f, "mine", "",
           SIZE("50Gi") ",'claimRef':{'namespace':'ns','name':'c'}," ON("zone", "In", "'a'"),
           "Available");
    vol_try(&f, CLAIM("c"));
    assert_string_equal(gets(&f, "a"), "c=mine");
    assert_string_equal(gets(&f, "b"), "c="); /* not reachable: none, not another */
}

static void test_local_volumes(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
#define LOCAL(size, host) \
    "'storageClassName':'local','capacity':{'storage':'" size "'}," ON("host", "In", "'" host "'")
    vol_pv(&f, "a1", "", LOCAL("5Gi", "a"), "Available");
    vol_pv(&f, "a2", "", LOCAL("8Gi", "a"), "Available");
    vol_pv(&f, "b1", "", LOCAL("6Gi", "b"), "Available");
    vol_pvc(&f, "c1", "", "'storageClassName':'local','resources':{'requests':{'storage':'4Gi'}}",
            "Pending");
    vol_pvc(&f, "c2", "", "'storageClassName':'local','resources':{'requests':{'storage':'4Gi'}}",
            "Pending");
    vol_try(&f, CLAIM("c1"));
    assert_string_equal(gets(&f, "a"), "c1=a1");
    assert_string_equal(gets(&f, "b"), "c1=b1");
    vol_try(&f, CLAIM("c1") "," CLAIM("c2"));
    assert_string_equal(gets(&f, "a"), "c1=a1 c2=a2");
    assert_int_equal(fixture_code(&f, "b"), KS_UNRESOLVABLE);
    assert_string_equal(fixture_why(&f, "b"), NO_VOLUME);
}

/* ---- volumes to be made ---------------------------------------------------------------------- */

static void test_selected_node(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    vol_pv(&f, "v", "", SIZE("9Gi"), "Available");
    vol_pvc(&f, "c", "'volume.kubernetes.io/selected-node':'b'", WAITS("5Gi"), "Pending");
    vol_try(&f, CLAIM("c"));
    assert_string_equal(fixture_why(&f, "a"), NO_VOLUME);
    assert_string_equal(gets(&f, "b"), "c="); /* to be made, though there is one */
    vol_pvc(&f, "c", "'volume.kubernetes.io/selected-node':'gone'", WAITS("5Gi"), "Pending");
    vol_try(&f, CLAIM("c"));
    assert_int_equal(f.a.feasible, 0);
}

static void test_allowed_topologies(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    vol_class(&f, "zoned", "d", "WaitForFirstConsumer",
              ",'allowedTopologies':[{'matchLabelExpressions':[{'key':'zone','values':['x']}]},"
              "{'matchLabelExpressions':[{'key':'zone','values':['a','c']}]}]");
    vol_pvc(&f, "c", "", "'storageClassName':'zoned'", "Pending");
    vol_try(&f, CLAIM("c"));
    assert_true(fixture_fits(&f, "a"));
    assert_string_equal(fixture_why(&f, "b"), NO_VOLUME);
    vol_class(&f, "zoned", "d", "WaitForFirstConsumer",
              ",'allowedTopologies':[{'matchLabelExpressions':[]}]");
    vol_try(&f, CLAIM("c"));
    assert_int_equal(f.a.feasible, 0);
}

static void pool(struct plugin_fixture *f, const char *name, const char *topology,
                 const char *sizes)
{
    char text[512];
    fixture_put(f, &kind_csi_storage_capacity,
                TEXT(text,
                     "{'metadata':{'name':'%s','namespace':'ns'},'storageClassName':'wait'%s%s}",
                     name, topology, sizes));
}

static void test_storage_that_is_left(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    vol_pvc(&f, "c", "", WAITS("5Gi"), "Pending");
    vol_pvc(&f, "any", "", "'storageClassName':'wait'", "Pending");
    pool(&f, "p1", ",'nodeTopology':{'matchLabels':{'zone':'b'}}", ",'capacity':'4Gi'");
    vol_try(&f, CLAIM("c"));
    assert_int_equal(f.a.feasible, 2); /* the driver does not say that pools count */
    fixture_put(&f, &kind_csi_driver, "{'metadata':{'name':'d'},'spec':{'storageCapacity':true}}");
    vol_try(&f, CLAIM("c"));
    assert_int_equal(fixture_code(&f, "a"), KS_UNRESOLVABLE);
    assert_string_equal(fixture_why(&f, "a"), NO_SPACE);
    assert_string_equal(fixture_why(&f, "b"), NO_SPACE);
    vol_try(&f, CLAIM("any"));
    assert_int_equal(f.a.feasible, 2); /* asks for no size */
    pool(&f, "p1", ",'nodeTopology':{'matchLabels':{'zone':'b'}}", ",'capacity':'9Gi'");
    vol_try(&f, CLAIM("c"));
    assert_false(fixture_fits(&f, "a"));
    assert_true(fixture_fits(&f, "b"));
    pool(&f, "p1", ",'nodeTopology':{'matchLabels':{'zone':'b'}}",
         ",'capacity':'9Gi','maximumVolumeSize':'4Gi'");
    pool(&f, "p2",
         ",'nodeTopology':{'matchExpressions':[{'key':'zone','operator':'NotIn',"
         "'values':['b']}]}",
         ",'capacity':'5Gi'");
    pool(&f, "p3", "", ",'capacity':'5Gi'"); /* reachable from no node */
    vol_try(&f, CLAIM("c"));
    assert_true(fixture_fits(&f, "a"));
    assert_false(fixture_fits(&f, "b"));
    pool(&f, "p4", ",'nodeTopology':{}", ",'capacity':'5Gi'");
    vol_try(&f, CLAIM("c"));
    assert_true(fixture_fits(&f, "b"));
}

/* ---- others on their way --------------------------------------------------------------------- */

static enum ks_code reserve(struct plugin_fixture *f, const char *node)
{
    int slot = profile_slot(f->profile, NAME);
    const struct profile_slot *s = &f->profile->slots[slot];
    struct ks_texts why = { .arena = f->arena };

    f->a.cycle.state = f->a.state[slot];
    return s->plugin->reserve(s->self, &f->a.cycle, &f->a.pod, fixture_row(f, node), &why);
}
static void unreserve(struct plugin_fixture *f, const char *pod)
{
    char text[256];
    const struct profile_slot *s = &f->profile->slots[profile_slot(f->profile, NAME)];
    CLEANUP(kobj_unref)
    struct kobj *p = fixture_object(f->base, &kind_pod, vol_pod(text, sizeof text, pod, "", ""));
    s->plugin->unreserve(s->self, pod_of(p), "a");
}
static void try_as(struct plugin_fixture *f, const char *pod, const char *volumes)
{
    char text[1024];
    fixture_try(f, vol_pod(text, sizeof text, pod, "", volumes));
}

static void test_two_pods_never_take_one_volume(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    vol_pv(&f, "v1", "", "'storageClassName':'local','capacity':{'storage':'5Gi'}", "Available");
    vol_pvc(&f, "c1", "", "'storageClassName':'local'", "Pending");
    vol_pvc(&f, "c2", "", "'storageClassName':'local'", "Pending");
    try_as(&f, "p1", CLAIM("c1"));
    assert_int_equal(reserve(&f, "a"), KS_SUCCESS);
    try_as(&f, "p2", CLAIM("c2"));
    assert_string_equal(fixture_why(&f, "a"), NO_VOLUME);
    try_as(&f, "p3", CLAIM("c1")); /* another pod of the same claim gets the same volume */
    assert_int_equal(reserve(&f, "a"), KS_SUCCESS);
    unreserve(&f, "p1");
    unreserve(&f, "p1"); /* twice does no harm */
    try_as(&f, "p2", CLAIM("c2"));
    assert_string_equal(fixture_why(&f, "a"), NO_VOLUME); /* p3 still has it */
    unreserve(&f, "p3");
    try_as(&f, "p2", CLAIM("c2"));
    assert_string_equal(gets(&f, "a"), "c2=v1");
}

/* The same objects in another profile, as in one that a new configuration brings. */
static void test_profiles_share_what_is_taken(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    struct kerr err = { 0 };

    start(&f, state);
    vol_pv(&f, "v1", "", "'storageClassName':'local','capacity':{'storage':'5Gi'}", "Available");
    vol_pvc(&f, "c1", "", "'storageClassName':'local'", "Pending");
    vol_pvc(&f, "c2", "", "'storageClassName':'local'", "Pending");
    vol_pvc(&f, "made", "", WAITS("1Gi"), "Pending");
    try_as(&f, "p1", CLAIM("c1") "," CLAIM("made"));
    assert_int_equal(reserve(&f, "b"), KS_SUCCESS);
    struct profile *old = f.profile;
    struct profile_config c = profile_config_default(ks_registry, "koord-scheduler", f.base->arena);
    f.profile = profile_new(&c, ks_registry, &f.env, &err);
    assert_string_equal(err.text, "");
    shapes_clear(f.shapes);
    try_as(&f, "p2", CLAIM("c2"));
    assert_string_equal(fixture_why(&f, "a"), NO_VOLUME);
    try_as(&f, "p3", CLAIM("made"));
    assert_false(fixture_fits(&f, "a"));
    assert_true(fixture_fits(&f, "b"));
    profile_free(old); /* with what it had reserved */
    try_as(&f, "p2", CLAIM("c2"));
    assert_string_equal(gets(&f, "a"), "c2=v1");
    vol_pv(&f, "v1", "", "'storageClassName':'local','capacity':{'storage':'5Gi'}", "Released");
    try_as(&f, "p2", CLAIM("c2")); /* and the news still arrive */
    assert_string_equal(fixture_why(&f, "a"), NO_VOLUME);
}

static void test_a_claim_on_its_way_has_its_node(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    vol_pvc(&f, "c", "", WAITS("1Gi"), "Pending");
    try_as(&f, "p1", CLAIM("c"));
    assert_int_equal(f.a.feasible, 2);
    assert_int_equal(reserve(&f, "b"), KS_SUCCESS);
    try_as(&f, "p2", CLAIM("c"));
    assert_string_equal(fixture_why(&f, "a"), NO_VOLUME);
    assert_true(fixture_fits(&f, "b"));
    unreserve(&f, "p1");
    try_as(&f, "p2", CLAIM("c"));
    assert_int_equal(f.a.feasible, 2);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void test_malformed_quantities_never_get_here(void **state)
{
    struct object_fixture *base = *state;
    CLEANUP(kj_doc_free)
    struct kj_doc *doc =
        fixture_doc("{'metadata':{'name':'v'},'spec':{'capacity':{'storage':'5Qi'}}}");
    struct kobj *o = NULL;
    struct kerr err = { 0 };

    assert_that(kobj_decode(&kind_pv, kj_root(doc), base->scratch, &o, &err), <, 0);
    assert_null(o);
}

static void test_bad_selector(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    vol_pvc(&f, "c", "",
            WAITS("1Gi") ",'selector':{'matchExpressions':[{'key':'k','operator':'In'}]}",
            "Pending");
    vol_try(&f, CLAIM("c"));
    assert_int_equal(f.a.code, KS_ERROR);
    assert_contains(f.a.text, "selector of persistentvolumeclaim \"c\": ");
}

static void test_many_labels(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
    char spec[256], name[16], volumes[8192] = "";

    start(&f, state);
    vol_node(&f, "c",
             "'k0':'v','k1':'v','k2':'v','k3':'v','k4':'v','k5':'v','k6':'v','k7':'v',"
             "'k8':'v','k9':'v','k10':'v','k11':'v','k12':'v','k13':'v','k14':'v',"
             "'k15':'v','k16':'v','k17':'v','k18':'v','k19':'v'");
    for (int i = 0; i < 20; i++) { /* more than there are columns kept */
        (void)snprintf(spec, sizeof spec,
                       "'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':"
                       "[{'key':'k%d','operator':'In','values':['v']}]}]}}",
                       i);
        (void)snprintf(name, sizeof name, "c%d", i);
        vol_bound(&f, name, "", spec);
        (void)snprintf(volumes + strlen(volumes), sizeof volumes - strlen(volumes),
                       "%s{'name':'%s','persistentVolumeClaim':{'claimName':'%s'}}", i ? "," : "",
                       name, name);
    }
    for (int i = 0; i < 3; i++) {
        vol_try(&f, volumes);
        assert_int_equal(f.a.feasible, 1);
        assert_true(fixture_fits(&f, "c"));
    }
}

static void test_arguments(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    fixture_init(&f, state, NAME, "{'VolumeBinding':{'bindTimeoutSeconds':0}}");
    const struct binder *b = f.profile->slots[profile_slot(f.profile, NAME)].self;
    assert_int_equal(b->timeout, 0);
    plugin_refuses(NAME, "{'bindTimeoutSeconds':-1}",
                   "bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not "
                   "be a negative value");
    plugin_refuses(NAME, "{'bindTimeoutSeconds':9223372036854775807}",
                   "bindTimeoutSeconds: Invalid value: 9223372036854775807: is too long");
    plugin_refuses(NAME, "{'bindTimeoutSeconds':'x'}",
                   "bindTimeoutSeconds: expected a whole number, got a string");
}

static void test_hints(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;
#define WORTH(res, action, kind, before, now)           \
    vol_worth(&f, NAME, res, action, kind, before, now, \
              CLAIM("c") ",{'name':'i','csi':{'driver':'d'}}")
#define CLASS(zone)                                                                              \
    "{'metadata':{'name':'s'},'provisioner':'d','allowedTopologies':[{'matchLabelExpressions':[" \
    "{'key':'zone','values':['" zone "']}]}]}"
#define POOL(sizes)   "{'metadata':{'name':'p','namespace':'n'},'storageClassName':'s'" sizes "}"
#define DRIVER(value) "{'metadata':{'name':'d'},'spec':{'storageCapacity':" value "}}"
#define CSINODE(ann)                                                                              \
    "{'metadata':{'name':'n','annotations':{'storage.alpha.kubernetes.io/migrated-plugins':'" ann \
    "'}}}"

    start(&f, state);
    assert_true(WORTH(KS_RES_STORAGE_CLASS, KS_ADD, &kind_storage_class, NULL, CLASS("a")));
    assert_true(
        WORTH(KS_RES_STORAGE_CLASS, KS_UPDATE, &kind_storage_class, CLASS("a"), CLASS("b")));
    assert_false(
        WORTH(KS_RES_STORAGE_CLASS, KS_UPDATE, &kind_storage_class, CLASS("a"), CLASS("a")));
    assert_true(WORTH(KS_RES_PVC, KS_UPDATE, &kind_pvc, "{'metadata':{'name':'c'}}",
                      "{'metadata':{'name':'c','namespace':'ns'}}"));
    assert_false(
        WORTH(KS_RES_PVC, KS_ADD, &kind_pvc, NULL, "{'metadata':{'name':'d','namespace':'ns'}}"));
    assert_true(WORTH(KS_RES_PV, KS_UPDATE, &kind_pv, "{'metadata':{'name':'v'}}",
                      "{'metadata':{'name':'v'}}"));
    assert_true(WORTH(KS_RES_NODE, KS_NODE_LABEL, &kind_node, "{'metadata':{'name':'n'}}",
                      "{'metadata':{'name':'n'}}"));
    assert_false(WORTH(KS_RES_NODE, KS_NODE_ALLOCATABLE, &kind_node, "{'metadata':{'name':'n'}}",
                       "{'metadata':{'name':'n'}}"));
    assert_true(WORTH(KS_RES_CSI_NODE, KS_UPDATE, &kind_csi_node, CSINODE("a"), CSINODE("b")));
    assert_false(WORTH(KS_RES_CSI_NODE, KS_UPDATE, &kind_csi_node, CSINODE("a"), CSINODE("a")));
    assert_true(
        WORTH(KS_RES_CSI_DRIVER, KS_UPDATE, &kind_csi_driver, DRIVER("true"), DRIVER("false")));
    assert_false(
        WORTH(KS_RES_CSI_DRIVER, KS_UPDATE, &kind_csi_driver, DRIVER("false"), DRIVER("true")));
    assert_true(WORTH(KS_RES_CSI_CAPACITY, KS_ADD, &kind_csi_storage_capacity, NULL, POOL("")));
    assert_true(WORTH(KS_RES_CSI_CAPACITY, KS_UPDATE, &kind_csi_storage_capacity,
                      POOL(",'capacity':'1Gi'"), POOL(",'capacity':'2Gi'")));
    assert_false(WORTH(KS_RES_CSI_CAPACITY, KS_UPDATE, &kind_csi_storage_capacity,
                       POOL(",'capacity':'2Gi'"), POOL(",'capacity':'1Gi'")));
    assert_true(WORTH(KS_RES_CSI_CAPACITY, KS_UPDATE, &kind_csi_storage_capacity, POOL(""),
                      POOL(",'capacity':'1Gi'")));
    /* a pod that gives up what was reserved for it; not one that ends, and not one without claims
     */
    char text[512];
    assert_true(WORTH(KS_RES_ASSIGNED_POD, KS_DELETE, &kind_pod,
                      vol_pod(text, sizeof text, "q", "", CLAIM("d")), NULL));
    assert_false(WORTH(KS_RES_ASSIGNED_POD, KS_DELETE, &kind_pod,
                       vol_pod(text, sizeof text, "q", "a", CLAIM("d")), NULL));
    assert_false(WORTH(KS_RES_ASSIGNED_POD, KS_DELETE, &kind_pod,
                       vol_pod(text, sizeof text, "q", "", ""), NULL));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_pods_without_claims),
        FIXTURE_TEST(test_claims_that_do_not_do),
        FIXTURE_TEST(test_ephemeral_volumes),
        FIXTURE_TEST(test_bound_volumes),
        FIXTURE_TEST(test_all_reasons_are_told),
        FIXTURE_TEST(test_the_smallest_volume),
        FIXTURE_TEST(test_volumes_that_do_not_do),
        FIXTURE_TEST(test_a_prebound_volume_wins),
        FIXTURE_TEST(test_local_volumes),
        FIXTURE_TEST(test_selected_node),
        FIXTURE_TEST(test_allowed_topologies),
        FIXTURE_TEST(test_storage_that_is_left),
        FIXTURE_TEST(test_two_pods_never_take_one_volume),
        FIXTURE_TEST(test_profiles_share_what_is_taken),
        FIXTURE_TEST(test_a_claim_on_its_way_has_its_node),
        FIXTURE_TEST(test_malformed_quantities_never_get_here),
        FIXTURE_TEST(test_bad_selector),
        FIXTURE_TEST(test_many_labels),
        FIXTURE_TEST(test_arguments),
        FIXTURE_TEST(test_hints),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
