/* pools.c - pools of devices, made of slices, and who has taken what. */
#include "scheduler/plugins/dynamicresources/pools.h"

#include "api/node.h"
#include "api/selector/selector.h"
#include "base/strbuf.h"
#include "scheduler/plugins/cards/cards.h"
#include "scheduler/plugins/dynamicresources/counters.h"
#include "scheduler/plugins/dynamicresources/verdicts.h"

/* ---- keys ------------------------------------------------------------------------------------ */

static void key_of(struct strbuf *out, const char *driver, const char *pool, const char *device)
{
    strbuf_reset(out);
    strbuf_appendf(out, "%s/%s", driver, pool);
    if (device)
        strbuf_appendf(out, "/%s", device);
}

static struct pool *find_pool(const struct pools *in, const char *driver, const char *pool)
{
    CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;

    key_of(&key, driver, pool, NULL);
    return map_getz(&in->by_key, strbuf_str(&key));
}

/* ---- a pool is made of its slices ------------------------------------------------------------ */

/* Slices that this scheduler does not understand count for the pool, and give nothing. */
static bool slice_is_known(const struct pools *in, const struct slice_spec *s)
{
    return in->gates.partitionable ||
           (s->shared_counters.n == 0 && !s->per_device_node_selection.set);
}

static bool device_is_usable(const struct pools *in, const struct slice_device *d)
{
    return (in->gates.binding_conditions || d->binding_conditions.n == 0) &&
           (in->gates.partitionable || d->consumes_counters.n == 0);
}

