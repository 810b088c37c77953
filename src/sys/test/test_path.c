/* test_path.c - paths that stay below their root, walking and making directories. */
#include "base/test/asserts.h"
#include "sys/file.h"

#include <dirent.h>
#include <setjmp.h> /* cmocka.h wants these first */
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct dir {
    char path[32];
    int fd;
};

static void put(int dirfd, const char *name)
{
    CLEANUP(fd_close) int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_that(fd, >=, 0);
}

/* out -> / and in/self -> file, in/up -> .., in/dir/file, in/file */
static int setup(void **state)
{
    struct dir *d = xnew0(struct dir);

    strcpy(d->path, "/tmp/koord-path-XXXXXX");
    assert_non_null(mkdtemp(d->path));
    d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_that(d->fd, >=, 0);
    assert_int_equal(mkdirat(d->fd, "in", 0700), 0);
    assert_int_equal(mkdirat(d->fd, "in/dir", 0700), 0);
    put(d->fd, "in/file");
    put(d->fd, "in/dir/file");
    assert_int_equal(symlinkat("/", d->fd, "out"), 0);
    assert_int_equal(symlinkat("file", d->fd, "in/self"), 0);
    assert_int_equal(symlinkat("..", d->fd, "in/up"), 0);
    *state = d;
    return 0;
}

static int remove_entry(int dirfd, const char *name, unsigned char type, void *arg,
                        struct kerr *err)
{
    if (type == DT_DIR)
        assert_int_equal(dir_each(dirfd, name, remove_entry, arg, err), 0);
    return unlinkat(dirfd, name, type == DT_DIR ? AT_REMOVEDIR : 0);
}

static int teardown(void **state)
{
    struct dir *d = *state;

    assert_int_equal(dir_each(d->fd, ".", remove_entry, NULL, NULL), 0);
    fd_close(d->fd);
    rmdir(d->path);
    free(d);
    return 0;
}

typedef int (*open_fn)(int rootfd, const char *path, int flags, mode_t mode, struct kerr *err);
static const open_fn ways[] = { file_open_beneath, file_open_beneath_stepwise };

/* The result with descriptors made 0: comparable. */
static int try_open(open_fn fn, int root, const char *path, int flags, struct kerr *err)
{
    int r = fn(root, path, flags, 0600, err);

    if (r < 0) {
        assert_int_equal(err->code, r);
        return r;
    }
    assert_true(fcntl(r, F_GETFD) & FD_CLOEXEC);
    fd_close(r);
    return 0;
}

static void test_both_ways_of_opening_give_the_same_answers(void **state)
{
    const struct {
        const char *path;
        int flags, want;
    } cases[] = {
        { "in/file", O_RDONLY, 0 },
        { "in/dir/file", O_RDWR, 0 },
        { "in//dir/./file", O_RDONLY, 0 },
        { "in/dir/", O_RDONLY | O_DIRECTORY, 0 },
        { "in", O_PATH, 0 },
        { ".", O_PATH, 0 },
        { "in/new", O_WRONLY | O_CREAT | O_EXCL, 0 },
        { "in/none", O_RDONLY, -ENOENT },
        { "none/file", O_RDONLY, -ENOENT },
        { "in/file/x", O_RDONLY, -ENOTDIR },
        { "in/file/", O_RDONLY, -ENOTDIR },
        { "in/dir", O_WRONLY, -EISDIR },
        { "", O_RDONLY, -EXDEV },
        { "/etc/passwd", O_RDONLY, -EXDEV },
        { "..", O_RDONLY, -EXDEV },
        { "in/../in/file", O_RDONLY, -EXDEV },
        { "out", O_RDONLY, -ELOOP },
        { "out", O_PATH, -ELOOP },
        { "out", O_RDONLY | O_DIRECTORY, -ELOOP },
        { "out/etc/passwd", O_RDONLY, -ELOOP },
        { "in/self", O_RDONLY, -ELOOP },
        { "in/up/in/file", O_RDONLY, -ELOOP },
    };
    struct dir *d = *state;

    for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            struct kerr err = { 0 };
            int got = try_open(ways[w], d->fd, cases[i].path, cases[i].flags, &err);
            if (got != cases[i].want)
                fail_msg("way %zu, '%s': %d, not %d", w, cases[i].path, got, cases[i].want);
        }
        assert_int_equal(unlinkat(d->fd, "in/new", 0), 0);
    }
}

