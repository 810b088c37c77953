/* jwt.c - three parts in base64url, joined by dots: header, claims, signature of both. */
#include "apiserver/authn/jwt.h"

#include "base/b64.h"
#include "net/es256.h"

void jwt_base64url(const void *p, size_t n, struct strbuf *out)
{
    size_t from = out->len;

    b64_encode(p, n, out);
    while (out->len > from && out->data[out->len - 1] == '=')
        strbuf_truncate(out, out->len - 1);
    for (size_t i = from; i < out->len; i++)
        out->data[i] = out->data[i] == '+' ? '-' : out->data[i] == '/' ? '_' : out->data[i];
}

/* No padding, no line breaks, no other alphabet: one text stands for one value. */
static bool from_base64url(struct str s, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf plain = STRBUF_INIT;

    for (size_t i = 0; i < s.n; i++) {
        char ch = s.p[i];
        if (ch == '-' || ch == '_')
            ch = ch == '-' ? '+' : '/';
        else if (!((ch >= '0' && ch <= '9') || (ch >= 'A' && ch <= 'Z') ||
                   (ch >= 'a' && ch <= 'z')))
            return false;
        strbuf_appendc(&plain, ch);
    }
    while (plain.len % 4)
        strbuf_appendc(&plain, '=');
    return s.n % 4 != 1 && b64_decode(strbuf_str(&plain), plain.len, out) == 0;
}

int jwt_sign(const struct es256 *key, const char *kid, const struct strbuf *claims,
             struct strbuf *ret, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf head = STRBUF_INIT;
    uint8_t sig[ES256_SIZE];
    size_t from = ret->len;

    strbuf_appendf(&head, "{\"alg\":\"ES256\",\"kid\":\"%s\"}", kid);
    jwt_base64url(head.data, head.len, ret);
    strbuf_appendc(ret, '.');
    jwt_base64url(claims->data, claims->len, ret);
    int e = es256_sign(key, ret->data + from, ret->len - from, sig, err);
    if (e < 0)
        return e;
    strbuf_appendc(ret, '.');
    jwt_base64url(sig, sizeof sig, ret);
    return 0;
}

/* false: there are not three parts. */
static bool split(struct str token, struct str part[3])
{
    for (size_t i = 0; i < 3; i++) {
        const char *dot = token.n ? memchr(token.p, '.', token.n) : NULL;
        if (!dot != (i == 2))
            return false;
        part[i] = (struct str){ token.p, dot ? (size_t)(dot - token.p) : token.n };
        token.n -= part[i].n + (dot != NULL);
        token.p += part[i].n + (dot != NULL);
    }
    return true;
}

static int decode_json(struct str part, struct kj_doc **ret, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (!from_base64url(part, &text) || kj_parse(strbuf_str(&text), text.len, 0, &doc, NULL) < 0 ||
        kj_type(kj_root(doc)) != KJ_OBJ)
        return kerr_set(err, -EINVAL, "not a JSON Web Token");
    *ret = take(doc);
    return 0;
}

static int check_head(struct str part, const char *kid, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *head = NULL;
    int e = decode_json(part, &head, err);

    if (e < 0)
        return e;
    if (!streq(kj_str_or(kj_get(kj_root(head), "alg"), ""), "ES256") ||
        !streq(kj_str_or(kj_get(kj_root(head), "kid"), kid), kid))
        return kerr_set(err, -EACCES, "signed by another key");
    return 0;
}

int jwt_verify(const struct es256 *key, const char *kid, struct str token, struct kj_doc **ret,
               struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf sig = STRBUF_INIT;
    struct str part[3];

    if (token.n > JWT_MAX || !split(token, part))
        return kerr_set(err, -EINVAL, "not a JSON Web Token");
    int e = check_head(part[0], kid, err);
    if (e < 0)
        return e;
    size_t signed_len = part[0].n + 1 + part[1].n;
    if (!from_base64url(part[2], &sig) || sig.len != ES256_SIZE ||
        !es256_verify(key, token.p, signed_len, (const uint8_t *)sig.data))
        return kerr_set(err, -EACCES, "error in cryptographic primitive");
    return decode_json(part[1], ret, err);
}
