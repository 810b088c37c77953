/* preemption.c - plans to make room go from extender to extender, who may drop nodes and spare pods
 * (scheduler-core 8.18, step 6). They are asked about nodes; a plan over several nodes stands while
 * none of them is dropped.
 */
#include "scheduler/framework/preemption.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "scheduler/extender/extender_int.h"
#include "json/kj.h"

struct spot { /* what a plan does on one node; held: victims with a reference each */
    const struct pod **victims;
    uint32_t held;
};
struct candidate { /* one plan; its arrays are ours */
    struct preemption plan;
    struct preemption_node *nodes;
    struct spot *spots; /* beside the nodes */
    bool out;
};
struct extender_preemption {
    struct extenders *set;
    struct arena *arena;
    struct kobj *pod;
    struct candidate *items; /* the best first */
    uint32_t n, left;
    uint32_t at; /* the extender that is asked */
    struct extender_call *call;
    extender_preemption_fn fn;
    void *arg;
};

/* ---- the question ---------------------------------------------------------------------------- */

static struct kobj *obj_of(const struct pod *p)
{
    return (struct kobj *)&p->obj;
}

/* Who knows the pods gets their UIDs only. */
static void write_node(const struct preemption_node *n, struct kjw *w, bool uids)
{
    kjw_obj(w, n->node);
    kjw_arr(w, "Pods");
    for (uint32_t k = 0; k < n->n; k++) {
        if (!uids) {
            extender_put_pod(w, NULL, obj_of(n->victims[k]));
            continue;
        }
        kjw_obj(w, NULL);
        extender_put_uid(w, "UID", n->victims[k]->obj.meta.uid);
        kjw_end(w);
    }
    kjw_end(w);
    kjw_i64(w, "NumPDBViolations", n->violations);
    kjw_end(w);
}

/* Nodes where nobody has to go are none of their business. */
static void write_victims(const struct extender_preemption *c, struct kjw *w, bool uids)
{
    kjw_obj(w, uids ? "NodeNameToMetaVictims" : "NodeNameToVictims");
    for (uint32_t i = 0; i < c->n; i++)
        for (uint32_t k = 0; !c->items[i].out && k < c->items[i].plan.n; k++)
            if (c->items[i].nodes[k].n)
                write_node(&c->items[i].nodes[k], w, uids);
    kjw_end(w);
}

static void on_result(void *arg, const struct kj_val *answer, const struct kerr *failed);

/* false: nobody is asked any more. */
static bool ask_next(struct extender_preemption *c)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    while (c->at < c->set->n &&
           !extender_serves(&c->set->items[c->at], EXTENDER_PREEMPT, pod_of(c->pod)))
        c->at++;
    if (c->at == c->set->n || c->left == 0)
        return false;
    struct extender *e = &c->set->items[c->at];
    bool uids = e->c.node_cache_capable;
    kjw_obj(&w, NULL);
    extender_put_pod(&w, "Pod", c->pod);
    write_victims(c, &w, uids);
    kjw_null(&w, uids ? "NodeNameToVictims" : "NodeNameToMetaVictims");
    kjw_end(&w);
    c->call = extender_post(e, EXTENDER_PREEMPT, &body, on_result, c);
    return true;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static const struct preemption_node *find(const struct extender_preemption *c, const char *node)
{
    for (uint32_t i = 0; i < c->n; i++)
        for (uint32_t k = 0; !c->items[i].out && k < c->items[i].plan.n; k++)
            if (c->items[i].nodes[k].n && streq(c->items[i].nodes[k].node, node))
                return &c->items[i].nodes[k];
    return NULL;
}

static bool is_victim(const struct preemption_node *p, struct kuid uid)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (kuid_equal(p->victims[i]->obj.meta.uid, uid))
            return true;
    return false;
}

/* The answer names plans that were asked about, and among their victims. */
static int check(const struct extender_preemption *c, const struct preempt_result *said,
                 struct kerr *err)
{
    const struct extender *e = &c->set->items[c->at];

    for (uint32_t i = 0; i < said->nodes.n; i++) {
        const struct preempt_result_node *s = &said->nodes.items[i];
        const struct preemption_node *has = find(c, s->node);
        if (!has)
            return kerr_set(err, -EBADMSG,
                            "extender \"%s\" claims to preempt on node \"%.64s\", which was not "
                            "offered",
                            e->url, s->node);
        for (uint32_t k = 0; k < s->victims.pods.n; k++)
            if (!is_victim(has, s->victims.pods.items[k].uid))
                return kerr_set(err, -EBADMSG,
                                "extender \"%s\" claims to preempt a pod on node \"%.64s\" that "
                                "was not offered",
                                e->url, s->node);
        if (s->victims.pods.n == 0 && !e->c.ignorable)
            return kerr_set(err, -EBADMSG, "expected at least one victim pod on node \"%.64s\"",
                            s->node);
    }
    return 0;
}

static const struct meta_victims *victims_on(const struct preempt_result *said, const char *node)
{
    for (uint32_t i = 0; i < said->nodes.n; i++)
        if (streq(said->nodes.items[i].node, node))
            return &said->nodes.items[i].victims;
    return NULL;
}

static bool names(const struct meta_victims *v, struct kuid uid)
{
    for (uint32_t i = 0; i < v->pods.n; i++)
        if (kuid_equal(v->pods.items[i].uid, uid))
            return true;
    return false;
}

/* Those who are spared go to the end of the array: their references stay. */
static void spare(struct preemption_node *on, struct spot *x, const struct meta_victims *v)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < on->n; i++) {
        const struct pod *p = x->victims[i];
        if (!names(v, p->obj.meta.uid))
            continue;
        memmove(&x->victims[n + 1], &x->victims[n], (i - n) * sizeof *x->victims);
        x->victims[n++] = p;
    }
    on->n = n;
    on->violations = (uint32_t)MIN(MAX(v->violations, 0), (int64_t)n);
}

