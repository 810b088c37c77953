/* extender.c - the set of extenders: made from the configuration; who is interested in a pod. */
#include "api/pod.h"
#include "base/arena.h"
#include "base/b64.h"
#include "base/strbuf.h"
#include "net/pemfiles.h"
#include "net/tls.h"
#include "net/url.h"
#include "scheduler/config/config_int.h"
#include "scheduler/extender/extender_int.h"

#define TIMEOUT_DEFAULT (5 * NSEC_PER_SEC)

/* ---- TLS ------------------------------------------------------------------------------------- */

/* What the configuration has itself; NULL: nothing. */
static int keep_data(const char *data, struct arena *a, struct str *ret, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf pem = STRBUF_INIT;

    if (str_empty(data))
        return 0;
    if (b64_decode(data, strlen(data), &pem) < 0)
        return kerr_set(err, -EINVAL, "bad base64 data");
    *ret = (struct str){ arena_strndup(a, pem.data, pem.len), pem.len };
    return 0;
}

static const struct sched_extender_tls *tls_config(const struct extender *e)
{
    static const struct sched_extender_tls none;
    return e->c.tls ? e->c.tls : &none;
}

static int use_files(void *arg, const struct str pem[PEM_FILES], struct kerr *err)
{
    struct extender *e = arg;
    CLEANUP(tls_unref) struct tls_ctx *next = NULL;
    struct str use[PEM_FILES];

    for (int i = 0; i < PEM_FILES; i++)
        use[i] = e->pem[i].n ? e->pem[i] : pem[i];
    struct tls_client_opts o = {
        .ca_pem = use[PEM_CA],
        .cert_pem = use[PEM_CERT],
        .key_pem = use[PEM_KEY],
        /* enableHTTPS without an authority means "encrypt, whoever it is": upstream's rule. */
        .insecure = tls_config(e)->insecure || (e->c.https && use[PEM_CA].n == 0),
    };
    if (tls_client_new(&o, &next, err) < 0)
        return err->code;
    if (e->http)
        http_client_set_tls(e->http, next);
    tls_unref(e->tls);
    e->tls = take(next);
    return 0;
}

/* Data in the configuration wins over a file, as in a kubeconfig. */
static int make_tls(struct extender *e, struct loop *l, struct arena *a, struct kerr *err)
{
    const struct sched_extender_tls *t = tls_config(e);
    struct pemfiles_opts o = {
        .files = { [PEM_CERT] = t->cert_file, [PEM_KEY] = t->key_file, [PEM_CA] = t->ca_file },
        .what = "certificate for an extender",
        .use = use_files,
        .arg = e,
    };

    if (keep_data(t->cert_data, a, &e->pem[PEM_CERT], err) < 0 ||
        keep_data(t->key_data, a, &e->pem[PEM_KEY], err) < 0 ||
        keep_data(t->ca_data, a, &e->pem[PEM_CA], err) < 0)
        return kerr_wrap(err, "tlsConfig");
    for (int i = 0; i < PEM_FILES; i++)
        if (e->pem[i].n)
            o.files[i] = NULL;
    return pemfiles_new(l, &o, &e->files, err) < 0 ? kerr_wrap(err, "tlsConfig") : 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int extender_init(struct extender *e, struct loop *l, const struct extenders_opts *o,
                         struct arena *a, struct kerr *err)
{
    const struct sched_extender *c = &e->c;
    struct url url;

    if (url_parse(c->url_prefix, a, &url, err) < 0)
        return kerr_wrap(err, "urlPrefix");
    bool https = streq(url.scheme, "https");
    if (!https && !streq(url.scheme, "http"))
        return kerr_set(err, -EINVAL, "urlPrefix: '%.128s': expected http:// or https://",
                        c->url_prefix);
    if (https && make_tls(e, l, a, err) < 0)
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
            .tls = e->tls,
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
    for (uint32_t i = 0; i < s->n; i++) {
        http_free(s->items[i].http);
        pemfiles_free(s->items[i].files);
        tls_unref(s->items[i].tls);
    }
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
