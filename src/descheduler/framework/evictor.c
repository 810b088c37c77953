/* evictor.c - may this pod go, and then: it goes. */
#include "descheduler/framework/evictor.h"

#include <stdio.h>

#include "base/klog.h"
#include "component/metrics.h"
#include "descheduler/framework/moves.h"
#include "loop/loop.h"

static const struct metric_desc evicted = {
    "descheduler_pods_evicted",
    "Number of evicted pods, by the result, by the strategy, by the namespace, by the node name.",
    METRIC_COUNTER,
    .labels = { "result", "strategy", "namespace", "node" },
};

void kd_count(const struct kd_env *env, const char *result, const char *strategy,
              const struct pod *p)
{
    struct metric *m = metrics_add(env->metrics, &evicted);

    counter_inc(metric_counter(
        m, METRIC_VALUES(result, str_or(strategy, ""), p->obj.meta.ns, p->node_name)));
}

/* ---- filters ---------------------------------------------------------------------------------- */

bool evictor_filter(const struct kd_evictor *ev, const struct kd_view *v, const struct pod *p,
                    struct kd_why *why)
{
    for (uint32_t i = 0; i < ev->nfilters; i++) {
        const struct instance *f = ev->filters[i];
        if (f->plugin->filter && !f->plugin->filter(f->self, v, p, why))
            return kd_no(why, "%s refuses it", f->plugin->name);
    }
    return !ev->moving || !ev->shared->moves ||
           moves_allow(ev->shared->moves, p, kd_view_time(v), why);
}

bool evictor_pre_filter(const struct kd_evictor *ev, const struct kd_view *v, const struct pod *p,
                        struct kd_why *why)
{
    for (uint32_t i = 0; i < ev->nfilters; i++) {
        const struct instance *f = ev->filters[i];
        if (f->plugin->pre_eviction_filter && !f->plugin->pre_eviction_filter(f->self, v, p, why))
            return kd_no(why, "%s refuses it", f->plugin->name);
    }
    return true;
}

/* ---- evicting --------------------------------------------------------------------------------- */

static bool try_evict(const struct kd_evictor *ev, const struct kd_view *v, const struct pod *p,
                      const struct kd_eviction *e, struct kd_why *why)
{
    const struct kd_shared *s = ev->shared;

    if (!limiter_allows(s->limiter, p, why))
        return false;
    if (!s->dry_run && !ev->evict->plugin->evict(ev->evict->self, v, p, e, why))
        return kd_no(why, "%s refuses it", ev->evict->plugin->name);
    limiter_add(s->limiter, p);
    if (!s->dry_run && ev->moving && s->moves)
        moves_add(s->moves, p, kd_view_time(v));
    return true;
}

static void tell(const struct kd_evictor *ev, const struct pod *p, const struct kd_eviction *e,
                 bool done, const struct kd_why *why)
{
    const struct kd_observer *o = ev->shared->observer;

    if (done)
        KLOG_I(2, ev->shared->dry_run ? "Evicted pod in dry run mode" : "Evicted pod",
               KV_S("namespace", p->obj.meta.ns), KV_S("pod", p->obj.meta.name),
               KV_S("node", p->node_name), KV_S("strategy", e->plugin), KV_S("reason", e->reason));
    else
        KLOG_I(4, "Did not evict pod", KV_S("namespace", p->obj.meta.ns),
               KV_S("pod", p->obj.meta.name), KV_S("strategy", e->plugin), KV_S("why", why->text));
    if (o && o->decided)
        o->decided(o->arg, &(struct kd_decision){ .profile = ev->profile,
                                                  .plugin = e->plugin,
                                                  .reason = e->reason,
                                                  .pod = p,
                                                  .evicted = done,
                                                  .why = why->text });
}

static bool evict(const struct kd_evictor *ev, const struct kd_view *v, const struct pod *p,
                  const struct kd_eviction *e, struct kd_why *why)
{
    struct kd_eviction all = e ? *e : (struct kd_eviction){ 0 };
    struct kd_why own = { 0 };

    all.plugin = str_empty(all.plugin) ? str_or(ev->running, "") : all.plugin;
    all.reason = str_or(all.reason, "");
    bool done = try_evict(ev, v, p, &all, &own);
    tell(ev, p, &all, done, &own);
    if (!done && why)
        *why = own;
    return done;
}

/* ---- for plugins ------------------------------------------------------------------------------ */

bool kd_filter(struct kd_round *r, const struct pod *p)
{
    return evictor_filter(r->evictor, r->view, p, NULL);
}

bool kd_pre_eviction_filter(struct kd_round *r, const struct pod *p)
{
    return evictor_pre_filter(r->evictor, r->view, p, NULL);
}

bool kd_evict(struct kd_round *r, const struct pod *p, const struct kd_eviction *e)
{
    return evict(r->evictor, r->view, p, e, NULL);
}

struct kd_view *kd_view_now(struct kd_evictor *ev)
{
    const struct kd_shared *s = ev->shared;

    return kd_view_new(&(struct kd_view_opts){ .nodes = s->nodes,
                                               .pods = s->pods,
                                               .caches = s->env.caches,
                                               .include = s->include,
                                               .now = loop_wall(s->env.loop) });
}

bool kd_evict_now(struct kd_evictor *ev, const struct pod *p, const struct kd_eviction *e,
                  struct kd_why *why)
{
    CLEANUP(kd_view_free) struct kd_view *v = kd_view_now(ev);

    return evictor_filter(ev, v, p, why) && evictor_pre_filter(ev, v, p, why) &&
           evict(ev, v, p, e, why);
}

bool kd_leaving(const struct kd_round *r, const char *ns, const char *name, nsec_t since)
{
    const struct instance *e = r->evictor->evict;

    return e->plugin->leaving && e->plugin->leaving(e->self, ns, name, since);
}

nsec_t kd_last_move(const struct kd_round *r, const struct pod *p)
{
    const struct moves *m = r->evictor->shared->moves;
    return m ? moves_last(m, p) : 0;
}

void kd_tell_node(const struct kd_round *r, uint32_t node, const char *class, const char *fmt, ...)
{
    const struct kd_observer *o = r->evictor->shared->observer;
    char detail[256];
    va_list ap;

    if (!o || !o->node)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(detail, sizeof detail, fmt, ap);
    va_end(ap);
    o->node(o->arg, &(struct kd_node_class){ .profile = r->evictor->profile,
                                             .plugin = r->evictor->running,
                                             .class = class,
                                             .node = kd_view_node(r->view, node)->name,
                                             .detail = detail });
}
