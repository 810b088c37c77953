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

static nsec_t deadline_of(const struct dview *v)
{
    return (v->d->spec.progress_deadline_seconds.set ? v->d->spec.progress_deadline_seconds.v
                                                     : 600) *
           NSEC_PER_SEC;
}

/* A condition that is set although nothing but its time changes: progress was seen just now. */
static wcondlist set_progress(const struct dview *v, const wcondlist *l, const char *status,
                              const char *reason, const char *message, struct arena *a)
{
    nsec_t now = loop_wall(v->c->loop);
    const struct wcond *old = wcond_find(l, "Progressing");
    bool same = old && streq(old->status, status);
    nsec_t since = same ? old->last_transition : now;
    wcondlist out = wcond_remove(l, "Progressing", a);

    out.items[out.n++] = (struct wcond){ .type = "Progressing",
                                         .status = status,
                                         .reason = reason,
                                         .message = message,
                                         .last_update = now,
                                         .last_transition = since };
    return out;
}

/* With the time left until the deadline in *ret_wait; 0: none runs. */
static wcondlist progress(const struct dview *v, const struct summary *s, const char *created,
                          struct arena *a, nsec_t *ret_wait)
{
    wcondlist l = v->d->status.conditions;
    const struct wcond *now = wcond_find(&l, "Progressing");
    const char *subject = v->fresh
                              ? arena_printf(a, "ReplicaSet \"%s\"", v->fresh->rs->obj.meta.name)
                              : arena_printf(a, "Deployment \"%s\"", v->d->obj.meta.name);
    bool settled = now && streq(now->reason, "NewReplicaSetAvailable");

    if (created)
        return set_progress(v, &l, "True", "NewReplicaSetCreated",
                            arena_printf(a, "Created new replica set \"%s\"", created), a);
    if (v->d->spec.paused) {
        if (now && (streq(now->reason, "DeploymentPaused") ||
                    streq(now->reason, "ProgressDeadlineExceeded")))
            return l;
        return set_progress(v, &l, "Unknown", "DeploymentPaused", "Deployment is paused", a);
    }
    if (now && streq(now->reason, "DeploymentPaused"))
        return set_progress(v, &l, "Unknown", "DeploymentResumed", "Deployment is resumed", a);
    if (!now && v->fresh && !is_complete(v, s))
        return set_progress(
            v, &l, "True", "FoundNewReplicaSet",
            arena_printf(a, "Found new replica set \"%s\"", v->fresh->rs->obj.meta.name), a);
    if (settled && s->replicas == s->updated)
        return l;
    if (is_complete(v, s))
        return set_progress(v, &l, "True", "NewReplicaSetAvailable",
                            arena_printf(a, "%s has successfully progressed.", subject), a);
    if (has_progressed(&v->d->status, s))
        return set_progress(v, &l, "True", "ReplicaSetUpdated",
                            arena_printf(a, "%s is progressing.", subject), a);
    if (!now || settled || streq(now->reason, "ProgressDeadlineExceeded"))
        return l;
    nsec_t left = now->last_update + deadline_of(v) - loop_wall(v->c->loop);
    if (left > 0) {
        *ret_wait = left + NSEC_PER_SEC;
        return l;
    }
    return set_progress(v, &l, "False", "ProgressDeadlineExceeded",
                        arena_printf(a, "%s has timed out progressing.", subject), a);
}

static wcondlist availability(const struct dview *v, const struct summary *s, const wcondlist *l,
                              struct arena *a)
{
    nsec_t now = loop_wall(v->c->loop);
    struct wcond yes = { .type = "Available",
                         .status = "True",
                         .reason = "MinimumReplicasAvailable",
                         .message = "Deployment has minimum availability.",
                         .last_update = now };
    struct wcond no = { .type = "Available",
                        .status = "False",
                        .reason = "MinimumReplicasUnavailable",
                        .message = "Deployment does not have minimum availability.",
                        .last_update = now };
    return wcond_set(l, s->available >= v->replicas - v->unavailable ? &yes : &no, now, a);
}

/* A refusal to make pods, copied up from the ReplicaSets. */
static wcondlist failures(const struct dview *v, const wcondlist *l, struct arena *a)
{
    nsec_t now = loop_wall(v->c->loop);
    const struct wcond *failure = NULL;

    for (size_t i = v->n; i-- > 0 && !failure;)
        failure = wcond_find(&v->sets[i].rs->status.conditions, "ReplicaFailure");
    if (!failure)
        return wcond_remove(l, "ReplicaFailure", a);
    struct wcond copy = *failure;
    copy.last_update = now;
    return wcond_set(l, &copy, now, a);
}

static bool is_written(const struct dview *v, const struct summary *s, const wcondlist *l)
{
    const struct deploy_status *o = &v->d->status;
    return o->observed_generation == v->d->obj.meta.generation && o->replicas == s->replicas &&
           o->updated == s->updated && o->ready == s->ready && o->available == s->available &&
           o->unavailable == s->unavailable &&
           (o->terminating.set ? o->terminating.v : 0) == s->terminating &&
           wcond_equal(&o->conditions, l);
}

void dstatus_write(struct batch *b, const struct dview *v, const char *created)
{
    struct arena *a = batch_arena(b);
    struct summary s = sum_up(v);
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    nsec_t wait = 0;

    wcondlist l = progress(v, &s, created, a, &wait);
    l = availability(v, &s, &l, a);
    l = failures(v, &l, a);
    if (wait)
        batch_again(b, wait);
    if (is_written(v, &s, &l))
        return;
    kjw_obj(&w, NULL);
    write_version(&w, &v->d->obj); /* progress is judged by what changed since this version */
    kjw_obj(&w, "status");
    kjw_i64(&w, "observedGeneration", v->d->obj.meta.generation);
    kjw_i64(&w, "replicas", s.replicas);
    kjw_i64(&w, "updatedReplicas", s.updated);
    kjw_i64(&w, "readyReplicas", s.ready);
    kjw_i64(&w, "availableReplicas", s.available);
    kjw_i64(&w, "unavailableReplicas", s.unavailable);
    kjw_i64(&w, "terminatingReplicas", s.terminating);
    wcond_write(&w, &l);
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, &v->d->obj, "status", KUBE_PATCH_MERGE, &body, NULL, NULL);
}
