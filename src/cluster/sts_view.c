/* sts_view.c - what one pass over a StatefulSet sees. */
#include "base/num.h"
#include "cluster/sts.h"

int64_t sts_ordinal(const struct kobj *set, const struct kobj *pod)
{
    size_t n = strlen(set->meta.name);
    const char *end = pod->meta.name + n + 1;
    int64_t ordinal;

    if (!str_starts(pod->meta.name, set->meta.name) || pod->meta.name[n] != '-')
        return -1;
    if (*end < '0' || *end > '9' || (*end == '0' && end[1]))
        return -1;
    return i64_parse(end, strlen(end), &ordinal) == 0 && ordinal <= INT32_MAX ? ordinal : -1;
}

static int by_ordinal(const void *x, const void *y)
{
    const struct sts_pod *a = x, *b = y;
    return a->ordinal < b->ordinal ? -1 : a->ordinal > b->ordinal;
}

void stsview_init(struct stsview *v, const struct sts *s, const kobjvec *pods, nsec_t now)
{
    int64_t replicas = s->spec.replicas.set ? s->spec.replicas.v : 1;

    *v = (struct stsview){ .s = s, .now = now };
    v->start = s->spec.ordinals.start;
    v->end = v->start + replicas;
    v->ordered = !streq(str_or(s->spec.pod_management_policy, ""), "Parallel");
    vec_foreach(pods, i) {
        struct sts_pod p = { sts_ordinal(&s->obj, pods->items[i]), pods->items[i] };
        if (p.ordinal >= 0)
            vec_push(&v->pods, p);
    }
    if (v->pods.n)
        qsort(v->pods.items, v->pods.n, sizeof *v->pods.items, by_ordinal);
    vec_foreach(&v->pods, i) {
        nsec_t wait;
        pod_is_available(pod_of(v->pods.items[i].obj), s->spec.min_ready_seconds * NSEC_PER_SEC,
                         now, &wait);
        if (wait)
            v->wait = v->wait ? MIN(v->wait, wait) : wait;
    }
}

void stsview_fini(struct stsview *v)
{
    vec_fini(&v->pods);
}

struct kobj *stsview_pod(const struct stsview *v, int64_t ordinal)
{
    struct sts_pod key = { .ordinal = ordinal };
    const struct sts_pod *p =
        v->pods.n ? bsearch(&key, v->pods.items, v->pods.n, sizeof key, by_ordinal) : NULL;
    return p ? p->obj : NULL;
}

bool stsview_is_condemned(const struct stsview *v, int64_t ordinal)
{
    return ordinal < v->start || ordinal >= v->end;
}

static bool runs_ready(const struct kobj *pod)
{
    return pod_of(pod)->status.phase == POD_RUNNING && pod_is_ready(pod_of(pod));
}

bool sts_pod_is_healthy(const struct kobj *pod)
{
    return runs_ready(pod) && !pod->meta.deleted;
}

bool stsview_is_available(const struct stsview *v, const struct kobj *pod)
{
    nsec_t wait;
    return runs_ready(pod) &&
           pod_is_available(pod_of(pod), v->s->spec.min_ready_seconds * NSEC_PER_SEC, v->now,
                            &wait);
}

/* ---- status -------------------------------------------------------------------------------- */

/* Every pod has the new template and is ready: it is the current one from now on. */
static void complete_update(const struct stsview *v, struct sts_status *t)
{
    int64_t replicas = v->end - v->start;

    if (streq(str_or(v->s->spec.strategy.type, ""), "OnDelete") || t->updated != replicas ||
        t->replicas != replicas || t->ready != replicas)
        return;
    t->current = t->updated;
    t->current_revision = t->update_revision;
}

struct sts_status stsview_status(const struct stsview *v)
{
    struct sts_status t = { .observed_generation = v->s->obj.meta.generation,
                            .current_revision = v->current->obj.meta.name,
                            .update_revision = v->update->obj.meta.name,
                            .conditions = v->s->status.conditions };

    vec_foreach(&v->pods, i) {
        const struct kobj *pod = v->pods.items[i].obj;
        const char *revision = str_or(kstrmap_get(&pod->meta.labels, LABEL_REVISION), "");
        t.replicas++;
        t.ready += runs_ready(pod);
        t.available += stsview_is_available(v, pod);
        if (pod->meta.deleted)
            continue;
        t.current += streq(revision, t.current_revision);
        t.updated += streq(revision, t.update_revision);
    }
    complete_update(v, &t);
    return t;
}
