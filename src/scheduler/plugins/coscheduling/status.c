/* status.c - the phases of a PodGroup. */
#include "scheduler/plugins/coscheduling/status.h"

#include "api/koord/podgroup.h"
#include "api/pod.h"
#include "base/arena.h"

/* Somebody has lost interest: its pods were scheduled long ago, and none runs. */
#define FORGOTTEN_AFTER (48 * 3600 * NSEC_PER_SEC)

bool podgroup_is_watched(const struct podgroup *g)
{
    const struct podgroup_status *s = &g->status;

    if (s->phase == PODGROUP_FINISHED || s->phase == PODGROUP_FAILED)
        return false;
    return !(s->scheduled == g->spec.min_member && s->running == 0 && s->schedule_start_time &&
             s->schedule_start_time - g->obj.meta.created > FORGOTTEN_AFTER);
}

bool podgroup_status_equal(const struct podgroup_status *a, const struct podgroup_status *b)
{
    return a->phase == b->phase && a->scheduled == b->scheduled && a->running == b->running &&
           a->succeeded == b->succeeded && a->failed == b->failed &&
           a->schedule_start_time == b->schedule_start_time &&
           streq(str_or(a->occupied_by, ""), str_or(b->occupied_by, ""));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The owners of a pod, sorted; NULL: it has none. */
static const char *owners_of(const struct kobj *pod, struct arena *a)
{
    uint32_t n = pod->meta.owners.n;
    const char **names = arena_newn0(a, n + 1, const char *), *all = NULL;

    for (uint32_t i = 0; i < n; i++)
        names[i] = arena_printf(a, "%s/%s", pod->meta.ns, pod->meta.owners.items[i].name);
    if (n)
        qsort(names, n, sizeof *names, by_text);
    for (uint32_t i = 0; i < n; i++)
        all = i ? arena_printf(a, "%s,%s", all, names[i]) : names[i];
    return all;
}

static void count_pods(const struct podgroup_facts *f, struct podgroup_status *s)
{
    s->running = 0;
    s->succeeded = (int32_t)f->succeeded;
    s->failed = (int32_t)f->failed;
    s->scheduled = (int32_t)(f->succeeded + f->failed + f->placed);
    for (size_t i = 0; i < f->n; i++) {
        const struct pod *p = pod_of(f->pods[i]);
        s->running += p->status.phase == POD_RUNNING;
        s->succeeded += p->status.phase == POD_SUCCEEDED;
        s->failed += p->status.phase == POD_FAILED;
        s->scheduled += !str_empty(p->node_name);
    }
}

void podgroup_plan(const struct podgroup *g, const struct podgroup_facts *f, struct arena *a,
                   struct podgroup_status *ret)
{
    int32_t min = g->spec.min_member;
    size_t all = f->n + f->waiting + f->placed + f->succeeded + f->failed;
    struct podgroup_status s = g->status;

    if (s.phase == PODGROUP_PHASE_NONE) {
        s.phase = PODGROUP_PENDING;
    } else if (s.phase == PODGROUP_PENDING) {
        if (min > 0 && all >= (size_t)min) {
            const char *owners = f->n ? owners_of(f->pods[0], a) : NULL;
            s.phase = PODGROUP_PRE_SCHEDULING;
            s.occupied_by = owners ? owners : s.occupied_by;
        }
    } else if (all == 0) {
        s.phase = PODGROUP_PENDING;
    } else {
        count_pods(f, &s);
        s.phase = s.scheduled < min ? PODGROUP_SCHEDULING : PODGROUP_SCHEDULED;
        if (s.phase == PODGROUP_SCHEDULING && !s.schedule_start_time)
            s.schedule_start_time = f->now;
        if (s.phase == PODGROUP_SCHEDULED && s.succeeded + s.running >= min)
            s.phase = PODGROUP_RUNNING;
        if (s.failed != 0 && s.failed + s.running + s.succeeded >= min)
            s.phase = PODGROUP_FAILED;
        if (s.succeeded >= min)
            s.phase = PODGROUP_FINISHED;
    }
    *ret = s;
}
