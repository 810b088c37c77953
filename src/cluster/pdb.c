/* pdb.c - status of PodDisruptionBudgets: how many pods may go right now.
 *
 * The eviction subresource takes from disruptionsAllowed and notes the pod; a note that led to
 * nothing ages out after two minutes.
 */
#include <stdio.h>

#include "api/workload.h"
#include "cluster/internal.h"

#define DISRUPTED_FOR (120 * NSEC_PER_SEC)

struct pdbctl {
    struct cluster *c;
    struct workqueue *queue;
    struct shared pdbs, statefulsets, rcs;
    struct shared *pods, *sets, *deployments;
};
struct verdict {
    int64_t expected, desired, healthy, allowed;
    KLIST(struct disrupted {
        const char *name;
        nsec_t since;
    })
    disrupted;
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
    if (streq(ref->kind, "ReplicaSet") && (o = informer_get(p->sets->inf, key))) {
        const struct owner_ref *up = kobj_controller(o);
        *ret_uid = o->meta.uid;
        if (!up || !streq(up->kind, "Deployment"))
            return rs_of(o)->spec.replicas.set ? rs_of(o)->spec.replicas.v : 1;
        (void)snprintf(key, sizeof key, "%s/%s", pod->meta.ns, up->name);
        o = informer_get(p->deployments->inf, key);
        if (!o)
            return -1;
        *ret_uid = o->meta.uid;
        return deploy_of(o)->spec.replicas.set ? deploy_of(o)->spec.replicas.v : 1;
    }
    o = streq(ref->kind, "StatefulSet")             ? informer_get(p->statefulsets.inf, key)
        : streq(ref->kind, "ReplicationController") ? informer_get(p->rcs.inf, key)
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

    v->disrupted.items = arena_zalloc(a, (d->status.disrupted.n + 1) * sizeof(struct disrupted));
    for (uint32_t i = 0; i < d->status.disrupted.n; i++) {
        const char *name = d->status.disrupted.items[i].name;
        nsec_t since = d->status.disrupted.items[i].since, left = since + DISRUPTED_FOR - now;
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

static wcondlist condition(struct pdbctl *p, const struct pdb_doc *d, const struct verdict *v,
                           struct arena *a)
{
    struct wcond c = { .type = "DisruptionAllowed", .status = "False", .message = "" };

    c.reason = v->failure ? "SyncFailed" : v->allowed > 0 ? "SufficientPods" : "InsufficientPods";
    c.message = v->failure ? v->failure : "";
    if (!v->failure && v->allowed > 0)
        c.status = "True";
    return wcond_set(&d->status.conditions, &c, loop_wall(p->c->loop), a);
}

static bool is_written(const struct pdb_doc *d, const struct verdict *v, const wcondlist *l)
{
    const struct pdb_doc_status *s = &d->status;
    if (s->disrupted.n != v->disrupted.n)
        return false;
    return s->expected_pods == v->expected && s->desired_healthy == v->desired &&
           s->current_healthy == v->healthy && s->disruptions_allowed == v->allowed &&
           s->observed_generation == d->obj.meta.generation && wcond_equal(&s->conditions, l);
}

static void write_status(struct batch *b, const struct pdb_doc *d, const struct verdict *v,
                         const wcondlist *l)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    write_version(&w, &d->obj); /* the eviction subresource writes here too */
    kjw_obj(&w, "status");
    kjw_i64(&w, "observedGeneration", d->obj.meta.generation);
    kjw_i64(&w, "expectedPods", v->expected);
    kjw_i64(&w, "desiredHealthy", v->desired);
    kjw_i64(&w, "currentHealthy", v->healthy);
    kjw_i64(&w, "disruptionsAllowed", v->allowed);
    kjw_obj(&w, "disruptedPods");
    for (uint32_t i = 0; i < d->status.disrupted.n; i++) {
        const char *name = d->status.disrupted.items[i].name;
        bool kept = false;
        for (uint32_t k = 0; k < v->disrupted.n; k++)
            kept = kept || streq(v->disrupted.items[k].name, name);
        if (!kept)
            kjw_null(&w, name); /* a merge patch forgets it */
    }
    kjw_end(&w);
    wcond_write(&w, l);
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, &d->obj, "status", KUBE_PATCH_MERGE, &body, NULL, NULL);
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
    shared_by(p->pods, p->pods->by_ns, d->obj.meta.ns, &all);
    vec_foreach(&all, i)
        if (labelsel_matches(selector, &all.items[i]->meta.labels) &&
            !pod_is_terminal(pod_of(all.items[i])))
            vec_push(&pods, all.items[i]);
    budget(p, d, &pods, &v, a);
    keep_disrupted(p, d, &pods, &v, a);
    count_healthy(&pods, &v);
    v.allowed = v.failure || v.expected == 0 ? 0 : MAX(v.healthy - v.desired, (int64_t)0);
    wcondlist l = condition(p, d, &v, a);
    if (!is_written(d, &v, &l))
        write_status(b, d, &v, &l);
    if (v.wait)
        batch_again(b, v.wait);
    vec_fini(&all);
    vec_fini(&pods);
}

