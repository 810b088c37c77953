/* sim_moves_judge.c - what must hold whenever a pod goes or a job changes, looked up in what the
 * API server has and in nothing that the descheduler says. */
#include "sim_moves.h"

#include <stdio.h>

#include "api/koord/podmigrationjob.h"
#include "api/koord/reservation_life.h"
#include "api/policy.h"
#include "api/protocol/keys.h"
#include "base/arena.h"
#include "base/ktime.h"
#include "base/map.h"

/* A Reservation that somebody deleted so short before: the descheduler could not know. */
#define EXCUSED     (3 * SLOW_MAX)
#define RELEASED_AT "descheduler.koordinator.sh/released-at"
#define PAUSED      "descheduler.koordinator.sh/paused-since"

/* ---- evictions -------------------------------------------------------------------------------- */

/* The job that is about to evict this pod. */
static const struct podmigrationjob *job_of_pod(const struct moves_sim *m, struct kuid uid)
{
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(m->jobs, &it));) {
        const struct podmigrationjob *j = podmigrationjob_of(o);
        for (uint32_t i = 0; i < j->status.conditions.n; i++)
            if (j->status.phase == MIGRATION_RUNNING &&
                streq(j->status.conditions.items[i].type, MIGRATION_EVICTION) && j->spec.pod_ref &&
                kuid_equal(j->spec.pod_ref->uid, uid))
                return j;
    }
    return NULL;
}

static bool is_excused(const struct moves_sim *m, const char *reservation, nsec_t at)
{
    vec_foreach(&m->gone, i)
        if (streq(m->gone.items[i].name, reservation) && at - m->gone.items[i].at < EXCUSED)
            return true;
    return false;
}

/* No eviction without a place. */
static void judge_place(struct moves_sim *m, const struct podmigrationjob *j, const struct pod *p,
                        nsec_t at)
{
    const struct migration_reservation_options *o = j->spec.reservation_options;
    const char *name = o && o->reservation_ref ? o->reservation_ref->name : "";

    if (streq(j->spec.mode, MIGRATION_MODE_EVICT_DIRECTLY)) {
        m->direct++;
        return;
    }
    if (is_excused(m, name, at))
        return;
    const struct kobj *r = informer_get(m->reservations, name);
    if (!r)
        moves_die(m, "%s went for %s, and its Reservation is not there", p->obj.meta.name,
                  j->obj.meta.name);
    const struct reservation *place = reservation_of(r);
    if (place->status.phase != RESERVATION_AVAILABLE &&
        place->status.phase != RESERVATION_SUCCEEDED)
        moves_die(m, "%s went for %s, and its Reservation is %s", p->obj.meta.name,
                  j->obj.meta.name, reservation_phase_names[place->status.phase]);
    if (streq(str_or(place->status.node_name, ""), str_or(p->node_name, "")))
        moves_die(m, "%s went for %s to the node on which it was", p->obj.meta.name,
                  j->obj.meta.name);
    m->with_place++;
}

/* A token bucket that holds one: in no time more than one, and so many for each second. */
static bool is_too_many(size_t n, double rate, nsec_t time, nsec_t slack)
{
    return (double)n > 1 + rate * (double)(time + slack) / (double)SEC + 1e-6;
}

static void judge_rate(struct moves_sim *m, nsec_t at)
{
    vec_push(&m->evictions, at);
    for (size_t i = 0; i < m->evictions.n; i++) {
        nsec_t time = at - m->evictions.items[i];
        if (is_too_many(m->evictions.n - i, m->limits.qps, time, SLOW_MAX))
            moves_die(m, "%zu evictions in %lld s", m->evictions.n - i, (long long)(time / SEC));
    }
}

/* The object limiter: evictions of a workload, over restarts too. Its token is taken when the
 * answer has come, so two of them may be nearer to each other than what was counted. */
static void judge_workload_rate(struct moves_sim *m, const struct podmigrationjob *j,
                                const struct pod *p, nsec_t at)
{
    const struct owner_ref *o = kobj_controller(&p->obj);
    size_t n = 0;

    if (!o || m->limits.per_workload <= 0)
        return;
    struct workload_eviction e = { .owner = o->uid, .at = at };
    (void)snprintf(e.job, sizeof e.job, "%s", j->obj.meta.name);
    vec_push(&m->of_workloads, e);
    for (size_t i = m->of_workloads.n; i-- > 0;) {
        if (!kuid_equal(m->of_workloads.items[i].owner, o->uid))
            continue;
        nsec_t time = at - m->of_workloads.items[i].at;
        if (is_too_many(++n, m->limits.per_workload, time, 2 * SLOW_MAX))
            moves_die(m, "%zu evictions of %s in %lld s", n, o->name, (long long)(time / SEC));
    }
}

