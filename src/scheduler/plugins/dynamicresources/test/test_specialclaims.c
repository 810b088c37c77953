/* test_specialclaims.c - claims for extended resources by the pod that they were made for. */
#include "base/test/asserts.h"

#include "api/pod.h"
#include "api/test/object_fixture.h"
#include "scheduler/plugins/dynamicresources/specialclaims.h"

/* mark: the annotation's value; owner: UID of the pod. */
static struct kobj *claim(struct object_fixture *b, const char *name, const char *mark,
                          const char *owner)
{
    CLEANUP(mem_free)
    char *text =
        xasprintf("{'metadata':{'name':'%s','namespace':'ns','uid':'uid-%s','annotations':{"
                  "'resource.kubernetes.io/extended-resource-claim':'%s'},'ownerReferences':[{"
                  "'apiVersion':'v1','kind':'Pod','name':'p','uid':'%s','controller':true}]"
                  "}}",
                  name, name, mark, owner);

    return fixture_object(b, &kind_resource_claim, text);
}

static struct kobj *pod(struct object_fixture *b, const char *uid, const char *ns)
{
    CLEANUP(mem_free)
    char *text = xasprintf("{'metadata':{'name':'p','namespace':'%s','uid':'%s'}}", ns, uid);

    return fixture_object(b, &kind_pod, text);
}

static const char *name_of(const struct specialclaims *s, const struct kobj *p)
{
    const struct resource_claim *c = specialclaims_of(s, pod_of(p));

    return c ? c->obj.meta.name : "";
}

static void test_a_claim_is_found_by_its_pod_alone(void **state)
{
    struct object_fixture *b = *state;
    struct specialclaims s = { 0 };
    CLEANUP(kobj_unref)
    struct kobj *p = pod(b, "u1", "ns"), *q = pod(b, "u2", "ns"),
                *elsewhere = pod(b, "u1", "other");
    CLEANUP(kobj_unref)
    struct kobj *of_p = claim(b, "a", "true", "u1"), *plain = claim(b, "b", "false", "u2");

    assert_string_equal(name_of(&s, p), "");
    specialclaims_see(&s, NULL, of_p);
    specialclaims_see(&s, NULL, plain);
    assert_string_equal(name_of(&s, p), "a");
    assert_string_equal(name_of(&s, q), "");
    assert_string_equal(name_of(&s, elsewhere), "");
    specialclaims_fini(&s);
}

/* A claim may become one, go to another pod, and cease to be one. */
static void test_claims_change(void **state)
{
    struct object_fixture *b = *state;
    struct specialclaims s = { 0 };
    CLEANUP(kobj_unref) struct kobj *p = pod(b, "u1", "ns"), *q = pod(b, "u2", "ns");
    CLEANUP(kobj_unref)
    struct kobj *plain = claim(b, "a", "", "u1"), *marked = claim(b, "a", "true", "u1"),
                *moved = claim(b, "a", "true", "u2");

    specialclaims_see(&s, NULL, plain);
    specialclaims_see(&s, plain, marked);
    assert_string_equal(name_of(&s, p), "a");
    specialclaims_see(&s, marked, moved);
    assert_string_equal(name_of(&s, p), "");
    assert_string_equal(name_of(&s, q), "a");
    specialclaims_see(&s, moved, plain);
    assert_string_equal(name_of(&s, q), "");
    specialclaims_see(&s, plain, NULL);
    specialclaims_see(&s, NULL, marked);
    specialclaims_see(&s, marked, NULL);
    assert_string_equal(name_of(&s, p), "");
    assert_int_equal(s.by_pod.n, 0);
    specialclaims_fini(&s);
}

/* Whatever order they came in. */
static void test_the_first_of_several(void **state)
{
    struct object_fixture *b = *state;
    struct specialclaims s = { 0 };
    CLEANUP(kobj_unref) struct kobj *p = pod(b, "u1", "ns");
    CLEANUP(kobj_unref)
    struct kobj *one = claim(b, "a", "true", "u1"), *two = claim(b, "b", "true", "u1"),
                *three = claim(b, "c", "true", "u1");

    specialclaims_see(&s, NULL, two);
    specialclaims_see(&s, NULL, one);
    specialclaims_see(&s, NULL, three);
    assert_string_equal(name_of(&s, p), "a");
    specialclaims_see(&s, one, NULL);
    assert_string_equal(name_of(&s, p), "b");
    specialclaims_fini(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_a_claim_is_found_by_its_pod_alone),
        FIXTURE_TEST(test_claims_change),
        FIXTURE_TEST(test_the_first_of_several),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
