/* cron_schedule.h - when a CronJob runs: the five fields of cron, or a word such as @daily.
 *
 *     minute 0-59, hour 0-23, day of month 1-31, month 1-12 or jan-dec, day of week 0-6 or sun-sat
 *
 * A field is a list of ranges with steps: "*", "?", "5", "1-5", "0-30/10", "5/15" (from 5 on),
 * "mon,wed". When both days are restricted a day counts that either names; "*" and "?" restrict
 * nothing, a star with a step does. Words: @yearly @annually @monthly @weekly @daily @midnight
 * @hourly, and "@every 1h30m", which counts from the time asked after.
 *
 * Times are seconds since 1970. A moment counts when clocks at the place show what the fields say:
 * a time that clocks skip does not come that day, one that they show twice comes twice.
 */
#ifndef KOORD_SYS_CRON_SCHEDULE_H
#define KOORD_SYS_CRON_SCHEDULE_H
#include "base/base.h"

struct tzone;

struct cron_schedule {
    int64_t every;                          /* seconds; 0: by the fields */
    uint64_t minute, hour, dom, month, dow; /* bit i: the value i */
    bool any_dom, any_dow;                  /* not restricted */
};
int cron_parse(const char *text, struct cron_schedule *ret, struct kerr *err);

/* The first time after `after`; false: none in the next five years, as for February 30. */
bool cron_next(const struct cron_schedule *s, const struct tzone *z, int64_t after, int64_t *ret);
/* The last time after `after` and not after `now`; false: none. */
bool cron_latest(const struct cron_schedule *s, const struct tzone *z, int64_t after, int64_t now,
                 int64_t *ret);
/* How many of them there are; counts no further than max. */
unsigned cron_count(const struct cron_schedule *s, const struct tzone *z, int64_t after,
                    int64_t now, unsigned max);
#endif
