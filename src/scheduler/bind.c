/* bind.c - from the choice of a node to the answer of the server (scheduler-core 5.7, 6).
 *
 * Permit, pre-bind, one patch for what plugins want written on the pod, binding. The pod is assumed
 * on its node all the while, and the next attempts go on. Until the binding is sent it can be given
 * up at any moment; afterwards an answer that is not a success does not say that nothing happened:
 * it may have been lost on the way, or refused because an earlier try had arrived. So before the
 * room is given to others the server is asked what is true, until it answers; the informer may be
 * faster.
 */
#include <stdio.h>

#include "api/pod.h"
#include "base/arena.h"
#include "base/klog.h"
#include "base/ktime.h"
#include "base/strbuf.h"
#include "client/informer.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "scheduler/extender/extender.h"
#include "scheduler/internal.h"
#include "json/kj.h"

#define ASK_WAIT_MIN    (100 * NSEC_PER_MSEC)
#define ASK_WAIT_MAX    (10 * NSEC_PER_SEC)
#define PERMIT_WAIT_MAX (15 * 60 * NSEC_PER_SEC)

enum stage { STAGE_PERMIT, STAGE_PRE_BIND, STAGE_PATCH, STAGE_BIND };
struct written { /* what a plugin wants on the pod */
    struct written *next;
    bool label;
    char *key, *value;
};
struct binding {
    struct ks_bind pub;
    struct scheduler *s;
    struct splan *plan; /* NULL: only verified */
    struct binding *next, **link;
    char *node;
    enum stage stage;
    uint64_t waits; /* slots whose permit is missing */
    struct permit { /* [slot], when there is somebody to wait for: when it runs out */
        nsec_t due, wait;
    } * permit;
    nsec_t since;    /* of the wait for permits */
    uint32_t at;     /* the pre-bind plugin at work */
    uint64_t flight; /* slots that have something to do in pre-bind */
    bool asked;      /* that plugin will call ks_bind_done() */
    struct written *written;
    struct kube_call *call;
    struct extenders *extenders; /* whose binder was asked; NULL: the server is asked by us */
    struct extender *binder;     /* NULL again when its failure was ignored */
    struct extender_call *asked_binder;
    struct timer *timer;
    nsec_t wait;     /* before the next question */
    bool was_bound;  /* the server had accepted it; we only wonder why nobody confirms */
    struct kerr err; /* of the binding */
};

static void written_free(struct binding *b)
{
    for (struct written *w; (w = b->written);) {
        b->written = w->next;
        free(w->key);
        free(w->value);
        free(w);
    }
}

static void binding_end(struct binding *b)
{
    struct scheduler *s = b->s;

    *b->link = b->next;
    if (b->next)
        b->next->link = b->link;
    s->nbindings--;
    kube_cancel(b->call);
    extender_cancel(b->asked_binder);
    extenders_unref(b->extenders);
    timer_cancel(b->timer);
    written_free(b);
    free(b->permit);
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
    return b;
}

static const struct profile_slot *at_work(const struct binding *b)
{
    return profile_at(b->plan->profile, KS_POINT_PRE_BIND, b->at);
}

/* The plugin at work will not be heard any more. */
static void cancel_pre_bind(struct binding *b)
{
    if (!b->asked)
        return;
    b->asked = false;
    const struct profile_slot *s = at_work(b);
    if (s->plugin->cancel)
        s->plugin->cancel(s->self, &b->pub);
}

void binding_free_all(struct scheduler *s)
{
    while (s->bindings) {
        cancel_pre_bind(s->bindings);
        binding_end(s->bindings);
    }
}

static struct binding *find(const struct scheduler *s, struct kuid uid)
{
    for (struct binding *b = s->bindings; b; b = b->next)
        if (kuid_equal(b->pub.pod->meta.uid, uid))
            return b;
    return NULL;
}

size_t binding_waiting(const struct scheduler *s)
{
    size_t n = 0;
    for (const struct binding *b = s->bindings; b; b = b->next)
        n += b->plan && b->stage == STAGE_PERMIT;
    return n;
}

