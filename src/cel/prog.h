/* prog.h - a compiled expression: a tree of small nodes in one block. */
#ifndef KOORD_CEL_PROG_H
#define KOORD_CEL_PROG_H
#include "cel/cel.h"
#include "cel/lib.h"
#include "cel/trace.h"

struct cel_ast;

enum cel_op {
    OP_CONST,
    OP_VAR,   /* slot: a variable of the environment */
    OP_LOCAL, /* slot: a variable of a macro */
    OP_SELECT,
    OP_HAS,
    OP_INDEX,
    OP_CALL,
    OP_KNOWN, /* a call whose value is known since the program was made; it costs all the same */
    OP_NOT_FALSE, /* the condition of loops */
    OP_AND,
    OP_OR,
    OP_COND,
    OP_MEMBER_OF, /* x in [constants] */
    OP_OPT_OR,
    OP_OPT_OR_VALUE,
    OP_LIST,
    OP_MAP,
    OP_STRUCT,
    OP_FOLD,
    OP_APPEND, /* accu + [x]: in place */
};

struct cel_node {
    uint8_t op;
    uint8_t cost;     /* of the node itself, where that is fixed; OP_CALL: enum cel_cost_rule */
    bool optional;    /* a.?b, a[?b] */
    bool single;      /* OP_CALL: one overload fits */
    bool in_order;    /* OP_CALL: an argument that fails ends it before the others */
    uint8_t overload; /* which */
    uint8_t n_args;   /* 255: n_more has it */
    uint16_t slot;
    uint32_t n_more;
    union {
        struct cel_val value; /* OP_CONST */
        struct {
            const struct cel_function *fn; /* OP_CALL */
            const struct re *pattern;      /* of matches() and find() with a constant */
        };
        struct str name;                        /* OP_SELECT, OP_HAS */
        const bool *which;                      /* OP_LIST, OP_MAP: optional entries */
        struct cel_node_fold *fold;             /* OP_FOLD */
        const struct cel_node_message *message; /* OP_STRUCT */
    };
    const struct cel_node **args;
};

struct cel_node_message {
    const struct cel_message *of;
    const uint8_t *fields; /* the number of the field of each argument */
    const bool *optional;  /* ?name: value */
};

struct cel_node_fold {
    const struct cel_node *range, *init, *cond, *step, *result;
    uint16_t var, var2, accu; /* slots; var2 UINT16_MAX: none */
    bool bind, appends;
    enum { FOLD_PLAIN, FOLD_ALL, FOLD_EXISTS } how; /* all(), exists(): a loop of their own */
    const struct cel_node *each;                    /* their predicate */
};

struct cel_pattern {
    struct cel_pattern *next;
    struct re *re;
};

struct cel_expr {
    struct arena *a;
    const struct cel_node *root; /* NULL: no program */
    const struct cel_type *type;
    struct cel_cost estimate;
    struct cel_pattern *patterns;
    cel_zone_fn zone;
    struct cel_trace *trace;
    uint32_t n_locals;
    uint64_t uses; /* which of the first 64 variables */
};

/* false: *why has the error of a constant part. */
bool cel_plan(const struct cel_env *env, struct cel_expr *e, struct arena *scratch,
              struct cel_ast *root, struct strbuf *why);
struct cel_val cel_run_plain(struct cel_run *r, const struct cel_node *n);
static inline struct cel_val cel_run_node(struct cel_run *r, const struct cel_node *n)
{
    if (r->trace)
        return cel_trace_run(r, n);
    if (n->op == OP_CONST)
        return n->value;
    if (n->op == OP_LOCAL && r->locals[n->slot].kind != CK_ABSENT) { /* no cel.bind() that waits */
        (void)cel_charge(r, n->cost);
        return r->locals[n->slot];
    }
    return cel_run_plain(r, n);
}
struct cel_val cel_run_select(struct cel_run *r, const struct cel_node *n);
struct cel_val cel_run_has(struct cel_run *r, const struct cel_node *n);
struct cel_val cel_run_index(struct cel_run *r, const struct cel_node *n);
/* What upstream calls the type of a value that is no index; NULL: it may be one. */
const char *cel_not_a_key(struct cel_val v);
/* What cel-go calls the type of a value in its errors; NULL: it never gets there. */
const char *cel_go_type(struct cel_val v);
struct cel_val cel_call(struct cel_run *r, const struct cel_function *fn,
                        const struct cel_val *args, unsigned n);
/* What the call that runs costs beyond its arguments. */
uint64_t cel_call_cost(struct cel_run *r, enum cel_cost_rule rule, const struct cel_val *args,
                       unsigned n, struct cel_val result);
/* The pattern of the call that runs, or a new one in *made; NULL with an error in *why. */
const struct re *cel_run_pattern(struct cel_run *r, struct cel_val text, struct re **made,
                                 struct cel_val *why);
#endif
