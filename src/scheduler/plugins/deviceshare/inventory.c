/* inventory.c - the devices of a node (sched-device 3, 6.3). */
#include "scheduler/plugins/deviceshare/inventory.h"

#include <stdio.h>

#include "api/node.h"
#include "api/protocol/device.h"
#include "api/protocol/keys.h"
#include "api/protocol/protocol.h"
#include "base/arena.h"
#include "base/map.h"

struct making {
    struct inventory *x;
    struct arena *arena;
    const char *bad; /* the first that is */
};

static void PRINTF(2, 3) note_bad(struct making *m, const char *fmt, ...)
{
    char text[200];
    va_list ap;

    if (m->bad)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    m->bad = arena_strdup(m->arena, text);
}

/* ---- cards ----------------------------------------------------------------------------------- */

/* Why a device cannot be used; NULL: it can. */
static const char *device_fault(const struct device_info *d)
{
    if (device_kind_of(d->type) < 0)
        return "an unknown type";
    if (!d->minor.set)
        return "no minor";
    if (d->minor.v < 0)
        return "a negative minor";
    return NULL;
}

static int by_kind(const void *pa, const void *pb)
{
    const struct device_info *a = *(const struct device_info *const *)pa;
    const struct device_info *b = *(const struct device_info *const *)pb;
    int x = device_kind_of(a->type), y = device_kind_of(b->type);

    if (x != y)
        return x < y ? -1 : 1;
    if (a->minor.v != b->minor.v)
        return a->minor.v < b->minor.v ? -1 : 1;
    return a < b ? -1 : a > b; /* as listed */
}

/* The usable ones in order, each minor once. */
static const struct device_info **list_devices(struct making *m, const struct device *d,
                                               uint32_t *ret_n)
{
    const struct device_info **list =
        arena_newn0(m->arena, d->devices.n + 1, const struct device_info *);
    uint32_t n = 0, kept = 0;

    for (uint32_t i = 0; i < d->devices.n; i++) {
        const struct device_info *info = &d->devices.items[i];
        const char *fault = n == CARDS_MAX ? "too many before it" : device_fault(info);
        if (fault)
            note_bad(m, "spec.devices[%u] has %s", i, fault);
        else
            list[n++] = info;
    }
    if (n)
        qsort(list, n, sizeof *list, by_kind);
    for (uint32_t i = 0; i < n; i++) {
        const struct device_info *before = kept ? list[kept - 1] : NULL;
        if (before && before->minor.v == list[i]->minor.v && streq(before->type, list[i]->type))
            note_bad(m, "spec.devices has %s minor %d twice", list[i]->type, list[i]->minor.v);
        else
            list[kept++] = list[i];
    }
    *ret_n = kept;
    return list;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The PCIe ids of the node in order; a card has the number of its own. */
static void number_pcies(struct making *m)
{
    struct inventory *x = m->x;
    uint32_t n = inventory_cards(x), nids = 0;
    const char **ids = arena_newn0(m->arena, n + 1, const char *);

    for (uint32_t i = 0; i < n; i++)
        if (x->card[i].info->topology)
            ids[nids++] = str_or(x->card[i].info->topology->pcie_id, "");
    if (nids)
        qsort(ids, nids, sizeof *ids, by_text);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < nids; i++)
        if (kept == 0 || !streq(ids[kept - 1], ids[i]))
            ids[kept++] = ids[i];
    for (uint32_t i = 0; i < n; i++) {
        const struct device_topology *t = x->card[i].info->topology;
        const char *id = t ? str_or(t->pcie_id, "") : NULL;
        x->card[i].pcie = NO_CARD;
        for (uint32_t k = 0; t && k < kept; k++)
            if (streq(ids[k], id))
                x->card[i].pcie = (uint16_t)k;
    }
}

static void read_place(struct making *m, struct card *c)
{
    const struct device_topology *t = c->info->topology;

    c->numa = -1;
    if (!t)
        return;
    if (t->node_id < -1 || t->node_id >= NUMA_IDS)
        note_bad(m, "spec.devices: %s minor %d has topology.nodeID %d", c->info->type, c->minor,
                 t->node_id);
    else
        c->numa = (int16_t)t->node_id;
    if (c->numa >= 0)
        m->x->numa_mask |= UINT64_C(1) << c->numa;
}

static void read_card(struct making *m, const struct device_info *info, struct card *c)
{
    enum device_kind kind = (enum device_kind)device_kind_of(info->type);
    const char *bad = NULL;

    *c = (struct card){ .info = info, .minor = info->minor.v, .kind = (uint8_t)kind };
    reslist resources;
    reslist_rename_old(&info->resources, m->arena, &resources);
    struct amounts total = amounts_of(kind, &resources, &bad);
    if (bad)
        note_bad(m, "spec.devices: %s minor %d has %s out of bounds", info->type, c->minor, bad);
    if (info->health && !(m->x->flags & INVENTORY_GONE))
        c->total = total;
    read_place(m, c);
}

