/* cycle.c - one attempt: filter all nodes, score the candidates, take one (scheduler-core 5). */
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/events.h"
#include "loop/loop.h"
#include "scheduler/engine/internal.h"
#include "scheduler/extender/extender.h"
#include "scheduler/framework/attempt.h"
#include "scheduler/framework/preemption.h"
#include "scheduler/observe/debug.h"
#include "scheduler/observe/diagnosis.h"
#include "scheduler/observe/monitor.h"
#include "scheduler/observe/times.h"

enum { PLACE_TRIES = 8 }; /* nodes where plugins may refuse to reserve, an attempt */

struct failure failure_of(enum ks_code code, uint32_t slot)
{
    uint64_t bit = UINT64_C(1) << slot;

    if (code != KS_UNSCHEDULABLE && code != KS_UNRESOLVABLE && code != KS_PENDING)
        return (struct failure){ .error = true };
    return (struct failure){ .rejectors = bit, .pending = code == KS_PENDING ? bit : 0 };
}

/* Room on the node is taken, as much as plugins say that the pod shall have there. */
static int assume(struct scheduler *s, struct attempt *a, uint32_t row, const char *node,
                  struct kerr *err)
{
    struct ks_texts why = { .arena = s->arena };
    bool resized = false;
    int slot = s->resize_pods ? attempt_resize(a, row, &resized, &why) : -1;

    if (slot >= 0)
        return kerr_set(err, -ECANCELED, "running ResizePod plugin \"%s\": %s",
                        a->profile->slots[slot].plugin->name, ks_texts_join(&why));
    return notify_assume(s, a->obj, node, resized ? &a->pod.requests : NULL, err);
}

/* Where plugins refused to reserve, and why. */
struct refusals {
    struct tally *reasons;
    uint32_t n, tries; /* rows, and how many of them were asked for */
    struct failure sum;
};

/* A refusal is no error: another row may do. */
static void refused(struct attempt *a, uint32_t row, const char *point, int slot, enum ks_code code,
                    const struct ks_texts *why, struct refusals *r, struct strbuf *error)
{
    struct failure f = failure_of(code, (uint32_t)slot);

    if (f.error)
        strbuf_appendf(error, "running %s plugin \"%s\": %s", point,
                       a->profile->slots[slot].plugin->name, ks_texts_join(why));
    attempt_refuse(a, row);
    uint32_t alike = 1 + attempt_refuse_alike(a, (uint32_t)slot);
    for (uint32_t i = 0; i < why->n; i++)
        tally_add(r->reasons, why->items[i], alike);
    r->n += alike;
    r->tries++;
    r->sum.rejectors |= f.rejectors;
    r->sum.pending |= f.pending;
}

static bool reserve(struct scheduler *s, struct active_profile *active, struct attempt *a,
                    uint32_t row, struct refusals *r, struct strbuf *error)
{
    struct ks_texts why = { .arena = s->arena };
    enum ks_code code = KS_SUCCESS;

    a->stopwatch = times_resume(active->times);
    int slot = attempt_reserve(a, row, &code, &why);
    stopwatch_point(a->stopwatch, LAP_RESERVE, code);
    if (slot < 0)
        return true;
    notify_forget(s, a->obj);
    refused(a, row, "Reserve", slot, code, &why, r, error);
    return false;
}

/* It is known which reservation the pod takes there, before anybody resizes it. */
static bool nominate(struct scheduler *s, struct attempt *a, uint32_t row, struct refusals *r,
                     struct strbuf *error)
{
    struct ks_texts why = { .arena = s->arena };
    enum ks_code code = KS_SUCCESS;
    int slot = attempt_nominate(a, row, &code, &why);

    if (slot >= 0)
        refused(a, row, "ReservationNominate", slot, code, &why, r, error);
    return slot < 0;
}

/* The pod is reserved on the row: true, or it is not and `error` may say why there is no point in
 * trying others. */
static bool take_row(struct scheduler *s, struct active_profile *active, struct attempt *a,
                     uint32_t row, struct refusals *r, struct strbuf *error)
{
    const char *node = nodecache_row_name(s->cache, row);
    struct ks_pod pod = a->pod;
    struct kerr err = { 0 };

    KLOG_I(4, "Chose node", KV_S("pod", LOG_KEY(a->obj)), KV_S("node", node));
    if (!nominate(s, a, row, r, error))
        return false;
    if (s->resize_pods)
        a->stopwatch = times_resume(active->times);
    if (assume(s, a, row, node, &err) < 0) {
        strbuf_append(error, err.text);
        return false;
    }
    bool taken = reserve(s, active, a, row, r, error);
    a->pod = pod; /* as it was before it was resized for this node */
    return taken;
}

bool cycle_take(struct scheduler *s, struct active_profile *active, struct attempt *a, uint32_t row,
                struct failure *ret_sum, struct strbuf *why)
{
    struct refusals r = { .reasons = tally_new(s->arena) };

