/* batch.c - the pods of a job are placed in one piece, as the plan of the first of them says, with
 * the gate EnableInlineBatchSchedule (scheduler-core 10.3, sched-gang 8).
 *
 * Node by node, and there by name, each pod has an attempt with that node alone and is reserved.
 * One that cannot be takes all others with it, before anybody was asked for a permit; nobody is
 * evicted for it. Then permits are asked for. When all are there each pod goes its way as any
 * other; otherwise those that still wait are given up.
 */
#include "api/pod.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "scheduler/engine/binding.h"
#include "scheduler/framework/preemption.h"

struct batch { /* lives until the last of its bindings is over */
    struct scheduler *s;
    unsigned refs; /* bindings, and whoever starts them */
    uint32_t bound, failed;
    bool complete; /* all permits are there */
    char *refusal; /* until then: what the first said that did not come through; NULL: nobody */
};
struct seat {
    struct kobj *pod;
    const char *node;
    bool popped, taken;
};
struct job {
    struct scheduler *s;
    struct active_profile *active;
    const struct attempt_plan *plan;
    struct kobj *trigger;
    uint32_t slot; /* of the plugin that made the plan */
    struct seat *seats;
    uint32_t n, ntaken, nfailed;
    const struct seat *first_failed;
    struct failure sum; /* of that one: which slots are in the way */
    struct strbuf why;  /* and in words */
};

bool batch_is_wanted(const struct scheduler *s, const struct attempt *a)
{
    /* Extenders have a say about every pod. */
    return s->batches && a->plan && a->code == KS_SUCCESS && !s->extenders;
}

/* ---- what becomes of its bindings ------------------------------------------------------------ */

void batch_refused(struct batch *b, const char *why)
{
    if (!b->refusal)
        b->refusal = xstrdup(why);
}

void batch_failed(struct batch *b, bool error, bool prebind)
{
    bmetrics_bind_failure(b->s, error ? "error" : "unschedulable", prebind ? "prebind" : "bind");
}

void batch_left(struct batch *b, bool bound)
{
    *(bound ? &b->bound : &b->failed) += 1;
    if (--b->refs)
        return;
    if (b->complete && b->bound && b->failed)
        bmetrics_partial(b->s, b->bound, b->failed);
    free(b->refusal);
    free(b);
}

/* ---- places ---------------------------------------------------------------------------------- */

static const char *key_of(const struct job *j, const struct kobj *o)
{
    return arena_printf(j->s->arena, "%s/%s", o->meta.ns, o->meta.name);
}

static const char *id_of(const struct job *j, const struct kobj *o)
{
    char uid[KUID_TEXT_MAX];

    kuid_format(o->meta.uid, uid, sizeof uid);
    return arena_printf(j->s->arena, "%s/%s/%s", o->meta.ns, o->meta.name, uid);
}

/* What is wrong with the plan; NULL: nothing is. */
static const char *bad_plan(const struct job *j)
{
    const struct attempt_plan *p = j->plan;

    if (p->n == 0)
        return "no pods to schedule";
    for (uint32_t i = 0; i < p->n; i++)
        if (str_empty(p->items[i].node))
            return arena_printf(j->s->arena, "batch schedule plan missing node for pod %s",
                                key_of(j, p->items[i].pod));
    if (p->n < p->min)
        return arena_printf(j->s->arena, "job request is not ready, pod count %u < min member %lld",
                            p->n, (long long)p->min);
    return NULL;
}

static int by_node_and_name(const void *x, const void *y)
{
    const struct seat *a = x, *b = y;
    int r = strcmp(a->node, b->node);

    r = r ? r : strcmp(a->pod->meta.name, b->pod->meta.name);
    return r ? r : strcmp(a->pod->meta.ns, b->pod->meta.ns);
}

/* The pods that are still there and have no node. */
static void find_seats(struct job *j)
{
    struct scheduler *s = j->s;

    j->seats = arena_newn0(s->arena, j->plan->n, struct seat);
    for (uint32_t i = 0; i < j->plan->n; i++) {
        struct kuid uid = j->plan->items[i].pod->meta.uid;
        struct kobj *pod = NULL;
        enum podqueue_place place = podqueue_find(s->queue, uid, &pod);
        bool first = kuid_equal(uid, j->trigger->meta.uid);
        if (place == PODQUEUE_NOWHERE || (place == PODQUEUE_IN_FLIGHT && !first) ||
            pod->meta.deleted || nodecache_find(s->cache, uid, NULL) != NODECACHE_ABSENT)
            continue;
        j->seats[j->n++] = (struct seat){ .pod = pod, .node = j->plan->items[i].node };
    }
    qsort(j->seats, j->n, sizeof *j->seats, by_node_and_name);
}

