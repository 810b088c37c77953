/* result.c - a choice of devices as it is written into a claim's status. */
#include "api/node.h"
#include "base/arena.h"
#include "scheduler/plugins/dynamicresources/allocate.h"

/* ---- devices --------------------------------------------------------------------------------- */

static reslist consumed_of(const struct pick *k, const struct slice_device *d, struct arena *a)
{
    reslist l = { .items = arena_newn0(a, d->capacity.n, struct resqty), .n = d->capacity.n };

    for (uint32_t i = 0; i < l.n; i++)
        l.items[i] = (struct resqty){ d->capacity.items[i].name, k->consumed[i] };
    return l;
}

static struct device_result result_of(const struct pick *k, const struct id_source *ids,
                                      struct arena *a)
{
    const struct slice_device *d = k->pool->devices[k->device].d;
    struct device_result r = { .request = k->ask->request,
                               .driver = k->pool->driver,
                               .pool = k->pool->name,
                               .device = d->name,
                               .tolerations = k->ask->in->tolerations,
                               .binding_conditions = d->binding_conditions,
                               .binding_failure_conditions = d->binding_failure_conditions };

    if (k->ask->admin)
        r.admin_access = (struct opt_bool){ true, true };
    if (k->consumed) {
        char *id = arena_zalloc(a, 37);
        ids->next(ids->arg, id);
        r.share_id = id;
        r.consumed_capacity = consumed_of(k, d, a);
    }
    return r;
}

/* ---- configuration --------------------------------------------------------------------------- */

struct chosen { /* what was chosen for a request of the claim */
    const struct want *want;
    const struct ask *ask;
};

static void add_config(device_configlist *to, const char *source, kstrlist requests,
                       const struct device_config *from)
{
    to->items[to->n++] =
        (struct device_config){ .source = source, .requests = requests, .opaque = from->opaque };
}

/* Of each class once, with the requests that use it. */
static void add_class_configs(device_configlist *to, const struct chosen *c, uint32_t n,
                              struct arena *a)
{
    for (uint32_t i = 0; i < n; i++) {
        const device_configlist *configs = &c[i].ask->class->spec.config;
        kstrlist requests = { .items = arena_newn0(a, n, const char *) };
        bool seen = false;
        for (uint32_t k = 0; k < i; k++)
            seen |= c[k].ask->class == c[i].ask->class;
        for (uint32_t k = i; k < n && !seen; k++)
            if (c[k].ask->class == c[i].ask->class)
                requests.items[requests.n++] = c[k].ask->request;
        for (uint32_t k = 0; k < configs->n && !seen; k++)
            add_config(to, "FromClass", requests, &configs->items[k]);
    }
}

/* One that names several of the requests stands there several times, as upstream has it. */
static void add_claim_configs(device_configlist *to, const struct device_claim *d,
                              const struct chosen *c, uint32_t n)
{
    for (uint32_t i = 0; i < d->config.n; i++) {
        const struct device_config *from = &d->config.items[i];
        if (from->requests.n == 0)
            add_config(to, "FromClaim", from->requests, from);
        for (uint32_t k = 0; k < n; k++) {
            bool named = false;
            for (uint32_t r = 0; r < from->requests.n; r++)
                named |= streq(from->requests.items[r], c[k].want->in->name) ||
                         streq(from->requests.items[r], c[k].ask->request);
            if (named)
                add_config(to, "FromClaim", from->requests, from);
        }
    }
}

static device_configlist configs_of(const struct claim_plan *cp, const struct chosen *c, uint32_t n,
                                    struct arena *a)
{
    device_configlist to = { 0 };
    size_t most = (size_t)cp->claim->spec.devices.config.n * (n + 1);

    for (uint32_t i = 0; i < n; i++)
        most += c[i].ask->class->spec.config.n;
    to.items = arena_newn0(a, most, struct device_config);
    add_class_configs(&to, c, n, a);
    add_claim_configs(&to, &cp->claim->spec.devices, c, n);
    return to;
}

/* ---- where it can be used -------------------------------------------------------------------- */

static bool is_set(struct opt_bool b)
{
    return b.set && b.v;
}

static struct node_selector *this_node(const struct node *node, struct arena *a)
{
    struct node_selector *s = arena_new0(a, struct node_selector);
    struct node_selector_term *t = arena_new0(a, struct node_selector_term);
    struct selreq *r = arena_new0(a, struct selreq);
    const char **value = arena_new0(a, const char *);

