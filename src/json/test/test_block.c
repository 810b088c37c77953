/* test_block.c - objects as one block of memory, with interned strings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/intern.h"
#include "base/test/asserts.h"
#include "thing.h"

struct fixture {
    struct intern *strings;
    struct kj_scratch *scratch;
    struct kerr err;
};

static int setup(void **state)
{
    struct fixture *b = xnew0(struct fixture);
    b->strings = intern_new();
    b->scratch = kj_scratch_new(b->strings);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *b = *state;
    kj_scratch_free(b->scratch);
    intern_free(b->strings);
    free(b);
    return 0;
}

static int decode(struct fixture *b, const char *text, struct thing **ret, size_t *ret_size)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    void *block = NULL;

    assert_int_equal(kj_parse(text, strlen(text), 0, &doc, NULL), 0);
    memset(&b->err, 0, sizeof b->err);
    int r = kj_decode_block(&thing_schema, kj_root(doc), b->scratch, &block, ret_size, &b->err);
    *ret = block;
    return r;
}

/* All references but those of the scratch are back. */
static void assert_nothing_interned(struct fixture *b)
{
    b->scratch = kj_scratch_free(b->scratch);
    assert_int_equal(intern_count(b->strings), 0);
}

static void test_a_block_equals_an_arena_decode(void **state)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct fixture *b = *state;
    struct thing *t, flat;
    size_t size;

    assert_int_equal(decode(b, THING_FULL, &t, &size), 0);
    assert_int_equal(
        kj_decode_text(&thing_schema, THING_FULL, sizeof THING_FULL - 1, 0, a, &flat, NULL), 0);
    assert_true(kj_struct_equal(&thing_schema, t, &flat));
    kj_encode(&thing_schema, t, &text);
    assert_string_equal(text.data, THING_FULL);
    assert_that(size, >, sizeof *t);
    assert_that(size, <, 2 * sizeof *t);
    kj_block_free(&thing_schema, t);
    assert_nothing_interned(b);
}

static void assert_inside(const struct thing *t, size_t size, const void *p)
{
    assert_that((const char *)p, >, (const char *)t);
    assert_that((const char *)p, <, (const char *)t + size);
}

static void test_what_does_not_repeat_lives_in_the_block(void **state)
{
    struct fixture *b = *state;
    struct thing *t, *u;
    size_t size;

    assert_int_equal(decode(b, THING_FULL, &t, &size), 0);
    assert_int_equal(decode(b, THING_FULL, &u, NULL), 0);
    assert_inside(t, size, t->name);
    assert_inside(t, size, t->raw);
    assert_inside(t, size, t->oqty);
    assert_inside(t, size, t->extra);
    assert_inside(t, size, t->parts.items[1].name);
    assert_inside(t, size, t->numbers.items);
    assert_inside(t, size, t->labels.items);
    assert_inside(t, size, t->named.items[0].key);
    /* ... and what repeats is one copy over all objects. */
    assert_ptr_equal(t->space, u->space);
    assert_ptr_equal(t->main.image, t->parts.items[0].image);
    assert_ptr_equal(t->labels.items[0].key, u->labels.items[0].key);
    assert_ptr_equal(t->labels.items[0].value, u->labels.items[0].value);
    assert_ptr_equal(t->limits.items[0].key, u->limits.items[0].key);
    assert_ptr_equal(t->main.args.items[1], u->main.args.items[1]);
    /* An interned string is one also when empty or absent: callers may take references. */
    assert_ptr_equal(t->main.args.items[0], t->extra->image);
    assert_int_equal(istr_len(t->extra->image), 0);
    kj_block_free(&thing_schema, t);
    assert_string_equal(u->space, "ns");
    kj_block_free(&thing_schema, u);
    assert_nothing_interned(b);
}

static void test_failures_give_back_what_they_took(void **state)
{
    static const char *const bad[] = {
        "{\"namespace\":\"fresh1\",\"labels\":{\"fresh2\":\"fresh3\"},\"i64\":\"x\"}",
        "{\"parts\":[{\"image\":\"fresh4\"},{\"image\":5}]}",
        "{\"labels\":{\"fresh5\":\"v\",\"fresh6\":7}}",
        "[]",
    };
    struct fixture *b = *state;
    struct thing *t;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(decode(b, bad[i], &t, NULL), -EINVAL);
        assert_null(t);
        assert_that(b->err.text[0], !=, '\0');
    }
    assert_nothing_interned(b);
}

static void test_duplicates_and_disorder_leak_nothing(void **state)
{
    struct fixture *b = *state;
    struct thing *t;
    size_t clean, odd;

    assert_int_equal(
        decode(b, "{\"namespace\":\"b\",\"labels\":{\"x\":\"1\",\"y\":\"2\"}}", &t, &clean), 0);
    kj_block_free(&thing_schema, t);
    assert_int_equal(decode(b,
                            "{\"namespace\":\"a\",\"labels\":{\"q\":\"3\"},\"namespace\":\"b\","
                            "\"labels\":{\"y\":\"1\",\"x\":\"1\",\"y\":\"2\"}}",
                            &t, &odd),
                     0);
    assert_string_equal(t->space, "b");
    assert_int_equal(t->labels.n, 2);
    assert_int_equal(clean, odd);
    kj_block_free(&thing_schema, t);
    assert_nothing_interned(b);
}