/* Does the plan still stand? It does with all its nodes only. */
static bool narrow(struct candidate *x, const struct preempt_result *said)
{
    for (uint32_t k = 0; k < x->plan.n; k++) {
        if (x->nodes[k].n == 0)
            continue;
        const struct meta_victims *v = victims_on(said, x->nodes[k].node);
        if (v)
            spare(&x->nodes[k], &x->spots[k], v);
        if (!v || x->nodes[k].n == 0)
            return false;
    }
    return true;
}

static void apply(struct extender_preemption *c, const struct preempt_result *said)
{
    c->left = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        struct candidate *x = &c->items[i];
        x->out = x->out || !narrow(x, said);
        c->left += !x->out;
    }
}

static int take_result(struct extender_preemption *c, const struct kj_val *answer, struct kerr *err)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct preempt_result said = { 0 };

    if (extender_decode(&preempt_result_schema, answer, a, &said, err) < 0)
        return kerr_wrap(err, "answer of extender at URL %s", c->set->items[c->at].url);
    int r = check(c, &said, err);
    if (r == 0)
        apply(c, &said);
    return r;
}

static void finish(struct extender_preemption *c, const struct kerr *err)
{
    const struct preemption *best = NULL;

    for (uint32_t i = 0; i < c->n && !best && !err; i++)
        best = c->items[i].out ? NULL : &c->items[i].plan;
    c->fn(c->arg, best, err);
}

static void on_result(void *arg, const struct kj_val *answer, const struct kerr *failed)
{
    struct extender_preemption *c = arg;
    const struct extender *e = &c->set->items[c->at];
    struct kerr err = { 0 };

    c->call = NULL;
    if (failed)
        err = *failed;
    else
        (void)take_result(c, answer, &err);
    if (err.code && !e->c.ignorable) {
        finish(c, &err);
        return;
    }
    if (err.code)
        KLOG_E(&err, "Extender failed to process preemption, ignoring it", KV_S("url", e->url),
               KV_S("pod", c->pod->meta.name));
    c->at++;
    if (!ask_next(c))
        finish(c, NULL);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void take_node(struct extender_preemption *c, const struct preemption_node *from,
                      struct preemption_node *to, struct spot *x)
{
    struct kobj **nominees = arena_newn0(c->arena, from->nnominees, struct kobj *);

    x->victims = arena_newn0(c->arena, from->n, const struct pod *);
    for (; x->held < from->n; x->held++)
        x->victims[x->held] = pod_of(kobj_ref(obj_of(from->victims[x->held])));
    for (uint32_t i = 0; i < from->nnominees; i++)
        nominees[i] = kobj_ref(from->nominees[i]);
    *to = *from;
    to->node = arena_strdup(c->arena, from->node);
    to->victims = x->victims;
    to->nominees = nominees;
}

/* The answer is by node, so a node can stand for one plan only: the best. */
static bool is_offered(const struct extender_preemption *c, const struct preemption *plan)
{
    for (uint32_t i = 0; i < plan->n; i++)
        if (plan->nodes[i].n && find(c, plan->nodes[i].node))
            return true;
    return false;
}

static void take_plans(struct extender_preemption *c, const struct preemption *plans)
{
    uint32_t n = 0;

    for (const struct preemption *p = plans; p; p = p->next)
        n++;
    c->items = arena_newn0(c->arena, n, struct candidate);
    for (; plans; plans = plans->next) {
        if (is_offered(c, plans))
            continue;
        struct candidate *x = &c->items[c->n++];
        x->nodes = arena_newn0(c->arena, plans->n, struct preemption_node);
        x->spots = arena_newn0(c->arena, plans->n, struct spot);
        x->plan = (struct preemption){ .nodes = x->nodes, .n = plans->n };
        if (plans->reason)
            x->plan.reason = arena_strdup(c->arena, plans->reason);
        for (uint32_t i = 0; i < plans->n; i++)
            take_node(c, &plans->nodes[i], &x->nodes[i], &x->spots[i]);
    }
    c->left = c->n;
}

struct extender_preemption *extender_preemption_start(struct extenders *s, struct kobj *pod,
                                                      const struct preemption *plans,
                                                      extender_preemption_fn fn, void *arg)
{
    if (!extenders_first(s, EXTENDER_PREEMPT, pod_of(pod)))
        return NULL;
    struct extender_preemption *c = xnew0(struct extender_preemption);
    *c = (struct extender_preemption){
        .set = extenders_ref(s), .arena = arena_new(), .pod = kobj_ref(pod), .fn = fn, .arg = arg
    };
    take_plans(c, plans);
    return ask_next(c) ? c : extender_preemption_free(c);
}

static void drop_node(const struct preemption_node *n, const struct spot *x)
{
    for (uint32_t i = 0; i < x->held; i++)
        kobj_unref(obj_of(x->victims[i]));
    for (uint32_t i = 0; i < n->nnominees; i++)
        kobj_unref(n->nominees[i]);
}

struct extender_preemption *extender_preemption_free(struct extender_preemption *c)
{
    if (!c)
        return NULL;
    extender_cancel(c->call);
    for (uint32_t i = 0; i < c->n; i++)
        for (uint32_t k = 0; k < c->items[i].plan.n; k++)
            drop_node(&c->items[i].nodes[k], &c->items[i].spots[k]);
    kobj_unref(c->pod);
    arena_free(c->arena);
    extenders_unref(c->set);
    free(c);
    return NULL;
}
