/* openid.c - by which key others can check the tokens of service accounts. */
#include "apiserver/authn/openid.h"

#include "apiserver/authn/accounts.h"
#include "apiserver/registry/internal.h"

bool openid_handle(struct api_call *c)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    bool config = streq(c->path, "/.well-known/openid-configuration");
    struct kerr err = { 0 };

    if (!config && !streq(c->path, "/openid/v1/jwks"))
        return false;
    if (!api_reads(c))
        api_err_method(&err);
    else if (!config)
        (void)accounts_keys(c->s->accounts, &b, &err);
    else
        strbuf_append(&b, "{\"issuer\":\"" AUTHN_ISSUER "\",\"jwks_uri\":\"" AUTHN_ISSUER
                          "/openid/v1/jwks\",\"response_types_supported\":[\"id_token\"],"
                          "\"subject_types_supported\":[\"public\"],"
                          "\"id_token_signing_alg_values_supported\":[\"ES256\"]}");
    if (err.code < 0) {
        api_fail(c, &err);
        return true;
    }
    c->reply_type = config ? "application/json" : "application/jwk-set+json";
    api_reply(c, 200, b.data, b.len);
    return true;
}
