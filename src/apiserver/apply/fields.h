/* fields.h - sets of fields of a document, as metadata.managedFields keeps them (FieldsV1).
 *
 * A set is a tree: each node stands for one element of a path and says whether the field at that
 * place belongs to the set. An element is its text in FieldsV1: "f:name" a member, "k:{"name":"a"}"
 * the item of a list with these keys, "v:"a"" the item of this value, "i:0" the item at this place.
 * Nodes live in an arena; sets that come out of an operation share nodes with those that went in,
 * and none is changed afterwards. A NULL set is the empty one.
 */
#ifndef KOORD_APISERVER_APPLY_FIELDS_H
#define KOORD_APISERVER_APPLY_FIELDS_H
#include "base/arena.h"
#include "base/base.h"
#include "json/kj.h"

struct fields {
    struct str element; /* nothing for the root */
    bool member;
    uint32_t n, cap;
    struct fields **kids; /* sorted */
};

/* A place in a document: a list from the last element to the first, on the walker's stack. */
struct field_at {
    struct field_at *up; /* NULL: the root */
    struct str element;
    bool name;        /* the element is the name of a member, without "f:" */
    struct known_at { /* where it is in sets that it, or something below it, was put into */
        const struct fields *set;
        struct fields *node;
    } known[3];
};

/* The element of a member with this key. */
struct str field_member(struct arena *a, struct str key);
struct fields *fields_new(struct arena *a);
/* A node that is being made below s: the one with this element if there is one. Elements are not
 * copied. It is closed when all below it is known, and kept if there is something. */
struct fields *fields_open(struct arena *a, const struct fields *s, struct str element);
void fields_close(struct arena *a, struct fields *s, struct fields *kid);
/* The place becomes a member of a set that is being made. */
void fields_insert(struct arena *a, struct fields *s, struct field_at *at);
bool fields_empty(const struct fields *s);
/* The node below this element, NULL when the set has nothing there. */
const struct fields *fields_below(const struct fields *s, struct str element);
bool fields_equal(const struct fields *a, const struct fields *b);

const struct fields *fields_union(struct arena *a, const struct fields *x, const struct fields *y);
const struct fields *fields_both(struct arena *a, const struct fields *x, const struct fields *y);
/* Members of x that are none of y; what is below a member of y stays... */
const struct fields *fields_minus(struct arena *a, const struct fields *x, const struct fields *y);
/* ...or goes with it. */
const struct fields *fields_without(struct arena *a, const struct fields *x,
                                    const struct fields *y);

/* Every member in order; the path as people read it: .spec.containers[name="a"].image */
typedef void (*fields_fn)(void *arg, const char *path);
void fields_each(const struct fields *s, fields_fn fn, void *arg);

/* FieldsV1. Refused: what is no object, elements of an unknown form, more than FIELDS_DEPTH_MAX. */
enum { FIELDS_DEPTH_MAX = KJ_DEPTH_MAX };
/* ours: made by fields_value(), so that its elements are as they should be. */
int fields_read(struct arena *a, const struct kj_val *v, bool ours, const struct fields **ret,
                struct kerr *err);
struct kj_mval *fields_value(const struct fields *s, struct kj_mdoc *d);
#endif
