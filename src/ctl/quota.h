/* quota.h - koordctl quota: between quota.c (reading, commands) and quota_text.c (what is printed).
 */
#ifndef KOORD_CTL_QUOTA_H
#define KOORD_CTL_QUOTA_H
#include "quota/forest.h"

struct strbuf;

/* A quota, a node or a pod that has not ended; other kinds are not of interest. Problems go to
 * `notes`, a line each. */
void quota_forest_add(struct quota_forest *f, const struct kobj *o, struct strbuf *notes);

void quota_tree_text(struct quota_forest *f, const char *resource, struct strbuf *out);
/* Round by round how the runtime of a quota came about. */
void quota_explain_text(struct quota_forest *f, struct quota *q, struct strbuf *out);
/* What differs between two forests: runtimes, pods that would be evicted and admitted. Pods that
 * are admitted are assigned. */
void quota_whatif_text(struct quota_forest *before, struct quota_forest *after, struct strbuf *out);
#endif
