/* budgets.c - disruption budgets: which pods may be evicted without breaking one. */
#include "scheduler/framework/budgets.h"

#include "api/pod.h"
#include "api/policy.h"
#include "api/selector/selector.h"
#include "base/arena.h"
#include "scheduler/model/objects.h"

struct budget {
    const struct pdb *pdb;
    const struct labelsel *selector;
    int64_t left;
    uint64_t turn; /* of `left` */
};
enum { PEERS = 64 };
struct peers { /* pods with the same labels, which share them: what was found out for one */
    const char *ns;
    const struct kstrpair *labels;
    struct budget **budgets;
    uint32_t n;
};
struct budgets {
    const struct objects *objects;
    struct arena *arena;
    struct arena *peers_arena;
    struct peers peers[PEERS]; /* by address of the labels */
    uint64_t generation;
    bool made;
    uint64_t turn;
    struct budget *items; /* by namespace */
    size_t n;
};

struct budgets *budgets_new(const struct objects *w)
{
    struct budgets *b = xnew0(struct budgets);
    b->objects = w;
    b->arena = arena_new();
    b->peers_arena = arena_new();
    return b;
}

struct budgets *budgets_free(struct budgets *b)
{
    if (!b)
        return NULL;
    arena_free(b->arena);
    arena_free(b->peers_arena);
    free(b);
    return NULL;
}

/* A selector that is empty or cannot be understood protects nobody. */
static const struct labelsel *selector_of(const struct pdb *p, struct arena *a)
{
    struct kerr ignored = { 0 };
    struct labelsel *s;

    if (!p->spec.selector || labelsel_from(p->spec.selector, a, &s, &ignored) < 0)
        return NULL;
    return labelsel_is_everything(s) ? NULL : s;
}

static int by_namespace(const void *a, const void *b)
{
    return strcmp(((const struct budget *)a)->pdb->obj.meta.ns,
                  ((const struct budget *)b)->pdb->obj.meta.ns);
}

void budgets_refresh(struct budgets *b)
{
    const struct kobj *o;
    uint64_t now = b->objects ? objects_generation_of(b->objects, &kind_pdb) : 0;

    memset(b->peers, 0, sizeof b->peers); /* labels are borrowed for the attempt only */
    arena_reset(b->peers_arena);
    if (b->made && b->generation == now)
        return;
    arena_reset(b->arena);
    b->n = 0;
    b->made = true;
    b->generation = now;
    if (!b->objects)
        return;
    b->items = arena_newn0(b->arena, objects_count(b->objects, &kind_pdb), struct budget);
    for (size_t it = 0; (o = objects_next(b->objects, &kind_pdb, &it));) {
        const struct pdb *p = container_of(o, const struct pdb, obj);
        const struct labelsel *s = selector_of(p, b->arena);
        if (s)
            b->items[b->n++] = (struct budget){ .pdb = p, .selector = s };
    }
    if (b->n)
        qsort(b->items, b->n, sizeof *b->items, by_namespace);
}

void budgets_begin(struct budgets *b)
{
    b->turn++;
}

/* The first budget that is not before the namespace. */
static size_t lower_bound(const struct budgets *b, const char *ns)
{
    size_t lo = 0, hi = b->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (strcmp(b->items[mid].pdb->obj.meta.ns, ns) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* A pod whose eviction was granted is on its way out and counted already. */
static bool is_disrupted(const struct pdb *p, const char *name)
{
    for (uint32_t i = 0; i < p->status.disrupted_pods.n; i++)
        if (streq(p->status.disrupted_pods.items[i].name, name))
            return true;
    return false;
}

/* The budgets whose selectors match the pod. */
static const struct peers *peers_of(struct budgets *b, const struct pod *p)
{
    const struct objmeta *m = &p->obj.meta;
    struct peers *e = &b->peers[(uintptr_t)m->labels.items / 16 % PEERS];

    if (e->labels == m->labels.items && streq(e->ns, m->ns))
        return e;
    size_t first = lower_bound(b, m->ns), last = first;
    while (last < b->n && streq(b->items[last].pdb->obj.meta.ns, m->ns))
        last++;
    *e = (struct peers){ .ns = m->ns, .labels = m->labels.items };
    e->budgets = arena_newn0(b->peers_arena, last - first, struct budget *);
    for (size_t i = first; i < last; i++)
        if (labelsel_matches(b->items[i].selector, &m->labels))
            e->budgets[e->n++] = &b->items[i];
    return e;
}

/* The budgets that the pod's end counts for, one after the other; NULL behind the last. */
static struct budget *next_budget(const struct peers *peers, const struct pod *p, uint32_t *at)
{
    while (*at < peers->n) {
        struct budget *g = peers->budgets[(*at)++];
        if (!is_disrupted(g->pdb, p->obj.meta.name))
            return g;
    }
    return NULL;
}

bool budgets_take(struct budgets *b, const struct pod *p)
{
    bool violated = false;
    struct budget *g;

    if (b->n == 0 || p->obj.meta.labels.n == 0)
        return false;
    const struct peers *peers = peers_of(b, p);
    for (uint32_t at = 0; (g = next_budget(peers, p, &at));) {
        if (g->turn != b->turn) {
            g->turn = b->turn;
            g->left = g->pdb->status.disruptions_allowed;
        }
        violated |= --g->left < 0;
    }
    return violated;
}

void budgets_give(struct budgets *b, const struct pod *p)
{
    struct budget *g;

    if (b->n == 0 || p->obj.meta.labels.n == 0)
        return;
    const struct peers *peers = peers_of(b, p);
    for (uint32_t at = 0; (g = next_budget(peers, p, &at));)
        g->left++;
}
