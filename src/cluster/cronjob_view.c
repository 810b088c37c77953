/* cronjob_view.c - the Jobs of a CronJob: which are active, which were, which are history. */
#include <stdlib.h>

#include "base/ktime.h"
#include "cluster/cronjob.h"
#include "cluster/job.h"

const char *cron_job_name(const struct cronjob *cj, int64_t scheduled, struct arena *a)
{
    return arena_printf(a, "%s-%lld", cj->obj.meta.name, (long long)(scheduled / 60));
}

/* The scheduled time that a Job was made for; 0: we did not make it. */
static nsec_t scheduled_time(const struct cronjob *cj, const struct kobj *job, struct arena *a)
{
    const char *text = meta_annotation(job, CRON_SCHEDULED);
    nsec_t t;

    if (!*text || ktime_parse(text, strlen(text), &t, NULL) < 0 || t <= 0)
        return 0;
    return streq(job->meta.name, cron_job_name(cj, t / NSEC_PER_SEC, a)) ? t : 0;
}

static const struct object_ref *listed(const object_reflist *l, struct kuid uid)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (kuid_equal(l->items[i].uid, uid))
            return &l->items[i];
    return NULL;
}

/* ---- the status ---------------------------------------------------------------------------- */

/* The list is written when a create has answered: by then the Job may have left the cache. */
static void see_active(struct cronview *v, const struct kobj *job, bool ours, struct arena *a)
{
    const struct object_ref *had = listed(&v->cj->status.active, job->meta.uid);

    if (had)
        v->now.active.items[v->now.active.n++] = *had;
    else if (ours && !job->meta.deleted)
        v->now.active.items[v->now.active.n++] =
            (struct object_ref){ .api_version = "batch/v1",
                                 .kind = "Job",
                                 .ns = v->cj->obj.meta.ns,
                                 .name = arena_strdup(a, job->meta.name),
                                 .resource_version = arena_strdup(a, job->meta.resource_version),
                                 .uid = job->meta.uid };
    else if (!ours)
        recorder_event_on(v->c->events, &v->cj->obj, true, "UnexpectedJob", NULL,
                          "Saw a job that the controller did not create or forgot: %s",
                          job->meta.name);
}

static void see_ended(struct cronview *v, const struct job *j)
{
    bool good = conditions_is_true(&j->status.conditions, "Complete");

    if (listed(&v->cj->status.active, j->obj.meta.uid))
        recorder_event_on(v->c->events, &v->cj->obj, false, "SawCompletedJob", NULL,
                          "Saw completed job: %s, condition: %s", j->obj.meta.name,
                          good ? "Complete" : "Failed");
    if (good)
        v->now.last_successful_time = MAX(v->now.last_successful_time, j->status.completion_time);
}

static void tell_missing(const struct cronview *v)
{
    const object_reflist *had = &v->cj->status.active;

    for (uint32_t i = 0; i < had->n; i++) {
        bool there = false;
        vec_foreach(&v->jobs, k)
            there = there || kuid_equal(v->jobs.items[k]->meta.uid, had->items[i].uid);
        if (!there)
            recorder_event_on(v->c->events, &v->cj->obj, false, "MissingJob", NULL,
                              "Active job went missing: %s", had->items[i].name);
    }
}

void cronview_init(struct cronview *v, struct cluster *c, const struct cronjob *cj,
                   struct informer *jobs, struct arena *a)
{
    kobjvec owned = { 0 };

    *v = (struct cronview){ .c = c, .cj = cj, .now = cj->status };
    objects_by_owner(jobs, cj->obj.meta.uid, &owned);
    v->now.active.n = 0;
    v->now.active.items = arena_newn0(a, owned.n + 1, struct object_ref);
    vec_foreach(&owned, i) {
        struct kobj *o = owned.items[i];
        const struct owner_ref *ref = kobj_controller(o);
        if (!ref || !kuid_equal(ref->uid, cj->obj.meta.uid))
            continue;
        nsec_t t = scheduled_time(cj, o, a);
        vec_push(&v->jobs, o);
        v->now.last_schedule_time = MAX(v->now.last_schedule_time, t);
        if (job_is_over(job_of(o)))
            see_ended(v, job_of(o));
        else
            see_active(v, o, t > 0, a);
    }
    tell_missing(v);
    vec_fini(&owned);
}

