/* web.c - who may look, and the files of the page. */
#include "dash/web_int.h"

#include <stdio.h>

#include "base/arena.h"
#include "loop/loop.h"
#include "net/httpd.h"
#include "net/url.h"

/* Nothing but what we serve ourselves: no inline code, no frames, no forms, no other origin. */
#define POLICY                                                                              \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src " \
    "'self'; "                                                                              \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

size_t web_headers(struct http_header out[WEB_HEADERS], const char *content_type)
{
    const struct http_header all[] = {
        { STR("content-type"), str_of(content_type) },
        { STR("content-security-policy"), STR(POLICY) },
        { STR("x-content-type-options"), STR("nosniff") },
        { STR("referrer-policy"), STR("no-referrer") },
        { STR("cache-control"), STR("no-store") },
        { STR("cross-origin-opener-policy"), STR("same-origin") },
        { STR("cross-origin-resource-policy"), STR("same-origin") },
    };
    _Static_assert(ARRAY_LEN(all) < WEB_HEADERS, "one is left for the caller");

    memcpy(out, all, sizeof all);
    return ARRAY_LEN(all);
}

static void answer(struct httpd_req *r, int status, const char *type, const void *body, size_t n)
{
    struct http_header h[WEB_HEADERS];
    char length[24];
    size_t nh = web_headers(h, type);

    (void)snprintf(length, sizeof length, "%zu", n);
    h[nh++] = (struct http_header){ STR("content-length"), str_of(length) };
    httpd_respond(r, status, h, nh, false);
    httpd_write(r, body, n);
    httpd_end(r);
}

/* With a link: a browser that followed the printed URL from another site sends its new cookie only
 * once the person has clicked here. */
static void refuse(struct httpd_req *r, const char *why)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    strbuf_appendf(&b,
                   "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>koord: not "
                   "allowed</title><h1>Not allowed</h1><p>%s</p><p>Open the URL that koordctl "
                   "printed; it works once, in the first browser that opens it. If you have just "
                   "done so, <a href=\"/\">go on to the dashboard</a>.</p></html>\n",
                   why);
    answer(r, 403, "text/html; charset=utf-8", b.data, b.len);
}

static void refuse_method(struct httpd_req *r)
{
    struct http_header h[WEB_HEADERS];
    size_t n = web_headers(h, "text/plain; charset=utf-8");

    h[n++] = (struct http_header){ STR("allow"), STR("GET") };
    httpd_respond(r, 405, h, n, false);
    httpd_end(r);
}

/* The key leaves the address bar and the history at once. */
static void redeem(struct web *w, struct httpd_req *r, const char *key)
{
    char cookie[SESSION_COOKIE_MAX];

    if (!session_redeem(&w->session, key, httpd_header(r, "cookie"))) {
        refuse(r, "The key in this URL is not valid, or was used already.");
        return;
    }
    session_set_cookie(&w->session, cookie);
    const struct http_header h[] = {
        { STR("location"), STR("/") },
        { STR("set-cookie"), str_of(cookie) },
        { STR("referrer-policy"), STR("no-referrer") },
        { STR("cache-control"), STR("no-store") },
        { STR("content-length"), STR("0") },
    };
    httpd_respond(r, 303, h, ARRAY_LEN(h), false);
    httpd_end(r);
}

static void serve_file(struct httpd_req *r, struct str path)
{
    for (const struct page_file *f = page_files; f->path; f++)
        if (str_eqz(path, f->path)) {
            answer(r, 200, f->type, f->data, f->n);
            return;
        }
    answer(r, 404, "text/plain; charset=utf-8", "not found\n", 10);
}

static void on_request(void *arg, struct httpd_req *r)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct web *w = arg;
    const char *target = httpd_target(r);
    const struct str path = { target, strcspn(target, "?#") };

    if (!session_host_ok(&w->session, httpd_header(r, "host"))) {
        refuse(r, "This name is not the dashboard's.");
        return;
    }
    if (!session_origin_ok(&w->session, httpd_header(r, "origin"))) {
        refuse(r, "This request comes from another page.");
        return;
    }
    if (!streq(httpd_method(r), "GET")) {
        refuse_method(r);
        return;
    }
    const char *key = str_eqz(path, "/") ? url_query_get(target, "key", a) : NULL;
    if (key)
        redeem(w, r, key);
    else if (!session_cookie_ok(&w->session, httpd_header(r, "cookie")))
        refuse(r, "This browser has not been let in.");
    else if (str_eqz(path, "/stream"))
        viewer_start(w, r);
    else
        serve_file(r, path);
}

/* ---- life ------------------------------------------------------------------------------------ */

int web_new(struct dash *d, struct web **ret, struct kerr *err)
{
    CLEANUP(web_free) struct web *w = xnew0(struct web);

    w->dash = d;
    if (session_init(&w->session, err) < 0)
        return err->code;
    w->httpd = httpd_new(d->loop, &(struct httpd_opts){ .max_conns = 128, .max_body = 1024 },
                         on_request, w);
    *ret = take(w);
    return 0;
}

struct web *web_free(struct web *w)
{
    if (!w)
        return NULL;
    if (w->httpd)
        httpd_free(w->httpd); /* each stream is closed, and its viewer goes with it */
    assert(w->viewers.n == 0 && !w->tick);
    vec_fini(&w->viewers);
    free(w);
    return NULL;
}

int web_listen(struct web *w, const char *addr, struct kerr *err)
{
    w->is_v6 = str_starts(addr, "[::1]:");
    if (!w->is_v6 && !str_starts(addr, "127.0.0.1:") && !str_starts(addr, "localhost:"))
        return kerr_set(err, -EPERM,
                        "%.60s: the dashboard is served on loopback only: 127.0.0.1:PORT or "
                        "[::1]:PORT",
                        addr);
    return httpd_listen(w->httpd, addr, NULL, &w->session.port, err);
}

void web_url(const struct web *w, struct strbuf *out)
{
    strbuf_appendf(out, "http://%s:%u/?key=%s", w->is_v6 ? "[::1]" : "127.0.0.1", w->session.port,
                   w->session.key);
}

void web_serve(struct web *w, struct stream *s)
{
    w->session.port = 80;
    httpd_serve(w->httpd, s, "127.0.0.1:4711");
}
