/* allocate.c - which devices of a row a pod gets (sched-device 6.1, 6.5). */
#include "scheduler/plugins/deviceshare/allocate_int.h"

#include "base/arena.h"

enum ks_code allocating_refuse(struct allocating *x, enum ks_code code, const char *text)
{
    if (x->why)
        ks_texts_add(x->why, text);
    return code;
}

static enum ks_code insufficient(struct ks_texts *why, enum ks_code code, enum device_kind kind,
                                 const char *what)
{
    if (why)
        ks_texts_addf(why, "Insufficient %s %s", device_kind_name(kind), what);
    return code;
}

/* ---- how many, and how much of each ---------------------------------------------------------- */

static int64_t count_selected(const struct inventory *inv, enum device_kind kind,
                              const struct labelsel *selector)
{
    int64_t n = 0;

    for (uint32_t i = inv->first[kind]; i < inv->first[kind + 1]; i++)
        n += !selector || labelsel_matches(selector, &inv->card[i].info->labels);
    return n;
}

enum ks_code devices_wanted(const struct device_try *t, enum device_kind kind, int64_t *ret_count,
                            struct amounts *ret_each, struct ks_texts *why)
{
    const struct kind_wish *w = &t->wish->of[kind];
    const struct inventory *inv = t->row->inv;
    int64_t value = w->each.v[0];

    *ret_each = w->each;
    *ret_count = kind == DEVICE_GPU ? w->count : 1;
    if (inv->first[kind] == inv->first[kind + 1])
        return insufficient(why, KS_UNRESOLVABLE, kind, "devices");
    if (kind == DEVICE_GPU)
        return KS_SUCCESS;
    if (value > 100 && value % 100 == 0) {
        *ret_count = value / 100;
        ret_each->v[0] = 100;
    } else if (w->strategy == DEVICE_APPLY_FOR_ALL) {
        *ret_count = count_selected(inv, kind, w->selector);
    } else if (w->strategy == DEVICE_REQUESTS_AS_COUNT) {
        *ret_count = value;
        ret_each->v[0] = w->exclusive == DEVICE_EXCLUSIVE_DEVICE ? 100 : 1;
    }
    return *ret_count > 0 ? KS_SUCCESS : insufficient(why, KS_UNRESOLVABLE, kind, "devices");
}

static bool has_vfs(const struct inventory *inv, enum device_kind kind)
{
    for (uint32_t i = inv->first[kind]; i < inv->first[kind + 1]; i++)
        if (inv->card[i].nvfs)
            return true;
    return false;
}

static enum device_kind primary_of(const struct wish *w)
{
    return w->njoint ? (enum device_kind)w->joint[0] : DEVICE_GPU;
}

/* Beside whole GPUs there are always enough, where somebody planned for it. */
static bool is_planned(const struct allocating *x, enum device_kind kind)
{
    const struct wish *w = x->t->wish;

    return kind != primary_of(w) && !x->t->reserving && x->inv->flags & INVENTORY_WELL_PLANNED &&
           w->of[DEVICE_GPU].asked && !w->shared;
}

static enum ks_code prepare(struct allocating *x)
{
    const struct device_try *t = x->t;

    for (uint32_t k = 0; k < DEVICE_KINDS; k++) {
        enum device_kind kind = (enum device_kind)k;
        if (!t->wish->of[k].asked || is_planned(x, kind))
            continue;
        enum ks_code code = devices_wanted(t, kind, &x->count[k], &x->each[k], x->why);
        if (code != KS_SUCCESS)
            return code;
        if (t->wish->of[k].vf_selector && !has_vfs(x->inv, kind))
            return insufficient(x->why, KS_UNRESOLVABLE, kind, "VirtualFunctions");
        x->in_play[k] = true;
        uint32_t room = x->inv->first[k + 1] - x->inv->first[k];
        x->picks[k].card = arena_newn0(t->arena, room + 1, uint32_t);
        x->picks[k].vf = arena_newn0(t->arena, room + 1, const struct card_vf *);
    }
    return KS_SUCCESS;
}

/* ---- virtual functions ----------------------------------------------------------------------- */

static bool is_allowed(const struct device_try *t, const struct card *c, const struct card_vf *vf)
{
    for (uint32_t i = 0; t->limited && i < t->nonly; i++) {
        const struct held *only = &t->only[i];
        if (only->kind != c->kind || only->minor != c->minor || only->nvfs == 0)
            continue;
        for (uint32_t k = 0; k < only->nvfs; k++)
            if (streq(str_or(only->vfs[k].bus_id, ""), card_vf_bus(vf)))
                return true;
        return false;
    }
    return true;
}

