/* cpi.c - cycles and instructions of containers, the CPI half of PerformanceCollector (4.11).
 *
 * A round opens two counters for each container and CPU, lets them count for the window and reads
 * them. Descriptors are bounded: containers take turns in batches, one window each, and a round
 * that is not over when the next is due goes on instead of it.
 */
#include "koordlet/collect/collect_int.h"
#include "koordlet/collect/perf.h"

#include <fcntl.h>

#include "sys/file.h"

enum { CPI_DESCRIPTORS = 4096 };

struct cpi_target { /* a container whose counters run */
    char *uid, *id;
    int *fds; /* [cpu * PERF_EVENTS + event] */
};
struct cpi_self {
    struct collect_env *env;
    const struct perf_driver *perf;
    bool grouped; /* gate Libpfm4: cycles and instructions of a CPU are counted at the same times */
    struct metric *gauges;
    struct timer *timer; /* the end of the window; NULL: none runs */
    struct vec_of(struct cpi_target) targets;
    struct cpu_info *cpus; /* of the round; a reference */
    uint32_t ncpus;
    char next_pod[64]; /* where the next batch begins: pods from this UID on, then containers */
    uint32_t next_container;
    bool busy, over;    /* a round is on; its last batch runs */
    struct kerr failed; /* of the batch */
};

static const struct metric_desc cpi_desc = {
    "koordlet_container_cpi",
    "Cycles and instructions of a container in the last window.",
    METRIC_GAUGE,
    .labels = { "node", "container_id", "container_name", "pod_uid", "pod_name", "pod_namespace",
                "cpi_field" },
};

static nsec_t cpi_interval(const struct collect_env *e)
{
    return gates_on(&e->o->gates, GATE_CPI_COLLECTOR) ? e->o->collect.cpi : 0;
}

static void cpi_rows(void *arg, metric_put_fn put, void *out)
{
    const struct cpi_self *s = arg;

    if (!collect_may_record(s->env))
        return;
    COLLECT_EACH_POD(s->env, p)
        COLLECT_EACH_CONTAINER(p, c) {
            const struct objmeta *m = &p->pod->obj->meta;
            const char *values[] = { s->env->node_name, c->c->id, c->c->name, p->pod->uid,
                                     m->name,           m->ns,    "cycles" };
            if (!c->track.cpi || !c->track.cpi->known)
                continue;
            put(out, values, c->track.cpi->cycles);
            values[6] = "instructions";
            put(out, values, c->track.cpi->instructions);
        }
}

/* ---- counters -------------------------------------------------------------------------------- */

static void target_fini(struct cpi_target *t, uint32_t ncpus)
{
    for (uint32_t i = 0; i < ncpus * PERF_EVENTS; i++)
        fd_close(t->fds[i]);
    free(t->fds);
    free(t->uid);
    free(t->id);
}

static void close_all(struct cpi_self *s)
{
    vec_foreach(&s->targets, i)
        target_fini(&s->targets.items[i], s->ncpus);
    vec_clear(&s->targets);
}

static int open_counters(struct cpi_self *s, int dir, struct cpi_target *t, struct kerr *err)
{
    for (uint32_t i = 0; i < s->ncpus * PERF_EVENTS; i++)
        t->fds[i] = -1;
    for (uint32_t i = 0; i < s->ncpus * PERF_EVENTS; i++) {
        const struct cpu_place *c = &s->cpus->cpus[i / PERF_EVENTS];
        if (!c->online)
            continue;
        int leader = s->grouped && i % PERF_EVENTS ? t->fds[i - i % PERF_EVENTS] : -1;
        int fd = s->perf->open(dir, c->cpu, (enum perf_event)(i % PERF_EVENTS), leader, err);
        if (fd < 0)
            return fd;
        t->fds[i] = fd;
    }
    return 0;
}

