/* authz.c - open paths, and SubjectAccessReviews for the others. */
#include "component/auth/authz.h"

#include "base/strbuf.h"
#include "client/kube.h"
#include "component/auth/authn.h"
#include "component/auth/review.h"
#include "json/kj.h"

struct authz {
    const struct authz_options *o;
    struct reviews *reviews; /* NULL: nobody is asked */
};

static void read_status(const struct kj_val *status, struct review *ret)
{
    const char *reason = kj_str(kj_get(status, "reason"));

    ret->good =
        kj_bool(kj_get(status, "allowed"), false) && !kj_bool(kj_get(status, "denied"), false);
    ret->text = str_empty(reason) ? NULL : xstrdup(reason);
}

int authz_new(struct kube *k, const struct authz_options *o, struct authz **ret, struct kerr *err)
{
    for (size_t i = 0; i < o->open_paths.n; i++) {
        const char *star = strchr(o->open_paths.items[i], '*');
        if (star && star[1])
            return kerr_set(err, -EINVAL, "only trailing * allowed in \"%s\"",
                            o->open_paths.items[i]);
    }
    struct authz *z = xnew0(struct authz);
    z->o = o;
    if (k)
        z->reviews = reviews_new(
            k, &(struct review_opts){ .path = "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                                      .read = read_status,
                                      .good_ttl = o->allowed_ttl,
                                      .bad_ttl = o->refused_ttl });
    *ret = z;
    return 0;
}

struct authz *authz_free(struct authz *z)
{
    if (!z)
        return NULL;
    reviews_free(z->reviews);
    free(z);
    return NULL;
}

static bool is_open(const struct authz *z, const char *path)
{
    path += *path == '/';
    for (size_t i = 0; i < z->o->open_paths.n; i++) {
        const char *open = z->o->open_paths.items[i];
        size_t n = strlen(open += *open == '/');
        if (n && open[n - 1] == '*' ? strncmp(path, open, n - 1) == 0 : streq(path, open))
            return true;
    }
    return false;
}

static void on_review(void *arg, const struct review *answer, const struct kerr *err)
{
    struct authz_wait *w = arg;

    w->wait = NULL;
    if (!answer)
        w->fn(w->arg, AUTHZ_UNKNOWN, err->text);
    else
        w->fn(w->arg, answer->good ? AUTHZ_ALLOWED : AUTHZ_REFUSED, str_or(answer->text, ""));
}

static void write_question(const struct authn_user *user, const char *verb, const char *path,
                           struct strbuf *out)
{
    strbuf_appendf(out,
                   "{\"kind\":\"SubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\","
                   "\"spec\":{%s,\"nonResourceAttributes\":{\"path\":",
                   user->spec);
    kj_append_string(out, path, strlen(path));
    strbuf_append(out, ",\"verb\":");
    kj_append_string(out, verb, strlen(verb));
    strbuf_append(out, "}}}");
}

void authz_ask(struct authz *z, const struct authn_user *user, const char *verb, const char *path,
               struct authz_wait *w)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    if (user->masters || is_open(z, path)) {
        w->fn(w->arg, AUTHZ_ALLOWED, "");
        return;
    }
    if (!z->reviews) {
        w->fn(w->arg, AUTHZ_REFUSED, "");
        return;
    }
    write_question(user, verb, path, &body);
    struct review_wait *wait = reviews_ask(z->reviews, body.data, body.len, on_review, w);
    if (wait) /* else w may be gone */
        w->wait = wait;
}

void authz_cancel(struct authz_wait *w)
{
    w->wait = review_cancel(w->wait);
}
