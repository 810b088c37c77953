/* admission.h - steps between a valid request and the store: the server's own, and in-process ones
 * of other components (koord-manager's webhooks plug in here when they run in the same process).
 */
#ifndef KOORD_APISERVER_ADMISSION_ADMISSION_H
#define KOORD_APISERVER_ADMISSION_ADMISSION_H
#include "base/base.h"
#include "json/kj.h"

struct apiserver;
struct resource;

struct admission_req {
    const struct resource *res;
    const char *ns, *name, *subresource; /* "" when none */
    const char *operation;               /* "CREATE", "UPDATE", "DELETE" */
    const char *user;
    const struct kj_val *old; /* NULL on create */
    bool dry_run;
};
struct admission_step {
    const char *name;
    /* May change obj. A refusal: -EPERM with KR_FORBIDDEN (or another reason) and its message. */
    int (*mutate)(void *self, const struct admission_req *r, struct kj_mdoc *d, struct kj_mval *obj,
                  struct kerr *err);
    /* obj is NULL on delete. */
    int (*validate)(void *self, const struct admission_req *r, const struct kj_val *obj,
                    struct kerr *err);
};
/* Steps run in the order they were added, after the built-in ones (namespace exists and is not
 * terminating, priority class resolution, default tolerations). */
void apiserver_add_admission(struct apiserver *s, const struct admission_step *step, void *self);
#endif
