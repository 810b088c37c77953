/* prebind.c - before the binding: plugins do what takes time, and one patch writes what they want
 * on the pod (scheduler-core 6, 10). */
#include "api/pod.h"
#include "base/arena.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "scheduler/engine/bind_int.h"
#include "json/kj.h"

enum { PATCH_TRIES = 4 };
#define PATCH_WAIT (20 * NSEC_PER_MSEC)

/* ---- what plugins want written on the pod ---------------------------------------------------- */

static const kstrmap *map_of(const struct binding *b, bool label)
{
    const struct objmeta *m = &b->pub.pod->meta;
    return label ? &m->labels : &m->annotations;
}

static void want(struct ks_bind *pub, bool label, const char *key, const char *value)
{
    struct binding *b = container_of(pub, struct binding, pub);
    const char *has = kstrmap_get(map_of(b, label), key);

    for (struct written **at = &b->written; *at; at = &(*at)->next) {
        struct written *w = *at;
        if (w->label != label || !streq(w->key, key))
            continue;
        *at = w->next;
        free(w->key);
        free(w->value);
        free(w);
        break;
    }
    if (value ? has && streq(has, value) : !has)
        return; /* it is so already */
    struct written *w = xnew0(struct written);
    *w = (struct written){ b->written, label, xstrdup(key), value ? xstrdup(value) : NULL };
    b->written = w;
}

void ks_bind_annotate(struct ks_bind *b, const char *key, const char *value)
{
    want(b, false, key, value);
}

void ks_bind_label(struct ks_bind *b, const char *key, const char *value)
{
    want(b, true, key, value);
}

static void write_map(struct kjw *w, const struct binding *b, bool label, const char *name)
{
    bool any = false;

    for (const struct written *x = b->written; x; x = x->next)
        any = any || x->label == label;
    if (!any)
        return;
    kjw_obj(w, name);
    for (const struct written *x = b->written; x; x = x->next) {
        if (x->label != label)
            continue;
        if (x->value)
            kjw_str(w, x->key, x->value);
        else
            kjw_null(w, x->key);
    }
    kjw_end(w);
}

static void send_patch(struct binding *b);

static void on_patch_again(struct loop *l, void *arg)
{
    struct binding *b = arg;
    (void)l;
    b->timer = NULL;
    send_patch(b);
}

static bool is_being_deleted(const struct kube_resp *r)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    return kj_parse(r->body, r->n, 0, &doc, NULL) == 0 &&
           kj_path(kj_root(doc), "metadata.deletionTimestamp");
}

static void on_patched(void *arg, struct kube_resp *r, const struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct binding *b = arg;
    struct loop *l = b->s->loop;

    b->call = NULL;
    if (err && err->reason == KR_NOT_FOUND) {
        binding_vanished(b);
        return;
    }
    if (err && ++b->tries < PATCH_TRIES) {
        b->timer = loop_after(l, loop_jitter(l, b->tries * PATCH_WAIT, 0.1), on_patch_again, b);
        return;
    }
    if (!err && !is_being_deleted(r)) {
        binding_send(b);
        return;
    }
    binding_count_time(b, LAP_PRE_BIND, KS_ERROR);
    strbuf_appendf(&text, "running PreBind plugin \"DefaultPreBind\": %s",
                   err ? err->text : "pod is being deleted");
    binding_give_up(b, &(struct failure){ .error = true, .message = strbuf_str(&text) });
}

static void send_patch(struct binding *b)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    char uid[KUID_TEXT_MAX];

    if (!b->written) {
        binding_send(b);
        return;
    }
    b->stage = STAGE_PATCH;
    kuid_format(b->pub.pod->meta.uid, uid, sizeof uid);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "uid", uid); /* not on a pod that took over the name */
    write_map(&w, b, false, "annotations");
    write_map(&w, b, true, "labels");
    kjw_end(&w);
    kjw_end(&w);
    b->call = kube_do(b->s->kube,
                      &(struct kube_req){
                          .verb = KUBE_PATCH,
                          .kind = &kind_pod,
                          .ns = b->pub.pod->meta.ns,
                          .name = b->pub.pod->meta.name,
                          .patch = KUBE_PATCH_MERGE,
                          .body = body.data,
                          .body_len = body.len,
                      },
                      on_patched, b);
}

