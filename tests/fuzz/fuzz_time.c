/* fuzz_time.c - the same bytes as an RFC 3339 time and as a duration: what we print, we read back.
 */
#include "base/ktime.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_time(const char *s, size_t n)
{
    struct kerr err = { 0 };
    char text[KTIME_TEXT_MAX];
    nsec_t t, again;

    if (ktime_parse(s, n, &t, &err) < 0) {
        assert((err.code == -EINVAL || err.code == -ERANGE) && err.text[0] != '\0');
        return;
    }
    struct ktime_civil c = ktime_civil(t);
    assert(c.month >= 1 && c.month <= 12 && c.day >= 1 && c.day <= 31 && c.nanos >= 0);
    assert(ktime_parse(text, ktime_format_nano(t, text), &again, &err) == 0 && again == t);
    /* The coarser forms cut; at the very start of the range, cut is out of it. */
    if (t < INT64_MIN + NSEC_PER_SEC)
        return;
    assert(ktime_parse(text, ktime_format_micro(t, text), &again, &err) == 0);
    assert(again <= t && t - again < NSEC_PER_USEC);
    assert(ktime_parse(text, ktime_format(t, text), &again, &err) == 0);
    assert(again <= t && t - again < NSEC_PER_SEC && again % NSEC_PER_SEC == 0);
}

static void check_duration(const char *s, size_t n)
{
    struct kerr err = { 0 };
    char text[KTIME_TEXT_MAX];
    nsec_t d, again;

    if (kdur_parse(s, n, &d, &err) < 0) {
        assert((err.code == -EINVAL || err.code == -ERANGE) && err.text[0] != '\0');
        return;
    }
    size_t len = kdur_format(d, text);
    assert(len < sizeof text && text[len] == '\0' && text[len - 1] == 's');
    assert(kdur_parse(text, len, &again, &err) == 0 && again == d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_time((const char *)data, size);
    check_duration((const char *)data, size);
    return 0;
}
