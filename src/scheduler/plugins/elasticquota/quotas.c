/* quotas.c - the forest is kept current with the cluster (sched-quota 2, 7, 8, 9). */
#include "scheduler/plugins/elasticquota/quotas.h"

#include "api/koord/quota.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/protocol/quota.h"
#include "api/protocol/reservation.h"
#include "base/arena.h"
#include "loop/loop.h"
#include "scheduler/plugins/elasticquota/control.h"
#include "scheduler/plugins/elasticquota/rest.h"

/* ---- quotas ---------------------------------------------------------------------------------- */

static void owner_free(struct quota_owner *o)
{
    free(o->name);
    free(o->ns);
    free(o);
}

/* The older object, then the one whose namespace comes first, has the name. */
static bool comes_before(const struct kobj *a, const struct kobj *b)
{
    if (a->meta.created != b->meta.created)
        return a->meta.created < b->meta.created;
    return strcmp(a->meta.ns, b->meta.ns) < 0;
}

static const struct kobj *object_of(const struct quotas *s, const struct quota_owner *o)
{
    return objects_get(s->env.objects, &kind_elasticquota, o->ns, o->name);
}

static void owner_put(struct quotas *s, struct quota_owner *o, const struct kobj *object)
{
    struct kerr err = { 0 };

    s->refused -= o->code < 0;
    o->code = forest_put(s->forest, elasticquota_of(object), &err);
    s->refused += o->code < 0;
    memcpy(o->problem, err.text, sizeof o->problem);
}

/* What was refused may be right now. */
static void retry_refused(struct quotas *s, const struct quota_owner *except)
{
    map_foreach(&s->owners, e) {
        struct quota_owner *o = e->value;
        const struct kobj *object = o->code < 0 && o != except ? object_of(s, o) : NULL;
        if (object)
            owner_put(s, o, object);
    }
}

static struct quota_owner *owner_new(struct quotas *s, const struct kobj *object)
{
    struct quota_owner *o = xnew0(struct quota_owner);

    o->name = xstrdup(object->meta.name);
    o->ns = xstrdup(object->meta.ns);
    map_putz(&s->owners, o->name, o);
    return o;
}

/* before NULL: it is new. */
static void put_quota(struct quotas *s, const struct kobj *before, const struct kobj *now)
{
    struct quota_owner *o = map_getz(&s->owners, now->meta.name);
    const struct kobj *had = o ? object_of(s, o) : NULL;

    if (had && !streq(o->ns, now->meta.ns) && !comes_before(now, had))
        return; /* a second one of the name: quotas_problem() tells */
    if (!o)
        o = owner_new(s, now);
    if (!streq(o->ns, now->meta.ns)) {
        free(o->ns);
        o->ns = xstrdup(now->meta.ns);
    }
    const struct elasticquota *old = before ? elasticquota_of(before) : NULL;
    nsec_t from = quota_observe_begin(&s->observer);
    quota_hooks_pre(&s->hooks, old, elasticquota_of(now));
    owner_put(s, o, now);
    quota_hooks_post(&s->hooks, old, elasticquota_of(now));
    quota_observe_end(&s->observer, QUOTA_OP_UPDATE, from);
    if (s->refused)
        retry_refused(s, o);
    quotas_wake_all(s);
}

static void drop_quota(struct quotas *s, const struct kobj *last)
{
    struct quota_owner *o = map_getz(&s->owners, last->meta.name);
    const struct kobj *heir = NULL, *x;

    if (!o || !streq(o->ns, last->meta.ns))
        return;
    for (size_t it = 0; (x = objects_next(s->env.objects, &kind_elasticquota, &it));)
        if (streq(x->meta.name, last->meta.name) && !streq(x->meta.ns, last->meta.ns) &&
            (!heir || comes_before(x, heir)))
            heir = x;
    s->refused -= o->code < 0;
    map_removez(&s->owners, o->name);
    owner_free(o);
    nsec_t from = quota_observe_begin(&s->observer);
    quota_hooks_pre(&s->hooks, elasticquota_of(last), NULL);
    forest_remove(s->forest, last->meta.name);
    quota_hooks_post(&s->hooks, elasticquota_of(last), NULL);
    quota_observe_end(&s->observer, QUOTA_OP_DELETE, from);
    if (streq(last->meta.name, QUOTA_DEFAULT_NAME))
        forest_set_special(s->forest, QUOTA_DEFAULT_NAME, &s->args.default_max);
    if (streq(last->meta.name, QUOTA_SYSTEM_NAME))
        forest_set_special(s->forest, QUOTA_SYSTEM_NAME, &s->args.system_max);
    if (heir)
        put_quota(s, NULL, heir);
    if (s->refused)
        retry_refused(s, NULL);
    quotas_wake_all(s);
}

