/* topo_score.c - the score of single pods with a selector: near those that are there, then where
 * little else could go (sched-gang 7.6).
 *
 * The candidates are put in order; the score is the place in it. Nodes that are not in the tree
 * come last.
 */
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/plugins/coscheduling/topo_plan.h"

struct order {
    const struct topo_tree *t;
    uint32_t *slots[TOPO_LAYERS_MAX], *existing[TOPO_LAYERS_MAX]; /* [layer][domain->at] */
    const char **name;                                            /* by row */
    const struct topo_leaf **leaf; /* by row; NULL: not in the tree */
};

static void count(struct order *o, uint32_t *const *to, const struct topo_leaf *l, uint32_t n)
{
    to[o->t->n - 1][l->at] += n;
    for (const struct topo_domain *d = topo_leaf_parent(o->t, l); d; d = d->parent)
        to[d->layer][d->at] += n;
}

static void prepare(struct order *o, const struct topo_network *n, const struct ks_cycle *c,
                    const char *selector)
{
    const struct topo_tree *t = o->t;
    const char *node;
    uint32_t count_there;

    for (uint32_t l = 0; l < t->n; l++) {
        size_t all = l + 1 < t->n ? t->layers[l].domains.n : t->leaves.n;
        o->slots[l] = arena_newn0(c->arena, all, uint32_t);
        o->existing[l] = arena_newn0(c->arena, all, uint32_t);
    }
    o->leaf = arena_newn0(c->arena, c->nodes->n, const struct topo_leaf *);
    o->name = arena_newn0(c->arena, c->nodes->n, const char *);
    for (uint32_t i = 0; i < c->nodes->n; i++) {
        if (c->rejected && c->rejected[i])
            continue;
        o->name[i] = c->nodes->node[i]->obj.meta.name;
        o->leaf[i] = topo_tree_leaf(t, o->name[i]);
        if (o->leaf[i])
            count(o, o->slots, o->leaf[i], 1);
    }
    for (size_t it = 0; (node = topo_peers_next(&n->peers, selector, &it, &count_there));) {
        const struct topo_leaf *l = topo_tree_leaf(t, node);
        if (l)
            count(o, o->existing, l, count_there);
    }
}

/* The first difference from the node up: 0, or by how much. */
static int64_t differ(const struct order *o, uint32_t *const *by, const struct topo_leaf *a,
                      const struct topo_leaf *b)
{
    uint32_t last = o->t->n - 1;
    const struct topo_domain *x = topo_leaf_parent(o->t, a), *y = topo_leaf_parent(o->t, b);

    if (by[last][a->at] != by[last][b->at])
        return (int64_t)by[last][a->at] - by[last][b->at];
    for (; x != y; x = x->parent, y = y->parent)
        if (by[x->layer][x->at] != by[y->layer][y->at])
            return (int64_t)by[x->layer][x->at] - by[y->layer][y->at];
    return 0;
}

static int by_order(const void *a, const void *b, void *arg)
{
    const struct order *o = arg;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const struct topo_leaf *x = o->leaf[i], *y = o->leaf[k];
    int64_t d;

    if (!x != !y)
        return x ? -1 : 1;
    if (x && (d = differ(o, o->existing, x, y)) != 0)
        return d > 0 ? -1 : 1;
    if (x && (d = differ(o, o->slots, x, y)) != 0)
        return d < 0 ? -1 : 1;
    return strcmp(o->name[i], o->name[k]);
}

enum ks_code topo_pre_score(struct topo_network *n, const struct ks_cycle *c,
                            const struct ks_pod *p, void **ret_state)
{
    struct order o = { .t = topo_network_tree(n) };
    const char *selector = topo_selector(p->pod);
    uint32_t candidates = 0;

    if (!selector || !o.t)
        return KS_SKIP;
    prepare(&o, n, c, selector);
    uint32_t *rows = arena_newn0(c->arena, c->nodes->n, uint32_t);
    uint32_t *place = arena_newn0(c->arena, c->nodes->n, uint32_t);
    for (uint32_t i = 0; i < c->nodes->n; i++)
        if (o.name[i])
            rows[candidates++] = i;
    if (candidates > 0)
        qsort_r(rows, candidates, sizeof *rows, by_order, &o);
    for (uint32_t i = 0; i < candidates; i++)
        place[rows[i]] = i;
    *ret_state = place;
    return KS_SUCCESS;
}

void topo_score(const struct ks_cycle *c, struct ks_span s, int64_t *restrict out)
{
    const uint32_t *place = c->state;

    for (uint32_t i = s.begin; i < s.end; i++)
        out[i] = place[i];
}
