/* evictor.c - one eviction at a time per caller, and the memory of victims. */
#include "koordlet/qos/evict/evictor.h"

#include "base/klog.h"
#include "base/map.h"
#include "base/vec.h"
#include "client/events.h"
#include "client/kube.h"
#include "component/metrics.h"
#include "koordlet/audit/audit.h"
#include "loop/loop.h"
#include "json/kj.h"

#define RELEASED_FOR  (120 * NSEC_PER_SEC) /* how long a victim counts as gone */
#define KNOWN_FOR     (600 * NSEC_PER_SEC) /* how long stopped containers are remembered */
#define REFUSED_FIRST (5 * NSEC_PER_SEC)   /* not asked again for so long */
#define REFUSED_MAX   (60 * NSEC_PER_SEC)
#define API_TIMEOUT   (10 * NSEC_PER_SEC)
#define REASON        "evicted" /* of metrics, events and audit */

static const struct metric_desc total_desc = { "koordlet_pod_eviction",
                                               "Pods that the agent evicted.", METRIC_COUNTER,
                                               .labels = { "node", "reason" } };
static const struct metric_desc detail_desc = {
    "koordlet_pod_eviction_detail", "Evictions by the agent, by pod.", METRIC_COUNTER,
    .labels = { "node", "pod_namespace", "pod_name", "reason" }
};

struct victim {
    char uid[64];
    char *ns, *name;                    /* its counter goes with it */
    nsec_t released_until, known_until; /* monotonic */
    nsec_t refused_until, refused_for;  /* 0: it was not */
    struct vec_of(char *) stopped;      /* IDs of its containers; none: evicted through the API */
};

struct eviction {
    struct evictor *of;
    struct npod *pod; /* a reference */
    char *why;
    evicted_fn fn;
    void *arg;
    struct kube_call *call;
    struct stop_call *stop;
    struct timer *pretended; /* a dry run */
    struct eviction *next;
};

struct evictor {
    struct evictor_env env;
    struct stopper *stopper;
    struct map victims; /* by UID */
    struct eviction *under_way;
    struct counter *total;
    struct metric *detail;
};

/* ---- life ------------------------------------------------------------------------------------ */

struct evictor *evictor_new(const struct evictor_env *env)
{
    struct evictor *e = xnew0(struct evictor);

    e->env = *env;
    e->stopper = stopper_new(&env->stop);
    e->total = metric_counter(metrics_add(env->metrics, &total_desc),
                              METRIC_VALUES(env->node_name, REASON));
    e->detail = metrics_add(env->metrics, &detail_desc);
    return e;
}

static void victim_free(struct victim *v)
{
    vec_foreach(&v->stopped, i)
        free(v->stopped.items[i]);
    vec_fini(&v->stopped);
    free(v->ns);
    free(v->name);
    free(v);
}

static void eviction_free(struct eviction *v)
{
    kube_cancel(v->call);
    stop_call_cancel(v->stop);
    timer_cancel(v->pretended);
    npod_unref(v->pod);
    free(v->why);
    free(v);
}

struct evictor *evictor_free(struct evictor *e)
{
    if (!e)
        return NULL;
    for (struct eviction *v; (v = e->under_way);) {
        e->under_way = v->next;
        eviction_free(v);
    }
    map_foreach(&e->victims, it)
        victim_free(it->value);
    map_fini(&e->victims);
    stopper_free(e->stopper);
    free(e);
    return NULL;
}

/* ---- victims --------------------------------------------------------------------------------- */

static bool is_stopped(const struct victim *v, const char *container_id)
{
    vec_foreach(&v->stopped, i)
        if (streq(v->stopped.items[i], container_id))
            return true;
    return false;
}

/* The kubelet started containers of a pod again that we had stopped. */
static bool is_restarted(const struct victim *v, const struct npod *p)
{
    for (uint32_t i = 0; v->stopped.n > 0 && i < p->ncontainers; i++)
        if (p->containers[i].running && !is_stopped(v, p->containers[i].id))
            return true;
    return false;
}