static void test_blocks_have_exactly_their_size(void **state)
{
    struct fixture *b = *state;
    struct thing *t;
    size_t size;

    assert_int_equal(decode(b, "{}", &t, &size), 0);
    assert_int_equal(size, sizeof *t);
    kj_block_free(&thing_schema, t);
    assert_int_equal(decode(b, "{\"name\":\"123\"}", &t, &size), 0);
    assert_int_equal(size, sizeof *t + 4);
    kj_block_free(&thing_schema, t);
    /* Dropped keys leave no holes. */
    assert_int_equal(
        decode(b, "{\"labels\":{\"a\":\"1\",\"bulky\":\"x\",\"noisy\":\"y\"}}", &t, &size), 0);
    assert_int_equal(size, sizeof *t + 2 * sizeof(char *));
    kj_block_free(&thing_schema, t);
}

static void test_large_objects_grow_the_scratch(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct fixture *b = *state;
    struct thing *t;
    size_t size;

    strbuf_append(&text, "{\"namespace\":\"ns\",\"parts\":[");
    for (int i = 0; i < 20000; i++)
        strbuf_appendf(&text, "%s{\"name\":\"part-%d\",\"image\":\"img-%d\"}", i ? "," : "", i,
                       i % 100);
    strbuf_append(&text, "]}");
    assert_int_equal(decode(b, text.data, &t, &size), 0);
    assert_int_equal(t->parts.n, 20000);
    assert_string_equal(t->parts.items[19999].name, "part-19999");
    assert_string_equal(t->parts.items[19999].image, "img-99");
    assert_that(size, >, 20000 * sizeof(struct part));
    kj_block_free(&thing_schema, t);
    assert_nothing_interned(b);
}

static void test_objects_beyond_the_cap_are_refused(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct fixture *b = *state;
    struct thing *t;

    strbuf_append(&text, "{\"namespace\":\"fresh\",\"parts\":[{}");
    for (int i = 0; i < 1800000; i++)
        strbuf_append(&text, ",{}");
    strbuf_append(&text, "]}");
    assert_int_equal(decode(b, text.data, &t, NULL), -E2BIG);
    assert_contains(b->err.text, "too large");
    assert_int_equal(decode(b, "{\"name\":\"next\"}", &t, NULL), 0);
    kj_block_free(&thing_schema, t);
    assert_nothing_interned(b);
}

static void test_strings_outlive_a_full_cache(void **state)
{
    struct fixture *b = *state;
    struct thing *first, *t;
    char text[100];

    assert_int_equal(decode(b, "{\"namespace\":\"the-first\"}", &first, NULL), 0);
    for (int i = 0; i < 20000; i++) {
        (void)snprintf(text, sizeof text, "{\"namespace\":\"ns-%d\"}", i);
        assert_int_equal(decode(b, text, &t, NULL), 0);
        kj_block_free(&thing_schema, t);
    }
    assert_string_equal(first->space, "the-first");
    assert_that(intern_count(b->strings), <, 5000); /* the cache is bounded */
    /* One object with more strings than the cache has room for. */
    CLEANUP(strbuf_fini) struct strbuf many = STRBUF_INIT;
    strbuf_append(&many, "{\"main\":{\"args\":[\"a\"");
    for (int i = 0; i < 10000; i++)
        strbuf_appendf(&many, ",\"arg-%d\"", i);
    strbuf_append(&many, "]}}");
    assert_int_equal(decode(b, many.data, &t, NULL), 0);
    for (int i = 0; i < 10000; i++) {
        (void)snprintf(text, sizeof text, "arg-%d", i);
        assert_string_equal(t->main.args.items[i + 1], text);
    }
    kj_block_free(&thing_schema, t);
    kj_block_free(&thing_schema, first);
    assert_nothing_interned(b);
}

static void test_odd_uids_move_with_the_block(void **state)
{
    struct fixture *b = *state;
    struct thing *t;
    size_t size;
    char text[KUID_TEXT_MAX];

    assert_int_equal(decode(b, "{\"uid\":\"static-pod\",\"name\":\"x\"}", &t, &size), 0);
    assert_inside(t, size, (const void *)(uintptr_t)t->uid.lo);
    kuid_format(t->uid, text, sizeof text);
    assert_string_equal(text, "static-pod");
    assert_null(kj_block_free(&thing_schema, t));
    assert_null(kj_block_free(&thing_schema, NULL));
}

int main(int argc, char **argv)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_a_block_equals_an_arena_decode),     T(test_what_does_not_repeat_lives_in_the_block),
        T(test_failures_give_back_what_they_took),  T(test_duplicates_and_disorder_leak_nothing),
        T(test_blocks_have_exactly_their_size),     T(test_large_objects_grow_the_scratch),
        T(test_objects_beyond_the_cap_are_refused), T(test_strings_outlive_a_full_cache),
        T(test_odd_uids_move_with_the_block),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
