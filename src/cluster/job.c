/* job.c - Jobs: pods until enough of them have succeeded, or too many failed. */
#include "cluster/job.h"

#include <stdio.h>

#include "controllers/claim.h"

struct jobctl {
    struct cluster *c;
    struct controller *controller,
        *orphans; /* orphans: pods with our finalizer, but without a Job */
    struct expect *expect;
    struct informer *jobs, *pods;
};

/* ---- how it goes --------------------------------------------------------------------------- */

/* Containers that are restarted in place make no failed pod. As upstream, the limit is reached by
 * as many restarts as it says, where failed pods have to exceed it. */
static bool is_past_restarts(const struct jview *v, int64_t limit)
{
    return limit == 0 ? v->restarts > 0 : v->restarts >= limit;
}

static nsec_t deadline_of(const struct job *j)
{
    return nsec_after(j->status.start_time, j->spec.active_deadline_seconds.v);
}

static void decide_end(struct jview *v, nsec_t now, struct arena *a)
{
    const struct job *j = v->j;
    const timed_conditionlist *had = &j->status.conditions;
    const struct timed_condition *target = conditions_find(had, "FailureTarget");
    const struct timed_condition *met = conditions_find(had, "SuccessCriteriaMet");
    int64_t usual = v->by_index ? INT32_MAX : 6;
    int64_t limit = j->spec.backoff_limit.set ? j->spec.backoff_limit.v : usual;
    int64_t most = j->spec.max_failed_indexes.set ? j->spec.max_failed_indexes.v : INT32_MAX;
    int64_t rule = job_success_rule(v);

    if (met && met->status == COND_TRUE) {
        v->ended = "Complete", v->reason = met->reason, v->message = met->message;
    } else if (target && target->status == COND_TRUE) {
        v->ended = "Failed", v->reason = target->reason, v->message = target->message;
    } else if (v->fail_job) {
        v->ended = "Failed", v->reason = "PodFailurePolicy", v->message = v->fail_job;
    } else if (v->by_index && v->failed_indexes > most) {
        v->ended = "Failed", v->reason = "MaxFailedIndexesExceeded";
        v->message = "Job has exceeded the specified maximal number of failed indexes";
    } else if (rule >= 0) {
        v->ended = "Complete", v->reason = "SuccessPolicy";
        v->message = arena_printf(a, "Matched rules at index %lld", (long long)rule);
    } else if (v->by_index && v->failed_indexes > 0 && v->active.n + v->terminating.n == 0 &&
               v->succeeded + v->failed_indexes >= v->completions) {
        v->ended = "Failed", v->reason = "FailedIndexes";
        v->message = "Job has failed indexes";
    } else if (v->failed > limit || is_past_restarts(v, limit)) {
        v->ended = "Failed", v->reason = "BackoffLimitExceeded";
        v->message = "Job has reached the specified backoff limit";
    } else if (j->spec.active_deadline_seconds.set && j->status.start_time && !j->spec.suspend &&
               now >= deadline_of(j)) {
        v->ended = "Failed", v->reason = "DeadlineExceeded";
        v->message = "Job was active longer than specified deadline";
    } else if (v->enough && v->active.n + v->terminating.n == 0) { /* suspended or not */
        v->ended = "Complete", v->reason = "CompletionsReached";
        v->message = "Reached expected number of succeeded pods";
    }
}

/* How many pods should be active now. */
static int64_t wanted(const struct jview *v)
{
    if (v->ended || v->j->spec.suspend)
        return 0;
    if (v->completions < 0) /* a work queue: the first success says that the work is running out */
        return v->succeeded > 0 ? (int64_t)v->active.n : v->parallelism;
    return MIN(v->parallelism, v->completions - v->succeeded - v->failed_indexes);
}

/* ---- pods ---------------------------------------------------------------------------------- */

struct placing { /* which index the i-th new pod gets; in the arena */
    int64_t *index;
    const struct jview *v; /* while the pods are built */
    const char *name;      /* of the Job */
};

