/* file.h - whole files, single values, directories: every descriptor is born close-on-exec.
 *
 * Names are relative to dirfd (AT_FDCWD: the working directory). These calls block: fine for
 * proc, sysfs and cgroup files and for small files at start; large or slow ones belong on a
 * worker. Nothing here has state; any thread may call.
 */
#ifndef KOORD_SYS_FILE_H
#define KOORD_SYS_FILE_H
#include "base/base.h"
#include "base/strbuf.h"

#include <fcntl.h>

struct arena;

/* Repeats a call that a signal interrupted. Not for close(): on Linux the descriptor is gone even
 * then, and its number may be somebody else's by the next try. */
#define RETRY_EINTR(call)                       \
    __extension__({                             \
        __typeof__(call) retried_;              \
        do                                      \
            retried_ = (call);                  \
        while (retried_ < 0 && errno == EINTR); \
        retried_;                               \
    })

/* Closes once, keeps errno; a negative fd is fine; always returns -1. For a scope:
 *     CLEANUP(fd_close) int fd = -1; */
int fd_close(int fd);
static inline UNUSED void fd_close_p(const int *fd)
{
    fd_close(*fd);
}
/* fd for the caller, -1 in its place: the descriptor leaves the scope that would close it. */
static inline int fd_take(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

/* ---- reading and writing --------------------------------------------------------------------- */

/* Appends all of the file to out. More than max bytes: -EFBIG, and out is as it was. */
int file_read_all(int dirfd, const char *name, size_t max, struct strbuf *out, struct kerr *err);
/* The same from an open descriptor; what names it in the error text. */
int fd_read_all(int fd, const char *what, size_t max, struct strbuf *out, struct kerr *err);
/* The same into an arena; the text is NUL-terminated. */
int file_read_arena(int dirfd, const char *name, size_t max, struct arena *a, struct str *ret,
                    struct kerr *err);

/* One value into a control file (cgroup, sysfs, resctrl) by one write: a second would be a second
 * command, so a short write is an error (-EIO). The file must exist; a link is not followed. */
int file_write_value(int dirfd, const char *name, const char *value, struct kerr *err);

/* Replaces the file as a whole: readers see the old or the new content, also after a power cut. A
 * link of that name is replaced, not followed. The file gets exactly this mode. */
int file_write_atomic(int dirfd, const char *name, const void *data, size_t n, mode_t mode,
                      struct kerr *err);

/* A number that changes when the file is replaced or rewritten (inode, size, times); 0 when it is
 * not there. Links are followed: a mounted ConfigMap or Secret swaps a link. */
uint64_t file_stamp(int dirfd, const char *name);

/* ---- paths from outside ---------------------------------------------------------------------- */

/* Opens path below rootfd, for names that come from pods: no component may be a link (-ELOOP) and
 * none "..", nor may path be absolute or empty (-EXDEV). O_CLOEXEC is added. Returns the descriptor
 * or a negative errno. */
int file_open_beneath(int rootfd, const char *path, int flags, mode_t mode, struct kerr *err);
/* What it does where the kernel has no openat2 (before 5.6): component by component. Apart so that
 * a test can hold both to the same answers. */
int file_open_beneath_stepwise(int rootfd, const char *path, int flags, mode_t mode,
                               struct kerr *err);

/* ---- directories ----------------------------------------------------------------------------- */

/* Calls fn for each entry but "." and "..", in the order of their names. type is a DT_ value and
 * may be DT_UNKNOWN. The directory is read before the first call, so fn may change it. fn returns
 * 0 to go on; anything else ends the walk and is returned (negative: it has filled err). */
typedef int (*dir_fn)(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err);
int dir_each(int dirfd, const char *name, dir_fn fn, void *arg, struct kerr *err);

/* Makes path and the directories above it that are missing. Fine when it exists. */
int dir_make(int dirfd, const char *path, mode_t mode, struct kerr *err);
/* The same, and opens it. Returns the descriptor or a negative errno. */
int dir_make_open(int dirfd, const char *path, mode_t mode, struct kerr *err);

#endif
