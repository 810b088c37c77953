/* replicaset.c - as many pods as a ReplicaSet asks for. */
#include <stdio.h>

#include "base/num.h"
#include "cluster/internal.h"

/* A pass costs as much as the set has pods: news of many pods is taken together. */
#define GATHER (10 * NSEC_PER_MSEC)
enum { DELETES_A_SYNC = 500 };

struct rsctl {
    struct cluster *c;
    struct workqueue *queue;
    struct expect *expect;
    struct podhold *hold;
    struct shared *sets, *pods;
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

static void write_status(struct batch *b, const struct rs *rs, const struct tally *t,
                         const wcondlist *conditions)
{
    const struct rs_status *s = &rs->status;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    if (s->replicas == t->replicas && s->fully_labeled == t->fully_labeled &&
        s->ready == t->ready && s->available == t->available &&
        (s->terminating.set ? s->terminating.v : 0) == t->terminating &&
        s->observed_generation == rs->obj.meta.generation &&
        wcond_equal(&s->conditions, conditions))
        return;
    kjw_obj(&w, NULL);
    kjw_obj(&w, "status");
    kjw_i64(&w, "replicas", t->replicas);
    kjw_i64(&w, "fullyLabeledReplicas", t->fully_labeled);
    kjw_i64(&w, "readyReplicas", t->ready);
    kjw_i64(&w, "availableReplicas", t->available);
    kjw_i64(&w, "terminatingReplicas", t->terminating);
    kjw_i64(&w, "observedGeneration", rs->obj.meta.generation);
    wcond_write(&w, conditions);
    kjw_end(&w);
    kjw_end(&w);
    batch_patch(b, &rs->obj, "status", KUBE_PATCH_MERGE, &body, NULL, NULL);
}

/* ---- sync ---------------------------------------------------------------------------------- */

struct refused { /* whose pods; in the arena */
    const char *ns, *name;
};

/* A refused create shows in the ReplicaSet's status, where people look. It has no other condition.
 */
static void on_refused(void *arg, struct batch *b, const struct kerr *err)
{
    struct refused *x = arg;
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    struct wcond failure = { .type = "ReplicaFailure",
                             .status = "True",
                             .reason = "FailedCreate",
                             .message = err->text,
                             .last_transition = loop_wall(batch_cluster(b)->loop) };

    kjw_obj(&w, NULL);
    kjw_obj(&w, "status");
    wcond_write(&w, &(wcondlist){ &failure, 1 });
    kjw_end(&w);
    kjw_end(&w);
    struct kube_req r = { .verb = KUBE_PATCH,
                          .kind = &doc_replicaset,
                          .ns = x->ns,
                          .name = x->name,
                          .subresource = "status",
                          .patch = KUBE_PATCH_MERGE,
                          .body = body.data,
                          .body_len = body.len };
    batch_call(b, &r, NULL, NULL);
}

static void delete_surplus(struct rsctl *r, struct batch *b, const struct rs *rs, const char *key,
                           kobjvec *active, size_t n)
{
    kobjvec related = { 0 };
    const struct owner_ref *up = kobj_controller(&rs->obj);

    /* Pods of all ReplicaSets of one Deployment crowd a node together. */
    if (up) {
        kobjvec sets = { 0 };
        shared_by_uid(r->sets, up->uid, &sets);
        vec_foreach(&sets, i)
            shared_by_uid(r->pods, sets.items[i]->meta.uid, &related);
        vec_fini(&sets);
    } else {
        shared_by_uid(r->pods, rs->obj.meta.uid, &related);
    }
    rank_for_deletion(active, &related, loop_wall(r->c->loop));
    for (size_t i = 0; i < n && i < DELETES_A_SYNC; i++)
        unmake_pod(b, r->expect, &rs->obj, key, active->items[i]);
    vec_fini(&related);
}

static void make_missing(struct rsctl *r, struct batch *b, const struct rs *rs, const char *key,
                         uint32_t n)
{
    struct refused *who = arena_new0(batch_arena(b), struct refused);
    nsec_t wait;

    n = podhold_allow(r->hold, key, n, &wait);
    if (wait)
        batch_again(b, wait);
    if (n == 0)
        return;
    who->ns = arena_strdup(batch_arena(b), rs->obj.meta.ns);
    who->name = arena_strdup(batch_arena(b), rs->obj.meta.name);
    make_pods(b, &(struct podplan){ .owner_kind = &doc_replicaset,
                                    .owner = &rs->obj,
                                    .template_json = rs->spec.template_json,
                                    .key = key,
                                    .expect = r->expect,
                                    .n = n,
                                    .on_refused = on_refused,
                                    .arg = who });
}

static void manage(struct rsctl *r, struct batch *b, const struct rs *rs, const char *key,
                   kobjvec *active)
{
    int64_t want = rs->spec.replicas.set ? rs->spec.replicas.v : 1;
    int64_t have = (int64_t)active->n;

    if (have < want)
        make_missing(r, b, rs, key, (uint32_t)(want - have));
    else if (have > want)
        delete_surplus(r, b, rs, key, active, (size_t)(have - want));
}

static void sync_one(struct rsctl *r, struct batch *b, const struct rs *rs, const char *key)
{
    struct labelsel *selector;
    kobjvec mine = { 0 }, active = { 0 };
    struct kerr err = { 0 };

    /* A selector that nothing can be read from: an edit of the object brings the next sync. */
    if (labelsel_from(&rs->spec.selector, batch_arena(b), &selector, &err) < 0)
        return;
    bool settled = claim_children(b,
                                  &(struct claim){ .owner_kind = &doc_replicaset,
                                                   .owner = &rs->obj,
                                                   .selector = selector,
                                                   .children = r->pods },
                                  &mine);
    vec_foreach(&mine, i)
        if (pod_is_active(pod_of(mine.items[i])))
            vec_push(&active, mine.items[i]);
    struct tally t = count(rs, &mine, loop_wall(r->c->loop), batch_arena(b));
    wcondlist conditions = rs->status.conditions;
    if ((int64_t)active.n == (rs->spec.replicas.set ? rs->spec.replicas.v : 1))
        conditions = wcond_remove(&conditions, "ReplicaFailure", batch_arena(b));
    if (settled && rs->obj.meta.deleted == 0 && expect_settled(r->expect, key))
        manage(r, b, rs, key, &active);
    write_status(b, rs, &t, &conditions);
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

static void sync(void *arg, const char *key, struct work *w)
{
    struct rsctl *r = arg;
    struct kobj *o = informer_get(r->sets->inf, key);
    struct batch *b = batch_new(r->c, "replicaset", key, w);

    if (!informer_synced(r->pods->inf) || !informer_synced(r->sets->inf))
        batch_again(b, 50 * NSEC_PER_MSEC);
    else if (o)
        sync_one(r, b, rs_of(o), key);
    else
        forget(r, key);
    batch_close(b);
}

/* ---- news ---------------------------------------------------------------------------------- */

static void enqueue(struct rsctl *r, const struct kobj *rs)
{
    char key[KOBJ_KEY_MAX];
    kobj_key(rs, key, sizeof key);
    workqueue_add(r->queue, key);
}

static void on_set(void *arg, struct kobj *obj)
{
    enqueue(arg, obj);
}

static void on_set_update(void *arg, struct kobj *old, struct kobj *obj)
{
    struct rsctl *r = arg;
    char key[KOBJ_KEY_MAX];

    kobj_key(obj, key, sizeof key);
    if (old->meta.generation != obj->meta.generation)
        podhold_forget(r->hold, key);
    workqueue_add(r->queue, key);
}

/* The key of the ReplicaSet that controls a pod; false when none does. */
static bool owner_key(const struct kobj *pod, char *key, size_t size)
{
    const struct owner_ref *ref = kobj_controller(pod);
    if (!ref || !streq(ref->kind, "ReplicaSet"))
        return false;
    (void)snprintf(key, size, "%s/%s", pod->meta.ns, ref->name);
    return true;
}

/* A pod without controller concerns every set whose selector it matches. */
static void enqueue_adopters(struct rsctl *r, const struct kobj *pod)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    kobjvec sets = { 0 };
    struct labelsel *selector;
    struct kerr err;

    if (pod->meta.labels.n == 0 || pod->meta.deleted)
        return;
    shared_by(r->sets, r->sets->by_ns, pod->meta.ns, &sets);
    vec_foreach(&sets, i) {
        const struct rs *rs = rs_of(sets.items[i]);
        if (labelsel_from(&rs->spec.selector, a, &selector, &err) == 0 &&
            labelsel_matches(selector, &pod->meta.labels))
            enqueue(r, sets.items[i]);
    }
    vec_fini(&sets);
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

    if (owner_key(pod, key, sizeof key)) {
        /* What happened before our start is no news. */
        if (informer_synced(r->pods->inf))
            note_fate(r, key, old, pod);
        expect_created(r->expect, key, pod->meta.name);
        if (pod->meta.deleted)
            expect_deleted(r->expect, key, pod->meta.name);
        workqueue_add_after(r->queue, key, GATHER);
    } else if (!kobj_controller(pod)) {
        enqueue_adopters(r, pod);
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
    if (old != pod && owner_key(old, before, sizeof before) &&
        (!owner_key(pod, now, sizeof now) || !streq(before, now)))
        workqueue_add(r->queue, before);
    on_pod_change(r, old, pod);
}

static void on_pod_delete(void *arg, struct kobj *pod)
{
    struct rsctl *r = arg;
    char key[KOBJ_KEY_MAX];

    if (!owner_key(pod, key, sizeof key))
        return;
    expect_created(r->expect, key, pod->meta.name);
    expect_deleted(r->expect, key, pod->meta.name);
    workqueue_add(r->queue, key);
}

struct rsctl *rsctl_new(struct cluster *c)
{
    static const struct informer_handler sets = { .on_add = on_set,
                                                  .on_update = on_set_update,
                                                  .on_delete = on_set };
    static const struct informer_handler pods = { .on_add = on_pod,
                                                  .on_update = on_pod_update,
                                                  .on_delete = on_pod_delete };
    struct rsctl *r = xnew0(struct rsctl);

    r->c = c;
    r->expect = expect_new(c->loop);
    r->hold = podhold_new(c->loop);
    r->queue = workqueue_new(
        c->loop, &(struct workqueue_opts){ .name = "replicaset", .concurrency = 8 }, sync, r);
    r->sets = cluster_replicasets(c);
    r->pods = cluster_pods(c);
    informer_add_handler(r->sets->inf, &sets, r);
    informer_add_handler(r->pods->inf, &pods, r);
    return r;
}

struct rsctl *rsctl_free(struct rsctl *r)
{
    if (!r)
        return NULL;
    workqueue_free(r->queue);
    expect_free(r->expect);
    podhold_free(r->hold);
    free(r);
    return NULL;
}
