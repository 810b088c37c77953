/* caps_int.h - what the files of caps share. */
#ifndef KOORD_KOORDLET_FACTS_CAPS_INT_H
#define KOORD_KOORDLET_FACTS_CAPS_INT_H
#include "koordlet/facts/caps.h"

void cap_set(struct caps *c, enum capability which, bool yes, const char *fmt, ...) PRINTF(4, 5);
/* What only trying tells: calls of the kernel this process runs on. */
void caps_try_perf(const struct host *h, struct caps *c);
void caps_try_core_sched(const struct host *h, struct caps *c);
#endif
