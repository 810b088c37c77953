/* jobplan_steps.c - the steps of a running job: its Reservation, the eviction, the pod that takes
 * the place. */
#include "api/koord/reservation_life.h"
#include "base/arena.h"
#include "controllers/conditions.h"
#include "descheduler/migration/jobplan_int.h"

/* ---- eviction -------------------------------------------------------------------------------- */

static bool has_left(const struct job_facts *f)
{
    return !f->pod || !kuid_equal(f->pod->obj.meta.uid, f->job->spec.pod_ref->uid);
}

static bool is_softly_evicted(const struct pod *p)
{
    return kstrmap_get(&p->obj.meta.annotations, ANNO_SOFT_EVICTION) != NULL;
}

static void announce(const struct job_facts *f, struct arena *a, struct job_plan *p)
{
    job_plan_condition_is(
        f, a, p, MIGRATION_EVICTION, false, MIGRATION_REASON_EVICTING,
        arena_printf(a, "Pod \"%s\" evicted from node \"%s\" by the reason \"%s\"",
                     job_pod_key(f, a), str_or(f->pod->node_name, ""), job_evict_reason(f->job)));
}

/* True: the pod has gone, and the job knows it. What follows is the caller's. The intent is written
 * first: whoever finds it later, and no pod, knows that the pod went for this job. */
static bool evict(const struct job_facts *f, struct arena *a, struct job_plan *p)
{
    const timed_conditionlist *conditions = &f->job->status.conditions;
    const struct timed_condition *c = conditions_find(conditions, MIGRATION_EVICTION);

    if (c && c->status == COND_TRUE)
        return true;
    if (has_left(f)) {
        const char *key = job_pod_key(f, a);
        if (c) {
            const char *text = arena_printf(a, "Pod \"%s\" has been evicted", key);
            job_plan_condition_is(f, a, p, MIGRATION_EVICTION, true,
                                  MIGRATION_REASON_EVICT_COMPLETE, text);
            job_plan_event(p, false, MIGRATION_REASON_EVICT_COMPLETE, text);
        } else {
            job_plan_failure(f, a, MIGRATION_REASON_MISSING_POD,
                             arena_printf(a, "Abort job caused by missing Pod \"%s\"", key), p);
        }
        return false;
    }
    job_plan_again(p, JOB_POLL);
    if (!c)
        announce(f, a, p);
    else if (!f->pod->obj.meta.deleted && !is_softly_evicted(f->pod) && !f->evict_sent)
        p->then = JOB_EVICT;
    return false;
}

void job_plan_direct(const struct job_facts *f, struct arena *a, struct job_plan *p)
{
    if (evict(f, a, p))
        job_plan_success(p, arena_printf(a, "Pod \"%s\" has been evicted", job_pod_key(f, a)));
}

/* ---- the Reservation ------------------------------------------------------------------------- */

static const struct timed_condition *scheduled_condition(const struct reservation *r)
{
    return conditions_find(&r->status.conditions, RESERVATION_CONDITION_SCHEDULED);
}

static void tell_unschedulable(const struct job_facts *f, struct arena *a, struct job_plan *p)
{
    const struct timed_condition *c = scheduled_condition(f->reservation);

    if (!c || c->status == COND_TRUE || !streq(c->reason, RESERVATION_REASON_UNSCHEDULABLE) ||
        conditions_is_true(&f->job->status.conditions, MIGRATION_RESERVATION_SCHEDULED))
        return;
    bool had = p->writes;
    p->writes = false;
    job_plan_condition_is(f, a, p, MIGRATION_RESERVATION_SCHEDULED, false,
                          MIGRATION_REASON_UNSCHEDULABLE, arena_strdup(a, c->message));
    if (p->writes)
        job_plan_event(p, true, MIGRATION_REASON_UNSCHEDULABLE, arena_strdup(a, c->message));
    p->writes |= had;
}

