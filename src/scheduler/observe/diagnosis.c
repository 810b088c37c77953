/* diagnosis.c - one log line of JSON for each attempt that found no node. */
#include "scheduler/observe/diagnosis.h"

#include "api/pod.h"
#include "base/arena.h"
#include "base/klog.h"
#include "base/ktime.h"
#include "base/strbuf.h"
#include "component/metrics.h"
#include "loop/loop.h"
#include "scheduler/framework/attempt.h"
#include "scheduler/observe/explain/refusals.h"
#include "json/kj.h"

static const struct metric_desc dropped_desc = {
    "koord_scheduler_diagnosis_dropped_total",
    "Diagnoses that were not written because too many waited.",
    METRIC_COUNTER,
};

struct line {
    struct line *next;
    char *text;
};
struct diagnosis {
    struct loop *loop;
    struct diagnosis_opts o;
    struct line *first, **last;
    unsigned waiting;
    struct timer *timer;
    struct counter *dropped; /* NULL: not counted */
};

/* ---- the JSON -------------------------------------------------------------------------------- */

static void write_room(const char *no_room, struct kjw *w)
{
    while (*no_room == ' ')
        no_room++;
    if (!*no_room) {
        kjw_null(w, "preemptionDiagnosis");
        return;
    }
    kjw_obj(w, "preemptionDiagnosis");
    kjw_null(w, "dryRunFilterDiagnosis");
    kjw_null(w, "otherDiagnosis");
    kjw_str(w, "failedMessage", no_room);
    kjw_end(w);
}

static void write_suggestion(const struct ks_suggestion *s, struct kjw *w)
{
    if (!s)
        return;
    kjw_obj(w, "suggestion");
    kjw_str(w, "type", s->type);
    kjw_str(w, "message", s->message);
    kjw_end(w);
}

/* The first plugin that knows of one; else the pod stands for itself. */
static struct ks_job job_of(const struct profile *p, const struct kobj *pod, struct arena *a)
{
    struct ks_job job = { 0 };
    char key[KOBJ_KEY_MAX];

    for (uint32_t i = 0; i < p->n; i++) {
        const struct profile_slot *s = &p->slots[i];
        if (s->plugin->job && s->plugin->job(s->self, pod_of(pod), a, &job))
            return job;
    }
    kobj_key(pod, key, sizeof key);
    job.key = arena_strdup(a, key);
    return job;
}

static void write_slots(const struct ks_job *job, struct kjw *w)
{
    if (job->nslots == 0)
        return;
    kjw_obj(w, "nodeOfferSlot");
    for (uint32_t i = 0; i < job->nslots; i++)
        kjw_i64(w, job->slots[i].node, job->slots[i].n);
    kjw_end(w);
}

/* What is known without looking at nodes, and the beginning of what is not. message: why they were
 * not looked at; NULL or "": they were. */
static void write_pod(struct kjw *w, const struct kobj *pod, const struct ks_job *job,
                      const char *message, nsec_t now)
{
    const char *nominated = pod_of(pod)->status.nominated_node_name;
    char when[KTIME_TEXT_MAX];

    kjw_obj(w, NULL);
    kjw_strn(w, "timestamp", when, ktime_format(now, when));
    kjw_str(w, "questionedKey", job->key);
    if (!str_empty(nominated))
        kjw_str(w, "nominatedNode", nominated);
    if (!str_empty(message))
        kjw_str(w, "preFilterMessage", message);
    kjw_bool(w, "isRootCausePod", !job->follows);
    kjw_obj(w, "scheduleDiagnosis");
    kjw_i64(w, "alreadyWaitForBound", job->waiting);
    write_slots(job, w);
}

void diagnosis_write(struct attempt *a, const struct diagnosis_room *r, nsec_t now,
                     struct strbuf *out)
{
    const struct ks_job job = job_of(a->profile, a->obj, a->arena);
    struct kjw w = kjw_to(out);

