/* extwrite.c - the special claim of a pod for extended resources: it is made before it is
 * allocated, the pod's status tells of it, and when the pod does not get its node it is deleted.
 *
 * Its name is chosen here, once for a booking: a create whose answer was lost is asked about.
 */
#include "api/pod.h"
#include "base/arena.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "scheduler/plugins/dynamicresources/claimcache.h"
#include "scheduler/plugins/dynamicresources/extended.h"
#include "json/kj.h"

#include <stdio.h>

enum { NAME_BASE_MAX = 200 }; /* of the pod's name; 253 in all */

static struct booked *special_of(struct booking *b)
{
    return &b->claims[b->n - 1];
}

static void choose_name(struct booking *b)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    struct booked *c = special_of(b);
    uint64_t r = loop_rand(b->cc->env.loop);
    char end[6] = { 0 };

    for (int i = 0; i < 5; i++, r /= sizeof letters - 1)
        end[i] = letters[r % (sizeof letters - 1)];
    c->name =
        arena_printf(b->arena, "%.*s-extended-resources-%s", NAME_BASE_MAX, b->pod->meta.name, end);
    c->key = arena_printf(b->arena, "%s/%s", c->ns, c->name);
}

void extwrite_prepare(struct booking *b, const struct special_claim *s)
{
    CLEANUP(strbuf_fini) struct strbuf spec = STRBUF_INIT, status = STRBUF_INIT;
    struct booked *c = special_of(b);
    struct kjw w = kjw_to(&status);

    kj_encode(&claim_spec_schema, &s->claim.spec, &spec);
    kjw_arr(&w, NULL);
    for (uint32_t i = 0; i < s->n; i++) {
        kjw_obj(&w, NULL);
        kjw_str(&w, "containerName", s->mappings[i].container);
        kjw_str(&w, "requestName", s->mappings[i].request);
        kjw_str(&w, "resourceName", s->mappings[i].resource);
        kjw_end(&w);
    }
    kjw_end(&w);
    c->special = arena_strdup(b->arena, strbuf_str(&spec));
    b->mappings = arena_strdup(b->arena, strbuf_str(&status));
    if (b->cc->env.loop)
        choose_name(b);
}

/* ---- it is made ------------------------------------------------------------------------------ */

static void write_body(const struct booking *b, const struct booked *c, struct strbuf *body)
{
    struct kjw w = kjw_to(body);
    char uid[KUID_TEXT_MAX];

    kuid_format(b->pod->meta.uid, uid, sizeof uid);
    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "resource.k8s.io/v1");
    kjw_str(&w, "kind", "ResourceClaim");
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", c->name);
    kjw_str(&w, "generateName", arena_printf(b->arena, "%.*s", (int)strlen(c->name) - 5, c->name));
    kjw_obj(&w, "annotations");
    kjw_str(&w, CLAIM_EXTENDED_ANNOTATION, "true");
    kjw_end(&w);
    kjw_arr(&w, "finalizers");
    kjw_str(&w, NULL, CLAIM_FINALIZER);
    kjw_end(&w);
    kjw_arr(&w, "ownerReferences");
    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "v1");
    kjw_str(&w, "kind", "Pod");
    kjw_str(&w, "name", b->pod->meta.name);
    kjw_str(&w, "uid", uid);
    kjw_bool(&w, "controller", true);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    kjw_raw(&w, "spec", c->special, strlen(c->special));
    kjw_end(&w);
}

/* It has the server's UID from here on; its devices stay in flight under the other one. */
static void made(struct booking *b, struct kobj *o)
{
    struct booked *c = special_of(b);

    free(c->uid_text);
    c->uid = uidmap_own(o->meta.uid, &c->uid_text);
    c->made = o;
    free(take(b->failure)); /* of an answer that was lost */
    claimwrite_go_on(b);
}

static bool is_ours(const struct booking *b, const struct kobj *o)
{
    const struct owner_ref *owner = o ? kobj_controller(o) : NULL;
    return owner && kuid_equal(owner->uid, b->uid);
}

