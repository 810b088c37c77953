/* caches.h - the informers of a process: one for each kind, shared by whoever reads that kind.
 *
 * A controller, a reporter or a plugin asks for the kinds it reads; the first one to ask makes the
 * informer, all others get the same. They add handlers and indexes of their own, and never start or
 * free an informer that came from here. Loop thread only.
 */
#ifndef KOORD_CONTROLLERS_CACHES_H
#define KOORD_CONTROLLERS_CACHES_H
#include "base/vec.h"
#include "client/informer.h"

struct caches;
struct kube;

struct caches *caches_new(struct kube *k);
struct caches *caches_free(struct caches *cs); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(caches_free, struct caches *)

/* All objects of a kind. The kind must outlive the caches. */
struct informer *caches_get(struct caches *cs, const struct kind *k);
/* Some of them, or less of them: a namespace, a selector, a reduction. Who asks for the same gets
 * the same. */
struct informer *caches_get_some(struct caches *cs, const struct informer_opts *o);
/* For those who read nothing but metadata: an informer of all objects of this resource, whatever
 * struct they are decoded into; NULL when nobody has asked for one. */
struct informer *caches_find(const struct caches *cs, const char *group, const char *plural);

/* Starts all that were asked for; what is asked for later starts at once. */
void caches_start(struct caches *cs);
bool caches_synced(const struct caches *cs); /* each has its first complete list */

/* ---- reading by an index --------------------------------------------------------------------- */

typedef struct vec_of(struct kobj *) kobjvec; /* borrowed: until the next turn */

/* Appends the objects under a value of an index, sorted by namespace and name: what is done must
 * not depend on how a cache lies in memory. The index is made when it is first asked for. */
void objects_by(struct informer *inf, index_fn index, const char *value, kobjvec *out);
void objects_by_owner(struct informer *inf, struct kuid owner, kobjvec *out);

void index_owner(const struct kobj *o, index_emit_fn emit, void *to);  /* UIDs of all owners */
void index_ns(const struct kobj *o, index_emit_fn emit, void *to);     /* namespace */
void index_orphan(const struct kobj *o, index_emit_fn emit, void *to); /* that, if no controller */
void index_pod_node(const struct kobj *o, index_emit_fn emit, void *to); /* node name of a pod */
#endif
