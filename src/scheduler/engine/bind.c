/* bind.c - from the choice of a node to the answer of the server (scheduler-core 5.7, 6).
 *
 * Permit and room (permit.c), pre-bind and one patch for what plugins want written on the pod
 * (prebind.c), binding. The pod is assumed on its node all the while, and the next attempts go on.
 * Until the binding is sent it can be given up at any moment; afterwards an answer that is not a
 * success does not say that nothing happened: it may have been lost on the way, or refused because
 * an earlier try had arrived. So before the room is given to others the server is asked what is
 * true, until it answers; the informer may be faster.
 */
#include "api/pod.h"
#include "base/arena.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/informer.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "scheduler/engine/bind_int.h"
#include "scheduler/extender/extender.h"
#include "scheduler/observe/monitor.h"
#include "json/kj.h"

#define ASK_WAIT_MIN (100 * NSEC_PER_MSEC)
#define ASK_WAIT_MAX (10 * NSEC_PER_SEC)

static void binding_end(struct binding *b)
{
    struct scheduler *s = b->s;

    waitlist_leave(b);
    *b->link = b->next;
    if (b->next)
        b->next->link = b->link;
    s->nbindings--;
    uidmap_remove(&s->bindings_by_uid, b->uid);
    permit_release(b);
    kube_cancel(b->call);
    extender_cancel(b->asked_binder);
    extenders_unref(b->extenders);
    timer_cancel(b->timer);
    prebind_fini(b);
    free(b->permit);
    free(b->verdict);
    kobj_unref(b->pub.pod);
    if (b->plan)
        scheduler_plan_done(s, b->plan);
    free(b->node);
    free(b);
    scheduler_wake(s);
}

static struct binding *binding_new(struct scheduler *s, struct splan *plan, struct kobj *pod,
                                   const char *node)
{
    struct binding *b = xnew0(struct binding);

    b->uid = pod->meta.uid;
    b->s = s;
    b->plan = plan;
    if (plan)
        plan->users++;
    b->node = xstrdup(node);
    b->pub = (struct ks_bind){ kobj_ref(pod), b->node };
    b->wait = ASK_WAIT_MIN;
    b->since = loop_mono(s->loop);
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

/* What went on until now is over; what comes next begins. */
void binding_count_time(struct binding *b, enum lap what, enum ks_code code)
{
    nsec_t now = loop_stopwatch(b->s->loop);

    times_add(b->plan->times, what, -1, code, now - b->began);
    if (what == LAP_BIND && b->each && !b->binder)
        times_add(b->plan->times, what, b->plan->profile->points[KS_POINT_BIND].slots[0], code,
                  now - b->began);
    b->began = now;
}

/* ---- outcomes -------------------------------------------------------------------------------- */

static void post_bind(struct binding *b)
{
    const struct profile_point *point = &b->plan->profile->points[KS_POINT_POST_BIND];
    struct stretch x;

    if (point->n == 0)
        return;
    struct stopwatch *w = stretch_begin(&x, b->plan->times, b->each);
    for (uint32_t i = 0; i < point->n; i++) {
        const struct profile_slot *s = &b->plan->profile->slots[point->slots[i]];
        s->plugin->post_bind(s->self, pod_of(b->pub.pod), b->node);
        stopwatch_plugin(w, LAP_POST_BIND, point->slots[i], KS_SUCCESS);
    }
    stopwatch_point(w, LAP_POST_BIND, KS_SUCCESS);
}

static void succeeded(struct binding *b)
{
    struct scheduler *s = b->s;
    struct kuid uid = b->pub.pod->meta.uid;
    struct podqueue_info info;

    if (!b->was_bound) {
        s->scheduled++;
        binding_count_time(b, LAP_BIND, KS_SUCCESS);
        monitor_ended(s->monitor, uid);
        if (podqueue_info(s->queue, uid, &info))
            smetrics_bound(b->plan->metrics, info.attempts, loop_mono(s->loop) - info.first);
        smetrics_attempt(b->plan->metrics, RESULT_SCHEDULED, loop_mono(s->loop) - b->since);
        report_scheduled(s, b->plan, b->pub.pod, b->node);
        KLOG_I(2, "Bound pod", KV_S("pod", LOG_KEY(b->pub.pod)), KV_S("node", b->node));
    }
    podqueue_remove(s->queue, uid);
    nodecache_bound(s->cache, uid, loop_mono(s->loop) + s->confirm_after);
    scheduler_watch_bound(s);
    if (!b->was_bound)
        post_bind(b);
    binding_end(b);
}

/* Plugins that are told of the end of one may reject others, as a gang does with all of it. These
 * are undone one after the other, not one within the other: there may be thousands. */
void binding_doom(struct binding *b, uint64_t rejectors, const char *why)
{
    waitlist_leave(b);
    waitlist_join(&b->s->doomed, b);
    b->rejectors = rejectors;
    b->verdict = xstrdup(why);
}

/* True: nothing else is being undone. */
static bool undo_begin(struct scheduler *s)
{
    bool outermost = !s->undoing;
    s->undoing = true;
    return outermost;
}

static void undo_end(struct scheduler *s, bool outermost)
{
    struct binding *b;

    if (!outermost)
        return;
    while ((b = s->doomed.first)) {
        waitlist_leave(b);
        permit_refuse(b, b->rejectors, b->verdict);
    }
    s->undoing = false;
}

/* Undoes what the attempt did, in reverse order. True: others may wait for what is free now: room,
 * or what plugins kept when the cache had forgotten the pod already. */
static bool undo(struct binding *b)
{
    struct scheduler *s = b->s;
    struct stretch x;

    b->stage = STAGE_OVER;
    prebind_cancel(b);
    if (b->plan)
        profile_unreserve(b->plan->profile, pod_of(b->pub.pod), b->node,
                          stretch_begin(&x, b->plan->times, b->each));
    return notify_forget(s, b->pub.pod) || b->plan;
}

/* The pod is not there any more, or has another node: the informer tells the rest. */
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

/* The pod is there and has no node. */
void binding_give_up(struct binding *b, const struct failure *f)
{
    struct scheduler *s = b->s;
    struct kobj *pod = NULL;
    char key[KOBJ_KEY_MAX];
    bool outermost = undo_begin(s);

    bool room = undo(b);
    if (podqueue_find(s->queue, b->pub.pod->meta.uid, &pod) == PODQUEUE_IN_FLIGHT) {
        if (b->plan)
            smetrics_attempt(b->plan->metrics, f->error ? RESULT_ERROR : RESULT_UNSCHEDULABLE,
                             loop_mono(s->loop) - b->since);
        report_failure(s, pod, f);
    } else if (!pod) { /* its binding was accepted and came undone: it is new to the queue */
        kobj_key(b->pub.pod, key, sizeof key);
        pod = informer_get(s->pods, key);
        if (pod && kuid_equal(pod->meta.uid, b->pub.pod->meta.uid) && !pod->meta.deleted &&
            str_empty(pod_of(pod)->node_name) && !pod_is_terminal(pod_of(pod)) &&
            scheduler_plan(s, pod_of(pod)))
            podqueue_put(s->queue, pod);
    }
    if (room)
        watch_room_free(s, b->pub.pod);
    binding_end(b);
    undo_end(s, outermost);
}

static void failed(struct binding *b)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    if (b->plan)
        binding_count_time(b, LAP_BIND, KS_ERROR);
    strbuf_appendf(&text, "%s%s",
                   b->binder ? "" : "running Bind plugin \"DefaultBinder\": ", b->err.text);
    binding_give_up(b, &(struct failure){ .error = true, .message = strbuf_str(&text) });
}

