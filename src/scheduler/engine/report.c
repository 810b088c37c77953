/* report.c - what people see of attempts: events, and the condition PodScheduled
 * (scheduler-core 7).
 *
 * Conditions are written in the background, a few at a time, the latest of a pod only, and only
 * when it says something new.
 */
#include "api/pod.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/events.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "scheduler/engine/internal.h"
#include "scheduler/observe/monitor.h"
#include "json/kj.h"

enum { IN_FLIGHT_MAX = 64, TRIES_MAX = 5, NOTE_MAX = 1024 };

struct report {
    struct kuid uid; /* first: uidmap */
    struct reports *all;
    struct report *next, **link; /* in the line of those that wait */
    struct kobj *pod;
    const char *reason; /* NULL: the condition stays */
    char *message;
    char *node; /* the nominated node; "": none. NULL: it stays */
    struct kube_call *call;
    struct timer *timer; /* before the next try */
    int tries;
};

struct reports {
    struct scheduler *s;
    struct uidmap by_uid;
    struct report *first, **last;
    unsigned in_flight;
};

struct reports *reports_new(struct scheduler *s)
{
    struct reports *r = xnew0(struct reports);
    r->s = s;
    r->last = &r->first;
    return r;
}

static void unlink_report(struct report *p)
{
    if (!p->link)
        return;
    *p->link = p->next;
    if (p->next)
        p->next->link = p->link;
    else
        p->all->last = p->link;
    p->link = NULL;
}

static void report_stop(struct report *p)
{
    unlink_report(p);
    p->all->in_flight -= p->call || p->timer;
    p->call = kube_cancel(p->call);
    p->timer = timer_cancel(p->timer);
}

static void report_free(struct report *p)
{
    report_stop(p);
    uidmap_remove(&p->all->by_uid, p->uid);
    kobj_unref(p->pod);
    free(p->message);
    free(p->node);
    free(p);
}

struct reports *reports_free(struct reports *r)
{
    if (!r)
        return NULL;
    struct report *p;
    for (size_t it = 0; (p = uidmap_next(&r->by_uid, &it)); it = 0)
        report_free(p);
    uidmap_fini(&r->by_uid);
    free(r);
    return NULL;
}

static void send_some(struct reports *r);

bool report_nominates(const struct scheduler *s, struct kuid uid)
{
    const struct report *p = uidmap_get(&s->reports->by_uid, uid);
    return p && p->node;
}

void report_drop(struct scheduler *s, struct kuid uid)
{
    struct report *p = uidmap_get(&s->reports->by_uid, uid);
    if (!p)
        return;
    report_free(p);
    send_some(s->reports);
}

/* ---- the condition --------------------------------------------------------------------------- */

static bool report_send(struct report *p);
static void report_done(struct report *p);

static void on_again(struct loop *l, void *arg)
{
    struct report *p = arg;
    (void)l;
    p->timer = NULL;
    if (!report_send(p))
        report_done(p);
}

static void on_written(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct report *p = arg;
    struct reports *r = p->all;
    bool final = err && (err->reason == KR_NOT_FOUND || err->reason == KR_INVALID ||
                         err->reason == KR_FORBIDDEN);

    (void)resp;
    p->call = NULL;
    if (err && !final && ++p->tries < TRIES_MAX) {
        nsec_t wait = 10 * NSEC_PER_MSEC;
        for (int i = 1; i < p->tries; i++)
            wait *= 5;
        p->timer = loop_after(r->s->loop, loop_jitter(r->s->loop, wait, 0.1), on_again, p);
        return;
    }
    if (err && err->reason != KR_NOT_FOUND)
        KLOG_E(err, "Failed to write the condition of a pod", KV_S("pod", LOG_KEY(p->pod)));
    report_done(p);
}

/* It was under way. */
static void report_done(struct report *p)
{
    struct reports *r = p->all;

    r->in_flight--;
    report_free(p);
    send_some(r);
}

/* False: there is nobody to tell any more. */
static bool report_send(struct report *p)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct scheduler *s = p->all->s;
    const struct pod *pod = pod_of(p->pod);
    const struct subject x = subject_of(scheduler_profile(s, pod), pod);
    const struct ks_waiting why = { p->reason, p->message, p->node, loop_wall(s->loop) };
    struct kube_req r = { 0 };
    struct kjw w = kjw_to(&body);

    if (!subject_request(&x, pod, &r))
        return false;
    x.how->waits(x.self, pod, &why, &r, &w);
    r.body = body.data;
    r.body_len = body.len;
    p->call = kube_do(s->kube, &r, on_written, p);
    return true;
}

static void send_some(struct reports *r)
{
    while (r->first && r->in_flight < IN_FLIGHT_MAX) {
        struct report *p = r->first;
        unlink_report(p);
        r->in_flight++;
        if (report_send(p))
            continue;
        r->in_flight--;
        report_free(p);
    }
}

static bool says_so_already(const struct pod *p, const char *reason, const char *message)
{
    const struct condition *c = condition_find(&p->status.conditions, "PodScheduled");
    return c && c->status == COND_FALSE && streq(c->reason, reason) && streq(c->message, message);
}

static bool same_text(const char *a, const char *b)
{
    return !a == !b && (!a || streq(a, b));
}

/* The same is under way: the watch may show it before the answer comes. */
static bool is_being_said(const struct report *p, const struct kobj *pod, const char *reason,
                          const char *message, const char *node)
{
    return p && p->pod->meta.generation == pod->meta.generation && same_text(p->reason, reason) &&
           (!reason || streq(p->message, message)) && same_text(p->node, node);
}

