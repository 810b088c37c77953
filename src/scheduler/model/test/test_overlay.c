/* test_overlay.c - what an overlay changed is taken back to the byte, whatever it was and however
 * overlays were nested.
 */
#include "api/test/object_fixture.h"
#include "base/test/asserts.h"

#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/model/overlay.h"
#include "scheduler/model/shares.h"

enum { ROWS = 6, PODS = 40, GUESTS = 12, DEPTH = 8 };

static uint64_t state;
static uint32_t below(uint32_t n)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

struct cluster {
    struct object_fixture *base;
    struct nodecache *cache;
    struct kobj *guests[GUESTS]; /* pods that are on no node */
};

static struct kobj *make_pod(struct cluster *c, const char *name, const char *node)
{
    /* Some with terms, some of absurd size, some with a resource of their own. */
    static const char *const requests[] = { "'cpu':'1'", "'cpu':'250m','memory':'1Gi'",
                                            "'memory':'4Ei','cpu':'7'", "'example.com/gpu':'2'",
                                            "" };
    const char *text = arena_printf(
        c->base->arena,
        "{'metadata':{'name':'%s','namespace':'ns','uid':'%s'},'spec':{'nodeName':'%s',%s"
        "'containers':[{'name':'c','resources':{'requests':{%s}}}]}}",
        name, name, node, below(3) ? "" : "'affinity':{'podAntiAffinity':{}},", requests[below(5)]);
    return fixture_object(c->base, &kind_pod, text);
}

/* Some pods take room that others of their node keep. */
static void share_some(struct cluster *c)
{
    const struct ks_nodes *v = nodecache_nodes(c->cache);
    struct requests part = { .fixed = { 400, 1 << 28, 0, 1 }, .mcpu_nz = 400 };

    for (uint32_t row = 0; row < v->n; row++)
        for (uint32_t i = 1; i < v->pods[row].n; i++)
            if (below(2))
                ks_share_set(v, v->pods[row].items[i]->obj.meta.uid,
                             v->pods[row].items[0]->obj.meta.uid, &part);
}

static void start(struct cluster *c, void **fixture)
{
    *c = (struct cluster){ .base = *fixture, .cache = nodecache_new(NULL) };
    for (int i = 0; i < ROWS; i++) {
        CLEANUP(kobj_unref)
        struct kobj *n =
            fixture_object(c->base, &kind_node,
                           arena_printf(c->base->arena,
                                        "{'metadata':{'name':'n%d'},'status':{'allocatable':{'cpu'"
                                        ":'8','memory':'8Gi','pods':'20','example.com/gpu':'8'}}}",
                                        i));
        nodecache_put_node(c->cache, n);
    }
    for (int i = 0; i < PODS; i++) {
        CLEANUP(kobj_unref)
        struct kobj *p = make_pod(c, arena_printf(c->base->arena, "p%d", i),
                                  arena_printf(c->base->arena, "n%u", below(ROWS)));
        nodecache_put_pod(c->cache, p);
    }
    share_some(c);
    for (int i = 0; i < GUESTS; i++)
        c->guests[i] = make_pod(c, arena_printf(c->base->arena, "g%d", i), "");
}

static void stop(struct cluster *c)
{
    struct kerr err = { 0 };

    assert_int_equal(nodecache_verify(c->cache, &err), 0);
    for (int i = 0; i < GUESTS; i++)
        kobj_unref(c->guests[i]);
    nodecache_free(c->cache);
}

/* ---- everything that the rows say ------------------------------------------------------------ */

struct picture {
    uint8_t *bytes;
    size_t n, cap;
};

static void draw(struct picture *p, const void *from, size_t n)
{
    if (p->n + n > p->cap) {
        p->cap = 2 * (p->n + n);
        p->bytes = xreallocarray(p->bytes, p->cap, 1);
    }
    memcpy(p->bytes + p->n, from, n);
    p->n += n;
}

static void draw_history(struct picture *p, const struct ks_history *h, uint32_t n)
{
    draw(p, &h->generation, sizeof h->generation);
    draw(p, h->changed, n * sizeof *h->changed);
    draw(p, h->journal, KS_JOURNAL * sizeof *h->journal);
}

static struct picture picture_of(const struct nodecache *c)
{
    const struct ks_nodes *v = nodecache_nodes(c);
    struct picture p = { 0 };

    for (uint32_t r = 0; r < v->nres; r++) {
        draw(&p, v->alloc[r], v->n * sizeof(int64_t));
        draw(&p, v->used[r], v->n * sizeof(int64_t));
    }
    draw(&p, v->used_mcpu_nz, v->n * sizeof(int64_t));
    draw(&p, v->used_memory_nz, v->n * sizeof(int64_t));
    draw(&p, v->flags, v->n);
    draw_history(&p, &v->changes, v->n);
    draw_history(&p, &v->node_changes, v->n);
    draw(&p, &v->npods, sizeof v->npods);
    draw(&p, &v->naffinity, sizeof v->naffinity);
    for (uint32_t i = 0; i < v->n; i++) {
        draw(&p, &v->pods[i].n, sizeof v->pods[i].n);
        draw(&p, &v->pods[i].naffinity, sizeof v->pods[i].naffinity);
        draw(&p, v->pods[i].items, v->pods[i].n * sizeof *v->pods[i].items);
    }
    return p;
}

static void expect_picture(const struct nodecache *c, struct picture *was)
{
    struct picture now = picture_of(c);

    assert_int_equal(now.n, was->n);
    assert_memory_equal(now.bytes, was->bytes, now.n);
    free(now.bytes);
    free(was->bytes);
}

/* ---- changes --------------------------------------------------------------------------------- */

