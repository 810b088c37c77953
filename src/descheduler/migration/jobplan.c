/* jobplan.c - the steps of a job up to its eviction, and how it ends. */
#include "descheduler/migration/jobplan.h"

#include "api/koord/reservation_life.h"
#include "base/arena.h"
#include "base/ktime.h"
#include "controllers/conditions.h"
#include "descheduler/migration/jobplan_int.h"
#include "descheduler/migration/template.h"

/* ---- what the job says ----------------------------------------------------------------------- */

const struct object_ref *job_reservation(const struct podmigrationjob *j)
{
    const struct migration_reservation_options *o = j->spec.reservation_options;

    return o && o->reservation_ref && !str_empty(o->reservation_ref->name) ? o->reservation_ref
                                                                           : NULL;
}

bool job_evicts_directly(const struct podmigrationjob *j, const struct migration_args *a)
{
    return streq(*j->spec.mode ? j->spec.mode : a->default_job_mode, MIGRATION_MODE_EVICT_DIRECTLY);
}

const char *job_evict_reason(const struct podmigrationjob *j)
{
    const char *reason = kstrmap_get(&j->obj.meta.annotations, ANNO_EVICT_REASON);

    if (str_empty(reason))
        reason = kstrmap_get(&j->obj.meta.annotations, ANNO_EVICT_TRIGGER);
    return str_empty(reason) ? "NotSet" : reason;
}

bool job_has_begun_eviction(const struct podmigrationjob *j)
{
    return conditions_find(&j->status.conditions, MIGRATION_EVICTION) != NULL;
}

int job_check(const struct podmigrationjob *j, struct kerr *err)
{
    const struct migration_reservation_options *o = j->spec.reservation_options;

    if (*j->spec.mode && !args_mode_known(j->spec.mode))
        return kerr_set(err, -EINVAL,
                        "spec.mode: \"%.64s\" is neither ReservationFirst nor EvictDirectly",
                        j->spec.mode);
    if (j->spec.ttl_ns.set && j->spec.ttl_ns.v < 0)
        return kerr_set(err, -EINVAL, "spec.ttl: must not be negative");
    return o ? template_check(o->template, err) : 0;
}

bool job_deadline(const struct podmigrationjob *j, nsec_t *ret)
{
    const char *text = kstrmap_get(&j->obj.meta.annotations, ANNO_JOB_RELEASED_AT);
    nsec_t from = 0;

    if (!j->spec.ttl_ns.set || j->spec.ttl_ns.v <= 0)
        return false;
    if (!text || ktime_parse(text, strlen(text), &from, NULL) < 0 || from < j->obj.meta.created)
        from = j->obj.meta.created;
    *ret = from + j->spec.ttl_ns.v;
    return true;
}

/* ---- plans ----------------------------------------------------------------------------------- */

const char *job_pod_key(const struct job_facts *f, struct arena *a)
{
    const struct object_ref *p = f->job->spec.pod_ref;
    return arena_printf(a, "%s/%s", p->ns, p->name);
}

void job_plan_event(struct job_plan *p, bool warning, const char *reason, const char *text)
{
    if (p->nevents < JOB_EVENTS_MAX)
        p->events[p->nevents++] = (struct job_event){ warning, reason, text };
}

static void tell(struct job_plan *p, const char *status, const char *reason, const char *message)
{
    p->to.status = status;
    p->to.reason = str_or(reason, "");
    p->to.message = str_or(message, "");
}

void job_plan_condition(const struct job_facts *f, struct arena *a, const struct timed_condition *c,
                        struct job_plan *p)
{
    if (!conditions_set(&p->to.conditions, c, f->now, a))
        return;
    tell(p, c->type, c->reason, c->message);
    p->writes = true;
}

static bool is_made_by_us(const struct reservation *r)
{
    return streq(str_or(kstrmap_get(&r->obj.meta.labels, LABEL_APP_CREATED_BY), ""),
                 APP_CREATED_BY_DESCHEDULER);
}

void job_plan_failure(const struct job_facts *f, struct arena *a, const char *reason,
                      const char *message, struct job_plan *p)
{
    (void)a;
    p->to.phase = MIGRATION_FAILED;
    p->to.reason = reason;
    p->to.message = message;
    p->writes = true;
    p->then = JOB_NOTHING;
    p->again = 0;
    p->nevents = 0;
    /* A place that nobody will come to. What somebody else made stays his, unless time is over. */
    p->drop_reservation =
        job_reservation(f->job)
            ? streq(reason, MIGRATION_REASON_TIMEOUT) ||
                  (f->reservation && is_made_by_us(f->reservation))
            : f->job->status.phase == MIGRATION_RUNNING && !job_evicts_directly(f->job, f->args);
    job_plan_event(p, true, reason, message);
}

