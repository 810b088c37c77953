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
#define LIST_PERIOD (2 * NSEC_PER_SEC) /* what is waited for may have been deleted */
enum { PAGE = 500 };
#define ANNOTATION "scheduling.koordinator.sh/sync-barrier-"

struct barrier {
    struct scheduler *s;
    char *ns, *name, *annotation;
    barrier_fn fn;
    void *arg;
    struct kube_call *call;
    struct timer *look, *limit;
    char *version;           /* of the pod after our write; NULL: not written yet */
    struct newest {          /* the last change of a kind whose objects get nodes like pods */
        unsigned at;         /* of the scheduler's other informers */
        char *key, *version; /* of the object that changed last; NULL: there is none */
        char *token;         /* of the next page of the list */
        bool listed;
        nsec_t since;
    } newest;
    char *anchor; /* key of the newest pod with a node; NULL: not chosen yet */
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

/* ---- objects that get nodes like pods --------------------------------------------------------- */

/* Their watch may be behind that of pods: another leader has placed one, and this one would place
 * it again. Nothing can be written to it without need, so the server is asked for the last change,
 * and the watch must have shown it. */

static void newest_clear(struct newest *n)
{
    free(n->key);
    free(n->version);
    free(n->token);
    *n = (struct newest){ .at = n->at };
}

static void note_newest(struct newest *n, const struct kj_val *object)
{
    const char *version = kj_str_or(kj_path(object, "metadata.resourceVersion"), "");

    if (n->version && !barrier_reached(version, n->version))
        return;
    free(n->version);
    free(n->key);
    n->version = xstrdup(version);
    n->key = xstrdup(kj_str_or(kj_path(object, "metadata.name"), ""));
}

static void on_listed(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct barrier *b = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    b->call = NULL;
    b->problem = err ? *err : (struct kerr){ 0 };
    if (err && err->reason == KR_NOT_FOUND) { /* there is no such kind: nothing to wait for */
        b->problem = (struct kerr){ 0 };
        b->newest.listed = true;
    } else if (err || kj_parse(r->body, r->n, 0, &doc, &b->problem) < 0) {
        newest_clear(&b->newest);
    } else {
        const struct kj_val *items = kj_get(kj_root(doc), "items");
        for (size_t i = 0; i < kj_len(items); i++)
            note_newest(&b->newest, kj_at(items, i));
        const char *token = kj_str_or(kj_path(kj_root(doc), "metadata.continue"), "");
        free(b->newest.token);
        b->newest.token = *token ? xstrdup(token) : NULL;
        b->newest.listed = !*token;
    }
    look_later(b);
}

static void list_newest(struct barrier *b, const struct kind *k)
{
    b->newest.since = loop_mono(b->s->loop);
    b->call = kube_do(
        b->s->kube,
        &(struct kube_req){
            .verb = KUBE_LIST, .kind = k, .limit = PAGE, .continue_token = b->newest.token },
        on_listed, b);
}

/* True: all of them are as far as the server is. False: it goes on with a call, or a look. */
static bool caught_up(struct barrier *b, bool *ret_called)
{
    for (; b->newest.at < b->s->nothers; b->newest.at++) {
        struct informer *inf = b->s->others[b->newest.at];
        if (!placeholder_is_made(b->s, informer_kind(inf)))
            continue;
        if (!b->newest.listed) {
            list_newest(b, informer_kind(inf));
            *ret_called = true;
            return false;
        }
        const struct kobj *o = b->newest.key ? informer_get(inf, b->newest.key) : NULL;
        if (b->newest.key && !(informer_synced(inf) && o &&
                               barrier_reached(o->meta.resource_version, b->newest.version))) {
            if (loop_mono(b->s->loop) - b->newest.since >= LIST_PERIOD)
                newest_clear(&b->newest);
            return false;
        }
        newest_clear(&b->newest);
    }
    return true;
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
    bool called = false;
    if (!b->anchor && seen(b) && caught_up(b, &called))
        choose_anchor(b);
    if (called)
        return;
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
    newest_clear(&b->newest);
    free(b->anchor);
    free(b->annotation);
    free(b->ns);
    free(b->name);
    free(b);
    return NULL;
}
