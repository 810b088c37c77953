/* test_file.c - whole files, single values, atomic replacement. */
#include "sys/file.h"

#include "base/arena.h"
#include "base/test/asserts.h"

#include <setjmp.h> /* cmocka.h wants these first */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct dir {
    char path[32];
    int fd;
};

static int setup(void **state)
{
    struct dir *d = xnew0(struct dir);

    strcpy(d->path, "/tmp/koord-file-XXXXXX");
    assert_non_null(mkdtemp(d->path));
    d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_that(d->fd, >=, 0);
    *state = d;
    return 0;
}

static int unlink_entry(int dirfd, const char *name, unsigned char type, void *arg,
                        struct kerr *err)
{
    (void)arg, (void)err;
    return unlinkat(dirfd, name, type == 4 ? AT_REMOVEDIR : 0);
}

static int teardown(void **state)
{
    struct dir *d = *state;

    dir_each(d->fd, ".", unlink_entry, NULL, NULL);
    fd_close(d->fd);
    rmdir(d->path);
    free(d);
    return 0;
}

static void put(int dirfd, const char *name, const char *text, size_t n)
{
    CLEANUP(fd_close) int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, text, n), n);
}

static int count_entry(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    (void)dirfd, (void)name, (void)type, (void)err;
    ++*(int *)arg;
    return 0;
}

static int entries(int dirfd)
{
    int n = 0;
    assert_int_equal(dir_each(dirfd, ".", count_entry, &n, NULL), 0);
    return n;
}

static void test_file_is_read_to_its_end(void **state)
{
    struct dir *d = *state;
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(mem_free) char *big = xmalloc(100000);
    struct kerr err = { 0 };

    memset(big, 'x', 100000);
    put(d->fd, "big", big, 100000);
    assert_int_equal(file_read_all(d->fd, "big", 100000, &b, &err), 0);
    assert_int_equal(b.len, 100000);
    assert_int_equal(b.data[b.len], '\0');
    assert_memory_equal(b.data, big, b.len);

    put(d->fd, "empty", "", 0);
    strbuf_reset(&b);
    strbuf_append(&b, "before ");
    assert_int_equal(file_read_all(d->fd, "empty", 10, &b, &err), 0);
    put(d->fd, "small", "after", 5);
    assert_int_equal(file_read_all(d->fd, "small", 5, &b, &err), 0);
    assert_string_equal(b.data, "before after");
}

static void test_cap_is_kept_and_leaves_the_buffer_alone(void **state)
{
    struct dir *d = *state;
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kerr err = { 0 };

    put(d->fd, "f", "123456", 6);
    strbuf_append(&b, "kept");
    assert_int_equal(file_read_all(d->fd, "f", 5, &b, &err), -EFBIG);
    assert_string_equal(b.data, "kept");
    assert_contains(err.text, "read f: larger than 5 bytes");
    assert_int_equal(file_read_all(d->fd, "f", 0, &b, &err), -EFBIG);
    assert_int_equal(file_read_all(d->fd, "f", SIZE_MAX, &b, &err), 0);
    assert_string_equal(b.data, "kept123456");
}

static void test_proc_files_without_a_size_are_read(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(file_read_all(AT_FDCWD, "/proc/self/status", 1 << 20, &b, &err), 0);
    assert_contains(b.data, "VmSize");
    strbuf_reset(&b);
    assert_int_equal(file_read_all(AT_FDCWD, "/proc/self/maps", 4, &b, &err), -EFBIG);
}

static void test_read_errors_name_the_file(void **state)
{
    struct dir *d = *state;
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kerr err = { 0 };

    assert_int_equal(file_read_all(d->fd, "none", 10, &b, &err), -ENOENT);
    assert_string_equal(err.text, "open none: No such file or directory");
    assert_int_equal(file_read_all(d->fd, ".", 10, &b, &err), -EISDIR);
    assert_string_equal(err.text, "read .: Is a directory");
    assert_int_equal(b.len, 0);
}

static void test_arena_form_gives_terminated_text(void **state)
{
    struct dir *d = *state;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct kerr err = { 0 };
    struct str s;

    put(d->fd, "f", "a\0b", 3);
    assert_int_equal(file_read_arena(d->fd, "f", 10, a, &s, &err), 0);
    assert_int_equal(s.n, 3);
    assert_memory_equal(s.p, "a\0b", 4);
    assert_int_equal(file_read_arena(d->fd, "none", 10, a, &s, &err), -ENOENT);
}

