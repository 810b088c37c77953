/* test_volumebinding_bind.c - volumes and claims are written and waited for (scheduler-core 8.16).
 *
 * The API server is the fake one; the test plays informer (sync) and volume controller (put).
 */
#include "scheduler/test/volume_objects.h"

#include "client/test/client_fixture.h"
#include "scheduler/framework/profile.h"

#define PVS  "/api/v1/persistentvolumes"
#define PVCS "/api/v1/namespaces/ns/persistentvolumeclaims"
#define SEC  NSEC_PER_SEC

/* ---- the engine's part ----------------------------------------------------------------------- */

static struct {
    int calls;
    enum ks_code code;
    char why[256];
} done;

static void on_done(struct ks_bind *b, enum ks_code code, const char *why)
{
    assert_non_null(b);
    done.calls++;
    done.code = code;
    (void)snprintf(done.why, sizeof done.why, "%s", why);
}

static const struct ks_bind_ops ops = { .done = on_done };

/* ---- the fixture ----------------------------------------------------------------------------- */

struct stage {
    struct plugin_fixture f;
    struct client_fixture client;
    struct profile *profile;
    const struct ks_plugin *pl;
    void *self;
    struct ks_bind bind;
};

static void stage_init(struct stage *s, void **state, const char *args)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = args ? fixture_doc(args) : NULL;
    struct profile_args given = { "VolumeBinding", NULL };
    struct kerr err = { 0 };
    void *decoded = NULL;

    fixture_init(&s->f, state, "VolumeBinding", NULL);
    client_fixture_init(&s->client, 7);
    struct ks_env env = { .loop = s->client.loop, .kube = s->client.kube, .objects = s->f.objects };
    struct profile_config c = profile_config_default(ks_registry, "bind", s->f.base->arena);
    args_decode(ks_registered_find("VolumeBinding")->plugin->args, kj_root(doc),
                &(struct ks_args_context){ 0 }, s->f.base->arena, &decoded, &err);
    assert_string_equal(err.text, "");
    given.args = decoded;
    c.args = &given;
    c.nargs = 1;
    s->profile = profile_new(&c, ks_registry, &env, &err);
    assert_string_equal(err.text, "");
    const struct profile_slot *slot = &s->profile->slots[profile_slot(s->profile, "VolumeBinding")];
    s->pl = slot->plugin;
    s->self = slot->self;
    memset(&done, 0, sizeof done);
    vol_node(&s->f, "a", "'zone':'a'");
    vol_class(&s->f, "wait", "d", "WaitForFirstConsumer", "");
}
static void stage_fini_p(struct stage *s)
{
    profile_free(s->profile);
    client_fixture_fini(&s->client);
    fixture_fini_p(&s->f);
}

