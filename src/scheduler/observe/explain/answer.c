/* answer.c - what a ScheduleExplanation says about a pod (api-crds 10, scheduler-core 11.2): an
 * attempt on the scheduler's own cache, of which nothing is carried out.
 */
#include "scheduler/observe/explain/answer.h"

#include "api/pod.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "client/informer.h"
#include "loop/loop.h"
#include "scheduler/engine/internal.h"
#include "scheduler/framework/preemption.h"
#include "scheduler/observe/explain/refusals.h"
#include "json/kj.h"

enum { ANSWER_NODES_MAX = 100 }; /* nodes with victims: an object has its limits */

struct answer {
    struct arena *arena;
    const struct kobj *pod;
    bool schedulable, after_preemption;
    const char *failed;             /* NULL: nothing did */
    const char *node;               /* it is there, or would be; NULL: nowhere */
    struct attempt *attempt;        /* NULL: none was made */
    const char *room_failed;        /* why no room can be made; NULL: it can, or nobody was asked */
    const struct preemption *plans; /* how room can be made, the best first; NULL: not */
};

/* ---- the status ------------------------------------------------------------------------------ */

static void write_pod(struct kjw *w, const struct kobj *pod)
{
    char uid[KUID_TEXT_MAX];

    kuid_format(pod->meta.uid, uid, sizeof uid);
    kjw_str(w, "namespace", pod->meta.ns);
    kjw_str(w, "name", pod->meta.name);
    kjw_str(w, "uid", uid);
}

static void write_place(struct kjw *w, const struct kobj *pod, const char *node)
{
    kjw_arr(w, "feasibleSchedulingResult");
    kjw_obj(w, NULL);
    write_pod(w, pod);
    kjw_str(w, "nodeName", node);
    kjw_end(w);
    kjw_end(w);
}

/* All pods for which room would be made: a plan may be about several. */
static void write_places(struct kjw *w, const struct preemption *plan)
{
    kjw_arr(w, "feasibleSchedulingResult");
    for (uint32_t i = 0; i < plan->n; i++) {
        for (uint32_t k = 0; k < plan->nodes[i].nnominees; k++) {
            kjw_obj(w, NULL);
            write_pod(w, plan->nodes[i].nominees[k]);
            kjw_str(w, "nodeName", plan->nodes[i].node);
            kjw_end(w);
        }
    }
    kjw_end(w);
}

static void write_verdict(struct kjw *w, bool schedulable, const char *failed)
{
    kjw_bool(w, "schedulable", schedulable);
    if (failed)
        kjw_str(w, "failedMessage", failed);
}

static void write_attempt(struct kjw *w, const struct answer *r)
{
    kjw_obj(w, "scheduleExplanation");
    write_verdict(w, r->node != NULL, r->node ? NULL : r->failed);
    if (r->node)
        write_place(w, r->pod, r->node);
    if (r->attempt)
        refusals_write(r->attempt, w);
    kjw_end(w);
}

static void write_room(struct kjw *w, const struct answer *r)
{
    if (!r->plans && !r->room_failed)
        return;
    kjw_obj(w, "preemptExplanation");
    write_verdict(w, r->plans != NULL, r->room_failed);
    if (r->plans)
        write_places(w, r->plans);
    kjw_end(w);
}

static void write_node_victims(struct kjw *w, const struct scheduler *s,
                               const struct preemption_node *n)
{
    kjw_obj(w, NULL);
    kjw_str(w, "nodeName", n->node);
    kjw_arr(w, "possibleVictims");
    for (uint32_t i = 0; i < n->n; i++) {
        const struct kobj *victim = &n->victims[i]->obj;
        kjw_obj(w, NULL);
        write_pod(w, victim);
        kjw_bool(w, "isNominatedPod", nominator_node(s->nominator, victim->meta.uid) != NULL);
        kjw_end(w);
    }
    kjw_end(w);
    kjw_end(w);
}

static void write_victims(struct kjw *w, const struct scheduler *s, const struct answer *r)
{
    unsigned n = 0;

    if (!r->plans)
        return;
    kjw_arr(w, "nodePossibleVictims");
    for (const struct preemption *p = r->plans; p; p = p->next)
        for (uint32_t i = 0; i < p->n && n < ANSWER_NODES_MAX; i++, n++)
            write_node_victims(w, s, &p->nodes[i]);
    kjw_end(w);
}

static void write_summary(struct kjw *w, const struct answer *r)
{
    kjw_bool(w, "schedulable", r->schedulable);
    kjw_bool(w, "schedulableAfterPreemption", r->after_preemption);
    kjw_str(w, "failedMessage", r->failed ? r->failed : "");
}