/* A plugin said no: the one node that there was does not do. */
static void unschedulable(struct binding *b, struct failure f, const struct ks_texts *why)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    tally_one_node(why, &text);
    /* Nobody listened for it since it had its permits, and slots of a profile that was replaced
     * mean others now: it waits for no event, and its back-off is not cut short, as after an error.
     */
    if (b->stage != STAGE_PERMIT || scheduler_plan(b->s, pod_of(b->pub.pod)) != b->plan)
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
                             b->plan->profile->slots[slot].plugin->name, ks_texts_join(why));
    binding_give_up(b, &f);
}

void binding_rejected(struct binding *b, uint64_t rejectors, const char *why)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct ks_texts one = { .arena = a };

    ks_texts_add(&one, why);
    unschedulable(b, (struct failure){ .rejectors = rejectors }, &one);
}

/* ---- asking what is true --------------------------------------------------------------------- */

static void ask(struct binding *b);

static void on_ask_timer(struct loop *l, void *arg)
{
    struct binding *b = arg;
    (void)l;
    b->timer = NULL;
    ask(b);
}

static void on_told(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct binding *b = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    char uid[KUID_TEXT_MAX];

    b->call = NULL;
    if (err && err->reason == KR_NOT_FOUND) {
        binding_vanished(b);
        return;
    }
    if (err || kj_parse(r->body, r->n, 0, &doc, NULL) < 0) {
        b->timer = loop_after(b->s->loop, loop_jitter(b->s->loop, b->wait, 0.1), on_ask_timer, b);
        b->wait = MIN(b->wait * 2, ASK_WAIT_MAX);
        return;
    }
    const char *node = kj_str_or(kj_path(kj_root(doc), "spec.nodeName"), "");
    kuid_format(b->pub.pod->meta.uid, uid, sizeof uid);
    bool same = streq(kj_str_or(kj_path(kj_root(doc), "metadata.uid"), ""), uid);
    if (same && streq(node, b->node))
        succeeded(b);
    else if (same && !*node)
        failed(b);
    else
        binding_vanished(b);
}

