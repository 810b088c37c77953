/* replicaset.c - as many pods as a ReplicaSet or a ReplicationController asks for. */
#include <stdio.h>

#include "cluster/internal.h"
#include "controllers/claim.h"

/* A pass costs as much as the set has pods: news of many pods is taken together. */
#define GATHER (10 * NSEC_PER_MSEC)
enum { DELETES_A_SYNC = 500 };

struct rsctl {
    struct cluster *c;
    const struct kind *kind;             /* both are decoded into the same struct */
    const struct kschema *status_schema; /* of that kind */
    struct controller *controller;
    struct expect *expect;
    struct podhold *hold;
    struct informer *sets, *pods;
};

/* ---- status -------------------------------------------------------------------------------- */

struct tally {
    int32_t replicas, fully_labeled, ready, available, terminating;
    nsec_t wait; /* until one more becomes available; 0: none waits */
};

static bool has_labels(const kstrmap *want, const kstrmap *have)
{
    for (uint32_t i = 0; i < want->n; i++) {
        const char *v = kstrmap_get(have, want->items[i].key);
        if (!v || !streq(v, want->items[i].value))
            return false;
    }
    return true;
}

static kstrmap template_labels(const struct rs *rs, struct arena *a)
{
    kstrmap out = { 0 };
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct str key;
    const struct kj_val *val;

    if (!rs->spec.template_json ||
        kj_parse(rs->spec.template_json, strlen(rs->spec.template_json), 0, &doc, NULL) < 0)
        return out;
    const struct kj_val *labels = kj_path(kj_root(doc), "metadata.labels");
    out.items = arena_newn0(a, kj_len(labels) + 1, struct kstrpair);
    for (struct kj_iter it = kj_iter(labels); kj_next(&it, &key, &val);)
        out.items[out.n++] = (struct kstrpair){ arena_strndup(a, key.p, key.n),
                                                arena_strdup(a, kj_str_or(val, "")) };
    return out;
}

static struct tally count(const struct rs *rs, const kobjvec *pods, nsec_t now, struct arena *a)
{
    kstrmap want = template_labels(rs, a);
    struct tally t = { 0 };

    vec_foreach(pods, i) {
        const struct pod *p = pod_of(pods->items[i]);
        nsec_t wait = 0;
        if (p->obj.meta.deleted && !pod_is_terminal(p))
            t.terminating++;
        if (!pod_is_active(p))
            continue;
        t.replicas++;
        t.fully_labeled += has_labels(&want, &p->obj.meta.labels);
        t.ready += pod_is_ready(p);
        t.available += pod_is_available(p, rs->spec.min_ready_seconds * NSEC_PER_SEC, now, &wait);
        if (wait)
            t.wait = t.wait ? MIN(t.wait, wait) : wait;
    }
    return t;
}

static void write_status(struct rsctl *r, struct batch *b, const struct rs *rs,
                         const struct tally *t)
{
    const struct rs_status *old = &rs->status;
    struct rs_status now = { .observed_generation = rs->obj.meta.generation,
                             .replicas = t->replicas,
                             .fully_labeled = t->fully_labeled,
                             .ready = t->ready,
                             .available = t->available,
                             .terminating = { t->terminating || old->terminating.set,
                                              t->terminating },
                             .conditions = old->conditions };

    if (t->replicas == (rs->spec.replicas.set ? rs->spec.replicas.v : 1))
        conditions_remove(&now.conditions, "ReplicaFailure", batch_arena(b));
    batch_patch_change(b, &rs->obj,
                       &(struct change){ .member = "status",
                                         .schema = r->status_schema,
                                         .from = old->observed_generation ? old : NULL,
                                         .to = &now },
                       NULL, NULL);
}

/* ---- sync ---------------------------------------------------------------------------------- */

/* A refused create shows in the ReplicaSet's status, where people look. It has no other condition.
 */