void cronview_fini(struct cronview *v)
{
    vec_fini(&v->jobs);
}

void cron_status_write(struct batch *b, const struct cronjob *cj, const struct cron_status *now)
{
    batch_patch_change(b, &cj->obj,
                       &(struct change){ .member = "status",
                                         .schema = &cronjob_status_schema,
                                         .from = &cj->status,
                                         .to = now,
                                         .same_version = true },
                       NULL, NULL);
}

/* ---- Jobs that go -------------------------------------------------------------------------- */

struct removing { /* in the arena; the CronJob is held */
    struct cluster *c;
    const struct kobj *cj;
    const char *name;
};

static bool on_removed(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const struct removing *x = arg;

    (void)b;
    (void)r;
    if (err && err->reason == KR_NOT_FOUND)
        return true;
    if (!err)
        recorder_event_on(x->c->events, x->cj, false, "SuccessfulDelete", NULL, "Deleted job %s",
                          x->name);
    else if (err_is_refusal(err) && err->reason != KR_CONFLICT)
        recorder_event_on(x->c->events, x->cj, true, "FailedDelete", NULL, "Deleted job: %s",
                          err->text);
    return false;
}

static void job_remove(struct batch *b, const struct cronview *v, const struct kobj *job)
{
    struct removing *x = arena_new0(batch_arena(b), struct removing);

    if (job->meta.deleted)
        return;
    *x = (struct removing){ v->c, batch_hold(b, &v->cj->obj),
                            arena_strdup(batch_arena(b), job->meta.name) };
    batch_delete(
        b, job,
        &(struct delete_opts){ .grace = -1, .propagation = "Background", .any_version = true },
        on_removed, x);
}

static int by_start(const void *a, const void *b)
{
    const struct job *x = job_of(*(struct kobj *const *)a), *y = job_of(*(struct kobj *const *)b);
    nsec_t s = x->status.start_time, t = y->status.start_time;

    if (s != t) /* one that never started is the youngest */
        return s == 0 ? 1 : t == 0 ? -1 : s < t ? -1 : 1;
    return strcmp(x->obj.meta.name, y->obj.meta.name);
}

static void prune(struct batch *b, const struct cronview *v, const char *end, int64_t limit)
{
    kobjvec ended = { 0 };

    vec_foreach(&v->jobs, i) {
        struct kobj *o = v->jobs.items[i];
        if (conditions_is_true(&job_of(o)->status.conditions, end))
            vec_push(&ended, o);
    }
    if (ended.n > 1)
        qsort(ended.items, ended.n, sizeof *ended.items, by_start);
    for (size_t i = 0; (int64_t)i < (int64_t)ended.n - limit; i++) {
        /* Only the Job tells that its time was dealt with, until the status says it. */
        nsec_t t = scheduled_time(v->cj, ended.items[i], batch_arena(b));
        if (t <= v->cj->status.last_schedule_time)
            job_remove(b, v, ended.items[i]);
    }
    vec_fini(&ended);
}

void cronview_prune(struct batch *b, const struct cronview *v)
{
    const struct cron_spec *spec = &v->cj->spec;

    if (spec->successful_limit.set)
        prune(b, v, "Complete", spec->successful_limit.v);
    if (spec->failed_limit.set)
        prune(b, v, "Failed", spec->failed_limit.v);
}

void cronview_replace(struct batch *b, struct cronview *v)
{
    vec_foreach(&v->jobs, i)
        if (listed(&v->now.active, v->jobs.items[i]->meta.uid))
            job_remove(b, v, v->jobs.items[i]);
    v->now.active.n = 0;
}
