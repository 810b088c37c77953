/* fuzz_network.c - what anybody may say about the network: the rules of a gang (the annotation
 * network-topology-spec, on the first line of the input), and the layers of a
 * ClusterNetworkTopology (JSON, behind it).
 *
 * A refusal always says why. A gang that is placed has all its pods, none where there is no room,
 * and none outside of the domain where they must gather.
 */
#include <stdio.h>

#include "api/node.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/strbuf.h"
#include "scheduler/plugins/coscheduling/topo_solve.h"
#include "json/kj.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NODE_COUNT = 6 };

static struct kobj *object(struct kj_scratch *s, const struct kind *k, const char *json)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kobj *o = NULL;
    struct kerr err = { 0 };

    if (kj_parse(json, strlen(json), KJ_RAW_NUMBERS, &doc, &err) < 0 ||
        kobj_decode(k, kj_root(doc), s, &o, &err) < 0)
        return NULL;
    return o;
}

static void put_nodes(struct topo_tree *t, struct kj_scratch *s)
{
    for (unsigned i = 0; i < NODE_COUNT; i++) {
        char json[256];
        (void)snprintf(json, sizeof json,
                       "{\"metadata\":{\"name\":\"n%u\",\"labels\":{\"spine\":\"s%u\",\"block\":"
                       "\"b%u\",\"rack\":\"r%u\"}}}",
                       i, i / 3, i / 2, i % 4);
        CLEANUP(kobj_unref) struct kobj *o = object(s, &kind_node, json);
        topo_tree_put_node(t, node_of(o));
    }
}

static void check_shares(const struct topo_tree *t, const struct topo_request *r,
                         const struct topo_offer *offers, const struct topo_solution *s)
{
    const char *must;
    uint32_t layer = topo_must_layer(t, r->spec, &must), sum = 0;

    for (uint32_t i = 0; i < s->n; i++) {
        const struct topo_share *a = &s->shares[i], *b = &s->shares[0];
        assert(a->n > 0 && a->n <= offers[a->leaf->at].slots);
        sum += a->n;
        if (layer > 0 && layer + 1 < t->n)
            assert(topo_leaf_domain(t, a->leaf, layer) == topo_leaf_domain(t, b->leaf, layer));
        assert(layer + 1 < t->n || s->n == 1);
    }
    assert(sum == r->want);
}

static void place(const struct topo_tree *t, const struct network_topology_spec *spec)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct topo_offer offers[NODE_COUNT] = { { 3, 0, 0 }, { 1, 2, 0 }, { 0, 0, 1 },
                                             { 5, 0, 0 }, { 2, 1, 0 }, { 4, 0, 9 } };

    for (uint32_t want = 1; want < 18; want += 4) {
        CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
        struct topo_request r = { spec, want, want % 8 == 1 };
        struct topo_solution s;
        if (topo_solve(t, &r, offers, a, &s)) {
            check_shares(t, &r, offers, &s);
        } else {
            topo_refusal(&r, &s, "fit", &why);
            assert(why.len > 0);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct intern *strings = intern_new();
    struct kj_scratch *scratch = kj_scratch_new(strings);
    char *line = arena_strndup(a, size ? (const char *)data : "", size);
    char *json = strchr(line, '\n');
    struct network_topology_spec spec = { 0 };
    struct topo_tree t;
    struct kerr err = { 0 };

    if (json)
        *json++ = '\0';
    struct kobj *o = json ? object(scratch, &kind_network_topology, json) : NULL;
    topo_tree_init(&t);
    put_nodes(&t, scratch);
    if (o && topo_tree_set_layers(&t, network_topology_of(o), &err) < 0)
        assert(err.text[0]);
    if (t.n > 0) {
        struct topology_detail *d;
        assert(topo_tree_status(&t, &d, a) >= 1);
        assert(d[0].node_num == (int32_t)t.leaves.n);
        (void)topo_tree_problem(&t, a);
        if (network_topology_spec_decode(line, a, &spec, NULL) < 0)
            spec = (struct network_topology_spec){ 0 };
        place(&t, &spec);
    }
    topo_tree_fini(&t);
    kobj_unref(o);
    kj_scratch_free(scratch);
    intern_free(strings);
    return 0;
}
