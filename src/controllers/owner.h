/* owner.h - owner references: whose an object is, and how that is written.
 *
 * claim.h says which children an owner should have; this is the JSON.
 */
#ifndef KOORD_CONTROLLERS_OWNER_H
#define KOORD_CONTROLLERS_OWNER_H
#include "api/kobj.h"

struct kj_mdoc;
struct kj_mval;
struct kjw;

/* The key of the object that controls this one, if it is of this kind; else false. */
bool owner_key(const struct kobj *o, const char *kind, char *key, size_t size);

/* The member "ownerReferences" of an object's metadata, with one owner. controls: the owner is its
 * controller, and waits for it in a foreground deletion. */
void owner_write(struct kjw *w, const struct kobj *owner, bool controls);
/* The same as a value, of the owner that controls it. */
struct kj_mval *owner_value(struct kj_mdoc *d, const struct kobj *owner);
/* In a strategic merge patch: this owner goes, all others stay. */
void owner_write_drop(struct kjw *w, struct kuid owner);
/* In a merge patch, for kinds without a merge strategy: all owners of o but these. Name the
 * resourceVersion beside it. */
void owner_write_others(struct kjw *w, const struct kobj *o, const struct kuid *drop, size_t n);
#endif