static void fail_create(struct booking *b, const char *text)
{
    CLEANUP(mem_free)
    char *why = xasprintf("create claim for extended resources %s/: %s", special_of(b)->ns, text);
    claimwrite_finish(b, KS_ERROR, why);
}

static void ask(struct booking *b);

static void on_ask_again(struct loop *l, void *arg)
{
    struct booking *b = arg;

    (void)l;
    b->timer = NULL;
    ask(b);
}

static void on_there(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct booking *b = arg;
    struct kobj *o = err ? NULL : claimwrite_decode(b->cc, resp);

    b->call = NULL;
    if (is_ours(b, o)) {
        made(b, o);
        return;
    }
    if (o) { /* a stranger's */
        kobj_unref(o);
        choose_name(b);
        extwrite_create(b);
        return;
    }
    if (err && err->reason == KR_NOT_FOUND) {
        CLEANUP(mem_free) char *text = take(b->failure);
        fail_create(b, text ? text : err->text);
        return;
    }
    b->timer = loop_after(b->cc->env.loop, b->wait, on_ask_again, b);
    b->wait = MIN(b->wait * 2, CLAIM_ASK_WAIT_MAX);
}

static void ask(struct booking *b)
{
    const struct booked *c = special_of(b);

    b->call =
        kube_do(b->cc->env.kube,
                &(struct kube_req){
                    .verb = KUBE_GET, .kind = &kind_resource_claim, .ns = c->ns, .name = c->name },
                on_there, b);
}

static void on_created(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct booking *b = arg;
    struct kobj *o = err ? NULL : claimwrite_decode(b->cc, resp);

    b->call = NULL;
    if (o) {
        made(b, o);
        return;
    }
    bool refused = err && resp->status >= 400 && resp->status < 500 && resp->status != 408 &&
                   resp->status != 429 && err->reason != KR_ALREADY_EXISTS;
    if (refused) {
        fail_create(b, err->text);
        return;
    }
    free(b->failure);
    b->failure = xstrdup(err ? err->text : "the answer cannot be read");
    b->wait = CLAIM_ASK_WAIT_MIN;
    ask(b);
}

void extwrite_create(struct booking *b)
{
    const struct booked *c = special_of(b);
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    write_body(b, c, &body);
    b->call = kube_do(b->cc->env.kube,
                      &(struct kube_req){ .verb = KUBE_CREATE,
                                          .kind = &kind_resource_claim,
                                          .ns = c->ns,
                                          .body = body.data,
                                          .body_len = body.len },
                      on_created, b);
}

/* ---- the pod is told ------------------------------------------------------------------------- */

static void on_told(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct booking *b = arg;

    (void)resp;
    b->call = NULL;
    if (!err) {
        b->told = true;
        claimwrite_go_on(b);
        return;
    }
    CLEANUP(mem_free)
    char *why = xasprintf("update pod %s/%s ExtendedResourceClaimStatus: %s", b->pod->meta.ns,
                          b->pod->meta.name, err->text);
    claimwrite_finish(b, KS_ERROR, why);
}

void extwrite_tell_pod(struct booking *b)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    char uid[KUID_TEXT_MAX];

    kuid_format(b->pod->meta.uid, uid, sizeof uid);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "uid", uid); /* not another pod of that name */
    kjw_end(&w);
    kjw_obj(&w, "status");
    kjw_obj(&w, "extendedResourceClaimStatus");
    kjw_raw(&w, "requestMappings", b->mappings, strlen(b->mappings));
    kjw_str(&w, "resourceClaimName", special_of(b)->name);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    b->call = kube_do(b->cc->env.kube,
                      &(struct kube_req){ .verb = KUBE_PATCH,
                                          .patch = KUBE_PATCH_MERGE,
                                          .kind = &kind_pod,
                                          .ns = b->pod->meta.ns,
                                          .name = b->pod->meta.name,
                                          .subresource = "status",
                                          .body = body.data,
                                          .body_len = body.len },
                      on_told, b);
}

