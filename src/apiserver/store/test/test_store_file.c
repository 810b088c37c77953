/* test_store_file.c - what can be wrong with a file: missing, foreign, damaged, in use, full. */
#include "apiserver/store/test/store_fixture.h"
#include "base/test/asserts.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const struct fixture_kind on_disk = { true, false };

static int try_open(struct fixture *b, const char *path, struct kerr *err)
{
    struct store *s = NULL;

    *err = (struct kerr){ 0 };
    const int r = store_open(b->l, &(struct store_opts){ .path = path }, &s, err);
    store_close(s);
    return r;
}

static void sql(const char *path, const char *text)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void test_missing_directory(void **state)
{
    CLEANUP(fixture_free) struct fixture *b = fixture_new(on_disk, NULL);
    struct kerr err;

    (void)state;
    assert_int_equal(try_open(b, "/nonexistent/dir/state.db", &err), -ENOENT);
    assert_string_equal(
        err.text,
        "open store /nonexistent/dir/state.db: directory /nonexistent/dir does not exist");
}

static void test_file_in_use_is_refused(void **state)
{
    CLEANUP(fixture_free) struct fixture *b = fixture_new(on_disk, NULL);
    char want[160];
    struct kerr err;
    int status = 1;

    (void)state;
    (void)snprintf(want, sizeof want, "open store %s: in use by another process (pid %ld)", b->path,
                   (long)getpid());
    assert_int_equal(try_open(b, b->path, &err), -EBUSY); /* not twice in one process either */
    assert_string_equal(err.text, want);
    const pid_t pid = fork();
    if (pid == 0) {
        const bool refused = try_open(b, b->path, &err) == -EBUSY && streq(err.text, want);
        _exit(refused ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    fixture_put(b, POD("", "a"), 0, "1"); /* and the first goes on */
}

static void test_file_is_private(void **state)
{
    CLEANUP(fixture_free) struct fixture *b = fixture_new(on_disk, NULL);
    CLEANUP(mem_free) char *wal = xasprintf("%s-wal", b->path);
    struct stat st;

    (void)state;
    fixture_put(b, POD("", "a"), 0, "1");
    assert_int_equal(stat(b->path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(wal, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void test_damaged_file(void **state)
{
    CLEANUP(fixture_free) struct fixture *b = fixture_new(on_disk, NULL);
    char block[20000];
    struct kerr err;

    (void)state;
    for (int i = 0; i < 200; i++) {
        (void)snprintf(block, sizeof block, "p%d", i);
        fixture_put(b, POD("", block), 0, "doc");
    }
    b->s = store_close(b->s);
    memset(block, 'z', sizeof block);
    int fd = open(b->path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pwrite(fd, block, 8192, 8192), 8192); /* the root of history */
    close(fd);
    assert_int_equal(try_open(b, b->path, &err), -EUCLEAN);
    assert_contains(err.text, "malformed");
    fd = open(b->path, O_RDWR | O_TRUNC | O_CLOEXEC);
    assert_int_equal(write(fd, block, sizeof block), sizeof block);
    close(fd);
    assert_int_equal(try_open(b, b->path, &err), -EUCLEAN);
    assert_contains(err.text, "file is not a database");
}

static void test_foreign_and_newer_files(void **state)
{
    CLEANUP(fixture_free) struct fixture *b = fixture_new(on_disk, NULL);
    struct kerr err;

    (void)state;
    b->s = store_close(b->s);
    sql(b->path, "PRAGMA user_version = 7");
    assert_int_equal(try_open(b, b->path, &err), -EPROTONOSUPPORT);
    assert_contains(err.text, "newer version (format 7");
    assert_int_equal(unlink(b->path), 0);
    sql(b->path, "CREATE TABLE music(title TEXT)");
    assert_int_equal(try_open(b, b->path, &err), -EINVAL);
    assert_contains(err.text, "not a store of koord");
}

/* A disk that is really full, as far as a process can have one: a limit on the size of files. */
static void test_full_disk_fails_writes_and_recovers(void **state)
{
    CLEANUP(fixture_free)
    struct fixture *b = fixture_new((struct fixture_kind){ true, true }, NULL);
    static char big[(512 << 10) + 1]; /* ends with a NUL */
    struct ack a = { 0 };
    struct kerr err = { 0 };
    struct rlimit old;

    (void)state;
    memset(big, 'b', sizeof big - 1);
    fixture_put(b, POD("", "first"), 0, "1");
    getrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 256 << 10, old.rlim_max });
    assert_int_equal(store_put(b->s, POD("", "big"), 0, big, sizeof big - 1, ack_fn, &a, &err), 0);
    fixture_settle(b);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(a.calls, 1);
    assert_true(a.err.code == -ENOSPC || a.err.code == -EIO);
    assert_contains(a.err.text, b->path);
    assert_int_equal(store_count(b->s, "pods", NULL), 1);
    fixture_put(b, POD("", "big"), 0, big);
    fixture_reopen(b);
    assert_int_equal(store_count(b->s, "pods", NULL), 2);
}

/* What looks whether there is room again must really write. */
static void test_full_disk_is_over_without_writers(void **state)
{
    CLEANUP(fixture_free) struct fixture *b = fixture_new(on_disk, NULL);
    struct ack a = { 0 };
    struct kerr err = { 0 };
    struct rlimit old;

    (void)state;
    fixture_put(b, POD("", "first"), 0, "1");
    getrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 4096, old.rlim_max });
    assert_int_equal(store_put(b->s, POD("", "next"), 0, "1", 1, ack_fn, &a, &err), 0);
    fixture_settle(b);
    const bool failed = store_failing(b->s);
    loop_advance(b->l, 100 * NSEC_PER_SEC);
    const bool still = store_failing(b->s);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    assert_true(a.err.code < 0 && failed && still);
    loop_advance(b->l, 31 * NSEC_PER_SEC);
    assert_null(store_failing(b->s));
    fixture_reopen(b);
    assert_int_equal(store_count(b->s, "pods", NULL), 1);
}

/* Closing does not wait for versions that are still to be removed: like a crash in between. */
static void test_deleted_stay_deleted_when_compaction_is_cut_short(void **state)
{
    CLEANUP(fixture_free) struct fixture *b = fixture_new(on_disk, NULL);
    char name[16];

    (void)state;
    for (int round = 0; round < 3; round++) /* create, update, delete */
        for (int i = 0; i < 1500; i++) {    /* more than two batches remove */
            uint64_t rev = 0;
            (void)snprintf(name, sizeof name, "p%d", i);
            struct strbuf doc = STRBUF_INIT;
            (void)store_get_latest(b->s, POD("gone", name), &doc, &rev, NULL);
            strbuf_fini(&doc);
            if (round < 2)
                store_put(b->s, POD("gone", name), rev, "d", 1, NULL, NULL, NULL);
            else
                store_delete(b->s, POD("gone", name), rev, "d", 1, NULL, NULL, NULL);
        }
    fixture_settle(b);
    const uint64_t revision = store_revision(b->s);
    for (int i = 0; i < 8; i++) {
        struct ack a = { 0 };
        store_compact(b->s, UINT64_MAX);
        for (int tries = 0; tries < 2; tries++) { /* each batch removes a part; the first fails */
            (void)snprintf(name, sizeof name, "w%d-%d", i, tries);
            if (tries == 0)
                store_fail_next_commit(b->s, EIO);
            store_put(b->s, POD("kept", name), 0, "d", 1, ack_fn, &a, NULL);
            for (int turns = 0; turns < 100 && a.calls == tries; turns++)
                loop_advance(b->l, NSEC_PER_MSEC / 10);
            assert_int_equal(a.calls, tries + 1);
        }
        fixture_reopen(b);
        assert_int_equal(store_count(b->s, "pods", "gone"), 0);
        assert_int_equal(store_count(b->s, "pods", "kept"), i + 1);
        assert_that(store_revision(b->s), >, revision);
    }
    fixture_settle(b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_directory),
        cmocka_unit_test(test_file_in_use_is_refused),
        cmocka_unit_test(test_file_is_private),
        cmocka_unit_test(test_damaged_file),
        cmocka_unit_test(test_foreign_and_newer_files),
        cmocka_unit_test(test_deleted_stay_deleted_when_compaction_is_cut_short),
        cmocka_unit_test(test_full_disk_fails_writes_and_recovers),
        cmocka_unit_test(test_full_disk_is_over_without_writers),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
