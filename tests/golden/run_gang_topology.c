/* run_gang_topology.c - a whole gang is placed in a network topology (sched-gang 7.4). */
#include <stdio.h>

#include "api/node.h"
#include "base/intern.h"
#include "runners.h"
#include "scheduler/framework/attempt.h"
#include "scheduler/plugins/coscheduling/topo_solve.h"

struct topology_fixture {
    struct topo_tree tree;
    struct intern *strings;
    struct kj_scratch *scratch;
};

static struct topology_fixture *fixture_free(struct topology_fixture *x)
{
    topo_tree_fini(&x->tree);
    kj_scratch_free(x->scratch);
    intern_free(x->strings);
    return NULL;
}
DEFINE_CLEANUP(fixture_free, struct topology_fixture *)

/* "First" in the vectors is the order of the list: the nodes were created in it. */
static int put_nodes(struct topology_fixture *x, const struct kj_val *list, struct kerr *err)
{
    for (size_t i = 0; i < kj_len(list); i++) {
        CLEANUP(kobj_unref) struct kobj *o = NULL;
        int r = kobj_decode(&kind_node, kj_get(kj_at(list, i), "node"), x->scratch, &o, err);
        if (r < 0)
            return r;
        o->meta.created = (nsec_t)(i + 1) * NSEC_PER_SEC;
        topo_tree_put_node(&x->tree, node_of(o));
    }
    return 0;
}

static struct topo_offer *offers_of(const struct topology_fixture *x, const struct kj_val *list,
                                    struct arena *a)
{
    struct topo_offer *offers = arena_newn0(a, x->tree.leaves.n, struct topo_offer);

    for (size_t i = 0; i < kj_len(list); i++) {
        const struct kj_val *v = kj_at(list, i);
        const struct topo_leaf *l =
            topo_tree_leaf(&x->tree, kj_str(kj_path(v, "node.metadata.name")));
        if (l)
            offers[l->at] = (struct topo_offer){
                .slots = (uint32_t)kj_i64_or(kj_get(v, "slots"), 0),
                .existing = (uint32_t)kj_i64_or(kj_get(v, "existing"), 0),
            };
    }
    return offers;
}

static void write_placement(const struct topo_solution *s, struct kjw *w)
{
    uint32_t at = 0;
    char pod[32];

    kjw_obj(w, "placement");
    for (uint32_t i = 0; i < s->n; i++)
        kjw_i64(w, s->shares[i].leaf->node->meta.name, s->shares[i].n);
    kjw_end(w);
    kjw_obj(w, "pods");
    for (uint32_t i = 0; i < s->n; i++)
        for (uint32_t k = 0; k < s->shares[i].n; k++) {
            (void)snprintf(pod, sizeof pod, "default/pod-%02u", at++);
            kjw_str(w, pod, s->shares[i].leaf->node->meta.name);
        }
    kjw_end(w);
}

/* Nodes that have room for all of them have not run out. */
static void write_refusal(const struct topo_request *r, const struct topo_solution *s,
                          const struct kj_val *nodes, struct arena *a, struct kjw *w)
{
    CLEANUP(strbuf_fini) struct strbuf fit = STRBUF_INIT, text = STRBUF_INIT;
    struct tally *t = tally_new(a);

    for (size_t i = 0; i < kj_len(nodes); i++)
        if (kj_i64_or(kj_get(kj_at(nodes, i), "slots"), 0) < (int64_t)r->want)
            tally_add(t, "Insufficient cpu", 1);
    tally_format(t, (uint32_t)kj_len(nodes), &fit);
    topo_refusal(r, s, strbuf_str(&fit), &text);
    kjw_str(w, "message", strbuf_str(&text));
}

static int read_spec(const struct kj_val *in, struct arena *a, struct network_topology_spec *ret,
                     struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    kj_write(kj_get(in, "networkTopologySpec"), 0, &text);
    return network_topology_spec_decode(strbuf_str(&text), a, ret, err);
}

int golden_gang_topology(const struct kj_val *in, struct arena *a, struct strbuf *got,
                         struct kerr *err)
{
    struct topology_fixture fixture = { .strings = intern_new() };
    CLEANUP(fixture_free) struct topology_fixture *x = &fixture;
    CLEANUP(kobj_unref) struct kobj *o = NULL;
    struct network_topology_spec spec = { 0 };
    struct topo_request r = { &spec, (uint32_t)kj_i64_or(kj_get(in, "pods"), 0), true };
    const struct kj_val *nodes = kj_get(in, "nodes");
    struct kjw w = kjw_to(got);
    struct topo_solution s;

    topo_tree_init(&x->tree);
    x->scratch = kj_scratch_new(x->strings);
    if (kobj_decode(&kind_network_topology, kj_get(in, "clusterNetworkTopology"), x->scratch, &o,
                    err) < 0 ||
        put_nodes(x, nodes, err) < 0 || read_spec(in, a, &spec, err) < 0)
        return err->code;
    kjw_obj(&w, NULL);
    if (topo_tree_set_layers(&x->tree, network_topology_of(o), err) < 0)
        kjw_str(&w, "error", err->text);
    else if (topo_solve(&x->tree, &r, offers_of(x, nodes, a), a, &s))
        write_placement(&s, &w);
    else
        write_refusal(&r, &s, nodes, a, &w);
    kjw_end(&w);
    return 0;
}
