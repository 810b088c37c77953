/* test_labels.c - columns of label values follow the nodes. */
#include "api/test/object_fixture.h"
#include "base/test/asserts.h"

#include <stdio.h>

#include "api/node.h"
#include "loop/loop.h"
#include "scheduler/model/labels.h"
#include "scheduler/model/nodecache.h"

static void put(struct object_fixture *b, struct nodecache *c, const char *name, const char *zone)
{
    char text[256];

    (void)snprintf(text, sizeof text, "{'metadata':{'name':'%s','labels':{%s%s%s}}}", name,
                   zone ? "'zone':'" : "", zone ? zone : "", zone ? "'" : "");
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(b, &kind_node, text);
    nodecache_put_node(c, o);
}

/* "" when the node has no zone. */
static const char *zone_of(const struct nodecache *c, const char *node)
{
    const struct ks_nodes *n = nodecache_nodes(c);
    const struct ks_label *l = ks_label(n, "zone");
    const char *value = l->value[l->id[ks_row_of(n, node)]];

    return value ? value : "";
}

static void test_a_column_follows_its_nodes(void **state)
{
    CLEANUP(nodecache_free) struct nodecache *c = nodecache_new(NULL);
    const struct ks_nodes *n = nodecache_nodes(c);

    assert_int_equal(ks_label(n, "zone")->n, 1); /* no node, no value */
    put(*state, c, "a", "z1");
    put(*state, c, "b", "z2");
    put(*state, c, "c", NULL);
    assert_string_equal(zone_of(c, "a"), "z1");
    assert_string_equal(zone_of(c, "b"), "z2");
    assert_string_equal(zone_of(c, "c"), "");
    uint32_t z1 = ks_label_id(ks_label(n, "zone"), "z1");
    uint64_t serial = ks_label(n, "zone")->serial;
    assert_that(z1, >, 0);
    assert_int_equal(ks_label_id(ks_label(n, "zone"), "z9"), 0);
    put(*state, c, "c", "z1");
    put(*state, c, "a", "z3");
    assert_int_equal(ks_label(n, "zone")->id[ks_row_of(n, "c")], z1); /* the same number */
    assert_string_equal(zone_of(c, "a"), "z3");
    nodecache_remove_node(c, "a"); /* the last row takes its place */
    assert_string_equal(zone_of(c, "b"), "z2");
    assert_string_equal(zone_of(c, "c"), "z1");
    assert_int_equal(ks_label(n, "zone")->serial, serial);
    assert_int_equal(ks_label(n, "other")->n, 1);
    assert_int_equal(ks_label(n, "other")->id[0], 0);
}

/* Values of nodes that are long gone do not pile up. */
static void test_old_values_are_forgotten(void **state)
{
    CLEANUP(nodecache_free) struct nodecache *c = nodecache_new(NULL);
    char zone[16];

    put(*state, c, "stays", "here");
    uint64_t serial = ks_label(nodecache_nodes(c), "zone")->serial;
    for (int i = 0; i < 500; i++) {
        (void)snprintf(zone, sizeof zone, "z%d", i);
        put(*state, c, "a", zone);
        assert_string_equal(zone_of(c, "a"), zone);
        assert_string_equal(zone_of(c, "stays"), "here");
    }
    assert_that(ks_label(nodecache_nodes(c), "zone")->n, <, 100);
    assert_that(ks_label(nodecache_nodes(c), "zone")->serial, >, serial); /* and one can tell */
}

/* Pods name keys as they like. */
static void test_keys_are_forgotten(void **state)
{
    CLEANUP(nodecache_free) struct nodecache *c = nodecache_new(NULL);
    const struct ks_nodes *n = nodecache_nodes(c);
    char key[16];

    put(*state, c, "a", "z1");
    const struct ks_label *zone = ks_label(n, "zone");
    uint64_t serial = zone->serial;
    for (int i = 0; i < 500; i++) {
        (void)snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(ks_label(n, key)->id[0], 0);
    }
    assert_string_equal(zone->value[zone->id[0]], "z1"); /* in one attempt all stay */
    nodecache_begin(c);
    assert_that(ks_label(n, "zone")->serial, !=, serial);
    for (int i = 0; i < 500; i++) {
        nodecache_begin(c);
        (void)snprintf(key, sizeof key, "k%d", i);
        ks_label(n, key);
        serial = i ? serial : ks_label(n, "zone")->serial;
        assert_int_equal(ks_label(n, "zone")->serial, serial); /* who is asked for stays */
    }
}

/* Anything in any order; the columns say what the nodes say. */
static void test_random_changes(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 7);
    CLEANUP(nodecache_free) struct nodecache *c = nodecache_new(NULL);
    char name[16], zone[16];

    for (int i = 0; i < 3000; i++) {
        (void)snprintf(name, sizeof name, "n%u", (unsigned)loop_rand_below(l, 9));
        (void)snprintf(zone, sizeof zone, "z%u", (unsigned)loop_rand_below(l, 6));
        if (loop_rand_below(l, 4) == 0)
            nodecache_remove_node(c, name);
        else
            put(*state, c, name, loop_rand_below(l, 5) ? zone : NULL);
        if (loop_rand_below(l, 3))
            continue; /* several changes at once */
        const struct ks_nodes *n = nodecache_nodes(c);
        for (uint32_t row = 0; row < n->n; row++) {
            const char *want = kstrmap_get(&n->node[row]->obj.meta.labels, "zone");
            assert_string_equal(zone_of(c, n->node[row]->obj.meta.name), want ? want : "");
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_a_column_follows_its_nodes),
        FIXTURE_TEST(test_old_values_are_forgotten),
        FIXTURE_TEST(test_keys_are_forgotten),
        FIXTURE_TEST(test_random_changes),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
