/* fuzz_wire.c - messages by table, of a protocol with every kind of member.
 *
 * A refusal says why. What was taken is written and read again to the same bytes: the first writing
 * brings it into order, the second changes nothing. The size of what is kept is bounded by the
 * message: no field is lost, none appears.
 */
#include "base/wire_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct inner {
    struct str name;
    uint64_t limit;
    struct str unknown;
};
static const struct wire_member inner_members[] = {
    WIRE_MEMBER(struct inner, name, 1, WK_STR),
    WIRE_MEMBER(struct inner, limit, 2, WK_UINT),
};
static const struct wire_table inner_table = WIRE_TABLE("Inner", struct inner, inner_members);

struct outer {
    struct str name;
    bool on;
    int64_t n;
    struct outer *self;
    struct inner *one;
    wire_strings words;
    WIRE_LIST(struct inner) many;
    wire_map labels;
    struct str unknown;
};
static const struct wire_table outer_table;
static const struct wire_member outer_members[] = {
    WIRE_MEMBER(struct outer, name, 1, WK_STR),
    WIRE_MEMBER(struct outer, on, 2, WK_BOOL),
    WIRE_MEMBER(struct outer, n, 3, WK_INT),
    WIRE_MEMBER(struct outer, self, 4, WK_MSG, .sub = &outer_table),
    WIRE_MEMBER(struct outer, one, 5, WK_MSG, .sub = &inner_table),
    WIRE_MEMBER(struct outer, words, 6, WK_STRS),
    WIRE_MEMBER(struct outer, many, 7, WK_MSGS, .sub = &inner_table),
    WIRE_MEMBER(struct outer, labels, 8, WK_MAP),
};
static const struct wire_table outer_table = WIRE_TABLE("Outer", struct outer, outer_members);

static void encode_again(struct str message, struct arena *a, struct strbuf *out)
{
    struct outer o;
    int r = wire_decode(&outer_table, message, a, &o, NULL);

    assert(r == 0);
    (void)r;
    wire_encode(&outer_table, &o, out);
}

/* Fields that are no member, or one of another wire type. */
static size_t count_unknown(struct str message)
{
    struct wire_field f;
    size_t n = 0;

    while (wire_next(&message, &f) > 0)
        n += f.num > 8 || f.type != (f.num == 2 || f.num == 3 ? WIRE_VARINT : WIRE_BYTES);
    return n;
}

static size_t count_lists(struct str message)
{
    struct wire_field f;
    size_t n = 0;

    while (wire_next(&message, &f) > 0)
        n += f.num >= 6 && f.num <= 8 && f.type == WIRE_BYTES;
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf once = STRBUF_INIT, twice = STRBUF_INIT;
    struct str message = { (const char *)data, size };
    struct kerr err = { 0 };
    struct outer o;

    if (wire_decode(&outer_table, message, a, &o, &err) < 0) {
        assert((err.code == -EBADMSG || err.code == -E2BIG) && err.text[0]);
        return 0;
    }
    assert(wire_valid(message));
    wire_encode(&outer_table, &o, &once);
    struct str written = { strbuf_str(&once), once.len };
    assert(count_unknown(written) == count_unknown(message));
    assert(count_lists(written) == count_lists(message));
    assert(o.words.n + o.many.n + o.labels.n == count_lists(message));
    encode_again(written, a, &twice);
    assert(str_eq(written, (struct str){ strbuf_str(&twice), twice.len }));
    return 0;
}
