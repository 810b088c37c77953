/* extender.c - the set of extenders: made from the configuration; who is interested in a pod. */
#include "api/pod.h"
#include "base/arena.h"
#include "base/b64.h"
#include "base/strbuf.h"
#include "net/tls.h"
#include "net/url.h"
#include "scheduler/config/config_int.h"
#include "scheduler/extender/extender_int.h"
#include "sys/file.h"

enum { PEM_MAX = 1 << 20 };
#define TIMEOUT_DEFAULT (5 * NSEC_PER_SEC)

/* ---- TLS ------------------------------------------------------------------------------------- */

/* Data in the configuration wins over a file, as in a kubeconfig. */
static int read_pem(const char *data, const char *file, struct strbuf *out, struct kerr *err)
{
    if (!str_empty(data))
        return b64_decode(data, strlen(data), out) < 0
                   ? kerr_set(err, -EINVAL, "tlsConfig: bad base64 data")
                   : 0;
    if (!str_empty(file) && file_read_all(AT_FDCWD, file, PEM_MAX, out, err) < 0)
        return kerr_wrap(err, "tlsConfig");
    return 0;
}

static int make_tls(const struct sched_extender *c, struct tls_ctx **ret, struct kerr *err)
{
    static const struct sched_extender_tls none;
    const struct sched_extender_tls *t = c->tls ? c->tls : &none;
    CLEANUP(strbuf_fini) struct strbuf ca = STRBUF_INIT, cert = STRBUF_INIT, key = STRBUF_INIT;

    int r = read_pem(t->ca_data, t->ca_file, &ca, err);
    if (r == 0)
        r = read_pem(t->cert_data, t->cert_file, &cert, err);
    if (r == 0)
        r = read_pem(t->key_data, t->key_file, &key, err);
    if (r < 0)
        return r;
    struct tls_client_opts o = {
        .ca_pem = { ca.data, ca.len },
        .cert_pem = { cert.data, cert.len },
        .key_pem = { key.data, key.len },
        /* enableHTTPS without an authority means "encrypt, whoever it is": upstream's rule. */
        .insecure = t->insecure || (c->https && ca.len == 0),
    };
    return tls_client_new(&o, ret, err);
}

/* ---- life ------------------------------------------------------------------------------------ */

static int extender_init(struct extender *e, struct loop *l, const struct extenders_opts *o,
                         struct arena *a, struct kerr *err)
{
    const struct sched_extender *c = &e->c;
    CLEANUP(tls_unref) struct tls_ctx *tls = NULL;
    struct url url;

    if (url_parse(c->url_prefix, a, &url, err) < 0)
        return kerr_wrap(err, "urlPrefix");
    bool https = streq(url.scheme, "https");
    if (!https && !streq(url.scheme, "http"))
        return kerr_set(err, -EINVAL, "urlPrefix: '%.128s': expected http:// or https://",
                        c->url_prefix);
    if (https && make_tls(c, &tls, err) < 0)
        return err->code;
    size_t n = strlen(c->url_prefix), path = strlen(url.path);
    while (n > 0 && c->url_prefix[n - 1] == '/')
        n--;
    while (path > 0 && url.path[path - 1] == '/')
        path--;
    e->url = arena_strndup(a, c->url_prefix, n);
    e->path = arena_strndup(a, url.path, path);
    e->verbs[EXTENDER_FILTER] = c->filter_verb;
    e->verbs[EXTENDER_PRIORITIZE] = c->prioritize_verb;
    e->verbs[EXTENDER_PREEMPT] = c->preempt_verb;
    e->verbs[EXTENDER_BIND] = c->bind_verb;
    e->c.timeout = c->timeout ? c->timeout : TIMEOUT_DEFAULT;
    e->http = http_client_new(
        l,
        &(struct http_client_opts){
            .host = url.host,
            .port = url.port,
            .tls = tls,
            .server_name = c->tls && !str_empty(c->tls->server_name) ? c->tls->server_name : NULL,
            .user_agent = "koord-scheduler/" KOORD_VERSION,
            .dial = o->dial,
            .dial_arg = o->dial_arg,
        });
    return 0;
}

int extenders_new(struct loop *l, const struct extenders_opts *o, struct extenders **ret,
                  struct kerr *err)
{
    *ret = NULL;
    if (o->n == 0)
        return 0;
    CLEANUP(extenders_unref) struct extenders *s = xnew0(struct extenders);
    s->refs = 1;
    s->arena = arena_new();
    s->items = arena_newn0(s->arena, o->n, struct extender);
    for (size_t i = 0; i < o->n; i++) {
        struct extender *e = &s->items[s->n++];
        kj_copy(&sched_extender_schema, &o->items[i], s->arena, &e->c);
        if (extender_init(e, l, o, s->arena, err) < 0)
            return kerr_wrap(err, "extenders[%zu]", i);
    }
    *ret = take(s);
    return 0;
}

struct extenders *extenders_ref(struct extenders *s)
{
    if (s)
        s->refs++;
    return s;
}

struct extenders *extenders_unref(struct extenders *s)
{
    if (!s || --s->refs > 0)
        return NULL;
    for (uint32_t i = 0; i < s->n; i++)
        http_free(s->items[i].http);
    arena_free(s->arena);
    free(s);
    return NULL;
}

/* ---- interest -------------------------------------------------------------------------------- */

static bool uses(const containerlist *l, const char *resource)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (reslist_has(&l->items[i].resources.requests, resource) ||
            reslist_has(&l->items[i].resources.limits, resource))
            return true;
    return false;
}

bool extender_serves(const struct extender *e, enum extender_verb verb, const struct pod *p)
{
    if (str_empty(e->verbs[verb]))
        return false;
    for (uint32_t i = 0; i < e->c.managed.n; i++)
        if (uses(&p->spec->containers, e->c.managed.items[i].name) ||
            uses(&p->spec->init_containers, e->c.managed.items[i].name))
            return true;
    return e->c.managed.n == 0;
}

struct extender *extenders_first(const struct extenders *s, enum extender_verb verb,
                                 const struct pod *p)
{
    for (uint32_t i = 0; s && i < s->n; i++)
        if (extender_serves(&s->items[i], verb, p))
            return &s->items[i];
    return NULL;
}

bool extender_is_ignorable(const struct extender *e)
{
    return e->c.ignorable;
}
