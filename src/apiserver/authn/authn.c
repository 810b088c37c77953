/* authn.c - from a bearer token to a user. */
#include "apiserver/authn/authn.h"

#include <strings.h>

#include "apiserver/authn/accounts.h"
#include "apiserver/authn/tokenfile.h"
#include "apiserver/server_int.h"

static bool is_admin(const char *token, struct str given)
{
    size_t m = strlen(token);
    unsigned diff = given.n != m;

    for (size_t i = 0; i < given.n; i++) /* no early exit: time must not tell how much was right */
        diff |= (unsigned char)(given.p[i] ^ token[i % (m ? m : 1)]);
    return diff == 0;
}

static const char *const own_audience[] = { AUTHN_ISSUER, NULL };

/* Whoever has a static token is known to this server, which is one audience. */
static const struct api_user *by_static_token(const struct apiserver *s, struct str token,
                                              struct arena *a)
{
    if (!s->token || is_admin(s->token, token))
        return &api_user_admin;
    const struct api_user *u = tokenfile_find(s->tokens, token);
    return u ? user_copy(u, a) : NULL;
}

static bool wants(const char *const *wanted, const char *audience)
{
    for (; wanted && *wanted; wanted++)
        if (streq(*wanted, audience))
            return true;
    return false;
}

bool authn_token(const struct apiserver *s, struct str token, const char *const *wanted,
                 struct arena *a, struct authn_answer *ret)
{
    ret->user = by_static_token(s, token, a);
    ret->audiences = own_audience;
    if (ret->user)
        return !wanted || wants(wanted, AUTHN_ISSUER);
    return accounts_authenticate(s->accounts, token, wanted ? wanted : own_audience, a, ret);
}

const struct api_user *authn_header(const struct apiserver *s, struct str authorization,
                                    struct arena *a)
{
    static const char scheme[] = "Bearer ";
    size_t k = sizeof scheme - 1;

    if (!s->token)
        return &api_user_admin;
    if (authorization.p && authorization.n > k && strncasecmp(authorization.p, scheme, k) == 0) {
        struct str token = { authorization.p + k, authorization.n - k };
        struct authn_answer who;
        return authn_token(s, token, NULL, a, &who) ? who.user : NULL;
    }
    return s->anonymous ? &api_user_anonymous : NULL;
}
