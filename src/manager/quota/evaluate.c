/* evaluate.c - charges in batches, one write at a time for each quota (sched-quota 20). */
#include "manager/quota/evaluate.h"

#include "api/koord/quota.h"
#include "api/protocol/quota.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "client/informer.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "json/kj.h"

#define WAIT_MAX  (10 * NSEC_PER_SEC)
#define PAUSE_MIN (10 * NSEC_PER_MSEC)
#define PAUSE_MAX (500 * NSEC_PER_MSEC)
enum { REMEMBERED = 100, RETRIES = 3 };

struct charging {
    struct charging *next;
    struct ledger *ledger;
    struct arena *arena;
    reslist request;
    bool dry_run;
    struct timer *timer;
    charged_fn fn; /* NULL: answered, or nobody wants to know */
    void *arg;
    const char *why; /* the last verdict: NULL is yes */
};

struct ledger { /* a quota with charges, or whose last write of ours the cache may not show yet */
    struct evaluator *e;
    char *key, *ns, *name;
    struct charging *waiting, **waiting_end;
    struct charging *batch; /* in work */
    size_t n;               /* in the batch */
    struct kobj *known;     /* the newest that an answer showed; NULL: none */
    struct kobj *judged;    /* what the verdicts stand on */
    char *tried;            /* the annotation of a write whose answer has not come */
    struct kube_call *call;
    struct timer *timer; /* of the next step */
    unsigned conflicts;
    nsec_t slept;
};

struct evaluator {
    struct evaluator_opts o;
    struct map ledgers; /* by key */
};

