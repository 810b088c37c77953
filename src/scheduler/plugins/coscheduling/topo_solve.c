/* topo_solve.c - how the pods of a gang are spread over a network topology (sched-gang 7.4).
 *
 * Domains and nodes are numbered layer by layer, the cluster first; sums run from the last number
 * to the first, since whatever is above comes before.
 */
#include "scheduler/plugins/coscheduling/topo_solve.h"

#include "base/arena.h"
#include "base/strbuf.h"

/* The message names so many domains at most; it has to fit into a condition. */
enum { ROOMS_SHOWN = 200 };

struct spot { /* a domain, or a node */
    uint32_t parent;
    uint32_t child, nchildren; /* its first in solve.children */
    uint32_t layer;
    int64_t slots, existing, score;
    const char *name;
};
struct solve {
    const struct topo_tree *t;
    struct arena *arena;
    struct spot *spots;
    uint32_t *children;                  /* those of one spot together */
    uint32_t begin[TOPO_LAYERS_MAX + 1]; /* by layer: its first spot */
    int64_t multiple[TOPO_LAYERS_MAX];   /* 1: any number */
    int64_t want;
    struct topo_share *shares;
    uint32_t nshares;
};

static uint32_t spot_of(const struct solve *s, const struct topo_domain *d)
{
    return s->begin[d->layer] + d->at;
}

