/* certdir.c - certificates in files that change all at once, as a mounted Secret does.
 *
 *     dir/tls.crt -> ..data/tls.crt
 *     dir/..data  -> ..2026-11-16T18:00:00Z.1
 *
 * The directory may be one of /tmp, whose name anybody knows: it must be ours, or root's.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/klog.h"
#include "base/ktime.h"
#include "manager/registration/certset.h"
#include "sys/file.h"

#define DATA "..data"
enum { FILE_MAX = 256 << 10, ATTEMPTS = 100 };

static const struct {
    const char *name;
    enum certset_part part;
} files[] = {
    { CERTSET_CA_FILE, CERTSET_CA },     { "key.pem", CERTSET_KEY },
    { CERTSET_KEY_FILE, CERTSET_KEY },   { "cert.pem", CERTSET_CERT },
    { CERTSET_CERT_FILE, CERTSET_CERT },
};

static int failed(struct kerr *err, const char *what, const char *name)
{
    return kerr_set(err, -errno, "%s %s: %s", what, name, strerror(errno));
}

static int open_dir(const char *dir, struct kerr *err)
{
    struct stat st;

    if (dir_make(AT_FDCWD, dir, 0700, err) < 0)
        return err->code;
    CLEANUP(fd_close) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return failed(err, "open", dir);
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return kerr_set(err, -EPERM, "%s belongs to another user", dir);
    return fd_take(&fd);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_file(int dirfd, const char *name, struct str text, struct kerr *err)
{
    CLEANUP(fd_close)
    int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return failed(err, "create", name);
    for (size_t done = 0; done < text.n;) {
        ssize_t n = RETRY_EINTR(write(fd, text.p + done, text.n - done));
        if (n < 0)
            return failed(err, "write", name);
        done += (size_t)n;
    }
    return 0;
}

/* A directory of its own for this version; its name into ret. */
static int make_version(int dirfd, nsec_t now, char ret[64], struct kerr *err)
{
    char when[KTIME_TEXT_MAX];

    ktime_format(now, when);
    for (int i = 0; i < ATTEMPTS; i++) {
        (void)snprintf(ret, 64, "..%.40s.%d", when, i);
        if (mkdirat(dirfd, ret, 0700) == 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    return failed(err, "create", ret);
}

static int write_version(int dirfd, const char *version, const struct certset *s, struct kerr *err)
{
    CLEANUP(fd_close) int fd = openat(dirfd, version, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return failed(err, "open", version);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        if (write_file(fd, files[i].name, certset_get(s, files[i].part), err) < 0)
            return err->code;
    return 0;
}

/* Puts a link in the place of whatever has this name. */
static int swap_link(int dirfd, const char *name, const char *target, struct kerr *err)
{
    char there[128], temporary[64];
    ssize_t n = readlinkat(dirfd, name, there, sizeof there - 1);

    if (n >= 0 && (size_t)n == strlen(target) && memcmp(there, target, (size_t)n) == 0)
        return 0;
    (void)snprintf(temporary, sizeof temporary, "..tmp-%.40s", name);
    (void)unlinkat(dirfd, temporary, 0);
    if (symlinkat(target, dirfd, temporary) < 0)
        return failed(err, "link", temporary);
    if (renameat(dirfd, temporary, dirfd, name) < 0)
        return failed(err, "rename", name);
    return 0;
}

/* ---- what is left of older ones -------------------------------------------------------------- */

static void remove_version(int dirfd, const char *version)
{
    CLEANUP(fd_close)
    int fd = openat(dirfd, version, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

    for (size_t i = 0; i < ARRAY_LEN(files) && fd >= 0; i++)
        (void)unlinkat(fd, files[i].name, 0);
    (void)unlinkat(dirfd, version, AT_REMOVEDIR);
}

/* "..2026-11-16T18:00:00Z.0" */
static bool is_version(const char *name)
{
    return str_starts(name, "..") && name[2] >= '0' && name[2] <= '9';
}

static int remove_other(int dirfd, const char *name, unsigned char type, void *arg,
                        struct kerr *err)
{
    (void)type, (void)err;
    if (is_version(name) && !streq(name, arg))
        remove_version(dirfd, name);
    return 0;
}

int certdir_write(const char *dir, const struct certset *s, nsec_t now, struct kerr *err)
{
    CLEANUP(fd_close) int fd = open_dir(dir, err);
    char version[64], target[64];

    if (fd < 0)
        return kerr_wrap(err, "write certificates");
    if (make_version(fd, now, version, err) < 0 || write_version(fd, version, s, err) < 0 ||
        swap_link(fd, DATA, version, err) < 0)
        return kerr_wrap(err, "write certificates to %s", dir);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        (void)snprintf(target, sizeof target, DATA "/%s", files[i].name);
        if (swap_link(fd, files[i].name, target, err) < 0)
            return kerr_wrap(err, "write certificates to %s", dir);
    }
    /* Where an older program kept it. */
    (void)unlinkat(fd, "ca-key.pem", 0);
    return dir_each(fd, ".", remove_other, version, err);
}

void certdir_read(const char *dir, struct certset *ret)
{
    CLEANUP(fd_close) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    certset_fini(ret);
    for (size_t i = 0; i < ARRAY_LEN(files) && fd >= 0; i++) {
        struct strbuf *part = &ret->part[files[i].part];
        if (part->len == 0 && file_read_all(fd, files[i].name, FILE_MAX, part, NULL) < 0)
            strbuf_reset(part);
        if (part->len && memchr(part->data, '\0', part->len))
            strbuf_fini(part);
    }
}
