/* nodemetric.c - what the node, the system, pods and host applications used. */
#include "koordlet/report/nodemetric.h"

#include <stdio.h>

#include "base/num.h"

enum { NUMBER_TEXT = 16 };

/* Memory by enum of collect_policy.memory; hot pages are counted only where the kernel does. */
static const enum metric_kind node_memory[] = { M_NODE_MEMORY, M_NODE_MEMORY_HOT,
                                                M_NODE_MEMORY_PAGE_CACHE };
static const enum metric_kind pod_memory[] = { M_POD_MEMORY, M_POD_MEMORY_HOT,
                                               M_POD_MEMORY_PAGE_CACHE };
static const enum metric_kind host_app_memory[] = { M_HOST_APP_MEMORY, M_HOST_APP_MEMORY_HOT,
                                                    M_HOST_APP_MEMORY_PAGE_CACHE };

struct building {
    const struct nodemetric_in *in;
    struct arena *a;
    unsigned memory;     /* index into the tables above */
    int64_t from, until; /* of the averages, milliseconds */
    struct window cpu, mem;
};

/* ---- usages ---------------------------------------------------------------------------------- */

static reslist usage_list(struct arena *a, double cores, double bytes)
{
    struct resqty *items = arena_newn0(a, 2, struct resqty);

    items[0] = (struct resqty){ "cpu", qty_from_milli(i64_from_f64(cores * 1000), QTY_DECIMAL_SI) };
    items[1] = (struct resqty){ "memory", qty_from_i64(i64_from_f64(bytes), QTY_BINARY_SI) };
    return (reslist){ items, 2 };
}

static bool average(const struct building *b, enum metric_kind k, const char *const *labels,
                    double *ret)
{
    return metriccache_ask(b->in->mc, k, labels, b->from, b->until, WINDOW_AVG, ret, NULL) == 0;
}

/* Both or nothing. */
static bool usage_of(const struct building *b, enum metric_kind cpu, enum metric_kind mem,
                     const char *const *labels, struct resource_map *ret)
{
    double cores, bytes;

    if (!average(b, cpu, labels, &cores) || !average(b, mem, labels, &bytes))
        return false;
    ret->resources = usage_list(b->a, cores, bytes);
    return true;
}

/* ---- longer windows -------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum aggregate what;
} aggregates[] = { { AGGREGATE_AVG, WINDOW_AVG },
                   { AGGREGATE_P50, WINDOW_P50 },
                   { AGGREGATE_P90, WINDOW_P90 },
                   { AGGREGATE_P95, WINDOW_P95 },
                   { AGGREGATE_P99, WINDOW_P99 } };

static void fill(const struct building *b, struct window *w, enum metric_kind k, int64_t from)
{
    window_reset(w);
    metriccache_query(b->in->mc, k, NULL, from, b->until, w);
}

/* Samples over less than half of the window say little about it: then the usages are empty. */
static void aggregate_over(struct building *b, enum metric_kind cpu, enum metric_kind mem, nsec_t d,
                           struct aggregated_usage *ret)
{
    struct usage_entry *items = arena_newn0(b->a, ARRAY_LEN(aggregates), struct usage_entry);
    int64_t ms = d / NSEC_PER_MSEC, from = i64_sub_sat(b->until, ms);

    fill(b, &b->cpu, cpu, from);
    fill(b, &b->mem, mem, from);
    bool enough = (double)b->cpu.range_ms >= 0.5 * (double)ms;
    for (size_t i = 0; i < ARRAY_LEN(aggregates); i++) {
        double cores, bytes;
        items[i].type = aggregates[i].name;
        if (enough && window_aggregate(&b->cpu, aggregates[i].what, &cores, NULL) == 0 &&
            window_aggregate(&b->mem, aggregates[i].what, &bytes, NULL) == 0)
            items[i].usage.resources = usage_list(b->a, cores, bytes);
    }
    ret->usage.items = items;
    ret->usage.n = ARRAY_LEN(aggregates);
    ret->duration_ns = d;
}

static aggregated_usagelist aggregate_all(struct building *b, enum metric_kind cpu,
                                          enum metric_kind mem)
{
    const struct collect_policy *p = b->in->policy;
    aggregated_usagelist l = { arena_newn0(b->a, p->ndurations, struct aggregated_usage),
                               p->ndurations };

