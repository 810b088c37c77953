/* daemonset.c - a pod on every node that should have one. */
#include <stdio.h>

#include "api/toleration.h"
#include "cluster/ds.h"
#include "controllers/claim.h"

#define GATHER (10 * NSEC_PER_MSEC)
enum { DELETES_A_SYNC = 250 };

struct dsctl {
    struct cluster *c;
    struct controller *controller;
    struct expect *expect;
    struct podhold *hold; /* by set and node */
    struct informer *sets, *pods, *nodes, *revisions;
};

/* ---- making pods --------------------------------------------------------------------------- */

struct placing { /* in the arena of the batch */
    const char **nodes;
    const char *hash, *generation;
};

/* The template's own required terms were heeded when the node was chosen. */
static void pin(struct kj_mdoc *d, struct kj_mval *spec, const char *node)
{
    struct kj_mval *affinity = kj_mget(spec, "affinity"), *na, *list = kj_marr(d);
    struct kj_mval *req = kj_mobj(d), *field = kj_mobj(d), *fields = kj_marr(d), *term = kj_mobj(d);
    struct kj_mval *terms = kj_marr(d);

    if (!affinity)
        kj_mset(d, spec, "affinity", affinity = kj_mobj(d));
    na = kj_mget(affinity, "nodeAffinity");
    if (!na)
        kj_mset(d, affinity, "nodeAffinity", na = kj_mobj(d));
    kj_mpush(list, kj_mstr(d, node));
    kj_mset(d, field, "key", kj_mstr(d, "metadata.name"));
    kj_mset(d, field, "operator", kj_mstr(d, "In"));
    kj_mset(d, field, "values", list);
    kj_mpush(fields, field);
    kj_mset(d, term, "matchFields", fields);
    kj_mpush(terms, term);
    kj_mset(d, req, "nodeSelectorTerms", terms);
    kj_mset(d, na, "requiredDuringSchedulingIgnoredDuringExecution", req);
}

static bool has_toleration(const struct kj_mval *list, const struct toleration *t)
{
    for (size_t i = 0; i < kj_mlen(list); i++) {
        struct kj_mval *x = kj_mat(list, i);
        if (streq(str_or(kj_mstr_get(kj_mget(x, "key")), ""), t->key) &&
            streq(str_or(kj_mstr_get(kj_mget(x, "effect")), ""), taint_effect_names[t->effect]) &&
            streq(str_or(kj_mstr_get(kj_mget(x, "operator")), ""), "Exists"))
            return true;
    }
    return false;
}

static void tolerate(struct kj_mdoc *d, struct kj_mval *spec)
{
    CLEANUP(strbuf_fini) struct strbuf host = STRBUF_INIT;
    struct kj_mval *list = kj_mget(spec, "tolerations"), *net = kj_mget(spec, "hostNetwork");
    const struct toleration *ours;

    if (net)
        kj_mwrite(net, 0, &host);
    size_t n = ds_tolerations(streq(strbuf_str(&host), "true"), &ours);
    if (!list)
        kj_mset(d, spec, "tolerations", list = kj_marr(d));
    for (size_t i = 0; i < n; i++) {
        if (has_toleration(list, &ours[i]))
            continue;
        struct kj_mval *t = kj_mobj(d);
        kj_mset(d, t, "key", kj_mstr(d, ours[i].key));
        kj_mset(d, t, "operator", kj_mstr(d, "Exists"));
        kj_mset(d, t, "effect", kj_mstr(d, taint_effect_names[ours[i].effect]));
        kj_mpush(list, t);
    }
}

static void decorate(void *arg, uint32_t i, struct kj_mdoc *d, struct kj_mval *pod)
{
    const struct placing *p = arg;
    struct kj_mval *spec = kj_mget(pod, "spec");

    pod_set_text(d, pod, "labels", LABEL_REVISION, p->hash);
    pod_set_text(d, pod, "labels", "pod-template-generation", p->generation);
    pin(d, spec, p->nodes[i]);
    tolerate(d, spec);
}

static const char *hold_key(const char *set, const char *node, struct arena *a)
{
    return arena_printf(a, "%s/%s", set, node);
}

static void create(struct dsctl *dc, struct batch *b, const struct dsview *v,
                   const dsnamevec *nodes)
{
    struct arena *a = batch_arena(b);
    struct placing *p = arena_new0(a, struct placing);
    uint32_t n = 0;

    p->nodes = arena_newn0(a, nodes->n + 1, const char *);
    p->hash = arena_strdup(a, v->hash);
    p->generation = arena_printf(a, "%lld", (long long)v->ds->obj.meta.generation);
    vec_foreach(nodes, i) {
        nsec_t wait;
        /* A pod that keeps failing on a node is not made again at once. */
        if (podhold_allow(dc->hold, hold_key(batch_key(b), nodes->items[i], a), 1, &wait))
            p->nodes[n++] = arena_strdup(a, nodes->items[i]);
        else
            batch_again(b, wait);
    }
    if (n > 0)
        make_pods(b, &(struct podplan){ .c = dc->c,
                                        .owner = &v->ds->obj,
                                        .template_json = v->ds->spec.template_json,
                                        .expect = dc->expect,
                                        .n = n,
                                        .decorate = decorate,
                                        .arg = p });
}

