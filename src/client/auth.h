/* auth.h - who we are to the API server: a token, a token file, an exec plugin, basic auth.
 *
 * Tokens are never logged. A token file is read again every minute and after a 401 (in-cluster
 * tokens rotate); an exec plugin runs on a worker when there is no valid credential, and requests
 * wait for it.
 */
#ifndef KOORD_CLIENT_AUTH_H
#define KOORD_CLIENT_AUTH_H
#include "base/base.h"

struct auth;
struct kube_config;
struct loop;

struct auth *auth_new(struct loop *l, const struct kube_config *c);
struct auth *auth_free(struct auth *a); /* waiters are dropped. Returns NULL */

/* The value of the authorization header; NULL when there is none to send. Borrowed until the next
 * call into this auth. */
const char *auth_header(struct auth *a);
/* true: auth_header() is fit for use now. false: a plugin has to run first; fn is called once in a
 * later turn, err == NULL when it succeeded. */
typedef void (*auth_fn)(void *arg, const struct kerr *err);
bool auth_ready(struct auth *a, auth_fn fn, void *arg);
void auth_forget(struct auth *a, void *arg); /* drops a waiter */
/* The server said 401. true: a fresh credential may help, so try once more. */
bool auth_rejected(struct auth *a);
/* A certificate that the plugin handed out together with (or instead of) a token; empty when none.
 * `changed` tells whether it is new since the last call. */
void auth_client_cert(struct auth *a, struct str *cert_pem, struct str *key_pem, bool *changed);
#endif
