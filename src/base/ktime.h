/* ktime.h - text forms of time: RFC 3339 as metav1.Time and MicroTime write it, Go durations. */
#ifndef KOORD_BASE_KTIME_H
#define KOORD_BASE_KTIME_H
#include "base/base.h"

enum { KTIME_TEXT_MAX = 40 };

/* RFC 3339 with any fraction and offset -> wall nanoseconds since 1970. -EINVAL with a message
 * for anything Go's time.Parse(RFC3339) refuses, -ERANGE beyond 1677..2262. */
int ktime_parse(const char *s, size_t n, nsec_t *ret, struct kerr *err);
/* The same for all years that RFC 3339 can say, 0 to 9999: seconds since 1970 and nanoseconds. */
int ktime_parse_seconds(const char *s, size_t n, int64_t *ret_seconds, int *ret_nanos);
/* "2026-11-15T18:20:00Z" (metav1.Time: whole seconds, UTC). Return the length. */
size_t ktime_format(nsec_t wall, char buf[KTIME_TEXT_MAX]);
/* "2026-11-15T18:20:00.123456Z" (metav1.MicroTime). */
size_t ktime_format_micro(nsec_t wall, char buf[KTIME_TEXT_MAX]);
/* RFC3339Nano: fraction without trailing zeros. */
size_t ktime_format_nano(nsec_t wall, char buf[KTIME_TEXT_MAX]);

/* Broken-down UTC, for logs and names; valid for the whole range of nsec_t. */
struct ktime_civil {
    int year, month, day, hour, minute, second, nanos;
};
struct ktime_civil ktime_civil(nsec_t wall);
struct ktime_civil ktime_civil_seconds(int64_t seconds); /* of the year -400 or later */

/* Go's time.ParseDuration: "1h15m30.918s", "-1.5h", "0", units ns us (and micro sign) ms s m h. */
int kdur_parse(const char *s, size_t n, nsec_t *ret, struct kerr *err);
/* Go's Duration.String(): "1h15m30.918s", "1.5ms", "0s". */
size_t kdur_format(nsec_t d, char buf[KTIME_TEXT_MAX]);
#endif
