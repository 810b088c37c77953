/* topology.c - zones of a NodeResourceTopology with batch resources (manager 5.2). */
#include "manager/noderesource/topology.h"

#include "manager/noderesource/plugin.h"
#include "json/kj.h"

struct change {
    const struct nr_result *result;
    struct arena *arena;
    double threshold; /* 0: every difference counts */
    bool changed;
};
enum { CPU, MEMORY, BATCH };
static const char *const batch_names[BATCH] = { RES_BATCH_CPU, RES_BATCH_MEMORY };

static const struct nr_zone *find_zone(const struct nr_result *r, const char *name)
{
    for (uint32_t i = 0; i < r->zones.n; i++)
        if (streq(r->zones.items[i].name, name))
            return &r->zones.items[i];
    return NULL;
}

static void replace(struct change *c, struct qty *have, struct qty want)
{
    if (!nr_differs(have, &want, c->threshold))
        return;
    *have = want;
    c->changed = true;
}

static int resource_cmp(const void *a, const void *b)
{
    return strcmp(((const struct nrt_resource *)a)->name, ((const struct nrt_resource *)b)->name);
}

/* want: NULL takes the resource out. */
static void set_resource(struct change *c, struct nrt_zone *z, const char *name,
                         const struct qty *want)
{
    uint32_t i = 0;

    while (i < z->resources.n && !streq(z->resources.items[i].name, name))
        i++;
    struct nrt_resource *r = &z->resources.items[i]; /* there is room for one more */
    if (i < z->resources.n && want) {
        replace(c, &r->capacity, *want);
        replace(c, &r->allocatable, *want);
        replace(c, &r->available, *want);
    } else if (i < z->resources.n) {
        memmove(r, r + 1, (--z->resources.n - i) * sizeof *r);
        c->changed = true;
    } else if (want) {
        *r = (struct nrt_resource){ name, *want, *want, *want };
        z->resources.n++;
        qsort(z->resources.items, z->resources.n, sizeof *r, resource_cmp);
        c->changed = true;
    }
}

static struct nrt_zone changed_zone(struct change *c, const struct nrt_zone *from)
{
    const struct nr_zone *wanted = find_zone(c->result, from->name);
    struct nrt_zone z = *from;

    z.resources.items = arena_newn0(c->arena, z.resources.n + BATCH, struct nrt_resource);
    if (z.resources.n > 0)
        memcpy(z.resources.items, from->resources.items, z.resources.n * sizeof *z.resources.items);
    for (int i = 0; i < BATCH; i++) {
        struct qty q = { 0 };
        if (wanted)
            q = i == CPU ? nr_normalized(c->result, NR_BATCH_CPU, wanted->batch_cpu)
                         : wanted->batch_memory;
        set_resource(c, &z, batch_names[i], wanted ? &q : NULL);
    }
    return z;
}

void nr_patch_topology(const struct noderesourcetopology *t, const struct nr_result *r,
                       bool write_all, struct arena *a, struct strbuf *out)
{
    struct opt_f64 threshold = r->strategy->resource_diff_threshold;
    struct change c = { r, a, write_all ? 0 : threshold.set ? threshold.v : 0.1, false };
    size_t start = out->len;
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "resourceVersion", t->obj.meta.resource_version);
    kjw_end(&w);
    kjw_arr(&w, "zones");
    for (uint32_t i = 0; i < t->zones.n; i++) {
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        struct nrt_zone z = changed_zone(&c, &t->zones.items[i]);
        kj_encode(&nrt_zone_schema, &z, &text);
        kjw_raw(&w, NULL, strbuf_str(&text), text.len);
    }
    kjw_end(&w);
    kjw_end(&w);
    if (!c.changed)
        strbuf_truncate(out, start);
}

bool nr_topology_differs(const struct noderesourcetopology *a, const struct noderesourcetopology *b)
{
    const char *was = kstrmap_get(&a->obj.meta.annotations, ANNO_CPU_BASIC_INFO);
    const char *is = kstrmap_get(&b->obj.meta.annotations, ANNO_CPU_BASIC_INFO);

    if (a->zones.n != b->zones.n || !streq(str_or(was, ""), str_or(is, "")))
        return true;
    for (uint32_t i = 0; i < a->zones.n; i++)
        if (!kj_struct_equal(&nrt_zone_schema, &a->zones.items[i], &b->zones.items[i]))
            return true;
    return false;
}
