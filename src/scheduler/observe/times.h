/* times.h - how long extension points and plugins of a profile take, and how often each plugin has
 * its say (scheduler-core 11.6). Internal to the room.
 *
 * One attempt at a time is watched: times_begin(), laps, times_end(). What goes on beside it is a
 * stretch. Extension points count every time, their plugins every tenth. Functions take NULL for
 * "nobody counts".
 */
#ifndef KOORD_SCHEDULER_OBSERVE_TIMES_H
#define KOORD_SCHEDULER_OBSERVE_TIMES_H
#include "scheduler/framework/stopwatch.h"

struct attempt;
struct loop;
struct metrics;
struct profile;
struct times;

enum { TIMES_PLUGIN_BOUNDS = 20 };
extern const double times_plugin_bounds[TIMES_PLUGIN_BOUNDS]; /* 10 us to 22 ms */

/* The profile and the registry must outlive it. */
struct times *times_new(struct loop *l, struct metrics *m, const struct profile *p);
struct times *times_free(struct times *t);
/* An attempt begins at this moment of the loop's stopwatch. */
struct stopwatch *times_begin(struct times *t, nsec_t now);
/* The attempt goes on after a pause that is nobody's. */
struct stopwatch *times_resume(struct times *t);
void times_end(struct times *t);
nsec_t times_last(const struct times *t); /* when its last lap ended; 0 for NULL */
/* The attempt is over: who took part? */
void times_took_part(struct times *t, const struct attempt *a);
/* An extension point that goes on beyond the attempt; slot -1: not a plugin's. */
void times_add(struct times *t, enum lap what, int slot, enum ks_code code, nsec_t took);
/* Are the plugins of the attempt that runs measured one by one? */
bool times_each(const struct times *t);
/* Is it the turn of the plugins at this point, which is no part of an attempt? */
bool times_sample(struct times *t, enum lap what);
/* Before the counters are read. */
void times_settle(struct times *t);

/* An extension point that has nothing to do with the attempt that runs, if one does: each lap
 * counts at once, the point from the beginning. Lives on the stack of who calls the plugins. */
struct stretch {
    struct stopwatch stopwatch;
    struct times *times;
    nsec_t began, last;
};
/* NULL when nobody counts. each: plugins are measured one by one. */
struct stopwatch *stretch_begin(struct stretch *x, struct times *t, bool each);
#endif
