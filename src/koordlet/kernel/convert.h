/* convert.h - numbers of cgroup files: between the versions, from milli-cores, from text. */
#ifndef KOORD_KOORDLET_KERNEL_CONVERT_H
#define KOORD_KOORDLET_KERNEL_CONVERT_H
#include "base/base.h"
#include "base/cpuset.h"

enum {
    SHARES_MIN = 2,
    SHARES_MAX = 262144,
    WEIGHT_MIN = 1,
    WEIGHT_MAX = 10000,
    CFS_PERIOD_US = 100000,
    CFS_QUOTA_MIN_US = 1000,
};

/* -EINVAL outside of [2, 262144] and [1, 10000]. */
int shares_to_weight(int64_t shares, int64_t *ret, struct kerr *err);
int shares_text_to_weight(const char *shares, int64_t *ret, struct kerr *err);
int weight_to_shares(int64_t weight, int64_t *ret, struct kerr *err);

int64_t milli_to_shares(int64_t milli);
int64_t milli_to_quota(int64_t milli); /* per CFS_PERIOD_US; -1: no limit */

/* A file of one number. "max" is -1, INT64_MAX. */
int file_i64(const char *s, size_t n, int64_t *ret, struct kerr *err);
int file_u64(const char *s, size_t n, uint64_t *ret, struct kerr *err);

/* A list of CPUs without blanks or a newline. */
int cpus_parse(const char *s, size_t n, struct cpuset *ret, struct kerr *err);
#endif
