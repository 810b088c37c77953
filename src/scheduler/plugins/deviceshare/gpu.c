/* gpu.c - which GPUs: by template, by partition, as near to each other as there are
 * (sched-device 6.2 to 6.4).
 */
#include "base/arena.h"
#include "scheduler/plugins/deviceshare/allocate_int.h"

static uint32_t gpu_begin(const struct allocating *x)
{
    return x->inv->first[DEVICE_GPU];
}
static uint32_t gpu_end(const struct allocating *x)
{
    return x->inv->first[DEVICE_GPU + 1];
}

/* ---- templates ------------------------------------------------------------------------------- */

enum ks_code gpu_find_template(struct allocating *x)
{
    const struct gpu_template_list *l =
        x->t->templates ? gpu_templates_of(x->t->templates, str_or(x->inv->vendor, ""),
                                           str_or(x->inv->model, ""))
                        : NULL;
    uint32_t found = 0;

    for (uint32_t i = 0; l && i < l->v.n; i++)
        if (reslist_equal(&l->v.items[i].resources.v, &x->t->wish->gpu_each)) {
            found++;
            x->gpu_template = l->v.items[i].name;
        }
    if (found == 0)
        return allocating_refuse(x, KS_UNRESOLVABLE, "no matched GPU shared resource template");
    if (found > 1)
        x->gpu_template = NULL;
    return found == 1 ? KS_SUCCESS : KS_SKIP;
}

/* ---- partitions ------------------------------------------------------------------------------ */

/* All cards are there and unused. also: cards that count as used; NULL: each must have what is
 * wanted too, since unused is not large enough. */
static bool group_is_free(const struct allocating *x, const struct gpu_group *g,
                          const uint8_t *also)
{
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t card = inventory_find(x->inv, DEVICE_GPU, g->minors[i]);
        if (card == NO_CARD || x->view.used[card] || (also && also[card]))
            return false;
        if (!also && !allocating_fits(x, DEVICE_GPU, card))
            return false;
    }
    return true;
}

static bool group_has_must(const struct allocating *x, const struct gpu_group *g)
{
    for (uint32_t i = gpu_begin(x); x->t->must && i < gpu_end(x); i++) {
        bool found = !x->t->must[i];
        for (uint32_t k = 0; k < g->n && !found; k++)
            found = g->minors[k] == x->inv->card[i].minor;
        if (!found)
            return false;
    }
    return true;
}

static bool group_suits(const struct allocating *x, const struct gpu_group *g)
{
    int64_t wanted = x->t->wish->bandwidth;

    return (wanted < 0 || g->bandwidth >= wanted) && group_is_free(x, g, NULL) &&
           group_has_must(x, g);
}

/* How many larger partitions stay whole: eights before fours before pairs. */
static int64_t group_rest(const struct allocating *x, const struct gpu_group *mine, uint8_t *also)
{
    static const struct {
        uint32_t size;
        int64_t weight;
    } sizes[] = { { 8, 10000 }, { 4, 100 }, { 2, 1 } };
    int64_t sum = 0;

    memset(also, 0, inventory_cards(x->inv));
    for (uint32_t i = 0; i < mine->n; i++) {
        uint32_t card = inventory_find(x->inv, DEVICE_GPU, mine->minors[i]);
        if (card != NO_CARD)
            also[card] = 1;
    }
    for (size_t s = 0; s < ARRAY_LEN(sizes) && sizes[s].size >= mine->n; s++) {
        const struct gpu_group *first = NULL;
        for (uint32_t i = 0; i < x->inv->ngroups; i++) {
            const struct gpu_group *g = &x->inv->groups[i];
            if (g->n != sizes[s].size)
                continue;
            first = first ? first : g;
            if (g->score == first->score && group_is_free(x, g, also))
                sum += sizes[s].weight * g->score;
        }
    }
    return sum;
}

