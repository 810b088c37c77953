/* http_fault.c - a transport that spoils a share of the calls of another one.
 *
 * What will happen to a call is drawn when it is sent, so a seed of the virtual loop always gives
 * the same story. The wrapped transport does the real work, except for calls that never reach it.
 */
#include "base/strbuf.h"
#include "loop/loop.h"
#include "net/http.h"

struct fault {
    struct http http;
    struct loop *loop;
    struct http *inner;
    struct http_faults f;
    unsigned refs;
    struct fcall *first; /* all open calls */
};

enum fate {
    FATE_NONE,
    FATE_REFUSE,
    FATE_LOSE_ANSWER,
    FATE_RESET,
    FATE_500,
    FATE_503,
    FATE_429,
};

struct fcall {
    struct http_call http;
    struct fault *f;
    struct fcall *prev, *next;
    unsigned refs;
    bool dead;
    struct http_handler on;
    void *arg;
    enum fate fate;
    struct http_call *inner;
    struct timer *timer;
    /* a delayed request waits here */
    struct http_req req;
    char *copy;
    bool paused;
};

static const struct http_ops fault_ops;

static struct fault *fault_of(struct http *h)
{
    assert(h->ops == &fault_ops);
    return container_of(h, struct fault, http);
}

static void fault_unref(struct fault *f)
{
    if (--f->refs == 0)
        free(f);
}

static void fcall_unref(struct fcall *c)
{
    if (--c->refs > 0)
        return;
    timer_cancel(c->timer);
    fault_unref(c->f);
    free(c->copy);
    free(c);
}

/* No callback follows; the caller drops its reference. */
static void fcall_retire(struct fcall *c)
{
    c->dead = true;
    c->timer = timer_cancel(c->timer);
    c->inner = http_cancel(c->inner);
    if (c->prev)
        c->prev->next = c->next;
    else
        c->f->first = c->next;
    if (c->next)
        c->next->prev = c->prev;
}

static void fcall_end(struct fcall *c, const struct kerr *err, bool sent)
{
    if (c->dead)
        return;
    fcall_retire(c);
    if (c->on.on_end)
        c->on.on_end(c->arg, err, sent);
    fcall_unref(c);
}

static void fcall_break(struct fcall *c, int code, const char *why, bool sent)
{
    struct kerr err;

    kerr_set(&err, code, "injected fault: %s", why);
    fcall_end(c, &err, sent);
}

/* ---- what comes from the wrapped transport ----------------------------------------------------
 */

/* A lost answer breaks when its head is there, not at its end: a watch has none. */
static void on_headers(void *arg, const struct http_resp *r)
{
    struct fcall *c = arg;

    if (c->fate == FATE_LOSE_ANSWER)
        fcall_break(c, -ECONNRESET, "the answer was lost", true);
    else if (c->on.on_headers)
        c->on.on_headers(c->arg, r);
}

/* Cut at a random byte of the first chunk that the dice choose; at the latest at the end. */
static void on_data(void *arg, const char *p, size_t n)
{
    struct fcall *c = arg;
    size_t keep = n;

    bool cut = c->fate == FATE_RESET && loop_rand_below(c->f->loop, 2) == 0;
    if (cut)
        keep = (size_t)loop_rand_below(c->f->loop, n);
    c->refs++;
    if (keep > 0 && c->on.on_data)
        c->on.on_data(c->arg, p, keep);
    if (cut)
        fcall_break(c, -ECONNRESET, "connection reset in the body", true);
    fcall_unref(c);
}

static void on_trailers(void *arg, const struct http_headers *h)
{
    struct fcall *c = arg;

    if (c->fate == FATE_NONE && c->on.on_trailers)
        c->on.on_trailers(c->arg, h);
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    struct fcall *c = arg;

    c->inner = NULL;
    if (!err && c->fate == FATE_RESET)
        fcall_break(c, -ECONNRESET, "connection reset at the end", true);
    else
        fcall_end(c, err, sent);
}

static const struct http_handler inner_handler = {
    .on_headers = on_headers,
    .on_data = on_data,
    .on_end = on_end,
    .on_trailers = on_trailers,
};

/* ---- what never reaches it --------------------------------------------------------------------
 */

static void answer(struct fcall *c, int status, const char *reason)
{
    static const struct http_header headers[] = {
        { { "content-type", 12 }, { "application/json", 16 } },
        { { "retry-after", 11 }, { "1", 1 } },
    };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_appendf(
        &b,
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
        "\"message\":\"injected fault\",\"reason\":\"%s\",\"code\":%d}",
        reason, status);
    c->refs++;
    const struct http_resp r = { status, { headers, status == 500 ? 1 : 2 } };
    if (c->on.on_headers)
        c->on.on_headers(c->arg, &r);
    if (!c->dead && c->on.on_data)
        c->on.on_data(c->arg, b.data, b.len);
    fcall_end(c, NULL, true);
    fcall_unref(c);
}

