/* pdb.c - status of PodDisruptionBudgets: how many pods may go right now.
 *
 * The eviction subresource takes from disruptionsAllowed and notes the pod; a note that led to
 * nothing ages out after two minutes.
 */
#include <stdio.h>

#include "api/workload.h"
#include "cluster/internal.h"
#include "controllers/percent.h"

#define DISRUPTED_FOR (120 * NSEC_PER_SEC)

struct pdbctl {
    struct cluster *c;
    struct controller *controller;
    struct informer *pdbs, *statefulsets, *rcs, *pods, *sets, *deployments;
};
struct verdict {
    int64_t expected, desired, healthy, allowed;
    disruptedlist disrupted;
    const char *failure; /* why the numbers are not to be trusted; NULL: they are */
    nsec_t wait;
};

/* ---- how many there should be -------------------------------------------------------------- */

/* Replicas of what stands behind a pod; -1 when that is no kind with a scale that we know. */
static int64_t scale_of(struct pdbctl *p, const struct kobj *pod, struct kuid *ret_uid)
{
    const struct owner_ref *ref = kobj_controller(pod);
    char key[KOBJ_KEY_MAX];
    struct kobj *o;

    if (!ref)
        return -1;
    (void)snprintf(key, sizeof key, "%s/%s", pod->meta.ns, ref->name);
    if (streq(ref->kind, "ReplicaSet") && (o = informer_get(p->sets, key))) {
        const struct owner_ref *up = kobj_controller(o);
        *ret_uid = o->meta.uid;
        if (!up || !streq(up->kind, "Deployment"))
            return rs_of(o)->spec.replicas.set ? rs_of(o)->spec.replicas.v : 1;
        (void)snprintf(key, sizeof key, "%s/%s", pod->meta.ns, up->name);
        o = informer_get(p->deployments, key);
        if (!o)
            return -1;
        *ret_uid = o->meta.uid;
        return deploy_of(o)->spec.replicas.set ? deploy_of(o)->spec.replicas.v : 1;
    }
    o = streq(ref->kind, "StatefulSet")             ? informer_get(p->statefulsets, key)
        : streq(ref->kind, "ReplicationController") ? informer_get(p->rcs, key)
                                                    : NULL;
    if (!o)
        return -1;
    *ret_uid = o->meta.uid;
    return workload_replicas(workload_of(o));
}

static int64_t expected_by_scale(struct pdbctl *p, const kobjvec *pods, struct arena *a,
                                 const char **ret_failure)
{
    struct vec_of(struct kuid) seen = { 0 };
    int64_t sum = 0;

    vec_foreach(pods, i) {
        struct kuid uid = { 0 };
        bool known = false;
        int64_t n = scale_of(p, pods->items[i], &uid);
        if (n < 0) {
            *ret_failure =
                arena_printf(a, "found no controllers for pod \"%s\"", pods->items[i]->meta.name);
            break;
        }
        vec_foreach(&seen, k)
            known = known || kuid_equal(seen.items[k], uid);
        if (known)
            continue;
        vec_push(&seen, uid);
        sum += n;
    }
    vec_fini(&seen);
    return sum;
}

/* A JSON text: 1 or "30%". */
static struct int_or_str read_amount(const char *raw, struct arena *a)
{
    struct int_or_str v = { 0 };
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (raw && kj_parse(raw, strlen(raw), 0, &doc, NULL) == 0) {
        const char *s = kj_str(kj_root(doc));
        v.s = s ? arena_strdup(a, s) : NULL;
        v.i = (int32_t)MIN(MAX(kj_i64_or(kj_root(doc), 0), (int64_t)0), (int64_t)INT32_MAX);
    }
    return v;
}

static void budget(struct pdbctl *p, const struct pdb_doc *d, const kobjvec *pods,
                   struct verdict *v, struct arena *a)
{
    struct int_or_str min = read_amount(d->spec.min_raw, a), max = read_amount(d->spec.max_raw, a);

    if (d->spec.max_raw) {
        v->expected = expected_by_scale(p, pods, a, &v->failure);
        v->desired = MAX(v->expected - int_or_percent(&max, v->expected, true), (int64_t)0);
    } else if (d->spec.min_raw && min.s) {
        v->expected = expected_by_scale(p, pods, a, &v->failure);
        v->desired = int_or_percent(&min, v->expected, true);
    } else if (d->spec.min_raw) {
        v->expected = (int64_t)pods->n;
        v->desired = min.i;
    }
}

/* ---- how many there are -------------------------------------------------------------------- */

static const struct kobj *pod_named(const kobjvec *pods, const char *name)
{
    vec_foreach(pods, i)
        if (streq(pods->items[i]->meta.name, name))
            return pods->items[i];
    return NULL;
}

static void keep_disrupted(struct pdbctl *p, const struct pdb_doc *d, const kobjvec *pods,
                           struct verdict *v, struct arena *a)
{
    nsec_t now = loop_wall(p->c->loop);

    v->disrupted.items = arena_newn0(a, d->status.disrupted.n + 1, struct disrupted);
    for (uint32_t i = 0; i < d->status.disrupted.n; i++) {
        const char *name = d->status.disrupted.items[i].name;
        nsec_t since = d->status.disrupted.items[i].since;
        nsec_t left = i64_sub_sat(i64_add_sat(since, DISRUPTED_FOR), now);
        const struct kobj *pod = pod_named(pods, name);
        if (!pod || pod->meta.deleted || left <= 0)
            continue;
        v->disrupted.items[v->disrupted.n++] = (struct disrupted){ name, since };
        v->wait = v->wait ? MIN(v->wait, left) : left;
    }
}

