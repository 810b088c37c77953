/* fuzz_jwt.c - tokens from anybody: none is taken that was not signed here, and claims that were
 * signed come back as they are, whatever stands in them. */
#include "apiserver/authn/claims.h"
#include "apiserver/authn/jwt.h"
#include "net/es256.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct es256 *the_key(void)
{
    static struct es256 *key;
    struct kerr err;

    if (!key && es256_new(&key, &err) < 0)
        abort();
    return key;
}

static void check_signed(const char *text, size_t n)
{
    CLEANUP(strbuf_fini) struct strbuf claims = STRBUF_INIT, token = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL, *direct = NULL;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct claims c;
    struct kerr err = { 0 };

    strbuf_appendn(&claims, text, n);
    assert(jwt_sign(the_key(), "k", &claims, &token, &err) == 0);
    bool is_object = kj_parse(text, n, 0, &direct, NULL) == 0 && kj_type(kj_root(direct)) == KJ_OBJ;
    int e = jwt_verify(the_key(), "k", (struct str){ token.data, token.len }, &doc, &err);
    assert((e == 0) == (is_object && token.len <= JWT_MAX));
    if (e == 0)
        assert(kj_equal(kj_root(doc), kj_root(direct)));
    if (e == 0 && claims_read(kj_root(doc), a, &c))
        assert(*c.ns && *c.account.name && claims_user(&c, a)->ngroups == 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const char *text = (const char *)data;
    struct kerr err = { 0 };

    if (size > 20000)
        return 0;
    assert(jwt_verify(the_key(), "k", (struct str){ text, size }, &doc, &err) < 0 && !doc);
    assert(err.code < 0 && err.text[0]);
    check_signed(text, size);
    return 0;
}
