/* path.c - paths from outside, opened without leaving their root; directories. */
#include "sys/file.h"

#include "base/vec.h"

#include <dirent.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- below a root ---------------------------------------------------------------------------- */

/* The next component of *path, which moves behind it; empty at the end. */
static struct str component_next(const char **path)
{
    const char *p = *path + strspn(*path, "/");
    struct str c = { p, strcspn(p, "/") };

    *path = p + c.n;
    return c;
}

/* The kernel would allow ".." that stays below the root; we have no use for it, and so both ways of
 * opening give the same answers. */
static int path_check(const char *path, struct kerr *err)
{
    const char *rest = path;

    if (*path == '\0' || *path == '/')
        return kerr_set(err, -EXDEV, "open '%s': not a path below the root", path);
    for (struct str c; (c = component_next(&rest)).n > 0;)
        if (str_eqz(c, ".."))
            return kerr_set(err, -EXDEV, "open '%s': '..' leaves the root", path);
    return 0;
}

static int open_failed(int code, const char *path, struct kerr *err)
{
    return kerr_set(err, code, "open %s: %s", path, strerror(-code));
}

int file_open_beneath(int rootfd, const char *path, int flags, mode_t mode, struct kerr *err)
{
    const bool makes_a_file = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
    struct open_how how = {
        /* With O_NOFOLLOW an O_PATH open would return the link itself. */
        .flags = (uint64_t)((flags | O_CLOEXEC) & ~O_NOFOLLOW),
        .mode = makes_a_file ? mode : 0, /* openat2 refuses a mode without use */
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    };

    int r = path_check(path, err);
    if (r < 0)
        return r;
    long fd = RETRY_EINTR(syscall(SYS_openat2, rootfd, path, &how, sizeof how));
    if (fd >= 0)
        return (int)fd;
    /* Old kernels do not know the call, old containers forbid what they do not know. */
    if (errno == ENOSYS || errno == EPERM)
        return file_open_beneath_stepwise(rootfd, path, flags, mode, err);
    return open_failed(-errno, path, err);
}

/* Opening a link with O_NOFOLLOW fails in three ways, depending on the other flags; with O_PATH it
 * even succeeds. They all mean the same to us. */
static int open_component(int dirfd, const char *name, int flags, mode_t mode)
{
    struct stat st;
    CLEANUP(fd_close)
    int fd = RETRY_EINTR(openat(dirfd, name, flags | O_CLOEXEC | O_NOFOLLOW, mode));
    int e = errno;

    if (fd < 0 && e != ENOTDIR)
        return -e;
    bool known = fd < 0 ? fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 : fstat(fd, &st) == 0;
    if (known && S_ISLNK(st.st_mode))
        return -ELOOP;
    return fd < 0 ? -e : fd_take(&fd);
}

int file_open_beneath_stepwise(int rootfd, const char *path, int flags, mode_t mode,
                               struct kerr *err)
{
    CLEANUP(fd_close) int dir = -1; /* the root itself stays the caller's */
    const char *rest = path;

    int r = path_check(path, err);
    if (r < 0)
        return r;
    struct str c = component_next(&rest);
    for (;;) {
        CLEANUP(mem_free) char *name = xstrndup(c.p, c.n);
        const bool trailing_slash = *rest == '/';
        c = component_next(&rest);
        const bool last = c.n == 0;
        int want = last ? flags | (trailing_slash ? O_DIRECTORY : 0) : O_PATH | O_DIRECTORY;
        int fd = open_component(dir >= 0 ? dir : rootfd, name, want, last ? mode : 0);
        if (fd < 0)
            return open_failed(fd, path, err);
        if (last)
            return fd;
        fd_close(dir);
        dir = fd;
    }
}

/* ---- directories ----------------------------------------------------------------------------- */

struct entry {
    char *name;
    unsigned char type;
};
struct entries vec_of(struct entry);

static void entries_fini_p(struct entries *e)
{
    vec_foreach(e, i)
        free(e->items[i].name);
    vec_fini(e);
}

static DIR *dirstream_close(DIR *d)
{
    closedir(d);
    return NULL;
}
DEFINE_CLEANUP(dirstream_close, DIR *)

static int entry_cmp(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

int dir_each(int dirfd, const char *name, dir_fn fn, void *arg, struct kerr *err)
{
    CLEANUP(entries_fini) struct entries all = { 0 };
    int fd = RETRY_EINTR(openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));

    if (fd < 0)
        return kerr_set(err, -errno, "open %s: %s", name, strerror(errno));
    CLEANUP(dirstream_close) DIR *d = fdopendir(fd);
    if (!d) {
        int e = errno;
        fd_close(fd);
        return kerr_set(err, -e, "open %s: %s", name, strerror(e));
    }
    for (struct dirent *de; errno = 0, (de = readdir(d));)
        if (!streq(de->d_name, ".") && !streq(de->d_name, "..")) {
            struct entry e = { xstrdup(de->d_name), de->d_type };
            vec_push(&all, e);
        }
    if (errno)
        return kerr_set(err, -errno, "read %s: %s", name, strerror(errno));
    if (all.n)
        qsort(all.items, all.n, sizeof *all.items, entry_cmp);
    vec_foreach(&all, i) {
        int r = fn(fd, all.items[i].name, all.items[i].type, arg, err);
        if (r != 0)
            return r;
    }
    return 0;
}

int dir_make(int dirfd, const char *path, mode_t mode, struct kerr *err)
{
    CLEANUP(mem_free) char *upto = xstrdup(path);

    for (char *p = upto + strspn(upto, "/"); *p;) {
        p += strcspn(p, "/");
        const char cut = *p;
        *p = '\0';
        if (mkdirat(dirfd, upto, mode) < 0 && errno != EEXIST)
            return kerr_set(err, -errno, "mkdir %s: %s", upto, strerror(errno));
        *p = cut;
        p += strspn(p, "/");
    }
    struct stat st;
    if (fstatat(dirfd, path, &st, 0) < 0)
        return kerr_set(err, -errno, "mkdir %s: %s", path, strerror(errno));
    return S_ISDIR(st.st_mode) ? 0 : kerr_set(err, -ENOTDIR, "mkdir %s: not a directory", path);
}

int dir_make_open(int dirfd, const char *path, mode_t mode, struct kerr *err)
{
    int r = dir_make(dirfd, path, mode, err);
    if (r < 0)
        return r;
    int fd = RETRY_EINTR(openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return fd < 0 ? open_failed(-errno, path, err) : fd;
}
