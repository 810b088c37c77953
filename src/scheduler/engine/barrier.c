/* barrier.c - writes to the barrier pod and waits for the watch to catch up. */
#include "scheduler/engine/barrier.h"

#include "api/pod.h"
#include "base/klog.h"
#include "base/ktime.h"
#include "base/strbuf.h"
#include "client/informer.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "scheduler/engine/internal.h"
#include "json/kj.h"

#define LOOK_PERIOD (100 * NSEC_PER_MSEC)
#define ANNOTATION  "scheduling.koordinator.sh/sync-barrier-"

struct barrier {
    struct scheduler *s;
    char *ns, *name, *annotation;
    barrier_fn fn;
    void *arg;
    struct kube_call *call;
    struct timer *look, *limit;
    char *version; /* of the pod after our write; NULL: not written yet */
    char *anchor;  /* key of the newest pod with a node; NULL: not chosen yet */
    struct kuid anchor_uid;
    struct kerr problem; /* the last one, for when time is up */
};

bool barrier_reached(const char *have, const char *want)
{
    size_t n = strlen(have), m = strlen(want);

    return n != m ? n > m : strcmp(have, want) >= 0;
}

static void step(struct loop *l, void *arg);

static void look_later(struct barrier *b)
{
    b->look = loop_after(b->s->loop, LOOK_PERIOD, step, b);
}

static void end(struct barrier *b, const struct kerr *err)
{
    b->limit = timer_cancel(b->limit);
    b->look = timer_cancel(b->look);
    b->call = kube_cancel(b->call);
    b->fn(b->arg, err);
}

/* ---- our write ------------------------------------------------------------------------------- */

static void on_written(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct barrier *b = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    b->call = NULL;
    if (err && err->reason == KR_NOT_FOUND) {
        end(b, err);
        return;
    }
    b->problem = err ? *err : (struct kerr){ 0 };
    if (!err && kj_parse(r->body, r->n, 0, &doc, &b->problem) == 0) {
        const char *version = kj_str(kj_path(kj_root(doc), "metadata.resourceVersion"));
        b->version = version ? xstrdup(version) : NULL;
    }
    look_later(b);
}

static void write_pod(struct barrier *b)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);
    char now[KTIME_TEXT_MAX];

    ktime_format_nano(loop_wall(b->s->loop), now);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_obj(&w, "annotations");
    kjw_str(&w, b->annotation, now);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    b->call = kube_do(b->s->kube,
                      &(struct kube_req){ .verb = KUBE_PATCH,
                                          .kind = &kind_pod,
                                          .ns = b->ns,
                                          .name = b->name,
                                          .patch = KUBE_PATCH_MERGE,
                                          .body = body.data,
                                          .body_len = body.len },
                      on_written, b);
}

/* ---- what the watch shows -------------------------------------------------------------------- */

static bool seen(const struct barrier *b)
{
    CLEANUP(mem_free) char *key = xasprintf("%s/%s", b->ns, b->name);
    const struct kobj *pod = informer_get(b->s->pods, key);

    return pod && informer_synced(b->s->pods) &&
           barrier_reached(pod->meta.resource_version, b->version);
}

static void choose_anchor(struct barrier *b)
{
    const struct kobj *newest = NULL, *pod;
    char key[KOBJ_KEY_MAX];

    for (size_t it = 0; (pod = informer_next(b->s->pods, &it));)
        if (!str_empty(pod_of(pod)->node_name) &&
            (!newest || barrier_reached(pod->meta.resource_version, newest->meta.resource_version)))
            newest = pod;
    if (newest)
        kobj_key(newest, key, sizeof key);
    b->anchor = xstrdup(newest ? key : "");
    b->anchor_uid = newest ? newest->meta.uid : (struct kuid){ 0 };
}

/* The cache hears of a pod in the turn in which the informer does: being there is enough. */
static bool anchored(const struct barrier *b)
{
    const struct kobj *pod = informer_get(b->s->pods, b->anchor);

    return !*b->anchor || !pod || !kuid_equal(pod->meta.uid, b->anchor_uid) ||
           nodecache_find(b->s->cache, b->anchor_uid, NULL) != NODECACHE_ABSENT;
}

static void step(struct loop *l, void *arg)
{
    struct barrier *b = arg;

    (void)l;
    b->look = NULL;
    if (!b->version) {
        write_pod(b);
        return;
    }
    if (!b->anchor && seen(b))
        choose_anchor(b);
    if (b->anchor && anchored(b))
        end(b, NULL);
    else
        look_later(b);
}

static void on_limit(struct loop *l, void *arg)
{
    struct barrier *b = arg;
    struct kerr err = { 0 };

    (void)l;
    b->limit = NULL;
    kerr_set(&err, -ETIMEDOUT, "pod %s/%s: %s", b->ns, b->name,
             b->problem.code < 0 ? b->problem.text
             : b->version        ? "the watch has not caught up in time"
                                 : "no answer in time");
    end(b, &err);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct barrier *barrier_new(struct scheduler *s, const struct barrier_opts *o, barrier_fn fn,
                            void *arg)
{
    struct barrier *b = xnew0(struct barrier);

    *b = (struct barrier){ .s = s, .fn = fn, .arg = arg };
    b->ns = xstrdup(o->ns);
    b->name = xstrdup(o->name);
    b->annotation = xasprintf(ANNOTATION "%s", o->lease);
    b->look = loop_after(s->loop, 0, step, b);
    b->limit = loop_after(s->loop, o->timeout, on_limit, b);
    return b;
}

struct barrier *barrier_free(struct barrier *b)
{
    if (!b)
        return NULL;
    timer_cancel(b->look);
    timer_cancel(b->limit);
    kube_cancel(b->call);
    free(b->version);
    free(b->anchor);
    free(b->annotation);
    free(b->ns);
    free(b->name);
    free(b);
    return NULL;
}
