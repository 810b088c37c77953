/* plan.c - claims become what each of their requests asks for. */
#include "base/arena.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/dynamicresources/allocate.h"

struct making {
    struct plan *p;
    const struct objects *objects;
    const char *claim; /* "namespace/name" */
    const char *why;
};

static int refuse(struct making *m, const char *why)
{
    m->why = why;
    return -EINVAL;
}
#define REFUSE(m, ...) refuse((m), arena_printf((m)->p->arena, __VA_ARGS__))

/* ---- requests -------------------------------------------------------------------------------- */

static int read_count(struct making *m, struct ask *to, const char *name)
{
    const char *mode = to->in->allocation_mode;

    if (*mode == '\0' || streq(mode, "ExactCount")) {
        /* 0 is what the server's default would have made 1. */
        int64_t count = to->in->count > 0 ? to->in->count : 1;
        to->count = (uint32_t)MIN(count, UINT32_MAX);
        return 0;
    }
    if (!streq(mode, "All"))
        return REFUSE(m, "claim %s, request %s: unsupported count mode %s", m->claim, name, mode);
    to->all = m->p->has_all = true;
    return 0;
}

static int read_selectors(struct making *m, struct ask *to, const char *name)
{
    const device_selectorlist *l = &to->in->selectors;

    for (uint32_t i = 0; i < l->n; i++)
        if (!l->items[i].cel || *l->items[i].cel->expression == '\0')
            return REFUSE(m,
                          "claim %s, request %s, selector #%u: CEL expression empty (unsupported "
                          "selector type?)",
                          m->claim, name, i);
    if (++m->p->nasks > PLAN_ASKS_MAX)
        return REFUSE(m, "claim %s, request %s: the pod has more than %d requests", m->claim, name,
                      PLAN_ASKS_MAX);
    to->selection = selection_of(m->p->in->selections, to->class, l);
    return 0;
}

static int read_ask(struct making *m, const struct device_ask *in, const char *name,
                    const char *request, struct ask *to)
{
    const char *class = in->device_class_name;

    *to = (struct ask){ .in = in, .request = request, .number = m->p->nasks };
    if (*class == '\0')
        return REFUSE(m,
                      "claim %s, request %s: missing device class name (unsupported request "
                      "type?)",
                      m->claim, name);
    const struct kobj *o = objects_get(m->objects, &kind_device_class, NULL, class);
    if (!o)
        return REFUSE(m,
                      "claim %s, request %s: could not retrieve device class %s: "
                      "deviceclass.resource.k8s.io \"%s\" not found",
                      m->claim, name, class, class);
    to->class = device_class_of(o);
    to->admin = in->admin_access.set && in->admin_access.v;
    if (to->admin && !m->p->in->gates.admin_access)
        return REFUSE(m,
                      "claim %s, request %s: admin access is requested, but the feature is "
                      "disabled",
                      m->claim, name);
    int r = read_selectors(m, to, name);
    return r < 0 ? r : read_count(m, to, name);
}

