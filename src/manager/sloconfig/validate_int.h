/* validate_int.h - inside the checks of the ConfigMap: which keys are checked, and the refusals. */
#ifndef KOORD_MANAGER_SLOCONFIG_VALIDATE_INT_H
#define KOORD_MANAGER_SLOCONFIG_VALIDATE_INT_H
#include "manager/sloconfig/validate.h"

/* Values out of their range, in the cluster's strategy and in those of nodes; NULL: none. */
const char *slo_check_ranges(enum slo_key key, const struct slo_section *s, struct arena *a);
/* Bandwidths of the QoS classes, against each other and against the system strategy. */
const char *slo_check_network(const struct slo_section *qos, const struct slo_section *system,
                              struct arena *a);
/* Entries that would match the same node. */
const char *slo_check_overlap(enum slo_key key, const struct slo_section *s, struct arena *a);
/* Entries that match this node: a refusal when there are several. */
const char *slo_check_node(enum slo_key key, const struct slo_section *s,
                           const struct slo_node *node, struct arena *a);
#endif
