/* arena.h - memory for everything that dies together: a scheduling cycle, a request, a document.
 *
 * Bump allocation in chunks; nothing is freed one by one. arena_reset() keeps the largest chunk,
 * so a loop that resets each turn allocates nothing in the steady state. One thread at a time.
 */
#ifndef KOORD_BASE_ARENA_H
#define KOORD_BASE_ARENA_H
#include "base/base.h"

struct arena;

struct arena *arena_new(void);               /* chunks of 4 KiB, growing */
struct arena *arena_new_sized(size_t first); /* first chunk of this many bytes */
struct arena *arena_free(struct arena *a);
void arena_reset(struct arena *a);
/* Bytes handed out since birth or reset. */
size_t arena_used(const struct arena *a);

/* Somebody whose memory is bounded is told whenever the arena had to grow, with the piece that it
 * grew for counted, and must not allocate from it then. The last to begin is the one who is told,
 * and the first to end. */
struct arena_watch {
    void (*grown)(struct arena_watch *w);
    size_t since; /* arena_used() when it began */
    struct arena_watch *before;
};
void arena_watch_begin(struct arena *a, struct arena_watch *w);
void arena_watch_end(struct arena *a, struct arena_watch *w);

/* align: a power of two, at most 16. Memory is not zeroed. */
void *arena_alloc(struct arena *a, size_t size, size_t align);
void *arena_zalloc(struct arena *a, size_t size); /* zeroed, 16-byte aligned */
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF(2, 3);
#define arena_new0(a, type)     ((type *)arena_zalloc((a), sizeof(type)))
#define arena_newn0(a, n, type) ((type *)arena_zalloc_n((a), (n), sizeof(type)))
void *arena_zalloc_n(struct arena *a, size_t n, size_t size);

DEFINE_CLEANUP(arena_free, struct arena *)
#endif