    if (take_row(s, active, a, row, &r, why))
        return true;
    *ret_sum = r.sum;
    if (why->len)
        *ret_sum = (struct failure){ .error = true };
    else
        tally_format(r.reasons, r.n, why);
    return false;
}

/* Reserved for and bound to a node from here on, in our mind: the best, or when plugins refuse to
 * reserve there, one of the next best. */
static void place(struct scheduler *s, struct active_profile *active, struct attempt *a)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct refusals r = { .reasons = tally_new(s->arena) };
    bool taken = false;
    uint32_t row = 0;

    while (!taken && text.len == 0 && a->feasible && r.tries < PLACE_TRIES) {
        row = attempt_pick(a, s->loop);
        taken = take_row(s, active, a, row, &r, &text);
    }
    if (!taken) /* what keeps it from the other rows may go, too */
        attempt_note_rejectors(a);
    attempt_end(a);
    if (taken) {
        binding_start(s, active, a->obj, nodecache_row_name(s->cache, row), NULL);
        return;
    }
    if (text.len)
        r.sum = (struct failure){ .error = true };
    else
        tally_format(r.reasons, r.n, &text);
    if (!r.sum.error) {
        r.sum.rejectors |= a->rejectors;
        r.sum.pending |= a->pending;
    }
    r.sum.message = strbuf_str(&text);
    cycle_failed(s, active, a->obj, &r.sum);
}

void cycle_outcome(struct scheduler *s, struct active_profile *active, struct kobj *pod,
                   const struct post_filter_outcome *o, struct failure *f)
{
    post_filter_finish(active->profile, pod_of(pod), o, times_resume(active->times));
    if (!o->plan)
        return;
    f->node = preemption_node_for(o->plan, pod->meta.uid);
    f->nomination = f->node ? NOMINATION_SET : NOMINATION_KEEP;
    preempt_start(s, active, pod, o->plan);
}

/* What would help; type NULL: nobody knows. */
static struct ks_suggestion suggest(const struct scheduler *s, struct attempt *a,
                                    const struct post_filter_result *r)
{
    const char *node = nominator_node(s->nominator, a->obj->meta.uid);
    struct ks_suggestion found = { NULL, NULL };

    if (r->code == KS_SUCCESS)
        return found;
    if (node && r->keep)
        return (struct ks_suggestion){
            "WaitingVictimReleased", arena_printf(s->arena, "pods are leaving node %s for it", node)
        };
    for (uint32_t i = 0; i < a->profile->n; i++) {
        const struct profile_slot *slot = &a->profile->slots[i];
        if (slot->plugin->suggest && slot->plugin->suggest(slot->self, a, &found))
            break;
    }
    return found;
}

/* Plugins that can make room are asked; a plan is carried out. True: extenders are asked about it
 * first. */
static bool make_room(struct scheduler *s, struct active_profile *active, struct attempt *a,
                      struct failure *f, struct strbuf *message)
{
    struct post_filter_result r = { .code = KS_UNSCHEDULABLE };

    if (preempt_under_way(s, a->obj->meta.uid)) /* its victims are about to go */
        r.keep = true;
    else
        post_filter_run(a, times_resume(active->times), &r);
    for (uint32_t i = 0; i < r.searches; i++)
        smetrics_preemption(active->metrics);
    if (r.keep || active->profile->points[KS_POINT_POST_FILTER].n == 0)
        f->nomination = NOMINATION_KEEP; /* nobody says that it is out of date */
    bool found = r.code == KS_SUCCESS;
    const char *words = r.why.n == 0 ? "" : ks_texts_join(&r.why);
    const struct ks_suggestion hint = suggest(s, a, &r);
    diagnosis_dump(s->diagnosis, a,
                   &(struct diagnosis_room){ .refused = found ? "" : words,
                                             .suggestion = hint.type ? &hint : NULL });
    if (hint.type)
        words = arena_printf(s->arena, "%s%sSuggestion: {type: %s, message: %s}", words,
                             *words ? " " : "", hint.type, hint.message);
    const char *fit = f->message = arena_strdup(s->arena, strbuf_str(message));
    attempt_end(a);
    if (found && consult_victims(s, active, a->obj, &r.plan, f))
        return true;
    if (*words) {
        strbuf_appendc(message, ' ');
        strbuf_append(message, words); /* it may be long */
    }
    f->message = strbuf_str(message);
    const struct post_filter_outcome o = { r.code, f->message, fit, found ? &r.plan : NULL,
                                           r.keep };
    cycle_outcome(s, active, a->obj, &o, f);
    return false;
}

