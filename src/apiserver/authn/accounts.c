/* accounts.c - the signing key, and who a token of a service account stands for. */
#include "apiserver/authn/accounts.h"

#include "apiserver/authn/claims.h"
#include "apiserver/authn/jwt.h"
#include "apiserver/registry/internal.h"
#include "base/b64.h"
#include "base/ktime.h"
#include "base/map.h"
#include "net/digest.h"
#include "net/es256.h"

enum { REMEMBERED_MAX = 1024 };    /* tokens; the oldest makes room */
#define LEEWAY (60 * NSEC_PER_SEC) /* of clocks that differ, as kube-apiserver */

struct remembered {
    uint8_t digest[DIGEST_SIZE];
    struct arena *arena;
    struct claims claims;
};

struct accounts {
    struct apiserver *s;
    struct es256 *key;
    struct strbuf kid;
    struct map tokens; /* digest -> struct remembered */
    struct remembered *ring[REMEMBERED_MAX];
    size_t next;
};

/* ---- the key ------------------------------------------------------------------------------------ */

static const struct store_key key_at = { "signingkeys.koord", "", "serviceaccounts" };

static int key_store(struct accounts *a, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf pem = STRBUF_INIT, doc = STRBUF_INIT;
    struct kjw w = kjw_to(&doc);
    int e = es256_format(a->key, &pem, err);

    if (e < 0)
        return e;
    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", "SigningKey");
    kjw_str(&w, "pem", pem.data);
    kjw_end(&w);
    return store_put(a->s->store, &key_at, 0, doc.data, doc.len, NULL, NULL, err);
}

static int key_load(struct accounts *a, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;

    if (store_get_latest(a->s->store, &key_at, &doc, NULL, NULL) < 0) {
        int e = es256_new(&a->key, err);
        return e < 0 ? e : key_store(a, err);
    }
    int e = kj_parse(doc.data, doc.len, 0, &parsed, err);
    const char *pem = kj_str_or(kj_get(kj_root(parsed), "pem"), "");
    return e < 0 ? e : es256_parse(pem, strlen(pem), &a->key, err);
}

static int name_key(struct accounts *a, struct kerr *err)
{
    uint8_t point[2 * ES256_COORDINATE], digest[DIGEST_SIZE];
    int e = es256_point(a->key, point, point + ES256_COORDINATE, err);

    if (e < 0)
        return e;
    digest_sha256(point, sizeof point, digest);
    jwt_base64url(digest, sizeof digest, &a->kid);
    return 0;
}

int accounts_new(struct apiserver *s, bool kept, struct accounts **ret, struct kerr *err)
{
    struct accounts *a = xnew0(struct accounts);

    *ret = a;
    a->s = s;
    int e = kept ? key_load(a, err) : es256_new(&a->key, err);
    return e < 0 ? e : name_key(a, err);
}

static void forget(struct accounts *a, struct remembered *r)
{
    if (!r)
        return;
    map_remove(&a->tokens, (const char *)r->digest, sizeof r->digest);
    arena_free(r->arena);
    free(r);
}

struct accounts *accounts_free(struct accounts *a)
{
    if (!a)
        return NULL;
    for (size_t i = 0; i < REMEMBERED_MAX; i++)
        forget(a, a->ring[i]);
    map_fini(&a->tokens);
    es256_free(a->key);
    strbuf_fini(&a->kid);
    free(a);
    return NULL;
}

int accounts_sign(const struct accounts *a, const struct strbuf *claims, struct strbuf *ret,
                  struct kerr *err)
{
    return jwt_sign(a->key, a->kid.data, claims, ret, err);
}

int accounts_keys(const struct accounts *a, struct strbuf *out, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf x = STRBUF_INIT, y = STRBUF_INIT;
    uint8_t point[2 * ES256_COORDINATE];
    struct kjw w = kjw_to(out);
    int e = es256_point(a->key, point, point + ES256_COORDINATE, err);

    if (e < 0)
        return e;
    jwt_base64url(point, ES256_COORDINATE, &x);
    jwt_base64url(point + ES256_COORDINATE, ES256_COORDINATE, &y);
    kjw_obj(&w, NULL);
    kjw_arr(&w, "keys");
    kjw_obj(&w, NULL);
    kjw_str(&w, "use", "sig");
    kjw_str(&w, "kty", "EC");
    kjw_str(&w, "kid", a->kid.data);
    kjw_str(&w, "crv", "P-256");
    kjw_str(&w, "alg", "ES256");
    kjw_str(&w, "x", x.data);
    kjw_str(&w, "y", y.data);
    kjw_end(&w);
    kjw_end(&w);
    kjw_end(&w);
    return 0;
}

/* ---- tokens ------------------------------------------------------------------------------------- */

