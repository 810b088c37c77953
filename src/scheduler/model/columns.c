/* columns.c - the arrays behind struct ks_nodes. */
#include "scheduler/model/columns.h"

#include "api/node.h"
#include "api/protocol/keys.h"
#include "api/toleration.h"

#define SUM_MAX (INT64_C(1) << 61)

static const char *const fixed_names[KS_FIXED] = { RES_CPU, RES_MEMORY, RES_EPHEMERAL_STORAGE,
                                                   "pods" };

static void add_column(struct columns *c, const char *name)
{
    uint32_t r = c->view.nres;

    if (r == c->res_cap) {
        c->res_cap = c->res_cap ? c->res_cap * 2 : 8;
        c->alloc = xreallocarray(c->alloc, c->res_cap, sizeof *c->alloc);
        c->used = xreallocarray(c->used, c->res_cap, sizeof *c->used);
        c->names = xreallocarray(c->names, c->res_cap, sizeof *c->names);
    }
    c->alloc[r] = xnewn0(c->cap ? c->cap : 1, int64_t);
    c->used[r] = xnewn0(c->cap ? c->cap : 1, int64_t);
    c->names[r] = xstrdup(name);
    c->view.nres++;
    c->view.layout++;
    c->view.alloc = c->alloc;
    c->view.used = c->used;
    c->view.resource = (const char *const *)c->names;
}

/* The row is another one now. */
static void touch(struct columns *c, uint32_t row)
{
    if (c->silent)
        return;
    c->changed[row] = ++c->view.changes.generation;
    c->journal[c->view.changes.generation % KS_JOURNAL] = row;
}

void columns_touch(struct columns *c, uint32_t row)
{
    touch(c, row);
    c->node_changed[row] = ++c->view.node_changes.generation;
    c->node_journal[c->view.node_changes.generation % KS_JOURNAL] = row;
}

void columns_init(struct columns *c)
{
    *c = (struct columns){ 0 };
    c->view.changes.journal = c->journal;
    c->view.node_changes.journal = c->node_journal;
    for (int i = 0; i < KS_FIXED; i++)
        add_column(c, fixed_names[i]);
}

void columns_fini(struct columns *c)
{
    for (uint32_t r = 0; r < c->view.nres; r++) {
        free(c->alloc[r]);
        free(c->used[r]);
        free(c->names[r]);
    }
    free(c->alloc);
    free(c->used);
    free(c->names);
    free(c->mcpu_nz);
    free(c->memory_nz);
    free(c->nodes);
    free(c->flags);
    free(c->pods);
    free(c->changed);
    free(c->node_changed);
    *c = (struct columns){ 0 };
}

uint32_t ks_column_of(const struct ks_nodes *n, const char *resource)
{
    for (uint32_t r = 0; r < n->nres; r++)
        if (streq(n->resource[r], resource))
            return r;
    return KS_NO_COLUMN;
}

