/* openb_plain.c - the fragmentation gradient without anything of ours: see openb.h. */
#include "openb.h"

#include <string.h>

#include "base/base.h"

enum { CARDS_MAX = 8 };

struct kind { /* equal tasks */
    const struct task *task;
    double weight; /* its share of all tasks */
};
struct node { /* what is free */
    const struct gpu_node *is;
    int cpu, memory, card[CARDS_MAX];
    uint32_t version;
    double waste;
};
struct growth { /* of a node's waste by a task of a kind, as of a version of the node */
    uint32_t version;
    int card; /* for a part of one */
    bool fits;
    double by;
};
struct plain {
    struct kind *kinds;
    uint32_t nkinds;
    uint32_t *kind_of; /* [task] */
    struct node *nodes;
    size_t nnodes;
    uint8_t *accepts;      /* [kind][node]: by the model */
    struct growth *growth; /* [kind][node] */
};

/* ---- kinds ----------------------------------------------------------------------------------- */

static bool accepts(const struct task *t, const char *model)
{
    size_t n = strlen(model);

    for (const char *at = t->spec; *at; at += strcspn(at, "|") + (at[strcspn(at, "|")] == '|'))
        if (strcspn(at, "|") == n && strncmp(at, model, n) == 0)
            return true;
    return !*t->spec;
}

static void find_kinds(struct plain *p, const struct task *tasks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t k = 0;
        while (k < p->nkinds && (p->kinds[k].task->cpu != tasks[i].cpu ||
                                 p->kinds[k].task->memory != tasks[i].memory ||
                                 p->kinds[k].task->cards != tasks[i].cards ||
                                 p->kinds[k].task->milli != tasks[i].milli ||
                                 !streq(p->kinds[k].task->spec, tasks[i].spec)))
            k++;
        if (k == p->nkinds)
            p->kinds[p->nkinds++].task = &tasks[i];
        p->kinds[k].weight += 1.0 / (double)n;
        p->kind_of[i] = k;
    }
}

/* ---- waste ----------------------------------------------------------------------------------- */

static bool has_cards(const struct node *n, const struct task *t)
{
    int enough = 0;

    for (int i = 0; i < n->is->cards; i++)
        enough += n->card[i] >= t->milli;
    return enough >= t->cards;
}

static double waste(const struct plain *p, const struct node *n)
{
    size_t at = (size_t)(n - p->nodes);
    double sum = 0;
    int free = 0;

    for (int i = 0; i < n->is->cards; i++)
        free += n->card[i];
    for (uint32_t k = 0; k < p->nkinds; k++) {
        const struct task *t = p->kinds[k].task;
        int lost = free;
        if (t->cards && p->accepts[k * p->nnodes + at] && t->cpu <= n->cpu &&
            t->memory <= n->memory && has_cards(n, t)) {
            lost = 0;
            for (int i = 0; i < n->is->cards; i++)
                lost += n->card[i] < t->milli ? n->card[i] : 0;
        }
        sum += p->kinds[k].weight * lost;
    }
    return sum;
}

/* card: of a task that wants a part of one; others take whole ones. */
static void take_room(struct node *n, const struct task *t, int card)
{
    int left = t->milli < OPENB_CARD ? 0 : t->cards;

    n->cpu -= t->cpu;
    n->memory -= t->memory;
    if (t->cards && t->milli < OPENB_CARD)
        n->card[card] -= t->milli;
    for (int i = 0; i < n->is->cards && left; i++)
        if (n->card[i] == OPENB_CARD) {
            n->card[i] = 0;
            left--;
        }
}

static void try_card(struct plain *p, struct node *n, const struct task *t, int card,
                     struct growth *g)
{
    struct node was = *n;

    take_room(n, t, card);
    double by = waste(p, n) - was.waste;
    *n = was;
    if (g->fits && by >= g->by)
        return;
    *g = (struct growth){ .version = n->version, .card = card, .fits = true, .by = by };
}

static const struct growth *growth_of(struct plain *p, uint32_t kind, size_t at)
{
    struct growth *g = &p->growth[kind * p->nnodes + at];
    const struct task *t = p->kinds[kind].task;
    struct node *n = &p->nodes[at];

    if (g->version == n->version)
        return g;
    *g = (struct growth){ .version = n->version };
    if (!p->accepts[kind * p->nnodes + at] || t->cpu > n->cpu || t->memory > n->memory ||
        !has_cards(n, t))
        return g;
    bool part = t->cards && t->milli < OPENB_CARD;
    for (int i = 0; i < (part ? n->is->cards : 1); i++)
        if (!part || n->card[i] >= t->milli)
            try_card(p, n, t, i, g);
    return g;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool place(struct plain *p, uint32_t task)
{
    uint32_t kind = p->kind_of[task];
    const struct growth *best = NULL;
    size_t at = 0;

    for (size_t i = 0; i < p->nnodes; i++) {
        const struct growth *g = growth_of(p, kind, i);
        if (!g->fits || (best && g->by >= best->by))
            continue;
        best = g;
        at = i;
    }
    if (!best)
        return false;
    struct node *n = &p->nodes[at];
    take_room(n, p->kinds[kind].task, best->card);
    n->version++;
    n->waste = waste(p, n);
    return true;
}

void openb_plain_gradient(const struct task *tasks, size_t ntasks, const struct gpu_node *nodes,
                          size_t nnodes, const uint32_t *drawn, size_t ndrawn, uint8_t *bound)
{
    struct plain p = { .kinds = xnewn0(ntasks, struct kind),
                       .kind_of = xnewn0(ntasks, uint32_t),
                       .nodes = xnewn0(nnodes, struct node),
                       .nnodes = nnodes };

    find_kinds(&p, tasks, ntasks);
    p.accepts = xnewn0(p.nkinds * nnodes, uint8_t);
    p.growth = xnewn0(p.nkinds * nnodes, struct growth);
    for (size_t i = 0; i < nnodes; i++) {
        struct node *n = &p.nodes[i];
        *n = (struct node){ &nodes[i], nodes[i].cpu, nodes[i].memory, { 0 }, 1, 0 };
        for (int c = 0; c < nodes[i].cards && c < CARDS_MAX; c++)
            n->card[c] = OPENB_CARD;
        for (uint32_t k = 0; k < p.nkinds; k++)
            p.accepts[k * nnodes + i] = accepts(p.kinds[k].task, nodes[i].model);
        n->waste = waste(&p, n);
    }
    for (size_t i = 0; i < ndrawn; i++)
        bound[i] = place(&p, drawn[i]);
    free(p.kinds);
    free(p.kind_of);
    free(p.nodes);
    free(p.accepts);
    free(p.growth);
}
