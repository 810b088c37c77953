/* explain.h - koordctl explain: why a pod has no node, or why it has this one.
 *
 * The scheduler's own attempt (scheduler/observe/explain/whatif.h) on what the API server has now;
 * nothing is written to it.
 */
#ifndef KOORD_MAIN_EXPLAIN_H
#define KOORD_MAIN_EXPLAIN_H
#include "ctl/ctl.h"
#include "scheduler/observe/explain/whatif.h"

extern const struct ctl_command explain_command;

/* ---- between explain.c and explain_text.c ------------------------------------------------------
 */

struct explain_options {
    const char *config;
    bool all_nodes;
    int top;
};
struct explained { /* what was found out */
    const struct pod *pod;
    const char *node; /* where it is; NULL: nowhere yet */
    struct whatif *whatif;
    struct whatif_result result;
    struct whatif_preemption room;
    bool has_room; /* somebody was asked to make room */
};
void explain_text(const struct explained *e, const struct explain_options *o, struct strbuf *out);
#endif
