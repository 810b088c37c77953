/* memory.h - memory protection, throttling and reclaim of pods, by class and annotation.
 *
 * Pure: from a snapshot to proposals for the QoS directories, pods and containers (koordlet-qos
 * 10). A field that neither class nor annotation sets is not proposed.
 */
#ifndef KOORD_KOORDLET_QOS_MEMORY_MEMORY_H
#define KOORD_KOORDLET_QOS_MEMORY_MEMORY_H
#include "koordlet/executor/plan.h"
#include "koordlet/kernel/host.h"

struct memory_in {
    const struct snapshot *known; /* node, pods and NodeSLO are there */
    const struct cgroup_layout *driver;
    int64_t page_size;
};
void memory_propose(const struct memory_in *in, struct plan *p);
#endif
