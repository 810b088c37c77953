/* authn_trust.c - the certificates that vouch for clients and proxies: files, or the ConfigMap that
 * the API server publishes for programs like ours.
 */
#include <ctype.h>

#include "api/core.h"
#include "base/arena.h"
#include "base/klog.h"
#include "client/informer.h"
#include "client/kube.h"
#include "component/auth/authn_int.h"
#include "loop/loop.h"
#include "net/pemfiles.h"
#include "net/tls.h"
#include "json/kj.h"

#define LOOKUP_NS    "kube-system"
#define LOOKUP_NAME  "extension-apiserver-authentication"
#define LOOKUP_LIMIT (10 * NSEC_PER_SEC)

struct authn_trust {
    struct loop *loop;
    const struct authn_options *o;
    struct tls_trust *clients;
    struct proxy_rules *proxies;
    struct pemfiles *files;
    struct informer *lookup; /* NULL: nothing is looked up */
    struct timer *late;
    void (*failed)(void *arg, const struct kerr *err);
    void *arg;
};

static struct proxy_rules *rules_free(struct proxy_rules *p)
{
    if (!p)
        return NULL;
    tls_trust_free(p->trust);
    arena_free(p->arena);
    free(p);
    return NULL;
}
DEFINE_CLEANUP(rules_free, struct proxy_rules *)

static struct proxy_rules *rules_new(void)
{
    struct proxy_rules *p = xnew0(struct proxy_rules);
    p->arena = arena_new_sized(512);
    return p;
}

