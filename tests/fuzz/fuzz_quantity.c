/* fuzz_quantity.c - one quantity, or two with a blank between them.
 *
 * What we print we read back, normalising comes to an end, and arithmetic keeps its laws.
 */
#include "base/qty.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* False when the text is refused, which it must be everywhere and with a reason. */
static bool check_text(const char *s, size_t n, struct arena *a, struct qty *q)
{
    struct kerr err = { 0 };
    struct qty again;
    const char *stored, *twice, *thrice;

    if (qty_parse(s, n, q, &err) < 0) {
        assert(err.code < 0 && err.text[0] != '\0');
        assert(qty_normalize(s, n, a, &stored, &err) < 0);
        return false;
    }
    const char *text = qty_format(*q, a);
    assert(strlen(text) < QTY_TEXT_MAX);
    assert(qty_parse(text, strlen(text), &again, &err) == 0);
    assert(qty_cmp(*q, again) == 0);
    if (again.format == q->format)
        assert(streq(qty_format(again, a), text));

    assert(qty_normalize(s, n, a, &stored, &err) == 0);
    assert(qty_parse(stored, strlen(stored), &again, &err) == 0);
    assert(qty_cmp(*q, again) == 0);
    /* 62.5Ki is stored as 64000, which reads as decimal and would be 64k; there it ends. */
    assert(qty_normalize(stored, strlen(stored), a, &twice, &err) == 0);
    assert(qty_normalize(twice, strlen(twice), a, &thrice, &err) == 0);
    assert(streq(twice, thrice));
    return true;
}

/* Integers come out rounded away from zero, by less than one. */
static void check_value(struct qty q)
{
    static const int scales[] = { -9, -3, 0, 3 };
    const struct qty one = qty_from_i64(1, QTY_DECIMAL_SI);

    for (size_t i = 0; i < ARRAY_LEN(scales); i++) {
        int64_t v = qty_scaled(q, scales[i]);
        assert((v > 0) - (v < 0) == qty_sign(q));
    }
    if (qty_fits_i64(q, 0)) {
        struct qty v = qty_from_i64(qty_value(q), QTY_DECIMAL_SI);
        struct qty over = qty_sign(q) < 0 ? qty_sub(q, v) : qty_sub(v, q);
        assert(qty_sign(over) >= 0 && qty_cmp(over, one) < 0);
    } else {
        assert(qty_value(q) == (qty_sign(q) < 0 ? INT64_MIN : INT64_MAX));
    }
    assert(qty_cmp(qty_neg(qty_neg(q)), q) == 0);
    assert(qty_is_zero(qty_sub(q, q)));
    assert(qty_cmp(qty_mul(q, 2, NULL), qty_add(q, q)) == 0);
    assert((qty_f64(q) > 0) - (qty_f64(q) < 0) == qty_sign(q));
}

static void check_pair(struct qty a, struct qty b)
{
    struct qty sum = qty_add(a, b);

    assert(qty_cmp(a, b) == -qty_cmp(b, a));
    assert(qty_cmp(sum, qty_add(b, a)) == 0);
    assert(qty_sign(qty_sub(a, b)) == qty_cmp(a, b));
    if (qty_sign(b) >= 0)
        assert(qty_cmp(sum, a) >= 0);
    if (!qty_is_zero(a))
        assert(sum.format == a.format);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const char *s = (const char *)data, *blank = size ? memchr(s, ' ', size) : NULL;
    size_t n = blank ? (size_t)(blank - s) : size;
    struct qty x, y;

    if (!check_text(s, n, a, &x))
        return 0;
    check_value(x);
    if (blank && check_text(blank + 1, size - n - 1, a, &y))
        check_pair(x, y);
    return 0;
}