/* ---- outcomes -------------------------------------------------------------------------------- */

static void post_bind(struct binding *b)
{
    const struct profile_slot *s;
    for (uint32_t i = 0; (s = profile_at(b->plan->profile, KS_POINT_POST_BIND, i)); i++)
        s->plugin->post_bind(s->self, pod_of(b->pub.pod), b->node);
}

static void succeeded(struct binding *b)
{
    struct scheduler *s = b->s;
    struct kuid uid = b->pub.pod->meta.uid;
    struct podqueue_info info;

    if (!b->was_bound) {
        s->scheduled++;
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

/* Undoes what the attempt did, in reverse order. True: there is room now that others may wait for.
 */
static bool undo(struct binding *b)
{
    struct scheduler *s = b->s;

    cancel_pre_bind(b);
    if (b->plan)
        profile_unreserve(b->plan->profile, pod_of(b->pub.pod), b->node);
    return nodecache_forget(s->cache, b->pub.pod->meta.uid);
}

/* The pod is not there any more, or has another node: the informer tells the rest. */
static void vanished(struct binding *b)
{
    struct scheduler *s = b->s;

    if (undo(b))
        watch_pod_gone(s, b->pub.pod);
    podqueue_remove(s->queue, b->pub.pod->meta.uid);
    binding_end(b);
}

/* The pod is there and has no node. */
static void give_up(struct binding *b, const struct failure *f)
{
    struct scheduler *s = b->s;
    struct kobj *pod = NULL;
    char key[KOBJ_KEY_MAX];

    bool room = undo(b);
    if (podqueue_find(s->queue, b->pub.pod->meta.uid, &pod) == PODQUEUE_IN_FLIGHT) {
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
}

static void failed(struct binding *b)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    strbuf_appendf(&text, "%s%s",
                   b->binder ? "" : "running Bind plugin \"DefaultBinder\": ", b->err.text);
    give_up(b, &(struct failure){ .error = true, .message = strbuf_str(&text) });
}

/* A plugin said no: the one node that there was does not do. */
static void turned_down(struct binding *b, uint64_t rejectors, const char *why)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    strbuf_appendf(&text, "0/1 nodes are available: 1 %s.", why);
    give_up(b, &(struct failure){ .rejectors = rejectors, .message = strbuf_str(&text) });
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
        vanished(b);
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
        vanished(b);
}

static void ask(struct binding *b)
{
    const char *node = NULL;

    switch (nodecache_find(b->s->cache, b->pub.pod->meta.uid, &node)) {
    case NODECACHE_ADDED: /* the informer was faster */
        if (streq(node, b->node))
            succeeded(b);
        else
            vanished(b);
        return;
    case NODECACHE_ABSENT: vanished(b); return; /* deleted meanwhile */
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
        vanished(b);
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
        KLOG_E(err, "An extender failed to bind and is ignored", KV_S("pod", LOG_KEY(b->pub.pod)),
               KV_S("node", b->node));
        b->binder = NULL;
        send_to_server(b);
        return;
    }
    b->err = *err;
    ask(b);
}

/* An extender may do it in our place. */
static void send_binding(struct binding *b)
{
    struct scheduler *s = b->s;

    b->stage = STAGE_BIND;
    report_drop(s, b->pub.pod->meta.uid); /* "it does not fit" is not true any more */
    b->binder = extenders_first(s->extenders, EXTENDER_BIND, pod_of(b->pub.pod));
    if (!b->binder) {
        send_to_server(b);
        return;
    }
    b->extenders = extenders_ref(s->extenders);
    b->asked_binder = extender_bind(b->binder, b->pub.pod, b->node, on_binder_answer, b);
}

/* ---- what plugins want written on the pod ---------------------------------------------------- */

static const kstrmap *map_of(const struct binding *b, bool label)
{
    const struct objmeta *m = &b->pub.pod->meta;
    return label ? &m->labels : &m->annotations;
}

static void want(struct ks_bind *pub, bool label, const char *key, const char *value)
{
    struct binding *b = container_of(pub, struct binding, pub);
    const char *has = kstrmap_get(map_of(b, label), key);

    for (struct written **at = &b->written; *at; at = &(*at)->next) {
        struct written *w = *at;
        if (w->label != label || !streq(w->key, key))
            continue;
        *at = w->next;
        free(w->key);
        free(w->value);
        free(w);
        break;
    }
    if (value ? has && streq(has, value) : !has)
        return; /* it is so already */
    struct written *w = xnew0(struct written);
    *w = (struct written){ b->written, label, xstrdup(key), value ? xstrdup(value) : NULL };
    b->written = w;
}

void ks_bind_annotate(struct ks_bind *b, const char *key, const char *value)
{
    want(b, false, key, value);
}

void ks_bind_label(struct ks_bind *b, const char *key, const char *value)
{
    want(b, true, key, value);
}

static void write_map(struct kjw *w, const struct binding *b, bool label, const char *name)
{
    bool any = false;

    for (const struct written *x = b->written; x; x = x->next)
        any = any || x->label == label;
    if (!any)
        return;
    kjw_obj(w, name);
    for (const struct written *x = b->written; x; x = x->next) {
        if (x->label != label)
            continue;
        if (x->value)
            kjw_str(w, x->key, x->value);
        else
            kjw_null(w, x->key);
    }
    kjw_end(w);
}

static void on_patched(void *arg, struct kube_resp *r, const struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct binding *b = arg;

    (void)r;
    b->call = NULL;
    if (!err) {
        send_binding(b);
        return;
    }
    if (err->reason == KR_NOT_FOUND) {
        vanished(b);
        return;
    }
    strbuf_appendf(&text, "running PreBind plugin \"DefaultPreBind\": %s", err->text);
    give_up(b, &(struct failure){ .error = true, .message = strbuf_str(&text) });
}

static void send_patch(struct binding *b)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    char uid[KUID_TEXT_MAX];

    if (!b->written) {
        send_binding(b);
        return;
    }
    b->stage = STAGE_PATCH;
    kuid_format(b->pub.pod->meta.uid, uid, sizeof uid);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "uid", uid); /* not on a pod that took over the name */
    write_map(&w, b, false, "annotations");
    write_map(&w, b, true, "labels");
    kjw_end(&w);
    kjw_end(&w);
    b->call = kube_do(b->s->kube,
                      &(struct kube_req){
                          .verb = KUBE_PATCH,
                          .kind = &kind_pod,
                          .ns = b->pub.pod->meta.ns,
                          .name = b->pub.pod->meta.name,
                          .patch = KUBE_PATCH_MERGE,
                          .body = body.data,
                          .body_len = body.len,
                      },
                      on_patched, b);
}