static int open_target(struct cpi_self *s, const struct pod_track *p,
                       const struct container_track *c, struct kerr *err)
{
    struct host *h = s->env->host;
    struct strbuf *path = &s->env->pods->reader.path;

    strbuf_reset(path);
    strbuf_appendf(path, "%s%s/%s", h->version == CGROUP_V1 ? "perf_event/" : "", c->track.dir,
                   c->track.leaf);
    CLEANUP(fd_close)
    int dir = openat(h->cgroup_fd, strbuf_str(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return kerr_set(err, -errno, "open the cgroup of a container: %s", strerror(errno));
    struct cpi_target t = { xstrdup(p->pod->uid), xstrdup(c->c->id),
                            xnewn0(s->ncpus * PERF_EVENTS, int) };
    int r = open_counters(s, dir, &t, err);
    if (r < 0)
        target_fini(&t, s->ncpus);
    else
        vec_push(&s->targets, t);
    return r;
}

/* ---- the end of a window --------------------------------------------------------------------- */

static struct container_track *find(struct collect_env *e, const struct cpi_target *t)
{
    COLLECT_EACH_POD(e, p)
        if (streq(p->pod->uid, t->uid))
            COLLECT_EACH_CONTAINER(p, c)
                if (streq(c->c->id, t->id))
                    return c;
    return NULL;
}

static int sum(struct cpi_self *s, const struct cpi_target *t, double *ret, struct kerr *err)
{
    struct perf_value v;

    for (uint32_t i = 0; i < s->ncpus * PERF_EVENTS; i++) {
        if (t->fds[i] < 0)
            continue;
        int r = s->perf->read(t->fds[i], &v, err);
        if (r < 0)
            return r;
        ret[i % PERF_EVENTS] += perf_scaled(&v);
    }
    return 0;
}

static void finish(struct cpi_self *s, const struct cpi_target *t)
{
    static const char *const names[PERF_EVENTS] = { "cycle", "instruction" };
    struct container_track *c = find(s->env, t);
    double values[PERF_EVENTS] = { 0 };
    struct kerr err = { 0 };

    if (!c)
        return;
    if (sum(s, t, values, &err) < 0) {
        s->failed = err;
        return;
    }
    if (!c->track.cpi)
        c->track.cpi = xnew0(struct track_cpi);
    c->track.cpi->cycles = values[PERF_CYCLES];
    c->track.cpi->instructions = values[PERF_INSTRUCTIONS];
    c->track.cpi->known = true;
    int64_t ms = loop_wall(s->env->loop) / NSEC_PER_MSEC;
    for (int i = 0; i < PERF_EVENTS; i++) {
        struct series **at = &c->track.cpi->series[i];
        if (!*at)
            *at = metriccache_open(s->env->mc, M_CONTAINER_CPI,
                                   METRIC_VALUES(t->uid, t->id, names[i]));
        (void)series_append(*at, ms, values[i], NULL);
    }
}

static int batch(struct cpi_self *s, struct kerr *err);

static void on_window(struct loop *l, void *arg)
{
    struct cpi_self *s = arg;
    struct kerr err = { 0 };

    (void)l;
    s->timer = NULL;
    vec_foreach(&s->targets, i)
        finish(s, &s->targets.items[i]);
    close_all(s);
    if (s->over)
        s->busy = false;
    else if (batch(s, &err) < 0)
        s->failed = err;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Opens counters from where the last batch ended until descriptors or containers run out. */
static int fill(struct cpi_self *s, struct kerr *err)
{
    uint32_t room = MAX(CPI_DESCRIPTORS / (s->ncpus * PERF_EVENTS), 1U);

    COLLECT_EACH_POD(s->env, p) {
        int order = strcmp(p->pod->uid, s->next_pod);
        if (order < 0)
            continue;
        for (uint32_t i = order == 0 ? s->next_container : 0; i < p->n; i++) {
            if (s->targets.n == room) {
                memcpy(s->next_pod, p->pod->uid, sizeof s->next_pod);
                s->next_container = i;
                return 0;
            }
            int r = open_target(s, p, &p->containers[i], err);
            if (r < 0 && !track_is_gone(r))
                return r;
        }
    }
    s->over = true;
    return 0;
}

static int batch(struct cpi_self *s, struct kerr *err)
{
    int r = fill(s, err);

    if (r < 0) {
        close_all(s);
        s->busy = false;
        return r;
    }
    s->timer = loop_after(s->env->loop, s->env->o->collect.cpi_window, on_window, s);
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int cpi_setup(struct collect_env *e, void **ret, struct kerr *err)
{
    struct cpi_self *s = xnew0(struct cpi_self);

    (void)err;
    s->env = e;
    s->perf = e->perf ? e->perf : &perf_kernel;
    s->grouped = gates_on(&e->o->gates, GATE_LIBPFM4);
    s->gauges = metrics_add(e->external, &cpi_desc);
    metric_set_rows(s->gauges, cpi_rows, s);
    *ret = s;
    return 0;
}

static void cpi_destroy(void *self)
{
    struct cpi_self *s = self;

    timer_cancel(s->timer);
    close_all(s);
    vec_fini(&s->targets);
    cpu_info_unref(s->cpus);
    metric_set_rows(s->gauges, NULL, NULL);
    free(s);
}

static int round_begin(struct cpi_self *s, struct kerr *err)
{
    s->busy = true;
    s->over = false;
    s->next_pod[0] = '\0';
    s->next_container = 0;
    cpu_info_unref(s->cpus);
    s->cpus = cpu_info_ref(s->env->cpu_info);
    s->ncpus = s->cpus->n;
    return batch(s, err);
}

static int cpi_tick(void *self, struct collect_env *e, struct kerr *err)
{
    struct cpi_self *s = self;
    struct kerr failed = s->failed;

    int r = collect_pods(e, err);
    if (r < 0)
        return r;
    if (!e->cpu_info)
        return kerr_set(err, -EAGAIN, "the CPUs are not known yet");
    s->failed = (struct kerr){ 0 };
    if (!s->busy)
        r = round_begin(s, err);
    if (r == 0 && failed.code < 0) {
        *err = failed; /* of the round before; this one goes on */
        r = failed.code;
    }
    return r;
}

const struct collector collector_cpi = {
    .name = "CPICollector",
    .interval = cpi_interval,
    .setup = cpi_setup,
    .destroy = cpi_destroy,
    .tick = cpi_tick,
};
