/* test_config.c - configuration files, read and read again. */
#include "base/test/asserts.h"
#include "component/config.h"

#include <sys/stat.h>

#include "base/klog.h"
#include "base/strbuf.h"
#include "component/metrics.h"
#include "loop/filewatch.h"
#include "loop/loop.h"
#include "sys/test/tmpdir.h"
#include "json/schema.h"

struct election {
    bool elect;
    nsec_t lease;
};
struct settings {
    const char *strategy;
    int32_t port;
    struct opt_i64 percent;
    struct election election;
    KLIST(const char *) plugins;
};

#define STYPE struct election
static const struct kfield election_fields[] = {
    KF(STYPE, elect, "leaderElect", KF_BOOL),
    KF(STYPE, lease, "leaseDuration", KF_DUR),
};
static const struct kschema election_schema = KSCHEMA("Election", STYPE, election_fields);
#undef STYPE
#define STYPE struct settings
static const struct kmeta percent_meta = { .min = { true, 0 }, .max = { true, 100 }, .def = "10" };
static const struct kfield settings_fields[] = {
    KF(STYPE, strategy, "strategy", KF_STR),
    KF(STYPE, port, "port", KF_I32),
    KF(STYPE, percent, "percent", KF_OPT_I64, .meta = &percent_meta),
    KF(STYPE, election, "leaderElection", KF_OBJ, .sub = &election_schema),
    KF_LIST_OF(STYPE, plugins, "plugins", KF_STR),
};
static const struct kschema settings_schema = KSCHEMA("Settings", STYPE, settings_fields);
#undef STYPE

static int finish(void *value, struct arena *a, void *arg, struct kerr *err)
{
    struct settings *s = value;

    (void)arg;
    if (!*s->strategy)
        s->strategy = arena_strdup(a, "least");
    if (!streq(s->strategy, "least") && !streq(s->strategy, "most"))
        return kerr_set(err, -EINVAL, "strategy: unknown strategy '%s'", s->strategy);
    return 0;
}

static const struct config_spec spec = { "koord.test/v1", "Settings", &settings_schema, finish,
                                         NULL };
#define HEAD "apiVersion: koord.test/v1\nkind: Settings\n"

static int parse(const char *text, struct config **ret, struct kerr *err)
{
    return config_parse(&spec, text, strlen(text), "conf.yaml", ret, err);
}

static void test_a_file_is_decoded_and_defaulted(void **state)
{
    struct config *c = NULL;
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(parse(HEAD "port: 80\nleaderElection:\n  leaseDuration: 15s\n"
                                "plugins: [a, b]\n",
                           &c, &err),
                     0);
    const struct settings *s = c->value;
    assert_int_equal(s->port, 80);
    assert_string_equal(s->strategy, "least");
    assert_int_equal(s->percent.v, 10);
    assert_int_equal(s->election.lease, 15 * NSEC_PER_SEC);
    assert_int_equal(s->plugins.n, 2);
    config_unref(config_ref(c));
    assert_null(config_unref(c));
    assert_int_equal(parse("{\"apiVersion\":\"koord.test/v1\",\"kind\":\"Settings\"}", &c, &err),
                     0);
    config_unref(c);
}

static void test_no_file_is_all_defaults(void **state)
{
    struct config *c = NULL;
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(config_parse(&spec, NULL, 0, "defaults", &c, &err), 0);
    const struct settings *s = c->value;
    assert_int_equal(s->percent.v, 10);
    assert_string_equal(s->strategy, "least");
    config_unref(c);
}

static void test_refusals_name_file_and_field(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "", "conf.yaml: the file is empty" },
        { "- a\n", "conf.yaml: not a configuration: expected fields and values" },
        { "kind: Settings\n", "conf.yaml: apiVersion: is missing; this file must say 'apiVersion: "
                              "koord.test/v1'" },
        { "apiVersion: koord.test/v1\nkind: Pod\n",
          "conf.yaml: kind: expected Settings, found 'Pod'" },
        { "apiVersion: koord.test/v2\nkind: Settings\n",
          "conf.yaml: apiVersion: expected koord.test/v1, found 'koord.test/v2'" },
        { HEAD "strategy: best\n", "conf.yaml: strategy: unknown strategy 'best'" },
    };
    struct config *c = NULL;
    struct kerr err = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(parse(cases[i].text, &c, &err), -EINVAL);
        assert_string_equal(err.text, cases[i].message);
    }
    /* The words of these are the decoder's; file and path are what counts. */
    assert_that(parse(HEAD "leaderElection:\n  leaseTime: 3s\n", &c, &err), <, 0);
    assert_starts(err.text, "conf.yaml: ");
    assert_contains(err.text, "leaderElection.leaseTime");
    assert_that(parse(HEAD "port: many\n", &c, &err), <, 0);
    assert_contains(err.text, "port");
    assert_that(parse(HEAD "percent: 101\n", &c, &err), <, 0);
    assert_contains(err.text, "percent");
    assert_that(parse(HEAD "port: [\n", &c, &err), <, 0);
    assert_starts(err.text, "conf.yaml: ");
    assert_that(config_load(&spec, "/nonexistent/conf.yaml", &c, &err), ==, -ENOENT);
    assert_contains(err.text, "/nonexistent/conf.yaml");
}