/* NULL: none is free. */
static const struct card_vf *free_vf(const struct allocating *x, const struct labelsel *selector,
                                     uint32_t card)
{
    const struct card *c = &x->inv->card[card];

    for (uint32_t i = c->vf; i < c->vf + c->nvfs; i++) {
        const struct card_vf *vf = &x->inv->vf[i];
        if (x->t->row->vf_refs[i] == 0 && !(x->t->vf_barred && x->t->vf_barred[i]) &&
            labelsel_matches(selector, &c->info->vf_groups.items[vf->group].labels) &&
            is_allowed(x->t, c, vf))
            return vf;
    }
    return NULL;
}

/* ---- one after the other --------------------------------------------------------------------- */

struct candidate {
    uint32_t card, round;
    int64_t score;
    uint8_t rank; /* smaller ones first */
};

static int by_score(const void *pa, const void *pb)
{
    const struct candidate *a = pa, *b = pb;

    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->card < b->card ? -1 : a->card > b->card;
}

static int by_rank(const void *pa, const void *pb)
{
    const struct candidate *a = pa, *b = pb;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->round != b->round)
        return a->round < b->round ? -1 : 1;
    return by_score(pa, pb);
}

/* Devices of the preferred PCIes in turns, one of each; then the others. */
static void rank_candidates(const struct allocating *x, const uint8_t *pcies,
                            struct candidate *list, uint32_t n)
{
    qsort(list, n, sizeof *list, by_score);
    for (uint32_t i = 0; i < n; i++) {
        const struct card *c = &x->inv->card[list[i].card];
        const uint8_t *preferred = x->t->preferred;
        if (allocating_must(x, list[i].card))
            continue; /* rank 0 */
        list[i].rank = 2;
        if (preferred && preferred[list[i].card])
            list[i].rank = 1;
        if (preferred || !pcies || c->pcie == NO_CARD || !pcies[c->pcie])
            continue;
        list[i].rank = 1;
        for (uint32_t k = 0; k < i; k++)
            list[i].round += x->inv->card[list[k].card].pcie == c->pcie;
    }
    qsort(list, n, sizeof *list, by_rank);
}

static enum ks_code pick_listed(struct allocating *x, enum device_kind kind, int64_t desired,
                                int64_t most, const struct candidate *list, uint32_t n)
{
    const struct labelsel *vfs = x->t->wish->of[kind].vf_selector;
    struct picks *p = &x->picks[kind];
    bool lacks_must = false;

    p->n = 0;
    for (uint32_t i = 0; i < n && p->n < most; i++) {
        uint32_t card = list[i].card;
        const struct card_vf *vf = NULL;
        bool fits = allocating_fits(x, kind, card);
        if (fits && vfs) {
            vf = free_vf(x, vfs, card);
            fits = vf != NULL;
        }
        lacks_must |= !fits && allocating_must(x, card);
        if (!fits)
            continue;
        p->vf[p->n] = vf;
        p->card[p->n++] = card;
    }
    if (p->n < desired || lacks_must) {
        p->n = 0;
        return insufficient(x->why, KS_UNSCHEDULABLE, kind, "devices");
    }
    return KS_SUCCESS;
}

/* pcies: [pcie], not 0: preferred; NULL: none. */
static enum ks_code pick_in_order(struct allocating *x, enum device_kind kind, int64_t desired,
                                  const uint8_t *pcies, int64_t npcies)
{
    uint32_t begin = x->inv->first[kind], end = x->inv->first[kind + 1], n = 0;
    struct candidate *list = arena_newn0(x->t->arena, end - begin + 1, struct candidate);

    for (uint32_t i = begin; x->view.present[kind] && i < end; i++)
        if (x->view.total[i].has)
            list[n++] = (struct candidate){
                .card = i,
                .score = device_score(x->t->scorer, kind, &x->view.total[i], &x->view.free[i],
                                      &x->each[kind]),
            };
    if (n)
        rank_candidates(x, pcies, list, n);
    return pick_listed(x, kind, desired, MAX(desired, npcies), list, n);
}

/* ---- one kind -------------------------------------------------------------------------------- */

/* Texts of a way that is given up are not for anybody. */
static void forget_texts(struct allocating *x, uint32_t n)
{
    if (x->why)
        x->why->n = n;
}

static enum ks_code pick_gpus(struct allocating *x, int64_t desired, const uint8_t *pcies,
                              int64_t npcies)
{
    bool honor = x->t->wish->partition || x->inv->flags & INVENTORY_HONOR;
    uint32_t ntexts = x->why ? x->why->n : 0;
    enum ks_code code = KS_SKIP;

    if (x->t->wish->templated && (code = gpu_find_template(x)) > KS_SUCCESS && code != KS_SKIP)
        return code;
    if (!x->gpu_template) {
        code = gpu_pick_partition(x);
        if (code == KS_SUCCESS || (honor && code != KS_SKIP))
            return code;
        forget_texts(x, ntexts);
    }
    code = gpu_pick_near(x);
    return code == KS_SKIP ? pick_in_order(x, DEVICE_GPU, desired, pcies, npcies) : code;
}

