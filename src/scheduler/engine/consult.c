/* consult.c - extenders are asked in the middle of an attempt (scheduler-core 4.4, 5.1 step 6).
 *
 * An attempt runs in one piece, an answer takes its time. So the candidates are found and the
 * extenders asked first; when all have answered the attempt is made, from the cache as it is then,
 * with what they said. No other attempt begins meanwhile, as in upstream's single loop, so nobody
 * takes the room; bindings go on. A pod that is not the same any more begins again.
 */
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/engine/internal.h"
#include "scheduler/extender/extender.h"
#include "scheduler/framework/preemption.h"

struct consult {
    struct scheduler *s;
    struct active_profile *active;
    struct kobj *pod;
    struct extenders *extenders; /* that were asked; held by round and extender preemption */
    struct round *round;
    bool nominated_only; /* they are asked about the node that is nominated for the pod, no other */
    struct extender_preemption *preemption;
    struct failure failure; /* extender preemption: will be reported */
    char *message;          /* of the failure */
};

static struct consult *consult_new(struct scheduler *s, struct active_profile *active,
                                   struct kobj *pod)
{
    struct consult *c = xnew0(struct consult);

    *c = (struct consult){
        .s = s, .active = active, .pod = kobj_ref(pod), .extenders = s->extenders
    };
    active->users++;
    return c;
}

static void consult_end(struct consult *c)
{
    round_free(c->round);
    extender_preemption_free(c->preemption);
    scheduler_profile_done(c->s, c->active);
    kobj_unref(c->pod);
    free(c->message);
    free(c);
}

void consult_free(struct scheduler *s)
{
    if (s->consult)
        consult_end(take(s->consult));
}

void consult_drop(struct scheduler *s, struct kuid uid)
{
    if (!s->consult || !kuid_equal(s->consult->pod->meta.uid, uid))
        return;
    consult_free(s);
    scheduler_wake(s);
}

static void consult_begin(struct scheduler *s, struct consult *c)
{
    s->consult = c;
    /* What happens meanwhile may be what the pod waits for when it is rejected. */
    podqueue_hold(s->queue, c->pod->meta.uid);
}

static bool same_pairs(const kstrmap *a, const kstrmap *b)
{
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!streq(a->items[i].key, b->items[i].key) ||
            !streq(a->items[i].value, b->items[i].value))
            return false;
    return true;
}

/* Is what they said about this pod, under these settings? Equal specs are one. */
static bool still_holds(const struct consult *c, const struct kobj *now)
{
    return pod_of(c->pod)->spec == pod_of(now)->spec &&
           same_pairs(&c->pod->meta.labels, &now->meta.labels) &&
           same_pairs(&c->pod->meta.annotations, &now->meta.annotations) && !now->meta.deleted &&
           nodecache_find(c->s->cache, now->meta.uid, NULL) == NODECACHE_ABSENT &&
           scheduler_profile(c->s, pod_of(now)) == c->active && c->s->extenders == c->extenders;
}

/* The pod as it is now, when the answer is about it. Otherwise NULL, and it begins again. */
static struct kobj *resume(const struct consult *c)
{
    struct scheduler *s = c->s;
    struct kobj *now = NULL;

    s->consult = NULL;
    arena_reset(s->arena);
    scheduler_wake(s);
    if (podqueue_find(s->queue, c->pod->meta.uid, &now) != PODQUEUE_IN_FLIGHT)
        return NULL;
    if (still_holds(c, now))
        return now;
    cycle_run(s, now);
    return NULL;
}

/* ---- candidates ------------------------------------------------------------------------------ */

static bool ask_about(struct scheduler *s, struct active_profile *active, struct kobj *pod,
                      bool nominated_first);

/* Nothing came of the nominated node: now about all nodes. */
static bool ask_again(const struct consult *c, struct kobj *pod, const struct attempt_advice *said)
{
    bool kept = said && said->n && said->items[0].code == KS_SUCCESS;
    return c->nominated_only && !kept && ask_about(c->s, c->active, pod, false);
}

static void on_advice(void *arg, const struct attempt_advice *said, const struct kerr *err)
{
    struct consult *c = arg;
    struct kobj *pod = resume(c);

    if (pod && ask_again(c, pod, said))
        pod = NULL;
    if (pod && err && !c->nominated_only) /* what was wrong with the nominated node is no matter */
        cycle_failed(c->s, c->active, pod,
                     &(struct failure){ .error = true, .message = err->text });
    else if (pod)
        cycle_try(c->s, c->active, pod, said);
    consult_end(c);
}

static uint32_t candidates(const struct attempt *a, struct round_node *ret)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < a->n; i++)
        if (!a->by[i])
            ret[n++] = (struct round_node){ nodecache_row_name(a->cache, i),
                                            (struct kobj *)&a->cycle.nodes->node[i]->obj };
    return n;
}

static bool ask_about(struct scheduler *s, struct active_profile *active, struct kobj *pod,
                      bool nominated_first)
{
    struct attempt_input in = cycle_input(s, active, pod);
    struct attempt a;

    in.nominated_first = nominated_first;
    attempt_init(&a, &in, s->arena);
    if (a.n)
        attempt_filter(&a);
    attempt_end(&a);
    if (!a.feasible)
        return false;
    struct round_node *nodes = arena_newn0(s->arena, a.feasible, struct round_node);
    uint32_t n = candidates(&a, nodes);
    struct consult *c = consult_new(s, active, pod);
    c->nominated_only = a.nominated_fits;
    c->round = round_start(s->extenders, pod, nodes, n, on_advice, c);
    if (!c->round) {
        consult_end(c);
        return false;
    }
    consult_begin(s, c);
    return true;
}

bool consult_candidates(struct scheduler *s, struct active_profile *active, struct kobj *pod)
{
    return (extenders_first(s->extenders, EXTENDER_FILTER, pod_of(pod)) ||
            extenders_first(s->extenders, EXTENDER_PRIORITIZE, pod_of(pod))) &&
           ask_about(s, active, pod, true);
}

/* ---- victims --------------------------------------------------------------------------------- */

static void on_victims(void *arg, const struct preemption *left, const struct kerr *err)
{
    struct consult *c = arg;
    struct kobj *pod = resume(c);
    CLEANUP(strbuf_fini) struct strbuf message = STRBUF_INIT;
    struct failure f = c->failure;

    if (pod) {
        strbuf_append(&message, c->message);
        if (err || !left)
            strbuf_appendf(&message, " preemption: %s",
                           err ? err->text : "no candidate node for preemption");
        f.nomination = NOMINATION_KEEP;
        f.message = strbuf_str(&message);
        cycle_outcome(c->s, c->active, pod,
                      &(struct post_filter_outcome){ left  ? KS_SUCCESS
                                                     : err ? KS_ERROR
                                                           : KS_UNSCHEDULABLE,
                                                     f.message, c->message, left, true },
                      &f);
        cycle_failed(c->s, c->active, pod, &f);
    }
    consult_end(c);
}

bool consult_victims(struct scheduler *s, struct active_profile *active, struct kobj *pod,
                     const struct preemption *plans, const struct failure *f)
{
    if (!extenders_first(s->extenders, EXTENDER_PREEMPT, pod_of(pod)))
        return false;
    struct consult *c = consult_new(s, active, pod);
    c->failure = *f;
    c->message = xstrdup(f->message);
    c->preemption = extender_preemption_start(s->extenders, pod, plans, on_victims, c);
    consult_begin(s, c);
    return true;
}