static uint32_t count_vfs(const struct device_info *d)
{
    uint32_t n = 0;

    for (uint32_t g = 0; g < d->vf_groups.n; g++)
        n += d->vf_groups.items[g].vfs.n;
    return n;
}

static int by_bus(const void *pa, const void *pb)
{
    const struct card_vf *a = pa, *b = pb;

    return strcmp(card_vf_bus(a), card_vf_bus(b));
}

/* By bus id within a card: the first free one is the one to give. */
static void read_vfs(struct making *m)
{
    struct inventory *x = m->x;
    uint32_t n = 0;

    for (uint32_t i = 0; i < inventory_cards(x); i++)
        n += count_vfs(x->card[i].info);
    if (n > VFS_MAX)
        note_bad(m, "spec.devices has %u virtual functions; %d are used", n, VFS_MAX);
    x->vf = n ? xnewn0(n, struct card_vf) : NULL;
    for (uint32_t i = 0; i < inventory_cards(x); i++) {
        struct card *c = &x->card[i];
        c->vf = x->nvfs;
        for (uint32_t g = 0; g < c->info->vf_groups.n; g++) {
            const struct vf_group *group = &c->info->vf_groups.items[g];
            for (uint32_t k = 0; k < group->vfs.n && x->nvfs < VFS_MAX; k++)
                x->vf[x->nvfs++] = (struct card_vf){ &group->vfs.items[k], g };
        }
        c->nvfs = (uint16_t)(x->nvfs - c->vf);
        if (c->nvfs)
            qsort(&x->vf[c->vf], c->nvfs, sizeof *x->vf, by_bus);
    }
}

/* ---- where GPUs are -------------------------------------------------------------------------- */

static int by_place(const void *pa, const void *pb)
{
    const struct gpu_scope *a = pa, *b = pb;

    return a->numa != b->numa ? a->numa - b->numa : (int)a->pcie - (int)b->pcie;
}

static void read_scopes(struct inventory *x)
{
    uint32_t begin = x->first[DEVICE_GPU], end = x->first[DEVICE_GPU + 1], kept = 0;

    for (uint32_t i = begin; i < end; i++)
        if (!x->card[i].info->topology)
            return;
    if (begin == end)
        return;
    x->flags |= INVENTORY_TREE;
    x->scope = xnewn0(end - begin, struct gpu_scope);
    for (uint32_t i = begin; i < end; i++)
        x->scope[i - begin] = (struct gpu_scope){ x->card[i].numa, x->card[i].pcie };
    qsort(x->scope, end - begin, sizeof *x->scope, by_place);
    for (uint32_t i = 0; i < end - begin; i++)
        if (kept == 0 || by_place(&x->scope[kept - 1], &x->scope[i]) != 0)
            x->scope[kept++] = x->scope[i];
    x->nscopes = kept;
}

/* ---- partitions ------------------------------------------------------------------------------ */

/* Eight cards behind NVSwitch: singles, pairs, fours, all (H100, H800, H20). */
static const int32_t eight[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
#define GROUP(first, count)                                                \
    {                                                                      \
        .minors = &eight[first], .n = (count), .score = 1, .bandwidth = -1 \
    }
static const struct gpu_group nvswitch_groups[] = {
    GROUP(0, 1), GROUP(1, 1), GROUP(2, 1), GROUP(3, 1), GROUP(4, 1),
    GROUP(5, 1), GROUP(6, 1), GROUP(7, 1), GROUP(0, 2), GROUP(2, 2),
    GROUP(4, 2), GROUP(6, 2), GROUP(0, 4), GROUP(4, 4), GROUP(0, 8),
};
static const char *const nvswitch_models[] = { "H100", "H800", "H20" };

static bool has_nvswitch(const struct inventory *x)
{
    if (!str_empty(x->vendor) && !streq(x->vendor, GPU_VENDOR_NVIDIA))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(nvswitch_models); i++)
        if (streq(str_or(x->model, ""), nvswitch_models[i]))
            return true;
    return false;
}

static int by_size(const void *pa, const void *pb)
{
    const struct gpu_group *a = pa, *b = pb;

    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    if (a->score != b->score)
        return a->score < b->score ? -1 : 1;
    return a->minors < b->minors ? -1 : a->minors > b->minors; /* as listed */
}

