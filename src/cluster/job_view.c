/* job_view.c - what one pass over a Job sees. */
#include <stdio.h>

#include "base/num.h"
#include "cluster/job.h"

bool job_is_over(const struct job *j)
{
    const timed_conditionlist *l = &j->status.conditions;
    return conditions_is_true(l, "Complete") || conditions_is_true(l, "Failed");
}

/* Only an end that a kubelet wrote counts: a pod on its way out still occupies its place. One that
 * is deleted before it has a node has no kubelet that would write one. */
bool job_pod_failed(const struct pod *p)
{
    return p->status.phase == POD_FAILED ||
           (p->obj.meta.deleted && str_empty(p->node_name) && !pod_is_terminal(p));
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
    return last ? last : p->obj.meta.deleted ? p->obj.meta.deleted : p->obj.meta.created;
}

/* "0-3,5,7" into done[]. */
static void read_indexes(struct jview *v, const char *text)
{
    while (text && *text) {
        size_t n = strcspn(text, ",");
        const char *dash = memchr(text, '-', n);
        size_t m = dash ? (size_t)(dash - text) : n;
        int64_t from, to;
        if (i64_parse(text, m, &from) == 0 &&
            (dash ? i64_parse(dash + 1, n - m - 1, &to) == 0 : (to = from, true)))
            for (int64_t i = MAX(from, (int64_t)0); i <= to && i < v->completions; i++)
                v->index_state[i] |= JOB_IDX_DONE;
        text += n + (text[n] == ',');
    }
}

const char *jview_indexes_text(const struct jview *v, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    for (int64_t i = 0; i < v->completions; i++) {
        int64_t from = i;
        if (!(v->index_state[i] & JOB_IDX_DONE))
            continue;
        while (i + 1 < v->completions && v->index_state[i + 1] & JOB_IDX_DONE)
            i++;
        strbuf_appendf(&out, "%s%lld", out.len ? "," : "", (long long)from);
        if (i > from)
            strbuf_appendf(&out, "%c%lld", i == from + 1 ? ',' : '-', (long long)i);
    }
    return arena_strdup(a, strbuf_str(&out));
}

static void look_at(struct jview *v, struct kobj *o, const struct job_uncounted *listed)
{
    const struct pod *p = pod_of(o);
    char uid[KUID_TEXT_MAX];
    int64_t index = v->indexed ? job_pod_index(o, v->completions) : -1;

    kuid_format(o->meta.uid, uid, sizeof uid);
    if (!pod_is_terminal(p) && !job_pod_failed(p)) {
        if (index >= 0)
            v->index_state[index] |= JOB_IDX_ACTIVE;
        if (o->meta.deleted)
            vec_push(&v->terminating, o);
        else
            vec_push(&v->active, o);
        v->ready += !o->meta.deleted && pod_is_ready(p);
        return;
    }
    if (job_pod_failed(p))
        v->last_failure = MAX(v->last_failure, finished_at(p));
    if (!meta_has_finalizer(o, JOB_FINALIZER))
        return; /* counted */
    vec_push(&v->uncounted, o);
    bool known = listed && (is_listed(&listed->succeeded, uid) || is_listed(&listed->failed, uid));
    if (job_pod_failed(p)) {
        v->failed += !known;
    } else if (!v->indexed) {
        v->succeeded += !known;
    } else if (index >= 0 && !(v->index_state[index] & JOB_IDX_DONE)) {
        v->index_state[index] |= JOB_IDX_DONE;
    }
}

void jview_init(struct jview *v, struct cluster *c, const struct job *j, const kobjvec *pods,
                struct arena *a)
{
    const struct job_uncounted *u = j->status.uncounted;

    *v = (struct jview){ .c = c, .j = j };
    v->parallelism = j->spec.parallelism.set ? j->spec.parallelism.v : 1;
    v->completions = j->spec.completions.set ? j->spec.completions.v : -1;
    v->indexed = streq(j->spec.completion_mode, "Indexed") && v->completions >= 0 &&
                 v->completions <= JOB_INDEXES_MAX;
    v->succeeded = j->status.succeeded + (u ? u->succeeded.n : 0);
    v->failed = j->status.failed + (u ? u->failed.n : 0);
    if (v->indexed) {
        v->index_state = arena_zalloc(a, (size_t)v->completions + 1);
        read_indexes(v, j->status.completed_indexes);
    }
    vec_foreach(pods, i)
        look_at(v, pods->items[i], u);
    if (v->indexed) {
        v->succeeded = 0;
        for (int64_t i = 0; i < v->completions; i++)
            v->succeeded += v->index_state[i] & JOB_IDX_DONE ? 1 : 0;
    }
}

void jview_fini(struct jview *v)
{
    vec_fini(&v->active);
    vec_fini(&v->terminating);
    vec_fini(&v->uncounted);
}

/* Doubled by every failure since the last success would be exact; the total is what we know. */
nsec_t jview_backoff(const struct jview *v, nsec_t now)
{
    if (v->failed == 0 || v->last_failure == 0)
        return 0;
    unsigned doublings = (unsigned)MIN(v->failed - 1, (int64_t)20);
    nsec_t wait = MIN(i64_mul_sat(JOB_BACKOFF, INT64_C(1) << doublings), JOB_BACKOFF_MAX);
    return MAX(v->last_failure + wait - now, (nsec_t)0);
}
