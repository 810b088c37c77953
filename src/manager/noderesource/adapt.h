/* adapt.h - nodes in trouble give less to batch pods: how much is taken away, and why.
 *
 * Pure: a step from one state to the next with each report. What is taken away (the cut) counts in
 * points of percent of the reclaim thresholds, and of the suppress threshold of the NodeSLO. It is
 * kept in the NodeSLO's extensions, so that the next leader goes on from there.
 */
#ifndef KOORD_MANAGER_NR_ADAPT_H
#define KOORD_MANAGER_NR_ADAPT_H
#include "manager/noderesource/nr.h"

struct nr_adapt { /* of one node */
    struct nr_cut cut;
    nsec_t report;                  /* updateTime of the last one looked at; 0: none */
    nsec_t cpu_since, memory_since; /* wall: last change */
    bool pressure;                  /* the node had a pressure condition when last looked at */
};

/* Takes the step when there is something new: a report, or a pressure condition. true: the cut
 * changed, and why tells (a sentence for people). strategy: without the cut. evictions: by koordlet
 * since the last step; a step sets it to 0. */
bool nr_adapt_step(const struct nr_input *in, const struct colocation_strategy *strategy,
                   const struct adaptive_options *o, unsigned *evictions, struct nr_adapt *s,
                   struct strbuf *why);
bool nr_node_pressure(const struct node *n);

/* extensions of a NodeSLO (JSON; NULL: none) with this cut in it; other keys stay. In the arena. */
const char *nr_cut_store(const char *extensions, struct nr_cut cut, struct arena *a);
struct nr_cut nr_cut_load(const char *extensions);
#endif
