/* kube_http.c - struct kube over HTTP: authentication, limits, retries, watch streams. */
#include "client/kube.h"

#include <stdio.h>

#include "base/klog.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "client/auth.h"
#include "client/bucket.h"
#include "client/kubeconfig.h"
#include "client/lines.h"
#include "client/meter.h"
#include "loop/loop.h"
#include "net/http.h"
#include "net/pemfiles.h"
#include "net/tls.h"
#include "net/url.h"
#include "json/kj.h"

enum {
    RETRIES_MAX = 10,           /* of 429 and 503 with Retry-After, as client-go does */
    LOST_CONN_RETRIES = 2,      /* of requests that certainly reached nobody */
    ERROR_BODY_MAX = 64 * 1024, /* of an answer that is not 2xx */
    LINE_MAX_BYTES = 32 << 20,  /* one watch event */
};
#define ANSWER_MAX      (UINT64_C(512) << 20) /* a page of the largest objects there are */
#define DEFAULT_TIMEOUT (60 * NSEC_PER_SEC)
#define RETRY_AFTER_MAX (120 * NSEC_PER_SEC)

struct kube_http {
    struct kube kube;
    struct http *http, *own_http;
    struct auth *auth; /* NULL: none */
    char *prefix;      /* path of the server URL, without a final slash */
    char *impersonate;
    struct call *calls;
    struct bucket bucket;
    struct pemfiles *files;   /* that may rotate under us */
    char *ca_pem;             /* for new contexts; NULL: the system's */
    char *cert_pem, *key_pem; /* of the configuration itself, not of a file; or NULL */
    bool insecure;
    struct kube_http_stats stats;
    struct rest_meter meter;
};

struct call {
    struct kube_call head;
    struct call *prev, *next;
    enum kube_verb verb;
    char *target, *body;
    size_t body_len;
    const char *content_type, *accept;
    nsec_t begin;    /* when it was asked for */
    nsec_t deadline; /* of all attempts together; NSEC_MAX for a watch */
    nsec_t timeout;  /* of one attempt */
    struct http_call *http;
    struct timer *timer;
    struct strbuf answer;
    nsec_t retry_after;
    int status, retries, lost;
    bool no_retry, waits_auth, auth_retried, is_watch;
    /* Callbacks may cancel: while inside one the call is only marked. */
    bool inside, dead;
    struct lines lines;
    struct kerr stream_err;
    kube_done_fn fn;
    const struct kube_watch_handler *on;
    void *arg;
};

static struct kube_http *self_of(struct kube *k)
{
    return container_of(k, struct kube_http, kube);
}

static struct kube_http *owner(struct call *c)
{
    return self_of(c->head.kube);
}

static void attempt(struct call *c);

/* ---- life of a call ---------------------------------------------------------------------------
 */

static void call_free(struct call *c)
{
    struct kube_http *k = owner(c);
    if (c->prev)
        c->prev->next = c->next;
    else
        k->calls = c->next;
    if (c->next)
        c->next->prev = c->prev;
    timer_cancel(c->timer);
    http_cancel(c->http);
    if (c->waits_auth)
        auth_forget(k->auth, c);
    lines_fini(&c->lines);
    strbuf_fini(&c->answer);
    free(c->target);
    free(c->body);
    free(c);
}

static void call_cancel(struct kube_call *head)
{
    struct call *c = container_of(head, struct call, head);
    c->dead = true;
    c->http = http_cancel(c->http);
    c->timer = timer_cancel(c->timer);
    if (!c->inside)
        call_free(c);
}

/* Hands the result over; the call is gone afterwards. */
static void finish(struct call *c, const struct kerr *err)
{
    c->inside = true;
    if (c->is_watch) {
        c->on->on_end(c->arg, err);
    } else {
        nsec_t took = loop_mono(c->head.kube->loop) - c->begin;
        rest_observe(&owner(c)->meter, METER_DURATION, c->verb, meter_seconds(took));
        struct kube_resp r = { .status = err && !c->status ? 0 : c->status,
                               .retry_after = c->retry_after };
        /* Padding for a parser that works in place. */
        r.body = strbuf_reserve(&c->answer, KJ_PADDING) - c->answer.len;
        r.n = c->answer.len;
        memset(r.body + r.n, 0, KJ_PADDING);
        c->fn(c->arg, &r, err);
    }
    call_free(c);
}

static void finish_later_cb(struct loop *l, void *arg)
{
    struct call *c = arg;
    (void)l;
    c->timer = NULL;
    struct kerr err = c->stream_err;
    finish(c, &err);
}

