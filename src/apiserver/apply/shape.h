/* shape.h - how a place in a document merges: what structured merge needs to know of a schema.
 *
 * One view of two kinds of schema: the field tables of built-in kinds and the structural schemas of
 * custom ones. Passed by value; points into tables and schemas that outlive it.
 */
#ifndef KOORD_APISERVER_APPLY_SHAPE_H
#define KOORD_APISERVER_APPLY_SHAPE_H
#include "base/strbuf.h"
#include "json/kj.h"

struct resource;
struct snode;
struct t_field;
struct t_type;

enum shape_form {
    SHAPE_LEAF, /* a scalar, or a list or object that is replaced whole */
    SHAPE_MAP,  /* an object whose members have owners of their own */
    SHAPE_SET,  /* a list whose items are told apart by their value... */
    SHAPE_LIST  /* ...or by some of their members */
};
struct shape {
    enum {
        SHAPE_ATOMIC,  /* whatever it is, a leaf */
        SHAPE_DEDUCED, /* objects are maps, everything else is a leaf */
        SHAPE_TYPE,    /* a struct of the tables */
        SHAPE_FIELD,   /* a list or map of the tables */
        SHAPE_NODE     /* of a structural schema */
    } of;
    union {
        const struct t_type *type;
        const struct t_field *field;
        const struct snode *node;
    };
    bool is_root; /* with SHAPE_NODE: has kind, apiVersion and metadata */
};

struct shape shape_of(const struct resource *r);
/* v: what is there, for places whose schema leaves it open; NULL: nothing. */
enum shape_form shape_form(const struct shape *s, const struct kj_val *v);
/* *declared: by name, not as one of any names. *known: the schema has a place for it. */
struct shape shape_member(const struct shape *s, struct str key, bool *declared, bool *known);
struct shape shape_item(const struct shape *s);
/* The element of a path ("k:{...}", "v:...") that names this item of a list by the keys that it
 * has; appended. -EINVAL: it has none. */
int shape_element(const struct shape *s, const struct kj_val *item, struct strbuf *out,
                  struct kerr *err);
#endif
