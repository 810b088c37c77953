/* shapes.c - what the last attempts for equal pods found out. Filled by attempt.c. */
#include "scheduler/framework/shapes.h"

#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/model/overlay.h"
#include "scheduler/model/requests.h"

/* A state that is refreshed again and again may grow in its arena; then it is made anew. */
#define ARENA_MAX (8u << 20)
/* Shapes are kept up to so many rows in all, but a few in any case. */
enum { ROWS_MAX = 512 * 1024, KEPT_MIN = 16 };

struct shape_set {
    struct shape **items;
    uint32_t n;
};

struct shapes {
    struct shape_set of[SHAPE_PARTS];
    uint32_t max;
    uint64_t clock, hits, misses;
};

struct shapes *shapes_new(uint32_t max)
{
    struct shapes *s = xnew0(struct shapes);
    s->max = max;
    for (unsigned part = 0; part < SHAPE_PARTS; part++)
        s->of[part].items = xnewn0(max, struct shape *);
    return s;
}

static void shape_free(struct shape *h)
{
    kobj_unref(h->pod);
    arena_free(h->arena);
    free(h->overlaid);
    free(h);
}

void shapes_clear(struct shapes *s)
{
    for (unsigned part = 0; part < SHAPE_PARTS; part++)
        while (s->of[part].n)
            shape_free(s->of[part].items[--s->of[part].n]);
}

struct shapes *shapes_free(struct shapes *s)
{
    if (!s)
        return NULL;
    shapes_clear(s);
    for (unsigned part = 0; part < SHAPE_PARTS; part++)
        free(s->of[part].items);
    free(s);
    return NULL;
}

static bool same_values(const struct profile_keys *keys, const kstrmap *a, const kstrmap *b)
{
    vec_foreach(keys, i) {
        const char *x = kstrmap_get(a, keys->items[i]);
        const char *y = kstrmap_get(b, keys->items[i]);
        if (x != y && !(x && y && streq(x, y)))
            return false;
    }
    return true;
}

static bool same_owner_kinds(const struct objmeta *a, const struct objmeta *b)
{
    for (uint32_t i = 0; i < a->owners.n && i < b->owners.n; i++)
        if (!streq(a->owners.items[i].kind, b->owners.items[i].kind))
            return false;
    return a->owners.n == b->owners.n;
}

/* Equal parts of cached pods are the same block, so addresses tell: [0] is labels, owners and
 * volumes, [1] the spec. */
static bool equal_in(enum shape_part part, const struct profile *p, const struct pod *a,
                     const struct pod *b)
{
    const struct objmeta *x = &a->obj.meta, *y = &b->obj.meta;
    bool local = part == SHAPE_LOCAL;

    return a->share[1] && a->share[1] == b->share[1] && (local || a->share[0] == b->share[0]) &&
           streq(x->ns, y->ns) &&
           (a->share[0] == b->share[0] ||
            (same_values(&p->pod_labels, &x->labels, &y->labels) && same_owner_kinds(x, y))) &&
           same_values(&p->pod_annotations, &x->annotations, &y->annotations);
}

bool shapes_alike(const struct profile *p, const struct pod *a, const struct pod *b)
{
    return equal_in(SHAPE_DOMAIN, p, a, b);
}

static struct shape *find(const struct shapes *s, enum shape_part part, const struct profile *p,
                          const struct pod *pod)
{
    const struct shape_set *set = &s->of[part];

    for (uint32_t i = 0; i < set->n; i++)
        if (set->items[i]->profile == p && equal_in(part, p, pod_of(set->items[i]->pod), pod))
            return set->items[i];
    return NULL;
}

static uint32_t oldest(const struct shape_set *s)
{
    uint32_t at = 0;
    for (uint32_t i = 1; i < s->n; i++)
        if (s->items[i]->used < s->items[at]->used)
            at = i;
    return at;
}

/* A new one, which takes over the memory of the one that goes for it. */
static struct shape *add(struct shape_set *s, uint32_t max, const struct profile *p,
                         struct kobj *pod, uint32_t rows)
{
    uint32_t fit = MIN(max, MAX(ROWS_MAX / (rows + 1), (uint32_t)KEPT_MIN));
    struct arena *arena = NULL;

    while (s->n && s->n >= fit) {
        uint32_t at = oldest(s);
        arena_free(arena);
        arena = take(s->items[at]->arena);
        shape_free(s->items[at]);
        s->items[at] = s->items[--s->n];
    }
    struct shape *h = xnew0(struct shape);
    h->profile = p;
    h->pod = kobj_ref(pod);
    h->arena = arena ? arena : arena_new();
    s->items[s->n++] = h;
    return h;
}

void shape_make_room(struct shape *h)
{
    h->by = arena_zalloc(h->arena, h->n);
    h->why = arena_zalloc(h->arena, h->n);
    h->total = arena_newn0(h->arena, h->n, int64_t);
}

void shape_set_overlaid(struct shape *h, const struct nodecache *c)
{
    const uint32_t *rows = overlay_rows(c, &h->noverlaid);

    if (h->noverlaid == 0)
        return;
    if (h->noverlaid > h->overlaid_cap) {
        h->overlaid_cap = h->noverlaid;
        h->overlaid = xreallocarray(h->overlaid, h->overlaid_cap, sizeof *rows);
    }
    memcpy(h->overlaid, rows, h->noverlaid * sizeof *rows);
}

void shape_clear(struct shape *h)
{
    uint32_t slots = h->profile->n;

    arena_reset(h->arena);
    h->made = false;
    h->skip_filter = h->skip_score = 0;
    h->state = arena_newn0(h->arena, slots, void *);
    h->score_state = arena_newn0(h->arena, slots, void *);
    h->raw = arena_newn0(h->arena, slots, int64_t *);
    h->scale = arena_newn0(h->arena, slots, int64_t);
    h->by = h->why = NULL;
    h->dirty = NULL;
    h->noverlaid = 0;
}

static bool up_to_date(const struct shape *h, const struct ks_nodes *nodes, uint64_t objects)
{
    return h->made && h->layout == nodes->layout && h->objects_generation == objects &&
           arena_used(h->arena) < ARENA_MAX;
}

static struct shape *get_part(struct shapes *s, enum shape_part part, const struct profile *p,
                              struct kobj *pod, const struct ks_nodes *nodes, uint64_t objects)
{
    struct shape *h = find(s, part, p, pod_of(pod));

    if (!h)
        h = add(&s->of[part], s->max, p, pod, nodes->n);
    h->used = ++s->clock;
    if (up_to_date(h, nodes, objects))
        return h;
    h->n = nodes->n;
    h->layout = nodes->layout;
    h->objects_generation = objects;
    shape_clear(h);
    return h;
}

void shapes_get(struct shapes *s, const struct profile *p, struct kobj *pod,
                const struct ks_nodes *nodes, uint64_t objects_generation,
                struct shape *ret[SHAPE_PARTS])
{
    bool hit = true;

    ret[SHAPE_LOCAL] = ret[SHAPE_DOMAIN] = NULL;
    if (!pod_of(pod)->share[1] || !str_empty(pod_of(pod)->node_name) ||
        requests_in_status(pod_of(pod)))
        return;
    for (unsigned part = 0; part < SHAPE_PARTS; part++) {
        ret[part] = get_part(s, part, p, pod, nodes, objects_generation);
        hit = hit && ret[part]->made;
    }
    s->hits += hit;
    s->misses += !hit;
}

struct shapes_stats shapes_stats(const struct shapes *s)
{
    return (struct shapes_stats){ s->hits, s->misses, s->of[SHAPE_LOCAL].n };
}
