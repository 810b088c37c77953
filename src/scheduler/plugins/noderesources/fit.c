/* fit.c - NodeResourcesFit: what the pod asks for must be free, and more free is better
 * (scheduler-core 8.8, strategy LeastAllocated over cpu and memory with equal weights).
 */
#include "api/node.h"
#include "api/pod.h"
#include "api/podresources.h"
#include "base/arena.h"
#include "scheduler/cache/podreq.h"
#include "scheduler/plugins/registry.h"

/* Bit 0: not enough is free. Bit 1: even the empty node has not enough. */
enum { FIT_LACKS = 1, FIT_TOO_SMALL = 2 };
static const struct ks_reason fit_reasons[] = {
    { KS_SUCCESS, "" },
    { KS_UNSCHEDULABLE, "Insufficient resources" },
    { KS_UNRESOLVABLE, "Insufficient resources" },
    { KS_UNRESOLVABLE, "Insufficient resources" },
};

KOORD_CLONES static void check_column(struct ks_span s, int64_t want, const int64_t *restrict alloc,
                                      const int64_t *restrict used, uint8_t *restrict why)
{
    for (uint32_t i = s.begin; i < s.end; i++) /* the cache bounds both: no overflow here */
        why[i] = (uint8_t)(why[i] | (want > alloc[i] - used[i]) | ((want > alloc[i]) << 1));
}

/* Too many pods on a node is a thing that preemption can change, whatever the limit is. */
KOORD_CLONES static void check_pods(struct ks_span s, const int64_t *restrict alloc,
                                    const int64_t *restrict used, uint8_t *restrict why)
{
    for (uint32_t i = s.begin; i < s.end; i++)
        why[i] = used[i] + 1 > alloc[i];
}

static void fit_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                       struct ks_span s, const uint8_t *skip, uint8_t *restrict why)
{
    const struct ks_nodes *n = c->nodes;

    (void)self, (void)skip;
    check_pods(s, n->alloc[KS_PODS], n->used[KS_PODS], why);
    for (uint32_t r = 0; r < KS_PODS; r++)
        if (p->request[r] > 0)
            check_column(s, p->request[r], n->alloc[r], n->used[r], why);
    for (uint32_t k = 0; k < p->nmore; k++) {
        const struct ks_request *m = &p->more[k];
        if (m->count == 0)
            continue;
        if (m->column == KS_NO_COLUMN)
            memset(why + s.begin, FIT_LACKS | FIT_TOO_SMALL, s.end - s.begin);
        else
            check_column(s, m->count, n->alloc[m->column], n->used[m->column], why);
    }
}

/* The texts for resources that are not fixed are made once an attempt: the state. */
static enum ks_code fit_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                   void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    const char **texts = arena_newn0(c->arena, p->nmore, const char *);

    (void)self, (void)only, (void)why;
    for (uint32_t k = 0; k < p->nmore; k++)
        texts[k] = arena_printf(c->arena, "Insufficient %s", p->more[k].name);
    *ret_state = texts;
    return KS_SUCCESS;
}

static void fit_explain(void *self, const struct ks_cycle *c, const struct ks_pod *p, uint32_t row,
                        struct ks_texts *out)
{
    static const char *const fixed[] = { "Insufficient cpu", "Insufficient memory",
                                         "Insufficient ephemeral-storage" };
    const struct ks_nodes *n = c->nodes;
    const char *const *more = c->state;

    (void)self;
    if (n->used[KS_PODS][row] + 1 > n->alloc[KS_PODS][row])
        ks_texts_add(out, "Too many pods");
    for (uint32_t r = 0; r < KS_PODS; r++)
        if (p->request[r] > 0 && p->request[r] > n->alloc[r][row] - n->used[r][row])
            ks_texts_add(out, fixed[r]);
    for (uint32_t k = 0; k < p->nmore; k++) {
        const struct ks_request *m = &p->more[k];
        int64_t free =
            m->column == KS_NO_COLUMN ? 0 : n->alloc[m->column][row] - n->used[m->column][row];
        if (m->count != 0 && m->count > free)
            ks_texts_add(out, more[k]);
    }
}

/* ---- score ----------------------------------------------------------------------------------- */

/* Division has no vector form; no branch is what can be had. alloc 0: the resource is left out. */
static void fit_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                      struct ks_span s, int64_t *restrict out)
{
    const struct ks_nodes *n = c->nodes;
    const int64_t *cpu = n->alloc[KS_MCPU], *mem = n->alloc[KS_MEMORY];

    (void)self;
    for (uint32_t i = s.begin; i < s.end; i++) {
        int64_t cpu_free = cpu[i] - n->used_mcpu_nz[i] - p->score_mcpu;
        int64_t mem_free = mem[i] - n->used_memory_nz[i] - p->score_memory;
        int64_t cpu_part = (cpu_free > 0 ? cpu_free : 0) * KS_SCORE_MAX / (cpu[i] + (cpu[i] == 0));
        int64_t mem_part = (mem_free > 0 ? mem_free : 0) * KS_SCORE_MAX / (mem[i] + (mem[i] == 0));
        int64_t weights = (cpu[i] != 0) + (mem[i] != 0);
        out[i] = (cpu_part + mem_part) / (weights + (weights == 0));
    }
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

static bool worth_scale_down(void *self, const struct ks_event *e, const struct pod *p)
{
    (void)self;
    return e->resource == KS_RES_ASSIGNED_POD || kuid_equal(e->now->meta.uid, p->obj.meta.uid);
}

/* The pod fits the empty node, and on an update some resource that it asks for has grown. */
static bool worth_node(void *self, const struct ks_event *e, const struct pod *p)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    reslist want = pod_requests(p, NULL, a);
    const reslist *now = &node_of(e->now)->status.allocatable;
    const reslist *before = e->before ? &node_of(e->before)->status.allocatable : NULL;
    bool grown = !before || podreq_count(now, "pods") > podreq_count(before, "pods");

    (void)self;
    if (podreq_count(now, "pods") < 1)
        return false;
    for (uint32_t i = 0; i < want.n; i++) {
        const char *name = want.items[i].name;
        int64_t count = resource_count(name, want.items[i].value);
        if (count == 0 || !podreq_counts(name))
            continue;
        if (count > podreq_count(now, name))
            return false;
        grown |= podreq_count(now, name) > podreq_count(before, name);
    }
    return grown;
}

static const struct ks_hint fit_hints[] = {
    { KS_RES_POD, KS_DELETE, worth_pod_gone },
    { KS_RES_POD, KS_POD_SCALE_DOWN, worth_scale_down },
    { KS_RES_NODE, KS_ADD | KS_NODE_ALLOCATABLE, worth_node },
};

const struct ks_plugin ks_plugin_fit = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = "NodeResourcesFit",
    .reasons = fit_reasons,
    .reuse = KS_REUSE_LOCAL,
    .hints = fit_hints,
    .nhints = ARRAY_LEN(fit_hints),
    .pre_filter = fit_pre_filter,
    .filter = fit_filter,
    .explain = fit_explain,
    .score = fit_score,
};