bool evictor_pending(const struct evictor *e, const struct npod *p)
{
    const struct victim *v = map_getz(&e->victims, p->uid);

    return v && loop_mono(e->env.loop) < v->released_until && !is_restarted(v, p);
}

static void sweep(struct evictor *e, nsec_t now)
{
    struct vec_of(struct victim *) old = { 0 };

    map_foreach(&e->victims, it) {
        struct victim *v = it->value;
        if (now >= v->known_until)
            vec_push(&old, v);
    }
    vec_foreach(&old, i) {
        map_removez(&e->victims, old.items[i]->uid);
        metric_remove(e->detail, METRIC_VALUES(e->env.node_name, old.items[i]->ns,
                                               old.items[i]->name, REASON));
        victim_free(old.items[i]);
    }
    vec_fini(&old);
}

static struct victim *victim_get(struct evictor *e, const struct npod *p, nsec_t now)
{
    sweep(e, now);
    struct victim *v = map_getz(&e->victims, p->uid);
    if (!v) {
        v = xnew0(struct victim);
        memcpy(v->uid, p->uid, sizeof v->uid);
        v->ns = xstrdup(str_or(npod_pod(p)->obj.meta.ns, ""));
        v->name = xstrdup(npod_pod(p)->obj.meta.name);
        map_putz(&e->victims, v->uid, v);
    }
    return v;
}

static void remember(struct evictor *e, const struct npod *p, bool stopped)
{
    nsec_t now = loop_mono(e->env.loop);
    struct victim *v = victim_get(e, p, now);

    v->released_until = now + RELEASED_FOR;
    v->known_until = now + (stopped ? KNOWN_FOR : RELEASED_FOR);
    v->refused_until = v->refused_for = 0;
    vec_foreach(&v->stopped, i)
        free(v->stopped.items[i]);
    vec_clear(&v->stopped);
    for (uint32_t i = 0; stopped && i < p->ncontainers; i++)
        vec_push(&v->stopped, xstrdup(p->containers[i].id));
}

static void remember_refusal(struct evictor *e, const struct npod *p)
{
    nsec_t now = loop_mono(e->env.loop);
    struct victim *v = victim_get(e, p, now);

    v->refused_for =
        v->refused_for > 0 ? MIN(2 * v->refused_for, (nsec_t)REFUSED_MAX) : REFUSED_FIRST;
    v->refused_until = now + v->refused_for;
    v->known_until = MAX(v->known_until, v->refused_until + REFUSED_MAX);
}

bool evictor_may_try(const struct evictor *e, const struct npod *p)
{
    const struct victim *v = map_getz(&e->victims, p->uid);

    return !v || loop_mono(e->env.loop) >= v->refused_until;
}

/* ---- the end of an eviction ------------------------------------------------------------------ */

static void tell(struct evictor *e, const struct eviction *v, const struct kerr *err)
{
    const struct objmeta *m = &npod_pod(v->pod)->obj.meta;
    const char *ns = m->ns ? m->ns : "";
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    strbuf_appendf(&text, "evict Pod:%s/%s, reason: " REASON ", message: %s, kill pod: %s", ns,
                   m->name, v->why, m->name);
    if (err)
        strbuf_appendf(&text, ", error %s", err->text);
    if (e->env.recorder && !e->env.dry_run)
        recorder_event_on(e->env.recorder, v->pod->obj, true,
                          err ? "evictPodFail" : "evictPodSuccess", NULL, "%s", strbuf_str(&text));
    if (err) {
        KLOG_W("Could not evict a pod", KV_S("namespace", ns), KV_S("pod", m->name),
               KV_S("why", v->why), KV_S("error", err->text));
        return;
    }
    audit_log(e->env.audit,
              &(struct audit_event){
                  .type = "pod", .ns = ns, .name = m->name, .reason = REASON, .message = v->why });
    if (e->env.dry_run) {
        KLOG_I(0, "Would evict a pod: this is a dry run", KV_S("namespace", ns),
               KV_S("pod", m->name), KV_S("why", v->why));
        return;
    }
    KLOG_I(0, "Evicted a pod", KV_S("namespace", ns), KV_S("pod", m->name), KV_S("why", v->why));
    counter_inc(e->total);
    counter_inc(metric_counter(e->detail, METRIC_VALUES(e->env.node_name, ns, m->name, REASON)));
}