static void judge_eviction(struct moves_sim *m, const struct eviction *e)
{
    const struct podmigrationjob *j = job_of_pod(m, e->pod->meta.uid);

    if (!j) /* by somebody else: a controller, or the test */
        return;
    judge_place(m, j, pod_of(e->pod), e->at);
    judge_rate(m, e->at);
    judge_workload_rate(m, j, pod_of(e->pod), e->at);
    if (m->on_move)
        m->on_move(m, j, pod_of(e->pod));
}

/* ---- limits ----------------------------------------------------------------------------------- */

/* Jobs that hold a slot: they run, or have passed. */
static bool holds_slot(const struct podmigrationjob *j)
{
    return j->status.phase < MIGRATION_SUCCEEDED && !j->spec.paused && j->spec.pod_ref &&
           (j->status.phase == MIGRATION_RUNNING ||
            kstrmap_get(&j->obj.meta.annotations, ANNO_PASSED_ARBITRATION));
}

struct count {
    unsigned n;
};

static unsigned count(struct map *m, struct arena *a, const char *key)
{
    struct count *c = map_getz(m, key);

    if (!c) {
        c = arena_new0(a, struct count);
        map_putz(m, arena_strdup(a, key), c);
    }
    return ++c->n;
}

static void judge_limits(struct moves_sim *m)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(map_fini) struct map nodes = { 0 }, pods = { 0 };
    unsigned all = 0;
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(m->jobs, &it));) {
        const struct podmigrationjob *j = podmigrationjob_of(o);
        char key[KOBJ_KEY_MAX];
        if (!holds_slot(j))
            continue;
        (void)snprintf(key, sizeof key, "%s/%s", j->spec.pod_ref->ns, j->spec.pod_ref->name);
        const struct kobj *pod = informer_get(m->s.pods, key);
        /* Its pod is gone: it passes, to fail at once. */
        if (!pod && j->status.phase != MIGRATION_RUNNING)
            continue;
        /* People may make two jobs for a pod; it is moved once. */
        if (count(&pods, a, key) > 1)
            continue;
        all++;
        if (pod && !str_empty(pod_of(pod)->node_name) &&
            count(&nodes, a, pod_of(pod)->node_name) > m->limits.per_node)
            moves_die(m, "more than %u jobs for node %s", m->limits.per_node,
                      pod_of(pod)->node_name);
    }
    if (all > m->limits.globally)
        moves_die(m, "%u jobs at once", all);
}

/* Of apps whose pods the test itself does not touch. */
static void judge_budgets(struct moves_sim *m)
{
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(m->pdbs, &it));) {
        const struct pdb_status *st = &container_of(o, const struct pdb, obj)->status;
        if (st->observed_generation && st->expected_pods &&
            st->current_healthy < st->desired_healthy)
            moves_die(m, "budget %s: %d healthy, %d desired", o->meta.name, st->current_healthy,
                      st->desired_healthy);
    }
}

/* ---- times ------------------------------------------------------------------------------------ */

static void judge_times(struct moves_sim *m)
{
    nsec_t now = loop_wall(m->s.loop);
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(m->jobs, &it));) {
        const struct podmigrationjob *j = podmigrationjob_of(o);
        const char *text = kstrmap_get(&o->meta.annotations, RELEASED_AT);
        nsec_t from = o->meta.created;
        if (j->status.phase >= MIGRATION_SUCCEEDED || j->spec.paused || !j->spec.ttl_ns.set)
            continue;
        if (text)
            (void)ktime_parse(text, strlen(text), &from, NULL);
        else if (kstrmap_get(&o->meta.annotations, PAUSED))
            continue; /* released a moment ago */
        if (now > from + j->spec.ttl_ns.v + 5 * MINUTE)
            moves_die(m, "job %s is not over", o->meta.name);
    }
}

