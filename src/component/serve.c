/* serve.c - the endpoint: routes, listeners, certificates, metrics and version. */
#include "component/serve.h"

#include <stdio.h>

#include "base/klog.h"
#include "component/metrics.h"
#include "component/serve_int.h"
#include "component/version.h"
#include "loop/loop.h"
#include "net/pemfiles.h"
#include "net/tls.h"
#include "net/url.h"
#include "json/kj.h"

/* ---- answers --------------------------------------------------------------------------------- */

void serve_plain(struct httpd_req *r, int status, const char *type, const void *body, size_t n)
{
    char length[24];
    const struct http_header h[] = {
        { STR("content-type"), str_of(type) },
        { STR("content-length"), { length, (size_t)snprintf(length, sizeof length, "%zu", n) } },
        { STR("x-content-type-options"), STR("nosniff") },
    };

    httpd_respond(r, status, h, ARRAY_LEN(h), false);
    httpd_write(r, body, n);
    httpd_end(r);
}

void serve_text(struct httpd_req *r, int status, const char *fmt, ...)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vappendf(&text, fmt, ap);
    va_end(ap);
    strbuf_appendc(&text, '\n');
    serve_plain(r, status, "text/plain; charset=utf-8", text.data, text.len);
}

bool serve_allow(struct httpd_req *r, const char *methods)
{
    const char *method = httpd_method(r);
    size_t n = strlen(method);

    for (const char *p = methods; *p;) {
        size_t len = strcspn(p, ", ");
        if (len == n && memcmp(p, method, n) == 0)
            return true;
        p += len;
        p += strspn(p, ", ");
    }
    static const char body[] = "Method Not Allowed\n";
    const struct http_header h[] = { { STR("allow"), str_of(methods) },
                                     { STR("content-type"), STR("text/plain; charset=utf-8") } };
    httpd_respond(r, 405, h, ARRAY_LEN(h), false);
    httpd_write(r, body, sizeof body - 1);
    httpd_end(r);
    return false;
}

bool serve_may_change(struct serve *s, struct httpd_req *r)
{
    if (s->allow_remote_changes || httpd_is_loopback(r))
        return true;
    serve_text(r, 403, "%s %s: changes are taken from this machine only (--allow-remote-debug)",
               httpd_method(r), httpd_target(r));
    return false;
}

const char *serve_path(const struct httpd_req *r, struct arena *a)
{
    const char *target = httpd_target(r);
    const char *path = url_unescape(target, strcspn(target, "?#"), false, a);
    return path && path[0] == '/' ? path : NULL;
}

const char *serve_rest(const char *path, const char *prefix)
{
    return path + strlen(prefix);
}

/* ---- routes ---------------------------------------------------------------------------------- */

static bool matches(const char *route, const char *path)
{
    return str_ends(route, "/") ? str_starts(path, route) : streq(path, route);
}

static void route(void *arg, struct httpd_req *r)
{
    struct serve *s = arg;
    CLEANUP(arena_free) struct arena *a = arena_new_sized(512);
    const char *path = serve_path(r, a);
    const struct serve_route *best = NULL;

    if (!path) {
        serve_text(r, 400, "malformed path");
        return;
    }
    vec_foreach(&s->routes, i) {
        const struct serve_route *route = s->routes.items[i];
        if (matches(route->path, path) && (!best || strlen(route->path) > strlen(best->path)))
            best = route;
    }
    if (best)
        best->fn(best->arg, r);
    else
        serve_text(r, 404, "404 page not found");
}

static void on_request(void *arg, struct httpd_req *r)
{
    struct serve *s = arg;

    if (s->guard && stream_is_tls(httpd_stream(r)))
        s->guard(s->guard_arg, r, route, s);
    else
        route(s, r);
}

void serve_set_guard(struct serve *s, serve_guard_fn fn, void *arg)
{
    s->guard = fn;
    s->guard_arg = arg;
}

void serve_handle(struct serve *s, const char *path, httpd_fn fn, void *arg)
{
    struct serve_route *route = xnew0(struct serve_route);

    vec_foreach(&s->routes, i)
        assert(!streq(s->routes.items[i]->path, path));
    *route = (struct serve_route){ xstrdup(path), fn, arg };
    vec_push(&s->routes, route);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What there is, as an API server answers. */
static void on_root(void *arg, struct httpd_req *r)
{
    struct serve *s = arg;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct vec_of(const char *) paths = { 0 };
    const char *target = httpd_target(r);
    struct kjw w = kjw_to(&out);

    if (strcspn(target, "?#") != 1) { /* "/" stands for all that nothing else matches */
        serve_text(r, 404, "404 page not found");
        return;
    }
    if (!serve_allow(r, "GET, HEAD"))
        return;
    vec_foreach(&s->routes, i)
        vec_push(&paths, s->routes.items[i]->path);
    qsort(paths.items, paths.n, sizeof *paths.items, by_text);
    kjw_obj(&w, NULL);
    kjw_arr(&w, "paths");
    vec_foreach(&paths, i)
        if (!streq(paths.items[i], "/"))
            kjw_str(&w, NULL, paths.items[i]);
    kjw_end(&w);
    kjw_end(&w);
    vec_fini(&paths);
    httpd_reply(r, 200, "application/json", out.data, out.len);
}

/* ---- metrics and version --------------------------------------------------------------------- */

void serve_metrics(struct httpd_req *r, const char *text, size_t n)
{
    const struct http_header h[] = { { STR("content-type"), STR(METRICS_CONTENT_TYPE) } };

    httpd_respond(r, 200, h, ARRAY_LEN(h), true);
    httpd_write(r, text, n);
    httpd_end(r);
}

static void on_metrics(void *arg, struct httpd_req *r)
{
    struct serve *s = arg;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    if (!serve_allow(r, "GET, HEAD"))
        return;
    metrics_write(&s->metrics, 1, &out);
    serve_metrics(r, strbuf_str(&out), out.len);
}

void serve_version_json(struct strbuf *out)
{
    struct kjw w = kjw_to(out);
    const char *major = KOORD_VERSION, *minor = strchr(major, '.') + 1;

    kjw_obj(&w, NULL);
    kjw_strn(&w, "major", major, strcspn(major, "."));
    kjw_strn(&w, "minor", minor, strcspn(minor, "."));
    kjw_str(&w, "gitVersion", "v" KOORD_VERSION);
    kjw_str(&w, "gitCommit", "");
    kjw_str(&w, "gitTreeState", "");
    kjw_str(&w, "buildDate", ""); /* builds are reproducible: no date in them */
    kjw_str(&w, "goVersion", ""); /* the field belongs to the format; there is no Go here */
    kjw_str(&w, "compiler", KOORD_COMPILER);
    kjw_str(&w, "platform", KOORD_PLATFORM);
    kjw_end(&w);
}

static void on_version(void *arg, struct httpd_req *r)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    (void)arg;
    if (!serve_allow(r, "GET, HEAD"))
        return;
    serve_version_json(&out);
    httpd_reply(r, 200, "application/json", out.data, out.len);
}