static void pick_group(struct allocating *x, const struct gpu_group *g)
{
    struct picks *p = &x->picks[DEVICE_GPU];

    p->n = 0;
    for (uint32_t i = gpu_begin(x); i < gpu_end(x); i++)
        for (uint32_t k = 0; k < g->n; k++)
            if (g->minors[k] == x->inv->card[i].minor) {
                p->vf[p->n] = NULL;
                p->card[p->n++] = i;
                break;
            }
}

/* Of those that suit, all of one score, the one that leaves most. */
static const struct gpu_group *best_group(struct allocating *x, uint32_t from, uint32_t to)
{
    uint8_t *also = arena_newn0(x->t->arena, inventory_cards(x->inv) + 1, uint8_t);
    const struct gpu_group *best = NULL;
    int64_t best_rest = 0;

    for (uint32_t i = from; i < to; i++) {
        const struct gpu_group *g = &x->inv->groups[i];
        if (!group_suits(x, g))
            continue;
        int64_t rest = group_rest(x, g, also);
        if (best && rest <= best_rest)
            continue;
        best = g;
        best_rest = rest;
    }
    return best;
}

enum ks_code gpu_pick_partition(struct allocating *x)
{
    const struct inventory *inv = x->inv;
    const struct gpu_group *best = NULL;
    uint32_t from = 0;

    if (x->t->wish->shared)
        return KS_SKIP;
    if (inv->ngroups == 0)
        return allocating_refuse(x, KS_UNRESOLVABLE, "node(s) missing GPU Partition Table");
    while (from < inv->ngroups && inv->groups[from].n != x->count[DEVICE_GPU])
        from++;
    if (from == inv->ngroups)
        return allocating_refuse(x, KS_UNRESOLVABLE, "node(s) Unsupported number of GPU requests");
    while (!best && from < inv->ngroups && inv->groups[from].n == x->count[DEVICE_GPU]) {
        uint32_t to = from;
        while (to < inv->ngroups && inv->groups[to].n == inv->groups[from].n &&
               inv->groups[to].score == inv->groups[from].score)
            to++;
        best = best_group(x, from, to);
        from = to;
        if (x->t->wish->restricted)
            break;
    }
    if (!best)
        return allocating_refuse(x, KS_UNSCHEDULABLE, "Insufficient Partitioned GPU Devices");
    pick_group(x, best);
    return KS_SUCCESS;
}

/* ---- as near as there are -------------------------------------------------------------------- */

enum { LEVEL_NODE = 1, LEVEL_NUMA, LEVEL_PCIE };
struct scope { /* a part of the node: all of it, a NUMA node, a PCIe */
    int level;
    int16_t numa;
    uint16_t pcie;
};
struct near { /* what was found in a scope */
    uint32_t *card;
    int level; /* 0: nothing */
    int used;  /* scopes on the way to it where something is in use */
    int64_t score;
};

static bool is_inside(const struct scope *s, const struct card *c)
{
    return s->level == LEVEL_NODE ||
           (c->numa == s->numa && (s->level == LEVEL_NUMA || c->pcie == s->pcie));
}

/* With total and free exchanged, as upstream: of cards in use all are equal. */
static int64_t shared_score(const struct allocating *x, uint32_t card)
{
    return device_score(x->t->scorer, DEVICE_GPU, &x->view.free[card], &x->view.total[card],
                        &x->each[DEVICE_GPU]);
}

