/* events.c - correlation (repeat, fold, cut off) and background writing of Events. */
#include "client/events.h"

#include "api/kobj.h"
#include "base/klog.h"
#include "base/ktime.h"
#include "base/map.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "json/kj.h"

enum {
    FOLD_AFTER = 10,  /* different messages before they are folded */
    SPAM_BURST = 25,  /* events about one object before it is cut off */
    CACHE_MAX = 4096, /* correlation entries */
    TRIES = 12,
    MESSAGE_MAX = 1024, /* the API server's limit */
};
#define FOLD_WINDOW (600 * NSEC_PER_SEC)
#define SPAM_REFILL (300 * NSEC_PER_SEC) /* one more event */
#define RETRY_WAIT  (10 * NSEC_PER_SEC)

/* What is known of earlier events: a repeat (full key), a fold (key without the message), or a
 * source (object): the three uses share entry and eviction. */
struct seen {
    struct seen *prev, *next; /* least recently used first */
    nsec_t at;                /* last use, mono */
    nsec_t first_wall;
    int64_t count; /* repeats; or different messages of a fold */
    double tokens;
    char *name; /* of the Event object; chosen by us, so repeats find it */
    char *key;  /* in the same block, behind the struct; NULL in the sentinel */
};

struct pending {
    struct pending *next;
    struct recorder *rec;
    char *ns, *name, *body; /* name: of the Event object */
    bool is_patch;
    char *create_body; /* when the object to patch is gone, or not there yet */
    size_t body_len, create_len;
    int tries;
    struct kube_call *call;
    struct timer *timer;
};

struct recorder {
    struct kube *kube;
    struct recorder_opts o;
    char *component, *instance, *host;
    const struct kind *kind;
    struct map cache; /* key -> struct seen */
    struct seen lru;  /* sentinel of the ring */
    struct pending *head, **tail, *flying;
    size_t queued;
    unsigned nflying;
    nsec_t next_at; /* while the program is busy */
    struct timer *pump;
    struct recorder_stats stats;
};

/* ---- the cache --------------------------------------------------------------------------------
 */

static void unlink_seen(struct seen *s)
{
    s->prev->next = s->next;
    s->next->prev = s->prev;
}

static void seen_free(struct recorder *r, struct seen *s)
{
    unlink_seen(s);
    map_removez(&r->cache, s->key);
    free(s->name);
    free(s);
}

static struct seen *seen_get(struct recorder *r, const char *key, bool *ret_new)
{
    struct seen *s = map_getz(&r->cache, key);
    *ret_new = !s;
    if (!s) {
        if (r->cache.n >= CACHE_MAX)
            seen_free(r, r->lru.next);
        size_t n = strlen(key);
        s = xcalloc(1, sizeof *s + n + 1);
        s->key = (char *)(s + 1);
        memcpy(s->key, key, n + 1);
        map_put(&r->cache, s->key, n, s);
    } else {
        unlink_seen(s);
    }
    s->prev = r->lru.prev;
    s->next = &r->lru;
    s->prev->next = s;
    r->lru.prev = s;
    return s;
}

/* ---- writing in the background ------------------------------------------------------------------
 */

static void pump(struct loop *l, void *arg);

static void pump_soon(struct recorder *r)
{
    if (!r->pump && r->head && r->nflying < r->o.in_flight)
        r->pump = loop_after(r->kube->loop, 0, pump, r);
}

/* How long the next one has to wait because others go first; 0: it may go now. */
static nsec_t must_wait(struct recorder *r)
{
    nsec_t now = loop_mono(r->kube->loop);

    if (!r->o.busy || !r->o.busy(r->o.busy_arg))
        return 0;
    if (r->next_at > now)
        return r->next_at - now;
    r->next_at = now + i64_from_f64((double)NSEC_PER_SEC / r->o.busy_qps);
    return 0;
}

static void pending_free(struct pending *p)
{
    kube_cancel(p->call);
    timer_cancel(p->timer);
    free(p->ns);
    free(p->name);
    free(p->body);
    free(p->create_body);
    free(p);
}

static void landed(struct pending *p)
{
    struct recorder *r = p->rec;
    for (struct pending **at = &r->flying; *at; at = &(*at)->next) {
        if (*at == p) {
            *at = p->next;
            break;
        }
    }
    r->nflying--;
    pending_free(p);
    pump_soon(r);
}

