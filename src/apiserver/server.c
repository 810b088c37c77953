/* server.c - the embedded API server as a whole: birth, listening, end. */
#include "apiserver/server.h"

#include "apiserver/admission/quota.h"
#include "apiserver/authn/accounts.h"
#include "apiserver/authn/tokenfile.h"
#include "apiserver/authz/aggregate.h"
#include "apiserver/authz/escalation.h"
#include "apiserver/authz/rbac.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/ranges.h"
#include "apiserver/registry/convert.h"
#include "apiserver/registry/internal.h"
#include "net/httpd.h"

#define DEFAULT_VERSION "v1.35.4+koord"

/* Kinds of alpha versions are not served unless somebody asks, as upstream. */
static void add_resources(struct apiserver *s, bool alpha)
{
    size_t n;
    const struct resource *builtin = builtin_resources(&n);
    for (size_t i = 0; i < n; i++)
        if (alpha || !strstr(builtin[i].version, "alpha"))
            res_table_add(s->resources, &builtin[i], NULL);
    for (const struct resource *r = review_resources; r->kind; r++)
        if (!res_table_find(s->resources, r->group, r->version, r->plural))
            res_table_add(s->resources, r, NULL);
}

int apiserver_new(struct loop *l, const struct apiserver_opts *o, struct apiserver **ret,
                  struct kerr *err)
{
    CLEANUP(apiserver_free) struct apiserver *s = xnew0(struct apiserver);
    int e;

    s->loop = l;
    s->token = o->token ? xstrdup(o->token) : NULL;
    s->anonymous = o->anonymous;
    s->account_mode = o->accounts;
    s->root_ca = o->root_ca ? xstrdup(o->root_ca) : NULL;
    s->version = xstrdup(str_or(o->version, DEFAULT_VERSION));
    s->metrics = api_metrics_new(s);
    s->ranges = ranges_new(s);
    s->conversions = conversions_new(s);
    s->resources = res_table_new();
    add_resources(s, o->alpha_apis);
    e = store_open(l,
                   &(struct store_opts){
                       .path = o->data_file, .ring_bytes = o->ring_bytes, .history = o->history },
                   &s->store, err);
    if (e < 0)
        return e;
    if (o->token_file && (e = tokenfile_load(o->token_file, &s->tokens, err)) < 0)
        return e;
    e = admission_add_builtin(s, o->disabled_admission, o->ndisabled, err);
    if (e < 0)
        return e;
    s->always_allow = o->authorization == 0 || (o->authorization & APISERVER_ALWAYS_ALLOW);
    if (o->authorization & APISERVER_RBAC) {
        s->rbac = rbac_new(s->store);
        escalation_add(s);
    }
    e = accounts_new(s, o->data_file != NULL, &s->accounts, err);
    if (e == 0)
        e = bootstrap(s, o->koordinator, err);
    if (e == 0 && s->rbac)
        e = bootstrap_rbac(s, err);
    if (e == 0 && s->rbac)
        s->aggregate = aggregate_start(s);
    if (e == 0)
        e = crds_start(s, !o->no_crds, &s->crds, err);
    if (e < 0)
        return e;
    quotas_count_all(s->quotas); /* a crash may have parted an object from its account */
    *ret = take(s);
    return 0;
}

struct apiserver *apiserver_free(struct apiserver *s)
{
    if (!s)
        return NULL;
    s->httpd = httpd_free(s->httpd);
    s->crds = crds_stop(s->crds);
    while (s->watches.n) /* of nobody any more: their carriers are gone */
        api_cancel(s->watches.items[0]);
    vec_fini(&s->watches);
    watch_drop_cache(s);
    conversions_stop(s->conversions);
    admission_fini(s);
    s->aggregate = aggregate_stop(s->aggregate);
    s->rbac = rbac_free(s->rbac);
    s->accounts = accounts_free(s->accounts);
    store_close(s->store);
    call_drop_writes(s);
    s->ranges = ranges_free(s->ranges);
    s->conversions = conversions_free(s->conversions);
    res_table_free(s->resources);
    api_metrics_free(s->metrics);
    tokenfile_free(s->tokens);
    free(s->root_ca);
    free(s->token);
    free(s->version);
    free(s);
    return NULL;
}

/* ---- HTTP ---------------------------------------------------------------------------------------
 */

static struct httpd *front(struct apiserver *s)
{
    if (!s->httpd)
        s->httpd = httpd_new(
            s->loop, &(struct httpd_opts){ .max_body = API_BODY_MAX, .tell_too_large = true },
            front_handle, s);
    return s->httpd;
}

static bool is_local(const char *addr)
{
    return str_starts(addr, "unix:") || str_starts(addr, "127.") || str_starts(addr, "[::1]") ||
           str_starts(addr, "localhost:");
}

int apiserver_listen(struct apiserver *s, const char *addr, struct tls_ctx *tls, uint16_t *ret_port,
                     struct kerr *err)
{
    if (!tls && !is_local(addr))
        return kerr_set(err, -EPERM,
                        "listen on %s: without TLS only loopback addresses are allowed", addr);
    uint16_t port = 0;
    int e = httpd_listen(front(s), addr, tls, &port, err);
    if (e < 0)
        return e;
    if (ret_port)
        *ret_port = port;
    return bootstrap_kubernetes(s, addr, port, err);
}

void apiserver_set_tls(struct apiserver *s, struct tls_ctx *tls, const char *root_ca)
{
    free(s->root_ca);
    s->root_ca = root_ca ? xstrdup(root_ca) : NULL;
    httpd_set_tls(front(s), tls);
}

void apiserver_serve(struct apiserver *s, struct stream *st)
{
    httpd_serve(front(s), st, "127.0.0.1:1");
}

void apiserver_stop(struct apiserver *s, nsec_t grace, void (*done)(void *arg), void *arg)
{
    s->stopping = true;
    while (s->watches.n)
        watch_finish(s->watches.items[0]->watch);
    httpd_stop(front(s), grace, done, arg);
}

/* ---- looking in ---------------------------------------------------------------------------------
 */

struct loop *apiserver_loop(const struct apiserver *s)
{
    return s->loop;
}

struct store *apiserver_store(const struct apiserver *s)
{
    return s->store;
}

struct res_table *apiserver_resources(const struct apiserver *s)
{
    return s->resources;
}

const char *apiserver_version(const struct apiserver *s)
{
    return s->version;
}

struct apiserver_stats apiserver_stats(const struct apiserver *s)
{
    struct apiserver_stats st = s->stats;
    st.objects = store_stats(s->store).objects;
    st.list_bytes = s->texts.bytes;
    st.revision = store_revision(s->store);
    return st;
}
