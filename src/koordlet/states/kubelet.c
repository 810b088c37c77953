/* kubelet.c - HTTP to the kubelet: connection, credentials, one more try after a 401. */
#include "koordlet/states/kubelet.h"

#include <stdio.h>

#include "base/klog.h"
#include "client/auth.h"
#include "client/kubeconfig.h"
#include "component/metrics.h"
#include "loop/loop.h"
#include "net/pemfiles.h"
#include "net/tls.h"

enum { ANSWER_MAX = 64 << 20 };

struct kubelet_call {
    struct kubelet *k;
    struct kubelet_call *next, *prev;
    const char *path;
    const struct kubelet_handler *on;
    void *arg;
    struct http_call *http;
    struct timer *timer; /* the end, or another attempt, in a later turn */
    struct kerr err;     /* why it ends */
    nsec_t sent_at;
    int status;
    bool retried, waits_auth;
};

struct kubelet {
    struct kubelet_opts o;
    struct auth *auth; /* NULL: nobody */
    struct http *http; /* NULL: not aimed */
    char *address;
    uint16_t port;
    struct tls_ctx *tls;
    struct pemfiles *files; /* of the client certificate; NULL: in no file */
    struct kubelet_call *calls;
    struct metric *duration;
};

static const double duration_buckets[] = { 0.001, 0.004, 0.016, 0.064, 0.256, 1.024, 4.096 };
static const struct metric_desc duration_desc = {
    .name = "koordlet_kubelet_request_duration_seconds",
    .help = "How long the kubelet took to begin its answers.",
    .type = METRIC_HISTOGRAM,
    .labels = { "verb", "path", "code" },
    .buckets = duration_buckets,
    .nbuckets = ARRAY_LEN(duration_buckets),
};

/* ---- certificates ---------------------------------------------------------------------------- */

static bool has_files(const struct kube_config *c)
{
    return c && c->cert_file && c->key_file;
}

/* The client certificate of the configuration, as its files are now; else the plugin's. */
static int tls_use(void *arg, const struct str pem[PEM_FILES], struct kerr *err)
{
    struct kubelet *k = arg;
    const struct kube_config *c = k->o.config;
    struct tls_client_opts o = { .cert_pem = pem[PEM_CERT],
                                 .key_pem = pem[PEM_KEY],
                                 .insecure = true };
    struct tls_ctx *tls = NULL;
    bool changed;

    if (o.cert_pem.n == 0 && c && c->cert_pem.n > 0) {
        o.cert_pem = c->cert_pem;
        o.key_pem = c->key_pem;
    } else if (o.cert_pem.n == 0 && k->auth) {
        auth_client_cert(k->auth, &o.cert_pem, &o.key_pem, &changed);
    }
    if (tls_client_new(&o, &tls, err) < 0)
        return err->code;
    tls_unref(k->tls);
    k->tls = tls;
    if (k->http)
        http_client_set_tls(k->http, tls);
    return 0;
}

/* With what the files hold now. */
static int tls_make(struct kubelet *k, struct kerr *err)
{
    const struct kube_config *c = k->o.config;
    struct pemfiles_opts o = { .what = "client certificate for the kubelet",
                               .use = tls_use,
                               .arg = k };

    if (has_files(c)) {
        o.files[PEM_CERT] = c->cert_file;
        o.files[PEM_KEY] = c->key_file;
    }
    k->files = pemfiles_free(k->files);
    return pemfiles_new(k->o.loop, &o, &k->files, err);
}

/* Plugins hand out new certificates. */
static void tls_check(struct kubelet *k)
{
    static const struct str none[PEM_FILES];
    struct kerr err = { 0 };
    struct str cert, key;
    bool changed = false;

    if (k->o.insecure || k->o.dial || !k->o.config || has_files(k->o.config))
        return;
    auth_client_cert(k->auth, &cert, &key, &changed);
    if (changed && tls_use(k, none, &err) < 0)
        KLOG_E(&err, "Failed to use the certificate of the credential plugin");
}

/* ---- one call -------------------------------------------------------------------------------- */

static void call_free(struct kubelet_call *c)
{
    if (c->waits_auth)
        auth_forget(c->k->auth, c);
    http_cancel(c->http);
    timer_cancel(c->timer);
    if (c->next)
        c->next->prev = c->prev;
    if (c->prev)
        c->prev->next = c->next;
    else
        c->k->calls = c->next;
    free(c);
}

struct kubelet_call *kubelet_cancel(struct kubelet_call *c)
{
    if (c)
        call_free(c);
    return NULL;
}

static void finish(struct kubelet_call *c, const struct kerr *err)
{
    const struct kubelet_handler *on = c->on;
    struct kerr copy = err ? *err : (struct kerr){ 0 };
    void *arg = c->arg;

    call_free(c);
    on->on_end(arg, err ? &copy : NULL);
}

static void finish_timer(struct loop *l, void *arg)
{
    struct kubelet_call *c = arg;

    (void)l;
    c->timer = NULL;
    finish(c, &c->err);
}

static void call_url(const struct kubelet_call *c, char *buf, size_t size)
{
    (void)snprintf(buf, size, "%s://%s:%u%s", c->k->o.insecure ? "http" : "https", c->k->address,
                   c->k->port, c->path);
}

static void attempt(struct kubelet_call *c);

