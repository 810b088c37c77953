/* fuzz_draallocate.c - ResourceSlices, DeviceClasses and ResourceClaims through the allocator.
 *
 * The input is {"node":{..},"slices":[..],"classes":[..],"held":[..],"claims":[..]}: a Node, what
 * drivers and administrators have written, claims that have devices and claims that want some.
 * However odd they are: a refusal says why, no device that is taken is given, none twice, all that
 * was asked for or nothing; and on small inputs the choice is the first one that a search finds
 * which tries everything. Once with the features of a default cluster, once with all: the reference
 * computes taints, counters and parts of devices from the objects alone, in its own numbers.
 */
#include "api/node.h"
#include "api/reslist.h"
#include "base/arena.h"
#include "base/intern.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/dynamicresources/allocate.h"
#include "json/kj.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SLOTS_MAX = 6, PLACES_MAX = 9, LOOKS_MAX = 200000, TRIES_MAX = 100000 };

/* ---- numbers of the reference ----------------------------------------------------------------- */

/* It counts in thousandths, and only what is exact and far from every bound. */
#define AMOUNT_MAX (INT64_C(1) << 50)

static bool is_plain(struct qty q)
{
    return qty_fits_i64(q, -3) && qty_milli(q) >= 0 && qty_milli(q) <= AMOUNT_MAX &&
           qty_cmp(qty_from_milli(qty_milli(q), QTY_DECIMAL_SI), q) == 0;
}

static bool are_plain(const reslist *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (!is_plain(l->items[i].value))
            return false;
    return true;
}

static bool is_plain_or_absent(const struct qty *q)
{
    return !q || is_plain(*q);
}

static int64_t whole_units(const struct qty *q)
{
    return (qty_milli(*q) + 999) / 1000;
}

static bool is_plain_range(const struct capacity_range *r, int64_t fallback)
{
    return r->min && is_plain(*r->min) && is_plain_or_absent(r->max) &&
           is_plain_or_absent(r->step) && fallback >= qty_milli(*r->min) &&
           (!r->max || fallback <= qty_milli(*r->max));
}

/* A policy as the API server lets it be: what is taken by default is valid too. */
static bool is_plain_policy(const struct capacity_policy *p)
{
    bool found = p->valid_values.n == 0;

    if (!p->default_value)
        return !p->valid_range && p->valid_values.n == 0;
    for (uint32_t i = 0; i < p->valid_values.n; i++) {
        found |= qty_cmp(p->valid_values.items[i], *p->default_value) == 0;
        if (!is_plain(p->valid_values.items[i]))
            return false;
    }
    return found && is_plain(*p->default_value) &&
           (!p->valid_range || (p->valid_values.n == 0 &&
                                is_plain_range(p->valid_range, qty_milli(*p->default_value))));
}

/* What a request takes of a capacity, in thousandths; negative: it cannot have that. */
static int64_t range_amount(const struct capacity_range *r, int64_t asked)
{
    int64_t takes = MAX(asked, qty_milli(*r->min));

    if (asked >= qty_milli(*r->min) && r->step && qty_milli(*r->step) > 0) {
        int64_t min = whole_units(r->min), step = whole_units(r->step);
        int64_t over = MAX((asked + 999) / 1000 - min, 0);
        takes = (min + (over + step - 1) / step * step) * 1000;
    }
    return r->max && takes > qty_milli(*r->max) ? -1 : takes;
}

static int64_t value_amount(const struct capacity_policy *p, int64_t asked)
{
    int64_t takes = -1;

    for (uint32_t i = 0; i < p->valid_values.n; i++) {
        int64_t v = qty_milli(p->valid_values.items[i]);
        if (v >= asked && (takes < 0 || v < takes))
            takes = v;
    }
    return takes;
}

static int64_t amount_of(const struct device_capacity *c, const struct qty *asked)
{
    const struct capacity_policy *p = c->policy;

    if (!asked)
        return qty_milli(p && p->default_value ? *p->default_value : c->value);
    if (p && p->valid_range)
        return range_amount(p->valid_range, qty_milli(*asked));
    if (p && p->valid_values.n)
        return value_amount(p, qty_milli(*asked));
    return qty_milli(*asked);
}

/* ---- the reference --------------------------------------------------------------------------- */