/* In flight, as the first one is. */
static bool fetch(struct job *j, struct seat *at)
{
    const char *plugin = j->active->profile->slots[j->slot].plugin->name;

    if (kuid_equal(at->pod->meta.uid, j->trigger->meta.uid))
        return true;
    struct kobj *pod = podqueue_pop_this(j->s->queue, at->pod->meta.uid, plugin);
    if (!pod)
        return false;
    at->pod = pod;
    at->popped = true;
    j->s->attempts++;
    return true;
}

static void judge(struct job *j, struct seat *at, struct attempt *a)
{
    uint32_t row = ks_row_of(a->cycle.nodes, at->node);
    struct ks_texts texts = { .arena = j->s->arena };
    CLEANUP(strbuf_fini) struct strbuf refused = STRBUF_INIT;
    const char *id = id_of(j, at->pod);

    j->sum = (struct failure){ .error = a->code == KS_ERROR,
                               .rejectors = a->rejectors,
                               .pending = a->pending };
    if (a->code != KS_SUCCESS) {
        strbuf_appendf(&j->why, "pre-filter failed for pod %s, %s", id, a->text);
    } else if (row == KS_NO_ROW || !attempt_may_have(a, row)) {
        strbuf_appendf(&j->why, "node %s is pre-filter out for pod %s", at->node, id);
    } else if (!a->feasible) {
        attempt_texts(a, row, &texts);
        strbuf_appendf(&j->why, "filter pod %s on node %s failed, err: %s", id, at->node,
                       ks_texts_join(&texts));
    } else if (cycle_take(j->s, j->active, a, row, &j->sum, &refused)) {
        at->taken = true;
    } else {
        strbuf_appendf(&j->why, "reserve pod %s on node %s failed, err: %s", id, at->node,
                       strbuf_str(&refused));
    }
}

static bool take_seat(struct job *j, struct seat *at)
{
    struct scheduler *s = j->s;
    struct attempt a;

    if (!fetch(j, at)) {
        strbuf_appendf(&j->why, "pre-filter failed for pod %s, it is kept out of the queue",
                       id_of(j, at->pod));
        return false;
    }
    nsec_t began = loop_stopwatch(s->loop);
    struct attempt_input in = cycle_input(s, j->active, at->pod);
    in.node = at->node;
    in.ignored_set = j->plan->members;
    attempt_init(&a, &in, s->arena);
    attempt_filter(&a);
    judge(j, at, &a);
    attempt_end(&a);
    bmetrics_pod(s, loop_stopwatch(s->loop) - began);
    return at->taken;
}

static bool is_same_node(const struct job *j, uint32_t i, const struct seat *as)
{
    return i < j->n && streq(j->seats[i].node, as->node);
}

/* False: one of them could not be placed. Those behind it on its node count as failed, too. */
static bool take_seats(struct job *j)
{
    nsec_t began = loop_stopwatch(j->s->loop);

    for (uint32_t i = 0; i < j->n; i++) {
        struct seat *at = &j->seats[i];
        if (!take_seat(j, at)) {
            j->first_failed = at;
            for (j->nfailed = 1; is_same_node(j, i + j->nfailed, at); j->nfailed++)
                ;
            return false;
        }
        j->ntaken++;
        if (is_same_node(j, i + 1, at))
            continue;
        nsec_t now = loop_stopwatch(j->s->loop);
        bmetrics_node(j->s, now - began);
        began = now;
    }
    return true;
}

/* ---- failure --------------------------------------------------------------------------------- */

/* Gives up the places of those from `from` on, the last first, and lets them wait with their job.
 */
static void give_back(struct job *j, uint32_t from)
{
    struct scheduler *s = j->s;

    for (uint32_t i = j->n; i-- > from;) {
        struct seat *at = &j->seats[i];
        if (at->taken) {
            profile_unreserve(j->active->profile, pod_of(at->pod), at->node, NULL);
            notify_forget(s, at->pod);
        }
        if (at->popped)
            podqueue_fail(s->queue, at->pod->meta.uid, UINT64_C(1) << j->slot, 0);
    }
}

static void describe(const struct job *j, struct strbuf *out)
{
    const struct seat *f = j->first_failed;
    const char *sep = "";

    strbuf_appendf(out,
                   "job failed due to job batch schedule failed, assumed %u pods, failed %u pods, "
                   "first failed pod %s@%s failed due to %s",
                   j->ntaken, j->nfailed, key_of(j, f->pod), f->node, strbuf_str(&j->why));
    for (const struct seat *at = j->seats; at < f; at++) {
        if (!streq(at->node, f->node))
            continue;
        if (!*sep)
            strbuf_appendf(out, ", assumed pods on node %s: ", f->node);
        strbuf_appendf(out, "%s%s", sep, key_of(j, at->pod));
        sep = ", ";
    }
}

