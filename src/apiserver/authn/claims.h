/* claims.h - what the token of a service account says, both forms: bound ones (TokenRequest) and
 * those in a Secret, which never end. */
#ifndef KOORD_APISERVER_AUTHN_CLAIMS_H
#define KOORD_APISERVER_AUTHN_CLAIMS_H
#include "apiserver/authn/user.h"
#include "base/strbuf.h"

struct kj_val;

struct claims_ref {
    const char *name, *uid; /* name "": none */
};
struct claims {
    const char *ns, *jti;
    struct claims_ref account, secret, pod, node;
    const char *const *audiences; /* NULL at the end */
    nsec_t issued, not_before, expires;
    bool legacy;
};

/* false: these are not claims of ours. Texts are copied. */
bool claims_read(const struct kj_val *v, struct arena *a, struct claims *ret);
void claims_write(const struct claims *c, struct strbuf *out);
/* Its account as a user, with what the token adds. */
const struct api_user *claims_user(const struct claims *c, struct arena *a);
#endif