static const struct claims *remember(struct accounts *a, const uint8_t digest[DIGEST_SIZE],
                                     const struct kj_val *claims)
{
    struct remembered *r = xnew0(struct remembered);

    memcpy(r->digest, digest, sizeof r->digest);
    r->arena = arena_new_sized(512);
    if (!claims_read(claims, r->arena, &r->claims)) {
        arena_free(r->arena);
        free(r);
        return NULL;
    }
    forget(a, a->ring[a->next]);
    a->ring[a->next] = r;
    a->next = (a->next + 1) % REMEMBERED_MAX;
    map_put(&a->tokens, (const char *)r->digest, sizeof r->digest, r);
    return &r->claims;
}

/* What a token with a good signature says; NULL: it has none. */
static const struct claims *claims_of(struct accounts *a, struct str token)
{
    CLEANUP(kj_doc_free) struct kj_doc *claims = NULL;
    uint8_t digest[DIGEST_SIZE];

    if (!token.n || token.n > JWT_MAX)
        return NULL;
    digest_sha256(token.p, token.n, digest);
    const struct remembered *r = map_get(&a->tokens, (const char *)digest, sizeof digest);
    if (r)
        return &r->claims;
    struct kerr err = { 0 };
    if (jwt_verify(a->key, a->kid.data, token, &claims, &err) < 0)
        return NULL;
    return remember(a, digest, kj_root(claims));
}

/* An object is there, is the one that was meant, and does not go: deleted ones count for a minute
 * more, as long as their program may still need it. */
static bool is_there(struct accounts *a, const char *res, const char *ns,
                     const struct claims_ref *ref, struct kj_doc **ret)
{
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    const struct store_key k = { res, ns, ref->name };
    nsec_t gone;

    if (store_get_latest(a->s->store, &k, &doc, NULL, NULL) < 0 ||
        kj_parse(doc.data, doc.len, 0, &parsed, NULL) < 0)
        return false;
    const struct kj_val *meta = kj_get(kj_root(parsed), "metadata");
    const char *deleted = kj_str(kj_get(meta, "deletionTimestamp"));
    if (!streq(kj_str_or(kj_get(meta, "uid"), ""), ref->uid) ||
        (deleted && ktime_parse(deleted, strlen(deleted), &gone, NULL) == 0 &&
         gone + LEEWAY < loop_wall(a->s->loop)))
        return false;
    if (ret)
        *ret = take(parsed);
    return true;
}

/* Of a token that was put into a Secret: is it the one that stands there? */
static bool is_in_secret(struct accounts *a, const struct claims *c, struct str token)
{
    CLEANUP(kj_doc_free) struct kj_doc *secret = NULL;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT, doc = STRBUF_INIT;
    const struct store_key k = { "secrets", c->ns, c->secret.name };

    if (store_get_latest(a->s->store, &k, &doc, NULL, NULL) < 0 ||
        kj_parse(doc.data, doc.len, 0, &secret, NULL) < 0)
        return false;
    const char *data = kj_str_or(kj_path(kj_root(secret), "data.token"), "");
    return b64_decode(data, strlen(data), &text) == 0 && text.len == token.n &&
           memcmp(strbuf_str(&text), token.p, token.n) == 0;
}

static bool is_valid(struct accounts *a, const struct claims *c, struct str token)
{
    nsec_t now = loop_wall(a->s->loop);

    if (!is_there(a, "serviceaccounts", c->ns, &c->account, NULL))
        return false;
    if (c->legacy)
        return is_in_secret(a, c, token);
    return c->expires + LEEWAY > now && c->not_before <= now + LEEWAY &&
           (!*c->secret.name || is_there(a, "secrets", c->ns, &c->secret, NULL)) &&
           (!*c->pod.name || is_there(a, "pods", c->ns, &c->pod, NULL)) &&
           /* The node of a pod goes with the pod. */
           (*c->pod.name || !*c->node.name || is_there(a, "nodes", "", &c->node, NULL));
}

static const char *const *common(const char *const *have, const char *const *wanted,
                                 struct arena *arena)
{
    size_t n = 0, k = 0;

    while (have[n])
        n++;
    const char **both = arena_newn0(arena, n + 1, const char *);
    for (size_t i = 0; i < n; i++)
        for (const char *const *w = wanted; *w; w++)
            if (streq(*w, have[i])) {
                both[k++] = arena_strdup(arena, have[i]);
                break;
            }
    return both;
}

bool accounts_authenticate(struct accounts *a, struct str token, const char *const *wanted,
                           struct arena *arena, struct authn_answer *ret)
{
    const struct claims *c = claims_of(a, token);

    if (!c || !is_valid(a, c, token))
        return false;
    ret->audiences = common(c->audiences, wanted, arena);
    ret->user = claims_user(c, arena);
    return *ret->audiences != NULL;
}