static bool pick_in_scope(struct allocating *x, const struct scope *s, struct near *ret)
{
    uint32_t count = (uint32_t)x->count[DEVICE_GPU], n = 0, missing = 0;

    for (uint32_t i = gpu_begin(x); x->t->must && i < gpu_end(x); i++) {
        bool here = is_inside(s, &x->inv->card[i]) && allocating_fits(x, DEVICE_GPU, i);
        missing += x->t->must[i] && !here;
        if (x->t->must[i] && here && n < count)
            ret->card[n++] = i;
    }
    for (uint32_t i = gpu_begin(x); i < gpu_end(x) && (n < count || x->t->wish->shared); i++) {
        if (allocating_must(x, i) || !is_inside(s, &x->inv->card[i]) ||
            !allocating_fits(x, DEVICE_GPU, i))
            continue;
        if (!x->t->wish->shared) {
            ret->card[n++] = i;
        } else if (n == 0 || (!allocating_must(x, ret->card[0]) &&
                              shared_score(x, i) > shared_score(x, ret->card[0]))) {
            ret->card[0] = i;
            n = 1;
        }
    }
    if (missing || n < count)
        return false;
    ret->score = x->t->wish->shared ? shared_score(x, ret->card[0]) : 0;
    return true;
}

static bool is_nearer(const struct allocating *x, const struct near *a, const struct near *than)
{
    if (a->level != than->level)
        return a->level > than->level;
    if (a->used != than->used)
        return a->used > than->used;
    return x->t->wish->shared && a->score > than->score;
}

static struct near search(struct allocating *x, const struct scope *s, int used);

static struct near search_below(struct allocating *x, const struct scope *s, int used)
{
    struct near best = { 0 };

    for (uint32_t i = 0; s->level < LEVEL_PCIE && i < x->inv->nscopes; i++) {
        const struct gpu_scope *g = &x->inv->scope[i];
        struct scope child = { s->level + 1, g->numa, g->pcie };
        if (s->level == LEVEL_NUMA && g->numa != s->numa)
            continue;
        if (s->level == LEVEL_NODE && i > 0 && g->numa == x->inv->scope[i - 1].numa)
            continue; /* one for each NUMA node */
        struct near n = search(x, &child, used);
        if (n.level && (!best.level || is_nearer(x, &n, &best)))
            best = n;
    }
    return best;
}

static struct near search(struct allocating *x, const struct scope *s, int used)
{
    struct near n = { 0 };
    int64_t inside = 0;
    bool in_use = false;

    for (uint32_t i = gpu_begin(x); i < gpu_end(x); i++)
        if (is_inside(s, &x->inv->card[i])) {
            inside++;
            in_use |= x->view.used[i];
        }
    if (inside < x->count[DEVICE_GPU])
        return n;
    n = search_below(x, s, used + in_use);
    if (n.level || x->t->wish->of[DEVICE_GPU].scope > s->level)
        return n;
    n.card = arena_newn0(x->t->arena, (size_t)x->count[DEVICE_GPU] + 1, uint32_t);
    if (pick_in_scope(x, s, &n)) {
        n.level = s->level;
        n.used = used + in_use;
    }
    return n;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

enum ks_code gpu_pick_near(struct allocating *x)
{
    bool scoped = x->t->wish->of[DEVICE_GPU].scope != DEVICE_SCOPE_NONE;
    struct picks *p = &x->picks[DEVICE_GPU];

    if (!(x->inv->flags & INVENTORY_TREE))
        return scoped ? allocating_refuse(x, KS_UNRESOLVABLE,
                                          "node(s) missing GPU Device Topology Tree")
                      : KS_SKIP;
    if (x->t->wish->shared && x->count[DEVICE_GPU] > 1)
        return scoped
                   ? allocating_refuse(x, KS_UNRESOLVABLE, "node(s) Unsupported Multi-Shared GPU")
                   : KS_SKIP;
    struct near n = search(x, &(struct scope){ .level = LEVEL_NODE }, 0);
    if (!n.level)
        return allocating_refuse(x, KS_UNSCHEDULABLE,
                                 scoped ? "Insufficient Topology Scoped GPU Devices"
                                        : "Insufficient GPU Devices");
    p->n = (uint32_t)x->count[DEVICE_GPU];
    qsort(n.card, p->n, sizeof *n.card, by_number);
    for (uint32_t i = 0; i < p->n; i++) {
        p->card[i] = n.card[i];
        p->vf[i] = NULL;
    }
    return KS_SUCCESS;
}
