/* memory.c - memory QoS of classes, pods and containers (koordlet-qos 10). */
#include "koordlet/qos/memory/memory.h"

#include "api/podresources.h"
#include "api/protocol/slo.h"
#include "base/num.h"
#include "koordlet/kernel/naming.h"
#include "koordlet/states/nodeslo.h"

/* ---- settings of a pod (10.1) ---------------------------------------------------------------- */

#define SET(x)    \
    {             \
        true, (x) \
    }
#define NOTHING                                                                             \
    .min_limit_percent = SET(0), .low_limit_percent = SET(0), .throttling_percent = SET(0), \
    .priority_enable = SET(0), .priority = SET(0), .oom_kill_group = SET(0)
static const struct memory_qos auto_ls = { NOTHING, .wmark_ratio = SET(95),
                                           .wmark_scale_permill = SET(20),
                                           .wmark_min_adj = SET(-25) };
static const struct memory_qos auto_be = { NOTHING, .wmark_ratio = SET(95),
                                           .wmark_scale_permill = SET(20),
                                           .wmark_min_adj = SET(50) };
#undef NOTHING
#undef SET

static const struct resource_qos *class_of(const struct resource_qos_strategy *s, enum qos_class q)
{
    switch (q) {
    case QOS_LSE:
    case QOS_LSR: return s->lsr;
    case QOS_LS: return s->ls;
    case QOS_BE: return s->be;
    case QOS_SYSTEM: return s->system;
    case QOS_NONE: break;
    }
    return NULL;
}

static const struct memory_qos *auto_of(enum qos_class q)
{
    if (q == QOS_BE)
        return &auto_be;
    return q == QOS_SYSTEM || q == QOS_NONE ? &nodeslo_memory_none : &auto_ls;
}

#define OVERLAY(member)   \
    if (over->member.set) \
    to->member = over->member

static void overlay(struct memory_qos *to, const struct memory_qos *over)
{
    OVERLAY(min_limit_percent);
    OVERLAY(low_limit_percent);
    OVERLAY(throttling_percent);
    OVERLAY(wmark_ratio);
    OVERLAY(wmark_scale_permill);
    OVERLAY(wmark_min_adj);
    OVERLAY(priority_enable);
    OVERLAY(priority);
    OVERLAY(oom_kill_group);
    OVERLAY(page_cache_enable);
    OVERLAY(page_cache_limit_percent);
    OVERLAY(page_cache_limit_size_bytes);
    OVERLAY(page_cache_reclaim_sync);
}
#undef OVERLAY

/* What holds for one pod: its class, with the annotation over it. false: neither says anything. */
static bool config_of(const struct resource_qos_strategy *s, const struct npod *p, struct arena *a,
                      struct memory_qos *ret)
{
    const struct resource_qos *class = class_of(s, p->qos);
    struct pod_memory_qos own;
    int r = pod_memory_qos_read(&npod_pod(p)->obj.meta.annotations, a, &own, NULL);

    if (r > 0 && own.policy == MEMORY_QOS_NONE) {
        *ret = nodeslo_memory_none;
        return true;
    }
    if (r > 0 && own.policy == MEMORY_QOS_AUTO)
        *ret = *auto_of(p->qos);
    else if (class && class->memory)
        *ret = *class->memory;
    else if (r > 0)
        *ret = (struct memory_qos){ .enable = { .set = false } };
    else
        return false;
    if (r > 0)
        overlay(ret, &own.qos);
    return true;
}

/* ---- requests and limits --------------------------------------------------------------------- */

static bool is_batch(const struct npod *p)
{
    return pod_qos_class_raw(npod_pod(p)) == QOS_BE;
}

static const char *resource_name(const struct npod *p)
{
    return is_batch(p) ? RES_BATCH_MEMORY : RES_MEMORY;
}

static int64_t container_request(const struct npod *p, const struct container *c)
{
    return MAX(qty_value(reslist_get(&c->resources.requests, resource_name(p))), INT64_C(0));
}

/* -1: none. */
static int64_t container_limit(const struct npod *p, const struct container *c)
{
    const struct qty *q = reslist_find(&c->resources.limits, resource_name(p));

    return q ? qty_value(*q) : -1;
}

