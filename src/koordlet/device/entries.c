/* entries.c - devices, labels and conditions of Device; NVIDIA's GPUs and RDMA cards. */
#include "koordlet/device/entries.h"

#include <ctype.h>

#include "api/protocol/device.h"

enum { LABELS_MAX = 8, LABEL_VALUE_MAX = 63, REASON_MAX = 64, DEVICE_FULL = 100 };

/* ---- parts ----------------------------------------------------------------------------------- */

void entries_reserve(struct entries *e, uint32_t n)
{
    device_infolist *l = &e->in->devices;

    if (l->n + n <= e->cap)
        return;
    struct device_info *items = arena_newn0(e->a, l->n + n, struct device_info);
    if (l->n)
        memcpy(items, l->items, l->n * sizeof *items);
    l->items = items;
    e->cap = l->n + n;
}

struct device_info *entries_add(struct entries *e, const char *type, const char *id, int32_t minor)
{
    entries_reserve(e, 1);
    struct device_info *d = &e->in->devices.items[e->in->devices.n++];
    *d = (struct device_info){ .type = type, .id = id, .minor = { true, minor }, .health = true };
    return d;
}

static void add_pair(struct entries *e, kstrmap *m, const char *key, const char *value)
{
    if (!m->items)
        m->items = arena_newn0(e->a, LABELS_MAX, struct kstrpair);
    assert(m->n < LABELS_MAX);
    uint32_t at = m->n++;
    for (; at > 0 && strcmp(m->items[at - 1].key, key) > 0; at--)
        m->items[at] = m->items[at - 1];
    m->items[at] = (struct kstrpair){ key, value };
}

