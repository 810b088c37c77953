/* nodeutilization.c - LowNodeUtilization and HighNodeUtilization: nodes by what their pods ask for
 * (descheduler 6.2). The first one empties full nodes into empty ones, the second one empties
 * almost empty nodes so that they can be taken away.
 */
#include "api/pod.h"
#include "api/toleration.h"
#include "base/num.h"
#include "component/config.h"
#include "descheduler/plugins/kube/common.h"
#include "descheduler/plugins/plugins.h"

struct percent {
    const char *resource;
    double percent;
};
typedef KLIST(struct percent) percents;
struct eviction_limits {
    struct opt_i64 node;
};
struct utilization_args {
    percents thresholds, target;
    bool deviation;
    int32_t number_of_nodes;
    struct args_namespaces *namespaces;
    struct eviction_limits *limits;
    kstrlist modes;                  /* HighNodeUtilization */
    const char *metrics_utilization; /* not available here */
};

/* ---- args ------------------------------------------------------------------------------------- */

#define STYPE struct eviction_limits
static const struct kfield limits_fields[] = {
    KF(STYPE, node, "node", KF_OPT_I64, .flags = KF_OMITEMPTY),
};
static const struct kschema limits_schema = KSCHEMA("EvictionLimits", STYPE, limits_fields);
#undef STYPE
#define STYPE struct utilization_args
#define SHARED                                                                               \
    KF_MAP_OF(STYPE, thresholds, "thresholds", KF_F64, .flags = KF_OMITEMPTY),               \
        KF(STYPE, number_of_nodes, "numberOfNodes", KF_I32, .flags = KF_OMITEMPTY),          \
        KF(STYPE, namespaces, "evictableNamespaces", KF_OBJ, .sub = &args_namespaces_schema, \
           .flags = KF_PTR | KF_OMITEMPTY)
static const struct kfield low_fields[] = {
    SHARED,
    KF_MAP_OF(STYPE, target, "targetThresholds", KF_F64, .flags = KF_OMITEMPTY),
    KF(STYPE, deviation, "useDeviationThresholds", KF_BOOL, .flags = KF_OMITEMPTY),
    KF(STYPE, limits, "evictionLimits", KF_OBJ, .sub = &limits_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
    KF(STYPE, metrics_utilization, "metricsUtilization", KF_RAW, .flags = KF_OMITEMPTY),
};
static const struct kschema low_schema = KSCHEMA("LowNodeUtilizationArgs", STYPE, low_fields);
static const struct kfield high_fields[] = {
    SHARED,
    KF_LIST_OF(STYPE, modes, "evictionModes", KF_STR, .flags = KF_OMITEMPTY),
};
static const struct kschema high_schema = KSCHEMA("HighNodeUtilizationArgs", STYPE, high_fields);
#undef STYPE

static const double *find(const percents *l, const char *resource)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i].resource, resource))
            return &l->items[i].percent;
    return NULL;
}

static int check_percents(const percents *l, const char *path, struct kerr *err)
{
    char number[32];

    if (l->n == 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "%s: Required value: no resource threshold is "
                        "configured",
                        path);
    for (uint32_t i = 0; i < l->n; i++)
        if (!(l->items[i].percent >= 0 && l->items[i].percent <= 100)) {
            (void)f64_format(l->items[i].percent, number, sizeof number);
            return kerr_api(err, -EINVAL, KR_INVALID,
                            "%s[%.64s]: Invalid value: %s: not in [0, 100] range", path,
                            l->items[i].resource, number);
        }
    return 0;
}

static int check_shared(const struct utilization_args *x, struct kerr *err)
{
    int r = check_percents(&x->thresholds, "thresholds", err);

    if (r == 0)
        r = config_range("numberOfNodes", x->number_of_nodes, 0, INT32_MAX, err);
    if (r == 0 && x->namespaces && x->namespaces->include.n)
        r = kerr_api(err, -EINVAL, KR_INVALID,
                     "evictableNamespaces.include: Forbidden: only exclude namespaces can be set");
    return r;
}

