/* extended.c - extended resources of a pod that DeviceClasses back: what the special claim asks
 * for. */
#include "scheduler/plugins/dynamicresources/extended.h"

#include "api/pod.h"
#include "base/arena.h"
#include "base/num.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/backedresources/backedresources.h"
#include "scheduler/plugins/dynamicresources/claimcache.h"

/* ---- what the pod asks for ------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct backed *)a)->name, ((const struct backed *)b)->name);
}

static size_t container_count(const struct pod *p)
{
    return (size_t)p->spec->init_containers.n + p->spec->containers.n;
}

struct extended *extended_of(const struct claimcache *cc, const struct ks_pod *p,
                             const struct ks_nodes *nodes, struct arena *a)
{
    const struct objects *objects = cc->env.objects;
    struct extended *x = NULL;

    for (uint32_t i = 0; i < p->requests.nmore; i++) {
        const struct ks_request *r = &p->requests.more[i];
        const struct device_class *class = r->count > 0 ? backing_class(objects, r->name) : NULL;
        if (!class)
            continue;
        if (!x) {
            x = arena_new0(a, struct extended);
            x->items = arena_newn0(a, p->requests.nmore, struct backed);
        }
        x->items[x->n++] = (struct backed){ r->name, class, ks_column_of(nodes, r->name) };
    }
    if (!x)
        return NULL;
    if (x->n > EXTENDED_MAX)
        x->problem = arena_printf(
            a, "the pod asks for more than %d extended resources of device classes", EXTENDED_MAX);
    else if (container_count(p->pod) > EXTENDED_CONTAINERS_MAX)
        x->problem = arena_printf(
            a,
            "the pod has more than %d containers and asks for extended resources of device classes",
            EXTENDED_CONTAINERS_MAX);
    qsort(x->items, x->n, sizeof *x->items, by_name);
    x->old = specialclaims_of(&cc->specials, p->pod);
    return x;
}

uint32_t extended_mask(const struct extended *x, const struct ks_nodes *nodes, uint32_t row)
{
    uint32_t mask = 0;

    for (uint32_t i = 0; i < x->n; i++)
        if (x->items[i].column == KS_NO_COLUMN || nodes->alloc[x->items[i].column][row] == 0)
            mask |= 1u << i;
    return mask;
}

/* ---- requests of the special claim ----------------------------------------------------------- */

struct making {
    struct special_claim *to;
    struct arena *a;
    const struct container **all; /* init containers, then the others */
    uint32_t ninit, n;
    const char *resource, *class;
    struct device_request **lasting; /* [container]: of those that run as long as the pod; NULL */
};

static bool is_short(const struct making *m, uint32_t i)
{
    return i < m->ninit && m->all[i]->restart_policy != RESTART_ALWAYS;
}

/* How much the container asks for, and the place of the resource among its requests by name. */
static int64_t asked(const struct making *m, uint32_t i, uint32_t *ret_place)
{
    const reslist *l = &m->all[i]->resources.requests;
    int64_t count = 0;

    *ret_place = 0;
    for (uint32_t k = 0; k < l->n; k++) {
        if (streq(l->items[k].name, m->resource))
            count = resource_count(m->resource, l->items[k].value);
        *ret_place += strcmp(l->items[k].name, m->resource) < 0;
    }
    return count;
}

static void map(struct making *m, uint32_t container, const char *request)
{
    m->to->mappings[m->to->n++] = (struct mapping){ m->all[container]->name, m->resource, request };
}

static struct device_request *request_of(struct making *m, uint32_t i, uint32_t place,
                                         int64_t count)
{
    struct device_request *r = arena_new0(m->a, struct device_request);

    r->name = arena_printf(m->a, "container-%u-request-%u", i, place);
    r->exactly = arena_new0(m->a, struct device_ask);
    *r->exactly = (struct device_ask){
        .name = "", .device_class_name = m->class, .allocation_mode = "ExactCount", .count = count
    };
    return r;
}

