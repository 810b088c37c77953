/* write.c - claims are written to the API server: the finalizer, the allocation, the users.
 *
 * One write after the other, each only if the claim is still the one we know: by merge patch with
 * its resourceVersion, so that fields we do not know survive. A conflict is looked at and tried
 * again. An answer that does not say what happened (it was lost, the server failed) is not guessed:
 * the server is asked until it answers, and until then the devices stay in flight.
 */
#include "api/pod.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "scheduler/plugins/dynamicresources/claimcache.h"
#include "json/kj.h"

enum { TRIES_MAX = 5 };
#define CONFLICT_WAIT (10 * NSEC_PER_MSEC)
#define ASK_WAIT_MIN  (100 * NSEC_PER_MSEC)
#define ASK_WAIT_MAX  (10 * NSEC_PER_SEC)

static void go_on(struct booking *b);
static void ask(struct booking *b);

bool claimwrite_is_under_way(const struct booking *b)
{
    return b->call || b->timer;
}

void claimwrite_stop(struct booking *b)
{
    b->call = kube_cancel(b->call);
    b->timer = timer_cancel(b->timer);
    b->bind = NULL;
}

static void after(struct booking *b, nsec_t wait, void (*fn)(struct loop *, void *))
{
    b->timer = loop_after(b->cc->env.loop, wait, fn, b);
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* The engine may give the booking back at once: nothing may touch it afterwards. */
static void finish(struct booking *b, enum ks_code code, const char *why)
{
    if (b->bind) {
        ks_bind_done(take(b->bind), code, why);
        return;
    }
    /* The pod has left meanwhile, and was told that its claim is being allocated. */
    const struct ks_env env = b->cc->env;
    CLEANUP(kobj_unref) struct kobj *pod = kobj_ref(b->pod);
    booking_leave(b);
    if (env.scheduler)
        ks_retry(&env, pod->meta.uid);
}

static void fail(struct booking *b, const char *fmt, ...) PRINTF(2, 3);
static void fail(struct booking *b, const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vappendf(&text, fmt, ap);
    va_end(ap);
    finish(b, KS_ERROR, strbuf_str(&text));
}

/* ---- answers --------------------------------------------------------------------------------- */

static struct kobj *decode(struct booking *b, const struct kube_resp *r)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kobj *o = NULL;
    struct kerr err = { 0 };

    if (!r->body || kj_parse(r->body, r->n, 0, &doc, &err) < 0)
        return NULL;
    (void)kobj_decode(&kind_resource_claim, kj_root(doc), kube_scratch(b->cc->env.kube), &o, &err);
    return o;
}

static void set_latest(struct booking *b, struct kobj *o)
{
    kobj_unref(b->latest);
    b->latest = o;
}

static bool same_devices(const struct claim_allocation *a, const struct claim_allocation *b)
{
    bool same = a->devices.results.n == b->devices.results.n;

    for (uint32_t i = 0; same && i < a->devices.results.n; i++) {
        const struct device_result *x = &a->devices.results.items[i],
                                   *y = &b->devices.results.items[i];
        same = streq(x->request, y->request) && streq(x->driver, y->driver) &&
               streq(x->pool, y->pool) && streq(x->device, y->device);
    }
    return same;
}

/* Is it written what this booking wants? */
static bool is_done(const struct booking *b, const struct booked *c,
                    const struct resource_claim *now)
{
    const struct claim_allocation *got = now->status.allocation;

    return claim_is_reserved_for(now, b->uid) && got &&
           (!c->allocation || same_devices(got, c->allocation));
}

static void landed(struct booking *b, struct kobj *o)
{
    claimcache_assume(b->cc, o);
    booking_land(b, &b->claims[b->at]);
    b->at++;
    b->tries = 0;
    set_latest(b, NULL);
}

static bool is_same_claim(const struct booked *c, const struct kobj *o)
{
    return o && kuid_equal(o->meta.uid, c->uid);
}

static void on_retry(struct loop *l, void *arg)
{
    struct booking *b = arg;

    (void)l;
    b->timer = NULL;
    ask(b);
}

/* What the server has, after a write that failed. */
static void on_told(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct booking *b = arg;
    struct booked *c = &b->claims[b->at];
    struct kobj *o = NULL;

    b->call = NULL;
    if (!err)
        o = decode(b, resp);
    if (!o && !(err && err->reason == KR_NOT_FOUND)) {
        after(b, loop_jitter(b->cc->env.loop, b->wait, 0.1), on_retry);
        b->wait = MIN(b->wait * 2, ASK_WAIT_MAX);
        return;
    }
    if (!is_same_claim(c, o)) {
        kobj_unref(o);
        fail(b, "claim %s got deleted in the meantime", c->key);
        return;
    }
    if (is_done(b, c, resource_claim_of(o))) {
        CLEANUP(kobj_unref) struct kobj *done = o;
        landed(b, done);
        go_on(b);
        return;
    }
    claimcache_assume(b->cc, o);
    set_latest(b, o);
    if (!b->failure) { /* a conflict */
        go_on(b);
        return;
    }
    CLEANUP(mem_free) char *text = take(b->failure);
    fail(b, "%s %s: %s", b->doing, c->key, text);
}

