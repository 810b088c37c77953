/* quota.h - ResourceQuota: no namespace gets more than its quotas allow.
 *
 * The last step of admission compares what a new object adds (or a changed Service or claim, or a
 * resized pod) with status.used of every quota that counts it. What is then stored is accounted in
 * the same turn, and so is what is deleted or ends: status.used of the newest version, committed or
 * under way, is always the sum over the objects in the same state, and no two writes can both take
 * the last of something. Quotas are counted anew when they are made or changed, when the server
 * starts, after a write of theirs failed, and every five minutes while there is something to
 * account.
 *
 *   quota.c        the step, accounting, counting anew
 *   quota_usage.c  what one object counts for; scopes     quota_pod.c  pods
 *
 * Loop thread only.
 */
#ifndef KOORD_APISERVER_ADMISSION_QUOTA_H
#define KOORD_APISERVER_ADMISSION_QUOTA_H
#include "apiserver/admission/admission.h"
#include "base/arena.h"
#include "base/qty.h"
#include "base/strbuf.h"

struct quotas;
struct store_key;

struct quotas *quotas_new(struct apiserver *s); /* adds its step to the server's last ones */
struct quotas *quotas_free(struct quotas *q);   /* NULL is fine; returns NULL */
void quotas_count_all(struct quotas *q);

/* Does a write under this key have to be accounted? Cheap where there are no quotas. */
bool quotas_concern(const struct quotas *q, const struct store_key *k);
/* It was handed to the store in this turn. Empty texts: there was, or is, no object. */
void quotas_account(struct quotas *q, const struct store_key *k, const struct strbuf *before,
                    const char *doc, size_t n);

/* ---- quota_usage.c --------------------------------------------------------------------------- */

struct quota_item {
    const char *name; /* "pods", "requests.cpu", "count/deployments.apps" */
    struct qty value;
};
struct quota_usage { /* sorted by name; in the arena */
    struct arena *a;
    struct quota_item *items;
    size_t n, cap;
};
struct qty quota_usage_get(const struct quota_usage *u, const char *name); /* 0 when absent */
void quota_usage_add(struct quota_usage *u, const char *name, struct qty value);
/* Adds what the object counts for; res is the store's name of its resource. */
void quota_usage_of(struct quota_usage *u, const char *res, const struct kj_val *obj, nsec_t now);
/* quota_pod.c: the part of pods, beyond count/pods. */
void quota_usage_of_pod(struct quota_usage *u, const struct kj_val *pod, nsec_t now);
/* A pod that waits for a node that does not answer counts no longer once its time is over. */
bool quota_pod_overdue(const struct kj_val *pod, nsec_t now);
/* It has a deadline: the scope Terminating. */
bool quota_pod_terminating(const struct kj_val *pod);
/* The resource whose objects count under this name; the text may be in the arena. */
const char *quota_counts(const char *name, struct arena *a);
/* Do the scopes of a quota's spec let this object count? */
bool quota_scopes_match(const struct kj_val *spec, const char *res, const struct kj_val *obj);
/* What containers have to say because these are limited: "must specify cpu for: c"; NULL: nothing.
 */
const char *quota_missing(const struct kj_val *hard, const struct kj_val *pod, struct arena *a);
#endif