void columns_learn(struct columns *c, const reslist *allocatable)
{
    for (uint32_t i = 0; i < allocatable->n; i++) {
        const char *name = allocatable->items[i].name;
        if (requests_is_scalar(name) && ks_column_of(&c->view, name) == KS_NO_COLUMN)
            add_column(c, name);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void grow(struct columns *c)
{
    c->cap = c->cap ? c->cap * 2 : 64;
    for (uint32_t r = 0; r < c->view.nres; r++) {
        c->alloc[r] = xreallocarray(c->alloc[r], c->cap, sizeof **c->alloc);
        c->used[r] = xreallocarray(c->used[r], c->cap, sizeof **c->used);
    }
    c->mcpu_nz = xreallocarray(c->mcpu_nz, c->cap, sizeof *c->mcpu_nz);
    c->memory_nz = xreallocarray(c->memory_nz, c->cap, sizeof *c->memory_nz);
    c->nodes = xreallocarray(c->nodes, c->cap, sizeof *c->nodes);
    c->flags = xreallocarray(c->flags, c->cap, sizeof *c->flags);
    c->pods = xreallocarray(c->pods, c->cap, sizeof *c->pods);
    c->changed = xreallocarray(c->changed, c->cap, sizeof *c->changed);
    c->node_changed = xreallocarray(c->node_changed, c->cap, sizeof *c->node_changed);
    c->view.used_mcpu_nz = c->mcpu_nz;
    c->view.used_memory_nz = c->memory_nz;
    c->view.node = c->nodes;
    c->view.flags = c->flags;
    c->view.pods = c->pods;
    c->view.changes.changed = c->changed;
    c->view.node_changes.changed = c->node_changed;
}

uint32_t columns_push(struct columns *c)
{
    if (c->view.n == c->cap)
        grow(c);
    uint32_t row = c->view.n++;
    for (uint32_t r = 0; r < c->view.nres; r++)
        c->alloc[r][row] = 0;
    c->nodes[row] = NULL;
    c->flags[row] = 0;
    c->pods[row] = (struct ks_podlist){ 0 };
    columns_clear_used(c, row);
    columns_touch(c, row);
    c->view.layout++;
    return row;
}

static void count_prefer(struct columns *c, uint8_t flags, int sign)
{
    if (flags & KS_NODE_TAINT_PREFER)
        c->view.ntaints_prefer += (uint32_t)sign;
}

void columns_remove(struct columns *c, uint32_t row)
{
    uint32_t last = --c->view.n;

    columns_set_pods(c, row, (struct ks_podlist){ 0 });
    count_prefer(c, c->flags[row], -1);
    for (uint32_t r = 0; r < c->view.nres; r++) {
        c->alloc[r][row] = c->alloc[r][last];
        c->used[r][row] = c->used[r][last];
    }
    c->mcpu_nz[row] = c->mcpu_nz[last];
    c->memory_nz[row] = c->memory_nz[last];
    c->nodes[row] = c->nodes[last];
    c->flags[row] = c->flags[last];
    c->pods[row] = c->pods[last];
    columns_touch(c, row); /* another node is here now */
    c->view.layout++;
}

void columns_set_node(struct columns *c, uint32_t row, const struct node *n)
{
    unsigned flags = n->spec.unschedulable ? KS_NODE_UNSCHEDULABLE : 0;

    for (uint32_t i = 0; i < n->spec.taints.n; i++) {
        unsigned bit = TAINT_BIT(n->spec.taints.items[i].effect);
        flags |= bit & TAINT_HARD_EFFECTS ? KS_NODE_TAINT_HARD : 0;
        flags |= bit & TAINT_BIT(TAINT_PREFER_NO_SCHEDULE) ? KS_NODE_TAINT_PREFER : 0;
    }
    for (uint32_t r = 0; r < c->view.nres; r++)
        c->alloc[r][row] = requests_count(&n->status.allocatable, c->names[r]);
    c->nodes[row] = n;
    count_prefer(c, c->flags[row], -1);
    c->flags[row] = (uint8_t)flags;
    count_prefer(c, c->flags[row], 1);
    columns_touch(c, row);
}

void columns_swap_node(struct columns *c, uint32_t row, const struct node *n)
{
    c->nodes[row] = n;
}

/* ---- what pods request ----------------------------------------------------------------------- */

void columns_clear_used(struct columns *c, uint32_t row)
{
    for (uint32_t r = 0; r < c->view.nres; r++)
        c->used[r][row] = 0;
    c->mcpu_nz[row] = c->memory_nz[row] = 0;
    touch(c, row);
}

void columns_set_pods(struct columns *c, uint32_t row, struct ks_podlist pods)
{
    c->view.npods += pods.n - c->pods[row].n;
    c->view.naffinity += pods.naffinity - c->pods[row].naffinity;
    c->pods[row] = pods;
}

static int64_t sum(int64_t a, int64_t b, int sign)
{
    int64_t s = a + sign * b; /* a is at most 2^61, b at most 2^57 */
    return s > SUM_MAX ? SUM_MAX : s;
}

void columns_add(struct columns *c, uint32_t row, const struct requests *r, int sign)
{
    for (int i = 0; i < KS_FIXED; i++)
        c->used[i][row] = sum(c->used[i][row], r->fixed[i], sign);
    for (uint32_t i = 0; i < r->nmore; i++) {
        int64_t *at = r->more[i].column == KS_NO_COLUMN ? NULL : &c->used[r->more[i].column][row];
        if (at)
            *at = sum(*at, r->more[i].count, sign);
    }
    c->mcpu_nz[row] = sum(c->mcpu_nz[row], r->mcpu_nz, sign);
    c->memory_nz[row] = sum(c->memory_nz[row], r->memory_nz, sign);
    touch(c, row);
}

void columns_use(struct columns *c, uint32_t row, uint32_t column, int64_t delta)
{
    int64_t *cells = column == KS_USED_MCPU_NZ     ? c->mcpu_nz
                     : column == KS_USED_MEMORY_NZ ? c->memory_nz
                                                   : c->used[column];

    cells[row] = (int64_t)((uint64_t)cells[row] + (uint64_t)delta);
}

void columns_touch_pods(struct columns *c, uint32_t row)
{
    touch(c, row);
}

int columns_check_used(const struct columns *c, uint32_t row, const struct requests *all,
                       uint32_t n, struct kerr *err)
{
    for (uint32_t r = 0; r < c->view.nres; r++) {
        int64_t want = 0;
        for (uint32_t i = 0; i < n; i++) {
            want = r < KS_FIXED ? sum(want, all[i].fixed[r], 1) : want;
            for (uint32_t k = 0; k < all[i].nmore; k++)
                want = all[i].more[k].column == r ? sum(want, all[i].more[k].count, 1) : want;
        }
        if (want != c->used[r][row])
            return kerr_set(err, -EBADMSG, "%s: %lld in use, counted %lld", c->names[r],
                            (long long)want, (long long)c->used[r][row]);
    }
    return 0;
}
