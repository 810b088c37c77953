/* bind.c - the states of a pod on its way to its node, and how that ends (binding.h). */
#include "api/pod.h"
#include "base/arena.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/informer.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "scheduler/engine/binding.h"
#include "scheduler/observe/monitor.h"

#define ASK_WAIT_MIN (100 * NSEC_PER_MSEC)

/* ---- states ---------------------------------------------------------------------------------- */

static void doom(struct binding *b)
{
    waitlist_leave(b);
    waitlist_join(&b->s->doomed, b);
}

#define TO(state) (1u << BIND_##state)
static const struct {
    unsigned next; /* where it may go from here */
    void (*enter)(struct binding *b);
} states[BIND_STATES] = {
    [BIND_START] = { TO(HELD) | TO(LINE) | TO(ASK) | TO(OVER), NULL },
    [BIND_HELD] = { TO(LINE) | TO(DOOMED) | TO(OVER), permit_hold },
    [BIND_LINE] = { TO(PRE_BIND) | TO(DOOMED) | TO(OVER), permit_line_up },
    [BIND_DOOMED] = { TO(OVER), doom },
    [BIND_PRE_BIND] = { TO(WRITE) | TO(SEND) | TO(OVER), prebind_start },
    [BIND_WRITE] = { TO(SEND) | TO(RESTORE) | TO(OVER), bindwrite_start },
    [BIND_SEND] = { TO(ASK) | TO(RESTORE) | TO(OVER), bindsend_start },
    [BIND_ASK] = { TO(SEND) | TO(RESTORE) | TO(OVER), bindsend_ask },
    [BIND_RESTORE] = { TO(OVER), bindwrite_restore },
    [BIND_OVER] = { 0, NULL },
};

