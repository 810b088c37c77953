/* test_draallocate.c - the search against one that tries everything, on random nodes. */
#include "api/test/object_fixture.h"

#include "api/node.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/dynamicresources/allocate.h"

enum { DEVICES = 7, REQUESTS = 3, RUNS = 3000 };

struct problem {
    unsigned n, colour[DEVICES], size[DEVICES];
    bool taken[DEVICES];
    unsigned nrequests, count[REQUESTS], wants[REQUESTS]; /* a colour; 3: any */
    bool same_size;
};

static unsigned below(struct loop *l, unsigned n)
{
    return (unsigned)loop_rand_below(l, n);
}

static void draw(struct loop *l, struct problem *p)
{
    *p = (struct problem){ .n = below(l, DEVICES + 1), .nrequests = 1 + below(l, REQUESTS) };
    for (unsigned i = 0; i < p->n; i++) {
        p->colour[i] = below(l, 3);
        p->size[i] = below(l, 3); /* 2: it has none */
        p->taken[i] = below(l, 4) == 0;
    }
    for (unsigned i = 0; i < p->nrequests; i++) {
        p->count[i] = 1 + below(l, 2);
        p->wants[i] = below(l, 4);
    }
    p->same_size = below(l, 2);
}

/* ---- the reference --------------------------------------------------------------------------- */

static bool try_all(const struct problem *p, unsigned request, unsigned k, unsigned *picks,
                    unsigned n)
{
    if (request == p->nrequests)
        return true;
    if (k == p->count[request])
        return try_all(p, request + 1, 0, picks, n);
    for (unsigned d = 0; d < p->n; d++) {
        bool ok = !p->taken[d] && (p->wants[request] == 3 || p->wants[request] == p->colour[d]);
        for (unsigned i = 0; i < n; i++)
            ok &= picks[i] != d && (!p->same_size || p->size[picks[i]] == p->size[d]);
        if (!ok || (p->same_size && p->size[d] == 2))
            continue;
        picks[n] = d;
        if (try_all(p, request, k + 1, picks, n + 1))
            return true;
    }
    return false;
}

/* ---- the same as objects --------------------------------------------------------------------- */

static void put(struct object_fixture *b, struct objects *to, const struct kind *k,
                const struct strbuf *text)
{
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(b, k, strbuf_str(text));
    objects_put(to, o);
}

static void put_slice(struct object_fixture *b, struct objects *to, const struct problem *p)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT;

    strbuf_append(&t, "{'metadata':{'name':'s'},'spec':{'driver':'d','nodeName':'n','pool':{'name':"
                      "'p','generation':1,'resourceSliceCount':1},'devices':[");
    for (unsigned i = 0; i < p->n; i++) {
        strbuf_appendf(&t, "%s{'name':'g%u','attributes':{'colour':{'int':%u}", i ? "," : "", i,
                       p->colour[i]);
        if (p->size[i] < 2)
            strbuf_appendf(&t, ",'size':{'string':'%u'}", p->size[i]);
        strbuf_append(&t, "}}");
    }
    strbuf_append(&t, "]}}");
    put(b, to, &kind_resource_slice, &t);
}

static void put_claims(struct object_fixture *b, struct objects *to, const struct problem *p)
{
    CLEANUP(strbuf_fini) struct strbuf t = STRBUF_INIT, o = STRBUF_INIT;
    unsigned n = 0;

    strbuf_append(&t, "{'metadata':{'name':'c','namespace':'ns'},'spec':{'devices':{'requests':[");
    for (unsigned i = 0; i < p->nrequests; i++) {
        strbuf_appendf(&t, "%s{'name':'r%u','exactly':{'deviceClassName':'any','count':%u",
                       i ? "," : "", i, p->count[i]);
        if (p->wants[i] < 3)
            strbuf_appendf(&t,
                           ",'selectors':[{'cel':{'expression':'device.attributes[\\\"d\\\"]."
                           "colour == %u'}}]",
                           p->wants[i]);
        strbuf_append(&t, "}}");
    }
    strbuf_appendf(&t, "]%s}}}",
                   p->same_size ? ",'constraints':[{'matchAttribute':'d/size'}]" : "");
    put(b, to, &kind_resource_claim, &t);
    strbuf_append(&o, "{'metadata':{'name':'o','namespace':'ns'},'spec':{},'status':{'allocation':"
                      "{'devices':{'results':[");
    for (unsigned i = 0; i < p->n; i++)
        if (p->taken[i])
            strbuf_appendf(&o, "%s{'request':'r','driver':'d','pool':'p','device':'g%u'}",
                           n++ ? "," : "", i);
    strbuf_append(&o, "]}}}}");
    put(b, to, &kind_resource_claim, &o);
}