static void put(struct stage *s, const char *collection, const char *name, const char *quoted)
{
    CLEANUP(mem_free) char *text = xstrdup(quoted);
    for (char *p = text; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    fake_put(s->client.fake, collection, name, text);
}
static void sync_one(struct stage *s, const struct kind *k, const char *collection,
                     const char *name)
{
    const char *json = fake_find(s->client.fake, collection, name);
    assert_non_null(json);
    fixture_put(&s->f, k, json);
}
static void sync_pv(struct stage *s, const char *name)
{
    sync_one(s, &kind_pv, PVS, name);
}
static void sync_pvc(struct stage *s, const char *name)
{
    sync_one(s, &kind_pvc, PVCS, name);
}
#define PVC(more, spec)                                                         \
    "{'metadata':{'namespace':'ns'" more "},'spec':{'storageClassName':'wait'," \
    "'resources':{'requests':{'storage':'1Gi'}}" spec "}}"
#define SELECTED ",'annotations':{'volume.kubernetes.io/selected-node':'a'}"
#define COMPLETED                                                                                 \
    ",'annotations':{'volume.kubernetes.io/selected-node':'a','pv.kubernetes.io/bind-completed':" \
    "'yes'}"
#define PV(more)                                                                     \
    "{'metadata':{'finalizers':['x']},'spec':{'storageClassName':'wait','capacity':" \
    "{'storage':'5Gi'},'mystery':{'keep':'me'}" more "},'status':{'phase':'Available'}}"

static const char *stored(struct stage *s, const char *collection, const char *name,
                          const char *path)
{
    static char text[256];
    const char *json = fake_find(s->client.fake, collection, name);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kj_val *v;

    assert_int_equal(kj_parse(json, strlen(json), 0, &doc, NULL), 0);
    v = kj_root(doc);
    for (const char *p = path; *p; p += *p == '|') { /* keys have dots: steps end with | */
        size_t n = strcspn(p, "|");
        v = kj_getn(v, p, n);
        p += n;
    }
    (void)snprintf(text, sizeof text, "%s", kj_str_or(v, ""));
    return text;
}

static bool has_uid_of_claim(struct stage *s)
{
    char uid[KUID_TEXT_MAX];
    (void)snprintf(uid, sizeof uid, "%s", stored(s, PVCS, "c", "metadata|uid"));
    return streq(stored(s, PVS, "v", "spec|claimRef|uid"), uid);
}

static void reserve(struct stage *s)
{
    struct plugin_fixture *f = &s->f;
    struct ks_only only = { 0 };
    struct ks_texts why = { .arena = f->arena };
    void *state = NULL;

    vol_try(f, CLAIM("c"));
    assert_int_equal(s->pl->pre_filter(s->self, &f->a.cycle, &f->a.pod, &state, &only, &why),
                     KS_SUCCESS);
    f->a.cycle.state = state;
    assert_int_equal(s->pl->reserve(s->self, &f->a.cycle, &f->a.pod, fixture_row(f, "a"), &why),
                     KS_SUCCESS);
    assert_int_equal(s->pl->pre_flight(s->self, f->a.pod.pod, "a", NULL), KS_SUCCESS);
}
static void pre_bind(struct stage *s)
{
    struct ks_texts why = { .arena = s->f.arena };

    s->bind = (struct ks_bind){ s->f.obj, "a", &ops };
    assert_int_equal(s->pl->pre_bind(s->self, &s->bind, &why), KS_WAIT);
    assert_int_equal(done.calls, 0);
    client_fixture_run(&s->client, SEC / 2);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_a_volume_is_bound(void **state)
{
    CLEANUP(stage_fini) struct stage s;

    stage_init(&s, state, NULL);
    put(&s, PVS, "v", PV(""));
    put(&s, PVCS, "c", PVC("", ""));
    sync_pv(&s, "v");
    sync_pvc(&s, "c");
    reserve(&s);
    pre_bind(&s);
    assert_string_equal(stored(&s, PVS, "v", "spec|claimRef|name"), "c");
    assert_string_equal(stored(&s, PVS, "v", "spec|claimRef|namespace"), "ns");
    assert_true(has_uid_of_claim(&s));
    assert_string_equal(stored(&s, PVS, "v", "spec|claimRef|kind"), "PersistentVolumeClaim");
    assert_string_equal(
        stored(&s, PVS, "v", "metadata|annotations|pv.kubernetes.io/bound-by-controller"), "yes");
    assert_string_equal(stored(&s, PVS, "v", "spec|mystery|keep"), "me"); /* we do not know it */
    client_fixture_run(&s.client, 3 * SEC);
    assert_int_equal(done.calls, 0); /* our informer has not seen it yet */
    sync_pv(&s, "v");
    client_fixture_run(&s.client, 3 * SEC);
    assert_int_equal(done.calls, 0); /* the controller has not completed it yet */
    put(&s, PVCS, "c", PVC(COMPLETED, ",'volumeName':'v'"));
    sync_pvc(&s, "c");
    client_fixture_run(&s.client, SEC);
    assert_int_equal(done.calls, 1);
    assert_int_equal(done.code, KS_SUCCESS);
    s.pl->post_bind(s.self, pod_of(s.f.obj), "a");
    assert_int_equal(s.pl->pre_flight(s.self, pod_of(s.f.obj), "a", NULL), KS_SKIP);
    client_fixture_run(&s.client, 700 * SEC);
    assert_int_equal(done.calls, 1);
}

static void test_a_volume_is_made(void **state)
{
    CLEANUP(stage_fini) struct stage s;

    stage_init(&s, state, NULL);
    put(&s, PVCS, "c", PVC("", ""));
    sync_pvc(&s, "c");
    reserve(&s);
    pre_bind(&s);
    assert_string_equal(
        stored(&s, PVCS, "c", "metadata|annotations|volume.kubernetes.io/selected-node"), "a");
    assert_string_equal(stored(&s, PVCS, "c", "spec|storageClassName"), "wait");
    client_fixture_run(&s.client, 3 * SEC);
    assert_int_equal(done.calls, 0); /* not seen: that is no failure of the provisioner */
    sync_pvc(&s, "c");
    client_fixture_run(&s.client, 3 * SEC);
    assert_int_equal(done.calls, 0);
    put(&s, PVCS, "c", PVC(COMPLETED, ",'volumeName':'new'"));
    sync_pvc(&s, "c");
    client_fixture_run(&s.client, 3 * SEC);
    assert_int_equal(done.calls, 0); /* the volume is on its way to us */
    put(&s, PVS, "new", PV(""));
    sync_pv(&s, "new");
    client_fixture_run(&s.client, SEC);
    assert_int_equal(done.calls, 1);
    assert_int_equal(done.code, KS_SUCCESS);
}

static void test_the_provisioner_gives_up(void **state)
{
    CLEANUP(stage_fini) struct stage s;

    stage_init(&s, state, NULL);
    put(&s, PVCS, "c", PVC("", ""));
    sync_pvc(&s, "c");
    reserve(&s);
    pre_bind(&s);
    put(&s, PVCS, "c", PVC("", ""));
    sync_pvc(&s, "c");
    client_fixture_run(&s.client, SEC);
    assert_int_equal(done.code, KS_ERROR);
    assert_string_equal(done.why, "binding volumes: provisioning failed for PVC \"c\"");
}

static void test_made_in_the_wrong_place(void **state)
{
    CLEANUP(stage_fini) struct stage s;

    stage_init(&s, state, NULL);
    put(&s, PVCS, "c", PVC("", ""));
    sync_pvc(&s, "c");
    reserve(&s);
    pre_bind(&s);
    put(&s, PVS, "new",
        PV(",'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone',"
           "'operator':'In','values':['b']}]}]}}"));
    put(&s, PVCS, "c", PVC(COMPLETED, ",'volumeName':'new'"));
    sync_pv(&s, "new");
    sync_pvc(&s, "c");
    client_fixture_run(&s.client, SEC);
    assert_int_equal(done.code, KS_ERROR);
    assert_string_equal(done.why, "binding volumes: pv \"new\" node affinity doesn't match node "
                                  "\"a\": no matching NodeSelectorTerms");
}

static void test_time_runs_out(void **state)
{
    CLEANUP(stage_fini) struct stage s;

    stage_init(&s, state, "{'bindTimeoutSeconds':5}");
    put(&s, PVCS, "c", PVC("", ""));
    sync_pvc(&s, "c");
    reserve(&s);
    pre_bind(&s);
    sync_pvc(&s, "c");
    client_fixture_run(&s.client, 4 * SEC);
    assert_int_equal(done.calls, 0);
    client_fixture_run(&s.client, SEC);
    assert_int_equal(done.calls, 1);
    assert_int_equal(done.code, KS_ERROR);
    assert_string_equal(done.why, "binding volumes: context deadline exceeded");
}

static void test_somebody_else_was_faster(void **state)
{
    CLEANUP(stage_fini) struct stage s;

    stage_init(&s, state, NULL);
    put(&s, PVS, "v", PV(""));
    put(&s, PVCS, "c", PVC("", ""));
    sync_pv(&s, "v");
    sync_pvc(&s, "c");
    reserve(&s);
    put(&s, PVS, "v", PV(",'claimRef':{'namespace':'ns','name':'x'}")); /* not seen by us */
    pre_bind(&s);
    assert_int_equal(done.calls, 1);
    assert_int_equal(done.code, KS_ERROR);
    assert_int_equal(fake_stats(s.client.fake).conflicts, 1);
    assert_string_equal(stored(&s, PVS, "v", "spec|claimRef|name"), "x"); /* nothing overwritten */
    s.pl->unreserve(s.self, pod_of(s.f.obj), "a");

    memset(&done, 0, sizeof done);
    put(&s, PVS, "v", PV(""));
    sync_pv(&s, "v");
    reserve(&s);
    put(&s, PVS, "v", PV(",'claimRef':{'namespace':'ns','name':'x'}"));
    sync_pv(&s, "v"); /* this time we know before we write */
    pre_bind(&s);
    assert_string_equal(done.why, "pv \"v\" is bound to another claim");
    s.pl->unreserve(s.self, pod_of(s.f.obj), "a");
}

static void test_a_prebound_volume_needs_its_uid_only(void **state)
{
    CLEANUP(stage_fini) struct stage s;

    stage_init(&s, state, NULL);
    put(&s, PVS, "v", PV(",'claimRef':{'namespace':'ns','name':'c'}"));
    put(&s, PVCS, "c", PVC("", ""));
    sync_pv(&s, "v");
    sync_pvc(&s, "c");
    reserve(&s);
    pre_bind(&s);
    assert_true(has_uid_of_claim(&s));
    assert_string_equal(
        stored(&s, PVS, "v", "metadata|annotations|pv.kubernetes.io/bound-by-controller"), "");
}

static void test_nothing_to_write(void **state)
{
    CLEANUP(stage_fini) struct stage s;

    stage_init(&s, state, NULL);
    put(&s, PVCS, "c", PVC(SELECTED, ""));
    sync_pvc(&s, "c");
    reserve(&s);
    pre_bind(&s);
    assert_int_equal(fake_stats(s.client.fake).patches, 0);
    put(&s, PVS, "new", PV(""));
    put(&s, PVCS, "c", PVC(COMPLETED, ",'volumeName':'new'"));
    sync_pv(&s, "new");
    sync_pvc(&s, "c");
    client_fixture_run(&s.client, SEC);
    assert_int_equal(done.code, KS_SUCCESS);
    assert_int_equal(done.calls, 1);
}

static void test_claim_or_reference_goes(void **state)
{
    CLEANUP(stage_fini) struct stage s;

    stage_init(&s, state, NULL);
    put(&s, PVS, "v", PV(""));
    put(&s, PVCS, "c", PVC("", ""));
    sync_pv(&s, "v");
    sync_pvc(&s, "c");
    reserve(&s);
    pre_bind(&s);
    put(&s, PVS, "v", PV("")); /* the controller takes it back */
    sync_pv(&s, "v");
    client_fixture_run(&s.client, SEC);
    assert_string_equal(done.why, "binding volumes: ClaimRef got reset for pv \"v\"");
    s.pl->unreserve(s.self, pod_of(s.f.obj), "a");

    memset(&done, 0, sizeof done);
    reserve(&s);
    assert_true(objects_remove(s.f.objects, objects_get(s.f.objects, &kind_pv, NULL, "v")));
    pre_bind(&s);
    assert_string_equal(done.why, "persistentvolume \"v\" not found");
    s.pl->unreserve(s.self, pod_of(s.f.obj), "a");

    memset(&done, 0, sizeof done);
    sync_pv(&s, "v");
    reserve(&s);
    pre_bind(&s);
    sync_pv(&s, "v");
    assert_true(objects_remove(s.f.objects, objects_get(s.f.objects, &kind_pvc, "ns", "c")));
    client_fixture_run(&s.client, SEC);
    assert_string_equal(done.why, "binding volumes: failed to check binding: "
                                  "persistentvolumeclaim \"c\" not found");
}

static void test_given_up_at_any_moment(void **state)
{
    /* before the first turn, while the answer is under way, while waiting */
    static const nsec_t moments[] = { 0, NSEC_PER_MSEC, 3 * NSEC_PER_SEC };

    for (size_t i = 0; i < ARRAY_LEN(moments); i++) {
        CLEANUP(stage_fini) struct stage s;
        struct ks_texts why = { 0 };
        stage_init(&s, state, NULL);
        fake_slow(s.client.fake, NSEC_PER_SEC);
        put(&s, PVS, "v", PV(""));
        put(&s, PVCS, "c", PVC("", ""));
        sync_pv(&s, "v");
        sync_pvc(&s, "c");
        reserve(&s);
        s.bind = (struct ks_bind){ s.f.obj, "a", &ops };
        assert_int_equal(s.pl->pre_bind(s.self, &s.bind, &why), KS_WAIT);
        client_fixture_run(&s.client, moments[i]);
        s.pl->cancel(s.self, &s.bind);
        s.pl->unreserve(s.self, pod_of(s.f.obj), "a");
        client_fixture_run(&s.client, 700 * SEC);
        assert_int_equal(done.calls, 0);
    }
}

static void test_the_end_comes_first(void **state)
{
    CLEANUP(stage_fini) struct stage s;

    stage_init(&s, state, NULL); /* destroyed with a binding under way */
    put(&s, PVCS, "c", PVC("", ""));
    sync_pvc(&s, "c");
    reserve(&s);
    pre_bind(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_a_volume_is_bound),
        FIXTURE_TEST(test_a_volume_is_made),
        FIXTURE_TEST(test_the_provisioner_gives_up),
        FIXTURE_TEST(test_made_in_the_wrong_place),
        FIXTURE_TEST(test_time_runs_out),
        FIXTURE_TEST(test_somebody_else_was_faster),
        FIXTURE_TEST(test_a_prebound_volume_needs_its_uid_only),
        FIXTURE_TEST(test_nothing_to_write),
        FIXTURE_TEST(test_claim_or_reference_goes),
        FIXTURE_TEST(test_given_up_at_any_moment),
        FIXTURE_TEST(test_the_end_comes_first),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
