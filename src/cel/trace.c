/* trace.c - which parts of an expression cost how much. */
#include "cel/trace.h"

#include "cel/ast.h"
#include "cel/prog.h"

/* A node of a program that is traced; they are allocated as such. */
struct traced {
    struct cel_node node; /* first */
    uint32_t part;
};

size_t cel_trace_node_size(void)
{
    return sizeof(struct traced);
}

void cel_trace_mark(struct cel_trace *t, struct cel_node *node, const struct cel_ast *n)
{
    struct traced *to = (struct traced *)node;
    struct cel_part part = { .pos = n->pos, .loop = n->kind == CA_FOLD };

    to->part = (uint32_t)t->parts.n;
    vec_push(&t->parts, part);
}

/* A loop has all that happens in it, others what they cost themselves. */
struct cel_val cel_trace_run(struct cel_run *r, const struct cel_node *n)
{
    uint64_t before = r->cost, above = r->trace->inner;
    struct cel_part *p = &r->trace->parts.items[((const struct traced *)n)->part];

    r->trace->inner = 0;
    struct cel_val v = cel_run_plain(r, n);
    uint64_t all = r->cost > before ? r->cost - before : 0;
    uint64_t own = all > r->trace->inner ? all - r->trace->inner : 0;
    p->times++;
    p->cost += p->loop ? all : own;
    r->trace->inner = above + all;
    return v;
}

static struct cel_ast *larger(struct cel_ast *best, struct cel_ast *n)
{
    return n && n->cost && (!best || n->cost->max > best->cost->max) ? n : best;
}

void cel_trace_bounds(struct cel_trace *t, struct cel_ast *root)
{
    struct cel_ast *n = root, *best;

    for (;; n = best) {
        best = larger(NULL, n->target);
        for (uint32_t i = 0; i < n->n_args; i++)
            best = larger(best, n->args[i]);
        if (n->fold) {
            best = larger(best, n->fold->range);
            best = larger(best, n->fold->cond);
            best = larger(best, n->fold->step);
            best = larger(best, n->fold->result);
        }
        /* Most of it comes from there. */
        if (!best || best->cost->max < n->cost->max - n->cost->max / 2)
            break;
    }
    t->bound_pos = n->pos;
    t->bound = n->cost ? n->cost->max : 0;
}

static int by_place(const void *a, const void *b)
{
    const struct cel_part *x = a, *y = b;
    return x->pos != y->pos ? (x->pos < y->pos ? -1 : 1) : x->loop - y->loop;
}

static int by_cost(const void *a, const void *b)
{
    const struct cel_part *x = a, *y = b;
    return x->cost != y->cost ? (x->cost < y->cost ? 1 : -1) : by_place(a, b);
}

size_t cel_trace_sort(struct cel_trace *t)
{
    struct cel_part *p = t->parts.items;
    size_t n = 0;

    if (t->parts.n == 0)
        return 0;
    /* Macros make several parts at one place. */
    qsort(p, t->parts.n, sizeof *p, by_place);
    for (size_t i = 1; i < t->parts.n; i++) {
        if (p[i].loop && !p[n].loop && p[i].pos == p[n].pos) {
            p[n] = p[i]; /* what the macro does besides is part of its loop */
        } else if (by_place(&p[n], &p[i]) == 0) {
            p[n].cost += p[i].cost;
            p[n].times = MAX(p[n].times, p[i].times);
        } else {
            p[++n] = p[i];
        }
    }
    t->parts.n = n + 1;
    qsort(p, t->parts.n, sizeof *p, by_cost);
    for (n = 0; n < t->parts.n && p[n].cost;)
        n++;
    return n;
}

void cel_trace_fini(struct cel_trace *t)
{
    vec_fini(&t->parts);
}