void binding_enter(struct binding *b, enum bind_state to)
{
    assert(states[b->state].next >> to & 1);
    b->s->nheld -= b->state == BIND_HELD;
    b->s->nheld += to == BIND_HELD;
    b->state = to;
    if (states[to].enter)
        states[to].enter(b);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void binding_end(struct binding *b)
{
    struct scheduler *s = b->s;

    if (b->state != BIND_OVER)
        binding_enter(b, BIND_OVER);
    waitlist_leave(b);
    *b->link = b->next;
    if (b->next)
        b->next->link = b->link;
    s->nbindings--;
    uidmap_remove(&s->bindings_by_uid, b->uid);
    kube_cancel(b->call);
    timer_cancel(b->timer);
    bindsend_fini(b);
    bindwrite_fini(b);
    free(b->permit);
    free(b->verdict);
    free(b->message);
    free(b->version);
    free(b->nominated);
    kobj_unref(b->pub.pod);
    if (b->batch)
        batch_left(b->batch, b->bound);
    if (b->active)
        scheduler_profile_done(s, b->active);
    free(b->node);
    free(b);
    scheduler_wake(s);
}

static const struct ks_bind_ops bind_ops = { prebind_done, bindwrite_want, bindwrite_annotations };

static struct binding *binding_new(struct scheduler *s, struct active_profile *active,
                                   struct kobj *pod, const char *node)
{
    struct binding *b = xnew0(struct binding);

    b->uid = pod->meta.uid;
    b->s = s;
    b->active = active;
    if (active)
        active->users++;
    b->subject = subject_of(active, pod_of(pod));
    const struct kobj *o = subject_object(&b->subject, pod_of(pod));
    kuid_format(o ? o->meta.uid : pod->meta.uid, b->object_uid, sizeof b->object_uid);
    b->node = xstrdup(node);
    b->pub = (struct ks_bind){ kobj_ref(pod), b->node, &bind_ops };
    b->wait = ASK_WAIT_MIN;
    b->since = loop_mono(s->loop);
    b->turn_begun = s->turn;
    b->next = s->bindings;
    b->link = &s->bindings;
    if (b->next)
        b->next->link = &b->next;
    s->bindings = b;
    s->nbindings++;
    uidmap_put(&s->bindings_by_uid, b);
    return b;
}

void binding_free_all(struct scheduler *s)
{
    while (s->bindings) {
        prebind_cancel(s->bindings);
        binding_end(s->bindings);
    }
    uidmap_fini(&s->bindings_by_uid);
}

struct binding *binding_find(const struct scheduler *s, struct kuid uid)
{
    return uidmap_get(&s->bindings_by_uid, uid);
}

size_t binding_waiting(const struct scheduler *s)
{
    return s->nheld;
}

void binding_count_time(struct binding *b, enum lap what, enum ks_code code)
{
    nsec_t now = loop_stopwatch(b->s->loop);

    times_add(b->active->times, what, -1, code, now - b->began);
    if (what == LAP_BIND && b->each && !b->binder && b->subject.slot >= 0)
        times_add(b->active->times, what, b->subject.slot, code, now - b->began);
    b->began = now;
}

/* ---- the server has it ----------------------------------------------------------------------- */

static void post_bind(struct binding *b)
{
    const struct profile_point *point = &b->active->profile->points[KS_POINT_POST_BIND];
    struct stretch x;

    if (point->n == 0)
        return;
    struct stopwatch *w = stretch_begin(&x, b->active->times, b->each);
    for (uint32_t i = 0; i < point->n; i++) {
        const struct profile_slot *s = &b->active->profile->slots[point->slots[i]];
        s->plugin->post_bind(s->self, pod_of(b->pub.pod), b->node);
        stopwatch_plugin(w, LAP_POST_BIND, point->slots[i], KS_SUCCESS);
    }
    stopwatch_point(w, LAP_POST_BIND, KS_SUCCESS);
}

void binding_succeeded(struct binding *b)
{
    struct scheduler *s = b->s;
    struct kuid uid = b->pub.pod->meta.uid;
    struct podqueue_info info;

    if (!b->was_bound) {
        s->scheduled++;
        binding_count_time(b, LAP_BIND, KS_SUCCESS);
        monitor_ended(s->monitor, uid);
        if (podqueue_info(s->queue, uid, &info))
            smetrics_bound(b->active->metrics, info.attempts, loop_mono(s->loop) - info.first);
        smetrics_attempt(b->active->metrics, RESULT_SCHEDULED, loop_mono(s->loop) - b->since);
        report_scheduled(b->active, b->pub.pod, b->node);
        KLOG_I(2, "Bound pod", KV_S("pod", LOG_KEY(b->pub.pod)), KV_S("node", b->node));
    }
    b->bound = true;
    podqueue_remove(s->queue, uid);
    nodecache_bound(s->cache, uid, loop_mono(s->loop) + s->confirm_after);
    scheduler_watch_bound(s);
    binding_enter(b, BIND_OVER);
    if (!b->was_bound)
        post_bind(b);
    binding_end(b);
}

/* ---- it came to nothing ---------------------------------------------------------------------- */

/* True: nothing else is being undone. */
static bool undo_begin(struct scheduler *s)
{
    bool outermost = !s->undoing;
    s->undoing = true;
    return outermost;
}

/* Plugins that are told of the end of one may reject others, as a gang does with all of it. These
 * are undone one after the other, not one within the other: there may be thousands. */
static void undo_end(struct scheduler *s, bool outermost)
{
    struct binding *b;

    if (!outermost)
        return;
    while ((b = s->doomed.first))
        binding_rejected(b, b->rejectors,
                         &(struct ks_rejection){ b->verdict, b->nomination, b->quiet });
    s->undoing = false;
}

/* Undoes what the attempt did, in reverse order. True: others may wait for what is free now: room,
 * or what plugins kept when the cache had forgotten the pod already. */
static bool undo(struct binding *b)
{
    struct scheduler *s = b->s;
    struct stretch x;

    binding_enter(b, BIND_OVER);
    waitlist_leave(b);
    prebind_cancel(b);
    if (!b->was_bound)
        profile_unreserve(b->active->profile, pod_of(b->pub.pod), b->node,
                          stretch_begin(&x, b->active->times, b->each));
    return notify_forget(s, b->pub.pod) || !b->was_bound;
}

/* The informer tells the rest. */
void binding_vanished(struct binding *b)
{
    struct scheduler *s = b->s;
    bool outermost = undo_begin(s);

    if (undo(b))
        watch_pod_gone(s, b->pub.pod);
    podqueue_remove(s->queue, b->pub.pod->meta.uid);
    binding_end(b);
    undo_end(s, outermost);
}

void binding_lost(struct binding *b)
{
    b->lost = true;
    if (b->wrote)
        binding_enter(b, BIND_RESTORE);
    else
        binding_vanished(b);
}

/* Its binding was accepted and came undone: it is new to the queue. */
static void queue_again(struct scheduler *s, const struct kobj *was)
{
    char key[KOBJ_KEY_MAX];

    kobj_key(was, key, sizeof key);
    struct kobj *pod = placeholder_find(s, was->meta.uid);
    pod = pod ? pod : informer_get(s->pods, key);
    if (pod && kuid_equal(pod->meta.uid, was->meta.uid) && !pod->meta.deleted &&
        str_empty(pod_of(pod)->node_name) && !pod_is_terminal(pod_of(pod)) &&
        scheduler_profile(s, pod_of(pod)))
        podqueue_put(s->queue, pod);
}

void binding_give_up(struct binding *b, const struct failure *f)
{
    struct scheduler *s = b->s;
    struct kobj *pod = NULL;
    bool outermost = undo_begin(s);
    bool news = !(f->quiet && b->turn_begun == s->turn); /* nobody else was tried meanwhile */
    enum bind_state was = b->state;

    if (b->batch && was <= BIND_DOOMED)
        batch_refused(b->batch, f->message);
    else if (b->batch)
        batch_failed(b->batch, f->error, was == BIND_PRE_BIND);
    bool room = undo(b);
    if (podqueue_find(s->queue, b->pub.pod->meta.uid, &pod) == PODQUEUE_IN_FLIGHT) {
        if (!b->was_bound)
            smetrics_attempt(b->active->metrics, f->error ? RESULT_ERROR : RESULT_UNSCHEDULABLE,
                             loop_mono(s->loop) - b->since);
        report_failure(s, pod, f);
    } else if (!pod) {
        queue_again(s, b->pub.pod);
    }
    if (room && news)
        watch_room_free(s, b->pub.pod);
    binding_end(b);
    undo_end(s, outermost);
}

void binding_failed(struct binding *b, const char *text)
{
    b->message = xstrdup(text);
    b->failure = (struct failure){ .error = true, .message = b->message };
    if (b->wrote)
        binding_enter(b, BIND_RESTORE);
    else
        binding_give_up(b, &b->failure);
}

/* A plugin said no: the one node that there was does not do. */
static void unschedulable(struct binding *b, struct failure f, const struct ks_texts *why)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    bool listened = b->state == BIND_START || b->state == BIND_HELD || b->state == BIND_DOOMED;

    tally_one_node(why, &text);
    /* Nobody listened for it since it had its permits, and slots of a profile that was replaced
     * mean others now: it waits for no event, and its back-off is not cut short, as after an error.
     */
    if (!listened || scheduler_profile(b->s, pod_of(b->pub.pod)) != b->active)
        f.rejectors = f.pending = 0;
    f.message = strbuf_str(&text);
    binding_give_up(b, &f);
}

