/* admission.h - steps between a valid request and the store: the server's own, and in-process ones
 * of other components (koord-manager's webhooks plug in here when they run in the same process).
 */
#ifndef KOORD_APISERVER_ADMISSION_ADMISSION_H
#define KOORD_APISERVER_ADMISSION_ADMISSION_H
#include "base/base.h"
#include "json/kj.h"

struct api_call;
struct apiserver;
struct field_errors;
struct resource;

struct admission_req {
    const struct resource *res;
    const char *ns, *name, *subresource; /* "" when none */
    const char *operation;               /* "CREATE", "UPDATE", "DELETE", "CONNECT" */
    const char *user;
    const struct kj_val *old; /* NULL on create */
    /* Of what a subresource takes (Binding, Eviction, Scale); NULL: the resource's own. */
    const char *api_version, *kind;
    bool dry_run;
    struct api_call *call; /* for the functions below */
};
struct admission_step {
    const char *name;
    /* May change obj: 1, and defaults are applied again; 0: what it changed needs none. A refusal:
     * -EPERM with KR_FORBIDDEN (or another reason) and its message. -EINPROGRESS, after
     * admission_later(): the answer comes later. */
    int (*mutate)(void *self, const struct admission_req *r, struct kj_mdoc *d, struct kj_mval *obj,
                  struct kerr *err);
    /* obj is NULL on delete. -EINPROGRESS, after admission_later(): the answer comes later. */
    int (*validate)(void *self, const struct admission_req *r, const struct kj_val *obj,
                    struct kerr *err);
};
/* pods "x" is forbidden: ... - a text of any length. Returns what the step returns. */
int admission_forbid(const struct admission_req *r, struct kerr *err, const char *fmt, ...)
    PRINTF(3, 4);
/* 422 with these causes, as if the object itself were not valid. Returns what the step returns. */
int admission_invalid(const struct admission_req *r, const struct field_errors *errors);
/* A refusal as kube-apiserver words that of a webhook, with a text of any length. code below 400:
 * 400. reason may be "". Returns what the step returns. */
int admission_refuse(const struct admission_req *r, const char *webhook, int code,
                     const char *reason, const char *message);
/* For a step that has to wait (for a write, or another server) before it can answer: it returns
 * -EINPROGRESS, and answers in a later turn, exactly once. The request is then looked at once more
 * from the beginning. If the object that would be stored, or the one that is stored, is not what
 * the step was asked about, it is asked again; otherwise the answer counts. A client that went away
 * meanwhile stores nothing. */
struct admission_later;
struct admission_later *admission_later(const struct admission_req *r);
/* fn is called when the request ends without waiting for the answer: then none is to be given. */
void admission_on_gone(struct admission_later *l, void (*fn)(void *arg), void *arg);
struct admission_refusal { /* see admission_refuse() */
    const char *webhook;
    int code;
    const char *reason, *message;
};
/* why NULL: it is allowed. */
void admission_answer(struct admission_later *l, const struct admission_refusal *why);
/* Of a mutating step: the object as it shall be, taken over; NULL: as it was. */
void admission_answer_object(struct admission_later *l, struct kj_doc *obj);
/* A refusal in these very words; details is JSON text or NULL. */
void admission_answer_status(struct admission_later *l, int code, const char *reason,
                             const char *message, const char *details);
/* As admission_warn(), before the answer is given. */
void admission_later_warn(struct admission_later *l, const char *text);
/* The client gets this text in a header Warning. */
void admission_warn(const struct admission_req *r, const char *text);
/* Steps run in the order they were added, after the built-in ones (namespace exists and is not
 * terminating, priority class resolution, default tolerations) and before webhooks and quotas. */
void apiserver_add_admission(struct apiserver *s, const struct admission_step *step, void *self);
#endif