/* ---- reloading ------------------------------------------------------------------------------- */

struct seen {
    int changes, refusals, port;
    bool veto, busy;
    char text[256];
    struct loop *stop;
};

static int on_change(void *arg, struct config *next, struct kerr *err)
{
    struct seen *x = arg;

    if (x->veto)
        return kerr_set(err, -EINVAL, "port: needs a restart");
    if (x->busy)
        return kerr_set(err, -EBUSY, "in the middle of something");
    x->changes++;
    x->port = ((const struct settings *)next->value)->port;
    if (x->stop)
        loop_stop(x->stop);
    return 0;
}

static void on_refused(void *arg, const struct kerr *err)
{
    struct seen *x = arg;

    x->refusals++;
    (void)snprintf(x->text, sizeof x->text, "%s", err->text);
}

static const struct config_handler handler = { on_change, on_refused };

static void test_changes_are_polled_on_a_virtual_loop(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct tmpdir t;
    struct config *c = NULL;
    struct kerr err = { 0 };
    struct seen x = { 0 };

    (void)state;
    tmpdir_init(&t);
    const char *path = tmpdir_write(&t, "c.yaml", HEAD "port: 1\n");
    assert_int_equal(config_load(&spec, path, &c, &err), 0);
    struct config_watch *w = config_watch_new(l, c, &handler, &x);
    config_unref(c);

    loop_advance(l, 60 * NSEC_PER_SEC);
    assert_int_equal(x.changes + x.refusals, 0);
    tmpdir_write(&t, "c.yaml", HEAD "port: 2\n");
    loop_advance(l, FILEWATCH_POLL);
    assert_int_equal(x.changes, 1);
    assert_int_equal(x.port, 2);

    tmpdir_write(&t, "c.yaml", HEAD "prot: 3\n");
    loop_advance(l, FILEWATCH_POLL);
    assert_int_equal(x.refusals, 1);
    assert_contains(x.text, "prot");
    assert_contains(x.text, "c.yaml");
    const struct settings *s = config_watch_current(w)->value;
    assert_int_equal(s->port, 2); /* the old one is in force */

    tmpdir_write(&t, "c.yaml", HEAD "# only a comment\nport: 2\n");
    loop_advance(l, FILEWATCH_POLL);
    assert_int_equal(x.changes, 1);

    x.veto = true;
    tmpdir_write(&t, "c.yaml", HEAD "port: 4\n");
    loop_advance(l, FILEWATCH_POLL);
    assert_int_equal(x.refusals, 2);
    assert_string_equal(x.text, "port: needs a restart");

    x.veto = false;
    config_watch_check(w); /* somebody asks */
    assert_int_equal(x.port, 4);
    assert_int_equal(unlink(path), 0);
    loop_advance(l, FILEWATCH_POLL);
    assert_int_equal(x.refusals, 3);
    assert_int_equal(x.changes, 2);
    config_watch_free(w);
    tmpdir_fini(&t);
}

static void give_up(struct loop *l, void *arg)
{
    (void)arg;
    loop_stop(l);
}

/* As kubelet updates a mounted ConfigMap: c.yaml -> ..data/c.yaml, and ..data is swapped. */
static void test_a_swapped_configmap_mount_is_noticed_at_once(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new();
    struct tmpdir t;
    struct config *c = NULL;
    struct kerr err = { 0 };
    struct seen x = { .stop = l };

    (void)state;
    tmpdir_init(&t);
    assert_int_equal(mkdir(tmpdir_at(&t, "..1"), 0700), 0);
    assert_int_equal(mkdir(tmpdir_at(&t, "..2"), 0700), 0);
    tmpdir_write(&t, "..1/c.yaml", HEAD "port: 1\n");
    tmpdir_write(&t, "..2/c.yaml", HEAD "port: 2\n");
    assert_int_equal(symlink("..1", tmpdir_at(&t, "..data")), 0);
    const char *path = tmpdir_at(&t, "c.yaml");
    assert_int_equal(symlink("..data/c.yaml", path), 0);
    assert_int_equal(config_load(&spec, path, &c, &err), 0);
    struct config_watch *w = config_watch_new(l, c, &handler, &x);
    config_unref(c);

    assert_int_equal(symlink("..2", tmpdir_at(&t, "..data_tmp")), 0);
    assert_int_equal(rename(tmpdir_at(&t, "..data_tmp"), tmpdir_at(&t, "..data")), 0);
    struct timer *limit = loop_after(l, 60 * NSEC_PER_SEC, give_up, NULL);
    loop_run(l);
    timer_cancel(limit);
    assert_int_equal(x.changes, 1);
    assert_int_equal(x.port, 2);
    config_watch_free(w);
    tmpdir_fini(&t);
}

