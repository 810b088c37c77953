/* fit.c - NodeResourcesFit: what the pod asks for must be free; how much is left decides
 * (scheduler-core 8.8).
 */
#include "api/names.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/podresources.h"
#include "base/arena.h"
#include "scheduler/model/requests.h"
#include "scheduler/plugins/backedresources/backedresources.h"
#include "scheduler/plugins/noderesources/noderesources.h"
#include "scheduler/plugins/registry.h"

/* Bit 0: not enough is free. Bit 1: even the empty node has not enough. */
enum { FIT_LACKS = 1, FIT_TOO_SMALL = 2 };
static const struct ks_reason fit_reasons[] = {
    { KS_SUCCESS, "" },
    { KS_UNSCHEDULABLE, "Insufficient resources" },
    { KS_UNRESOLVABLE, "Insufficient resources" },
    { KS_UNRESOLVABLE, "Insufficient resources" },
};

struct prepared {       /* the state */
    const char **texts; /* for requests.more */
    uint64_t backed;    /* bits: those that a DeviceClass backs, where no device plugin does */
    struct res_terms terms;
};

static enum fit_type type_of(const struct fit_strategy *s)
{
    if (streq(s->type, "MostAllocated"))
        return FIT_MOST;
    return streq(s->type, "RequestedToCapacityRatio") ? FIT_RATIO : FIT_LEAST;
}

static int fit_create(const struct ks_env *env, const void *args, void **ret_self, struct kerr *err)
{
    struct fit *f = xnew0(struct fit);

    (void)err;
    f->objects = ks_gate(env, "DRAExtendedResource") ? env->objects : NULL;
    f->args = args;
    f->type = type_of(&f->args->strategy);
    *ret_self = f;
    return 0;
}

static bool in_list(const kstrlist *l, const char *name, size_t n)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (str_eq(str_of(l->items[i]), (struct str){ name, n }))
            return true;
    return false;
}

/* Is the resource left to others? The lists first: asked for every row, and mostly empty. */
static bool fit_ignores(const struct fit *f, const char *resource)
{
    return (in_list(&f->args->ignored, resource, strlen(resource)) ||
            in_list(&f->args->ignored_groups, resource, strcspn(resource, "/"))) &&
           name_is_extended_resource(resource);
}

static struct prepared *prepare(const struct fit *f, const struct ks_cycle *c,
                                const struct ks_pod *p)
{
    struct arena *a = c->arena;
    struct prepared *s = arena_new0(a, struct prepared);

    s->texts = arena_newn0(a, p->requests.nmore, const char *);
    for (uint32_t k = 0; k < p->requests.nmore; k++)
        s->texts[k] = arena_printf(a, "Insufficient %s", p->requests.more[k].name);
    for (uint32_t k = 0; f->objects && k < MIN(p->requests.nmore, 64u); k++)
        if (backing_class(f->objects, p->requests.more[k].name))
            s->backed |= UINT64_C(1) << k;
    s->terms = res_terms_of(&f->args->strategy.resources, RES_COUNT_NONZERO, c->nodes, p, a);
    return s;
}

/* ---- filter ---------------------------------------------------------------------------------- */

/* The cache bounds both: no overflow here. */
static inline uint8_t check_row(int64_t want, int64_t alloc, int64_t used)
{
    return (uint8_t)((want > alloc - used) | ((want > alloc) << 1));
}

KOORD_CLONES static void check_rows(struct ks_span s, int64_t want, const int64_t *restrict alloc,
                                    const int64_t *restrict used, uint8_t *restrict why)
{
    for (uint32_t i = s.begin; i < s.end; i++)
        why[i] = (uint8_t)(why[i] | check_row(want, alloc[i], used[i]));
}

/* Dirty rows come one by one: without what it takes to get vectors going. */
static void check_column(struct ks_span s, int64_t want, const int64_t *restrict alloc,
                         const int64_t *restrict used, uint8_t *restrict why)
{
    uint32_t i = s.begin;

    if (s.end - i == 1)
        why[i] = (uint8_t)(why[i] | check_row(want, alloc[i], used[i]));
    else
        check_rows(s, want, alloc, used, why);
}

