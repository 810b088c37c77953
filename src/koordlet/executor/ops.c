/* ops.c - the kernel's files of a host, below its roots. */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "koordlet/executor/executor.h"
#include "koordlet/kernel/host.h"
#include "sys/file.h"

enum { READ_MAX = 4 << 20 };

static int root_fd(const struct host *h, enum executor_root r)
{
    switch (r) {
    case EXECUTOR_CGROUP: return h->cgroup_fd;
    case EXECUTOR_RESCTRL: return h->sys_fs_fd;
    case EXECUTOR_PROC: return h->proc_fd;
    default: return h->sys_fd;
    }
}

static int open_file(void *arg, enum executor_root r, const char *path, int flags)
{
    int fd = root_fd(arg, r);
    struct kerr err;

    return fd < 0 ? -ENOENT : file_open_beneath(fd, path, flags, 0, &err);
}

static int ops_read(void *arg, enum executor_root r, const char *path, struct strbuf *out)
{
    CLEANUP(fd_close) int fd = open_file(arg, r, path, O_RDONLY);
    struct kerr err;

    return fd < 0 ? fd : fd_read_all(fd, path, READ_MAX, out, &err);
}

static int ops_write_begin(void *arg, enum executor_root r, const char *path)
{
    return open_file(arg, r, path, O_WRONLY | O_TRUNC);
}

static int ops_write_end(void *arg, int opened, const char *text, size_t n)
{
    (void)arg;
    ssize_t done = RETRY_EINTR(write(opened, text, n));
    int code = done < 0 ? -errno : (size_t)done == n ? 0 : -EIO;
    fd_close(opened);
    return code;
}

static int ops_write(void *arg, enum executor_root r, const char *path, const char *text, size_t n,
                     bool append)
{
    int fd = append ? open_file(arg, r, path, O_WRONLY | O_APPEND) : ops_write_begin(arg, r, path);

    return fd < 0 ? fd : ops_write_end(arg, fd, text, n);
}

static bool ops_exists(void *arg, enum executor_root r, const char *path)
{
    int fd = root_fd(arg, r);

    return fd >= 0 && faccessat(fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int ops_make_dir(void *arg, enum executor_root r, const char *path)
{
    int fd = root_fd(arg, r);

    if (fd < 0)
        return -ENOENT;
    return mkdirat(fd, path, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

static int ops_remove_dir(void *arg, enum executor_root r, const char *path)
{
    int fd = root_fd(arg, r);

    return fd >= 0 && unlinkat(fd, path, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}

struct listing {
    void (*fn)(void *to, const char *name);
    void *to;
};

static int on_entry(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    const struct listing *l = arg;

    (void)dirfd, (void)err;
    if (type == DT_DIR)
        l->fn(l->to, name);
    return 0;
}

static void ops_list(void *arg, enum executor_root r, const char *path,
                     void (*fn)(void *to, const char *name), void *to)
{
    int fd = root_fd(arg, r);
    struct kerr err;

    if (fd >= 0)
        dir_each(fd, path, on_entry, &(struct listing){ fn, to }, &err);
}

const struct executor_ops executor_ops_host = {
    .read = ops_read,
    .write = ops_write,
    .write_begin = ops_write_begin,
    .write_end = ops_write_end,
    .exists = ops_exists,
    .make_dir = ops_make_dir,
    .remove_dir = ops_remove_dir,
    .list = ops_list,
};
