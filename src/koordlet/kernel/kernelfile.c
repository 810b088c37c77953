/* kernelfile.c - reading files of the kernel with one system call and no allocation. */
#include "koordlet/kernel/host.h"
#include "sys/file.h"

#include <unistd.h>

enum {
    FIRST = 8 << 10,
    /* The kernel fills a page with whole records before it answers a read: less than half a page is
     * all there is, and saves a second call that would only say so. */
    SURELY_ALL = 2048,
};

static void grow(struct kernelfile_buf *b)
{
    b->cap = b->cap ? MIN(b->cap * 2, (size_t)KERNELFILE_MAX) : FIRST;
    b->p = xrealloc(b->p, b->cap + 1); /* and the NUL */
}

static int read_all(int fd, bool trust_short, struct kernelfile_buf *b, struct str *ret,
                    struct kerr *err)
{
    size_t n = 0;

    if (!b->p)
        grow(b);
    for (;;) {
        ssize_t got = RETRY_EINTR(pread(fd, b->p + n, b->cap - n, (off_t)n));
        if (got < 0)
            return kerr_set(err, -errno, "read: %s", strerror(errno));
        n += (size_t)got;
        if (got == 0 || (trust_short && n < SURELY_ALL))
            break;
        if (n == b->cap) {
            if (b->cap >= KERNELFILE_MAX)
                return kerr_set(err, -EFBIG, "read: more than %d bytes", KERNELFILE_MAX);
            grow(b);
            n = 0; /* a text that is read in one call is of one moment */
        }
    }
    b->p[n] = '\0';
    *ret = (struct str){ b->p, n };
    return 0;
}

int kernelfile_open(struct kernelfile *p, int dirfd, const char *name, struct kerr *err)
{
    int fd = RETRY_EINTR(openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (fd < 0)
        return kerr_set(err, -errno, "open %s: %s", name, strerror(errno));
    p->fd = fd;
    return 0;
}

void kernelfile_close(struct kernelfile *p)
{
    p->fd = fd_close(p->fd);
}

int kernelfile_read(const struct kernelfile *p, struct kernelfile_buf *b, struct str *ret,
                    struct kerr *err)
{
    return read_all(p->fd, true, b, ret, err);
}

int kernelfile_once(int dirfd, const char *name, struct kernelfile_buf *b, struct str *ret,
                    struct kerr *err)
{
    CLEANUP(fd_close) int fd = -1;
    struct kernelfile p = KERNELFILE_INIT;

    int r = kernelfile_open(&p, dirfd, name, err);
    if (r < 0)
        return r;
    fd = p.fd;
    r = read_all(fd, false, b, ret, err);
    if (r < 0 && err)
        kerr_wrap(err, "%s", name);
    return r;
}
