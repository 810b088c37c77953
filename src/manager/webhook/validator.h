/* validator.h - the enhanced validator: labels that pods must have, by rules of the installation
 * (manager 7.6).
 *
 * The rules stand in a ConfigMap. A value lives in the memory it was decoded with; checks allocate
 * only the text of a refusal.
 */
#ifndef KOORD_MANAGER_WEBHOOK_VALIDATOR_H
#define KOORD_MANAGER_WEBHOOK_VALIDATOR_H
#include "api/kobj.h"

#define VALIDATOR_NAME "pod-enhanced-validator-config" /* of the ConfigMap */

struct validator_rule {
    const char *name;
    kstrlist required_labels, namespace_whitelist;
};
struct validator {
    bool enabled;
    KLIST(struct validator_rule) rules;
};
/* data: of the ConfigMap. -EINVAL: the rules cannot be read. */
int validator_decode(const kstrmap *data, struct arena *a, struct validator *ret, struct kerr *err);
/* NULL: the pod may pass. Else why not, in the arena. */
const char *validator_check(const struct validator *v, const char *ns, const kstrmap *labels,
                            struct arena *a);
#endif
