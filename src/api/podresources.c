/* podresources.c - totals of a pod. */
#include "api/podresources.h"

/* ---- lists under construction ---------------------------------------------------------------- */

/* A sorted list that grows in an arena: a pod has a handful of resources. */
struct total {
    reslist list;
    uint32_t cap;
    struct arena *arena;
};

static uint32_t position(const reslist *l, const char *name, bool *ret_found)
{
    uint32_t i = 0;
    int c = 1;
    while (i < l->n && l->items[i].name != name && (c = strcmp(l->items[i].name, name)) < 0)
        i++;
    *ret_found = i < l->n && (l->items[i].name == name || c == 0);
    return i;
}

static struct resqty *insert(struct total *t, uint32_t at, const char *name)
{
    if (t->list.n == t->cap) {
        uint32_t cap = t->cap ? t->cap * 2 : 8;
        struct resqty *items = arena_newn0(t->arena, cap, struct resqty);
        if (t->list.n)
            memcpy(items, t->list.items, t->list.n * sizeof *items);
        t->list.items = items;
        t->cap = cap;
    }
    memmove(t->list.items + at + 1, t->list.items + at, (t->list.n - at) * sizeof *t->list.items);
    t->list.n++;
    t->list.items[at] = (struct resqty){ .name = name };
    return &t->list.items[at];
}

enum how { ADD, MAX_OF, REPLACE };

static void total_apply(struct total *t, enum how how, const char *name, struct qty value)
{
    bool found;
    uint32_t at = position(&t->list, name, &found);
    struct resqty *r = found ? &t->list.items[at] : insert(t, at, name);

    if (!found || how == REPLACE)
        r->value = value;
    else if (how == ADD)
        r->value = qty_add(r->value, value);
    else if (qty_cmp(value, r->value) > 0)
        r->value = value;
}

static void total_list(struct total *t, enum how how, const reslist *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        total_apply(t, how, l->items[i].name, l->items[i].value);
}

/* ---- one container --------------------------------------------------------------------------- */

struct calc {
    const struct pod_spec *spec;
    const struct pod_status *status; /* NULL: not to be looked at */
    const struct podres_options *o;
    bool limits; /* else requests */
    bool infeasible;
    struct arena *arena;
};

static const struct container_status *find_status(const containerstatuslist *l, const char *name)
{
    for (uint32_t i = l->n; i-- > 0;) /* the last of a name wins, as in upstream's map */
        if (streq(l->items[i].name, name))
            return &l->items[i];
    return NULL;
}

static const struct container_status *status_of(const struct calc *c, const char *name)
{
    const struct container_status *cs = find_status(&c->status->init_container_statuses, name);
    return cs ? cs : find_status(&c->status->container_statuses, name);
}

static const reslist *spec_list(const struct calc *c, const struct container *ct)
{
    return c->limits ? &ct->resources.limits : &ct->resources.requests;
}

/* What the container holds or may hold while its new size is not yet everywhere: the maximum of
 * wish, allocation and what runs. A wish that cannot come true on this node does not count. */
static reslist resized(const struct calc *c, const struct container *ct,
                       const struct container_status *cs)
{
    struct total t = { .arena = c->arena };
    if (!c->infeasible)
        total_list(&t, MAX_OF, spec_list(c, ct));
    if (c->limits) {
        total_list(&t, MAX_OF, &cs->resources->limits);
    } else {
        total_list(&t, MAX_OF, &cs->resources->requests);
        total_list(&t, MAX_OF, &cs->allocated_resources);
    }
    return t.list;
}

static reslist with_defaults(const struct calc *c, reslist l)
{
    struct total t = { .arena = c->arena };
    total_list(&t, REPLACE, c->o->non_missing);
    total_list(&t, REPLACE, &l);
    return t.list;
}

/* runs: regular containers and sidecars, whose status tells what they hold. */
static reslist container_list(const struct calc *c, const struct container *ct, bool runs)
{
    reslist l = *spec_list(c, ct);
    if (c->status && runs) {
        const struct container_status *cs = status_of(c, ct->name);
        if (cs && cs->resources)
            l = resized(c, ct, cs);
    }
    if (!c->limits && c->o->non_missing && c->o->non_missing->n)
        l = with_defaults(c, l);
    return l;
}

