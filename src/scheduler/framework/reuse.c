/* reuse.c - what was kept with a shape, and how much of it still holds. */
#include "base/arena.h"
#include "scheduler/framework/attempt_int.h"
#include "scheduler/framework/shapes.h"
#include "scheduler/model/overlay.h"

/* The rows that changed since the shape was used last; first those whose node changed. */
static struct ks_dirty find_dirty(const struct attempt *a, struct shape *h)
{
    const struct ks_nodes *nodes = a->cycle.nodes;
    struct ks_changed it = ks_changed_since(&nodes->changes, a->n, h->generation);
    const uint64_t *node_changed = nodes->node_changes.changed;
    uint32_t n = 0, nnodes = 0;

    if (!h->dirty)
        h->dirty = arena_alloc(h->arena, a->n * sizeof *h->dirty, sizeof *h->dirty);
    for (uint32_t row; (row = ks_changed_next(&it)) != KS_NO_ROW;) {
        h->dirty[n++] = row;
        if (node_changed[row] > h->node_generation) {
            h->dirty[n - 1] = h->dirty[nnodes];
            h->dirty[nnodes++] = row;
        }
    }
    return (struct ks_dirty){ h->dirty, n, nnodes };
}

/* Rows that an overlay has changed, or had when the shape was used last, are dirty whatever their
 * generation. */
static void add_overlaid(struct attempt *a, struct shape *h, struct ks_dirty *d)
{
    uint32_t nnow, nthen = h->noverlaid;
    const uint32_t *now = overlay_rows(a->cache, &nnow);

    if (nnow + nthen == 0)
        return;
    uint8_t *seen = arena_zalloc(a->arena, a->n);
    for (uint32_t i = 0; i < d->n; i++)
        seen[h->dirty[i]] = 1;
    for (uint32_t i = 0; i < nnow + nthen; i++) {
        uint32_t row = i < nnow ? now[i] : h->overlaid[i - nnow];
        if (!seen[row])
            h->dirty[d->n++] = row;
        seen[row] = 1;
    }
}

/* With many shapes none is in the CPU's caches any more when it is used again: what is known of the
 * rows that will be made anew is fetched at once, instead of row by row when it is written. */
static void fetch_dirty(const struct attempt *a)
{
    const struct shape *h = a->shape;

    for (uint32_t i = 0; i < a->dirty.n; i++) {
        __builtin_prefetch(&h->by[h->dirty[i]], 1);
        __builtin_prefetch(&h->why[h->dirty[i]], 1);
        __builtin_prefetch(&h->total[h->dirty[i]], 1);
    }
    for (uint32_t slot = 0; slot < a->profile->n; slot++)
        for (uint32_t i = 0; h->raw[slot] && i < a->dirty.n; i++)
            __builtin_prefetch(&h->raw[slot][h->dirty[i]], 1);
}

static bool takes_part(const struct attempt *a, uint32_t slot, enum ks_point point)
{
    return a->profile->points[point].set >> slot & 1;
}

/* Does what a LOCAL plugin prepared for all rows still hold? */
static bool holds(struct attempt *a, uint32_t slot, bool filters)
{
    const struct profile_slot *s = &a->profile->slots[slot];
    struct shape *h = a->shape;
    bool skip = (filters ? h->skip_filter : h->skip_score) >> slot & 1;

    a->cycle.arena = h->arena;
    attempt_enter(a, slot, filters ? h->state[slot] : h->score_state[slot]);
    bool ok = s->plugin->refresh(s->self, &a->cycle, &a->pod, &a->dirty, &skip);
    a->cycle.arena = a->arena;
    return ok;
}

/* LOCAL plugins that prepare something for all rows are asked whether it holds: first what filters
 * were given, then what only scores were. */
static void refresh_local(struct attempt *a)
{
    for (uint32_t i = 0; i < a->profile->n && !a->fresh; i++) {
        const struct ks_plugin *pl = a->profile->slots[i].plugin;
        bool filters = takes_part(a, i, KS_POINT_PRE_FILTER);
        if (pl->reuse != KS_REUSE_LOCAL || !pl->refresh ||
            !(filters || takes_part(a, i, KS_POINT_SCORE)) || holds(a, i, filters))
            continue;
        a->fresh = filters;
        a->fresh_scores = true;
    }
    if (a->fresh)
        shape_clear(a->shape);
}

void attempt_reuse(struct attempt *a)
{
    a->fresh = a->fresh_scores = !a->shape || !a->shape->made;
    a->fresh_domains = !a->domains || !a->domains->made;
    if (!a->fresh) {
        a->dirty = find_dirty(a, a->shape);
        add_overlaid(a, a->shape, &a->dirty);
        fetch_dirty(a);
        if (a->dirty.nnodes)
            refresh_local(a);
    }
    if (!a->fresh_domains) {
        a->domains_dirty = find_dirty(a, a->domains);
        add_overlaid(a, a->domains, &a->domains_dirty);
    }
}

struct shape *attempt_keeper(const struct attempt *a, uint32_t slot)
{
    switch (a->profile->slots[slot].plugin->reuse) {
    case KS_REUSE_LOCAL: return a->shape;
    case KS_REUSE_DOMAIN: return a->domains;
    case KS_REUSE_GLOBAL: break;
    }
    return NULL;
}

/* What is kept of a plugin, unless it is made anew: one that is not asked this time, since an
 * earlier one rejects the pod, has no state then. */
void attempt_recall(struct attempt *a)
{
    a->state = arena_newn0(a->arena, a->profile->n, void *);
    for (uint32_t i = 0; i < a->profile->n; i++) {
        const struct shape *h = attempt_keeper(a, i);
        if (h && h->made)
            a->state[i] = h->state[i];
    }
}

static void keep(const struct attempt *a, struct shape *h)
{
    if (!h)
        return;
    for (uint32_t i = 0; i < a->profile->n; i++)
        if (attempt_keeper(a, i) == h)
            h->state[i] = a->state[i];
    h->skip_filter = a->skip_filter;
    h->generation = a->cycle.nodes->changes.generation;
    h->node_generation = a->cycle.nodes->node_changes.generation;
    shape_set_overlaid(h, a->cache);
}

void attempt_keep(const struct attempt *a)
{
    keep(a, a->shape);
    keep(a, a->domains);
    if (a->domains)
        a->domains->made = true;
}
