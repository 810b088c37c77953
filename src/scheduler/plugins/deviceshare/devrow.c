/* devrow.c - what a row has of devices, and what of them is in use (sched-device 3). */
#include "scheduler/plugins/deviceshare/devrow.h"

#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/klog.h"
#include "scheduler/plugins/cards/cards.h"

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

/* What is in use, what is left, and the virtual functions: one block. */
static size_t block_size(const struct inventory *inv)
{
    return inventory_cards(inv) * (sizeof(struct amounts) + sizeof(struct card_left)) +
           inv->nvfs * sizeof(uint16_t);
}

static void sum_up(struct devrow *r);

void devrow_make(struct devrow *r, struct inventory *inv)
{
    uint32_t n = inv ? inventory_cards(inv) : 0;

    *r = (struct devrow){ .inv = inv };
    if (n == 0)
        return;
    r->used = xcalloc(1, block_size(inv));
    r->left = (struct card_left *)(r->used + n);
    r->vf_refs = (uint16_t *)(r->left + n);
    sum_up(r);
}

void devrow_fini(struct devrow *r)
{
    inventory_unref(r->inv);
    free(r->used);
    *r = (struct devrow){ 0 };
}

/* ---- sums ------------------------------------------------------------------------------------ */

static uint16_t *vf_of(const struct devrow *r, uint32_t card, const char *bus_id)
{
    const struct card *c = &r->inv->card[card];

    for (uint32_t i = 0; i < c->nvfs; i++)
        if (streq(card_vf_bus(&r->inv->vf[c->vf + i]), str_or(bus_id, "")))
            return &r->vf_refs[c->vf + i];
    return NULL;
}

struct amounts devrow_held(const struct devrow *r, uint32_t card, const struct held *item)
{
    struct amounts held = item->amounts;

    if (item->kind == DEVICE_GPU)
        amounts_complete(&held, &r->inv->card[card].total);
    return held;
}

void devrow_add(struct devrow *r, const struct held *items, uint32_t n)
{
    for (uint32_t i = 0; r->inv && i < n; i++) {
        uint32_t card = inventory_find(r->inv, (enum device_kind)items[i].kind, items[i].minor);
        if (card == NO_CARD)
            continue; /* the pod keeps it, whether the Device lists it or not */
        struct amounts held = devrow_held(r, card, &items[i]);
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
        if (card == NO_CARD)
            continue;
        for (uint32_t i = 0; i < n; i++) {
            const struct held *of = all[i]->reservation && streq(all[i]->reservation, uid)
                                        ? find_held(all[i], item)
                                        : NULL;
            struct amounts owned = of ? devrow_held(r, card, of) : (struct amounts){ 0 };
            amounts_add(&taken, &owned);
        }
        struct amounts reserved = devrow_held(r, card, item);
        for (uint32_t res = 0; res < DEVICE_RESOURCES; res++)
            r->used[card].v[res] -= MIN(taken.v[res], reserved.v[res]);
    }
}

const char *devrow_claim(const struct devrow *r, const struct holdings *h, uint32_t card)
{
    CLEANUP(card_ids_fini) struct card_ids ids = { 0 };
    const char *node = r->inv->device->meta.name;

    if (!h->cards || !cards_any(h->cards, CARDS_OF_CLAIMS, node))
        return NULL;
    device_ids(r->inv->card[card].info, &ids);
    return cards_holder(h->cards, CARDS_OF_CLAIMS, node, &ids);
}

/* A card of which a claim has anything is not given away in parts either. */
static void count_claims(const struct holdings *h, struct devrow *r)
{
    if (!h->cards || !cards_any(h->cards, CARDS_OF_CLAIMS, r->inv->device->meta.name))
        return;
    for (uint32_t i = 0; i < inventory_cards(r->inv); i++)
        if (devrow_claim(r, h, i))
            amounts_add(&r->used[i], &r->inv->card[i].total);
}

static void count_pods(struct holdings *h, const struct ks_podlist *pods, struct devrow *r)
{
    const struct holding **mine;
    uint32_t n = 0;
    bool owners = false;

    if (!r->inv || inventory_cards(r->inv) == 0)
        return;
    memset(r->used, 0, inventory_cards(r->inv) * sizeof *r->used);
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
    count_claims(h, r);
    sum_up(r);
}

void devrow_recount(struct devrow *r, struct holdings *h, const struct ks_podlist *pods)
{
    count_pods(h, pods, r);
}

struct amounts devrow_free(const struct devrow *r, uint32_t card)
{
    struct amounts x = r->inv->card[card].total;

    amounts_take(&x, &r->used[card]);
    return x;
}

/* ---- what is left ---------------------------------------------------------------------------- */

static int32_t left_of(const struct amounts *left, uint32_t resource)
{
    return amounts_has(left, resource) ? (int32_t)MIN(left->v[resource], INT32_MAX) : -1;
}

static void sum_up(struct devrow *r)
{
    memset(r->total, 0, sizeof r->total);
    memset(r->free, 0, sizeof r->free);
    for (uint32_t i = 0; r->inv && i < inventory_cards(r->inv); i++) {
        const struct card *c = &r->inv->card[i];
        struct amounts left = devrow_free(r, i);
        bool gpu = c->kind == DEVICE_GPU;
        r->left[i] = (struct card_left){
            .memory = gpu && amounts_has(&left, GPU_MEMORY) ? left.v[GPU_MEMORY] : -1,
            .first = left_of(&left, 0),
            .ratio = gpu ? left_of(&left, GPU_RATIO) : -1,
        };
        for (uint32_t k = 0; k < (gpu ? GPU_SUMMED : 1u); k++) {
            uint32_t at = gpu ? k : GPU_SUMMED - 1u + c->kind;
            r->total[at] += c->total.v[k];
            r->free[at] += left.v[k];
        }
    }
}

/* ---- columns --------------------------------------------------------------------------------- */

static void fill_columns(const struct devrow *r, int64_t *column)
{
    static const uint8_t counts[] = { ROW_GPUS, ROW_RDMAS, ROW_FPGAS };
    static const uint8_t best[] = { ROW_GPU_CORE, ROW_RDMA, ROW_FPGA };

    if (!r->inv)
        return;
    column[ROW_DEVICES] = 1;
    column[ROW_SPECIAL] = devrow_is_special(r);
    for (uint32_t i = 0; i < inventory_cards(r->inv); i++) {
        const struct card_left *left = &r->left[i];
        uint8_t kind = r->inv->card[i].kind;
        column[counts[kind]]++;
        column[best[kind]] = MAX(column[best[kind]], left->first);
        column[ROW_GPU_MEMORY] = MAX(column[ROW_GPU_MEMORY], left->memory);
        column[ROW_GPU_RATIO] = MAX(column[ROW_GPU_RATIO], left->ratio);
        column[ROW_GPUS_FREE] += kind == DEVICE_GPU && left->first >= 100 && left->ratio >= 100;
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
    if (!b->used)
        return;
    memcpy(b->used, a->used, block_size(a->inv));
    memcpy(b->total, a->total, sizeof b->total);
    memcpy(b->free, a->free, sizeof b->free);
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
