/* filewatch.h - tells when one of a few small files was replaced or rewritten.
 *
 * Made for configuration and certificates that others renew: their directories are watched with
 * inotify (a mounted ConfigMap or Secret swaps a link in there), and their stamps are looked at
 * from time to time as well: every minute, or every ten seconds where inotify does not work (no
 * instances left, a virtual loop). Changes that come together are told once. Loop thread only.
 */
#ifndef KOORD_LOOP_FILEWATCH_H
#define KOORD_LOOP_FILEWATCH_H
#include "base/base.h"

struct filewatch;
struct loop;

enum { FILEWATCH_MAX = 4 };
#define FILEWATCH_POLL        (10 * NSEC_PER_SEC) /* without inotify */
#define FILEWATCH_POLL_BESIDE (60 * NSEC_PER_SEC) /* beside it: links into other directories */
#define FILEWATCH_SETTLE      (100 * NSEC_PER_MSEC)

/* Called from the loop after a change, also when a file went away. It may close the watch. */
typedef void (*filewatch_fn)(void *arg);

/* The state of the files at this moment counts as known. Paths are copied. */
struct filewatch *filewatch_new(struct loop *l, const char *const *paths, size_t n, filewatch_fn fn,
                                void *arg);
struct filewatch *filewatch_free(struct filewatch *w); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(filewatch_free, struct filewatch *)
/* false: it has to poll. */
bool filewatch_is_notified(const struct filewatch *w);
#endif