/* Too many pods on a node is a thing that preemption can change, whatever the limit is. */
KOORD_CLONES static void check_pods(struct ks_span s, const int64_t *restrict alloc,
                                    const int64_t *restrict used, uint8_t *restrict why)
{
    for (uint32_t i = s.begin; i < s.end; i++)
        why[i] = used[i] + 1 > alloc[i];
}

/* Is the resource DynamicResources' where no device plugin offers it? */
static bool is_backed(const struct prepared *s, uint32_t k)
{
    return s && k < 64 && s->backed >> k & 1;
}

static void check_backed(struct ks_span s, const struct ks_request *m, const struct ks_nodes *n,
                         uint8_t *restrict why)
{
    for (uint32_t i = s.begin; m->column != KS_NO_COLUMN && i < s.end; i++)
        if (n->alloc[m->column][i] > 0)
            why[i] = (uint8_t)(why[i] |
                               check_row(m->count, n->alloc[m->column][i], n->used[m->column][i]));
}

static void fit_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                       struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    const struct ks_nodes *n = c->nodes;
    const struct fit *f = self;
    const struct prepared *ready = c->state;

    (void)skip;
    check_pods(s, n->alloc[KS_PODS], n->used[KS_PODS], why);
    for (uint32_t r = 0; r < KS_PODS; r++)
        if (p->requests.fixed[r] > 0)
            check_column(s, p->requests.fixed[r], n->alloc[r], n->used[r], why);
    for (uint32_t k = 0; k < p->requests.nmore; k++) {
        const struct ks_request *m = &p->requests.more[k];
        if (m->count == 0 || fit_ignores(f, m->name))
            continue;
        if (is_backed(ready, k)) {
            check_backed(s, m, n, why);
            continue;
        }
        if (m->column == KS_NO_COLUMN)
            memset(why + s.begin, FIT_LACKS | FIT_TOO_SMALL, s.end - s.begin);
        else
            check_column(s, m->count, n->alloc[m->column], n->used[m->column], why);
    }
}

static enum ks_code fit_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                   void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    (void)only, (void)why;
    *ret_state = prepare(self, c, p);
    return KS_SUCCESS;
}

static void fit_explain(void *self, const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
                        struct ks_texts *out)
{
    static const char *const fixed[] = { "Insufficient cpu", "Insufficient memory",
                                         "Insufficient ephemeral-storage" };
    const struct ks_nodes *n = c->nodes;
    const struct fit *f = self;
    const struct prepared *s = c->state;

    if (n->used[KS_PODS][row] + 1 > n->alloc[KS_PODS][row])
        ks_texts_add(out, "Too many pods");
    for (uint32_t r = 0; r < KS_PODS; r++)
        if (p->requests.fixed[r] > 0 && p->requests.fixed[r] > n->alloc[r][row] - n->used[r][row])
            ks_texts_add(out, fixed[r]);
    for (uint32_t k = 0; k < p->requests.nmore; k++) {
        const struct ks_request *m = &p->requests.more[k];
        int64_t free =
            m->column == KS_NO_COLUMN ? 0 : n->alloc[m->column][row] - n->used[m->column][row];
        bool elsewhere =
            is_backed(s, k) && (m->column == KS_NO_COLUMN || n->alloc[m->column][row] == 0);
        if (m->count != 0 && m->count > free && !elsewhere && !fit_ignores(f, m->name))
            ks_texts_add(out, s->texts[k]);
    }
}

/* ---- score ----------------------------------------------------------------------------------- */

static enum ks_code fit_pre_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                  void **ret_state, struct ks_texts *why)
{
    (void)why;
    if (!c->state) /* a profile in which this plugin does not filter */
        *ret_state = prepare(self, c, p);
    return KS_SUCCESS;
}