void binding_refused(struct binding *b, const char *point, uint32_t slot, enum ks_code code,
                     const struct ks_texts *why)
{
    struct failure f = failure_of(code, slot);

    if (!f.error) {
        unschedulable(b, f, why);
        return;
    }
    f.message = arena_printf(why->arena, "running %s plugin \"%s\": %s", point,
                             b->active->profile->slots[slot].plugin->name, ks_texts_join(why));
    binding_give_up(b, &f);
}

/* What was nominated before its attempt has made room for others since; it is claimed again. */
static void nominate_again(struct binding *b)
{
    struct kobj *pod;

    if (b->nominated && podqueue_find(b->s->queue, b->uid, &pod) == PODQUEUE_IN_FLIGHT)
        nominator_set(b->s->nominator, pod, b->nominated);
}

void binding_rejected(struct binding *b, uint64_t rejectors, const struct ks_rejection *r)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct ks_texts one = { .arena = a };
    struct failure f = { .rejectors = rejectors, .quiet = r->quiet };

    if (r->nomination == KS_NOMINATION_ITS_NODE) {
        f.nomination = NOMINATION_SET;
        f.node = arena_strdup(a, b->node);
    } else if (r->nomination == KS_NOMINATION_BEFORE && b->nominated) {
        f.nomination = NOMINATION_KEEP;
        nominate_again(b);
    }
    ks_texts_add(&one, arena_strdup(a, r->why)); /* it may be the binding's own */
    unschedulable(b, f, &one);
}

bool binding_reject(struct scheduler *s, struct kuid uid, const char *plugin, const char *why)
{
    struct binding *b = binding_find(s, uid);

    if (!b || (b->state != BIND_HELD && b->state != BIND_LINE && b->state != BIND_DOOMED &&
               b->state != BIND_PRE_BIND))
        return false;
    int slot = profile_slot(b->active->profile, plugin);
    permit_refuse(b, slot < 0 ? b->waits : UINT64_C(1) << slot, &(struct ks_rejection){ why });
    return true;
}

/* ---- the beginning --------------------------------------------------------------------------- */

void binding_start(struct scheduler *s, struct active_profile *active, struct kobj *pod,
                   const char *node, struct batch *batch)
{
    CLEANUP(arena_free) struct arena *a = NULL;
    struct binding *b = binding_new(s, active, pod, node);

    b->batch = batch;
    b->each = times_each(active->times);
    if (active->profile->points[KS_POINT_PERMIT].n) {
        a = arena_new_sized(256); /* for texts, which are rare */
        if (!permit_ask(b, a))
            return;
    }
    bool may_wait;
    if (!prebind_flight(b, &may_wait))
        return;
    const char *had = nominator_node(s->nominator, pod->meta.uid);
    b->nominated = had ? xstrdup(had) : NULL;
    nominator_remove(s->nominator, pod->meta.uid);
    /* Others should know for whom the room is kept. One that is held is told of in permit_say(), if
     * it still is then. */
    if (may_wait && !b->waits)
        report_nominated(s, pod, node);
    binding_enter(b, b->waits ? BIND_HELD : BIND_LINE);
}

void binding_verify(struct scheduler *s, struct kobj *pod, const char *node)
{
    struct binding *b = binding_new(s, scheduler_profile(s, pod_of(pod)), pod, node);

    b->was_bound = true;
    kerr_set(&b->err, -ETIMEDOUT, "the accepted binding did not take effect");
    binding_enter(b, BIND_ASK);
}
