/* test_caches.c - one informer for each kind, and reading it by an index. */
#include "controllers/test/fixture.h"

static void test_who_asks_for_the_same_gets_the_same(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;
    static const struct kind other = {
        .group = "", .version = "v1", .kind = "Pod", .plural = "pods"
    };
    const struct informer_opts one_ns = { .kind = &kind_pod, .ns = "a" };

    (void)state;
    fixture_init(&f, 1);
    assert_null(caches_find(f.caches, "", "pods"));
    struct informer *some = caches_get_some(f.caches, &one_ns);
    assert_null(caches_find(f.caches, "", "pods")); /* not all of them */
    struct informer *pods = caches_get(f.caches, &kind_pod);
    assert_ptr_not_equal(pods, some);
    assert_ptr_equal(caches_get(f.caches, &kind_pod), pods);
    assert_ptr_equal(caches_get_some(f.caches, &one_ns), some);
    assert_ptr_equal(caches_find(f.caches, "", "pods"), pods);
    assert_ptr_not_equal(caches_get(f.caches, &other), pods); /* decoded into another struct */
}

static void test_all_start_together_and_late_ones_at_once(void **state)
{
    CLEANUP(fixture_fini) struct fixture f;

    (void)state;
    fixture_init(&f, 2);
    fake_put(f.r.fake, NODES, "n1", "{}");
    struct informer *nodes = caches_get(f.caches, &kind_node);
    client_fixture_run(&f.r, NSEC_PER_SEC);
    assert_false(informer_synced(nodes));
    caches_start(f.caches);
    client_fixture_run(&f.r, NSEC_PER_SEC);
    assert_true(caches_synced(f.caches));
    assert_int_equal(informer_count(nodes), 1);
    struct informer *pods = caches_get(f.caches, &kind_pod);
    assert_false(caches_synced(f.caches));
    client_fixture_run(&f.r, NSEC_PER_SEC);
    assert_true(informer_synced(pods));
    assert_true(caches_synced(f.caches));
    assert_int_equal(fake_stats(f.r.fake).lists, 2);
}

static void test_objects_by_an_index_are_sorted(void **state)
{
    static const char *const names[] = { "c", "a", "b" };
    CLEANUP(fixture_fini) struct fixture f;
    kobjvec found = { 0 };

    (void)state;
    fixture_init(&f, 3);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        fake_put(f.r.fake, PODS, names[i], "{\"spec\":{\"nodeName\":\"n1\"}}");
    fake_put(f.r.fake, "/api/v1/namespaces/a/pods", "z", "{\"spec\":{\"nodeName\":\"n1\"}}");
    fake_put(f.r.fake, PODS, "owned",
             "{\"metadata\":{\"ownerReferences\":[{\"uid\":\"u-1\",\"name\":\"x\",\"controller\":"
             "true}]}}");
    struct informer *pods = caches_get(f.caches, &kind_pod);
    caches_start(f.caches);
    client_fixture_run(&f.r, NSEC_PER_SEC);
    objects_by(pods, index_pod_node, "n1", &found);
    assert_int_equal(found.n, 4);
    assert_string_equal(found.items[0]->meta.ns, "a");
    assert_string_equal(found.items[1]->meta.name, "a");
    assert_string_equal(found.items[2]->meta.name, "b");
    assert_string_equal(found.items[3]->meta.name, "c");
    vec_clear(&found);
    objects_by_owner(pods, kuid_parse("u-1", 3), &found);
    assert_int_equal(found.n, 1);
    assert_string_equal(found.items[0]->meta.name, "owned");
    objects_by(pods, index_orphan, "ns", &found); /* appended */
    assert_int_equal(found.n, 4);
    vec_fini(&found);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_asks_for_the_same_gets_the_same),
        cmocka_unit_test(test_all_start_together_and_late_ones_at_once),
        cmocka_unit_test(test_objects_by_an_index_are_sorted),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