static void ask(struct binding *b)
{
    const char *node = NULL;

    switch (nodecache_find(b->s->cache, b->pub.pod->meta.uid, &node)) {
    case NODECACHE_ADDED: /* the informer was faster */
        if (streq(node, b->node))
            succeeded(b);
        else
            binding_vanished(b);
        return;
    case NODECACHE_ABSENT: binding_vanished(b); return; /* deleted meanwhile */
    case NODECACHE_ASSUMED: break;
    }
    b->call = kube_do(b->s->kube,
                      &(struct kube_req){
                          .verb = KUBE_GET,
                          .kind = &kind_pod,
                          .ns = b->pub.pod->meta.ns,
                          .name = b->pub.pod->meta.name,
                      },
                      on_told, b);
}

/* ---- binding --------------------------------------------------------------------------------- */

static void on_answer(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct binding *b = arg;

    (void)r;
    b->call = NULL;
    if (!err) {
        succeeded(b);
        return;
    }
    b->err = *err;
    if (err->reason == KR_NOT_FOUND)
        binding_vanished(b);
    else
        ask(b);
}

static void write_binding(const struct binding *b, struct strbuf *out)
{
    struct kjw w = kjw_to(out);
    char uid[KUID_TEXT_MAX];

    kuid_format(b->pub.pod->meta.uid, uid, sizeof uid);
    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "v1");
    kjw_str(&w, "kind", "Binding");
    kjw_obj(&w, "metadata");
    kjw_str(&w, "namespace", b->pub.pod->meta.ns);
    kjw_str(&w, "name", b->pub.pod->meta.name);
    kjw_str(&w, "uid", uid);
    kjw_end(&w);
    kjw_obj(&w, "target");
    kjw_str(&w, "kind", "Node");
    kjw_str(&w, "name", b->node);
    kjw_end(&w);
    kjw_end(&w);
}

static void send_to_server(struct binding *b)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    write_binding(b, &body);
    b->call = kube_do(b->s->kube,
                      &(struct kube_req){
                          .verb = KUBE_CREATE,
                          .kind = &kind_pod,
                          .ns = b->pub.pod->meta.ns,
                          .name = b->pub.pod->meta.name,
                          .subresource = "binding",
                          .body = body.data,
                          .body_len = body.len,
                      },
                      on_answer, b);
}

static void on_binder_answer(void *arg, const struct kerr *err)
{
    struct binding *b = arg;

    b->asked_binder = NULL;
    if (!err) {
        succeeded(b);
        return;
    }
    if (extender_is_ignorable(b->binder)) {
        KLOG_E(err, "Extender failed to bind, ignoring it", KV_S("pod", LOG_KEY(b->pub.pod)),
               KV_S("node", b->node));
        b->binder = NULL;
        send_to_server(b);
        return;
    }
    b->err = *err;
    ask(b);
}

/* An extender may do it in our place. */
void binding_send(struct binding *b)
{
    struct scheduler *s = b->s;

    b->stage = STAGE_BIND;
    binding_count_time(b, LAP_PRE_BIND, KS_SUCCESS);
    report_drop(s, b->pub.pod->meta.uid); /* "it does not fit" is not true any more */
    b->binder = extenders_first(s->extenders, EXTENDER_BIND, pod_of(b->pub.pod));
    if (!b->binder) {
        send_to_server(b);
        return;
    }
    b->extenders = extenders_ref(s->extenders);
    b->asked_binder = extender_bind(b->binder, b->pub.pod, b->node, on_binder_answer, b);
}

bool binding_reject(struct scheduler *s, struct kuid uid, const char *plugin, const char *why)
{
    struct binding *b = binding_find(s, uid);

    if (!b || !b->plan || b->stage > STAGE_PRE_BIND || (b->stage == STAGE_PERMIT && !b->held))
        return false;
    int slot = profile_slot(b->plan->profile, plugin);
    permit_refuse(b, slot < 0 ? b->waits : UINT64_C(1) << slot, why);
    return true;
}

/* ---- the beginning --------------------------------------------------------------------------- */

void binding_start(struct scheduler *s, struct splan *plan, struct kobj *pod, const char *node)
{
    CLEANUP(arena_free) struct arena *a = NULL;
    struct binding *b = binding_new(s, plan, pod, node);

    b->each = times_each(plan->times);
    if (plan->profile->points[KS_POINT_PERMIT].n) {
        a = arena_new();
        if (!permit_ask(b, a))
            return;
    }
    bool takes_time;
    if (!prebind_flight(b, &takes_time))
        return;
    nominator_remove(s->nominator, pod->meta.uid);
    if (takes_time || b->waits) /* others should know for whom the room is kept */
        report_nominated(s, pod, node);
    if (b->waits)
        permit_hold(b);
    else
        permit_line_up(b);
}

void binding_verify(struct scheduler *s, struct kobj *pod, const char *node)
{
    struct binding *b = binding_new(s, NULL, pod, node);
    b->was_bound = true;
    b->stage = STAGE_BIND;
    kerr_set(&b->err, -ETIMEDOUT, "the accepted binding did not take effect");
    ask(b);
}
