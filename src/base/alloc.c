/* alloc.c - allocation that does not fail visibly. */
#include "base/base.h"

#include <stdio.h>

static _Thread_local uint64_t allocations;

uint64_t alloc_count(void)
{
    return allocations;
}

static NORETURN void out_of_memory(size_t size)
{
    fprintf(stderr, "fatal: out of memory (%zu bytes asked for)\n", size);
    abort();
}

void *xmalloc(size_t size)
{
    allocations++;
    void *p = malloc(size ? size : 1);
    if (UNLIKELY(!p))
        out_of_memory(size);
    return p;
}

void *xcalloc(size_t n, size_t size)
{
    allocations++;
    void *p = calloc(n ? n : 1, size ? size : 1);
    if (UNLIKELY(!p))
        out_of_memory(n * size);
    return p;
}

void *xrealloc(void *p, size_t size)
{
    allocations++;
    void *q = realloc(p, size ? size : 1);
    if (UNLIKELY(!q))
        out_of_memory(size);
    return q;
}

void *xreallocarray(void *p, size_t n, size_t size)
{
    size_t bytes;
    if (UNLIKELY(__builtin_mul_overflow(n, size, &bytes)))
        out_of_memory(SIZE_MAX);
    return xrealloc(p, bytes);
}

char *xstrndup(const char *s, size_t n)
{
    char *p = xmalloc(n + 1);
    if (n)
        memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

char *xstrdup(const char *s)
{
    return xstrndup(s, strlen(s));
}

void *xmemdup(const void *p, size_t n)
{
    void *q = xmalloc(n);
    if (n)
        memcpy(q, p, n);
    return q;
}

char *xasprintf(const char *fmt, ...)
{
    char *s = NULL;
    va_list ap;
    va_start(ap, fmt);
    allocations++;
    int n = vasprintf(&s, fmt, ap);
    va_end(ap);
    if (UNLIKELY(n < 0))
        out_of_memory(0);
    return s;
}
