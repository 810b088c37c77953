/* asserts.h - assertions beside cmocka's own that show both values when they fail. */
#ifndef KOORD_BASE_TEST_ASSERTS_H
#define KOORD_BASE_TEST_ASSERTS_H
#include <setjmp.h> /* cmocka.h wants these first */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct assert_text {
    char s[40];
};

static inline struct assert_text assert_text_f64(double v)
{
    struct assert_text t;
    (void)snprintf(t.s, sizeof t.s, "%.17g", v);
    return t;
}

static inline struct assert_text assert_text_i64(int64_t v)
{
    struct assert_text t;
    (void)snprintf(t.s, sizeof t.s, "%" PRId64, v);
    return t;
}

static inline struct assert_text assert_text_u64(uint64_t v)
{
    struct assert_text t;
    (void)snprintf(t.s, sizeof t.s, "%" PRIu64, v);
    return t;
}

static inline struct assert_text assert_text_ptr(const void *v)
{
    struct assert_text t;
    (void)snprintf(t.s, sizeof t.s, "%p", v);
    return t;
}

/* clang-format off */
#define ASSERT_TEXT(v) _Generic((v), \
    float: assert_text_f64, double: assert_text_f64, \
    bool: assert_text_i64, char: assert_text_i64, signed char: assert_text_i64, short: assert_text_i64, \
    int: assert_text_i64, long: assert_text_i64, long long: assert_text_i64, \
    unsigned char: assert_text_u64, unsigned short: assert_text_u64, unsigned int: assert_text_u64, \
    unsigned long: assert_text_u64, unsigned long long: assert_text_u64, \
    default: assert_text_ptr)(v)
/* clang-format on */

/* assert_that(used, <=, limit): numbers of any type, or pointers, compared as C compares them. Each
 * side is evaluated once. Not for bit-fields: assert_int_equal() takes those. */
#define assert_that(a, op, b)                                                               \
    do {                                                                                    \
        __auto_type a_ = (a);                                                               \
        __auto_type b_ = (b);                                                               \
        _Pragma("GCC diagnostic push")                                                      \
            _Pragma("GCC diagnostic ignored \"-Wsign-compare\"") if (!(a_ op b_)) fail_msg( \
                "%s %s %s: %s and %s", #a, #op, #b, ASSERT_TEXT(a_).s, ASSERT_TEXT(b_).s);  \
        _Pragma("GCC diagnostic pop")                                                       \
    } while (0)

/* The text has the part somewhere, nowhere, at its start. A text of NULL has nothing. */
#define assert_contains(text, part)                                                 \
    do {                                                                            \
        const char *text_ = (text), *part_ = (part);                                \
        if (!text_ || !strstr(text_, part_))                                        \
            fail_msg("not there: '%s'\nin: '%s'", part_, text_ ? text_ : "(null)"); \
    } while (0)
#define assert_lacks(text, part)                                           \
    do {                                                                   \
        const char *text_ = (text), *part_ = (part);                       \
        if (text_ && strstr(text_, part_))                                 \
            fail_msg("should not be there: '%s'\nin: '%s'", part_, text_); \
    } while (0)
#define assert_starts(text, part)                                                        \
    do {                                                                                 \
        const char *text_ = (text), *part_ = (part);                                     \
        if (!text_ || strncmp(text_, part_, strlen(part_)) != 0)                         \
            fail_msg("does not start with '%s': '%s'", part_, text_ ? text_ : "(null)"); \
    } while (0)
#endif
