/* config_check.c - what is wrong with a field of a configuration file, in the words of Kubernetes'
 * validation. */
#include "component/config.h"

#include <stdio.h>

int config_under(struct kerr *err, const char *fmt, ...)
{
    /* "Duplicate value" is about the thing itself: a colon, not a field of it. */
    bool is_field = err->text[0] >= 'a' && err->text[0] <= 'z';
    char prefix[sizeof err->text];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(prefix, sizeof prefix, fmt, ap);
    va_end(ap);
    kerr_wrap(err, "%s", prefix);
    char *end = err->text + strlen(prefix);
    if (is_field && str_starts(err->text, prefix)) { /* it was not cut */
        *end = '.';
        memmove(end + 1, end + 2, strlen(end + 2) + 1);
    }
    return err->code;
}

int config_at_most(size_t n, size_t max, const char *path, struct kerr *err)
{
    if (n <= max)
        return 0;
    return kerr_api(err, -E2BIG, KR_INVALID, "%s: Too many: %zu: must have at most %zu items", path,
                    n, max);
}

int config_out_of_range(const char *path, int64_t v, const char *range, struct kerr *err)
{
    return kerr_api(err, -EINVAL, KR_INVALID, "%s: Invalid value: %lld: not in valid range %s",
                    path, (long long)v, range);
}

int config_range(const char *path, int64_t v, int64_t min, int64_t max, struct kerr *err)
{
    char range[48];

    if (v >= min && v <= max)
        return 0;
    if (max >= INT32_MAX)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "%s: Invalid value: %lld: must be greater than or equal to %lld", path,
                        (long long)v, (long long)min);
    (void)snprintf(range, sizeof range, "[%lld, %lld]", (long long)min, (long long)max);
    return config_out_of_range(path, v, range, err);
}

int config_duration(const char *path, nsec_t v, struct kerr *err)
{
    if (v >= 0)
        return 0;
    return kerr_api(err, -EINVAL, KR_INVALID, "%s: Invalid value: must not be negative", path);
}
