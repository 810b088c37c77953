/* answer.h - what a ScheduleExplanation says about a pod or a gang. Internal to explain/. */
#ifndef KOORD_SCHEDULER_OBSERVE_EXPLAIN_ANSWER_H
#define KOORD_SCHEDULER_OBSERVE_EXPLAIN_ANSWER_H
#include "base/base.h"

struct arena;
struct kjw;
struct scheduler;

/* The members of its status, all but the time. key: "namespace/name". The arena is scratch. */
void answer_write(struct scheduler *s, const char *key, struct arena *a, struct kjw *w);
/* The same about a gang; false: there is none of this name, and nothing is written. */
bool answer_write_gang(struct scheduler *s, const char *key, struct arena *a, struct kjw *w);
#endif
