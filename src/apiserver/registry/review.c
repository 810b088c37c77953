/* review.c - the questions "may I?", "may he?" and "who am I?": answered, never stored. */
#include "apiserver/authn/authn.h"
#include "apiserver/authz/authorizer.h"
#include "apiserver/authz/rbac.h"
#include "apiserver/registry/internal.h"
#include "base/ktime.h"

/* ---- answers ---------------------------------------------------------------------------------- */

static const char *text_of(const struct kj_val *v, const char *key)
{
    return kj_str_or(kj_get(v, key), "");
}

static struct authz_attributes attributes_of(const struct kj_val *spec)
{
    const struct kj_val *res = kj_get(spec, "resourceAttributes"),
                        *path = kj_get(spec, "nonResourceAttributes");
    struct authz_attributes a = AUTHZ_ATTRIBUTES_INIT;

    if (kj_type(res) != KJ_OBJ) {
        a.is_path = true;
        a.path = text_of(path, "path");
        a.verb = text_of(path, "verb");
        return a;
    }
    a.verb = text_of(res, "verb");
    a.group = text_of(res, "group");
    a.version = text_of(res, "version");
    a.resource = text_of(res, "resource");
    a.subresource = text_of(res, "subresource");
    a.ns = text_of(res, "namespace");
    a.name = text_of(res, "name");
    return a;
}

static void write_allowed(struct api_call *c, const struct api_user *u, const struct kj_val *spec,
                          struct kjw *w)
{
    CLEANUP(strbuf_fini) struct strbuf reason = STRBUF_INIT;
    const struct authz_attributes a = attributes_of(spec);
    bool allowed = authorizer_check(c->s, u, &a, &reason);

    kjw_obj(w, "status");
    kjw_bool(w, "allowed", allowed);
    if (reason.len)
        kjw_str(w, "reason", reason.data);
    kjw_end(w);
}

/* All that somebody may do, rule by rule, as they were written. */
static void write_rules_of(struct api_call *c, const char *ns, struct kjw *w)
{
    CLEANUP(strbuf_fini) struct strbuf problems = STRBUF_INIT;
    struct rbac_rules rules = { 0 };

    if (c->s->rbac)
        rbac_rules_of(c->s->rbac, c->user, ns, &rules, &problems);
    kjw_obj(w, "status");
    kjw_arr(w, "resourceRules");
    vec_foreach(&rules, i)
        if (*rules.items[i]->resources)
            rbac_rule_write(rules.items[i], false, w);
    kjw_end(w);
    kjw_arr(w, "nonResourceRules");
    vec_foreach(&rules, i)
        if (*rules.items[i]->urls)
            rbac_rule_write(rules.items[i], true, w);
    kjw_end(w);
    kjw_bool(w, "incomplete", false); /* so says kube-apiserver */
    if (problems.len)
        kjw_str(w, "evaluationError", problems.data);
    kjw_end(w);
    vec_fini(&rules);
}

static void write_every_rule(struct kjw *w)
{
    static const char resource[] =
        "{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"]}";
    static const char other[] = "{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}";
    kjw_obj(w, "status");
    kjw_arr(w, "resourceRules");
    kjw_raw(w, NULL, resource, sizeof resource - 1);
    kjw_end(w);
    kjw_arr(w, "nonResourceRules");
    kjw_raw(w, NULL, other, sizeof other - 1);
    kjw_end(w);
    kjw_bool(w, "incomplete", false);
    kjw_end(w);
}

static void write_token_owner(struct api_call *c, const struct kj_val *spec, struct kjw *w)
{
    const struct kj_val *wanted = kj_get(spec, "audiences");
    const char **audiences = arena_newn0(c->arena, kj_len(wanted) + 1, const char *);
    struct authn_answer who;

    for (size_t i = 0, n = 0; i < kj_len(wanted); i++)
        if (kj_str(kj_at(wanted, i)))
            audiences[n++] = kj_str(kj_at(wanted, i));
    kjw_obj(w, "status");
    if (authn_token(c->s, str_of(text_of(spec, "token")), *audiences ? audiences : NULL, c->arena,
                    &who)) {
        kjw_bool(w, "authenticated", true);
        api_user_write(who.user, w, "user");
        kjw_arr(w, "audiences");
        for (const char *const *a = who.audiences; *a; a++)
            kjw_str(w, NULL, *a);
        kjw_end(w);
    } else {
        kjw_obj(w, "user");
        kjw_end(w);
        kjw_str(w, "error", "invalid bearer token");
    }
    kjw_end(w);
}