static void on_refused(void *arg, struct batch *b, const struct kerr *err)
{
    const struct rs *rs = arg;
    bool is_set = rs->obj.kind == &doc_replicaset;
    struct rs_status now = rs->status;
    struct timed_condition failure = { .type = "ReplicaFailure",
                                       .status = COND_TRUE,
                                       .reason = "FailedCreate",
                                       .message = err->text };

    /* The message names a pod, which is another one each time: what stands there stays, or each
     * write would bring the next try at once. */
    if (conditions_is_true(&now.conditions, failure.type))
        return;
    conditions_set(&now.conditions, &failure, loop_wall(batch_env(b)->loop), batch_arena(b));
    batch_patch_change(
        b, &rs->obj,
        &(struct change){ .member = "status",
                          .schema = is_set ? &replicaset_status_schema : &rc_status_schema,
                          .from = &rs->status,
                          .to = &now },
        NULL, NULL);
}

static void delete_surplus(struct rsctl *r, struct batch *b, const struct rs *rs, kobjvec *active,
                           size_t n)
{
    kobjvec related = { 0 };
    const struct owner_ref *up = kobj_controller(&rs->obj);

    /* Pods of all ReplicaSets of one Deployment crowd a node together. */
    if (up) {
        kobjvec sets = { 0 };
        objects_by_owner(r->sets, up->uid, &sets);
        vec_foreach(&sets, i)
            objects_by_owner(r->pods, sets.items[i]->meta.uid, &related);
        vec_fini(&sets);
    } else {
        objects_by_owner(r->pods, rs->obj.meta.uid, &related);
    }
    rank_for_deletion(active, &related, loop_wall(r->c->loop));
    for (size_t i = 0; i < n && i < DELETES_A_SYNC; i++)
        unmake_pod(b, r->c, r->expect, &rs->obj, active->items[i]);
    vec_fini(&related);
}

static void make_missing(struct rsctl *r, struct batch *b, const struct rs *rs, uint32_t n)
{
    nsec_t wait;

    n = podhold_allow(r->hold, batch_key(b), n, &wait);
    if (wait)
        batch_again(b, wait);
    if (n == 0)
        return;
    make_pods(b, &(struct podplan){ .c = r->c,
                                    .owner = &rs->obj,
                                    .template_json = rs->spec.template_json,
                                    .expect = r->expect,
                                    .n = n,
                                    .on_refused = on_refused,
                                    .arg = (void *)(uintptr_t)rs });
}

static void manage(struct rsctl *r, struct batch *b, const struct rs *rs, kobjvec *active)
{
    int64_t want = rs->spec.replicas.set ? rs->spec.replicas.v : 1;
    int64_t have = (int64_t)active->n;

    if (have < want)
        make_missing(r, b, rs, (uint32_t)(want - have));
    else if (have > want)
        delete_surplus(r, b, rs, active, (size_t)(have - want));
}

static void sync_one(struct rsctl *r, struct batch *b, const struct rs *rs)
{
    struct labelsel *selector;
    kobjvec mine = { 0 }, active = { 0 };
    struct kerr err = { 0 };

    /* A selector that nothing can be read from: an edit of the object brings the next sync. */
    if (labelsel_from(&rs->spec.selector, batch_arena(b), &selector, &err) < 0)
        return;
    bool settled = claim_children(
        b, &(struct claim){ .owner = &rs->obj, .selector = selector, .children = r->pods }, &mine);
    vec_foreach(&mine, i)
        if (pod_is_active(pod_of(mine.items[i])))
            vec_push(&active, mine.items[i]);
    struct tally t = count(rs, &mine, loop_wall(r->c->loop), batch_arena(b));
    if (settled && rs->obj.meta.deleted == 0 && expect_settled(r->expect, batch_key(b)))
        manage(r, b, rs, &active);
    write_status(r, b, rs, &t);
    if (t.wait)
        batch_again(b, t.wait);
    vec_fini(&mine);
    vec_fini(&active);
}

static void forget(struct rsctl *r, const char *key)
{
    expect_forget(r->expect, key);
    podhold_forget(r->hold, key);
}

static void sync(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    struct rsctl *r = arg;

    if (o)
        sync_one(r, b, rs_of(o));
    else
        forget(r, key);
}

/* ---- news ---------------------------------------------------------------------------------- */

static void on_set_update(void *arg, struct kobj *old, struct kobj *obj)
{
    struct rsctl *r = arg;
    char key[KOBJ_KEY_MAX];

    kobj_key(obj, key, sizeof key);
    if (old->meta.generation != obj->meta.generation)
        podhold_forget(r->hold, key);
}

