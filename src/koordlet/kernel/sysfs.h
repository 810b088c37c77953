/* sysfs.h - single values of sysfs and procfs, for the files of this folder.
 *
 * dirfd is one of the host's roots; -1 (the root is not there) answers as a missing file does.
 */
#ifndef KOORD_KOORDLET_KERNEL_SYSFS_H
#define KOORD_KOORDLET_KERNEL_SYSFS_H
#include "base/cpuset.h"
#include "koordlet/kernel/host.h"

/* The text without blanks and newlines at its ends; borrowed until the host's buffer is used
 * again. -ENOENT and so on: it could not be read. */
int sysfs_text(const struct host *h, int dirfd, struct str *ret, const char *fmt, ...) PRINTF(4, 5);
int sysfs_i64(const struct host *h, int dirfd, int64_t *ret, const char *fmt, ...) PRINTF(4, 5);
/* A list as in cpulist files. */
int sysfs_list(const struct host *h, int dirfd, struct cpuset *ret, const char *fmt, ...)
    PRINTF(4, 5);
bool sysfs_exists(int dirfd, const char *fmt, ...) PRINTF(2, 3);
/* Where a link leads, its last component; "" when there is no such link. Returns buf. */
const char *sysfs_link_name(int dirfd, char *buf, size_t size, const char *fmt, ...) PRINTF(4, 5);
/* The number behind the prefix of a name such as "node12"; -1: another name. */
int32_t sysfs_number(const char *name, const char *prefix);
struct str text_trim(struct str s);
#endif
