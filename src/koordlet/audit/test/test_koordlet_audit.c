/* test_koordlet_audit.c - the audit log: lines on disk, rotation, pages backwards. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/klog.h"
#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "component/metrics.h"
#include "koordlet/audit/audit_int.h"
#include "koordlet/test/http_get.h"
#include "sys/file.h"

struct fixture {
    char dir[64];
    struct loop *l;
    struct metrics *m;
    struct audit *a;
    struct http_get k;
};

static void fixture_open(struct fixture *b, int64_t disk_mb)
{
    const struct audit_options o = { b->dir, 3, disk_mb, 4, 2048 };
    struct kerr err;

    assert_int_equal(audit_new(b->l, &o, b->m, &b->a, &err), 0);
    http_get_init(&b->k, b->l, audit_serve, b->a);
}

static void fixture_init(struct fixture *b, int64_t disk_mb)
{
    *b = (struct fixture){ .l = loop_new_virtual(INT64_C(1700000000) * NSEC_PER_SEC, 1),
                           .m = metrics_new() };
    strcpy(b->dir, "/tmp/koordlet-audit-XXXXXX");
    assert_non_null(mkdtemp(b->dir));
    klog_set_level(-1);
    fixture_open(b, disk_mb);
}

static void fixture_close(struct fixture *b)
{
    http_get_fini(&b->k);
    b->a = audit_free(b->a);
}

static int remove_entry(int dirfd, const char *name, unsigned char type, void *arg,
                        struct kerr *err)
{
    (void)type, (void)arg, (void)err;
    unlinkat(dirfd, name, 0);
    return 0;
}

static void fixture_fini(struct fixture *b)
{
    struct kerr err;

    fixture_close(b);
    dir_each(AT_FDCWD, b->dir, remove_entry, NULL, &err);
    rmdir(b->dir);
    metrics_free(b->m);
    loop_free(b->l);
}

static const char *ask(struct fixture *b, const char *target)
{
    const char *body = http_get_path(&b->k, target);

    assert_true(b->k.ended);
    return body;
}

static void log_name(struct fixture *b, const char *name)
{
    audit_log(b->a, &(struct audit_event){ .type = "pod", .ns = "default", .name = name });
}

/* The names in a page of text, one letter each. */
static const char *letters(const char *page)
{
    static char out[64];
    size_t n = 0;

    for (const char *p = page; (p = strstr(p, "\"name\":\"")) && n < sizeof out - 1; p += 8)
        out[n++] = p[8];
    out[n] = '\0';
    return out;
}

static size_t count_files(const struct fixture *b, const char *prefix)
{
    DIR *d = opendir(b->dir);
    size_t n = 0;

    for (struct dirent *e; (e = readdir(d));)
        n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
    closedir(d);
    return n;
}

static void test_pages_go_back_from_the_newest(void **state)
{
    struct fixture b;
    char target[128];

    (void)state;
    fixture_init(&b, 16);
    for (char c = 'a'; c <= 'z'; c++)
        log_name(&b, (char[]){ c, 0 });
    assert_string_equal(letters(ask(&b, "/events?size=10")), "zyxwvutsrq");
    assert_int_equal(strlen(b.k.token), 36);
    snprintf(target, sizeof target, "/events?size=1&pageToken=%s", b.k.token);
    assert_string_equal(letters(ask(&b, target)), "p");
    snprintf(target, sizeof target, "/events?size=100&pageToken=%s", b.k.token);
    assert_string_equal(letters(ask(&b, target)), "onmlkjihgfedcba");
    assert_string_equal(b.k.token, "");
    ask(&b, target); /* the reader is gone */
    assert_int_equal(b.k.status, 409);
    fixture_fini(&b);
}

static void test_json_page(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b, 16);
    audit_log(b.a, &(struct audit_event){ "node", NULL, "n1", NULL, "reason", "it \"is\"\n", 1 });
    audit_log(b.a, &(struct audit_event){ .type = "node", .name = "quiet", .verbosity = 4 });
    b.k.accept = "application/json";
    assert_string_equal(
        ask(&b, "/events"),
        "{\"NextPageToken\":\"\",\"Events\":[{\"createdAt\":\"2023-11-14T22:13:20Z\","
        "\"type\":\"node\",\"name\":\"n1\",\"reason\":\"reason\",\"message\":\"it \\\"is\\\"\\n\""
        "}]}\n");
    fixture_fini(&b);
}

static void test_refused_requests(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b, 16);
    assert_string_equal(ask(&b, "/events?size=2049"), "size(2049) exceeds the limit(2048)\n");
    assert_int_equal(b.k.status, 400);
    assert_string_equal(ask(&b, "/events?pageToken=x"), "invalid pageToken x\n");
    assert_int_equal(b.k.status, 409);
    log_name(&b, "a");
    assert_string_equal(letters(ask(&b, "/events?size=many")), "a");
    fixture_fini(&b);
}

