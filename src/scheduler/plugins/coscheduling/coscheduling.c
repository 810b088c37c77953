/* coscheduling.c - Coscheduling: gangs: pods that are placed together or not at all.
 *
 * What is decided about gangs is in gangs.h; here are the extension points, and the service.
 */
#include "scheduler/plugins/coscheduling/coscheduling.h"

#include <stdio.h>

#include "api/koord/podgroup.h"
#include "api/pod.h"
#include "api/policy.h"
#include "api/protocol/gang.h"
#include "base/arena.h"
#include "scheduler/framework/budgets.h"
#include "scheduler/framework/preemption.h"
#include "scheduler/plugins/coscheduling/control.h"
#include "scheduler/plugins/coscheduling/observe.h"
#include "scheduler/plugins/coscheduling/topo_gang.h"
#include "scheduler/plugins/registry.h"

/* ---- before and after the attempt ------------------------------------------------------------ */

static enum ks_code gang_pre_enqueue(void *self, const struct pod *p, struct ks_texts *why)
{
    const struct coscheduling *c = self;

    if (c->preempts && ks_making_room(&c->env, p->obj.meta.uid)) {
        ks_texts_add(why, "waiting for the preemption for this pod to be finished");
        return KS_UNRESOLVABLE;
    }
    return gangs_enqueue(c->gangs, p, why);
}

static enum ks_code gang_transform(void *self, const struct ks_cycle *cycle, const struct ks_pod *p,
                                   struct ks_overlay *o, void **ret_state, struct ks_texts *why)
{
    const struct coscheduling *c = self;

    (void)cycle, (void)o, (void)ret_state;
    return gangs_check(c->gangs, p->pod, why);
}

static enum ks_code gang_pre_filter(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                    void **ret_state, struct ks_only *only, struct ks_texts *why)
{
    (void)ret_state;
    return topo_gang_pre_filter(self, c, p, only, why);
}

static enum ks_code gang_find_one(void *self, struct attempt *a, uint32_t *ret_row,
                                  struct ks_texts *why)
{
    return topo_gang_find_one(self, a, ret_row, why);
}

/* ---- single pods near their peers -------------------------------------------------------------- */

static enum ks_code gang_pre_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                   void **ret_state, struct ks_texts *why)
{
    const struct coscheduling *x = self;

    (void)why;
    return topo_pre_score(x->network, c, p, ret_state);
}

static void gang_score(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                       struct ks_span s, int64_t *restrict out)
{
    (void)self, (void)p;
    topo_score(c, s, out);
}

/* ---- the next one ------------------------------------------------------------------------------ */

/* What the member before came to is known by now: who neither waits nor has gone went wrong, or
 * could not be fetched. */
static bool gang_next(void *self, struct kuid *ret_uid)
{
    const struct coscheduling *c = self;
    struct gangs *s = c->gangs;

    if (!s->round) {
        const struct gang_member *first = hold_next(s);
        if (first)
            *ret_uid = first->uid;
        return first;
    }
    const struct gang_member *last = s->round->last;
    if (last && last->state == MEMBER_PENDING && !s->round->failure)
        gangs_failed(s, pod_of(last->pod), NULL);
    if (s->round && s->round->failure)
        round_give_up(s, NULL);
    const struct gang_member *m = round_next(s);
    if (m)
        *ret_uid = m->uid;
    return m;
}

/* ---- binding ---------------------------------------------------------------------------------- */

static enum ks_code gang_reserve(void *self, const struct ks_cycle *c, const struct ks_pod *p,
                                 uint32_t row, struct ks_texts *why)
{
    (void)self, (void)c, (void)p, (void)row, (void)why;
    return KS_SUCCESS;
}

static void gang_unreserve(void *self, const struct pod *p, const char *node)
{
    const struct coscheduling *c = self;

    (void)node;
    gangs_unreserve(c->gangs, p);
}

/* Annotations that describe a gang have no object of their own to tell people about. */
static void warn_of_problem(const struct gangs *s, const struct pod *p)
{
    const struct gang_member *m = gangs_member(s, p->obj.meta.uid);

    if (!m || m->gang->by_podgroup || m->gang->problem_told || !m->gang->ready)
        return;
    m->gang->problem_told = true;
    CLEANUP(arena_free) struct arena *a = arena_new_sized(512);
    const char *text = gang_problem(&p->obj.meta, m->gang, a);
    if (text && s->env.scheduler)
        ks_warn(&s->env, p, "InvalidGang", text);
}