/* False: it is not there yet, or the job has failed for it. */
static bool has_place(const struct job_facts *f, struct arena *a, struct job_plan *p)
{
    const struct reservation *r = f->reservation;
    const struct timed_condition *c = scheduled_condition(r);

    tell_unschedulable(f, a, p);
    if (r->status.phase == RESERVATION_PHASE_NONE || r->status.phase == RESERVATION_PENDING) {
        job_plan_again(p, JOB_POLL);
        return false;
    }
    if (reservation_is_expired(r)) {
        job_plan_failure(f, a, MIGRATION_REASON_RESERVATION_EXPIRED, "Reservation expired", p);
        return false;
    }
    if (r->status.phase == RESERVATION_FAILED || !reservation_has_node(r) || !c ||
        c->status != COND_TRUE) {
        job_plan_failure(f, a, MIGRATION_REASON_UNSCHEDULABLE,
                         c && *str_or(c->message, "")
                             ? arena_strdup(a, c->message)
                             : arena_printf(a, "Reservation \"%s\" has no node", r->obj.meta.name),
                         p);
        return false;
    }
    return true;
}

/* The pod waits for a node itself, and this one is for it. */
static bool is_for_the_pod(const struct job_facts *f)
{
    for (uint32_t i = 0; i < f->reservation->spec.owners.n; i++) {
        const struct object_ref *o = f->reservation->spec.owners.items[i].object;
        if (o && kuid_equal(o->uid, f->job->spec.pod_ref->uid))
            return true;
    }
    return false;
}

static bool is_elsewhere(const struct job_facts *f, struct arena *a, struct job_plan *p)
{
    const struct reservation *r = f->reservation;
    const char *name = r->obj.meta.name, *node = r->status.node_name;

    if (!is_for_the_pod(f) && !job_has_begun_eviction(f->job) && f->pod && !has_left(f) &&
        streq(str_or(f->pod->node_name, ""), node)) {
        job_plan_failure(
            f, a, MIGRATION_REASON_FORBIDDEN,
            arena_printf(a, "Scheduler assignes the Reservation \"%s\" on the same node as the Pod",
                         name),
            p);
        return false;
    }
    if (conditions_is_true(&f->job->status.conditions, MIGRATION_RESERVATION_SCHEDULED))
        return true;
    const char *text = arena_printf(a, "Assigned Reservation \"%s\" to node \"%s\"", name, node);
    p->to.node_name = node;
    job_plan_condition_is(f, a, p, MIGRATION_RESERVATION_SCHEDULED, true, "", "");
    p->writes = true;
    job_plan_event(p, false, MIGRATION_RESERVATION_SCHEDULED, text);
    return true;
}

/* ---- a pod that waits for a node itself ------------------------------------------------------ */

static bool is_bound_by_another(const struct job_facts *f)
{
    const struct reservation *r = f->reservation;

    return r->status.phase == RESERVATION_SUCCEEDED && r->status.current_owners.n > 0 &&
           !kuid_equal(r->status.current_owners.items[0].uid, f->job->spec.pod_ref->uid);
}

static void plan_pending_pod(const struct job_facts *f, struct arena *a, struct job_plan *p)
{
    const char *key = job_pod_key(f, a);

    if (has_left(f)) {
        job_plan_failure(f, a, MIGRATION_REASON_MISSING_POD,
                         arena_printf(a, "Abort job caused by missing Pod \"%s\"", key), p);
    } else if (condition_is_true(&f->pod->status.conditions, "PodScheduled")) {
        job_plan_condition_is(f, a, p, MIGRATION_POD_SCHEDULED, true, "", "");
        job_plan_success(p, arena_printf(a, "Assign Pod \"%s\" to node \"%s\"", key,
                                         str_or(f->pod->node_name, "")));
    } else if (is_bound_by_another(f)) {
        job_plan_failure(f, a, MIGRATION_REASON_FORBIDDEN,
                         "Reservation is already bound by another Pod", p);
    } else {
        job_plan_condition_is(f, a, p, MIGRATION_POD_SCHEDULED, false,
                              MIGRATION_REASON_UNSCHEDULABLE, "");
        job_plan_again(p, JOB_POLL);
    }
}