static void send_pending(struct pending *p);

static void send_again(struct loop *l, void *arg)
{
    struct pending *p = arg;
    (void)l;
    p->timer = NULL;
    send_pending(p);
}

static void on_sent(void *arg, struct kube_resp *resp, const struct kerr *err)
{
    struct pending *p = arg;
    struct recorder *r = p->rec;

    (void)resp;
    p->call = NULL;
    if (!err) {
        if (p->is_patch)
            r->stats.patched++;
        else
            r->stats.written++;
        landed(p);
        return;
    }
    if (err->reason == KR_NOT_FOUND && p->is_patch) {
        /* Events expire after an hour; a repeat of one that is gone starts anew. */
        free(p->body);
        p->is_patch = false;
        p->body = take(p->create_body);
        p->body_len = p->create_len;
        send_pending(p);
        return;
    }
    bool hopeless = err->reason != KR_NONE && err->reason != KR_INTERNAL &&
                    err->reason != KR_TIMEOUT && err->reason != KR_UNAVAILABLE &&
                    err->reason != KR_TOO_MANY_REQUESTS;
    if (hopeless || ++p->tries >= TRIES) {
        r->stats.failed++;
        KLOG_I(2, "Failed to write an event", KV_S("err", err->text));
        landed(p);
        return;
    }
    p->timer =
        loop_after(r->kube->loop, loop_jitter(r->kube->loop, RETRY_WAIT, 0.5), send_again, p);
}

static void send_pending(struct pending *p)
{
    struct kube_req req = {
        .verb = p->is_patch ? KUBE_PATCH : KUBE_CREATE,
        .kind = p->rec->kind,
        .ns = p->ns,
        .name = p->is_patch ? p->name : NULL,
        .patch = KUBE_PATCH_MERGE,
        .body = p->body,
        .body_len = p->body_len,
        .no_retry = true,
        .timeout = 30 * NSEC_PER_SEC,
    };
    p->call = kube_do(p->rec->kube, &req, on_sent, p);
}

/* Writes of one Event go one after the other: a patch that overtakes the create finds nothing to
 * patch, and one that overtakes a later patch counts down. */
static bool is_under_way(const struct recorder *r, const struct pending *p)
{
    for (const struct pending *f = r->flying; f; f = f->next)
        if (streq(f->name, p->name) && streq(f->ns, p->ns))
            return true;
    return false;
}

static void pump(struct loop *l, void *arg)
{
    struct recorder *r = arg;
    r->pump = NULL;
    for (struct pending **at = &r->head; *at && r->nflying < r->o.in_flight;) {
        struct pending *p = *at;
        if (is_under_way(r, p)) {
            at = &p->next;
            continue;
        }
        nsec_t wait = must_wait(r);
        if (wait) {
            r->pump = loop_after(l, wait, pump, r);
            return;
        }
        *at = p->next;
        if (!*at)
            r->tail = at;
        r->queued--;
        p->next = r->flying;
        r->flying = p;
        r->nflying++;
        send_pending(p);
    }
}

/* ---- making the objects ---------------------------------------------------------------------- */

struct event {
    const struct event_about *about;
    bool warning;
    const char *reason, *action, *message;
    const struct seen *seen;
    nsec_t now;
};

static void write_times(struct kjw *w, const struct recorder *r, const struct event *e)
{
    char first[KTIME_TEXT_MAX], now[KTIME_TEXT_MAX];

    if (r->o.series) {
        ktime_format_micro(e->seen->first_wall, first);
        ktime_format_micro(e->now, now);
        kjw_str(w, "eventTime", first);
        if (e->seen->count > 1) {
            kjw_obj(w, "series");
            kjw_i64(w, "count", e->seen->count);
            kjw_str(w, "lastObservedTime", now);
            kjw_end(w);
        }
        return;
    }
    ktime_format(e->seen->first_wall, first);
    ktime_format(e->now, now);
    kjw_str(w, "firstTimestamp", first);
    kjw_str(w, "lastTimestamp", now);
    kjw_i64(w, "count", e->seen->count);
}

static void write_about(struct kjw *w, const struct event_about *a)
{
    const struct {
        const char *key, *value;
    } parts[] = {
        { "apiVersion", a->api_version },
        { "kind", a->kind },
        { "namespace", a->ns },
        { "name", a->name },
        { "uid", a->uid },
        { "resourceVersion", a->resource_version },
        { "fieldPath", a->field_path },
    };
    kjw_obj(w, "involvedObject");
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (!str_empty(parts[i].value))
            kjw_str(w, parts[i].key, parts[i].value);
    kjw_end(w);
}