static const struct label_selector *selector_of(const struct kobj *o)
{
    return &rs_of(o)->spec.selector;
}

/* old: NULL when the pod is new in the cache. */
static void note_fate(struct rsctl *r, const char *key, struct kobj *old, struct kobj *pod)
{
    bool ran = old && pod_of(old)->status.phase == POD_RUNNING;

    if (pod_of(pod)->status.phase == POD_RUNNING && !ran)
        podhold_forget(r->hold, key);
    else if (pod_is_refused(pod_of(pod)) && !(old && pod_is_refused(pod_of(old))))
        podhold_refused(r->hold, key);
}

static void on_pod_change(struct rsctl *r, struct kobj *old, struct kobj *pod)
{
    char key[KOBJ_KEY_MAX];

    if (owner_key(pod, r->kind->kind, key, sizeof key)) {
        /* What happened before our start is no news. */
        if (informer_synced(r->pods))
            note_fate(r, key, old, pod);
        expect_created(r->expect, key, pod->meta.name);
        if (pod->meta.deleted)
            expect_deleted(r->expect, key, pod->meta.name);
        controller_add_after(r->controller, key, GATHER);
    } else if (!kobj_controller(pod) && pod->meta.labels.n && !pod->meta.deleted) {
        /* A pod without controller concerns every set whose selector it matches. */
        controller_add_selecting(r->controller, r->sets, selector_of, pod->meta.ns,
                                 &pod->meta.labels);
    }
}

static void on_pod(void *arg, struct kobj *pod)
{
    on_pod_change(arg, NULL, pod);
}

static void on_pod_update(void *arg, struct kobj *old, struct kobj *pod)
{
    struct rsctl *r = arg;
    char before[KOBJ_KEY_MAX], now[KOBJ_KEY_MAX];

    /* Another owner than before: the old one counts anew too. */
    if (old != pod && owner_key(old, r->kind->kind, before, sizeof before) &&
        (!owner_key(pod, r->kind->kind, now, sizeof now) || !streq(before, now)))
        controller_add(r->controller, before);
    on_pod_change(r, old, pod);
}

static void on_pod_delete(void *arg, struct kobj *pod)
{
    struct rsctl *r = arg;
    char key[KOBJ_KEY_MAX];

    if (!owner_key(pod, r->kind->kind, key, sizeof key))
        return;
    expect_created(r->expect, key, pod->meta.name);
    expect_deleted(r->expect, key, pod->meta.name);
    controller_add(r->controller, key);
}

static void forget_all(void *arg)
{
    struct rsctl *r = arg;

    expect_forget_all(r->expect);
    podhold_forget_all(r->hold);
}

struct rsctl *rsctl_new(struct cluster *c, const struct kind *kind)
{
    static const struct informer_handler sets = { .on_update = on_set_update };
    static const struct informer_handler pods = { .on_add = on_pod,
                                                  .on_update = on_pod_update,
                                                  .on_delete = on_pod_delete };
    struct rsctl *r = xnew0(struct rsctl);

    r->c = c;
    r->kind = kind;
    r->status_schema = kind == &doc_replicaset ? &replicaset_status_schema : &rc_status_schema;
    r->expect = expect_new(c->loop);
    r->hold = podhold_new(c->loop);
    r->sets = caches_get(c->caches, kind);
    r->pods = caches_get(c->caches, &kind_pod);
    r->controller =
        controller_new(c->controllers, &(struct controller_opts){ .name = kind->plural,
                                                                  .of = r->sets,
                                                                  .sync = sync,
                                                                  .stop = forget_all,
                                                                  .self = r,
                                                                  .queue.concurrency = 8 });
    controller_watch(r->controller, r->sets, NULL, NULL);
    controller_watch(r->controller, r->sets, &sets, r);
    controller_watch(r->controller, r->pods, &pods, r);
    return r;
}

struct rsctl *rsctl_free(struct rsctl *r)
{
    if (!r)
        return NULL;
    controller_free(r->controller);
    expect_free(r->expect);
    podhold_free(r->hold);
    free(r);
    return NULL;
}
