/* debug.h - tables and views of a running scheduler for people. Internal to the room. */
#ifndef KOORD_SCHEDULER_OBSERVE_DEBUG_H
#define KOORD_SCHEDULER_OBSERVE_DEBUG_H
#include "scheduler/engine/internal.h"

/* A Markdown table of the best candidates of a complete attempt, weighted scores by plugin. */
void debug_score_table(const struct attempt *a, unsigned max, struct strbuf *out);
void debug_log_scores(const struct attempt *a, unsigned max);
/* Why the row was rejected by a plugin or an extender. */
void debug_filter_line(struct attempt *a, uint32_t row, struct strbuf *out);
void debug_log_filters(struct attempt *a);
/* JSON of /apis/v1/nodes/NAME; false when there is no such node. */
bool debug_node(const struct nodecache *cache, const char *name, struct strbuf *out);
#endif
