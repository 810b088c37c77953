/* policy.h - what a node is to measure and report: the spec of its NodeMetric.
 *
 * A pure function (manager 3).
 */
#ifndef KOORD_MANAGER_NODEMETRIC_POLICY_H
#define KOORD_MANAGER_NODEMETRIC_POLICY_H
#include "api/koord/nodemetric.h"
#include "manager/sloconfig/colocation.h"

/* Fills *ret, which lives in the arena. Reporting goes on where colocation is off: a strategy that
 * is off or invalid gives the default policy, and then the answer is false and why tells. */
bool nodemetric_policy(const struct slo_section *colocation, const kstrmap *labels,
                       const kstrmap *annotations, struct arena *a,
                       struct metric_collect_policy *ret, struct kerr *why);
#endif
