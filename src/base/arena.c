/* arena.c - chunked bump allocator. */
#include "base/arena.h"

#include <stdio.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif
#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
enum { ARENA_GAP = 16 }; /* poisoned bytes after each piece, so that running over its end shows */
#define POISON(p, n)   ASAN_POISON_MEMORY_REGION((p), (n))
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
#else
enum { ARENA_GAP = 0 };
#define POISON(p, n)   ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

enum { ARENA_FIRST = 4096, ARENA_MAX_CHUNK = 1 << 20 };

struct chunk {
    struct chunk *next; /* older chunk */
    size_t size, used;
    _Alignas(16) char data[];
};

struct arena {
    struct chunk *head; /* the one we cut from */
    size_t handed_out, keep_max;
    struct arena_watch *watch; /* NULL: nobody */
};

static struct chunk *chunk_new(size_t size, struct chunk *next)
{
    struct chunk *c = xmalloc(sizeof *c + size);
    c->next = next;
    c->size = size;
    c->used = 0;
    POISON(c->data, size);
    return c;
}

static void chunk_free(struct chunk *c)
{
    UNPOISON(c->data, c->size);
    free(c);
}

struct arena *arena_new_sized(size_t first)
{
    struct arena *a = xnew0(struct arena);
    a->head = chunk_new(first, NULL);
    a->keep_max = MAX(first, (size_t)ARENA_MAX_CHUNK);
    return a;
}

struct arena *arena_new(void)
{
    return arena_new_sized(ARENA_FIRST - sizeof(struct chunk));
}

struct arena *arena_free(struct arena *a)
{
    if (!a)
        return NULL;
    for (struct chunk *c = a->head, *next; c; c = next) {
        next = c->next;
        chunk_free(c);
    }
    free(a);
    return NULL;
}

/* Keeps the largest ordinary chunk, so that a steady workload settles on a single one; a chunk made
 * for one huge piece goes, or one large document would hold its memory for ever. */
void arena_reset(struct arena *a)
{
    struct chunk *keep = a->head;
    for (struct chunk *c = a->head; c; c = c->next)
        if (c->size <= a->keep_max && c->size > keep->size)
            keep = c;
    for (struct chunk *c = a->head, *next; c; c = next) {
        next = c->next;
        if (c != keep)
            chunk_free(c);
    }
    a->head = keep;
    keep->next = NULL;
    keep->used = 0;
    a->handed_out = 0;
    POISON(keep->data, keep->size);
}

size_t arena_used(const struct arena *a)
{
    return a->handed_out;
}

void arena_watch_begin(struct arena *a, struct arena_watch *w)
{
    w->since = a->handed_out;
    w->before = a->watch;
    a->watch = w;
}

void arena_watch_end(struct arena *a, struct arena_watch *w)
{
    assert(a->watch == w);
    a->watch = w->before;
}

/* A new chunk with room for need bytes. */
static struct chunk *grow(struct arena *a, size_t need)
{
    assert(need < SIZE_MAX / 2);
    if (need > ARENA_MAX_CHUNK) {
        /* Of its own, behind the head: the rest of the head stays in use. */
        a->head->next = chunk_new(need, a->head->next);
        return a->head->next;
    }
    size_t doubled = MIN(MAX(a->head->size, (size_t)ARENA_FIRST) * 2, (size_t)ARENA_MAX_CHUNK);
    a->head = chunk_new(MAX(doubled, need), a->head);
    return a->head;
}

/* Apart from arena_alloc(), which so has no registers to save. */
static __attribute__((noinline)) void *alloc_from_new(struct arena *a, size_t size)
{
    struct chunk *c = grow(a, size + ARENA_GAP);

    c->used = size + ARENA_GAP;
    UNPOISON(c->data, size);
    if (a->watch)
        a->watch->grown(a->watch);
    return c->data;
}

void *arena_alloc(struct arena *a, size_t size, size_t align)
{
    struct chunk *c = a->head;
    size_t at = (c->used + align - 1) & ~(align - 1);

    assert(align > 0 && align <= 16 && (align & (align - 1)) == 0 && size <= SIZE_MAX - ARENA_GAP);
    a->handed_out += size;
    if (UNLIKELY(at > c->size || c->size - at < size + ARENA_GAP))
        return alloc_from_new(a, size);
    c->used = at + size + ARENA_GAP;
    UNPOISON(c->data + at, size);
    return c->data + at;
}

void *arena_zalloc(struct arena *a, size_t size)
{
    void *p = arena_alloc(a, size, 16);
    memset(p, 0, size);
    return p;
}

void *arena_zalloc_n(struct arena *a, size_t n, size_t size)
{
    size_t bytes;
    bool overflow = __builtin_mul_overflow(n, size, &bytes);
    assert(!overflow);
    (void)overflow;
    return arena_zalloc(a, bytes);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *p = arena_alloc(a, n + 1, 1);
    if (n)
        memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;
    assert(fmt); /* gcc with the sanitizers is not sure otherwise */
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    assert(n >= 0);
    char *p = arena_alloc(a, (size_t)n + 1, 1);
    (void)vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}