/* Does the forest care? Not for what the status controller writes. */
static bool differs(const struct kobj *a, const struct kobj *b)
{
    static const char *const keys[] = { ANNO_QUOTA_SHARED_WEIGHT, ANNO_QUOTA_NAMESPACES,
                                        ANNO_QUOTA_TOTAL_RESOURCE };
    const struct elasticquota *x = elasticquota_of(a), *y = elasticquota_of(b);

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (!streq(str_or(kstrmap_get(&a->meta.annotations, keys[i]), ""),
                   str_or(kstrmap_get(&b->meta.annotations, keys[i]), "")))
            return true;
    return !kstrmap_equal(&a->meta.labels, &b->meta.labels) ||
           !reslist_equal(&x->spec.max, &y->spec.max) || !reslist_equal(&x->spec.min, &y->spec.min);
}

static void on_quota(void *arg, struct kobj *before, struct kobj *now)
{
    struct quotas *s = arg;

    if (!now)
        drop_quota(s, before);
    else if (!now->meta.deleted &&
             (!before || differs(before, now) ||
              quota_hooks_updated(&s->hooks, elasticquota_of(before), elasticquota_of(now))))
        put_quota(s, before, now);
}

const struct quota_owner *quotas_problem(const struct quotas *s, const char *name)
{
    const struct quota_owner *o = map_getz(&s->owners, name);

    return o && o->code < 0 ? o : NULL;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Nodes that are being deleted count as they did until they are gone. */
static void on_node(void *service, const struct node *before, const struct node *now)
{
    struct quotas *s = service;
    const char *name = (now ? now : before)->obj.meta.name;
    struct kobj *counted = map_getz(&s->nodes, name);
    const reslist *was = counted ? &node_of(counted)->status.allocatable : NULL;

    if (now && (now->obj.meta.deleted || (was && reslist_equal(was, &now->status.allocatable))))
        return;
    if (counted) {
        map_removez(&s->nodes, name);
        forest_add_total(s->forest, was, -1);
        kobj_unref(counted);
    }
    if (now) {
        counted = kobj_ref((struct kobj *)(uintptr_t)&now->obj);
        map_putz(&s->nodes, counted->meta.name, counted);
        forest_add_total(s->forest, &now->status.allocatable, 1);
    }
    quotas_changed(s);
}

/* ---- pods ------------------------------------------------------------------------------------ */

static void on_leave(struct loop *l, void *arg);

static void leave_later(struct quotas *s, const struct pod *p, nsec_t due)
{
    struct quota_leaver leaver = { p->obj.meta.uid, due };

    vec_push(&s->leavers, leaver);
    if (s->env.loop && !s->leave)
        s->leave = loop_after(s->env.loop, MAX(due - loop_wall(s->env.loop), 0), on_leave, s);
}

/* Has the pod's time to terminate passed, so that it does not count any more? */
static bool is_ignored(struct quotas *s, const struct pod *p)
{
    const struct objmeta *m = &p->obj.meta;

    if (!m->deleted || s->ignore_terminating_at_once)
        return m->deleted;
    if (!s->ignore_terminating || !s->env.loop)
        return false;
    nsec_t due = m->deleted + (m->grace_seconds.set ? m->grace_seconds.v * NSEC_PER_SEC : 0);
    if (loop_wall(s->env.loop) > due)
        return true;
    leave_later(s, p, due + 1);
    return false;
}

static void on_leave(struct loop *l, void *arg)
{
    struct quotas *s = arg;
    nsec_t next = NSEC_MAX;

    s->leave = NULL;
    for (size_t i = s->leavers.n; i-- > 0;) {
        if (s->leavers.items[i].due <= loop_wall(l)) {
            forest_remove_pod(s->forest, s->leavers.items[i].uid);
            vec_swap_remove(&s->leavers, i);
        } else {
            next = MIN(next, s->leavers.items[i].due);
        }
    }
    if (next < NSEC_MAX)
        s->leave = loop_after(l, next - loop_wall(l), on_leave, s);
    quotas_changed(s);
}

struct hooked { /* a pod as it was before an event, for hook plugins */
    struct quota *quota;
    struct kobj *pod; /* NULL: it had no node, or nobody wants to know */
};

static struct hooked hooked_of(struct quotas *s, struct kuid uid)
{
    struct hooked out = { .quota = NULL };
    struct quota_pod known;

    if (!s->hooks.all.n || !forest_pod(s->forest, uid, &known) || !known.assigned)
        return out;
    out.quota = forest_charged(s->forest, uid);
    if (out.quota)
        out.pod = kobj_ref((struct kobj *)(uintptr_t)&known.pod->obj);
    return out;
}

/* After the event. Another quota: it left one and came to the other. */
static void hooked_tell(struct quotas *s, struct kuid uid, struct hooked *before)
{
    struct hooked after = hooked_of(s, uid);
    const struct pod *old = before->pod ? pod_of(before->pod) : NULL;
    const struct pod *now = after.pod ? pod_of(after.pod) : NULL;

    if (old && now && before->quota == after.quota) {
        quota_hooks_pod(&s->hooks, after.quota, old, now);
    } else {
        if (old)
            quota_hooks_pod(&s->hooks, before->quota, old, NULL);
        if (now)
            quota_hooks_pod(&s->hooks, after.quota, NULL, now);
    }
    kobj_unref(before->pod);
    kobj_unref(after.pod);
}

static void put_pod(struct quotas *s, const struct pod *p, bool placed)
{
    nsec_t from = quota_observe_begin(&s->observer);
    struct quota_pod known;

    if (is_reserve_pod(&p->obj.meta.annotations))
        return; /* in place of a Reservation: the pods that use it are charged */
    struct hooked before = hooked_of(s, p->obj.meta.uid);
    bool is_known = forest_pod(s->forest, p->obj.meta.uid, &known);
    bool assigned = placed || (is_known && known.assigned);

    if (is_ignored(s, p))
        forest_remove_pod(s->forest, p->obj.meta.uid);
    else
        forest_put_pod(s->forest, p, assigned);
    hooked_tell(s, p->obj.meta.uid, &before);
    quota_observe_end(&s->observer, is_known ? QUOTA_OP_POD_UPDATE : QUOTA_OP_POD_ADD, from);
    quotas_changed(s);
}

static void on_pending(void *service, const struct pod *before, const struct pod *now)
{
    (void)before;
    put_pod(service, now, false);
}

static void on_placed(void *service, const struct pod *before, const struct pod *now)
{
    (void)before;
    put_pod(service, now, true);
}

static void on_gone(void *service, const struct pod *last)
{
    struct quotas *s = service;

    nsec_t from = quota_observe_begin(&s->observer);
    struct hooked before = hooked_of(s, last->obj.meta.uid);
    forest_remove_pod(s->forest, last->obj.meta.uid);
    hooked_tell(s, last->obj.meta.uid, &before);
    quota_observe_end(&s->observer, QUOTA_OP_POD_DELETE, from);
    quotas_changed(s);
}

static void assign(struct quotas *s, const struct pod *p, bool assigned)
{
    nsec_t from = quota_observe_begin(&s->observer);
    struct hooked before = hooked_of(s, p->obj.meta.uid);

    forest_assign_pod(s->forest, p->obj.meta.uid, assigned);
    hooked_tell(s, p->obj.meta.uid, &before);
    quota_observe_end(&s->observer, assigned ? QUOTA_OP_RESERVE : QUOTA_OP_UNRESERVE, from);
    quotas_changed(s);
}

static void on_assumed(void *service, const struct pod *p, const char *node)
{
    (void)node;
    assign(service, p, true);
}

static void on_forgotten(void *service, const struct pod *p, const char *node)
{
    (void)node;
    assign(service, p, false);
}

static const struct ks_pod_handler pod_handler = {
    .pending = on_pending,
    .placed = on_placed,
    .changed = on_placed,
    .gone = on_gone,
    .assumed = on_assumed,
    .forgotten = on_forgotten,
};

struct quota *quotas_of_pod(struct quotas *s, const struct pod *p)
{
    struct quota_pod known;

    if (forest_pod(s->forest, p->obj.meta.uid, &known))
        return forest_charged(s->forest, p->obj.meta.uid);
    return forest_resolve(s->forest, p);
}

/* ---- life ------------------------------------------------------------------------------------ */

static reslist copy_list(const reslist *l, struct arena *a)
{
    reslist out = { .items = arena_newn0(a, l->n, struct resqty), .n = l->n };

    for (uint32_t i = 0; i < l->n; i++)
        out.items[i] = (struct resqty){ arena_strdup(a, l->items[i].name), l->items[i].value };
    return out;
}

void quotas_set_args(struct quotas *s, const struct quota_args *a)
{
    arena_reset(s->args.arena);
    s->args.delay_evict = a->delay_evict.v;
    s->args.revoke = a->revoke.v;
    s->args.monitor_all = a->monitor_all.v;
    s->args.ns = arena_strdup(s->args.arena, a->ns);
    s->args.default_max = copy_list(&a->default_max, s->args.arena);
    s->args.system_max = copy_list(&a->system_max, s->args.arena);
    s->runtime = a->runtime.v;
    s->check_parent |= a->check_parent.v;
    forest_scale_mins(s->forest, a->scale_min.v);
    if (!map_getz(&s->owners, QUOTA_DEFAULT_NAME))
        forest_set_special(s->forest, QUOTA_DEFAULT_NAME, &s->args.default_max);
    if (!map_getz(&s->owners, QUOTA_SYSTEM_NAME))
        forest_set_special(s->forest, QUOTA_SYSTEM_NAME, &s->args.system_max);
    quotas_wake_all(s);
}

static void quotas_destroy(void *service)
{
    struct quotas *s = service;

    if (s->listener.fn)
        objects_unlisten(s->env.objects, &s->listener);
    quotas_gauges_stop(s);
    quotas_waits_fini(s);
    quota_hooks_stop(&s->hooks);
    if (s->leave)
        timer_cancel(s->leave);
    map_foreach(&s->owners, e)
        owner_free(e->value);
    map_foreach(&s->nodes, n)
        kobj_unref(n->value);
    map_fini(&s->owners);
    map_fini(&s->nodes);
    vec_fini(&s->leavers);
    forest_free(s->forest);
    arena_free(s->args.arena);
    free(s);
}

int quotas_create_with(const struct ks_env *env, const struct quota_args *args,
                       const struct quota_hook_factory *const *factories, void **ret,
                       struct kerr *err)
{
    struct quotas *s = xnew0(struct quotas);
    struct quota_options o = {
        .trees = ks_gate(env, "MultiQuotaTree"),
        .guarantee = ks_gate(env, "ElasticQuotaGuaranteeUsage"),
        .no_default = ks_gate(env, "DisableDefaultQuota"),
        .ignore_overhead = ks_gate(env, "ElasticQuotaIgnorePodOverhead"),
    };
    struct kobj *q;

    s->env = *env;
    s->forest = forest_new(&o);
    s->args.arena = arena_new();
    s->ignore_terminating = ks_gate(env, "ElasticQuotaIgnoreTerminatingPod");
    s->ignore_terminating_at_once = ks_gate(env, "ElasticQuotaImmediateIgnoreTerminatingPod");
    quotas_set_args(s, args);
    quotas_gauges_start(s);
    quota_observer_init(&s->observer, env->loop, env->metrics);
    if (quota_hooks_start(&s->hooks, factories, args, env, err) < 0) {
        quotas_destroy(s);
        return err->code;
    }
    quota_hooks_begin(&s->hooks);
    if (env->objects) {
        s->listener = (struct objects_listener){ &kind_elasticquota, on_quota, s, NULL };
        objects_listen(env->objects, &s->listener);
        for (size_t it = 0; (q = objects_next(env->objects, &kind_elasticquota, &it));)
            on_quota(s, NULL, q);
    }
    for (uint32_t i = 0; env->nodes && i < env->nodes->n; i++)
        on_node(s, NULL, env->nodes->node[i]);
    quota_hooks_end(&s->hooks);
    *ret = s;
    return 0;
}

static int quotas_create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    return quotas_create_with(env, args, quota_hook_factories, ret, err);
}

const struct ks_service quotas_service = {
    .name = "ElasticQuota",
    .create = quotas_create,
    .destroy = quotas_destroy,
    .pods = &pod_handler,
    .node = on_node,
    .paths = quotas_paths,
    .controller = &quotas_controller,
};
