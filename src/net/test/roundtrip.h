/* roundtrip.h - our client against our server: a handler with roles and calls that check
 * themselves.
 *
 * Targets: /echo sends the body back; /size/N and /gz/N give N bytes of a pattern, written with
 * back-pressure; /watch/N gives an event a second, N of them; /status/N; /never; /later/MSEC.
 * Include after the cmocka headers.
 */
#ifndef KOORD_NET_TEST_ROUNDTRIP_H
#define KOORD_NET_TEST_ROUNDTRIP_H
#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "loop/loop.h"
#include "net/http.h"
#include "net/httpd.h"
#include "net/stream.h"

#include <stdio.h>

enum { QUEUE_CAP = 256 * 1024 };

struct rt {
    struct loop *l;
    struct httpd *d;
    struct http *h;
    struct mem_opts mem;
    struct stream *last_end; /* the client's end of the last memory connection */
    struct strbuf pattern;
    int n_open, n_close;  /* requests at the server */
    int n_done, n_failed; /* calls at the client */
    int n_left;           /* not ended */
    size_t max_queued;
};

static inline char pattern_at(size_t i)
{
    return (char)('a' + (i * 7 + i / 1000) % 26);
}

/* ---- the server ------------------------------------------------------------------------------ */

struct work {
    struct rt *t;
    struct httpd_req *r;
    struct timer *timer;
    size_t at, left;
};

static void work_done(struct work *w)
{
    w->t->n_open--;
    timer_cancel(w->timer);
    free(w);
}

static void work_close(void *arg)
{
    struct work *w = arg;

    w->t->n_close++;
    work_done(w);
}

static void work_write(void *arg)
{
    struct work *w = arg;

    while (w->left > 0 && httpd_queued(w->r) < QUEUE_CAP) {
        size_t n = MIN(w->left, (size_t)50000);

        httpd_write(w->r, w->t->pattern.data + w->at, n);
        w->at += n;
        w->left -= n;
        w->t->max_queued = MAX(w->t->max_queued, httpd_queued(w->r));
    }
    if (w->left == 0) {
        httpd_end(w->r);
        work_done(w);
    }
}

static void work_tick(struct loop *l, void *arg)
{
    struct work *w = arg;
    char text[64];

    w->timer = NULL;
    httpd_write(w->r, text, (size_t)snprintf(text, sizeof text, "event %zu\n", w->at++));
    if (--w->left == 0) {
        httpd_end(w->r);
        work_done(w);
        return;
    }
    w->timer = loop_after(l, NSEC_PER_SEC, work_tick, w);
}

static void work_later(struct loop *l, void *arg)
{
    struct work *w = arg;

    (void)l;
    w->timer = NULL;
    httpd_reply(w->r, 200, NULL, "later", 5);
    work_done(w);
}

static void work_echo(void *arg, struct httpd_req *r, char *body, size_t n)
{
    struct work *w = arg;

    httpd_reply(r, 200, "application/octet-stream", body, n);
    work_done(w);
}

static void rt_handle(void *arg, struct httpd_req *r)
{
    static const struct httpd_events stream_ev = { .on_drain = work_write, .on_close = work_close };
    static const struct httpd_events quiet_ev = { .on_close = work_close };
    struct rt *t = arg;
    struct work *w = xnew0(struct work);
    const char *target = httpd_target(r), *slash = strrchr(target, '/');

    *w = (struct work){ .t = t, .r = r, .left = strtoul(slash + 1, NULL, 10) };
    t->n_open++;
    httpd_set_events(r, &quiet_ev, w);
    if (streq(target, "/echo")) {
        httpd_read_body(r, work_echo, w);
    } else if (str_starts(target, "/size/") || str_starts(target, "/gz/")) {
        httpd_set_events(r, &stream_ev, w);
        httpd_respond(r, 200, NULL, 0, target[1] == 'g');
        work_write(w);
    } else if (str_starts(target, "/watch/")) {
        httpd_respond(r, 200, NULL, 0, false);
        w->timer = loop_after(t->l, NSEC_PER_SEC, work_tick, w);
    } else if (str_starts(target, "/later/")) {
        w->timer = loop_after(t->l, (nsec_t)w->left * NSEC_PER_MSEC, work_later, w);
    } else if (!streq(target, "/never")) {
        httpd_reply(r, (int)w->left, "text/plain", "status", 6);
        work_done(w);
    }
}

/* ---- the client ------------------------------------------------------------------------------ */

struct job {
    struct rt *t;
    struct http_call *call; /* NULL: ended */
    const char *want;       /* the body to come, NULL: do not look */
    size_t want_n, got;
    int status, want_status, err;
    bool ended;
};

static void job_headers(void *arg, const struct http_resp *r)
{
    struct job *j = arg;

    assert_int_equal(j->status, 0);
    j->status = r->status;
}

