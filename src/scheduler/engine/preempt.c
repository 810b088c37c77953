/* preempt.c - making room: victims are told why and deleted, the last one after all others
 * (scheduler-core 8.18, step 8).
 *
 * The pod that gets the room waits meanwhile; it is tried again when the last victim is on its way
 * out. A victim that cannot be deleted gives the pod its next attempt at once, to look for another
 * way.
 */
#include "api/pod.h"
#include "base/klog.h"
#include "base/ktime.h"
#include "base/strbuf.h"
#include "client/events.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "scheduler/engine/internal.h"
#include "json/kj.h"

enum { PREEMPT_TRIES = 4 };

struct eviction {
    struct preempting *of;
    struct kobj *pod;
    struct kube_call *call;
    struct timer *timer;
    bool told; /* its condition is written */
    int tries;
};
struct preempting {
    struct kuid uid; /* first: uidmap; of the pod that gets the room */
    struct scheduler *s;
    struct kobj *pod;
    char *scheduler_name, *node;
    struct timer *begin;
    uint32_t n, left; /* left: of all but the last */
    nsec_t began;
    bool failed;
    struct eviction victims[];
};
struct preemptions {
    struct scheduler *s;
    struct uidmap by_uid;
};

struct preemptions *preemptions_new(struct scheduler *s)
{
    struct preemptions *p = xnew0(struct preemptions);
    p->s = s;
    return p;
}

static void preempting_free(struct preempting *p)
{
    uidmap_remove(&p->s->preemptions->by_uid, p->uid);
    for (uint32_t i = 0; i < p->n; i++) {
        kube_cancel(p->victims[i].call);
        timer_cancel(p->victims[i].timer);
        kobj_unref(p->victims[i].pod);
    }
    timer_cancel(p->begin);
    kobj_unref(p->pod);
    free(p->scheduler_name);
    free(p->node);
    free(p);
}

struct preemptions *preemptions_free(struct preemptions *all)
{
    struct preempting *p;

    if (!all)
        return NULL;
    for (size_t it = 0; (p = uidmap_next(&all->by_uid, &it)); it = 0)
        preempting_free(p);
    uidmap_fini(&all->by_uid);
    free(all);
    return NULL;
}

bool preempt_under_way(const struct scheduler *s, struct kuid uid)
{
    return uidmap_get(&s->preemptions->by_uid, uid);
}

static void finish(struct preempting *p)
{
    struct scheduler *s = p->s;
    struct kuid uid = p->uid;
    bool again = p->failed;

    smetrics_evicted(s, p->failed, loop_mono(s->loop) - p->began);
    preempting_free(p);
    podqueue_recheck(s->queue, uid);
    if (again)
        podqueue_activate(s->queue, uid);
}

/* ---- one victim ------------------------------------------------------------------------------ */

static void evict(struct eviction *e);

static void evicted(struct eviction *e)
{
    struct preempting *p = e->of;

    if (e == &p->victims[p->n - 1] || p->failed) {
        if (p->failed && p->left > 1) { /* others are under way */
            p->left--;
            return;
        }
        finish(p);
        return;
    }
    if (--p->left == 0)
        evict(&p->victims[p->n - 1]);
}

static void on_evict_again(struct loop *l, void *arg)
{
    struct eviction *e = arg;
    (void)l;
    e->timer = NULL;
    evict(e);
}

static void on_evict_answer(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct eviction *e = arg;
    struct loop *l = e->of->s->loop;

    (void)r;
    e->call = NULL;
    bool gone = err && err->reason == KR_NOT_FOUND;
    if (err && !gone && ++e->tries < PREEMPT_TRIES) {
        e->timer = loop_after(l, loop_jitter(l, (10 << (2 * e->tries)) * NSEC_PER_MSEC, 0.1),
                              on_evict_again, e);
        return;
    }
    if (err && !gone) {
        KLOG_E(err, "Failed to evict a pod to make room", KV_S("pod", LOG_KEY(e->pod)));
        e->of->failed = true;
    } else if (!e->told && !gone) {
        e->told = true;
        evict(e);
        return;
    }
    evicted(e);
}

static void write_reason(const struct eviction *e, struct strbuf *out)
{
    struct kjw w = kjw_to(out);
    char uid[KUID_TEXT_MAX], when[KTIME_TEXT_MAX];
    size_t n = ktime_format(loop_wall(e->of->s->loop), when);
    CLEANUP(mem_free)
    char *message =
        xasprintf("%s: preempting to accommodate a higher priority pod", e->of->scheduler_name);

    kuid_format(e->pod->meta.uid, uid, sizeof uid);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "uid", uid);
    kjw_end(&w);
    kjw_obj(&w, "status");
    kjw_arr(&w, "conditions");
    kjw_obj(&w, NULL);
    kjw_str(&w, "type", "DisruptionTarget");
    kjw_str(&w, "status", "True");
    kjw_strn(&w, "lastTransitionTime", when, n);
    kjw_str(&w, "reason", "PreemptionByScheduler");
    kjw_str(&w, "message", message);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
}

