/* conditions.h - the conditions of a status: set one, keep the others, keep the time of the last
 * change.
 */
#ifndef KOORD_CONTROLLERS_CONDITIONS_H
#define KOORD_CONTROLLERS_CONDITIONS_H
#include "api/types.h"

struct arena;
struct kjw;

/* NULL when there is none of this type. */
const struct timed_condition *conditions_find(const timed_conditionlist *l, const char *type);
bool conditions_is_true(const timed_conditionlist *l, const char *type);

/* Replaces *l by a copy in the arena in which the condition of this type is c; true when its
 * status, reason or message is another than before, else nothing is changed. lastTransitionTime is
 * now, or stays when the status does; the other times are the caller's. */
bool conditions_set(timed_conditionlist *l, const struct timed_condition *c, nsec_t now,
                    struct arena *a);
/* The same although nothing but its times may change. */
void conditions_renew(timed_conditionlist *l, const struct timed_condition *c, nsec_t now,
                      struct arena *a);
void conditions_remove(timed_conditionlist *l, const char *type, struct arena *a);

/* One condition of a strategic merge patch, which leaves those of other types alone. had: the
 * conditions so far, for the time of the last change. Empty reason and message are left out. The
 * object stays open for members of its own; kjw_end() closes it. */
void condition_begin(struct kjw *w, const struct condition *c, const conditionlist *had,
                     nsec_t now);
#endif
