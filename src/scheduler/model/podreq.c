/* podreq.c - what a pod takes from a node. */
#include "scheduler/model/podreq.h"

#include "api/names.h"
#include "api/protocol_keys.h"
#include "base/arena.h"

/* What a container that names no request counts for in scores: 100m and 200 MiB. */
enum { DEFAULT_MCPU = 100, DEFAULT_MEMORY = 200 * 1024 * 1024 };

bool podreq_is_scalar(const char *name)
{
    return strstr(name, "kubernetes.io/") || name_is_extended_resource(name) ||
           str_starts(name, "hugepages-") || str_starts(name, "attachable-volumes-");
}

static int fixed_index(const char *name)
{
    if (streq(name, RES_CPU))
        return KS_MCPU;
    if (streq(name, RES_MEMORY))
        return KS_MEMORY;
    if (streq(name, RES_EPHEMERAL_STORAGE))
        return KS_EPHEMERAL;
    return -1;
}

bool podreq_counts(const char *name)
{
    return fixed_index(name) >= 0 || streq(name, "pods") || podreq_is_scalar(name);
}

static int64_t bounded(int64_t v, int64_t max)
{
    return v < 0 ? 0 : v > max ? max : v;
}

int64_t podreq_count(const reslist *l, const char *name)
{
    const struct qty *q = l ? reslist_find(l, name) : NULL;
    return q ? bounded(resource_count(name, *q), KS_ALLOC_MAX) : 0;
}

static void fill(const reslist *l, struct arena *a, struct podreq *ret)
{
    *ret = (struct podreq){ .fixed[KS_PODS] = 1 };
    ret->more = arena_newn0(a, l->n, struct ks_request);
    for (uint32_t i = 0; i < l->n; i++) {
        const char *name = l->items[i].name;
        int64_t count = bounded(resource_count(name, l->items[i].value), KS_REQUEST_MAX);
        int at = fixed_index(name);
        if (at >= 0)
            ret->fixed[at] = count;
        else if (podreq_is_scalar(name))
            ret->more[ret->nmore++] = (struct ks_request){ name, count, KS_NO_COLUMN };
    }
}

/* The sum again, with defaults where a container is silent. `have`: what is there without them. */
static void fill_nz(const struct pod *p, const struct podres_options *o, const reslist *have,
                    struct arena *a, struct podreq *ret)
{
    bool pod_level = !o->skip_pod_level && pod_level_requests_set(p->spec);
    struct resqty items[2];
    reslist defaults = { items, 0 };
    struct podres_options with = *o;

    /* A pod that speaks for itself as a whole leaves only what it did not mention to defaults. */
    if (!pod_level || !reslist_has(have, RES_CPU))
        items[defaults.n++] =
            (struct resqty){ RES_CPU, qty_from_milli(DEFAULT_MCPU, QTY_DECIMAL_SI) };
    if (!pod_level || !reslist_has(have, RES_MEMORY))
        items[defaults.n++] =
            (struct resqty){ RES_MEMORY, qty_from_i64(DEFAULT_MEMORY, QTY_BINARY_SI) };
    with.non_missing = defaults.n ? &defaults : NULL;
    reslist sum = pod_requests(p, &with, a);
    ret->mcpu_nz = podreq_count(&sum, RES_CPU);
    ret->memory_nz = podreq_count(&sum, RES_MEMORY);
}

void podreq_accounted(const struct pod *p, struct arena *a, struct podreq *ret)
{
    struct podres_options o = { .use_status = true };
    reslist l = pod_requests(p, &o, a);

    fill(&l, a, ret);
    fill_nz(p, &o, &l, a, ret);
}

static bool any_told(const containerstatuslist *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (l->items[i].resources)
            return true;
    return false;
}

bool podreq_is_told(const struct pod *p)
{
    return any_told(&p->status.container_statuses) || any_told(&p->status.init_container_statuses);
}

void podreq_placed(const struct pod *p, struct arena *a, struct podreq *ret)
{
    /* Upstream's scorer never hears of pod-level requests; kept, because scores are compared. */
    struct podres_options scored = { .skip_pod_level = true };
    reslist l = pod_requests(p, NULL, a);

    fill(&l, a, ret);
    fill_nz(p, &scored, &l, a, ret);
}
