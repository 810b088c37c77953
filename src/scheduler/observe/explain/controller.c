/* controller.c - answers ScheduleExplanations in turn, and removes them when their time is over. */
#include "scheduler/observe/explain/controller.h"

#include "api/koord/explanation.h"
#include "base/arena.h"
#include "base/klog.h"
#include "base/ktime.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "client/informer.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "scheduler/engine/internal.h"
#include "scheduler/observe/explain/answer.h"
#include "json/kj.h"

#define LOOK_PERIOD   NSEC_PER_SEC
#define ANSWER_PERIOD (5 * NSEC_PER_SEC)
#define WRITE_PERIOD  (54 * NSEC_PER_SEC) /* and one period more is still within a minute */
#define EXPIRE_AGAIN  (60 * NSEC_PER_SEC) /* when the server would not delete it */
#define TTL_DEFAULT   (24 * 3600 * NSEC_PER_SEC)
#define REST_LEAST    NSEC_PER_MSEC
enum { REST_FACTOR = 9 }; /* for each unit of work so many for others */

struct question {
    struct explainer *x;
    struct kobj *obj;
    struct kube_call *call; /* writing the answer, or deleting */
    struct question *next;  /* in the line */
    bool in_line, answered;
    uint64_t state;                 /* of the pod, when it was looked at last */
    uint64_t hash;                  /* of what was written last */
    nsec_t answered_at, written_at; /* monotonic */
    nsec_t expires_at;              /* the same: earliest next try, when its time is over */
    char key[KOBJ_KEY_MAX];
};

struct explainer {
    struct loop *loop;
    struct kube *kube;
    struct scheduler *s;
    struct informer *informer;
    struct map questions;           /* key -> struct question */
    struct question *first, **last; /* the line */
    struct timer *look, *turn;
    struct arena *arena;
    struct kerr problem; /* the last one in the log */
    struct explainer_stats stats;
};

static const char *pod_key(const struct question *q)
{
    const char *key = schedule_explanation_of(q->obj)->spec.question_object_key;
    return key ? key : "";
}

/* ---- the line -------------------------------------------------------------------------------- */

static void on_turn(struct loop *l, void *arg);

static void line_up(struct question *q)
{
    struct explainer *x = q->x;

    if (!q->in_line) {
        q->in_line = true;
        q->next = NULL;
        *x->last = q;
        x->last = &q->next;
    }
    if (!x->turn)
        x->turn = loop_after(x->loop, 0, on_turn, x);
}

static void step_out(struct question *q)
{
    struct explainer *x = q->x;

    if (!q->in_line)
        return;
    struct question **at = &x->first;
    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    if (x->last == &q->next)
        x->last = at;
    q->in_line = false;
}

/* ---- talking with the server ----------------------------------------------------------------- */

/* Told once: what keeps one answer from being written keeps all of them. */
static void tell_problem(struct explainer *x, const struct kerr *err, const struct question *q)
{
    if (streq(x->problem.text, err->text))
        return;
    x->problem = *err;
    KLOG_E(err, "Failed to write a ScheduleExplanation", KV_S("explanation", q->key));
}

static void on_call_done(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct question *q = arg;

    (void)r;
    q->call = NULL;
    if (!err)
        return;
    q->hash = 0; /* written again with the next answer */
    if (err->reason != KR_NOT_FOUND && err->reason != KR_CONFLICT)
        tell_problem(q->x, err, q);
}

static void send(struct question *q, enum kube_verb verb, const struct strbuf *body)
{
    const struct kube_req r = {
        .verb = verb,
        .kind = &kind_schedule_explanation,
        .ns = q->obj->meta.ns,
        .name = q->obj->meta.name,
        .subresource = verb == KUBE_PATCH ? "status" : NULL,
        .patch = KUBE_PATCH_MERGE,
        .body = body->data,
        .body_len = body->len,
    };
    q->call = kube_do(q->x->kube, &r, on_call_done, q);
}

/* {"metadata":{"uid":..}}: not an object that took over the name. */
static void write_uid(struct kjw *w, const char *member, const struct question *q)
{
    char uid[KUID_TEXT_MAX];

    kuid_format(q->obj->meta.uid, uid, sizeof uid);
    kjw_obj(w, member);
    kjw_str(w, "uid", uid);
    kjw_end(w);
}

static void answer(struct question *q)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct explainer *x = q->x;
    struct kjw w = kjw_to(&body);
    char when[KTIME_TEXT_MAX];
    nsec_t now = loop_mono(x->loop);

    kjw_obj(&w, NULL);
    write_uid(&w, "metadata", q);
    kjw_obj(&w, "status");
    answer_write(x->s, pod_key(q), x->arena, &w);
    arena_reset(x->arena);
    uint64_t hash = hash_stable(body.data, body.len);
    kjw_strn(&w, "lastUpdateTime", when, ktime_format(loop_wall(x->loop), when));
    kjw_end(&w);
    kjw_end(&w);
    x->stats.computed++;
    if (q->answered && hash == q->hash && now - q->written_at < WRITE_PERIOD) {
        q->answered_at = now;
        return;
    }
    q->answered = true;
    q->hash = hash;
    q->answered_at = q->written_at = now;
    x->stats.written++;
    send(q, KUBE_PATCH, &body);
}

