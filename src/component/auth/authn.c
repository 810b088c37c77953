/* authn.c - the ways to say who one is, one after the other. */
#include "component/auth/authn.h"

#include <ctype.h>
#include <strings.h>

#include "base/arena.h"
#include "client/kube.h"
#include "component/auth/authn_int.h"
#include "component/auth/review.h"
#include "loop/loop.h"
#include "net/httpd.h"
#include "net/tls.h"
#include "json/kj.h"

struct authn {
    struct loop *loop;
    struct authn_trust *trust;
    struct reviews *tokens; /* NULL: tokens say nothing */
};

int authn_new(struct loop *l, struct kube *k, const struct authn_options *o,
              void (*failed)(void *arg, const struct kerr *err), void *arg, struct authn **ret,
              struct kerr *err)
{
    CLEANUP(authn_free) struct authn *a = xnew0(struct authn);

    a->loop = l;
    if (k)
        a->tokens = reviews_new(
            k, &(struct review_opts){ .path = "/apis/authentication.k8s.io/v1/tokenreviews",
                                      .read = user_read,
                                      .good_ttl = o->token_ttl,
                                      .bad_ttl = o->token_ttl });
    int r = authn_trust_new(l, k, o, failed, arg, &a->trust, err);
    if (r < 0)
        return r;
    *ret = take(a);
    return 0;
}

struct authn *authn_free(struct authn *a)
{
    if (!a)
        return NULL;
    authn_trust_free(a->trust);
    reviews_free(a->tokens);
    free(a);
    return NULL;
}

static void tell(const struct user_parts *p, authn_fn fn, void *arg)
{
    CLEANUP(strbuf_fini) struct strbuf spec = STRBUF_INIT;

    user_write(p, &spec);
    fn(arg, &(struct authn_user){ p->name, strbuf_str(&spec), user_is_master(p) }, NULL);
}

/* ---- certificates ---------------------------------------------------------------------------- */

static bool allowed_name(const struct flag_list *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (name && streq(names->items[i], name))
            return true;
    return names->n == 0;
}

/* True: told. Otherwise err may say what was wrong with the certificate. */
static bool by_proxy(const struct authn *a, const struct httpd_req *r, authn_fn fn, void *arg,
                     struct kerr *err)
{
    const struct proxy_rules *rules = authn_trust_proxies(a->trust);
    CLEANUP(arena_free) struct arena *words = NULL;
    struct user_parts user = { 0 };
    struct tls_peer proxy = { 0 };
    bool known = false;

    if (!rules || !rules->trust ||
        tls_trust_peer(rules->trust, httpd_stream(r), loop_wall(a->loop), &proxy, err) < 0)
        return false;
    words = arena_new_sized(512);
    if (!allowed_name(&rules->names, proxy.name))
        kerr_set(err, -EKEYREJECTED, "a proxy with the common name '%s' is not allowed",
                 str_or(proxy.name, ""));
    else
        known = user_of_headers(rules, r, words, &user);
    if (known)
        tell(&user, fn, arg);
    user_parts_fini(&user);
    tls_peer_fini(&proxy);
    return known;
}

static bool by_certificate(const struct authn *a, const struct httpd_req *r, authn_fn fn, void *arg,
                           struct kerr *err)
{
    const struct tls_trust *trust = authn_trust_clients(a->trust);
    struct tls_peer peer = { 0 };

    if (!trust || tls_trust_peer(trust, httpd_stream(r), loop_wall(a->loop), &peer, err) < 0)
        return false;
    struct user_parts user = { .name = peer.name };
    bool known = !str_empty(peer.name);
    for (size_t i = 0; i < peer.n_orgs; i++)
        vec_push(&user.groups, peer.orgs[i]);
    if (known)
        tell(&user, fn, arg);
    user_parts_fini(&user);
    tls_peer_fini(&peer);
    return known;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* What stands behind "Bearer"; empty: no token. */
static struct str bearer(const struct httpd_req *r)
{
    struct str v = httpd_header(r, "authorization");
    const char *word = v.p, *end = v.p + v.n;

    while (word < end && isspace((unsigned char)*word))
        word++;
    if (end - word < 8 || strncasecmp(word, "bearer ", 7) != 0)
        return (struct str){ NULL, 0 };
    word += 7;
    const char *stop = memchr(word, ' ', (size_t)(end - word));
    return (struct str){ word, (size_t)((stop ? stop : end) - word) };
}

static void on_token(void *arg, const struct review *answer, const struct kerr *err)
{
    struct authn_wait *w = arg;
    struct kerr unknown = { 0 };

    w->wait = NULL;
    if (answer && answer->good) {
        w->fn(w->arg, &(struct authn_user){ answer->name, answer->text, answer->masters }, NULL);
        return;
    }
    kerr_set(&unknown, -EACCES, "invalid bearer token");
    w->fn(w->arg, NULL, err ? err : &unknown);
}

static void review_token(struct authn *a, struct str token, struct authn_wait *w)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw j = kjw_to(&body);

    strbuf_reserve(&body, 6 * token.n + 256); /* not moved, so that no copy of the token is left */
    kjw_obj(&j, NULL);
    kjw_str(&j, "kind", "TokenReview");
    kjw_str(&j, "apiVersion", "authentication.k8s.io/v1");
    kjw_obj(&j, "spec");
    kjw_strn(&j, "token", token.p, token.n);
    kjw_end(&j);
    kjw_end(&j);
    struct review_wait *wait = reviews_ask(a->tokens, body.data, body.len, on_token, w);
    explicit_bzero(body.data, body.len);
    if (wait) /* else w may be gone */
        w->wait = wait;
}

/* ---- all of them ----------------------------------------------------------------------------- */

void authn_ask(struct authn *a, const struct httpd_req *r, struct authn_wait *w)
{
    struct kerr bad = { 0 };
    struct str token = bearer(r);

    if (tls_peer_shown(httpd_stream(r)) &&
        (by_proxy(a, r, w->fn, w->arg, &bad) || by_certificate(a, r, w->fn, w->arg, &bad)))
        return;
    if (token.n && a->tokens) {
        review_token(a, token, w);
        return;
    }
    if (bad.code < 0) {
        w->fn(w->arg, NULL, &bad);
        return;
    }
    struct user_parts nobody = { .name = "system:anonymous" };
    vec_push(&nobody.groups, "system:unauthenticated");
    tell(&nobody, w->fn, w->arg);
    user_parts_fini(&nobody);
}

void authn_cancel(struct authn_wait *w)
{
    w->wait = review_cancel(w->wait);
}