/* Plugins hear that the job does not fit; nobody makes room for it. */
static void tell_plugins(struct job *j, const char *message, struct failure *f)
{
    cycle_outcome(j->s, j->active, j->trigger,
                  &(struct post_filter_outcome){ KS_UNRESOLVABLE, message, message, NULL, false },
                  f);
}

static void fail(struct job *j)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct failure f = { .rejectors = j->sum.rejectors | UINT64_C(1) << j->slot,
                         .pending = j->sum.pending };

    describe(j, &text);
    f.message = arena_printf(j->s->arena, "0/%u nodes are available: %s.",
                             nodecache_nodes(j->s->cache)->n, strbuf_str(&text));
    bmetrics_cleanup(j->s, "batch_schedule_failure", j->ntaken);
    give_back(j, 0);
    tell_plugins(j, f.message, &f);
    cycle_failed(j->s, j->active, j->trigger, &f);
}

/* ---- permits --------------------------------------------------------------------------------- */

/* It waits: for a permit, or with all of them for the others. */
static bool is_waiting(const struct binding *b)
{
    return b && (b->state == BIND_HELD || b->state == BIND_LINE);
}

static uint32_t count_held(const struct job *j, uint32_t n)
{
    uint32_t held = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct binding *b = binding_find(j->s, j->seats[i].pod->meta.uid);
        held += b && b->state == BIND_HELD;
    }
    return held;
}

/* The first one of the job, which speaks for it, before the others. */
static uint32_t reject_waiting(struct job *j, uint32_t n, const char *why)
{
    const char *plugin = j->active->profile->slots[j->slot].plugin->name;
    uint32_t rejected = 0;

    for (uint32_t i = 0; i < n; i++)
        rejected += is_waiting(binding_find(j->s, j->seats[i].pod->meta.uid));
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < n; i++) {
            struct kuid uid = j->seats[i].pod->meta.uid;
            if (is_waiting(binding_find(j->s, uid)) &&
                (pass == 1 || kuid_equal(uid, j->trigger->meta.uid)))
                binding_reject(j->s, uid, plugin, why);
        }
    }
    return rejected;
}

/* Not all have their permits. n: so many were asked for. */
static void permits_failed(struct job *j, uint32_t n, const char *why)
{
    struct failure f = { .rejectors = UINT64_C(1) << j->slot, .message = why };
    uint32_t rejected = reject_waiting(j, n, why);

    bmetrics_cleanup(j->s, "batch_permit_failure", rejected + j->n - n);
    give_back(j, n);
    tell_plugins(j, why, &f);
    if (podqueue_find(j->s->queue, j->trigger->meta.uid, NULL) == PODQUEUE_IN_FLIGHT &&
        !binding_find(j->s, j->trigger->meta.uid)) /* it was not asked for */
        cycle_failed(j->s, j->active, j->trigger, &f);
}

/* False: they are rolled back. */
static bool ask_permits(struct job *j)
{
    struct scheduler *s = j->s;
    struct batch *b = xnew0(struct batch);
    const char *why = NULL;
    uint32_t n = 0;

    b->s = s;
    b->refs = 1;
    s->batching = true;
    while (n < j->n && !b->refusal) {
        b->refs++;
        binding_start(s, j->active, j->seats[n].pod, j->seats[n].node, b);
        n++;
    }
    uint32_t held = count_held(j, n);
    if (b->refusal)
        why = arena_printf(s->arena, "permit failed for pod %s@%s: %s",
                           key_of(j, j->seats[n - 1].pod), j->seats[n - 1].node, b->refusal);
    else if (held)
        why = arena_printf(s->arena,
                           "inline batch permit did not complete: %u pods are still waiting after "
                           "all pods were permitted",
                           held);
    b->complete = !why;
    if (why)
        permits_failed(j, n, why);
    s->batching = false;
    binding_move_line(s);
    b->bound--; /* nobody's binding */
    batch_left(b, true);
    return !why;
}

/* ---- all of it ------------------------------------------------------------------------------- */

void batch_run(struct scheduler *s, struct active_profile *active, struct attempt *a)
{
    struct job j = { .s = s,
                     .active = active,
                     .plan = a->plan,
                     .trigger = a->obj,
                     .slot = active->profile->extras[PROFILE_FIND_ONE].slots[0],
                     .why = STRBUF_INIT };
    nsec_t began = loop_stopwatch(s->loop);
    const char *bad = bad_plan(&j);
    bool ok = false;

    attempt_end(a);
    if (bad) {
        cycle_failed(s, active, j.trigger, &(struct failure){ .error = true, .message = bad });
    } else {
        find_seats(&j);
        ok = take_seats(&j);
        if (ok)
            ok = ask_permits(&j);
        else
            fail(&j);
    }
    bmetrics_job(s, !ok, loop_stopwatch(s->loop) - began);
    strbuf_fini(&j.why);
}
