/* matchcond.h - which pods concern our webhooks, as CEL: the API server does not call us for the
 * others.
 *
 * An expression is false only for requests that the handler would allow as they are; it may be true
 * for some of those. It never fails to evaluate, since with failurePolicy Fail that would refuse
 * the pod. Pure.
 */
#ifndef KOORD_MANAGER_REGISTRATION_MATCHCOND_H
#define KOORD_MANAGER_REGISTRATION_MATCHCOND_H
#include "base/strbuf.h"

struct profile_set;

/* Beyond these the expression would cost the API server more than the call. */
enum { MATCHCOND_PROFILES_MAX = 64, MATCHCOND_BYTES_MAX = 16 << 10 };

/* gates: bits 1 << enum webhook_gate. Both append nothing when no condition is possible: a profile
 * selects by namespace, or all pods, or there are too many; the enhanced validator, quota evaluate
 * or several quota trees are on. */
void matchcond_mutate_pod(const struct profile_set *profiles, unsigned gates, struct strbuf *out);
void matchcond_validate_pod(unsigned gates, struct strbuf *out);
#endif
