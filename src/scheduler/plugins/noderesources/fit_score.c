/* fit_score.c - the three strategies of NodeResourcesFit (scheduler-core 8.8). */
#include "base/num.h"
#include "scheduler/plugins/noderesources/noderesources.h"

#include <math.h>

/* Cpu and memory alone. Division has no vector form; no branch is what can be had. alloc 0: the
 * resource is left out. */
static void least_simple(const struct res_terms *t, const struct ks_nodes *n, struct ks_span s,
                         int64_t *restrict out)
{
    const struct res_term c = t->items[t->cpu], m = t->items[t->memory];
    const int64_t *cpu = n->alloc[KS_MCPU], *mem = n->alloc[KS_MEMORY];
    const int64_t *cpu_used = res_used(n, t->count, KS_MCPU);
    const int64_t *mem_used = res_used(n, t->count, KS_MEMORY);

    for (uint32_t i = s.begin; i < s.end; i++) {
        int64_t cpu_free = cpu[i] - cpu_used[i] - c.want, mem_free = mem[i] - mem_used[i] - m.want;
        int64_t cpu_part = (cpu_free > 0 ? cpu_free : 0) * KS_SCORE_MAX / (cpu[i] + (cpu[i] == 0));
        int64_t mem_part = (mem_free > 0 ? mem_free : 0) * KS_SCORE_MAX / (mem[i] + (mem[i] == 0));
        int64_t weights = (cpu[i] != 0) * c.weight + (mem[i] != 0) * m.weight;
        out[i] = (cpu_part * c.weight + mem_part * m.weight) / (weights + (weights == 0));
    }
}

/* ---- any resources --------------------------------------------------------------------------- */

/* The straight lines through the points, in whole numbers. */
static int64_t shape_at(const struct fit_ratio *r, int64_t utilization)
{
    const struct fit_point *p = r->shape.items;
    uint32_t i = 0;

    while (i < r->shape.n && utilization > p[i].utilization)
        i++;
    if (i == 0 || i == r->shape.n)
        return 10 * p[i == 0 ? 0 : i - 1].score;
    int64_t low = 10 * p[i - 1].score, high = 10 * p[i].score;
    return low + (high - low) * (utilization - p[i - 1].utilization) /
                     (p[i].utilization - p[i - 1].utilization);
}

/* Of one resource; alloc is not 0. */
static int64_t part(const struct fit *f, int64_t used, int64_t alloc)
{
    bool over = used > alloc;

    switch (f->type) {
    case FIT_LEAST: return over ? 0 : (alloc - used) * KS_SCORE_MAX / alloc;
    case FIT_MOST: return over ? KS_SCORE_MAX : used * KS_SCORE_MAX / alloc;
    case FIT_RATIO: return shape_at(f->args->strategy.ratio, over ? 100 : used * 100 / alloc);
    }
    return 0;
}

static int64_t score_row(const struct fit *f, const struct res_terms *t, const struct ks_nodes *n,
                         uint32_t row)
{
    int64_t sum = 0, weights = 0;

    for (uint32_t k = 0; k < t->n; k++) {
        const struct res_term *term = &t->items[k];
        int64_t alloc = n->alloc[term->column][row];
        if (alloc == 0)
            continue;
        int64_t p = part(f, res_used(n, t->count, term->column)[row] + term->want, alloc);
        if (f->type == FIT_RATIO && p <= 0)
            continue; /* as if the resource were not weighed */
        sum += p * term->weight;
        weights += term->weight;
    }
    if (weights == 0)
        return 0;
    return f->type == FIT_RATIO ? i64_from_f64(round((double)sum / (double)weights))
                                : sum / weights;
}

void fit_score_rows(const struct fit *f, const struct res_terms *t, const struct ks_nodes *nodes,
                    struct ks_span s, int64_t *restrict out)
{
    if (f->type == FIT_LEAST && t->simple) {
        least_simple(t, nodes, s, out);
        return;
    }
    for (uint32_t i = s.begin; i < s.end; i++)
        out[i] = score_row(f, t, nodes, i);
}
