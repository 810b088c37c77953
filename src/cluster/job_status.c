/* job_status.c - a Job's status, and how ended pods are counted exactly once.
 *
 * Three steps, each of which survives a crash after it: the UID of an ended pod is put on a list in
 * the status; its finalizer is removed, so that the pod may go; the UID leaves the list and counts.
 */
#include "cluster/job.h"

/* ---- pods ---------------------------------------------------------------------------------- */

void job_release_pod(struct batch *b, const struct kobj *pod)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    char uid[KUID_TEXT_MAX];

    kuid_format(pod->meta.uid, uid, sizeof uid);
    strbuf_appendf(
        &body, "{\"metadata\":{\"uid\":\"%s\",\"$deleteFromPrimitiveList/finalizers\":[\"%s\"]}}",
        uid, JOB_FINALIZER);
    batch_patch(b, pod, NULL, KUBE_PATCH_STRATEGIC, &body, NULL, NULL);
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
        if (job_pod_failed(p))
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
        bool index_done = v->indexed && !job_pod_failed(pod_of(o)) &&
                          v->j->status.completed_indexes && *v->j->status.completed_indexes &&
                          v->j->status.succeeded >= v->succeeded;
        if (listed || index_done || over)
            job_release_pod(b, o);
    }
}

/* ---- conditions ---------------------------------------------------------------------------- */

static wcondlist add(const struct jview *v, const wcondlist *l, const char *type,
                     const char *status, const char *reason, const char *message, struct arena *a)
{
    nsec_t now = loop_wall(v->c->loop);
    struct wcond c = {
        .type = type, .status = status, .reason = reason, .message = message, .last_probe = now
    };
    return wcond_set(l, &c, now, a);
}

/* A Job first announces how it ends and is over when its last pod has stopped and is counted. */
static wcondlist conditions(const struct jview *v, bool last_counted, struct arena *a)
{
    wcondlist l = v->j->status.conditions;
    const struct wcond *suspended = wcond_find(&l, "Suspended");

    if (v->ended) {
        bool good = streq(v->ended, "Complete");
        l = add(v, &l, good ? "SuccessCriteriaMet" : "FailureTarget", "True", v->reason, v->message,
                a);
        if (last_counted && v->active.n == 0 && v->terminating.n == 0)
            l = add(v, &l, v->ended, "True", v->reason, v->message, a);
    } else if (v->j->spec.suspend) {
        l = add(v, &l, "Suspended", "True", "JobSuspended", "Job suspended", a);
    } else if (suspended && streq(suspended->status, "True")) {
        l = add(v, &l, "Suspended", "False", "JobResumed", "Job resumed", a);
    }
    return l;
}

/* ---- status -------------------------------------------------------------------------------- */

static void write_uids(struct kjw *w, const char *key, const char *const *uids, uint32_t n)
{
    kjw_arr(w, key);
    for (uint32_t i = 0; i < n; i++)
        kjw_str(w, NULL, uids[i]);
    kjw_end(w);
}

static bool is_written(const struct jview *v, const struct tally *t, const wcondlist *l,
                       const char *indexes, nsec_t start)
{
    const struct job_status *s = &v->j->status;
    const struct job_uncounted *u = s->uncounted;
    return s->active == (int64_t)v->active.n && s->ready.set && s->ready.v == v->ready &&
           s->terminating.set && s->terminating.v == (int64_t)v->terminating.n &&
           s->succeeded == t->succeeded && s->failed == t->failed && s->start_time == start &&
           (u ? u->succeeded.n : 0) == t->new_succeeded.n &&
           (u ? u->failed.n : 0) == t->new_failed.n &&
           (!v->indexed || streq(s->completed_indexes, indexes)) && wcond_equal(&s->conditions, l);
}

static nsec_t start_time(const struct jview *v)
{
    nsec_t now = loop_wall(v->c->loop) / NSEC_PER_SEC * NSEC_PER_SEC;
    if (v->j->spec.suspend)
        return 0; /* resuming begins anew */
    return v->j->status.start_time ? v->j->status.start_time : now;
}

void jstatus_write(struct batch *b, const struct jview *v)
{
    struct arena *a = batch_arena(b);
    struct tally t = tally(v, a);
    bool all_counted = t.new_succeeded.n == 0 && t.new_failed.n == 0;
    wcondlist l = conditions(v, all_counted, a);
    const char *indexes = v->indexed ? jview_indexes_text(v, a) : "";
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    nsec_t start = start_time(v);

    release_listed(b, v);
    if (is_written(v, &t, &l, indexes, start))
        return;
    kjw_obj(&w, NULL);
    write_version(&w, &v->j->obj); /* counters must not be computed from an older status */
    kjw_obj(&w, "status");
    kjw_i64(&w, "active", (int64_t)v->active.n);
    kjw_i64(&w, "ready", v->ready);
    kjw_i64(&w, "terminating", (int64_t)v->terminating.n);
    kjw_i64(&w, "succeeded", t.succeeded);
    kjw_i64(&w, "failed", t.failed);
    if (start)
        write_time(&w, "startTime", start);
    else
        kjw_null(&w, "startTime");
    if (v->indexed)
        kjw_str(&w, "completedIndexes", indexes);
    const struct wcond *complete = wcond_find(&l, "Complete");
    if (complete && streq(complete->status, "True") && !v->j->status.completion_time)
        write_time(&w, "completionTime", loop_wall(v->c->loop));
    kjw_obj(&w, "uncountedTerminatedPods");
    write_uids(&w, "succeeded", t.new_succeeded.items, t.new_succeeded.n);
    write_uids(&w, "failed", t.new_failed.items, t.new_failed.n);
    kjw_end(&w);
    wcond_write(&w, &l);
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, &v->j->obj, "status", KUBE_PATCH_MERGE, &body, NULL, NULL);
}
