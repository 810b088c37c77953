/* client_call.c - one call of the HTTP client: request copy, timeouts, delivery to its handler. */
#include "net/client/client_int.h"

/* ---- heads ----------------------------------------------------------------------------------- */

static int headbuf_append(struct headbuf *h, const char *p, size_t n)
{
    if (h->text.len + n > HEAD_MAX_BYTES)
        return -EMSGSIZE;
    strbuf_appendn(&h->text, p, n);
    return 0;
}

int headbuf_name(struct headbuf *h, const char *p, size_t n, bool begin)
{
    if (begin) {
        if (h->items.n == HEAD_MAX_COUNT)
            return -EMSGSIZE;
        vec_push(&h->items, ((struct head_item){ .name = (uint32_t)h->text.len }));
    }
    size_t at = h->text.len;
    if (headbuf_append(h, p, n) < 0)
        return -EMSGSIZE;
    for (size_t i = at; i < at + n; i++)
        if (h->text.data[i] >= 'A' && h->text.data[i] <= 'Z')
            h->text.data[i] += 'a' - 'A';
    vec_last(&h->items).name_n += (uint32_t)n;
    return 0;
}

int headbuf_value(struct headbuf *h, const char *p, size_t n, bool begin)
{
    if (begin)
        vec_last(&h->items).value = (uint32_t)h->text.len;
    if (headbuf_append(h, p, n) < 0)
        return -EMSGSIZE;
    vec_last(&h->items).value_n += (uint32_t)n;
    return 0;
}

void headbuf_reset(struct headbuf *h)
{
    strbuf_reset(&h->text);
    vec_clear(&h->items);
}

void headbuf_fini(struct headbuf *h)
{
    strbuf_fini(&h->text);
    vec_fini(&h->items);
}

static size_t headbuf_list(const struct headbuf *h, struct http_header *ret)
{
    vec_foreach(&h->items, i) {
        const struct head_item *it = &h->items.items[i];
        ret[i].name = (struct str){ h->text.data + it->name, it->name_n };
        ret[i].value = (struct str){ h->text.data + it->value, it->value_n };
    }
    return h->items.n;
}

/* ---- life ------------------------------------------------------------------------------------ */

static char *put(char **at, const char *p, size_t n)
{
    char *to = *at;

    if (n > 0)
        memcpy(to, p, n);
    to[n] = '\0';
    *at += n + 1;
    return to;
}

/* The call and its copy of the request are one block. */
struct call *call_new(struct client *cl, const struct http_req *r, const struct http_handler *on,
                      void *arg)
{
    size_t method_n = strlen(r->method), target_n = strlen(r->target);
    size_t size = sizeof(struct call) + r->headers.n * sizeof(struct http_header) + method_n +
                  target_n + r->body_len + 3;

    for (size_t i = 0; i < r->headers.n; i++)
        size += r->headers.items[i].name.n + r->headers.items[i].value.n + 2;
    struct call *c = xmalloc(size);
    memset(c, 0, sizeof *c);
    c->headers = (struct http_header *)(c + 1);
    c->n_headers = r->headers.n;
    char *at = (char *)(c->headers + r->headers.n);
    c->want_gzip = !cl->no_gzip;
    for (size_t i = 0; i < r->headers.n; i++) {
        const struct http_header *h = &r->headers.items[i];
        c->headers[i].name = (struct str){ put(&at, h->name.p, h->name.n), h->name.n };
        c->headers[i].value = (struct str){ put(&at, h->value.p, h->value.n), h->value.n };
        if (str_eqz(h->name, "accept-encoding"))
            c->want_gzip = false; /* who asks for it, gets it as it comes */
    }
    c->method = put(&at, r->method, method_n);
    c->target = put(&at, r->target, target_n);
    c->body = put(&at, r->body, r->body_len);
    c->body_len = r->body_len;
    c->is_head = streq(c->method, "HEAD");
    c->is_safe = c->is_head || streq(c->method, "GET") || streq(c->method, "OPTIONS");
    c->has_body = r->body_len > 0 || streq(c->method, "POST") || streq(c->method, "PUT") ||
                  streq(c->method, "PATCH");
    c->refs = 1;
    c->cl = cl;
    cl->refs++;
    link_init(&c->link);
    if (on)
        c->on = *on;
    c->arg = arg;
    c->max_body = r->max_body;
    c->timeout = r->timeout;
    c->idle_timeout = r->idle_timeout;
    if (r->timeout > 0)
        c->deadline = loop_mono(cl->loop) + loop_outside(cl->loop, r->timeout);
    return c;
}

