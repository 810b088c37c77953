/* tmpdir.h - a directory for one test, and files in it. */
#ifndef KOORD_SYS_TEST_TMPDIR_H
#define KOORD_SYS_TEST_TMPDIR_H
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/test/asserts.h"
#include "sys/file.h"

struct tmpdir {
    char path[64];
    char *names[16];
    size_t n;
};

static inline void tmpdir_init(struct tmpdir *t)
{
    *t = (struct tmpdir){ .path = "/tmp/koord-test-XXXXXX" };
    assert_non_null(mkdtemp(t->path));
}

/* The full path of a name in it; removed at the end. */
static inline const char *tmpdir_at(struct tmpdir *t, const char *name)
{
    char *path = xasprintf("%s/%s", t->path, name);

    for (size_t i = 0; i < t->n; i++) {
        if (!streq(t->names[i], path))
            continue;
        free(path);
        return t->names[i];
    }
    assert_that(t->n, <, ARRAY_LEN(t->names));
    return t->names[t->n++] = path;
}

static inline const char *tmpdir_write(struct tmpdir *t, const char *name, const char *text)
{
    const char *path = tmpdir_at(t, name);
    struct kerr err;

    assert_int_equal(file_write_atomic(AT_FDCWD, path, text, strlen(text), 0600, &err), 0);
    return path;
}

static inline void tmpdir_fini(struct tmpdir *t)
{
    for (size_t i = t->n; i-- > 0;) {
        (void)remove(t->names[i]);
        free(t->names[i]);
    }
    assert_int_equal(rmdir(t->path), 0);
}
#endif
