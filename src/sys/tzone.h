/* tzone.h - time zones: how far the clocks of a place are from UTC, and when that changes.
 *
 * Read from TZif files (RFC 9636), as the system's tzdata has them; the rule at their end serves
 * the years behind their table. Immutable once read.
 */
#ifndef KOORD_SYS_TZONE_H
#define KOORD_SYS_TZONE_H
#include "base/base.h"

struct tzone;

struct tzone *tzone_parse(const void *data, size_t n, struct kerr *err); /* a TZif file's bytes */
/* By its IANA name, from the system's tzdata; "", "UTC" and "Etc/UTC" need none. -ENOENT: unknown.
 * A name that is no plain path below that directory is unknown too. Blocks for one small file. */
int tzone_open(const char *name, struct tzone **ret, struct kerr *err);
struct tzone *tzone_free(struct tzone *z); /* NULL is fine; always returns NULL */
DEFINE_CLEANUP(tzone_free, struct tzone *)

/* Seconds that local time is ahead of UTC at t (seconds since 1970), and until when: *ret_until >
 * t, INT64_MAX for ever. z NULL: UTC. */
int64_t tzone_offset(const struct tzone *z, int64_t t, int64_t *ret_until);
/* How far clocks in the zone of this name are ahead of UTC at t. -ENOENT: unknown. Zones that were
 * found are kept for the life of the process. Any thread; blocks for one small file at first. */
int tzone_offset_of(struct str name, int64_t t, int64_t *ret);
/* Days since 1970-01-01; month may be 13. */
int64_t tzone_days(int64_t year, int month, int day);
/* "2026-11-15T18:20:00+02:00", or Z where the offset is 0. */
enum { TZONE_TEXT_MAX = 40 };
void tzone_format(const struct tzone *z, int64_t t, char buf[TZONE_TEXT_MAX]);
#endif