/* JOB_COMPLETION_INDEX, in every container that does not set it itself. */
static void add_env(struct kj_mdoc *d, struct kj_mval *containers)
{
    for (size_t i = 0; containers && i < kj_mlen(containers); i++) {
        struct kj_mval *c = kj_mat(containers, i), *env = kj_mget(c, "env");
        bool has = false;
        if (!env)
            kj_mset(d, c, "env", env = kj_marr(d));
        for (size_t k = 0; k < kj_mlen(env); k++)
            has = has || streq(str_or(kj_mstr_get(kj_mget(kj_mat(env, k), "name")), ""),
                               "JOB_COMPLETION_INDEX");
        if (has)
            continue;
        struct kj_mval *var = kj_mobj(d), *from = kj_mobj(d), *field = kj_mobj(d);
        kj_mset(d, field, "fieldPath", kj_mstr(d, "metadata.labels['" JOB_INDEX "']"));
        kj_mset(d, from, "fieldRef", field);
        kj_mset(d, var, "name", kj_mstr(d, "JOB_COMPLETION_INDEX"));
        kj_mset(d, var, "valueFrom", from);
        kj_mpush(env, var);
    }
}

static void set_number(struct kj_mdoc *d, struct kj_mval *pod, const char *key, int64_t n)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%lld", (long long)n);
    pod_set_text(d, pod, "annotations", key, text);
}

static void decorate(void *arg, uint32_t i, struct kj_mdoc *d, struct kj_mval *pod)
{
    struct placing *p = arg;
    char text[24];

    if (!p->index)
        return;
    (void)snprintf(text, sizeof text, "%lld", (long long)p->index[i]);
    pod_set_text(d, pod, "annotations", JOB_INDEX, text);
    pod_set_text(d, pod, "labels", JOB_INDEX, text);
    struct kj_mval *spec = kj_mget(pod, "spec");
    char host[80];
    (void)snprintf(host, sizeof host, "%.*s-%s", (int)(62 - strlen(text)), p->name, text);
    kj_mset(d, spec, "hostname", kj_mstr(d, host));
    add_env(d, kj_mget(spec, "containers"));
    add_env(d, kj_mget(spec, "initContainers"));
    if (!p->v->by_index)
        return;
    const struct job_index x = jview_index(p->v, p->index[i]);
    set_number(d, pod, JOB_INDEX_FAILURES, x.failures);
    if (x.ignored)
        set_number(d, pod, JOB_INDEX_IGNORED, x.ignored);
}

static const char *index_infix(void *arg, uint32_t i, struct arena *a)
{
    struct placing *p = arg;
    return arena_printf(a, "%lld-", (long long)p->index[i]);
}

/* The first n indexes that need a pod now; an index that still has to wait is passed over. */
static int64_t choose_indexes(struct batch *b, const struct jview *v, int64_t n, nsec_t now,
                              int64_t *out)
{
    jrangevec closed = { 0 };
    int64_t found = 0, next = 0;

    jranges_add_all(&closed, &v->done_set);
    jranges_add_all(&closed, &v->taken_set);
    jranges_add_all(&closed, &v->failed_set);
    jranges_add(&closed, v->completions, v->completions);
    jranges_settle(&closed);
    vec_foreach(&closed, i) {
        for (; next < closed.items[i].first && found < n; next++) {
            nsec_t wait = jview_index_backoff(v, next, now);
            if (wait > 0)
                batch_again(b, wait);
            else
                out[found++] = next;
        }
        next = closed.items[i].last + 1;
    }
    vec_fini(&closed);
    return found;
}

static void create_pods(struct jobctl *jc, struct batch *b, struct jview *v, int64_t n, nsec_t now)
{
    struct arena *a = batch_arena(b);
    struct placing *p = arena_new0(a, struct placing);

    if (v->indexed) {
        p->index = arena_newn0(a, (size_t)n + 1, int64_t);
        p->v = v;
        p->name = v->j->obj.meta.name;
        n = choose_indexes(b, v, n, now, p->index);
    }
    if (n > 0)
        make_pods(b, &(struct podplan){ .c = jc->c,
                                        .owner = &v->j->obj,
                                        .template_json = v->j->spec.template_json,
                                        .finalizer = JOB_FINALIZER,
                                        .expect = jc->expect,
                                        .n = (uint32_t)n,
                                        .decorate = decorate,
                                        .infix = v->indexed ? index_infix : NULL,
                                        .arg = p });
}

struct giving_up { /* a pod; in the arena of the batch */
    struct jobctl *jc;
    const struct kobj *job, *pod;
};

static bool on_given_up(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const struct giving_up *g = arg;

    (void)r;
    if (err)
        return err->reason == KR_NOT_FOUND;
    unmake_pod(b, g->jc->c, g->jc->expect, g->job, g->pod);
    return true;
}

/* We no longer want it: neither a success nor a failure. With the finalizer a pod that is deleted
 * counts as failed, so that goes first. */
static void give_up(struct jobctl *jc, struct batch *b, const struct kobj *job,
                    const struct kobj *pod)
{
    struct giving_up *g = arena_new0(batch_arena(b), struct giving_up);

    *g = (struct giving_up){ jc, batch_hold(b, job), batch_hold(b, pod) };
    job_release_pod_first(b, pod, on_given_up, g);
}

