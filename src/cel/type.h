/* type.h - types of expressions: of variables, of literals, of what schemas describe.
 *
 * Types are immutable. The simple ones are constants of this room; others live in the arena of who
 * makes them and must outlive every expression compiled with them.
 */
#ifndef KOORD_CEL_TYPE_H
#define KOORD_CEL_TYPE_H
#include "base/arena.h"
#include "base/strbuf.h"

enum cel_type_kind {
    CT_DYN, /* known at run time only */
    CT_ERROR,
    CT_NULL,
    CT_BOOL,
    CT_INT,
    CT_UINT,
    CT_DOUBLE,
    CT_STRING,
    CT_BYTES,
    CT_TIMESTAMP,
    CT_DURATION,
    CT_LIST,     /* of elem */
    CT_MAP,      /* from key to elem */
    CT_TYPE,     /* the type of a value of type elem */
    CT_OPTIONAL, /* of elem */
    CT_WRAPPER,  /* elem or null: protobuf's wrapper messages */
    CT_OBJECT,   /* fields, or a structure of Kubernetes' own without any */
    CT_OPAQUE,
    CT_PARAM, /* a variable of a signature */
};

enum cel_list_kind { CEL_LIST_ATOMIC, CEL_LIST_SET, CEL_LIST_MAP };

struct cel_type;

struct cel_field {
    struct str name; /* as expressions write it: __dot__ for "." */
    struct str json; /* as documents write it */
    const struct cel_type *type;
};

struct cel_type {
    uint8_t kind;      /* enum cel_type_kind */
    uint8_t list_kind; /* enum cel_list_kind: what equality and + mean */
    bool of_schema;    /* a list, map or object that a structural schema describes */
    uint32_t param;    /* CT_PARAM: which */
    uint32_t inside;   /* types in it, those that come several times counted each time */
    uint32_t n_fields, n_list_keys;
    const char *name; /* of the value's type at run time */
    const struct cel_type *elem, *key;
    const struct cel_field *fields; /* sorted by name */
    const struct str *list_keys;    /* CEL_LIST_MAP: by which JSON members items are told apart */
    uint64_t size_max; /* code points, bytes, items or entries at most; CEL_SIZE_UNKNOWN */
};
#define CEL_SIZE_UNKNOWN UINT64_MAX
/* {a: a} of {a: a} of ... is written with few signs and has many types inside: expressions of types
 * that are larger, or that take more steps to be told apart, are refused. */
enum { CEL_TYPE_MAX = 1000, CEL_TYPE_STEPS_MAX = 5000000 };

extern const struct cel_type cel_dyn, cel_error, cel_null, cel_bool, cel_int, cel_uint, cel_double,
    cel_string, cel_bytes, cel_timestamp, cel_duration, cel_quantity, cel_ip, cel_cidr, cel_url,
    cel_semver, cel_format, cel_list_dyn, cel_map_dyn;
/* Kubernetes' authorizer and what its builders return. */
extern const struct cel_type cel_authorizer, cel_path_check, cel_group_check, cel_resource_check,
    cel_decision;

const struct cel_type *cel_type_list(struct arena *a, const struct cel_type *elem);
const struct cel_type *cel_type_map(struct arena *a, const struct cel_type *key,
                                    const struct cel_type *elem);
const struct cel_type *cel_type_of(
    struct arena *a, enum cel_type_kind kind,
    const struct cel_type *elem); /* CT_TYPE, CT_OPTIONAL, CT_WRAPPER */
/* The type with other types inside; itself when they are the same. */
const struct cel_type *cel_type_with(struct arena *a, const struct cel_type *t,
                                     const struct cel_type *key, const struct cel_type *elem);
/* The type in an arena that lives longer: types of a tree die with that of the tree. */
const struct cel_type *cel_type_keep(struct arena *a, const struct cel_type *t);
/* A wrapper is the same as the type inside it. */
bool cel_type_eq(const struct cel_type *a, const struct cel_type *b);
/* NULL: the object has no such field. */
const struct cel_field *cel_type_field(const struct cel_type *t, struct str name);
bool cel_type_is_any(const struct cel_type *t); /* that of devices' attributes, which is dyn too */
/* "list(google.protobuf.Timestamp)"; in messages upstream writes "list(timestamp)". */
void cel_type_print(const struct cel_type *t, bool message, struct strbuf *out);

/* ---- unification (unify.c), for the checker ---------------------------------------------------- */

/* What the variables of signatures stand for so far. */
struct cel_subst {
    struct arena *a;
    const struct cel_type **of; /* by param - CEL_PARAM_FIRST; NULL: free */
    uint32_t n, cap;
    struct {
        uint32_t param;
        const struct cel_type *was;
    } * trail; /* what to take back when a candidate does not fit */
    uint32_t n_trail, cap_trail;
    uint32_t steps; /* types that were looked at */
    bool too_large; /* they were too many: whatever is asked, the answer is worth nothing */
};
enum { CEL_PARAM_FIRST = 64 }; /* below: the variables in the tables of functions */

const struct cel_type *cel_subst_fresh(struct cel_subst *s);
/* A copy of a signature's type with fresh variables; `fresh` remembers them, all NULL at first. */
const struct cel_type *cel_subst_instance(struct cel_subst *s, const struct cel_type *t,
                                          const struct cel_type *fresh[4]);
/* May a value of type `from` stand where `to` is expected? Binds variables; takes back on false. */
bool cel_assignable(struct cel_subst *s, const struct cel_type *to, const struct cel_type *from);
bool cel_assignable_all(struct cel_subst *s, const struct cel_type *const *to,
                        const struct cel_type *const *from, size_t n);
const struct cel_type *cel_most_general(struct cel_subst *s, const struct cel_type *a,
                                        const struct cel_type *b);
/* The type with its variables replaced; `dyn`: free ones become dyn. */
const struct cel_type *cel_subst_apply(struct cel_subst *s, const struct cel_type *t, bool dyn);
#endif
