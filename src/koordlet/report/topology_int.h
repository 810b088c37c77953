/* topology_int.h - between the files that compute a topology. */
#ifndef KOORD_KOORDLET_TOPOLOGY_INT_H
#define KOORD_KOORDLET_TOPOLOGY_INT_H
#include "koordlet/report/topology.h"

/* 7.3: the CPUs that the kubelet's static policy keeps for itself. */
int kubelet_reserved_cpus(const struct kubelet_config *k, const struct cpu_info *c,
                          struct cpuset *ret, struct kerr *err);
/* The word for topologyPolicies. */
const char *kubelet_topology_policy(const struct kubelet_config *k);

/* 7.2 step 3: what the checkpoint says is pinned, without pods that koord looks after. Appends to
 * *out the text for pod-cpu-allocs and adds the CPUs to *ret_taken. */
int kubelet_allocs(const struct topology_in *in, struct arena *a, struct strbuf *out,
                   struct cpuset *ret_taken, struct kerr *err);

/* 7.5 */
int topology_zones(const struct topology_in *in, struct arena *a, struct topology *t,
                   struct kerr *err);

/* The cpuset that the scheduler gave a pod; false when there is none that can be read. */
bool pod_bound_cpus(const struct npod *p, struct arena *a, struct cpuset *ret);
#endif
