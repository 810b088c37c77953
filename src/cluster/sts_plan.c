/* sts_plan.c - what a StatefulSet does next.
 *
 * Pods are made in the order of their ordinals and deleted in the opposite one. In order (the
 * default) there is one step at a time, and the next only when all pods before are available; in
 * parallel only updates keep to maxUnavailable.
 */
#include "cluster/sts.h"
#include "controllers/percent.h"

static void push(stsstepvec *out, enum sts_verb verb, int64_t ordinal, struct kobj *pod)
{
    struct sts_step s = { verb, ordinal, pod };
    vec_push(out, s);
}

static const char *revision_label(const struct kobj *pod)
{
    return str_or(kstrmap_get(&pod->meta.labels, LABEL_REVISION), "");
}

static int64_t partition(const struct stsview *v)
{
    const struct sts_rolling *r = v->s->spec.strategy.rolling;
    return r && r->partition.set ? r->partition.v : 0;
}

static bool rolls(const struct stsview *v)
{
    return !streq(str_or(v->s->spec.strategy.type, ""), "OnDelete");
}

const struct revision *sts_revision_for(const struct stsview *v, int64_t ordinal)
{
    int64_t old = v->s->spec.strategy.rolling ? partition(v) : v->s->status.current;
    return rolls(v) && ordinal < v->start + old ? v->current : v->update;
}

/* ---- pods that should be -------------------------------------------------------------------- */

/* False: nothing else may happen before this pod is where it should be. */
static bool plan_replica(const struct stsview *v, int64_t ordinal, stsstepvec *out)
{
    struct kobj *pod = stsview_pod(v, ordinal);

    if (!pod) {
        push(out, STS_CREATE, ordinal, NULL);
        return !v->ordered;
    }
    if (pod_is_terminal(pod_of(pod))) {
        if (!pod->meta.deleted)
            push(out, STS_RECREATE, ordinal, pod);
        return false;
    }
    return !v->ordered || (!pod->meta.deleted && stsview_is_available(v, pod));
}

static bool plan_replicas(const struct stsview *v, stsstepvec *out)
{
    bool all = true;

    for (int64_t i = v->start; i < v->end; i++) {
        all = plan_replica(v, i, out) && all;
        if ((!all && v->ordered) || out->n >= STS_STEPS_MAX)
            return false;
    }
    return all;
}

/* ---- pods that should not -------------------------------------------------------------------- */

static struct kobj *first_unhealthy(const struct stsview *v)
{
    vec_foreach(&v->pods, i)
        if (!sts_pod_is_healthy(v->pods.items[i].obj))
            return v->pods.items[i].obj;
    return NULL;
}

static bool plan_condemned(const struct stsview *v, stsstepvec *out)
{
    const struct kobj *unhealthy = first_unhealthy(v);

    for (size_t i = v->pods.n; i > 0 && out->n < STS_STEPS_MAX; i--) {
        const struct sts_pod *p = &v->pods.items[i - 1];
        if (!stsview_is_condemned(v, p->ordinal))
            continue;
        if (p->obj->meta.deleted && v->ordered)
            return false;
        if (p->obj->meta.deleted)
            continue;
        if (v->ordered && !stsview_is_available(v, p->obj) && p->obj != unhealthy)
            return false;
        push(out, STS_DELETE, p->ordinal, p->obj);
        if (v->ordered)
            return false;
    }
    return true;
}

/* ---- pods of an old template ------------------------------------------------------------------ */

static int64_t max_unavailable(const struct stsview *v)
{
    const struct sts_rolling *r = v->s->spec.strategy.rolling;
    return r ? MAX(int_or_percent(&r->max_unavailable, v->end - v->start, false), (int64_t)1) : 1;
}

static bool is_down(const struct stsview *v, const struct kobj *pod)
{
    return pod->meta.deleted || !stsview_is_available(v, pod);
}

/* How many more may go down. */
static int64_t budget(const struct stsview *v)
{
    int64_t up = 0;

    vec_foreach(&v->pods, i) {
        const struct sts_pod *p = &v->pods.items[i];
        up += !stsview_is_condemned(v, p->ordinal) && !is_down(v, p->obj);
    }
    return max_unavailable(v) - (v->end - v->start - up);
}

static void plan_update(const struct stsview *v, stsstepvec *out)
{
    int64_t left = rolls(v) ? budget(v) : 0;

    for (size_t i = rolls(v) ? v->pods.n : 0; i > 0 && out->n < STS_STEPS_MAX; i--) {
        const struct sts_pod *p = &v->pods.items[i - 1];
        if (stsview_is_condemned(v, p->ordinal) || p->ordinal < v->start + partition(v) ||
            p->obj->meta.deleted || streq(revision_label(p->obj), v->update->obj.meta.name))
            continue;
        /* One that is down already costs nothing. */
        bool down = is_down(v, p->obj);
        if (!down && left <= 0)
            continue;
        push(out, STS_DELETE, p->ordinal, p->obj);
        left -= !down;
    }
}

void sts_plan(const struct stsview *v, stsstepvec *out)
{
    if (plan_replicas(v, out) && plan_condemned(v, out))
        plan_update(v, out);
}