static void test_readers_are_few_and_expire(void **state)
{
    struct fixture b;
    char first[128], second[128];

    (void)state;
    fixture_init(&b, 16);
    for (char c = 'a'; c <= 'z'; c++)
        log_name(&b, (char[]){ c, 0 });
    for (int i = 0; i < 5; i++) {
        ask(&b, "/events?size=1");
        snprintf(i ? second : first, 128, "/events?size=1&pageToken=%s", b.k.token);
    }
    ask(&b, first);
    assert_int_equal(b.k.status, 409);
    ask(&b, second);
    assert_int_equal(b.k.status, 200);
    assert_int_equal(b.a->readers.n, 4);
    loop_advance(b.l, 12 * 60 * NSEC_PER_SEC);
    assert_int_equal(b.a->readers.n, 0); /* also when nobody asks */
    ask(&b, second);
    assert_int_equal(b.k.status, 409);
    fixture_fini(&b);
}

static void test_rotation_keeps_the_budget(void **state)
{
    struct fixture b;
    char message[1024];

    (void)state;
    fixture_init(&b, 10);
    memset(message, 'x', sizeof message - 1);
    message[sizeof message - 1] = '\0';
    for (int i = 0; i < 12 << 10; i++) {
        audit_log(b.a, &(struct audit_event){ .type = "node", .message = message });
        loop_advance(b.l, NSEC_PER_SEC);
    }
    assert_int_equal(count_files(&b, "audit-"), 4);
    assert_int_equal(count_files(&b, "audit.log"), 1);
    /* A restart goes on with the same file, and counts what is in it. */
    fixture_close(&b);
    fixture_open(&b, 10);
    for (int i = 0; i < 2 << 10; i++)
        audit_log(b.a, &(struct audit_event){ .type = "node", .message = message });
    struct stat st;
    int dirfd = open(b.dir, O_RDONLY | O_DIRECTORY);
    assert_int_equal(fstatat(dirfd, "audit.log", &st, 0), 0);
    close(dirfd);
    assert_that(st.st_size, <, 2 << 20);
    fixture_fini(&b);
}

static void test_reader_crosses_files_and_bad_lines(void **state)
{
    struct fixture b;
    char message[2000];
    size_t seen = 0;
    char target[128] = "/events?size=7";

    (void)state;
    fixture_init(&b, 16);
    memset(message, 'y', sizeof message - 1);
    message[sizeof message - 1] = '\0';
    for (int i = 0; i < 2500; i++)
        audit_log(b.a, &(struct audit_event){ .type = "node", .name = "n", .message = message });
    audit_flush(b.a);
    int dirfd = open(b.dir, O_RDONLY | O_DIRECTORY);
    int fd = openat(dirfd, "audit.log", O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "garbage\n{\"half", 14), 14);
    close(fd);
    close(dirfd);
    for (;;) {
        seen += strlen(letters(ask(&b, target)));
        if (!*b.k.token)
            break;
        snprintf(target, sizeof target, "/events?size=60&pageToken=%s", b.k.token);
    }
    assert_int_equal(seen, 2500);
    fixture_fini(&b);
}

static void keep_line(void *arg, const char *text, size_t n)
{
    strbuf_appendn(arg, text, n);
}

static size_t count_lines(const struct strbuf *text, const char *with)
{
    size_t n = 0;

    for (const char *p = strbuf_str(text); (p = strstr(p, with)); p++)
        n++;
    return n;
}

/* A page of messages that fills a file. */
static void fill_file(struct fixture *b)
{
    static char message[1024];

    memset(message, 'x', sizeof message - 1);
    for (int i = 0; i < 2 << 10; i++)
        audit_log(b->a, &(struct audit_event){ .type = "node", .name = "f", .message = message });
}

static void test_rotation_that_fails_is_told_once(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf lines = STRBUF_INIT;
    struct fixture b;
    char name[64];

    (void)state;
    fixture_init(&b, 16);
    int dirfd = open(b.dir, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof name, "audit-2023-11-14-22-13-20-%d.log", i);
        assert_int_equal(mkdirat(dirfd, name, 0755), 0);
    }
    klog_set_sink(keep_line, &lines);
    fill_file(&b);
    fill_file(&b);
    klog_set_sink(NULL, NULL);
    assert_int_equal(count_lines(&lines, "Cannot rotate"), 1);
    /* Nothing is lost; it is only late. */
    assert_int_equal(strlen(letters(ask(&b, "/events?size=50"))), 50);
    loop_advance(b.l, 10 * NSEC_PER_SEC);
    log_name(&b, "z");
    assert_int_equal(count_files(&b, "audit-"), 9 + 1);
    assert_string_equal(letters(ask(&b, "/events?size=2")), "zf");
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof name, "audit-2023-11-14-22-13-20-%d.log", i);
        unlinkat(dirfd, name, AT_REMOVEDIR);
    }
    close(dirfd);
    fixture_fini(&b);
}

/* Files of yesterday. */
static void put_rotated(const struct fixture *b, int n)
{
    char path[128];

    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/audit-2023-11-13-00-00-00-%d.log", b->dir, i);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
        assert_int_equal(write(fd, "{\"name\":\"r\"}\n", 13), 13);
        close(fd);
    }
}