static int check_low(void *args, struct arena *a, struct kerr *err)
{
    const struct utilization_args *x = args;
    int r = check_shared(x, err);

    (void)a;
    if (r == 0)
        r = check_percents(&x->target, "targetThresholds", err);
    if (r == 0 && x->thresholds.n != x->target.n)
        r = kerr_api(err, -EINVAL, KR_INVALID,
                     "targetThresholds: Invalid value: thresholds and targetThresholds configured "
                     "different resources");
    for (uint32_t i = 0; i < x->thresholds.n && r == 0; i++) {
        const struct percent *p = &x->thresholds.items[i];
        const double *t = find(&x->target, p->resource);
        if (!t)
            r = kerr_api(err, -EINVAL, KR_INVALID,
                         "targetThresholds[%.64s]: Required value: thresholds and "
                         "targetThresholds configured different resources",
                         p->resource);
        else if (p->percent > *t && !x->deviation)
            r = kerr_api(err, -EINVAL, KR_INVALID,
                         "thresholds[%.64s]: Invalid value: thresholds' percentage is greater "
                         "than targetThresholds'",
                         p->resource);
    }
    if (r == 0 && x->limits && x->limits->node.set)
        r = config_range("evictionLimits.node", x->limits->node.v, 0, INT64_MAX, err);
    if (r == 0 && x->metrics_utilization)
        r = kerr_api(
            err, -ENOTSUP, KR_INVALID,
            "metricsUtilization: Forbidden: metrics sources are not available; LowNodeLoad "
            "goes by measured use");
    return r;
}

static int check_high(void *args, struct arena *a, struct kerr *err)
{
    const struct utilization_args *x = args;
    int r = check_shared(x, err);

    (void)a;
    for (uint32_t i = 0; i < x->modes.n && r == 0; i++)
        if (!streq(x->modes.items[i], "OnlyThresholdingResources"))
            r = kerr_api(err, -EINVAL, KR_INVALID,
                         "evictionModes[%u]: Unsupported value: \"%.64s\": supported values: "
                         "\"OnlyThresholdingResources\"",
                         i, x->modes.items[i]);
    return r;
}
static const struct kd_args low_args = { .schema = &low_schema, .check = check_low };
static const struct kd_args high_args = { .schema = &high_schema, .check = check_high };

/* ---- nodes ------------------------------------------------------------------------------------ */

struct resource {
    uint32_t id; /* in the view */
    const char *name;
    const double *low, *high; /* NULL: no threshold */
};
struct measured {
    uint32_t node;
    int64_t *used, *capacity; /* milli */
    double *percent;
    int64_t *target; /* of a source; milli */
    int64_t sum;
};
struct utilization {
    const struct utilization_args *args;
    struct kd_round *round;
    bool high;
    struct resource *resources;
    uint32_t n;
    double *low, *target; /* percent, for each resource; with deviations: of this round */
    struct measured *nodes, **sources, **targets;
    uint32_t nsources, ntargets;
    int64_t *budget;
};

static void add_resource(struct utilization *u, const char *name)
{
    for (uint32_t i = 0; i < u->n; i++)
        if (streq(u->resources[i].name, name))
            return;
    u->resources[u->n++] = (struct resource){ .id = kd_view_resource(u->round->view, name),
                                              .name = name,
                                              .low = find(&u->args->thresholds, name),
                                              .high = find(&u->args->target, name) };
}

static int64_t capacity_of(const struct kd_round *r, uint32_t node, const struct resource *x)
{
    const struct node *n = kd_view_node(r->view, node)->node;

    if (n->status.allocatable.n)
        return kd_view_allocatable(r->view, node, x->id);
    return qty_milli(reslist_get(&n->status.capacity, x->name));
}

/* As upstream counts: cpu in milli, all others in units. */
static int64_t value_of(const struct resource *x, int64_t milli)
{
    return streq(x->name, "cpu") ? milli : milli / 1000 + (milli % 1000 > 0);
}

static void measure(struct utilization *u, uint32_t node, struct measured *m)
{
    struct arena *a = u->round->arena;

    *m = (struct measured){ .node = node,
                            .used = arena_newn0(a, u->n, int64_t),
                            .capacity = arena_newn0(a, u->n, int64_t),
                            .percent = arena_newn0(a, u->n, double),
                            .target = arena_newn0(a, u->n, int64_t) };
    for (uint32_t i = 0; i < u->n; i++) {
        const struct resource *x = &u->resources[i];
        m->used[i] = kd_view_requested(u->round->view, node, x->id);
        m->capacity[i] = capacity_of(u->round, node, x);
        int64_t cap = value_of(x, m->capacity[i]);
        if (cap > 0)
            m->percent[i] = 100 * (double)value_of(x, m->used[i]) / (double)cap;
        m->sum = i64_add_sat(m->sum, value_of(x, m->used[i]));
    }
}