static void mark_taken(struct pool *p, uint32_t i)
{
    const struct holding *h = p->devices[i].holding;
    const struct opt_bool multiple = p->devices[i].d->allow_multiple_allocations;
    bool shared = p->in->gates.consumable && multiple.set && multiple.v;
    bool taken = h && (h->whole > 0 || (h->shares > 0 && !shared));

    if (taken)
        p->taken[i / 64] |= UINT64_C(1) << (i % 64);
    else
        p->taken[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

/* ---- taints ---------------------------------------------------------------------------------- */

static bool is_any(const char *wanted, const char *is)
{
    return !wanted || streq(wanted, is);
}

/* A rule without a selector taints all devices: upstream's tracker has it so, the API's comment
 * says none. */
static bool rule_taints(const struct kobj *rule, const char *driver, const char *pool,
                        const char *device)
{
    const struct device_taint_selector *s = device_taint_rule_of(rule)->spec.selector;

    return !s || (is_any(s->driver, driver) && is_any(s->pool, pool) &&
                  (!device || is_any(s->device, device)));
}

static device_taintlist taints_of(const struct pool *p, const struct slice_device *d)
{
    const struct pools *in = p->in;
    device_taintlist all = { 0 };

    if (!in->gates.taints)
        return all;
    uint32_t more = 0;
    vec_foreach(&in->rules, i)
        more += rule_taints(in->rules.items[i], p->driver, p->name, d->name);
    if (more == 0)
        return d->taints;
    all.items = arena_newn0(p->arena, d->taints.n + more, struct device_taint);
    for (uint32_t i = 0; i < d->taints.n; i++)
        all.items[all.n++] = d->taints.items[i];
    vec_foreach(&in->rules, i)
        if (rule_taints(in->rules.items[i], p->driver, p->name, d->name))
            all.items[all.n++] = device_taint_rule_of(in->rules.items[i])->spec.taint;
    return all;
}

/* ---- devices --------------------------------------------------------------------------------- */

static void add_device(struct pool *p, uint32_t slice, const struct slice_device *d,
                       struct map *names, struct strbuf *key)
{
    uint32_t i = p->ndevices++;
    struct pool_device *to = &p->devices[i];

    p->repeats |= map_putz(names, d->name, to) != NULL;
    key_of(key, p->driver, p->name, d->name);
    *to = (struct pool_device){ .d = d,
                                .slice = slice,
                                .holding = map_getz(&p->in->holdings, strbuf_str(key)),
                                .taints = taints_of(p, d) };
    if (d->binding_conditions.n)
        p->binds = true;
    if (device_is_usable(p->in, d))
        p->usable[i / 64] |= UINT64_C(1) << (i % 64);
    mark_taken(p, i);
    if (to->holding)
        cardlink_hold(p, i);
}

static void add_slice(struct pool *p, const struct resource_slice *s, struct map *names,
                      struct strbuf *key)
{
    struct pool_slice *to = &p->slices[p->nslices];

    *to = (struct pool_slice){ .slice = s, .first = p->ndevices };
    if (s->spec.node_selector)
        to->where = nodesel_from(s->spec.node_selector, p->arena);
    if (slice_is_known(p->in, &s->spec)) {
        to->n = s->spec.devices.n;
        for (uint32_t i = 0; i < to->n; i++)
            add_device(p, p->nslices, &s->spec.devices.items[i], names, key);
    }
    p->nslices++;
}

static int64_t newest(const struct pool *p, uint32_t *ret_slices, uint32_t *ret_devices)
{
    int64_t generation = INT64_MIN;

    vec_foreach(&p->all, i) {
        const struct slice_spec *s = &resource_slice_of(p->all.items[i])->spec;
        if (s->pool.generation > generation) {
            generation = s->pool.generation;
            *ret_slices = *ret_devices = 0;
        }
        if (s->pool.generation == generation) {
            *ret_slices += 1;
            *ret_devices += s->devices.n;
        }
    }
    return generation;
}

void pool_refresh(struct pool *p)
{
    CLEANUP(map_fini) struct map names = { 0 };
    CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;
    uint32_t nslices = 0, ndevices = 0;

    if (p->current)
        return;
    int64_t generation = newest(p, &nslices, &ndevices);
    pool_drop_derived(p);
    arena_reset(p->arena);
    p->nwords = (ndevices + 63) / 64;
    p->slices = arena_newn0(p->arena, nslices, struct pool_slice);
    p->devices = arena_newn0(p->arena, ndevices, struct pool_device);
    p->usable = arena_newn0(p->arena, p->nwords, uint64_t);
    p->taken = arena_newn0(p->arena, p->nwords, uint64_t);
    p->nslices = p->ndevices = 0;
    p->invalid = NULL;
    p->binds = p->repeats = false;
    vec_foreach(&p->all, i) {
        const struct resource_slice *s = resource_slice_of(p->all.items[i]);
        if (s->spec.pool.generation == generation)
            add_slice(p, s, &names, &key);
    }
    p->complete = nslices && (int64_t)nslices >= p->slices[0].slice->spec.pool.slice_count;
    counters_read(p);
    p->current = true;
}

/* ---- slices come and go ---------------------------------------------------------------------- */

static void forget_place(struct pool *p)
{
    struct pools *in = p->in;

    if (p->node) {
        struct node_devices *n = pools_node(in, p->node);
        vec_foreach(&n->local, i)
            if (n->local.items[i] == p) {
                vec_remove(&n->local, i);
                break;
            }
        node_devices_touch(n);
        p->node = NULL;
        return;
    }
    vec_foreach(&in->wide, i)
        if (in->wide.items[i] == p) {
            vec_remove(&in->wide, i);
            break;
        }
    in->wide_version++;
}

/* The one node of all its slices; NULL: there is none. */
static const char *only_node(const struct pool *p)
{
    const char *node = resource_slice_of(p->all.items[0])->spec.node_name;

    vec_foreach(&p->all, i) {
        const struct slice_spec *s = &resource_slice_of(p->all.items[i])->spec;
        if (!node || !s->node_name || s->shared_counters.n || !streq(s->node_name, node))
            return NULL;
    }
    return node;
}

static int pool_order(const struct pool *a, const struct pool *b)
{
    int r = strcmp(a->driver, b->driver);
    return r ? r : strcmp(a->name, b->name);
}

#define insert_pool(list, p)                                                 \
    do {                                                                     \
        size_t at__ = 0;                                                     \
        while (at__ < (list)->n && pool_order((list)->items[at__], (p)) < 0) \
            at__++;                                                          \
        vec_insert((list), at__, (p));                                       \
    } while (0)

static void settle(struct pool *p)
{
    struct pools *in = p->in;

    p->current = false;
    p->node = only_node(p);
    if (p->node) {
        struct node_devices *n = pools_node(in, p->node);
        p->node = n->name; /* the slice may go */
        insert_pool(&n->local, p);
        node_devices_touch(n);
    } else {
        insert_pool(&in->wide, p);
        in->wide_version++;
    }
}

static void pool_free(struct pool *p)
{
    pool_drop_derived(p);
    vec_fini(&p->matches);
    vec_fini(&p->columns);
    vec_foreach(&p->all, i)
        kobj_unref(p->all.items[i]);
    vec_fini(&p->all);
    arena_free(p->arena);
    free(p->key);
    free((char *)p->driver);
    free(p);
}

static struct pool *pool_new(struct pools *in, const struct slice_spec *s)
{
    CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;
    struct pool *p = xnew0(struct pool);

    key_of(&key, s->driver, s->pool.name, NULL);
    p->key = xstrdup(strbuf_str(&key));
    p->driver = xstrdup(s->driver);
    p->name = p->key + strlen(s->driver) + 1;
    p->in = in;
    p->arena = arena_new();
    map_putz(&in->by_key, p->key, p);
    return p;
}

/* The slice of this name leaves the pool; false: it is not there. */
static bool leave(struct pool *p, const char *name)
{
    vec_foreach(&p->all, i)
        if (streq(p->all.items[i]->meta.name, name)) {
            kobj_unref(p->all.items[i]);
            vec_remove(&p->all, i);
            return true;
        }
    return false;
}

static void remove_from(struct pool *p, const char *name)
{
    struct pools *in = p->in;
    const struct node_devices *n = p->node ? pools_node(in, p->node) : NULL;

    forget_place(p);
    leave(p, name);
    if (p->all.n) {
        settle(p);
    } else {
        map_removez(&in->by_key, p->key);
        pool_free(p);
    }
    if (n && n->gone)
        pools_forget_node(in, n->name);
}

void pools_remove_slice(struct pools *in, const struct kobj *slice)
{
    const struct slice_spec *s = &resource_slice_of(slice)->spec;
    struct pool *p = find_pool(in, s->driver, s->pool.name);

    if (p)
        remove_from(p, slice->meta.name);
}

static void hold_cards_of(struct pool *p, const struct slice_spec *s)
{
    CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;

    for (uint32_t i = 0; i < s->devices.n; i++) {
        key_of(&key, p->driver, p->name, s->devices.items[i].name);
        cardlink_hold_listed(p, s, &s->devices.items[i],
                             map_getz(&p->in->holdings, strbuf_str(&key)));
    }
}

void pools_put_slice(struct pools *in, struct kobj *slice)
{
    const struct slice_spec *s = &resource_slice_of(slice)->spec;
    struct pool *p = find_pool(in, s->driver, s->pool.name);
    size_t at = 0;

    if (p)
        forget_place(p);
    else
        p = pool_new(in, s);
    leave(p, slice->meta.name);
    while (at < p->all.n && strcmp(p->all.items[at]->meta.name, slice->meta.name) < 0)
        at++;
    vec_insert(&p->all, at, kobj_ref(slice));
    settle(p);
    /* What claims hold is known to others also when the slice goes before anybody looks at it. */
    if (in->cards && in->holdings.n && p->node)
        pool_refresh(p);
    else if (in->cards && in->holdings.n) /* of a pool of many nodes only what is new */
        hold_cards_of(p, s);
}

/* ---- rules come and go ----------------------------------------------------------------------- */

/* The pools that it taints, or did, are made anew. */
static void touch_pools(struct pools *in, const struct kobj *rule)
{
    map_foreach(&in->by_key, e) {
        struct pool *p = e->value;
        if (!rule_taints(rule, p->driver, p->name, NULL))
            continue;
        p->current = false;
        if (p->node)
            node_devices_touch(pools_node(in, p->node));
        else
            in->wide_version++;
    }
}

void pools_remove_rule(struct pools *in, const struct kobj *rule)
{
    vec_foreach(&in->rules, i)
        if (streq(in->rules.items[i]->meta.name, rule->meta.name)) {
            touch_pools(in, in->rules.items[i]);
            kobj_unref(in->rules.items[i]);
            vec_remove(&in->rules, i);
            return;
        }
}

void pools_put_rule(struct pools *in, struct kobj *rule)
{
    size_t at = 0;

    if (!in->gates.taint_rules)
        return;
    pools_remove_rule(in, rule);
    while (at < in->rules.n && strcmp(in->rules.items[at]->meta.name, rule->meta.name) < 0)
        at++;
    vec_insert(&in->rules, at, kobj_ref(rule));
    touch_pools(in, rule);
}

/* ---- who has what ---------------------------------------------------------------------------- */

static void tell_pool(struct pools *in, const struct device_result *r, struct holding *h)
{
    struct pool *p = find_pool(in, r->driver, r->pool);

    if (p && in->cards)
        pool_refresh(p);
    for (uint32_t i = 0; p && p->current && i < p->ndevices; i++)
        if (streq(p->devices[i].d->name, r->device)) {
            p->devices[i].holding = h;
            mark_taken(p, i);
            cardlink_hold(p, i);
        }
    if (p && p->node)
        node_devices_changed(pools_node(in, p->node));
    else
        in->wide_taken++;
}

static bool takes_nothing(const struct device_result *r)
{
    return r->admin_access.set && r->admin_access.v;
}

static struct holding *holding_of(struct pools *in, const struct device_result *r, bool make)
{
    CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT;

    key_of(&key, r->driver, r->pool, r->device);
    struct holding *h = map_getz(&in->holdings, strbuf_str(&key));
    if (h || !make)
        return h;
    h = xcalloc(1, sizeof *h + key.len + 1);
    memcpy(h->key, strbuf_str(&key), key.len + 1);
    map_putz(&in->holdings, h->key, h);
    return h;
}

static void holding_free(struct holding *h)
{
    vec_fini(&h->parts);
    vec_fini(&h->holders);
    free(h);
}

void pools_hold(struct pools *in, const struct claim_allocation *a, const char *claim)
{
    for (uint32_t i = 0; i < a->devices.results.n; i++) {
        const struct device_result *r = &a->devices.results.items[i];
        if (takes_nothing(r))
            continue;
        struct holding *h = holding_of(in, r, true);
        if (r->share_id) {
            h->shares++;
            vec_push(&h->parts, r);
        } else {
            h->whole++;
        }
        vec_push(&h->holders, ((struct holder){ claim, NULL }));
        tell_pool(in, r, h);
    }
}

static void give_back(struct pools *in, struct holding *h, const struct device_result *r,
                      const char *claim)
{
    if (r->share_id) {
        h->shares--;
        vec_foreach(&h->parts, i)
            if (h->parts.items[i] == r) {
                vec_swap_remove(&h->parts, i);
                break;
            }
    } else {
        h->whole--;
    }
    /* Of two entries of one claim, whose newer state is held before the older one is given back,
     * the one without a card goes: its slice may not list the device just now. */
    size_t at = h->holders.n;
    vec_foreach(&h->holders, i)
        if (h->holders.items[i].claim == claim && (at == h->holders.n || !h->holders.items[i].card))
            at = i;
    if (at == h->holders.n)
        return;
    if (h->holders.items[at].card)
        cards_give(in->cards, h->holders.items[at].card);
    vec_remove(&h->holders, at);
}

void pools_give(struct pools *in, const struct claim_allocation *a, const char *claim)
{
    for (uint32_t i = 0; i < a->devices.results.n; i++) {
        const struct device_result *r = &a->devices.results.items[i];
        struct holding *h = takes_nothing(r) ? NULL : holding_of(in, r, false);
        if (!h)
            continue;
        give_back(in, h, r, claim);
        bool free_again = h->whole == 0 && h->shares == 0;
        if (free_again)
            map_removez(&in->holdings, h->key);
        tell_pool(in, r, free_again ? NULL : h);
        if (free_again)
            holding_free(h);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

struct pools *pools_new(const struct dra_gates *gates)
{
    struct pools *in = xnew0(struct pools);

    memcpy((void *)&in->gates, gates, sizeof *gates);
    in->selections = selections_new();
    return in;
}

static void node_devices_free(struct node_devices *n)
{
    vec_fini(&n->local);
    arena_free(n->arena);
    free(n);
}

void pools_forget_node(struct pools *in, const char *name)
{
    struct node_devices *n = map_getz(&in->nodes, name);

    if (!n)
        return;
    n->gone = true;
    if (n->local.n)
        return; /* its slices go soon, or it comes back */
    map_removez(&in->nodes, name);
    vec_push(&in->unused, n->number);
    node_devices_free(n);
}

struct node_devices *pools_node(struct pools *in, const char *name)
{
    struct node_devices *n = map_getz(&in->nodes, name);

    if (n)
        return n;
    n = xcalloc(1, sizeof *n + strlen(name) + 1);
    memcpy(n->name, name, strlen(name) + 1);
    n->in = in;
    n->arena = arena_new_sized(256);
    if (in->unused.n) {
        n->number = in->unused.items[--in->unused.n];
    } else {
        n->number = (uint32_t)in->versions.n;
        vec_push(&in->versions, 0);
    }
    node_devices_changed(n);
    map_putz(&in->nodes, n->name, n);
    return n;
}

struct pools *pools_free(struct pools *in)
{
    if (!in)
        return NULL;
    pools_unlink(in);
    map_foreach(&in->by_key, e)
        pool_free(e->value);
    map_foreach(&in->holdings, e)
        holding_free(e->value);
    map_foreach(&in->nodes, e)
        node_devices_free(e->value);
    vec_foreach(&in->rules, i)
        kobj_unref(in->rules.items[i]);
    vec_fini(&in->rules);
    vec_fini(&in->wide);
    map_fini(&in->by_key);
    map_fini(&in->holdings);
    map_fini(&in->nodes);
    selections_free(in->selections);
    verdicts_free(in->columns);
    vec_fini(&in->versions);
    vec_fini(&in->unused);
    free(in);
    return NULL;
}