static void ask(struct booking *b)
{
    const struct booked *c = &b->claims[b->at];

    b->call =
        kube_do(b->cc->env.kube,
                &(struct kube_req){
                    .verb = KUBE_GET, .kind = &kind_resource_claim, .ns = c->ns, .name = c->name },
                on_told, b);
}

/* Does the answer say that nothing was written? */
static bool is_refusal(const struct kube_resp *r)
{
    return r->status >= 400 && r->status < 500 && r->status != 408 && r->status != 429;
}

static void on_written(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct booking *b = arg;
    struct booked *c = &b->claims[b->at];
    struct kobj *o = err ? NULL : decode(b, resp);

    b->call = NULL;
    if (o) {
        if (is_done(b, c, resource_claim_of(o))) {
            CLEANUP(kobj_unref) struct kobj *done = o;
            landed(b, done);
        } else { /* it has its finalizer */
            claimcache_assume(b->cc, o);
            set_latest(b, o);
        }
        go_on(b);
        return;
    }
    b->wait = ASK_WAIT_MIN;
    if (err && err->reason == KR_CONFLICT && ++b->tries < TRIES_MAX) {
        after(b, CONFLICT_WAIT, on_retry);
        return;
    }
    if (err && err->reason == KR_NOT_FOUND) {
        fail(b, "claim %s got deleted in the meantime", c->key);
        return;
    }
    if (err && is_refusal(resp)) {
        fail(b, "%s %s: %s", b->doing, c->key, err->text);
        return;
    }
    free(b->failure);
    b->failure = xstrdup(err ? err->text : "the answer cannot be read");
    ask(b);
}

/* ---- what is written ------------------------------------------------------------------------- */

static void send_patch(struct booking *b, const char *subresource, const struct strbuf *body)
{
    const struct booked *c = &b->claims[b->at];

    b->call = kube_do(b->cc->env.kube,
                      &(struct kube_req){ .verb = KUBE_PATCH,
                                          .patch = KUBE_PATCH_MERGE,
                                          .kind = &kind_resource_claim,
                                          .ns = c->ns,
                                          .name = c->name,
                                          .subresource = subresource,
                                          .body = body->data,
                                          .body_len = body->len },
                      on_written, b);
}

static void write_head(struct kjw *w, const struct kobj *o)
{
    kjw_obj(w, NULL);
    kjw_obj(w, "metadata");
    kjw_str(w, "resourceVersion", o->meta.resource_version);
}

static void send_finalizer(struct booking *b, const struct kobj *now)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    b->doing = "add finalizer to claim";
    write_head(&w, now);
    kjw_arr(&w, "finalizers");
    for (uint32_t i = 0; i < now->meta.finalizers.n; i++)
        kjw_str(&w, NULL, now->meta.finalizers.items[i]);
    kjw_str(&w, NULL, CLAIM_FINALIZER);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    send_patch(b, NULL, &body);
}

static void write_consumer(struct kjw *w, const struct claim_consumer *c)
{
    char uid[KUID_TEXT_MAX];

    kuid_format(c->uid, uid, sizeof uid);
    kjw_obj(w, NULL);
    if (*c->api_group)
        kjw_str(w, "apiGroup", c->api_group);
    kjw_str(w, "resource", c->resource);
    kjw_str(w, "name", c->name);
    kjw_str(w, "uid", uid);
    kjw_end(w);
}

static void send_status(struct booking *b, const struct resource_claim *now)
{
    const struct booked *c = &b->claims[b->at];
    const struct claim_consumer pod = { "", "pods", b->pod->meta.name, b->pod->meta.uid };
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT, allocation = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    b->doing =
        c->allocation ? "add allocation and reservation to claim" : "add reservation to claim";
    write_head(&w, &now->obj);
    kjw_end(&w);
    kjw_obj(&w, "status");
    if (c->allocation) {
        kj_encode(&claim_allocation_schema, c->allocation, &allocation);
        kjw_raw(&w, "allocation", allocation.data, allocation.len);
    }
    kjw_arr(&w, "reservedFor");
    for (uint32_t i = 0; i < now->status.reserved_for.n; i++)
        write_consumer(&w, &now->status.reserved_for.items[i]);
    write_consumer(&w, &pod);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    send_patch(b, "status", &body);
}

static bool has_finalizer(const struct kobj *o)
{
    for (uint32_t i = 0; i < o->meta.finalizers.n; i++)
        if (streq(o->meta.finalizers.items[i], CLAIM_FINALIZER))
            return true;
    return false;
}

