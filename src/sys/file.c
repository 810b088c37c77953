/* file.c - whole files and single values. */
#include "sys/file.h"

#include "base/arena.h"
#include "base/map.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int fd_close(int fd)
{
    if (fd >= 0) {
        int saved = errno;
        close(fd);
        errno = saved;
    }
    return -1;
}

/* ---- reading --------------------------------------------------------------------------------- */

int fd_read_all(int fd, const char *what, size_t max, struct strbuf *out, struct kerr *err)
{
    const size_t start = out->len;
    struct stat st;
    size_t step = 4096;

    /* A plain file tells its size, so one read fetches it and one finds the end; proc and cgroup
     * files say 0. One byte more than the cap shows that there is more. */
    if (fstat(fd, &st) == 0 && st.st_size > 0)
        step = (size_t)st.st_size + 1;
    for (;;) {
        const size_t have = out->len - start;
        const size_t want = MIN(step, max - have + (max < SIZE_MAX));
        ssize_t n = RETRY_EINTR(read(fd, strbuf_reserve(out, want), want));
        if (n < 0) {
            int e = errno;
            strbuf_truncate(out, start);
            return kerr_set(err, -e, "read %s: %s", what, strerror(e));
        }
        out->len += (size_t)n;
        out->data[out->len] = '\0';
        if (n == 0)
            return 0;
        if (have + (size_t)n > max) {
            strbuf_truncate(out, start);
            return kerr_set(err, -EFBIG, "read %s: larger than %zu bytes", what, max);
        }
        step = MAX((size_t)4096, have);
    }
}

int file_read_all(int dirfd, const char *name, size_t max, struct strbuf *out, struct kerr *err)
{
    CLEANUP(fd_close) int fd = RETRY_EINTR(openat(dirfd, name, O_RDONLY | O_CLOEXEC));

    if (fd < 0)
        return kerr_set(err, -errno, "open %s: %s", name, strerror(errno));
    return fd_read_all(fd, name, max, out, err);
}

int file_read_arena(int dirfd, const char *name, size_t max, struct arena *a, struct str *ret,
                    struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    int r = file_read_all(dirfd, name, max, &b, err);
    if (r < 0)
        return r;
    *ret = (struct str){ arena_strndup(a, strbuf_str(&b), b.len), b.len };
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

int file_write_value(int dirfd, const char *name, const char *value, struct kerr *err)
{
    const size_t len = strlen(value);
    CLEANUP(fd_close)
    int fd = RETRY_EINTR(openat(dirfd, name, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW));

    if (fd < 0)
        return kerr_set(err, -errno, "open %s: %s", name, strerror(errno));
    ssize_t n = RETRY_EINTR(write(fd, value, len));
    if (n < 0)
        return kerr_set(err, -errno, "write %s: %s", name, strerror(errno));
    if ((size_t)n != len)
        return kerr_set(err, -EIO, "write %s: %zd of %zu bytes", name, n, len);
    return 0;
}

/* A plain file takes as many writes as it needs. */
static int write_all(int fd, const char *data, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t w = RETRY_EINTR(write(fd, data + done, n - done));
        if (w < 0)
            return -errno;
        done += (size_t)w;
    }
    return 0;
}

/* The length of the directory part of a path, slash included; 0 when there is none. */
static size_t dir_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* A file of its own beside the target; the name of one that a crashed process left is passed by. */
static int temp_open(int dirfd, const char *name, struct strbuf *ret_temp)
{
    const size_t dir = dir_part(name);

    for (unsigned attempt = 0; attempt < 100; attempt++) {
        strbuf_reset(ret_temp);
        strbuf_appendn(ret_temp, name, dir);
        strbuf_appendf(ret_temp, ".%s.tmp-%d-%u", name + dir, (int)getpid(), attempt);
        int fd = RETRY_EINTR(openat(dirfd, strbuf_str(ret_temp),
                                    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (fd >= 0)
            return fd;
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

/* The new name itself is safe on disk only once its directory is. */
static int dir_sync(int dirfd, const char *name)
{
    CLEANUP(mem_free) char *dir = dir_part(name) ? xstrndup(name, dir_part(name)) : xstrdup(".");
    CLEANUP(fd_close) int fd = RETRY_EINTR(openat(dirfd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));

    return fd < 0 || RETRY_EINTR(fsync(fd)) < 0 ? -errno : 0;
}

int file_write_atomic(int dirfd, const char *name, const void *data, size_t n, mode_t mode,
                      struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf temp = STRBUF_INIT;
    CLEANUP(fd_close) int fd = temp_open(dirfd, name, &temp);
    const char *step = "write";

    if (fd < 0)
        return kerr_set(err, fd, "create a file beside %s: %s", name, strerror(-fd));
    int r = write_all(fd, data, n);
    if (r == 0 && fchmod(fd, mode) < 0)
        r = -errno, step = "chmod";
    if (r == 0 && RETRY_EINTR(fsync(fd)) < 0)
        r = -errno, step = "fsync";
    if (r == 0 && renameat(dirfd, strbuf_str(&temp), dirfd, name) < 0)
        r = -errno, step = "rename";
    if (r < 0) {
        unlinkat(dirfd, strbuf_str(&temp), 0);
        return kerr_set(err, r, "%s %s: %s", step, name, strerror(-r));
    }
    r = dir_sync(dirfd, name);
    return r < 0 ? kerr_set(err, r, "fsync the directory of %s: %s", name, strerror(-r)) : 0;
}

uint64_t file_stamp(int dirfd, const char *name)
{
    struct stat st;
    if (fstatat(dirfd, name, &st, 0) < 0)
        return 0;
    uint64_t parts[] = { (uint64_t)st.st_dev,          (uint64_t)st.st_ino,
                         (uint64_t)st.st_size,         (uint64_t)st.st_mtim.tv_sec,
                         (uint64_t)st.st_mtim.tv_nsec, (uint64_t)st.st_ctim.tv_nsec };
    uint64_t h = hash_stable(parts, sizeof parts);
    return h ? h : 1;
}
