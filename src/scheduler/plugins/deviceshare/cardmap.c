/* cardmap.c - the GPUs of nodes, who has them, and what is too fragmented. */
#include "scheduler/plugins/deviceshare/cardmap.h"

#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/plugins/deviceshare/devrow.h"
#include "json/kj.h"

static const struct {
    int64_t percent; /* of each card */
    int64_t cards;
} common[] = { { 10, 1 }, { 25, 1 }, { 50, 1 }, { 100, 1 }, { 100, 2 }, { 100, 4 }, { 100, 8 } };

struct mapping {
    struct holdings *h;
    struct arena *arena;
    struct kjw *w;
    int64_t free;
    int64_t fits[ARRAY_LEN(common)];
};

static void write_holders(struct mapping *m, const struct devrow *r, uint32_t at,
                          const struct ks_podlist *pods)
{
    const struct card *c = &r->inv->card[at];
    const char *claim = devrow_claim(r, m->h, at);

    kjw_arr(m->w, "holders");
    for (uint32_t i = 0; i < pods->n; i++) {
        const struct holding *x = holdings_find(m->h, pods->items[i]->obj.meta.uid);
        for (uint32_t k = 0; x && k < x->n; k++) {
            const struct held *item = &x->items[k];
            if (item->kind != c->kind || item->minor != c->minor)
                continue;
            struct amounts held = item->amounts;
            amounts_complete(&held, &c->total);
            kjw_obj(m->w, NULL);
            kjw_str(m->w, "name",
                    arena_printf(m->arena, "%s/%s", x->pod->meta.ns, x->pod->meta.name));
            kjw_i64(m->w, "core", held.v[GPU_CORE]);
            kjw_i64(m->w, "memory", held.v[GPU_MEMORY]);
            kjw_end(m->w);
        }
    }
    if (claim) { /* all of it: DeviceShare gives nothing more of the card */
        kjw_obj(m->w, NULL);
        kjw_str(m->w, "name", arena_printf(m->arena, "%s (ResourceClaim)", claim));
        kjw_i64(m->w, "core", c->total.v[GPU_CORE]);
        kjw_i64(m->w, "memory", c->total.v[GPU_MEMORY]);
        kjw_end(m->w);
    }
    kjw_end(m->w);
}

static void write_card(struct mapping *m, const struct devrow *r, uint32_t i,
                       const struct ks_podlist *pods)
{
    const struct card *c = &r->inv->card[i];
    struct amounts left = devrow_free(r, i);

    kjw_obj(m->w, NULL);
    kjw_i64(m->w, "minor", c->minor);
    kjw_bool(m->w, "healthy", c->total.has != 0);
    if (c->info->topology) {
        kjw_i64(m->w, "numaNode", c->numa);
        kjw_str(m->w, "pcie", str_or(c->info->topology->pcie_id, ""));
    }
    kjw_i64(m->w, "core", c->total.v[GPU_CORE]);
    kjw_i64(m->w, "coreFree", left.v[GPU_CORE]);
    kjw_i64(m->w, "memory", c->total.v[GPU_MEMORY]);
    kjw_i64(m->w, "memoryFree", left.v[GPU_MEMORY]);
    write_holders(m, r, i, pods);
    kjw_end(m->w);
}

/* Compute and memory both count: the scarcer of the two. */
static int64_t percent_free(const struct amounts *left)
{
    return amounts_has(left, GPU_RATIO) ? MIN(left->v[GPU_CORE], left->v[GPU_RATIO])
                                        : left->v[GPU_CORE];
}

/* Unused partitions of so many cards, each card once. */
static int64_t count_partitions(const struct devrow *r, int64_t cards, struct arena *a)
{
    uint8_t *taken = arena_newn0(a, inventory_cards(r->inv) + 1, uint8_t);
    int64_t n = 0;

    for (uint32_t g = 0; g < r->inv->ngroups; g++) {
        const struct gpu_group *group = &r->inv->groups[g];
        bool unused = group->n == cards;
        for (uint32_t i = 0; i < group->n && unused; i++) {
            uint32_t card = inventory_find(r->inv, DEVICE_GPU, group->minors[i]);
            unused = card != NO_CARD && !taken[card] && r->inv->card[card].total.has &&
                     amounts_are_zero(&r->used[card]);
        }
        for (uint32_t i = 0; i < group->n && unused; i++)
            taken[inventory_find(r->inv, DEVICE_GPU, group->minors[i])] = 1;
        n += unused;
    }
    return n;
}