/* err NULL: done. */
static void finish(struct eviction *v, enum evict_outcome outcome, const struct kerr *err)
{
    struct evictor *e = v->of;
    evicted_fn fn = v->fn;
    void *arg = v->arg;

    for (struct eviction **p = &e->under_way; *p; p = &(*p)->next)
        if (*p == v) {
            *p = v->next;
            break;
        }
    tell(e, v, err);
    eviction_free(v);
    fn(arg, outcome);
}

/* ---- through the API ------------------------------------------------------------------------- */

/* A pod that the server does not know any more, or only under another UID, is gone. */
static void on_evicted(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct eviction *v = arg;
    bool gone = r->status == 404 || r->status == 409;

    v->call = NULL;
    if (err && !gone) {
        if (r->status != 0)
            remember_refusal(v->of, v->pod);
        finish(v, r->status == 0 ? EVICT_LOST : EVICT_REFUSED, err);
        return;
    }
    remember(v->of, v->pod, false);
    finish(v, EVICT_DONE, NULL);
}

static void evict_by_api(struct eviction *v)
{
    const struct objmeta *m = &npod_pod(v->pod)->obj.meta;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "policy/v1");
    kjw_str(&w, "kind", "Eviction");
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", m->name);
    kjw_str(&w, "namespace", m->ns);
    kjw_end(&w);
    kjw_obj(&w, "deleteOptions");
    kjw_obj(&w, "preconditions");
    kjw_str(&w, "uid", v->pod->uid);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    v->call = kube_do(v->of->env.kube,
                      &(struct kube_req){ .verb = KUBE_CREATE,
                                          .kind = &kind_pod,
                                          .ns = m->ns,
                                          .name = m->name,
                                          .subresource = "eviction",
                                          .body = strbuf_str(&body),
                                          .body_len = body.len,
                                          .no_retry = true,
                                          .timeout = API_TIMEOUT },
                      on_evicted, v);
}

/* ---- not at all ------------------------------------------------------------------------------ */

static void on_dry_run(struct loop *l, void *arg)
{
    struct eviction *v = arg;

    (void)l;
    v->pretended = NULL;
    remember(v->of, v->pod, false);
    finish(v, EVICT_DONE, NULL);
}

/* ---- by stopping containers ------------------------------------------------------------------ */

static void on_stopped(void *arg, uint32_t stopped, const struct kerr *why)
{
    struct eviction *v = arg;

    v->stop = NULL;
    if (why->code < 0)
        KLOG_W("Could not stop all containers of a pod",
               KV_S("namespace", npod_pod(v->pod)->obj.meta.ns),
               KV_S("pod", npod_pod(v->pod)->obj.meta.name), KV_S("error", why->text));
    if (stopped == 0) {
        evict_by_api(v);
        return;
    }
    remember(v->of, v->pod, true);
    finish(v, EVICT_DONE, NULL);
}

void evictor_evict(struct evictor *e, struct npod *p, const char *why, evicted_fn fn, void *arg)
{
    const struct victim *before = map_getz(&e->victims, p->uid);
    struct eviction *v = xnew0(struct eviction);

    *v = (struct eviction){
        .of = e, .pod = npod_ref(p), .why = xstrdup(why), .fn = fn, .arg = arg, .next = e->under_way
    };
    e->under_way = v;
    if (e->env.dry_run) {
        v->pretended = loop_after(e->env.loop, 0, on_dry_run, v);
        return;
    }
    if (!e->env.only_by_api && !(before && is_restarted(before, p)))
        v->stop = stopper_stop(e->stopper, p, on_stopped, v);
    if (!v->stop)
        evict_by_api(v);
}
