/* delegate.c - requests on their way through authentication and authorization, and refusals. */
#include "component/auth/delegate.h"

#include <ctype.h>
#include <sys/queue.h>

#include "base/arena.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "component/options.h"
#include "component/serve.h"
#include "loop/loop.h"
#include "json/kj.h"

struct visit {
    struct delegate *delegate;
    struct httpd_req *r;
    httpd_fn admit;
    void *admit_arg;
    struct arena *arena;
    const char *verb, *path, *user;
    struct authn_wait authn;
    struct authz_wait authz;
    LIST_ENTRY(visit) link;
};

struct delegate {
    struct kube *own[2]; /* clients made here */
    struct authn *authn;
    struct authz *authz;
    LIST_HEAD(, visit) visits;
};

/* ---- flags ----------------------------------------------------------------------------------- */

void delegate_options_add(struct flags *f, struct delegate_options *o)
{
#define O(member) .off = offsetof(struct delegate_options, member)
    static const struct flag table[] = {
        { "authentication-kubeconfig", FLAG_STR, O(authn.kubeconfig),
          .help = "`file` of the cluster that is asked who a client of the secure port is; in a "
                  "pod the service account is used without it" },
        { "authentication-skip-lookup", FLAG_BOOL, O(authn.skip_lookup),
          .help = "do not look up the CAs of clients in the cluster" },
        { "authentication-tolerate-lookup-failure", FLAG_BOOL, O(authn.tolerate), .def = "true",
          .help = "go on when that lookup fails; clients' certificates are not known then" },
        { "authentication-token-webhook-cache-ttl", FLAG_DUR, O(authn.token_ttl), .def = "10s",
          .help = "how long answers about tokens are kept" },
        { "client-ca-file", FLAG_STR, O(authn.client_ca),
          .help = "CA `file` for certificates of clients: the common name is the user, "
                  "organizations are the groups; without it the cluster's" },
        { "requestheader-client-ca-file", FLAG_STR, O(authn.proxy_ca),
          .help = "CA `file` for authenticating proxies; without it the cluster's settings" },
        { "requestheader-allowed-names", FLAG_LIST, O(authn.proxy_names),
          .help = "common names of such proxies; none: any" },
        { "requestheader-username-headers", FLAG_LIST, O(authn.proxy_users), .def = "x-remote-user",
          .help = "headers in which they name the user" },
        { "requestheader-group-headers", FLAG_LIST, O(authn.proxy_groups), .def = "x-remote-group",
          .help = "headers in which they name the groups" },
        { "requestheader-uid-headers", FLAG_LIST, O(authn.proxy_uids),
          .help = "headers in which they name the user's UID" },
        { "requestheader-extra-headers-prefix", FLAG_LIST, O(authn.proxy_extras),
          .def = "x-remote-extra-", .help = "prefixes of their further headers" },
        { "authorization-kubeconfig", FLAG_STR, O(authz.kubeconfig),
          .help = "`file` of the cluster that is asked what a client may do; in a pod the service "
                  "account is used without it" },
        { "authorization-always-allow-paths", FLAG_LIST, O(authz.open_paths),
          .def = "/healthz,/readyz,/livez",
          .help = "paths open to all; a * at the end: all below" },
        { "authorization-webhook-cache-authorized-ttl", FLAG_DUR, O(authz.allowed_ttl),
          .def = "10s", .help = "how long a permission is kept" },
        { "authorization-webhook-cache-unauthorized-ttl", FLAG_DUR, O(authz.refused_ttl),
          .def = "10s", .help = "how long a refusal is kept" },
    };
#undef O
    flags_add(f, "Secure port flags", table, ARRAY_LEN(table), o);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* The kubeconfig, or the service account; *ret stays NULL when there is neither. */
static int make_client(struct loop *l, struct intern *strings, const char *kubeconfig,
                       const struct client_env *env, const char *agent, struct kube **ret,
                       struct kerr *err)
{
    const struct client_options o = { .kubeconfig = kubeconfig };
    const struct client_env pod = { .service_host = env->service_host,
                                    .service_port = env->service_port };

    if (!*kubeconfig && str_empty(env->service_host))
        return 0;
    return client_options_kube(&o, &pod, l, strings, agent, ret, err);
}

static int init(struct delegate *d, struct loop *l, struct kube *authn, struct kube *authz,
                const struct delegate_options *o, void (*failed)(void *arg, const struct kerr *err),
                void *arg, struct kerr *err)
{
    int r = authz_new(authz, &o->authz, &d->authz, err);

    if (r < 0)
        return kerr_wrap(err, "--authorization-always-allow-paths");
    r = authn_new(l, authn, &o->authn, failed, arg, &d->authn, err);
    return r < 0 ? kerr_wrap(err, "client CA") : 0;
}

int delegate_new(struct loop *l, struct intern *strings, const struct delegate_options *o,
                 const struct client_env *env, const char *agent,
                 void (*failed)(void *arg, const struct kerr *err), void *arg,
                 struct delegate **ret, struct kerr *err)
{
    CLEANUP(delegate_free) struct delegate *d = xnew0(struct delegate);

    int r = make_client(l, strings, o->authn.kubeconfig, env, agent, &d->own[0], err);
    if (r < 0)
        return kerr_wrap(err, "--authentication-kubeconfig");
    r = make_client(l, strings, o->authz.kubeconfig, env, agent, &d->own[1], err);
    if (r < 0)
        return kerr_wrap(err, "--authorization-kubeconfig");
    if (!d->own[0])
        KLOG_W("No --authentication-kubeconfig: the secure port ignores bearer tokens");
    if (!d->own[1])
        KLOG_W("No --authorization-kubeconfig: the secure port serves open paths only");
    r = init(d, l, d->own[0], d->own[1], o, failed, arg, err);
    if (r < 0)
        return r;
    *ret = take(d);
    return 0;
}

void delegate_set_meter(struct delegate *d, struct meter *m)
{
    for (size_t i = 0; i < ARRAY_LEN(d->own); i++)
        if (d->own[i])
            d->own[i]->meter = m;
}

int delegate_over(struct loop *l, struct kube *authn, struct kube *authz,
                  const struct delegate_options *o, struct delegate **ret, struct kerr *err)
{
    CLEANUP(delegate_free) struct delegate *d = xnew0(struct delegate);
    int r = init(d, l, authn, authz, o, NULL, NULL, err);

    if (r < 0)
        return r;
    *ret = take(d);
    return 0;
}

static void visit_free(struct visit *v)
{
    LIST_REMOVE(v, link);
    authn_cancel(&v->authn);
    authz_cancel(&v->authz);
    arena_free(v->arena);
    free(v);
}

struct delegate *delegate_free(struct delegate *d)
{
    struct visit *v;

    if (!d)
        return NULL;
    while ((v = LIST_FIRST(&d->visits)))
        visit_free(v);
    authn_free(d->authn);
    authz_free(d->authz);
    kube_free(d->own[0]);
    kube_free(d->own[1]);
    free(d);
    return NULL;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* People who look with their own eyes get it indented. */
static bool likes_pretty(const struct httpd_req *r)
{
    struct str agent = httpd_header(r, "user-agent");
    static const char *const people[] = { "curl", "Wget", "Mozilla/5.0" };

    for (size_t i = 0; i < ARRAY_LEN(people); i++)
        if (agent.n >= strlen(people[i]) && memcmp(agent.p, people[i], strlen(people[i])) == 0)
            return true;
    return false;
}

/* A metav1.Status. */
static void refuse(struct httpd_req *r, int status, const char *reason, const char *message)
{
    static const struct http_header headers[] = {
        { STR("cache-control"), STR("no-cache, private") },
        { STR("content-type"), STR("application/json") },
        { STR("x-content-type-options"), STR("nosniff") },
    };
    CLEANUP(kj_mdoc_free) struct kj_mdoc *doc = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kj_mval *s = kj_mobj(doc);

    kj_mset(doc, s, "kind", kj_mstr(doc, "Status"));
    kj_mset(doc, s, "apiVersion", kj_mstr(doc, "v1"));
    kj_mset(doc, s, "metadata", kj_mobj(doc));
    kj_mset(doc, s, "status", kj_mstr(doc, "Failure"));
    kj_mset(doc, s, "message", kj_mstr(doc, message));
    kj_mset(doc, s, "reason", kj_mstr(doc, reason));
    if (status == 403)
        kj_mset(doc, s, "details", kj_mobj(doc));
    kj_mset(doc, s, "code", kj_mi64(doc, status));
    bool pretty = likes_pretty(r);
    kj_mwrite(s, pretty ? KJ_PRETTY : 0, &body);
    if (!pretty)
        strbuf_appendc(&body, '\n');
    httpd_respond(r, status, headers, ARRAY_LEN(headers), false);
    httpd_write(r, body.data, body.len);
    httpd_end(r);
}

static void answer_forbidden(const struct visit *v, struct httpd_req *r, const char *why)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    strbuf_append(&text, "forbidden: User ");
    strbuf_append_quoted(&text, v->user, strlen(v->user));
    strbuf_appendf(&text, " cannot %s path ", v->verb);
    strbuf_append_quoted(&text, v->path, strlen(v->path));
    if (*why)
        strbuf_appendf(&text, ": %s", why);
    refuse(r, 403, "Forbidden", strbuf_str(&text));
}

static void answer_unknown(const struct visit *v, struct httpd_req *r, const char *why)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    strbuf_append(&text, "Internal Server Error: ");
    strbuf_append_quoted(&text, v->path, strlen(v->path));
    strbuf_appendf(&text, ": %s\n", why);
    httpd_reply(r, 500, "text/plain; charset=utf-8", text.data, text.len);
}

