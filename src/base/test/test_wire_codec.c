/* test_wire_codec.c - messages by table: known bytes, unknown fields, merging, and the limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/wire_codec.h"

/* ---- a protocol in small: some of CRI, a message that contains itself -------------------------
 */

struct page_limit {
    struct str page_size;
    uint64_t limit;
    struct str unknown;
};
static const struct wire_member page_limit_members[] = {
    WIRE_MEMBER(struct page_limit, page_size, 1, WK_STR),
    WIRE_MEMBER(struct page_limit, limit, 2, WK_UINT),
};
static const struct wire_table page_limit_table =
    WIRE_TABLE("HugepageLimit", struct page_limit, page_limit_members);

struct resources {
    int64_t cpu_period, cpu_quota;
    struct str cpuset_cpus;
    WIRE_LIST(struct page_limit) hugepages;
    wire_map unified;
    struct str unknown;
};
static const struct wire_member resources_members[] = {
    WIRE_MEMBER(struct resources, cpu_period, 1, WK_INT),
    WIRE_MEMBER(struct resources, cpu_quota, 2, WK_INT),
    WIRE_MEMBER(struct resources, cpuset_cpus, 6, WK_STR),
    WIRE_MEMBER(struct resources, hugepages, 8, WK_MSGS, .sub = &page_limit_table),
    WIRE_MEMBER(struct resources, unified, 9, WK_MAP),
};
static const struct wire_table resources_table =
    WIRE_TABLE("LinuxContainerResources", struct resources, resources_members);

struct node {
    bool on;
    struct node *inner;
    wire_strings words;
    struct resources *resources;
    struct str unknown;
};
static const struct wire_table node_table;
static const struct wire_member node_members[] = {
    WIRE_MEMBER(struct node, on, 1, WK_BOOL),
    WIRE_MEMBER(struct node, inner, 2, WK_MSG, .sub = &node_table),
    WIRE_MEMBER(struct node, words, 3, WK_STRS),
    WIRE_MEMBER(struct node, resources, 4, WK_MSG, .sub = &resources_table),
};
static const struct wire_table node_table = WIRE_TABLE("Node", struct node, node_members);

static void assert_text(struct str got, const char *want)
{
    CLEANUP(mem_free) char *text = xstrndup(got.n ? got.p : "", got.n);
    assert_string_equal(text, want);
}

static void assert_encodes(const struct wire_table *t, const void *in, struct str want)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    wire_encode(t, in, &b);
    assert_int_equal(b.len, want.n);
    if (want.n > 0)
        assert_memory_equal(b.data, want.p, want.n);
}