static void sync(void *arg, const char *key, struct work *w)
{
    struct pdbctl *p = arg;
    struct kobj *o = informer_get(p->pdbs.inf, key);
    struct batch *b = batch_new(p->c, "pdb", key, w);
    bool synced = informer_synced(p->pods->inf) && informer_synced(p->sets->inf) &&
                  informer_synced(p->deployments->inf);

    if (!synced)
        batch_again(b, 50 * NSEC_PER_MSEC);
    else if (o && o->meta.deleted == 0)
        sync_one(p, b, pdb_doc_of(o));
    batch_close(b);
}

/* ---- news, life ---------------------------------------------------------------------------- */

static void on_pdb(void *arg, struct kobj *o)
{
    struct pdbctl *p = arg;
    char key[KOBJ_KEY_MAX];
    kobj_key(o, key, sizeof key);
    workqueue_add(p->queue, key);
}

static void on_pdb_update(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old;
    on_pdb(arg, o);
}

static void wake(struct pdbctl *p, const char *ns, const kstrmap *labels)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    size_t n;
    struct kobj *const *found = informer_by_index(p->pdbs.inf, p->pdbs.by_ns, ns, &n);

    for (size_t i = 0; i < n; i++) {
        struct labelsel *selector;
        struct kerr err;
        if (!labels ||
            (labelsel_from(pdb_doc_of(found[i])->spec.selector, a, &selector, &err) == 0 &&
             labelsel_matches(selector, labels)))
            on_pdb(p, found[i]);
    }
}

static void on_pod(void *arg, struct kobj *o)
{
    wake(arg, o->meta.ns, &o->meta.labels);
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
    wake(arg, o->meta.ns, NULL);
}

static void on_scale_update(void *arg, struct kobj *old, struct kobj *o)
{
    if (old->meta.generation != o->meta.generation)
        on_scale(arg, o);
}

static void index_ns(const struct kobj *o, index_emit_fn emit, void *to)
{
    emit(to, o->meta.ns);
}

static void follow(struct pdbctl *p, struct shared *s, const struct kind *k,
                   const struct informer_handler *h)
{
    s->inf = informer_new(p->c->kube, &(struct informer_opts){ .kind = k });
    s->by_ns = informer_add_index(s->inf, index_ns);
    informer_add_handler(s->inf, h, p);
    informer_start(s->inf);
}

struct pdbctl *pdbctl_new(struct cluster *c)
{
    static const struct informer_handler pdbs = { .on_add = on_pdb, .on_update = on_pdb_update };
    static const struct informer_handler pods = { .on_add = on_pod,
                                                  .on_update = on_pod_update,
                                                  .on_delete = on_pod };
    static const struct informer_handler scales = { .on_add = on_scale,
                                                    .on_update = on_scale_update,
                                                    .on_delete = on_scale };
    struct pdbctl *p = xnew0(struct pdbctl);

    p->c = c;
    p->queue = workqueue_new(c->loop, &(struct workqueue_opts){ .name = "pdb", .concurrency = 4 },
                             sync, p);
    p->pods = cluster_pods(c);
    p->sets = cluster_replicasets(c);
    p->deployments = cluster_deployments(c);
    follow(p, &p->pdbs, &doc_pdb, &pdbs);
    follow(p, &p->statefulsets, &kind_statefulset, &scales);
    follow(p, &p->rcs, &kind_replicationcontroller, &scales);
    informer_add_handler(p->pods->inf, &pods, p);
    informer_add_handler(p->sets->inf, &scales, p);
    informer_add_handler(p->deployments->inf, &scales, p);
    return p;
}

struct pdbctl *pdbctl_free(struct pdbctl *p)
{
    if (!p)
        return NULL;
    workqueue_free(p->queue);
    informer_free(p->pdbs.inf);
    informer_free(p->statefulsets.inf);
    informer_free(p->rcs.inf);
    free(p);
    return NULL;
}
