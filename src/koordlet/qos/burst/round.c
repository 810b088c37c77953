/* round.c - all containers of the node, from round to round. */
#include "api/podresources.h"
#include "koordlet/kernel/convert.h"
#include "koordlet/qos/burst/burst.h"

#define SWEEP_EVERY (60 * NSEC_PER_SEC)

void burst_state_fini(struct burst_state *s)
{
    map_foreach(&s->containers, it) {
        struct burst_container *c = it->value;
        free(c->id);
        free(c);
    }
    map_fini(&s->containers);
}

const struct burst_container *burst_find(const struct burst_state *s, const char *container_id)
{
    const struct burst_container *c = map_getz(&s->containers, container_id);

    return c && c->round == s->round ? c : NULL;
}

/* Latency-sensitive, active, not bound to CPUs of its own. */
static bool applies(const struct npod *p)
{
    enum qos_class q = pod_qos_class_raw(npod_pod(p));
    uint8_t phase = npod_pod(p)->status.phase;

    return q != QOS_LSE && q != QOS_LSR && q != QOS_BE &&
           (phase == POD_PENDING || phase == POD_RUNNING);
}

static int64_t limit_of(const struct npod *p, const char *container)
{
    const containerlist *l = &npod_pod(p)->spec->containers;

    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i].name, container))
            return qty_milli(reslist_get(&l->items[i].resources.limits, RES_CPU));
    return 0;
}

/* ---- a round --------------------------------------------------------------------------------- */

static struct burst_container *container_get(struct burst_state *s, const struct burst_in *in,
                                             const struct npod *p, const struct npod_container *c,
                                             struct arena *a)
{
    struct burst_container *b = map_getz(&s->containers, c->id);
    int64_t now = -1;

    if (b)
        return b;
    b = xnew0(struct burst_container);
    b->id = xstrdup(c->id);
    map_putz(&s->containers, b->id, b);
    /* After a restart what was scaled up before goes on from there. */
    if (c->dir && in->view.number(in->view.arg, arena_printf(a, "%s/%s", p->cgroup_dir, c->dir),
                                  PLAN_CPU_QUOTA, &now, NULL) == 0) {
        b->quota = MAX(now, INT64_C(0));
        b->unlimited = now < 0;
    }
    return b;
}

static bool step(struct burst_state *s, const struct burst_in *in, const struct npod *p,
                 const struct npod_container *c, const struct cpu_burst_config *config,
                 struct arena *a)
{
    int64_t limit = limit_of(p, c->name);
    struct burst_sample sample = { .allowed = true };

    if (milli_to_quota(limit) <= 0)
        return false;
    struct burst_container *b = container_get(s, in, p, c, a);
    bool fresh = b->round == 0;
    struct opt_i64 period = config->cfs_quota_burst_period_seconds;
    struct opt_f64 used = { .set = false };
    if (period.set && period.v >= 0)
        used = in->used(in->arg, c->id);
    sample.allowed = burst_limiter_allow(&b->limiter, config, c->id, limit, used, in->now);
    sample.throttled = in->throttled(in->arg, c->id);
    int64_t quota = burst_quota(config, in->node, limit, b->quota, sample);
    int64_t burst = burst_static(config, limit);
    bool differs = fresh || quota != b->quota || burst != b->burst;
    b->quota = quota;
    b->burst = burst;
    b->round = s->round;
    return differs;
}

/* Containers that were not there in the last round are forgotten, with their tokens. */
static void sweep(struct burst_state *s)
{
    struct vec_of(struct burst_container *) old = { 0 };

    map_foreach(&s->containers, it) {
        struct burst_container *c = it->value;
        if (c->round != s->round)
            vec_push(&old, c);
    }
    vec_foreach(&old, i) {
        map_removez(&s->containers, old.items[i]->id);
        free(old.items[i]->id);
        free(old.items[i]);
    }
    vec_fini(&old);
}

bool burst_round(struct burst_state *s, const struct burst_in *in, struct arena *a)
{
    const struct podset *pods = in->known->pods;
    bool differs = false;

    s->round = s->round == UINT32_MAX ? 1 : s->round + 1;
    for (uint32_t i = 0; i < pods->n; i++) {
        const struct npod *p = pods->pods[i];
        if (!applies(p))
            continue;
        struct cpu_burst_config c =
            burst_config(&in->known->slo->cpu_burst->config, &npod_pod(p)->obj.meta.annotations, a);
        for (uint32_t k = 0; k < p->ncontainers; k++)
            if (p->containers[k].running)
                differs |= step(s, in, p, &p->containers[k], &c, a);
    }
    if (in->now - s->swept >= SWEEP_EVERY) {
        s->swept = in->now;
        sweep(s);
    }
    return differs;
}

/* ---- proposing ------------------------------------------------------------------------------- */

struct pod_sum { /* over its containers */
    int64_t extra, burst;
    bool unlimited;
};

static struct pod_sum propose_containers(const struct burst_state *s, const struct npod *p,
                                         struct plan *plan)
{
    struct pod_sum sum = { .extra = 0 };

    for (uint32_t i = 0; i < p->ncontainers; i++) {
        const struct npod_container *c = &p->containers[i];
        const struct burst_container *b = burst_find(s, c->id);
        if (!c->dir || !c->running)
            continue;
        struct plan_at at = { .dir = arena_printf(plan->arena, "%s/%s", p->cgroup_dir, c->dir),
                              .pod = p,
                              .container = c->name };
        int64_t base = milli_to_quota(limit_of(p, c->name));
        plan_number(plan, at, PLAN_CPU_BURST_US, b ? b->burst : 0);
        if (!b || base <= 0)
            continue;
        sum.burst += b->burst;
        sum.unlimited |= b->unlimited;
        if (b->unlimited)
            continue;
        plan_scale(plan, at, PLAN_CPU_QUOTA, b->quota, base);
        PLAN_BECAUSE(plan, { "quota of the limit", base, NULL },
                     { "scaled quota", b->quota, NULL });
        sum.extra += b->quota - base;
    }
    return sum;
}

/* As the kubelet sets it: all containers have a limit, or the pod has one of its own. -1: none. */
static int64_t pod_base(const struct npod *p, struct arena *a)
{
    const struct pod_spec *s = npod_pod(p)->spec;
    bool whole = s->resources && reslist_has(&s->resources->limits, RES_CPU);

    for (uint32_t i = 0; !whole && i < s->containers.n; i++)
        if (qty_milli(reslist_get(&s->containers.items[i].resources.limits, RES_CPU)) <= 0)
            return -1;
    reslist limits = pod_limits(npod_pod(p), NULL, a);
    return milli_to_quota(qty_milli(reslist_get(&limits, RES_CPU)));
}

void burst_propose(const struct burst_state *s, const struct snapshot *known, struct plan *plan)
{
    for (uint32_t i = 0; i < known->pods->n; i++) {
        const struct npod *p = known->pods->pods[i];
        if (!applies(p))
            continue;
        struct pod_sum sum = propose_containers(s, p, plan);
        struct plan_at at = { .dir = p->cgroup_dir, .pod = p };
        int64_t base = sum.unlimited ? -1 : pod_base(p, plan->arena);
        plan_number(plan, at, PLAN_CPU_BURST_US, sum.burst);
        if (base > 0)
            plan_scale(plan, at, PLAN_CPU_QUOTA, burst_pod_quota(base, sum.extra), base);
    }
}