/* ---- pre-bind -------------------------------------------------------------------------------- */

/* true: go on with the next plugin. */
static bool pre_bind_said(struct binding *b, enum ks_code code, const char *why)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const struct profile_point *point = &b->plan->profile->points[KS_POINT_PRE_BIND];

    if (code == KS_SUCCESS || code == KS_SKIP)
        return true;
    if (code == KS_UNSCHEDULABLE || code == KS_UNRESOLVABLE || code == KS_PENDING) {
        turned_down(b, UINT64_C(1) << point->slots[b->at], why);
        return false;
    }
    strbuf_appendf(&text, "running PreBind plugin \"%s\": %s", at_work(b)->plugin->name, why);
    give_up(b, &(struct failure){ .error = true, .message = strbuf_str(&text) });
    return false;
}

static void pre_bind_next(struct binding *b)
{
    const struct profile_point *point = &b->plan->profile->points[KS_POINT_PRE_BIND];

    for (; b->at < point->n; b->at++) {
        const struct profile_slot *s = at_work(b);
        CLEANUP(arena_free) struct arena *a = arena_new();
        struct ks_texts why = { .arena = a };
        if (!(b->flight >> point->slots[b->at] & 1))
            continue;
        enum ks_code code = s->plugin->pre_bind(s->self, &b->pub, &why);
        if (code == KS_WAIT) {
            b->asked = true;
            return;
        }
        if (!pre_bind_said(b, code, why.n ? why.items[0] : "no reason given"))
            return;
    }
    send_patch(b);
}

