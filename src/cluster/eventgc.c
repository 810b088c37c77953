/* eventgc.c - Events are news: an hour after their last occurrence they go, as with
 * kube-apiserver's
 * --event-ttl. They are looked at page by page and not cached: nobody here reads them.
 */
#include "api/event.h"
#include "base/ktime.h"
#include "client/kube.h"
#include "cluster/internal.h"

#define LOOK_EVERY (600 * NSEC_PER_SEC)
#define KEEP_FOR   (3600 * NSEC_PER_SEC)
enum { PAGE = 500 };

struct eventgc {
    struct cluster *c;
    struct controller *looks; /* one key */
};

static nsec_t time_at(const struct kj_val *event, const char *path)
{
    const char *text = kj_str_or(kj_path(event, path), "");
    nsec_t t = 0;

    return *text && ktime_parse(text, strlen(text), &t, NULL) == 0 ? t : 0;
}

/* Of events.k8s.io/v1, with what events of core/v1 become there. */
static nsec_t last_seen(const struct kj_val *event)
{
    static const char *const paths[] = { "series.lastObservedTime", "deprecatedLastTimestamp",
                                         "eventTime", "metadata.creationTimestamp" };
    nsec_t last = 0;

    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        last = MAX(last, time_at(event, paths[i]));
    return last;
}

static bool on_deleted(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    (void)b, (void)r, (void)arg;
    /* Seen again meanwhile, or gone. */
    return !err || err->reason == KR_CONFLICT || err->reason == KR_NOT_FOUND;
}

static void drop(struct batch *b, const struct kj_val *event)
{
    struct arena *a = batch_arena(b);
    const char *body = arena_printf(a, "{\"preconditions\":{\"resourceVersion\":\"%s\"}}",
                                    kj_str_or(kj_path(event, "metadata.resourceVersion"), ""));

    batch_call(b,
               &(struct kube_req){ .verb = KUBE_DELETE,
                                   .kind = &kind_event,
                                   .ns = kj_str(kj_path(event, "metadata.namespace")),
                                   .name = kj_str(kj_path(event, "metadata.name")),
                                   .body = body,
                                   .body_len = strlen(body) },
               on_deleted, NULL);
}

static void ask(struct eventgc *g, struct batch *b, const char *token);

static bool on_page(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct eventgc *g = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kj_val *event;
    struct str key;

    if (err)
        return err->reason == KR_GONE || err->reason == KR_EXPIRED; /* the next look begins anew */
    if (kj_parse(r->body, r->n, 0, &doc, NULL) < 0)
        return true;
    nsec_t now = loop_wall(g->c->loop);
    for (struct kj_iter it = kj_iter(kj_get(kj_root(doc), "items")); kj_next(&it, &key, &event);) {
        if (now - last_seen(event) < KEEP_FOR)
            continue;
        drop(b, event);
        g->c->stats.collected++;
    }
    const char *token = kj_str_or(kj_path(kj_root(doc), "metadata.continue"), "");
    if (*token)
        ask(g, b, token);
    return true;
}

static void ask(struct eventgc *g, struct batch *b, const char *token)
{
    batch_call(b,
               &(struct kube_req){
                   .verb = KUBE_LIST, .kind = &kind_event, .limit = PAGE, .continue_token = token },
               on_page, g);
}

static void sync(void *arg, struct batch *b, const char *key, struct kobj *obj)
{
    (void)key, (void)obj;
    batch_again(b, LOOK_EVERY);
    ask(arg, b, NULL);
}

static void start(void *arg)
{
    struct eventgc *g = arg;
    controller_add_after(g->looks, "events", LOOK_EVERY);
}

struct eventgc *eventgc_new(struct cluster *c)
{
    struct eventgc *g = xnew0(struct eventgc);

    g->c = c;
    g->looks = controller_new(c->controllers,
                              &(struct controller_opts){ .name = "eventgc",
                                                         .sync = sync,
                                                         .start = start,
                                                         .self = g,
                                                         .queue.backoff_max = LOOK_EVERY });
    return g;
}

struct eventgc *eventgc_free(struct eventgc *g)
{
    if (!g)
        return NULL;
    controller_free(g->looks);
    free(g);
    return NULL;
}