/* Failures found before anything was sent must not call back from inside the request. */
static void finish_later(struct call *c)
{
    c->timer = loop_after(c->head.kube->loop, 0, finish_later_cb, c);
}

/* ---- waiting: for a retry, for the rate limit, for a credential --------------------------------
 */

static void attempt_timer(struct loop *l, void *arg)
{
    struct call *c = arg;
    (void)l;
    c->timer = NULL;
    attempt(c);
}

static bool retry_in(struct call *c, nsec_t wait)
{
    struct loop *l = c->head.kube->loop;
    if (c->deadline != NSEC_MAX && loop_mono(l) + wait >= c->deadline)
        return false;
    owner(c)->stats.retries++;
    rest_count(&owner(c)->meter, METER_RETRIES, c->verb, c->status);
    strbuf_reset(&c->answer);
    c->status = 0;
    c->retry_after = 0;
    c->timer = loop_after(l, wait, attempt_timer, c);
    return true;
}

/* ---- answers ----------------------------------------------------------------------------------
 */

/* Retry-After in seconds; the HTTP-date form is rare enough to be taken as one second. */
static nsec_t parse_retry_after(struct str v)
{
    int64_t s;
    if (!v.p)
        return 0;
    if (i64_parse(v.p, v.n, &s) < 0 || s < 0)
        return NSEC_PER_SEC;
    return MIN(i64_mul_sat(s, NSEC_PER_SEC), RETRY_AFTER_MAX);
}

static void on_headers(void *arg, const struct http_resp *r)
{
    struct call *c = arg;
    struct str after = http_header_get(&r->headers, "retry-after");
    c->status = r->status;
    c->retry_after = parse_retry_after(after);
    rest_count(&owner(c)->meter, METER_REQUESTS, c->verb, c->status);
    if (!c->is_watch || c->status / 100 != 2 || !c->on->on_open)
        return;
    c->inside = true;
    c->on->on_open(c->arg);
    c->inside = false;
    if (c->dead)
        call_free(c);
}

static bool watch_event(struct call *c, const struct kj_val *root)
{
    static const char *const names[] = { "ADDED", "MODIFIED", "DELETED", "BOOKMARK" };
    const char *type = kj_str_or(kj_get(root, "type"), "");
    const struct kj_val *obj = kj_get(root, "object");

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (!streq(type, names[i]))
            continue;
        c->on->on_event(c->arg, (enum kube_event_type)i, obj);
        return !c->dead;
    }
    if (streq(type, "ERROR")) {
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        kj_write(obj, 0, &text);
        kube_status_err((int)kj_i64_or(kj_get(obj, "code"), 500), strbuf_str(&text), text.len,
                        &c->stream_err);
    } else {
        kerr_set(&c->stream_err, -EPROTO, "watch event of unknown type '%.40s'", type);
    }
    return false;
}

static bool watch_line(void *arg, char *line, size_t n)
{
    struct call *c = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (kj_parse_insitu(line, n, 0, &doc, &c->stream_err) < 0) {
        kerr_wrap(&c->stream_err, "watch event");
        return false;
    }
    return watch_event(c, kj_root(doc));
}

static void watch_data(struct call *c, const char *p, size_t n)
{
    struct kerr err = { 0 };

    c->inside = true;
    int r = lines_feed(&c->lines, p, n, watch_line, c, &err);
    c->inside = false;
    if (c->dead) {
        call_free(c);
        return;
    }
    if (r == 0)
        return;
    if (!c->stream_err.code)
        c->stream_err = err;
    c->http = http_cancel(c->http);
    finish_later(c);
}

static void on_data(void *arg, const char *p, size_t n)
{
    struct call *c = arg;
    if (c->is_watch && c->status / 100 == 2)
        watch_data(c, p, n);
    else if (c->status / 100 == 2 || c->answer.len < ERROR_BODY_MAX)
        strbuf_appendn(&c->answer, p, n);
}

