/* nominator.h - pods that were nominated on a node which victims still occupy
 * (scheduler-core 3.7).
 *
 * Other pods of no higher priority must leave that room alone. Loop thread only; holds one
 * reference on each pod.
 */
#ifndef KOORD_SCHEDULER_MODEL_NOMINATOR_H
#define KOORD_SCHEDULER_MODEL_NOMINATOR_H
#include "api/kobj.h"

struct nominator;

struct nominator *nominator_new(void);
struct nominator *nominator_free(struct nominator *n);
DEFINE_CLEANUP(nominator_free, struct nominator *)

/* The pod's place, which replaces an older one. node "" or NULL: it has none any more. */
void nominator_set(struct nominator *n, struct kobj *pod, const char *node);
/* The same for a pod of another scheduler: it keeps out only pods of lower priority. */
void nominator_set_foreign(struct nominator *n, struct kobj *pod, const char *node);
bool nominator_is_foreign(const struct nominator *n, struct kuid uid);
/* The pod changed; its place stays. */
void nominator_update(struct nominator *n, struct kobj *pod);
bool nominator_remove(struct nominator *n, struct kuid uid);
const char *nominator_node(const struct nominator *n, struct kuid uid); /* NULL: none */
size_t nominator_count(const struct nominator *n);

/* Iterate over all: size_t it = 0; while ((pod = nominator_next(n, &it, &node))) ... */
struct kobj *nominator_next(const struct nominator *n, size_t *it, const char **ret_node);
#endif