void call_unref(struct call *c)
{
    if (--c->refs > 0)
        return;
    timer_cancel(c->timer);
    timer_cancel(c->later);
    gunzip_free(c->gunzip);
    strbuf_fini(&c->held);
    client_unref(c->cl);
    free(c);
}

void call_unlink(struct call *c)
{
    link_del(&c->link);
    if (c->conn) {
        c->conn->n_calls--;
        c->conn = NULL;
        c->cl->stats.in_flight--;
    } else if (!c->complete) {
        c->cl->stats.waiting--;
    }
}

/* Takes the call away from everything that could touch it again; the caller holds a reference. */
static void call_retire(struct call *c)
{
    struct conn *conn = c->conn;

    c->dead = true;
    c->timer = timer_cancel(c->timer);
    c->later = timer_cancel(c->later);
    call_unlink(c);
    if (conn) {
        conn_ref(conn);
        conn->proto->drop(conn, c);
        conn_released(conn);
        conn_unref(conn);
    }
}

void call_kill(struct call *c)
{
    if (c->dead)
        return;
    call_retire(c);
    call_unref(c);
}

static void call_end(struct call *c, const struct kerr *err, bool sent)
{
    struct client *cl = c->cl;

    if (c->dead)
        return;
    cl->refs++;
    call_retire(c);
    client_pump(cl);                /* before the handler: whoever waits goes first */
    if (c->on.on_end && !cl->freed) /* by the handler of another call on a broken connection */
        c->on.on_end(c->arg, err, sent);
    call_unref(c);
    client_unref(cl);
}

void call_fail(struct call *c, const struct kerr *err, bool sent)
{
    call_end(c, err, sent);
}

/* ---- timeouts -------------------------------------------------------------------------------- */

static void call_fail_timeout(struct call *c, bool whole)
{
    struct kerr err;
    const char *what = c->got_head ? (whole ? "answer not complete" : "no more data")
                       : c->conn   ? "no answer"
                                   : "no connection";

    kerr_set(&err, -ETIMEDOUT, "%s within %.3gs", what,
             (double)(whole ? c->timeout : c->idle_timeout) / 1e9);
    call_fail(c, &err, c->maybe_sent);
}

/* The silence that counts is the server's: not while we wait for a connection or hold data back. */
static nsec_t idle_due(const struct call *c)
{
    if (c->idle_timeout <= 0 || !c->conn || c->paused)
        return 0;
    return c->last_activity + loop_outside(c->cl->loop, c->idle_timeout);
}

static void on_call_timer(struct loop *l, void *arg)
{
    struct call *c = arg;
    nsec_t now = loop_mono(l), idle = idle_due(c);

    c->timer = NULL;
    if (c->deadline > 0 && now >= c->deadline)
        call_fail_timeout(c, true);
    else if (idle > 0 && now >= idle)
        call_fail_timeout(c, false);
    else
        call_arm(c);
}

/* Data only moves last_activity; the timer finds out when it fires, so a busy watch costs nothing.
 */
void call_arm(struct call *c)
{
    nsec_t due = c->deadline, idle = idle_due(c);

    if (idle > 0 && (due == 0 || idle < due))
        due = idle;
    c->timer = timer_cancel(c->timer);
    if (due > 0)
        c->timer = loop_after(c->cl->loop, due - loop_mono(c->cl->loop), on_call_timer, c);
}

void call_touch(struct call *c)
{
    if (c->idle_timeout > 0)
        c->last_activity = loop_mono(c->cl->loop);
    c->got_bytes = true;
}

/* ---- delivery -------------------------------------------------------------------------------- */

static bool has_name(const struct http_header *h, const char *name)
{
    return str_eqz(h->name, name);
}

void call_headers(struct call *c, int status, const struct headbuf *hb)
{
    struct http_header items[HEAD_MAX_COUNT];
    size_t n = headbuf_list(hb, items);
    struct http_headers list = { items, n };

    if (c->dead)
        return;
    c->got_head = true;
    if (c->want_gzip && str_eqz(http_header_get(&list, "content-encoding"), "gzip")) {
        c->gunzip = gunzip_new(c->max_body);
        list.n = 0; /* what describes the packed body is no longer true */
        for (size_t i = 0; i < n; i++)
            if (!has_name(&items[i], "content-encoding") && !has_name(&items[i], "content-length"))
                items[list.n++] = items[i];
    }
    if (c->on.on_headers)
        c->on.on_headers(c->arg, &(struct http_resp){ status, list });
}