static int64_t floored(const struct solve *s, uint32_t layer, int64_t n)
{
    return n - n % s->multiple[layer];
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* Layers that are unknown count as the topmost. */
static uint32_t rank_of(const struct topo_tree *t, const char *layer)
{
    uint32_t at = topo_tree_layer(t, layer);

    return at ? at - 1 : 0;
}

uint32_t topo_must_layer(const struct topo_tree *t, const struct network_topology_spec *spec,
                         const char **ret_name)
{
    const char *must = NULL;

    for (uint32_t i = 0; i < spec->gather.n; i++) {
        const struct gather_rule *r = &spec->gather.items[i];
        const char *layer = str_or(r->layer, "");
        if (r->strategy == GATHER_MUST && (!must || rank_of(t, layer) > rank_of(t, must)))
            must = layer;
    }
    *ret_name = must && !streq(must, "") ? must : NULL;
    return *ret_name ? topo_tree_layer(t, must) : 0;
}

static void set_multiples(struct solve *s, const struct network_topology_spec *spec)
{
    for (uint32_t l = 0; l < s->t->n; l++) {
        s->multiple[l] = 1;
        for (uint32_t i = 0; i < spec->gather.n; i++) {
            const struct gather_rule *r = &spec->gather.items[i];
            if (r->pod_count_multiple > 1 && streq(str_or(r->layer, ""), s->t->layers[l].name))
                s->multiple[l] = r->pod_count_multiple;
        }
    }
}

/* ---- the numbers ----------------------------------------------------------------------------- */

static void number(struct solve *s)
{
    const struct topo_tree *t = s->t;
    uint32_t n = 0;

    for (uint32_t l = 0; l < t->n; l++) {
        s->begin[l] = n;
        n += (uint32_t)(l + 1 < t->n ? t->layers[l].domains.n : t->leaves.n);
    }
    s->begin[t->n] = n;
    s->spots = arena_newn0(s->arena, n, struct spot);
    s->children = arena_newn0(s->arena, n, uint32_t);
    for (uint32_t l = 0; l + 1 < t->n; l++)
        vec_foreach(&t->layers[l].domains, i) {
            const struct topo_domain *d = t->layers[l].domains.items[i];
            s->spots[s->begin[l] + i] =
                (struct spot){ .layer = l,
                               .name = d->name,
                               .parent = d->parent ? spot_of(s, d->parent) : UINT32_MAX };
        }
    vec_foreach(&t->leaves, i) {
        const struct topo_leaf *leaf = t->leaves.items[i];
        s->spots[s->begin[t->n - 1] + i] =
            (struct spot){ .layer = t->n - 1,
                           .name = leaf->node->meta.name,
                           .parent = spot_of(s, topo_leaf_parent(t, leaf)) };
    }
}

/* Where the children of each spot stand: room for all, then one after the other. */
static void list_children(struct solve *s)
{
    uint32_t n = s->begin[s->t->n], at = 0;

    for (uint32_t i = 1; i < n; i++)
        s->spots[s->spots[i].parent].nchildren++;
    for (uint32_t i = 0; i < n; i++) {
        s->spots[i].child = at;
        at += s->spots[i].nchildren;
        s->spots[i].nchildren = 0;
    }
    for (uint32_t i = 1; i < n; i++) {
        struct spot *up = &s->spots[s->spots[i].parent];
        s->children[up->child + up->nchildren++] = i;
    }
}

static void sum_up(struct solve *s, const struct topo_request *r, const struct topo_offer *offers)
{
    uint32_t leaves = s->begin[s->t->n - 1], n = s->begin[s->t->n];

    for (uint32_t i = leaves; i < n; i++) {
        const struct topo_offer *o = &offers[i - leaves];
        int64_t slots = MIN((int64_t)o->slots, s->want);
        s->spots[i].slots = slots;
        s->spots[i].score = o->score;
        if (r->selector)
            s->spots[i].existing = o->existing + MIN(slots, s->want - 1);
    }
    for (uint32_t i = n; i-- > 0;) {
        struct spot *p = &s->spots[i];
        p->slots = floored(s, p->layer, p->slots);
        if (i == 0)
            break;
        struct spot *up = &s->spots[p->parent];
        up->slots += p->slots;
        up->existing += p->existing;
        up->score += p->score;
    }
}

/* ---- the order ------------------------------------------------------------------------------- */

/* Which comes first: where more of the same selector are, near or farther around; then by slots,
 * the smaller first (fill: what is nearly full) or the larger first. */
static int compare(const struct solve *s, uint32_t x, uint32_t y, bool fill)
{
    const struct spot *a = &s->spots[x], *b = &s->spots[y];

    for (;;) {
        if (a->existing != b->existing)
            return a->existing > b->existing ? -1 : 1;
        if (a->parent == b->parent) /* from here on they are the same */
            break;
        a = &s->spots[a->parent];
        b = &s->spots[b->parent];
    }
    a = &s->spots[x];
    b = &s->spots[y];
    for (;;) {
        if (a->slots != b->slots)
            return (a->slots < b->slots) == fill ? -1 : 1;
        if (a->parent == b->parent)
            break;
        a = &s->spots[a->parent];
        b = &s->spots[b->parent];
    }
    a = &s->spots[x];
    b = &s->spots[y];
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int by_fill(const void *a, const void *b, void *arg)
{
    return compare(arg, *(const uint32_t *)a, *(const uint32_t *)b, true);
}

static int by_room(const void *a, const void *b, void *arg)
{
    return compare(arg, *(const uint32_t *)a, *(const uint32_t *)b, false);
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* Number of the pods that the spot takes; its nodes get shares. */
static int64_t distribute(struct solve *s, uint32_t at, int64_t want)
{
    struct spot *p = &s->spots[at];
    int64_t take = floored(s, p->layer, MIN(p->slots, want)), got = 0;

    if (take <= 0)
        return 0;
    if (p->layer == s->t->n - 1) {
        const struct topo_leaf *leaf = s->t->leaves.items[at - s->begin[p->layer]];
        s->shares[s->nshares++] = (struct topo_share){ leaf, (uint32_t)take };
        return take;
    }
    if (p->nchildren)
        qsort_r(s->children + p->child, p->nchildren, sizeof *s->children, by_room, s);
    for (uint32_t i = 0; i < p->nchildren && got < take; i++)
        got += distribute(s, s->children[p->child + i], take - got);
    return got;
}

/* Of the spots given, the level farthest down that has spots with room for all; their number. */
static uint32_t descend(struct solve *s, uint32_t *spots, uint32_t n)
{
    uint32_t keep = 0;
    uint32_t *next = arena_newn0(s->arena, s->begin[s->t->n], uint32_t);

    for (uint32_t i = 0; i < n; i++)
        if (s->spots[spots[i]].slots >= s->want)
            spots[keep++] = spots[i];
    for (;;) {
        uint32_t nnext = 0;
        for (uint32_t i = 0; i < keep; i++) {
            const struct spot *p = &s->spots[spots[i]];
            for (uint32_t k = 0; k < p->nchildren; k++)
                if (s->spots[s->children[p->child + k]].slots >= s->want)
                    next[nnext++] = s->children[p->child + k];
        }
        if (nnext == 0)
            return keep;
        memcpy(spots, next, nnext * sizeof *spots);
        keep = nnext;
    }
}

/* The best comes first; the others are put in order only when it does not do. */
static bool choose(struct solve *s, uint32_t *spots, uint32_t n)
{
    s->shares = arena_newn0(s->arena, s->t->leaves.n, struct topo_share);
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0) {
            uint32_t best = 0;
            for (uint32_t k = 1; k < n; k++)
                if (compare(s, spots[k], spots[best], true) < 0)
                    best = k;
            uint32_t first = spots[best];
            spots[best] = spots[0];
            spots[0] = first;
        } else if (i == 1) {
            qsort_r(spots + 1, n - 1, sizeof *spots, by_fill, s);
        }
        s->nshares = 0;
        if (distribute(s, spots[i], s->want) >= s->want)
            return true;
    }
    return false;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void note_rooms(struct solve *s, uint32_t begin, uint32_t n, struct topo_solution *ret)
{
    ret->nrooms = n;
    ret->rooms = arena_newn0(s->arena, n, struct topo_room);
    for (uint32_t i = 0; i < n; i++) {
        const struct spot *p = &s->spots[begin + i];
        ret->rooms[i] =
            (struct topo_room){ s->t->layers[p->layer].name, p->name, (uint32_t)p->slots };
    }
}

bool topo_solve(const struct topo_tree *t, const struct topo_request *r,
                const struct topo_offer *offers, struct arena *a, struct topo_solution *ret)
{
    struct solve s = { .t = t, .arena = a, .want = r->want };
    const char *must;
    uint32_t layer = topo_must_layer(t, r->spec, &must);
    bool unknown = must && layer == 0 && !streq(must, TOPOLOGY_LAYER_CLUSTER);

    *ret = (struct topo_solution){ 0 };
    set_multiples(&s, r->spec);
    number(&s);
    list_children(&s);
    sum_up(&s, r, offers);
    uint32_t begin = s.begin[layer], n = unknown ? 0 : s.begin[layer + 1] - begin;
    uint32_t *spots = arena_newn0(a, s.begin[t->n], uint32_t);
    for (uint32_t i = 0; i < n; i++)
        spots[i] = begin + i;
    if (choose(&s, spots, descend(&s, spots, n))) {
        ret->shares = s.shares;
        ret->n = s.nshares;
        return true;
    }
    note_rooms(&s, begin, n, ret);
    return false;
}

static int by_room_name(const void *a, const void *b)
{
    return strcmp(((const struct topo_room *)a)->name, ((const struct topo_room *)b)->name);
}

struct topo_room *topo_rooms(const struct topo_tree *t, const struct topo_request *r,
                             const struct topo_offer *offers, uint32_t layer, struct arena *a,
                             uint32_t *ret_n)
{
    struct solve s = { .t = t, .arena = a, .want = r->want };
    struct topo_solution sum = { 0 };

    set_multiples(&s, r->spec);
    number(&s);
    sum_up(&s, r, offers);
    note_rooms(&s, s.begin[layer], s.begin[layer + 1] - s.begin[layer], &sum);
    if (sum.nrooms)
        qsort(sum.rooms, sum.nrooms, sizeof *sum.rooms, by_room_name);
    *ret_n = sum.nrooms;
    return sum.rooms;
}

/* ---- why not --------------------------------------------------------------------------------- */

static void list_rooms(const struct topo_solution *s, struct strbuf *out)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    char **lines = arena_newn0(a, s->nrooms, char *);

    for (uint32_t i = 0; i < s->nrooms; i++)
        lines[i] = arena_printf(a, "topology topologyNode %s/%s: %u", s->rooms[i].layer,
                                s->rooms[i].name, s->rooms[i].slots);
    if (s->nrooms)
        qsort(lines, s->nrooms, sizeof *lines, by_text);
    for (uint32_t i = 0; i < MIN(s->nrooms, (uint32_t)ROOMS_SHOWN); i++)
        strbuf_appendf(out, "%s%s", i ? ";" : "", lines[i]);
    if (s->nrooms > ROOMS_SHOWN)
        strbuf_appendf(out, ";and %u more", s->nrooms - ROOMS_SHOWN);
}

/* Of two rules for a layer the last counts. */
static bool is_overruled(const struct network_topology_spec *spec, uint32_t at)
{
    const char *layer = str_or(spec->gather.items[at].layer, "");

    for (uint32_t i = at + 1; i < spec->gather.n; i++)
        if (spec->gather.items[i].pod_count_multiple > 1 &&
            streq(str_or(spec->gather.items[i].layer, ""), layer))
            return true;
    return false;
}

static void list_multiples(const struct network_topology_spec *spec, struct strbuf *out)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    char **lines = arena_newn0(a, spec->gather.n, char *);
    uint32_t n = 0;

    for (uint32_t i = 0; i < spec->gather.n; i++) {
        const struct gather_rule *r = &spec->gather.items[i];
        if (r->pod_count_multiple > 1 && !is_overruled(spec, i))
            lines[n++] = arena_printf(a, "%s=%d", str_or(r->layer, ""), r->pod_count_multiple);
    }
    if (n == 0)
        return;
    qsort(lines, n, sizeof *lines, by_text);
    strbuf_append(out, "; podCountMultiple constraints: ");
    for (uint32_t i = 0; i < n; i++)
        strbuf_appendf(out, "%s%s", i ? ", " : "", lines[i]);
}

void topo_refusal(const struct topo_request *r, const struct topo_solution *s, const char *fit,
                  struct strbuf *out)
{
    strbuf_appendf(out, "no candidate topology nodes can accommodate job, desiredOfferSlot: %u, ",
                   r->want);
    list_rooms(s, out);
    strbuf_appendf(out, ", %s", fit);
    list_multiples(r->spec, out);
}