static enum ks_code pick(struct allocating *x, enum device_kind kind, int64_t desired,
                         const uint8_t *pcies, int64_t npcies)
{
    return kind == DEVICE_GPU ? pick_gpus(x, desired, pcies, npcies)
                              : pick_in_order(x, kind, desired, pcies, npcies);
}

/* ---- several kinds together ------------------------------------------------------------------ */

/* The PCIes of what was picked; returns how many. */
static int64_t pcies_of(const struct allocating *x, enum device_kind kind, uint8_t *pcies)
{
    const struct picks *p = &x->picks[kind];
    int64_t n = 0;

    for (uint32_t i = 0; i < p->n; i++) {
        uint16_t pcie = x->inv->card[p->card[i]].pcie;
        if (pcie == NO_CARD || pcies[pcie])
            continue;
        pcies[pcie] = 1;
        n++;
    }
    return n;
}

static enum ks_code pick_jointly(struct allocating *x)
{
    const struct wish *w = x->t->wish;
    enum device_kind primary = (enum device_kind)w->joint[0];
    uint32_t ncards = inventory_cards(x->inv);
    uint8_t *pcies = arena_newn0(x->t->arena, ncards + 1, uint8_t);

    enum ks_code code = pick(x, primary, x->count[primary], NULL, 0);
    if (code != KS_SUCCESS)
        return code;
    x->in_play[primary] = false;
    int64_t npcies = pcies_of(x, primary, pcies);
    for (uint32_t i = 1; i < w->njoint; i++) {
        enum device_kind kind = (enum device_kind)w->joint[i];
        if (!x->in_play[kind])
            continue;
        int64_t desired = w->same_pcie ? MAX(x->count[kind], npcies) : x->count[kind];
        code = pick(x, kind, desired, pcies, npcies);
        if (code != KS_SUCCESS)
            return code;
        x->in_play[kind] = false;
        uint8_t *others = arena_newn0(x->t->arena, ncards + 1, uint8_t);
        (void)pcies_of(x, kind, others);
        if (w->same_pcie && memcmp(pcies, others, ncards + 1) != 0)
            return allocating_refuse(x, KS_UNSCHEDULABLE,
                                     "node(s) Device Joint-Allocate rules violation");
    }
    return KS_SUCCESS;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int by_minor(const void *pa, const void *pb)
{
    const struct held *a = pa, *b = pb;

    return a->kind != b->kind ? a->kind - b->kind : (a->minor > b->minor) - (a->minor < b->minor);
}

/* By kind and minor, in whatever order they were found. */
static void give(const struct allocating *x, struct device_result *ret)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < DEVICE_KINDS; k++)
        n += x->picks[k].n;
    *ret = (struct device_result){ arena_newn0(x->t->arena, n + 1, struct held), 0 };
    for (uint32_t k = 0; k < DEVICE_KINDS; k++)
        for (uint32_t i = 0; i < x->picks[k].n; i++) {
            const struct card *c = &x->inv->card[x->picks[k].card[i]];
            const struct card_vf *vf = x->picks[k].vf[i];
            struct held *to = &ret->items[ret->n++];
            *to = (struct held){ .amounts = x->each[k], .minor = c->minor, .kind = (uint8_t)k };
            if (k == DEVICE_GPU) {
                amounts_complete(&to->amounts, &c->total);
                to->gpu_template = x->gpu_template;
            }
            if (!vf)
                continue;
            struct device_vf *mine = arena_new0(x->t->arena, struct device_vf);
            *mine = (struct device_vf){ vf->info->minor, card_vf_bus(vf) };
            to->vfs = mine;
            to->nvfs = 1;
        }
    if (ret->n)
        qsort(ret->items, ret->n, sizeof *ret->items, by_minor);
}

enum ks_code devices_allocate(const struct device_try *t, struct device_result *ret,
                              struct ks_texts *why)
{
    struct allocating x = { .t = t, .inv = t->row->inv, .why = why };
    uint32_t kinds = 0;

    enum ks_code code = prepare(&x);
    if (code != KS_SUCCESS)
        return code;
    view_make(t, &x.view);
    for (uint32_t k = 0; k < DEVICE_KINDS; k++)
        kinds += x.in_play[k];
    if (kinds > 1 && t->wish->njoint && x.in_play[t->wish->joint[0]])
        code = pick_jointly(&x);
    for (uint32_t k = 0; k < DEVICE_KINDS && code == KS_SUCCESS; k++)
        if (x.in_play[k])
            code = pick(&x, (enum device_kind)k, x.count[k], NULL, 0);
    if (code == KS_SUCCESS && ret)
        give(&x, ret);
    return code;
}