/* What is wrong between the gangs of a group is told when a member gets so far, or waits. Once,
 * until it changes; on the PodGroup, or on the pod. */
static void warn_of_group(const struct gangs *s, const struct gang_member *m)
{
    CLEANUP(arena_free) struct arena *a = NULL;
    struct gang *g = m ? m->gang : NULL;

    if (!g || !g->ready || !g->group || (g->group->n < 2 && !g->group_told) || !s->env.scheduler)
        return;
    a = arena_new_sized(512);
    const char *text = gang_group_problem(s, g, a);
    uint64_t hash = text ? hash_bytes(text, strlen(text)) | 1 : 0;
    if (hash == g->group_told)
        return;
    g->group_told = hash;
    const struct kobj *o = g->by_podgroup ? objects_get(s->env.objects, &kind_podgroup,
                                                        arena_strndup(a, g->id, g->ns_len), g->name)
                                          : NULL;
    if (text && o)
        ks_warn_about(&s->env, o, "InvalidGang", text);
    else if (text)
        ks_warn(&s->env, pod_of(m->pod), "InvalidGang", text);
}

static enum ks_code gang_permit(void *self, const struct pod *p, const char *node,
                                nsec_t *ret_timeout, struct ks_texts *why)
{
    const struct coscheduling *c = self;
    enum ks_code code = gangs_permit(c->gangs, p, node, ret_timeout, why);
    if (code == KS_WAIT) /* also for one that upstream lets wait without the others */
        round_begin(c->gangs, p);
    warn_of_problem(c->gangs, p);
    warn_of_group(c->gangs, gangs_member(c->gangs, p->obj.meta.uid));
    return code;
}

/* Who was permitted with it, for whoever starts the job. A member that is bound alone does not keep
 * what a template gave it. For a Reservation all this goes to that object. */
static enum ks_code gang_pre_bind(void *self, struct ks_bind *b, struct ks_texts *why)
{
    static const char *const ids[] = { ANNO_BIND_GANG_GROUP_ID, ANNO_BIND_GANG_GROUP_ID_OLD };
    static const char *const counts[] = { ANNO_BIND_GANG_MEMBER_COUNT,
                                          ANNO_BIND_GANG_MEMBER_COUNT_OLD };
    const struct coscheduling *c = self;
    uint32_t n = 0;
    const char *id = gangs_binding(c->gangs, b->pod->meta.uid, &n);
    char count[16];

    (void)why;
    if (!gang_name(&b->pod->meta))
        return KS_SUCCESS;
    (void)snprintf(count, sizeof count, "%u", n);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        ks_bind_annotate(b, ids[i], id);
        ks_bind_annotate(b, counts[i], id ? count : NULL);
    }
    return KS_SUCCESS;
}

static void gang_post_bind(void *self, const struct pod *p, const char *node)
{
    const struct coscheduling *c = self;

    (void)node;
    gangs_bound(c->gangs, p);
}

/* ---- the service ------------------------------------------------------------------------------ */

#define PLUGIN "Coscheduling"

static void op_allow(void *arg, const struct gang_member *m)
{
    const struct gangs *s = arg;

    if (s->env.scheduler)
        ks_allow(&s->env, m->uid, PLUGIN);
}

static void op_reject(void *arg, const struct gang_member *m, enum gang_rejection how,
                      const char *why)
{
    static const enum ks_nomination nominations[] = {
        [GANG_REJECT] = KS_NOMINATION_BEFORE,
        [GANG_PREEMPTION_WORKED] = KS_NOMINATION_ITS_NODE,
        [GANG_PREEMPTION_FAILED] = KS_NOMINATION_NONE,
    };
    const struct gangs *s = arg;

    if (s->env.scheduler)
        ks_reject_as(&s->env, m->uid, PLUGIN,
                     &(struct ks_rejection){ why, nominations[how], true });
}

static void op_activate(void *arg, const struct gang_member *m)
{
    const struct gangs *s = arg;

    if (s->env.scheduler)
        ks_activate(&s->env, m->uid);
}

static void op_retry(void *arg, const struct gang_member *m)
{
    const struct gangs *s = arg;

    if (s->env.scheduler)
        ks_retry(&s->env, m->uid);
}

