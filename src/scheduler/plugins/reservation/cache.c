/* cache.c - all reservations: news of them and of pods (sched-reservation 5). */
#include "scheduler/plugins/reservation/cache.h"

#include "api/pod.h"
#include "base/arena.h"
#include "base/intern.h"
#include "client/kube.h"
#include "scheduler/model/compare.h"
#include "scheduler/plugins/reservation/controller/control.h"

/* ---- looking --------------------------------------------------------------------------------- */

struct resv *reservations_find(const struct reservations *c, struct kuid uid)
{
    return uidmap_get(&c->by_uid, uid);
}

struct resv *reservations_of_pod(const struct reservations *c, struct kuid pod)
{
    const struct resv_owner *o = uidmap_get(&c->owners, pod);
    return o ? o->of : NULL;
}

struct resv *reservations_next(const struct reservations *c, size_t *it)
{
    return uidmap_next(&c->by_uid, it);
}

bool reservations_is_reserve_pod(const struct reservations *c, const struct pod *p)
{
    const struct resv *r = uidmap_get(&c->by_uid, p->obj.meta.uid);
    return r && !r->is_pod;
}

/* ---- can it be found? ------------------------------------------------------------------------ */

/* Looked at when the reservation changes, not when its owners do: one that is for one pod stays
 * until its own state says that it is used (5, 'We can do better'). */
void resv_refresh(struct reservations *c, struct resv *r)
{
    bool now = r->available && !r->unmatchable && r->on && !(r->view.allocate_once && r->owners.n);

    if (now == r->matchable)
        return;
    r->matchable = now;
    if (now)
        resv_index(c, r);
    else
        resv_unindex(c, r);
}

/* ---- on nodes -------------------------------------------------------------------------------- */

static void leave_node(struct reservations *c, struct resv *r)
{
    struct resv_node *n = take(r->on);

    if (!n)
        return;
    for (size_t i = 0; i < n->items.n; i++)
        if (n->items.items[i] == r) {
            vec_remove(&n->items, i);
            break;
        }
    if (n->items.n)
        return;
    map_removez(&c->nodes, n->name);
    vec_fini(&n->items);
    free(n->name);
    free(n);
}

static void join_node(struct reservations *c, struct resv *r)
{
    struct resv_node *n = map_getz(&c->nodes, r->view.node);
    size_t at = 0;

    if (!n) {
        n = xnew0(struct resv_node);
        n->name = xstrdup(r->view.node);
        map_putz(&c->nodes, n->name, n);
    }
    while (at < n->items.n && strcmp(n->items.items[at]->view.name, r->view.name) < 0)
        at++;
    vec_insert(&n->items, at, r);
    r->on = n;
    r->layout = 0;
}

struct resv_node *reservations_on(const struct reservations *c, const char *node)
{
    return map_getz(&c->nodes, node);
}

/* ---- news ------------------------------------------------------------------------------------ */

static void resv_free(struct resv *r)
{
    kobj_unref(r->view.object);
    kobj_unref(r->view.pod);
    arena_free(r->mem);
    vec_fini(&r->owners);
    vec_fini(&r->buckets);
    free(r->uid_text);
    free(r);
}

static void drop(struct reservations *c, struct resv *r)
{
    r->available = false;
    resv_refresh(c, r);
    leave_node(c, r);
    resv_leave_owners(c, r);
    uidmap_remove(&c->by_uid, r->view.uid);
    resv_free(r);
}

/* The reserve pod says the same as before. */
static bool same_pod(const struct kobj *before, const struct kobj *now)
{
    const struct reservation_status *x = &reservation_of(before)->status,
                                    *y = &reservation_of(now)->status;
    bool same = x->phase == y->phase && streq(str_or(x->node_name, ""), str_or(y->node_name, "")) &&
                reslist_equal(&x->allocatable, &y->allocatable) &&
                x->conditions.n == y->conditions.n && compare_objects(before, now, false);

    for (uint32_t i = 0; same && i < x->conditions.n; i++)
        same = kj_struct_equal(&reservation_condition_schema, &x->conditions.items[i],
                               &y->conditions.items[i]);
    return same;
}

/* Made once per change. */
static void make_pod(struct reservations *c, struct resv *r)
{
    struct kerr err = { 0 };

    r->view.pod = kobj_unref(r->view.pod);
    /* One that has its node keeps it, whatever became of its spec. */
    if (r->ended || (r->invalid && !r->available) || (r->view.node && !r->available) ||
        !reservation_of(r->view.object)->spec.template)
        return;
    r->view.pod = resv_make_pod(c, r, &err);
    if (!r->view.pod)
        r->invalid = arena_strdup(r->mem, err.text);
}