static int setup(void **state)
{
    *state = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

/* ---- what is written is what others write -----------------------------------------------------
 */

static void test_minus_one_has_ten_bytes(void **state)
{
    struct resources r = { .cpu_quota = -1 }, again;
    struct str bytes = STR("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");

    assert_encodes(&resources_table, &r, bytes);
    assert_int_equal(wire_decode(&resources_table, bytes, *state, &again, NULL), 0);
    assert_int_equal(again.cpu_quota, -1);
    assert_int_equal(again.cpu_period, 0);
}

static void test_all_kinds_survive(void **state)
{
    struct page_limit pages[] = { { .page_size = STR("2Mi"), .limit = UINT64_MAX },
                                  { .page_size = STR("1Gi") } };
    struct wire_pair unified[] = { { STR("cpu.weight"), STR("7") }, { STR("empty"), STR("") } };
    struct str words[] = { STR("a"), STR("") };
    struct resources res = { .cpu_period = 100000,
                             .cpuset_cpus = STR("0-3"),
                             .hugepages = { pages, 2 },
                             .unified = { unified, 2 } };
    struct node empty = { 0 };
    struct node n = { .on = true,
                      .inner = &empty,
                      .words = { words, 2 },
                      .resources = &res,
                      .unknown = STR("\x50\x05") };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct node got;

    wire_encode(&node_table, &n, &b);
    struct str bytes = { b.data, b.len };
    assert_int_equal(wire_decode(&node_table, bytes, *state, &got, NULL), 0);
    assert_true(got.on);
    assert_non_null(got.inner); /* empty, not absent */
    assert_false(got.inner->on);
    assert_int_equal(got.words.n, 2);
    assert_text(got.words.items[0], "a");
    assert_text(got.words.items[1], "");
    assert_int_equal(got.resources->cpu_period, 100000);
    assert_text(got.resources->cpuset_cpus, "0-3");
    assert_int_equal(got.resources->hugepages.n, 2);
    assert_text(got.resources->hugepages.items[0].page_size, "2Mi");
    assert_int_equal(got.resources->hugepages.items[0].limit, UINT64_MAX);
    assert_int_equal(got.resources->hugepages.items[1].limit, 0);
    assert_int_equal(got.resources->unified.n, 2);
    assert_text(got.resources->unified.items[0].key, "cpu.weight");
    assert_text(got.resources->unified.items[0].value, "7");
    assert_text(got.resources->unified.items[1].value, "");
    assert_encodes(&node_table, &got, bytes);
}

/* ---- what the table does not know -------------------------------------------------------------
 */

static void test_unknown_fields_are_kept_where_they_are(void **state)
{
    struct str bytes = STR("\x08\x05"                      /* cpu_period 5 */
                           "\x1a\x01x\x25\x01\x02\x03\x04" /* fields 3 and 4, side by side */
                           "\x32\x01"
                           "0");
    struct resources r;

    assert_int_equal(wire_decode(&resources_table, bytes, *state, &r, NULL), 0);
    assert_int_equal(r.cpu_period, 5);
    assert_ptr_equal(r.unknown.p, bytes.p + 2); /* nothing is copied */
    assert_int_equal(r.unknown.n, 8);
    assert_encodes(&resources_table, &r,
                   STR("\x08\x05\x32\x01"
                       "0"
                       "\x1a\x01x\x25\x01\x02\x03\x04"));
}

static void test_scattered_unknown_fields_are_put_together(void **state)
{
    struct str bytes = STR("\x1a\x01x"
                           "\x08\x05"
                           "\x20\x07"
                           "\x0d\x01\x00\x00\x00"
                           "\x10\x01");
    struct resources r;

    /* Field 1 is there a second time, as a fixed number: not what the table expects. */
    assert_int_equal(wire_decode(&resources_table, bytes, *state, &r, NULL), 0);
    assert_int_equal(r.cpu_period, 5);
    assert_int_equal(r.cpu_quota, 1);
    assert_encodes(&resources_table, &r,
                   STR("\x08\x05\x10\x01"
                       "\x1a\x01x"
                       "\x20\x07"
                       "\x0d\x01\x00\x00\x00"));
}

/* ---- what comes twice -------------------------------------------------------------------------
 */

static void test_the_last_number_counts_and_messages_merge(void **state)
{
    struct str bytes = STR("\x22\x04\x08\x01\x10\x02" /* resources: period 1, quota 2 */
                           "\x08\x01"
                           "\x22\x00"
                           "\x22\x07\x08\x03\x4a\x03\x0a\x01k" /* period 3, unified k */
                           "\x08\x00");
    struct node n;

    assert_int_equal(wire_decode(&node_table, bytes, *state, &n, NULL), 0);
    assert_false(n.on);
    assert_int_equal(n.resources->cpu_period, 3);
    assert_int_equal(n.resources->cpu_quota, 2);
    assert_int_equal(n.resources->unified.n, 1);
    assert_text(n.resources->unified.items[0].key, "k");
    assert_int_equal(n.unknown.n, 0);
}

/* ---- limits ------------------------------------------------------------------------------------
 */

static void test_malformed_messages_name_their_type(void **state)
{
    static const struct str bad[] = {
        STR("\x08"),                     /* cut off */
        STR("\x22\x02\x08"),             /* longer than the message */
        STR("\x22\x02\x4a\x01"),         /* in resources: cut off */
        STR("\x22\x03\x4a\x01\x0a"),     /* in an entry of unified */
        STR("\x22\x01\x08\x22\x01\x01"), /* two parts, each cut off where the other goes on */
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct kerr err = { 0 };
        struct node n;
        if (wire_decode(&node_table, bad[i], *state, &n, &err) != -EBADMSG)
            fail_msg("number %zu was taken", i);
        assert_string_equal(err.text, i < 2 ? "Node: malformed protobuf field"
                                            : "LinuxContainerResources: malformed protobuf field");
    }
}

static void test_depth_is_limited(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT, outer = STRBUF_INIT;
    struct kerr err = { 0 };
    struct node n;

    for (int depth = 1; depth < WIRE_DEPTH_MAX; depth++) {
        strbuf_reset(&outer);
        wire_put_bytes(&outer, 2, (struct str){ b.data, b.len });
        strbuf_reset(&b);
        strbuf_appendn(&b, outer.data, outer.len);
    }
    assert_int_equal(wire_decode(&node_table, (struct str){ b.data, b.len }, *state, &n, &err), 0);
    strbuf_reset(&outer);
    wire_put_bytes(&outer, 2, (struct str){ b.data, b.len });
    assert_int_equal(
        wire_decode(&node_table, (struct str){ outer.data, outer.len }, *state, &n, &err),
        -EBADMSG);
    assert_string_equal(err.text, "Node: protobuf messages nested deeper than 32");
}

/* Two bytes a list item, 48 bytes and more in memory each. */
static void test_what_a_message_unfolds_to_is_limited(void **state)
{
    size_t items = WIRE_DECODED_MAX / sizeof(struct page_limit) + 1;
    CLEANUP(mem_free) char *p = xmalloc(2 * items);
    struct kerr err = { 0 };
    struct resources r;

    for (size_t i = 0; i < items; i++)
        memcpy(p + 2 * i, "\x42\x00", 2);
    assert_int_equal(wire_decode(&resources_table, (struct str){ p, 2 * items }, *state, &r, &err),
                     -E2BIG);
    assert_string_equal(err.text, "LinuxContainerResources: protobuf message unfolds to more than "
                                  "67108864 bytes");
    assert_int_equal(
        wire_decode(&resources_table, (struct str){ p, 2 * (items - 1) }, *state, &r, &err), 0);
    assert_int_equal(r.hugepages.n, items - 1);
    struct str large = { p, (size_t)WIRE_MESSAGE_MAX + 1 }; /* refused before it is looked at */
    assert_int_equal(wire_decode(&resources_table, large, *state, &r, &err), -E2BIG);
}

int main(int argc, char **argv)
{
#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_minus_one_has_ten_bytes),
        CASE(test_all_kinds_survive),
        CASE(test_unknown_fields_are_kept_where_they_are),
        CASE(test_scattered_unknown_fields_are_put_together),
        CASE(test_the_last_number_counts_and_messages_merge),
        CASE(test_malformed_messages_name_their_type),
        CASE(test_depth_is_limited),
        CASE(test_what_a_message_unfolds_to_is_limited),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