/* Groups and their minors in one block, the minors in the order of the table. */
static void read_groups(struct making *m, const struct gpu_partitions *t)
{
    struct inventory *x = m->x;
    uint32_t n = 0, nminors = 0;

    for (uint32_t i = 0; i < t->v.n; i++)
        for (uint32_t k = 0; k < t->v.items[i].partitions.v.n; k++, n++)
            nminors += t->v.items[i].partitions.v.items[k].minors.n;
    if (n == 0 || n > CARDS_MAX || nminors > VFS_MAX)
        return;
    x->own_groups = xcalloc(1, n * sizeof *x->own_groups + nminors * sizeof(int32_t));
    int32_t *minors = (int32_t *)(x->own_groups + n);
    for (uint32_t i = 0; i < t->v.n; i++)
        for (uint32_t k = 0; k < t->v.items[i].partitions.v.n; k++) {
            const struct gpu_partition *p = &t->v.items[i].partitions.v.items[k];
            int64_t count;
            if (i64_parse(t->v.items[i].gpu_count, strlen(t->v.items[i].gpu_count), &count) < 0 ||
                count != p->minors.n) {
                note_bad(m, ANNO_GPU_PARTITIONS ": a partition under \"%s\" has %u minors",
                         t->v.items[i].gpu_count, p->minors.n);
                continue;
            }
            for (uint32_t j = 0; j < p->minors.n; j++)
                if (inventory_find(x, DEVICE_GPU, p->minors.items[j]) == NO_CARD)
                    note_bad(m, ANNO_GPU_PARTITIONS ": there is no GPU with minor %d",
                             p->minors.items[j]);
            x->own_groups[x->ngroups++] = (struct gpu_group){
                .minors = minors,
                .n = p->minors.n,
                .score = p->allocation_score,
                .bandwidth = p->ring_bus_bandwidth ? qty_value(*p->ring_bus_bandwidth) : -1,
            };
            if (p->minors.n)
                memcpy(minors, p->minors.items, p->minors.n * sizeof *minors);
            minors += p->minors.n;
        }
    if (x->ngroups)
        qsort(x->own_groups, x->ngroups, sizeof *x->own_groups, by_size);
    x->groups = x->own_groups;
}

static void read_partitions(struct making *m, const struct device *d, const struct node *node)
{
    struct inventory *x = m->x;
    struct gpu_partitions t;
    struct kerr err = { 0 };

    int r = gpu_partitions_read(&d->obj.meta.annotations, m->arena, &t, &err);
    if (r < 0)
        note_bad(m, "%s: %s", ANNO_GPU_PARTITIONS, err.text);
    if (r > 0) {
        read_groups(m, &t);
        if (gpu_partition_honored(&d->obj.meta.labels))
            x->flags |= INVENTORY_HONOR;
    } else if (r == 0 && has_nvswitch(x)) {
        x->groups = nvswitch_groups;
        x->ngroups = ARRAY_LEN(nvswitch_groups);
        if (node && gpu_partition_honored(&node->obj.meta.labels))
            x->flags |= INVENTORY_HONOR;
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Of the node, else of the Device. */
static char *label_of(const struct device *d, const struct node *node, const char *key)
{
    const char *v = node ? kstrmap_get(&node->obj.meta.labels, key) : NULL;

    if (!v)
        v = kstrmap_get(&d->obj.meta.labels, key);
    return v ? xstrdup(v) : NULL;
}

struct inventory *inventory_new(const struct device *d, const struct node *node, bool gone,
                                struct arena *a, const char **bad)
{
    struct inventory *x = xnew0(struct inventory);
    struct making m = { .x = x, .arena = a };
    uint32_t n;

    x->refs = 1;
    x->flags = gone ? INVENTORY_GONE : 0;
    x->device = kobj_ref((struct kobj *)&d->obj);
    x->vendor = label_of(d, node, LABEL_GPU_VENDOR);
    x->model = label_of(d, node, LABEL_GPU_MODEL);
    const struct device_info **list = list_devices(&m, d, &n);
    x->card = n ? xnewn0(n, struct card) : NULL;
    for (uint32_t i = 0; i < n; i++) {
        read_card(&m, list[i], &x->card[i]);
        x->first[x->card[i].kind + 1]++;
    }
    for (uint32_t k = 0; k < DEVICE_KINDS; k++)
        x->first[k + 1] += x->first[k];
    number_pcies(&m);
    read_vfs(&m);
    read_scopes(x);
    read_partitions(&m, d, node);
    struct opt_bool planned = secondary_well_planned(&d->obj.meta.labels);
    if (planned.set)
        x->flags |= planned.v ? INVENTORY_WELL_PLANNED : INVENTORY_NOT_PLANNED;
    x->bad = m.bad ? hash_bytes(m.bad, strlen(m.bad)) | 1 : 0;
    *bad = m.bad;
    return x;
}

struct inventory *inventory_ref(struct inventory *x)
{
    x->refs++;
    return x;
}

struct inventory *inventory_unref(struct inventory *x)
{
    if (!x || --x->refs > 0)
        return NULL;
    kobj_unref(x->device);
    free(x->vendor);
    free(x->model);
    free(x->card);
    free(x->vf);
    free(x->scope);
    free(x->own_groups);
    free(x);
    return NULL;
}

uint32_t inventory_find(const struct inventory *x, enum device_kind kind, int64_t minor)
{
    uint32_t low = x->first[kind], high = x->first[kind + 1];

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (x->card[mid].minor < minor)
            low = mid + 1;
        else
            high = mid;
    }
    return low < x->first[kind + 1] && x->card[low].minor == minor ? low : NO_CARD;
}
