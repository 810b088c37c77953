/* judge.c - does a pod fit a row, and on which of its NUMA nodes (sched-device 5, 7). */
#include "api/node.h"
#include "api/protocol/keys.h"
#include "base/arena.h"
#include "scheduler/plugins/deviceshare/deviceshare.h"

/* ---- the verdict ----------------------------------------------------------------------------- */

static const char *label_of(const struct row_try *t, const char *key)
{
    return str_or(kstrmap_get(&t->c->nodes->node[t->row]->obj.meta.labels, key), "");
}

static bool is_unsupported(const struct row_try *t, struct ks_texts *texts)
{
    const char *vendor = label_of(t, LABEL_GPU_VENDOR), *model = label_of(t, LABEL_GPU_MODEL);

    for (uint32_t i = 0; i < t->d->args->unsupported.n; i++) {
        const struct gpu_model *m = &t->d->args->unsupported.items[i];
        if (!streq(str_or(m->vendor, ""), vendor) || !streq(str_or(m->model, ""), model))
            continue;
        if (texts)
            ks_texts_addf(texts, "model \"%s\" of vendor \"%s\" does not support GPU Share", model,
                          vendor);
        return true;
    }
    return false;
}

/* Rules beyond amounts: what fails on the whole node may be possible on a part of it. */
static bool is_picky(const struct wish *w)
{
    return w->njoint > 1 || w->partition || w->of[DEVICE_GPU].scope;
}

enum ks_code devices_judge(const struct row_try *t, struct ks_texts *texts)
{
    const struct wish *w = t->c->state;
    uint64_t mask;

    if (w->isolation && !streq(w->isolation, label_of(t, LABEL_GPU_ISOLATION_PROVIDER))) {
        if (texts)
            ks_texts_add(texts, "GPUIsolationProviderHAMICore not found on the node");
        return KS_UNSCHEDULABLE;
    }
    if (w->shared && is_unsupported(t, texts))
        return KS_UNRESOLVABLE;
    uint32_t ntexts = texts ? texts->n : 0;
    enum ks_code code = devices_try(t, NULL, texts);
    if (code == KS_SUCCESS || t->numa || !is_picky(w) || t->d->args->no_alignment)
        return code;
    /* Where the NUMA nodes are decided first, only these count. */
    if (numa_affinity(t->c, t->p, t->row, &mask, NULL) != KS_SUCCESS || !mask)
        return code;
    struct row_try aligned = *t;
    aligned.numa = mask;
    if (devices_try(&aligned, NULL, NULL) != KS_SUCCESS)
        return code;
    if (texts)
        texts->n = ntexts;
    return KS_SUCCESS;
}

/* ---- hints ----------------------------------------------------------------------------------- */

enum { NUMA_TRIED = 8 }; /* with more NUMA nodes than that only each alone, and all of them */

struct asking {
    struct row_try t;
    const struct inventory *inv;
    struct arena *arena; /* of the hints */
    uint8_t ids[NUMA_IDS];
    uint32_t nids;
    struct numa_hint *hints;
    uint32_t nhints, smallest;
    uint32_t *full_gpus, nfull; /* the GPUs when all NUMA nodes may be used */
};

/* Fewer devices there than are wanted? */
static bool has_too_few(struct asking *q, uint64_t mask)
{
    const struct wish *w = q->t.c->state;
    const struct device_try x = { .row = ks_row(q->t.c->rows, q->t.row), .wish = w };

    for (uint32_t k = 0; k < DEVICE_KINDS; k++) {
        int64_t count, there = 0;
        struct amounts each;
        if (!w->of[k].asked ||
            devices_wanted(&x, (enum device_kind)k, &count, &each, NULL) != KS_SUCCESS)
            continue;
        for (uint32_t i = q->inv->first[k]; i < q->inv->first[k + 1]; i++)
            there += q->inv->card[i].numa >= 0 && mask >> q->inv->card[i].numa & 1;
        if (there < count)
            return true;
    }
    return false;
}

static bool same_gpus(const struct asking *q, const struct device_result *r)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < r->n; i++) {
        if (r->items[i].kind != DEVICE_GPU)
            continue;
        if (n == q->nfull || q->full_gpus[n++] != (uint32_t)r->items[i].minor)
            return false;
    }
    return n == q->nfull;
}

static void keep_gpus(struct asking *q, const struct device_result *r)
{
    q->full_gpus = arena_newn0(q->arena, r->n + 1, uint32_t);
    for (uint32_t i = 0; i < r->n; i++)
        if (r->items[i].kind == DEVICE_GPU)
            q->full_gpus[q->nfull++] = (uint32_t)r->items[i].minor;
}

