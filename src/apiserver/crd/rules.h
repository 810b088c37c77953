/* rules.h - x-kubernetes-validations of a schema node: compiled once, judged at the definition,
 * evaluated on objects.
 */
#ifndef KOORD_APISERVER_CRD_RULES_H
#define KOORD_APISERVER_CRD_RULES_H
#include "apiserver/crd/internal.h"
#include "cel/cel.h"

/* Limits of kube-apiserver. */
#define RULE_ESTIMATE_MAX   UINT64_C(10000000)  /* of one expression, times its cardinality */
#define SCHEMA_ESTIMATE_MAX UINT64_C(100000000) /* of all of a schema */
#define RULES_BUDGET        10000000            /* spent on one object */
enum { RULE_MESSAGE_MAX = 5 * 1024 };           /* of a messageExpression's result */

/* One entry. Text is that of the definition. */
struct srule {
    struct cel_expr *rule, *message; /* message NULL: none */
    struct str text, plain;          /* rule and message without blanks around them */
    struct str expression;           /* messageExpression */
    const char *path;                /* fieldPath as errors write it: ".a.b[key]", or "" */
    enum field_error_type type;      /* by the reason */
    bool uses_old, optional_old;
};

/* What is wrong with the expressions of an entry; both empty: nothing. */
struct rule_faults {
    struct strbuf rule, message;
};
/* Compiles one entry for values of a type. The expressions are the caller's. */
void rule_compile(const struct kj_val *entry, const struct cel_type *type, struct arena *a,
                  struct srule *ret, struct rule_faults *faults);
/* The field that a fieldPath names, as errors write it; NULL: the schema has none. */
const char *rule_path(struct arena *a, const struct kj_val *schema, const char *path, size_t n);
/* A string without blanks around it, as Go's strings.TrimSpace(). */
struct str rule_trim(const struct kj_val *v);
struct str rule_trim_str(struct str s);

/* rules_define.c. Errors of the form of the entries are errors of the schema: then no expression of
 * this node or above is looked at. */
struct rules_define {
    struct arena *a;
    struct field_errors *errors; /* of expressions */
    bool old_costs; /* the version is as it was: the cost of one expression is nobody's fault */
    struct {
        uint64_t cost;
        char *path;
    } worst[4];
    uint64_t total;
};
struct rules_place {
    const char *path; /* of the node */
    const char
        *uncorrelatable; /* the list above that has no old values for its items; NULL: none */
    uint64_t cardinality;
    bool unbounded, root;
};
void rules_check_form(const struct kj_val *schema, const char *path, struct field_errors *errors);
void rules_check_node(struct rules_define *d, const struct kj_val *schema,
                      const struct rules_place *at);
void rules_check_total(struct rules_define *d, const char *where);
void rules_define_fini(struct rules_define *d);

/* rules_eval.c: what the rules say about a value and the one that it replaces (NULL: none). */
void rules_eval(const struct snode *n, const struct kj_val *v, const struct kj_val *old,
                const char *path, struct field_errors *errors, struct field_errors *warnings);
#endif
