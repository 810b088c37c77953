/* nodekinds.h - the kinds whose objects belong to a node: a change of one is a change of that
 * node's row, and of no other. No state.
 */
#ifndef KOORD_SCHEDULER_MODEL_NODEKINDS_H
#define KOORD_SCHEDULER_MODEL_NODEKINDS_H
#include "api/kobj.h"

bool nodekinds_has(const struct kind *k);
/* There is at most one of a node, and it has the node's name. */
bool nodekinds_is_named(const struct kind *k);
/* The name of the object's node, borrowed from the object; NULL: it has none, or its kind does not
 * belong to nodes. */
const char *nodekinds_node(const struct kobj *o);
#endif