static void on_due(struct loop *l, void *arg)
{
    struct fcall *c = arg;

    (void)l;
    c->timer = NULL;
    switch (c->fate) {
    case FATE_REFUSE: fcall_break(c, -ECONNREFUSED, "connection refused", false); break;
    case FATE_500: answer(c, 500, "InternalError"); break;
    case FATE_503: answer(c, 503, "ServiceUnavailable"); break;
    case FATE_429: answer(c, 429, "TooManyRequests"); break;
    default:
        c->inner = http_send(c->f->inner, &c->req, &inner_handler, c);
        if (c->paused)
            http_pause(c->inner, true);
        break;
    }
}

/* ---- the http interface -----------------------------------------------------------------------
 */

static enum fate draw(struct fault *f)
{
    const unsigned shares[] = {
        [FATE_REFUSE] = f->f.refuse,  [FATE_LOSE_ANSWER] = f->f.lose_answer,
        [FATE_RESET] = f->f.reset,    [FATE_500] = f->f.status_500,
        [FATE_503] = f->f.status_503, [FATE_429] = f->f.status_429,
    };

    /* One throw each, so that the share of one fault does not depend on the others' order. */
    enum fate fate = FATE_NONE;
    for (unsigned i = FATE_REFUSE; i < ARRAY_LEN(shares); i++)
        if (shares[i] > 0 && loop_rand_below(f->loop, 1000) < shares[i] && fate == FATE_NONE)
            fate = (enum fate)i;
    return fate;
}

static char *put(char **at, const void *p, size_t n)
{
    char *to = *at;

    if (n > 0)
        memcpy(to, p, n);
    to[n] = '\0';
    *at += n + 1;
    return to;
}

/* A delayed request needs a copy of its own. */
static void keep_request(struct fcall *c, const struct http_req *r)
{
    size_t size = r->headers.n * sizeof(struct http_header) + strlen(r->method) +
                  strlen(r->target) + r->body_len + 3;

    for (size_t i = 0; i < r->headers.n; i++)
        size += r->headers.items[i].name.n + r->headers.items[i].value.n + 2;
    c->copy = xmalloc(size);
    struct http_header *headers = (struct http_header *)(void *)c->copy;
    char *at = (char *)(headers + r->headers.n);
    for (size_t i = 0; i < r->headers.n; i++) {
        const struct http_header *h = &r->headers.items[i];
        headers[i].name = (struct str){ put(&at, h->name.p, h->name.n), h->name.n };
        headers[i].value = (struct str){ put(&at, h->value.p, h->value.n), h->value.n };
    }
    c->req = *r;
    c->req.headers.items = headers;
    c->req.method = put(&at, r->method, strlen(r->method));
    c->req.target = put(&at, r->target, strlen(r->target));
    c->req.body = put(&at, r->body, r->body_len);
}

static struct http_call *fault_send(struct http *h, const struct http_req *r,
                                    const struct http_handler *on, void *arg)
{
    struct fault *f = fault_of(h);
    struct fcall *c = xnew0(struct fcall);
    nsec_t delay = 0;

    c->http.ops = &fault_ops;
    c->f = f;
    f->refs++;
    c->refs = 1;
    if (on)
        c->on = *on;
    c->arg = arg;
    c->next = f->first;
    if (f->first)
        f->first->prev = c;
    f->first = c;
    c->fate = draw(f);
    if (f->f.slow > 0 && f->f.slow_max > 0 && loop_rand_below(f->loop, 1000) < f->f.slow)
        delay = (nsec_t)loop_rand_below(f->loop, (uint64_t)f->f.slow_max) + 1;
    bool passes = c->fate == FATE_NONE || c->fate == FATE_LOSE_ANSWER || c->fate == FATE_RESET;
    if (passes && delay == 0) {
        c->inner = http_send(f->inner, r, &inner_handler, c);
        return &c->http;
    }
    if (passes)
        keep_request(c, r);
    c->timer = loop_after(f->loop, delay, on_due, c);
    return &c->http;
}

static void fault_cancel(struct http_call *h)
{
    struct fcall *c = container_of(h, struct fcall, http);

    if (c->dead)
        return;
    fcall_retire(c);
    fcall_unref(c);
}

static void fault_pause(struct http_call *h, bool paused)
{
    struct fcall *c = container_of(h, struct fcall, http);

    c->paused = paused;
    if (c->inner)
        http_pause(c->inner, paused);
}

static void fault_free(struct http *h)
{
    struct fault *f = fault_of(h);

    while (f->first)
        fault_cancel(&f->first->http);
    fault_unref(f);
}

static const struct http_ops fault_ops = {
    .send = fault_send,
    .cancel = fault_cancel,
    .pause = fault_pause,
    .free = fault_free,
};

struct http *http_fault_new(struct loop *l, struct http *inner, const struct http_faults *f)
{
    struct fault *x = xnew0(struct fault);

    x->http.ops = &fault_ops;
    x->loop = l;
    x->inner = inner;
    x->refs = 1;
    http_fault_set(&x->http, f);
    return &x->http;
}

void http_fault_set(struct http *h, const struct http_faults *f)
{
    fault_of(h)->f = f ? *f : (struct http_faults){ 0 };
}