static void count_fits(struct mapping *m, const struct devrow *r)
{
    int64_t whole = 0;

    for (uint32_t i = r->inv->first[DEVICE_GPU]; i < r->inv->first[DEVICE_GPU + 1]; i++) {
        struct amounts left = devrow_free(r, i);
        int64_t percent = percent_free(&left);
        m->free += percent;
        whole += percent >= 100;
        for (size_t k = 0; k < ARRAY_LEN(common); k++)
            if (common[k].percent < 100)
                m->fits[k] += percent / common[k].percent;
    }
    for (size_t k = 0; k < ARRAY_LEN(common); k++)
        if (common[k].percent == 100)
            m->fits[k] += r->inv->flags & INVENTORY_HONOR
                              ? count_partitions(r, common[k].cards, m->arena)
                              : whole / common[k].cards;
}

static void write_node(struct mapping *m, const struct ks_nodes *n, uint32_t row,
                       const struct devrow *r)
{
    kjw_obj(m->w, NULL);
    kjw_str(m->w, "name", n->node[row]->obj.meta.name);
    kjw_str(m->w, "model", str_or(r->inv->model, ""));
    if (r->inv->ngroups)
        kjw_str(m->w, "partitions", r->inv->flags & INVENTORY_HONOR ? "Honor" : "Prefer");
    kjw_arr(m->w, "cards");
    for (uint32_t i = r->inv->first[DEVICE_GPU]; i < r->inv->first[DEVICE_GPU + 1]; i++)
        write_card(m, r, i, &n->pods[row]);
    kjw_end(m->w);
    kjw_end(m->w);
    count_fits(m, r);
}

struct named_row {
    const char *name;
    uint32_t row;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named_row *)a)->name, ((const struct named_row *)b)->name);
}

static bool map_row(struct mapping *m, const struct ks_nodes *n, uint32_t row)
{
    struct devrow r;

    devrow_init(&r, m->h, n->node[row], &n->pods[row]);
    bool any = r.inv && r.inv->first[DEVICE_GPU] < r.inv->first[DEVICE_GPU + 1];
    if (any)
        write_node(m, n, row, &r);
    devrow_fini(&r);
    return any;
}

static void write_requests(const struct mapping *m)
{
    kjw_i64(m->w, "free", m->free);
    kjw_arr(m->w, "requests");
    for (size_t k = 0; k < ARRAY_LEN(common); k++) {
        kjw_obj(m->w, NULL);
        kjw_i64(m->w, "percent", common[k].percent);
        kjw_i64(m->w, "cards", common[k].cards);
        kjw_i64(m->w, "fits", m->fits[k]);
        kjw_i64(m->w, "usable", m->fits[k] * common[k].percent * common[k].cards);
        kjw_end(m->w);
    }
    kjw_end(m->w);
}

int cardmap_write(struct holdings *h, const char *node, struct strbuf *json, struct kerr *err)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct ks_nodes *n = h->env.nodes;
    struct kjw w = kjw_to(json);
    struct mapping m = { .h = h, .arena = a, .w = &w };
    struct named_row *rows = arena_newn0(a, n->n + 1, struct named_row);
    uint32_t nrows = 0, shown = 0;

    for (uint32_t row = 0; row < n->n; row++)
        if (!node || streq(n->node[row]->obj.meta.name, node))
            rows[nrows++] = (struct named_row){ n->node[row]->obj.meta.name, row };
    if (node && nrows == 0)
        return kerr_set(err, -ENOENT, "there is no node %s", node);
    if (nrows)
        qsort(rows, nrows, sizeof *rows, by_name);
    kjw_obj(&w, NULL);
    kjw_arr(&w, "nodes");
    for (uint32_t i = 0; i < nrows; i++)
        shown += map_row(&m, n, rows[i].row);
    kjw_end(&w);
    write_requests(&m);
    kjw_end(&w);
    return node && !shown ? kerr_set(err, -ENOENT, "node %s has no GPUs", node) : 0;
}
