/* token_request.c - checks what is asked for, looks up what the token is bound to, signs. */
#include "apiserver/authn/token_request.h"

#include "apiserver/authn/accounts.h"
#include "apiserver/authn/claims.h"
#include "apiserver/registry/internal.h"
#include "base/ktime.h"

#define GROUP   "authentication.k8s.io"
#define KIND    "TokenRequest"
#define VERSION GROUP "/v1"

enum { DEFAULT_S = 3600, MIN_S = 600 };
#define MAX_S (INT64_C(1) << 32)

struct request {
    struct api_call *c;
    const struct kj_val *body, *spec, *ref;
    struct claims claims;
    int64_t seconds;
};

static const char *text_of(const struct kj_val *v, const char *key)
{
    return kj_str_or(kj_get(v, key), "");
}

/* ---- what is asked for -------------------------------------------------------------------------- */

/* false: answered. */
static bool check_times(struct request *q)
{
    const struct kj_val *v = kj_get(q->spec, "expirationSeconds");
    char text[32];

    q->seconds = DEFAULT_S;
    if (kj_type(v) <= KJ_NULL)
        return true;
    (void)kj_i64(v, &q->seconds);
    (void)kj_num_text(v, text, sizeof text);
    if (q->seconds >= MIN_S && q->seconds <= MAX_S)
        return true;
    fail_field(q->c, GROUP, KIND, "", FIELD_INVALID, "spec.expirationSeconds", text,
               q->seconds < MIN_S ? "may not specify a duration less than 10 minutes"
                                  : "may not specify a duration larger than 2^32 seconds");
    return false;
}

static bool check_names(struct request *q)
{
    const struct kj_val *meta = kj_get(q->body, "metadata");
    const char *ns = text_of(meta, "namespace"), *name = text_of(meta, "name");
    CLEANUP(strbuf_fini) struct strbuf quoted = STRBUF_INIT;
    struct kerr err;

    if (*ns && !streq(ns, q->c->ns)) {
        kerr_api(&err, -EINVAL, KR_BAD_REQUEST,
                 "the namespace of the provided object does not match the namespace sent on the "
                 "request");
        api_fail(q->c, &err);
        return false;
    }
    if (!*name || streq(name, q->c->name))
        return true;
    strbuf_append_quoted(&quoted, name, strlen(name));
    fail_field(q->c, GROUP, KIND, q->c->name, FIELD_INVALID, "metadata.name", quoted.data,
               "must match the service account name if specified");
    return false;
}

/* ---- what it is bound to ------------------------------------------------------------------------ */

static int look_up(struct request *q, const char *plural, const char *ns, const char *name,
                   struct claims_ref *ret, struct kj_doc **ret_doc, struct kerr *err)
{
    const struct resource *r = res_table_find(q->c->s->resources, "", "v1", plural);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    int e = api_read(q->c, r, ns, name, &doc, NULL, err);

    if (e < 0)
        return e;
    ret->name = arena_strdup(q->c->arena, name);
    ret->uid = arena_strdup(q->c->arena, kj_str_or(kj_path(kj_root(doc), "metadata.uid"), ""));
    if (ret_doc)
        *ret_doc = take(doc);
    return 0;
}

static int check_uid(const struct request *q, const struct claims_ref *is, struct kerr *err)
{
    const char *uid = text_of(q->ref, "uid");

    if (!*uid || streq(uid, is->uid))
        return 0;
    return api_err(q->c, err, -ESTALE, KR_CONFLICT,
                   "Operation cannot be fulfilled on %s \"%s\": the UID in the bound object "
                   "reference (%s) does not match the UID in record. The object might have been "
                   "deleted and then recreated",
                   text_of(q->ref, "kind"), is->name, uid);
}

static int bind_pod(struct request *q, const char *name, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *pod = NULL;
    int e = look_up(q, "pods", q->c->ns, name, &q->claims.pod, &pod, err);

    if (e < 0 || (e = check_uid(q, &q->claims.pod, err)) < 0)
        return e;
    const char *account = kj_str_or(kj_path(kj_root(pod), "spec.serviceAccountName"), ""),
               *node = kj_str_or(kj_path(kj_root(pod), "spec.nodeName"), "");
    if (!streq(account, q->c->name))
        return api_err(q->c, err, -EINVAL, KR_BAD_REQUEST,
                       "cannot bind token for serviceaccount \"%s\" to pod running with "
                       "different serviceaccount name.",
                       q->c->name);
    /* A node that is not known yet is named without a uid, which is checked nowhere. */
    if (*node && look_up(q, "nodes", "", node, &q->claims.node, NULL, NULL) < 0)
        q->claims.node = (struct claims_ref){ arena_strdup(q->c->arena, node), "" };
    return 0;
}

