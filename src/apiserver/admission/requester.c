/* requester.c - a CertificateSigningRequest says who made it, whatever its maker says; and who may
 * approve or sign for a signer, and for whom. */
#include "apiserver/authn/user.h"
#include "apiserver/authz/authorizer.h"
#include "apiserver/registry/registry.h"
#include "apiserver/server_int.h"
#include "base/b64.h"
#include "net/certreq.h"

static struct kj_mval *texts(struct kj_mdoc *d, const char *const *items, size_t n)
{
    struct kj_mval *list = kj_marr(d);

    for (size_t i = 0; i < n; i++)
        kj_mpush(list, kj_mstr(d, items[i]));
    return list;
}

static bool is_request(const struct admission_req *r)
{
    return streq(r->res->plural, "certificatesigningrequests") &&
           streq(r->res->group, "certificates.k8s.io");
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
    if (!is_request(r) || !streq(r->operation, "CREATE") || *r->subresource ||
        kj_mtype(spec) != KJ_OBJ)
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

/* For this signer, or for all of its domain. */
static bool may_for_signer(const struct admission_req *r, const char *verb, const char *signer)
{
    const char *slash = strchr(signer, '/');
    struct authz_attributes a = AUTHZ_ATTRIBUTES_INIT;
    struct arena *arena = r->call->arena;

    a.verb = verb;
    a.group = "certificates.k8s.io";
    a.version = "*";
    a.resource = "signers";
    a.name = signer;
    if (authorizer_check(r->call->s, r->call->user, &a, NULL))
        return true;
    a.name =
        arena_printf(arena, "%.*s/*", (int)(slash ? slash - signer : (long)strlen(signer)), signer);
    return authorizer_check(r->call->s, r->call->user, &a, NULL);
}

static int forbid(const struct admission_req *r, struct kerr *err, const char *what,
                  const char *signer)
{
    return admission_forbid(r, err, "user not permitted to %s requests with signerName \"%s\"",
                            what, signer);
}

/* Nobody becomes an administrator by a certificate. */
static int check_subject(const struct admission_req *r, const struct kj_val *spec, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf pem = STRBUF_INIT;
    const char *request = kj_str_or(kj_get(spec, "request"), "");

    if (!streq(kj_str_or(kj_get(spec, "signerName"), ""), "kubernetes.io/kube-apiserver-client"))
        return 0;
    (void)b64_decode(request, strlen(request), &pem);
    if (!certreq_has_organization(strbuf_str(&pem), pem.len, "system:masters"))
        return 0;
    return admission_forbid(r, err,
                            "use of kubernetes.io/kube-apiserver-client signer with system:masters "
                            "group is not allowed");
}

static int requester_validate(void *self, const struct admission_req *r, const struct kj_val *obj,
                              struct kerr *err)
{
    const char *signer = kj_str_or(kj_path(r->old, "spec.signerName"), "");

    (void)self;
    if (!is_request(r))
        return 0;
    if (streq(r->operation, "CREATE") && !*r->subresource)
        return check_subject(r, kj_get(obj, "spec"), err);
    if (!streq(r->operation, "UPDATE"))
        return 0;
    if (streq(r->subresource, "approval") && !may_for_signer(r, "approve", signer))
        return forbid(r, err, "approve", signer);
    if (streq(r->subresource, "status") &&
        !kj_equal(kj_get(obj, "status"), kj_get(r->old, "status")) &&
        !may_for_signer(r, "sign", signer))
        return forbid(r, err, "sign", signer);
    return 0;
}

void requester_add(struct apiserver *s)
{
    static const struct admission_step step = { "CertificateRequester", requester_mutate,
                                                requester_validate };
    apiserver_add_admission(s, &step, s);
}
