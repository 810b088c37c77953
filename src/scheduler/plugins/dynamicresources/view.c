/* view.c - the devices that one node sees. */
#include "api/node.h"
#include "api/selector/selector.h"
#include "scheduler/plugins/dynamicresources/pools.h"

static bool is_set(struct opt_bool b)
{
    return b.set && b.v;
}

/* 1 or 0: is the slice for this node? Negative: its selector cannot be understood. */
static int slice_is_on(const struct pool_slice *s, const struct node *n)
{
    const struct slice_spec *spec = &s->slice->spec;

    if (spec->node_name)
        return streq(spec->node_name, n->obj.meta.name);
    if (s->where)
        return nodesel_match(s->where, &n->obj.meta.labels, n->obj.meta.name);
    return is_set(spec->all_nodes) || is_set(spec->per_device_node_selection);
}

static bool device_is_on(const struct pool_device *d, const struct node *n, struct arena *scratch)
{
    const struct slice_device *s = d->d;

    if (s->node_name)
        return streq(s->node_name, n->obj.meta.name);
    if (s->node_selector)
        return nodesel_match(nodesel_from(s->node_selector, scratch), &n->obj.meta.labels,
                             n->obj.meta.name) == 1;
    return is_set(s->all_nodes);
}

static void set_range(uint64_t *bits, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++)
        bits[i / 64] |= UINT64_C(1) << (i % 64);
}

/* Which devices of the pool the node sees; false: none. Invalid and incomplete pools count as the
 * node's when some slice is. */
static bool look(struct node_devices *nd, struct pool *p, const struct node *n, uint64_t *bits)
{
    bool any = false;

    for (uint32_t i = 0; i < p->nslices; i++) {
        const struct pool_slice *s = &p->slices[i];
        int on = slice_is_on(s, n);
        if (on < 0 && !nd->bad_selector)
            nd->bad_selector = s->slice->obj.meta.name;
        /* Counters are needed wherever a device is. */
        any |= nd->in->gates.partitionable && s->slice->spec.shared_counters.n;
        if (on <= 0)
            continue;
        if (!is_set(s->slice->spec.per_device_node_selection)) {
            set_range(bits, s->first, s->n);
            any = true;
            continue;
        }
        for (uint32_t k = s->first; k < s->first + s->n; k++)
            if (device_is_on(&p->devices[k], n, nd->arena)) {
                set_range(bits, k, 1);
                any = true;
            }
    }
    return any;
}

/* Does the node see two devices of one name? */
static bool sees_twice(const struct pool *p, const uint64_t *bits)
{
    CLEANUP(map_fini) struct map names = { 0 };

    for (uint32_t i = 0; p->repeats && i < p->ndevices; i++)
        if (bits[i / 64] >> (i % 64) & 1 && map_putz(&names, p->devices[i].d->name, &p->devices[i]))
            return true;
    return false;
}

static void add_pool(struct node_devices *nd, struct pool *p, const struct node *n)
{
    pool_refresh(p);
    uint64_t *bits = arena_newn0(nd->arena, p->nwords, uint64_t);
    if (!look(nd, p, n, bits))
        return;
    bool invalid = p->invalid || sees_twice(p, bits);
    nd->pools[nd->npools++] = (struct view_pool){ p, invalid };
    nd->has_invalid |= invalid && p->complete;
    if (invalid || !p->complete)
        return;
    for (uint32_t w = 0; w < p->nwords; w++)
        if (bits[w] & p->usable[w])
            nd->words[nd->nwords++] = (struct view_word){ p, w, bits[w] & p->usable[w], 0 };
}

/* Words whose pools have devices with binding conditions come last, and keep their order. */
static void binding_last(struct node_devices *nd)
{
    struct view_word *sorted = arena_newn0(nd->arena, nd->nwords, struct view_word);
    uint32_t n = 0;

    for (int binds = 0; binds < 2; binds++)
        for (uint32_t i = 0; i < nd->nwords; i++)
            if (nd->words[i].pool->binds == (binds == 1))
                sorted[n++] = nd->words[i];
    nd->words = sorted;
}

static uint32_t words_of(struct pool *p)
{
    pool_refresh(p);
    return p->nwords;
}

static int pool_cmp(const struct pool *a, const struct pool *b)
{
    int r = strcmp(a->driver, b->driver);
    return r ? r : strcmp(a->name, b->name);
}

void node_devices_rebuild(struct node_devices *nd, const struct node *n)
{
    const struct pools *in = nd->in;
    size_t words = 0, l = 0, w = 0;

    arena_reset(nd->arena);
    vec_foreach(&nd->local, i)
        words += words_of(nd->local.items[i]);
    vec_foreach(&in->wide, i)
        words += words_of(in->wide.items[i]);
    nd->words = arena_newn0(nd->arena, words, struct view_word);
    nd->pools = arena_newn0(nd->arena, nd->local.n + in->wide.n, struct view_pool);
    nd->nwords = nd->npools = 0;
    nd->has_invalid = false;
    nd->bad_selector = NULL;
    while (l < nd->local.n || w < in->wide.n) { /* both are in order */
        bool local = w == in->wide.n ||
                     (l < nd->local.n && pool_cmp(nd->local.items[l], in->wide.items[w]) < 0);
        add_pool(nd, local ? nd->local.items[l++] : in->wide.items[w++], n);
    }
    if (in->gates.binding_conditions)
        binding_last(nd);
    nd->wide_version = in->wide_version;
    nd->current = true;
    nd->cards_current = false;
}
