/* entries_xpu.c - accelerators from files, as GPUs of Device; which of them go together. */
#include "api/protocol/device.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "koordlet/device/entries.h"
#include "koordlet/kernel/sysfs.h"

enum { PARTITIONS_MAX = 1024, PEERS_MAX = 256 };

/* A number as the files write it; otherwise when it is none. */
static int32_t number_of(struct str s, int32_t otherwise)
{
    int64_t v;
    return i64_parse(s.p, s.n, &v) < 0 || v < INT32_MIN || v > INT32_MAX ? otherwise : (int32_t)v;
}

static int32_t minor_of(const struct xpu_device *x)
{
    return number_of(str_of(x->minor), 0);
}

/* ---- devices --------------------------------------------------------------------------------- */

static const char *resource_name(const char *name)
{
    return streq(name, "gpu-core")     ? RES_GPU_CORE
           : streq(name, "gpu-memory") ? RES_GPU_MEMORY
                                       : name;
}

static reslist resources_of(struct arena *a, const kstrmap *listed)
{
    reslist l = { 0 };

    l = reslist_with(&l, RES_GPU_MEMORY_RATIO, qty_from_i64(100, QTY_DECIMAL_SI), a);
    for (uint32_t i = 0; i < listed->n; i++) {
        const struct kstrpair *p = &listed->items[i];
        struct qty q;
        if (qty_parse(p->value, strlen(p->value), &q, NULL) == 0)
            l = reslist_with(&l, resource_name(p->key), q, a);
    }
    return l;
}

static void add_device(struct entries *e, const struct xpu_device *x)
{
    const struct xpu_status *st = x->status;
    struct device_info *d = entries_add(e, DEVICE_TYPE_GPU, x->uuid, minor_of(x));

    d->health = !st || st->healthy;
    d->resources = resources_of(e->a, &x->resources);
    d->topology = arena_new0(e->a, struct device_topology);
    *d->topology = (struct device_topology){ -1, number_of(str_of(x->topology.node), -1),
                                             x->topology.pcie, x->topology.bus };
    entries_condition(e, d, st ? st->code : "", st ? st->message : "");
}

/* ---- partitions ------------------------------------------------------------------------------ */

struct partitions vec_of(struct gpu_partition);

static bool has_minor(const struct gpu_partition *p, int32_t minor)
{
    for (uint32_t i = 0; i < p->minors.n; i++)
        if (p->minors.items[i] == minor)
            return true;
    return false;
}

/* In order, each once. */
static void add_minor(struct gpu_partition *p, int32_t minor)
{
    if (has_minor(p, minor))
        return;
    uint32_t at = p->minors.n++;
    for (; at > 0 && p->minors.items[at - 1] > minor; at--)
        p->minors.items[at] = p->minors.items[at - 1];
    p->minors.items[at] = minor;
}

/* false: the link does not say with whom, or how. minors: room for PEERS_MAX. */
static bool read_link(const struct xpu_link *link, int32_t own, int32_t *minors,
                      struct gpu_partition *ret)
{
    const char *rest = link->peers;
    bool more = true;

    if (!rest[0] || !link->type[0])
        return false;
    *ret = (struct gpu_partition){ .link_type = link->type, .allocation_score = 1 };
    ret->minors.items = minors;
    add_minor(ret, own);
    while (more) {
        size_t n = strcspn(rest, ",");
        int32_t minor = number_of(text_trim((struct str){ rest, n }), -1);
        if (minor < 0 || ret->minors.n == PEERS_MAX)
            return false;
        add_minor(ret, minor);
        more = rest[n] == ',';
        rest += n + more;
    }
    return true;
}

/* Every member of a group tells of it: one is enough. */
static bool is_known(const struct partitions *all, const struct gpu_partition *p)
{
    vec_foreach(all, i) {
        const struct gpu_partition *o = &all->items[i];
        if (o->minors.n == p->minors.n && streq(o->link_type, p->link_type) &&
            memcmp(o->minors.items, p->minors.items, p->minors.n * sizeof *p->minors.items) == 0)
            return true;
    }
    return false;
}

static void add_link(struct arena *a, const struct xpu_link *link, int32_t own,
                     struct partitions *ret)
{
    int32_t minors[PEERS_MAX];
    struct gpu_partition p;

    if (ret->n == PARTITIONS_MAX || !read_link(link, own, minors, &p) || is_known(ret, &p))
        return;
    p.minors.items = arena_newn0(a, p.minors.n, int32_t);
    memcpy(p.minors.items, minors, p.minors.n * sizeof *minors);
    vec_push(ret, p);
}

static void gather(struct arena *a, const xpu_devicelist *l, struct partitions *ret)
{
    for (uint32_t i = 0; i < l->n; i++)
        for (uint32_t k = 0; k < l->items[i].topology.links.n; k++)
            add_link(a, &l->items[i].topology.links.items[k], minor_of(&l->items[i]), ret);
}

static int by_count(const void *x, const void *y)
{
    const struct gpu_partition_row *a = x, *b = y;
    return strcmp(a->gpu_count, b->gpu_count);
}

/* Those of one size together, in the order they came. */
static struct gpu_partitions table_of(struct arena *a, const struct partitions *all)
{
    struct gpu_partition_row *rows = arena_newn0(a, all->n, struct gpu_partition_row);
    uint32_t n = 0;

    vec_foreach(all, i) {
        uint32_t size = all->items[i].minors.n, row = 0;
        while (row < n && rows[row].partitions.v.items[0].minors.n != size)
            row++;
        struct gpu_partition_list *l = &rows[row].partitions;
        if (row == n) {
            rows[n++].gpu_count = arena_printf(a, "%u", size);
            l->v.items = arena_newn0(a, all->n - i, struct gpu_partition);
        }
        l->v.items[l->v.n++] = all->items[i];
    }
    qsort(rows, n, sizeof *rows, by_count);
    return (struct gpu_partitions){ { rows, n } };
}

static void add_partitions(struct entries *e, const xpu_devicelist *l)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct partitions all = { 0 };

    gather(e->a, l, &all);
    if (all.n > 0) {
        struct gpu_partitions table = table_of(e->a, &all);
        gpu_partitions_encode(&table, &text);
        entries_annotation(e, ANNO_GPU_PARTITIONS, arena_strndup(e->a, text.data, text.len));
    }
    vec_fini(&all);
}

void entries_of_xpus(struct entries *e, const struct xpu_infos *x)
{
    const xpu_devicelist *l = &x->devices;
    const struct xpu_device *first = l->items;

    if (l->n == 0)
        return;
    entries_reserve(e, l->n);
    for (uint32_t i = 0; i < l->n; i++)
        add_device(e, &l->items[i]);
    entries_label(e, LABEL_GPU_VENDOR, first->vendor);
    entries_label(e, LABEL_GPU_MODEL, first->model);
    if (first->topology.links.n > 0)
        entries_label(e, LABEL_GPU_PARTITION_POLICY,
                      first->topology.must_honor ? "Honor" : "Prefer");
    add_partitions(e, l);
}
