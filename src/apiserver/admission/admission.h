/* admission.h - steps between a valid request and the store: the server's own, and in-process ones
 * of other components (koord-manager's webhooks plug in here when they run in the same process).
 */
#ifndef KOORD_APISERVER_ADMISSION_ADMISSION_H
#define KOORD_APISERVER_ADMISSION_ADMISSION_H
#include "base/base.h"
#include "json/kj.h"

struct api_call;
struct apiserver;
struct resource;

struct admission_req {
    const struct resource *res;
    const char *ns, *name, *subresource; /* "" when none */
    const char *operation;               /* "CREATE", "UPDATE", "DELETE" */
    const char *user;
    const struct kj_val *old; /* NULL on create */
    bool dry_run;
    struct api_call *call; /* for the functions below */
};
struct admission_step {
    const char *name;
    /* May change obj: 1, and defaults are applied again; 0: what it changed needs none. A refusal:
     * -EPERM with KR_FORBIDDEN (or another reason) and its message. */
    int (*mutate)(void *self, const struct admission_req *r, struct kj_mdoc *d, struct kj_mval *obj,
                  struct kerr *err);
    /* obj is NULL on delete. -EINPROGRESS, after admission_later(): the answer comes later. */
    int (*validate)(void *self, const struct admission_req *r, const struct kj_val *obj,
                    struct kerr *err);
};
/* A refusal as kube-apiserver words that of a webhook, with a text of any length. code below 400:
 * 400. reason may be "". Returns what the step returns. */
int admission_refuse(const struct admission_req *r, const char *webhook, int code,
                     const char *reason, const char *message);
/* For a validating step that has to wait (for a write, or another server) before it can answer: it
 * returns -EINPROGRESS, and calls admission_answer() in a later turn, exactly once. The request is
 * then looked at once more from the beginning. If the object that would be stored, or the one that
 * is stored, is not what the step was asked about, it is asked again; otherwise the answer counts.
 * A client that went away meanwhile stores nothing. */
struct admission_later;
struct admission_later *admission_later(const struct admission_req *r);
struct admission_refusal { /* see admission_refuse() */
    const char *webhook;
    int code;
    const char *reason, *message;
};
/* why NULL: it is allowed. */
void admission_answer(struct admission_later *l, const struct admission_refusal *why);
/* The client gets this text in a header Warning. */
void admission_warn(const struct admission_req *r, const char *text);
/* Steps run in the order they were added, after the built-in ones (namespace exists and is not
 * terminating, priority class resolution, default tolerations). */
void apiserver_add_admission(struct apiserver *s, const struct admission_step *step, void *self);
#endif
