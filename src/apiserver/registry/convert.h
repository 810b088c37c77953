/* convert.h - documents of custom resources in another version than the one they are stored in,
 * where a webhook converts them.
 *
 * Whoever needs a document asks for it (convert_stored()); what is not there yet is noted, and
 * convert_wait() asks the webhook for all of it, in batches. The call is then looked at again from
 * the beginning, finds what it needs, and ends in that turn: a write is still read, changed, judged
 * and handed to the store in one turn. Documents that nobody uses are kept for a while, so watches
 * and lists do not ask for the same twice; questions that are under way are shared. Loop thread
 * only.
 */
#ifndef KOORD_APISERVER_REGISTRY_CONVERT_H
#define KOORD_APISERVER_REGISTRY_CONVERT_H
#include "apiserver/registry/registry.h"

struct conversions; /* of a server */
struct conversions *conversions_new(struct apiserver *s);
void conversions_stop(struct conversions *x);                /* what waits fails; NULL is fine */
struct conversions *conversions_free(struct conversions *x); /* NULL is fine; returns NULL */

/* The stored text in the version of this resource: 0 (it may be the same text, else it is valid
 * until convert_release() or the end of the call), or -EINPROGRESS: convert_wait() has to follow.
 * Another error: it cannot be converted at all. */
int convert_stored(struct api_call *c, const struct resource *r, const char **doc, size_t *n,
                   struct kerr *err);
/* error NULL: all that was asked for is there now. */
typedef void (*convert_done_fn)(void *arg, struct api_call *c, const char *error);
void convert_wait(struct api_call *c, convert_done_fn fn, void *arg);
/* The same; then the call is looked at again, or fails. */
void convert_wait_again(struct api_call *c);
/* The same for a call that needs one object: -EINPROGRESS, or a conflict after several times, since
 * somebody changes it faster than it is converted. */
int convert_wait_object(struct api_call *c, const struct resource *r, const char *name,
                        struct kerr *err);
unsigned convert_waits(const struct api_call *c); /* how often it has waited */
/* True: *doc is in the version of this resource now. False: `again` comes later with the same
 * document, or the call has failed. */
typedef void (*convert_again_fn)(void *arg, struct api_call *c, const char *doc, size_t n);
bool convert_ready(struct api_call *c, const struct resource *r, const char **doc, size_t *n,
                   convert_again_fn again, void *arg);
/* What was held for this call may go. */
void convert_release(struct api_call *c);
void convert_forget(struct api_call *c); /* the call ends */

/* Of a write: obj, which is in the version of this resource, in the version that is stored. *ret
 * NULL: it is that already. -EINPROGRESS: the call is looked at again. */
int convert_written(struct api_call *c, const struct resource *r, const struct kj_val *obj,
                    const struct kj_val **ret, struct kerr *err);
/* A new object that waits for its conversion: it keeps its uid when the call is looked at again.
 * NULL: none. */
const struct kj_val *convert_kept(const struct api_call *c);
void convert_forget_written(struct api_call *c);
#endif
