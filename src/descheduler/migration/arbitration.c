/* arbitration.c - rounds of arbitration: the jobs that wait, judged every half second
 * (descheduler 4.6).
 *
 * A round writes nothing: its verdicts wait in memory for the sync of each job, which is the only
 * one that writes to it.
 */
#include "base/strbuf.h"
#include "descheduler/migration/migration_int.h"
#include "loop/loop.h"

/* Why a job waits is told again when that has changed, not more often than so, and not of more jobs
 * in a round. */
#define TELL_PERIOD (30 * NSEC_PER_SEC)
enum { TELL_MAX = 20 };

static bool waits(struct migration *m, const struct podmigrationjob *j)
{
    struct kerr unused;

    return !job_is_over(j) && j->status.phase != MIGRATION_RUNNING && !j->spec.paused &&
           !j->obj.meta.deleted && migration_owns(m, j) && j->spec.pod_ref &&
           !kstrmap_get(&j->obj.meta.annotations, ANNO_JOB_PAUSED_SINCE) && !job_has_passed(m, j) &&
           job_check(j, &unused) == 0;
}

static void tell_later(struct migration *m, const struct checks *c, struct job_state *s,
                       const struct candidate *x, unsigned *told)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    nsec_t now = loop_mono(m->env.loop);

    if (x->hit.name)
        limit_text(c, TALLY_PASSED, x->pod, &x->hit, &text);
    else
        strbuf_append(&text, "the workload of the pod is being asked for");
    if (s->waits_for && streq(s->waits_for, strbuf_str(&text)))
        return;
    nsec_t may = *told >= TELL_MAX ? now + 1 : s->told_at ? s->told_at + TELL_PERIOD : now;
    if (may > now) {
        m->tell_at = m->tell_at ? MIN(m->tell_at, may) : may;
        return;
    }
    free(s->waits_for);
    s->waits_for = strbuf_take(&text);
    s->hit = x->hit;
    s->has_verdict = true;
    s->verdict = VERDICT_WAIT;
    s->told_at = now;
    ++*told;
    controller_add(m->sync, x->job->obj.meta.name);
}

static void take_verdict(struct migration *m, const struct checks *c, const struct candidate *x,
                         unsigned *told)
{
    struct job_state *s = migration_state(m, x->job);

    if (x->verdict == VERDICT_WAIT) {
        tell_later(m, c, s, x, told);
        return;
    }
    s->has_verdict = true;
    s->verdict = x->verdict;
    controller_add(m->sync, x->job->obj.meta.name);
}

static void on_round(struct loop *l, void *arg)
{
    struct migration *m = arg;
    struct vec_of(struct candidate) waiting = { 0 };
    nsec_t began = loop_stopwatch(l);
    unsigned told = 0;
    struct kobj *o;

    m->round = loop_after(l, MAX(m->args->arbitration.interval.v, NSEC_PER_MSEC), on_round, m);
    bool due = m->changed || (m->tell_at && m->tell_at <= loop_mono(l));
    if (!due || !informer_synced(m->jobs) || !informer_synced(m->pods))
        return;
    m->changed = false;
    m->tell_at = 0;
    for (size_t it = 0; (o = informer_next(m->jobs, &it));) {
        const struct podmigrationjob *j = podmigrationjob_of(o);
        if (waits(m, j))
            vec_push(&waiting, ((struct candidate){ .job = j, .pod = migration_pod_of(m, j) }));
    }
    if (waiting.n) {
        struct checks c = migration_checks(m);
        arbitrate(&c, m->tally, waiting.items, waiting.n);
        vec_foreach(&waiting, i)
            take_verdict(m, &c, &waiting.items[i], &told);
    }
    vec_fini(&waiting);
    m->round_took = loop_stopwatch(l) - began;
}

void arbitration_start(struct migration *m)
{
    m->round =
        loop_after(m->env.loop, MAX(m->args->arbitration.interval.v, NSEC_PER_MSEC), on_round, m);
}

void arbitration_stop(struct migration *m)
{
    m->round = timer_cancel(m->round);
}
