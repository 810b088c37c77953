/* typed.h - documents as structured merge sees them: their fields, differences, merges, removals.
 *
 * Pure: values in, sets and values out. Nothing here knows managers (managed.h).
 */
#ifndef KOORD_APISERVER_APPLY_TYPED_H
#define KOORD_APISERVER_APPLY_TYPED_H
#include "apiserver/apply/fields.h"
#include "apiserver/apply/shape.h"

/* What somebody who wrote this document owns of it. */
const struct fields *typed_fields(struct arena *a, const struct shape *s, const struct kj_val *v);

struct typed_diff {
    const struct fields *added, *modified, *removed;
};
struct typed_diff typed_compare(struct arena *a, const struct shape *s, const struct kj_val *before,
                                const struct kj_val *after);
/* `over` laid over `base`: its leaves win, its lists give the order, what it does not name stays.
 * With the texts of both, whose documents must live longer. */
struct kj_mval *typed_merge(struct kj_mdoc *d, const struct shape *s, const struct kj_val *base,
                            const struct kj_val *over);
/* Without these fields. An object or list that loses all it has becomes null. */
struct kj_mval *typed_remove(struct kj_mdoc *d, const struct shape *s, const struct kj_val *v,
                             const struct fields *gone);
/* The set with each member that is declared by name and on the way to another one. */
const struct fields *typed_with_parents(struct arena *a, const struct shape *s,
                                        const struct fields *set);
/* Fields that the schema does not know, and items of a list that cannot be told apart: the first
 * of them, as ".spec.foo: field not declared in schema". */
int typed_check(const struct shape *s, const struct kj_val *v, struct kerr *err);
#endif