/* The next write for the claim at work; false: it has ended, one way or the other. */
static void next_write(struct booking *b, struct booked *c, const struct resource_claim *now)
{
    if (!c->allocation && !now->status.allocation)
        fail(b, "claim %s got deallocated elsewhere in the meantime", c->key);
    else if (c->allocation && now->status.allocation)
        fail(b, "claim %s got allocated elsewhere in the meantime", c->key);
    else if (c->allocation && !has_finalizer(&now->obj))
        send_finalizer(b, &now->obj);
    else
        send_status(b, now);
}

static void go_on(struct booking *b)
{
    for (; b->at < b->n; b->at++) {
        struct booked *c = &b->claims[b->at];
        const struct resource_claim *now =
            b->latest ? resource_claim_of(b->latest) : claimcache_get(b->cc, c->ns, c->name);
        if (!b->bind) { /* nobody waits: nothing more is written */
            finish(b, KS_ERROR, "");
            return;
        }
        if (!now || !is_same_claim(c, &now->obj) || now->obj.meta.deleted) {
            fail(b, "claim %s got deleted in the meantime", c->key);
            return;
        }
        if (!is_done(b, c, now)) {
            next_write(b, c, now);
            return;
        }
        booking_land(b, c);
        set_latest(b, NULL);
    }
    finish(b, KS_SUCCESS, "");
}

static void on_begin(struct loop *l, void *arg)
{
    struct booking *b = arg;

    (void)l;
    b->timer = NULL;
    go_on(b);
}

void claimwrite_begin(struct booking *b, struct ks_bind *bind)
{
    b->bind = bind;
    b->at = 0;
    after(b, 0, on_begin); /* answers come from a later turn */
}

/* ---- writes that nobody waits for ------------------------------------------------------------ */

struct errand { /* one of them */
    struct errand *next;
    struct claimcache *cc;
    struct kube_call *call;
    const char *what;
    char *key;
    struct kuid pod;
    char *pod_text;
    bool wakes; /* the pod, when it is done */
};

static void errand_free(struct errand *e)
{
    for (struct errand **at = &e->cc->errands; *at; at = &(*at)->next)
        if (*at == e) {
            *at = e->next;
            break;
        }
    free(e->key);
    free(e->pod_text);
    free(e);
}

static void on_errand(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct errand *e = arg;

    (void)resp;
    if (err && err->reason != KR_NOT_FOUND)
        KLOG_E(err, "Failed to write claim", KV_S("what", e->what), KV_S("claim", e->key));
    else if (!err && e->wakes && e->cc->env.scheduler)
        ks_activate(&e->cc->env, e->pod);
    errand_free(e);
}

void claimwrite_end(struct claimcache *cc)
{
    while (cc->errands) {
        kube_cancel(cc->errands->call);
        errand_free(cc->errands);
    }
}

static void run_errand(struct claimcache *cc, const struct resource_claim *c, struct kuid pod,
                       const struct errand *how, enum kube_patch patch, const struct strbuf *body)
{
    struct errand *e = xnew0(struct errand);
    char key[KOBJ_KEY_MAX];

    kobj_key(&c->obj, key, sizeof key);
    *e = (struct errand){ cc->errands, .cc = cc, .what = how->what, .wakes = how->wakes };
    e->key = xstrdup(key);
    e->pod = uidmap_own(pod, &e->pod_text);
    cc->errands = e;
    e->call = kube_do(cc->env.kube,
                      &(struct kube_req){ .verb = KUBE_PATCH,
                                          .patch = patch,
                                          .kind = &kind_resource_claim,
                                          .ns = c->obj.meta.ns,
                                          .name = c->obj.meta.name,
                                          .subresource = "status",
                                          .body = body->data,
                                          .body_len = body->len },
                      on_errand, e);
}

void claimwrite_release(struct claimcache *cc, const struct resource_claim *c, struct kuid pod)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    char uid[KUID_TEXT_MAX];

    if (!cc->env.kube)
        return;
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kuid_format(c->obj.meta.uid, uid, sizeof uid);
    kjw_str(&w, "uid", uid); /* of this claim alone */
    kjw_end(&w);
    kjw_obj(&w, "status");
    kjw_arr(&w, "reservedFor");
    kjw_obj(&w, NULL);
    kjw_str(&w, "$patch", "delete");
    kuid_format(pod, uid, sizeof uid);
    kjw_str(&w, "uid", uid);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    run_errand(cc, c, pod, &(struct errand){ .what = "remove reservation" }, KUBE_PATCH_STRATEGIC,
               &body);
}

void claimwrite_deallocate(struct claimcache *cc, const struct resource_claim *c, struct kuid pod)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    if (!cc->env.kube)
        return;
    write_head(&w, &c->obj);
    kjw_end(&w);
    kjw_obj(&w, "status");
    kjw_null(&w, "allocation");
    kjw_null(&w, "reservedFor");
    kjw_null(&w, "devices");
    kjw_end(&w);
    kjw_end(&w);
    run_errand(cc, c, pod, &(struct errand){ .what = "deallocate", .wakes = true },
               KUBE_PATCH_MERGE, &body);
}
