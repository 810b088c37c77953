/* sim_dra_search.c - where a pod with claims could go: tries everything, slowly, by what the API
 * server has. */
#include "sim_dra.h"

#include "api/reslist.h"
#include "api/selector/selector.h"
#include "base/arena.h"

enum { DEVICES_MAX = 64, CLAIMS_MAX = 4 };

struct device {
    const char *driver, *pool, *name, *model;
    int pool_number, number;
    struct opt_i64 numa;
    bool taken;    /* all of it */
    int64_t given; /* of its capacity, to claims that share it */
};
struct search {
    const struct dra_sim *d;
    const struct node *node;
    struct device devices[DEVICES_MAX];
    unsigned n;
    const struct resource_claim *claims[CLAIMS_MAX];
    unsigned nclaims;
    struct pick {
        unsigned device, claim;
        const struct device_ask *ask;
    } picks[DEVICES_MAX];
    unsigned npicks;
    int64_t units[POOLS]; /* of counters, that claims have */
};

/* ---- what the node sees ----------------------------------------------------------------------- */

static bool selector_fits(const struct node_selector *s, const struct node *n)
{
    CLEANUP(arena_free) struct arena *a = arena_new_sized(512);

    return nodesel_match(nodesel_from(s, a), &n->obj.meta.labels, n->obj.meta.name) == 1;
}

static bool slice_fits(const struct slice_spec *s, const struct node *n)
{
    if (s->node_name)
        return streq(s->node_name, n->obj.meta.name);
    return s->all_nodes.v || s->per_device_node_selection.v ||
           (s->node_selector && selector_fits(s->node_selector, n));
}

static bool device_fits(const struct slice_spec *s, const struct slice_device *d,
                        const struct node *n)
{
    if (!s->per_device_node_selection.v || d->all_nodes.v)
        return true;
    return d->node_name ? streq(d->node_name, n->obj.meta.name)
                        : selector_fits(d->node_selector, n);
}

static bool same_pool(const struct slice_spec *a, const struct slice_spec *b)
{
    return streq(a->driver, b->driver) && streq(a->pool.name, b->pool.name);
}

/* Newest of its pool, and the pool is whole. */
static bool slice_counts(const struct search *x, const struct slice_spec *s)
{
    int64_t whole = 0;
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(x->d->slices, &it));) {
        const struct slice_spec *other = &resource_slice_of(o)->spec;
        if (same_pool(s, other) && other->pool.generation > s->pool.generation)
            return false;
        whole += same_pool(s, other) && other->pool.generation == s->pool.generation;
    }
    return whole == s->pool.slice_count;
}

static bool is_shared(const struct search *x, const struct device *d)
{
    return x->d->gate == CAPACITY && device_is_shared(d->pool_number, d->number);
}

/* By which claims have it. */
static void see_holders(const struct search *x, struct device *d)
{
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(x->d->claims, &it));) {
        const struct claim_allocation *got = resource_claim_of(o)->status.allocation;
        for (uint32_t i = 0; got && i < got->devices.results.n; i++) {
            const struct device_result *r = &got->devices.results.items[i];
            if (r->admin_access.v || !streq(r->driver, d->driver) || !streq(r->pool, d->pool) ||
                !streq(r->device, d->name))
                continue;
            if (is_shared(x, d))
                d->given +=
                    qty_value(reslist_get(&r->consumed_capacity, capacity_name(d->pool_number)));
            else
                d->taken = true;
        }
    }
}

/* Of the pools' counters: also by devices that this node does not see. */
static void see_units(struct search *x)
{
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(x->d->claims, &it));) {
        const struct claim_allocation *got = resource_claim_of(o)->status.allocation;
        for (uint32_t i = 0; got && i < got->devices.results.n; i++) {
            const struct device_result *r = &got->devices.results.items[i];
            int pool = name_number(r->pool);
            if (!r->admin_access.v)
                x->units[pool] += device_units(pool, name_number(r->device));
        }
    }
}

static void add_device(struct search *x, const struct slice_spec *s, const struct slice_device *in)
{
    struct device d = { .driver = s->driver,
                        .pool = s->pool.name,
                        .name = in->name,
                        .pool_number = name_number(s->pool.name),
                        .number = name_number(in->name) };

    for (uint32_t i = 0; i < in->attributes.n; i++) {
        const struct device_attribute_entry *a = &in->attributes.items[i];
        if (streq(a->name, "model"))
            d.model = a->value.string_value;
        else if (streq(a->name, "numa"))
            d.numa = a->value.int_value;
    }
    see_holders(x, &d);
    assert(x->n < DEVICES_MAX);
    x->devices[x->n++] = d;
}

