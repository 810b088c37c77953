/* selfcheck.h - what an ElasticQuota may say for itself, and sums of resource lists (sched-quota 0,
 * 19). */
#ifndef KOORD_MANAGER_QUOTA_SELFCHECK_H
#define KOORD_MANAGER_QUOTA_SELFCHECK_H
#include "api/koord/quota.h"
#include "base/arena.h"

/* NULL: fine; otherwise why not, in the arena. */
const char *selfcheck(const struct elasticquota *q, struct arena *a);

/* A text with three names in it, of a format that is a constant. */
const char *quota_text(struct arena *a, const char *fmt, const char *x, const char *y,
                       const char *z);
reslist quota_list_add(const reslist *x, const reslist *y, struct arena *a);
reslist quota_list_max(const reslist *x, const reslist *y, struct arena *a);
/* x is nowhere more than y; what y does not name is 0. */
bool quota_list_within(const reslist *x, const reslist *y);
#endif