static int64_t pod_request(const struct npod *p, struct arena *a)
{
    const struct pod_spec *s = npod_pod(p)->spec;
    int64_t sum = 0;

    if (!is_batch(p)) {
        reslist native = pod_requests(npod_pod(p), NULL, a);
        return qty_value(reslist_get(&native, RES_MEMORY));
    }
    for (uint32_t i = 0; i < s->containers.n; i++)
        sum = i64_add_sat(sum, container_request(p, &s->containers.items[i]));
    for (uint32_t i = 0; i < s->init_containers.n; i++)
        if (container_is_sidecar(&s->init_containers.items[i]))
            sum = i64_add_sat(sum, container_request(p, &s->init_containers.items[i]));
    return sum;
}

/* -1: none, or not of all containers. */
static int64_t pod_limit(const struct npod *p, struct arena *a)
{
    const struct pod_spec *s = npod_pod(p)->spec;
    int64_t sum = 0;

    if (!is_batch(p)) {
        reslist native = pod_limits(npod_pod(p), NULL, a);
        const struct qty *q = reslist_find(&native, RES_MEMORY);
        return q ? qty_value(*q) : -1;
    }
    for (uint32_t i = 0; i < s->containers.n; i++) {
        int64_t one = container_limit(p, &s->containers.items[i]);
        if (one <= 0)
            return -1;
        sum = i64_add_sat(sum, one);
    }
    return sum > 0 ? sum : -1;
}

/* ---- values (10.2) --------------------------------------------------------------------------- */

struct protection { /* of a class or a pod */
    struct opt_i64 min, low;
};

static struct opt_i64 share(int64_t request, struct opt_i64 percent)
{
    return (struct opt_i64){ percent.set, percent.set ? i64_muldiv(request, percent.v, 100) : 0 };
}

static struct protection protection_of(const struct memory_qos *c, int64_t request)
{
    struct protection p = { share(request, c->min_limit_percent),
                            share(request, c->low_limit_percent) };

    /* Below what is protected absolutely a weaker protection means nothing. */
    if (p.min.set && p.low.set && p.low.v > 0 && p.low.v < p.min.v)
        p.low.v = p.min.v;
    return p;
}

static void put(struct plan *p, struct plan_at at, enum plan_file f, struct opt_i64 v)
{
    if (v.set)
        plan_number(p, at, f, v.v);
}

static void put_rest(struct plan *p, struct plan_at at, const struct memory_qos *c)
{
    put(p, at, PLAN_MEMORY_WMARK_RATIO, c->wmark_ratio);
    put(p, at, PLAN_MEMORY_WMARK_SCALE_FACTOR, c->wmark_scale_permill);
    put(p, at, PLAN_MEMORY_WMARK_MIN_ADJ, c->wmark_min_adj);
    put(p, at, PLAN_MEMORY_PRIORITY, c->priority);
    put(p, at, PLAN_MEMORY_USE_PRIORITY_OOM, c->priority_enable);
    put(p, at, PLAN_MEMORY_OOM_GROUP, c->oom_kill_group);
}

static struct opt_i64 high_of(const struct memory_in *in, const struct npod *p,
                              const struct container *c, const struct memory_qos *q,
                              struct opt_i64 min)
{
    struct opt_i64 high = { q->throttling_percent.set, INT64_MAX };
    int64_t percent = q->throttling_percent.v, request = container_request(p, c);

    if (!high.set || percent == 0)
        return high;
    int64_t limit = container_limit(p, c);
    if (limit <= 0)
        limit = qty_value(reslist_get(&in->known->node->status.allocatable, RES_MEMORY));
    int64_t v = i64_add_sat(request, i64_muldiv(i64_sub_sat(limit, request), percent, 100));
    high.v = v / in->page_size * in->page_size;
    if (min.set && high.v > 0 && high.v < min.v)
        high.v = min.v;
    return high;
}

/* ---- the page cache (10.3) ------------------------------------------------------------------- */

static void put_page_cache(struct plan *p, struct plan_at at, const struct npod *pod,
                           const struct memory_qos *c)
{
    struct opt_i64 wanted = c->page_cache_limit_size_bytes, percent = c->page_cache_limit_percent;
    int64_t limit = pod_limit(pod, p->arena), size = 0;
    bool sized = wanted.set || percent.set;

    if (wanted.set)
        size = limit > 0 ? MIN(wanted.v, limit) : wanted.v;
    else if (percent.set && limit > 0)
        size = i64_muldiv(limit, percent.v, 100);
    bool on = c->page_cache_enable.set ? c->page_cache_enable.v : size > 0;
    if (sized || c->page_cache_enable.set)
        plan_number(p, at, PLAN_MEMORY_PAGECACHE_ENABLE, on);
    if (sized)
        plan_number(p, at, PLAN_MEMORY_PAGECACHE_SIZE, MAX(size, INT64_C(0)));
    if (sized && size > 0)
        plan_number(p, at, PLAN_MEMORY_PAGECACHE_SYNC,
                    c->page_cache_reclaim_sync.set && c->page_cache_reclaim_sync.v);
}

