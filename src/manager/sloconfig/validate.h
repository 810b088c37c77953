/* validate.h - would the ConfigMap do? The checks of its validating webhook, and of node labels
 * that would put a node under two entries.
 *
 * Pure functions: the caller hands in the objects and reads the text of the refusal, which is what
 * users of Koordinator see (manager 8.3 and 8.4, api-config 1.6).
 */
#ifndef KOORD_MANAGER_SLOCONFIG_VALIDATE_H
#define KOORD_MANAGER_SLOCONFIG_VALIDATE_H
#include "manager/sloconfig/sloconfig.h"

struct slo_node {
    const char *name;
    const kstrmap *labels;
};
/* The i-th node of the cluster; false: there is none. */
typedef bool (*slo_node_at_fn)(void *arg, size_t i, struct slo_node *ret);

struct slo_change {
    const char *ns, *name;   /* of the ConfigMap */
    const kstrmap *data;     /* as it shall be */
    const kstrmap *old_data; /* as it is; NULL: it is created */
    bool names_required;     /* --node-strategy-name-need-check */
    slo_node_at_fn node_at;  /* asked only when a key has more than one entry */
    void *node_arg;
};
/* NULL: it may be stored. Else the text of the refusal, in the arena. */
const char *sloconfig_validate(const struct slo_change *c, struct arena *a);

/* May a node have these labels, as far as the stored ConfigMap goes? NULL: yes. */
const char *sloconfig_validate_node(const kstrmap *data, const struct slo_node *node,
                                    struct arena *a);
#endif