unsigned evaluate_retries(size_t n, int max)
{
    unsigned more = 0, most = max > RETRIES ? (unsigned)max : RETRIES;

    while (n > 1) {
        n >>= 1;
        more++;
    }
    return MIN(most, RETRIES + more);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void answer(struct charging *c, int code, const char *why)
{
    charged_fn fn = c->fn;

    c->fn = NULL;
    c->timer = timer_cancel(c->timer);
    if (fn)
        fn(c->arg, code, why);
}

void charging_cancel(struct charging *c)
{
    c->fn = NULL;
    c->timer = timer_cancel(c->timer);
}

static void on_timeout(struct loop *l, void *arg)
{
    struct charging *c = arg;

    (void)l;
    c->timer = NULL;
    answer(c, 500, "elastic quota evaluation timed out");
}

static void charging_free(struct charging *c)
{
    c->timer = timer_cancel(c->timer);
    arena_free(c->arena); /* it is in there itself */
}

static void look(struct ledger *q, nsec_t after);

/* The batch is over: everybody hears their verdict; code: of a failure that is all theirs. */
static void finish(struct ledger *q, int code, const char *why)
{
    struct charging *c = q->batch;

    q->batch = NULL;
    q->judged = kobj_unref(q->judged);
    free(q->tried);
    q->tried = NULL;
    q->conflicts = 0;
    q->slept = 0;
    while (c) {
        struct charging *next = c->next;
        if (code)
            answer(c, code, why);
        else
            answer(c, c->why ? 400 : 0, c->why);
        charging_free(c);
        c = next;
    }
    if (q->waiting)
        look(q, 0);
}

static void fail(struct ledger *q, const struct kerr *err)
{
    CLEANUP(arena_free) struct arena *a = arena_new();

    if (err->reason == KR_NOT_FOUND)
        finish(q, 400, arena_printf(a, "elastic quota %s not found", q->name));
    else
        finish(q, 500, arena_printf(a, "elastic quota %s: %s", q->name, err->text));
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* A quota that limits none of these is not evaluated. */
static const char *const evaluated[] = {
    RES_CPU,
    RES_MEMORY,
    RES_EPHEMERAL_STORAGE,
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    RES_BATCH_CPU,
    RES_BATCH_MEMORY,
    RES_MID_CPU,
    RES_MID_MEMORY,
    RES_GPU,
    RES_NVIDIA_GPU,
    RES_GPU_SHARED,
    RES_GPU_MEMORY_RATIO,
};

static bool is_evaluated(const reslist *max)
{
    for (size_t i = 0; i < ARRAY_LEN(evaluated); i++)
        if (reslist_has(max, evaluated[i]))
            return true;
    return false;
}

static void append_part(struct strbuf *out, const char *label, const reslist *exceeded,
                        const reslist *values, struct arena *a)
{
    strbuf_appendf(out, ", %s: ", label);
    for (uint32_t i = 0; i < exceeded->n; i++)
        strbuf_appendf(out, "%s%s=%s", i ? "," : "", exceeded->items[i].name,
                       qty_format(reslist_get(values, exceeded->items[i].name), a));
}

static const char *exceeded_text(const struct ledger *q, const reslist *exceeded,
                                 const reslist *request, const reslist *used, const reslist *limit,
                                 struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    strbuf_appendf(&out, "exceeded quota: %s/%s", q->ns, q->name);
    append_part(&out, "requested", exceeded, request, a);
    append_part(&out, "used", exceeded, used, a);
    append_part(&out, "limited", exceeded, limit, a);
    return arena_strdup(a, strbuf_str(&out));
}

/* Adds to *used what is charged. */
static void judge_one(struct ledger *q, struct charging *c, const reslist *max,
                      const reslist *limit, reslist *used, struct arena *a)
{
    reslist exceeded = { 0 }, after = *used;

    for (uint32_t i = 0; i < c->request.n; i++) {
        const struct resqty *r = &c->request.items[i];
        const struct qty *most = reslist_find(limit, r->name);
        if (qty_is_zero(r->value) || !reslist_has(max, r->name))
            continue;
        struct qty sum = qty_add(reslist_get(used, r->name), r->value);
        after = reslist_with(&after, r->name, sum, a);
        if (most && qty_cmp(sum, *most) > 0)
            exceeded = reslist_with(&exceeded, r->name, sum, a);
    }
    c->why = NULL;
    if (exceeded.n > 0)
        c->why = exceeded_text(q, &exceeded, &c->request, used, limit, c->arena);
    else if (!c->dry_run)
        *used = after;
}

struct verdicts {
    bool refused, charged; /* somebody was */
    reslist used;          /* as it is to be written */
};

static int judge(struct ledger *q, const struct elasticquota *quota, struct arena *a,
                 struct verdicts *ret, struct kerr *err)
{
    struct reslist_value used = { 0 }, admission = { 0 };
    const kstrmap *annotations = &quota->obj.meta.annotations;

    if (quota_child_request_read(annotations, a, &used, err) < 0 ||
        quota_admission_read(annotations, a, &admission, err) < 0)
        return err->code;
    const reslist *limit = admission.v.n > 0 ? &admission.v : &quota->spec.max;
    *ret = (struct verdicts){ .used = used.v };
    for (struct charging *c = q->batch; c; c = c->next) {
        c->why = NULL;
        if (c->fn && is_evaluated(&quota->spec.max))
            judge_one(q, c, &quota->spec.max, limit, &ret->used, a);
        ret->refused |= c->why != NULL;
    }
    ret->charged = !reslist_equal(&ret->used, &used.v);
    return 0;
}

/* ---- the server ------------------------------------------------------------------------------ */

static void consider(struct ledger *q, struct kobj *quota, bool from_server);

static void keep(struct ledger *q, struct kobj *o)
{
    kobj_unref(q->known);
    q->known = o;
}

static int decode(struct ledger *q, struct kube_resp *r, struct kobj **ret, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    int e = kj_parse_insitu(r->body, r->n, 0, &doc, err);

    return e < 0 ? e
                 : kobj_decode(&kind_elasticquota, kj_root(doc), kube_scratch(q->e->o.kube), ret,
                               err);
}

/* The write whose answer was lost may have happened. */
static bool was_written(const struct ledger *q, const struct kobj *now)
{
    const char *is = kstrmap_get(&now->meta.annotations, ANNO_QUOTA_CHILD_REQUEST);

    return q->tried && q->judged && is && streq(is, q->tried) &&
           !streq(now->meta.resource_version, q->judged->meta.resource_version);
}

static void on_read(void *arg, struct kube_resp *r, const struct kerr *failed)
{
    struct ledger *q = arg;
    struct kobj *o = NULL;
    struct kerr err = { 0 };

    q->call = NULL;
    if (failed || decode(q, r, &o, &err) < 0) {
        fail(q, failed ? failed : &err);
        return;
    }
    keep(q, o);
    if (was_written(q, o))
        finish(q, 0, NULL);
    else
        consider(q, o, true);
}

static void get_quota(struct ledger *q)
{
    q->call = kube_do(q->e->o.kube,
                      &(struct kube_req){ .verb = KUBE_GET,
                                          .kind = &kind_elasticquota,
                                          .ns = q->ns,
                                          .name = q->name,
                                          .timeout = WAIT_MAX },
                      on_read, q);
}

static void on_pause(struct loop *l, void *arg)
{
    struct ledger *q = arg;

    (void)l;
    q->timer = NULL;
    get_quota(q);
}

/* Somebody else wrote: the first times are cheap, then we give way. */
static void after_conflict(struct ledger *q)
{
    const struct evaluator_opts *o = &q->e->o;
    unsigned budget = evaluate_retries(q->n, o->max_retries);
    nsec_t pause = 0;

    q->conflicts++;
    if (q->conflicts > budget)
        pause = MIN(PAUSE_MIN << MIN(q->conflicts - budget, 10u), PAUSE_MAX);
    else if (q->slept < o->max_total_jitter)
        pause = MIN(o->retry_jitter, o->max_total_jitter - q->slept);
    if (pause > 1)
        pause = pause / 2 + (nsec_t)(loop_rand(o->loop) % (uint64_t)(pause - pause / 2));
    q->slept += pause;
    q->timer = loop_after(o->loop, pause, on_pause, q);
}

static void on_written(void *arg, struct kube_resp *r, const struct kerr *failed)
{
    struct ledger *q = arg;
    struct kobj *o = NULL;
    struct kerr err = { 0 };

    q->call = NULL;
    if (!failed) {
        if (decode(q, r, &o, &err) == 0)
            keep(q, o);
        finish(q, 0, NULL);
    } else if (failed->reason == KR_CONFLICT) {
        free(q->tried);
        q->tried = NULL;
        after_conflict(q);
    } else if (r->status == 0) {
        get_quota(q); /* no answer came: ask what became of it */
    } else {
        fail(q, failed);
    }
}

static void put_quota(struct ledger *q, const struct kobj *quota, const reslist *used)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT, text = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    reslist_encode(used, &text);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "resourceVersion", quota->meta.resource_version);
    kjw_obj(&w, "annotations");
    kjw_str(&w, ANNO_QUOTA_CHILD_REQUEST, strbuf_str(&text));
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    free(q->tried);
    q->tried = strbuf_take(&text);
    q->call = kube_do(q->e->o.kube,
                      &(struct kube_req){ .verb = KUBE_PATCH,
                                          .kind = &kind_elasticquota,
                                          .ns = q->ns,
                                          .name = q->name,
                                          .patch = KUBE_PATCH_MERGE,
                                          .body = strbuf_str(&body),
                                          .body_len = body.len,
                                          .timeout = WAIT_MAX },
                      on_written, q);
}