void moves_judge_end(struct moves_sim *m)
{
    struct kobj *o;

    judge_times(m);
    for (size_t it = 0; (o = informer_next(m->reservations, &it));) {
        const char *by = str_or(kstrmap_get(&o->meta.labels, LABEL_APP_CREATED_BY), "");
        if (!streq(by, APP_CREATED_BY_DESCHEDULER) || o->meta.owners.n == 0)
            continue;
        if (!informer_get(m->jobs, o->meta.owners.items[0].name))
            moves_die(m, "Reservation %s is left, and its job %s is not", o->meta.name,
                      o->meta.owners.items[0].name);
    }
}

/* ---- when to look ----------------------------------------------------------------------------- */

static void on_judge(struct loop *l, void *arg)
{
    struct moves_sim *m = arg;

    (void)l;
    m->judge = NULL;
    vec_foreach(&m->pending, i) {
        judge_eviction(m, &m->pending.items[i]);
        kobj_unref(m->pending.items[i].pod);
    }
    vec_clear(&m->pending);
    judge_limits(m);
    judge_budgets(m);
    judge_times(m);
    m->judged++;
}

/* The watches of different kinds are not in step: a moment later all are. */
static void judge_soon(struct moves_sim *m)
{
    if (!m->judge)
        m->judge = loop_after(m->s.loop, NSEC_PER_MSEC, on_judge, m);
}

static void on_job_update(void *arg, struct kobj *old, struct kobj *o)
{
    struct moves_sim *m = arg;
    uint8_t was = podmigrationjob_of(old)->status.phase, is = podmigrationjob_of(o)->status.phase;

    m->succeeded += was != is && is == MIGRATION_SUCCEEDED;
    m->failed += was != is && is == MIGRATION_FAILED;
    if (m->on_failed && was != is && is == MIGRATION_FAILED)
        m->on_failed(m, podmigrationjob_of(o));
    judge_soon(m);
}

/* What a job has done is known to a new leader as long as the job is there. */
static void on_job_delete(void *arg, struct kobj *o)
{
    struct moves_sim *m = arg;

    vec_foreach(&m->of_workloads, i)
        if (streq(m->of_workloads.items[i].job, o->meta.name))
            m->of_workloads.items[i].owner = (struct kuid){ 0 };
    judge_soon(m);
}

static void pod_goes(struct moves_sim *m, struct kobj *o)
{
    if (!m->by_hand)
        vec_push(&m->pending, ((struct eviction){ kobj_ref(o), loop_mono(m->s.loop) }));
    judge_soon(m);
}

static void on_pod_update(void *arg, struct kobj *old, struct kobj *o)
{
    if (!old->meta.deleted && o->meta.deleted)
        pod_goes(arg, o);
}

static void on_pod_delete(void *arg, struct kobj *o)
{
    if (!o->meta.deleted)
        pod_goes(arg, o);
}

static void on_reservation_delete(void *arg, struct kobj *o)
{
    struct moves_sim *m = arg;
    struct gone g = { .at = loop_mono(m->s.loop) };

    (void)snprintf(g.name, sizeof g.name, "%s", o->meta.name);
    vec_push(&m->gone, g);
}

/* ---- life ------------------------------------------------------------------------------------- */

static struct informer *watch(struct moves_sim *m, const struct kind *k,
                              const struct informer_handler *h)
{
    struct informer *inf = informer_new(m->s.kube, &(struct informer_opts){ .kind = k });

    if (h)
        informer_add_handler(inf, h, m);
    informer_start(inf);
    return inf;
}

void judge_begin(struct moves_sim *m)
{
    static const struct informer_handler jobs = { .on_update = on_job_update,
                                                  .on_delete = on_job_delete };
    static const struct informer_handler reservations = { .on_delete = on_reservation_delete };
    static const struct informer_handler pods = { .on_update = on_pod_update,
                                                  .on_delete = on_pod_delete };

    m->jobs = watch(m, &kind_podmigrationjob, &jobs);
    m->reservations = watch(m, &kind_reservation, &reservations);
    m->pdbs = watch(m, &kind_pdb, NULL);
    informer_add_handler(m->s.pods, &pods, m);
}

void judge_end(struct moves_sim *m)
{
    timer_cancel(m->judge);
    informer_free(m->jobs);
    informer_free(m->reservations);
    informer_free(m->pdbs);
    vec_foreach(&m->pending, i)
        kobj_unref(m->pending.items[i].pod);
    vec_fini(&m->pending);
    vec_fini(&m->gone);
    vec_fini(&m->evictions);
    vec_fini(&m->of_workloads);
}
