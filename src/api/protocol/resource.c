/* resource.c - resource names by class, old names, the colocation rewrite (api 4.1). */
#include "api/protocol/protocol.h"

const char *resource_of_class(enum priority_class c, const char *name)
{
    bool cpu = streq(name, RES_CPU), memory = streq(name, RES_MEMORY);

    switch (c) {
    case PRIO_NONE:
    case PRIO_PROD: return name;
    case PRIO_BATCH: return cpu ? RES_BATCH_CPU : memory ? RES_BATCH_MEMORY : "";
    case PRIO_MID: return cpu ? RES_MID_CPU : memory ? RES_MID_MEMORY : "";
    case PRIO_FREE: break; /* upstream has no resources of its own for free pods */
    }
    return "";
}

static const struct {
    const char *old, *current;
} old_names[] = {
    { RES_BATCH_CPU_OLD, RES_BATCH_CPU },
    { RES_BATCH_MEMORY_OLD, RES_BATCH_MEMORY },
    { RES_RDMA_OLD, RES_RDMA },
    { RES_FPGA_OLD, RES_FPGA },
    { RES_GPU_OLD, RES_GPU },
    { RES_GPU_CORE_OLD, RES_GPU_CORE },
    { RES_GPU_MEMORY_OLD, RES_GPU_MEMORY },
    { RES_GPU_MEMORY_RATIO_OLD, RES_GPU_MEMORY_RATIO },
};

const char *resource_current_name(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(old_names); i++)
        if (streq(old_names[i].old, name))
            return old_names[i].current;
    return NULL;
}

/* Moves an entry to another name. */
static reslist renamed(const reslist *l, const char *from, const char *to, struct qty value,
                       struct arena *a)
{
    reslist without = reslist_without(l, from, a);

    return reslist_with(&without, to, value, a);
}

void reslist_rename_old(const reslist *l, struct arena *a, reslist *ret)
{
    reslist out = *l;

    for (size_t i = 0; i < ARRAY_LEN(old_names); i++) {
        const struct qty *q = reslist_find(&out, old_names[i].old);

        if (q && !reslist_has(&out, old_names[i].current))
            out = renamed(&out, old_names[i].old, old_names[i].current, *q, a);
    }
    *ret = out;
}

reslist reslist_rewrite(const reslist *l, enum priority_class c, struct arena *a)
{
    reslist out = *l;
    const struct qty *q;

    if (c != PRIO_BATCH && c != PRIO_MID)
        return out;
    /* Milli-cores as a whole number: "1500m" becomes "1500". */
    if ((q = reslist_find(&out, RES_CPU)))
        out = renamed(&out, RES_CPU, resource_of_class(c, RES_CPU),
                      qty_from_i64(qty_milli(*q), QTY_DECIMAL_SI), a);
    if ((q = reslist_find(&out, RES_MEMORY)))
        out = renamed(&out, RES_MEMORY, resource_of_class(c, RES_MEMORY), *q, a);
    return out;
}

void resources_rewrite(struct resources *r, enum priority_class c, struct arena *a)
{
    static const char *const native[] = { RES_CPU, RES_MEMORY };

    if (c != PRIO_BATCH && c != PRIO_MID)
        return;
    r->requests = reslist_rewrite(&r->requests, c, a);
    r->limits = reslist_rewrite(&r->limits, c, a);
    for (size_t i = 0; i < ARRAY_LEN(native); i++) {
        const char *name = resource_of_class(c, native[i]);
        const struct qty *limit = reslist_find(&r->limits, name);

        if (limit && !reslist_has(&r->requests, name))
            r->requests = reslist_with(&r->requests, name, *limit, a);
    }
}

/* ---- replace-resources ----------------------------------------------------------------------- */

void resource_replacements_parse(const char *text, struct arena *a, resource_replacements *ret)
{
    resource_replacements out = { 0 };
    size_t entries = 1;

    for (const char *p = text; *p; p++)
        entries += *p == ',';
    out.items = arena_newn0(a, entries, struct resource_replacement);
    for (const char *p = text;; p++) {
        size_t n = strcspn(p, ",");
        const char *colon = memchr(p, ':', n);

        if (colon && !memchr(colon + 1, ':', n - (size_t)(colon + 1 - p)))
            out.items[out.n++] = (struct resource_replacement){
                .from = arena_strndup(a, p, (size_t)(colon - p)),
                .to = arena_strndup(a, colon + 1, n - (size_t)(colon + 1 - p)),
            };
        p += n;
        if (!*p)
            break;
    }
    *ret = out;
}

reslist reslist_replace(const reslist *l, const resource_replacements *r, struct arena *a)
{
    reslist out = *l;

    for (uint32_t i = 0; i < r->n; i++) {
        const char *from = r->items[i].from, *to = r->items[i].to;
        const struct qty *q = reslist_find(&out, from);

        if (!q)
            continue;
        if (!*to)
            out = reslist_without(&out, from, a);
        else if (!reslist_has(&out, to))
            out =
                renamed(&out, from, to,
                        streq(from, RES_CPU) ? qty_from_i64(qty_milli(*q), QTY_DECIMAL_SI) : *q, a);
    }
    return out;
}