static void write_answer(struct kjw *w, const struct scheduler *s, const struct answer *r)
{
    write_summary(w, r);
    kjw_arr(w, "detailedExplanation");
    kjw_obj(w, NULL);
    write_summary(w, r);
    if (r->pod) {
        write_attempt(w, r);
        write_room(w, r);
        write_victims(w, s, r);
    }
    kjw_end(w);
    kjw_end(w);
}

/* ---- finding out ----------------------------------------------------------------------------- */

/* The first by name among the best, so that equal clusters give equal answers. */
static const char *best_node(const struct attempt *a)
{
    const char *best = NULL;
    int64_t total = 0;

    for (uint32_t i = 0; i < a->n; i++) {
        const char *name = nodecache_row_name(a->cache, i);
        if (a->by[i] || (best && a->total[i] < total))
            continue;
        if (!best || a->total[i] > total || strcmp(name, best) < 0)
            best = name;
        total = a->total[i];
    }
    return best;
}

/* As in an attempt: the first plan counts; without one all words go to the message. */
static void ask_for_room(struct answer *r, struct strbuf *message)
{
    struct post_filter_result *said = arena_new0(r->arena, struct post_filter_result);

    post_filter_run(r->attempt, NULL, said);
    if (said->code == KS_SUCCESS)
        r->plans = &said->plan;
    r->after_preemption = r->plans != NULL;
    if (r->plans || said->why.n == 0)
        return;
    r->room_failed = ks_texts_join(&said->why);
    strbuf_appendf(message, " %s", r->room_failed);
}

static void explain_failure(struct answer *r)
{
    CLEANUP(strbuf_fini) struct strbuf message = STRBUF_INIT;
    struct attempt *a = r->attempt;

    if (a->n == 0) {
        r->failed = "no nodes available to schedule pods";
        return;
    }
    if (a->code == KS_ERROR) {
        r->failed = a->text;
        return;
    }
    attempt_message(a, &message);
    ask_for_room(r, &message);
    r->failed = arena_strdup(r->arena, strbuf_str(&message));
}

static void try_it(struct scheduler *s, const struct active_profile *active, struct kobj *pod,
                   struct answer *r)
{
    struct attempt *a = r->attempt = arena_new0(r->arena, struct attempt);

    attempt_init(a,
                 &(struct attempt_input){ .profile = active->profile,
                                          .cache = s->cache,
                                          .nominator = s->nominator,
                                          .objects = s->objects,
                                          .pod = pod,
                                          .now = loop_wall(s->loop),
                                          .complete = true,
                                          .all_plans = true },
                 r->arena);
    if (a->n)
        attempt_filter(a);
    if (a->feasible && attempt_score(a) == 0)
        r->node = best_node(a);
    else
        explain_failure(r);
    r->schedulable = r->node != NULL;
}

/* A plugin keeps the pod out of the queue: that comes before all that nodes say. */
static void check_hold(const struct active_profile *active, struct answer *r)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct ks_texts why = { .arena = r->arena };
    int slot = profile_pre_enqueue(active->profile, pod_of(r->pod), &why);

    if (slot < 0)
        return;
    strbuf_appendf(&text, "held by %s", active->profile->slots[slot].plugin->name);
    for (uint32_t i = 0; i < why.n; i++)
        strbuf_appendf(&text, "%s%s", i ? ", " : ": ", why.items[i]);
    if (r->failed)
        strbuf_appendf(&text, "; then: %s", r->failed);
    r->failed = arena_strdup(r->arena, strbuf_str(&text));
    r->schedulable = r->after_preemption = false;
}

static void explain_pod(struct scheduler *s, struct kobj *pod, struct answer *r)
{
    const struct pod *p = pod_of(pod);
    const struct active_profile *active = scheduler_profile(s, p);

    r->pod = pod;
    if (str_empty(p->node_name))
        nodecache_find(s->cache, pod->meta.uid, &r->node);
    else
        r->node = p->node_name;
    r->schedulable = r->node != NULL;
    if (r->node)
        return;
    if (pod->meta.deleted) {
        r->failed = "the pod is being deleted";
    } else if (!active) {
        r->failed = arena_printf(r->arena, "scheduler %s is not run here", p->spec->scheduler_name);
    } else {
        try_it(s, active, pod, r);
        check_hold(active, r);
    }
}

void answer_write(struct scheduler *s, const char *key, struct arena *a, struct kjw *w)
{
    struct answer r = { .arena = a };
    struct kobj *pod = informer_get(s->pods, key);

    if (!pod && answer_write_gang(s, key, a, w))
        return;
    if (pod)
        explain_pod(s, pod, &r);
    else if (!strchr(key, '/'))
        r.failed =
            arena_printf(a, "questionObjectKey '%s' is not the namespace/name of a pod", key);
    else
        r.failed = arena_printf(a, "pod %s does not exist, or has ended", key);
    write_answer(w, s, &r);
    if (r.attempt)
        attempt_end(r.attempt);
}