struct place {
    struct pool *pool;
    uint32_t device;
    bool taken;
};
struct reference {
    const struct plan *plan;
    const struct objects *held;
    struct dra_gates gates;
    struct place places[PLACES_MAX];
    uint32_t nplaces;
    struct choice {
        uint32_t place, claim;
        const struct ask *ask;
    } picks[2 * PLACES_MAX];
    uint32_t n;
    uint32_t tries; /* beyond TRIES_MAX nothing is compared */
};

static bool has_bit(const uint64_t *bits, uint32_t i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

static bool accepts(const struct reference *r, const struct ask *k, uint32_t place)
{
    const struct place *p = &r->places[place];
    return has_bit(match_of(p->pool, k->selection)->accepted, p->device);
}

static struct attr_value value_of(const struct reference *r, const struct rule *rule,
                                  uint32_t place)
{
    const struct place *p = &r->places[place];
    return attr_column_of(p->pool, rule->number, rule->serial, rule->attribute)->values[p->device];
}

static const struct pool_device *device_of(const struct reference *r, uint32_t place)
{
    return &r->places[place].pool->devices[r->places[place].device];
}

static bool is_shared(const struct reference *r, uint32_t place)
{
    return r->gates.consumable && device_of(r, place)->d->allow_multiple_allocations.v;
}

static bool is_of(const struct device_result *x, const struct pool *p, const char *device)
{
    return !x->admin_access.v && streq(x->driver, p->driver) && streq(x->pool, p->name) &&
           streq(x->device, device);
}

/* The results of claims that have the device, one after the other; NULL: no more. */
static const struct device_result *next_holder(const struct reference *r, const struct pool *p,
                                               const char *device, size_t *it, uint32_t *at)
{
    struct kobj *o;

    for (size_t now = *it; (o = objects_next(r->held, &kind_resource_claim, &now));
         *it = now, *at = 0) {
        const struct claim_allocation *a = resource_claim_of(o)->status.allocation;
        for (uint32_t i = *at; a && i < a->devices.results.n; i++)
            if (is_of(&a->devices.results.items[i], p, device)) {
                *at = i + 1;
                return &a->devices.results.items[i];
            }
    }
    return NULL;
}

/* ---- what gates say --------------------------------------------------------------------------- */

static bool is_tolerated(const struct device_taint *t, const device_tolerationlist *by)
{
    for (uint32_t i = 0; i < by->n; i++) {
        const struct device_toleration *x = &by->items[i];
        bool effect = x->effect == DEVICE_TAINT_UNKNOWN || x->effect == t->effect;
        bool key = *x->key == '\0' || streq(x->key, t->key);
        if (effect && key && (x->op == DEVICE_TOL_EXISTS || streq(x->value, t->value)))
            return true;
    }
    return false;
}

static bool taints_allow(const struct reference *r, const struct ask *k, uint32_t place)
{
    const device_taintlist *l = &device_of(r, place)->d->taints;

    for (uint32_t i = 0; r->gates.taints && i < l->n; i++)
        if ((l->items[i].effect == DEVICE_TAINT_NO_SCHEDULE ||
             l->items[i].effect == DEVICE_TAINT_NO_EXECUTE) &&
            !is_tolerated(&l->items[i], &k->in->tolerations))
            return false;
    return true;
}

/* What a device needs of a counter, which may be nothing; NULL: it does not name it. */
static const struct qty *units_of(const struct slice_device *d, const char *set,
                                  const char *counter)
{
    for (uint32_t i = 0; i < d->consumes_counters.n; i++) {
        const struct device_counters *c = &d->consumes_counters.items[i];
        for (uint32_t k = 0; streq(c->name, set) && k < c->counters.n; k++)
            if (streq(c->counters.items[k].name, counter))
                return &c->counters.items[k].value.value;
    }
    return NULL;
}

static int64_t milli_or_0(const struct qty *q)
{
    return q ? qty_milli(*q) : 0;
}

/* Devices that claims have count once, those of the search as often as they are chosen. */
static bool counter_allows(const struct reference *r, uint32_t place, const char *set,
                           const struct device_counter_entry *c)
{
    const struct pool *p = r->places[place].pool;
    const struct qty *wanted = units_of(device_of(r, place)->d, set, c->name);
    int64_t left = qty_milli(c->value.value);

    for (uint32_t i = 0; i < p->ndevices; i++) {
        size_t it = 0;
        uint32_t at = 0;
        if (next_holder(r, p, p->devices[i].d->name, &it, &at))
            left -= milli_or_0(units_of(p->devices[i].d, set, c->name));
    }
    for (uint32_t i = 0; i < r->n; i++)
        if (r->places[r->picks[i].place].pool == p && !r->picks[i].ask->admin)
            left -= milli_or_0(units_of(device_of(r, r->picks[i].place)->d, set, c->name));
    return !wanted || left >= qty_milli(*wanted);
}

static bool counters_allow(const struct reference *r, const struct ask *k, uint32_t place)
{
    const struct pool *p = r->places[place].pool;

    for (uint32_t i = 0; r->gates.partitionable && !k->admin && i < p->nslices; i++) {
        const device_counterslist *sets = &p->slices[i].slice->spec.shared_counters;
        for (uint32_t x = 0; x < sets->n; x++)
            for (uint32_t y = 0; y < sets->items[x].counters.n; y++)
                if (!counter_allows(r, place, sets->items[x].name,
                                    &sets->items[x].counters.items[y]))
                    return false;
    }
    return true;
}

/* What claims have of a capacity, and the picks so far, administrators' too. */
static int64_t given_of(const struct reference *r, uint32_t place,
                        const struct device_capacity_entry *c)
{
    const struct pool *p = r->places[place].pool;
    const struct device_result *x;
    int64_t given = 0;
    uint32_t at = 0;

    for (size_t it = 0; (x = next_holder(r, p, device_of(r, place)->d->name, &it, &at));)
        given += qty_milli(reslist_get(&x->consumed_capacity, c->name));
    for (uint32_t i = 0; i < r->n; i++)
        if (r->picks[i].place == place)
            given += amount_of(&c->value,
                               reslist_find(&r->picks[i].ask->in->capacity.requests, c->name));
    return given;
}

static bool capacity_allows(const struct reference *r, const struct ask *k, uint32_t place)
{
    const struct slice_device *d = device_of(r, place)->d;
    const reslist *asked = &k->in->capacity.requests;
    uint32_t known = 0;

    for (uint32_t i = 0; r->gates.consumable && i < d->capacity.n; i++) {
        const struct device_capacity_entry *c = &d->capacity.items[i];
        int64_t takes = amount_of(&c->value, reslist_find(asked, c->name));
        bool counts = is_shared(r, place) && !k->admin;
        known += reslist_has(asked, c->name);
        if (takes < 0 || (!c->value.policy && takes > qty_milli(c->value.value)) ||
            (counts && given_of(r, place, c) + takes > qty_milli(c->value.value)))
            return false;
    }
    return !r->gates.consumable || known == asked->n;
}

/* ---- the search ------------------------------------------------------------------------------- */

static bool rules_allow(const struct reference *r, uint32_t claim, const struct ask *k,
                        uint32_t place)
{
    const struct claim_plan *c = &r->plan->claims[claim];

    for (uint32_t x = 0; x < c->nrules; x++) {
        if (!(k->rules >> x & 1))
            continue;
        struct attr_value v = value_of(r, &c->rules[x], place);
        if (v.type == ATTR_ABSENT)
            return false;
        for (uint32_t i = 0; i < r->n; i++)
            if (r->picks[i].claim == claim && r->picks[i].ask->rules >> x & 1 &&
                attr_value_equal(v, value_of(r, &c->rules[x], r->picks[i].place)) ==
                    c->rules[x].distinct)
                return false;
    }
    return true;
}

static bool is_allowed(const struct reference *r, uint32_t claim, const struct ask *k,
                       uint32_t place)
{
    if (!accepts(r, k, place) || (r->places[place].taken && !k->admin))
        return false;
    for (uint32_t i = 0; i < r->n && !is_shared(r, place); i++)
        if (r->picks[i].place == place && (!k->admin || r->picks[i].claim == claim))
            return false;
    return taints_allow(r, k, place) && capacity_allows(r, k, place) &&
           counters_allow(r, k, place) && rules_allow(r, claim, k, place);
}

static bool try_want(struct reference *r, uint32_t claim, uint32_t want);

static bool try_slots(struct reference *r, uint32_t claim, uint32_t want, const struct ask *k,
                      uint32_t left)
{
    if (left == 0)
        return try_want(r, claim, want + 1);
    for (uint32_t i = 0; i < r->nplaces && r->tries <= TRIES_MAX; i++) {
        r->tries++;
        if (!is_allowed(r, claim, k, i))
            continue;
        r->picks[r->n++] = (struct choice){ i, claim, k };
        if (try_slots(r, claim, want, k, left - 1))
            return true;
        r->n--;
    }
    return false;
}

static bool try_all(struct reference *r, uint32_t claim, uint32_t want, const struct ask *k)
{
    uint32_t before = r->n;

    for (uint32_t i = 0; i < r->nplaces; i++) {
        if (!accepts(r, k, i))
            continue;
        if (!is_allowed(r, claim, k, i) || r->n == ARRAY_LEN(r->picks)) {
            r->n = before;
            return false;
        }
        r->picks[r->n++] = (struct choice){ i, claim, k };
    }
    if (r->n > before && try_want(r, claim, want + 1))
        return true;
    r->n = before;
    return false;
}

static bool try_want(struct reference *r, uint32_t claim, uint32_t want)
{
    if (claim == r->plan->n)
        return true;
    const struct claim_plan *c = &r->plan->claims[claim];
    if (want == c->nwants)
        return try_want(r, claim + 1, 0);
    for (uint32_t i = 0; i < c->wants[want].n; i++) {
        const struct ask *k = &c->wants[want].asks[i];
        if (k->all ? try_all(r, claim, want, k) : try_slots(r, claim, want, k, k->count))
            return true;
    }
    return false;
}

/* ---- what is compared ------------------------------------------------------------------------- */

static bool is_plain_device(const struct slice_device *d)
{
    for (uint32_t i = 0; i < d->capacity.n; i++) {
        const struct device_capacity *c = &d->capacity.items[i].value;
        if (!is_plain(c->value) ||
            (c->policy && !(d->allow_multiple_allocations.v && is_plain_policy(c->policy))))
            return false;
    }
    for (uint32_t i = 0; i < d->consumes_counters.n; i++) {
        const struct device_counters *set = &d->consumes_counters.items[i];
        for (uint32_t k = 0; k < i; k++)
            if (streq(set->name, d->consumes_counters.items[k].name))
                return false;
        for (uint32_t k = 0; k < set->counters.n; k++)
            if (!is_plain(set->counters.items[k].value.value))
                return false;
    }
    return true;
}

static bool is_plain_pool(const struct pool *p)
{
    for (uint32_t i = 0; i < p->ndevices; i++)
        if (!is_plain_device(p->devices[i].d))
            return false;
    for (uint32_t i = 0; i < p->nslices; i++) {
        const device_counterslist *sets = &p->slices[i].slice->spec.shared_counters;
        for (uint32_t k = 0; k < sets->n; k++)
            for (uint32_t c = 0; c < sets->items[k].counters.n; c++)
                if (!is_plain(sets->items[k].counters.items[c].value.value))
                    return false;
    }
    return true;
}

/* Of a rule that devices differ upstream remembers the last device of each request alone. */
static bool is_plain_ask(const struct claim_plan *c, const struct ask *k)
{
    for (uint32_t i = 0; i < c->nrules; i++)
        if (k->rules >> i & 1 && c->rules[i].distinct && (k->all || k->count > 1))
            return false;
    return are_plain(&k->in->capacity.requests);
}

static bool are_plain_claims(const struct reference *r)
{
    const struct plan *p = r->plan;
    struct kobj *o;

    for (uint32_t c = 0; c < p->n; c++)
        for (uint32_t i = 0; i < p->claims[c].nwants; i++)
            for (uint32_t k = 0; k < p->claims[c].wants[i].n; k++)
                if (!is_plain_ask(&p->claims[c], &p->claims[c].wants[i].asks[k]))
                    return false;
    for (size_t it = 0; (o = objects_next(r->held, &kind_resource_claim, &it));) {
        const struct claim_allocation *a = resource_claim_of(o)->status.allocation;
        for (uint32_t i = 0; a && i < a->devices.results.n; i++)
            if (!are_plain(&a->devices.results.items[i].consumed_capacity))
                return false;
    }
    return true;
}

static uint32_t slots_of(const struct plan *p)
{
    uint32_t slots = 0;

    for (uint32_t c = 0; c < p->n; c++)
        for (uint32_t i = 0; i < p->claims[c].nwants; i++) {
            uint32_t most = 0;
            for (uint32_t k = 0; k < p->claims[c].wants[i].n; k++)
                most = MAX(most, p->claims[c].wants[i].asks[k].count);
            slots += most;
            if (slots > SLOTS_MAX)
                return slots;
        }
    return slots;
}

/* Wholly: a share leaves something only of a device that may be shared. */
static bool is_taken(const struct reference *r, uint32_t place)
{
    const struct device_result *x;
    uint32_t at = 0;

    for (size_t it = 0;
         (x = next_holder(r, r->places[place].pool, device_of(r, place)->d->name, &it, &at));)
        if (!x->share_id || !is_shared(r, place))
            return true;
    return false;
}

/* False: too large to try everything, or with quantities that the reference does not count. */
static bool reference_make(struct reference *r, const struct node_devices *n)
{
    for (uint32_t w = 0; w < n->nwords; w++) {
        if (!is_plain_pool(n->words[w].pool))
            return false;
        for (uint64_t bits = n->words[w].visible; bits; bits &= bits - 1) {
            unsigned bit = (unsigned)__builtin_ctzll(bits);
            if (r->nplaces == PLACES_MAX)
                return false;
            r->places[r->nplaces] =
                (struct place){ n->words[w].pool, n->words[w].word * 64 + bit, false };
            r->places[r->nplaces].taken = is_taken(r, r->nplaces);
            r->nplaces++;
        }
    }
    return slots_of(r->plan) <= SLOTS_MAX && are_plain_claims(r);
}

static void compare_amounts(const struct reference *r, const struct choice *c, const struct pick *x)
{
    const struct slice_device *d = device_of(r, c->place)->d;

    assert(is_shared(r, c->place) == (x->consumed != NULL));
    for (uint32_t i = 0; x->consumed && i < d->capacity.n; i++)
        assert(qty_milli(x->consumed[i]) ==
               amount_of(&d->capacity.items[i].value,
                         reslist_find(&c->ask->in->capacity.requests, d->capacity.items[i].name)));
}

static void compare(struct reference *r, const struct node_devices *n, const struct outcome *o)
{
    if (o->found == FOUND_ERROR || o->found == FOUND_TIMEOUT || !reference_make(r, n))
        return;
    bool found = try_want(r, 0, 0);
    if (r->tries > TRIES_MAX)
        return;
    assert(found == (o->found == FOUND));
    assert(!found || r->n == o->n);
    for (uint32_t i = 0; found && i < r->n; i++) {
        assert(r->places[r->picks[i].place].pool == o->picks[i].pool &&
               r->places[r->picks[i].place].device == o->picks[i].device);
        compare_amounts(r, &r->picks[i], &o->picks[i]);
    }
}

/* ---- what must hold whatever is found -------------------------------------------------------- */

static void check_pick(const struct outcome *o, uint32_t i, const struct dra_gates *gates)
{
    const struct pick *x = &o->picks[i];

    assert(x->device < x->pool->ndevices && has_bit(x->pool->usable, x->device));
    assert(has_bit(match_of(x->pool, x->ask->selection)->accepted, x->device));
    if (x->ask->admin ||
        (gates->consumable && x->pool->devices[x->device].d->allow_multiple_allocations.v))
        return;
    assert(!has_bit(x->pool->taken, x->device));
    for (uint32_t k = 0; k < i; k++)
        assert(o->picks[k].pool != x->pool || o->picks[k].device != x->device);
}

static void no_id(void *arg, char out[37])
{
    (void)arg;
    out[0] = '\0';
}

static void check_found(const struct plan *p, const struct outcome *o, const struct node *node,
                        const struct dra_gates *gates, struct arena *a)
{
    const struct id_source ids = { no_id, NULL };
    struct claim_allocation *got = NULL;
    const char *why = NULL;
    uint32_t n = 0;

    for (uint32_t i = 0; i < o->n; i++)
        check_pick(o, i, gates);
    for (uint32_t i = 0; i < p->n; i++) {
        if (allocation_of(p, o, i, node, &ids, a, &got, &why) < 0) {
            assert(why && *why);
            return;
        }
        n += got->devices.results.n;
    }
    assert(n == o->n);
}

static bool is_over(void *arg)
{
    uint32_t *looks = arg;
    return ++*looks > LOOKS_MAX;
}

/* ---- input ----------------------------------------------------------------------------------- */

static void put_all(struct kj_scratch *s, struct objects *to, const struct kind *k,
                    const struct kj_val *list)
{
    struct kerr err = { 0 };

    for (size_t i = 0; i < kj_len(list); i++) {
        CLEANUP(kobj_unref) struct kobj *o = NULL;
        if (kobj_decode(k, kj_at(list, i), s, &o, &err) == 0)
            objects_put(to, o);
    }
}

struct input {
    struct objects *slices, *classes, *held, *claims;
    struct kobj *node;
};

static void allocate(const struct input *in, const struct dra_gates *gates, struct arena *a)
{
    CLEANUP(pools_free) struct pools *pools = pools_new(gates);
    const struct resource_claim *claims[8];
    struct plan *plan = NULL;
    const char *why = NULL;
    struct outcome o = { 0 };
    struct kobj *x;
    uint32_t n = 0, looks = 0;

    for (size_t it = 0; (x = objects_next(in->slices, &kind_resource_slice, &it));)
        pools_put_slice(pools, x);
    for (size_t it = 0; (x = objects_next(in->held, &kind_resource_claim, &it));)
        if (resource_claim_of(x)->status.allocation)
            pools_hold(pools, resource_claim_of(x)->status.allocation, x->meta.name);
    for (size_t it = 0;
         n < ARRAY_LEN(claims) && (x = objects_next(in->claims, &kind_resource_claim, &it));)
        claims[n++] = resource_claim_of(x);
    if (plan_make(pools, in->classes, claims, n, NULL, a, &plan, &why) < 0) {
        assert(why && *why);
    } else {
        const struct patience patience = { is_over, &looks };
        struct node_devices *nd = pools_node(pools, in->node->meta.name);
        node_devices_refresh(nd, node_of(in->node));
        search_node(plan, nd, &patience, a, &o);
        assert(o.found != FOUND_ERROR || (o.why && *o.why));
        assert(counts_say(plan, nd, &patience) != COUNTS_TOO_FEW || o.found != FOUND);
        if (o.found == FOUND)
            check_found(plan, &o, node_of(in->node), gates, a);
        struct reference r = { .plan = plan, .held = in->held, .gates = *gates };
        compare(&r, nd, &o);
    }
    for (size_t it = 0; (x = objects_next(in->held, &kind_resource_claim, &it));)
        if (resource_claim_of(x)->status.allocation)
            pools_give(pools, resource_claim_of(x)->status.allocation, x->meta.name);
    for (size_t it = 0; (x = objects_next(in->slices, &kind_resource_slice, &it));)
        pools_remove_slice(pools, x);
}

static void feed(struct kj_scratch *s, const struct kj_val *v, struct arena *a)
{
    const struct dra_gates some = { .admin_access = true, .prioritized_list = true };
    const struct dra_gates all = { true, true, true, true, true, true, true };
    struct kerr err = { 0 };
    struct input in = { objects_new(), objects_new(), objects_new(), objects_new(), NULL };

    put_all(s, in.slices, &kind_resource_slice, kj_get(v, "slices"));
    put_all(s, in.classes, &kind_device_class, kj_get(v, "classes"));
    put_all(s, in.held, &kind_resource_claim, kj_get(v, "held"));
    put_all(s, in.claims, &kind_resource_claim, kj_get(v, "claims"));
    if (kobj_decode(&kind_node, kj_get(v, "node"), s, &in.node, &err) == 0) {
        allocate(&in, &some, a);
        allocate(&in, &all, a);
    }
    kobj_unref(in.node);
    objects_free(in.slices);
    objects_free(in.classes);
    objects_free(in.held);
    objects_free(in.claims);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kj_scratch *s = kj_scratch_new(strings);
    struct arena *a = arena_new();
    struct kerr err = { 0 };

    if (kj_parse((const char *)data, size, KJ_RAW_NUMBERS, &doc, &err) == 0)
        feed(s, kj_root(doc), a);
    arena_free(a);
    kj_scratch_free(s);
    return 0;
}
