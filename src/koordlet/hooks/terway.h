/* terway.h - TerwayQoS: files that tell Terway's network plugin the bandwidth of classes and pods
 * (koordlet-qos 15.9). Pure: texts from (NodeSLO, pods).
 */
#ifndef KOORD_KOORDLET_HOOKS_TERWAY_H
#define KOORD_KOORDLET_HOOKS_TERWAY_H
#include "base/strbuf.h"
#include "koordlet/states/snapshot.h"

#define TERWAY_NODE_FILE "global_bps_config"
#define TERWAY_POD_FILE  "pod.json"

/* Whether NodeSLO asks for this policy. */
bool terway_is_on(const struct nodeslo_spec *slo);
/* Ten lines "name value". -EINVAL: a bandwidth is no quantity or beyond the total. */
int terway_node_text(const struct nodeslo_spec *slo, struct strbuf *out, struct kerr *err);
/* The pods as a JSON object by UID. One whose annotation is bad is left out, and told in err. */
void terway_pod_text(const struct podset *pods, struct arena *a, struct strbuf *out,
                     struct kerr *err);
#endif
