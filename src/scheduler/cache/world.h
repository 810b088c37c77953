/* world.h - the objects beside pods and nodes that plugins read: claims, volumes, services,
 * budgets.
 *
 * By kind and "namespace/name". Loop thread only; holds one reference on each object. Filled by the
 * scheduler's informers, or from files when somebody asks what would happen. The generation grows
 * with every change: what was derived from the world is worth as much as its generation.
 */
#ifndef KOORD_SCHEDULER_WORLD_H
#define KOORD_SCHEDULER_WORLD_H
#include "api/kobj.h"

struct world;

struct world *world_new(void);
struct world *world_free(struct world *w);
DEFINE_CLEANUP(world_free, struct world *)

void world_put(struct world *w, struct kobj *o); /* new or changed */
/* False when it was not there. */
bool world_remove(struct world *w, const struct kobj *o);
uint64_t world_generation(const struct world *w);
/* The same for the objects of one kind. */
uint64_t world_generation_of(const struct world *w, const struct kind *k);

/* Borrowed until the next turn; NULL when there is none. ns is NULL for kinds without one. */
struct kobj *world_get(const struct world *w, const struct kind *k, const char *ns,
                       const char *name);
/* Iterate: size_t it = 0; while ((o = world_next(w, k, &it))) ... In no particular order. */
struct kobj *world_next(const struct world *w, const struct kind *k, size_t *it);
size_t world_count(const struct world *w, const struct kind *k);

/* Somebody who keeps something up to date with all objects of a kind. Told after the change; before
 * NULL: it is new; now NULL: it went. Both are valid during the call only. The listener stays the
 * caller's, who may change nothing in the world meanwhile, and ends listening before the world
 * ends.
 */
struct world_listener {
    const struct kind *kind;
    void (*fn)(void *arg, struct kobj *before, struct kobj *now);
    void *arg;
    struct world_listener *next;
};
void world_listen(const struct world *w, struct world_listener *l);
void world_unlisten(const struct world *w, struct world_listener *l);

/* What plugins of one name keep together, in whatever profile they are: the first makes it, so it
 * is also there for those that come with another configuration. It ends before the world ends. */
typedef void *(*world_make_fn)(const struct world *w);
void *world_share(const struct world *w, const char *name, world_make_fn make);
/* True: that was the last who had it, and frees it. */
bool world_unshare(const struct world *w, const void *thing);
#endif
