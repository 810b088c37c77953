/* requester.c - a CertificateSigningRequest says who made it, whatever its maker says. */
#include "apiserver/authn/user.h"
#include "apiserver/registry/registry.h"
#include "apiserver/server_int.h"

static struct kj_mval *texts(struct kj_mdoc *d, const char *const *items, size_t n)
{
    struct kj_mval *list = kj_marr(d);

    for (size_t i = 0; i < n; i++)
        kj_mpush(list, kj_mstr(d, items[i]));
    return list;
}

/* v NULL: the field goes. */
static void set_or_drop(struct kj_mdoc *d, struct kj_mval *spec, const char *key, struct kj_mval *v)
{
    if (v)
        kj_mset(d, spec, key, v);
    else
        kj_mdel(spec, key, strlen(key));
}

static int requester_mutate(void *self, const struct admission_req *r, struct kj_mdoc *d,
                            struct kj_mval *obj, struct kerr *err)
{
    struct kj_mval *spec = kj_mget(obj, "spec"), *extra = NULL;
    const struct api_user *u = r->call->user;

    (void)self, (void)err;
    if (!streq(r->res->group, "certificates.k8s.io") ||
        !streq(r->res->plural, "certificatesigningrequests") || !streq(r->operation, "CREATE") ||
        *r->subresource || kj_mtype(spec) != KJ_OBJ)
        return 0;
    if (u->nextra)
        extra = kj_mobj(d);
    for (size_t i = 0; i < u->nextra; i++)
        kj_mset(d, extra, u->extra[i].key, texts(d, u->extra[i].values, u->extra[i].n));
    set_or_drop(d, spec, "username", kj_mstr(d, u->name));
    set_or_drop(d, spec, "uid", str_empty(u->uid) ? NULL : kj_mstr(d, u->uid));
    set_or_drop(d, spec, "groups", u->ngroups ? texts(d, u->groups, u->ngroups) : NULL);
    set_or_drop(d, spec, "extra", extra);
    return 0;
}

void requester_add(struct apiserver *s)
{
    static const struct admission_step step = { "CertificateRequester", requester_mutate, NULL };
    apiserver_add_admission(s, &step, s);
}
