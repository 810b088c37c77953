/* test_owner.c - owner references as JSON; children that are adopted and released. */
#include "api/selector/selector.h"
#include "base/strbuf.h"
#include "controllers/claim.h"
#include "controllers/owner.h"
#include "controllers/test/fixture.h"
#include "json/kj.h"

#define SETS "/apis/apps/v1/namespaces/ns/replicasets"
#define REF(kind, name, uid, rest)                                                           \
    "{\"apiVersion\":\"apps/v1\",\"kind\":\"" kind "\",\"name\":\"" name "\",\"uid\":\"" uid \
    "\"" rest "}"
/* What the fake server gives to its first object. */
#define FIRST_UID "00000000-0000-4000-8000-000000000001"
#define CONTROLS  ",\"controller\":true,\"blockOwnerDeletion\":true"

static struct kobj *decode(struct fixture *f, const struct kind *k, const char *json)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };
    struct kobj *o = NULL;

    if (kj_parse(json, strlen(json), 0, &doc, &err) < 0 ||
        kobj_decode(k, kj_root(doc), kube_scratch(f->r.kube), &o, &err) < 0)
        fail_msg("%s", err.text);
    return o;
}

static void test_references_as_json(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kjw w = kjw_to(&out);
    char key[KOBJ_KEY_MAX];

    (void)state;
    fixture_init(&f, 1);
    CLEANUP(kobj_unref)
    struct kobj *owner =
        decode(&f, kind_find("replicasets"), "{\"metadata\":{\"name\":\"web\",\"uid\":\"u-1\"}}");
    CLEANUP(kobj_unref)
    struct kobj *pod =
        decode(&f, &kind_pod,
               "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"ownerReferences\":[" REF(
                   "ReplicaSet", "web", "u-1", CONTROLS) "," REF("Thing", "t", "u-2", "") "]}}");
    struct kuid gone = kuid_parse("u-1", 3);

    kjw_arr(&w, NULL);
    kjw_obj(&w, NULL);
    owner_write(&w, owner, true);
    kjw_end(&w);
    kjw_obj(&w, NULL);
    owner_write(&w, owner, false);
    kjw_end(&w);
    kjw_obj(&w, NULL);
    owner_write_drop(&w, gone);
    kjw_end(&w);
    kjw_obj(&w, NULL);
    owner_write_others(&w, pod, &gone, 1);
    kjw_end(&w);
    kjw_end(&w);
    assert_string_equal(
        out.data,
        "[{\"ownerReferences\":[" REF(
            "ReplicaSet", "web", "u-1",
            CONTROLS) "]},"
                      "{\"ownerReferences\":[" REF(
                          "ReplicaSet", "web", "u-1",
                          "") "]},"
                              "{\"ownerReferences\":[{\"$patch\":\"delete\",\"uid\":\"u-1\"}]},"
                              "{\"ownerReferences\":[" REF("Thing", "t", "u-2", "") "]}]");
    assert_true(owner_key(pod, "ReplicaSet", key, sizeof key));
    assert_string_equal(key, "ns/web");
    assert_false(owner_key(pod, "Thing", key, sizeof key)); /* an owner, not the controller */
    assert_false(owner_key(owner, "ReplicaSet", key, sizeof key));
}

/* ---- claims ---------------------------------------------------------------------------------- */

struct claiming { /* claims the pods with app=web for every ReplicaSet that it is told of */
    struct informer *pods;
    size_t mine;
    bool settled;
};

static void sync(void *self, struct batch *b, const char *key, struct kobj *obj)
{
    struct claiming *c = self;
    struct labelsel *selector;
    kobjvec mine = { 0 };
    struct kerr err;

    (void)key;
    assert_non_null(obj);
    assert_int_equal(labelsel_parse("app=web", 7, batch_arena(b), &selector, &err), 0);
    c->settled = claim_children(
        b,
        &(struct claim){
            .owner = obj, .selector = selector, .children = c->pods, .finalizer = "example.com/f" },
        &mine);
    c->mine = mine.n;
    vec_fini(&mine);
}

struct written {
    struct strbuf log;
};

static void on_write(void *arg, const char *agent, const char *method, const char *target,
                     const struct kj_val *body)
{
    struct written *w = arg;

    (void)agent, (void)body;
    strbuf_appendf(&w->log, "%s %s;", method, target);
}

static void test_orphans_are_adopted_and_strangers_released(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    struct claiming c = { 0 };
    struct written w = { STRBUF_INIT };

    (void)state;
    fixture_init(&f, 2);
    fake_on_write(f.r.fake, on_write, &w);
    fake_put(f.r.fake, SETS, "web", "{}");
    fake_put(f.r.fake, PODS, "orphan", "{\"metadata\":{\"labels\":{\"app\":\"web\"}}}");
    fake_put(f.r.fake, PODS, "ended",
             "{\"metadata\":{\"labels\":{\"app\":\"web\"}},\"status\":{\"phase\":\"Failed\"}}");
    fake_put(f.r.fake, PODS, "other", "{\"metadata\":{\"labels\":{\"app\":\"db\"}}}");
    c.pods = caches_get(f.caches, &kind_pod);
    struct informer *sets = caches_get(f.caches, kind_find("replicasets"));
    CLEANUP(controller_free)
    struct controller *ctl = controller_new(
        f.controllers,
        &(struct controller_opts){ .name = "claim", .of = sets, .sync = sync, .self = &c });
    controller_watch(ctl, sets, NULL, NULL);
    controller_read(ctl, c.pods);
    caches_start(f.caches);
    controllers_start(f.controllers);
    client_fixture_run(&f.r, NSEC_PER_SEC);
    assert_false(c.settled);
    assert_string_equal(strbuf_str(&w.log), "PATCH /api/v1/namespaces/ns/pods/orphan;");

    /* Its own by now; and one of its own has other labels. */
    fake_put(f.r.fake, PODS, "changed",
             "{\"metadata\":{\"labels\":{\"app\":\"db\"},\"ownerReferences\":[" REF(
                 "ReplicaSet", "web", FIRST_UID, CONTROLS) "]}}");
    strbuf_reset(&w.log);
    client_fixture_run(&f.r, NSEC_PER_SEC);
    controller_add(ctl, "ns/web");
    client_fixture_run(&f.r, NSEC_PER_SEC);
    assert_int_equal(c.mine, 1);
    assert_string_equal(strbuf_str(&w.log), "PATCH /api/v1/namespaces/ns/pods/changed;");
    strbuf_fini(&w.log);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_references_as_json),
        cmocka_unit_test(test_orphans_are_adopted_and_strangers_released),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