/* ---- the pod --------------------------------------------------------------------------------- */

/* Init containers run one after the other, beside the sidecars started before them. Sidecars stay,
 * so they add to the sum of the regular containers too. */
static void add_init_containers(const struct calc *c, struct total *sum)
{
    struct total sidecars = { .arena = c->arena }, peak = { .arena = c->arena };

    for (uint32_t i = 0; i < c->spec->init_containers.n; i++) {
        const struct container *ct = &c->spec->init_containers.items[i];
        bool sidecar = container_is_sidecar(ct);
        reslist l = container_list(c, ct, sidecar);
        struct total now = { .arena = c->arena };
        if (sidecar) {
            total_list(sum, ADD, &l);
            total_list(&sidecars, ADD, &l);
        } else {
            total_list(&now, ADD, &l);
        }
        total_list(&now, ADD, &sidecars.list);
        total_list(&peak, MAX_OF, &now.list);
    }
    total_list(sum, MAX_OF, &peak.list);
}

static bool is_pod_level(const char *name)
{
    return streq(name, "cpu") || streq(name, "memory") || str_starts(name, "hugepages-");
}

static bool any_pod_level(const reslist *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (is_pod_level(l->items[i].name))
            return true;
    return false;
}

bool pod_level_requests_set(const struct pod_spec *s)
{
    return s->resources && any_pod_level(&s->resources->requests);
}

static void apply_pod_level(const struct calc *c, struct total *t)
{
    if (c->o->skip_pod_level || !c->spec->resources)
        return;
    const reslist *l = c->limits ? &c->spec->resources->limits : &c->spec->resources->requests;
    for (uint32_t i = 0; i < l->n; i++)
        if (is_pod_level(l->items[i].name))
            total_apply(t, REPLACE, l->items[i].name, l->items[i].value);
}

/* To requests always; to limits only where there is one (0 means no limit). */
static void add_overhead(const struct calc *c, struct total *t)
{
    const reslist *overhead = &c->spec->overhead;
    for (uint32_t i = 0; i < overhead->n && !c->o->exclude_overhead; i++) {
        const char *name = overhead->items[i].name;
        if (!c->limits || !qty_is_zero(reslist_get(&t->list, name)))
            total_apply(t, ADD, name, overhead->items[i].value);
    }
}

static bool resize_infeasible(const struct pod_status *s)
{
    const struct condition *c = condition_find(&s->conditions, "PodResizePending");
    return c && streq(c->reason, "Infeasible");
}

static reslist compute(const struct pod_spec *spec, const struct pod_status *status, bool limits,
                       const struct podres_options *o, struct arena *a)
{
    static const struct podres_options none;
    struct calc c = { .spec = spec, .limits = limits, .o = o ? o : &none, .arena = a };
    struct total sum = { .arena = a };

    if (status && c.o->use_status) {
        c.status = status;
        c.infeasible = resize_infeasible(status);
    }
    for (uint32_t i = 0; i < spec->containers.n; i++) {
        reslist l = container_list(&c, &spec->containers.items[i], true);
        total_list(&sum, ADD, &l);
    }
    add_init_containers(&c, &sum);
    apply_pod_level(&c, &sum);
    add_overhead(&c, &sum);
    return sum.list;
}

reslist pod_requests(const struct pod *p, const struct podres_options *o, struct arena *a)
{
    return compute(p->spec, &p->status, false, o, a);
}

reslist pod_limits(const struct pod *p, const struct podres_options *o, struct arena *a)
{
    return compute(p->spec, &p->status, true, o, a);
}

reslist pod_spec_requests(const struct pod_spec *s, const struct podres_options *o, struct arena *a)
{
    return compute(s, NULL, false, o, a);
}

reslist pod_spec_limits(const struct pod_spec *s, const struct podres_options *o, struct arena *a)
{
    return compute(s, NULL, true, o, a);
}

rescountlist reslist_counts(const reslist *l, struct arena *a)
{
    rescountlist out = { arena_newn0(a, l->n, struct rescount), l->n };
    for (uint32_t i = 0; i < l->n; i++)
        out.items[i] = (struct rescount){ l->items[i].name,
                                          resource_count(l->items[i].name, l->items[i].value) };
    return out;
}
