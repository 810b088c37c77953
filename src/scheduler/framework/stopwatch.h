/* stopwatch.h - where the time of an attempt goes, told to somebody who has a clock: the
 * framework has none and counts nothing.
 *
 * A lap ends where it is told and began where the one before ended. Loop thread only.
 */
#ifndef KOORD_SCHEDULER_FRAMEWORK_STOPWATCH_H
#define KOORD_SCHEDULER_FRAMEWORK_STOPWATCH_H
#include "scheduler/framework/plugin.h"

struct profile;

enum lap { /* whose time it was; the order of an attempt */
           LAP_NOBODY,
           LAP_PRE_ENQUEUE,
           LAP_NEXT,
           LAP_BEFORE_PRE_FILTER,
           LAP_PRE_FILTER,
           LAP_AFTER_PRE_FILTER,
           LAP_FIND_ONE,
           LAP_PREFER,
           LAP_FILTER,
           LAP_POST_FILTER,
           LAP_AFTER_POST_FILTER,
           LAP_PRE_SCORE,
           LAP_SCORE,
           LAP_NORMALIZE,
           LAP_RESIZE,
           LAP_RESERVE,
           LAP_UNRESERVE,
           LAP_PERMIT,
           LAP_PRE_BIND,
           LAP_BIND,
           LAP_POST_BIND,
           LAPS
};
struct stopwatch {
    bool each; /* every call of a plugin is a lap of its own */
    void (*lap)(struct stopwatch *w, enum lap what, int slot, enum ks_code code);
};
/* All of an extension point, or what is left of it beside its plugins. w may be NULL. */
static inline void stopwatch_point(struct stopwatch *w, enum lap what, enum ks_code code)
{
    if (w)
        w->lap(w, what, -1, code);
}
static inline void stopwatch_plugin(struct stopwatch *w, enum lap what, uint32_t slot,
                                    enum ks_code code)
{
    if (w && w->each)
        w->lap(w, what, (int)slot, code);
}

/* The same for queueing hints, one at a time. */
struct hint_stopwatch {
    void (*began)(struct hint_stopwatch *w);
    void (*ended)(struct hint_stopwatch *w, const struct profile *p, uint32_t slot,
                  const struct ks_event *e, bool worth);
};
#endif
