/* test_shares.c - room that one pod keeps for others is counted once. */
#include "api/test/object_fixture.h"
#include "base/test/asserts.h"

#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/model/overlay.h"
#include "scheduler/model/shares.h"

static struct kobj *put(struct object_fixture *f, struct nodecache *c, const char *name, int cpu,
                        int gpu)
{
    struct kobj *o = fixture_object(
        f, &kind_pod,
        arena_printf(f->arena,
                     "{'metadata':{'name':'%s','namespace':'ns','uid':'%s'},'spec':{'nodeName':"
                     "'n','containers':[{'name':'c','resources':{'requests':{'cpu':'%d',"
                     "'example.com/gpu':'%d'}}}]}}",
                     name, name, cpu, gpu));
    nodecache_put_pod(c, o);
    return o;
}

static struct nodecache *cluster(struct object_fixture *f)
{
    struct nodecache *c = nodecache_new(NULL);
    CLEANUP(kobj_unref)
    struct kobj *n = fixture_object(f, &kind_node,
                                    "{'metadata':{'name':'n'},'status':{'allocatable':{'cpu':'16',"
                                    "'pods':'20','example.com/gpu':'8'}}}");
    nodecache_put_node(c, n);
    return c;
}

static void share(struct nodecache *c, struct kobj *taker, struct kobj *holder)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct requests r;

    requests_accounted(pod_of(taker), a, &r);
    ks_share_set(nodecache_nodes(c), taker->meta.uid, holder->meta.uid, &r);
}

static void expect(const struct nodecache *c, int64_t mcpu, int64_t gpu, int64_t pods)
{
    const struct ks_nodes *n = nodecache_nodes(c);
    struct kerr err = { 0 };

    assert_int_equal(n->used[KS_MCPU][0], mcpu);
    assert_int_equal(n->used[KS_FIXED][0], gpu);
    assert_int_equal(n->used[KS_PODS][0], pods);
    if (overlay_mark(c) == 0)
        assert_int_equal(nodecache_verify(c, &err), 0);
}

static void test_what_takers_left_counts(void **state)
{
    CLEANUP(nodecache_free) struct nodecache *c = cluster(*state);
    CLEANUP(kobj_unref) struct kobj *holder = put(*state, c, "holder", 4, 2);
    CLEANUP(kobj_unref) struct kobj *a = put(*state, c, "a", 1, 1);
    CLEANUP(kobj_unref) struct kobj *b = put(*state, c, "b", 6, 0);

    expect(c, 11000, 3, 3);
    share(c, a, holder);
    expect(c, 10000, 2, 2);
    share(c, b, holder); /* takes more than there is: nobody gets less than nothing */
    expect(c, 7000, 2, 2);
    nodecache_put_pod(c, holder); /* a new state of one of them changes nothing */
    nodecache_put_pod(c, a);
    expect(c, 7000, 2, 2);
    nodecache_remove_pod(c, b->meta.uid);
    expect(c, 4000, 2, 1);
    nodecache_remove_pod(c, holder->meta.uid);
    expect(c, 1000, 1, 1);
    nodecache_put_pod(c, holder);
    nodecache_put_pod(c, b);
    expect(c, 7000, 2, 2);
    ks_share_clear(nodecache_nodes(c), a->meta.uid);
    ks_share_clear(nodecache_nodes(c), b->meta.uid);
    expect(c, 11000, 3, 3);
}

/* A taker that is tried away leaves its room to the holder, not to others. */
static void test_overlays(void **state)
{
    CLEANUP(nodecache_free) struct nodecache *c = cluster(*state);
    CLEANUP(kobj_unref) struct kobj *holder = put(*state, c, "holder", 4, 0);
    CLEANUP(kobj_unref) struct kobj *a = put(*state, c, "a", 3, 0);

    share(c, a, holder);
    expect(c, 4000, 0, 1);
    overlay_remove_pod(c, 0, pod_of(a));
    expect(c, 4000, 0, 1);
    overlay_remove_pod(c, 0, pod_of(holder));
    expect(c, 0, 0, 0);
    overlay_restore_pod(c, 0, pod_of(a));
    expect(c, 3000, 0, 1);
    while (overlay_mark(c))
        kobj_unref(overlay_undo(c).pod);
    expect(c, 4000, 0, 1);
    /* assumed into it while the holder is away */
    overlay_remove_pod(c, 0, pod_of(holder));
    CLEANUP(kobj_unref)
    struct kobj *b = fixture_object(*state, &kind_pod,
                                    "{'metadata':{'name':'b','namespace':'ns','uid':'b'},'spec':{"
                                    "'containers':[{'name':'c','resources':{'requests':{'cpu':'1'"
                                    "}}}]}}");
    assert_int_equal(nodecache_assume(c, b, "n", NULL, NULL), 0);
    share(c, b, holder);
    kobj_unref(overlay_undo(c).pod);
    expect(c, 4000, 0, 2);
    ks_share_clear(nodecache_nodes(c), b->meta.uid);
    assert_true(nodecache_forget(c, b->meta.uid));
    expect(c, 4000, 0, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_what_takers_left_counts),
        FIXTURE_TEST(test_overlays),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
