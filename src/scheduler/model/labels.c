/* labels.c - columns of label values. */
#include "scheduler/model/labels.h"

#include "api/node.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

enum { LABELS_KEPT = 32, VALUES_SPARE = 64 };

struct label {
    struct ks_label view;
    char *key;
    uint32_t *ids;
    uint32_t cap;
    struct vec_of(const char *) values; /* [id]; texts live in the arena */
    struct map by_value;                /* number in place of a pointer */
    struct arena *arena;
    uint64_t generation; /* of the nodes */
    uint64_t asked;
};
struct labels {
    struct vec_of(struct label *) items;
    uint64_t clock, serials;
};

struct labels *labels_new(void)
{
    return xnew0(struct labels);
}

static void label_free(struct label *l)
{
    map_fini(&l->by_value);
    vec_fini(&l->values);
    arena_free(l->arena);
    free(l->ids);
    free(l->key);
    free(l);
}

struct labels *labels_free(struct labels *l)
{
    if (!l)
        return NULL;
    vec_foreach(&l->items, i)
        label_free(l->items.items[i]);
    vec_fini(&l->items);
    free(l);
    return NULL;
}

static void show(struct label *l)
{
    l->view.id = l->ids;
    l->view.value = l->values.items;
    l->view.n = (uint32_t)l->values.n;
}

/* All rows are to be looked at again. */
static void clear(struct labels *all, struct label *l)
{
    map_fini(&l->by_value);
    l->by_value = (struct map){ 0 };
    arena_reset(l->arena);
    vec_clear(&l->values);
    vec_push(&l->values, NULL);
    l->generation = 0;
    l->view.serial = ++all->serials;
    show(l);
}

static struct label *find(struct labels *all, const char *key)
{
    vec_foreach(&all->items, i)
        if (streq(all->items.items[i]->key, key))
            return all->items.items[i];
    struct label *l = xnew0(struct label);
    l->key = xstrdup(key);
    l->view.key = l->key;
    l->arena = arena_new();
    clear(all, l);
    vec_push(&all->items, l);
    return l;
}

static uint32_t id_of(struct label *l, const char *value)
{
    uintptr_t id = (uintptr_t)map_getz(&l->by_value, value);

    if (!id) {
        id = l->values.n;
        vec_push(&l->values, arena_strdup(l->arena, value));
        map_putz(&l->by_value, vec_last(&l->values), (void *)id); /* NOLINT: a number */
    }
    return (uint32_t)id;
}

static void sync(struct label *l, const struct ks_nodes *nodes)
{
    struct ks_changed it = ks_changed_since(&nodes->node_changes, nodes->n, l->generation);

    if (nodes->n > l->cap) {
        l->cap = nodes->n;
        l->ids = xreallocarray(l->ids, l->cap, sizeof *l->ids);
    }
    for (uint32_t row; (row = ks_changed_next(&it)) != KS_NO_ROW;) {
        const char *value = kstrmap_get(&nodes->node[row]->obj.meta.labels, l->key);
        l->ids[row] = value ? id_of(l, value) : 0;
    }
    l->generation = nodes->node_changes.generation;
    show(l);
}

const struct ks_label *labels_get(struct labels *all, const struct ks_nodes *nodes, const char *key)
{
    struct label *l = find(all, key);

    l->asked = ++all->clock;
    if (l->generation != nodes->node_changes.generation) {
        sync(l, nodes);
        if (l->values.n > 2 * (size_t)nodes->n + VALUES_SPARE) { /* mostly of nodes long gone */
            clear(all, l);
            sync(l, nodes);
        }
    }
    return &l->view;
}

uint32_t ks_label_id(const struct ks_label *l, const char *value)
{
    const struct label *of = container_of(l, const struct label, view);
    return (uint32_t)(uintptr_t)map_getz(&of->by_value, value);
}

void labels_begin(struct labels *l)
{
    while (l->items.n > LABELS_KEPT) {
        size_t oldest = 0;
        vec_foreach(&l->items, i)
            if (l->items.items[i]->asked < l->items.items[oldest]->asked)
                oldest = i;
        label_free(l->items.items[oldest]);
        vec_swap_remove(&l->items, oldest);
    }
}
