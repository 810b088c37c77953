/* authorizer.h - may this user do that? The one question; who asks does not know how it is decided.
 *
 * Asked by the server for every request, by reviews (SubjectAccessReview), by impersonation, by the
 * check that nobody grants what he does not have, and by admission policies. Answers come at once
 * and cost no I/O. Loop thread only.
 */
#ifndef KOORD_APISERVER_AUTHZ_AUTHORIZER_H
#define KOORD_APISERVER_AUTHZ_AUTHORIZER_H
#include "base/base.h"
#include "base/strbuf.h"

struct api_call;
struct api_user;
struct apiserver;
struct arena;

/* What is asked for. Texts are never NULL; "" where there is none. */
struct authz_attributes {
    const char *verb; /* "get", "list", "watch"..., of a path: the method in lower case */
    const char *group, *version, *resource, *subresource, *ns, *name;
    bool is_path; /* it is about a path that is no resource */
    const char *path;
};

/* reason (may be NULL) gets why, when there is something to say; it is emptied first. */
bool authorizer_check(const struct apiserver *s, const struct api_user *u,
                      const struct authz_attributes *a, struct strbuf *reason);

/* What a request asks for, by method and target alone: also of resources that are not served.
 * false: a name in it cannot be read. */
bool authz_attributes_of(const char *method, const char *target, struct arena *a,
                         struct authz_attributes *ret);
/* All "": to begin with. */
#define AUTHZ_ATTRIBUTES_INIT                                                                \
    {                                                                                        \
        .verb = "", .group = "", .version = "", .resource = "", .subresource = "", .ns = "", \
        .name = "", .path = ""                                                               \
    }
/* Ends the call with 403 in the words of kube-apiserver. */
void authz_forbid(struct api_call *c, const struct api_user *u, const struct authz_attributes *a,
                  const char *reason);
/* May the call's user make the call? false: it was answered. Asked once for each call. */
bool authz_call(struct api_call *c);
#endif