void cycle_failed(struct scheduler *s, struct active_profile *active, struct kobj *pod,
                  const struct failure *f)
{
    smetrics_attempt(active->metrics, f->error ? RESULT_ERROR : RESULT_UNSCHEDULABLE,
                     loop_stopwatch(s->loop) - s->attempt_began);
    report_failure(s, pod, f);
}

static void nowhere(struct scheduler *s, struct active_profile *active, struct attempt *a)
{
    CLEANUP(strbuf_fini) struct strbuf message = STRBUF_INIT;
    struct failure f = { .error = a->code == KS_ERROR,
                         .rejectors = a->rejectors,
                         .pending = a->pending };

    if (a->n == 0) /* no plugin to wait for: it just backs off */
        strbuf_append(&message, "no nodes available to schedule pods");
    else if (f.error)
        strbuf_append(&message, a->text);
    else
        attempt_message(a, &message);
    if (a->n && !f.error && make_room(s, active, a, &f, &message))
        return;
    attempt_end(a);
    f.message = strbuf_str(&message);
    cycle_failed(s, active, a->obj, &f);
}

struct attempt_input cycle_input(const struct scheduler *s, const struct active_profile *active,
                                 struct kobj *pod)
{
    return (struct attempt_input){
        .profile = active->profile,
        .cache = s->cache,
        .nominator = s->nominator,
        .shapes = s->shapes,
        .objects = s->objects,
        .pod = pod,
        .now = loop_wall(s->loop),
        .nominated_first = true,
        .nominated_once = s->nominated_once,
        .all_plans = extenders_first(s->extenders, EXTENDER_PREEMPT, pod_of(pod)),
    };
}

static void run(struct scheduler *s, struct attempt *a, const struct attempt_input *in)
{
    attempt_init(a, in, s->arena);
    if (a->n)
        attempt_filter(a);
    if (a->feasible == 1) /* nothing to compare it with */
        a->total = arena_newn0(s->arena, a->n, int64_t);
    else if (a->feasible && attempt_score(a) < 0)
        a->feasible = 0;
}

/* Everything made anew, before the attempt itself: what is reused must lead to the same, and
 * somebody may want to see all scores. */
static void run_whole(struct scheduler *s, struct attempt *whole, struct attempt_input in)
{
    in.complete = true;
    run(s, whole, &in);
    if (s->debug_scores && whole->feasible > 1)
        debug_log_scores(whole, s->debug_scores);
    attempt_end(whole);
}

static void verify_reuse(struct attempt *a, const struct attempt *whole)
{
    struct kerr err = { 0 };

    if (a->n == 0 || (attempt_compare(a, whole, &err) == 0 && attempt_verify_rows(a, &err) == 0))
        return;
    KLOG_E(&err, "Reused verdicts differ from computed ones", KV_S("pod", LOG_KEY(a->obj)));
    abort();
}

void cycle_try(struct scheduler *s, struct active_profile *active, struct kobj *pod,
               const struct attempt_advice *advice)
{
    struct attempt_input in = cycle_input(s, active, pod);
    struct attempt a, whole;

    in.advice = advice;
    bool twice = s->verify_reuse || s->debug_scores;
    if (twice)
        run_whole(s, &whole, in);
    in.stopwatch =
        times_begin(active->times, advice || twice ? loop_stopwatch(s->loop) : s->attempt_began);
    run(s, &a, &in);
    a.stopwatch = NULL; /* what follows looks at nodes for other reasons */
    times_took_part(active->times, &a);
    if (s->verify_reuse)
        verify_reuse(&a, &whole);
    smetrics_algorithm(active->metrics, times_last(active->times) - s->attempt_began, a.n,
                       a.feasible);
    if (s->debug_filters)
        debug_log_filters(&a);
    if (batch_is_wanted(s, &a))
        batch_run(s, active, &a);
    else if (a.feasible)
        place(s, active, &a);
    else
        nowhere(s, active, &a);
    times_end(active->times);
}

void cycle_run(struct scheduler *s, struct kobj *pod)
{
    struct active_profile *active = scheduler_profile(s, pod_of(pod));

    arena_reset(s->arena);
    if (nodecache_find(s->cache, pod->meta.uid, NULL) != NODECACHE_ABSENT || !active ||
        binding_find(s, pod->meta.uid)) {
        /* It has a node already, or the server still has to say so, or it is not ours. */
        podqueue_remove(s->queue, pod->meta.uid);
        return;
    }
    if (pod->meta.deleted) {
        recorder_event_on(active->recorder, pod, true, "FailedScheduling", "Scheduling",
                          "skip schedule deleting pod: %s/%s", pod->meta.ns, pod->meta.name);
        podqueue_remove(s->queue, pod->meta.uid);
        return;
    }
    s->attempts++;
    monitor_began(s->monitor);
    s->attempt_began = loop_stopwatch(s->loop);
    if (!consult_candidates(s, active, pod))
        cycle_try(s, active, pod, NULL);
}
