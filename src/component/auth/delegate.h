/* delegate.h - the guard of a secure port: who comes is known to the API server (authn.h) and may
 * do what it asks for (authz.h), by the flags and with the answers of Kubernetes' own components.
 *
 *     delegate_new(...); serve_set_guard(serve, delegate_guard, d); serve_listen_tls(...
 * ask_client)
 *
 * Without a kubeconfig and outside of a cluster nobody is asked: only open paths and the group
 * system:masters (by certificate) are let in. Requests wait for answers without holding up others.
 */
#ifndef KOORD_COMPONENT_DELEGATE_H
#define KOORD_COMPONENT_DELEGATE_H
#include "component/auth/authn.h"
#include "component/auth/authz.h"
#include "net/httpd.h"

struct client_env;
struct delegate;
struct intern;
struct meter;

struct delegate_options {
    struct authn_options authn;
    struct authz_options authz;
};
void delegate_options_add(struct flags *f, struct delegate_options *o);

/* The options must live on; agent: "koord-scheduler". failed as in authn_new(). */
int delegate_new(struct loop *l, struct intern *strings, const struct delegate_options *o,
                 const struct client_env *env, const char *agent,
                 void (*failed)(void *arg, const struct kerr *err), void *arg,
                 struct delegate **ret, struct kerr *err);
/* Its own clients are counted from now on. */
void delegate_set_meter(struct delegate *d, struct meter *m);
/* For tests: with clients that stay the caller's; either may be NULL. */
int delegate_over(struct loop *l, struct kube *authn, struct kube *authz,
                  const struct delegate_options *o, struct delegate **ret, struct kerr *err);
/* After the server. Who still waits gets no answer. NULL is fine; always returns NULL. */
struct delegate *delegate_free(struct delegate *d);
DEFINE_CLEANUP(delegate_free, struct delegate *)

/* Answers with 401, 403 or 500, or hands the request to admit, at once or later. */
void delegate_guard(void *delegate, struct httpd_req *r, httpd_fn admit, void *admit_arg);
#endif