    for (uint32_t i = 0; i < p->ndurations; i++)
        aggregate_over(b, cpu, mem, p->durations[i], &l.items[i]);
    return l;
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

static reslist gpu_resources(struct arena *a, double core, double memory, double total)
{
    struct resqty *items = arena_newn0(a, 3, struct resqty);
    int64_t ratio = total > 0 ? i64_from_f64(100 * memory / total) : 0;

    items[0] = (struct resqty){ RES_GPU_CORE, qty_from_i64(i64_from_f64(core), QTY_DECIMAL_SI) };
    items[1] = (struct resqty){ RES_GPU_MEMORY, qty_from_i64(i64_from_f64(memory), QTY_BINARY_SI) };
    items[2] = (struct resqty){ RES_GPU_MEMORY_RATIO, qty_from_i64(ratio, QTY_DECIMAL_SI) };
    return (reslist){ items, 3 };
}

/* uid: of a pod; NULL: the whole node. */
static device_infolist gpus_of(const struct building *b, const char *uid)
{
    const struct nodemetric_in *in = b->in;
    device_infolist l = { arena_newn0(b->a, in->ngpus, struct device_info), 0 };
    enum metric_kind core = uid ? M_POD_GPU_CORE : M_NODE_GPU_CORE;
    enum metric_kind memory = uid ? M_POD_GPU_MEMORY : M_NODE_GPU_MEMORY;

    for (uint32_t i = 0; i < in->ngpus; i++) {
        const struct nodemetric_gpu *g = &in->gpus[i];
        char minor[NUMBER_TEXT];
        double used, bytes;

        (void)snprintf(minor, sizeof minor, "%d", g->minor);
        const char *const labels[] = { uid ? uid : minor, uid ? minor : g->uuid, g->uuid };
        if (!average(b, core, labels, &used) || !average(b, memory, labels, &bytes))
            continue;
        l.items[l.n++] =
            (struct device_info){ .type = "gpu",
                                  .id = g->uuid,
                                  .minor = { true, g->minor },
                                  .resources = gpu_resources(b->a, used, bytes, g->memory_total) };
    }
    return l;
}

/* ---- the node -------------------------------------------------------------------------------- */

static void add_numa(const struct building *b, struct node_metric_info *m)
{
    uint32_t n = b->in->numa_nodes;

    m->numa_usages.items = arena_newn0(b->a, n, struct numa_usage);
    for (uint32_t i = 0; i < n; i++) {
        struct numa_usage u = { .numa_node_id = (int32_t)i };
        char id[NUMBER_TEXT];

        (void)snprintf(id, sizeof id, "%u", i);
        const char *const labels[] = { id };
        if (!usage_of(b, M_NODE_NUMA_CPU, M_NODE_NUMA_MEMORY, labels, &u.node_usage))
            continue;
        usage_of(b, M_SYS_NUMA_CPU, M_SYS_NUMA_MEMORY, labels, &u.system_usage);
        m->numa_usages.items[m->numa_usages.n++] = u;
    }
}

static struct node_metric_info *node_metric(struct building *b)
{
    struct node_metric_info *m = arena_new0(b->a, struct node_metric_info);