static const char *event_ns(const struct event_about *a)
{
    return str_empty(a->ns) ? "default" : a->ns;
}

static void write_event(struct recorder *r, const struct event *e, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "v1");
    kjw_str(&w, "kind", "Event");
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", e->seen->name);
    kjw_str(&w, "namespace", event_ns(e->about));
    kjw_end(&w);
    write_about(&w, e->about);
    kjw_str(&w, "reason", e->reason);
    kjw_str(&w, "message", e->message);
    kjw_str(&w, "type", e->warning ? "Warning" : "Normal");
    /* The API server wants one in the newer form. */
    if (!str_empty(e->action) || r->o.series)
        kjw_str(&w, "action", str_empty(e->action) ? e->reason : e->action);
    kjw_obj(&w, "source");
    if (!r->o.series) {
        kjw_str(&w, "component", r->component);
        if (r->host)
            kjw_str(&w, "host", r->host);
    }
    kjw_end(&w);
    kjw_str(&w, "reportingComponent", r->component);
    kjw_str(&w, "reportingInstance", r->instance);
    write_times(&w, r, e);
    kjw_end(&w);
}

static void write_patch(struct recorder *r, const struct event *e, struct strbuf *out)
{
    struct kjw w = kjw_to(out);
    kjw_obj(&w, NULL);
    kjw_str(&w, "message", e->message);
    write_times(&w, r, e);
    kjw_end(&w);
}

static void enqueue(struct recorder *r, const struct event *e)
{
    CLEANUP(strbuf_fini) struct strbuf full = STRBUF_INIT, patch = STRBUF_INIT;

    if (r->queued >= r->o.queue_max) {
        r->stats.dropped++;
        return;
    }
    struct pending *p = xnew0(struct pending);
    p->rec = r;
    p->ns = xstrdup(event_ns(e->about));
    p->name = xstrdup(e->seen->name);
    write_event(r, e, &full);
    p->body_len = p->create_len = full.len;
    if (e->seen->count > 1) {
        write_patch(r, e, &patch);
        p->create_body = strbuf_take(&full);
        p->body_len = patch.len;
        p->body = strbuf_take(&patch);
        p->is_patch = true;
    } else {
        p->body = strbuf_take(&full);
    }
    *r->tail = p;
    r->tail = &p->next;
    r->queued++;
    pump_soon(r);
}

/* ---- correlation ----------------------------------------------------------------------------- */

static bool is_spam(struct recorder *r, const char *source_key, nsec_t now)
{
    bool fresh;
    struct seen *s = seen_get(r, source_key, &fresh);
    if (fresh)
        s->tokens = SPAM_BURST;
    else
        s->tokens += (double)(now - s->at) / (double)SPAM_REFILL;
    if (s->tokens > SPAM_BURST)
        s->tokens = SPAM_BURST;
    s->at = now;
    if (s->tokens < 1)
        return true;
    s->tokens -= 1;
    return false;
}

/* Is this one more different message of a kind that already had ten of late? */
static bool is_folded(struct recorder *r, const char *group_key, const char *message, nsec_t now)
{
    bool fresh, known;
    CLEANUP(mem_free) char *each = xasprintf("%s\x01%s", group_key, message);
    struct seen *group = seen_get(r, group_key, &fresh);
    if (!fresh && now - group->at > FOLD_WINDOW)
        group->count = 0;
    group->at = now;
    int64_t count = group->count;
    known = map_getz(&r->cache, each) != NULL;
    if (!known && count < FOLD_AFTER) {
        struct seen *m = seen_get(r, each, &fresh);
        m->at = now;
        group = map_getz(&r->cache, group_key);
        if (group)
            group->count = count + 1;
        return false;
    }
    return !known;
}

/* At the start of a character: half of one would be written as a longer replacement. */
static void cut_message(struct strbuf *m)
{
    size_t n = MESSAGE_MAX;
    if (m->len <= n)
        return;
    while (n > 0 && ((unsigned char)m->data[n] & 0xc0) == 0x80)
        n--;
    strbuf_truncate(m, n);
}

