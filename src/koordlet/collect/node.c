/* node.c - NodeResourceCollector: CPU and memory of the machine and of its NUMA nodes (4.1). */
#include "koordlet/collect/collect_int.h"

#include <stdio.h>

struct cpu_now { /* ticks of one CPU, by its number */
    uint64_t ticks;
    uint32_t round; /* in which it was read last; 0: never */
    int16_t node;   /* -1: not known */
};
struct node_self {
    struct kernelfile stat, meminfo;
    struct rate ticks;
    struct series *cpu, *memory;
    struct gauge *cpu_gauge, *memory_gauge;

    struct numa_info *numa; /* what the next four are for; a reference */
    struct kernelfile *numa_meminfo;
    struct series **numa_cpu, **numa_memory;
    uint64_t *numa_ticks; /* of a round */

    struct cpu_info *cpus; /* what the next are for; a reference */
    struct cpu_ticks *read;
    struct cpu_now *now;
    uint32_t ncpus, nread; /* highest number + 1; room for so many lines */
    uint32_t round;        /* of reads, from 1 */
    nsec_t cpus_at;        /* of the ticks in now */
    bool cpus_known;
};

static const struct metric_desc cpu_desc = {
    "koordlet_node_used_cpu_cores",
    "CPU cores that the node uses.",
    METRIC_GAUGE,
    .labels = { "node" },
};
static const struct metric_desc memory_desc = {
    "koordlet_node_used_memory_bytes",
    "Bytes of memory that the node uses.",
    METRIC_GAUGE,
    .labels = { "node" },
};

static nsec_t node_interval(const struct collect_env *e)
{
    return e->o->collect.interval;
}

static int node_setup(struct collect_env *e, void **ret, struct kerr *err)
{
    struct node_self *s = xnew0(struct node_self);

    (void)e, (void)err;
    s->stat.fd = s->meminfo.fd = -1;
    *ret = s;
    return 0;
}

/* ---- the machine ----------------------------------------------------------------------------- */

/* A file of /proc that stays open. */
static int read_file(struct kernelfile *p, struct host *h, const char *name, struct str *ret,
                     struct kerr *err)
{
    int r = p->fd < 0 ? kernelfile_open(p, h->proc_fd, name, err) : 0;

    if (r == 0)
        r = kernelfile_read(p, h->buf, ret, err);
    if (r < 0) {
        kernelfile_close(p);
        return kerr_wrap(err, "%s", name);
    }
    return 0;
}

static int read_meminfo(struct node_self *s, struct host *h, struct meminfo *ret, struct kerr *err)
{
    struct str text;

    int r = read_file(&s->meminfo, h, "meminfo", &text, err);
    if (r == 0)
        r = meminfo_parse(text.p, text.n, false, ret, err);
    if (r == 0 && ret->total == 0)
        r = kerr_set(err, -EINVAL, "meminfo: there is no MemTotal");
    return r;
}

static void record(struct node_self *s, struct collect_env *e)
{
    if (!s->cpu_gauge) {
        if (!collect_may_record(e))
            return;
        s->cpu_gauge =
            metric_gauge(metrics_add(e->internal, &cpu_desc), METRIC_VALUES(e->node_name));
        s->memory_gauge =
            metric_gauge(metrics_add(e->internal, &memory_desc), METRIC_VALUES(e->node_name));
    }
    gauge_set(s->cpu_gauge, e->node.cpu);
    gauge_set(s->memory_gauge, e->node.memory);
}

/* ---- NUMA nodes ------------------------------------------------------------------------------ */

static void close_numa(struct node_self *s)
{
    for (uint32_t i = 0; s->numa && i < s->numa->n; i++) {
        kernelfile_close(&s->numa_meminfo[i]);
        series_close(s->numa_cpu[i]);
        series_close(s->numa_memory[i]);
    }
    free(take(s->numa_meminfo));
    free(take(s->numa_cpu));
    free(take(s->numa_memory));
    free(take(s->numa_ticks));
    s->numa = numa_info_unref(s->numa);
}