static void see_devices(struct search *x)
{
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(x->d->slices, &it));) {
        const struct slice_spec *s = &resource_slice_of(o)->spec;
        if (!slice_fits(s, x->node) || !slice_counts(x, s))
            continue;
        for (uint32_t i = 0; i < s->devices.n; i++)
            if (device_fits(s, &s->devices.items[i], x->node))
                add_device(x, s, &s->devices.items[i]);
    }
    see_units(x);
}

/* ---- what is asked for ------------------------------------------------------------------------ */

static bool selectors_accept(const struct search *x, const device_selectorlist *l,
                             const struct device *d)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const struct known_selector *k = known_selectors;
        while (k->expression && !streq(k->expression, l->items[i].cel->expression))
            k++;
        if (!k->expression)
            dra_die(x->d, "a selector that nobody made: %s", l->items[i].cel->expression);
        if ((k->driver && !streq(k->driver, d->driver)) ||
            (k->model && !(d->model && streq(k->model, d->model))))
            return false;
    }
    return true;
}

static bool ask_accepts(const struct search *x, const struct device_ask *k, const struct device *d)
{
    struct kobj *class = informer_get(x->d->classes, k->device_class_name);

    return class && selectors_accept(x, &device_class_of(class)->spec.selectors, d) &&
           selectors_accept(x, &k->selectors, d);
}

/* Of the claim's constraint, which is on NUMA nodes and on all requests: one node, or several. */
static bool constraint_accepts(const struct search *x, unsigned claim, unsigned device)
{
    const struct device_claim *c = &x->claims[claim]->spec.devices;

    if (c->constraints.n == 0)
        return true;
    if (!x->devices[device].numa.set)
        return false;
    for (unsigned i = 0; i < x->npicks; i++) {
        bool same = x->devices[x->picks[i].device].numa.v == x->devices[device].numa.v;
        if (x->picks[i].claim == claim && same == (c->constraints.items[0].match_attribute == NULL))
            return false;
    }
    return true;
}

int64_t amount_for(int pool, int device, const struct device_ask *k)
{
    const struct qty *asked = reslist_find(&k->capacity.requests, capacity_name(pool));

    if (k->capacity.requests.n && !asked)
        return -1;
    return device_amount(pool, device, asked ? qty_value(*asked) : -1);
}

/* Is that much left of its capacity? Until the pod's claims are written an administrator's access
 * counts as any other, as it does for whole devices (upstream's allocator is so). */
static bool has_capacity(const struct search *x, const struct device_ask *k, unsigned device)
{
    const struct device *d = &x->devices[device];
    int64_t amount = amount_for(d->pool_number, d->number, k), given = d->given;

    if (amount < 0 || !is_shared(x, d) || k->admin_access.v)
        return amount >= 0;
    for (unsigned i = 0; i < x->npicks; i++)
        if (x->picks[i].device == device)
            given += amount_for(d->pool_number, d->number, x->picks[i].ask);
    return amount <= device_capacity(d->pool_number) - given;
}

static bool has_units(const struct search *x, const struct device_ask *k, const struct device *d)
{
    int64_t units = x->units[d->pool_number] + device_units(d->pool_number, d->number);

    for (unsigned i = 0; i < x->npicks; i++) {
        const struct device *other = &x->devices[x->picks[i].device];
        if (other->pool_number == d->pool_number && !x->picks[i].ask->admin_access.v)
            units += device_units(other->pool_number, other->number);
    }
    return k->admin_access.v || units <= pool_units(d->pool_number);
}

/* What the run's gate has to say. */
static bool gate_accepts(const struct search *x, const struct device_ask *k, unsigned device)
{
    const struct device *d = &x->devices[device];

    switch (x->d->gate) {
    case PARTITIONS: return has_units(x, k, d);
    case TAINTS:
    case TAINT_RULES: return tainted_since(x->d, d->pool_number, d->number, k) == NEVER;
    case CAPACITY: return has_capacity(x, k, device);
    default: return true;
    }
}