void ks_bind_done(struct ks_bind *pub, enum ks_code code, const char *why)
{
    struct binding *b = container_of(pub, struct binding, pub);

    assert(b->asked);
    b->asked = false;
    if (!pre_bind_said(b, code, why ? why : "no reason given"))
        return;
    b->at++;
    pre_bind_next(b);
}

/* Who has something to do; true when it may take time. */
static bool pre_flight(struct binding *b)
{
    const struct profile_point *point = &b->plan->profile->points[KS_POINT_PRE_BIND];
    bool takes_time = false;

    for (uint32_t i = 0; i < point->n; i++) {
        const struct profile_slot *s = &b->plan->profile->slots[point->slots[i]];
        enum ks_code code = s->plugin->pre_flight
                                ? s->plugin->pre_flight(s->self, pod_of(b->pub.pod), b->node)
                                : KS_SUCCESS;
        if (code == KS_SKIP)
            continue;
        b->flight |= UINT64_C(1) << point->slots[i];
        takes_time = takes_time || s->plugin->pre_flight;
    }
    return takes_time;
}

static void permitted(struct binding *b)
{
    b->stage = STAGE_PRE_BIND;
    b->timer = timer_cancel(b->timer);
    pre_bind_next(b);
}

/* ---- permit ---------------------------------------------------------------------------------- */

static void permit_refused(struct binding *b, uint64_t rejectors, const char *why)
{
    smetrics_permit(b->plan->metrics, "unschedulable", loop_mono(b->s->loop) - b->since);
    turned_down(b, rejectors, why);
}

static void permit_arm(struct binding *b);

static void on_permit_timer(struct loop *l, void *arg)
{
    struct binding *b = arg;
    const struct profile *p = b->plan->profile;
    nsec_t now = loop_mono(l);
    char why[256], wait[KTIME_TEXT_MAX];

    b->timer = NULL;
    for (uint32_t i = 0; i < p->n; i++) {
        if (!(b->waits >> i & 1) || b->permit[i].due > now)
            continue;
        wait[kdur_format(b->permit[i].wait, wait)] = '\0';
        (void)snprintf(why, sizeof why, "rejected due to timeout after waiting %s at plugin %s",
                       wait, p->slots[i].plugin->name);
        permit_refused(b, UINT64_C(1) << i, why);
        return;
    }
    permit_arm(b);
}

static void permit_arm(struct binding *b)
{
    nsec_t first = INT64_MAX;

    for (uint32_t i = 0; i < b->plan->profile->n; i++)
        if (b->waits >> i & 1)
            first = MIN(first, b->permit[i].due);
    timer_cancel(b->timer);
    b->timer = loop_after(b->s->loop, MAX(first - loop_mono(b->s->loop), 0), on_permit_timer, b);
}

/* false: the binding is over. */
static bool permit_ask(struct binding *b, struct arena *a)
{
    const struct profile_point *point = &b->plan->profile->points[KS_POINT_PERMIT];
    nsec_t now = loop_mono(b->s->loop);

    for (uint32_t i = 0; i < point->n; i++) {
        uint32_t slot = point->slots[i];
        const struct profile_slot *s = &b->plan->profile->slots[slot];
        struct ks_texts why = { .arena = a };
        nsec_t wait = PERMIT_WAIT_MAX;
        enum ks_code code = s->plugin->permit(s->self, pod_of(b->pub.pod), b->node, &wait, &why);
        if (code == KS_SUCCESS)
            continue;
        if (code == KS_WAIT) {
            wait = MIN(wait, PERMIT_WAIT_MAX);
            b->waits |= UINT64_C(1) << slot;
            b->permit = b->permit ? b->permit : xnewn0(PROFILE_PLUGINS_MAX, struct permit);
            b->permit[slot] = (struct permit){ now + wait, wait };
            continue;
        }
        const char *text = why.n ? why.items[0] : "no reason given";
        if (code == KS_ERROR)
            give_up(
                b, &(struct failure){ .error = true,
                                      .message = arena_printf(a, "running Permit plugin \"%s\": %s",
                                                              s->plugin->name, text) });
        else
            turned_down(b, UINT64_C(1) << slot, text);
        return false;
    }
    return true;
}