/* An init container that ends uses the devices of those that run later; what it wants beyond these
 * is a request of its own, or NULL. */
static struct device_request *short_request(struct making *m, uint32_t i)
{
    uint32_t place;
    int64_t want = asked(m, i, &place), sum = 0;

    if (want <= 0)
        return NULL;
    for (uint32_t k = i; k < m->n && sum < want; k++)
        if (m->lasting[k]) {
            sum = i64_add_sat(sum, m->lasting[k]->exactly->count);
            map(m, i, m->lasting[k]->name);
        }
    if (sum >= want)
        return NULL;
    struct device_request *r = request_of(m, i, place, want - sum);
    map(m, i, r->name);
    return r;
}

static void add_request(struct making *m, const struct device_request *r)
{
    struct device_claim *d = &m->to->claim.spec.devices;

    d->requests.items[d->requests.n++] = *r;
}

/* Init containers run one after the other: the largest of their requests does for all. */
static void add_short(struct making *m)
{
    struct device_request *largest = NULL;
    uint32_t first = m->to->n;
    const char **names = arena_newn0(m->a, m->n + 1, const char *);
    uint32_t nnames = 0;

    for (uint32_t i = 0; i < m->ninit; i++) {
        struct device_request *r = is_short(m, i) ? short_request(m, i) : NULL;
        if (!r)
            continue;
        names[nnames++] = r->name;
        if (!largest || largest->exactly->count < r->exactly->count)
            largest = r;
    }
    for (uint32_t i = first; largest && i < m->to->n; i++)
        for (uint32_t k = 0; k < nnames; k++)
            if (streq(m->to->mappings[i].request, names[k]))
                m->to->mappings[i].request = largest->name;
    if (largest)
        add_request(m, largest);
}

static void add_resource(struct making *m, const struct backed *b)
{
    m->resource = b->name;
    m->class = b->class->obj.meta.name;
    m->lasting = arena_newn0(m->a, m->n, struct device_request *);
    for (uint32_t i = 0; i < m->n; i++) {
        uint32_t place;
        int64_t want = is_short(m, i) ? 0 : asked(m, i, &place);
        if (want <= 0)
            continue;
        m->lasting[i] = request_of(m, i, place, want);
        map(m, i, m->lasting[i]->name);
    }
    add_short(m);
    for (uint32_t i = 0; i < m->n; i++)
        if (m->lasting[i])
            add_request(m, m->lasting[i]);
}

static int by_request(const void *a, const void *b)
{
    return strcmp(((const struct device_request *)a)->name,
                  ((const struct device_request *)b)->name);
}

struct special_claim *special_claim_of(const struct extended *x, uint32_t mask, const struct pod *p,
                                       struct kuid uid, struct arena *a)
{
    struct special_claim *s = arena_new0(a, struct special_claim);
    struct making m = { .to = s, .a = a };
    struct device_claim *d = &s->claim.spec.devices;

    m.ninit = p->spec->init_containers.n;
    m.n = m.ninit + p->spec->containers.n;
    m.all = arena_newn0(a, m.n, const struct container *);
    for (uint32_t i = 0; i < m.n; i++)
        m.all[i] = i < m.ninit ? &p->spec->init_containers.items[i]
                               : &p->spec->containers.items[i - m.ninit];
    d->requests.items = arena_newn0(a, x->n * m.n, struct device_request);
    s->mappings = arena_newn0(a, x->n * m.n * (m.n + 1), struct mapping);
    for (uint32_t i = 0; i < x->n; i++)
        if (mask >> i & 1)
            add_resource(&m, &x->items[i]);
    if (d->requests.n)
        qsort(d->requests.items, d->requests.n, sizeof *d->requests.items, by_request);
    s->claim.obj.kind = &kind_resource_claim;
    s->claim.obj.meta.ns = p->obj.meta.ns;
    s->claim.obj.meta.name = "<extended-resources>"; /* until it has one, as upstream */
    s->claim.obj.meta.uid = uid;
    return s;
}