static const char *lower(const char *s, struct arena *a)
{
    char *copy = arena_strdup(a, s);

    for (char *c = copy; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return copy;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int make_trust(struct str pem, const char *path, struct tls_trust **ret, struct kerr *err)
{
    return tls_trust_new(pem, ret, err) < 0 ? kerr_wrap(err, "%s", path) : 0;
}

static struct flag_list headers_of(const struct flag_list *in, struct arena *a)
{
    struct flag_list out = { arena_newn0(a, in->n, const char *), in->n };

    for (size_t i = 0; i < in->n; i++)
        out.items[i] = lower(in->items[i], a);
    return out;
}

static int use_files(void *arg, const struct str pem[PEM_FILES], struct kerr *err)
{
    struct authn_trust *t = arg;
    const struct authn_options *o = t->o;
    CLEANUP(tls_trust_free) struct tls_trust *clients = NULL;
    CLEANUP(rules_free) struct proxy_rules *proxies = NULL;

    int r = *o->client_ca ? make_trust(pem[PEM_CA], o->client_ca, &clients, err) : 0;
    if (r == 0 && *o->proxy_ca) {
        proxies = rules_new();
        r = make_trust(pem[PEM_OTHER_CA], o->proxy_ca, &proxies->trust, err);
    }
    if (r < 0)
        return r;
    if (clients) {
        tls_trust_free(t->clients);
        t->clients = take(clients);
    }
    if (proxies) {
        proxies->names = o->proxy_names;
        proxies->users = headers_of(&o->proxy_users, proxies->arena);
        proxies->groups = headers_of(&o->proxy_groups, proxies->arena);
        proxies->uids = headers_of(&o->proxy_uids, proxies->arena);
        proxies->extras = headers_of(&o->proxy_extras, proxies->arena);
        rules_free(t->proxies);
        t->proxies = take(proxies);
    }
    return 0;
}

/* ---- the ConfigMap --------------------------------------------------------------------------- */

/* A JSON array of strings under this key; absent is empty. */
static int read_list(const struct configmap *m, const char *key, bool headers, struct arena *a,
                     struct flag_list *ret, struct kerr *err)
{
    const char *text = kstrmap_get(&m->data, key);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (str_empty(text))
        return 0;
    if (kj_parse(text, strlen(text), 0, &doc, err) < 0)
        return kerr_wrap(err, "%s", key);
    const struct kj_val *list = kj_root(doc);
    if (kj_type(list) != KJ_ARR && kj_type(list) != KJ_NULL) /* no names would mean: any */
        return kerr_set(err, -EINVAL, "%s: a list of strings is expected", key);
    size_t n = kj_len(list);
    ret->items = arena_newn0(a, n, const char *);
    for (size_t i = 0; i < n; i++) {
        const char *word = kj_str(kj_at(list, i));
        if (!word)
            return kerr_set(err, -EINVAL, "%s: a list of strings is expected", key);
        ret->items[ret->n++] = headers ? lower(word, a) : arena_strdup(a, word);
    }
    return 0;
}

/* *ret stays NULL when the ConfigMap names no CA for proxies. */
static int read_proxies(const struct configmap *m, struct proxy_rules **ret, struct kerr *err)
{
    CLEANUP(rules_free) struct proxy_rules *p = rules_new();
    const char *pem = kstrmap_get(&m->data, "requestheader-client-ca-file");
    const struct {
        const char *key;
        bool headers;
        struct flag_list *to;
    } lists[] = {
        { "requestheader-allowed-names", false, &p->names },
        { "requestheader-username-headers", true, &p->users },
        { "requestheader-group-headers", true, &p->groups },
        { "requestheader-uid-headers", true, &p->uids },
        { "requestheader-extra-headers-prefix", true, &p->extras },
    };

    if (str_empty(pem))
        return 0;
    int r = tls_trust_new(str_of(pem), &p->trust, err);
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(lists); i++)
        r = read_list(m, lists[i].key, lists[i].headers, p->arena, lists[i].to, err);
    if (r == 0)
        *ret = take(p);
    return r;
}

static int apply(struct authn_trust *t, const struct configmap *m, struct kerr *err)
{
    CLEANUP(tls_trust_free) struct tls_trust *clients = NULL;
    CLEANUP(rules_free) struct proxy_rules *proxies = NULL;
    const char *pem = m ? kstrmap_get(&m->data, "client-ca-file") : NULL;
    int r = 0;

    if (!str_empty(pem))
        r = tls_trust_new(str_of(pem), &clients, err);
    if (r == 0 && m)
        r = read_proxies(m, &proxies, err);
    if (r < 0)
        return r;
    if (!*t->o->client_ca) { /* a file that was given counts more */
        tls_trust_free(t->clients);
        t->clients = take(clients);
    }
    if (!*t->o->proxy_ca) {
        rules_free(t->proxies);
        t->proxies = take(proxies);
    }
    return 0;
}

static void on_add(void *arg, struct kobj *o)
{
    struct kerr err = { 0 };

    if (apply(arg, container_of(o, struct configmap, obj), &err) < 0)
        KLOG_E(&err, "Failed to load the cluster's client CA, keeping the old one",
               KV_S("configmap", LOOKUP_NS "/" LOOKUP_NAME));
}

static void on_update(void *arg, struct kobj *before, struct kobj *o)
{
    (void)before;
    on_add(arg, o);
}

static void on_delete(void *arg, struct kobj *o)
{
    struct kerr unread;

    (void)o;
    (void)apply(arg, NULL, &unread);
}

static void lookup_failed(struct authn_trust *t, const char *why)
{
    struct kerr err = { 0 };

    kerr_set(&err, -ENOENT, "look up configmap " LOOKUP_NS "/" LOOKUP_NAME ": %s", why);
    if (!t->o->tolerate && t->failed)
        t->failed(t->arg, &err);
    else
        KLOG_W("Client certificates are not accepted until the lookup succeeds: it needs the role "
               "extension-apiserver-authentication-reader in kube-system",
               KV_S("err", err.text));
}

static void on_synced(void *arg)
{
    struct authn_trust *t = arg;

    timer_cancel(t->late);
    t->late = NULL;
    if (informer_count(t->lookup) == 0)
        lookup_failed(t, "not found");
}

static void on_late(struct loop *l, void *arg)
{
    struct authn_trust *t = arg;

    (void)l;
    t->late = NULL;
    lookup_failed(t, str_or(informer_problem(t->lookup), "no answer"));
}

static void start_lookup(struct authn_trust *t, struct kube *k)
{
    static const struct informer_handler handler = { on_add, on_update, on_delete, on_synced };

    t->lookup = informer_new(k, &(struct informer_opts){
                                    .kind = &kind_configmap,
                                    .ns = LOOKUP_NS,
                                    .field_selector = "metadata.name=" LOOKUP_NAME,
                                });
    informer_add_handler(t->lookup, &handler, t);
    informer_start(t->lookup);
    t->late = loop_after(t->loop, LOOKUP_LIMIT, on_late, t);
}

/* ---- life ------------------------------------------------------------------------------------ */

int authn_trust_new(struct loop *l, struct kube *k, const struct authn_options *o,
                    void (*failed)(void *arg, const struct kerr *err), void *arg,
                    struct authn_trust **ret, struct kerr *err)
{
    CLEANUP(authn_trust_free) struct authn_trust *t = xnew0(struct authn_trust);

    *t = (struct authn_trust){ .loop = l, .o = o, .failed = failed, .arg = arg };
    const struct pemfiles_opts files = {
        .files = { [PEM_CA] = o->client_ca, [PEM_OTHER_CA] = o->proxy_ca },
        .what = "client CA",
        .use = use_files,
        .arg = t,
    };
    if (pemfiles_new(l, &files, &t->files, err) < 0)
        return err->code;
    if (k && !o->skip_lookup && (!*o->client_ca || !*o->proxy_ca))
        start_lookup(t, k);
    *ret = take(t);
    return 0;
}

struct authn_trust *authn_trust_free(struct authn_trust *t)
{
    if (!t)
        return NULL;
    timer_cancel(t->late);
    informer_free(t->lookup);
    pemfiles_free(t->files);
    tls_trust_free(t->clients);
    rules_free(t->proxies);
    free(t);
    return NULL;
}

const struct tls_trust *authn_trust_clients(const struct authn_trust *t)
{
    return t->clients;
}

const struct proxy_rules *authn_trust_proxies(const struct authn_trust *t)
{
    return t->proxies;
}
