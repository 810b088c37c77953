/* reduced.h - objects in caches that keep less than was decoded (informer_opts.reduce): one block,
 * the reduced struct with a struct kobj at its head, then its texts.
 *
 * No state; any thread that owns both objects.
 */
#ifndef KOORD_API_REDUCED_H
#define KOORD_API_REDUCED_H
#include "api/kobj.h"

/* What the texts of name, UID and resourceVersion take behind the struct. */
size_t reduced_head_room(const struct objmeta *m);
/* Puts them there, from *at on; the namespace is interned, which the kind's table must say for its
 * release. size: of the whole block. */
void reduced_put_head(struct kobj *out, const struct kind *k, size_t size, const struct objmeta *m,
                      char **at);
char *reduced_put_text(char **at, const char *text, size_t n); /* one more; n + 1 bytes */
#endif
