/* topo_tree.c - the network of the cluster as a tree: layers, domains, nodes (sched-gang 7.2). */
#include "scheduler/plugins/coscheduling/topo_tree.h"

#include "api/node.h"
#include "base/arena.h"

/* ---- layers ---------------------------------------------------------------------------------- */

static const struct topology_layer *find_layer(const struct network_topology *o, const char *name)
{
    for (uint32_t i = o->layers.n; i-- > 0;) /* of two with one name the last counts */
        if (streq(o->layers.items[i].layer, name))
            return &o->layers.items[i];
    return NULL;
}

/* From the nodes up, one step for each entry, so that no entry is left over. */
static int order_layers(const struct network_topology *o, const struct topology_layer **ret,
                        uint32_t *ret_n, struct kerr *err)
{
    const char *name = TOPOLOGY_LAYER_NODE;
    uint32_t n = 0;

    if (o->layers.n == 0)
        return kerr_set(err, -EINVAL, "topology layer \"%s\" not found in spec", name);
    if (o->layers.n > TOPO_LAYERS_MAX - 1)
        return kerr_set(err, -EINVAL, "spec.networkTopologySpec: %u layers, %d are allowed",
                        o->layers.n, TOPO_LAYERS_MAX - 1);
    for (uint32_t i = 0; i < o->layers.n; i++) {
        const struct topology_layer *l = find_layer(o, name);
        if (!l)
            return kerr_set(err, -EINVAL, "topology layer \"%s\" not found in spec", name);
        for (uint32_t k = 0; k < n; k++)
            if (ret[k] == l)
                return kerr_set(err, -EINVAL,
                                "spec.networkTopologySpec: layer \"%s\" is above itself", name);
        ret[n++] = l;
        name = str_or(l->parent_layer, "");
    }
    if (n > 1 && streq(ret[n - 1]->layer, TOPOLOGY_LAYER_CLUSTER))
        n--; /* the root is there without an entry */
    *ret_n = n;
    return 0;
}

static void layer_init(struct topo_layer *l, const char *name, const kstrlist *keys)
{
    uint32_t n = keys ? keys->n : 0;

    *l = (struct topo_layer){ .name = xstrdup(name), .keys = xnewn0(n + 1, char *) };
    for (uint32_t i = 0; i < n; i++)
        l->keys[i] = xstrdup(keys->items[i]);
}

static void domain_free(struct topo_domain *d)
{
    vec_fini(&d->named);
    free(d->name);
    free(d);
}

static void layer_fini(struct topo_layer *l)
{
    vec_foreach(&l->domains, i)
        domain_free(l->domains.items[i]);
    vec_fini(&l->domains);
    map_fini(&l->by_name);
    for (char **key = l->keys; key && *key; key++)
        free(*key);
    free(l->keys);
    free(l->name);
    *l = (struct topo_layer){ 0 };
}

static bool same_layer(const struct topo_layer *have, const struct topology_layer *want)
{
    uint32_t n = 0;

    if (!streq(have->name, want->layer))
        return false;
    for (; n < want->label_keys.n && have->keys[n]; n++)
        if (!streq(have->keys[n], want->label_keys.items[n]))
            return false;
    return n == want->label_keys.n && !have->keys[n];
}

static bool same_layers(const struct topo_tree *t, const struct topology_layer *const *from_nodes,
                        uint32_t n)
{
    if (t->n != n + 1)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!same_layer(&t->layers[n - i], from_nodes[i]))
            return false;
    return true;
}

/* ---- domains --------------------------------------------------------------------------------- */

static bool is_older(const struct topo_leaf *a, const struct topo_leaf *b)
{
    const struct objmeta *x = &a->node->meta, *y = &b->node->meta;

    return x->created != y->created ? x->created < y->created : strcmp(x->name, y->name) < 0;
}

static struct topo_domain *domain_add(struct topo_tree *t, uint32_t layer, const char *name)
{
    struct topo_layer *l = &t->layers[layer];
    struct topo_domain *d = xnew0(struct topo_domain);

    d->name = xstrdup(name);
    d->layer = layer;
    d->at = (uint32_t)l->domains.n;
    vec_push(&l->domains, d);
    map_putz(&l->by_name, d->name, d);
    return d;
}

static void domain_remove(struct topo_tree *t, struct topo_domain *d)
{
    struct topo_layer *l = &t->layers[d->layer];

    map_removez(&l->by_name, d->name);
    vec_swap_remove(&l->domains, d->at);
    if (d->at < l->domains.n)
        l->domains.items[d->at]->at = d->at;
    domain_free(d);
}

