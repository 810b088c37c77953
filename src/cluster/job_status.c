/* job_status.c - a Job's status, and how ended pods are counted exactly once.
 *
 * Three steps, each of which survives a crash after it: the UID of an ended pod is put on a list in
 * the status; its finalizer is removed, so that the pod may go; the UID leaves the list and counts.
 */
#include "cluster/job.h"

/* ---- pods ---------------------------------------------------------------------------------- */

static void release(struct batch *b, const struct kobj *pod, bool same_version, batch_fn fn,
                    void *arg)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    char uid[KUID_TEXT_MAX];

    kuid_format(pod->meta.uid, uid, sizeof uid);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "uid", uid);
    if (same_version)
        kjw_str(&w, "resourceVersion", pod->meta.resource_version);
    kjw_arr(&w, "$deleteFromPrimitiveList/finalizers");
    kjw_str(&w, NULL, JOB_FINALIZER);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, pod, NULL, KUBE_PATCH_STRATEGIC, &body, fn, arg);
}

void job_release_pod(struct batch *b, const struct kobj *pod)
{
    release(b, pod, false, NULL, NULL);
}

void job_release_pod_first(struct batch *b, const struct kobj *pod, batch_fn fn, void *arg)
{
    release(b, pod, false, fn, arg);
}

void job_release_orphan(struct batch *b, const struct kobj *pod)
{
    release(b, pod, true, NULL, NULL);
}

struct tally {
    int64_t succeeded, failed; /* of the counters, after this write */
    KLIST(const char *) new_succeeded, new_failed;
};

static bool still_waits(const struct jview *v, const char *uid)
{
    char text[KUID_TEXT_MAX];
    vec_foreach(&v->uncounted, i) {
        kuid_format(v->uncounted.items[i]->meta.uid, text, sizeof text);
        if (streq(text, uid))
            return true;
    }
    return false;
}

static void keep_waiting(const struct jview *v, const kstrlist *old, int64_t *counted,
                         const char **list, uint32_t *n)
{
    for (uint32_t i = 0; i < old->n; i++) {
        if (still_waits(v, old->items[i]))
            list[(*n)++] = old->items[i];
        else
            ++*counted;
    }
}

static bool contains(const char *const *list, uint32_t n, const char *uid)
{
    for (uint32_t i = 0; i < n; i++)
        if (streq(list[i], uid))
            return true;
    return false;
}

static struct tally tally(const struct jview *v, struct arena *a)
{
    const struct job_uncounted *u = v->j->status.uncounted;
    size_t room = v->uncounted.n + (u ? u->succeeded.n + u->failed.n : 0) + 1;
    struct tally t = { .succeeded = v->j->status.succeeded, .failed = v->j->status.failed };

    t.new_succeeded.items = arena_newn0(a, room, const char *);
    t.new_failed.items = arena_newn0(a, room, const char *);
    if (u) {
        keep_waiting(v, &u->succeeded, &t.succeeded, t.new_succeeded.items, &t.new_succeeded.n);
        keep_waiting(v, &u->failed, &t.failed, t.new_failed.items, &t.new_failed.n);
    }
    vec_foreach(&v->uncounted, i) {
        const struct pod *p = pod_of(v->uncounted.items[i]);
        char uid[KUID_TEXT_MAX];
        kuid_format(p->obj.meta.uid, uid, sizeof uid);
        if (contains(t.new_succeeded.items, t.new_succeeded.n, uid) ||
            contains(t.new_failed.items, t.new_failed.n, uid))
            continue;
        if (job_pod_failed(v->j, p) && job_policy_match(v->j, p, a, NULL) == JOB_IGNORE)
            continue;
        if (job_pod_failed(v->j, p))
            t.new_failed.items[t.new_failed.n++] = arena_strdup(a, uid);
        else if (!v->indexed)
            t.new_succeeded.items[t.new_succeeded.n++] = arena_strdup(a, uid);
    }
    if (v->indexed)
        t.succeeded = v->succeeded;
    return t;
}

/* Pods that the status in the server already names may go. */
static void release_listed(struct batch *b, const struct jview *v)
{
    const struct job_uncounted *u = v->j->status.uncounted;
    bool over = job_is_over(v->j);

    vec_foreach(&v->uncounted, i) {
        const struct kobj *o = v->uncounted.items[i];
        char uid[KUID_TEXT_MAX];
        kuid_format(o->meta.uid, uid, sizeof uid);
        bool listed = u && (contains(u->succeeded.items, u->succeeded.n, uid) ||
                            contains(u->failed.items, u->failed.n, uid));
        /* Indexes are their own list: the status names those that are done. */
        bool index_done = v->indexed && !job_pod_failed(v->j, pod_of(o)) &&
                          v->j->status.completed_indexes && *v->j->status.completed_indexes &&
                          v->j->status.succeeded >= v->succeeded;
        bool ignored = job_pod_failed(v->j, pod_of(o)) &&
                       job_policy_match(v->j, pod_of(o), batch_arena(b), NULL) == JOB_IGNORE;
        if (listed || index_done || over || ignored)
            job_release_pod(b, o);
    }
}