/* ---- it is deleted --------------------------------------------------------------------------- */

struct removal { /* the finalizer first, then the claim */
    struct removal *next;
    struct claimcache *cc;
    struct kube_call *call;
    struct timer *timer;
    char *ns, *name, *claim_text, *pod_text;
    struct kuid claim, pod;
    bool bare; /* it has no finalizer any more */
    int tries;
    nsec_t wait;
};

static void removal_free(struct removal *r)
{
    for (struct removal **at = &r->cc->removals; *at; at = &(*at)->next)
        if (*at == r) {
            *at = r->next;
            break;
        }
    kube_cancel(r->call);
    timer_cancel(r->timer);
    free(r->ns);
    free(r->name);
    free(r->claim_text);
    free(r->pod_text);
    free(r);
}

static void removal_send(struct removal *r);

static void on_removal_again(struct loop *l, void *arg)
{
    struct removal *r = arg;

    (void)l;
    r->timer = NULL;
    removal_send(r);
}

/* A claim that is still there keeps its devices. */
static void removal_end(struct removal *r, bool gone)
{
    const struct ks_env env = r->cc->env;

    if (gone)
        claimcache_forget(r->cc, r->claim);
    if (env.scheduler)
        ks_retry(&env, r->pod);
    removal_free(r);
}

static void on_removed(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct removal *r = arg;

    (void)resp;
    r->call = NULL;
    if (!err && !r->bare) {
        r->bare = true;
        removal_send(r);
        return;
    }
    /* Conflict: another claim has this name by now. */
    if (!err || err->reason == KR_NOT_FOUND || (r->bare && err->reason == KR_CONFLICT)) {
        removal_end(r, true);
        return;
    }
    if (++r->tries < 10) {
        r->timer = loop_after(r->cc->env.loop, r->wait, on_removal_again, r);
        r->wait = MIN(r->wait * 2, CLAIM_ASK_WAIT_MAX);
        return;
    }
    KLOG_E(err, "Failed to delete claim for extended resources", KV_S("namespace", r->ns),
           KV_S("claim", r->name));
    removal_end(r, false);
}

static void removal_send(struct removal *r)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    char uid[KUID_TEXT_MAX];

    kuid_format(r->claim, uid, sizeof uid);
    kjw_obj(&w, NULL);
    kjw_obj(&w, r->bare ? "preconditions" : "metadata");
    kjw_str(&w, "uid", uid); /* of this claim alone */
    if (!r->bare)
        kjw_null(&w, "finalizers");
    kjw_end(&w);
    kjw_end(&w);
    r->call = kube_do(r->cc->env.kube,
                      &(struct kube_req){ .verb = r->bare ? KUBE_DELETE : KUBE_PATCH,
                                          .patch = KUBE_PATCH_MERGE,
                                          .kind = &kind_resource_claim,
                                          .ns = r->ns,
                                          .name = r->name,
                                          .body = body.data,
                                          .body_len = body.len },
                      on_removed, r);
}

void extwrite_delete(struct claimcache *cc, const char *ns, const char *name, struct kuid claim,
                     struct kuid pod)
{
    if (!cc->env.kube)
        return;
    for (const struct removal *r = cc->removals; r; r = r->next)
        if (kuid_equal(r->claim, claim))
            return;
    struct removal *r = xnew0(struct removal);
    *r = (struct removal){ .next = cc->removals, .cc = cc, .wait = CLAIM_ASK_WAIT_MIN };
    r->ns = xstrdup(ns);
    r->name = xstrdup(name);
    r->claim = uidmap_own(claim, &r->claim_text);
    r->pod = uidmap_own(pod, &r->pod_text);
    cc->removals = r;
    removal_send(r);
}

void extwrite_end(struct claimcache *cc)
{
    while (cc->removals)
        removal_free(cc->removals);
}