/* ---- the way through ------------------------------------------------------------------------- */

static void on_verdict(void *arg, enum authz_verdict verdict, const char *why)
{
    static const struct httpd_events none = { 0 };
    struct visit *v = arg;
    struct httpd_req *r = v->r;

    httpd_set_events(r, &none, NULL);
    if (verdict == AUTHZ_ALLOWED) {
        v->admit(v->admit_arg, r);
    } else if (verdict == AUTHZ_REFUSED) {
        KLOG_I(4, "Forbidden", KV_S("user", v->user), KV_S("verb", v->verb), KV_S("path", v->path));
        answer_forbidden(v, r, why);
    } else {
        KLOG_W("Failed to find out whether a request is allowed", KV_S("err", why),
               KV_S("user", v->user), KV_S("path", v->path));
        answer_unknown(v, r, why);
    }
    visit_free(v);
}

static void on_user(void *arg, const struct authn_user *user, const struct kerr *err)
{
    static const struct httpd_events none = { 0 };
    struct visit *v = arg;

    if (user) {
        v->user = arena_strdup(v->arena, user->name);
        authz_ask(v->delegate->authz, user, v->verb, v->path, &v->authz);
        return;
    }
    KLOG_E(err, "Unable to authenticate the request", KV_S("peer", httpd_peer(v->r)));
    httpd_set_events(v->r, &none, NULL);
    refuse(v->r, 401, "Unauthorized", "Unauthorized");
    visit_free(v);
}

static void on_close(void *arg)
{
    visit_free(arg);
}

void delegate_guard(void *delegate, struct httpd_req *r, httpd_fn admit, void *admit_arg)
{
    static const struct httpd_events events = { .on_close = on_close };
    struct delegate *d = delegate;
    struct visit *v = xnew0(struct visit);

    *v = (struct visit){ .delegate = d, .r = r, .admit = admit, .admit_arg = admit_arg };
    v->arena = arena_new_sized(512);
    v->path = serve_path(r, v->arena); /* what is asked about is what is served */
    char *verb = arena_strdup(v->arena, httpd_method(r));
    for (char *c = verb; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    v->verb = verb;
    v->authn = (struct authn_wait){ on_user, v, NULL };
    v->authz = (struct authz_wait){ on_verdict, v, NULL };
    LIST_INSERT_HEAD(&d->visits, v, link);
    if (!v->path) {
        serve_text(r, 400, "malformed path");
        visit_free(v);
        return;
    }
    httpd_set_events(r, &events, v);
    authn_ask(d->authn, r, &v->authn);
}
