/* topology.h - batch resources of NUMA zones, written into the NodeResourceTopology.
 *
 * A pure function (manager 5.2).
 */
#ifndef KOORD_MANAGER_NR_TOPOLOGY_H
#define KOORD_MANAGER_NR_TOPOLOGY_H
#include "manager/noderesource/nr.h"

/* The merge patch that makes the topology say what was calculated; it names the version that was
 * looked at, because a list is replaced as a whole. "" when nothing is to be written: no value is
 * apart by more than the threshold (unless all are to be written anyway) and no name is missing.
 *
 * Without a result for any zone (the node is degraded, or colocation is off) batch resources are
 * taken out of the zones; a zone that the result does not know loses them too. */
void nr_patch_topology(const struct noderesourcetopology *t, const struct nr_result *r,
                       bool write_all, struct arena *a, struct strbuf *out);
/* Is there anything in b, compared with a, that calls for a calculation? Zones (those that somebody
 * else wrote without our resources, too), and the model of the CPUs. */
bool nr_topology_differs(const struct noderesourcetopology *a,
                         const struct noderesourcetopology *b);
#endif
