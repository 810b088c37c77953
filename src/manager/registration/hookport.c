/* hookport.c - listener, certificates, and the question to itself. */
#include "manager/registration/hookport.h"

#include "base/klog.h"
#include "loop/loop.h"
#include "manager/registration/certset.h"
#include "net/pemfiles.h"
#include "net/tls.h"

#define ASK_EVERY   (5 * NSEC_PER_SEC)
#define ASK_TIMEOUT (4 * NSEC_PER_SEC)
/* After a failure, and before the first answer. */
#define ASK_SOON (200 * NSEC_PER_MSEC)

struct hookport {
    struct loop *loop;
    struct httpd *httpd;
    struct pemfiles *files;
    struct tls_ctx *tls, *client_tls;
    struct http *client; /* to ourselves */
    struct http_call *call;
    struct timer *timer;
    char *address; /* where it listens, to ask there */
    uint16_t port;
    bool answered;
    struct kerr problem; /* of the last question */
};

static void ask(struct loop *l, void *arg);

/* A new client makes a new connection: the handshake with these certificates is part of the answer.
 * From then on the connection is kept. */
static void ask_anew(struct hookport *p)
{
    p->timer = timer_cancel(p->timer);
    p->call = http_cancel(p->call);
    p->client = http_free(p->client);
    p->client =
        http_client_new(p->loop, &(struct http_client_opts){ .host = p->address,
                                                             .port = p->port,
                                                             .tls = p->client_tls,
                                                             .server_name = "localhost",
                                                             .user_agent = "koord-manager" });
    p->timer = loop_after(p->loop, 0, ask, p);
}

/* ---- certificates ---------------------------------------------------------------------------- */

static int use(void *arg, const struct str pem[PEM_FILES], struct kerr *err)
{
    struct hookport *p = arg;
    CLEANUP(tls_unref) struct tls_ctx *server = NULL, *client = NULL;
    const struct tls_server_opts so = { .cert_pem = pem[PEM_CERT], .key_pem = pem[PEM_KEY] };
    const struct tls_client_opts co = { .ca_pem = pem[PEM_CA], .no_h2 = true };

    if (tls_server_new(&so, &server, err) < 0 || tls_client_new(&co, &client, err) < 0)
        return err->code;
    tls_unref(p->tls);
    tls_unref(p->client_tls);
    p->tls = take(server);
    p->client_tls = take(client);
    httpd_set_tls(p->httpd, p->tls);
    if (p->client)
        ask_anew(p);
    return 0;
}

static int load(struct hookport *p, const char *dir, struct kerr *err)
{
    CLEANUP(mem_free) char *cert = xasprintf("%s/" CERTSET_CERT_FILE, dir);
    CLEANUP(mem_free) char *key = xasprintf("%s/" CERTSET_KEY_FILE, dir);
    CLEANUP(mem_free) char *ca = xasprintf("%s/" CERTSET_CA_FILE, dir);
    const struct pemfiles_opts o = { .files = { [PEM_CERT] = cert, [PEM_KEY] = key, [PEM_CA] = ca },
                                     .what = "webhook certificate",
                                     .use = use,
                                     .arg = p };

    return pemfiles_new(p->loop, &o, &p->files, err);
}

/* ---- the question ---------------------------------------------------------------------------- */

static void on_headers(void *arg, const struct http_resp *r)
{
    (void)r;
    ((struct hookport *)arg)->answered = true;
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    struct hookport *p = arg;

    (void)sent;
    p->call = NULL;
    if (p->answered)
        p->problem = (struct kerr){ 0 };
    else if (err)
        p->problem = *err;
    p->timer = loop_after(p->loop, p->answered ? ASK_EVERY : ASK_SOON, ask, p);
}

static void ask(struct loop *l, void *arg)
{
    static const struct http_handler on = { .on_headers = on_headers, .on_end = on_end };
    struct hookport *p = arg;
    const struct http_req r = {
        .method = "GET", .target = "/healthz", .timeout = ASK_TIMEOUT, .max_body = 1 << 16
    };

    (void)l;
    p->timer = NULL;
    p->answered = false;
    p->call = http_send(p->client, &r, &on, p);
}

int hookport_check(void *hookport, struct kerr *err)
{
    const struct hookport *p = hookport;

    if (p->problem.code == 0)
        return 0;
    *err = p->problem;
    return kerr_wrap(err, "webhook port");
}

/* ---- life ------------------------------------------------------------------------------------ */

int hookport_new(struct loop *l, const struct hookport_opts *o, struct hookport **ret,
                 struct kerr *err)
{
    CLEANUP(hookport_free) struct hookport *p = xnew0(struct hookport);
    const char *address = str_empty(o->address) ? "" : o->address;
    CLEANUP(mem_free)
    char *text = xasprintf(strchr(address, ':') ? "[%s]:%u" : "%s:%u", address, (unsigned)o->port);
    uint16_t port;

    p->loop = l;
    p->httpd = httpd_new(l, &o->http, o->serve, o->arg);
    if (load(p, o->dir, err) < 0 || httpd_listen(p->httpd, text, p->tls, &port, err) < 0)
        return kerr_wrap(err, "webhook port");
    p->address = xstrdup(*address ? address : "127.0.0.1");
    p->port = port;
    kerr_set(&p->problem, -EAGAIN, "not asked yet");
    ask_anew(p);
    KLOG_I(0, "Serving webhooks", KV_S("address", text));
    *ret = take(p);
    return 0;
}

struct hookport *hookport_free(struct hookport *p)
{
    if (!p)
        return NULL;
    timer_cancel(p->timer);
    http_cancel(p->call);
    http_free(p->client);
    pemfiles_free(p->files);
    httpd_free(p->httpd);
    tls_unref(p->tls);
    tls_unref(p->client_tls);
    free(p->address);
    free(p);
    return NULL;
}

void hookport_leave(struct hookport *p)
{
    httpd_leave(p->httpd);
}

void hookport_stop(struct hookport *p, nsec_t grace, void (*done)(void *arg), void *arg)
{
    p->timer = timer_cancel(p->timer);
    p->call = http_cancel(p->call);
    httpd_stop(p->httpd, grace, done, arg);
}