static void make(struct utilization *u, const struct utilization_args *x, struct kd_round *r,
                 bool high)
{
    *u = (struct utilization){ .args = x, .round = r, .high = high };
    u->resources = arena_newn0(r->arena, x->thresholds.n + 3, struct resource);
    add_resource(u, "cpu");
    add_resource(u, "memory");
    add_resource(u, "pods");
    for (uint32_t i = 0; i < x->thresholds.n; i++)
        add_resource(u, x->thresholds.items[i].resource);
    u->nodes = arena_newn0(r->arena, r->nnodes, struct measured);
    u->sources = arena_newn0(r->arena, r->nnodes, struct measured *);
    u->targets = arena_newn0(r->arena, r->nnodes, struct measured *);
    u->budget = arena_newn0(r->arena, u->n, int64_t);
    u->low = arena_newn0(r->arena, u->n, double);
    u->target = arena_newn0(r->arena, u->n, double);
    for (uint32_t i = 0; i < r->nnodes; i++)
        measure(u, r->nodes[i], &u->nodes[i]);
}

static double clamp(double percent)
{
    return percent < 0 ? 0 : percent > 100 ? 100 : percent;
}

/* Of the nodes that have the resource at all; false: none has it. */
static bool average_of(const struct utilization *u, uint32_t i, double *ret)
{
    double sum = 0;
    uint32_t n = 0;

    for (uint32_t j = 0; j < u->round->nnodes; j++) {
        const struct kd_node *x = kd_view_node(u->round->view, u->nodes[j].node);
        const reslist *l = x->allocatable.n ? &x->allocatable : &x->node->status.capacity;
        if (!reslist_has(l, u->resources[i].name))
            continue;
        sum += u->nodes[j].percent[i];
        n++;
    }
    *ret = n ? sum / n : 0;
    return n > 0;
}

static void set_thresholds(struct utilization *u)
{
    for (uint32_t i = 0; i < u->n; i++) {
        const struct resource *x = &u->resources[i];
        double average;
        u->low[i] = x->low && !u->args->deviation ? *x->low : 100;
        u->target[i] = x->high && !u->args->deviation ? *x->high : 100;
        if (!u->args->deviation || !x->low || !average_of(u, i, &average))
            continue;
        u->low[i] = clamp(average - *x->low);
        u->target[i] = clamp(average + *x->high);
    }
}

static bool is_below(const struct utilization *u, const struct measured *m)
{
    for (uint32_t i = 0; i < u->n; i++)
        if (u->resources[i].low && m->percent[i] > u->low[i])
            return false;
    return true;
}

static bool is_above(const struct utilization *u, const struct measured *m)
{
    for (uint32_t i = 0; i < u->n; i++)
        if (u->resources[i].high && m->percent[i] > u->target[i])
            return true;
    return false;
}

static void classify(struct utilization *u)
{
    for (uint32_t i = 0; i < u->round->nnodes; i++) {
        struct measured *m = &u->nodes[i];
        bool cordoned = kd_view_node(u->round->view, m->node)->node->spec.unschedulable;
        bool below = is_below(u, m);
        if (u->high && below)
            u->sources[u->nsources++] = m;
        else if (u->high && !cordoned)
            u->targets[u->ntargets++] = m;
        else if (!u->high && below && !cordoned)
            u->targets[u->ntargets++] = m;
        else if (!u->high && is_above(u, m))
            u->sources[u->nsources++] = m;
    }
}