static void test_words_for_bad_fields(void **state)
{
    struct kerr err = { 0 };

    (void)state;
    assert_int_equal(config_range("a", 3, 1, 3, &err), 0);
    assert_int_equal(config_range("a", 0, 1, 3, &err), -EINVAL);
    assert_string_equal(err.text, "a: Invalid value: 0: not in valid range [1, 3]");
    assert_int_equal(config_under(&err, "list[%d]", 7), -EINVAL);
    assert_string_equal(err.text, "list[7].a: Invalid value: 0: not in valid range [1, 3]");
    config_range("a", -1, 0, INT64_MAX, &err);
    assert_string_equal(err.text, "a: Invalid value: -1: must be greater than or equal to 0");
    config_out_of_range("a", 0, "(0, inf)", &err);
    assert_string_equal(err.text, "a: Invalid value: 0: not in valid range (0, inf)");
    assert_int_equal(config_duration("a", 0, &err), 0);
    assert_int_equal(config_duration("a", -1, &err), -EINVAL);
    assert_string_equal(err.text, "a: Invalid value: must not be negative");
    assert_int_equal(config_at_most(2, 2, "a", &err), 0);
    assert_int_equal(config_at_most(3, 2, "a", &err), -E2BIG);
    assert_string_equal(err.text, "a: Too many: 3: must have at most 2 items");
    kerr_set(&err, -EINVAL, "Duplicate value: \"x\"");
    config_under(&err, "list");
    assert_string_equal(err.text, "list: Duplicate value: \"x\"");
}

static void test_a_busy_program_is_asked_again(void **state)
{
    static const struct metric_desc desc = { "reloads_total", "Reloads.", METRIC_COUNTER,
                                             .labels = { "result" } };
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    CLEANUP(metrics_free) struct metrics *m = metrics_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct config_handler h = handler;
    struct tmpdir t;
    struct config *c = NULL;
    struct kerr err = { 0 };
    struct seen x = { .busy = true };

    (void)state;
    tmpdir_init(&t);
    h.reloads = metrics_add(m, &desc);
    const char *path = tmpdir_write(&t, "c.yaml", HEAD "port: 1\n");
    assert_int_equal(config_load(&spec, path, &c, &err), 0);
    struct config_watch *w = config_watch_new(l, c, &h, &x);
    config_unref(c);
    tmpdir_write(&t, "c.yaml", HEAD "port: 2\n");
    loop_advance(l, FILEWATCH_POLL + 20 * NSEC_PER_SEC);
    assert_int_equal(x.changes + x.refusals, 0); /* that is no refusal */
    x.busy = false;
    loop_advance(l, 5 * NSEC_PER_SEC);
    assert_int_equal(x.port, 2);
    x.veto = true;
    tmpdir_write(&t, "c.yaml", HEAD "port: 3\n");
    loop_advance(l, FILEWATCH_POLL);
    metrics_write(&m, 1, &text);
    assert_contains(text.data, "reloads_total{result=\"loaded\"} 1\n");
    assert_contains(text.data, "reloads_total{result=\"refused\"} 1\n");
    config_watch_free(w);
    tmpdir_fini(&t);
}

static void test_what_is_no_file_never_changes(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct config *c = NULL;
    struct kerr err = { 0 };
    struct seen x = { 0 };

    (void)state;
    assert_int_equal(config_parse(&spec, NULL, 0, "defaults", &c, &err), 0);
    struct config_watch *w = config_watch_new(l, c, &handler, &x);
    config_unref(c);
    config_watch_check(w);
    loop_advance(l, 600 * NSEC_PER_SEC);
    assert_int_equal(x.changes + x.refusals, 0);
    config_watch_free(w);
}

static void test_written_as_yaml_for_nobody_else(void **state)
{
    static const char json[] = "{\"kind\":\"Thing\",\"port\":1}";
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct tmpdir t;
    struct stat st;
    struct kerr err = { 0 };

    (void)state;
    tmpdir_init(&t);
    const char *path = tmpdir_write(&t, "out.yaml", "before");
    assert_int_equal(config_write(path, json, sizeof json - 1, &err), 0);
    assert_int_equal(file_read_all(AT_FDCWD, path, 100, &text, &err), 0);
    assert_string_equal(strbuf_str(&text), "kind: Thing\nport: 1\n");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    tmpdir_fini(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_is_decoded_and_defaulted),
        cmocka_unit_test(test_no_file_is_all_defaults),
        cmocka_unit_test(test_refusals_name_file_and_field),
        cmocka_unit_test(test_words_for_bad_fields),
        cmocka_unit_test(test_changes_are_polled_on_a_virtual_loop),
        cmocka_unit_test(test_a_swapped_configmap_mount_is_noticed_at_once),
        cmocka_unit_test(test_a_busy_program_is_asked_again),
        cmocka_unit_test(test_what_is_no_file_never_changes),
        cmocka_unit_test(test_written_as_yaml_for_nobody_else),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
