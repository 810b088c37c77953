/* test_claimwire.c - a finalizer for a claim in protobuf; all else stays byte for byte. */
#include "base/test/asserts.h"
#include "base/wire.h"
#include "scheduler/plugins/dynamicresources/claimwire.h"

#define PARAMETERS "{\"n\": 8, \"text\": \"<a>\"}"

/* As a server sends it: the type, metadata with a name and perhaps a finalizer, a spec. */
static void write_claim(struct strbuf *b, const char *finalizer)
{
    strbuf_appendn(b, "k8s", 4);
    size_t object = b->len;
    size_t at = b->len;
    wire_put_bytes(b, 1, STR("resource.k8s.io/v1"));
    wire_put_bytes(b, 2, STR("ResourceClaim"));
    wire_wrap(b, 1, at);
    at = b->len;
    size_t meta = b->len;
    wire_put_bytes(b, 1, STR("c"));
    wire_put_bytes(b, 6, STR("17"));
    if (finalizer)
        wire_put_bytes(b, 14, str_of(finalizer));
    wire_wrap(b, 1, meta);
    wire_put_bytes(b, 2, STR(PARAMETERS));
    wire_wrap(b, 2, at);
    wire_put_bytes(b, 4, STR("")); /* contentType */
    (void)object;
}

static struct str bytes_of(struct str in, uint32_t num)
{
    struct wire_field f;
    struct str found = { 0 };

    while (wire_next(&in, &f) > 0)
        if (f.num == num)
            found = f.bytes;
    return found;
}

static void test_all_else_stays(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf in = STRBUF_INIT, out = STRBUF_INIT, want = STRBUF_INIT;

    (void)state;
    write_claim(&in, NULL);
    write_claim(&want, "example.com/mine");
    assert_int_equal(
        claimwire_add_finalizer((struct str){ in.data, in.len }, "example.com/mine", &out), 0);
    assert_int_equal(out.len, want.len);
    assert_memory_equal(out.data, want.data, want.len);
}

static void test_others_finalizers_stay(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf in = STRBUF_INIT, out = STRBUF_INIT;
    struct wire_field f;
    unsigned n = 0;

    (void)state;
    write_claim(&in, "example.com/theirs");
    assert_int_equal(
        claimwire_add_finalizer((struct str){ in.data, in.len }, "example.com/mine", &out), 0);
    struct str claim = bytes_of((struct str){ out.data + 4, out.len - 4 }, 2);
    struct str meta = bytes_of(claim, 1);
    assert_true(str_eq(bytes_of(claim, 2), STR(PARAMETERS)));
    while (wire_next(&meta, &f) > 0)
        n += f.num == 14;
    assert_int_equal(n, 2);
}

/* Cut off anywhere, of another type, without metadata: refused, and nothing is read beyond. */
static void test_bad_answers_are_refused(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf in = STRBUF_INIT, out = STRBUF_INIT;

    (void)state;
    write_claim(&in, NULL);
    for (size_t n = 0; n + 3 < in.len; n++) { /* the last field is empty */
        CLEANUP(mem_free) char *cut = xmemdup(in.data, n + 1);
        strbuf_reset(&out);
        assert_int_equal(claimwire_add_finalizer((struct str){ cut, n }, "f", &out), -EBADMSG);
    }
    assert_int_equal(claimwire_add_finalizer(STR("{\"kind\":\"ResourceClaim\"}"), "f", &out),
                     -EBADMSG);
    strbuf_reset(&in);
    strbuf_appendn(&in, "k8s", 4);
    wire_put_bytes(&in, 2, STR(""));
    assert_int_equal(claimwire_add_finalizer((struct str){ in.data, in.len }, "f", &out), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_else_stays),
        cmocka_unit_test(test_others_finalizers_stay),
        cmocka_unit_test(test_bad_answers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
