/* job_view.c - what one pass over a Job sees. */
#include <stdio.h>

#include "base/num.h"
#include "cluster/job.h"

bool job_is_over(const struct job *j)
{
    const timed_conditionlist *l = &j->status.conditions;
    return conditions_is_true(l, "Complete") || conditions_is_true(l, "Failed");
}

/* A failure policy judges how a pod has ended. */
bool job_replaces_ended_only(const struct job *j)
{
    return streq(str_or(j->spec.replacement, ""), "Failed") || j->spec.failure_policy;
}

/* A deletion is a failure at once, or when a kubelet has written the end; a pod that is deleted
 * before it has a node has no kubelet that would. Without the finalizer a pod on its way out was
 * counted before, or given up by the Job itself. */
bool job_pod_failed(const struct job *j, const struct pod *p)
{
    if (pod_is_terminal(p) || !p->obj.meta.deleted)
        return p->status.phase == POD_FAILED;
    return str_empty(p->node_name) ||
           (!job_replaces_ended_only(j) && meta_has_finalizer(&p->obj, JOB_FINALIZER));
}

static int64_t job_pod_index(const struct kobj *pod, int64_t completions)
{
    const char *text = meta_annotation(pod, JOB_INDEX);
    int64_t n;
    return i64_parse(text, strlen(text), &n) == 0 && n >= 0 && n < completions ? n : -1;
}

static bool is_listed(const kstrlist *l, const char *uid)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i], uid))
            return true;
    return false;
}

static nsec_t finished_at(const struct pod *p)
{
    nsec_t last = 0;
    for (uint32_t i = 0; i < p->status.container_statuses.n; i++) {
        const struct container_terminated *t =
            p->status.container_statuses.items[i].state.terminated;
        if (t)
            last = MAX(last, t->finished_at);
    }
    if (last || !p->obj.meta.deleted)
        return last ? last : p->obj.meta.created;
    /* The deletion is dated when its grace is over. */
    int64_t grace = p->obj.meta.grace_seconds.set ? p->obj.meta.grace_seconds.v : 0;
    return i64_sub_sat(p->obj.meta.deleted, i64_mul_sat(grace, NSEC_PER_SEC));
}

/* ---- failures of an index ------------------------------------------------------------------ */

static int32_t number_in(const struct kobj *pod, const char *annotation)
{
    const char *text = meta_annotation(pod, annotation);
    int64_t n;
    return i64_parse(text, strlen(text), &n) == 0 && n >= 0 && n < INT32_MAX ? (int32_t)n : 0;
}

/* A failed pod, where each index has failures of its own: its annotations say how many there were
 * before it. */
static void note_index_failure(struct jview *v, const struct kobj *o, int64_t index,
                               enum job_action action)
{
    struct job_index x = {
        .index = index,
        .failures = number_in(o, JOB_INDEX_FAILURES) + (action == JOB_IGNORE ? 0 : 1),
        .ignored = number_in(o, JOB_INDEX_IGNORED) + (action == JOB_IGNORE ? 1 : 0),
        .last_failure = finished_at(pod_of(o)),
    };

    vec_push(&v->failures, x);
    if (x.failures > v->j->spec.backoff_limit_per_index.v || action == JOB_FAIL_INDEX)
        jranges_add(&v->failed_set, index, index);
}

static int by_index(const void *x, const void *y)
{
    const struct job_index *a = x, *b = y;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Of several failed pods of an index each number is that of the pod that has most. */
static void settle_failures(struct jview *v)
{
    size_t kept = 0;

    if (v->failures.n == 0)
        return;
    qsort(v->failures.items, v->failures.n, sizeof *v->failures.items, by_index);
    for (size_t i = 1; i < v->failures.n; i++) {
        struct job_index *x = &v->failures.items[kept];
        const struct job_index *y = &v->failures.items[i];
        if (x->index != y->index) {
            v->failures.items[++kept] = *y;
            continue;
        }
        x->failures = MAX(x->failures, y->failures);
        x->ignored = MAX(x->ignored, y->ignored);
        x->last_failure = MAX(x->last_failure, y->last_failure);
    }
    v->failures.n = kept + 1;
}

struct job_index jview_index(const struct jview *v, int64_t i)
{
    struct job_index key = { .index = i };
    const struct job_index *x =
        v->failures.n ? bsearch(&key, v->failures.items, v->failures.n, sizeof key, by_index)
                      : NULL;
    return x ? *x : key;
}

/* ---- pods ---------------------------------------------------------------------------------- */

/* The pods of a Job that is over anyway fail without a rule. */
static enum job_action judge_failure(struct jview *v, const struct kobj *o, int64_t index,
                                     struct arena *a)
{
    const char *why = NULL;
    enum job_action action = job_policy_match(v->j, pod_of(o), a, &why);

    if (action == JOB_FAIL_JOB && !v->fail_job)
        v->fail_job = why;
    if (v->by_index && index >= 0)
        note_index_failure(v, o, index, action);
    return action;
}

static int64_t restarts_of(const containerstatuslist *l)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < l->n; i++)
        n += MAX(l->items[i].restart_count, 0);
    return n;
}

