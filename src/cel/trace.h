/* trace.h - which parts of an expression cost how much: for people who write them.
 *
 * A trace that stands in the environment is filled while expressions are compiled and evaluated; it
 * must outlive them, and one thread uses it. Without one nothing of this costs anything.
 */
#ifndef KOORD_CEL_TRACE_H
#define KOORD_CEL_TRACE_H
#include "base/vec.h"
#include "cel/val.h"

struct cel_part {
    uint32_t pos; /* byte of the text */
    bool loop;    /* its cost is that of all rounds; others have what they cost themselves */
    uint64_t cost, times;
};
struct cel_trace {
    struct vec_of(struct cel_part) parts;
    uint32_t bound_pos; /* the part that most of the estimate comes from */
    uint64_t bound;     /* of its cost */
    uint64_t inner;     /* while something runs: what the parts of a part have cost */
};

/* The most expensive first; how many cost anything. For when nothing runs any more. */
size_t cel_trace_sort(struct cel_trace *t);
void cel_trace_fini(struct cel_trace *t);

/* ---- for the room ------------------------------------------------------------------------------- */

struct cel_ast;
struct cel_node;
struct cel_run;
size_t cel_trace_node_size(void);
void cel_trace_mark(struct cel_trace *t, struct cel_node *node, const struct cel_ast *n);
struct cel_val cel_trace_run(struct cel_run *r, const struct cel_node *n);
void cel_trace_bounds(struct cel_trace *t, struct cel_ast *root);
#endif
