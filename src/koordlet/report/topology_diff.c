/* topology_diff.c - what to change in the stored NodeResourceTopology. */
#include "api/protocol/protocol.h"
#include "koordlet/report/object.h"
#include "koordlet/report/topology.h"
#include "json/kj.h"

/* Labels that are ours even while they are not set. */
static const char *const own_labels[] = { LABEL_ENABLE_NUMA_RESERVATION };

/* ---- annotations and labels ------------------------------------------------------------------ */

static bool label_differs(const char *key, const kstrmap *own, const kstrmap *stored)
{
    const char *want = kstrmap_get(own, key), *there = kstrmap_get(stored, key);
    return !want != !there || (want && !streq(want, there));
}

static bool labels_differ(const kstrmap *own, const kstrmap *stored)
{
    for (size_t i = 0; i < ARRAY_LEN(own_labels); i++)
        if (label_differs(own_labels[i], own, stored))
            return true;
    return false;
}

static bool policy_differs(const char *own, const kstrlist *stored)
{
    return stored->n != 1 || !streq(stored->items[0], own);
}

/* ---- zones ----------------------------------------------------------------------------------- */

static const struct nrt_resource *zone_resource(const struct nrt_zone *z, const char *name)
{
    for (uint32_t i = 0; i < z->resources.n; i++)
        if (streq(z->resources.items[i].name, name))
            return &z->resources.items[i];
    return NULL;
}

/* What is available is left out: who schedules by it may count it down. */
static bool zone_differs(const struct nrt_zone *own, const struct nrt_zone *stored)
{
    if (!streq(own->name, stored->name) || !streq(own->type, stored->type))
        return true;
    for (uint32_t i = 0; i < own->resources.n; i++) {
        const struct nrt_resource *want = &own->resources.items[i];
        const struct nrt_resource *there = zone_resource(stored, want->name);
        if (!there || qty_cmp(want->allocatable, there->allocatable) != 0 ||
            qty_cmp(want->capacity, there->capacity) != 0)
            return true;
    }
    return false;
}

static bool zones_differ(const struct nrt_zone *own, uint32_t n, const struct nrt_zone *stored,
                         uint32_t nstored)
{
    if (n != nstored)
        return true;
    for (uint32_t i = 0; i < n; i++)
        if (zone_differs(&own[i], &stored[i]))
            return true;
    return false;
}

bool topology_differs(const struct topology *t, const struct noderesourcetopology *stored)
{
    return pairs_differ(&t->annotations, &stored->obj.meta.annotations) ||
           labels_differ(&t->labels, &stored->obj.meta.labels) ||
           policy_differs(t->policy, &stored->topology_policies) ||
           zones_differ(t->zones.items, t->zones.n, stored->zones.items, stored->zones.n);
}

