/* coldpage.c - ColdPageCollector: memory that was not touched lately, by kidled (4.10). */
#include "koordlet/collect/hostapp.h"
#include "koordlet/collect/idlepages.h"

#include <unistd.h>

#include "sys/file.h"

#define KIDLED_PERIOD    "kernel/mm/kidled/scan_period_in_seconds"
#define KIDLED_HIERARCHY "kernel/mm/kidled/use_hierarchy"

struct cold_self {
    struct track node; /* the root cgroup */
    struct series *hot, *cold;
    struct host_apps apps;
    bool started; /* kidled was told to scan */
};

static nsec_t cold_interval(const struct collect_env *e)
{
    return gates_on(&e->o->gates, GATE_COLD_PAGE_COLLECTOR) ? e->o->collect.cold_page : 0;
}

static const char *cold_unsupported(const struct collect_env *e)
{
    if (e->host->version != CGROUP_V1)
        return "cgroup v2 has no memory.idle_page_stats";
    if (e->host->sys_fd < 0 || faccessat(e->host->sys_fd, KIDLED_PERIOD, F_OK, 0) < 0 ||
        faccessat(e->host->sys_fd, KIDLED_HIERARCHY, F_OK, 0) < 0)
        return "this kernel has no kidled";
    return NULL;
}

static int cold_setup(struct collect_env *e, void **ret, struct kerr *err)
{
    struct cold_self *s = xnew0(struct cold_self);

    (void)err;
    track_init(&s->node, "", "");
    s->apps.reader = &e->pods->reader;
    *ret = s;
    return 0;
}

static void cold_destroy(void *self)
{
    struct cold_self *s = self;

    track_fini(&s->node, s->apps.reader);
    host_apps_fini(&s->apps);
    series_close(s->hot);
    series_close(s->cold);
    free(s);
}

static int write_value(const struct host *h, const char *name, const char *value, struct kerr *err)
{
    CLEANUP(fd_close) int fd = openat(h->sys_fd, name, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || RETRY_EINTR(write(fd, value, strlen(value))) < 0)
        return kerr_set(err, -errno, "write %s: %s", name, strerror(errno));
    return 0;
}

/* Once, not whenever somebody asks whether it is on. */
static int start_kidled(struct cold_self *s, struct collect_env *e, struct kerr *err)
{
    if (s->started)
        return 0;
    int r = write_value(e->host, KIDLED_PERIOD, "5", err);
    if (r == 0)
        r = write_value(e->host, KIDLED_HIERARCHY, "1", err);
    s->started = e->cold_memory_started = r == 0;
    return r;
}

static int read_cold(struct collect_env *e, struct track *t, uint64_t *ret, struct kerr *err)
{
    struct str text;

    int r = track_text(&e->pods->reader, t, TRACK_IDLE_PAGES, &text, err);
    return r < 0 ? r : idle_pages_cold(text.p, text.n, ret, err);
}

static double without(uint64_t whole, uint64_t cold)
{
    return cold < whole ? (double)(whole - cold) : 0;
}

static int of_node(struct cold_self *s, struct collect_env *e, struct kerr *err)
{
    struct meminfo m;
    struct str text;
    uint64_t cold;

    int r = read_cold(e, &s->node, &cold, err);
    if (r == 0)
        r = kernelfile_once(e->host->proc_fd, "meminfo", e->host->buf, &text, err);
    if (r == 0)
        r = meminfo_parse(text.p, text.n, false, &m, err);
    if (r < 0)
        return r;
    collect_put(e, &s->cold, M_NODE_MEMORY_COLD, NULL, (double)cold);
    collect_put(e, &s->hot, M_NODE_MEMORY_HOT, NULL,
                without(meminfo_usage_with_page_cache(&m), cold));
    return 0;
}

/* What a group uses with its page cache, and how much of it is cold. */
static bool read_group(struct collect_env *e, struct track *t, const char *subject, double *ret_hot,
                       double *ret_cold)
{
    struct kerr err = { 0 };
    uint64_t cold;

    if (read_cold(e, t, &cold, &err) < 0 || track_memory(&e->pods->reader, t, &err) < 0) {
        collect_complain(e, subject, &err);
        return false;
    }
    int64_t whole = memory_stat_usage_with_page_cache(&t->memory);
    *ret_cold = (double)cold;
    *ret_hot = without((uint64_t)MAX(whole, INT64_C(0)), cold);
    return true;
}

static void one(struct collect_env *e, struct track *t, const char *uid, const char *container)
{
    double hot, cold;

    if (!read_group(e, t, container ? container : uid, &hot, &cold))
        return;
    collect_put_track(e, t, SERIES_HOT, uid, container, hot);
    collect_put_track(e, t, SERIES_COLD, uid, container, cold);
}

static void of_apps(struct cold_self *s, struct collect_env *e)
{
    double hot, cold;

    if (host_apps_follow(&s->apps, e, NULL) < 0)
        return;
    vec_foreach(&s->apps.apps, i) {
        struct host_app *a = s->apps.apps.items[i];
        const char *label = a->name;
        if (!read_group(e, &a->track, label, &hot, &cold))
            continue;
        collect_put(e, &a->track.series[SERIES_HOT], M_HOST_APP_MEMORY_HOT, &label, hot);
        collect_put(e, &a->track.series[SERIES_COLD], M_HOST_APP_MEMORY_COLD, &label, cold);
    }
}

static int cold_tick(void *self, struct collect_env *e, struct kerr *err)
{
    struct cold_self *s = self;

    int r = start_kidled(s, e, err);
    if (r < 0)
        return r;
    r = of_node(s, e, err);
    int of_pods = collect_each_track(e, one, r < 0 ? NULL : err);
    of_apps(s, e);
    return r < 0 ? r : of_pods;
}

const struct collector collector_cold_page = {
    .name = "ColdPageCollector",
    .interval = cold_interval,
    .unsupported = cold_unsupported,
    .setup = cold_setup,
    .destroy = cold_destroy,
    .tick = cold_tick,
};
