/* topo_fixture.h - network topologies for tests: layers and nodes in a few words. */
#ifndef KOORD_SCHEDULER_COSCHEDULING_TEST_TOPO_FIXTURE_H
#define KOORD_SCHEDULER_COSCHEDULING_TEST_TOPO_FIXTURE_H
#include "api/test/object_fixture.h"
#include "base/test/asserts.h"

#include <stdio.h>

#include "api/node.h"
#include "scheduler/plugins/coscheduling/topo_solve.h"

#define SPINE "{'topologyLayer':'SpineLayer','labelKey':['net/spine']}"
#define BLOCK \
    "{'topologyLayer':'BlockLayer','parentTopologyLayer':'SpineLayer','labelKey':['net/block']}"
#define NODES        "{'topologyLayer':'NodeTopologyLayer','parentTopologyLayer':'BlockLayer'}"
#define THREE_LAYERS SPINE "," BLOCK "," NODES
#define TOPOLOGY(layers) \
    "{'metadata':{'name':'default'},'spec':{'networkTopologySpec':[" layers "]}}"

struct topo_fixture {
    struct object_fixture *base;
    struct topo_tree tree;
};

/* 0, or what is wrong with the layers. */
static inline UNUSED int topo_fixture_layers(struct topo_fixture *f, const char *topology,
                                             struct kerr *err)
{
    CLEANUP(kobj_unref)
    struct kobj *o = fixture_object(f->base, &kind_network_topology, topology);
    *err = (struct kerr){ 0 };
    return topo_tree_set_layers(&f->tree, network_topology_of(o), err);
}

static inline UNUSED void topo_fixture_init(struct topo_fixture *f, void **state,
                                            const char *topology)
{
    struct kerr err;

    *f = (struct topo_fixture){ .base = *state };
    topo_tree_init(&f->tree);
    assert_int_equal(topo_fixture_layers(f, topology, &err), 0);
}

static inline UNUSED void topo_fixture_fini_p(struct topo_fixture *f)
{
    topo_tree_fini(&f->tree);
}

/* labels: "'net/spine':'s1'"; created: seconds, two digits. */
static inline UNUSED void topo_fixture_node_at(struct topo_fixture *f, const char *name,
                                               unsigned created, const char *labels)
{
    char text[512];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','creationTimestamp':'2026-01-01T00:%02u:%02uZ',"
                   "'labels':{%s}}}",
                   name, created / 60 % 60, created % 60, labels);
    CLEANUP(kobj_unref) struct kobj *o = fixture_object(f->base, &kind_node, text);
    topo_tree_put_node(&f->tree, node_of(o));
}

static inline UNUSED void topo_fixture_node(struct topo_fixture *f, const char *name,
                                            const char *spine, const char *block)
{
    char labels[256];

    (void)snprintf(labels, sizeof labels, "'net/spine':'%s','net/block':'%s'", spine, block);
    topo_fixture_node_at(f, name, 0, labels);
}

/* The tree as a text: "cluster 4 [SpineLayer: s1 s2] s1 2 [BlockLayer: b1] b1 2 [NodeTopologyLayer]
 * ..." */
static inline UNUSED const char *topo_fixture_show(struct topo_fixture *f)
{
    struct topology_detail *d;
    uint32_t n = topo_tree_status(&f->tree, &d, f->base->arena);
    const char *text = "";

    for (uint32_t i = 0; i < n; i++) {
        text = arena_printf(f->base->arena, "%s%s%s %d [%s", text, i ? " " : "",
                            i ? d[i].info.name : "cluster", d[i].node_num,
                            str_or(d[i].child_layer, ""));
        for (uint32_t k = 0; k < d[i].child_names.n; k++)
            text = arena_printf(f->base->arena, "%s%s%s", text, k ? " " : ": ",
                                d[i].child_names.items[k]);
        text = arena_printf(f->base->arena, "%s]", text);
    }
    return text;
}

/* spine s1{b1{node-1,node-8},b2{node-2,node-7}}, s2{b3{node-3,node-6},b4{node-4,node-5}} */
static inline UNUSED void topo_fixture_eight(struct topo_fixture *f)
{
    static const struct {
        const char *node, *spine, *block;
    } all[] = {
        { "node-1", "s1", "b1" }, { "node-2", "s1", "b2" }, { "node-3", "s2", "b3" },
        { "node-4", "s2", "b4" }, { "node-5", "s2", "b4" }, { "node-6", "s2", "b3" },
        { "node-7", "s1", "b2" }, { "node-8", "s1", "b1" },
    };

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        topo_fixture_node(f, all[i].node, all[i].spine, all[i].block);
}
#endif
