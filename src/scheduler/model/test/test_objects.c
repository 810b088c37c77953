/* test_objects.c - which news of the object cache make worthless what equal pods have found out,
 * and which plugins hear of the others all the same.
 */
#include "scheduler/test/volume_objects.h"

#include "api/core.h"
#include "api/policy.h"

#define WAITS "'storageClassName':'wait','resources':{'requests':{'storage':'1Gi'}}"
#define LOCAL "'storageClassName':'wait','capacity':{'storage':'1Gi'}"

static void start(struct plugin_fixture *f, void **state)
{
    fixture_init(f, state, NULL, NULL);
    vol_node(f, "a", "'kubernetes.io/hostname':'a'");
    vol_node(f, "b", "'kubernetes.io/hostname':'b'");
    vol_class(f, "wait", "kubernetes.io/no-provisioner", "WaitForFirstConsumer", "");
}

/* Did the attempt use what an equal pod had found out? */
static bool reuses(struct plugin_fixture *f, const char *volumes)
{
    uint64_t before = shapes_stats(f->shapes).hits;
    vol_try(f, volumes);
    return shapes_stats(f->shapes).hits > before;
}

static void test_news_that_nothing_reused_depends_on(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    assert_false(reuses(&f, ""));
    assert_true(reuses(&f, ""));
    vol_pv(&f, "v", "", LOCAL, "Available");
    vol_pvc(&f, "c", "", WAITS, "Pending");
    assert_true(reuses(&f, ""));
    vol_pv(&f, "v", "", LOCAL, "Released");
    vol_pvc(&f, "c", "", WAITS, "Lost");
    assert_true(reuses(&f, ""));
    fixture_put(
        &f, &kind_pdb,
        "{'metadata':{'name':'b','namespace':'ns','uid':'b'},'status':{'disruptionsAllowed':"
        "1}}");
    fixture_put(
        &f, &kind_pdb,
        "{'metadata':{'name':'b','namespace':'ns','uid':'b'},'status':{'disruptionsAllowed':"
        "0}}");
    assert_true(reuses(&f, ""));
}

static void test_news_that_it_depends_on(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    assert_false(reuses(&f, ""));
    fixture_put(
        &f, &kind_service,
        "{'metadata':{'name':'s','namespace':'ns','uid':'s'},'spec':{'selector':{'a':'b'}}}");
    assert_false(reuses(&f, "")); /* spreading */
    assert_true(reuses(&f, ""));
    fixture_put(&f, &kind_namespace, "{'metadata':{'name':'ns','uid':'ns','labels':{'a':'b'}}}");
    assert_false(reuses(&f, "")); /* affinity to pods */
    assert_true(reuses(&f, ""));
    vol_node(&f, "c", "");
    assert_false(reuses(&f, ""));
}

/* Phase and claim of a volume decide, though what other plugins said is used again. */
static void test_volumes_are_seen_as_they_are(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    vol_pvc(&f, "c", "", WAITS, "Pending");
    vol_pv(&f, "v", "", LOCAL, "Available");
    vol_try(&f, CLAIM("c"));
    assert_true(fixture_fits(&f, "a"));
    vol_pv(&f, "v", "", LOCAL, "Released");
    assert_true(reuses(&f, CLAIM("c")));
    assert_false(fixture_fits(&f, "a"));
    vol_pv(&f, "v", "", LOCAL, "Available");
    assert_true(reuses(&f, CLAIM("c")));
    assert_true(fixture_fits(&f, "a"));
    vol_pv(&f, "v", "", LOCAL ",'claimRef':{'namespace':'ns','name':'other'}", "Available");
    assert_true(reuses(&f, CLAIM("c")));
    assert_false(fixture_fits(&f, "a"));
    vol_pv(&f, "v", "", LOCAL ",'claimRef':{'namespace':'ns','name':'c'}", "Available");
    assert_true(reuses(&f, CLAIM("c")));
    assert_true(fixture_fits(&f, "a"));
    vol_pvc(&f, "c", "", WAITS, "Lost");
    vol_try(&f, CLAIM("c"));
    assert_false(fixture_fits(&f, "a"));
}

static void attach(struct plugin_fixture *f, const char *name, const char *node)
{
    char text[256];

    fixture_put(f, &kind_volume_attachment,
                TEXT(text, "{'metadata':{'name':'%s'},'spec':{'nodeName':'%s'}}", name, node));
}

/* The names of those of the node, sorted, with nothing between. */
static const char *on_node(struct plugin_fixture *f, const char *node)
{
    static char names[16];
    const struct kobj *o;
    size_t n = 0;

    memset(names, 0, sizeof names);
    for (size_t it = 0; (o = objects_next_of_node(f->objects, &kind_volume_attachment, node, &it));)
        names[n++] = *o->meta.name;
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && names[k - 1] > names[k]; k--) {
            char c = names[k];
            names[k] = names[k - 1];
            names[k - 1] = c;
        }
    return names;
}

static void test_objects_of_a_node(void **state)
{
    CLEANUP(fixture_fini) struct plugin_fixture f;

    start(&f, state);
    assert_string_equal(on_node(&f, "a"), "");
    attach(&f, "x", "a");
    attach(&f, "y", "a");
    attach(&f, "z", "b");
    attach(&f, "n", ""); /* of none */
    assert_string_equal(on_node(&f, "a"), "xy");
    attach(&f, "x", "a");
    attach(&f, "y", "b");
    assert_string_equal(on_node(&f, "a"), "x");
    assert_string_equal(on_node(&f, "b"), "yz");
    assert_true(
        objects_remove(f.objects, objects_get(f.objects, &kind_volume_attachment, NULL, "x")));
    assert_true(
        objects_remove(f.objects, objects_get(f.objects, &kind_volume_attachment, NULL, "n")));
    assert_string_equal(on_node(&f, "a"), "");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_news_that_nothing_reused_depends_on),
        FIXTURE_TEST(test_news_that_it_depends_on),
        FIXTURE_TEST(test_volumes_are_seen_as_they_are),
        FIXTURE_TEST(test_objects_of_a_node),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
