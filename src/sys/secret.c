/* secret.c - secrets are read from /dev/urandom. */
#include "sys/secret.h"

#include <stdio.h>
#include <unistd.h>

#include "sys/file.h"

int secret_make(char *out, size_t n, struct kerr *err)
{
    unsigned char raw[64];
    CLEANUP(fd_close) int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

    assert(n % 2 == 0 && n / 2 <= sizeof raw);
    if (fd < 0 || RETRY_EINTR(read(fd, raw, n / 2)) != (ssize_t)(n / 2))
        return kerr_set(err, -EIO, "read /dev/urandom: %s", strerror(errno));
    for (size_t i = 0; i < n / 2; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", raw[i]);
    return 0;
}

bool secret_equal(const char *secret, size_t n, struct str given)
{
    unsigned char differ = 0;

    if (given.n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        differ |= (unsigned char)(secret[i] ^ given.p[i]);
    return differ == 0;
}
