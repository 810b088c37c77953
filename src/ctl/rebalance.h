/* rebalance.h - koordctl rebalance: what the descheduler would do now, before it does it.
 *
 * A round of the descheduler on the live cluster, which writes nothing; main hands the planner in,
 * since rooms of one level do not include each other. Where each pod would go is the scheduler's
 * own attempt (explain.h).
 */
#ifndef KOORD_CTL_REBALANCE_H
#define KOORD_CTL_REBALANCE_H
#include "base/base.h"

struct kj_val;
struct kube;
struct loop;
struct strbuf;

struct rebalance_planner {
    /* One round by the configuration of a file, or of a text when there is no file. The plan as
     * JSON: nodes  by name: class and plugin, details (use and thresholds), and use: cpu, memory,
     * each with used and capacity (milli cores, bytes); absent where nothing is measured moves  in
     * order: namespace, name, uid, node, plugin, reason, and use: cpu, memory kept   pods of hot
     * nodes that stay: namespace, name, node, why error  the round failed; absent: it did not Runs
     * the loop until the round is over. */
    int (*plan)(struct loop *l, struct kube *k, const char *file, const char *text,
                struct strbuf *json, struct kerr *err);
};

/* rebalance_text.c: the plan, with "to" or "message" in each move, for people. */
void rebalance_text(const struct kj_val *plan, struct strbuf *out);
#endif