static void count_healthy(const kobjvec *pods, struct verdict *v)
{
    vec_foreach(pods, i) {
        const struct kobj *o = pods->items[i];
        bool noted = false;
        for (uint32_t k = 0; k < v->disrupted.n; k++)
            noted = noted || streq(v->disrupted.items[k].name, o->meta.name);
        v->healthy += !noted && o->meta.deleted == 0 && pod_is_ready(pod_of(o));
    }
}

/* ---- status -------------------------------------------------------------------------------- */

static void set_condition(const struct verdict *v, timed_conditionlist *l, nsec_t now,
                          struct arena *a)
{
    struct timed_condition c = { .type = "DisruptionAllowed", .status = COND_FALSE };

    c.reason = v->failure ? "SyncFailed" : v->allowed > 0 ? "SufficientPods" : "InsufficientPods";
    c.message = v->failure;
    if (!v->failure && v->allowed > 0)
        c.status = COND_TRUE;
    conditions_set(l, &c, now, a);
}

static void write_status(struct batch *b, const struct pdb_doc *d, const struct verdict *v)
{
    const struct pdb_doc_status *old = &d->status;
    struct pdb_doc_status now = { .observed_generation = d->obj.meta.generation,
                                  .expected_pods = (int32_t)v->expected,
                                  .desired_healthy = (int32_t)v->desired,
                                  .current_healthy = (int32_t)v->healthy,
                                  .disruptions_allowed = (int32_t)v->allowed,
                                  .disrupted = v->disrupted,
                                  .conditions = old->conditions };

    set_condition(v, &now.conditions, loop_wall(batch_env(b)->loop), batch_arena(b));
    /* The eviction subresource writes here too. */
    batch_patch_change(b, &d->obj,
                       &(struct change){ .member = "status",
                                         .schema = &pdb_status_schema,
                                         .from = old->observed_generation ? old : NULL,
                                         .to = &now,
                                         .same_version = true },
                       NULL, NULL);
}

static void sync_one(struct pdbctl *p, struct batch *b, const struct pdb_doc *d)
{
    struct arena *a = batch_arena(b);
    kobjvec all = { 0 }, pods = { 0 };
    struct labelsel *selector;
    struct verdict v = { 0 };
    struct kerr err = { 0 };

    if (labelsel_from(d->spec.selector, a, &selector, &err) < 0)
        return;
    objects_by(p->pods, index_ns, d->obj.meta.ns, &all);
    vec_foreach(&all, i)
        if (labelsel_matches(selector, &all.items[i]->meta.labels) &&
            !pod_is_terminal(pod_of(all.items[i])))
            vec_push(&pods, all.items[i]);
    budget(p, d, &pods, &v, a);
    keep_disrupted(p, d, &pods, &v, a);
    count_healthy(&pods, &v);
    v.allowed = v.failure || v.expected == 0 ? 0 : MAX(v.healthy - v.desired, (int64_t)0);
    write_status(b, d, &v);
    if (v.wait)
        batch_again(b, v.wait);
    vec_fini(&all);
    vec_fini(&pods);
}

static void sync(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    (void)key;
    if (o && o->meta.deleted == 0)
        sync_one(arg, b, pdb_doc_of(o));
}

/* ---- news, life ---------------------------------------------------------------------------- */

static const struct label_selector *selector_of(const struct kobj *o)
{
    return pdb_doc_of(o)->spec.selector;
}

static void on_pod(void *arg, struct kobj *o)
{
    struct pdbctl *p = arg;
    controller_add_selecting(p->controller, p->pdbs, selector_of, o->meta.ns, &o->meta.labels);
}

static void on_pod_update(void *arg, struct kobj *old, struct kobj *o)
{
    if (old->meta.labels.items != o->meta.labels.items)
        on_pod(arg, old);
    on_pod(arg, o);
}

/* Replicas of a workload: all budgets of its namespace, since few have any. */
static void on_scale(void *arg, struct kobj *o)
{
    struct pdbctl *p = arg;
    controller_add_by(p->controller, p->pdbs, index_ns, o->meta.ns);
}

static void on_scale_update(void *arg, struct kobj *old, struct kobj *o)
{
    if (old->meta.generation != o->meta.generation)
        on_scale(arg, o);
}

struct pdbctl *pdbctl_new(struct cluster *c)
{
    static const struct informer_handler pods = { .on_add = on_pod,
                                                  .on_update = on_pod_update,
                                                  .on_delete = on_pod };
    static const struct informer_handler scales = { .on_add = on_scale,
                                                    .on_update = on_scale_update,
                                                    .on_delete = on_scale };
    struct pdbctl *p = xnew0(struct pdbctl);

    p->c = c;
    p->pdbs = caches_get(c->caches, &doc_pdb);
    p->pods = caches_get(c->caches, &kind_pod);
    p->sets = caches_get(c->caches, &doc_replicaset);
    p->deployments = caches_get(c->caches, &doc_deployment);
    p->statefulsets = caches_get(c->caches, &kind_statefulset);
    p->rcs = caches_get(c->caches, &kind_replicationcontroller);
    p->controller = controller_new(
        c->controllers,
        &(struct controller_opts){
            .name = "pdb", .of = p->pdbs, .sync = sync, .self = p, .queue.concurrency = 4 });
    controller_watch(p->controller, p->pdbs, NULL, NULL);
    controller_watch(p->controller, p->pods, &pods, p);
    controller_watch(p->controller, p->sets, &scales, p);
    controller_watch(p->controller, p->deployments, &scales, p);
    controller_watch(p->controller, p->statefulsets, &scales, p);
    controller_watch(p->controller, p->rcs, &scales, p);
    return p;
}

struct pdbctl *pdbctl_free(struct pdbctl *p)
{
    if (!p)
        return NULL;
    controller_free(p->controller);
    free(p);
    return NULL;
}