void prebind_fini(struct binding *b)
{
    for (struct written *w; (w = b->written);) {
        b->written = w->next;
        free(w->key);
        free(w->value);
        free(w);
    }
}

/* ---- pre-bind -------------------------------------------------------------------------------- */

static const struct profile_slot *at_work(const struct binding *b)
{
    return profile_at(b->plan->profile, KS_POINT_PRE_BIND, b->at);
}

/* The plugin at work will not be heard any more. */
void prebind_cancel(struct binding *b)
{
    if (!b->asked)
        return;
    b->asked = false;
    const struct profile_slot *s = at_work(b);
    if (s->plugin->cancel)
        s->plugin->cancel(s->self, &b->pub);
}

/* true: go on with the next plugin. */
static bool pre_bind_said(struct binding *b, enum ks_code code, const struct ks_texts *why)
{
    const struct profile_point *point = &b->plan->profile->points[KS_POINT_PRE_BIND];

    if (b->each)
        times_add(b->plan->times, LAP_PRE_BIND, point->slots[b->at], code,
                  loop_stopwatch(b->s->loop) - b->turn);
    if (code == KS_SUCCESS || code == KS_SKIP)
        return true;
    binding_count_time(b, LAP_PRE_BIND, code);
    binding_refused(b, "PreBind", point->slots[b->at], code, why);
    return false;
}

static void pre_bind_next(struct binding *b)
{
    const struct profile_point *point = &b->plan->profile->points[KS_POINT_PRE_BIND];

    for (; b->at < point->n; b->at++) {
        const struct profile_slot *s = at_work(b);
        CLEANUP(arena_free) struct arena *a = arena_new();
        struct ks_texts why = { .arena = a };
        if (!(b->flight >> point->slots[b->at] & 1))
            continue;
        b->turn = b->each ? loop_stopwatch(b->s->loop) : 0;
        enum ks_code code = s->plugin->pre_bind(s->self, &b->pub, &why);
        if (code == KS_WAIT) {
            b->asked = true;
            return;
        }
        if (!pre_bind_said(b, code, &why))
            return;
    }
    send_patch(b);
}

void ks_bind_done(struct ks_bind *pub, enum ks_code code, const char *why)
{
    struct binding *b = container_of(pub, struct binding, pub);
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct ks_texts texts = { .arena = a };

    assert(b->asked);
    b->asked = false;
    if (why)
        ks_texts_add(&texts, why);
    if (!pre_bind_said(b, code, &texts))
        return;
    b->at++;
    pre_bind_next(b);
}

bool prebind_flight(struct binding *b, bool *ret_takes_time)
{
    const struct profile_point *point = &b->plan->profile->points[KS_POINT_PRE_BIND];
    struct ks_texts why = { .arena = b->s->arena };

    *ret_takes_time = false;
    for (uint32_t i = 0; i < point->n; i++) {
        uint32_t slot = point->slots[i];
        const struct profile_slot *s = &b->plan->profile->slots[slot];
        enum ks_code code = KS_SUCCESS;
        if (s->plugin->pre_flight)
            code = s->plugin->pre_flight(s->self, pod_of(b->pub.pod), b->node, &why);
        if (code == KS_SKIP)
            continue;
        if (code != KS_SUCCESS) {
            binding_refused(b, "PreBindPreFlight", slot, code, &why);
            return false;
        }
        b->flight |= UINT64_C(1) << slot;
        *ret_takes_time |= s->plugin->pre_flight != NULL;
    }
    return true;
}

void prebind_start(struct binding *b)
{
    b->stage = STAGE_PRE_BIND;
    b->began = loop_stopwatch(b->s->loop);
    b->timer = timer_cancel(b->timer);
    pre_bind_next(b);
}
