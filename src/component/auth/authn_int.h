/* authn_int.h - what the files of authn share. */
#ifndef KOORD_COMPONENT_AUTHN_INT_H
#define KOORD_COMPONENT_AUTHN_INT_H
#include "base/strbuf.h"
#include "base/vec.h"
#include "component/auth/authn.h"

struct arena;
struct kj_val;
struct review;
struct tls_trust;

/* ---- authn_trust.c: the cluster's client CA -------------------------------------------------- */

struct proxy_rules { /* header names in lower case */
    struct tls_trust *trust;
    struct flag_list names, users, groups, uids, extras;
    struct arena *arena;
};
struct authn_trust;
int authn_trust_new(struct loop *l, struct kube *k, const struct authn_options *o,
                    void (*failed)(void *arg, const struct kerr *err), void *arg,
                    struct authn_trust **ret, struct kerr *err);
struct authn_trust *authn_trust_free(struct authn_trust *t);
DEFINE_CLEANUP(authn_trust_free, struct authn_trust *)
/* NULL: none known. Borrowed until the next turn. */
const struct tls_trust *authn_trust_clients(const struct authn_trust *t);
const struct proxy_rules *authn_trust_proxies(const struct authn_trust *t);

/* ---- authn_user.c: users as text ------------------------------------------------------------- */

struct user_parts {
    const char *name, *uid; /* uid may be NULL */
    struct vec_of(const char *) groups;
    struct strbuf extra; /* a JSON object; empty: none */
};
void user_parts_fini(struct user_parts *p);
/* Adds system:authenticated where it is missing. */
void user_write(const struct user_parts *p, struct strbuf *spec);
bool user_is_master(const struct user_parts *p);
/* Of a TokenReview's status. */
void user_read(const struct kj_val *status, struct review *ret);
/* Of the headers that a proxy sent: false when they name nobody. The parts point into a. */
bool user_of_headers(const struct proxy_rules *rules, const struct httpd_req *r, struct arena *a,
                     struct user_parts *ret);
#endif