bool topology_equal(const struct topology *a, const struct topology *b)
{
    return !pairs_differ(&a->annotations, &b->annotations) &&
           !labels_differ(&a->labels, &b->labels) && streq(a->policy, b->policy) &&
           !zones_differ(a->zones.items, a->zones.n, b->zones.items, b->zones.n);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_qty(struct kjw *w, const char *key, struct qty q)
{
    char text[QTY_TEXT_MAX];
    kjw_strn(w, key, text, qty_print(q, text));
}

static void write_resource(struct kjw *w, const struct nrt_resource *r)
{
    kjw_obj(w, NULL);
    kjw_str(w, "name", r->name);
    write_qty(w, "capacity", r->capacity);
    write_qty(w, "allocatable", r->allocatable);
    write_qty(w, "available", r->available);
    kjw_end(w);
}

/* Ours and those of others, merged by name; ours come sorted, theirs are taken in between. */
static void write_resources(struct kjw *w, const struct nrt_zone *own, const struct nrt_zone *other)
{
    uint32_t i = 0, nother = other ? other->resources.n : 0;
    const char *last = "";

    kjw_arr(w, "resources");
    for (;;) {
        const struct nrt_resource *next = i < own->resources.n ? &own->resources.items[i] : NULL;
        const struct nrt_resource *theirs = NULL;
        for (uint32_t k = 0; k < nother; k++) {
            const struct nrt_resource *r = &other->resources.items[k];
            if (!zone_resource(own, r->name) && strcmp(r->name, last) > 0 &&
                (!theirs || strcmp(r->name, theirs->name) < 0))
                theirs = r;
        }
        if (theirs && (!next || strcmp(theirs->name, next->name) < 0))
            next = theirs;
        else
            i += next != NULL;
        if (!next)
            break;
        write_resource(w, next);
        last = next->name;
    }
    kjw_end(w);
}

static void write_costs(struct kjw *w, const struct nrt_zone *z)
{
    kjw_arr(w, "costs");
    for (uint32_t i = 0; i < z->costs.n; i++) {
        kjw_obj(w, NULL);
        kjw_str(w, "name", z->costs.items[i].name);
        kjw_i64(w, "value", z->costs.items[i].value);
        kjw_end(w);
    }
    kjw_end(w);
}

static void write_attributes(struct kjw *w, const nrt_attributelist *l)
{
    kjw_arr(w, "attributes");
    for (uint32_t i = 0; i < l->n; i++) {
        kjw_obj(w, NULL);
        kjw_str(w, "name", l->items[i].name);
        kjw_str(w, "value", l->items[i].value);
        kjw_end(w);
    }
    kjw_end(w);
}

static void write_zone(struct kjw *w, const struct nrt_zone *own, const struct nrt_zone *stored)
{
    kjw_obj(w, NULL);
    kjw_str(w, "name", own->name);
    kjw_str(w, "type", own->type);
    if (stored && !str_empty(stored->parent))
        kjw_str(w, "parent", stored->parent);
    if (stored && stored->costs.n)
        write_costs(w, stored);
    if (stored && stored->attributes.n)
        write_attributes(w, &stored->attributes);
    write_resources(w, own, stored);
    kjw_end(w);
}

static const struct nrt_zone *find_zone(const struct noderesourcetopology *stored, const char *name)
{
    for (uint32_t i = 0; stored && i < stored->zones.n; i++)
        if (streq(stored->zones.items[i].name, name))
            return &stored->zones.items[i];
    return NULL;
}

static void write_zones(struct kjw *w, const struct topology *t,
                        const struct noderesourcetopology *stored)
{
    kjw_arr(w, "zones");
    for (uint32_t i = 0; i < t->zones.n; i++)
        write_zone(w, &t->zones.items[i], find_zone(stored, t->zones.items[i].name));
    kjw_end(w);
}

static void write_policy(struct kjw *w, const char *policy)
{
    kjw_arr(w, "topologyPolicies");
    kjw_str(w, NULL, policy);
    kjw_end(w);
}

static void patch_labels(struct kjw *w, const kstrmap *own, const kstrmap *stored)
{
    kjw_obj(w, "labels");
    for (size_t i = 0; i < ARRAY_LEN(own_labels); i++)
        if (label_differs(own_labels[i], own, stored))
            kjw_str(w, own_labels[i], kstrmap_get(own, own_labels[i])); /* null takes it away */
    kjw_end(w);
}

void topology_patch(const struct topology *t, const struct noderesourcetopology *stored,
                    struct strbuf *out)
{
    const struct objmeta *m = &stored->obj.meta;
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "resourceVersion", m->resource_version);
    if (labels_differ(&t->labels, &m->labels))
        patch_labels(&w, &t->labels, &m->labels);
    object_patch_annotations(&w, &t->annotations, &m->annotations);
    kjw_end(&w);
    if (policy_differs(t->policy, &stored->topology_policies))
        write_policy(&w, t->policy);
    if (zones_differ(t->zones.items, t->zones.n, stored->zones.items, stored->zones.n))
        write_zones(&w, t, stored);
    kjw_end(&w);
}

void topology_object(const struct topology *t, const struct node *owner, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    object_write_head(&w, &kind_noderesourcetopology);
    kjw_obj(&w, "metadata");
    object_write_owner(&w, owner);
    kjw_obj(&w, "labels");
    kjw_str(&w, LABEL_APP_MANAGED_BY, APP_MANAGED_BY_KOORDINATOR);
    object_write_pairs(&w, &t->labels);
    kjw_end(&w);
    kjw_obj(&w, "annotations");
    object_write_pairs(&w, &t->annotations);
    kjw_end(&w);
    kjw_end(&w);
    write_policy(&w, t->policy);
    write_zones(&w, t, NULL);
    kjw_end(&w);
}
