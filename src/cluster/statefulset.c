/* statefulset.c - pods with names and claims of their own, made and replaced in order. */
#include <stdio.h>

#include "api/storage.h"
#include "cluster/sts.h"
#include "controllers/claim.h"

#define GATHER (10 * NSEC_PER_MSEC)

/* ---- one pass ------------------------------------------------------------------------------ */

static void tell_ended(struct stsctl *sc, const struct sts *s, const struct kobj *pod)
{
    bool failed = pod_of(pod)->status.phase == POD_FAILED;

    recorder_event_on(sc->c->events, &s->obj, failed,
                      failed ? "RecreatingFailedPod" : "RecreatingTerminatedPod", NULL,
                      "StatefulSet %s/%s is recreating %s Pod %s", s->obj.meta.ns, s->obj.meta.name,
                      failed ? "failed" : "terminated", pod->meta.name);
}

static void create(struct stsctl *sc, struct batch *b, const struct stsview *v, int64_t ordinal)
{
    nsec_t wait;

    if (podhold_allow(sc->hold, batch_key(b), 1, &wait))
        sts_create_pod(sc, b, v, ordinal);
    else
        batch_again(b, wait);
}

static void act(struct stsctl *sc, struct batch *b, const struct stsview *v)
{
    stsstepvec steps = { 0 };

    sts_plan(v, &steps);
    vec_foreach(&steps, i) {
        const struct sts_step *x = &steps.items[i];
        if (x->verb == STS_CREATE) {
            create(sc, b, v, x->ordinal);
            continue;
        }
        if (x->verb == STS_RECREATE)
            tell_ended(sc, v->s, x->pod);
        if (sts_claims_own(sc, b, v, x->ordinal, x->pod))
            sts_delete_pod(sc, b, v, x->pod);
    }
    vec_fini(&steps);
}

static void mend(struct stsctl *sc, struct batch *b, const struct stsview *v)
{
    vec_foreach(&v->pods, i) {
        const struct sts_pod *p = &v->pods.items[i];
        if (p->obj->meta.deleted || stsview_is_condemned(v, p->ordinal))
            continue;
        sts_mend_pod(b, p->obj, p->ordinal);
        (void)sts_claims_own(sc, b, v, p->ordinal, p->obj);
    }
}

static bool is_live(const void *arg, const struct revision *r)
{
    const struct stsview *v = arg;

    if (r == v->current || r == v->update)
        return true;
    vec_foreach(&v->pods, i)
        if (streq(str_or(kstrmap_get(&v->pods.items[i].obj->meta.labels, LABEL_REVISION), ""),
                  r->obj.meta.name))
            return true;
    return false;
}

static void write_status(struct batch *b, const struct sts *s, const struct sts_status *now)
{
    batch_patch_change(b, &s->obj,
                       &(struct change){ .member = "status",
                                         .schema = &statefulset_status_schema,
                                         .from = s->status.observed_generation ? &s->status : NULL,
                                         .to = now },
                       NULL, NULL);
}

static void pass(struct stsctl *sc, struct batch *b, const struct sts *s, const kobjvec *pods,
                 const struct revset *revs)
{
    int64_t keep = s->spec.revision_history_limit.set ? s->spec.revision_history_limit.v : 10;
    struct stsview v;

    stsview_init(&v, s, pods, loop_wall(sc->c->loop));
    v.update = revs->update;
    v.current = revset_find(revs, str_or(s->status.current_revision, ""));
    if (!v.current)
        v.current = v.update;
    if (s->obj.meta.deleted == 0 && expect_settled(sc->expect, batch_key(b))) {
        mend(sc, b, &v);
        act(sc, b, &v);
        revset_trim(revs, b, keep, is_live, &v);
    }
    struct sts_status now = stsview_status(&v);
    now.collisions = revs->collisions.set ? revs->collisions : (struct opt_i32){ true, 0 };
    write_status(b, s, &now);
    if (v.wait)
        batch_again(b, v.wait);
    stsview_fini(&v);
}

static bool is_member(const struct kobj *set, const struct kobj *pod)
{
    return sts_ordinal(set, pod) >= 0;
}

static void sync_one(struct stsctl *sc, struct batch *b, const struct sts *s)
{
    struct labelsel *selector;
    kobjvec mine = { 0 };
    struct revset revs;
    struct kerr err = { 0 };

    if (labelsel_from(&s->spec.selector, batch_arena(b), &selector, &err) < 0)
        return;
    bool settled = claim_children(b,
                                  &(struct claim){ .owner = &s->obj,
                                                   .selector = selector,
                                                   .children = sc->pods,
                                                   .is_adoptable = is_member },
                                  &mine);
    revset_init(&revs, b,
                &(struct revowner){ .obj = &s->obj,
                                    .selector = &s->spec.selector,
                                    .template_json = s->spec.template_json,
                                    .collisions = s->status.collisions,
                                    .hash_label = "controller.kubernetes.io/hash",
                                    .revisions = sc->revisions });
    if (settled && revs.update)
        pass(sc, b, s, &mine, &revs);
    revset_fini(&revs);
    vec_fini(&mine);
}

static void sync(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    struct stsctl *sc = arg;

    if (o) {
        sync_one(sc, b, sts_of(o));
        return;
    }
    expect_forget(sc->expect, key);
    podhold_forget(sc->hold, key);
}

