/* write.c - claims are written to the API server: the finalizer, the allocation, the users.
 *
 * One write after the other, each only if the claim is still the one we know: by merge patch with
 * its resourceVersion, so that fields we do not know survive. A conflict is looked at and tried
 * again. An answer that does not say what happened (it was lost, the server failed) is not guessed:
 * the server is asked until it answers, and until then the devices stay in flight.
 */
#include "api/pod.h"
#include "base/klog.h"
#include "base/ktime.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "controllers/meta.h"
#include "loop/loop.h"
#include "scheduler/plugins/dynamicresources/bindwait.h"
#include "scheduler/plugins/dynamicresources/claimcache.h"
#include "scheduler/plugins/dynamicresources/claimwire.h"
#include "scheduler/plugins/dynamicresources/extended.h"
#include "json/kj.h"

#define CONFLICT_WAIT (10 * NSEC_PER_MSEC)
#define ADD_FINALIZER "add finalizer to claim"

static void ask(struct booking *b);

bool claimwrite_is_under_way(const struct booking *b)
{
    return b->call || (b->timer && !b->waits);
}

void claimwrite_stop(struct booking *b)
{
    bindwait_stop(b);
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
void claimwrite_finish(struct booking *b, enum ks_code code, const char *why)
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
    claimwrite_finish(b, KS_ERROR, strbuf_str(&text));
}

/* ---- answers --------------------------------------------------------------------------------- */

struct kobj *claimwrite_decode(const struct claimcache *cc, const struct kube_resp *r)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kobj *o = NULL;
    struct kerr err = { 0 };

    if (!r->body || kj_parse(r->body, r->n, 0, &doc, &err) < 0)
        return NULL;
    (void)kobj_decode(&kind_resource_claim, kj_root(doc), kube_scratch(cc->env.kube), &o, &err);
    return o;
}

static void set_latest(struct booking *b, struct kobj *o)
{
    kobj_unref(b->latest);
    b->latest = o;
}

/* Is it written what this booking wants? */
static bool is_done(const struct booking *b, const struct booked *c,
                    const struct resource_claim *now)
{
    const struct claim_allocation *got = now->status.allocation;

    return claim_is_reserved_for(now, b->uid) && got &&
           claim_same_devices(got, c->allocation ? c->allocation : c->had);
}