/* reason NULL: the condition stays. node NULL: the nominated node stays. What an earlier report had
 * to say about them and is not known to be written is said again. */
static void report_status(struct scheduler *s, struct kobj *pod, const char *reason,
                          const char *message, const char *node)
{
    struct reports *r = s->reports;
    const char *has = pod_of(pod)->status.nominated_node_name;
    const struct report *unsaid = uidmap_get(&r->by_uid, pod->meta.uid);
    bool knows_reason = reason && !(unsaid && unsaid->reason);
    bool knows_node = node && !(unsaid && unsaid->node);
    CLEANUP(mem_free) char *old_message = NULL;
    CLEANUP(mem_free) char *old_node = NULL;

    if (unsaid && unsaid->reason && !reason) {
        reason = unsaid->reason;
        message = old_message = xstrdup(unsaid->message);
    }
    if (unsaid && unsaid->node && !node)
        node = old_node = xstrdup(unsaid->node);
    if (knows_reason && says_so_already(pod_of(pod), reason, message))
        reason = NULL;
    /* Where something is written anyway, "none" is written too: the cache may not show yet that our
     * last word was a node. */
    if (knows_node && streq(node, has ? has : "") && (*node || !reason))
        node = NULL;
    if (is_being_said(unsaid, pod, reason, message, node))
        return;
    report_drop(s, pod->meta.uid);
    if (!reason && !node)
        return;
    struct report *p = xnew0(struct report);
    *p = (struct report){ .uid = pod->meta.uid, .all = r, .pod = kobj_ref(pod), .reason = reason };
    p->message = reason ? xstrdup(message) : NULL;
    p->node = node ? xstrdup(node) : NULL;
    uidmap_put(&r->by_uid, p);
    p->link = r->last;
    *r->last = p;
    r->last = &p->next;
    send_some(r);
}

/* ---- outcomes -------------------------------------------------------------------------------- */

static void event(struct active_profile *active, const struct kobj *pod, bool warning,
                  const char *reason, const char *message)
{
    const struct subject x = subject_of(active, pod_of(pod));
    const struct kobj *about = subject_object(&x, pod_of(pod));
    size_t n = strlen(message);

    if (about)
        recorder_event_on(active->recorder, about, warning, reason, "Scheduling", "%.*s%s",
                          n > NOTE_MAX ? NOTE_MAX - 4 : (int)n, message,
                          n > NOTE_MAX ? " ..." : "");
}

void ks_warn(const struct ks_env *env, const struct pod *p, const char *reason, const char *note)
{
    struct active_profile *active = scheduler_profile(env->scheduler, p);

    if (active)
        event(active, &p->obj, true, reason, note);
}

void ks_note(const struct ks_env *env, const struct pod *p, const char *reason, const char *note)
{
    struct active_profile *active = scheduler_profile(env->scheduler, p);

    if (active)
        event(active, &p->obj, false, reason, note);
}

void report_failure(struct scheduler *s, struct kobj *pod, const struct failure *f)
{
    struct active_profile *active = scheduler_profile(s, pod_of(pod));
    const char *node = f->nomination == NOMINATION_SET    ? f->node
                       : f->nomination == NOMINATION_KEEP ? NULL
                                                          : "";
    const char *had = nominator_node(s->nominator, pod->meta.uid);
    bool leaves = node && had && !streq(had, node);

    s->failed += !f->error;
    s->errors += f->error;
    if (node)
        nominator_set(s->nominator, pod, node);
    monitor_ended(s->monitor, pod->meta.uid);
    podqueue_fail(s->queue, pod->meta.uid, f->rejectors, f->pending);
    if (active && !f->quiet)
        event(active, pod, true, "FailedScheduling", f->message);
    report_status(s, pod, f->error ? "SchedulerError" : "Unschedulable", f->message, node);
    if (leaves)
        watch_room_free(s, pod); /* others were kept out of the room that it had claimed */
}

void report_held(struct scheduler *s, struct kobj *pod, const char *reason, const char *message)
{
    struct active_profile *active = scheduler_profile(s, pod_of(pod));

    if (says_so_already(pod_of(pod), reason, message))
        return;
    if (active)
        event(active, pod, true, "FailedScheduling", message);
    report_status(s, pod, reason, message, NULL);
}

void report_waits(struct scheduler *s, struct kobj *pod, const char *message)
{
    report_status(s, pod, "Unschedulable", message, NULL);
}

void ks_warn_about(const struct ks_env *env, const struct kobj *object, const char *reason,
                   const char *note)
{
    const struct scheduler *s = env->scheduler;
    size_t n = strlen(note);

    if (s->leading && s->nprofiles)
        recorder_event_on(s->profiles[0]->recorder, object, true, reason, "Scheduling", "%.*s%s",
                          n > NOTE_MAX ? NOTE_MAX - 4 : (int)n, note, n > NOTE_MAX ? " ..." : "");
}

void report_nominated(struct scheduler *s, struct kobj *pod, const char *node)
{
    report_status(s, pod, NULL, NULL, node);
}

void report_scheduled(struct active_profile *active, const struct kobj *pod, const char *node)
{
    const struct subject x = subject_of(active, pod_of(pod));
    const struct kobj *about = subject_object(&x, pod_of(pod));

    if (about)
        recorder_event_on(active->recorder, about, false, "Scheduled", "Binding",
                          "Successfully assigned %s to %s", LOG_KEY(about), node);
}