static void test_value_replaces_the_old_one(void **state)
{
    struct dir *d = *state;
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kerr err = { 0 };

    put(d->fd, "cpu.max", "max 100000", 10);
    assert_int_equal(file_write_value(d->fd, "cpu.max", "5000", &err), 0);
    assert_int_equal(file_read_all(d->fd, "cpu.max", 100, &b, &err), 0);
    assert_string_equal(b.data, "5000");
    assert_int_equal(file_write_value(d->fd, "none", "1", &err), -ENOENT);
    assert_int_equal(symlinkat("cpu.max", d->fd, "link"), 0);
    assert_int_equal(file_write_value(d->fd, "link", "1", &err), -ELOOP);
    assert_string_equal(err.text, "open link: Too many levels of symbolic links");
}

static void test_value_that_the_kernel_refuses_is_an_error(void **state)
{
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(file_write_value(AT_FDCWD, "/dev/full", "1", &err), -ENOSPC);
    assert_string_equal(err.text, "write /dev/full: No space left on device");
}

static void test_atomic_write_replaces_the_whole_and_sets_the_mode(void **state)
{
    struct dir *d = *state;
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kerr err = { 0 };
    struct stat st;

    assert_int_equal(file_write_atomic(d->fd, "f", "first, and longer", 17, 0640, &err), 0);
    assert_int_equal(file_write_atomic(d->fd, "f", "second", 6, 0604, &err), 0);
    assert_int_equal(file_read_all(d->fd, "f", 100, &b, &err), 0);
    assert_string_equal(b.data, "second");
    assert_int_equal(fstatat(d->fd, "f", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0604);
    assert_int_equal(entries(d->fd), 1); /* no temporary file stays */
}

static void test_atomic_write_works_on_paths_and_passes_by_leftovers(void **state)
{
    struct dir *d = *state;
    CLEANUP(strbuf_fini) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf stale = STRBUF_INIT;
    struct kerr err = { 0 };
    struct stat st;

    strbuf_appendf(&path, "%s/f", d->path);
    strbuf_appendf(&stale, ".f.tmp-%d-0", (int)getpid());
    put(d->fd, stale.data, "x", 1);
    assert_int_equal(file_write_atomic(AT_FDCWD, path.data, "", 0, 0600, &err), 0);
    assert_int_equal(fstatat(d->fd, "f", &st, 0), 0);
    assert_int_equal(st.st_size, 0);
    assert_int_equal(entries(d->fd), 2);
}

static void test_failed_atomic_write_leaves_nothing_behind(void **state)
{
    struct dir *d = *state;
    struct kerr err = { 0 };

    assert_int_equal(mkdirat(d->fd, "target", 0700), 0);
    assert_int_equal(file_write_atomic(d->fd, "target", "x", 1, 0600, &err), -EISDIR);
    assert_string_equal(err.text, "rename target: Is a directory");
    assert_int_equal(entries(d->fd), 1);
    assert_int_equal(file_write_atomic(d->fd, "no/f", "x", 1, 0600, &err), -ENOENT);
}

static void test_stamp_changes_with_the_file(void **state)
{
    struct dir *d = *state;
    struct kerr err = { 0 };

    assert_int_equal(file_stamp(d->fd, "f"), 0);
    put(d->fd, "f", "one", 3);
    assert_int_equal(symlinkat("f", d->fd, "link"), 0);
    const uint64_t first = file_stamp(d->fd, "f");
    assert_int_not_equal(first, 0);
    assert_int_equal(file_stamp(d->fd, "f"), first);
    assert_int_equal(file_stamp(d->fd, "link"), first);
    assert_int_equal(file_write_atomic(d->fd, "f", "two", 3, 0600, &err), 0);
    assert_int_not_equal(file_stamp(d->fd, "f"), first);
    assert_int_equal(file_stamp(d->fd, "link"), file_stamp(d->fd, "f"));
}

static void test_fd_close_keeps_errno(void **state)
{
    (void)state;
    errno = EXDEV;
    assert_int_equal(fd_close(-1), -1);
    assert_int_equal(fd_close(1000000), -1);
    assert_int_equal(errno, EXDEV);
}

#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(test_file_is_read_to_its_end),
        IN_DIR(test_cap_is_kept_and_leaves_the_buffer_alone),
        cmocka_unit_test(test_proc_files_without_a_size_are_read),
        IN_DIR(test_read_errors_name_the_file),
        IN_DIR(test_arena_form_gives_terminated_text),
        IN_DIR(test_value_replaces_the_old_one),
        cmocka_unit_test(test_value_that_the_kernel_refuses_is_an_error),
        IN_DIR(test_atomic_write_replaces_the_whole_and_sets_the_mode),
        IN_DIR(test_atomic_write_works_on_paths_and_passes_by_leftovers),
        IN_DIR(test_failed_atomic_write_leaves_nothing_behind),
        IN_DIR(test_stamp_changes_with_the_file),
        cmocka_unit_test(test_fd_close_keeps_errno),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
