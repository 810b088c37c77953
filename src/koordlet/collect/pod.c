/* pod.c - PodResourceCollector: CPU and memory of pods and their containers (4.2). */
#include "koordlet/collect/collect_int.h"

struct pod_self {
    double numa[NUMA_NODES_TRACKED]; /* bytes of all pods, in a round */
    uint32_t nnuma;
};

static nsec_t pod_interval(const struct collect_env *e)
{
    return e->o->collect.interval;
}

static int pod_setup(struct collect_env *e, void **ret, struct kerr *err)
{
    (void)e, (void)err;
    *ret = xnew0(struct pod_self);
    return 0;
}

static void pod_destroy(void *self)
{
    free(self);
}

/* ---- one group ------------------------------------------------------------------------------- */

/* CPU and memory of a group. false: nothing to tell, be it the first time. */
static bool measure(struct collect_env *e, struct track *t, const char *subject, struct latest *ret)
{
    struct track_reader *r = &e->pods->reader;
    struct kerr err = { 0 };

    if (track_cpu(r, t, &err) < 0 || track_memory(r, t, &err) < 0) {
        collect_complain(e, subject, &err);
        return false;
    }
    ret->memory = (double)memory_stat_usage(&t->memory);
    return rate_next(&t->cpu_rate, t->usage_ns, t->usage_at, RATE_EXPIRES * pod_interval(e),
                     &ret->cpu);
}

static void one_container(struct collect_env *e, struct container_track *c)
{
    struct latest now;

    if (!measure(e, &c->track, c->c->id, &now))
        return;
    collect_put_track(e, &c->track, SERIES_CPU, NULL, c->c->id, now.cpu);
    collect_put_track(e, &c->track, SERIES_MEMORY, NULL, c->c->id, now.memory);
}

/* ---- NUMA nodes ------------------------------------------------------------------------------ */

static void numa_add(struct pod_self *s, uint32_t node, double bytes)
{
    if (node >= NUMA_NODES_TRACKED)
        return;
    for (; s->nnuma <= node; s->nnuma++)
        s->numa[s->nnuma] = 0;
    s->numa[node] += bytes;
}

/* Of the only node, memory.stat of v2 has said it already: numa_stat splits the same numbers. */
static bool numa_of_one(struct collect_env *e, struct pod_self *s, const struct track *t)
{
    if (e->host->version != CGROUP_V2 || !e->numa_info || e->numa_info->n != 1)
        return false;
    int64_t pages = t->memory.rss / NUMA_PAGE_BYTES + t->memory.cache / NUMA_PAGE_BYTES;
    numa_add(s, 0, (double)(pages * NUMA_PAGE_BYTES));
    return true;
}

static void numa_of_pod(struct collect_env *e, struct pod_self *s, struct pod_track *p)
{
    /* v1 counts pages of the machine; the parser makes 4096 bytes a page of what v2 has in bytes.
     */
    double page = e->host->version == CGROUP_V1 ? (double)e->host->page_size : NUMA_PAGE_BYTES;
    struct numa_pages nodes[NUMA_NODES_TRACKED];
    struct kerr err = { 0 };
    struct str text;
    size_t n = 0;

    if (numa_of_one(e, s, &p->track))
        return;
    int r = track_text(&e->pods->reader, &p->track, TRACK_NUMA_STAT, &text, &err);
    if (r == 0)
        r = memory_numa_parse(e->host->version, text.p, text.n, nodes, ARRAY_LEN(nodes), &n, &err);
    if (r < 0)
        collect_complain(e, p->pod->uid, &err);
    for (size_t i = 0; i < n; i++)
        numa_add(s, nodes[i].node, (double)nodes[i].pages * page);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void devices(struct collect_env *e, const struct npod *pod)
{
    struct device_pod dp = { pod, e };

    for (uint32_t i = 0; e->devices && e->devices[i]; i++) {
        struct kerr err = { 0 };
        if (!e->device_selves[i] || !e->devices[i]->pod_round)
            continue;
        int r = e->devices[i]->pod_round(e->device_selves[i], &dp, e->now_ms, &err);
        if (r < 0 && r != -EAGAIN)
            collect_complain(e, pod->uid, &err);
    }
}

static void one_pod(struct collect_env *e, struct pod_self *s, struct pod_track *p,
                    struct latest *sum)
{
    struct latest now;

    if (measure(e, &p->track, p->pod->uid, &now)) {
        collect_put_track(e, &p->track, SERIES_CPU, p->pod->uid, NULL, now.cpu);
        collect_put_track(e, &p->track, SERIES_MEMORY, p->pod->uid, NULL, now.memory);
        numa_of_pod(e, s, p);
        sum->cpu += now.cpu;
        sum->memory += now.memory;
    }
    devices(e, p->pod);
    COLLECT_EACH_CONTAINER(p, c)
        one_container(e, c);
}

static int pod_tick(void *self, struct collect_env *e, struct kerr *err)
{
    struct pod_self *s = self;
    struct latest sum = { .ms = e->now_ms };

    int r = collect_pods(e, err);
    if (r < 0)
        return r;
    s->nnuma = 0;
    COLLECT_EACH_POD(e, p)
        one_pod(e, s, p, &sum);
    e->pods_sum = sum;
    e->pods_numa.n = s->nnuma;
    e->pods_numa.ms = s->nnuma ? e->now_ms : 0;
    memcpy(e->pods_numa.memory, s->numa, s->nnuma * sizeof *s->numa);
    return 0;
}

const struct collector collector_pod = {
    .name = "PodResourceCollector",
    .interval = pod_interval,
    .setup = pod_setup,
    .destroy = pod_destroy,
    .tick = pod_tick,
};