static void undo_to(struct nodecache *c, uint32_t mark)
{
    while (overlay_mark(c) > mark)
        kobj_unref(overlay_undo(c).pod);
}

struct gone { /* what was removed and may come back */
    struct {
        const struct pod *pod;
        uint32_t row;
    } items[DEPTH];
    uint32_t n;
};

static void change(struct cluster *c, struct gone *gone)
{
    const struct ks_nodes *v = nodecache_nodes(c->cache);
    uint32_t row = below(ROWS), n = v->pods[row].n;

    switch (below(4)) {
    case 0: overlay_add_pod(c->cache, row, c->guests[below(GUESTS)]); break;
    case 1:
        if (n && gone->n < DEPTH) {
            gone->items[gone->n].pod = v->pods[row].items[below(n)];
            gone->items[gone->n].row = row;
            overlay_remove_pod(c->cache, row, gone->items[gone->n++].pod);
        }
        break;
    case 2:
        overlay_use(c->cache, row,
                    below(2)   ? KS_MCPU
                    : below(2) ? KS_USED_MEMORY_NZ
                               : v->nres - 1,
                    (int64_t)below(5000) - 2500);
        break;
    case 3:
        if (gone->n) {
            gone->n--;
            overlay_restore_pod(c->cache, gone->items[gone->n].row, gone->items[gone->n].pod);
        }
        break;
    }
}

/* Changes, and within them others, each taken back before the ones around it. */
static void nest(struct cluster *c, int depth)
{
    uint32_t mark = overlay_mark(c->cache);
    struct picture was = picture_of(c->cache);
    struct gone gone = { .n = 0 };

    for (uint32_t i = below(12); i > 0; i--)
        change(c, &gone);
    if (depth > 0)
        for (uint32_t i = below(3); i > 0; i--)
            nest(c, depth - 1);
    undo_to(c->cache, mark);
    expect_picture(c->cache, &was);
}

static void test_everything_is_as_it_was(void **fixture)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct cluster c;
        state = seed;
        start(&c, fixture);
        for (int i = 0; i < 10; i++)
            nest(&c, 3);
        assert_int_equal(overlay_mark(c.cache), 0);
        assert_null(nodecache_nodes(c.cache)->overlaid);
        stop(&c);
    }
}

static void test_changes_are_seen(void **fixture)
{
    struct cluster c;
    uint32_t n;

    state = 5;
    start(&c, fixture);
    const struct ks_nodes *v = nodecache_nodes(c.cache);
    int64_t pods = v->used[KS_PODS][2], mcpu = v->used[KS_MCPU][2];
    uint32_t all = v->npods;
    const struct pod *first = v->pods[2].items[0];
    overlay_remove_pod(c.cache, 2, first);
    assert_int_equal(v->used[KS_PODS][2], pods - 1);
    assert_int_equal(v->npods, all - 1);
    overlay_use(c.cache, 2, KS_MCPU, 500);
    overlay_use(c.cache, 4, KS_PODS, 1);
    overlay_restore_pod(c.cache, 2, first);
    assert_int_equal(v->used[KS_PODS][2], pods);
    assert_int_equal(v->used[KS_MCPU][2], mcpu + 500);
    const uint32_t *rows = overlay_rows(c.cache, &n);
    assert_int_equal(n, 2);
    assert_int_equal(rows[0], 2);
    assert_int_equal(rows[1], 4);
    assert_int_equal(v->overlaid[2], 3);
    assert_int_equal(v->overlaid[3], 0);
    struct kerr err = { 0 };
    assert_int_equal(nodecache_verify(c.cache, &err), -EBADMSG);
    assert_string_equal(err.text, "4 changes were not taken back");
    undo_to(c.cache, 0);
    stop(&c);
}

static void gone_for_good(struct gone *gone, const struct pod *pod)
{
    for (uint32_t i = gone->n; i-- > 0;)
        if (gone->items[i].pod == pod)
            gone->items[i] = gone->items[--gone->n];
}

/* Pods that are assumed and forgotten meanwhile are the one thing that stays. */
static void test_pods_are_assumed_and_forgotten_meanwhile(void **fixture)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct cluster c;
        struct kerr err = { 0 };
        struct kobj *mine[6] = { NULL };
        struct gone gone = { .n = 0 };
        state = seed;
        start(&c, fixture);
        const struct ks_nodes *v = nodecache_nodes(c.cache);
        for (int i = 0; i < 6; i++)
            mine[i] = make_pod(&c, arena_printf(c.base->arena, "m%d", i), "");
        for (int i = 0; i < 60; i++) {
            struct kobj *p = mine[below(6)];
            uint64_t before = v->changes.generation;
            if (below(2)) {
                change(&c, &gone);
                assert_int_equal(v->changes.generation, before);
            } else if (nodecache_find(c.cache, p->meta.uid, NULL) == NODECACHE_ABSENT) {
                assert_int_equal(nodecache_assume(c.cache, p,
                                                  nodecache_row_name(c.cache, below(ROWS)), NULL,
                                                  &err),
                                 0);
                assert_that(v->changes.generation, >, before);
            } else { /* the overlay may have removed it, and may have put it back */
                assert_true(nodecache_forget(c.cache, p->meta.uid));
                assert_that(v->changes.generation, >, before);
                gone_for_good(&gone, pod_of(p));
            }
        }
        undo_to(c.cache, 0);
        for (int i = 0; i < 6; i++)
            kobj_unref(mine[i]);
        stop(&c); /* adds up */
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_everything_is_as_it_was),
        FIXTURE_TEST(test_changes_are_seen),
        FIXTURE_TEST(test_pods_are_assumed_and_forgotten_meanwhile),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
