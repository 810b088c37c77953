/* review.c - the questions "may I?" and "who am I?": answered, never stored. Whoever has the token
 * is the administrator and may do everything; others, about whom components ask, may do nothing. */
#include "apiserver/registry/internal.h"
#include "base/ktime.h"

static void write_allowed(struct kjw *w, bool allowed)
{
    kjw_obj(w, "status");
    kjw_bool(w, "allowed", allowed);
    if (!allowed)
        kjw_str(w, "reason", "only the administrator of this server may do anything");
    kjw_end(w);
}

/* Of a SubjectAccessReview: is it about the administrator? */
static bool is_about_admin(const struct kj_val *spec)
{
    struct kj_iter it = kj_iter(kj_get(spec, "groups"));
    const struct kj_val *group;
    struct str key;

    if (streq(kj_str_or(kj_get(spec, "user"), ""), APISERVER_ADMIN))
        return true;
    while (kj_next(&it, &key, &group))
        if (streq(kj_str_or(group, ""), "system:masters"))
            return true;
    return false;
}

static void write_rules(struct kjw *w)
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

static void write_user(struct kjw *w, const char *key, const char *user)
{
    kjw_obj(w, key);
    kjw_str(w, "username", user);
    kjw_arr(w, "groups");
    kjw_str(w, NULL, "system:masters");
    kjw_str(w, NULL, "system:authenticated");
    kjw_end(w);
    kjw_end(w);
}

static void write_token_owner(struct kjw *w, const struct apiserver *s, const struct kj_val *spec)
{
    const char *user = apiserver_user_of(s, str_of(kj_str(kj_get(spec, "token"))));

    kjw_obj(w, "status");
    if (user) {
        kjw_bool(w, "authenticated", true);
        write_user(w, "user", user);
    } else {
        kjw_obj(w, "user");
        kjw_end(w);
        kjw_str(w, "error", "invalid bearer token");
    }
    kjw_end(w);
}

bool is_review(const struct resource *r)
{
    return (streq(r->group, "authorization.k8s.io") && str_ends(r->kind, "Review")) ||
           (streq(r->group, "authentication.k8s.io") && str_ends(r->kind, "Review"));
}

static void check_attributes(const struct resource *r, const struct kj_val *spec,
                             struct field_errors *e)
{
    const struct kj_val *path = kj_get(spec, "nonResourceAttributes");
    bool res = kj_type(kj_get(spec, "resourceAttributes")) == KJ_OBJ,
         other = kj_type(path) == KJ_OBJ;

    if (!res && !other)
        field_error(e, FIELD_INVALID, "spec.resourceAttributes", "null",
                    "exactly one of nonResourceAttributes or resourceAttributes must be specified");
    else if (res && other)
        field_error(e, FIELD_INVALID, "spec.nonResourceAttributes", "{}",
                    "cannot be specified in combination with resourceAttributes");
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
        check_attributes(c->res, spec, errors);
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
        write_token_owner(w, c->s, spec);
    } else if (streq(kind, "SelfSubjectReview")) {
        kjw_obj(w, "status");
        write_user(w, "userInfo", str_or(c->user, "system:anonymous"));
        kjw_end(w);
    } else if (streq(kind, "SelfSubjectRulesReview")) {
        write_rules(w);
    } else {
        write_allowed(w, str_starts(kind, "Self") || is_about_admin(spec));
    }
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
    if (api_body(c, resource_api_version(r, c->arena), r->kind, &body, &err) < 0) {
        api_fail(c, &err);
        return true;
    }
    const struct kj_val *in = kj_get(kj_root(body), "spec");
    if (!check_question(c, in))
        return true;
    ktime_format(loop_wall(c->s->loop), now);
    kjw_obj(&w, NULL);
    kjw_str(&w, "kind", r->kind);
    kjw_str(&w, "apiVersion", resource_api_version(r, c->arena));
    kjw_obj(&w, "metadata");
    kjw_str(&w, "creationTimestamp", now);
    kjw_end(&w);
    if (kj_type(in) == KJ_OBJ) {
        kj_write(in, 0, &spec);
        kjw_raw(&w, "spec", spec.data, spec.len);
    }
    write_answer(c, in, &w);
    kjw_end(&w);
    api_reply(c, 201, out.data, out.len);
    return true;
}
