/* objects.h - the objects beside pods and nodes that plugins read: claims, volumes, services,
 * budgets.
 *
 * By kind and "namespace/name". Loop thread only; holds one reference on each object. Filled by the
 * scheduler's informers, or from files when somebody asks what would happen. The generation grows
 * with every new state of an object: who keeps pointers into objects compares it.
 */
#ifndef KOORD_SCHEDULER_MODEL_OBJECTS_H
#define KOORD_SCHEDULER_MODEL_OBJECTS_H
#include "api/kobj.h"

struct objects;

struct objects *objects_new(void);
struct objects *objects_free(struct objects *w);
DEFINE_CLEANUP(objects_free, struct objects *)

void objects_put(struct objects *w, struct kobj *o); /* new or changed */
/* False when it was not there. */
bool objects_remove(struct objects *w, const struct kobj *o);
/* Of the objects of one kind. Generations of different kinds are numbers of one sequence. */
uint64_t objects_generation_of(const struct objects *w, const struct kind *k);
/* The same, but it grows only when an object comes, goes or differs in more than its status. */
uint64_t objects_spec_generation_of(const struct objects *w, const struct kind *k);

/* Borrowed until the next turn; NULL when there is none. ns is NULL for kinds without one. */
struct kobj *objects_get(const struct objects *w, const struct kind *k, const char *ns,
                         const char *name);
/* Iterate: size_t it = 0; while ((o = objects_next(w, k, &it))) ... In no particular order. */
struct kobj *objects_next(const struct objects *w, const struct kind *k, size_t *it);
/* The same for those of a node, of a kind that belongs to nodes (nodekinds.h); the others are named
 * like their node. */
struct kobj *objects_next_of_node(const struct objects *w, const struct kind *k, const char *node,
                                  size_t *it);
size_t objects_count(const struct objects *w, const struct kind *k);

/* Somebody who keeps something up to date with all objects of a kind. Told after every new state,
 * also when nothing of interest differs; before NULL: it is new; now NULL: it went. Both are valid
 * during the call only. The listener stays the caller's, who may change nothing in the object cache
 * meanwhile, and ends listening before the object cache ends.
 */
struct objects_listener {
    const struct kind *kind; /* NULL: those that belong to nodes (nodekinds.h) */
    void (*fn)(void *arg, struct kobj *before, struct kobj *now);
    void *arg;
    struct objects_listener *next;
};
void objects_listen(const struct objects *w, struct objects_listener *l);
void objects_unlisten(const struct objects *w, struct objects_listener *l);
#endif
