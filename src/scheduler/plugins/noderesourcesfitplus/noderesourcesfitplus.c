/* noderesourcesfitplus.c - NodeResourcesFitPlus: a scoring strategy for each resource
 * (sched-loadaware 7).
 */
#include "api/pod.h"
#include "api/protocol/keys.h"
#include "base/arena.h"
#include "base/num.h"
#include "scheduler/plugins/noderesourcesfitplus/args.h"
#include "scheduler/plugins/registry.h"

/* What a container that names no request counts for. */
enum { DEFAULT_MCPU = 100, DEFAULT_MEMORY = 200 * 1024 * 1024 };
enum fitplus_type { FITPLUS_UNKNOWN, FITPLUS_LEAST, FITPLUS_MOST };

struct term {
    const int64_t *alloc, *used; /* columns; NULL: no node has the resource */
    int64_t want, weight;
    enum fitplus_type type;
};
struct terms {
    uint32_t n;
    int64_t weights;
    struct term items[];
};

/* ---- what the pod asks for ------------------------------------------------------------------- */

static int64_t container_asks(const struct container *c, const char *name)
{
    if (!reslist_has(&c->resources.requests, name)) {
        if (streq(name, RES_CPU))
            return DEFAULT_MCPU;
        return streq(name, RES_MEMORY) ? DEFAULT_MEMORY : 0;
    }
    return requests_count(&c->resources.requests, name);
}

/* Upstream's sum: an init container is compared with all sidecars before it, not added to them. */
static int64_t pod_asks(const struct pod *p, const char *name)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < p->spec->containers.n; i++)
        sum = i64_add_sat(sum, container_asks(&p->spec->containers.items[i], name));
    for (uint32_t i = 0; i < p->spec->init_containers.n; i++) {
        const struct container *c = &p->spec->init_containers.items[i];
        int64_t asks = container_asks(c, name);
        sum = container_is_sidecar(c) ? i64_add_sat(sum, asks) : MAX(sum, asks);
    }
    sum = i64_add_sat(sum, requests_count(&p->spec->overhead, name));
    return MIN(sum, KS_REQUEST_MAX);
}

static int64_t requested(const struct ks_pod *p, const char *name)
{
    if (streq(name, RES_CPU))
        return p->requests.fixed[KS_MCPU];
    if (streq(name, RES_MEMORY))
        return p->requests.fixed[KS_MEMORY];
    if (streq(name, RES_EPHEMERAL_STORAGE))
        return p->requests.fixed[KS_EPHEMERAL];
    for (uint32_t i = 0; i < p->requests.nmore; i++)
        if (streq(p->requests.more[i].name, name))
            return p->requests.more[i].count;
    return 0;
}

/* ---- score ----------------------------------------------------------------------------------- */

static const int64_t *used_column(const struct ks_nodes *n, uint32_t column)
{
    if (column == KS_MCPU)
        return n->used_mcpu_nz;
    return column == KS_MEMORY ? n->used_memory_nz : n->used[column];
}

static enum fitplus_type type_of(const char *type)
{
    if (str_empty(type))
        return FITPLUS_UNKNOWN;
    if (streq(type, "LeastAllocated"))
        return FITPLUS_LEAST;
    return streq(type, "MostAllocated") ? FITPLUS_MOST : FITPLUS_UNKNOWN;
}

/* The resources that the pod asks for and the configuration weighs. */
static struct terms *terms_of(const struct fitplus_args *args, const struct ks_nodes *n,
                              const struct ks_pod *p, struct arena *a)
{
    struct terms *t = arena_zalloc(a, sizeof *t + args->resources.n * sizeof *t->items);

    for (uint32_t i = 0; i < args->resources.n; i++) {
        const char *name = args->resources.items[i].name;
        const struct fitplus_resource *r = &args->resources.items[i].value;
        if (requested(p, name) <= 0)
            continue;
        uint32_t column = ks_column_of(n, name);
        struct term *term = &t->items[t->n++];
        *term = (struct term){ .want = pod_asks(p->pod, name),
                               .weight = r->weight,
                               .type = type_of(r->type) };
        if (column != KS_NO_COLUMN) {
            term->alloc = n->alloc[column];
            term->used = used_column(n, column);
        }
        t->weights = i64_add_sat(t->weights, r->weight);
    }
    return t;
}

static int64_t score_term(const struct term *t, uint32_t row)
{
    int64_t alloc = t->alloc ? t->alloc[row] : 0;
    int64_t used = t->alloc ? t->used[row] + t->want : 0;

    if (alloc == 0 || t->type == FITPLUS_UNKNOWN)
        return 0;
    if (t->type == FITPLUS_MOST)
        return MIN(used, alloc) * KS_SCORE_MAX / alloc;
    return used > alloc ? 0 : (alloc - used) * KS_SCORE_MAX / alloc;
}

static int64_t score_row(const struct terms *t, uint32_t row)
{
    int64_t sum = 0;

    if (t->weights == 0)
        return KS_SCORE_MAX;
    for (uint32_t i = 0; i < t->n; i++)
        sum = i64_add_sat(sum, i64_mul_sat(score_term(&t->items[i], row), t->items[i].weight));
    int64_t score = sum / t->weights; /* weights are not checked, as upstream */
    return score < 0 ? 0 : MIN(score, KS_SCORE_MAX);
}

/* The columns move when a resource appears, so that nothing is kept of them. */
static void fitplus_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                          struct ks_span s, int64_t *restrict out)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct terms *t = terms_of(self, c->nodes, p, a);

    for (uint32_t i = s.begin; i < s.end; i++)
        out[i] = score_row(t, i);
}

static int fitplus_create(const struct ks_env *env, const void *args, void **ret_self,
                          struct kerr *err)
{
    (void)env, (void)err;
    *ret_self = (void *)args;
    return 0;
}

const struct ks_plugin ks_plugin_node_resources_fit_plus = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "NodeResourcesFitPlus",
    .reuse = KS_REUSE_LOCAL,
    .points = KS_AT(PRE_SCORE) | KS_AT(SCORE),
    .args = &fitplus_args,
    .create = fitplus_create,
    .score = fitplus_score,
};
