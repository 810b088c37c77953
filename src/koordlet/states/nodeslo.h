/* nodeslo.h - NodeSLO as the agent obeys it: the received spec over the defaults, part by part.
 *
 * Pure functions (api-config 1.1 and 2). A part with a wrong type or a value out of its range is
 * refused as a whole, and the others count.
 */
#ifndef KOORD_KOORDLET_NODESLO_H
#define KOORD_KOORDLET_NODESLO_H
#include "api/koord/nodeslo.h"

struct kj_val;

enum nodeslo_section {
    NODESLO_THRESHOLD,
    NODESLO_QOS,
    NODESLO_BURST,
    NODESLO_SYSTEM,
    NODESLO_HOST_APPS,
    NODESLO_SECTIONS
};
extern const char *const nodeslo_section_names[NODESLO_SECTIONS]; /* as in the JSON */

/* Fills *ret, which lives in the arena: every strategy is set, every class of the QoS strategy too.
 * spec: of the received object; NULL counts as {}. A part that is refused is taken from previous
 * (copied), or is the default when that is NULL; why[part].code tells. Returns how many were.
 * Extensions are left out: upstream keeps only those that it has defaults for, and has none. */
unsigned nodeslo_merge(const struct kj_val *spec, const struct nodeslo_spec *previous,
                       struct arena *a, struct nodeslo_spec *ret,
                       struct kerr why[NODESLO_SECTIONS]);
/* The defaults alone; unlike in the merge of {}, what is switched off keeps its default values. */
void nodeslo_defaults(struct arena *a, struct nodeslo_spec *ret);

/* What holds in place of the values of a strategy that is switched off. */
extern const struct cpu_qos nodeslo_cpu_none;
extern const struct resctrl_qos nodeslo_resctrl_none;
extern const struct memory_qos nodeslo_memory_none;
#endif