static bool may_have(const struct search *x, unsigned claim, const struct device_ask *k,
                     unsigned device)
{
    const struct device *d = &x->devices[device];
    bool admin = k->admin_access.v;

    if (!ask_accepts(x, k, d) || (d->taken && !admin) || !gate_accepts(x, k, device))
        return false;
    for (unsigned i = 0; i < x->npicks && !is_shared(x, d); i++)
        if (x->picks[i].device == device && (x->picks[i].claim == claim || !admin))
            return false;
    return constraint_accepts(x, claim, device);
}

static bool try_request(struct search *x, unsigned claim, uint32_t request);

static bool try_devices(struct search *x, unsigned claim, uint32_t request,
                        const struct device_ask *k, int64_t left)
{
    if (left == 0)
        return try_request(x, claim, request + 1);
    for (unsigned i = 0; i < x->n; i++) {
        if (!may_have(x, claim, k, i))
            continue;
        x->picks[x->npicks++] = (struct pick){ i, claim, k };
        bool found = try_devices(x, claim, request, k, left - 1);
        x->npicks--;
        if (found)
            return true;
    }
    return false;
}

static bool try_every_device(struct search *x, unsigned claim, uint32_t request,
                             const struct device_ask *k)
{
    unsigned before = x->npicks;
    bool all = true;

    for (unsigned i = 0; all && i < x->n; i++) {
        if (!ask_accepts(x, k, &x->devices[i]))
            continue;
        all = may_have(x, claim, k, i);
        x->picks[x->npicks++] = (struct pick){ i, claim, k };
    }
    bool found = all && x->npicks > before && try_request(x, claim, request + 1);
    x->npicks = before;
    return found;
}

static bool try_ask(struct search *x, unsigned claim, uint32_t request, const struct device_ask *k)
{
    return streq(k->allocation_mode, "All")
               ? try_every_device(x, claim, request, k)
               : try_devices(x, claim, request, k, k->count ? k->count : 1);
}

static bool try_request(struct search *x, unsigned claim, uint32_t request)
{
    if (claim == x->nclaims)
        return true;
    const struct device_claim *c = &x->claims[claim]->spec.devices;
    if (request == c->requests.n)
        return try_request(x, claim + 1, 0);
    const struct device_request *r = &c->requests.items[request];
    if (r->exactly)
        return try_ask(x, claim, request, r->exactly);
    for (uint32_t i = 0; i < r->first_available.n; i++)
        if (try_ask(x, claim, request, &r->first_available.items[i]))
            return true;
    return false;
}

/* ---- nodes ------------------------------------------------------------------------------------ */

bool claim_fits_node(const struct resource_claim *c, const struct node *n)
{
    const struct claim_allocation *got = c->status.allocation;

    return !got->node_selector || selector_fits(got->node_selector, n);
}

static bool has_room(const struct dra_sim *d, const struct node *n)
{
    unsigned pods = 0;
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(d->s.pods, &it));)
        pods += streq(str_or(pod_of(o)->node_name, ""), n->obj.meta.name) &&
                !pod_is_terminal(pod_of(o));
    return pods < NODE_PODS;
}

static bool can_be_freed(const struct resource_claim *c, const struct pod *p)
{
    uint32_t n = c->status.reserved_for.n;
    return n == 0 || (n == 1 && claim_is_reserved_for(c, p->obj.meta.uid));
}

/* 0 when the pod cannot be there, for its claims that have devices. */
static bool read_claims(struct search *x, const struct pod *p)
{
    for (uint32_t i = 0; i < p->spec->resource_claims.n; i++) {
        const char *name = entry_claim(p, i);
        const struct resource_claim *c = name ? claim_named(x->d, name) : NULL;
        if (!c || c->obj.meta.deleted)
            return false;
        if (!c->status.allocation)
            x->claims[x->nclaims++] = c;
        else if (!claim_fits_node(c, x->node) && !can_be_freed(c, p))
            return false;
    }
    return true;
}

const char *search_place(const struct dra_sim *d, const struct pod *p)
{
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(d->s.nodes, &it));) {
        struct search x = { .d = d, .node = node_of(o) };
        if (!has_room(d, x.node) || !read_claims(&x, p))
            continue;
        see_devices(&x);
        if (try_request(&x, 0, 0))
            return o->meta.name;
    }
    return NULL;
}