/* Four rotated files are kept, and the disk is full when the file is not quite. */
static void test_lost_events_cost_no_history(void **state)
{
    const struct rlimit room = { (2 << 20) - 1000, RLIM_INFINITY };
    struct rlimit before;
    struct fixture b;

    (void)state;
    fixture_init(&b, 10);
    put_rotated(&b, 4);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &room), 0);
    for (int i = 0; i < 3; i++) {
        fill_file(&b);
        loop_advance(b.l, 10 * NSEC_PER_SEC);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_that(b.a->lost->v, >, 3 << 20);
    assert_int_equal(b.a->size, room.rlim_cur);
    assert_int_equal(count_files(&b, "audit-"), 4);
    audit_flush(b.a);
    log_name(&b, "z");
    assert_string_equal(letters(ask(&b, "/events?size=1")), "z");
    fill_file(&b); /* and goes on to rotate */
    assert_that(count_files(&b, "audit-2023-11-14"), >, 0);
    fixture_fini(&b);
}

static void test_what_is_removed_comes_again(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf lines = STRBUF_INIT;
    struct fixture b;
    struct kerr err;
    char path[128];

    (void)state;
    fixture_init(&b, 16);
    snprintf(path, sizeof path, "%s/audit.log", b.dir);
    log_name(&b, "a");
    audit_flush(b.a);
    dir_each(AT_FDCWD, b.dir, remove_entry, NULL, &err);
    assert_int_equal(rmdir(b.dir), 0);
    klog_set_sink(keep_line, &lines);
    log_name(&b, "b");
    audit_flush(b.a);
    assert_int_equal(count_files(&b, "audit.log"), 1);
    assert_string_equal(letters(ask(&b, "/events")), "b");
    /* Or the file alone; said once a minute. */
    assert_int_equal(unlink(path), 0);
    log_name(&b, "c");
    assert_string_equal(letters(ask(&b, "/events")), "c");
    klog_set_sink(NULL, NULL);
    assert_int_equal(count_lines(&lines, "The audit log was removed"), 1);
    assert_that(b.a->lost->v, ==, 0);
    fixture_fini(&b);
}

/* Who renames the file means to keep it. */
static void test_a_file_that_is_renamed_is_written_on(void **state)
{
    struct fixture b;
    char path[128], other[128];

    (void)state;
    fixture_init(&b, 16);
    snprintf(path, sizeof path, "%s/audit.log", b.dir);
    snprintf(other, sizeof other, "%s/audit.log.1", b.dir);
    assert_int_equal(rename(path, other), 0);
    log_name(&b, "a");
    audit_flush(b.a);
    struct stat st;
    assert_int_equal(stat(other, &st), 0);
    assert_that(st.st_size, >, 0);
    assert_that(stat(path, &st), <, 0);
    fixture_fini(&b);
}

/* The last life was cut off in the middle of a line: the next event does not suffer. */
static void test_half_a_line_at_the_end(void **state)
{
    struct fixture b;

    (void)state;
    fixture_init(&b, 16);
    fixture_close(&b);
    int dirfd = open(b.dir, O_RDONLY | O_DIRECTORY);
    int fd = openat(dirfd, "audit.log", O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "{\"half", 6), 6);
    close(fd);
    close(dirfd);
    fixture_open(&b, 16);
    log_name(&b, "a");
    log_name(&b, "b");
    assert_string_equal(ask(&b, "/events?size=1"),
                        "{\"createdAt\":\"2023-11-14T22:13:21Z\",\"type\":\"pod\","
                        "\"namespace\":\"default\",\"name\":\"b\"}\n");
    assert_string_equal(letters(ask(&b, "/events")), "ba");
    fixture_fini(&b);
}

static void test_directory_that_cannot_be_made(void **state)
{
    const struct audit_options o = { "/proc/no/such", 3, 16, 4, 2048 };
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    CLEANUP(metrics_free) struct metrics *m = metrics_new();
    struct audit *a = NULL;
    struct kerr err;

    (void)state;
    assert_that(audit_new(l, &o, m, &a, &err), <, 0);
    assert_null(a);
    assert_contains(err.text, "/proc/no");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_go_back_from_the_newest),
        cmocka_unit_test(test_json_page),
        cmocka_unit_test(test_refused_requests),
        cmocka_unit_test(test_readers_are_few_and_expire),
        cmocka_unit_test(test_rotation_keeps_the_budget),
        cmocka_unit_test(test_reader_crosses_files_and_bad_lines),
        cmocka_unit_test(test_rotation_that_fails_is_told_once),
        cmocka_unit_test(test_lost_events_cost_no_history),
        cmocka_unit_test(test_what_is_removed_comes_again),
        cmocka_unit_test(test_a_file_that_is_renamed_is_written_on),
        cmocka_unit_test(test_half_a_line_at_the_end),
        cmocka_unit_test(test_directory_that_cannot_be_made),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