/* ---- one pass ------------------------------------------------------------------------------ */

static void tell_ended(struct dsctl *dc, const struct ds *ds, const struct kobj *pod)
{
    const char *node = str_or(pod_of(pod)->node_name, "");

    if (pod_of(pod)->status.phase == POD_FAILED)
        recorder_event_on(dc->c->events, &ds->obj, true, "FailedDaemonPod", NULL,
                          "Found failed daemon pod %s/%s on node %s, will try to kill it",
                          pod->meta.ns, pod->meta.name, node);
    else if (pod_of(pod)->status.phase == POD_SUCCEEDED)
        recorder_event_on(dc->c->events, &ds->obj, false, "SucceededDaemonPod", NULL,
                          "Found succeeded daemon pod %s/%s on node %s, will try to delete it",
                          pod->meta.ns, pod->meta.name, node);
}

static void act(struct dsctl *dc, struct batch *b, const struct dsview *v)
{
    struct dsplan plan = { 0 };

    ds_plan(v, &plan);
    if (plan.create.n + plan.remove.n == 0)
        ds_plan_update(v, &plan);
    for (size_t i = 0; i < plan.remove.n && i < DELETES_A_SYNC; i++) {
        tell_ended(dc, v->ds, plan.remove.items[i]);
        unmake_pod(b, dc->c, dc->expect, &v->ds->obj, plan.remove.items[i]);
    }
    create(dc, b, v, &plan.create);
    dsplan_fini(&plan);
}

static const char *hash_of(const struct revision *r)
{
    return str_or(kstrmap_get(&r->obj.meta.labels, LABEL_REVISION), "");
}

static bool is_live(const void *arg, const struct revision *r)
{
    const struct dsview *v = arg;

    if (streq(hash_of(r), v->hash))
        return true;
    vec_foreach(&v->nodes, i)
        vec_foreach(&v->nodes.items[i].pods, k)
            if (streq(str_or(kstrmap_get(&v->nodes.items[i].pods.items[k]->meta.labels,
                                         LABEL_REVISION),
                             ""),
                      hash_of(r)))
                return true;
    return false;
}

static void pass(struct dsctl *dc, struct batch *b, const struct ds *ds, const kobjvec *pods,
                 const struct revset *revs)
{
    int64_t keep = ds->spec.revision_history_limit.set ? ds->spec.revision_history_limit.v : 10;
    struct dsview v;

    dsview_init(&v, ds, dc->nodes, pods, loop_wall(dc->c->loop), batch_arena(b));
    v.hash = hash_of(revs->update);
    if (ds->obj.meta.deleted == 0 && expect_settled(dc->expect, batch_key(b))) {
        act(dc, b, &v);
        revset_trim(revs, b, keep, is_live, &v);
    }
    struct ds_status now = dsview_status(&v);
    now.collisions = revs->collisions;
    batch_patch_change(
        b, &ds->obj,
        &(struct change){ .member = "status",
                          .schema = &daemonset_status_schema,
                          .from = ds->status.observed_generation ? &ds->status : NULL,
                          .to = &now },
        NULL, NULL);
    if (v.wait)
        batch_again(b, v.wait);
    dsview_fini(&v);
}

static void sync_one(struct dsctl *dc, struct batch *b, const struct ds *ds)
{
    struct labelsel *selector;
    kobjvec mine = { 0 };
    struct revset revs;
    struct kerr err = { 0 };

    if (labelsel_from(&ds->spec.selector, batch_arena(b), &selector, &err) < 0)
        return;
    bool settled = claim_children(
        b, &(struct claim){ .owner = &ds->obj, .selector = selector, .children = dc->pods }, &mine);
    revset_init(&revs, b,
                &(struct revowner){ .obj = &ds->obj,
                                    .selector = &ds->spec.selector,
                                    .template_json = ds->spec.template_json,
                                    .collisions = ds->status.collisions,
                                    .hash_label = LABEL_REVISION,
                                    .revisions = dc->revisions });
    if (settled && revs.update)
        pass(dc, b, ds, &mine, &revs);
    revset_fini(&revs);
    vec_fini(&mine);
}

static void sync(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    struct dsctl *dc = arg;

    if (o)
        sync_one(dc, b, ds_of(o));
    else
        expect_forget(dc->expect, key);
}

/* ---- news ---------------------------------------------------------------------------------- */

static const struct label_selector *selector_of(const struct kobj *o)
{
    return &ds_of(o)->spec.selector;
}

static void note_fate(struct dsctl *dc, const char *key, struct kobj *old, struct kobj *pod)
{
    char held[KOBJ_KEY_MAX + 256];
    uint8_t before = old ? pod_of(old)->status.phase : POD_PHASE_NONE;

    if (str_empty(pod_of(pod)->node_name) || pod_of(pod)->status.phase == before)
        return;
    (void)snprintf(held, sizeof held, "%s/%s", key, pod_of(pod)->node_name);
    if (pod_of(pod)->status.phase == POD_FAILED)
        podhold_refused(dc->hold, held);
    else if (pod_of(pod)->status.phase == POD_RUNNING)
        podhold_forget(dc->hold, held);
}