static void manage(struct jobctl *jc, struct batch *b, struct jview *v, nsec_t now)
{
    int64_t want = wanted(v), have = (int64_t)v->active.n;

    if (have > want) {
        rank_for_deletion(&v->active, &v->active, now);
        for (int64_t i = 0; i < have - want; i++) {
            if (v->ended)
                unmake_pod(b, jc->c, jc->expect, &v->j->obj, v->active.items[i]);
            else
                give_up(jc, b, &v->j->obj, v->active.items[i]);
        }
        return;
    }
    int64_t room = want - have;
    if (job_replaces_ended_only(v->j))
        room -= (int64_t)v->terminating.n;
    if (room <= 0)
        return;
    nsec_t wait = jview_backoff(v, now);
    if (wait > 0)
        batch_again(b, wait);
    else
        create_pods(jc, b, v, room, now);
}

/* ---- after the end ------------------------------------------------------------------------- */

static nsec_t end_time(const struct job *j)
{
    const timed_conditionlist *l = &j->status.conditions;
    const struct timed_condition *end =
        conditions_find(l, conditions_is_true(l, "Complete") ? "Complete" : "Failed");

    return end ? end->last_transition_time : 0;
}

static void expire(struct batch *b, const struct job *j, nsec_t now)
{
    if (!j->spec.ttl_seconds.set)
        return;
    nsec_t left = i64_sub_sat(nsec_after(end_time(j), j->spec.ttl_seconds.v), now);
    if (left > 0)
        batch_again(b, left);
    else
        batch_delete(b, &j->obj, &(struct delete_opts){ .grace = -1, .propagation = "Foreground" },
                     NULL, NULL);
}

/* Nobody will count them: as soon as their Job goes, all its pods may. */
static void release_all(struct batch *b, const kobjvec *pods)
{
    vec_foreach(pods, i)
        if (meta_has_finalizer(pods->items[i], JOB_FINALIZER))
            job_release_pod(b, pods->items[i]);
}

/* ---- sync ---------------------------------------------------------------------------------- */

static bool is_adoptable(const struct kobj *owner, const struct kobj *pod)
{
    (void)pod;
    return !job_is_over(job_of(owner));
}

static void pass(struct jobctl *jc, struct batch *b, const struct job *j, const kobjvec *pods)
{
    nsec_t now = loop_wall(jc->c->loop);
    struct jview v;

    if (j->obj.meta.deleted) {
        release_all(b, pods);
        return;
    }
    jview_init(&v, jc->c, j, pods, batch_arena(b));
    if (job_is_over(j)) {
        vec_foreach(&v.uncounted, i)
            job_release_pod(b, v.uncounted.items[i]);
        expire(b, j, now);
    } else {
        decide_end(&v, now, batch_arena(b));
        if (expect_settled(jc->expect, batch_key(b)))
            manage(jc, b, &v, now);
        jstatus_write(b, &v);
        if (j->spec.active_deadline_seconds.set && j->status.start_time && !v.ended)
            batch_again(b, MAX(i64_sub_sat(deadline_of(j), now), NSEC_PER_MSEC));
    }
    jview_fini(&v);
}

static bool is_managed_elsewhere(const struct job *j)
{
    return !str_empty(j->spec.managed_by) &&
           !streq(j->spec.managed_by, "kubernetes.io/job-controller");
}

static void sync(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    struct jobctl *jc = arg;
    struct labelsel *selector;
    kobjvec mine = { 0 };
    struct kerr err = { 0 };

    if (!o) {
        expect_forget(jc->expect, key);
    } else if (is_managed_elsewhere(job_of(o))) {
        return;
    } else if (labelsel_from(&job_of(o)->spec.selector, batch_arena(b), &selector, &err) == 0) {
        if (claim_children(b,
                           &(struct claim){ .owner = o,
                                            .selector = selector,
                                            .children = jc->pods,
                                            .is_adoptable = is_adoptable,
                                            .finalizer = JOB_FINALIZER },
                           &mine))
            pass(jc, b, job_of(o), &mine);
    }
    vec_fini(&mine);
}

/* A pod with our finalizer and without a Job would never go. One that belongs to a controller of
 * another kind is that one's business. */
