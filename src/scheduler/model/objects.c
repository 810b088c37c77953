/* objects.c - the objects beside pods and nodes that plugins read. */
#include "scheduler/model/objects.h"

#include <stdio.h>

#include "base/map.h"
#include "base/vec.h"
#include "scheduler/model/compare.h"
#include "scheduler/model/nodekinds.h"

enum { KINDS_MAX = 32 };
struct shelf { /* all of one kind */
    const struct kind *kind;
    bool of_nodes;      /* nodekinds.h */
    bool by_node;       /* and a node may have any number of them */
    struct map objects; /* key -> struct item */
    struct map nodes;   /* when by_node: name -> struct on_node */
    uint64_t generation, spec_generation;
};
struct item {
    struct kobj *obj;
    char key[];
};
struct on_node {
    struct vec_of(struct kobj *) objects; /* borrowed from their items */
    char node[];
};
struct readers {
    struct objects_listener *listeners;
};
struct objects {
    struct shelf shelves[KINDS_MAX];
    uint32_t n;
    uint64_t generation;
    struct readers *readers; /* apart: who only reads the object cache may listen */
};

struct objects *objects_new(void)
{
    struct objects *w = xnew0(struct objects);
    w->readers = xnew0(struct readers);
    return w;
}

static void item_free(struct item *i)
{
    kobj_unref(i->obj);
    free(i);
}

static void on_node_free(struct on_node *n)
{
    vec_fini(&n->objects);
    free(n);
}

struct objects *objects_free(struct objects *w)
{
    for (uint32_t i = 0; w && i < w->n; i++) {
        map_foreach(&w->shelves[i].objects, e)
            item_free(e->value);
        map_fini(&w->shelves[i].objects);
        map_foreach(&w->shelves[i].nodes, e)
            on_node_free(e->value);
        map_fini(&w->shelves[i].nodes);
    }
    if (w) {
        free(w->readers);
    }
    free(w);
    return NULL;
}

static struct shelf *shelf_find(const struct objects *w, const struct kind *k)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (w->shelves[i].kind == k)
            return (struct shelf *)&w->shelves[i];
    return NULL;
}

void objects_listen(const struct objects *w, struct objects_listener *l)
{
    l->next = w->readers->listeners;
    w->readers->listeners = l;
}

void objects_unlisten(const struct objects *w, struct objects_listener *l)
{
    struct objects_listener **at = &w->readers->listeners;

    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
}

static void tell(const struct objects *w, const struct shelf *s, struct kobj *before,
                 struct kobj *now)
{
    for (const struct objects_listener *l = w->readers->listeners; l; l = l->next)
        if (l->kind == s->kind || (!l->kind && s->of_nodes))
            l->fn(l->arg, before, now);
}

static struct shelf *shelf_make(struct objects *w, const struct kind *k)
{
    struct shelf *s = shelf_find(w, k);

    if (s)
        return s;
    assert(w->n < KINDS_MAX);
    s = &w->shelves[w->n++];
    s->kind = k;
    s->of_nodes = nodekinds_has(k);
    s->by_node = s->of_nodes && !nodekinds_is_named(k);
    return s;
}

/* ---- by node --------------------------------------------------------------------------------- */

static void node_add(struct shelf *s, struct kobj *o)
{
    const char *node = nodekinds_node(o);
    struct on_node *n = node ? map_getz(&s->nodes, node) : NULL;

    if (!node)
        return;
    if (!n) {
        n = xcalloc(1, sizeof *n + strlen(node) + 1);
        memcpy(n->node, node, strlen(node) + 1);
        map_putz(&s->nodes, n->node, n);
    }
    vec_push(&n->objects, o);
}

static void node_remove(struct shelf *s, const struct kobj *o)
{
    const char *node = nodekinds_node(o);
    struct on_node *n = node ? map_getz(&s->nodes, node) : NULL;
    size_t i = 0;

    if (!n)
        return;
    while (n->objects.items[i] != o)
        i++;
    vec_swap_remove(&n->objects, i);
    if (n->objects.n)
        return;
    map_removez(&s->nodes, n->node);
    on_node_free(n);
}

struct kobj *objects_next_of_node(const struct objects *w, const struct kind *k, const char *node,
                                  size_t *it)
{
    const struct shelf *s = shelf_find(w, k);
    const struct on_node *n = s ? map_getz(&s->nodes, node) : NULL;

    assert(!s || s->by_node);
    return n && *it < n->objects.n ? n->objects.items[(*it)++] : NULL;
}

/* ---- all ------------------------------------------------------------------------------------- */

void objects_put(struct objects *w, struct kobj *o)
{
    struct shelf *s = shelf_make(w, o->kind);
    char key[KOBJ_KEY_MAX];
    size_t len = kobj_key(o, key, sizeof key);
    struct item *i = xmalloc(sizeof *i + len + 1);

    i->obj = kobj_ref(o);
    memcpy(i->key, key, len + 1);
    struct item *old = map_put(&s->objects, i->key, len, i);
    s->generation = ++w->generation;
    if (!s->of_nodes && !(old && compare_objects(old->obj, o, false)))
        s->spec_generation = w->generation;
    if (s->by_node && old)
        node_remove(s, old->obj);
    if (s->by_node)
        node_add(s, o);
    tell(w, s, old ? old->obj : NULL, o);
    if (old)
        item_free(old);
}

bool objects_remove(struct objects *w, const struct kobj *o)
{
    struct shelf *s = shelf_find(w, o->kind);
    char key[KOBJ_KEY_MAX];
    size_t len = kobj_key(o, key, sizeof key);
    struct item *i = s ? map_remove(&s->objects, key, len) : NULL;

    if (!i)
        return false;
    s->generation = s->spec_generation = ++w->generation;
    if (s->by_node)
        node_remove(s, i->obj);
    tell(w, s, i->obj, NULL);
    item_free(i);
    return true;
}

uint64_t objects_generation_of(const struct objects *w, const struct kind *k)
{
    const struct shelf *s = shelf_find(w, k);
    return s ? s->generation : 0;
}

uint64_t objects_spec_generation_of(const struct objects *w, const struct kind *k)
{
    const struct shelf *s = shelf_find(w, k);
    return s ? s->spec_generation : 0;
}

struct kobj *objects_get(const struct objects *w, const struct kind *k, const char *ns,
                         const char *name)
{
    const struct shelf *s = shelf_find(w, k);
    char key[KOBJ_KEY_MAX];

    if (!s)
        return NULL;
    int n =
        ns ? snprintf(key, sizeof key, "%s/%s", ns, name) : snprintf(key, sizeof key, "%s", name);
    if (n < 0 || (size_t)n >= sizeof key)
        return NULL;
    const struct item *i = map_get(&s->objects, key, (size_t)n);
    return i ? i->obj : NULL;
}

struct kobj *objects_next(const struct objects *w, const struct kind *k, size_t *it)
{
    const struct shelf *s = shelf_find(w, k);
    const struct map_entry *e = s ? map_next(&s->objects, it) : NULL;
    const struct item *i = e ? e->value : NULL;
    return i ? i->obj : NULL;
}

size_t objects_count(const struct objects *w, const struct kind *k)
{
    const struct shelf *s = shelf_find(w, k);
    return s ? s->objects.n : 0;
}
