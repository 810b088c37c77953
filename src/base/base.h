/* base.h - what every file includes: integers, attributes, scope cleanup, errors, allocation.
 *
 * Nothing here has state. Allocation never fails visibly: x*() aborts with a line on stderr,
 * because every daemon here is restarted by its supervisor and its truth lives in the API server.
 * Bound input sizes before you allocate.
 */
#ifndef KOORD_BASE_BASE_H
#define KOORD_BASE_BASE_H

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

_Static_assert(sizeof(time_t) == 8 && sizeof(size_t) == 8, "koord is for 64-bit systems only");

#define PRINTF(fmt, args)               __attribute__((format(printf, fmt, args)))
#define MUST_CHECK                      __attribute__((warn_unused_result))
#define NORETURN                        __attribute__((noreturn))
#define UNUSED                          __attribute__((unused))
#define LIKELY(x)                       __builtin_expect(!!(x), 1)
#define UNLIKELY(x)                     __builtin_expect(!!(x), 0)

#define ARRAY_LEN(a)                    (sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
/* Each use gets names of its own: nested uses must not shadow each other. */
#define CAT_(a, b) a##b
#define CAT(a, b)  CAT_(a, b)
#define MIN(a, b)  MIN_((a), (b), CAT(min_a_, __COUNTER__), CAT(min_b_, __COUNTER__))
#define MAX(a, b)  MAX_((a), (b), CAT(max_a_, __COUNTER__), CAT(max_b_, __COUNTER__))
#define MIN_(a, b, va, vb)    \
    __extension__({           \
        __auto_type va = (a); \
        __auto_type vb = (b); \
        va < vb ? va : vb;    \
    })
#define MAX_(a, b, va, vb)    \
    __extension__({           \
        __auto_type va = (a); \
        __auto_type vb = (b); \
        va > vb ? va : vb;    \
    })

/* Scope cleanup: CLEANUP(arena_free) struct arena *a = arena_new(); */
#define CLEANUP(fn) __attribute__((cleanup(fn##_p)))
#define DEFINE_CLEANUP(fn, type)              \
    static inline UNUSED void fn##_p(type *p) \
    {                                         \
        if (*p)                               \
            *p = fn(*p);                      \
    }
#define take(p)                   \
    __extension__({               \
        __auto_type taken_ = (p); \
        (p) = NULL;               \
        taken_;                   \
    })

static inline void *mem_free(void *p)
{
    free(p);
    return NULL;
}
/* For any pointer from malloc: CLEANUP(mem_free) char *text = ...; */
static inline UNUSED void mem_free_p(void *pp)
{
    void *p;
    memcpy(&p, pp, sizeof p);
    free(p);
}

/* Nanoseconds, for monotonic and wall time alike (good to the year 2262). Waits use the monotonic
 * clock, timestamps the wall clock; never subtract one from the other. */
typedef int64_t nsec_t;
#define NSEC_PER_SEC  INT64_C(1000000000)
#define NSEC_PER_MSEC INT64_C(1000000)
#define NSEC_PER_USEC INT64_C(1000)
#define NSEC_MAX      INT64_MAX

/* ---- errors ---------------------------------------------------------------------------------- */

enum kreason {
    KR_NONE,
    KR_BAD_REQUEST,
    KR_UNAUTHORIZED,
    KR_FORBIDDEN,
    KR_NOT_FOUND,
    KR_METHOD_NOT_ALLOWED,
    KR_ALREADY_EXISTS,
    KR_CONFLICT,
    KR_GONE,
    KR_EXPIRED,
    KR_INVALID,
    KR_TOO_LARGE,
    KR_UNSUPPORTED_MEDIA_TYPE,
    KR_TOO_MANY_REQUESTS,
    KR_TIMEOUT,
    KR_UNAVAILABLE,
    KR_INTERNAL
};

struct kerr {            /* on the caller's stack: reporting a failure allocates nothing */
    int code;            /* negative errno, also the function's return value */
    enum kreason reason; /* becomes metav1.Status.reason when it leaves through the API */
    char text[256];      /* "sync node-3: apply '0-3': write cpuset.cpus: Invalid argument" */
};

/* Sets code and text (reason stays KR_NONE); returns code. err may be NULL. */
int kerr_set(struct kerr *err, int code, const char *fmt, ...) PRINTF(3, 4);
/* The same with an API reason. */
int kerr_api(struct kerr *err, int code, enum kreason reason, const char *fmt, ...) PRINTF(4, 5);
/* Puts "context: " before the text; returns err->code. When space runs out the context is cut. */
int kerr_wrap(struct kerr *err, const char *fmt, ...) PRINTF(2, 3);
/* "NotFound", "AlreadyExists" ... as in metav1.Status.reason; "" for KR_NONE. */
const char *kreason_name(enum kreason reason);
/* KR_NONE when the name is not known. */
enum kreason kreason_from_name(const char *name);
/* The HTTP status code that goes with a reason (404, 409, 422 ...), 500 for KR_NONE. */
int kreason_http(enum kreason reason);
/* The reason that fits an HTTP status code when the server sent no Status body. */
enum kreason kreason_from_http(int status);
/* A negative errno that fits a reason (-ENOENT, -EEXIST ...). */
int kreason_errno(enum kreason reason);

/* ---- allocation ------------------------------------------------------------------------------ */

/* How often this thread has allocated by the functions below: who claims that a tick in the steady
 * state allocates nothing can show it. */
uint64_t alloc_count(void);
void *xmalloc(size_t size) __attribute__((malloc));
void *xcalloc(size_t n, size_t size) __attribute__((malloc));
void *xrealloc(void *p, size_t size);
void *xreallocarray(void *p, size_t n, size_t size);
char *xstrdup(const char *s) __attribute__((malloc));
char *xstrndup(const char *s, size_t n) __attribute__((malloc));
char *xasprintf(const char *fmt, ...) PRINTF(1, 2) __attribute__((malloc));
void *xmemdup(const void *p, size_t n) __attribute__((malloc));
#define xnew(type)      ((type *)xmalloc(sizeof(type)))
#define xnew0(type)     ((type *)xcalloc(1, sizeof(type)))
#define xnewn0(n, type) ((type *)xcalloc((n), sizeof(type)))

/* ---- small text helpers ---------------------------------------------------------------------- */

/* A borrowed piece of text, not NUL-terminated: how strings travel at the edges. */
struct str {
    const char *p;
    size_t n;
};
#define STR(literal) ((struct str){ (literal), sizeof(literal) - 1 })
static inline struct str str_of(const char *s)
{
    return (struct str){ s, s ? strlen(s) : 0 };
}
static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
static inline bool str_eqz(struct str a, const char *b)
{
    return str_eq(a, str_of(b));
}
static inline bool streq(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}
static inline bool str_empty(const char *s)
{
    return !s || !*s;
}
static inline bool str_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}
static inline bool str_ends(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n >= m && memcmp(s + n - m, suffix, m) == 0;
}
static inline const char *str_or(const char *s, const char *otherwise)
{
    return s ? s : otherwise;
}

#endif
