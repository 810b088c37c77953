/* devrow.c - what a row has of devices, and what of them is in use (sched-device 3). */
#include "scheduler/plugins/deviceshare/devrow.h"

#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/klog.h"

/* ---- the inventory --------------------------------------------------------------------------- */

static struct inventory *read_inventory(struct holdings *h, const struct node *node,
                                        const struct inventory *was)
{
    const char *name = node->obj.meta.name, *bad = NULL;
    bool gone;
    const struct device *d = holdings_device(h, name, &gone);

    if (!d)
        return NULL;
    arena_reset(h->scratch);
    struct inventory *is = inventory_new(d, node, gone, h->scratch, &bad);
    if (bad && !(was && was->bad == is->bad)) /* said once, not with each update */
        KLOG_W("Part of a Device is ignored", KV_S("device", name), KV_S("err", bad));
    return is;
}

void devrow_make(struct devrow *r, struct inventory *inv)
{
    uint32_t n = inv ? inventory_cards(inv) : 0;

    *r = (struct devrow){ .inv = inv };
    r->used = n ? xnewn0(n, struct amounts) : NULL;
    r->vf_refs = n && inv->nvfs ? xnewn0(inv->nvfs, uint16_t) : NULL;
}

void devrow_fini(struct devrow *r)
{
    inventory_unref(r->inv);
    free(r->used);
    free(r->vf_refs);
    *r = (struct devrow){ 0 };
}

/* ---- sums ------------------------------------------------------------------------------------ */

static uint16_t *vf_of(const struct devrow *r, uint32_t card, const char *bus_id)
{
    const struct card *c = &r->inv->card[card];

    for (uint32_t i = 0; i < c->nvfs; i++)
        if (streq(r->inv->vf[c->vf + i].bus_id, str_or(bus_id, "")))
            return &r->vf_refs[c->vf + i];
    return NULL;
}

void devrow_add(struct devrow *r, const struct held *items, uint32_t n)
{
    for (uint32_t i = 0; r->inv && i < n; i++) {
        uint32_t card = inventory_find(r->inv, (enum device_kind)items[i].kind, items[i].minor);
        if (card == NO_CARD)
            continue; /* the pod keeps it, whether the Device lists it or not */
        struct amounts held = items[i].amounts;
        if (items[i].kind == DEVICE_GPU)
            amounts_complete(&held, &r->inv->card[card].total);
        amounts_add(&r->used[card], &held);
        for (uint32_t k = 0; k < items[i].nvfs; k++) {
            uint16_t *refs = vf_of(r, card, items[i].vfs[k].bus_id);
            if (refs)
                ++*refs;
        }
    }
}

static const struct held *find_held(const struct holding *x, const struct held *like)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (x->items[i].kind == like->kind && x->items[i].minor == like->minor)
            return &x->items[i];
    return NULL;
}

/* What owners have taken of a reservation is held by both, and counts once: at most as much as the
 * reservation has. */
static void count_once(struct devrow *r, const struct holding *reserve,
                       const struct holding *const *all, uint32_t n)
{
    char uid[KUID_TEXT_MAX];

    kuid_format(reserve->uid, uid, sizeof uid);
    for (uint32_t k = 0; k < reserve->n; k++) {
        const struct held *item = &reserve->items[k];
        uint32_t card = inventory_find(r->inv, (enum device_kind)item->kind, item->minor);
        struct amounts taken = { 0 };
        for (uint32_t i = 0; card != NO_CARD && i < n; i++) {
            const struct held *of = all[i]->reservation && streq(all[i]->reservation, uid)
                                        ? find_held(all[i], item)
                                        : NULL;
            if (of)
                amounts_add(&taken, &of->amounts);
        }
        for (uint32_t res = 0; card != NO_CARD && res < DEVICE_RESOURCES; res++)
            r->used[card].v[res] -= MIN(taken.v[res], item->amounts.v[res]);
    }
}

static void count_pods(struct holdings *h, const struct ks_podlist *pods, struct devrow *r)
{
    const struct holding **mine;
    uint32_t n = 0;
    bool owners = false;

    if (!r->inv || inventory_cards(r->inv) == 0)
        return;
    memset(r->used, 0, inventory_cards(r->inv) * sizeof *r->used);
    if (r->inv->nvfs)
        memset(r->vf_refs, 0, r->inv->nvfs * sizeof *r->vf_refs);
    arena_reset(h->scratch);
    mine = arena_newn0(h->scratch, pods->n + 1, const struct holding *);
    for (uint32_t i = 0; i < pods->n; i++) {
        if (!(mine[n] = holdings_find(h, pods->items[i]->obj.meta.uid)))
            continue;
        devrow_add(r, mine[n]->items, mine[n]->n);
        owners |= mine[n++]->reservation != NULL;
    }
    for (uint32_t i = 0; owners && i < n; i++)
        count_once(r, mine[i], mine, n);
}

