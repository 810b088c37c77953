/* authn.h - who sent a request: an authenticating proxy's word, a client certificate, or a token
 * that the API server knows; without any of them system:anonymous.
 *
 * The certificates that vouch come from files or, where no file is given, from the ConfigMap
 * kube-system/extension-apiserver-authentication; both are followed while they change. Tokens are
 * reviewed by the API server, answers are kept for a while (review.h). Loop thread only.
 */
#ifndef KOORD_COMPONENT_AUTHN_H
#define KOORD_COMPONENT_AUTHN_H
#include "base/base.h"
#include "component/flags.h"

struct authn;
struct httpd_req;
struct kube;
struct loop;
struct review_wait;

struct authn_options { /* see delegate.h for its flags */
    const char *kubeconfig;
    bool skip_lookup; /* no ConfigMap */
    bool tolerate;    /* it is no error when the ConfigMap cannot be read */
    nsec_t token_ttl;
    const char *client_ca; /* files; "": from the ConfigMap */
    const char *proxy_ca;
    struct flag_list proxy_names; /* common names of proxies; none: any with a good certificate */
    struct flag_list proxy_users, proxy_groups, proxy_uids, proxy_extras; /* their headers */
};
struct authn_user {
    const char *name;
    const char *spec; /* JSON members of a SubjectAccessReview's spec */
    bool masters;     /* of the group system:masters */
};

/* kube NULL: no tokens and no ConfigMap. failed: the ConfigMap could not be read, and that is not
 * tolerated; may be NULL. The options must live on. */
int authn_new(struct loop *l, struct kube *k, const struct authn_options *o,
              void (*failed)(void *arg, const struct kerr *err), void *arg, struct authn **ret,
              struct kerr *err);
struct authn *authn_free(struct authn *a); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(authn_free, struct authn *)

/* user NULL: nobody we believe; err says why. Valid during the call. */
typedef void (*authn_fn)(void *arg, const struct authn_user *user, const struct kerr *err);
struct authn_wait { /* the caller's; fn and arg are set before */
    authn_fn fn;
    void *arg;
    struct review_wait *wait; /* a token is being reviewed */
};
/* fn may be called from inside. */
void authn_ask(struct authn *a, const struct httpd_req *r, struct authn_wait *w);
void authn_cancel(struct authn_wait *w); /* fn is not called any more */
#endif