void job_plan_success(struct job_plan *p, const char *message)
{
    p->to.phase = MIGRATION_SUCCEEDED;
    p->to.status = "Complete";
    p->to.reason = "";
    p->to.message = message;
    p->writes = true;
    p->then = JOB_NOTHING;
    p->again = 0;
    job_plan_event(p, false, "Complete", message);
}

void job_plan_condition_is(const struct job_facts *f, struct arena *a, struct job_plan *p,
                           const char *type, bool is, const char *reason, const char *message)
{
    const struct timed_condition c = { .type = type,
                                       .status = is ? COND_TRUE : COND_FALSE,
                                       .reason = reason,
                                       .message = message,
                                       .last_probe_time = f->now };
    job_plan_condition(f, a, &c, p);
}

/* ---- beginning ------------------------------------------------------------------------------- */

static bool is_another_pod(const struct job_facts *f)
{
    const struct object_ref *ref = f->job->spec.pod_ref;
    return !kuid_is_empty(ref->uid) && !kuid_equal(ref->uid, f->pod->obj.meta.uid);
}

static void begin(const struct job_facts *f, struct arena *a, struct job_plan *p)
{
    if (!f->pod || is_another_pod(f)) {
        job_plan_failure(
            f, a, MIGRATION_REASON_MISSING_POD,
            arena_printf(a, "Abort job caused by missing Pod \"%s\"", job_pod_key(f, a)), p);
        return;
    }
    if (kuid_is_empty(f->job->spec.pod_ref->uid)) {
        p->then = JOB_SET_POD_UID;
        return;
    }
    conditions_remove(&p->to.conditions, MIGRATION_ARBITRATION, a);
    tell(p, "", "", "");
    p->to.phase = MIGRATION_RUNNING;
    p->writes = true;
}

/* False: the job has ended. */
static bool has_time(const struct job_facts *f, struct arena *a, struct job_plan *p)
{
    nsec_t deadline;

    if (!job_deadline(f->job, &deadline))
        return true;
    if (f->now >= deadline) {
        job_plan_failure(f, a, MIGRATION_REASON_TIMEOUT, "Abort job caused by timeout", p);
        return false;
    }
    p->again = deadline - f->now;
    return true;
}

static bool is_sound(const struct job_facts *f, struct arena *a, struct job_plan *p)
{
    const struct object_ref *ref = f->job->spec.pod_ref;
    struct kerr err = { 0 };

    if (!ref || !*ref->ns || !*ref->name) {
        job_plan_failure(f, a, MIGRATION_REASON_INVALID_POD_REF,
                         "Abort job caused by invalid PodRef", p);
        return false;
    }
    if (job_check(f->job, &err) < 0) {
        job_plan_failure(f, a, MIGRATION_REASON_INVALID_SPEC, arena_strdup(a, err.text), p);
        return false;
    }
    return true;
}

/* True: its workload or namespace was moved from often enough for now. */
static bool must_wait(const struct job_facts *f, struct arena *a, struct job_plan *p)
{
    bool forced = kstrmap_get(&f->job->obj.meta.annotations, ANNO_DESCHEDULER_EVICT);

    if (f->limited <= 0 || forced || job_has_begun_eviction(f->job))
        return false;
    job_plan_condition_is(f, a, p, MIGRATION_ARBITRATION, false, "ObjectLimiter",
                          arena_printf(a,
                                       "pods of its %s were evicted a short while ago; the next "
                                       "one may follow later (objectLimiters)",
                                       f->limit));
    p->again = MIN(p->again ? p->again : f->limited, f->limited);
    return true;
}

void job_plan_again(struct job_plan *p, nsec_t after)
{
    p->again = p->again ? MIN(p->again, after) : after;
}

bool job_plan_bounds(const struct job_facts *f, struct arena *a, struct job_plan *p)
{
    *p = (struct job_plan){ .to = f->job->status };
    return f->job->status.phase < MIGRATION_SUCCEEDED && is_sound(f, a, p) && has_time(f, a, p);
}

void job_plan(const struct job_facts *f, struct arena *a, struct job_plan *p)
{
    if (!job_plan_bounds(f, a, p))
        return;
    if (f->job->status.phase != MIGRATION_RUNNING)
        begin(f, a, p);
    else if (must_wait(f, a, p))
        return;
    else if (job_evicts_directly(f->job, f->args))
        job_plan_direct(f, a, p);
    else if (!job_reservation(f->job))
        p->then = JOB_RESERVE;
    else
        job_plan_reserved(f, a, p);
    if (p->writes)
        p->then = JOB_NOTHING;
}
