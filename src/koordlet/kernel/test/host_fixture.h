/* host_fixture.h - a machine made of files: roots in a temporary directory, for tests. */
#ifndef KOORD_KOORDLET_KERNEL_TEST_HOST_FIXTURE_H
#define KOORD_KOORDLET_KERNEL_TEST_HOST_FIXTURE_H
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "koordlet/kernel/host.h"
#include "sys/file.h"

struct fixture {
    char dir[64]; /* has cgroup/, proc/, sys/, sys-fs/, var-run/, run/, kubelet/ */
    struct host *host;
};

UNUSED PRINTF(2, 3) static void fixture_dir(const struct fixture *f, const char *fmt, ...)
{
    char rel[PATH_MAX], path[2 * PATH_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(rel, sizeof rel, fmt, ap);
    va_end(ap);
    snprintf(path, sizeof path, "%s/%s", f->dir, rel);
    assert_int_equal(dir_make(AT_FDCWD, path, 0755, NULL), 0);
}

/* The file and the directories above it. */
UNUSED PRINTF(3, 4) static void fixture_put(const struct fixture *f, const char *text,
                                            const char *fmt, ...)
{
    char rel[PATH_MAX], path[2 * PATH_MAX], up[2 * PATH_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(rel, sizeof rel, fmt, ap);
    va_end(ap);
    snprintf(path, sizeof path, "%s/%s", f->dir, rel);
    memcpy(up, path, sizeof up);
    assert_int_equal(dir_make(AT_FDCWD, dirname(up), 0755, NULL), 0);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

UNUSED static void fixture_link(const struct fixture *f, const char *target, const char *rel)
{
    char path[2 * PATH_MAX], up[2 * PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", f->dir, rel);
    memcpy(up, path, sizeof up);
    assert_int_equal(dir_make(AT_FDCWD, dirname(up), 0755, NULL), 0);
    assert_int_equal(symlink(target, path), 0);
}

UNUSED static int fixture_unlink(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

UNUSED static void fixture_remove(const struct fixture *f, const char *rel)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", f->dir, rel);
    assert_int_equal(nftw(path, fixture_unlink, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* The directories; the host is made by fixture_host(). */
UNUSED static void fixture_init(struct fixture *f)
{
    static const char *const roots[] = { "cgroup",  "proc", "sys",    "sys-fs",
                                         "var-run", "run",  "kubelet" };
    snprintf(f->dir, sizeof f->dir, "/tmp/koord-host-XXXXXX");
    f->host = NULL;
    assert_non_null(mkdtemp(f->dir));
    for (size_t i = 0; i < ARRAY_LEN(roots); i++)
        fixture_dir(f, "%s", roots[i]);
}

UNUSED static struct host *fixture_host(struct fixture *f)
{
    char paths[7][80];
    static const char *const names[] = { "cgroup",  "proc", "sys",    "sys-fs",
                                         "var-run", "run",  "kubelet" };
    struct kerr err = { 0 };

    f->host = host_free(f->host);
    for (size_t i = 0; i < 7; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%s", f->dir, names[i]);
    struct host_roots roots = {
        paths[0], paths[1], paths[2], paths[3], paths[4], paths[5], paths[6]
    };
    if (host_new(&roots, &f->host, &err) < 0)
        fail_msg("%s", err.text);
    return f->host;
}

UNUSED static void fixture_fini(struct fixture *f)
{
    f->host = host_free(f->host);
    nftw(f->dir, fixture_unlink, 16, FTW_DEPTH | FTW_PHYS);
}

/* A machine that has v2, or the v1 controllers the tests use. */
UNUSED static void fixture_cgroup(const struct fixture *f, enum cgroup_version v)
{
    static const char *const v1[] = { "cpu", "cpuset", "cpuacct", "memory", "blkio" };

    if (v == CGROUP_V2)
        fixture_put(f, "cpuset cpu io memory hugetlb pids rdma misc\n",
                    "cgroup/cgroup.controllers");
    for (size_t i = 0; v == CGROUP_V1 && i < ARRAY_LEN(v1); i++)
        fixture_dir(f, "cgroup/%s", v1[i]);
}
#endif
