/* podgen.h - realistic pods as an API server sends them, for benchmarks and memory tests.
 *
 * Between 4 and 6 KB of JSON each: managed fields, environment, mounts, conditions, container
 * statuses with applied resources. Thirty workloads (label sets, images, sizes), most of them
 * Deployments, every tenth a StatefulSet; some pods with a sidecar, an init container, affinity or
 * spread constraints. The same number always gives the same pod.
 */
#ifndef KOORD_BENCH_PODGEN_H
#define KOORD_BENCH_PODGEN_H
#include "base/strbuf.h"

enum { PODGEN_WORKLOADS = 30, PODGEN_NODES = 5000 };

/* Appends pod number i: running, bound to node i % PODGEN_NODES. */
void podgen_json(struct strbuf *out, unsigned i);
/* The same, waiting for a node: no nodeName, no statuses. */
void podgen_pending_json(struct strbuf *out, unsigned i);
#endif