static int read_want(struct making *m, const struct device_request *in, struct want *to)
{
    struct arena *a = m->p->arena;
    uint32_t n = in->first_available.n;
    static const struct device_ask nothing = { .device_class_name = "", .allocation_mode = "" };

    to->in = in;
    to->n = in->exactly || n == 0 ? 1 : n;
    to->asks = arena_newn0(a, to->n, struct ask);
    if (in->exactly || n == 0)
        return read_ask(m, in->exactly ? in->exactly : &nothing, in->name, in->name, to->asks);
    if (!m->p->in->gates.prioritized_list)
        return REFUSE(m,
                      "claim %s, request %s: has subrequests, but the DRAPrioritizedList feature "
                      "is disabled",
                      m->claim, in->name);
    m->p->alternatives = true;
    for (uint32_t i = 0; i < n; i++) {
        const struct device_ask *sub = &in->first_available.items[i];
        int r = read_ask(m, sub, sub->name, arena_printf(a, "%s/%s", in->name, sub->name),
                         &to->asks[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- limits, constraints --------------------------------------------------------------------- */

/* As few devices as will do; those of All are known on nodes only. */
static int check_limit(struct making *m, const struct claim_plan *c)
{
    uint64_t devices = 0;

    for (uint32_t i = 0; i < c->nwants; i++) {
        uint32_t least = UINT32_MAX;
        for (uint32_t k = 0; k < c->wants[i].n; k++) {
            const struct ask *ask = &c->wants[i].asks[k];
            least = MIN(least, ask->all ? 0 : ask->count);
        }
        devices += least;
    }
    if (devices > CLAIM_DEVICES_MAX)
        return REFUSE(m, "claim %s: number of requested devices %ju exceeds the claim limit of %d",
                      m->claim, (uintmax_t)devices, CLAIM_DEVICES_MAX);
    return 0;
}

static bool names_ask(const struct device_constraint *c, const struct want *w, const struct ask *k)
{
    for (uint32_t i = 0; i < c->requests.n; i++)
        if (streq(c->requests.items[i], w->in->name) || streq(c->requests.items[i], k->request))
            return true;
    return c->requests.n == 0;
}

static void apply_rule(struct claim_plan *c, const struct device_constraint *in, uint32_t number)
{
    for (uint32_t i = 0; i < c->nwants; i++)
        for (uint32_t k = 0; k < c->wants[i].n; k++)
            if (names_ask(in, &c->wants[i], &c->wants[i].asks[k]))
                c->wants[i].asks[k].rules |= UINT64_C(1) << number;
}

static int read_rules(struct making *m, struct claim_plan *c)
{
    const struct device_claim *d = &c->claim->spec.devices;

    if (d->constraints.n > 64)
        return REFUSE(m, "claim %s: %u constraints exceed the limit of 64", m->claim,
                      d->constraints.n);
    c->rules = arena_newn0(m->p->arena, d->constraints.n, struct rule);
    for (uint32_t i = 0; i < d->constraints.n; i++) {
        const struct device_constraint *in = &d->constraints.items[i];
        struct rule *to = &c->rules[c->nrules++];
        to->distinct = !in->match_attribute && in->distinct_attribute && m->p->in->gates.consumable;
        to->attribute = to->distinct ? in->distinct_attribute : in->match_attribute;
        if (!to->attribute)
            return REFUSE(m,
                          "claim %s, constraint #%u: empty constraint (unsupported constraint "
                          "type?)",
                          m->claim, i);
        to->number = attribute_number(m->p->in->selections, to->attribute, &to->serial);
        apply_rule(c, in, i);
    }
    return 0;
}

static int read_claim(struct making *m, struct claim_plan *c)
{
    const struct device_claim *d = &c->claim->spec.devices;

    c->wants = arena_newn0(m->p->arena, d->requests.n, struct want);
    for (uint32_t i = 0; i < d->requests.n; i++) {
        int r = read_want(m, &d->requests.items[i], &c->wants[c->nwants++]);
        if (r < 0)
            return r;
    }
    int r = check_limit(m, c);
    if (r == 0)
        r = read_rules(m, c);
    return r;
}

int plan_make(struct pools *in, const struct objects *objects,
              const struct resource_claim *const *claims, uint32_t n,
              const struct patience *patience, struct arena *a, struct plan **ret,
              const char **ret_why)
{
    struct making m = { .p = arena_new0(a, struct plan), .objects = objects };

    *m.p = (struct plan){ .in = in, .claims = arena_newn0(a, n, struct claim_plan), .arena = a };
    for (uint32_t i = 0; i < n; i++) {
        struct claim_plan *c = &m.p->claims[m.p->n++];
        const struct objmeta *meta = &claims[i]->obj.meta;
        if (patience_is_over(patience))
            return -ETIMEDOUT;
        c->claim = claims[i];
        c->key = m.claim = arena_printf(a, "%s/%s", meta->ns, meta->name);
        if (read_claim(&m, c) < 0) {
            *ret_why = m.why;
            return -EINVAL;
        }
    }
    *ret = m.p;
    return 0;
}
