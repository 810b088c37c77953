/* sysfs.c - single values of sysfs and procfs. */
#include "koordlet/kernel/sysfs.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/num.h"
#include "koordlet/kernel/text.h"
#include "sys/file.h"

struct str text_trim(struct str s)
{
    while (s.n > 0 && text_is_blank(s.p[0]))
        s = (struct str){ s.p + 1, s.n - 1 };
    while (s.n > 0 && text_is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

static PRINTF(3, 0) int path_format(char *path, size_t size, const char *fmt, va_list ap)
{
    int n = vsnprintf(path, size, fmt, ap);
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static PRINTF(4, 0) int text_of(const struct host *h, int dirfd, struct str *ret, const char *fmt,
                                va_list ap)
{
    char path[PATH_MAX];
    struct str text;

    int r = dirfd < 0 ? -ENOENT : path_format(path, sizeof path, fmt, ap);
    if (r == 0)
        r = kernelfile_once(dirfd, path, h->buf, &text, NULL);
    if (r == 0)
        *ret = text_trim(text);
    return r;
}

int sysfs_text(const struct host *h, int dirfd, struct str *ret, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int r = text_of(h, dirfd, ret, fmt, ap);
    va_end(ap);
    return r;
}

int sysfs_i64(const struct host *h, int dirfd, int64_t *ret, const char *fmt, ...)
{
    struct str text;
    va_list ap;

    va_start(ap, fmt);
    int r = text_of(h, dirfd, &text, fmt, ap);
    va_end(ap);
    return r < 0 ? r : i64_parse(text.p, text.n, ret);
}

int sysfs_list(const struct host *h, int dirfd, struct cpuset *ret, const char *fmt, ...)
{
    struct str text;
    va_list ap;

    va_start(ap, fmt);
    int r = text_of(h, dirfd, &text, fmt, ap);
    va_end(ap);
    return r < 0 ? r : cpuset_parse(text.p, text.n, ret, NULL);
}

bool sysfs_exists(int dirfd, const char *fmt, ...)
{
    char path[PATH_MAX];
    va_list ap;

    va_start(ap, fmt);
    int r = path_format(path, sizeof path, fmt, ap);
    va_end(ap);
    return dirfd >= 0 && r == 0 && faccessat(dirfd, path, F_OK, 0) == 0;
}

const char *sysfs_link_name(int dirfd, char *buf, size_t size, const char *fmt, ...)
{
    char path[PATH_MAX], target[PATH_MAX];
    va_list ap;

    va_start(ap, fmt);
    int r = path_format(path, sizeof path, fmt, ap);
    va_end(ap);
    ssize_t n = dirfd < 0 || r < 0 ? -1 : readlinkat(dirfd, path, target, sizeof target - 1);
    if (n < 0) {
        buf[0] = '\0';
        return buf;
    }
    target[n] = '\0';
    const char *slash = strrchr(target, '/');
    snprintf(buf, size, "%s", slash ? slash + 1 : target);
    return buf;
}

int32_t sysfs_number(const char *name, const char *prefix)
{
    uint64_t v;
    size_t n = strlen(prefix);

    if (!str_starts(name, prefix) || u64_parse(name + n, strlen(name + n), &v) < 0 || v > INT32_MAX)
        return -1;
    return (int32_t)v;
}
