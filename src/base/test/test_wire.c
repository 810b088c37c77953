/* test_wire.c - protobuf fields: known bytes, borders, and texts that are no message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "base/wire.h"

static struct wire_field next(struct str *rest)
{
    struct wire_field f = { 0 };

    assert_int_equal(wire_next(rest, &f), 1);
    return f;
}

/* The examples of the format's own description: 150 in field 1, "testing" in field 2. */
static void test_known_bytes(void **state)
{
    struct str rest = STR("\x08\x96\x01"
                          "\x12\x07testing"
                          "\x1d\x78\x56\x34\x12"
                          "\x21\x08\x07\x06\x05\x04\x03\x02\x01");

    (void)state;
    struct wire_field f = next(&rest);
    assert_int_equal(f.num, 1);
    assert_int_equal(f.type, WIRE_VARINT);
    assert_int_equal(f.value, 150);
    assert_int_equal(f.raw.n, 3);
    f = next(&rest);
    assert_int_equal(f.num, 2);
    assert_true(str_eqz(f.bytes, "testing"));
    assert_int_equal(f.raw.n, 9);
    f = next(&rest);
    assert_int_equal(f.num, 3);
    assert_int_equal(f.value, 0x12345678);
    f = next(&rest);
    assert_int_equal(f.num, 4);
    assert_that(f.value, ==, UINT64_C(0x0102030405060708));
    assert_int_equal(wire_next(&rest, &f), 0);
}

static void test_what_is_written_is_read(void **state)
{
    static const uint64_t values[] = { 0, 1, 127, 128, 300, UINT32_MAX, UINT64_MAX };
    static const uint32_t nums[] = { 1, 15, 16, 2047, 2048, WIRE_NUM_MAX };
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        for (size_t k = 0; k < ARRAY_LEN(nums); k++) {
            strbuf_reset(&b);
            wire_put_varint(&b, nums[k], values[i]);
            wire_put_bytes(&b, nums[k], (struct str){ "\0x", 2 });
            wire_put_bytes(&b, nums[k], (struct str){ NULL, 0 });
            struct str rest = { b.data, b.len };
            struct wire_field f = next(&rest);
            assert_int_equal(f.num, nums[k]);
            assert_that(f.value, ==, values[i]);
            f = next(&rest);
            assert_true(str_eq(f.bytes, (struct str){ "\0x", 2 }));
            f = next(&rest);
            assert_int_equal(f.bytes.n, 0);
            assert_int_equal(rest.n, 0);
        }
}

static void test_no_message(void **state)
{
    static const struct str bad[] = {
        STR("\x08"),                                             /* a key alone */
        STR("\x08\x80"),                                         /* a varint that does not end */
        STR("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),     /* 65 bits */
        STR("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), /* eleven bytes */
        STR("\x02\x01"),                                         /* field 0 */
        STR("\x80\x80\x80\x80\x10\x00"),                         /* field 2^29 */
        STR("\x12\x08testing"),                                  /* longer than what is there */
        STR("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),     /* a length of 2^64 - 1 */
        STR("\x1d\x01\x02\x03"),
        STR("\x21\x01\x02\x03\x04\x05\x06\x07"),
        STR("\x0b\x0c"), /* a group */
        STR("\x0e\x00"),
        STR("\x0f\x00"),
    };
    struct wire_field f;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct str rest = bad[i];
        if (wire_next(&rest, &f) != -EBADMSG)
            fail_msg("number %zu was taken", i);
        assert_ptr_equal(rest.p, bad[i].p);
        assert_false(wire_valid(bad[i]));
    }
    assert_true(wire_valid(STR("")));
    assert_true(wire_valid(STR("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")));
    assert_false(wire_valid(STR("\x08\x01\x08"))); /* a good one first */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_bytes),
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_no_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
