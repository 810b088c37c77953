/* tempdir.h - a directory for targets whose input is a file; removed when the program ends. */
#ifndef KOORD_FUZZ_TEMPDIR_H
#define KOORD_FUZZ_TEMPDIR_H
#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

#include "sys/file.h"

static char tempdir[64];

static inline int tempdir_unlink(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static inline void tempdir_remove(void)
{
    nftw(tempdir, tempdir_unlink, 16, FTW_DEPTH | FTW_PHYS);
}

/* false: it is there already. */
static inline bool tempdir_make(void)
{
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

    if (tempdir[0])
        return false;
    snprintf(tempdir, sizeof tempdir, "%s/koord-fuzz-XXXXXX", base);
    if (!mkdtemp(tempdir))
        abort();
    atexit(tempdir_remove);
    return true;
}

static inline void tempdir_write(const char *rel, const void *p, size_t n)
{
    char path[160];

    snprintf(path, sizeof path, "%s/%s", tempdir, rel);
    FILE *f = fopen(path, "w");
    if (!f || (n && fwrite(p, 1, n, f) != n) || fclose(f) != 0)
        abort();
}
#endif