/* Keeps pace with what the node info collector found. false: there is nothing to go by. */
static bool follow_numa(struct node_self *s, const struct collect_env *e)
{
    if (!e->numa_info || e->numa_info->n == 0 || e->numa_info->n > NUMA_NODES_TRACKED)
        return false;
    if (s->numa && s->numa->n == e->numa_info->n)
        return true;
    close_numa(s);
    s->numa = numa_info_ref(e->numa_info);
    s->numa_meminfo = xnewn0(s->numa->n, struct kernelfile);
    s->numa_cpu = xnewn0(s->numa->n, struct series *);
    s->numa_memory = xnewn0(s->numa->n, struct series *);
    s->numa_ticks = xnewn0(s->numa->n, uint64_t);
    for (uint32_t i = 0; i < s->numa->n; i++)
        s->numa_meminfo[i].fd = -1;
    return true;
}

static int numa_memory(struct node_self *s, struct collect_env *e, uint32_t node, double *ret,
                       struct kerr *err)
{
    struct kernelfile *p = &s->numa_meminfo[node];
    struct meminfo m;
    struct str text;
    char name[64];
    int r = 0;

    if (p->fd < 0) {
        snprintf(name, sizeof name, "bus/node/devices/node%d/meminfo", s->numa->nodes[node].id);
        r = kernelfile_open(p, e->host->sys_fd, name, err);
    }
    if (r == 0)
        r = kernelfile_read(p, e->host->buf, &text, err);
    if (r == 0)
        r = meminfo_parse(text.p, text.n, true, &m, err);
    if (r < 0) {
        kernelfile_close(p);
        return r;
    }
    *ret = (double)meminfo_numa_usage(&m);
    return 0;
}

static void numa_memories(struct node_self *s, struct collect_env *e)
{
    double memory[NUMA_NODES_TRACKED];
    struct kerr err = { 0 };

    for (uint32_t i = 0; i < s->numa->n; i++)
        if (numa_memory(s, e, i, &memory[i], &err) < 0) {
            collect_complain(e, "NUMA memory", &err);
            return;
        }
    memcpy(e->node_numa.memory, memory, s->numa->n * sizeof *memory);
    e->node_numa.n = s->numa->n;
    e->node_numa.ms = e->now_ms;
}

/* ---- CPUs of NUMA nodes ---------------------------------------------------------------------- */

static void follow_cpus(struct node_self *s, const struct collect_env *e)
{
    if (s->cpus == e->cpu_info)
        return;
    cpu_info_unref(s->cpus);
    s->cpus = e->cpu_info ? cpu_info_ref(e->cpu_info) : NULL;
    uint32_t highest = 0, n = s->cpus ? s->cpus->n : 0;
    for (uint32_t i = 0; i < n; i++)
        highest = MAX(highest, (uint32_t)s->cpus->cpus[i].cpu);
    if (highest + 1 != s->ncpus) {
        free(s->now);
        free(s->read);
        s->ncpus = s->nread = highest + 1;
        s->now = xnewn0(s->ncpus, struct cpu_now);
        s->read = xnewn0(s->nread, struct cpu_ticks);
        s->cpus_known = false;
    }
    for (uint32_t i = 0; i < s->ncpus; i++)
        s->now[i].node = -1;
    for (uint32_t i = 0; i < n; i++)
        s->now[s->cpus->cpus[i].cpu].node = (int16_t)s->cpus->cpus[i].node;
}

/* Adds what each CPU used since the last read to its node; a CPU counts when it is in both. */
static void numa_add_ticks(struct node_self *s, size_t nread)
{
    uint32_t last = s->round++;

    memset(s->numa_ticks, 0, s->numa->n * sizeof *s->numa_ticks);
    for (size_t i = 0; i < nread; i++) {
        if (s->read[i].cpu >= s->ncpus)
            continue;
        struct cpu_now *c = &s->now[s->read[i].cpu];
        if (last > 0 && c->round == last && s->read[i].ticks >= c->ticks && c->node >= 0 &&
            (uint32_t)c->node < s->numa->n)
            s->numa_ticks[c->node] += s->read[i].ticks - c->ticks;
        c->ticks = s->read[i].ticks;
        c->round = s->round;
    }
}