static void vrecord(struct recorder *r, const struct event_about *a, bool warning,
                    const char *reason, const char *action, const char *text)
{
    nsec_t now = loop_mono(r->kube->loop);
    CLEANUP(strbuf_fini) struct strbuf source = STRBUF_INIT, group = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf key = STRBUF_INIT, message = STRBUF_INIT;

    r->stats.asked++;
    strbuf_appendf(&source, "s\x01%s\x01%s\x01%s\x01%s", a->kind, str_or(a->ns, ""), a->name,
                   str_or(a->uid, ""));
    strbuf_appendf(&group, "g\x01%s\x01%s\x01%d", strbuf_str(&source) + 2, reason, warning);
    bool folded = is_folded(r, strbuf_str(&group), text, now);
    if (folded) {
        r->stats.folded++;
        strbuf_append(&message, "(combined from similar events): ");
        strbuf_appendf(&key, "e\x01%s", strbuf_str(&group) + 2);
    } else {
        strbuf_appendf(&key, "e\x01%s\x01%s", strbuf_str(&group) + 2, text);
    }
    strbuf_append(&message, text);
    cut_message(&message);
    if (is_spam(r, strbuf_str(&source), now)) {
        r->stats.suppressed++;
        return;
    }
    bool fresh;
    struct seen *s = seen_get(r, strbuf_str(&key), &fresh);
    if (fresh || now - s->at > FOLD_WINDOW) {
        s->first_wall = loop_wall(r->kube->loop);
        s->count = 0;
        free(s->name);
        /* Unique by the nanosecond, as everybody names events, and by our own count: a virtual or
         * a coarse clock may stand still between two. */
        s->name = xasprintf("%.200s.%llx", a->name,
                            (unsigned long long)s->first_wall + (r->stats.asked & 0xffff));
    }
    s->at = now;
    s->count++;
    struct event e = {
        a, warning, reason, action, strbuf_str(&message), s, loop_wall(r->kube->loop)
    };
    enqueue(r, &e);
}

void recorder_event(struct recorder *r, const struct event_about *about, bool warning,
                    const char *reason, const char *action, const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    strbuf_vappendf(&text, fmt, ap);
    va_end(ap);
    vrecord(r, about, warning, reason, action, strbuf_str(&text));
}

void recorder_event_on(struct recorder *r, const struct kobj *obj, bool warning, const char *reason,
                       const char *action, const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    char api_version[128], uid[KUID_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    strbuf_vappendf(&text, fmt, ap);
    va_end(ap);
    kind_api_version(obj->kind, api_version, sizeof api_version);
    kuid_format(obj->meta.uid, uid, sizeof uid);
    struct event_about a = {
        .api_version = api_version,
        .kind = obj->kind->kind,
        .ns = obj->meta.ns,
        .name = obj->meta.name,
        .uid = uid,
        .resource_version = obj->meta.resource_version,
    };
    vrecord(r, &a, warning, reason, action, strbuf_str(&text));
}

/* ---- life ------------------------------------------------------------------------------------ */

struct recorder *recorder_new(struct kube *k, const struct recorder_opts *o)
{
    struct recorder *r = xnew0(struct recorder);
    r->kube = k;
    r->o = *o;
    r->o.queue_max = o->queue_max ? o->queue_max : 1000;
    r->o.in_flight = o->in_flight ? o->in_flight : 4;
    r->component = xstrdup(o->component);
    r->instance = xstrdup(str_or(o->instance, o->component));
    r->host = o->host ? xstrdup(o->host) : NULL;
    r->kind = kind_find_gvk("", "v1", "Event");
    assert(r->kind);
    r->lru.prev = r->lru.next = &r->lru;
    r->tail = &r->head;
    return r;
}

static void free_list(struct pending *p)
{
    for (struct pending *next; p; p = next) {
        next = p->next;
        pending_free(p);
    }
}

struct recorder *recorder_free(struct recorder *r)
{
    if (!r)
        return NULL;
    timer_cancel(r->pump);
    free_list(r->head);
    free_list(r->flying);
    while (r->lru.next != &r->lru)
        seen_free(r, r->lru.next);
    map_fini(&r->cache);
    free(r->component);
    free(r->instance);
    free(r->host);
    free(r);
    return NULL;
}

struct recorder_stats recorder_stats(const struct recorder *r)
{
    struct recorder_stats s = r->stats;
    s.queued = r->queued;
    return s;
}
