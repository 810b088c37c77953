/* sync.c - one job: whether its next step may be taken, and what is known for it (descheduler
 * 4.7). */
#include "base/klog.h"
#include "base/ktime.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "controllers/meta.h"
#include "descheduler/migration/migration_int.h"
#include "loop/loop.h"
#include "json/kj.h"

/* Jobs are deleted so long after their time, and those without one so long after their birth. */
#define SCAVENGED_AFTER   (5 * 60 * NSEC_PER_SEC)
#define SCAVENGED_WITHOUT (30 * 60 * NSEC_PER_SEC)
/* A rejected job keeps its pod where it is, so it stays longer. */
#define REJECTED_KEPT (24 * 3600 * NSEC_PER_SEC)
/* An eviction that was accepted and shows no effect is repeated. */
#define EVICTION_SHOWS_SOON (30 * NSEC_PER_SEC)

/* ---- annotations ----------------------------------------------------------------------------- */

struct annotation_change {
    const char *key, *value; /* NULL: removed */
};

static void annotate(struct batch *b, const struct kobj *o, const struct annotation_change *list,
                     size_t n, batch_fn fn, void *arg)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_obj(&w, "annotations");
    for (size_t i = 0; i < n; i++)
        kjw_str(&w, list[i].key, list[i].value);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, o, NULL, KUBE_PATCH_MERGE, &body, fn, arg);
}

/* ---- paused and released --------------------------------------------------------------------- */

/* True: it is paused, or was until now. Its time begins with the release, and it is arbitrated
 * anew. */
static bool is_held(struct job_run *r, struct job_state *s)
{
    const struct podmigrationjob *j = r->f.job;
    const char *since = meta_annotation(&j->obj, ANNO_JOB_PAUSED_SINCE);
    char now[KTIME_TEXT_MAX];

    ktime_format(r->f.now, now);
    if (j->spec.paused) {
        const struct annotation_change c = { ANNO_JOB_PAUSED_SINCE, now };
        s->passed = s->has_verdict = false;
        if (!*since)
            annotate(r->b, &j->obj, &c, 1, NULL, NULL);
        return true;
    }
    if (!*since)
        return false;
    const struct annotation_change changes[] = { { ANNO_JOB_PAUSED_SINCE, NULL },
                                                 { ANNO_JOB_RELEASED_AT, now },
                                                 { ANNO_PASSED_ARBITRATION, NULL } };
    /* Who runs does not stand in line again. */
    annotate(r->b, &j->obj, changes, j->status.phase == MIGRATION_RUNNING ? 2 : 3, NULL, NULL);
    return true;
}

/* ---- arbitration ----------------------------------------------------------------------------- */

static bool on_passed(struct batch *b, struct kube_resp *resp, const struct kerr *err, void *arg)
{
    struct job_run *r = arg;
    struct job_state *s = migration_find_state(r->m, r->f.job);

    (void)resp;
    if (!err && s) {
        s->passed = true;
        s->has_verdict = false;
        batch_again(b, 1);
    }
    return err && err->reason == KR_NOT_FOUND;
}

static void write_verdict(struct job_run *r, struct job_state *s, struct job_plan *p)
{
    struct arena *a = batch_arena(r->b);

    switch (s->verdict) {
    case VERDICT_PASS: {
        CLEANUP(strbuf_fini) struct strbuf workload = STRBUF_INIT;
        const struct pod *pod = migration_pod_of(r->m, r->f.job);
        const struct owner_ref *owner = pod ? kobj_controller(&pod->obj) : NULL;
        if (owner)
            kj_encode(&owner_ref_schema, owner, &workload);
        const struct annotation_change c[] = { { ANNO_PASSED_ARBITRATION, "true" },
                                               { ANNO_JOB_WORKLOAD, strbuf_str(&workload) } };
        annotate(r->b, &r->f.job->obj, c, owner ? 2 : 1, on_passed, r);
        return;
    }
    case VERDICT_FORBID:
        job_plan_failure(&r->f, a, MIGRATION_REASON_FORBIDDEN,
                         arena_printf(a,
                                      "Pod \"%s/%s\" is forbidden to migrate because it does not "
                                      "meet the requirements",
                                      r->f.job->spec.pod_ref->ns, r->f.job->spec.pod_ref->name),
                         p);
        break;
    case VERDICT_WAIT: {
        const struct timed_condition c = { .type = MIGRATION_ARBITRATION,
                                           .status = COND_FALSE,
                                           .reason = s->hit.name ? s->hit.name : "WorkloadUnknown",
                                           .message = s->waits_for,
                                           .last_probe_time = r->f.now };
        s->has_verdict = false;
        job_plan_condition(&r->f, a, &c, p);
        break;
    }
    }
    act_write(r, p);
}

static void wait_for_arbitration(struct job_run *r, struct job_state *s)
{
    struct job_plan p;

    if (!job_plan_bounds(&r->f, batch_arena(r->b), &p)) {
        act_write(r, &p);
        return;
    }
    if (s->has_verdict)
        write_verdict(r, s, &p);
    else if (p.again)
        batch_again(r->b, p.again);
}

/* ---- what is known --------------------------------------------------------------------------- */

static void plan_and_act(struct job_run *r)
{
    const struct job_state *s = migration_find_state(r->m, r->f.job);
    nsec_t mono = loop_mono(r->m->env.loop);
    struct job_plan p;

    if (!s) /* another one has its name by now */
        return;
    r->f.evict_sent = s->evicted_at && mono - s->evicted_at < EVICTION_SHOWS_SOON;
    r->f.limit = "workload";
    if (r->f.pod)
        r->f.limited = evictrate_wait(r->m->rate, r->m->args, r->f.pod, true, mono, &r->f.limit);
    job_plan(&r->f, batch_arena(r->b), &p);
    if (p.again)
        batch_again(r->b, p.again);
    if (p.writes)
        act_write(r, &p);
    else if (p.then == JOB_EVICT && s->refused_until > mono)
        batch_again(r->b, s->refused_until - mono);
    else
        act_on(r, p.then);
}

