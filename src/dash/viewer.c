/* viewer.c - a page that looks: it is sent what changed since it was last told, once a second.
 *
 * Messages are states, not changes, but for rows of nodes and minutes: a page that reads slowly
 * misses some and is complete with the next. EventSource reconnects by itself and then begins anew.
 */
#include <stdio.h>

#include "base/arena.h"
#include "dash/web_int.h"
#include "loop/loop.h"
#include "net/httpd.h"
#include "net/stream.h"
#include "net/url.h"

/* Of the person's time, however fast the loop's clock runs. */
#define TICK      NSEC_PER_SEC
#define HEARTBEAT (5 * NSEC_PER_SEC) /* the page says so when nothing comes for twice as long */
enum { VIEWERS_MAX = 32, NAME_MAX_LEN = 253 };

enum view { VIEW_OVERVIEW, VIEW_NODES, VIEW_PENDING, VIEW_MOVES_LIST, VIEW_NODE, VIEWS };
static const char *const view_names[] = { "overview", "nodes", "pending", "moves" };

struct viewer {
    struct web *web;
    struct httpd_req *req;
    enum view view;
    char *node;
    struct nodeview *of_node;
    uint64_t rows_seen, members_seen, list_seen; /* generations */
    bool has_rows, has_list;
    uint64_t state_hash, node_hash;
    nsec_t minute_seen, state_sent;
};

/* ---- messages -------------------------------------------------------------------------------- */

static void send(struct viewer *v, const char *name, const struct strbuf *json)
{
    CLEANUP(strbuf_fini) struct strbuf m = STRBUF_INIT;

    strbuf_appendf(&m, "event: %s\ndata: ", name);
    strbuf_appendn(&m, strbuf_str(json), json->len);
    strbuf_append(&m, "\n\n");
    httpd_write(v->req, m.data, m.len);
}

static void send_state(struct viewer *v)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    struct dash *d = v->web->dash;
    nsec_t now = loop_mono(d->loop);

    view_state(d, &json);
    uint64_t hash = hash_bytes(json.data, json.len);
    if (hash == v->state_hash && now - v->state_sent < loop_outside(d->loop, HEARTBEAT))
        return;
    v->state_hash = hash;
    v->state_sent = now;
    /* The time is put into the object that is there. */
    strbuf_truncate(&json, json.len - 1);
    strbuf_appendf(&json, ",\"time\":%lld}", (long long)(loop_wall(d->loop) / NSEC_PER_SEC));
    send(v, "state", &json);
}

static void send_minutes(struct viewer *v)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;

    if (view_minutes(v->web->dash, v->minute_seen, &v->minute_seen, &json))
        send(v, "minutes", &json);
}

static void send_rows(struct viewer *v, struct row *const *rows, size_t n, bool is_first)
{
    for (size_t at = 0; at < n || is_first; at += VIEW_CHUNK) {
        CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
        view_nodes(rows + at, MIN(n - at, (size_t)VIEW_CHUNK), is_first, &json);
        send(v, "nodes", &json);
        is_first = false;
    }
}

/* All of them at first and when nodes came or went, then those that changed. */
static void send_nodes(struct viewer *v)
{
    struct dash *d = v->web->dash;
    size_t n, changed = 0;

    dash_settle(d);
    if (v->has_rows && v->rows_seen == d->generation)
        return;
    bool is_first = !v->has_rows || v->members_seen != d->members_gen;
    CLEANUP(mem_free) struct row **rows = view_rows(d, &n);
    for (size_t i = 0; i < n; i++)
        if (is_first || rows[i]->changed > v->rows_seen)
            rows[changed++] = rows[i];
    send_rows(v, rows, changed, is_first);
    v->rows_seen = d->generation;
    v->members_seen = d->members_gen;
    v->has_rows = true;
}

static void send_list(struct viewer *v, const char *name, uint64_t generation,
                      void (*put)(struct dash *d, struct strbuf *out))
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;

    if (v->has_list && v->list_seen == generation)
        return;
    put(v->web->dash, &json);
    send(v, name, &json);
    v->has_list = true;
    v->list_seen = generation;
}

static void send_node(struct viewer *v)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;

    view_node(v->web->dash, v->node, v->of_node, &json);
    uint64_t hash = hash_bytes(json.data, json.len);
    if (hash != v->node_hash)
        send(v, "node", &json);
    v->node_hash = hash;
}

static void viewer_tell(struct viewer *v)
{
    struct dash *d = v->web->dash;

    if (httpd_queued(v->req) > STREAM_HIGH_WATER)
        return; /* it gets the next state, when it has read this one */
    send_state(v);
    switch (v->view) {
    case VIEW_OVERVIEW:
        send_minutes(v);
        send_nodes(v);
        break;
    case VIEW_NODES: send_nodes(v); break;
    case VIEW_PENDING: send_list(v, "pending", d->waiting_gen, view_pending); break;
    case VIEW_MOVES_LIST: send_list(v, "moves", d->moves_gen, view_moves); break;
    case VIEW_NODE: send_node(v); break;
    case VIEWS: break;
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

static void viewer_free(struct viewer *v)
{
    nodeview_free(v->of_node);
    free(v->node);
    free(v);
}

static void on_close(void *arg)
{
    struct viewer *v = arg;
    struct web *w = v->web;

    for (size_t i = 0; i < w->viewers.n; i++)
        if (w->viewers.items[i] == v) {
            vec_remove(&w->viewers, i);
            break;
        }
    if (w->viewers.n == 0)
        w->tick = timer_cancel(w->tick);
    viewer_free(v);
}

static void on_tick(struct loop *l, void *arg)
{
    struct web *w = arg;

    w->tick = loop_after(l, loop_outside(l, TICK), on_tick, w);
    vec_foreach(&w->viewers, i)
        viewer_tell(w->viewers.items[i]);
}

static enum view view_of(const char *name)
{
    for (size_t i = 0; name && i < ARRAY_LEN(view_names); i++)
        if (streq(name, view_names[i]))
            return (enum view)i;
    return VIEWS;
}

/* A name goes into a field selector: what no object can be called is refused. */
static bool is_name(const char *s)
{
    return *s && strlen(s) <= NAME_MAX_LEN &&
           strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789.-") == strlen(s);
}

static void refuse(struct httpd_req *r, int status, const char *why)
{
    httpd_reply(r, status, "text/plain; charset=utf-8", why, strlen(why));
}

void viewer_start(struct web *w, struct httpd_req *r)
{
    static const struct httpd_events events = { .on_close = on_close };
    CLEANUP(arena_free) struct arena *a = arena_new();
    const char *node = url_query_get(httpd_target(r), "node", a);
    enum view view = node ? VIEW_NODE : view_of(url_query_get(httpd_target(r), "view", a));
    struct http_header h[WEB_HEADERS];

    if (view == VIEWS || (node && !is_name(node))) {
        refuse(r, 400, "no such view\n");
        return;
    }
    if (w->viewers.n == VIEWERS_MAX) {
        refuse(r, 503, "too many pages look at this dashboard\n");
        return;
    }
    struct viewer *v = xnew0(struct viewer);
    *v = (struct viewer){ .web = w, .req = r, .view = view };
    if (node) {
        v->node = xstrdup(node);
        v->of_node = nodeview_new(w->dash, node);
    }
    vec_push(&w->viewers, v);
    httpd_set_events(r, &events, v);
    httpd_respond(r, 200, h, web_headers(h, "text/event-stream"), false);
    if (!w->tick)
        w->tick = loop_after(w->dash->loop, loop_outside(w->dash->loop, TICK), on_tick, w);
    viewer_tell(v);
}