static void job_data(void *arg, const char *p, size_t n)
{
    struct job *j = arg;

    assert_that(j->status, !=, 0);
    assert_true(!j->ended);
    if (j->want) {
        assert_that(j->got + n, <=, j->want_n);
        if (memcmp(p, j->want + j->got, n) != 0)
            fail_msg("wrong bytes at %zu", j->got);
    }
    j->got += n;
}

static void job_end(void *arg, const struct kerr *err, bool sent)
{
    struct job *j = arg;

    (void)sent;
    assert_false(j->ended);
    j->ended = true;
    j->call = NULL;
    j->t->n_left--;
    if (err) {
        j->err = err->code;
        j->t->n_failed++;
        return;
    }
    j->t->n_done++;
    assert_int_equal(j->status, j->want_status);
    if (j->want)
        assert_int_equal(j->got, j->want_n);
}

static const struct http_handler job_handler = {
    .on_headers = job_headers,
    .on_data = job_data,
    .on_end = job_end,
};

static inline void job_send(struct job *j, const struct http_req *r)
{
    j->t->n_left++;
    j->call = http_send(j->t->h, r, &job_handler, j);
}

static inline void job_get(struct rt *t, struct job *j, const char *target)
{
    size_t n = strtoul(strrchr(target, '/') + 1, NULL, 10);

    *j = (struct job){ .t = t, .want_status = 200 };
    if (str_starts(target, "/size/") || str_starts(target, "/gz/")) {
        j->want = t->pattern.data;
        j->want_n = n;
    } else if (str_starts(target, "/status/")) {
        j->want = "status";
        j->want_n = n == 204 ? 0 : 6;
        j->want_status = (int)n;
    }
    job_send(j, &(struct http_req){ .method = "GET", .target = target });
}

static inline void job_echo(struct rt *t, struct job *j, size_t n)
{
    *j = (struct job){ .t = t, .want = t->pattern.data, .want_n = n, .want_status = 200 };
    job_send(j, &(struct http_req){
                    .method = "POST", .target = "/echo", .body = t->pattern.data, .body_len = n });
}

static inline void job_cancel(struct job *j)
{
    if (!j->call)
        return;
    j->call = http_cancel(j->call);
    j->t->n_left--;
}

/* A mixture: what the i-th call of a crowd does. */
static inline void job_mixed(struct rt *t, struct job *j, size_t i)
{
    static const int statuses[] = { 200, 201, 204, 404, 409, 503 };
    char target[64];

    switch (i % 5) {
    case 0: job_echo(t, j, i * 37 % 5000); return;
    case 1: snprintf(target, sizeof target, "/size/%zu", i * 101 % 20000); break;
    case 2: snprintf(target, sizeof target, "/gz/%zu", i * 211 % 20000); break;
    case 3: snprintf(target, sizeof target, "/later/%zu", i % 7); break;
    default:
        snprintf(target, sizeof target, "/status/%d", statuses[i / 5 % ARRAY_LEN(statuses)]);
        break;
    }
    job_get(t, j, target);
}

/* ---- memory ---------------------------------------------------------------------------------- */

struct mem_dial {
    struct rt *t;
    http_dialed_fn fn;
    void *arg;
};

static void mem_dialed(struct loop *l, void *arg)
{
    struct mem_dial d = *(struct mem_dial *)arg;
    struct stream *ends[2];
    struct kerr err = { 0 };

    free(arg);
    if (!d.t->d) {
        kerr_set(&err, -ECONNREFUSED, "no server");
        d.fn(d.arg, NULL, &err);
        return;
    }
    stream_mem_pair(l, &d.t->mem, ends);
    httpd_serve(d.t->d, ends[1], "127.0.0.1:1");
    d.t->last_end = ends[0];
    d.fn(d.arg, ends[0], NULL);
}

static UNUSED void mem_dial(void *dial_arg, struct loop *l, http_dialed_fn fn, void *arg)
{
    struct mem_dial *d = xnew0(struct mem_dial);

    *d = (struct mem_dial){ dial_arg, fn, arg };
    loop_after(l, 0, mem_dialed, d);
}

static inline void rt_init(struct rt *t, struct loop *l, const struct httpd_opts *o)
{
    *t = (struct rt){ .l = l };
    t->d = httpd_new(l, o, rt_handle, t);
    strbuf_reserve(&t->pattern, 20 * 1000 * 1000);
    for (size_t i = 0; i < 20 * 1000 * 1000; i++)
        t->pattern.data[t->pattern.len++] = pattern_at(i);
}

static inline void rt_fini(struct rt *t)
{
    http_free(t->h);
    httpd_free(t->d);
    assert_int_equal(t->n_open, 0);
    loop_free(t->l);
    strbuf_fini(&t->pattern);
}
static inline UNUSED void rt_fini_p(struct rt *t)
{
    rt_fini(t);
}
#endif
