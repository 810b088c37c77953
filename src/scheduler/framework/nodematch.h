/* nodematch.h - where a pod may go by its own will: its nodeSelector and its required node
 * affinity.
 *
 * Compiled once, in the caller's arena, and asked for many nodes. No state.
 */
#ifndef KOORD_SCHEDULER_NODEMATCH_H
#define KOORD_SCHEDULER_NODEMATCH_H
#include "base/base.h"

struct arena;
struct labelsel;
struct node;
struct nodesel;
struct pod;

struct nodematch {
    const struct labelsel *labels; /* NULL: any */
    const struct nodesel *terms;   /* NULL: any */
};
struct nodematch nodematch_of(const struct pod *p, struct arena *a);
bool nodematch_node(const struct nodematch *m, const struct node *n);
/* Do these terms alone match? Terms that cannot be understood do not. */
bool nodematch_terms(const struct nodesel *terms, const struct node *n);
#endif