/* An answer other than 2xx: true when it is tried again. */
static bool try_again(struct call *c)
{
    struct kube_http *k = owner(c);
    bool overloaded = c->status == 429 || (c->status >= 500 && c->retry_after > 0);

    if (c->status == 401 && k->auth && !c->auth_retried && auth_rejected(k->auth)) {
        c->auth_retried = true;
        k->stats.token_refreshes++;
        return retry_in(c, 0);
    }
    if (!overloaded || c->no_retry || c->retries >= RETRIES_MAX)
        return false;
    c->retries++;
    return retry_in(c, c->retry_after ? c->retry_after : NSEC_PER_SEC);
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    struct call *c = arg;
    struct kerr e = { 0 };

    c->http = NULL;
    if (err) {
        if (!c->status)
            rest_count(&owner(c)->meter, METER_REQUESTS, c->verb, 0);
        /* A kept-alive connection that the server had closed: nobody saw the request. */
        if (!sent && err->code == -ECONNRESET && c->lost++ < LOST_CONN_RETRIES && retry_in(c, 0))
            return;
        e = *err;
        kerr_wrap(&e, "%s %s", rest_method(c->verb), c->target);
        finish(c, &e);
        return;
    }
    if (!c->is_watch)
        rest_observe(&owner(c)->meter, METER_RESPONSE_SIZE, c->verb, (double)c->answer.len);
    if (c->status / 100 != 2) {
        if (try_again(c))
            return;
        bool explained = kube_status_err(c->status, strbuf_str(&c->answer), c->answer.len, &e);
        /* A Status says what it is about, apart from "Unauthorized"; a proxy's page does not. */
        if (!explained || c->status == 401)
            kerr_wrap(&e, "%s %s", rest_method(c->verb), c->target);
        finish(c, &e);
        return;
    }
    if (c->is_watch && lines_pending(&c->lines) > 0) {
        kerr_set(&e, -ECONNRESET, "watch %s: ended in the middle of an event", c->target);
        finish(c, &e);
        return;
    }
    finish(c, NULL);
}

static const struct http_handler handler = {
    .on_headers = on_headers,
    .on_data = on_data,
    .on_end = on_end,
};

/* ---- sending ----------------------------------------------------------------------------------
 */

static void on_auth(void *arg, const struct kerr *err)
{
    struct call *c = arg;
    c->waits_auth = false;
    if (!err) {
        attempt(c);
        return;
    }
    struct kerr e = *err;
    e.reason = KR_UNAUTHORIZED;
    finish(c, &e);
}

static void check_plugin_cert(struct kube_http *k);

static void attempt(struct call *c)
{
    struct kube_http *k = owner(c);
    struct http_header h[8];
    size_t n = 0;

    if (k->auth && !auth_ready(k->auth, on_auth, c)) {
        c->waits_auth = true;
        return;
    }
    const char *auth = k->auth ? auth_header(k->auth) : NULL;
    check_plugin_cert(k);
    h[n++] = (struct http_header){ STR("accept"), str_of(c->accept) };
    if (c->body)
        h[n++] = (struct http_header){ STR("content-type"), str_of(c->content_type) };
    if (auth)
        h[n++] = (struct http_header){ STR("authorization"), str_of(auth) };
    if (k->impersonate)
        h[n++] = (struct http_header){ STR("impersonate-user"), str_of(k->impersonate) };
    struct http_req r = {
        .method = rest_method(c->verb),
        .target = c->target,
        .headers = { h, n },
        .body = c->body,
        .body_len = c->body_len,
        .timeout = c->timeout,
        .max_body = c->is_watch ? 0 : ANSWER_MAX,
    };
    k->stats.requests++;
    if (!c->is_watch)
        rest_observe(&k->meter, METER_REQUEST_SIZE, c->verb, (double)c->body_len);
    c->http = http_send(k->http, &r, &handler, c);
}

#define PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"

static const char *content_type_of(const struct kube_req *r)
{
    static const char *const types[] = {
        [KUBE_PATCH_MERGE] = "application/merge-patch+json",
        [KUBE_PATCH_JSON] = "application/json-patch+json",
        [KUBE_PATCH_STRATEGIC] = "application/strategic-merge-patch+json",
        [KUBE_PATCH_APPLY] = "application/apply-patch+yaml",
    };
    if (r->protobuf)
        return PROTOBUF_TYPE;
    return r->verb == KUBE_PATCH ? types[r->patch] : "application/json";
}

static const char *accept_of(const struct kube_req *r)
{
    if (r->protobuf && !r->body)
        return PROTOBUF_TYPE ",application/json";
    return r->as_table ? "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
                       : "application/json";
}

static struct call *call_new(struct kube *kube, const struct kube_req *r, void *arg)
{
    struct kube_http *k = self_of(kube);
    struct call *c = xnew0(struct call);
    CLEANUP(strbuf_fini) struct strbuf target = STRBUF_INIT;
    struct loop *l = kube->loop;

