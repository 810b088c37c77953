/* claims.c - claims as JSON, and the user they make. */
#include "apiserver/authn/claims.h"

#include "apiserver/authn/authn.h"
#include "json/kj.h"

#define LEGACY_ISSUER "kubernetes/serviceaccount"
#define LEGACY(field) "kubernetes.io/serviceaccount/" field
#define EXTRA(field)  "authentication.kubernetes.io/" field

static const char *text_of(const struct kj_val *v, const char *key, struct arena *a)
{
    return arena_strdup(a, kj_str_or(kj_get(v, key), ""));
}

static struct claims_ref ref_of(const struct kj_val *v, const char *key, struct arena *a)
{
    const struct kj_val *ref = kj_get(v, key);

    return (struct claims_ref){ text_of(ref, "name", a), text_of(ref, "uid", a) };
}

static bool time_of(const struct kj_val *v, const char *key, nsec_t *ret)
{
    int64_t s;

    if (kj_i64(kj_get(v, key), &s) < 0 || s < 0 || s > INT64_MAX / NSEC_PER_SEC / 2)
        return false;
    *ret = s * NSEC_PER_SEC;
    return true;
}

static const char *const *audiences_of(const struct kj_val *v, struct arena *a)
{
    const char **list = arena_newn0(a, kj_len(v) + 2, const char *);
    size_t n = 0;

    if (kj_str(v))
        list[n++] = arena_strdup(a, kj_str(v));
    for (size_t i = 0; kj_type(v) == KJ_ARR && i < kj_len(v); i++)
        if (kj_str(kj_at(v, i)))
            list[n++] = arena_strdup(a, kj_str(kj_at(v, i)));
    return list;
}

static bool read_bound(const struct kj_val *v, struct arena *a, struct claims *c)
{
    const struct kj_val *k = kj_get(v, "kubernetes.io");

    c->ns = text_of(k, "namespace", a);
    c->jti = text_of(v, "jti", a);
    c->account = ref_of(k, "serviceaccount", a);
    c->secret = ref_of(k, "secret", a);
    c->pod = ref_of(k, "pod", a);
    c->node = ref_of(k, "node", a);
    c->audiences = audiences_of(kj_get(v, "aud"), a);
    return time_of(v, "exp", &c->expires) && time_of(v, "nbf", &c->not_before) &&
           time_of(v, "iat", &c->issued);
}

/* Tokens in Secrets are for this server only. */
static bool read_legacy(const struct kj_val *v, struct arena *a, struct claims *c)
{
    const char **own = arena_newn0(a, 2, const char *);

    own[0] = AUTHN_ISSUER;
    c->legacy = true;
    c->audiences = own;
    c->jti = "";
    c->ns = text_of(v, LEGACY("namespace"), a);
    c->account = (struct claims_ref){ text_of(v, LEGACY("service-account.name"), a),
                                      text_of(v, LEGACY("service-account.uid"), a) };
    c->secret = (struct claims_ref){ text_of(v, LEGACY("secret.name"), a), "" };
    c->pod = c->node = (struct claims_ref){ "", "" };
    return *c->secret.name;
}

bool claims_read(const struct kj_val *v, struct arena *a, struct claims *ret)
{
    const char *issuer = kj_str_or(kj_get(v, "iss"), "");
    bool legacy = streq(issuer, LEGACY_ISSUER);

    *ret = (struct claims){ 0 };
    if (!legacy && !streq(issuer, AUTHN_ISSUER))
        return false;
    if (!(legacy ? read_legacy(v, a, ret) : read_bound(v, a, ret)))
        return false;
    const char *sub = arena_printf(a, USER_ACCOUNT_PREFIX "%s:%s", ret->ns, ret->account.name);
    return *ret->ns && *ret->account.name && streq(kj_str_or(kj_get(v, "sub"), ""), sub);
}

/* ---- writing ------------------------------------------------------------------------------------ */

static void write_ref(struct kjw *w, const char *key, const struct claims_ref *ref)
{
    if (str_empty(ref->name))
        return;
    kjw_obj(w, key);
    kjw_str(w, "name", ref->name);
    kjw_str(w, "uid", ref->uid);
    kjw_end(w);
}

static void write_subject(struct kjw *w, const struct claims *c)
{
    CLEANUP(strbuf_fini) struct strbuf sub = STRBUF_INIT;

    strbuf_appendf(&sub, USER_ACCOUNT_PREFIX "%s:%s", c->ns, c->account.name);
    kjw_str(w, "sub", sub.data);
}

static void write_legacy(struct kjw *w, const struct claims *c)
{
    kjw_str(w, "iss", LEGACY_ISSUER);
    kjw_str(w, LEGACY("namespace"), c->ns);
    kjw_str(w, LEGACY("secret.name"), c->secret.name);
    kjw_str(w, LEGACY("service-account.name"), c->account.name);
    kjw_str(w, LEGACY("service-account.uid"), c->account.uid);
    write_subject(w, c);
}

static void write_bound(struct kjw *w, const struct claims *c)
{
    kjw_arr(w, "aud");
    for (const char *const *a = c->audiences; *a; a++)
        kjw_str(w, NULL, *a);
    kjw_end(w);
    kjw_i64(w, "exp", c->expires / NSEC_PER_SEC);
    kjw_i64(w, "iat", c->issued / NSEC_PER_SEC);
    kjw_str(w, "iss", AUTHN_ISSUER);
    kjw_str(w, "jti", c->jti);
    kjw_obj(w, "kubernetes.io");
    kjw_str(w, "namespace", c->ns);
    write_ref(w, "node", &c->node);
    write_ref(w, "pod", &c->pod);
    write_ref(w, "secret", &c->secret);
    write_ref(w, "serviceaccount", &c->account);
    kjw_end(w);
    kjw_i64(w, "nbf", c->not_before / NSEC_PER_SEC);
    write_subject(w, c);
}

void claims_write(const struct claims *c, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    if (c->legacy)
        write_legacy(&w, c);
    else
        write_bound(&w, c);
    kjw_end(&w);
}

/* ---- the user ----------------------------------------------------------------------------------- */

static void add(struct api_user *u, struct user_extra *list, const char *key, const char *value,
                struct arena *a)
{
    if (str_empty(value))
        return;
    const char **values = arena_newn0(a, 2, const char *);
    values[0] = arena_strdup(a, value);
    list[u->nextra++] = (struct user_extra){ key, values, 1 };
}

const struct api_user *claims_user(const struct claims *c, struct arena *a)
{
    struct user_extra *list = arena_newn0(a, 5, struct user_extra);
    struct api_user *u = arena_new0(a, struct api_user);

    *u = *user_of_account(c->ns, c->account.name, c->account.uid, a);
    if (*c->jti)
        add(u, list, EXTRA("credential-id"), arena_printf(a, "JTI=%s", c->jti), a);
    add(u, list, EXTRA("node-name"), c->node.name, a);
    add(u, list, EXTRA("node-uid"), c->node.uid, a);
    add(u, list, EXTRA("pod-name"), c->pod.name, a);
    add(u, list, EXTRA("pod-uid"), c->pod.uid, a);
    u->extra = list;
    return u;
}