void call_trailers(struct call *c, const struct headbuf *hb)
{
    struct http_header items[HEAD_MAX_COUNT];

    if (c->dead || !c->on.on_trailers)
        return;
    struct http_headers list = { items, headbuf_list(hb, items) };
    c->on.on_trailers(c->arg, &list);
}

static void hand_out(struct call *c, const char *p, size_t n)
{
    if (n > 0 && c->on.on_data)
        c->on.on_data(c->arg, p, n);
}

/* Unpacks and hands out until the input is used up or the handler pauses or ends the call. */
static int deliver_gzip(struct call *c, const char **p, size_t *n, struct kerr *err)
{
    char out[16 * 1024];

    while (!c->dead && !c->paused && (*n > 0 || c->gunzip_more)) {
        ssize_t got = gunzip_step(c->gunzip, p, n, out, sizeof out, err);
        if (got < 0)
            return (int)got;
        c->gunzip_more = (size_t)got == sizeof out;
        hand_out(c, out, (size_t)got);
    }
    return 0;
}

static int deliver_plain(struct call *c, const char **p, size_t *n, struct kerr *err)
{
    const char *from = *p;
    size_t len = *n;

    c->got_body += len;
    if (c->max_body && c->got_body > c->max_body)
        return kerr_set(err, -EMSGSIZE, "the answer is larger than %llu bytes",
                        (unsigned long long)c->max_body);
    *p += len;
    *n = 0;
    hand_out(c, from, len);
    return 0;
}

/* The caller holds a reference. */
static void deliver(struct call *c, const char *p, size_t n)
{
    struct kerr err = { 0 };
    size_t given = n;
    int r = 0;

    c->delivering = true;
    if (c->gunzip)
        r = deliver_gzip(c, &p, &n, &err);
    else if (n > 0)
        r = deliver_plain(c, &p, &n, &err);
    c->delivering = false;
    if (r < 0) {
        call_fail(c, &err, true);
        return;
    }
    if (c->dead)
        return;
    if (n > 0)
        strbuf_appendn(&c->held, p, n);
    if (c->conn && c->conn->proto->consumed && given > n)
        c->conn->proto->consumed(c->conn, c, given - n);
}

void call_body(struct call *c, const char *p, size_t n)
{
    if (c->dead)
        return;
    if (c->paused || c->held.len > 0 || c->delivering) {
        strbuf_appendn(&c->held, p, n);
        if (c->conn && c->paused) /* perhaps since before it had a connection */
            c->conn->proto->pause(c->conn, c, true);
        return;
    }
    c->refs++;
    deliver(c, p, n);
    call_unref(c);
}

static void call_finish(struct call *c)
{
    struct kerr err;

    if (!c->got_head)
        kerr_set(&err, -EPROTO, "the answer has no head");
    else if (c->gunzip && !gunzip_complete(c->gunzip))
        kerr_set(&err, -EPROTO, "gzip: the answer is cut off");
    else {
        call_end(c, NULL, true);
        return;
    }
    call_fail(c, &err, true);
}

void call_complete(struct call *c)
{
    if (c->dead)
        return;
    c->complete = true;
    if (c->held.len > 0 || c->gunzip_more) {
        link_add(&c->cl->loose, &c->link);
        return;
    }
    call_finish(c);
}

static void on_resume(struct loop *l, void *arg)
{
    struct call *c = arg;

    (void)l;
    c->later = NULL;
    if (c->paused)
        return;
    struct strbuf held = c->held;
    c->held = (struct strbuf)STRBUF_INIT;
    c->refs++;
    c->cl->refs++;
    deliver(c, held.data ? held.data : "", held.len);
    strbuf_fini(&held);
    if (!c->dead && !c->paused && c->complete)
        call_finish(c);
    else if (!c->dead && !c->paused && c->conn)
        c->conn->proto->pause(c->conn, c, false);
    client_unref(c->cl);
    call_unref(c);
}

void call_pause(struct call *c, bool paused)
{
    if (c->dead || c->paused == paused)
        return;
    c->paused = paused;
    if (paused) {
        if (c->conn)
            c->conn->proto->pause(c->conn, c, true);
        return;
    }
    if (c->idle_timeout > 0) { /* our own pause is not the server's silence */
        c->last_activity = loop_mono(c->cl->loop);
        call_arm(c);
    }
    if (!c->later)
        c->later = loop_after(c->cl->loop, 0, on_resume, c);
}
