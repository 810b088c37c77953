/* test_pemfiles.c - certificates that others renew: handed out together, and never a broken one. */
#include "base/test/asserts.h"
#include "net/pemfiles.h"

#include <string.h>

#include "base/klog.h"
#include "base/strbuf.h"
#include "loop/filewatch.h"
#include "loop/loop.h"
#include "sys/test/tmpdir.h"

struct used {
    char text[64]; /* "cert|key|ca|other" as last accepted */
    int calls;
};

static int use(void *arg, const struct str pem[PEM_FILES], struct kerr *err)
{
    struct used *u = arg;

    u->calls++;
    if (str_eqz(pem[PEM_CERT], "broken"))
        return kerr_set(err, -EINVAL, "no certificate");
    (void)snprintf(u->text, sizeof u->text, "%.*s|%.*s|%.*s|%.*s", (int)pem[0].n,
                   str_or(pem[0].p, ""), (int)pem[1].n, str_or(pem[1].p, ""), (int)pem[2].n,
                   str_or(pem[2].p, ""), (int)pem[3].n, str_or(pem[3].p, ""));
    return 0;
}

static void keep_log(void *arg, const char *text, size_t n)
{
    strbuf_appendn(arg, text, n);
}

static void test_a_renewed_version_is_handed_out_whole(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf log = STRBUF_INIT;
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct used u = { 0 };
    struct pemfiles *p = NULL;
    struct kerr err = { 0 };
    struct tmpdir t;

    (void)state;
    tmpdir_init(&t);
    const struct pemfiles_opts o = {
        .files = { tmpdir_write(&t, "tls.crt", "c1"), tmpdir_write(&t, "tls.key", "k1"), NULL, "" },
        .what = "serving certificate",
        .use = use,
        .arg = &u,
    };
    assert_int_equal(pemfiles_new(l, &o, &p, &err), 0);
    assert_string_equal(u.text, "c1|k1||");
    klog_set_sink(keep_log, &log);
    tmpdir_write(&t, "tls.crt", "broken");
    loop_advance(l, FILEWATCH_POLL);
    assert_int_equal(u.calls, 2);
    assert_string_equal(u.text, "c1|k1||");
    assert_contains(strbuf_str(&log), "the old one stays in use");
    assert_contains(strbuf_str(&log), "tls.crt: no certificate");
    tmpdir_write(&t, "tls.crt", "c22");
    tmpdir_write(&t, "tls.key", "k22");
    loop_advance(l, FILEWATCH_POLL);
    assert_int_equal(u.calls, 3);
    assert_string_equal(u.text, "c22|k22||");
    (void)remove(o.files[PEM_KEY]); /* in the middle of being replaced */
    loop_advance(l, FILEWATCH_POLL);
    assert_int_equal(u.calls, 3);
    klog_set_sink(NULL, NULL);
    pemfiles_free(p);
    tmpdir_fini(&t);
}

static void test_what_cannot_be_used_at_the_start_is_an_error(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct used u = { 0 };
    struct pemfiles *p = NULL;
    struct kerr err = { 0 };
    struct tmpdir t;

    (void)state;
    tmpdir_init(&t);
    struct pemfiles_opts o = { .files = { tmpdir_write(&t, "tls.crt", "broken") },
                               .what = "serving certificate",
                               .use = use,
                               .arg = &u };
    assert_int_equal(pemfiles_new(l, &o, &p, &err), -EINVAL);
    assert_contains(err.text, "serving certificate: /tmp/");
    assert_contains(err.text, "tls.crt: no certificate");
    o.files[PEM_KEY] = tmpdir_at(&t, "missing");
    assert_int_equal(pemfiles_new(l, &o, &p, &err), -ENOENT);
    assert_contains(err.text, "missing");
    tmpdir_fini(&t);
}

static void test_who_has_read_them_hears_of_changes_only(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct used u = { 0 };
    struct pemfiles *p = NULL;
    struct kerr err = { 0 };
    struct tmpdir t;

    (void)state;
    tmpdir_init(&t);
    const struct pemfiles_opts o = { .files = { [PEM_CA] = tmpdir_write(&t, "ca", "a") },
                                     .what = "client certificate",
                                     .known = true,
                                     .use = use,
                                     .arg = &u };
    assert_int_equal(pemfiles_new(l, &o, &p, &err), 0);
    loop_advance(l, 2 * FILEWATCH_POLL);
    assert_int_equal(u.calls, 0);
    tmpdir_write(&t, "ca", "bb");
    loop_advance(l, FILEWATCH_POLL);
    assert_string_equal(u.text, "||bb|");
    pemfiles_free(p);
    tmpdir_fini(&t);
}

static void test_without_files_it_is_asked_once(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct used u = { 0 };
    struct pemfiles *p = NULL;
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(
        pemfiles_new(l, &(struct pemfiles_opts){ .what = "x", .use = use, .arg = &u }, &p, &err),
        0);
    assert_string_equal(u.text, "|||");
    loop_advance(l, 10 * FILEWATCH_POLL);
    assert_int_equal(u.calls, 1);
    pemfiles_free(p);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_renewed_version_is_handed_out_whole),
        cmocka_unit_test(test_what_cannot_be_used_at_the_start_is_an_error),
        cmocka_unit_test(test_who_has_read_them_hears_of_changes_only),
        cmocka_unit_test(test_without_files_it_is_asked_once),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