/* ---- questions --------------------------------------------------------------------------------- */

bool is_review(const struct resource *r)
{
    return (streq(r->group, "authorization.k8s.io") && str_ends(r->kind, "Review")) ||
           (streq(r->group, "authentication.k8s.io") && str_ends(r->kind, "Review"));
}

static void check_local(const struct api_call *c, const struct kj_val *spec, struct field_errors *e)
{
    const struct kj_val *res = kj_get(spec, "resourceAttributes"),
                        *path = kj_get(spec, "nonResourceAttributes");

    if (kj_type(res) == KJ_OBJ && !streq(text_of(res, "namespace"), c->ns))
        field_error_text(e, FIELD_INVALID, "spec.resourceAttributes.namespace",
                         text_of(res, "namespace"), "must match metadata.namespace");
    if (kj_type(path) != KJ_OBJ)
        return;
    CLEANUP(strbuf_fini) struct strbuf value = STRBUF_INIT;
    struct kjw w = kjw_to(&value);
    kjw_obj(&w, NULL);
    kjw_str(&w, "Path", text_of(path, "path"));
    kjw_str(&w, "Verb", text_of(path, "verb"));
    kjw_end(&w);
    field_error(e, FIELD_INVALID, "spec.nonResourceAttributes", value.data,
                "disallowed on this kind of request");
}

static void check_attributes(const struct api_call *c, const struct kj_val *spec,
                             struct field_errors *e)
{
    const struct resource *r = c->res;
    const struct kj_val *path = kj_get(spec, "nonResourceAttributes");
    bool res = kj_type(kj_get(spec, "resourceAttributes")) == KJ_OBJ,
         other = kj_type(path) == KJ_OBJ;

    if (!res && !other)
        field_error(e, FIELD_INVALID, "spec.resourceAttributes", "null",
                    "exactly one of nonResourceAttributes or resourceAttributes must be specified");
    else if (res && other)
        field_error(e, FIELD_INVALID, "spec.nonResourceAttributes", "{}",
                    "cannot be specified in combination with resourceAttributes");
    if (streq(r->kind, "LocalSubjectAccessReview"))
        check_local(c, spec, e);
    if (!str_starts(r->kind, "Self") && str_empty(kj_str(kj_get(spec, "user"))) &&
        kj_len(kj_get(spec, "groups")) == 0)
        field_error_text(e, FIELD_INVALID, "spec.user", "",
                         "at least one of user or group must be specified");
}

static bool is_object_or_absent(const struct kj_val *v)
{
    return kj_type(v) <= KJ_NULL || kj_type(v) == KJ_OBJ;
}

/* Is it a question at all? false: answered. */
static bool check_question(struct api_call *c, const struct kj_val *spec)
{
    CLEANUP(field_errors_free) struct field_errors *errors = field_errors_new();
    const char *kind = c->res->kind;
    struct kerr err = { 0 };

    if (!is_object_or_absent(spec) || !is_object_or_absent(kj_get(spec, "resourceAttributes")) ||
        !is_object_or_absent(kj_get(spec, "nonResourceAttributes")))
        kerr_api(&err, -EINVAL, KR_BAD_REQUEST,
                 "%s in version \"v1\" cannot be handled as a %s: json: cannot unmarshal into Go "
                 "struct field %s.spec",
                 kind, kind, kind);
    else if (streq(kind, "SelfSubjectRulesReview") && str_empty(kj_str(kj_get(spec, "namespace"))))
        kerr_api(&err, -EINVAL, KR_BAD_REQUEST, "no namespace on request");
    else if (streq(kind, "TokenReview") && str_empty(kj_str(kj_get(spec, "token"))))
        kerr_api(&err, -EINVAL, KR_BAD_REQUEST,
                 "token is required for TokenReview in authentication");
    else if (str_ends(kind, "AccessReview"))
        check_attributes(c, spec, errors);
    if (err.code < 0)
        api_fail(c, &err);
    else if (field_errors_count(errors))
        fail_invalid(c, c->res->group, "", "", errors);
    return !err.code && !field_errors_count(errors);
}