    write_pod(&w, a->obj, &job, a->code != KS_SUCCESS ? a->text : NULL, now);
    refusals_write(a, &w);
    kjw_end(&w);
    write_room(r->refused, &w);
    write_suggestion(r->suggestion, &w);
    kjw_end(&w);
}

/* ---- lines that wait ------------------------------------------------------------------------- */

static void write_first(struct diagnosis *d)
{
    struct line *l = d->first;

    d->first = l->next;
    if (!d->first)
        d->last = &d->first;
    d->waiting--;
    klog_text(l->text);
    free(l->text);
    free(l);
}

static void on_turn(struct loop *l, void *arg)
{
    struct diagnosis *d = arg;

    d->timer = NULL;
    for (unsigned i = 0; i < d->o.a_turn && d->first; i++)
        write_first(d);
    if (d->first)
        d->timer = loop_after(l, 0, on_turn, d);
}

static void line_up(struct diagnosis *d, char *text)
{
    struct line *l = xnew0(struct line);

    l->text = text;
    *d->last = l;
    d->last = &l->next;
    d->waiting++;
    if (!d->timer)
        d->timer = loop_after(d->loop, 0, on_turn, d);
}

static bool full(const struct diagnosis *d, const struct kobj *pod)
{
    char key[KOBJ_KEY_MAX];

    if (d->o.blocking || d->waiting < d->o.queue_size)
        return false;
    kobj_key(pod, key, sizeof key);
    KLOG_I(2, "Dropped a diagnosis, too many are waiting to be written", KV_S("pod", key));
    if (d->dropped)
        counter_inc(d->dropped);
    return true;
}

static void begin_line(struct strbuf *text, const struct ks_job *job, const struct objmeta *m)
{
    char uid[KUID_TEXT_MAX];

    kuid_format(m->uid, uid, sizeof uid);
    strbuf_appendf(text, "dump diagnosis for %s, targetPod: %s/%s/%s: $", job->key, m->ns, m->name,
                   uid);
}

static void write_line(struct diagnosis *d, const struct strbuf *text)
{
    if (d->o.blocking)
        klog_text(strbuf_str(text));
    else
        line_up(d, xstrdup(strbuf_str(text)));
}

void diagnosis_dump(struct diagnosis *d, struct attempt *a, const struct diagnosis_room *r)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    if (!d->o.on || full(d, a->obj))
        return;
    const struct ks_job job = job_of(a->profile, a->obj, a->arena);
    begin_line(&text, &job, &a->obj->meta);
    diagnosis_write(a, r, loop_wall(d->loop), &text);
    write_line(d, &text);
}

void diagnosis_follows(struct diagnosis *d, const struct profile *p, const struct kobj *pod,
                       const char *why)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(arena_free) struct arena *a = NULL;

    if (!d->o.on)
        return;
    a = arena_new_sized(512);
    const struct ks_job job = job_of(p, pod, a);
    if (!job.follows || full(d, pod))
        return;
    struct kjw w = kjw_to(&text);
    begin_line(&text, &job, &pod->meta);
    write_pod(&w, pod, &job, why, loop_wall(d->loop));
    kjw_end(&w);
    write_room("", &w);
    kjw_end(&w);
    write_line(d, &text);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct diagnosis *diagnosis_new(struct loop *l, struct metrics *m, const struct diagnosis_opts *o)
{
    struct diagnosis *d = xnew0(struct diagnosis);

    d->loop = l;
    d->o = *o;
    d->o.queue_size = o->queue_size ? o->queue_size : 1000;
    d->o.a_turn = o->a_turn ? o->a_turn : 10;
    d->last = &d->first;
    d->dropped = m ? metric_counter(metrics_add(m, &dropped_desc), NULL) : NULL;
    return d;
}

struct diagnosis *diagnosis_free(struct diagnosis *d)
{
    if (!d)
        return NULL;
    while (d->first)
        write_first(d);
    timer_cancel(d->timer);
    free(d);
    return NULL;
}

struct diagnosis_opts *diagnosis_settings(struct diagnosis *d)
{
    return &d->o;
}