static void landed(struct booking *b, struct kobj *o)
{
    if (b->claims[b->at].special)
        claimcache_expect(b->cc, o);
    else
        claimcache_assume(b->cc, o);
    booking_land(b, &b->claims[b->at]);
    b->at++;
    b->tries = 0;
    free(take(b->failure));
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
        o = claimwrite_decode(b->cc, resp);
    if (!o && !(err && err->reason == KR_NOT_FOUND)) {
        after(b, loop_jitter(b->cc->env.loop, b->wait, 0.1), on_retry);
        b->wait = MIN(b->wait * 2, CLAIM_ASK_WAIT_MAX);
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
        claimwrite_go_on(b);
        return;
    }
    claimcache_assume(b->cc, o);
    set_latest(b, o);
    if (!b->failure) { /* a conflict */
        claimwrite_go_on(b);
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

/* ---- a claim that a patch would change ---------------------------------------------------------
 */

static void on_written(void *arg, struct kube_resp *resp, const struct kerr *err);

/* The claim in protobuf: it goes back with the finalizer, its version included. */
static void on_exact(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct booking *b = arg;
    const struct booked *c = &b->claims[b->at];
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(mem_free) char *refusal = take(b->failure);

    b->call = NULL;
    if (err ||
        claimwire_add_finalizer((struct str){ resp->body, resp->n }, CLAIM_FINALIZER, &body) < 0) {
        fail(b, "%s %s: %s", b->doing, c->key, refusal);
        return;
    }
    b->exact = true;
    b->call = kube_do(b->cc->env.kube,
                      &(struct kube_req){ .verb = KUBE_UPDATE,
                                          .protobuf = true,
                                          .kind = &kind_resource_claim,
                                          .ns = c->ns,
                                          .name = c->name,
                                          .body = body.data,
                                          .body_len = body.len },
                      on_written, b);
}

/* Its opaque parameters do not survive JSON: claimwire.h. */
static void write_exactly(struct booking *b, const char *refusal)
{
    const struct booked *c = &b->claims[b->at];

    free(b->failure);
    b->failure = xstrdup(refusal);
    b->call = kube_do(b->cc->env.kube,
                      &(struct kube_req){ .verb = KUBE_GET,
                                          .protobuf = true,
                                          .kind = &kind_resource_claim,
                                          .ns = c->ns,
                                          .name = c->name },
                      on_exact, b);
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
    struct kobj *o = err ? NULL : claimwrite_decode(b->cc, resp);

    b->call = NULL;
    if (o) {
        if (is_done(b, c, resource_claim_of(o))) {
            CLEANUP(kobj_unref) struct kobj *done = o;
            landed(b, done);
        } else { /* it has its finalizer */
            claimcache_assume(b->cc, o);
            set_latest(b, o);
        }
        claimwrite_go_on(b);
        return;
    }
    b->wait = CLAIM_ASK_WAIT_MIN;
    if (err && err->reason == KR_CONFLICT && ++b->tries < CLAIM_TRIES_MAX) {
        after(b, CONFLICT_WAIT, on_retry);
        return;
    }
    if (err && err->reason == KR_NOT_FOUND) {
        fail(b, "claim %s got deleted in the meantime", c->key);
        return;
    }
    if (err && err->reason == KR_INVALID && !b->exact && streq(b->doing, ADD_FINALIZER)) {
        write_exactly(b, err->text);
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

    b->exact = false;
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

    b->doing = ADD_FINALIZER;
    meta_finalizer_patch(now, now->meta.resource_version, CLAIM_FINALIZER, true, &body);
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
    bool stamped = now->status.allocation && now->status.allocation->allocation_timestamp;
    if (c->allocation) {
        if (b->binding_timeout)
            c->allocation->allocation_timestamp = loop_wall(b->cc->env.loop);
        kj_encode(&claim_allocation_schema, c->allocation, &allocation);
        kjw_raw(&w, "allocation", allocation.data, allocation.len);
    } else if (b->binding_timeout && !stamped) { /* by a scheduler without the feature */
        char at[KTIME_TEXT_MAX];
        ktime_format(loop_wall(b->cc->env.loop), at);
        kjw_obj(&w, "allocation");
        kjw_str(&w, "allocationTimestamp", at);
        kjw_end(&w);
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

/* The next write for the claim at work; false: it has ended, one way or the other. */
static void next_write(struct booking *b, struct booked *c, const struct resource_claim *now)
{
    if (!c->allocation && !now->status.allocation)
        fail(b, "claim %s got deallocated elsewhere in the meantime", c->key);
    else if (now->status.allocation &&
             (c->allocation || !claim_same_devices(now->status.allocation, c->had)))
        fail(b, "claim %s got allocated elsewhere in the meantime", c->key);
    else if (c->allocation && !meta_has_finalizer(&now->obj, CLAIM_FINALIZER))
        send_finalizer(b, &now->obj);
    else
        send_status(b, now);
}

static void on_begin(struct loop *l, void *arg)
{
    struct booking *b = arg;

    (void)l;
    b->timer = NULL;
    claimwrite_go_on(b);
}

void claimwrite_go_on(struct booking *b)
{
    for (; b->at < b->n; b->at++) {
        struct booked *c = &b->claims[b->at];
        const struct resource_claim *now = b->latest ? resource_claim_of(b->latest)
                                           : c->made ? resource_claim_of(c->made)
                                                     : claimcache_get(b->cc, c->ns, c->name);
        if (!b->bind) { /* nobody waits: nothing more is written */
            claimwrite_finish(b, KS_ERROR, "");
            return;
        }
        if (c->special && !c->made) {
            extwrite_create(b);
            return;
        }
        if (claimerrand_is_under_way(b->cc, c->uid)) { /* the claim is about to change */
            after(b, CONFLICT_WAIT, on_begin);
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
    if (!b->bind)
        claimwrite_finish(b, KS_ERROR, "");
    else if (b->mappings && !b->told)
        extwrite_tell_pod(b);
    else if (!bindwait_begin(b))
        claimwrite_finish(b, KS_SUCCESS, "");
}

void claimwrite_begin(struct booking *b, struct ks_bind *bind)
{
    b->bind = bind;
    b->at = 0;
    after(b, 0, on_begin); /* answers come from a later turn */
}
