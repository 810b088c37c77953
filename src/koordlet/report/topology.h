/* topology.h - what NodeResourceTopology says of this node (koordlet-metrics 7.2 to 7.5).
 *
 * Pure: the computation and the comparison with what is stored. Results belong to the arena.
 */
#ifndef KOORD_KOORDLET_TOPOLOGY_H
#define KOORD_KOORDLET_TOPOLOGY_H
#include "api/koord/noderesourcetopology.h"
#include "koordlet/facts/cpuinfo.h"
#include "koordlet/states/snapshot.h"

struct topology_in {
    const struct cpu_info *cpu;   /* NULL is an error: "node cpu info not exist" */
    const struct numa_info *numa; /* NULL is an error too */
    const struct node *node;
    const struct podset *pods;            /* NULL: none */
    const struct kubelet_config *kubelet; /* NULL: it is not asked */
    struct str cpu_manager_state;         /* the kubelet's checkpoint; empty: there is none */
};
struct topology {
    kstrmap annotations;          /* every key that is ours, sorted */
    kstrmap labels;               /* those of ours that are set */
    const char *policy;           /* of topologyPolicies */
    KLIST(struct nrt_zone) zones; /* sorted by name */
};
int topology_compute(const struct topology_in *in, struct arena *a, struct topology *ret,
                     struct kerr *err);

/* ---- against what is stored (7.1) ------------------------------------------------------------ */

/* Annotations are compared as JSON values, zones by what is ours in them. */
bool topology_differs(const struct topology *t, const struct noderesourcetopology *stored);
bool topology_equal(const struct topology *a, const struct topology *b);
/* A merge patch of what differs, bound to the stored version. Labels, annotations, zone resources,
 * costs, attributes and parents of others stay; zones that this node does not have go. */
void topology_patch(const struct topology *t, const struct noderesourcetopology *stored,
                    struct strbuf *out);
/* The object for a create, owned by the Node. */
void topology_object(const struct topology *t, const struct node *owner, struct strbuf *out);
#endif
