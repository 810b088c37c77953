/* topo_status.c - the tree as status.detailStatus of a ClusterNetworkTopology shows it
 * (sched-gang 7.1): the domains depth first, those of one parent by name, without the nodes.
 */
#include "base/arena.h"
#include "scheduler/plugins/coscheduling/topo_tree.h"

static int by_parent_then_name(const void *a, const void *b)
{
    const struct topo_domain *x = *(struct topo_domain *const *)a;
    const struct topo_domain *y = *(struct topo_domain *const *)b;

    if (x->parent != y->parent)
        return x->parent->at < y->parent->at ? -1 : 1;
    return strcmp(x->name, y->name);
}

struct shown { /* the domains of a layer, those of one parent together */
    struct topo_domain **items;
    uint32_t *nodes; /* by `at`: how many are in it */
    uint32_t n;
};
struct walk {
    const struct topo_tree *t;
    struct arena *arena;
    struct shown layers[TOPO_LAYERS_MAX];
    struct topology_detail *out;
    uint32_t n;
};

/* The children of a domain: their first in the next layer, and how many. */
static struct topo_domain **children(const struct walk *w, const struct topo_domain *d,
                                     uint32_t *ret_n)
{
    const struct shown *s = &w->layers[d->layer + 1];
    uint32_t lo = 0, hi = s->n, n = 0;

    *ret_n = 0;
    if (d->layer + 2 >= w->t->n)
        return NULL;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->items[mid]->parent->at < d->at)
            lo = mid + 1;
        else
            hi = mid;
    }
    while (lo + n < s->n && s->items[lo + n]->parent == d)
        n++;
    *ret_n = n;
    return s->items + lo;
}

static struct topology_info info_of(const struct walk *w, const struct topo_domain *d)
{
    return (struct topology_info){ w->t->layers[d->layer].name, d->name };
}

static void show(struct walk *w, const struct topo_domain *d)
{
    struct topology_detail *o = &w->out[w->n++];
    uint32_t n, nodes = w->layers[d->layer].nodes[d->at];
    struct topo_domain **below = children(w, d, &n);

    o->info = info_of(w, d);
    o->node_num = (int32_t)nodes;
    if (d->parent) {
        o->parent = arena_new0(w->arena, struct topology_info);
        *o->parent = info_of(w, d->parent);
    }
    if (n > 0 || nodes > 0)
        o->child_layer = w->t->layers[d->layer + 1].name;
    if (n == 0)
        return;
    o->child_names.items = arena_newn0(w->arena, n, const char *);
    o->child_names.n = n;
    for (uint32_t i = 0; i < n; i++)
        o->child_names.items[i] = below[i]->name;
    for (uint32_t i = 0; i < n; i++)
        show(w, below[i]);
}

static void count(struct walk *w)
{
    const struct topo_tree *t = w->t;

    vec_foreach(&t->leaves, i) {
        const struct topo_domain *d = topo_leaf_parent(t, t->leaves.items[i]);
        w->layers[d->layer].nodes[d->at]++;
    }
    for (uint32_t l = t->n - 1; l-- > 1;)
        for (uint32_t i = 0; i < w->layers[l].n; i++) {
            const struct topo_domain *d = w->layers[l].items[i];
            w->layers[l - 1].nodes[d->parent->at] += w->layers[l].nodes[d->at];
        }
}

uint32_t topo_tree_status(const struct topo_tree *t, struct topology_detail **ret, struct arena *a)
{
    struct walk w = { .t = t, .arena = a };
    uint32_t total = 0;

    *ret = NULL;
    if (t->n == 0)
        return 0;
    for (uint32_t l = 0; l + 1 < t->n; l++) {
        struct shown *s = &w.layers[l];
        s->n = (uint32_t)t->layers[l].domains.n;
        s->nodes = arena_newn0(a, s->n, uint32_t);
        s->items = arena_newn0(a, s->n, struct topo_domain *);
        for (uint32_t i = 0; i < s->n; i++)
            s->items[i] = t->layers[l].domains.items[i];
        if (l > 0 && s->n > 0)
            qsort(s->items, s->n, sizeof *s->items, by_parent_then_name);
        total += s->n;
    }
    count(&w);
    w.out = arena_newn0(a, total, struct topology_detail);
    show(&w, topo_tree_root(t));
    *ret = w.out;
    return w.n;
}