    c->head.kube = kube;
    c->arg = arg;
    c->next = k->calls;
    if (c->next)
        c->next->prev = c;
    k->calls = c;
    c->verb = r->verb;
    c->is_watch = r->verb == KUBE_WATCH;
    c->no_retry = r->no_retry;
    c->accept = accept_of(r);
    c->timeout = r->timeout ? r->timeout : DEFAULT_TIMEOUT;
    c->begin = loop_mono(l);
    c->deadline = c->begin + c->timeout;
    nsec_t watch_timeout = 0;
    if (c->is_watch) {
        watch_timeout = r->timeout ? r->timeout : loop_jitter(l, 300 * NSEC_PER_SEC, 1.0);
        /* The server ends the watch; ours is the safety net for a server that does not. */
        c->timeout = watch_timeout + 30 * NSEC_PER_SEC;
        c->deadline = NSEC_MAX;
        lines_init(&c->lines, LINE_MAX_BYTES);
    }
    strbuf_append(&target, str_or(k->prefix, ""));
    if (kube_target(r, watch_timeout, &target, &c->stream_err) < 0) {
        finish_later(c);
        return c;
    }
    c->target = strbuf_take(&target);
    if (r->body) {
        c->body = xmemdup(r->body, r->body_len);
        c->body_len = r->body_len;
        c->content_type = content_type_of(r);
    }
    nsec_t wait = c->is_watch ? 0 : bucket_take(&k->bucket, c->begin);
    if (!c->is_watch)
        rest_observe(&k->meter, METER_LIMITER, c->verb, meter_seconds(wait));
    k->stats.throttled += wait > 0;
    if (wait > 0)
        c->timer = loop_after(l, wait, attempt_timer, c);
    else
        attempt(c);
    return c;
}

static struct kube_call *http_kube_call(struct kube *k, const struct kube_req *r, kube_done_fn fn,
                                        void *arg)
{
    struct call *c = call_new(k, r, arg);
    c->fn = fn;
    return &c->head;
}

static struct kube_call *http_kube_watch(struct kube *k, const struct kube_req *r,
                                         const struct kube_watch_handler *on, void *arg)
{
    struct kube_req as_watch = *r;
    as_watch.verb = KUBE_WATCH;
    struct call *c = call_new(k, &as_watch, arg);
    c->on = on;
    return &c->head;
}

/* ---- birth and death --------------------------------------------------------------------------
 */

static void http_kube_free(struct kube *kube)
{
    struct kube_http *k = self_of(kube);
    while (k->calls)
        call_free(k->calls);
    http_free(k->own_http);
    rest_meter_fini(&k->meter);
    auth_free(k->auth);
    free(k->prefix);
    free(k->impersonate);
    pemfiles_free(k->files);
    free(k->ca_pem);
    free(k->cert_pem);
    free(k->key_pem);
    free(k);
}

static const struct kube_ops ops = { http_kube_call, http_kube_watch, call_cancel, http_kube_free };

static struct kube_http *kube_http_bare(struct loop *l, struct intern *strings)
{
    struct kube_http *k = xnew0(struct kube_http);
    k->kube = (struct kube){ &ops, l, strings };
    k->meter.kube = &k->kube;
    return k;
}

struct kube *kube_http_over(struct loop *l, struct intern *strings, struct http *http)
{
    struct kube_http *k = kube_http_bare(l, strings);
    k->http = http;
    return &k->kube;
}

void kube_http_set_limits(struct kube *kube, double qps, int burst)
{
    bucket_init(&self_of(kube)->bucket, qps, burst, loop_mono(kube->loop));
}

struct kube_http_stats kube_http_stats(const struct kube *kube)
{
    return self_of((struct kube *)(uintptr_t)kube)->stats;
}

/* ---- TLS material, also when its files change ---------------------------------------------------
 */

static char *keep_pem(struct str pem)
{
    return pem.n ? xstrndup(pem.p, pem.n) : NULL;
}

/* Parts that are in no file stay as they are. No connection is dropped. */
static int use_files(void *arg, const struct str pem[PEM_FILES], struct kerr *err)
{
    struct kube_http *k = arg;
    CLEANUP(tls_unref) struct tls_ctx *tls = NULL;
    struct tls_client_opts o = { str_of(k->ca_pem), str_of(k->cert_pem), str_of(k->key_pem),
                                 .insecure = k->insecure };

    o.ca_pem = pem[PEM_CA].n ? pem[PEM_CA] : o.ca_pem;
    o.cert_pem = pem[PEM_CERT].n ? pem[PEM_CERT] : o.cert_pem;
    o.key_pem = pem[PEM_KEY].n ? pem[PEM_KEY] : o.key_pem;
    if (tls_client_new(&o, &tls, err) < 0)
        return err->code;
    http_client_set_tls(k->own_http, tls);
    if (pem[PEM_CA].n) {
        free(k->ca_pem);
        k->ca_pem = keep_pem(pem[PEM_CA]);
    }
    return 0;
}

