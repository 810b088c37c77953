/* fuzz_cron.c - a schedule, and behind the first newline the bytes of a time zone file: a refusal
 * says why; times come one after another, show what the fields say, and none lies between. */
#include "base/ktime.h"
#include "base/strbuf.h"
#include "sys/cron_schedule.h"
#include "sys/tzone.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool shows(const struct cron_schedule *s, const struct tzone *z, int64_t t)
{
    int64_t until;
    struct ktime_civil c = ktime_civil_seconds(t + tzone_offset(z, t, &until));

    return until > t && c.second == 0 && (s->minute >> c.minute & 1) && (s->hour >> c.hour & 1) &&
           (s->month >> c.month & 1) && ((s->dom >> c.day & 1) || (!s->any_dom && !s->any_dow));
}

static void check(const struct cron_schedule *s, const struct tzone *z, int64_t from)
{
    int64_t t = from, next, last;
    unsigned n = 0;

    for (; n < 20 && cron_next(s, z, t, &next); n++) {
        assert(next > t && (s->every || shows(s, z, next)));
        t = next;
    }
    if (n == 0)
        return;
    assert(cron_count(s, z, from, t, 100) == n);
    assert(cron_latest(s, z, from, t, &last) && last == t);
    assert(!cron_latest(s, z, t, t, &last));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(tzone_free) struct tzone *z = NULL;
    const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
    size_t n = line ? (size_t)(line - data) : size;
    struct cron_schedule s;
    struct kerr err = { 0 };

    strbuf_appendn(&text, (const char *)data, n);
    strbuf_append(&text, ""); /* a text, however short */
    if (line) {
        z = tzone_parse(line + 1, size - n - 1, &err);
        assert(z || err.text[0]);
    }
    err = (struct kerr){ 0 };
    if (cron_parse(text.data ? text.data : "", &s, &err) < 0) {
        assert(err.code == -EINVAL || err.code == -ERANGE);
        assert(err.text[0] != '\0');
        return 0;
    }
    check(&s, z, INT64_C(1763200000));
    check(&s, z, INT64_C(4102444800)); /* 2100, which is no leap year */
    check(&s, NULL, 0);
    return 0;
}