static void write_answer(struct api_call *c, const struct kj_val *spec, struct kjw *w)
{
    const char *kind = c->res->kind;

    if (streq(kind, "TokenReview")) {
        write_token_owner(c, spec, w);
    } else if (streq(kind, "SelfSubjectReview")) {
        kjw_obj(w, "status");
        api_user_write(c->user, w, "userInfo");
        kjw_end(w);
    } else if (streq(kind, "SelfSubjectRulesReview")) {
        if (c->s->always_allow)
            write_every_rule(w);
        else
            write_rules_of(c, text_of(spec, "namespace"), w);
    } else {
        const struct api_user *u =
            str_starts(kind, "Self") ? c->user : api_user_read(spec, c->arena);
        write_allowed(c, u, spec, w);
    }
}

/* The steps that may change the question. false: answered, or a step answers later. */
static bool admit(struct api_call *c, struct kj_doc **body)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct admission_req req = admission_of(c, c->res, c->ns, c->name, "CREATE", NULL);
    struct kj_mval *v = kj_mcopy(d, kj_root(*body));
    struct kerr err = { 0 };

    kj_mset(d, v, "apiVersion", kj_mstr(d, resource_api_version(c->res, c->arena)));
    kj_mset(d, v, "kind", kj_mstr(d, c->res->kind));
    int e = admission_mutate(c->s, &req, d, v, &err);
    kj_doc_free(*body);
    *body = kj_freeze(v);
    if (e < 0 && e != -EINPROGRESS)
        api_fail_admission(c, &err);
    return e >= 0;
}

/* The others, which see a question that can be answered. */
static bool admit_checked(struct api_call *c, const struct kj_val *obj)
{
    struct admission_req req = admission_of(c, c->res, c->ns, c->name, "CREATE", NULL);
    struct kerr err = { 0 };

    int e = admission_validate(c->s, &req, obj, &err);
    if (e < 0 && e != -EINPROGRESS)
        api_fail_admission(c, &err);
    return e == 0;
}

bool review_handle(struct api_call *c)
{
    CLEANUP(kj_doc_free) struct kj_doc *body = NULL;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT, spec = STRBUF_INIT;
    const struct resource *r = c->res;
    struct kjw w = kjw_to(&out);
    struct kerr err = { 0 };
    char now[KTIME_TEXT_MAX];

    if (!is_review(r))
        return false;
    c->reply_type = NULL; /* JSON, whatever is preferred */
    if (api_body(c, resource_api_version(r, c->arena), r->kind, &body, &err) < 0) {
        api_fail(c, &err);
        return true;
    }
    const char *ns = kj_str_or(kj_path(kj_root(body), "metadata.namespace"), "");
    if (r->namespaced && *ns && !streq(ns, c->ns)) {
        kerr_api(&err, -EINVAL, KR_BAD_REQUEST,
                 "the namespace of the provided object does not match the namespace sent on the "
                 "request");
        api_fail(c, &err);
        return true;
    }
    if (!admit(c, &body))
        return true;
    const struct kj_val *in = kj_get(kj_root(body), "spec");
    if (!check_question(c, in) || !admit_checked(c, kj_root(body)))
        return true;
    ktime_format(loop_wall(c->s->loop), now);
    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", r->kind);
    kjw_str(&w, "apiVersion", resource_api_version(r, c->arena));
    kjw_obj(&w, "metadata");
    if (streq(r->kind, "SelfSubjectReview"))
        kjw_str(&w, "creationTimestamp", now);
    if (r->namespaced)
        kjw_str(&w, "namespace", c->ns);
    kjw_end(&w);
    if (streq(r->kind,
              "SelfSubjectRulesReview")) { /* the namespace asked about is not told again */
        kjw_raw(&w, "spec", "{}", 2);
    } else if (kj_type(in) == KJ_OBJ) {
        kj_write(in, 0, &spec);
        kjw_raw(&w, "spec", spec.data, spec.len);
    }
    write_answer(c, in, &w);
    kjw_end(&w);
    api_reply(c, 201, out.data, out.len);
    return true;
}