    usage_of(b, M_NODE_CPU, node_memory[b->memory], NULL, &m->node_usage);
    usage_of(b, M_SYS_CPU, M_SYS_MEMORY, NULL, &m->system_usage);
    m->node_usage.devices = gpus_of(b, NULL);
    m->aggregated_node_usages = aggregate_all(b, M_NODE_CPU, node_memory[b->memory]);
    m->aggregated_system_usages = aggregate_all(b, M_SYS_CPU, M_SYS_MEMORY);
    add_numa(b, m);
    return m;
}

/* ---- pods and host applications -------------------------------------------------------------- */

static int by_pod_name(const void *a, const void *b)
{
    const struct pod_metric_info *x = a, *y = b;
    int c = strcmp(x->ns, y->ns);
    return c ? c : strcmp(x->name, y->name);
}

static void add_pods(const struct building *b, struct nodemetric_status *s)
{
    const struct podset *pods = b->in->pods;
    uint32_t n = pods ? pods->n : 0;

    s->pods_metric.items = arena_newn0(b->a, n, struct pod_metric_info);
    for (uint32_t i = 0; i < n; i++) {
        const struct npod *p = pods->pods[i];
        const char *const labels[] = { p->uid };
        struct pod_metric_info info = { .name = p->obj->meta.name,
                                        .ns = p->obj->meta.ns,
                                        .priority = priority_class_name(p->priority),
                                        .qos = qos_class_name(p->qos) };
        if (!usage_of(b, M_POD_CPU, pod_memory[b->memory], labels, &info.usage))
            continue;
        info.usage.devices = gpus_of(b, p->uid);
        s->pods_metric.items[s->pods_metric.n++] = info;
        if (b->in
                ->predictor) /* what it does not know counts as requested; no fault of the report */
            reclaim_add(b->in->predictor, npod_pod(p), NULL);
    }
    if (s->pods_metric.n)
        qsort(s->pods_metric.items, s->pods_metric.n, sizeof *s->pods_metric.items, by_pod_name);
}

static int by_app_name(const void *a, const void *b)
{
    const struct host_application_metric *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static void add_host_apps(const struct building *b, struct nodemetric_status *s)
{
    const struct nodeslo_spec *slo = b->in->slo;
    uint32_t n = slo ? slo->host_applications.n : 0;

    s->host_application_metric.items = arena_newn0(b->a, n, struct host_application_metric);
    for (uint32_t i = 0; i < n; i++) {
        const struct host_application *app = &slo->host_applications.items[i];
        struct host_application_metric m = { .name = app->name,
                                             .priority = app->priority,
                                             .qos = app->qos };
        const char *const labels[] = { app->name };
        if (usage_of(b, M_HOST_APP_CPU, host_app_memory[b->memory], labels, &m.usage))
            s->host_application_metric.items[s->host_application_metric.n++] = m;
    }
    if (s->host_application_metric.n)
        qsort(s->host_application_metric.items, s->host_application_metric.n,
              sizeof *s->host_application_metric.items, by_app_name);
}

/* ---- predictions ----------------------------------------------------------------------------- */

static struct metric_prediction *prediction(struct arena *a, bool known, struct amounts v)
{
    struct metric_prediction *p = arena_new0(a, struct metric_prediction);
    struct resqty *items = arena_newn0(a, 2, struct resqty);

    if (!known)
        return p;
    items[0] = (struct resqty){ "cpu", qty_from_milli(v.cpu, QTY_DECIMAL_SI) };
    items[1] = (struct resqty){ "memory", qty_from_i64(v.memory, QTY_BINARY_SI) };
    p->resource.resources = (reslist){ items, 2 };
    return p;
}

static void add_predictions(const struct building *b, struct nodemetric_status *s,
                            struct nodemetric_predicted *p)
{
    const struct reclaim *r = b->in->predictor;

    if (!r)
        return;
    p->has_reclaimable = reclaim_result_views(r, b->in->node, &p->reclaimable, NULL) == 0;
    p->has_peak = reclaim_peak_views(r, &p->peak, NULL) == 0;
    s->prod_reclaimable = prediction(b->a, p->has_reclaimable, p->reclaimable.answer);
    if (p->has_peak)
        s->prod_peak = prediction(b->a, true, p->peak.answer);
}

void nodemetric_build(const struct nodemetric_in *in, struct arena *a,
                      struct nodemetric_status *ret, struct nodemetric_predicted *ret_predicted)
{
    struct building b = { .in = in, .a = a, .until = in->now / NSEC_PER_MSEC };
    struct nodemetric_predicted predicted = { 0 };

    b.from = i64_sub_sat(b.until, in->policy->aggregate / NSEC_PER_MSEC);
    b.memory = in->policy->memory;
    if (b.memory == MEMORY_WITH_HOT_PAGES && !in->cold_memory_started)
        b.memory = MEMORY_WITHOUT_PAGE_CACHE;
    *ret = (struct nodemetric_status){ .update_time = in->now };
    ret->node_metric = node_metric(&b);
    add_pods(&b, ret);
    add_host_apps(&b, ret);
    add_predictions(&b, ret, &predicted);
    if (ret_predicted)
        *ret_predicted = predicted;
    window_fini(&b.cpu);
    window_fini(&b.mem);
}