static void try_mask(struct asking *q, uint64_t mask)
{
    struct device_result r = { 0 };
    uint32_t size = (uint32_t)__builtin_popcountll(mask);

    q->t.numa = mask;
    if (has_too_few(q, mask) || devices_try(&q->t, &r, NULL) != KS_SUCCESS)
        return;
    q->smallest = q->nhints ? MIN(q->smallest, size) : size;
    q->hints[q->nhints++] = (struct numa_hint){ .mask = mask, .score = same_gpus(q, &r) ? 500 : 0 };
}

/* Every set of so many NUMA nodes, in lexicographic order. */
static void try_size(struct asking *q, uint32_t size, uint32_t from, uint64_t mask)
{
    if (size == 0) {
        try_mask(q, mask);
        return;
    }
    for (uint32_t i = from; i + size <= q->nids; i++)
        try_size(q, size - 1, i + 1, mask | UINT64_C(1) << q->ids[i]);
}

static void give_hints(const struct asking *q, struct numa_lists *out)
{
    const struct wish *w = q->t.c->state;

    for (uint32_t i = 0; i < q->nhints; i++)
        q->hints[i].preferred = (uint32_t)__builtin_popcountll(q->hints[i].mask) == q->smallest;
    for (uint32_t k = 0; k < DEVICE_KINDS; k++)
        if (w->of[k].asked)
            numa_lists_add(out,
                           &(struct numa_hints){ .resource = device_kind_name((enum device_kind)k),
                                                 .hints = q->hints,
                                                 .n = q->nhints });
}

/* Where the devices are that a hint names, and nowhere else. */
static enum ks_code designated_hints(struct asking *q, struct numa_lists *out, struct ks_texts *why)
{
    const struct wish *w = q->t.c->state;
    uint64_t mask = 0;

    for (uint32_t i = 0; i < w->ndesignated; i++) {
        uint32_t card =
            inventory_find(q->inv, (enum device_kind)w->designated[i].kind, w->designated[i].minor);
        if (card == NO_CARD || q->inv->card[card].numa < 0) {
            if (why)
                ks_texts_add(why, "Designated Allocation Lack NUMA Node ID");
            return KS_UNSCHEDULABLE;
        }
        mask |= UINT64_C(1) << q->inv->card[card].numa;
    }
    q->hints[q->nhints++] = (struct numa_hint){ .mask = mask, .score = 500 };
    q->smallest = (uint32_t)__builtin_popcountll(mask);
    give_hints(q, out);
    return KS_SUCCESS;
}

static enum ks_code ask_all(struct asking *q, struct numa_lists *out, struct ks_texts *why)
{
    struct device_result full = { 0 };

    q->t.numa = q->inv->numa_mask;
    if (has_too_few(q, q->inv->numa_mask)) {
        if (why)
            ks_texts_add(why, "Insufficient NUMA Scoped Devices");
        return KS_UNSCHEDULABLE;
    }
    enum ks_code code = devices_try(&q->t, &full, why);
    if (code != KS_SUCCESS)
        return code;
    keep_gpus(q, &full);
    for (uint32_t size = 1; size <= q->nids; size++)
        if (q->nids <= NUMA_TRIED || size == 1 || size == q->nids)
            try_size(q, size, 0, 0);
    give_hints(q, out);
    return KS_SUCCESS;
}

static enum ks_code provide_hints(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                  uint32_t row, struct numa_lists *out, struct ks_texts *why)
{
    struct device_plugin *d = self;
    const struct devrow *r = ks_row(c->rows, row);
    struct asking q = { .t = { .d = d, .c = c, .p = p, .row = row },
                        .inv = r->inv,
                        .arena = out->arena };

    if (!c->state || d->args->no_alignment || !r->inv || !r->inv->numa_mask)
        return KS_SUCCESS;
    for (uint32_t id = 0; id < NUMA_IDS; id++)
        if (r->inv->numa_mask >> id & 1)
            q.ids[q.nids++] = (uint8_t)id;
    q.hints = arena_newn0(out->arena, 1u + (q.nids <= NUMA_TRIED ? 1u << q.nids : q.nids + 1u),
                          struct numa_hint);
    const struct wish *w = c->state;
    return w->ndesignated ? designated_hints(&q, out, why) : ask_all(&q, out, why);
}

static enum ks_code provide_allocation(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                       uint32_t row, uint64_t mask, struct ks_texts *why)
{
    struct device_plugin *d = self;
    const struct devrow *r = ks_row(c->rows, row);

    if (!c->state || d->args->no_alignment || !r->inv)
        return KS_SUCCESS;
    return devices_try(&(struct row_try){ .d = d, .c = c, .p = p, .row = row, .numa = mask }, NULL,
                       why);
}

const struct ks_numa device_numa = { .hints = provide_hints, .allocate = provide_allocation };
