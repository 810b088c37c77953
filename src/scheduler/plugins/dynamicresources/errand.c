/* errand.c - claims are written without a pod that is held up: users that do not come are removed,
 * and allocations that nobody uses.
 *
 * An answer that does not tell is not guessed: the server is asked, and what it says is known then.
 * Until that nobody relies on the claim (claimerrand_is_under_way).
 */
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "scheduler/plugins/dynamicresources/claimcache.h"
#include "json/kj.h"

struct errand {
    struct errand *next;
    struct claimcache *cc;
    struct kube_call *call;
    struct timer *timer;
    const char *what;
    char *ns, *name;
    struct kuid claim, pod;
    char *claim_text, *pod_text;
    bool wakes; /* the pod, when it is done */
    int tries;
    nsec_t wait;
};

static void ask(struct errand *e);
static void release(struct errand *e, const struct resource_claim *c);
static void send_deallocation(struct errand *e, const struct resource_claim *c);

static void errand_free(struct errand *e)
{
    for (struct errand **at = &e->cc->errands; *at; at = &(*at)->next)
        if (*at == e) {
            *at = e->next;
            break;
        }
    kube_cancel(e->call);
    timer_cancel(e->timer);
    free(e->ns);
    free(e->name);
    free(e->claim_text);
    free(e->pod_text);
    free(e);
}

/* Whether it was done or not: the pod has something new to look at. */
static void end(struct errand *e, bool done)
{
    const struct ks_env env = e->cc->env;
    char *text = NULL;
    struct kuid pod = uidmap_own(e->pod, &text);
    bool wakes = e->wakes && env.scheduler;

    errand_free(e);
    if (wakes && done)
        ks_activate(&env, pod);
    else if (wakes)
        ks_retry(&env, pod);
    free(text);
}

/* ---- what became of it ----------------------------------------------------------------------- */

static void on_wait(struct loop *l, void *arg)
{
    struct errand *e = arg;

    (void)l;
    e->timer = NULL;
    ask(e);
}

/* Several users have left at once, and each has seen others: nobody is left to free its devices. */
static bool is_left_over(const struct errand *e, const struct kobj *o)
{
    const struct claim_status *s = &resource_claim_of(o)->status;

    return !e->wakes && e->tries < CLAIM_TRIES_MAX && kuid_equal(o->meta.uid, e->claim) &&
           s->allocation && s->reserved_for.n == 0;
}

static void on_told(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct errand *e = arg;
    CLEANUP(kobj_unref) struct kobj *o = err ? NULL : claimwrite_decode(e->cc, resp);

    e->call = NULL;
    if (!o && !(err && err->reason == KR_NOT_FOUND)) {
        e->timer =
            loop_after(e->cc->env.loop, loop_jitter(e->cc->env.loop, e->wait, 0.1), on_wait, e);
        e->wait = MIN(e->wait * 2, CLAIM_ASK_WAIT_MAX);
        return;
    }
    if (o)
        claimcache_assume(e->cc, o);
    if (o && !e->wakes && kuid_equal(o->meta.uid, e->claim) && e->tries < CLAIM_TRIES_MAX &&
        claim_is_reserved_for(resource_claim_of(o), e->pod))
        release(e, resource_claim_of(o)); /* not done yet */
    else if (o && is_left_over(e, o))
        send_deallocation(e, resource_claim_of(o));
    else
        end(e, false);
}

static void ask(struct errand *e)
{
    e->call =
        kube_do(e->cc->env.kube,
                &(struct kube_req){
                    .verb = KUBE_GET, .kind = &kind_resource_claim, .ns = e->ns, .name = e->name },
                on_told, e);
}

