/* throttled.c - PodThrottledCollector: the share of periods that were throttled (4.3). */
#include "koordlet/collect/collect_int.h"

static nsec_t throttled_interval(const struct collect_env *e)
{
    return e->o->collect.interval;
}

static bool counts(const struct track *t, nsec_t now, nsec_t expire)
{
    return t->last_stat_known && now - t->last_stat_at <= expire &&
           t->stat.periods >= t->last_stat.periods && t->stat.throttled >= t->last_stat.throttled;
}

static void one(struct collect_env *e, struct track *t, const char *uid, const char *container)
{
    nsec_t now = loop_mono(e->loop);
    struct kerr err = { 0 };

    if (track_throttled(&e->pods->reader, t, &err) < 0) {
        collect_complain(e, container ? container : uid, &err);
        return;
    }
    if (counts(t, now, RATE_EXPIRES * throttled_interval(e)))
        /* Not more than all of them, whatever the file says. */
        collect_put_track(e, t, SERIES_THROTTLED, uid, container,
                          MIN(cpu_throttled_ratio(&t->last_stat, &t->stat), 1.0));
    t->last_stat = t->stat;
    t->last_stat_at = now;
    t->last_stat_known = true;
}

static int throttled_tick(void *self, struct collect_env *e, struct kerr *err)
{
    (void)self;
    return collect_each_track(e, one, err);
}

const struct collector collector_throttled = {
    .name = "PodThrottledCollector",
    .interval = throttled_interval,
    .tick = throttled_tick,
};
