/* overlay.h - an overlay on the rows of the node cache: pods added or removed, more or less in use;
 * changes that are tried and taken back.
 *
 * A log on the cache. Each change knows how it is undone; whoever tries something remembers a mark
 * and undoes what came after it, the latest first. So overlays nest, over any number of rows, and
 * what is left is the cache as it was, to the byte: lists, sums, generations, and what plugins
 * derive from rows (rowdata.h). Rows in the log get
 * no new generation: what is kept by generation is not about them (overlay_rows()).
 *
 * While there is an overlay nothing else happens to the cache, but that pods may be assumed and
 * forgotten, also those that the overlay has removed: then lists keep their members, though not
 * their order. Loop thread only; holds a reference on each pod that was added.
 */
#ifndef KOORD_SCHEDULER_MODEL_OVERLAY_H
#define KOORD_SCHEDULER_MODEL_OVERLAY_H
#include "scheduler/model/rows.h"

struct kobj;
struct nodecache;
struct pod;

enum overlay_kind {
    OVERLAY_ADDED,
    OVERLAY_REMOVED,
    OVERLAY_RESTORED,
    OVERLAY_USED,
    OVERLAY_OWN, /* a column of a plugin's own: rowdata.h */
    OVERLAY_VOID /* it was about a pod that is gone for good */
};

/* How many changes there are: 0 is the cache itself. */
uint32_t overlay_mark(const struct nodecache *c);
/* The rows that they are about, each once. */
const uint32_t *overlay_rows(const struct nodecache *c, uint32_t *ret_n);

void overlay_add_pod(struct nodecache *c, uint32_t row, struct kobj *pod);
void overlay_remove_pod(struct nodecache *c, uint32_t row, const struct pod *pod); /* of its list */
/* One that was removed is there again. Only to be asked for while it is gone. */
void overlay_restore_pod(struct nodecache *c, uint32_t row, const struct pod *pod);
/* More in use in a column, or less; beyond 2^57 it is cut. */
void overlay_use(struct nodecache *c, uint32_t row, uint32_t column, int64_t delta);

struct overlay_undone { /* the change that was taken back */
    enum overlay_kind kind;
    uint32_t row;
    struct kobj *pod; /* with a reference for the caller; NULL: it was not about a pod */
};
/* Takes back the latest change; there must be one. */
struct overlay_undone overlay_undo(struct nodecache *c);
#endif