static bool may_be_in_label(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

void entries_label(struct entries *e, const char *key, const char *value)
{
    char *text = arena_strndup(e->a, value, strnlen(value, LABEL_VALUE_MAX));
    size_t n = strlen(text);

    for (size_t i = 0; i < n; i++)
        if (!may_be_in_label(text[i]))
            text[i] = '-';
    while (n > 0 && !isalnum((unsigned char)text[n - 1]))
        text[--n] = '\0';
    while (n > 0 && !isalnum((unsigned char)text[0]))
        text++, n--;
    if (n > 0)
        add_pair(e, &e->in->labels, key, text);
}

void entries_annotation(struct entries *e, const char *key, const char *value)
{
    add_pair(e, &e->in->annotations, key, value);
}

/* The reason of a condition is one word that begins with a letter. */
static const char *reason_text(struct arena *a, const char *code)
{
    if (!code[0])
        return "Unknown";
    bool letter = isalpha((unsigned char)code[0]);
    char *text = arena_printf(a, "%s%.*s", letter ? "" : "E", (int)REASON_MAX, code);
    for (char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_,:", *c))
            *c = '_';
    char *last = text + strlen(text) - 1;
    if (!isalnum((unsigned char)*last))
        *last = '_';
    return text;
}

void entries_condition(struct entries *e, struct device_info *d, const char *code,
                       const char *message)
{
    struct meta_condition *c = arena_new0(e->a, struct meta_condition);

    *c = d->health
             ? (struct meta_condition){ .status = COND_TRUE,
                                        .reason = "DeviceHealthy",
                                        .message = "device is healthy" }
             : (struct meta_condition){ .status = COND_FALSE,
                                        .reason = reason_text(e->a, code),
                                        .message = message[0] ? message : "device is unhealthy" };
    c->type = "Healthy";
    d->conditions.items = c;
    d->conditions.n = 1;
}

/* No topology where the place of the device is not known. */
static void entries_topology(struct entries *e, struct device_info *d, int32_t node,
                             const char *pcie, const char *bus)
{
    if (node < 0 || !pcie[0] || !bus[0])
        return;
    d->topology = arena_new0(e->a, struct device_topology);
    *d->topology = (struct device_topology){ -1, node, pcie, bus };
}

/* ---- NVIDIA's GPUs --------------------------------------------------------------------------- */

static reslist gpu_resources(struct arena *a, int64_t memory)
{
    struct resqty *items = arena_newn0(a, 3, struct resqty);

    items[0] = (struct resqty){ RES_GPU_CORE, qty_from_i64(DEVICE_FULL, QTY_DECIMAL_SI) };
    items[1] = (struct resqty){ RES_GPU_MEMORY, qty_from_i64(memory, QTY_BINARY_SI) };
    items[2] = (struct resqty){ RES_GPU_MEMORY_RATIO, qty_from_i64(DEVICE_FULL, QTY_DECIMAL_SI) };
    return (reslist){ items, 3 };
}

/* The model they all are; "" when they differ. */
static const char *common_model(const struct gpu_infos *g)
{
    static const char vendor[] = "NVIDIA ";
    const char *name = g->items[0].name;

    for (uint32_t i = 1; i < g->n; i++)
        if (!streq(g->items[i].name, name))
            return "";
    return str_starts(name, vendor) ? name + sizeof vendor - 1 : name;
}

/* What is stored of this type stays beside what was found. */
static void entries_partial(struct entries *e, const char *type)
{
    const char **at = e->in->partial;

    while (*at)
        at++;
    *at = type;
}

void entries_of_gpus(struct entries *e, const struct gpu_infos *g)
{
    if (g->partial)
        entries_partial(e, DEVICE_TYPE_GPU);
    if (g->n == 0)
        return;
    entries_reserve(e, g->n);
    for (uint32_t i = 0; i < g->n; i++) {
        const struct gpu_info *info = &g->items[i];
        struct device_info *d = entries_add(e, DEVICE_TYPE_GPU, info->uuid, info->minor);
        d->health = !info->fault.code[0];
        d->resources = gpu_resources(e->a, info->memory_total);
        entries_topology(e, d, info->node, info->root, info->bus);
        if (!d->health)
            entries_condition(e, d, info->fault.code, info->fault.message);
    }
    entries_label(e, LABEL_GPU_VENDOR, GPU_VENDOR_NVIDIA);
    entries_label(e, LABEL_GPU_MODEL, common_model(g));
    entries_label(e, LABEL_GPU_DRIVER_VERSION, g->driver);
}

/* ---- RDMA ------------------------------------------------------------------------------------ */

static int by_address(const void *x, const void *y)
{
    const struct virtual_function *a = x, *b = y;
    return strcmp(a->bus_id, b->bus_id);
}

static void add_vfs(struct entries *e, struct device_info *d, const struct rdma_info *r)
{
    if (r->nvfs == 0)
        return;
    struct vf_group *group = arena_new0(e->a, struct vf_group);
    group->vfs.items = arena_newn0(e->a, r->nvfs, struct virtual_function);
    group->vfs.n = r->nvfs;
    for (uint32_t i = 0; i < r->nvfs; i++)
        group->vfs.items[i] = (struct virtual_function){ -1, r->vfs[i] };
    qsort(group->vfs.items, r->nvfs, sizeof *group->vfs.items, by_address);
    d->vf_groups.items = group;
    d->vf_groups.n = 1;
}

void entries_of_rdma(struct entries *e, const struct rdma_infos *r)
{
    if (r->partial)
        entries_partial(e, DEVICE_TYPE_RDMA);
    entries_reserve(e, r->n);
    for (uint32_t i = 0; i < r->n; i++) {
        const struct rdma_info *info = &r->items[i];
        struct device_info *d = entries_add(e, DEVICE_TYPE_RDMA, info->pci.address, info->minor);
        struct resqty *all = arena_newn0(e->a, 1, struct resqty);
        *all = (struct resqty){ RES_RDMA, qty_from_i64(DEVICE_FULL, QTY_DECIMAL_SI) };
        d->resources = (reslist){ all, 1 };
        d->health = info->healthy;
        if (info->silent)
            entries_condition(e, d, "CardNotResponding", "the card does not say how its ports are");
        entries_topology(e, d, info->pci.node, info->pci.root, info->pci.address);
        add_vfs(e, d, info);
    }
}