static void write_precondition(const struct eviction *e, struct strbuf *out)
{
    struct kjw w = kjw_to(out);
    char uid[KUID_TEXT_MAX];

    kuid_format(e->pod->meta.uid, uid, sizeof uid);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "preconditions");
    kjw_str(&w, "uid", uid); /* not a pod that took over the name */
    kjw_end(&w);
    kjw_end(&w);
}

/* Did it go by itself meanwhile, or was its binding given up? */
static bool left_node(const struct eviction *e)
{
    const char *node;
    return nodecache_find(e->of->s->cache, e->pod->meta.uid, &node) == NODECACHE_ABSENT ||
           !streq(node, e->of->node);
}

/* First the condition, then the end. A pod that only waits for its permit is given up instead. */
static void evict(struct eviction *e)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kube_req r = { .kind = &kind_pod, .ns = e->pod->meta.ns, .name = e->pod->meta.name };

    if (left_node(e) || (!e->told && binding_reject(e->of->s, e->pod->meta.uid, "", "preempted"))) {
        evicted(e);
        return;
    }
    if (e->told) {
        r.verb = KUBE_DELETE;
        write_precondition(e, &body);
    } else {
        r.verb = KUBE_PATCH;
        r.subresource = "status";
        r.patch = KUBE_PATCH_STRATEGIC;
        write_reason(e, &body);
    }
    r.body = body.data;
    r.body_len = body.len;
    e->call = kube_do(e->of->s->kube, &r, on_evict_answer, e);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Pods of lower priority that were nominated on this node should look elsewhere. */
static void clear_nominations(struct scheduler *s, const struct preempting *p)
{
    const char *node;
    struct kobj *other;

    for (size_t it = 0; (other = nominator_next(s->nominator, &it, &node));) {
        if (!streq(node, p->node) || kuid_equal(other->meta.uid, p->uid) ||
            nominator_is_foreign(s->nominator, other->meta.uid) ||
            pod_priority(pod_of(other)) >= pod_priority(pod_of(p->pod)))
            continue;
        CLEANUP(kobj_unref) struct kobj *keep = kobj_ref(other);
        nominator_remove(s->nominator, keep->meta.uid);
        report_nominated(s, keep, "");
        podqueue_activate(s->queue, keep->meta.uid);
        it = 0; /* the table changed */
    }
}

static void on_begin(struct loop *l, void *arg)
{
    struct preempting *p = arg;
    uint32_t n = p->n;

    (void)l;
    p->begin = NULL;
    if (n == 0)
        finish(p);
    else if (n == 1)
        evict(&p->victims[0]);
    for (uint32_t i = 0; n > 1 && i < n - 1; i++)
        evict(&p->victims[i]); /* with the last of them all may be over */
}

void preempt_start(struct scheduler *s, struct splan *plan, struct kobj *pod,
                   const struct preemption *what)
{
    char uid[KUID_TEXT_MAX];
    uint32_t n = 0;

    smetrics_preempted(plan->metrics, what->n);
    if (preempt_under_way(s, pod->meta.uid))
        return;
    struct preempting *p = xcalloc(1, sizeof *p + what->n * sizeof *p->victims);
    p->uid = pod->meta.uid;
    p->s = s;
    p->began = loop_mono(s->loop);
    p->pod = kobj_ref(pod);
    p->scheduler_name = xstrdup(plan->profile->scheduler_name);
    p->node = xstrdup(what->node);
    uidmap_put(&s->preemptions->by_uid, p);
    kuid_format(pod->meta.uid, uid, sizeof uid);
    for (uint32_t i = 0; i < what->n; i++) {
        struct kobj *victim = (struct kobj *)&what->victims[i]->obj;
        if (victim->meta.deleted)
            continue; /* on its way already */
        p->victims[n++] = (struct eviction){ .of = p, .pod = kobj_ref(victim) };
        recorder_event_on(plan->recorder, victim, false, "Preempted", "Preempting",
                          "Preempted by pod %s on node %s", uid, what->node);
        KLOG_I(2, "Evicting a pod to make room", KV_S("pod", LOG_KEY(victim)),
               KV_S("for", LOG_KEY(pod)), KV_S("node", what->node));
    }
    p->n = n;
    p->left = n ? n - 1 : 0;
    s->victims += n;
    clear_nominations(s, p);
    /* When the pod has its place in the queue again: a victim that is only given up makes room at
     * once, and the pod must hear of it. */
    p->begin = loop_after(s->loop, 0, on_begin, p);
}
