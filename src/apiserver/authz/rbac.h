/* rbac.h - roles and bindings, followed in the store and compiled; whom they allow what.
 *
 * Built at the first question and kept up to date by the store's events, which come before the
 * write is acknowledged: who has got an answer to his change finds it in force. Loop thread only.
 */
#ifndef KOORD_APISERVER_AUTHZ_RBAC_H
#define KOORD_APISERVER_AUTHZ_RBAC_H
#include "apiserver/authz/rule.h"

struct api_user;
struct authz_attributes;
struct rbac;
struct store;

#define RBAC_GROUP "rbac.authorization.k8s.io"

struct rbac *rbac_new(struct store *store);
struct rbac *rbac_free(struct rbac *r); /* NULL is fine; returns NULL */

/* reason gets the binding that allows it, or what could not be resolved on the way. */
bool rbac_check(struct rbac *r, const struct api_user *u, const struct authz_attributes *a,
                struct strbuf *reason);
/* All that a user may do in a namespace ("": what cluster bindings allow). The rules are borrowed
 * until the next turn. problems (may be NULL): roles that are not there, as rbac_check() says. */
void rbac_rules_of(struct rbac *r, const struct api_user *u, const char *ns, struct rbac_rules *ret,
                   struct strbuf *problems);
/* The rules of a role (ns "": a ClusterRole); false: there is none. */
bool rbac_role_rules(struct rbac *r, const char *ns, const char *name, struct rbac_rules *ret);
#endif