static int by_sum(const void *a, const void *b)
{
    const struct measured *x = *(struct measured *const *)a, *y = *(struct measured *const *)b;

    if (x->sum != y->sum)
        return x->sum < y->sum ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static int by_sum_down(const void *a, const void *b)
{
    const struct measured *x = *(struct measured *const *)a, *y = *(struct measured *const *)b;

    if (x->sum != y->sum)
        return x->sum > y->sum ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* A percentage of what the node has, in whole counts. */
static int64_t part(const struct resource *x, double percent, int64_t capacity)
{
    int64_t n = i64_from_f64(percent * 0.01 * (double)value_of(x, capacity));
    return streq(x->name, "cpu") ? n : i64_mul_sat(n, 1000);
}

static void add_budget(struct utilization *u)
{
    for (uint32_t j = 0; j < u->ntargets; j++)
        for (uint32_t i = 0; i < u->n; i++) {
            const struct measured *m = u->targets[j];
            const struct resource *x = &u->resources[i];
            bool whole = u->high || !x->high;
            int64_t can = whole ? m->capacity[i] : part(x, u->target[i], m->capacity[i]);
            u->budget[i] = i64_add_sat(u->budget[i], i64_sub_sat(can, m->used[i]));
        }
    for (uint32_t j = 0; j < u->nsources; j++)
        for (uint32_t i = 0; i < u->n; i++)
            u->sources[j]->target[i] =
                part(&u->resources[i], u->target[i], u->sources[j]->capacity[i]);
}

/* ---- pods ------------------------------------------------------------------------------------- */

static bool goes_on(const struct utilization *u, const struct measured *m)
{
    bool above = u->high;

    /* Without a threshold the node may not have more than it has. */
    for (uint32_t i = 0; i < u->n && !above; i++)
        above = m->used[i] > m->target[i];
    for (uint32_t i = 0; i < u->n && above; i++)
        above = u->budget[i] > 0;
    return above;
}

/* A target with more taints than the pod has tolerations never qualifies: as upstream. */
static bool tolerates_some(const struct utilization *u, const struct pod *p)
{
    for (uint32_t j = 0; j < u->ntargets; j++) {
        const taintlist *t = &kd_view_node(u->round->view, u->targets[j]->node)->node->spec.taints;
        bool all = p->spec->tolerations.n >= t->n;
        for (uint32_t i = 0; i < t->n && all; i++)
            all = tolerations_tolerate(&p->spec->tolerations, &t->items[i], 0);
        if (all)
            return true;
    }
    return false;
}

static int64_t amount_of(const struct utilization *u, const struct pod *p, uint32_t i)
{
    struct kd_amounts a = kd_view_requests(u->round->view, p);

    if (streq(u->resources[i].name, "pods"))
        return 1000;
    for (uint32_t j = 0; j < a.n; j++)
        if (a.items[j].resource == u->resources[i].id)
            return a.items[j].milli;
    return 0;
}

static bool names_some(const struct utilization *u, const containerlist *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        for (uint32_t j = 0; j < u->args->thresholds.n; j++)
            if (reslist_has(&l->items[i].resources.requests, u->args->thresholds.items[j].resource))
                return true;
    return false;
}

/* By its containers, whatever the amount. */
static bool asks_for_some(const struct utilization *u, const struct pod *p)
{
    return names_some(u, &p->spec->containers) || names_some(u, &p->spec->init_containers);
}

static void empty(struct utilization *u, struct measured *m)
{
    const struct eviction_limits *limits = u->args->limits;
    int64_t evicted = 0;
    podvec pods = { 0 };

    kube_list(u->round, m->node, &(struct kube_listing){ .filter = true }, &pods);
    kube_sort(&pods);
    vec_foreach(&pods, j) {
        const struct pod *p = pods.items[j];
        if (!goes_on(u, m) || (limits && limits->node.set && evicted >= limits->node.v))
            break;
        if ((u->args->modes.n && !asks_for_some(u, p)) || !tolerates_some(u, p) ||
            !args_namespaces_match(u->args->namespaces, p->obj.meta.ns) ||
            !kd_evict(u->round, p, NULL))
            continue;
        evicted++;
        for (uint32_t i = 0; i < u->n; i++) {
            int64_t q = amount_of(u, p, i);
            u->budget[i] = i64_sub_sat(u->budget[i], q);
            m->used[i] = i64_sub_sat(m->used[i], q);
        }
    }
    vec_fini(&pods);
}

static void run(const struct utilization_args *x, struct kd_round *r, bool high)
{
    struct utilization u;

    make(&u, x, r, high);
    set_thresholds(&u);
    classify(&u);
    uint32_t few = high ? u.nsources : u.ntargets;
    if (u.nsources == 0 || u.ntargets == 0 || few <= (uint32_t)x->number_of_nodes ||
        few == r->nnodes)
        return;
    add_budget(&u);
    qsort(u.sources, u.nsources, sizeof *u.sources, high ? by_sum : by_sum_down);
    for (uint32_t i = 0; i < u.nsources; i++)
        empty(&u, u.sources[i]);
}

static int balance_low(void *self, struct kd_round *r, struct kerr *err)
{
    (void)err;
    run(kube_args(self), r, false);
    return 0;
}

static int balance_high(void *self, struct kd_round *r, struct kerr *err)
{
    (void)err;
    run(kube_args(self), r, true);
    return 0;
}

const struct kd_plugin plugin_lownodeutilization = { KUBE_PLUGIN("LowNodeUtilization", &low_args),
                                                     .balance = balance_low };
const struct kd_plugin plugin_highnodeutilization = {
    KUBE_PLUGIN("HighNodeUtilization", &high_args), .balance = balance_high
};
