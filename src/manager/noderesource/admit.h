/* admit.h - a node's status on its way into the API server: allocatable is shown amplified.
 *
 * A pure function; the webhook of nodes/status decodes, asks and patches (manager 8.2).
 */
#ifndef KOORD_MANAGER_NR_ADMIT_H
#define KOORD_MANAGER_NR_ADMIT_H
#include "api/node.h"

struct node_admission {
    const char *raw_allocatable; /* the annotation to set; NULL: leave it */
    bool remove_raw_allocatable;
    reslist allocatable; /* cpu and memory that are to be shown, where they are to be changed */
};
/* node: as sent; old: as stored. Memory comes from the arena. An error is a refusal with code 500.
 */
int node_status_admit(const struct node *node, const struct node *old, struct arena *a,
                      struct node_admission *ret, struct kerr *err);
#endif