typedef void (*known_fn)(struct job_run *r, const struct kobj *o); /* NULL: there is none */
struct question {
    struct job_run *run;
    const struct kind *kind;
    known_fn then;
};

static bool on_object(struct batch *b, struct kube_resp *resp, const struct kerr *err, void *arg)
{
    const struct question *q = arg;
    struct kerr unread = { 0 };

    if (err) {
        if (err->reason == KR_NOT_FOUND)
            q->then(q->run, NULL);
        return err->reason == KR_NOT_FOUND;
    }
    const struct kobj *o = act_decode(b, q->kind, resp, &unread);
    if (o)
        q->then(q->run, o);
    else
        batch_fail(b, &unread);
    return true;
}

/* From the cache, else from the server: a watch that lags behind must not end a job. */
static void find(struct job_run *r, struct informer *inf, const char *ns, const char *name,
                 known_fn then)
{
    const struct kind *k = informer_kind(inf);
    const struct kobj named = { .kind = k, .meta = { .ns = ns, .name = name } };
    char key[KOBJ_KEY_MAX];

    kobj_key(&named, key, sizeof key);
    const struct kobj *o = informer_get(inf, key);
    if (o) {
        then(r, batch_hold(r->b, o));
        return;
    }
    struct question *q = arena_new0(batch_arena(r->b), struct question);
    *q = (struct question){ r, k, then };
    batch_call(r->b,
               &(struct kube_req){
                   .verb = KUBE_GET, .kind = k, .ns = k->namespaced ? ns : NULL, .name = name },
               on_object, q);
}

static void have_bound(struct job_run *r, const struct kobj *o)
{
    r->f.bound = o ? pod_of(o) : NULL;
    plan_and_act(r);
}

static void have_reservation(struct job_run *r, const struct kobj *o)
{
    r->f.reservation = o ? reservation_of(o) : NULL;
    const struct object_ref *owner = o && r->f.reservation->status.current_owners.n
                                         ? &r->f.reservation->status.current_owners.items[0]
                                         : NULL;
    if (owner && !str_empty(owner->ns) && !str_empty(owner->name))
        find(r, r->m->pods, owner->ns, owner->name, have_bound);
    else
        plan_and_act(r);
}

static void have_pod(struct job_run *r, const struct kobj *o)
{
    const struct object_ref *ref = job_reservation(r->f.job);

    r->f.pod = o ? pod_of(o) : NULL;
    if (ref)
        find(r, r->m->reservations, "", ref->name, have_reservation);
    else
        plan_and_act(r);
}

/* A job whose reference says nothing fails without a question. */
static void run(struct job_run *r)
{
    const struct object_ref *ref = r->f.job->spec.pod_ref;

    if (ref && *ref->ns && *ref->name)
        find(r, r->m->pods, ref->ns, ref->name, have_pod);
    else
        plan_and_act(r);
}

/* ---- the end --------------------------------------------------------------------------------- */

static bool on_dropped(struct batch *b, struct kube_resp *resp, const struct kerr *err, void *arg)
{
    struct job_run *r = arg;

    (void)resp;
    if (err && err->reason != KR_NOT_FOUND)
        return false;
    batch_delete(b, &r->f.job->obj, &(struct delete_opts){ .grace = -1, .any_version = true }, NULL,
                 NULL);
    return true;
}

/* True: its time is over by far, and it goes. */
static bool is_scavenged(struct job_run *r)
{
    const struct podmigrationjob *j = r->f.job;
    nsec_t when;

    if (!job_is_over(j) && (j->spec.paused || *meta_annotation(&j->obj, ANNO_JOB_PAUSED_SINCE)))
        return false;
    if (job_deadline(j, &when))
        when += SCAVENGED_AFTER;
    else
        when = j->obj.meta.created + SCAVENGED_WITHOUT;
    if (job_is_rejected(j))
        when = j->obj.meta.created + REJECTED_KEPT;
    nsec_t evicted = job_is_over(j) ? migration_evicted_at(r->m, j) : 0;
    if (evicted) /* a new leader would not know of it without the job */
        when = MAX(when, i64_add_sat(evicted, evictrate_memory(r->m->args)));
    if (r->f.now < when) {
        batch_again(r->b, when - r->f.now);
        return false;
    }
    KLOG_I(2, "Deleting an old PodMigrationJob", KV_S("job", j->obj.meta.name));
    act_drop_reservation(r->b, act_reservation_name(j, batch_arena(r->b)), on_dropped, r);
    return true;
}

void job_sync(void *self, struct batch *b, const char *key, struct kobj *o)
{
    struct migration *m = self;

    if (!o) {
        migration_forget(m, key);
        return;
    }
    const struct podmigrationjob *j = podmigrationjob_of(o);
    struct job_run *r = arena_new0(batch_arena(b), struct job_run);
    *r = (struct job_run){ .m = m, .b = b };
    r->f = (struct job_facts){ .job = j, .args = m->args, .now = loop_wall(m->env.loop) };
    if (o->meta.deleted || is_scavenged(r))
        return;
    if (job_is_over(j)) {
        migration_forget(m, key);
        return;
    }
    if (!migration_owns(m, j))
        return;
    struct job_state *s = migration_state(m, j);
    if (is_held(r, s))
        return;
    if (j->status.phase == MIGRATION_RUNNING || s->passed)
        run(r);
    else
        wait_for_arbitration(r, s);
}