static void hold(struct binding *b)
{
    struct scheduler *s = b->s;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    bool first = true;

    strbuf_appendf(&text, "waiting on permit of");
    for (uint32_t i = 0; i < b->plan->profile->n; i++) {
        if (!(b->waits >> i & 1))
            continue;
        strbuf_appendf(&text, "%s %s", first ? "" : ",", b->plan->profile->slots[i].plugin->name);
        first = false;
    }
    strbuf_appendf(&text, " for node %s", b->node);
    podqueue_hold(s->queue, b->pub.pod->meta.uid);
    report_held(s, b->pub.pod, "Unschedulable", strbuf_str(&text));
    permit_arm(b);
}

static void allow(struct binding *b, uint32_t slot)
{
    b->waits &= ~(UINT64_C(1) << slot);
    if (b->waits)
        return;
    smetrics_permit(b->plan->metrics, "success", loop_mono(b->s->loop) - b->since);
    permitted(b);
}

/* The binding that waits for the permit of this plugin, and its slot. */
static struct binding *waits_for(const struct scheduler *s, struct kuid uid, const char *plugin,
                                 int *ret_slot)
{
    struct binding *b = find(s, uid);

    if (!b || !b->plan || b->stage != STAGE_PERMIT)
        return NULL;
    *ret_slot = profile_slot(b->plan->profile, plugin);
    return *ret_slot >= 0 && (b->waits >> *ret_slot & 1) ? b : NULL;
}

void ks_allow(const struct ks_env *env, struct kuid uid, const char *plugin)
{
    int slot;
    struct binding *b = waits_for(env->scheduler, uid, plugin, &slot);
    if (b)
        allow(b, (uint32_t)slot);
}

void ks_reject(const struct ks_env *env, struct kuid uid, const char *plugin, const char *why)
{
    int slot;
    struct binding *b = waits_for(env->scheduler, uid, plugin, &slot);
    if (b)
        permit_refused(b, UINT64_C(1) << slot, why);
}

bool binding_reject(struct scheduler *s, struct kuid uid, const char *plugin, const char *why)
{
    struct binding *b = find(s, uid);

    if (!b || !b->plan || b->stage == STAGE_BIND || b->stage == STAGE_PATCH)
        return false;
    int slot = profile_slot(b->plan->profile, plugin);
    turned_down(b, slot < 0 ? b->waits : UINT64_C(1) << slot, why);
    return true;
}

/* ---- the beginning --------------------------------------------------------------------------- */

void binding_start(struct scheduler *s, struct splan *plan, struct kobj *pod, const char *node)
{
    CLEANUP(arena_free) struct arena *a = NULL;
    struct binding *b = binding_new(s, plan, pod, node);

    if (plan->profile->points[KS_POINT_PERMIT].n) {
        a = arena_new();
        if (!permit_ask(b, a))
            return;
    }
    bool takes_time = pre_flight(b) || b->waits;
    nominator_remove(s->nominator, pod->meta.uid);
    if (takes_time) /* others should know for whom the room is kept */
        report_nominated(s, pod, node);
    if (b->waits)
        hold(b);
    else
        permitted(b);
}

void binding_verify(struct scheduler *s, struct kobj *pod, const char *node)
{
    struct binding *b = binding_new(s, NULL, pod, node);
    b->was_bound = true;
    b->stage = STAGE_BIND;
    kerr_set(&b->err, -ETIMEDOUT, "the accepted binding did not take effect");
    ask(b);
}
