/* authz.h - may this user do that: paths open to all, system:masters, else the API server is asked
 * by a SubjectAccessReview whose answer is kept for a while (review.h). Loop thread only.
 */
#ifndef KOORD_COMPONENT_AUTHZ_H
#define KOORD_COMPONENT_AUTHZ_H
#include "base/base.h"
#include "component/flags.h"

struct authn_user;
struct authz;
struct kube;
struct review_wait;

struct authz_options { /* see delegate.h for its flags */
    const char *kubeconfig;
    struct flag_list open_paths; /* "/healthz", or "/debug/" and a star for all below */
    nsec_t allowed_ttl, refused_ttl;
};
/* kube NULL: nobody is asked, and what is not open is refused. The options must live on. */
int authz_new(struct kube *k, const struct authz_options *o, struct authz **ret, struct kerr *err);
struct authz *authz_free(struct authz *z); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(authz_free, struct authz *)

enum authz_verdict { AUTHZ_UNKNOWN, AUTHZ_REFUSED, AUTHZ_ALLOWED };
/* why: the reason of a refusal, or what went wrong; may be "". Valid during the call. */
typedef void (*authz_fn)(void *arg, enum authz_verdict verdict, const char *why);
struct authz_wait { /* the caller's; fn and arg are set before */
    authz_fn fn;
    void *arg;
    struct review_wait *wait; /* the API server is being asked */
};
/* verb in lower case. fn may be called from inside. */
void authz_ask(struct authz *z, const struct authn_user *user, const char *verb, const char *path,
               struct authz_wait *w);
void authz_cancel(struct authz_wait *w); /* fn is not called any more */
#endif