/* ---- one batch ------------------------------------------------------------------------------- */

static bool is_wanted(const struct ledger *q)
{
    for (const struct charging *c = q->batch; c; c = c->next)
        if (c->fn)
            return true;
    return false;
}

static void consider(struct ledger *q, struct kobj *quota, bool from_server)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct verdicts v;
    struct kerr err = { 0 };

    if (!is_wanted(q)) {
        finish(q, 0, NULL);
        return;
    }
    if (judge(q, elasticquota_of(quota), a, &v, &err) < 0) {
        fail(q, &err);
        return;
    }
    if (v.refused && !from_server) {
        get_quota(q);
        return;
    }
    if (!v.charged) {
        finish(q, 0, NULL);
        return;
    }
    kobj_unref(q->judged);
    q->judged = kobj_ref(quota);
    put_quota(q, quota, &v.used);
}

/* What the cache shows, unless an answer showed something newer. */
static struct kobj *newest(struct ledger *q)
{
    struct kobj *seen = informer_get(q->e->o.quotas, q->key);

    if (q->known &&
        (!seen || version_is_older(seen->meta.resource_version, q->known->meta.resource_version)))
        return q->known;
    q->known = kobj_unref(q->known);
    return seen;
}

static void begin(struct loop *l, void *arg)
{
    struct ledger *q = arg;

    (void)l;
    q->timer = NULL;
    q->batch = q->waiting;
    q->waiting = NULL;
    q->waiting_end = &q->waiting;
    q->n = 0;
    for (const struct charging *c = q->batch; c; c = c->next)
        q->n++;
    struct kobj *quota = newest(q);
    if (quota)
        consider(q, quota, false);
    else
        get_quota(q);
}

