/* nodecache.h - nodes as columns, and the pods on them: what an attempt looks at.
 *
 * Loop thread only. Holds one reference on each node and each pod that has a node, also on those
 * that have one only in our mind: a pod is *assumed* from the choice of its node until the API
 * server confirms it (nodecache_put_pod) or the binding failed (nodecache_forget). Assumed pods do
 * not run out by themselves: nodecache_overdue() names those that should be asked about.
 *
 * The columns stay put during an attempt, which runs in one piece; between attempts rows may move
 * (the last row fills the hole of a removed one). Every change of a row gets a new generation: of
 * its node, of its pods, or of an object that belongs to the node; but not those that are only
 * tried (overlay.h).
 */
#ifndef KOORD_SCHEDULER_MODEL_NODECACHE_H
#define KOORD_SCHEDULER_MODEL_NODECACHE_H
#include "api/kobj.h"
#include "scheduler/model/requests.h"

struct nodecache;
struct objects;

/* objects: those that belong to nodes are looked after, so it must outlive the cache. NULL: there
 * are none. */
struct nodecache *nodecache_new(const struct objects *objects);
struct nodecache *nodecache_free(struct nodecache *c);
DEFINE_CLEANUP(nodecache_free, struct nodecache *)

/* Nodes that exist; a node known only by its pods has no row. */
const struct ks_nodes *nodecache_nodes(const struct nodecache *c);
const char *nodecache_row_name(const struct nodecache *c, uint32_t row);

/* An attempt begins: what earlier ones asked for and nobody needs any more goes. */
void nodecache_begin(struct nodecache *c);
/* A number for an attempt, also for one within another; never 0, and never twice. */
uint64_t nodecache_serial(struct nodecache *c);

/* New, or a new state. The row has changed only when the states differ in something that somebody
 * reads (compare.h, ks_read_annotations). */
void nodecache_put_node(struct nodecache *c, struct kobj *node);
void nodecache_remove_node(struct nodecache *c, const char *name);

/* From the API server: the pod has a node. Confirms an assumed pod, on whatever node it is. */
void nodecache_put_pod(struct nodecache *c, struct kobj *pod);
/* False when it was not there. */
bool nodecache_remove_pod(struct nodecache *c, struct kuid uid);

/* requests: what counts there until the server confirms the pod; NULL: what the pod says itself.
 * -EEXIST when the pod is in the cache. */
int nodecache_assume(struct nodecache *c, struct kobj *pod, const char *node,
                     const struct requests *requests, struct kerr *err);
/* The server accepted the binding; its confirmation is due. */
void nodecache_bound(struct nodecache *c, struct kuid uid, nsec_t confirm_by);
/* Undoes the assumption. False when the pod is not there or is not assumed any more. */
bool nodecache_forget(struct nodecache *c, struct kuid uid);

enum nodecache_state { NODECACHE_ABSENT, NODECACHE_ASSUMED, NODECACHE_ADDED };
/* ret_node may be NULL; it is borrowed. */
enum nodecache_state nodecache_find(const struct nodecache *c, struct kuid uid,
                                    const char **ret_node);
/* An assumed pod whose confirmation is overdue; its deadline moves to `again`. NULL: none. */
struct kobj *nodecache_overdue(struct nodecache *c, nsec_t now, nsec_t again);

struct nodecache_stats {
    size_t nodes, pods, assumed, resources;
};
struct nodecache_stats nodecache_stats(const struct nodecache *c);
/* Adds everything up again and compares; for tests and the debug signal. -EBADMSG on a mismatch. */
int nodecache_verify(const struct nodecache *c, struct kerr *err);
#endif
