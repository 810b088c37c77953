/* clock.h - times and durations in expressions: years 1 to 9999, no clock. */
#ifndef KOORD_CEL_CLOCK_H
#define KOORD_CEL_CLOCK_H
#include "cel/val.h"

#define CEL_TIME_MIN (-62135596800) /* seconds of 0001-01-01 */
#define CEL_TIME_MAX 253402300799   /* seconds of 9999-12-31T23:59:59 */

/* RFC 3339 as Go reads it; in a document a date alone is midnight, and the year 0 is one. 0 or
 * -EINVAL. */
int cel_time_parse(struct str s, bool document, struct cel_val *ret);
/* Go's durations: "1h30m", "-1.5s". 0, -EINVAL or -ERANGE. */
int cel_duration_parse(struct str s, nsec_t *ret);
/* "2020-01-01T00:00:00.5Z" */
void cel_time_print(struct cel_val t, struct strbuf *out);
/* "3661.5s" */
void cel_duration_print(int64_t ns, struct strbuf *out);

struct cel_civil {
    int64_t year;
    int month, day, hour, minute, second; /* month and day from 1 */
    int weekday, yearday;                 /* from 0; Sunday is 0 */
};
struct cel_civil cel_civil(int64_t seconds);
/* The offset from UTC in seconds of "+02:00" or "02:00". -ENOENT: a name; -EINVAL and -ERANGE: a
 * part is no number or too large a one, *ret_bad. */
int cel_zone_offset(struct str zone, int64_t *ret, struct str *ret_bad);
#endif
