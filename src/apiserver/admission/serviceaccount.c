/* serviceaccount.c - the admission step ServiceAccount: a pod runs as an account, gets what its
 * containers need to talk to the server as that account, and uses no Secrets that the account keeps
 * from it. And the token of a Secret that is to hold one. */
#include "apiserver/admission/podsecrets.h"
#include "apiserver/authn/accounts.h"
#include "apiserver/authn/claims.h"
#include "apiserver/registry/internal.h"
#include "base/b64.h"

#define MOUNT_PATH    "/var/run/secrets/kubernetes.io/serviceaccount"
#define VOLUME_PREFIX "kube-api-access-"
#define MIRROR        "kubernetes.io/config.mirror"
#define ACCOUNT_NAME  "kubernetes.io/service-account.name"
#define ACCOUNT_UID   "kubernetes.io/service-account.uid"
#define TOKEN_TYPE    "kubernetes.io/service-account-token"
enum { SUFFIX_LEN = 5 };

static bool is_core(const struct admission_req *r, const char *plural)
{
    return !*r->res->group && streq(r->res->plural, plural);
}

/* *ret NULL: there is none of that name. */
static void account_of(const struct apiserver *s, const char *ns, const char *name,
                       struct kj_doc **ret)
{
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    const struct store_key k = { "serviceaccounts", ns, name };

    *ret = NULL;
    if (store_get_latest(s->store, &k, &doc, NULL, NULL) == 0)
        (void)kj_parse(doc.data, doc.len, 0, ret, NULL);
}

/* ---- the volume --------------------------------------------------------------------------------- */

static bool mounts_it(const struct kj_mval *container)
{
    const struct kj_mval *mounts = kj_mget(container, "volumeMounts");

    for (size_t i = 0; i < kj_mlen(mounts); i++)
        if (streq(str_or(kj_mstr_get(kj_mget(kj_mat(mounts, i), "mountPath")), ""), MOUNT_PATH))
            return true;
    return false;
}

static struct kj_mval *list_in(struct kj_mdoc *d, struct kj_mval *obj, const char *key)
{
    struct kj_mval *list = kj_mget(obj, key);

    if (kj_mtype(list) == KJ_ARR)
        return list;
    list = kj_marr(d);
    kj_mset(d, obj, key, list);
    return list;
}

/* How many of them needed the mount. */
static size_t mount(struct kj_mdoc *d, struct kj_mval *containers, const char *volume)
{
    size_t n = 0;

    for (size_t i = 0; i < kj_mlen(containers); i++) {
        struct kj_mval *c = kj_mat(containers, i), *m;
        if (kj_mtype(c) != KJ_OBJ || mounts_it(c))
            continue;
        m = kj_mobj(d);
        kj_mset(d, m, "name", kj_mstr(d, volume));
        kj_mset(d, m, "readOnly", kj_mbool(d, true));
        kj_mset(d, m, "mountPath", kj_mstr(d, MOUNT_PATH));
        kj_mpush(list_in(d, c, "volumeMounts"), m);
        n++;
    }
    return n;
}

static const char sources[] =
    "{\"defaultMode\":420,\"sources\":[{\"serviceAccountToken\":{\"expirationSeconds\":3607,"
    "\"path\":\"token\"}},{\"configMap\":{\"name\":\"kube-root-ca.crt\",\"items\":[{\"key\":"
    "\"ca.crt\",\"path\":\"ca.crt\"}]}},{\"downwardAPI\":{\"items\":[{\"path\":\"namespace\","
    "\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.namespace\"}}]}}]}";

static void add_volume(const struct apiserver *s, struct kj_mdoc *d, struct kj_mval *spec)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    struct kj_mval *volumes = kj_mget(spec, "volumes");
    char name[sizeof VOLUME_PREFIX + SUFFIX_LEN] = VOLUME_PREFIX;
    const char *there = NULL;

    for (size_t i = 0; i < kj_mlen(volumes) && !there; i++) {
        const char *v = str_or(kj_mstr_get(kj_mget(kj_mat(volumes, i), "name")), "");
        if (str_starts(v, VOLUME_PREFIX))
            there = v;
    }
    for (size_t i = 0; i < SUFFIX_LEN; i++)
        name[sizeof VOLUME_PREFIX - 1 + i] = letters[loop_rand_below(s->loop, sizeof letters - 1)];
    const char *volume = there ? there : name;
    size_t n = mount(d, kj_mget(spec, "initContainers"), volume) +
               mount(d, kj_mget(spec, "containers"), volume);
    if (!n || there)
        return;
    struct kj_mval *v = kj_mobj(d);
    kj_mset(d, v, "name", kj_mstr(d, name));
    kj_mset(d, v, "projected", kj_mraw(d, sources, sizeof sources - 1));
    kj_mpush(list_in(d, spec, "volumes"), v);
}

