/* requests.c - what a pod requests. */
#include "scheduler/model/requests.h"

#include "api/names.h"
#include "api/protocol/keys.h"
#include "base/arena.h"

/* What a container that names no request counts for in scores: 100m and 200 MiB. */
enum { DEFAULT_MCPU = 100, DEFAULT_MEMORY = 200 * 1024 * 1024 };
/* A node has fewer than 2^14 pods; up to this request a sum stays far from 64 bits. */
#define REQUESTS_HUGE (INT64_C(1) << 46)

bool requests_is_scalar(const char *name)
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

bool requests_is_counted(const char *name)
{
    return fixed_index(name) >= 0 || streq(name, "pods") || requests_is_scalar(name);
}

static int64_t bounded(int64_t v, int64_t max)
{
    return v < 0 ? 0 : v > max ? max : v;
}

int64_t requests_count(const reslist *l, const char *name)
{
    const struct qty *q = l ? reslist_find(l, name) : NULL;
    return q ? bounded(resource_count(name, *q), KS_ALLOC_MAX) : 0;
}

static void fill(const reslist *l, struct arena *a, struct requests *ret)
{
    *ret = (struct requests){ .fixed[KS_PODS] = 1 };
    ret->more = arena_newn0(a, l->n, struct ks_request);
    for (uint32_t i = 0; i < l->n; i++) {
        const char *name = l->items[i].name;
        int64_t count = bounded(resource_count(name, l->items[i].value), KS_REQUEST_MAX);
        int at = fixed_index(name);
        if (at >= 0)
            ret->fixed[at] = count;
        else if (requests_is_scalar(name))
            ret->more[ret->nmore++] = (struct ks_request){ name, count, KS_NO_COLUMN };
    }
}

/* The sum again, with defaults where a container is silent. `have`: what is there without them. */
static void fill_nz(const struct pod *p, const struct podres_options *o, const reslist *have,
                    struct arena *a, struct requests *ret)
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
    ret->mcpu_nz = requests_count(&sum, RES_CPU);
    ret->memory_nz = requests_count(&sum, RES_MEMORY);
}

void requests_accounted(const struct pod *p, struct arena *a, struct requests *ret)
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

bool requests_in_status(const struct pod *p)
{
    return any_told(&p->status.container_statuses) || any_told(&p->status.init_container_statuses);
}

void requests_placed(const struct pod *p, struct arena *a, struct requests *ret)
{
    /* Upstream's scorer never hears of pod-level requests; kept, because scores are compared. */
    struct podres_options scored = { .skip_pod_level = true };
    reslist l = pod_requests(p, NULL, a);

    fill(&l, a, ret);
    fill_nz(p, &scored, &l, a, ret);
}

/* ---- kept ------------------------------------------------------------------------------------ */

void requests_resolve(struct requests *r, const struct ks_nodes *nodes)
{
    for (uint32_t i = 0; i < r->nmore; i++)
        r->more[i].column = ks_column_of(nodes, r->more[i].name);
}

bool requests_are_huge(const struct requests *r)
{
    bool huge = r->mcpu_nz > REQUESTS_HUGE || r->memory_nz > REQUESTS_HUGE;

    for (int i = 0; i < KS_FIXED; i++)
        huge |= r->fixed[i] > REQUESTS_HUGE;
    for (uint32_t i = 0; i < r->nmore; i++)
        huge |= r->more[i].count > REQUESTS_HUGE;
    return huge;
}

struct requests requests_copy(const struct requests *r)
{
    struct requests copy = *r;

    copy.more = r->nmore ? xmemdup(r->more, r->nmore * sizeof *r->more) : NULL;
    return copy;
}

void requests_fini(struct requests *r)
{
    free(r->more);
    *r = (struct requests){ 0 };
}