    *value = node->obj.meta.name;
    *r = (struct selreq){ .key = "metadata.name",
                          .values = { .items = value, .n = 1 },
                          .op = SELOP_IN };
    t->match_fields.items = r;
    t->match_fields.n = 1;
    s->terms.items = t;
    s->terms.n = 1;
    return s;
}

static bool same_requirement(const struct selreq *a, const struct selreq *b)
{
    bool same = a->op == b->op && streq(a->key, b->key) && a->values.n == b->values.n;

    for (uint32_t i = 0; same && i < a->values.n; i++)
        same = streq(a->values.items[i], b->values.items[i]);
    return same;
}

static void add_requirements(selreqlist *to, const selreqlist *from, struct arena *a)
{
    struct selreq *all = arena_newn0(a, (size_t)to->n + from->n, struct selreq);

    for (uint32_t i = 0; i < to->n; i++)
        all[i] = to->items[i];
    to->items = all;
    for (uint32_t i = 0; i < from->n; i++) {
        bool known = false;
        for (uint32_t k = 0; k < to->n; k++)
            known |= same_requirement(&to->items[k], &from->items[i]);
        if (!known)
            to->items[to->n++] = from->items[i];
    }
}

/* Where one device is: on the node, where a selector says, or (neither) everywhere. */
static bool place_of(const struct pick *k, const struct dra_gates *g,
                     const struct node_selector **ret)
{
    const struct pool_device *d = &k->pool->devices[k->device];
    const struct slice_spec *s = &pool_slice_of(k->pool, d)->slice->spec;
    bool own = is_set(s->per_device_node_selection);

    *ret = own ? d->d->node_selector : s->node_selector;
    if (g->binding_conditions && is_set(d->d->binds_to_node))
        return true;
    return (own ? d->d->node_name : s->node_name) != NULL;
}

static int selector_of(const struct plan *p, const struct outcome *o, uint32_t claim,
                       const struct node *node, struct arena *a, struct node_selector **ret,
                       const char **ret_why)
{
    struct node_selector_term *t = arena_new0(a, struct node_selector_term);
    const struct node_selector *s;

    *ret = NULL;
    for (uint32_t i = 0; i < o->n; i++)
        if (o->picks[i].claim == claim && place_of(&o->picks[i], &p->in->gates, &s)) {
            *ret = this_node(node, a);
            return 0;
        }
    for (uint32_t i = 0; i < o->n; i++) {
        if (o->picks[i].claim != claim || (place_of(&o->picks[i], &p->in->gates, &s), !s))
            continue;
        if (s->terms.n != 1) {
            *ret_why = arena_printf(a,
                                    "create NodeSelector for claim %s: unsupported "
                                    "ResourceSlice.NodeSelector with %u terms",
                                    p->claims[claim].claim->obj.meta.name, s->terms.n);
            return -EINVAL;
        }
        add_requirements(&t->match_expressions, &s->terms.items[0].match_expressions, a);
        add_requirements(&t->match_fields, &s->terms.items[0].match_fields, a);
    }
    if (t->match_expressions.n + t->match_fields.n == 0)
        return 0;
    *ret = arena_new0(a, struct node_selector);
    (*ret)->terms.items = t;
    (*ret)->terms.n = 1;
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

int allocation_of(const struct plan *p, const struct outcome *o, uint32_t claim,
                  const struct node *node, const struct id_source *ids, struct arena *a,
                  struct claim_allocation **ret, const char **ret_why)
{
    struct claim_allocation *to = arena_new0(a, struct claim_allocation);
    const struct claim_plan *cp = &p->claims[claim];
    struct chosen *chosen = arena_newn0(a, cp->nwants, struct chosen);
    uint32_t n = 0;

    to->devices.results.items = arena_newn0(a, o->n, struct device_result);
    for (uint32_t i = 0; i < o->n; i++) {
        const struct pick *k = &o->picks[i];
        const struct want *w = &cp->wants[k->want];
        if (k->claim != claim)
            continue;
        to->devices.results.items[to->devices.results.n++] = result_of(k, ids, a);
        if (n == 0 || chosen[n - 1].want != w)
            chosen[n++] = (struct chosen){ w, k->ask };
    }
    to->devices.config = configs_of(cp, chosen, n, a);
    int r = selector_of(p, o, claim, node, a, &to->node_selector, ret_why);
    if (r == 0)
        *ret = to;
    return r;
}