static void on_pod_change(struct dsctl *dc, struct kobj *old, struct kobj *pod)
{
    char key[KOBJ_KEY_MAX];

    if (owner_key(pod, "DaemonSet", key, sizeof key)) {
        if (informer_synced(dc->pods))
            note_fate(dc, key, old, pod);
        expect_created(dc->expect, key, pod->meta.name);
        if (pod->meta.deleted)
            expect_deleted(dc->expect, key, pod->meta.name);
        controller_add_after(dc->controller, key, GATHER);
    } else if (!kobj_controller(pod) && pod->meta.labels.n && !pod->meta.deleted &&
               informer_count(dc->sets) > 0) {
        controller_add_selecting(dc->controller, dc->sets, selector_of, pod->meta.ns,
                                 &pod->meta.labels);
    }
}

static void on_pod(void *arg, struct kobj *pod)
{
    on_pod_change(arg, NULL, pod);
}

static void on_pod_update(void *arg, struct kobj *old, struct kobj *pod)
{
    struct dsctl *dc = arg;
    char before[KOBJ_KEY_MAX], now[KOBJ_KEY_MAX];

    if (old != pod && owner_key(old, "DaemonSet", before, sizeof before) &&
        (!owner_key(pod, "DaemonSet", now, sizeof now) || !streq(before, now)))
        controller_add(dc->controller, before);
    on_pod_change(dc, old, pod);
}

static void on_pod_delete(void *arg, struct kobj *pod)
{
    struct dsctl *dc = arg;
    char key[KOBJ_KEY_MAX];

    if (!owner_key(pod, "DaemonSet", key, sizeof key))
        return;
    expect_created(dc->expect, key, pod->meta.name);
    expect_deleted(dc->expect, key, pod->meta.name);
    controller_add(dc->controller, key);
}

/* A node concerns every set. */
static void on_node(void *arg, struct kobj *o)
{
    struct dsctl *dc = arg;
    struct kobj *set;
    char key[KOBJ_KEY_MAX];
    size_t it = 0;

    (void)o;
    while ((set = informer_next(dc->sets, &it))) {
        kobj_key(set, key, sizeof key);
        controller_add_after(dc->controller, key, GATHER);
    }
}

static void on_node_update(void *arg, struct kobj *old, struct kobj *o)
{
    /* Heartbeats are no news. */
    if (!taints_equal(&node_of(old)->spec.taints, &node_of(o)->spec.taints) ||
        !kstrmap_equal(&old->meta.labels, &o->meta.labels))
        on_node(arg, o);
}

static void on_revision(void *arg, struct kobj *o)
{
    struct dsctl *dc = arg;
    char key[KOBJ_KEY_MAX];

    if (owner_key(o, "DaemonSet", key, sizeof key))
        controller_add(dc->controller, key);
}

static void on_revision_update(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old;
    on_revision(arg, o);
}

static void forget_all(void *arg)
{
    struct dsctl *dc = arg;

    expect_forget_all(dc->expect);
    podhold_forget_all(dc->hold);
}

struct dsctl *dsctl_new(struct cluster *c)
{
    static const struct informer_handler pods = { .on_add = on_pod,
                                                  .on_update = on_pod_update,
                                                  .on_delete = on_pod_delete };
    static const struct informer_handler nodes = { .on_add = on_node,
                                                   .on_update = on_node_update,
                                                   .on_delete = on_node };
    static const struct informer_handler revisions = { .on_add = on_revision,
                                                       .on_update = on_revision_update,
                                                       .on_delete = on_revision };
    struct dsctl *dc = xnew0(struct dsctl);

    dc->c = c;
    dc->expect = expect_new(c->loop);
    dc->hold = podhold_new(c->loop);
    dc->sets = caches_get(c->caches, &doc_daemonset);
    dc->pods = caches_get(c->caches, &kind_pod);
    dc->nodes = caches_get(c->caches, &kind_node);
    dc->revisions = caches_get(c->caches, &doc_revision);
    dc->controller =
        controller_new(c->controllers, &(struct controller_opts){ .name = "daemonset",
                                                                  .of = dc->sets,
                                                                  .sync = sync,
                                                                  .stop = forget_all,
                                                                  .self = dc,
                                                                  .queue.concurrency = 8 });
    controller_watch(dc->controller, dc->sets, NULL, NULL);
    controller_watch(dc->controller, dc->pods, &pods, dc);
    controller_watch(dc->controller, dc->nodes, &nodes, dc);
    controller_watch(dc->controller, dc->revisions, &revisions, dc);
    return dc;
}

struct dsctl *dsctl_free(struct dsctl *dc)
{
    if (!dc)
        return NULL;
    controller_free(dc->controller);
    expect_free(dc->expect);
    podhold_free(dc->hold);
    free(dc);
    return NULL;
}