static void fit_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                      struct ks_span s, int64_t *restrict out)
{
    const struct fit *f = self;
    const struct prepared *ready = c->state;

    (void)p;
    fit_score_rows(f, &ready->terms, c->nodes, s, out);
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool worth_pod_gone(void *self, const struct ks_event *e, const struct pod *p)
{
    const struct pod *gone = pod_of(e->before);
    (void)self, (void)p;
    /* A pod that was only assumed has no node in its object yet; its event says it had one. */
    return e->resource == KS_RES_ASSIGNED_POD || !str_empty(gone->node_name) ||
           !str_empty(gone->status.nominated_node_name);
}

/* The pod itself asks for less, or another one gave back of what this one asks for. */
static bool worth_scale_down(void *self, const struct ks_event *e, const struct pod *p)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct podres_options o = { .use_status = true };

    (void)self;
    if (kuid_equal(e->now->meta.uid, p->obj.meta.uid))
        return true;
    if (e->resource != KS_RES_ASSIGNED_POD)
        return false;
    reslist want = pod_requests(p, NULL, a);
    reslist before = pod_requests(pod_of(e->before), &o, a);
    reslist now = pod_requests(pod_of(e->now), &o, a);
    for (uint32_t i = 0; i < want.n; i++) {
        const char *name = want.items[i].name;
        if (requests_is_counted(name) && requests_count(&want, name) > 0 &&
            requests_count(&now, name) < requests_count(&before, name))
            return true;
    }
    return false;
}

/* The pod fits the empty node, and on an update some resource that it asks for has grown. */
static bool worth_node(void *self, const struct ks_event *e, const struct pod *p)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    reslist want = pod_requests(p, NULL, a);
    const reslist *now = &node_of(e->now)->status.allocatable;
    const reslist *before = e->before ? &node_of(e->before)->status.allocatable : NULL;
    bool grown = !before || requests_count(now, "pods") > requests_count(before, "pods");
    const struct fit *f = self;

    if (requests_count(now, "pods") < 1)
        return false;
    for (uint32_t i = 0; i < want.n; i++) {
        const char *name = want.items[i].name;
        int64_t count = resource_count(name, want.items[i].value);
        if (count == 0 || !requests_is_counted(name) || fit_ignores(f, name))
            continue;
        if (requests_count(now, name) == 0 && f->objects && backing_class(f->objects, name)) {
            grown |= requests_count(before, name) > 0; /* devices of the class serve it now */
            continue;
        }
        if (count > requests_count(now, name))
            return false;
        grown |= requests_count(now, name) > requests_count(before, name);
    }
    return grown;
}

/* The class backs something that the pod asks for. */
static bool worth_class(void *self, const struct ks_event *e, const struct pod *p)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct fit *f = self;
    reslist want = f->objects ? pod_requests(p, NULL, a) : (reslist){ 0 };

    for (uint32_t i = 0; i < want.n; i++) {
        const struct device_class *by = backing_class(f->objects, want.items[i].name);
        if (by && streq(by->obj.meta.name, e->now->meta.name))
            return true;
    }
    return false;
}

static const struct kind *const fit_kinds[] = { &kind_device_class, NULL };
static const struct ks_gated_kind fit_gated[] = { { &kind_device_class, "DRAExtendedResource" },
                                                  { NULL, NULL } };
static const struct ks_hint fit_hints[] = {
    { KS_RES_POD, KS_DELETE, worth_pod_gone },
    { KS_RES_POD, KS_POD_SCALE_DOWN, worth_scale_down },
    { KS_RES_NODE, KS_ADD | KS_NODE_ALLOCATABLE, worth_node },
    { KS_RES_DEVICE_CLASS, KS_ADD | KS_UPDATE, worth_class },
};

const struct ks_plugin ks_plugin_fit = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "NodeResourcesFit",
    .reasons = fit_reasons,
    .reuse = KS_REUSE_LOCAL,
    .kinds = fit_kinds,
    .optional = fit_kinds,
    .gated = fit_gated,
    .args = &fit_args,
    .create = fit_create,
    .destroy = free,
    .hints = fit_hints,
    .nhints = ARRAY_LEN(fit_hints),
    .pre_filter = fit_pre_filter,
    .filter = fit_filter,
    .explain = fit_explain,
    .pre_score = fit_pre_score,
    .score = fit_score,
};
