/* object_fixture.h - objects from JSON, for the tests of this room. Single quotes stand for double
 * ones. */
#ifndef KOORD_API_TEST_OBJECT_FIXTURE_H
#define KOORD_API_TEST_OBJECT_FIXTURE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

#include "api/kobj.h"
#include "base/intern.h"
#include "json/kj.h"

struct object_fixture {
    struct intern *strings;
    struct kj_scratch *scratch;
    struct arena *arena;
};

static inline UNUSED int fixture_setup(void **state)
{
    struct object_fixture *b = xnew0(struct object_fixture);
    b->strings = intern_new();
    b->scratch = kj_scratch_new(b->strings);
    b->arena = arena_new();
    *state = b;
    return 0;
}

static inline UNUSED int fixture_teardown(void **state)
{
    struct object_fixture *b = *state;
    kj_scratch_free(b->scratch);
    assert_int_equal(intern_count(b->strings), 0); /* every object gave its strings back */
    intern_free(b->strings);
    arena_free(b->arena);
    free(b);
    return 0;
}

static inline UNUSED struct kj_doc *fixture_doc(const char *quoted)
{
    CLEANUP(mem_free) char *text = xstrdup(quoted);
    struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    for (char *p = text; *p; p++)
        if (*p == '\'')
            *p = '"';
    if (kj_parse(text, strlen(text), 0, &doc, &err) < 0)
        fail_msg("%s: %s", err.text, text);
    return doc;
}

static inline UNUSED struct kobj *fixture_object(struct object_fixture *b, const struct kind *k,
                                                 const char *quoted)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = fixture_doc(quoted);
    struct kobj *o = NULL;
    struct kerr err = { 0 };

    if (kobj_decode(k, kj_root(doc), b->scratch, &o, &err) < 0)
        fail_msg("%s", err.text);
    return o;
}

#define FIXTURE_TEST(fn) cmocka_unit_test_setup_teardown(fn, fixture_setup, fixture_teardown)
#endif