/* ---- pods and classes ------------------------------------------------------------------------ */

static const struct container *container_named(const struct pod *p, const char *name)
{
    for (uint32_t i = 0; i < p->spec->containers.n; i++)
        if (streq(p->spec->containers.items[i].name, name))
            return &p->spec->containers.items[i];
    return NULL;
}

static void propose_container(const struct memory_in *in, const struct npod *p,
                              const struct npod_container *nc, const struct memory_qos *q,
                              struct plan *plan)
{
    const struct container *c = container_named(npod_pod(p), nc->name);

    if (!c || !nc->dir)
        return;
    struct plan_at at = { .dir = arena_printf(plan->arena, "%s/%s", p->cgroup_dir, nc->dir),
                          .pod = p,
                          .container = nc->name };
    struct protection v = protection_of(q, container_request(p, c));
    put(plan, at, PLAN_MEMORY_MIN, v.min);
    put(plan, at, PLAN_MEMORY_LOW, v.low);
    put(plan, at, PLAN_MEMORY_HIGH, high_of(in, p, c, q, v.min));
    put_rest(plan, at, q);
}

static void add(struct opt_i64 *sum, struct opt_i64 v)
{
    if (v.set)
        *sum = (struct opt_i64){ true, i64_add_sat(sum->v, v.v) };
}

static void propose_pod(const struct memory_in *in, const struct npod *p, struct protection *class,
                        struct plan *plan)
{
    struct plan_at at = { .dir = p->cgroup_dir, .pod = p };
    struct memory_qos q;

    if (!config_of(in->known->slo->resource_qos, p, plan->arena, &q))
        return;
    int64_t request = pod_request(p, plan->arena);
    struct protection v = protection_of(&q, request);
    put(plan, at, PLAN_MEMORY_MIN, v.min);
    put(plan, at, PLAN_MEMORY_LOW, v.low);
    put_rest(plan, at, &q);
    put_page_cache(plan, at, p, &q);
    for (uint32_t i = 0; i < p->ncontainers; i++)
        propose_container(in, p, &p->containers[i], &q, plan);
    add(&class->min, share(request, q.min_limit_percent));
    add(&class->low, share(request, q.low_limit_percent));
}

static void propose_class(const struct memory_in *in, enum kube_qos k, const struct protection *v,
                          struct plan *plan)
{
    const struct resource_qos_strategy *s = in->known->slo->resource_qos;
    const struct resource_qos *class = k == KUBE_QOS_GUARANTEED  ? s->lsr
                                       : k == KUBE_QOS_BURSTABLE ? s->ls
                                                                 : s->be;
    struct plan_at at = { .dir = cgroup_qos_dir(in->driver, k) };

    if (!class || !class->memory)
        return;
    put(plan, at, PLAN_MEMORY_MIN, v->min);
    put(plan, at, PLAN_MEMORY_LOW, v->low);
    put(plan, at, PLAN_MEMORY_PRIORITY, class->memory->priority);
    put(plan, at, PLAN_MEMORY_USE_PRIORITY_OOM, class->memory->priority_enable);
    put(plan, at, PLAN_MEMORY_OOM_GROUP, class->memory->oom_kill_group);
}

void memory_propose(const struct memory_in *in, struct plan *p)
{
    struct protection of[KUBE_QOS_BEST_EFFORT + 1] = { 0 };
    const struct podset *pods = in->known->pods;

    for (uint32_t i = 0; i < pods->n; i++) {
        uint8_t phase = npod_pod(pods->pods[i])->status.phase;
        if (phase == POD_PENDING || phase == POD_RUNNING)
            propose_pod(in, pods->pods[i], &of[pods->pods[i]->kube_qos], p);
    }
    /* The directory of Guaranteed pods is above the two others. */
    struct protection *all = &of[KUBE_QOS_GUARANTEED];
    for (enum kube_qos k = KUBE_QOS_BURSTABLE; k <= KUBE_QOS_BEST_EFFORT; k++) {
        add(&all->min, of[k].min);
        add(&all->low, of[k].low);
    }
    for (enum kube_qos k = KUBE_QOS_GUARANTEED; k <= KUBE_QOS_BEST_EFFORT; k++)
        propose_class(in, k, &of[k], p);
}
