/* prewrite.c - annotations of pods that a reservation takes over (sched-reservation 9).
 *
 * One pod after the other. When one of them cannot be written, or the reservation does not get its
 * node after all, those that were written lose the annotation again.
 */
#include "api/pod.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "scheduler/plugins/reservation/preallocate.h"
#include "json/kj.h"

struct prewrite_pod {
    char *ns, *name, *uid;
    bool written; /* the annotation may be there */
};
struct prewrite {
    struct prewrite *next;
    struct prewrites *of;
    char *uid_text; /* of the reservation */
    char *value;    /* of the annotation */
    struct prewrite_pod *pods;
    uint32_t n, at;
    struct ks_bind *bind; /* somebody waits for it; NULL: nobody */
    struct kube_call *call;
    bool back; /* it is being taken back */
    char *why; /* it is taken back, with an error */
};
struct prewrites {
    struct kube *kube;
    const struct reservations *cache;
    struct prewrite *first;
};

struct prewrites *prewrites_new(struct kube *kube, const struct reservations *cache)
{
    struct prewrites *w = xnew0(struct prewrites);
    *w = (struct prewrites){ .kube = kube, .cache = cache };
    return w;
}

static void prewrite_free(struct prewrite *p)
{
    struct prewrite **at = &p->of->first;

    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    kube_cancel(p->call);
    for (uint32_t i = 0; i < p->n; i++) {
        free(p->pods[i].ns);
        free(p->pods[i].name);
        free(p->pods[i].uid);
    }
    free(p->pods);
    free(p->uid_text);
    free(p->value);
    free(p->why);
    free(p);
}

struct prewrites *prewrites_free(struct prewrites *w)
{
    while (w && w->first)
        prewrite_free(w->first);
    free(w);
    return NULL;
}

static void step(struct prewrite *p);

static void tell(struct prewrite *p, enum ks_code code, const char *why)
{
    struct ks_bind *b = take(p->bind);

    if (b)
        ks_bind_done(b, code, why);
}

static void on_answer(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct prewrite *p = arg;
    const struct prewrite_pod *pod = &p->pods[p->at];

    (void)r;
    p->call = NULL;
    if (err && !p->back) {
        p->why = xasprintf("pod %s/%s: %s", pod->ns, pod->name, err->text);
        p->back = true;
        p->at = 0;
        step(p);
        return;
    }
    if (err && err->reason != KR_NOT_FOUND && err->reason != KR_CONFLICT)
        KLOG_E(err, "Failed to take back an annotation", KV_S("pod", pod->name));
    p->at++;
    step(p);
}

static void send(struct prewrite *p, const struct prewrite_pod *pod)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "uid", pod->uid);
    kjw_obj(&w, "annotations");
    if (p->back)
        kjw_null(&w, ANNO_RESERVATION_ALLOCATED);
    else
        kjw_str(&w, ANNO_RESERVATION_ALLOCATED, p->value);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    p->call = kube_do(p->of->kube,
                      &(struct kube_req){ .verb = KUBE_PATCH,
                                          .kind = &kind_pod,
                                          .ns = pod->ns,
                                          .name = pod->name,
                                          .patch = KUBE_PATCH_MERGE,
                                          .body = body.data,
                                          .body_len = body.len },
                      on_answer, p);
}

/* The next pod, or the end. */
static void step(struct prewrite *p)
{
    while (p->back && p->at < p->n && !p->pods[p->at].written)
        p->at++;
    if (p->at < p->n) {
        p->pods[p->at].written = true;
        send(p, &p->pods[p->at]);
        return;
    }
    if (!p->back) {
        tell(p, KS_SUCCESS, NULL);
        return;
    }
    CLEANUP(mem_free) char *why = take(p->why);
    struct ks_bind *b = take(p->bind);
    prewrite_free(p);
    if (b)
        ks_bind_done(b, KS_ERROR, why);
}

/* Those whose reservation has its node, or is gone, have done their work. */
static void sweep(struct prewrites *w)
{
    for (struct prewrite *p = w->first, *next; p; p = next) {
        next = p->next;
        const struct resv *r =
            reservations_find(w->cache, kuid_parse(p->uid_text, strlen(p->uid_text)));
        if (!p->bind && !p->call && !p->back && (!r || r->view.node))
            prewrite_free(p);
    }
}

enum ks_code prewrites_start(struct prewrites *w, struct ks_bind *b, const struct resv *r)
{
    CLEANUP(strbuf_fini) struct strbuf value = STRBUF_INIT;

    sweep(w);
    if (r->owners.n == 0)
        return KS_SKIP;
    reservation_allocated_encode(
        &(struct reservation_allocated){ .name = r->view.name, .uid = r->uid_text }, &value);
    struct prewrite *p = xnew0(struct prewrite);
    *p = (struct prewrite){ .next = w->first, .of = w, .bind = b };
    w->first = p;
    p->uid_text = xstrdup(r->uid_text);
    p->value = xstrdup(strbuf_str(&value));
    p->pods = xnewn0(r->owners.n, struct prewrite_pod);
    for (size_t i = 0; i < r->owners.n; i++) {
        const struct ks_owner *o = r->owners.items[i];
        char uid[KUID_TEXT_MAX];
        kuid_format(o->uid, uid, sizeof uid);
        p->pods[p->n++] =
            (struct prewrite_pod){ xstrdup(o->ns), xstrdup(o->name), xstrdup(uid), false };
    }
    step(p);
    return KS_WAIT;
}

static void take_back(struct prewrite *p)
{
    p->call = kube_cancel(p->call);
    p->back = true;
    p->at = 0;
    step(p);
}

void prewrites_cancel(struct prewrites *w, struct ks_bind *b)
{
    for (struct prewrite *p = w->first; p; p = p->next)
        if (p->bind == b) {
            p->bind = NULL;
            take_back(p);
            return;
        }
}

void prewrites_undo(struct prewrites *w, struct kuid reservation)
{
    char uid[KUID_TEXT_MAX];

    kuid_format(reservation, uid, sizeof uid);
    for (struct prewrite *p = w->first; p; p = p->next)
        if (streq(p->uid_text, uid) && !p->back) {
            take_back(p);
            return;
        }
}