/* Its condition says that the gang is not ready; the event, which annotation would make it so. */
static void warn_of_no_minimum(const struct gangs *s, const struct gang_member *m)
{
    CLEANUP(arena_free) struct arena *a = NULL;

    if (m->gang->ready || m->gang->problem_told)
        return;
    a = arena_new_sized(512);
    const char *text = gang_no_minimum(&m->pod->meta, a);
    if (!text)
        return;
    m->gang->problem_told = true;
    ks_warn(&s->env, pod_of(m->pod), "InvalidGang", text);
}

static void op_tell(void *arg, const struct gang_member *m, const char *why)
{
    const struct gangs *s = arg;

    if (!s->env.scheduler)
        return;
    ks_tell(&s->env, m->uid, why);
    warn_of_no_minimum(s, m);
    warn_of_group(s, m);
}

static uint64_t group_key(const struct gang_group *g)
{
    return hash_bytes(g->id, strlen(g->id)) | 1;
}

static void op_let_in(void *arg, const struct gang_group *g)
{
    const struct gangs *s = arg;

    if (s->env.scheduler)
        ks_wake(&s->env, PLUGIN, group_key(g));
}

static void warn_group(const struct gangs *s, const struct gang_group *g, const char *reason,
                       const char *note)
{
    for (uint32_t i = 0; s->env.scheduler && i < g->n; i++) {
        const struct gang *gang = group_gang(s, g, i);
        CLEANUP(mem_free) char *ns = gang ? xstrndup(gang->id, gang->ns_len) : NULL;
        const struct kobj *o =
            gang ? objects_get(s->env.objects, &kind_podgroup, ns, gang->name) : NULL;
        if (o)
            ks_warn_about(&s->env, o, reason, note);
    }
}

/* One event for the whole gang; its pods have their conditions. */
static void op_refused(void *arg, const struct gang_group *g, const char *why)
{
    warn_group(arg, g, "FailedScheduling", why);
}

static void op_holds(void *arg, const struct gang_group *g, const char *why)
{
    warn_group(arg, g, "GangHoldsRoom", why);
}

static bool op_is_nominated(void *arg, const struct gang_member *m)
{
    const struct gangs *s = arg;

    return ks_is_nominated(&s->env, m->uid);
}

static bool op_unnominate(void *arg, const struct gang_member *m)
{
    const struct gangs *s = arg;
    bool had = ks_is_nominated(&s->env, m->uid);

    if (had)
        ks_unnominate(&s->env, m->uid);
    return had;
}

static void op_left(void *arg, const struct gang_member *m)
{
    const struct gangs *s = arg;

    gang_control_left(s->control, m);
}

static void op_touched(void *arg, const struct gang *g)
{
    const struct gangs *s = arg;

    gang_control_touch(s->control, g);
}

static const struct gang_ops engine_ops = {
    .allow = op_allow,
    .reject = op_reject,
    .activate = op_activate,
    .retry = op_retry,
    .tell = op_tell,
    .let_in = op_let_in,
    .refused = op_refused,
    .holds = op_holds,
    .unnominate = op_unnominate,
    .is_nominated = op_is_nominated,
    .left = op_left,
    .touched = op_touched,
    .round_over = gang_metrics_round,
};

static void on_podgroup(void *arg, struct kobj *before, struct kobj *now)
{
    gangs_podgroup(arg, before, now);
}

static int service_create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    struct gangs *s = xnew0(struct gangs);
    struct kobj *o;

    (void)err;
    gangs_init(s, &engine_ops, s);
    s->env = *env;
    s->defaults = coscheduling_defaults(args);
    s->workers = ((const struct coscheduling_args *)args)->workers.v;
    s->metrics = gang_metrics_new(s, env->metrics);
    s->patches = ks_gate(env, "GangPendingPodsConditionPatch");
    s->listener = (struct objects_listener){ .kind = &kind_podgroup, .fn = on_podgroup, .arg = s };
    objects_listen(env->objects, &s->listener);
    for (size_t it = 0; (o = objects_next(env->objects, &kind_podgroup, &it));)
        gangs_podgroup(s, NULL, o);
    *ret = s;
    return 0;
}

static void service_destroy(void *service)
{
    struct gangs *s = service;

    objects_unlisten(s->env.objects, &s->listener);
    gangs_fini(s);
    gang_metrics_free(s->metrics);
    free(s);
}

static void on_pod(void *service, const struct pod *before, const struct pod *now)
{
    (void)before;
    gangs_pod(service, now);
}

static void on_pod_gone(void *service, const struct pod *last)
{
    gangs_pod_gone(service, last);
    if (!str_empty(last->node_name))
        gangs_room_freed(service);
}