/* ---- the pod that comes ---------------------------------------------------------------------- */

static void plan_arrival(const struct job_facts *f, struct arena *a, struct job_plan *p)
{
    const struct reservation *r = f->reservation;

    if (r->status.current_owners.n == 0) {
        job_plan_condition_is(f, a, p, MIGRATION_POD_BOUND_RESERVATION, false,
                              MIGRATION_REASON_WAIT_BIND_RESERVATION, "");
        job_plan_again(p, JOB_POLL);
        return;
    }
    struct object_ref *owner = arena_new0(a, struct object_ref);
    *owner = r->status.current_owners.items[0];
    const char *key = arena_printf(a, "%s/%s", str_or(owner->ns, ""), str_or(owner->name, ""));
    if (!conditions_is_true(&f->job->status.conditions, MIGRATION_RESERVATION_BOUND)) {
        job_plan_event(
            p, false, MIGRATION_POD_BOUND_RESERVATION,
            arena_printf(a, "Bind Pod \"%s\" in Reservation \"%s\"", key, r->obj.meta.name));
        p->writes = true;
    }
    p->to.pod_ref = owner;
    job_plan_condition_is(f, a, p, MIGRATION_RESERVATION_BOUND, true, "", "");
    if (f->bound && !pod_is_ready(f->bound)) {
        job_plan_condition_is(f, a, p, MIGRATION_BOUND_POD_READY, false,
                              MIGRATION_REASON_WAIT_BOUND_POD_READY, "");
        job_plan_again(p, JOB_POLL);
        return;
    }
    job_plan_condition_is(f, a, p, MIGRATION_BOUND_POD_READY, true, "", "");
    job_plan_condition_is(f, a, p, MIGRATION_POD_BOUND_RESERVATION, true, "", "");
    job_plan_success(
        p, arena_printf(a, "Bind Pod \"%s\" in Reservation \"%s\"", key, r->obj.meta.name));
}

/* Nobody has told it to go yet, as far as can be seen. */
static bool is_still_here(const struct job_facts *f)
{
    return !has_left(f) && !f->pod->obj.meta.deleted && !is_softly_evicted(f->pod) &&
           !f->evict_sent;
}

static void plan_eviction(const struct job_facts *f, struct arena *a, struct job_plan *p)
{
    const struct reservation *r = f->reservation;

    if (is_still_here(f) && r->status.phase == RESERVATION_SUCCEEDED)
        job_plan_failure(f, a, MIGRATION_REASON_FORBIDDEN,
                         "Reservation is already bound by another Pod", p);
    else if (is_still_here(f) && !reservation_is_available(r))
        job_plan_again(p, JOB_POLL); /* it waits for something on its node */
    else if (evict(f, a, p))
        plan_arrival(f, a, p);
}

void job_plan_reserved(const struct job_facts *f, struct arena *a, struct job_plan *p)
{
    const struct object_ref *ref = job_reservation(f->job);

    if (!f->reservation) {
        job_plan_failure(
            f, a, MIGRATION_REASON_MISSING_RESERVATION,
            arena_printf(a, "Abort job caused by missing Reservation \"%s\"", ref->name), p);
        return;
    }
    if (!kstrmap_get(&f->reservation->obj.meta.labels, LABEL_RESERVATION_ORDER)) {
        p->then = JOB_ORDER;
        return;
    }
    job_plan_condition_is(f, a, p, MIGRATION_RESERVATION_CREATED, true, "", "");
    if (!has_place(f, a, p) || !is_elsewhere(f, a, p))
        return;
    if (p->writes && !job_has_begun_eviction(f->job))
        return; /* one step at a time: where the place is, before the pod goes */
    if (is_for_the_pod(f))
        plan_pending_pod(f, a, p);
    else
        plan_eviction(f, a, p);
}