static void find_oldest(struct topo_domain *d)
{
    d->oldest = d->named.items[0];
    vec_foreach(&d->named, i)
        if (is_older(d->named.items[i], d->oldest))
            d->oldest = d->named.items[i];
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* What the node is called on the layers between; false: it cannot be in the tree, and *ret_missing
 * is the layer that it lacks. */
static bool names_of(const struct topo_tree *t, const struct kobj *node, const char **ret,
                     uint32_t *ret_missing)
{
    for (uint32_t l = 1; l + 1 < t->n; l++) {
        ret[l] = "";
        for (char **key = t->layers[l].keys; *key && !*ret[l]; key++)
            ret[l] = str_or(kstrmap_get(&node->meta.labels, *key), "");
        if (!*ret[l] && l + 2 == t->n)
            ret[l] = node->meta.name; /* often the layer of accelerators, which not all have */
        if (!*ret[l]) {
            *ret_missing = l;
            return false;
        }
    }
    return true;
}

static bool same_path(const struct topo_tree *t, const struct topo_leaf *l, const char **names)
{
    for (uint32_t i = 1; i + 1 < t->n; i++)
        if (!streq(l->path[i].domain->name, names[i]))
            return false;
    return true;
}

static void leaf_name(struct topo_tree *t, struct topo_leaf *l, uint32_t layer, const char *name)
{
    struct topo_domain *d = map_getz(&t->layers[layer].by_name, name);

    d = d ? d : domain_add(t, layer, name);
    l->path[layer].domain = d;
    l->path[layer].at = (uint32_t)d->named.n;
    vec_push(&d->named, l);
    if (!d->oldest || is_older(l, d->oldest))
        d->oldest = l;
}

static void leaf_add(struct topo_tree *t, struct kobj *node, const char **names)
{
    struct topo_leaf *l = xnew0(struct topo_leaf);

    l->node = node;
    l->at = (uint32_t)t->leaves.n;
    vec_push(&t->leaves, l);
    map_putz(&t->by_node, node->meta.name, l);
    l->path[0].domain = topo_tree_root(t);
    for (uint32_t i = 1; i + 1 < t->n; i++)
        leaf_name(t, l, i, names[i]);
    for (uint32_t i = 1; i + 1 < t->n; i++)
        if (l->path[i].domain->oldest == l)
            l->path[i].domain->parent = l->path[i - 1].domain;
    t->generation++;
}

/* Its domains lose it; those that it alone had named are no more. */
static void leaf_unname(struct topo_tree *t, struct topo_leaf *l)
{
    for (uint32_t i = 1; i + 1 < t->n; i++) {
        struct topo_domain *d = l->path[i].domain;
        uint32_t at = l->path[i].at;
        vec_swap_remove(&d->named, at);
        if (at < d->named.n)
            d->named.items[at]->path[i].at = at;
        if (d->oldest != l || d->named.n == 0)
            continue;
        find_oldest(d);
        d->parent = d->oldest->path[i - 1].domain;
    }
    for (uint32_t i = 1; i + 1 < t->n; i++)
        if (l->path[i].domain->named.n == 0)
            domain_remove(t, l->path[i].domain);
}

static void leaf_remove(struct topo_tree *t, struct topo_leaf *l)
{
    leaf_unname(t, l);
    map_removez(&t->by_node, l->node->meta.name);
    vec_swap_remove(&t->leaves, l->at);
    if (l->at < t->leaves.n)
        t->leaves.items[l->at]->at = l->at;
    free(l);
    t->generation++;
}

/* The node as it is now takes its place in the tree, leaves it, or stays where it is. */
static void place(struct topo_tree *t, struct kobj *node)
{
    struct topo_leaf *l = map_getz(&t->by_node, node->meta.name);
    const char *names[TOPO_LAYERS_MAX];
    uint32_t missing;
    bool in = t->n > 0 && names_of(t, node, names, &missing);

    if (l && in && l->node->meta.created == node->meta.created && same_path(t, l, names)) {
        map_putz(&t->by_node, node->meta.name, l); /* the key is the new object's */
        l->node = node;
        return;
    }
    if (l)
        leaf_remove(t, l);
    if (in)
        leaf_add(t, node, names);
}

void topo_tree_put_node(struct topo_tree *t, const struct node *n)
{
    struct kobj *node = kobj_ref((struct kobj *)(uintptr_t)&n->obj);
    struct kobj *before = map_putz(&t->nodes, node->meta.name, node);

    place(t, node);
    kobj_unref(before);
}

void topo_tree_remove_node(struct topo_tree *t, const char *name)
{
    struct topo_leaf *l = map_getz(&t->by_node, name);
    struct kobj *node = map_removez(&t->nodes, name);

    if (l)
        leaf_remove(t, l);
    kobj_unref(node);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void clear(struct topo_tree *t)
{
    vec_foreach(&t->leaves, i)
        free(t->leaves.items[i]);
    vec_fini(&t->leaves);
    map_fini(&t->by_node);
    t->by_node = (struct map){ 0 };
    for (uint32_t i = 0; i < t->n; i++)
        layer_fini(&t->layers[i]);
    t->n = 0;
    t->generation++;
}

int topo_tree_set_layers(struct topo_tree *t, const struct network_topology *o, struct kerr *err)
{
    const struct topology_layer *from_nodes[TOPO_LAYERS_MAX];
    uint32_t n = 0;

    if (o && order_layers(o, from_nodes, &n, err) < 0)
        return err->code;
    if (o ? same_layers(t, from_nodes, n) : t->n == 0)
        return 0;
    clear(t);
    if (!o)
        return 0;
    layer_init(&t->layers[0], TOPOLOGY_LAYER_CLUSTER, NULL);
    domain_add(t, 0, "");
    for (uint32_t i = 0; i < n; i++)
        layer_init(&t->layers[n - i], from_nodes[i]->layer, &from_nodes[i]->label_keys);
    t->n = n + 1;
    map_foreach(&t->nodes, e)
        place(t, e->value);
    return 0;
}

void topo_tree_init(struct topo_tree *t)
{
    *t = (struct topo_tree){ 0 };
}

void topo_tree_fini(struct topo_tree *t)
{
    clear(t);
    map_foreach(&t->nodes, e)
        kobj_unref(e->value);
    map_fini(&t->nodes);
}

/* ---- questions ------------------------------------------------------------------------------- */

struct topo_leaf *topo_tree_leaf(const struct topo_tree *t, const char *node)
{
    return map_getz(&t->by_node, node);
}

uint32_t topo_tree_layer(const struct topo_tree *t, const char *name)
{
    for (uint32_t i = 1; i < t->n; i++)
        if (streq(t->layers[i].name, name))
            return i;
    return 0;
}

struct topo_domain *topo_leaf_domain(const struct topo_tree *t, const struct topo_leaf *l,
                                     uint32_t layer)
{
    struct topo_domain *d = topo_leaf_parent(t, l);

    assert(layer + 1 < t->n);
    while (d->layer > layer)
        d = d->parent;
    return d;
}

/* ---- for people ------------------------------------------------------------------------------ */

struct problems {
    const struct kobj *without;     /* the first node by name that lacks a layer */
    uint32_t nwithout, layer;       /* how many do; the layer that it lacks */
    const struct topo_leaf *astray; /* the first whose domain is under another one than it says */
    uint32_t nastray, at;           /* how many are; the layer of that domain */
};

static void note_without(const struct topo_tree *t, struct problems *p)
{
    const char *names[TOPO_LAYERS_MAX];
    uint32_t missing = 0;

    map_foreach(&t->nodes, e) {
        const struct kobj *node = e->value;
        if (map_getz(&t->by_node, node->meta.name) || names_of(t, node, names, &missing))
            continue;
        if (p->nwithout++ && strcmp(node->meta.name, p->without->meta.name) > 0)
            continue;
        p->without = node;
        p->layer = missing;
    }
}

static void note_astray(const struct topo_tree *t, struct problems *p)
{
    vec_foreach(&t->leaves, i) {
        const struct topo_leaf *l = t->leaves.items[i];
        uint32_t at = 2;
        while (at + 1 < t->n && l->path[at].domain->parent == l->path[at - 1].domain)
            at++;
        if (at + 1 >= t->n)
            continue;
        if (p->nastray++ && strcmp(l->node->meta.name, p->astray->node->meta.name) > 0)
            continue;
        p->astray = l;
        p->at = at;
    }
}

const char *topo_tree_problem(const struct topo_tree *t, struct arena *a)
{
    struct problems p = { 0 };
    const char *text = "";

    if (t->n == 0)
        return text;
    note_without(t, &p);
    note_astray(t, &p);
    if (p.without)
        text = arena_printf(a,
                            "%u node(s) are left out of the network topology: node %s has no label "
                            "of layer %s",
                            p.nwithout, p.without->meta.name, t->layers[p.layer].name);
    if (!p.astray)
        return text;
    const struct topo_domain *d = p.astray->path[p.at].domain;
    return arena_printf(a,
                        "%s%s%u node(s) name a domain that belongs elsewhere: %s/%s is in %s/%s, "
                        "and node %s says %s",
                        text, *text ? "; " : "", p.nastray, t->layers[d->layer].name, d->name,
                        t->layers[d->layer - 1].name, d->parent->name, p.astray->node->meta.name,
                        p.astray->path[p.at - 1].domain->name);
}
