/* hostapp.c - HostApplicationCollector: processes outside of pods that the NodeSLO names (4.6). */
#include "koordlet/collect/hostapp.h"

#include "koordlet/kernel/naming.h"

static const struct metric_desc usage_desc = {
    "koordlet_host_application_resource_usage",
    "Usage of a host application: cores, bytes.",
    METRIC_GAUGE,
    .labels = { "node", "host_application_name", "resource", "priority_class", "qos" },
};

/* ---- following the NodeSLO ------------------------------------------------------------------- */

static void unrecord(struct host_apps *h, struct host_app *a)
{
    const char *const resources[] = { "cpu", "memory" };

    if (!a->cpu)
        return;
    for (size_t i = 0; i < ARRAY_LEN(resources); i++)
        metric_remove(h->gauges,
                      METRIC_VALUES(h->node_name, a->name, resources[i], a->priority, a->qos));
    a->cpu = a->memory = NULL;
}

static void app_free(struct host_apps *h, struct host_app *a)
{
    unrecord(h, a);
    track_fini(&a->track, h->reader);
    free(a->name);
    free(a->dir);
    free(a->priority);
    free(a->qos);
    free(a);
}

void host_apps_fini(struct host_apps *h)
{
    vec_foreach(&h->apps, i)
        app_free(h, h->apps.items[i]);
    vec_fini(&h->apps);
}

static bool is_app(const struct host_app *a, const struct host_application *spec, const char *dir)
{
    return streq(a->name, str_or(spec->name, "")) && streq(a->dir, dir) &&
           streq(a->priority, str_or(spec->priority, "")) && streq(a->qos, str_or(spec->qos, ""));
}

static void app_follow(struct host_apps *h, const struct host_application *spec, const char *dir)
{
    vec_foreach(&h->apps, i)
        if (is_app(h->apps.items[i], spec, dir)) {
            h->apps.items[i]->seen = true;
            return;
        }
    struct host_app *a = xnew0(struct host_app);
    a->name = xstrdup(str_or(spec->name, ""));
    a->dir = xstrdup(dir);
    a->priority = xstrdup(str_or(spec->priority, ""));
    a->qos = xstrdup(str_or(spec->qos, ""));
    a->seen = true;
    track_init(&a->track, a->dir, "");
    vec_push(&h->apps, a);
}

int host_apps_follow(struct host_apps *h, struct collect_env *e, struct kerr *err)
{
    const struct nodeslo_spec *slo = e->known->slo;
    struct strbuf *dir = &h->reader->path; /* of the reader: nothing is opened meanwhile */

    if (!slo)
        return kerr_set(err, -EAGAIN, "no NodeSLO yet");
    vec_foreach(&h->apps, i)
        h->apps.items[i]->seen = false;
    for (size_t i = 0; i < slo->host_applications.n; i++) {
        strbuf_reset(dir);
        cgroup_host_app_dir(e->host->driver, &slo->host_applications.items[i], dir);
        app_follow(h, &slo->host_applications.items[i], strbuf_str(dir));
    }
    for (size_t i = h->apps.n; i-- > 0;)
        if (!h->apps.items[i]->seen) {
            app_free(h, h->apps.items[i]);
            vec_swap_remove(&h->apps, i);
        }
    return 0;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static nsec_t host_app_interval(const struct collect_env *e)
{
    return e->o->collect.interval;
}

static int host_app_setup(struct collect_env *e, void **ret, struct kerr *err)
{
    struct host_apps *s = xnew0(struct host_apps);

    (void)err;
    s->reader = &e->pods->reader;
    s->gauges = metrics_add(e->internal, &usage_desc);
    s->node_name = e->node_name;
    *ret = s;
    return 0;
}

static void host_app_destroy(void *self)
{
    struct host_apps *s = self;

    host_apps_fini(s);
    free(s);
}

static void record(struct host_apps *h, struct host_app *a, const struct collect_env *e,
                   const struct latest *now)
{
    if (!a->cpu) {
        if (!collect_may_record(e))
            return;
        a->cpu = metric_gauge(h->gauges,
                              METRIC_VALUES(h->node_name, a->name, "cpu", a->priority, a->qos));
        a->memory = metric_gauge(
            h->gauges, METRIC_VALUES(h->node_name, a->name, "memory", a->priority, a->qos));
    }
    gauge_set(a->cpu, now->cpu);
    gauge_set(a->memory, now->memory);
}

/* false: nothing to tell of it in this round. */
static bool one(struct host_apps *h, struct host_app *a, struct collect_env *e, struct latest *ret)
{
    bool with_cache = e->known->policy.memory == MEMORY_WITH_PAGE_CACHE;
    struct track *t = &a->track;
    struct latest now;
    struct kerr err = { 0 };
    uint64_t current;

    if (track_cpu(h->reader, t, &err) < 0 || track_memory(h->reader, t, &err) < 0 ||
        track_number(h->reader, t, TRACK_MEMORY_CURRENT, &current, &err) < 0) {
        collect_complain(e, a->name, &err);
        return false;
    }
    if (!rate_next(&t->cpu_rate, t->usage_ns, t->usage_at, RATE_EXPIRES * host_app_interval(e),
                   &now.cpu))
        return false;
    const char *label = a->name;
    now.memory = (double)memory_stat_usage(&t->memory);
    collect_put(e, &t->series[SERIES_CPU], M_HOST_APP_CPU, &label, now.cpu);
    collect_put(e, &t->series[SERIES_MEMORY], M_HOST_APP_MEMORY, &label, now.memory);
    collect_put(e, &t->series[SERIES_PAGE_CACHE], M_HOST_APP_MEMORY_PAGE_CACHE, &label,
                (double)current);
    record(h, a, e, &now);
    ret->cpu += now.cpu;
    ret->memory += with_cache ? (double)current : now.memory;
    return true;
}

static int host_app_tick(void *self, struct collect_env *e, struct kerr *err)
{
    struct host_apps *s = self;
    struct latest sum = { .ms = e->now_ms };

    int r = host_apps_follow(s, e, err);
    if (r < 0)
        return r;
    vec_foreach(&s->apps, i) {
        struct host_app *a = s->apps.items[i];
        if (!one(s, a, e, &sum))
            unrecord(s, a);
    }
    e->host_apps = sum;
    return 0;
}

const struct collector collector_host_app = {
    .name = "HostApplicationCollector",
    .interval = host_app_interval,
    .setup = host_app_setup,
    .destroy = host_app_destroy,
    .tick = host_app_tick,
};