struct resv *resv_news(struct reservations *c, struct kobj *object, bool is_pod)
{
    struct resv *r = uidmap_get(&c->by_uid, object->meta.uid);
    CLEANUP(kobj_unref) struct kobj *before = NULL;

    if (!r) {
        r = xnew0(struct resv);
        r->is_pod = is_pod;
        r->view.uid = uidmap_own(object->meta.uid, &r->uid_text);
        uidmap_put(&c->by_uid, r);
    }
    before = r->view.object;
    r->view.object = kobj_ref(object);
    if (r->matchable) /* owners may be others now */
        resv_unindex(c, r);
    r->matchable = false;
    resv_derive(r);
    if (r->on && (!r->view.node || !streq(r->view.node, r->on->name)))
        leave_node(c, r);
    if (!r->on && r->active && r->view.node)
        join_node(c, r);
    if (r->on && !r->active)
        leave_node(c, r);
    if (is_pod) {
        kobj_unref(r->view.pod);
        r->view.pod = kobj_ref(object);
    } else if (!before || !same_pod(before, object)) {
        make_pod(c, r);
    }
    resv_adopt(c, r);
    resv_refresh(c, r);
    return r;
}

void resv_gone(struct reservations *c, struct kuid uid)
{
    struct resv *r = uidmap_get(&c->by_uid, uid);

    if (r)
        drop(c, r);
}

static void on_object(void *arg, struct kobj *before, struct kobj *now)
{
    struct reservations *c = arg;

    if (before && (!now || !kuid_equal(before->meta.uid, now->meta.uid)))
        resv_gone(c, before->meta.uid);
    if (now)
        resv_news(c, now, false);
}

/* ---- the service ----------------------------------------------------------------------------- */

static struct kobj *placeholder_of(void *service, const struct kobj *o)
{
    const struct resv *r = reservations_find(service, o->meta.uid);
    return r && r->view.pod ? kobj_ref(r->view.pod) : NULL;
}

static int create(const struct ks_env *env, const void *args, void **ret, struct kerr *err)
{
    struct reservations *c = xnew0(struct reservations);
    struct kobj *o;

    (void)err;
    c->env = *env;
    c->args = args;
    c->own_strings = env->kube ? NULL : intern_new();
    c->strings = env->kube ? env->kube->strings : c->own_strings;
    c->scratch = kj_scratch_new(c->strings);
    c->listener = (struct objects_listener){ &kind_reservation, on_object, c, NULL };
    *ret = c;
    if (!env->objects)
        return 0;
    for (size_t it = 0; (o = objects_next(env->objects, &kind_reservation, &it));)
        resv_news(c, o, false);
    objects_listen(env->objects, &c->listener);
    return 0;
}

static void destroy(void *service)
{
    struct reservations *c = service;
    struct resv *r;

    if (c->env.objects)
        objects_unlisten(c->env.objects, &c->listener);
    reservations_free_owners(c);
    for (size_t it = 0; (r = uidmap_next(&c->by_uid, &it)); it = 0)
        drop(c, r);
    uidmap_fini(&c->by_uid);
    uidmap_fini(&c->owners);
    map_fini(&c->nodes);
    reservations_free_index(c);
    kj_scratch_free(c->scratch);
    intern_free(c->own_strings);
    free(c);
}

static void *start_controller(void *service, struct controllers *all,
                              const struct controller_env *env)
{
    const struct reservations *c = service;

    return resv_control_new(
        all, env,
        &(struct resv_control_opts){ .args = c->args,
                                     .metrics = c->env.metrics,
                                     .clean_allocated =
                                         ks_gate(&c->env, "CleanExpiredReservationAllocated") });
}

static void stop_controller(void *started)
{
    resv_control_free(started);
}

static const struct ks_controller controller = { start_controller, stop_controller };
static const struct ks_placeholder placeholder = { &kind_reservation, placeholder_of,
                                                   .stays = true };
const struct ks_service reservations_service = {
    .name = "Reservation",
    .create = create,
    .destroy = destroy,
    .pods = &reservations_pods,
    .paths = reservations_paths,
    .controller = &controller,
    .placeholder = &placeholder,
};
