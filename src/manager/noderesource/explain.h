/* explain.h - a calculation in JSON, every term with its number: what `koordctl explain node`
 * shows.
 *
 * Runs the functions that the controller runs, on the same objects; nothing is written anywhere.
 */
#ifndef KOORD_MANAGER_NR_EXPLAIN_H
#define KOORD_MANAGER_NR_EXPLAIN_H
#include "manager/noderesource/nr.h"

/* sync: what became of the configuration's keys. One JSON object; cpu is in milli-cores and memory
 * in bytes:
 *   node, colocation {enabled, available, entry, annotation, labels, problems}, report {time, age}
 *   batch, mid       {reset, why} or {cpu, memory: {policy, terms [{name, value, note}], result,
 *                    message}}; batch also {pods, damping, thirdParty}
 *   adaptive         {cpu, memory}: points of percent that a node in trouble gives less
 *   zones            [{name, cpu, memory}]
 *   plugins          those that failed, with the reason
 *   resources        [{name, now, calculated, change, due}]
 *   write            {status, meta, why}: what holds a change back, or calls for it
 */
void nr_explain(const struct nr_input *in, const struct slo_sync *sync, struct arena *a,
                struct strbuf *out);
#endif