/* ---- pods --------------------------------------------------------------------------------------- */

static bool wants_token(struct kj_mval *spec, const struct kj_val *account)
{
    CLEANUP(kj_doc_free) struct kj_doc *frozen = NULL;
    const struct kj_mval *own = kj_mget(spec, "automountServiceAccountToken");

    if (kj_mtype(own) == KJ_BOOL) {
        frozen = kj_freeze(own);
        return kj_bool(kj_root(frozen), true);
    }
    return kj_bool(kj_get(account, "automountServiceAccountToken"), true);
}

/* *ret NULL, and 0: it is as if there were one that says nothing. */
static int find_account(const struct apiserver *s, const struct admission_req *r, const char *name,
                        struct kj_doc **ret, struct kerr *err)
{
    account_of(s, r->ns, name, ret);
    /* LENIENT, MADE: nobody will make it, or somebody will in a moment. */
    if (*ret || (s->account_mode != APISERVER_ACCOUNTS_STRICT && streq(name, "default")))
        return 0;
    return admission_forbid(r, err,
                            "error looking up service account %s/%s: serviceaccount \"%s\" not "
                            "found",
                            r->ns, name, name);
}

static int check_secrets(const struct admission_req *r, const struct kj_val *account,
                         const struct kj_val *pod, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;

    return podsecrets_are_limited(account) && podsecrets_foreign(account, pod, &why)
               ? admission_forbid(r, err, "%s", why.data)
               : 0;
}

/* The kubelet shows by them what it runs anyway: it would give up one that comes back changed. */
static bool is_mirror(const struct kj_val *annotations)
{
    return kj_get(annotations, MIRROR) != NULL;
}

static bool projects_token(const struct kj_val *pod)
{
    struct kj_iter volumes = kj_iter(kj_path(pod, "spec.volumes"));
    const struct kj_val *v, *source;

    while (kj_next(&volumes, NULL, &v))
        for (struct kj_iter it = kj_iter(kj_path(v, "projected.sources"));
             kj_next(&it, NULL, &source);)
            if (kj_type(kj_get(source, "serviceAccountToken")) == KJ_OBJ)
                return true;
    return false;
}

static int check_mirror(const struct admission_req *r, const struct kj_val *pod, struct kerr *err)
{
    if (*kj_str_or(kj_path(pod, "spec.serviceAccountName"), ""))
        return admission_forbid(r, err, "a mirror pod may not reference service accounts");
    if (podsecrets_any(pod))
        return admission_forbid(r, err, "a mirror pod may not reference secrets");
    if (projects_token(pod))
        return admission_forbid(r, err,
                                "a mirror pod may not use ServiceAccountToken volume projections");
    return 0;
}

static int pod_mutate(void *self, const struct admission_req *r, struct kj_mdoc *d,
                      struct kj_mval *obj, struct kerr *err)
{
    const struct apiserver *s = self;
    CLEANUP(kj_doc_free) struct kj_doc *account = NULL, *frozen = NULL;
    struct kj_mval *spec = kj_mget(obj, "spec");

    if (!is_core(r, "pods") || !streq(r->operation, "CREATE") || *r->subresource || !spec)
        return 0;
    if (kj_mget(kj_mget(kj_mget(obj, "metadata"), "annotations"), MIRROR)) {
        frozen = kj_freeze(obj);
        return check_mirror(r, kj_root(frozen), err);
    }
    const char *name = str_or(kj_mstr_get(kj_mget(spec, "serviceAccountName")), "");
    name = *name ? arena_strdup(r->call->arena, name) : "default";
    int e = find_account(s, r, name, &account, err);
    if (e < 0 || (!account && s->account_mode == APISERVER_ACCOUNTS_LENIENT))
        return e;
    kj_mset(d, spec, "serviceAccountName", kj_mstr(d, name));
    if (wants_token(spec, kj_root(account)))
        add_volume(s, d, spec);
    const struct kj_val *secrets = kj_get(kj_root(account), "imagePullSecrets");
    if (kj_mlen(kj_mget(spec, "imagePullSecrets")) == 0 && kj_len(secrets) > 0)
        kj_mset(d, spec, "imagePullSecrets", kj_mcopy(d, secrets));
    if (podsecrets_are_limited(kj_root(account))) {
        frozen = kj_freeze(obj);
        e = check_secrets(r, kj_root(account), kj_root(frozen), err);
    }
    return e < 0 ? e : 1;
}