static void on_node(void *service, const struct node *before, const struct node *now)
{
    (void)now;
    if (!before)
        gangs_room_freed(service);
}

static const struct ks_pod_handler pod_handler = {
    .pending = on_pod,
    .placed = on_pod,
    .changed = on_pod,
    .gone = on_pod_gone,
};

const struct ks_service gangs_service = {
    .name = PLUGIN,
    .create = service_create,
    .destroy = service_destroy,
    .pods = &pod_handler,
    .node = on_node,
    .paths = gangs_paths,
    .controller = &gangs_controller,
};

/* ---- the plugin ------------------------------------------------------------------------------ */

static int gang_create(const struct ks_env *env, const void *args, void **ret_self,
                       struct kerr *err)
{
    const struct coscheduling_args *a = args;
    struct coscheduling *c = xnew0(struct coscheduling);
    struct gang_defaults d = coscheduling_defaults(a);

    (void)err;
    c->env = *env;
    c->gangs = gangs_of(env);
    c->preempts = a->preemption.v;
    c->budgets = budgets_new(env->objects);
    c->network = topo_network_of(env);
    c->topology = a->topology.v;
    c->batches = ks_gate(env, "EnableInlineBatchSchedule");
    gangs_set_defaults(c->gangs, &d);
    const struct gang_hold_args hold = coscheduling_hold(a);
    gangs_set_hold(c->gangs, hold.after, hold.duration, hold.percentage);
    *ret_self = c;
    return 0;
}

static void gang_destroy(void *self)
{
    struct coscheduling *c = self;

    budgets_free(c->budgets);
    free(c);
}

static bool gang_job(void *self, const struct pod *p, struct arena *a, struct ks_job *ret)
{
    const struct coscheduling *c = self;

    return gangs_job(c->gangs, p, a, ret);
}

/* No other event helps a pod that this plugin rejects: members are tried with their group. */
static const struct ks_hint gang_hints[] = {
    { KS_RES_NODE, KS_ADD | KS_NODE_LABEL, topo_gang_worth, NULL },
    { KS_RES_OTHER, KS_ADD | KS_UPDATE, topo_gang_worth, &kind_network_topology },
};

static uint64_t gang_waits_for(void *self, const struct pod *p)
{
    const struct coscheduling *c = self;
    const struct gang_member *m = gangs_member(c->gangs, p->obj.meta.uid);

    return m && m->gang->group ? group_key(m->gang->group) : 0;
}

static const struct kind *const gang_kinds[] = { &kind_podgroup, &kind_network_topology, &kind_pdb,
                                                 NULL };
static const struct kind *const gang_optional[] = { &kind_podgroup, &kind_network_topology, NULL };
static const struct ks_service *const gang_services[] = { &gangs_service, &topo_network_service,
                                                          NULL };

const struct ks_plugin ks_plugin_coscheduling = {
    .abi = KS_PLUGIN_ABI,
    .size = sizeof(struct ks_plugin),
    .name = PLUGIN,
    .reuse = KS_REUSE_GLOBAL, /* what the other members do counts */
    .kinds = gang_kinds,
    .optional = gang_optional,
    .points = KS_AT(PRE_ENQUEUE) | KS_AT(PRE_FILTER) | KS_AT(POST_FILTER) | KS_AT(PRE_SCORE) |
              KS_AT(SCORE) | KS_AT(RESERVE) | KS_AT(PERMIT) | KS_AT(PRE_BIND) | KS_AT(POST_BIND),
    .args = &coscheduling_args,
    .create = gang_create,
    .destroy = gang_destroy,
    .services = gang_services,
    .pre_enqueue = gang_pre_enqueue,
    .gates_silently = true, /* it says why itself, when that is not over soon */
    .hints = gang_hints,
    .nhints = ARRAY_LEN(gang_hints),
    .waits_for = gang_waits_for,
    .transform = gang_transform,
    .pre_filter = gang_pre_filter,
    .find_one = gang_find_one,
    .pre_score = gang_pre_score,
    .score = gang_score,
    .normalize = ks_normalize_reversed,
    .next = gang_next,
    .post_filter = &coscheduling_post_filter,
    .seeks_victims = true,
    .reserve = gang_reserve,
    .unreserve = gang_unreserve,
    .permit = gang_permit,
    .pre_bind = gang_pre_bind,
    .post_bind = gang_post_bind,
    .job = gang_job,
    .suggest = topo_gang_suggest,
};
