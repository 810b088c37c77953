/* review.c - the questions "may I?" and "who am I?": answered, never stored. Nobody is refused
 * anything here: whoever has the token is the administrator. */
#include "apiserver/registry/internal.h"
#include "base/ktime.h"

static void write_allowed(struct kjw *w)
{
    kjw_obj(w, "status");
    kjw_bool(w, "allowed", true);
    kjw_end(w);
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

static void write_user(struct kjw *w, const char *user)
{
    kjw_obj(w, "status");
    kjw_obj(w, "userInfo");
    kjw_str(w, "username", user);
    kjw_arr(w, "groups");
    kjw_str(w, NULL, "system:masters");
    kjw_str(w, NULL, "system:authenticated");
    kjw_end(w);
    kjw_end(w);
    kjw_end(w);
}

bool is_review(const struct resource *r)
{
    return (streq(r->group, "authorization.k8s.io") && str_ends(r->kind, "Review")) ||
           (streq(r->group, "authentication.k8s.io") && str_ends(r->kind, "Review"));
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
    ktime_format(loop_wall(c->s->loop), now);
    const struct kj_val *in = kj_get(kj_root(body), "spec");
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
    if (streq(r->kind, "SelfSubjectReview") || streq(r->kind, "TokenReview"))
        write_user(&w, str_or(c->user, "system:anonymous"));
    else if (streq(r->kind, "SelfSubjectRulesReview"))
        write_rules(&w);
    else
        write_allowed(&w);
    kjw_end(&w);
    api_reply(c, 201, out.data, out.len);
    return true;
}
