/* counting.h - the allocator of a test program, counted: link with --wrap=malloc,--wrap=calloc,
 * --wrap=realloc. One file of a program includes it. */
#ifndef KOORD_KOORDLET_TEST_COUNTING_H
#define KOORD_KOORDLET_TEST_COUNTING_H
#include "base/base.h"

static _Atomic unsigned allocations; /* workers allocate too */
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_malloc(size_t n)
{
    allocations++;
    return __real_malloc(n);
}
void *__wrap_calloc(size_t n, size_t size)
{
    allocations++;
    return __real_calloc(n, size);
}
void *__wrap_realloc(void *p, size_t n)
{
    allocations++;
    return __real_realloc(p, n);
}
#endif
