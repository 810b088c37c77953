/* pairs.h - labels and annotations for tests: pairs(a, "key", "value", ..., NULL). */
#ifndef KOORD_API_TEST_PAIRS_H
#define KOORD_API_TEST_PAIRS_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

#include "api/kobj.h"

static int pair_order(const void *a, const void *b)
{
    return strcmp(((const struct kstrpair *)a)->key, ((const struct kstrpair *)b)->key);
}

static inline UNUSED kstrmap pairs(struct arena *a, ...)
{
    kstrmap m = { .items = arena_newn0(a, 16, struct kstrpair) };
    const char *key;
    va_list ap;

    va_start(ap, a);
    while ((key = va_arg(ap, const char *))) {
        assert(m.n < 16);
        m.items[m.n++] = (struct kstrpair){ key, va_arg(ap, const char *) };
    }
    va_end(ap);
    qsort(m.items, m.n, sizeof *m.items, pair_order);
    return m;
}
#define NO_PAIRS ((const kstrmap){ 0 })

#define RUN_TESTS(tests)                                  \
    do {                                                  \
        if (argc > 1)                                     \
            cmocka_set_test_filter(argv[1]);              \
        return cmocka_run_group_tests(tests, NULL, NULL); \
    } while (0)
#endif