/* ---- news ---------------------------------------------------------------------------------- */

static const struct label_selector *selector_of(const struct kobj *o)
{
    return &sts_of(o)->spec.selector;
}

static void note_fate(struct stsctl *sc, const char *key, struct kobj *old, struct kobj *pod)
{
    bool ran = old && pod_of(old)->status.phase == POD_RUNNING;

    if (pod_of(pod)->status.phase == POD_RUNNING && !ran)
        podhold_forget(sc->hold, key);
    else if (pod_is_refused(pod_of(pod)) && !(old && pod_is_refused(pod_of(old))))
        podhold_refused(sc->hold, key);
}

static void on_pod_change(struct stsctl *sc, struct kobj *old, struct kobj *pod)
{
    char key[KOBJ_KEY_MAX];

    if (owner_key(pod, "StatefulSet", key, sizeof key)) {
        if (informer_synced(sc->pods))
            note_fate(sc, key, old, pod);
        expect_created(sc->expect, key, pod->meta.name);
        if (pod->meta.deleted)
            expect_deleted(sc->expect, key, pod->meta.name);
        controller_add_after(sc->controller, key, GATHER);
    } else if (!kobj_controller(pod) && pod->meta.labels.n && informer_count(sc->sets) > 0) {
        controller_add_selecting(sc->controller, sc->sets, selector_of, pod->meta.ns,
                                 &pod->meta.labels);
    }
}

static void on_pod(void *arg, struct kobj *pod)
{
    on_pod_change(arg, NULL, pod);
}

static void on_pod_update(void *arg, struct kobj *old, struct kobj *pod)
{
    struct stsctl *sc = arg;
    char before[KOBJ_KEY_MAX], now[KOBJ_KEY_MAX];

    if (old != pod && owner_key(old, "StatefulSet", before, sizeof before) &&
        (!owner_key(pod, "StatefulSet", now, sizeof now) || !streq(before, now)))
        controller_add(sc->controller, before);
    on_pod_change(sc, old, pod);
}

static void on_pod_delete(void *arg, struct kobj *pod)
{
    struct stsctl *sc = arg;
    char key[KOBJ_KEY_MAX];

    if (owner_key(pod, "StatefulSet", key, sizeof key)) {
        expect_created(sc->expect, key, pod->meta.name);
        expect_deleted(sc->expect, key, pod->meta.name);
        controller_add(sc->controller, key);
    } else if (informer_count(sc->sets) > 0) {
        /* Its name may be one that a set waits for. */
        controller_add_selecting(sc->controller, sc->sets, selector_of, pod->meta.ns,
                                 &pod->meta.labels);
    }
}

static void on_revision(void *arg, struct kobj *o)
{
    struct stsctl *sc = arg;
    char key[KOBJ_KEY_MAX];

    if (owner_key(o, "StatefulSet", key, sizeof key))
        controller_add(sc->controller, key);
}

static void on_revision_update(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old;
    on_revision(arg, o);
}

static void on_claim(void *arg, struct kobj *o)
{
    struct stsctl *sc = arg;

    if (informer_count(sc->sets) > 0)
        controller_add_selecting(sc->controller, sc->sets, selector_of, o->meta.ns,
                                 &o->meta.labels);
}

static void on_claim_update(void *arg, struct kobj *old, struct kobj *o)
{
    (void)old;
    on_claim(arg, o);
}

static void forget_all(void *arg)
{
    struct stsctl *sc = arg;

    expect_forget_all(sc->expect);
    podhold_forget_all(sc->hold);
}

struct stsctl *stsctl_new(struct cluster *c)
{
    static const struct informer_handler pods = { .on_add = on_pod,
                                                  .on_update = on_pod_update,
                                                  .on_delete = on_pod_delete };
    static const struct informer_handler revisions = { .on_add = on_revision,
                                                       .on_update = on_revision_update,
                                                       .on_delete = on_revision };
    static const struct informer_handler claims = { .on_add = on_claim,
                                                    .on_update = on_claim_update,
                                                    .on_delete = on_claim };
    struct stsctl *sc = xnew0(struct stsctl);

    sc->c = c;
    sc->expect = expect_new(c->loop);
    sc->hold = podhold_new(c->loop);
    sc->sets = caches_get(c->caches, &doc_statefulset);
    sc->pods = caches_get(c->caches, &kind_pod);
    sc->revisions = caches_get(c->caches, &doc_revision);
    sc->claims = caches_get(c->caches, &kind_pvc);
    sc->controller =
        controller_new(c->controllers, &(struct controller_opts){ .name = "statefulset",
                                                                  .of = sc->sets,
                                                                  .sync = sync,
                                                                  .stop = forget_all,
                                                                  .self = sc,
                                                                  .queue.concurrency = 8 });
    controller_watch(sc->controller, sc->sets, NULL, NULL);
    controller_watch(sc->controller, sc->pods, &pods, sc);
    controller_watch(sc->controller, sc->revisions, &revisions, sc);
    controller_watch(sc->controller, sc->claims, &claims, sc);
    return sc;
}

struct stsctl *stsctl_free(struct stsctl *sc)
{
    if (!sc)
        return NULL;
    controller_free(sc->controller);
    expect_free(sc->expect);
    podhold_free(sc->hold);
    free(sc);
    return NULL;
}
