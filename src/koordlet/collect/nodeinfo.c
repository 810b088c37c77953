/* nodeinfo.c - NodeInfoCollector and NodeStorageInfoCollector: what the machine is made of (4.7,
 * 4.9). */
#include "koordlet/collect/collect_int.h"
#include "koordlet/facts/storage.h"

#define STATUS_DESC(what, text)                                        \
    {                                                                  \
        "koordlet_collect_node_" what "_status", text, METRIC_COUNTER, \
            .labels = { "node", "status" },                            \
    }
static const struct metric_desc cpu_desc =
    STATUS_DESC("cpu_info", "Number of times the CPUs were read, by outcome.");
static const struct metric_desc numa_desc =
    STATUS_DESC("numa_info", "Number of times the NUMA nodes were read, by outcome.");
static const struct metric_desc storage_desc =
    STATUS_DESC("local_storage_info", "Number of times disks and mounts were read, by outcome.");

struct outcomes {
    struct counter *counters[2]; /* went well, failed; NULL until the first */
};

static void count(struct outcomes *o, struct collect_env *e, const struct metric_desc *d, int r)
{
    struct counter **c = &o->counters[r < 0];

    if (!*c && collect_may_record(e))
        *c = metric_counter(metrics_add(e->internal, d),
                            METRIC_VALUES(e->node_name, r < 0 ? "failed" : "succeeded"));
    if (*c)
        counter_inc(*c);
}

struct info_self {
    struct outcomes cpu, numa, storage;
};

static int info_setup(struct collect_env *e, void **ret, struct kerr *err)
{
    (void)e, (void)err;
    *ret = xnew0(struct info_self);
    return 0;
}

static void info_destroy(void *self)
{
    free(self);
}

/* ---- CPUs and NUMA nodes --------------------------------------------------------------------- */

static nsec_t info_interval(const struct collect_env *e)
{
    return e->o->collect.node_cpu_info;
}

static bool same_cpus(const struct cpu_info *a, const struct cpu_info *b)
{
    if (a->n != b->n || a->hyper_thread != b->hyper_thread || a->turbo != b->turbo ||
        !streq(a->model, b->model) || !streq(a->vendor, b->vendor) ||
        !streq(a->l3_mask, b->l3_mask))
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct cpu_place *x = &a->cpus[i], *y = &b->cpus[i];
        if (x->cpu != y->cpu || x->core != y->core || x->socket != y->socket ||
            x->node != y->node || x->l3 != y->l3 || x->l1l2 != y->l1l2 || x->online != y->online)
            return false;
    }
    return true;
}

/* The one that is there stays as long as nothing changed: others compare pointers. */
static int read_cpus(struct collect_env *e, struct kerr *err)
{
    CLEANUP(cpu_info_unref) struct cpu_info *now = NULL;

    if (e->cpu_info && cpu_info_current(e->cpu_info, e->host))
        return 0;
    int r = cpu_info_read(e->host, &now, err);
    if (r < 0)
        return kerr_wrap(err, "CPUs");
    if (e->cpu_info && same_cpus(e->cpu_info, now))
        return 0;
    cpu_info_unref(e->cpu_info);
    e->cpu_info = take(now);
    return 0;
}

static int read_numa(struct collect_env *e, struct kerr *err)
{
    struct numa_info *now = NULL;

    int r = numa_info_read(e->host, gates_on(&e->o->gates, GATE_HUGE_PAGE_REPORT), &now, err);
    if (r < 0)
        return kerr_wrap(err, "NUMA nodes");
    numa_info_unref(e->numa_info);
    e->numa_info = now;
    return 0;
}

static int info_tick(void *self, struct collect_env *e, struct kerr *err)
{
    struct info_self *s = self;

    int r = read_cpus(e, err);
    count(&s->cpu, e, &cpu_desc, r);
    if (r < 0)
        return r;
    r = read_numa(e, err);
    count(&s->numa, e, &numa_desc, r);
    return r;
}

const struct collector collector_node_info = {
    .name = "NodeInfoCollector",
    .interval = info_interval,
    .setup = info_setup,
    .destroy = info_destroy,
    .tick = info_tick,
};

/* ---- storage --------------------------------------------------------------------------------- */

static nsec_t storage_interval(const struct collect_env *e)
{
    return gates_on(&e->o->gates, GATE_BLKIO_RECONCILE) ? e->o->collect.node_storage_info : 0;
}

static int storage_tick(void *self, struct collect_env *e, struct kerr *err)
{
    struct info_self *s = self;
    struct storage_info *now = NULL;

    int r = storage_info_read(e->host, e->storage_info, &now, err);
    count(&s->storage, e, &storage_desc, r);
    if (r < 0)
        return r;
    storage_info_unref(e->storage_info);
    e->storage_info = now;
    return 0;
}

const struct collector collector_storage = {
    .name = "NodeStorageInfoCollector",
    .interval = storage_interval,
    .setup = info_setup,
    .destroy = info_destroy,
    .tick = storage_tick,
};
