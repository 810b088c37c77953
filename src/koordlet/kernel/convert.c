/* convert.c - numbers of cgroup files. */
#include "koordlet/kernel/convert.h"

#include "base/num.h"

/* What v1 reports where there is no limit: the largest page-aligned number. */

static int64_t clamp(int64_t v, int64_t min, int64_t max)
{
    return v < min ? min : v > max ? max : v;
}

int shares_to_weight(int64_t shares, int64_t *ret, struct kerr *err)
{
    if (shares < SHARES_MIN || shares > SHARES_MAX)
        return kerr_set(err, -EINVAL, "cpu.shares %lld is not in [%d, %d]", (long long)shares,
                        SHARES_MIN, SHARES_MAX);
    *ret = clamp(1 + (shares - 2) * 9999 / 262142, WEIGHT_MIN, WEIGHT_MAX);
    return 0;
}

int shares_text_to_weight(const char *shares, int64_t *ret, struct kerr *err)
{
    int64_t v;

    if (i64_parse(shares, strlen(shares), &v) < 0)
        return kerr_set(err, -EINVAL, "cpu.shares %.64s is not a number", shares);
    return shares_to_weight(v, ret, err);
}

int weight_to_shares(int64_t weight, int64_t *ret, struct kerr *err)
{
    if (weight < WEIGHT_MIN || weight > WEIGHT_MAX)
        return kerr_set(err, -EINVAL, "cpu.weight %lld is not in [%d, %d]", (long long)weight,
                        WEIGHT_MIN, WEIGHT_MAX);
    *ret = clamp((weight - 1) * 262142 / 9999 + 2, SHARES_MIN, SHARES_MAX);
    return 0;
}

int64_t milli_to_shares(int64_t milli)
{
    return milli <= 0 ? SHARES_MIN : clamp(i64_muldiv(milli, 1024, 1000), SHARES_MIN, SHARES_MAX);
}

int64_t milli_to_quota(int64_t milli)
{
    return milli <= 0 ? -1 : MAX(i64_muldiv(milli, CFS_PERIOD_US, 1000), (int64_t)CFS_QUOTA_MIN_US);
}

/* ---- files of one number --------------------------------------------------------------------- */

static bool is_max(const char *s, size_t n)
{
    return str_eqz((struct str){ s, n }, "max");
}

static int bad_value(const char *s, size_t n, int code, struct kerr *err)
{
    return kerr_set(err, code, "cannot parse cgroup value %.*s, err: %s", (int)MIN(n, (size_t)128),
                    s, code == -ERANGE ? "out of range" : "not a number");
}

int file_i64(const char *s, size_t n, int64_t *ret, struct kerr *err)
{
    if (is_max(s, n)) {
        *ret = -1;
        return 0;
    }
    int r = i64_parse(s, n, ret);
    return r < 0 ? bad_value(s, n, r, err) : 0;
}

int file_u64(const char *s, size_t n, uint64_t *ret, struct kerr *err)
{
    if (is_max(s, n)) {
        *ret = INT64_MAX;
        return 0;
    }
    int r = u64_parse(s, n, ret);
    return r < 0 ? bad_value(s, n, r, err) : 0;
}

int cpus_parse(const char *s, size_t n, struct cpuset *ret, struct kerr *err)
{
    for (size_t i = 0; i < n; i++)
        if (!memchr("0123456789,-", s[i], 12))
            return kerr_set(err, -EINVAL, "cpu list %.*s has something else than numbers",
                            (int)MIN(n, (size_t)128), s);
    return cpuset_parse(s, n, ret, err);
}
