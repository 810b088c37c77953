/* view.c - a row as one try may use it (sched-device 6.1), and scores (7). */
#include "base/arena.h"
#include "scheduler/plugins/deviceshare/allocate_int.h"

/* ---- candidates ------------------------------------------------------------------------------ */

static bool is_candidate(const struct device_try *t, const struct card *c)
{
    const struct kind_wish *w = &t->wish->of[c->kind];

    if (w->selector && !labelsel_matches(w->selector, &c->info->labels))
        return false;
    if (!t->numa)
        return true;
    return c->info->topology && (c->numa < 0 || t->numa >> c->numa & 1);
}

static const struct held *only_of(const struct device_try *t, const struct card *c)
{
    for (uint32_t i = 0; i < t->nonly; i++)
        if (t->only[i].kind == c->kind && t->only[i].minor == c->minor)
            return &t->only[i];
    return NULL;
}

/* A PCIe of its own: nothing where a device of the kind is in use. */
static void drop_shared_pcies(const struct inventory *inv, enum device_kind kind, struct view *v)
{
    for (uint32_t i = inv->first[kind]; i < inv->first[kind + 1]; i++) {
        uint16_t pcie = inv->card[i].pcie;
        bool shared = v->used[i];
        for (uint32_t k = inv->first[kind]; pcie != NO_CARD && k < inv->first[kind + 1]; k++)
            shared |= inv->card[k].pcie == pcie && v->used[k];
        if (shared)
            v->total[i] = v->free[i] = (struct amounts){ 0 };
    }
}

static void view_card(const struct device_try *t, uint32_t i, struct view *v)
{
    const struct card *c = &t->row->inv->card[i];
    struct amounts used = t->row->used[i], left = c->total;
    const struct held *only = t->limited ? only_of(t, c) : NULL;

    if (t->barred)
        amounts_add(&used, &t->barred[i]);
    v->used[i] = !amounts_are_zero(&used);
    if (!is_candidate(t, c) || (t->limited && !only))
        return;
    amounts_take(&left, &used);
    if (only)
        amounts_limit(&left, &only->amounts);
    v->total[i] = c->total;
    v->free[i] = left;
}

static bool is_restricted(const struct device_try *t)
{
    bool any = t->limited || t->barred || t->numa;

    for (uint32_t k = 0; k < DEVICE_KINDS; k++)
        any |= t->wish->of[k].selector != NULL || t->wish->of[k].exclusive == DEVICE_EXCLUSIVE_PCIE;
    return any;
}

void view_make(const struct device_try *t, struct view *v)
{
    const struct inventory *inv = t->row->inv;
    uint32_t n = inventory_cards(inv);

    *v = (struct view){ 0 };
    v->total = arena_newn0(t->arena, n + 1, struct amounts);
    v->free = arena_newn0(t->arena, n + 1, struct amounts);
    v->used = arena_newn0(t->arena, n + 1, uint8_t);
    for (uint32_t i = 0; i < n; i++)
        view_card(t, i, v);
    for (uint32_t k = 0; k < DEVICE_KINDS; k++) {
        if (t->wish->of[k].exclusive == DEVICE_EXCLUSIVE_PCIE)
            drop_shared_pcies(inv, (enum device_kind)k, v);
        v->present[k] = !is_restricted(t) && inv->first[k] < inv->first[k + 1];
        for (uint32_t i = inv->first[k]; i < inv->first[k + 1]; i++)
            v->present[k] |= !amounts_are_zero(&v->free[i]);
    }
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* In 64 bits where that will do: the division of more is slow. */
static int64_t percent_of(int64_t part, int64_t whole)
{
    return part <= INT64_MAX / 100 ? part * 100 / whole : i64_muldiv(part, 100, whole);
}

static int64_t score_of(bool most, int64_t requested, int64_t capacity)
{
    if (most)
        return percent_of(MIN(requested, capacity), capacity);
    return requested > capacity ? 0 : percent_of(capacity - requested, capacity);
}

int64_t device_score(const struct device_scorer *s, enum device_kind kind,
                     const struct amounts *total, const struct amounts *free,
                     const struct amounts *want)
{
    int64_t sum = 0, weights = 0;

    for (uint32_t i = 0; i < DEVICE_RESOURCES; i++) {
        int64_t weight = s->weight[kind][i], all = total->v[i];
        if (!weight || all == 0)
            continue;
        int64_t requested = all >= free->v[i] ? all - free->v[i] + want->v[i] : all;
        sum += weight * score_of(s->most, requested, all);
        weights += weight;
    }
    return weights ? sum / weights : 0;
}

/* As device_score(), with the sums of the row in the place of amounts. */
static int64_t score_sums(const struct device_scorer *s, enum device_kind kind,
                          const struct devrow *row, const int64_t *want)
{
    uint32_t at = kind == DEVICE_GPU ? 0 : GPU_SUMMED - 1 + kind;
    uint32_t n = kind == DEVICE_GPU ? GPU_SUMMED : 1;
    int64_t sum = 0, weights = 0;

    for (uint32_t i = 0; i < n; i++) {
        int64_t weight = s->weight[kind][i], all = row->total[at + i], left = row->free[at + i];
        if (!weight || all == 0)
            continue;
        sum += weight * score_of(s->most, all >= left ? all - left + want[i] : all, all);
        weights += weight;
    }
    return weights ? sum / weights : 0;
}

int64_t devices_score_plain(const struct devrow *row, const struct wish *w,
                            const struct device_scorer *s)
{
    int64_t sum = 0;

    for (uint32_t k = 0; k < DEVICE_KINDS; k++) {
        int64_t part = w->quick[k].first;
        if (w->of[k].asked && row->inv->first[k] < row->inv->first[k + 1])
            sum +=
                score_sums(s, (enum device_kind)k, row, k == DEVICE_GPU ? w->of[k].each.v : &part);
    }
    return sum;
}

int64_t devices_score(const struct device_try *t)
{
    const struct inventory *inv = t->row->inv;
    int64_t sum = 0, count;
    struct amounts each;
    struct view v;

    view_make(t, &v);
    for (uint32_t k = 0; k < DEVICE_KINDS; k++) {
        struct amounts total = { 0 }, left = { 0 };
        if (!t->wish->of[k].asked ||
            devices_wanted(t, (enum device_kind)k, &count, &each, NULL) != KS_SUCCESS)
            continue;
        for (uint32_t i = inv->first[k]; i < inv->first[k + 1]; i++) {
            amounts_add(&total, &v.total[i]);
            amounts_add(&left, &v.free[i]);
        }
        sum += device_score(t->scorer, (enum device_kind)k, &total, &left, &each);
    }
    return sum;
}
