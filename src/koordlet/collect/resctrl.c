/* resctrl.c - ResctrlCollector: last-level cache and memory bandwidth of QoS classes (4.12). */
#include "koordlet/collect/collect_int.h"

#include <stdio.h>

#include "koordlet/facts/caps.h"
#include "koordlet/facts/resctrl.h"

enum { CLASSES = 3 };
static const char *const classes[CLASSES] = { "LSR", "LS", "BE" };

struct cache_use { /* of one class in one cache; what is there is kept */
    int32_t cache;
    struct series *series[RESCTRL_COUNTERS];
    struct gauge *gauges[RESCTRL_COUNTERS];
};
struct resctrl_self {
    struct vec_of(struct cache_use) uses[CLASSES];
    struct resctrl_usage usage[RESCTRL_CACHES_MAX];
    struct schemata root;
};

static const struct metric_desc llc_desc = {
    "koordlet_resctrl_llc_occupancy",
    "Bytes of the last-level cache that a QoS class occupies.",
    METRIC_GAUGE,
    .labels = { "node", "cache_id", "qos" },
};
static const struct metric_desc mb_desc = {
    "koordlet_resctrl_memory_bandwidth",
    "Bytes of memory traffic of a QoS class so far.",
    METRIC_GAUGE,
    .labels = { "node", "cache_id", "qos", "mb_type" },
};

static nsec_t resctrl_interval(const struct collect_env *e)
{
    return e->o->collect.resctrl_on && gates_on(&e->o->gates, GATE_RESCTRL_COLLECTOR)
               ? e->o->collect.resctrl
               : 0;
}

/* Asked in a round, not when the collectors are made: the node is looked at later. */
static int check(const struct collect_env *e, struct kerr *err)
{
    static const enum capability needed[] = { CAP_RESCTRL, CAP_RESCTRL_MONITORING };

    for (size_t i = 0; e->caps && i < ARRAY_LEN(needed); i++)
        if (e->caps->caps[needed[i]].state == CAP_NO)
            return kerr_set(err, -EOPNOTSUPP, "%s", e->caps->caps[needed[i]].reason);
    return 0;
}

static int resctrl_setup(struct collect_env *e, void **ret, struct kerr *err)
{
    (void)e, (void)err;
    *ret = xnew0(struct resctrl_self);
    return 0;
}

static void resctrl_destroy(void *self)
{
    struct resctrl_self *s = self;

    for (int c = 0; c < CLASSES; c++) {
        vec_foreach(&s->uses[c], i)
            for (int k = 0; k < RESCTRL_COUNTERS; k++)
                series_close(s->uses[c].items[i].series[k]);
        vec_fini(&s->uses[c]);
    }
    free(s);
}

static struct cache_use *find(struct resctrl_self *s, int class, int32_t cache)
{
    vec_foreach(&s->uses[class], i)
        if (s->uses[class].items[i].cache == cache)
            return &s->uses[class].items[i];
    vec_push(&s->uses[class], ((struct cache_use){ .cache = cache }));
    return &vec_last(&s->uses[class]);
}

static void put(struct collect_env *e, struct cache_use *u, const char *class,
                enum resctrl_counter k, double bytes)
{
    char id[16];

    snprintf(id, sizeof id, "%d", u->cache);
    collect_put(e, &u->series[k], k == RESCTRL_LLC_OCCUPANCY ? M_RESCTRL_LLC : M_RESCTRL_MB,
                METRIC_VALUES(class, id, resctrl_counter_files[k]), bytes);
    if (!u->gauges[k] && collect_may_record(e))
        u->gauges[k] =
            k == RESCTRL_LLC_OCCUPANCY
                ? metric_gauge(metrics_add(e->external, &llc_desc),
                               METRIC_VALUES(e->node_name, id, class))
                : metric_gauge(metrics_add(e->external, &mb_desc),
                               METRIC_VALUES(e->node_name, id, class, resctrl_counter_files[k]));
    if (u->gauges[k])
        gauge_set(u->gauges[k], bytes);
}

static void of_class(struct resctrl_self *s, struct collect_env *e, int class)
{
    struct kerr err = { 0 };
    size_t n = 0;

    if (resctrl_usage_read(e->host, classes[class], s->usage, ARRAY_LEN(s->usage), &n, &err) < 0)
        collect_complain(e, classes[class], &err);
    for (size_t i = 0; i < n; i++) {
        struct cache_use *u = find(s, class, s->usage[i].cache);
        for (int k = 0; k < RESCTRL_COUNTERS; k++)
            if (s->usage[i].known[k])
                put(e, u, classes[class], (enum resctrl_counter)k, (double)s->usage[i].bytes[k]);
    }
}

static int resctrl_tick(void *self, struct collect_env *e, struct kerr *err)
{
    struct resctrl_self *s = self;

    int r = check(e, err);
    if (r < 0)
        return r;
    r = resctrl_root_read(e->host, &s->root, err);
    if (r < 0)
        return kerr_wrap(err, "resctrl");
    for (int c = 0; c < CLASSES; c++)
        of_class(s, e, c);
    return 0;
}

const struct collector collector_resctrl = {
    .name = "ResctrlCollector",
    .interval = resctrl_interval,
    .setup = resctrl_setup,
    .destroy = resctrl_destroy,
    .tick = resctrl_tick,
};
