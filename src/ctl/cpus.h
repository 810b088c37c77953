/* cpus.h - koordctl cpus: who has which CPUs of a node, and how many more pods fit.
 *
 * This room reads the cluster and draws the answer; the scheduler that knows it is handed in by
 * main, as for explain.h.
 */
#ifndef KOORD_CTL_CPUS_H
#define KOORD_CTL_CPUS_H
#include "base/base.h"

struct kj_val;
struct strbuf;

struct cpus_want { /* a pod with CPUs of its own */
    unsigned ncpus;
    const char *bind; /* "FullPCPUs" or "SpreadByPCPUs", required; "": as the scheduler prefers */
    bool single_numa;
};
/* Asks the scheduler that explain->open() made and that has all objects. The answer is JSON, which
 * -o json shows. One of the two is given:
 *   node  node, sockets, numaNodes, cores, free, freeCPUs, freeCores; holders: kind (pod,
 *         reservation, kubelet, system), name, cpus; cpus, core by core: id, core, numaNode,
 *         socket, holder (number in holders; absent: free)
 *   want  nodes: name, fits, largest, why (none fits whatever its size); fits, largest: of all */
typedef int (*cpus_fn)(void *self, const char *node, const struct cpus_want *want,
                       struct strbuf *json, struct kerr *err);

/* ---- cpus_text.c ----------------------------------------------------------------------------- */

void cpus_node_text(const struct kj_val *answer, struct strbuf *out);
void cpus_fits_text(const struct kj_val *answer, struct strbuf *out);
#endif