static void attempt_timer(struct loop *l, void *arg)
{
    struct kubelet_call *c = arg;

    (void)l;
    c->timer = NULL;
    attempt(c);
}

static void on_headers(void *arg, const struct http_resp *r)
{
    struct kubelet_call *c = arg;
    char code[12];

    c->status = r->status;
    (void)snprintf(code, sizeof code, "%d", r->status);
    if (c->k->duration)
        histogram_observe(metric_histogram(c->k->duration, METRIC_VALUES("get", c->path, code)),
                          (double)(loop_stopwatch(c->k->o.loop) - c->sent_at) /
                              (double)NSEC_PER_SEC);
}

static void on_data(void *arg, const char *p, size_t n)
{
    struct kubelet_call *c = arg;
    if (c->status == 200)
        c->on->on_data(c->arg, p, n);
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    struct kubelet_call *c = arg;
    struct kerr e = { 0 };
    char url[160];

    (void)sent;
    c->http = NULL;
    if (!err && c->status == 200) {
        finish(c, NULL);
        return;
    }
    if (!err && c->status == 401 && c->k->auth && !c->retried && auth_rejected(c->k->auth)) {
        c->retried = true;
        c->timer = loop_after(c->k->o.loop, 0, attempt_timer, c);
        return;
    }
    call_url(c, url, sizeof url);
    if (err) {
        e = *err;
        kerr_wrap(&e, "request %s failed", url);
    } else {
        kerr_set(&e, -EPROTO, "request %s failed, code %d", url, c->status);
    }
    finish(c, &e);
}

static const struct http_handler handler = {
    .on_headers = on_headers,
    .on_data = on_data,
    .on_end = on_end,
};

static void on_auth(void *arg, const struct kerr *err)
{
    struct kubelet_call *c = arg;

    c->waits_auth = false;
    if (err)
        finish(c, err);
    else
        attempt(c);
}

static void attempt(struct kubelet_call *c)
{
    struct kubelet *k = c->k;
    struct http_header h[2] = { { STR("accept"), STR("application/json") } };
    size_t n = 1;

    if (k->auth && !auth_ready(k->auth, on_auth, c)) {
        c->waits_auth = true;
        return;
    }
    tls_check(k);
    const char *auth = k->auth ? auth_header(k->auth) : NULL;
    if (auth)
        h[n++] = (struct http_header){ STR("authorization"), str_of(auth) };
    struct http_req r = {
        .method = "GET",
        .target = c->path,
        .headers = { h, n },
        .timeout = k->o.timeout,
        .max_body = ANSWER_MAX,
    };
    c->status = 0;
    c->sent_at = loop_stopwatch(k->o.loop);
    c->http = http_send(k->http, &r, &handler, c);
}

struct kubelet_call *kubelet_get(struct kubelet *k, const char *path,
                                 const struct kubelet_handler *on, void *arg)
{
    struct kubelet_call *c = xnew0(struct kubelet_call);

    assert(k->http);
    *c = (struct kubelet_call){ .k = k, .path = path, .on = on, .arg = arg, .next = k->calls };
    if (c->next)
        c->next->prev = c;
    k->calls = c;
    attempt(c);
    return c;
}

/* ---- the kubelet ----------------------------------------------------------------------------- */

struct kubelet *kubelet_new(const struct kubelet_opts *o)
{
    struct kubelet *k = xnew0(struct kubelet);

    k->o = *o;
    if (o->config && !o->insecure)
        k->auth = auth_new(o->loop, o->config);
    if (o->metrics)
        k->duration = metrics_add(o->metrics, &duration_desc);
    return k;
}

struct kubelet *kubelet_free(struct kubelet *k)
{
    if (!k)
        return NULL;
    while (k->calls)
        call_free(k->calls);
    pemfiles_free(k->files);
    http_free(k->http);
    tls_unref(k->tls);
    auth_free(k->auth);
    free(k->address);
    free(k);
    return NULL;
}

bool kubelet_is_aimed(const struct kubelet *k)
{
    return k->http != NULL;
}

/* Their connections go away; each is told in a later turn. */
static void calls_fail(struct kubelet *k)
{
    for (struct kubelet_call *c = k->calls; c; c = c->next) {
        if (c->waits_auth)
            auth_forget(k->auth, c);
        c->waits_auth = false;
        c->http = http_cancel(c->http);
        timer_cancel(c->timer);
        kerr_set(&c->err, -ECONNABORTED, "the address of the kubelet changed");
        c->timer = loop_after(k->o.loop, 0, finish_timer, c);
    }
}

int kubelet_aim(struct kubelet *k, const char *address, uint16_t port, struct kerr *err)
{
    if (k->http && k->port == port && streq(k->address, address))
        return 0;
    if (!k->o.insecure && !k->o.dial && tls_make(k, err) < 0)
        return err->code;
    struct http_client_opts o = {
        .host = address,
        .port = port,
        .tls = k->tls,
        .user_agent = "koordlet",
        .max_conns = 2,
        .connect_timeout = k->o.timeout,
        .no_gzip = true, /* the way is short */
        .dial = k->o.dial,
        .dial_arg = k->o.dial_arg,
    };
    calls_fail(k);
    http_free(k->http);
    k->http = http_client_new(k->o.loop, &o);
    free(k->address);
    k->address = xstrdup(address);
    k->port = port;
    return 0;
}