/* All that come in one turn are one batch. */
static void look(struct ledger *q, nsec_t after)
{
    if (!q->batch && !q->timer)
        q->timer = loop_after(q->e->o.loop, after, begin, q);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void ledger_free(struct ledger *q)
{
    kube_cancel(q->call);
    timer_cancel(q->timer);
    kobj_unref(q->known);
    kobj_unref(q->judged);
    free(q->tried);
    free(q->key);
    free(q->ns);
    free(q->name);
    free(q);
}

/* Ledgers that nobody uses are not needed once the cache shows what they know. */
static void forget_idle(struct evaluator *e)
{
    struct vec_of(struct ledger *) idle = { 0 };

    map_foreach(&e->ledgers, x) {
        struct ledger *q = x->value;
        if (!q->batch && !q->waiting && !q->timer && (!newest(q) || !q->known))
            vec_push(&idle, q);
    }
    vec_foreach(&idle, i) {
        map_removez(&e->ledgers, idle.items[i]->key);
        ledger_free(idle.items[i]);
    }
    vec_fini(&idle);
}

static struct ledger *ledger_of(struct evaluator *e, const char *ns, const char *name)
{
    CLEANUP(mem_free) char *key = xasprintf("%s/%s", ns, name);
    struct ledger *q = map_getz(&e->ledgers, key);

    if (q)
        return q;
    if (e->ledgers.n >= REMEMBERED)
        forget_idle(e);
    q = xnew0(struct ledger);
    q->e = e;
    q->key = take(key);
    q->ns = xstrdup(ns);
    q->name = xstrdup(name);
    q->waiting_end = &q->waiting;
    map_putz(&e->ledgers, q->key, q);
    return q;
}

struct charging *evaluator_charge(struct evaluator *e, const struct quota_charge *given,
                                  charged_fn fn, void *arg)
{
    struct ledger *q = ledger_of(e, given->ns, given->name);
    struct arena *a = arena_new();
    struct charging *c = arena_new0(a, struct charging);

    *c = (struct charging){
        .ledger = q, .arena = a, .dry_run = given->dry_run, .fn = fn, .arg = arg
    };
    c->request.items = arena_newn0(a, given->request.n, struct resqty);
    c->request.n = given->request.n;
    for (uint32_t i = 0; i < given->request.n; i++)
        c->request.items[i] = (struct resqty){ arena_strdup(a, given->request.items[i].name),
                                               given->request.items[i].value };
    c->timer = loop_after(e->o.loop, WAIT_MAX, on_timeout, c);
    *q->waiting_end = c;
    q->waiting_end = &c->next;
    look(q, 0);
    return c;
}

struct evaluator *evaluator_new(const struct evaluator_opts *o)
{
    struct evaluator *e = xnew0(struct evaluator);

    e->o = *o;
    return e;
}

static void drop_all(struct charging *c)
{
    while (c) {
        struct charging *next = c->next;
        answer(c, 500, "koord-manager is stopping");
        charging_free(c);
        c = next;
    }
}

struct evaluator *evaluator_free(struct evaluator *e)
{
    if (!e)
        return NULL;
    map_foreach(&e->ledgers, x) {
        struct ledger *q = x->value;
        drop_all(q->batch);
        drop_all(q->waiting);
        ledger_free(q);
    }
    map_fini(&e->ledgers);
    free(e);
    return NULL;
}