static void check(struct object_fixture *b, const struct problem *p, struct arena *a)
{
    const struct dra_gates gates = { .admin_access = true, .prioritized_list = true };
    CLEANUP(objects_free) struct objects *objects = objects_new();
    CLEANUP(pools_free) struct pools *pools = pools_new(&gates);
    CLEANUP(kobj_unref)
    struct kobj *node = fixture_object(b, &kind_node, "{'metadata':{'name':'n'}}");
    unsigned expected[DEVICES + 1] = { 0 };
    struct outcome got;
    struct plan *plan = NULL;
    const char *why = NULL;

    CLEANUP(strbuf_fini) struct strbuf any = STRBUF_INIT;
    strbuf_append(&any, "{'metadata':{'name':'any'},'spec':{}}");
    put(b, objects, &kind_device_class, &any);
    put_slice(b, objects, p);
    put_claims(b, objects, p);
    const struct resource_claim *claim =
        resource_claim_of(objects_get(objects, &kind_resource_claim, "ns", "c"));
    const struct resource_claim *other =
        resource_claim_of(objects_get(objects, &kind_resource_claim, "ns", "o"));
    pools_put_slice(pools, objects_get(objects, &kind_resource_slice, NULL, "s"));
    pools_hold(pools, other->status.allocation, "ns/o");
    assert_int_equal(plan_make(pools, objects, &claim, 1, NULL, a, &plan, &why), 0);
    struct node_devices *n = pools_node(pools, "n");
    node_devices_refresh(n, node_of(node));
    search_node(plan, n, NULL, a, &got);
    bool found = try_all(p, 0, 0, expected, 0);
    assert_int_equal(got.found, found ? FOUND : FOUND_NONE);
    if (counts_say(plan, n, NULL) == COUNTS_TOO_FEW)
        assert_false(found);
    for (uint32_t i = 0; found && i < got.n; i++)
        assert_int_equal(got.picks[i].device, expected[i]);
    pools_give(pools, other->status.allocation, "ns/o");
}

static void test_the_first_choice_is_found(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 22);
    CLEANUP(arena_free) struct arena *a = arena_new();

    for (unsigned i = 0; i < RUNS; i++) {
        struct problem p;
        draw(l, &p);
        arena_reset(a);
        check(*state, &p, a);
    }
}

/* ---- shared devices --------------------------------------------------------------------------- */

static void same_id(void *arg, char out[37])
{
    (void)arg;
    memcpy(out, "00000000-0000-4000-8000-000000000000", 37);
}

static struct claim_allocation *allocate(struct pools *pools, const struct objects *objects,
                                         const struct kobj *claim, const struct node *node,
                                         struct arena *a)
{
    const struct resource_claim *c = resource_claim_of(claim);
    const struct id_source ids = { same_id, NULL };
    struct claim_allocation *got = NULL;
    struct plan *plan = NULL;
    const char *why = NULL;
    struct outcome o;

    assert_int_equal(plan_make(pools, objects, &c, 1, NULL, a, &plan, &why), 0);
    struct node_devices *n = pools_node(pools, node->obj.meta.name);
    node_devices_refresh(n, node);
    search_node(plan, n, NULL, a, &o);
    assert_int_equal(o.found, FOUND);
    assert_int_equal(allocation_of(plan, &o, 0, node, &ids, a, &got, &why), 0);
    return got;
}

/* There is nothing of it to be counted: everybody may have a share. */
static void test_a_shared_device_needs_no_capacity(void **state)
{
    const struct dra_gates gates = { .consumable = true };
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(objects_free) struct objects *objects = objects_new();
    CLEANUP(pools_free) struct pools *pools = pools_new(&gates);
    CLEANUP(kobj_unref)
    struct kobj *node = fixture_object(*state, &kind_node, "{'metadata':{'name':'n'}}");
    CLEANUP(kobj_unref)
    struct kobj *class =
        fixture_object(*state, &kind_device_class, "{'metadata':{'name':'any'},'spec':{}}");
    CLEANUP(kobj_unref)
    struct kobj *slice = fixture_object(
        *state, &kind_resource_slice,
        "{'metadata':{'name':'s'},'spec':{'driver':'d','nodeName':'n','pool':{'name':'p',"
        "'generation':1,'resourceSliceCount':1},'devices':[{'name':'g',"
        "'allowMultipleAllocations':true}]}}");
    CLEANUP(kobj_unref)
    struct kobj *claim = fixture_object(
        *state, &kind_resource_claim,
        "{'metadata':{'name':'c','namespace':'ns'},'spec':{'devices':{'requests':[{'name':'r',"
        "'exactly':{'deviceClassName':'any','count':2}}]}}}");

    objects_put(objects, class);
    pools_put_slice(pools, slice);
    struct claim_allocation *first = allocate(pools, objects, claim, node_of(node), a);
    assert_int_equal(first->devices.results.n, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_non_null(first->devices.results.items[i].share_id);
        assert_int_equal(first->devices.results.items[i].consumed_capacity.n, 0);
    }
    pools_hold(pools, first, "ns/first");
    assert_int_equal(allocate(pools, objects, claim, node_of(node), a)->devices.results.n, 2);
    pools_give(pools, first, "ns/first");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_the_first_choice_is_found),
        FIXTURE_TEST(test_a_shared_device_needs_no_capacity),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