static bool numa_cpus(struct node_self *s, struct collect_env *e, struct str stat, nsec_t at)
{
    struct kerr err = { 0 };
    size_t n = 0;

    follow_cpus(s, e);
    if (!s->cpus)
        return false;
    if (proc_stat_cpus(stat.p, stat.n, s->read, s->nread, &n, &err) < 0) {
        collect_complain(e, "NUMA CPU", &err);
        return false;
    }
    nsec_t period = at - s->cpus_at;
    bool counts = s->cpus_known && period > 0;
    numa_add_ticks(s, n);
    s->cpus_at = at;
    s->cpus_known = true;
    if (!counts)
        return false;
    for (uint32_t i = 0; i < s->numa->n; i++)
        e->node_numa.cpu[i] = (double)s->numa_ticks[i] * (double)e->host->jiffy / (double)period;
    e->node_numa.cpu_ms = e->now_ms;
    return true;
}

static void numa_put(struct node_self *s, struct collect_env *e, bool cpus)
{
    char id[16];
    const char *label = id;

    for (uint32_t i = 0; i < s->numa->n; i++) {
        snprintf(id, sizeof id, "%u", i);
        if (e->node_numa.ms == e->now_ms)
            collect_put(e, &s->numa_memory[i], M_NODE_NUMA_MEMORY, &label, e->node_numa.memory[i]);
        if (cpus)
            collect_put(e, &s->numa_cpu[i], M_NODE_NUMA_CPU, &label, e->node_numa.cpu[i]);
    }
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void devices(struct collect_env *e)
{
    for (uint32_t i = 0; e->devices && e->devices[i]; i++) {
        struct kerr err = { 0 };
        if (!e->device_selves[i])
            continue;
        int r = e->devices[i]->node_round(e->device_selves[i], e, e->now_ms, &err);
        if (r < 0 && r != -EAGAIN)
            collect_complain(e, e->devices[i]->type, &err);
    }
}

static int node_tick(void *self, struct collect_env *e, struct kerr *err)
{
    struct node_self *s = self;
    struct meminfo m;
    struct str stat;
    uint64_t ticks = 0;
    double per_ns = 0;

    int r = read_meminfo(s, e->host, &m, err);
    if (r == 0)
        r = read_file(&s->stat, e->host, "stat", &stat, err);
    nsec_t at = loop_stopwatch(e->loop);
    if (r == 0)
        r = proc_stat_total(stat.p, stat.n, &ticks, err);
    if (r < 0)
        return r;
    bool first = !s->ticks.known;
    bool cpu = rate_next(&s->ticks, ticks, at, RATE_EXPIRES * node_interval(e), &per_ns);
    bool numa = follow_numa(s, e), cpus = numa && numa_cpus(s, e, stat, at);
    if (numa)
        numa_memories(s, e); /* reads on: stat is gone from here */
    if (first)
        return kerr_set(err, -EAGAIN, "one round is no rate yet");
    devices(e);
    if (numa)
        numa_put(s, e, cpus);
    collect_put(e, &s->memory, M_NODE_MEMORY, NULL, (double)meminfo_usage(&m));
    if (!cpu)
        return 0;
    e->node =
        (struct latest){ e->now_ms, per_ns * (double)e->host->jiffy, (double)meminfo_usage(&m) };
    collect_put(e, &s->cpu, M_NODE_CPU, NULL, e->node.cpu);
    record(s, e);
    return 0;
}

static void node_destroy(void *self)
{
    struct node_self *s = self;

    close_numa(s);
    kernelfile_close(&s->stat);
    kernelfile_close(&s->meminfo);
    series_close(s->cpu);
    series_close(s->memory);
    cpu_info_unref(s->cpus);
    free(s->now);
    free(s->read);
    free(s);
}

const struct collector collector_node = {
    .name = "NodeResourceCollector",
    .interval = node_interval,
    .setup = node_setup,
    .destroy = node_destroy,
    .tick = node_tick,
};