/* Upstream forgets to make a 403 of it. */
static int fail_plainly(const struct admission_req *r, struct kerr *err, const char *why)
{
    struct api_refusal *x = arena_new0(r->call->arena, struct api_refusal);

    *x = (struct api_refusal){ .code = 500,
                               .reason = "",
                               .message = arena_strdup(r->call->arena, why) };
    r->call->refusal = x;
    return kerr_set(err, -EPERM, "%s", why);
}

/* What webhooks may have changed meanwhile. */
static int pod_validate(void *self, const struct admission_req *r, const struct kj_val *obj,
                        struct kerr *err)
{
    const struct apiserver *s = self;
    CLEANUP(kj_doc_free) struct kj_doc *account = NULL;
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    const char *name = kj_str_or(kj_path(obj, "spec.serviceAccountName"), "");
    bool create = streq(r->operation, "CREATE") && !*r->subresource;
    bool ephemeral = streq(r->operation, "UPDATE") && streq(r->subresource, "ephemeralcontainers");

    if (!is_core(r, "pods") || !(create || ephemeral))
        return 0;
    if (create && is_mirror(kj_path(obj, "metadata.annotations")))
        return check_mirror(r, obj, err);
    if (!*name)
        return s->account_mode == APISERVER_ACCOUNTS_LENIENT
                   ? 0
                   : admission_forbid(r, err, "no service account specified for pod %s/%s", r->ns,
                                      kj_str_or(kj_path(obj, "metadata.name"), ""));
    int e = find_account(s, r, name, &account, err);
    if (e < 0 || create)
        return e < 0 ? e : check_secrets(r, kj_root(account), obj, err);
    return podsecrets_are_limited(kj_root(account)) &&
                   podsecrets_foreign_ephemeral(kj_root(account), obj, &why)
               ? fail_plainly(r, err, why.data)
               : 0;
}

/* ---- Secrets ------------------------------------------------------------------------------------ */

static void set_data(struct kj_mdoc *d, struct kj_mval *data, const char *key, const char *text,
                     size_t n)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    b64_encode(text, n, &b);
    kj_mset(d, data, key, kj_mstr(d, strbuf_str(&b)));
}

static int fill_secret(const struct apiserver *s, const struct admission_req *r, struct kj_mdoc *d,
                       struct kj_mval *obj, const struct kj_val *account, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf claims = STRBUF_INIT, token = STRBUF_INIT;
    const struct kj_val *meta = kj_get(account, "metadata");
    struct kj_mval *data = kj_mget(obj, "data");
    const struct claims c = { .legacy = true,
                              .ns = r->ns,
                              .account = { kj_str_or(kj_get(meta, "name"), ""),
                                           kj_str_or(kj_get(meta, "uid"), "") },
                              .secret = { r->name, "" } };

    claims_write(&c, &claims);
    int e = accounts_sign(s->accounts, &claims, &token, err);
    if (e < 0)
        return e;
    if (kj_mtype(data) != KJ_OBJ) {
        data = kj_mobj(d);
        kj_mset(d, obj, "data", data);
    }
    set_data(d, data, "token", token.data, token.len);
    set_data(d, data, "namespace", r->ns, strlen(r->ns));
    if (s->root_ca)
        set_data(d, data, "ca.crt", s->root_ca, strlen(s->root_ca));
    kj_mset(d, kj_mget(object_meta(d, obj), "annotations"), ACCOUNT_UID, kj_mstr(d, c.account.uid));
    return 1;
}

/* What the token controller does elsewhere, which has the key there. */
static int secret_mutate(void *self, const struct admission_req *r, struct kj_mdoc *d,
                         struct kj_mval *obj, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *account = NULL;

    if (!is_core(r, "secrets") || streq(r->operation, "DELETE") ||
        !streq(str_or(kj_mstr_get(kj_mget(obj, "type")), ""), TOKEN_TYPE) ||
        kj_mget(kj_mget(obj, "data"), "token"))
        return 0;
    const char *name =
        kj_mstr_get(kj_mget(kj_mget(object_meta(d, obj), "annotations"), ACCOUNT_NAME));
    if (!name)
        return 0;
    account_of(self, r->ns, name, &account);
    return account ? fill_secret(self, r, d, obj, kj_root(account), err) : 0;
}

void serviceaccount_add(struct apiserver *s)
{
    static const struct admission_step pod = { "ServiceAccount", pod_mutate, pod_validate },
                                       secret = { "TokenController", secret_mutate, NULL };

    apiserver_add_admission(s, &pod, s);
    apiserver_add_admission(s, &secret, s);
}