static int64_t restarts_in_place(const struct pod *p)
{
    if (p->spec->restart_policy != RESTART_ON_FAILURE)
        return 0;
    return restarts_of(&p->status.init_container_statuses) +
           restarts_of(&p->status.container_statuses);
}

static void note_active(struct jview *v, struct kobj *o, int64_t index)
{
    if (index >= 0)
        jranges_add(&v->taken_set, index, index);
    vec_push(&v->active, o);
    v->ready += pod_is_ready(pod_of(o));
}

/* It keeps its place where only ended pods are replaced. Else its place is free when the back-off
 * is over, which counts from the deletion even after the finalizer has gone. */
static void note_terminating(struct jview *v, struct kobj *o, int64_t index)
{
    vec_push(&v->terminating, o);
    if (!job_replaces_ended_only(v->j))
        v->last_failure = MAX(v->last_failure, finished_at(pod_of(o)));
    else if (index >= 0)
        jranges_add(&v->taken_set, index, index);
}

static void look_at(struct jview *v, struct kobj *o, const struct job_uncounted *listed,
                    struct arena *a)
{
    const struct pod *p = pod_of(o);
    char uid[KUID_TEXT_MAX];
    int64_t index = v->indexed ? job_pod_index(o, v->completions) : -1;

    kuid_format(o->meta.uid, uid, sizeof uid);
    if (!pod_is_terminal(p))
        v->restarts += restarts_in_place(p);
    if (!pod_is_terminal(p) && o->meta.deleted && !str_empty(p->node_name))
        note_terminating(v, o, index);
    if (!pod_is_terminal(p) && !job_pod_failed(v->j, p)) {
        if (!o->meta.deleted)
            note_active(v, o, index);
        return;
    }
    enum job_action action = JOB_COUNT;
    if (job_pod_failed(v->j, p)) {
        v->last_failure = MAX(v->last_failure, finished_at(p));
        action = judge_failure(v, o, index, a);
    }
    if (!meta_has_finalizer(o, JOB_FINALIZER))
        return; /* counted */
    vec_push(&v->uncounted, o);
    bool known = listed && (is_listed(&listed->succeeded, uid) || is_listed(&listed->failed, uid));
    if (job_pod_failed(v->j, p)) {
        v->failed += !known && action != JOB_IGNORE;
    } else if (!v->indexed) {
        v->succeeded += !known;
    } else if (!known && index >= 0) {
        jranges_add(&v->done_set, index, index);
    }
}

void jview_init(struct jview *v, struct cluster *c, const struct job *j, const kobjvec *pods,
                struct arena *a)
{
    const struct job_uncounted *u = j->status.uncounted;

    *v = (struct jview){ .c = c, .j = j };
    v->parallelism = j->spec.parallelism.set ? j->spec.parallelism.v : 1;
    v->completions = j->spec.completions.set ? j->spec.completions.v : -1;
    v->indexed = streq(j->spec.completion_mode, "Indexed") && v->completions >= 0;
    v->succeeded = j->status.succeeded + (u ? u->succeeded.n : 0);
    v->failed = j->status.failed + (u ? u->failed.n : 0);
    if (v->indexed) {
        jranges_parse(&v->done_set, j->status.completed_indexes, v->completions);
        jranges_parse(&v->failed_set, j->status.failed_indexes, v->completions);
        v->by_index = j->spec.backoff_limit_per_index.set;
    }
    vec_foreach(pods, i)
        look_at(v, pods->items[i], u, a);
    settle_failures(v);
    jranges_settle(&v->done_set);
    jranges_settle(&v->taken_set);
    jranges_settle(&v->failed_set);
    if (v->indexed) {
        v->succeeded = jranges_count(&v->done_set);
        v->failed_indexes = jranges_count(&v->failed_set);
    }
    v->enough = v->completions >= 0 ? v->succeeded >= v->completions : v->succeeded > 0;
}

void jview_fini(struct jview *v)
{
    vec_fini(&v->active);
    vec_fini(&v->terminating);
    vec_fini(&v->uncounted);
    vec_fini(&v->done_set);
    vec_fini(&v->taken_set);
    vec_fini(&v->failed_set);
    vec_fini(&v->failures);
}

static nsec_t backoff(int64_t failures, nsec_t last, nsec_t now)
{
    if (failures == 0 || last == 0)
        return 0;
    unsigned doublings = (unsigned)MIN(failures - 1, (int64_t)20);
    nsec_t wait = MIN(i64_mul_sat(JOB_BACKOFF, INT64_C(1) << doublings), JOB_BACKOFF_MAX);
    return MAX(i64_sub_sat(i64_add_sat(last, wait), now), (nsec_t)0);
}

/* Doubled by every failure since the last success would be exact; the total is what we know. */
nsec_t jview_backoff(const struct jview *v, nsec_t now)
{
    return v->by_index ? 0 : backoff(v->failed, v->last_failure, now);
}

nsec_t jview_index_backoff(const struct jview *v, int64_t i, nsec_t now)
{
    struct job_index x = jview_index(v, i);
    return v->by_index ? backoff(x.failures, x.last_failure, now) : 0;
}