static void sync_orphan(void *arg, struct batch *b, const char *key, struct kobj *o)
{
    struct jobctl *jc = arg;
    const struct owner_ref *ref = o ? kobj_controller(o) : NULL;
    char job[KOBJ_KEY_MAX];
    bool owned = ref && owner_key(o, "Job", job, sizeof job);

    (void)key;
    if (!o || !meta_has_finalizer(o, JOB_FINALIZER) || (ref && !owned))
        return;
    struct kobj *j = owned ? informer_get(jc->jobs, job) : NULL;
    if (!j || !kuid_equal(j->meta.uid, ref->uid))
        job_release_orphan(b, o);
}

/* ---- news ---------------------------------------------------------------------------------- */

static void on_job_delete(void *arg, struct kobj *o)
{
    struct jobctl *jc = arg;
    char uid[KUID_TEXT_MAX];

    kuid_format(o->meta.uid, uid, sizeof uid);
    controller_add_by(jc->orphans, jc->pods, index_owner, uid);
}

static const struct label_selector *selector_of(const struct kobj *o)
{
    return &job_of(o)->spec.selector;
}

static void on_pod(void *arg, struct kobj *o)
{
    struct jobctl *jc = arg;
    char key[KOBJ_KEY_MAX], pod[KOBJ_KEY_MAX];
    bool owned = owner_key(o, "Job", key, sizeof key);

    if (owned) {
        expect_created(jc->expect, key, o->meta.name);
        if (o->meta.deleted)
            expect_deleted(jc->expect, key, o->meta.name);
        controller_add(jc->controller, key);
    } else if (!kobj_controller(o) && o->meta.labels.n && !o->meta.deleted) {
        /* A pod without controller concerns every Job whose selector it matches. */
        controller_add_selecting(jc->controller, jc->jobs, selector_of, o->meta.ns,
                                 &o->meta.labels);
    }
    /* Later: a Job that adopts the pod meanwhile goes on counting it. */
    if (meta_has_finalizer(o, JOB_FINALIZER) && (!owned || !informer_get(jc->jobs, key))) {
        kobj_key(o, pod, sizeof pod);
        controller_add_after(jc->orphans, pod, NSEC_PER_SEC);
    }
}

static void on_pod_update(void *arg, struct kobj *old, struct kobj *o)
{
    struct jobctl *jc = arg;
    char before[KOBJ_KEY_MAX], now[KOBJ_KEY_MAX];

    /* Another owner than before: the old one counts anew too. */
    if (old != o && owner_key(old, "Job", before, sizeof before) &&
        (!owner_key(o, "Job", now, sizeof now) || !streq(before, now)))
        controller_add(jc->controller, before);
    on_pod(jc, o);
}

static void on_pod_delete(void *arg, struct kobj *o)
{
    struct jobctl *jc = arg;
    char key[KOBJ_KEY_MAX];

    if (!owner_key(o, "Job", key, sizeof key))
        return;
    expect_created(jc->expect, key, o->meta.name);
    expect_deleted(jc->expect, key, o->meta.name);
    controller_add(jc->controller, key);
}

static void forget_all(void *arg)
{
    struct jobctl *jc = arg;
    expect_forget_all(jc->expect);
}

struct jobctl *jobctl_new(struct cluster *c)
{
    static const struct informer_handler jobs = { .on_delete = on_job_delete };
    static const struct informer_handler pods = { .on_add = on_pod,
                                                  .on_update = on_pod_update,
                                                  .on_delete = on_pod_delete };
    struct jobctl *jc = xnew0(struct jobctl);

    jc->c = c;
    jc->expect = expect_new(c->loop);
    jc->jobs = caches_get(c->caches, &doc_job);
    jc->pods = caches_get(c->caches, &kind_pod);
    jc->controller =
        controller_new(c->controllers, &(struct controller_opts){ .name = "job",
                                                                  .of = jc->jobs,
                                                                  .sync = sync,
                                                                  .stop = forget_all,
                                                                  .self = jc,
                                                                  .queue.concurrency = 8 });
    jc->orphans =
        controller_new(c->controllers, &(struct controller_opts){ .name = "job-orphan",
                                                                  .of = jc->pods,
                                                                  .sync = sync_orphan,
                                                                  .self = jc,
                                                                  .queue.concurrency = 4 });
    controller_watch(jc->controller, jc->jobs, NULL, NULL);
    controller_watch(jc->controller, jc->pods, &pods, jc);
    controller_watch(jc->orphans, jc->jobs, &jobs, jc);
    return jc;
}

struct jobctl *jobctl_free(struct jobctl *jc)
{
    if (!jc)
        return NULL;
    controller_free(jc->controller);
    controller_free(jc->orphans);
    expect_free(jc->expect);
    free(jc);
    return NULL;
}
