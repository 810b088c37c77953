/* deploy_status.c - what a Deployment's status says; `kubectl rollout status` reads it. */
#include "cluster/deploy.h"

struct summary {
    int64_t replicas, updated, ready, available, unavailable, terminating;
};

static struct summary sum_up(const struct dview *v)
{
    struct summary s = { 0 };
    int64_t asked = 0;

    for (size_t i = 0; i < v->n; i++) {
        const struct rs_status *st = &v->sets[i].rs->status;
        s.replicas += st->replicas;
        s.ready += st->ready;
        s.available += st->available;
        s.terminating += st->terminating.set ? st->terminating.v : 0;
        asked += v->sets[i].replicas;
    }
    s.updated = v->fresh ? v->fresh->rs->status.replicas : 0;
    s.unavailable = MAX(asked - s.available, (int64_t)0);
    return s;
}

static bool is_complete(const struct dview *v, const struct summary *s)
{
    return v->fresh && s->updated == v->replicas && s->replicas == v->replicas &&
           s->available == v->replicas;
}

bool dstatus_is_complete(const struct dview *v)
{
    struct summary s = sum_up(v);
    return is_complete(v, &s) && v->d->status.observed_generation >= v->d->obj.meta.generation;
}

static bool has_progressed(const struct deploy_status *old, const struct summary *s)
{
    return s->updated > old->updated || s->replicas - s->updated < old->replicas - old->updated ||
           s->ready > old->ready || s->available > old->available;
}

static nsec_t deadline_of(const struct dview *v, nsec_t since)
{
    const struct opt_i32 *seconds = &v->d->spec.progress_deadline_seconds;
    return nsec_after(since, seconds->set ? seconds->v : 600);
}

/* Set although nothing but its time may change: progress was seen just now. Returns 0: no deadline
 * runs from here. */
static nsec_t set_progress(const struct dview *v, timed_conditionlist *l, uint8_t status,
                           const char *reason, const char *message, struct arena *a)
{
    nsec_t now = loop_wall(v->c->loop);

    conditions_renew(l,
                     &(struct timed_condition){ .type = "Progressing",
                                                .status = status,
                                                .reason = reason,
                                                .message = message,
                                                .last_update_time = now },
                     now, a);
    return 0;
}

/* What is to be said of a rollout that is neither new, paused, nor at its end. Returns the time
 * left until its deadline; 0: none runs. */
static nsec_t judge_progress(const struct dview *v, const struct summary *s, timed_conditionlist *l,
                             const char *subject, struct arena *a)
{
    const struct timed_condition *now = conditions_find(l, "Progressing");

    if (has_progressed(&v->d->status, s))
        return set_progress(v, l, COND_TRUE, "ReplicaSetUpdated",
                            arena_printf(a, "%s is progressing.", subject), a);
    if (!now || streq(now->reason, "NewReplicaSetAvailable") ||
        streq(now->reason, "ProgressDeadlineExceeded"))
        return 0;
    nsec_t left = i64_sub_sat(deadline_of(v, now->last_update_time), loop_wall(v->c->loop));
    if (left > 0)
        return i64_add_sat(left, NSEC_PER_SEC);
    return set_progress(v, l, COND_FALSE, "ProgressDeadlineExceeded",
                        arena_printf(a, "%s has timed out progressing.", subject), a);
}

/* The same, of any rollout. created: name of a new set that this very pass makes; NULL: none. */
static nsec_t progress(const struct dview *v, const struct summary *s, const char *created,
                       timed_conditionlist *l, struct arena *a)
{
    const struct timed_condition *now = conditions_find(l, "Progressing");
    const char *reason = now ? now->reason : "",
               *fresh = v->fresh ? v->fresh->rs->obj.meta.name : "";
    const char *subject = v->fresh ? arena_printf(a, "ReplicaSet \"%s\"", fresh)
                                   : arena_printf(a, "Deployment \"%s\"", v->d->obj.meta.name);

    if (created)
        return set_progress(v, l, COND_TRUE, "NewReplicaSetCreated",
                            arena_printf(a, "Created new replica set \"%s\"", created), a);
    if (v->d->spec.paused) {
        if (streq(reason, "DeploymentPaused") || streq(reason, "ProgressDeadlineExceeded"))
            return 0;
        return set_progress(v, l, COND_UNKNOWN, "DeploymentPaused", "Deployment is paused", a);
    }
    if (streq(reason, "DeploymentPaused"))
        return set_progress(v, l, COND_UNKNOWN, "DeploymentResumed", "Deployment is resumed", a);
    if (!now && v->fresh && !is_complete(v, s))
        return set_progress(v, l, COND_TRUE, "FoundNewReplicaSet",
                            arena_printf(a, "Found new replica set \"%s\"", fresh), a);
    if (streq(reason, "NewReplicaSetAvailable") && s->replicas == s->updated)
        return 0;
    if (is_complete(v, s))
        return set_progress(v, l, COND_TRUE, "NewReplicaSetAvailable",
                            arena_printf(a, "%s has successfully progressed.", subject), a);
    return judge_progress(v, s, l, subject, a);
}

static void availability(const struct dview *v, const struct summary *s, timed_conditionlist *l,
                         struct arena *a)
{
    nsec_t now = loop_wall(v->c->loop);
    bool yes = s->available >= v->replicas - v->unavailable;
    struct timed_condition c = { .type = "Available",
                                 .status = yes ? COND_TRUE : COND_FALSE,
                                 .reason = yes ? "MinimumReplicasAvailable"
                                               : "MinimumReplicasUnavailable",
                                 .message = yes ? "Deployment has minimum availability."
                                                : "Deployment does not have minimum availability.",
                                 .last_update_time = now };

    conditions_set(l, &c, now, a);
}

/* A refusal to make pods, copied up from the ReplicaSets. */
static void failures(const struct dview *v, timed_conditionlist *l, struct arena *a)
{
    nsec_t now = loop_wall(v->c->loop);
    const struct timed_condition *failure = NULL;

    for (size_t i = v->n; i-- > 0 && !failure;)
        failure = conditions_find(&v->sets[i].rs->status.conditions, "ReplicaFailure");
    if (!failure) {
        conditions_remove(l, "ReplicaFailure", a);
        return;
    }
    struct timed_condition copy = *failure;
    copy.last_update_time = now;
    conditions_set(l, &copy, now, a);
}

void dstatus_write(struct batch *b, const struct dview *v, const char *created)
{
    const struct deploy_status *old = &v->d->status;
    struct arena *a = batch_arena(b);
    struct summary s = sum_up(v);
    struct deploy_status now = {
        .observed_generation = v->d->obj.meta.generation,
        .replicas = (int32_t)s.replicas,
        .updated = (int32_t)s.updated,
        .ready = (int32_t)s.ready,
        .available = (int32_t)s.available,
        .unavailable = (int32_t)s.unavailable,
        .terminating = { s.terminating || old->terminating.set, (int32_t)s.terminating },
        .collisions = old->collisions,
        .conditions = old->conditions,
    };

    nsec_t wait = progress(v, &s, created, &now.conditions, a);
    availability(v, &s, &now.conditions, a);
    failures(v, &now.conditions, a);
    if (wait)
        batch_again(b, wait);
    /* Progress is judged by what changed since this version. */
    batch_patch_change(b, &v->d->obj,
                       &(struct change){ .member = "status",
                                         .schema = &deployment_status_schema,
                                         .from = old->observed_generation ? old : NULL,
                                         .to = &now,
                                         .same_version = true },
                       NULL, NULL);
}