static int bind(struct request *q, struct kerr *err)
{
    const char *kind = text_of(q->ref, "kind"), *version = text_of(q->ref, "apiVersion"),
               *name = text_of(q->ref, "name");
    struct claims *c = &q->claims;
    int e;

    if (kj_type(q->ref) != KJ_OBJ)
        return 0;
    if (streq(version, "v1") && streq(kind, "Pod"))
        return bind_pod(q, name, err);
    if (streq(version, "v1") && streq(kind, "Secret"))
        return (e = look_up(q, "secrets", q->c->ns, name, &c->secret, NULL, err)) < 0
                   ? e
                   : check_uid(q, &c->secret, err);
    if (streq(version, "v1") && streq(kind, "Node"))
        return (e = look_up(q, "nodes", "", name, &c->node, NULL, err)) < 0
                   ? e
                   : check_uid(q, &c->node, err);
    const char *slash = strchr(version, '/');
    return api_err(q->c, err, -EINVAL, KR_BAD_REQUEST,
                   "cannot bind token to object of type %.*s/%s, Kind=%s",
                   slash ? (int)(slash - version) : 0, version, slash ? slash + 1 : version, kind);
}

/* ---- the answer --------------------------------------------------------------------------------- */

static void fill_claims(struct request *q)
{
    const struct kj_val *list = kj_get(q->spec, "audiences");
    const char **audiences = arena_newn0(q->c->arena, kj_len(list) + 2, const char *);
    nsec_t now = loop_wall(q->c->s->loop) / NSEC_PER_SEC * NSEC_PER_SEC;
    char *jti = arena_alloc(q->c->arena, 37, 1);
    struct claims *c = &q->claims;
    size_t n = 0;

    for (size_t i = 0; i < kj_len(list); i++)
        if (kj_str(kj_at(list, i)))
            audiences[n++] = kj_str(kj_at(list, i));
    if (!n)
        audiences[n++] = AUTHN_ISSUER;
    uid_new(q->c->s->loop, jti);
    c->ns = q->c->ns;
    c->jti = jti;
    c->audiences = audiences;
    c->issued = c->not_before = now;
    c->expires = now + q->seconds * NSEC_PER_SEC;
}

static void write_spec(const struct request *q, struct kjw *w)
{
    CLEANUP(strbuf_fini) struct strbuf ref = STRBUF_INIT;

    kjw_obj(w, "spec");
    kjw_arr(w, "audiences");
    for (const char *const *a = q->claims.audiences; *a; a++)
        kjw_str(w, NULL, *a);
    kjw_end(w);
    kjw_i64(w, "expirationSeconds", q->seconds);
    if (kj_type(q->ref) == KJ_OBJ) {
        kj_write(q->ref, 0, &ref);
        kjw_raw(w, "boundObjectRef", ref.data, ref.len);
    } else {
        kjw_null(w, "boundObjectRef");
    }
    kjw_end(w);
}

static void reply(struct request *q)
{
    CLEANUP(strbuf_fini) struct strbuf claims = STRBUF_INIT, token = STRBUF_INIT, out = STRBUF_INIT;
    struct api_call *c = q->c;
    struct kjw w = kjw_to(&out);
    struct kerr err = { 0 };

    fill_claims(q);
    claims_write(&q->claims, &claims);
    if (accounts_sign(c->s->accounts, &claims, &token, &err) < 0) {
        api_fail(c, &err);
        return;
    }
    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", KIND);
    kjw_str(&w, "apiVersion", VERSION);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", c->name);
    kjw_str(&w, "namespace", c->ns);
    kjw_str(&w, "uid", q->claims.account.uid);
    kjw_time(&w, "creationTimestamp", q->claims.issued);
    kjw_end(&w);
    write_spec(q, &w);
    kjw_obj(&w, "status");
    kjw_str(&w, "token", token.data);
    kjw_time(&w, "expirationTimestamp", q->claims.expires);
    kjw_end(&w);
    kjw_end(&w);
    api_reply(c, 201, out.data, out.len);
}

void token_request(struct apiserver *s, struct api_call *c)
{
    static const struct claims_ref none = { "", "" };
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct request q = { .c = c, .claims = { .secret = none, .pod = none, .node = none } };
    struct kerr err = { 0 };

    if (!streq(c->method, "POST"))
        api_err_method(&err);
    else if (api_body(c, VERSION, KIND, &doc, &err) == 0)
        (void)look_up(&q, "serviceaccounts", c->ns, c->name, &q.claims.account, NULL, &err);
    if (err.code < 0) {
        api_fail(c, &err);
        return;
    }
    if (!api_admit(c, "CREATE", VERSION, KIND, &doc))
        return;
    (void)s;
    q.body = kj_root(doc);
    q.spec = kj_get(q.body, "spec");
    q.ref = kj_get(q.spec, "boundObjectRef");
    if (!check_times(&q) || !check_names(&q))
        return;
    if (bind(&q, &err) < 0)
        api_fail(c, &err);
    else
        reply(&q);
}