static void on_written(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct errand *e = arg;
    CLEANUP(kobj_unref) struct kobj *o = err ? NULL : claimwrite_decode(e->cc, resp);

    e->call = NULL;
    if (o) {
        claimcache_assume(e->cc, o);
        if (is_left_over(e, o))
            send_deallocation(e, resource_claim_of(o));
        else
            end(e, true);
        return;
    }
    if (err && err->reason == KR_NOT_FOUND) {
        end(e, true);
        return;
    }
    if (err && err->reason != KR_CONFLICT)
        KLOG_E(err, "Failed to write claim", KV_S("what", e->what), KV_S("namespace", e->ns),
               KV_S("claim", e->name));
    e->wait = CLAIM_ASK_WAIT_MIN;
    ask(e);
}

/* ---- what is written ------------------------------------------------------------------------- */

static void send_patch(struct errand *e, enum kube_patch patch, const struct strbuf *body)
{
    e->tries++;
    e->call = kube_do(e->cc->env.kube,
                      &(struct kube_req){ .verb = KUBE_PATCH,
                                          .patch = patch,
                                          .kind = &kind_resource_claim,
                                          .ns = e->ns,
                                          .name = e->name,
                                          .subresource = "status",
                                          .body = body->data,
                                          .body_len = body->len },
                      on_written, e);
}

/* Only if it is still the claim that we know: otherwise somebody may have begun to use it. */
static void send_deallocation(struct errand *e, const struct resource_claim *c)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "resourceVersion", c->obj.meta.resource_version);
    kjw_end(&w);
    kjw_obj(&w, "status");
    kjw_null(&w, "allocation");
    kjw_null(&w, "reservedFor");
    kjw_null(&w, "devices");
    kjw_end(&w);
    kjw_end(&w);
    send_patch(e, KUBE_PATCH_MERGE, &body);
}

static void send_release(struct errand *e, const struct resource_claim *c)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    char uid[KUID_TEXT_MAX];

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kuid_format(c->obj.meta.uid, uid, sizeof uid);
    kjw_str(&w, "uid", uid); /* of this claim alone */
    kjw_end(&w);
    kjw_obj(&w, "status");
    kjw_arr(&w, "reservedFor");
    kjw_obj(&w, NULL);
    kjw_str(&w, "$patch", "delete");
    kuid_format(e->pod, uid, sizeof uid);
    kjw_str(&w, "uid", uid);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    send_patch(e, KUBE_PATCH_STRATEGIC, &body);
}

/* With its last user a claim loses its devices: the claim controller would not see to that. */
static void release(struct errand *e, const struct resource_claim *c)
{
    if (c->status.reserved_for.n == 1)
        send_deallocation(e, c);
    else
        send_release(e, c);
}

/* ---- errands --------------------------------------------------------------------------------- */

static struct errand *errand_new(struct claimcache *cc, const struct resource_claim *c,
                                 struct kuid pod, const char *what)
{
    struct errand *e = xnew0(struct errand);

    *e = (struct errand){ cc->errands, .cc = cc, .what = what };
    e->ns = xstrdup(c->obj.meta.ns);
    e->name = xstrdup(c->obj.meta.name);
    e->claim = uidmap_own(c->obj.meta.uid, &e->claim_text);
    e->pod = uidmap_own(pod, &e->pod_text);
    cc->errands = e;
    return e;
}

void claimerrand_release(struct claimcache *cc, const struct resource_claim *c, struct kuid pod)
{
    if (cc->env.kube)
        release(errand_new(cc, c, pod, "remove reservation"), c);
}

void claimerrand_deallocate(struct claimcache *cc, const struct resource_claim *c, struct kuid pod)
{
    if (!cc->env.kube)
        return;
    struct errand *e = errand_new(cc, c, pod, "deallocate");
    e->wakes = true;
    send_deallocation(e, c);
}

bool claimerrand_is_under_way(const struct claimcache *cc, struct kuid claim)
{
    for (const struct errand *e = cc->errands; e; e = e->next)
        if (kuid_equal(e->claim, claim))
            return true;
    return false;
}

void claimerrand_end(struct claimcache *cc)
{
    while (cc->errands)
        errand_free(cc->errands);
}
