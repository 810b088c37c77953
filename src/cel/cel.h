/* cel.h - expressions of the Common Expression Language as Kubernetes 1.35 uses them.
 *
 *     text --cel_compile()--> struct cel_expr --cel_eval()--> value or error, with its cost
 *
 * Pure: no I/O, no clock, no globals. A compiled expression is immutable and may be evaluated by
 * several threads at once; each evaluation works in an arena of its caller. Values are read in
 * place from parsed documents (val.h), types come from schemas (schema.h) or are simple (type.h).
 * The environment is that of Kubernetes: all libraries of its base environment.
 *
 * Every evaluation ends: cost is counted as upstream counts it, and beyond the limit nothing more
 * is evaluated. Steps and memory that no cost stands for are bounded besides, and end it in the
 * same way. Who has no time for that much may interrupt it (struct cel_interrupt).
 */
#ifndef KOORD_CEL_CEL_H
#define KOORD_CEL_CEL_H
#include "cel/val.h"

struct cel_expr;
struct cel_trace;

struct cel_var {
    const char *name;
    const struct cel_type *type;
};

/* Seconds that clocks in the zone of this name ("Europe/Berlin") are ahead of UTC at t (seconds
 * since 1970). -ENOENT: unknown. Called by every thread that evaluates. */
typedef int (*cel_zone_fn)(struct str name, int64_t t, int64_t *ret);

/* What an expression may refer to. Types must outlive the expressions compiled with them. */
struct cel_env {
    const struct cel_var *vars;
    size_t n_vars;
    bool bind;               /* cel.bind(), in device selectors */
    cel_zone_fn zone;        /* NULL: UTC and offsets are all there is */
    struct cel_trace *trace; /* trace.h; NULL: nobody asks which part costs how much */
};

struct cel_cost {
    uint64_t min, max; /* UINT64_MAX: no bound */
};

enum cel_failure {
    CEL_OK,
    CEL_PARSE,   /* no expression */
    CEL_CHECK,   /* types do not fit, names are not known, a literal is none */
    CEL_RUNTIME, /* an error is the result */
    CEL_COST,    /* the limit was reached, or what else is bounded */
    CEL_STOPPED, /* the caller interrupted it */
};

/* On failure *why (which the caller frees) has upstream's text: one or more errors with place and
 * source line, or "program instantiation failed: ...". *ret is NULL after CEL_PARSE; after
 * CEL_CHECK it is NULL or, where only a constant part fails, has the type and the estimate but no
 * program. */
enum cel_failure cel_compile(const struct cel_env *env, const char *text, size_t n,
                             struct cel_expr **ret, struct strbuf *why);
struct cel_expr *cel_expr_free(struct cel_expr *e);
DEFINE_CLEANUP(cel_expr_free, struct cel_expr *)
const struct cel_type *cel_expr_type(const struct cel_expr *e);
/* The static bounds of what an evaluation costs, by the sizes in the types of the variables. */
struct cel_cost cel_expr_estimate(const struct cel_expr *e);
/* Does the expression refer to env->vars[i]? i < 64. */
bool cel_expr_uses(const struct cel_expr *e, size_t i);
size_t cel_expr_bytes(const struct cel_expr *e); /* of memory */

#define CEL_LIMIT_CALL UINT64_C(1000000) /* of one evaluation in Kubernetes */

/* Asked every 100 rounds of loops, as upstream looks at its context, and now and then within long
 * steps; true ends the evaluation. */
struct cel_interrupt {
    bool (*is_set)(void *arg);
    void *arg;
};
enum { CEL_INTERRUPT_ROUNDS = 100 };

/* vars[i]: the value of env->vars[i], CK_ABSENT when unbound. The result lives as long as arena,
 * variables and expression. After CEL_RUNTIME, CEL_COST and CEL_STOPPED *ret is a CK_ERROR. */
enum cel_failure cel_eval(const struct cel_expr *e, const struct cel_val *vars, uint64_t limit,
                          struct arena *a, struct cel_val *ret, uint64_t *ret_cost);
/* The same; stop NULL: nobody interrupts it. */
enum cel_failure cel_eval_until(const struct cel_expr *e, const struct cel_val *vars,
                                uint64_t limit, const struct cel_interrupt *stop, struct arena *a,
                                struct cel_val *ret, uint64_t *ret_cost);
#endif
