/* batch.h - the calls that one sync of a controller makes.
 *
 * A batch is made for a sync and ends when every call has answered: with a failure the key is
 * synced again after a back-off, with batch_again() after the time asked for, else at the next
 * news. Callbacks get the batch and may make further calls. What they need lives in its arena.
 */
#ifndef KOORD_CONTROLLERS_BATCH_H
#define KOORD_CONTROLLERS_BATCH_H
#include "api/kobj.h"
#include "base/arena.h"
#include "client/kube.h"

struct batch;
struct controller_env;
struct strbuf;

const struct controller_env *batch_env(const struct batch *b);
const char *batch_key(const struct batch *b);
struct arena *batch_arena(struct batch *b);
/* Keeps an object until the batch ends; returns it. */
const struct kobj *batch_hold(struct batch *b, const struct kobj *o);

/* Returns true when an error is dealt with; it may make further calls. NULL fn: "not found" counts
 * as done, every other error fails the sync. */
typedef bool (*batch_fn)(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg);
void batch_call(struct batch *b, const struct kube_req *r, batch_fn fn, void *arg);
/* The sync is tried again, with back-off. The first error counts. */
void batch_fail(struct batch *b, const struct kerr *err);
/* Sync once more after a while, at the latest; the earliest of several counts. */
void batch_again(struct batch *b, nsec_t after);

/* ---- the usual requests ---------------------------------------------------------------------- */

void batch_create(struct batch *b, const struct kind *k, const char *ns, const struct strbuf *body,
                  batch_fn fn, void *arg);
void batch_patch(struct batch *b, const struct kobj *o, const char *subresource,
                 enum kube_patch type, const struct strbuf *body, batch_fn fn, void *arg);

/* A change of an object's spec or status, by the table that it is decoded with. */
struct change {
    const char *member;           /* "spec", or "status" (written through the subresource) */
    const struct kschema *schema; /* of that member */
    const void *from, *to;        /* from: what the cache shows; NULL: nothing, so all is sent */
    bool same_version;            /* refused with a conflict when somebody else wrote meanwhile */
};
/* A merge patch of what differs; false and no call when nothing does. */
bool batch_patch_change(struct batch *b, const struct kobj *o, const struct change *c, batch_fn fn,
                        void *arg);

struct delete_opts {
    int64_t grace;           /* -1: not given */
    const char *propagation; /* NULL: not given */
    bool any_version;        /* else: only the version we know */
};
/* Only the object with this UID. NULL fn: gone, or another object by now, is as good; another
 * version (unless any will do) fails the sync, so that the next one decides again. */
void batch_delete(struct batch *b, const struct kobj *o, const struct delete_opts *d, batch_fn fn,
                  void *arg);

/* The server said no for certain; otherwise the write may have happened. */
bool err_is_refusal(const struct kerr *err);
#endif
