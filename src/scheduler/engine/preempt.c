/* preempt.c - making room: victims are told why and deleted, the last one after all others
 * (scheduler-core 8.18, step 8).
 *
 * A plan may be about several nodes and several pods that get room there: it is carried out as one.
 * These pods wait meanwhile; they are tried again when the last victim is on its way out. A victim
 * that cannot be deleted gives them their next attempt at once, to look for another way.
 */
#include "api/pod.h"
#include "base/klog.h"
#include "base/ktime.h"
#include "base/strbuf.h"
#include "client/events.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "scheduler/engine/internal.h"
#include "scheduler/framework/preemption.h"
#include "json/kj.h"

enum { PREEMPT_TRIES = 4 };

struct eviction {
    struct preempting *of;
    struct kobj *pod;
    char *node;
    struct kube_call *call;
    struct timer *timer;
    bool told; /* its condition is written */
    int tries;
};
struct claimant {    /* a pod that waits for the end of a plan */
    struct kuid uid; /* first: uidmap */
    struct kobj *pod;
    struct preempting *of;
};
struct preempting { /* a plan that is carried out */
    struct scheduler *s;
    struct preempting *next, **link;
    struct kobj *pod; /* whose attempt led to it */
    char *scheduler_name, *reason;
    struct timer *begin;
    struct claimant *claimants;
    uint32_t nclaimants;
    uint32_t n, left; /* left: of all but the last */
    nsec_t began;
    bool failed;
    struct eviction victims[];
};
struct preemptions {
    struct scheduler *s;
    struct preempting *first;
    struct uidmap by_uid; /* struct claimant */
};

struct preemptions *preemptions_new(struct scheduler *s)
{
    struct preemptions *p = xnew0(struct preemptions);
    p->s = s;
    return p;
}

static void claimants_free(struct claimant *all, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        kobj_unref(all[i].pod);
    free(all);
}

/* What is left are its claimants, which nobody finds any more. */
static struct claimant *preempting_end(struct preempting *p)
{
    struct claimant *claimants = p->claimants;

    for (uint32_t i = 0; i < p->nclaimants; i++)
        uidmap_remove(&p->s->preemptions->by_uid, claimants[i].uid);
    for (uint32_t i = 0; i < p->n; i++) {
        kube_cancel(p->victims[i].call);
        timer_cancel(p->victims[i].timer);
        kobj_unref(p->victims[i].pod);
        free(p->victims[i].node);
    }
    *p->link = p->next;
    if (p->next)
        p->next->link = p->link;
    timer_cancel(p->begin);
    kobj_unref(p->pod);
    free(p->scheduler_name);
    free(p->reason);
    free(p);
    return claimants;
}

struct preemptions *preemptions_free(struct preemptions *all)
{
    if (!all)
        return NULL;
    while (all->first) {
        uint32_t n = all->first->nclaimants;
        claimants_free(preempting_end(all->first), n);
    }
    uidmap_fini(&all->by_uid);
    free(all);
    return NULL;
}

bool ks_is_nominated(const struct ks_env *env, struct kuid uid)
{
    return env->scheduler && nominator_node(env->scheduler->nominator, uid);
}

bool preempt_under_way(const struct scheduler *s, struct kuid uid)
{
    return uidmap_get(&s->preemptions->by_uid, uid);
}