/* ---- conditions ---------------------------------------------------------------------------- */

static void tell(const struct jview *v, const struct timed_condition *c)
{
    struct recorder *to = v->c->events;

    if (streq(c->type, "Complete"))
        recorder_event_on(to, &v->j->obj, false, "Completed", NULL, "Job completed");
    else if (streq(c->type, "Failed"))
        recorder_event_on(to, &v->j->obj, true, c->reason, NULL, "%s", c->message);
    else if (streq(c->type, "Suspended"))
        recorder_event_on(to, &v->j->obj, false, c->status == COND_TRUE ? "Suspended" : "Resumed",
                          NULL, "%s", c->message);
}

static void set(const struct jview *v, timed_conditionlist *l, const char *type, uint8_t status,
                const char *reason, const char *message, struct arena *a)
{
    nsec_t now = loop_wall(v->c->loop);
    struct timed_condition c = {
        .type = type, .status = status, .reason = reason, .message = message, .last_probe_time = now
    };

    if (conditions_set(l, &c, now, a))
        tell(v, &c);
}

/* A Job first announces how it ends and is over when its last pod has stopped and is counted. */
static void set_conditions(const struct jview *v, timed_conditionlist *l, bool last_counted,
                           struct arena *a)
{
    if (v->ended) {
        bool good = streq(v->ended, "Complete");
        set(v, l, good ? "SuccessCriteriaMet" : "FailureTarget", COND_TRUE, v->reason, v->message,
            a);
        if (last_counted && v->active.n == 0 && v->terminating.n == 0)
            set(v, l, v->ended, COND_TRUE, v->reason, v->message, a);
    } else if (v->j->spec.suspend) {
        /* As upstream, not one that only waits for its last pods: it completes. */
        if (!v->enough)
            set(v, l, "Suspended", COND_TRUE, "JobSuspended", "Job suspended", a);
    } else if (conditions_is_true(l, "Suspended")) {
        set(v, l, "Suspended", COND_FALSE, "JobResumed", "Job resumed", a);
    }
}

/* ---- status -------------------------------------------------------------------------------- */

static nsec_t start_time(const struct jview *v)
{
    nsec_t now = loop_wall(v->c->loop) / NSEC_PER_SEC * NSEC_PER_SEC;
    nsec_t had = v->j->status.start_time;

    if (v->j->spec.suspend && !v->ended && !v->enough)
        return 0; /* resuming begins anew */
    if (v->j->spec.suspend && v->completions == 0)
        return had; /* it ends without ever having begun */
    return had ? had : now;
}

static nsec_t completion_time(const struct jview *v, const timed_conditionlist *l)
{
    nsec_t had = v->j->status.completion_time;
    return !had && conditions_is_true(l, "Complete") ? loop_wall(v->c->loop) : had;
}

void jstatus_write(struct batch *b, const struct jview *v)
{
    const struct job_status *old = &v->j->status;
    struct tally t = tally(v, batch_arena(b));
    struct job_uncounted uncounted = { { t.new_succeeded.items, t.new_succeeded.n },
                                       { t.new_failed.items, t.new_failed.n } };
    struct job_status now = {
        .active = (int32_t)v->active.n,
        .ready = { true, (int32_t)v->ready },
        .terminating = { true, (int32_t)v->terminating.n },
        .succeeded = (int32_t)t.succeeded,
        .failed = (int32_t)t.failed,
        .start_time = start_time(v),
        .completed_indexes =
            v->indexed ? jranges_text(&v->done_set, batch_arena(b)) : old->completed_indexes,
        .failed_indexes = v->by_index ? jranges_text(&v->failed_set, batch_arena(b)) : NULL,
        .uncounted = &uncounted,
        .conditions = old->conditions,
    };

    release_listed(b, v);
    set_conditions(v, &now.conditions, t.new_succeeded.n + t.new_failed.n == 0, batch_arena(b));
    now.completion_time = completion_time(v, &now.conditions);
    /* Counters must not be computed from an older status. */
    batch_patch_change(b, &v->j->obj,
                       &(struct change){ .member = "status",
                                         .schema = &job_status_schema,
                                         .from = old->ready.set ? old : NULL,
                                         .to = &now,
                                         .same_version = true },
                       NULL, NULL);
}
