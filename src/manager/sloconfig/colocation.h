/* colocation.h - the colocation strategy: what counts for one node, and which values are possible.
 *
 * Pure functions (manager 2.1 and 2.4).
 */
#ifndef KOORD_MANAGER_COLOCATION_H
#define KOORD_MANAGER_COLOCATION_H
#include "manager/sloconfig/sloconfig.h"

/* The rules that hold while running: an error names the first field that breaks one. */
int colocation_strategy_check(const struct colocation_strategy *s, struct kerr *err);

/* Where the values of a node's strategy come from, for people. */
struct colocation_sources {
    const struct slo_node_entry *entry; /* NULL: none matches, the cluster's strategy counts */
    bool annotation;                    /* the node's annotation was laid over it */
    const char *annotation_problem;     /* it is there but cannot be read; NULL: fine or absent */
    bool cpu_label, memory_label, mid_cpu_label, mid_memory_label; /* ratio labels that count */
};
/* The strategy of one node: node entry over the cluster's, then the node's annotation, then its
 * labels. The result lives in the arena (and borrows from the section). No check is applied to it,
 * as upstream. sources may be NULL. */
const struct colocation_strategy *colocation_strategy_of(const struct slo_section *section,
                                                         const kstrmap *labels,
                                                         const kstrmap *annotations,
                                                         struct arena *a,
                                                         struct colocation_sources *ret_sources);
/* Is colocation on for a node with this strategy? The cluster's switch must be on as well: a node
 * entry cannot turn on what the cluster has off. */
bool colocation_enabled(const struct slo_section *section, const struct colocation_strategy *s);
#endif