static void finish(struct preempting *p)
{
    struct scheduler *s = p->s;
    uint32_t n = p->nclaimants;
    bool again = p->failed;

    smetrics_evicted(s, p->failed, loop_mono(s->loop) - p->began);
    struct claimant *claimants = preempting_end(p);
    for (uint32_t i = 0; i < n; i++) {
        podqueue_recheck(s->queue, claimants[i].uid);
        if (again)
            podqueue_activate(s->queue, claimants[i].uid);
    }
    claimants_free(claimants, n);
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
        KLOG_E(err, "Failed to evict a preemption victim", KV_S("pod", LOG_KEY(e->pod)));
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
    char *message = xasprintf("%s: %s", e->of->scheduler_name, e->of->reason);

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

static void write_precondition(struct kuid id, struct strbuf *out)
{
    struct kjw w = kjw_to(out);
    char uid[KUID_TEXT_MAX];

    kuid_format(id, uid, sizeof uid);
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
           !streq(node, e->node);
}

/* First the condition, then the end. A pod that only waits for its permit is given up instead. In
 * place of a placeholder its object goes, which has no such condition. */
static void evict(struct eviction *e)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct scheduler *s = e->of->s;
    const struct pod *pod = pod_of(e->pod);
    const struct subject x = subject_of(scheduler_profile(s, pod), pod);
    struct kube_req r = { 0 };

    if (left_node(e) || !subject_request(&x, pod, &r) ||
        (!e->told && binding_reject(s, e->pod->meta.uid, "", "preempted"))) {
        evicted(e);
        return;
    }
    e->told = e->told || x.how != &ks_subject_pod;
    if (e->told) {
        r.verb = KUBE_DELETE;
        write_precondition(subject_object(&x, pod)->meta.uid, &body);
    } else {
        r.verb = KUBE_PATCH;
        r.subresource = "status";
        r.patch = KUBE_PATCH_STRATEGIC;
        write_reason(e, &body);
    }
    r.body = body.data;
    r.body_len = body.len;
    e->call = kube_do(s->kube, &r, on_evict_answer, e);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool has_claim(const struct preemption *what, struct kuid uid)
{
    return preemption_node_for(what, uid);
}

/* Pods of lower priority that were nominated on a node of the plan should look elsewhere. */
static void clear_nominations(struct scheduler *s, const struct preemption *what, const char *on,
                              int32_t priority)
{
    const char *node;
    struct kobj *other;

    for (size_t it = 0; (other = nominator_next(s->nominator, &it, &node));) {
        if (!streq(node, on) || has_claim(what, other->meta.uid) ||
            nominator_is_foreign(s->nominator, other->meta.uid) ||
            pod_priority(pod_of(other)) >= priority)
            continue;
        CLEANUP(kobj_unref) struct kobj *keep = kobj_ref(other);
        nominator_remove(s->nominator, keep->meta.uid);
        report_nominated(s, keep, "");
        podqueue_activate(s->queue, keep->meta.uid);
        it = 0; /* the table changed */
    }
}

/* A pod that waits gets its claim now. The one whose attempt it was gets it with its failure; one
 * that is on its way has its room. */
static void nominate(struct scheduler *s, const struct kobj *trigger, struct kuid uid,
                     const char *node)
{
    struct kobj *now;
    enum podqueue_place place = podqueue_find(s->queue, uid, &now);

    if (kuid_equal(uid, trigger->meta.uid) || place == PODQUEUE_NOWHERE ||
        place == PODQUEUE_IN_FLIGHT)
        return;
    nominator_set(s->nominator, now, node);
    report_nominated(s, now, node);
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

static void add_victims(struct preempting *p, struct active_profile *active,
                        const struct preemption_node *on)
{
    char uid[KUID_TEXT_MAX];

    kuid_format(p->pod->meta.uid, uid, sizeof uid);
    for (uint32_t i = 0; i < on->n; i++) {
        struct kobj *victim = (struct kobj *)&on->victims[i]->obj;
        if (victim->meta.deleted)
            continue; /* on its way already */
        p->victims[p->n++] =
            (struct eviction){ .of = p, .pod = kobj_ref(victim), .node = xstrdup(on->node) };
        const struct subject x =
            subject_of(scheduler_profile(p->s, pod_of(victim)), pod_of(victim));
        const struct kobj *about = subject_object(&x, pod_of(victim));
        recorder_event_on(active->recorder, about ? about : victim, false, "Preempted",
                          "Preempting", "Preempted by pod %s on node %s", uid, on->node);
        KLOG_I(2, "Evicting a preemption victim", KV_S("pod", LOG_KEY(victim)),
               KV_S("for", LOG_KEY(p->pod)), KV_S("node", on->node));
    }
}

/* One for whom another plan is carried out waits for that one. */
static void add_claimant(struct preempting *p, struct kobj *pod)
{
    struct uidmap *all = &p->s->preemptions->by_uid;

    if (uidmap_get(all, pod->meta.uid))
        return;
    struct claimant *c = &p->claimants[p->nclaimants++];
    *c = (struct claimant){ pod->meta.uid, kobj_ref(pod), p };
    uidmap_put(all, c);
}

static struct preempting *preempting_new(struct scheduler *s, const struct active_profile *active,
                                         struct kobj *pod, const struct preemption *what,
                                         uint32_t nvictims)
{
    struct preempting *p = xcalloc(1, sizeof *p + nvictims * sizeof *p->victims);
    struct preempting **first = &s->preemptions->first;
    uint32_t nclaimants = 1;

    p->s = s;
    p->began = loop_mono(s->loop);
    p->pod = kobj_ref(pod);
    p->scheduler_name = xstrdup(active->profile->scheduler_name);
    p->reason =
        xstrdup(what->reason ? what->reason : "preempting to accommodate a higher priority pod");
    p->next = *first;
    p->link = first;
    if (p->next)
        p->next->link = &p->next;
    *first = p;
    for (uint32_t i = 0; i < what->n; i++)
        nclaimants += what->nodes[i].nnominees;
    p->claimants = xnewn0(nclaimants, struct claimant);
    return p;
}

void preempt_start(struct scheduler *s, struct active_profile *active, struct kobj *pod,
                   const struct preemption *what)
{
    uint32_t nvictims = 0;

    for (uint32_t i = 0; i < what->n; i++)
        nvictims += what->nodes[i].n;
    smetrics_preempted(active->metrics, nvictims);
    if (preempt_under_way(s, pod->meta.uid))
        return;
    /* Where nobody has to go there is nothing to wait for, and nothing that lets the pods in again:
     * who believes in the plan tries again by itself. */
    struct preempting *p = nvictims ? preempting_new(s, active, pod, what, nvictims) : NULL;
    if (p)
        add_claimant(p, pod);
    for (uint32_t i = 0; i < what->n; i++) {
        const struct preemption_node *on = &what->nodes[i];
        if (p)
            add_victims(p, active, on);
        clear_nominations(s, what, on->node, pod_priority(pod_of(pod)));
        for (uint32_t k = 0; k < on->nnominees; k++) {
            if (p)
                add_claimant(p, on->nominees[k]);
            nominate(s, pod, on->nominees[k]->meta.uid, on->node);
        }
    }
    if (!p)
        return;
    p->left = p->n ? p->n - 1 : 0;
    s->victims += p->n;
    /* When the pod has its place in the queue again: a victim that is only given up makes room at
     * once, and the pod must hear of it. */
    p->begin = loop_after(s->loop, 0, on_begin, p);
}
