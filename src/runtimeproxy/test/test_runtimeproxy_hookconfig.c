/* test_runtimeproxy_hookconfig.c - configurations of hook servers, good and bad, that come and go.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "base/test/asserts.h"
#include "loop/loop.h"
#include "runtimeproxy/hookconfig.h"
#include "sys/file.h"

#define GOOD(endpoint, policy, hooks)                                       \
    "{\"remote-endpoint\": \"" endpoint "\", \"failure-policy\": \"" policy \
    "\", \"runtime-hooks\""                                                 \
    ": [" hooks "]}"

struct fixture {
    char dir[64];
    struct loop *l;
    struct hookconfigs *c;
    nsec_t began;
};

static void fixture_make(struct fixture *f, struct loop *l)
{
    struct kerr err;

    snprintf(f->dir, sizeof f->dir, "/tmp/hookserver.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->l = l;
    f->began = loop_mono(l);
    f->c = hookconfigs_new(f->l, f->dir);
    assert_int_equal(hookconfigs_start(f->c, &err), 0);
}

static int remove_one(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    (void)type, (void)arg, (void)err;
    if (unlinkat(dirfd, name, 0) < 0)
        unlinkat(dirfd, name, AT_REMOVEDIR);
    return 0;
}

static void fixture_end(struct fixture *f)
{
    hookconfigs_free(f->c);
    loop_free(f->l);
    dir_each(AT_FDCWD, f->dir, remove_one, NULL, NULL);
    rmdir(f->dir);
}

static void put(struct fixture *f, const char *name, const char *text)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", f->dir, name);
    assert_int_equal(file_write_atomic(AT_FDCWD, path, text, strlen(text), 0644, NULL), 0);
}

static void drop(struct fixture *f, const char *name)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", f->dir, name);
    assert_int_equal(unlink(path), 0);
}

static const char *who(const struct fixture *f, enum hook_point p)
{
    const struct hookconfig *c = hookconfigs_find(f->c, p);

    return c ? c->endpoint : "nobody";
}

static void test_parse(void **state)
{
    static const struct {
        const char *text, *endpoint; /* NULL: refused */
        bool fail, create;
    } cases[] = {
        { GOOD("/a.sock", "Fail", "\"PreCreateContainer\""), "/a.sock", true, true },
        { GOOD("unix:///a.sock", "Ignore", "\"PreCreateContainer\""), "/a.sock", false, true },
        { GOOD("/a.sock", "", "\"PreDance\", 7, \"PostStopContainer\""), "/a.sock", false, false },
        { "{\"remote-endpoint\": \"/a.sock\"}", "/a.sock", false, false },
        { GOOD("/a.sock", "Maybe", ""), NULL, false, false },
        { GOOD("", "Fail", ""), NULL, false, false },
        { "{}", NULL, false, false },
        { "[]", NULL, false, false },
        { "no JSON", NULL, false, false },
        { "", NULL, false, false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hookconfig c = { 0 };
        struct kerr err = { 0 };
        int r = hookconfig_parse(str_of(cases[i].text), &c, &err);
        assert_int_equal(r == 0, cases[i].endpoint != NULL);
        if (r < 0) {
            assert_true(err.text[0] != '\0');
            continue;
        }
        assert_string_equal(c.endpoint, cases[i].endpoint);
        assert_int_equal(c.fail, cases[i].fail);
        assert_int_equal(c.points[HOOK_PRE_CREATE], cases[i].create);
        hookconfig_fini(&c);
    }
}

/* On the virtual loop there is no inotify: once a minute. */
static void test_files_come_change_and_go(void **state)
{
    struct fixture f;
    char path[128];

    (void)state;
    fixture_make(&f, loop_new_virtual(0, 1));
    put(&f, "koordlet.json", GOOD("/k.sock", "Ignore", "\"PreCreateContainer\""));
    put(&f, "README", GOOD("/r.sock", "Ignore", "\"PreRunPodSandbox\""));
    snprintf(path, sizeof path, "%s/dir.json", f.dir);
    mkdir(path, 0755);
    assert_string_equal(who(&f, HOOK_PRE_CREATE), "nobody");
    loop_advance(f.l, 61 * NSEC_PER_SEC);
    assert_string_equal(who(&f, HOOK_PRE_CREATE), "/k.sock");
    assert_string_equal(who(&f, HOOK_PRE_RUN_POD), "nobody");
    /* A second one: the first by name. */
    put(&f, "a.json", GOOD("/a.sock", "Fail", "\"PreCreateContainer\",\"PostStopPodSandbox\""));
    loop_advance(f.l, 61 * NSEC_PER_SEC);
    assert_string_equal(who(&f, HOOK_PRE_CREATE), "/a.sock");
    assert_string_equal(who(&f, HOOK_POST_STOP_POD), "/a.sock");
    /* Spoilt: the last good one stays. */
    put(&f, "a.json", "{");
    loop_advance(f.l, 61 * NSEC_PER_SEC);
    assert_string_equal(who(&f, HOOK_PRE_CREATE), "/a.sock");
    put(&f, "a.json", GOOD("/b.sock", "Fail", "\"PreCreateContainer\""));
    loop_advance(f.l, 61 * NSEC_PER_SEC);
    assert_string_equal(who(&f, HOOK_PRE_CREATE), "/b.sock");
    drop(&f, "a.json");
    loop_advance(f.l, 61 * NSEC_PER_SEC);
    assert_string_equal(who(&f, HOOK_PRE_CREATE), "/k.sock");
    /* Bad from the start: it counts for nothing. */
    drop(&f, "koordlet.json");
    put(&f, "new.json", "");
    loop_advance(f.l, 61 * NSEC_PER_SEC);
    assert_string_equal(who(&f, HOOK_PRE_CREATE), "nobody");
    fixture_end(&f);
}

static void look(struct loop *l, void *arg)
{
    struct fixture *f = arg;

    if (!streq(who(f, HOOK_PRE_CREATE), "nobody") || loop_mono(l) - f->began > 10 * NSEC_PER_SEC)
        loop_stop(l);
    else
        loop_after(l, 10 * NSEC_PER_MSEC, look, f);
}

static void test_changes_are_seen_at_once(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f, loop_new());
    put(&f, "koordlet.json", GOOD("/k.sock", "Ignore", "\"PreCreateContainer\""));
    loop_after(f.l, 10 * NSEC_PER_MSEC, look, &f);
    loop_run(f.l);
    assert_string_equal(who(&f, HOOK_PRE_CREATE), "/k.sock");
    fixture_end(&f);
}

static void test_directory_that_cannot_be(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct hookconfigs *c = hookconfigs_new(l, "/proc/no/such/place");
    struct kerr err;

    (void)state;
    assert_true(hookconfigs_start(c, &err) < 0);
    assert_contains(err.text, "/proc/no/such/place");
    hookconfigs_free(c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_files_come_change_and_go),
        cmocka_unit_test(test_changes_are_seen_at_once),
        cmocka_unit_test(test_directory_that_cannot_be),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