/* ---- birth and death ------------------------------------------------------------------------- */

struct serve *serve_new(struct loop *l, const struct serve_opts *o)
{
    struct serve *s = xnew0(struct serve);

    s->loop = l;
    s->program = xstrdup(o->program);
    s->metrics = o->metrics;
    s->allow_remote_changes = o->allow_remote_changes;
    s->httpd = httpd_new(l, &o->http, on_request, s);
    serve_handle(s, "/", on_root, s);
    serve_handle(s, "/version", on_version, s);
    if (s->metrics)
        serve_handle(s, "/metrics", on_metrics, s);
    serve_health_init(s);
    serve_debug_init(s);
    return s;
}

struct serve *serve_free(struct serve *s)
{
    if (!s)
        return NULL;
    httpd_free(s->httpd);
    pemfiles_free(s->tls_files);
    tls_unref(s->tls_ctx);
    vec_foreach(&s->routes, i) {
        free(s->routes.items[i]->path);
        free(s->routes.items[i]);
    }
    vec_foreach(&s->checks, i)
        free(s->checks.items[i].name);
    vec_fini(&s->routes);
    vec_fini(&s->checks);
    vec_fini(&s->settings);
    metrics_free(s->slis);
    free(s->program);
    free(s);
    return NULL;
}

void serve_stream(struct serve *s, struct stream *st, const char *peer)
{
    httpd_serve(s->httpd, st, peer);
}

/* ---- listening ------------------------------------------------------------------------------- */

static int explain_bind(int code, struct kerr *err)
{
    const char *advice = code == -EADDRINUSE ? "another program has this port: choose another one"
                         : code == -EACCES   ? "ports below 1024 need CAP_NET_BIND_SERVICE"
                         : code == -EADDRNOTAVAIL ? "this machine does not have this address"
                                                  : NULL;
    size_t n = strlen(err->text);

    if (advice && n + strlen(advice) + 4 < sizeof err->text)
        (void)snprintf(err->text + n, sizeof err->text - n, " (%s)", advice);
    return code;
}

static int listen_on(struct serve *s, const char *addr, struct tls_ctx *tls, uint16_t *ret_port,
                     struct kerr *err)
{
    uint16_t port = 0;
    int r = httpd_listen(s->httpd, addr, tls, &port, err);

    if (r < 0)
        return explain_bind(r, err);
    KLOG_I(0, "Serving", KV_S("program", s->program), KV_S("address", addr), KV_I("port", port),
           KV_B("tls", tls != NULL));
    if (ret_port)
        *ret_port = port;
    return 0;
}

int serve_listen(struct serve *s, const char *addr, uint16_t *ret_port, struct kerr *err)
{
    return listen_on(s, addr, NULL, ret_port, err);
}

static int tls_use(void *arg, const struct str pem[PEM_FILES], struct kerr *err)
{
    struct serve *s = arg;
    CLEANUP(tls_unref) struct tls_ctx *next = NULL;
    const struct tls_server_opts o = { .cert_pem = pem[PEM_CERT],
                                       .key_pem = pem[PEM_KEY],
                                       .client_ca_pem = pem[PEM_CA],
                                       .ask_client = s->ask_client };

    if (tls_server_new(&o, &next, err) < 0)
        return err->code;
    if (s->tls_ctx)
        httpd_set_tls(s->httpd, next);
    tls_unref(s->tls_ctx);
    s->tls_ctx = take(next);
    return 0;
}

static int tls_prepare(struct serve *s, const struct serve_tls *t, struct kerr *err)
{
    const struct pemfiles_opts files = {
        .files = { [PEM_CERT] = t->cert_file,
                   [PEM_KEY] = t->key_file,
                   [PEM_CA] = t->client_ca_file },
        .what = "serving certificate",
        .use = tls_use,
        .arg = s,
    };
    const struct str pem[PEM_FILES] = { [PEM_CERT] = t->cert_pem, [PEM_KEY] = t->key_pem };

    if (s->tls_ctx)
        return 0;
    s->ask_client = t->ask_client;
    return t->cert_file ? pemfiles_new(s->loop, &files, &s->tls_files, err) : tls_use(s, pem, err);
}

int serve_listen_tls(struct serve *s, const char *addr, const struct serve_tls *tls,
                     uint16_t *ret_port, struct kerr *err)
{
    int r = tls_prepare(s, tls, err);
    return r < 0 ? r : listen_on(s, addr, s->tls_ctx, ret_port, err);
}