struct amounts devrow_free(const struct devrow *r, uint32_t card)
{
    struct amounts x = r->inv->card[card].total;

    amounts_take(&x, &r->used[card]);
    return x;
}

/* ---- columns --------------------------------------------------------------------------------- */

static void sum_gpus(const struct devrow *r, int64_t *column)
{
    const struct amounts whole = { .v = { [GPU_CORE] = 100, [GPU_RATIO] = 100 },
                                   .has = 1u << GPU_CORE | 1u << GPU_RATIO };

    for (uint32_t i = r->inv->first[DEVICE_GPU]; i < r->inv->first[DEVICE_GPU + 1]; i++) {
        struct amounts left = devrow_free(r, i);
        column[ROW_GPUS]++;
        column[ROW_GPUS_FREE] += amounts_fit(&whole, &left);
        column[ROW_GPU_CORE] = MAX(column[ROW_GPU_CORE], left.v[GPU_CORE]);
        column[ROW_GPU_MEMORY] = MAX(column[ROW_GPU_MEMORY], left.v[GPU_MEMORY]);
        column[ROW_GPU_RATIO] = MAX(column[ROW_GPU_RATIO], left.v[GPU_RATIO]);
    }
}

static void fill_columns(const struct devrow *r, int64_t *column)
{
    if (!r->inv)
        return;
    column[ROW_DEVICES] = 1;
    column[ROW_SPECIAL] = (r->inv->flags & (INVENTORY_HONOR | INVENTORY_WELL_PLANNED)) != 0;
    sum_gpus(r, column);
    for (uint32_t i = r->inv->first[DEVICE_RDMA]; i < inventory_cards(r->inv); i++) {
        bool rdma = r->inv->card[i].kind == DEVICE_RDMA;
        int64_t left = devrow_free(r, i).v[0];
        column[rdma ? ROW_RDMAS : ROW_FPGAS]++;
        int64_t *best = &column[rdma ? ROW_RDMA : ROW_FPGA];
        *best = MAX(*best, left);
    }
}

/* ---- row data -------------------------------------------------------------------------------- */

void devrow_init(struct devrow *r, struct holdings *h, const struct node *node,
                 const struct ks_podlist *pods)
{
    devrow_make(r, read_inventory(h, node, NULL));
    count_pods(h, pods, r);
}

static void row_fill(void *self, struct ks_fill *f)
{
    struct holdings *h = *(struct holdings **)self; /* the plugin's first member */
    struct devrow *r = f->data;

    if (!f->pods_only) {
        struct inventory *is = read_inventory(h, f->nodes->node[f->row], r->inv);
        devrow_fini(r);
        devrow_make(r, is);
    }
    count_pods(h, &f->nodes->pods[f->row], r);
    fill_columns(r, f->column);
}

/* A pod without devices changes nothing; another one has the whole row counted anew. */
static void row_pod(void *self, struct ks_fill *f, const struct pod *p)
{
    struct holdings *h = *(struct holdings **)self;

    if (!holdings_find(h, p->obj.meta.uid))
        return;
    count_pods(h, &f->nodes->pods[f->row], f->data);
    memset(f->column, 0, ROW_COLUMNS * sizeof *f->column);
    fill_columns(f->data, f->column);
}

static void row_drop(void *self, void *data)
{
    (void)self;
    devrow_fini(data);
}

static void row_copy(void *self, void *to, const void *from)
{
    const struct devrow *a = from;
    struct devrow *b = to;

    (void)self;
    devrow_make(b, a->inv ? inventory_ref(a->inv) : NULL);
    if (b->used)
        memcpy(b->used, a->used, inventory_cards(a->inv) * sizeof *b->used);
    if (b->vf_refs)
        memcpy(b->vf_refs, a->vf_refs, a->inv->nvfs * sizeof *b->vf_refs);
}

const struct ks_row_data devrow_data = {
    .size = sizeof(struct devrow),
    .columns = ROW_COLUMNS,
    .pods = true,
    .fill = row_fill,
    .add_pod = row_pod,
    .remove_pod = row_pod,
    .drop = row_drop,
    .copy = row_copy,
};