static void expire(struct question *q)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    write_uid(&w, "preconditions", q);
    kjw_end(&w);
    q->expires_at = loop_mono(q->x->loop) + EXPIRE_AGAIN;
    q->x->stats.expired++;
    send(q, KUBE_DELETE, &body);
}

/* ---- whose turn it is ------------------------------------------------------------------------ */

/* Changes when the pod moves in the queue, gets a node, or is another one. */
static uint64_t pod_state(const struct question *q)
{
    const struct scheduler *s = q->x->s;
    const struct kobj *pod = informer_get(s->pods, pod_key(q));
    struct podqueue_info info = { 0 };

    if (!pod)
        return 0;
    (void)podqueue_info(s->queue, pod->meta.uid, &info);
    enum nodecache_state placed = nodecache_find(s->cache, pod->meta.uid, NULL);
    const uint64_t all[] = { kuid_hash(pod->meta.uid), info.place, info.attempts, placed };
    return hash_stable(all, sizeof all);
}

static bool is_due(struct question *q)
{
    uint64_t state = pod_state(q);
    bool moved = state != q->state;

    q->state = state;
    return moved || !q->answered || loop_mono(q->x->loop) - q->answered_at >= ANSWER_PERIOD;
}

static bool is_over(const struct question *q)
{
    const struct schedule_explanation *e = schedule_explanation_of(q->obj);
    nsec_t ttl = e->spec.ttl_ns.set ? e->spec.ttl_ns.v : TTL_DEFAULT;

    return ttl > 0 && q->obj->meta.created && loop_wall(q->x->loop) - q->obj->meta.created >= ttl;
}

static void on_look(struct loop *l, void *arg)
{
    struct explainer *x = arg;

    x->look = x->questions.n ? loop_after(l, LOOK_PERIOD, on_look, x) : NULL;
    map_foreach(&x->questions, e) {
        struct question *q = e->value;
        if (q->call || q->obj->meta.deleted)
            continue;
        bool over = is_over(q);
        if (over && loop_mono(l) >= q->expires_at)
            expire(q);
        else if (!over && x->s->synced && is_due(q))
            line_up(q);
    }
}

/* One answer a turn, then a rest that grows with the work. */
static void on_turn(struct loop *l, void *arg)
{
    struct explainer *x = arg;
    struct question *q = x->first;
    nsec_t began = loop_stopwatch(l);

    x->turn = NULL;
    if (!q || !x->s->synced)
        return; /* the next look brings us back */
    step_out(q);
    if (!q->call)
        answer(q);
    if (x->first)
        x->turn = loop_after(l, REST_LEAST + REST_FACTOR * (loop_stopwatch(l) - began), on_turn, x);
}

/* ---- news of questions ----------------------------------------------------------------------- */

static void on_add(void *arg, struct kobj *obj)
{
    struct explainer *x = arg;
    struct question *q = xnew0(struct question);

    q->x = x;
    q->obj = kobj_ref(obj);
    size_t n = kobj_key(obj, q->key, sizeof q->key);
    map_put(&x->questions, q->key, n, q);
    q->state = pod_state(q);
    line_up(q);
    if (!x->look)
        x->look = loop_after(x->loop, LOOK_PERIOD, on_look, x);
}

static void question_free(struct question *q)
{
    map_removez(&q->x->questions, q->key);
    step_out(q);
    kube_cancel(q->call);
    kobj_unref(q->obj);
    free(q);
}

static struct question *find(const struct explainer *x, const struct kobj *obj)
{
    char key[KOBJ_KEY_MAX];
    size_t n = kobj_key(obj, key, sizeof key);
    return map_get(&x->questions, key, n);
}

static void on_delete(void *arg, struct kobj *obj)
{
    struct question *q = find(arg, obj);
    if (q)
        question_free(q);
}

/* Mostly our own answer. */
static void on_update(void *arg, struct kobj *before, struct kobj *obj)
{
    struct question *q = find(arg, obj);

    if (!q || !kuid_equal(before->meta.uid, obj->meta.uid)) {
        on_delete(arg, before);
        on_add(arg, obj);
        return;
    }
    const char *asked = pod_key(q);
    kobj_ref(obj);
    struct kobj *old = q->obj;
    q->obj = obj;
    if (!streq(asked, pod_key(q)))
        line_up(q);
    kobj_unref(old);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct explainer *explainer_new(struct loop *l, struct kube *k, struct scheduler *s)
{
    static const struct informer_handler handler = { on_add, on_update, on_delete, NULL };
    struct explainer *x = xnew0(struct explainer);

    x->loop = l;
    x->kube = k;
    x->s = s;
    x->last = &x->first;
    x->arena = arena_new();
    x->informer = informer_new(k, &(struct informer_opts){ .kind = &kind_schedule_explanation });
    informer_add_handler(x->informer, &handler, x);
    informer_start(x->informer);
    return x;
}

struct explainer *explainer_free(struct explainer *x)
{
    if (!x)
        return NULL;
    informer_free(x->informer);
    timer_cancel(x->look);
    timer_cancel(x->turn);
    for (size_t it = 0; x->questions.n; it = 0)
        question_free(map_next(&x->questions, &it)->value);
    map_fini(&x->questions);
    arena_free(x->arena);
    free(x);
    return NULL;
}

struct explainer_stats explainer_stats(const struct explainer *x)
{
    struct explainer_stats t = x->stats;
    t.questions = x->questions.n;
    return t;
}
