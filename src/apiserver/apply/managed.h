/* managed.h - who owns which fields of an object: metadata.managedFields.
 *
 * An update takes what it changes; an apply owns what its document names, takes away what it named
 * before and nobody else does, and conflicts with whoever owns what it would change. Pure: the
 * registry (registry/managed.c) says when, and keeps the result.
 */
#ifndef KOORD_APISERVER_APPLY_MANAGED_H
#define KOORD_APISERVER_APPLY_MANAGED_H
#include "apiserver/apply/typed.h"
#include "base/vec.h"

struct manager {
    const char *name, *api_version, *subresource; /* subresource "": none */
    const char *time;                             /* RFC 3339; "": not known */
    bool applied;                                 /* by apply; else by update */
    const struct fields *fields;
};
struct managed {
    struct arena *arena; /* the caller's; of all that is below */
    struct vec_of(struct manager) list;
    bool broken; /* an entry has an apiVersion that is none */
};
/* Update managers beyond so many are put together, the oldest first. */
enum { MANAGERS_MAX = 10 };

/* An operation on an object, and by whom. */
struct managed_op {
    const struct shape *shape;
    const char *manager, *api_version, *subresource, *now;
    const struct fields *ignored; /* what this way of writing never changes: status, or spec */
    bool force;                   /* apply: conflicts are won */
    const struct fields *allowed; /* apply: conflicts about these are too */
};
/* Why an apply was refused. */
struct managed_conflict {
    const char *manager; /* "kubectl-edit" using v1 */
    const char *path;
};
struct managed_conflicts vec_of(struct managed_conflict);

/* -EINVAL: not what a server has written; *ret is empty then. */
int managed_read(struct managed *ret, struct arena *a, const struct kj_val *list, bool ours,
                 struct kerr *err);
void managed_fini(struct managed *m);
/* As a list in the server's order; NULL when nobody owns anything. */
struct kj_mval *managed_write(struct managed *m, struct kj_mdoc *d);

void managed_update(struct managed *m, const struct managed_op *op, const struct kj_val *before,
                    const struct kj_val *after);
/* The object with the document applied, *ret NULL when it stays as it is; with the texts of both,
 * which must live longer than d. -EBUSY: conflicts, texts
 * in the arena; m is of no use then. -EINVAL: the document does not fit the schema. */
int managed_apply(struct managed *m, const struct managed_op *op, const struct kj_val *live,
                  const struct kj_val *document, struct kj_mdoc *d, struct kj_mval **ret,
                  struct managed_conflicts *conflicts, struct kerr *err);

/* Of a Scale somebody can own spec.replicas, which stands for a field of the object. */
#define MANAGED_SCALE_VERSION "autoscaling/v1"
/* Who owns `replicas`, a set of one field of the object, as managers of its Scale. */
void managed_to_scale(const struct managed *m, const struct fields *replicas, struct managed *ret);
/* And back, after the Scale was changed. Who owns replicas through an update, of whatever, gets an
 * entry of its own that has no time, as there. */
void managed_from_scale(struct managed *m, const struct fields *replicas, const char *api_version,
                        const struct managed *scale);
#endif