static void check_plugin_cert(struct kube_http *k)
{
    CLEANUP(tls_unref) struct tls_ctx *tls = NULL;
    struct tls_client_opts o = { .ca_pem = str_of(k->ca_pem), .insecure = k->insecure };
    struct kerr err = { 0 };
    bool changed = false;

    if (!k->own_http || !k->auth)
        return;
    auth_client_cert(k->auth, &o.cert_pem, &o.key_pem, &changed);
    if (!changed)
        return;
    if (tls_client_new(&o, &tls, &err) < 0)
        KLOG_E(&err, "Failed to use the certificate of the credential plugin");
    else
        http_client_set_tls(k->own_http, tls);
}

static int make_tls(struct kube_http *k, const struct kube_config *c, struct tls_ctx **ret,
                    struct kerr *err)
{
    struct tls_client_opts o = { c->ca_pem, c->cert_pem, c->key_pem, .insecure = c->insecure };

    if (tls_client_new(&o, ret, err) < 0)
        return err->code;
    k->insecure = c->insecure;
    k->ca_pem = keep_pem(c->ca_pem);
    k->cert_pem = c->cert_file ? NULL : keep_pem(c->cert_pem);
    k->key_pem = c->key_file ? NULL : keep_pem(c->key_pem);
    return 0;
}

/* The configuration was read from them a moment ago. */
static int watch_files(struct kube_http *k, const struct kube_config *c, struct kerr *err)
{
    const struct pemfiles_opts files = {
        .files = { [PEM_CERT] = c->cert_file, [PEM_KEY] = c->key_file, [PEM_CA] = c->ca_file },
        .what = "client certificate",
        .known = true,
        .use = use_files,
        .arg = k,
    };

    if (!c->cert_file && !c->key_file && !c->ca_file)
        return 0;
    return pemfiles_new(k->kube.loop, &files, &k->files, err);
}

static int set_proxy(const struct kube_config *c, struct arena *a, struct http_client_opts *o,
                     struct kerr *err)
{
    struct url proxy;
    if (str_empty(c->proxy_url))
        return 0;
    if (url_parse(c->proxy_url, a, &proxy, err) < 0)
        return kerr_wrap(err, "proxy-url");
    if (!streq(proxy.scheme, "http"))
        return kerr_set(err, -EINVAL, "proxy-url '%s': only http:// proxies are supported",
                        c->proxy_url);
    o->proxy_host = proxy.host;
    o->proxy_port = proxy.port;
    o->proxy_auth = proxy.user;
    return 0;
}

static char *host_port(const struct url *u)
{
    return xasprintf(strchr(u->host, ':') ? "[%s]:%d" : "%s:%d", u->host, u->port);
}

int kube_http_new(struct loop *l, struct intern *strings, const struct kube_config *c,
                  struct kube **ret, struct kerr *err)
{
    CLEANUP(kube_free) struct kube *kube = &kube_http_bare(l, strings)->kube;
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(tls_unref) struct tls_ctx *tls = NULL;
    struct kube_http *k = self_of(kube);
    struct url url;

    if (url_parse(c->server, a, &url, err) < 0)
        return kerr_wrap(err, "server of context '%s'", str_or(c->context, ""));
    bool is_https = streq(url.scheme, "https");
    if (!is_https && !streq(url.scheme, "http") && !streq(url.scheme, "unix"))
        return kerr_set(err, -EINVAL, "server '%s': expected https://, http:// or unix://",
                        c->server);
    if (is_https && make_tls(k, c, &tls, err) < 0)
        return kerr_wrap(err, "server %s", c->server);
    struct http_client_opts o = {
        .host = streq(url.scheme, "unix") ? "localhost" : url.host,
        .port = url.port,
        .unix_path = streq(url.scheme, "unix") ? url.host : NULL,
        .tls = tls,
        .server_name = c->tls_server_name,
        .user_agent = c->user_agent ? c->user_agent : "koord/" KOORD_VERSION,
    };
    if (set_proxy(c, a, &o, err) < 0)
        return err->code;
    size_t plen = strlen(url.path);
    while (plen > 0 && url.path[plen - 1] == '/')
        plen--;
    k->prefix = xstrndup(url.path, plen);
    k->meter.host = o.unix_path ? xstrdup(o.host) : host_port(&url);
    k->impersonate = c->impersonate_user ? xstrdup(c->impersonate_user) : NULL;
    k->auth = auth_new(l, c);
    k->http = k->own_http = http_client_new(l, &o);
    if (is_https && watch_files(k, c, err) < 0)
        return err->code;
    kube_http_set_limits(kube, c->qps, c->burst);
    *ret = take(kube);
    return 0;
}