static void test_errors_name_the_path(void **state)
{
    struct dir *d = *state;
    struct kerr err = { 0 };

    assert_int_equal(file_open_beneath(d->fd, "in/none", O_RDONLY, 0, &err), -ENOENT);
    assert_string_equal(err.text, "open in/none: No such file or directory");
    assert_int_equal(file_open_beneath(d->fd, "../x", O_RDONLY, 0, &err), -EXDEV);
    assert_string_equal(err.text, "open '../x': '..' leaves the root");
}

static int collect(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    struct strbuf *b = arg;

    (void)dirfd, (void)err;
    strbuf_appendf(b, "%s%s ", name, type == DT_DIR ? "/" : "");
    return 0;
}

static int stop_at_first(int dirfd, const char *name, unsigned char type, void *arg,
                         struct kerr *err)
{
    (void)dirfd, (void)name, (void)type;
    ++*(int *)arg;
    return kerr_set(err, -EPERM, "enough");
}

static void test_entries_come_sorted(void **state)
{
    struct dir *d = *state;
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kerr err = { 0 };
    int calls = 0;

    assert_int_equal(dir_each(d->fd, "in", collect, &b, &err), 0);
    assert_string_equal(strbuf_str(&b), "dir/ file self up ");
    assert_int_equal(dir_each(d->fd, "in", stop_at_first, &calls, &err), -EPERM);
    assert_int_equal(calls, 1);
    assert_int_equal(dir_each(d->fd, "none", collect, &b, &err), -ENOENT);
    assert_int_equal(dir_each(d->fd, "in/file", collect, &b, &err), -ENOTDIR);
}

static void test_directories_are_made_with_their_parents(void **state)
{
    struct dir *d = *state;
    CLEANUP(strbuf_fini) struct strbuf abs = STRBUF_INIT;
    struct kerr err = { 0 };
    struct stat st;

    assert_int_equal(dir_make(d->fd, "a/b//c/", 0700, &err), 0);
    assert_int_equal(dir_make(d->fd, "a/b/c", 0700, &err), 0);
    assert_int_equal(fstatat(d->fd, "a/b/c", &st, 0), 0);
    assert_true(S_ISDIR(st.st_mode));
    strbuf_appendf(&abs, "%s/x/y", d->path);
    assert_int_equal(dir_make(AT_FDCWD, abs.data, 0700, &err), 0);
    assert_int_equal(dir_make(d->fd, "in/file", 0700, &err), -ENOTDIR);
    assert_int_equal(dir_make(d->fd, "in/file/x", 0700, &err), -ENOTDIR);
}

static void test_directories_are_made_and_opened(void **state)
{
    struct dir *d = *state;
    struct kerr err = { 0 };
    struct stat by_name, by_fd;

    for (int round = 0; round < 2; round++) { /* missing, then there */
        CLEANUP(fd_close) int fd = dir_make_open(d->fd, "m/n", 0700, &err);
        assert_that(fd, >=, 0);
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        assert_int_equal(fstat(fd, &by_fd), 0);
        assert_int_equal(fstatat(d->fd, "m/n", &by_name, 0), 0);
        assert_int_equal(by_fd.st_ino, by_name.st_ino);
    }
    assert_int_equal(dir_make_open(d->fd, "in/file", 0700, &err), -ENOTDIR);
    assert_int_equal(dir_make_open(d->fd, "in/file", 0700, NULL), -ENOTDIR);
}

static int open_fds(void)
{
    int n = 0;
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    assert_int_equal(dir_each(AT_FDCWD, "/proc/self/fd", collect, &b, NULL), 0);
    for (size_t i = 0; i < b.len; i++)
        n += b.data[i] == ' ';
    return n;
}

static void test_no_descriptor_leaks(void **state)
{
    struct dir *d = *state;
    struct kerr err = { 0 };
    const char *paths[] = { "in/dir/file", "in/none", "out", "in/up/in/file", "in/file/x" };
    const int before = open_fds();
    int calls = 0;

    for (size_t w = 0; w < ARRAY_LEN(ways); w++)
        for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
            (void)try_open(ways[w], d->fd, paths[i], O_RDONLY, &err);
            (void)try_open(ways[w], d->fd, paths[i], O_PATH, &err);
        }
    (void)dir_each(d->fd, "in", stop_at_first, &calls, &err);
    assert_int_equal(open_fds(), before);
}

#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(test_both_ways_of_opening_give_the_same_answers),
        IN_DIR(test_errors_name_the_path),
        IN_DIR(test_entries_come_sorted),
        IN_DIR(test_directories_are_made_with_their_parents),
        IN_DIR(test_directories_are_made_and_opened),
        IN_DIR(test_no_descriptor_leaks),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
