/* test_flags.c - Go style flags. */
#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "component/flags.h"

#include <setjmp.h>

#include <cmocka.h>

struct options {
    int port, v, scores;
    int64_t bytes;
    double factor;
    nsec_t period;
    bool filters, diagnosis, leader;
    const char *config, *output, *old;
    struct flag_list plugins;
    struct flag_map labels;
    char custom[32];
};

static int set_custom(void *target, const char *value, struct kerr *err)
{
    if (strlen(value) > 20)
        return kerr_set(err, -EINVAL, "too long");
    strcat(target, value);
    return 0;
}

static void list_customs(const void *target, struct strbuf *out)
{
    strbuf_appendf(out, "a letter, now '%s'\nor another\n", (const char *)target);
}

#define O(member) .off = offsetof(struct options, member)
static const char *const outputs[] = { "json", "yaml", NULL };
static const struct flag table[] = {
    { "port", FLAG_INT, O(port), .def = "10251", .max = 65535, .help = "plain HTTP port" },
    { "v", FLAG_INT, O(v), .help = "log `level`" },
    { "debug-scores", FLAG_INT, O(scores), .letter = 's', .help = "top N scores" },
    { "tsdb-max-bytes", FLAG_I64, O(bytes), .def = "104857600" },
    { "backoff-factor", FLAG_F64, O(factor), .def = "2" },
    { "period", FLAG_DUR, O(period), .def = "10s", .min = NSEC_PER_SEC, .max = 3600 * NSEC_PER_SEC,
      .help = "time between passes" },
    { "debug-filters", FLAG_BOOL, O(filters), .letter = 'f' },
    { "debug-diagnosis", FLAG_BOOL, O(diagnosis), .letter = 'd' },
    { "leader-elect", FLAG_BOOL, O(leader), .def = "true" },
    { "config", FLAG_STR, O(config), .help = "configuration `file`" },
    { "output", FLAG_STR, O(output), .letter = 'o', .choices = outputs },
    { "plugins", FLAG_LIST, O(plugins), .def = "*" },
    { "labels", FLAG_MAP, O(labels), .def = "a=1" },
    { "custom", FLAG_CUSTOM, O(custom), .set = set_custom, .lines = list_customs },
    { "old-name", FLAG_STR, O(old), .deprecated = "use --config" },
    { "logtostderr", FLAG_BOOL, FLAG_IGNORED },
    { "log-dir", FLAG_STR, FLAG_IGNORED, .deprecated = "logs go to stderr" },
    { "profiling", FLAG_BOOL, FLAG_IGNORED, .def = "true", .help = "accepted; not here" },
    { "wait", FLAG_DUR, FLAG_LATER, .def = "5s", .help = "another thread" },
};

struct fixture {
    struct flags *f;
    struct options o;
    struct kerr err;
};

static int parse_argv(struct fixture *x, char *const *argv, unsigned mode)
{
    int argc = 0;

    flags_free(x->f);
    memset(x, 0, sizeof *x);
    x->f = flags_new();
    flags_add(x->f, "Flags", table, ARRAY_LEN(table), &x->o);
    while (argv[argc])
        argc++;
    return flags_parse(x->f, argc, argv, mode, &x->err);
}
#define parse(x, ...) parse_argv((x), (char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL }, 0)

static void test_defaults_stand_without_arguments(void **state)
{
    struct fixture x = { 0 };

    (void)state;
    assert_int_equal(parse(&x), FLAGS_OK);
    assert_int_equal(x.o.port, 10251);
    assert_int_equal(x.o.bytes, 104857600);
    assert_int_equal(x.o.period, 10 * NSEC_PER_SEC);
    assert_true(x.o.leader);
    assert_string_equal(x.o.config, "");
    assert_int_equal(x.o.plugins.n, 1);
    assert_string_equal(x.o.labels.items[0].value, "1");
    assert_false(flags_given(x.f, "port"));
    flags_free(x.f);
}

static void test_every_way_to_write_a_flag(void **state)
{
    struct fixture x = { 0 };

    (void)state;
    assert_int_equal(parse(&x, "--port=1", "-v=4", "--config", "a b"), FLAGS_OK);
    assert_int_equal(x.o.port, 1);
    assert_int_equal(x.o.v, 4);
    assert_string_equal(x.o.config, "a b");
    assert_int_equal(parse(&x, "--v", "4", "-port", "2", "-config=x=y"), FLAGS_OK);
    assert_int_equal(x.o.v, 4);
    assert_int_equal(x.o.port, 2);
    assert_string_equal(x.o.config, "x=y");
    assert_int_equal(parse(&x, "-v4", "-s", "3", "-ojson"), FLAGS_OK);
    assert_int_equal(x.o.v, 4);
    assert_int_equal(x.o.scores, 3);
    assert_string_equal(x.o.output, "json");
    assert_int_equal(parse(&x, "-fds=7", "--leader_elect=false"), FLAGS_OK);
    assert_true(x.o.filters && x.o.diagnosis && !x.o.leader);
    assert_int_equal(x.o.scores, 7);
    assert_int_equal(parse(&x, "--backoff-factor=1.5", "--period", "1m30s", "--tsdb-max-bytes",
                           "9223372036854775807"),
                     FLAGS_OK);
    assert_that(x.o.factor, ==, 1.5);
    assert_int_equal(x.o.period, 90 * NSEC_PER_SEC);
    assert_int_equal(x.o.bytes, INT64_MAX);
    flags_free(x.f);
}

static void test_bools_take_no_next_word(void **state)
{
    struct fixture x = { 0 };

    (void)state;
    assert_int_equal(parse(&x, "--debug-filters", "false"), FLAGS_OK);
    assert_true(x.o.filters);
    assert_int_equal(flags_nargs(x.f), 1);
    assert_string_equal(flags_arg(x.f, 0), "false");
    assert_null(flags_arg(x.f, 1));
    assert_int_equal(parse(&x, "--debug-filters=T", "--leader-elect=0"), FLAGS_OK);
    assert_true(x.o.filters && !x.o.leader);
    flags_free(x.f);
}

static void test_last_mention_wins_but_lists_grow_and_maps_merge(void **state)
{
    struct fixture x = { 0 };

    (void)state;
    assert_int_equal(parse(&x, "--port=1", "--port=2", "--plugins=a, b", "--plugins", "c",
                           "--labels=z=1,b=2", "--labels=b=3", "--custom=x", "--custom=y"),
                     FLAGS_OK);
    assert_int_equal(x.o.port, 2);
    assert_int_equal(x.o.plugins.n, 3);
    assert_string_equal(x.o.plugins.items[1], "b");
    assert_string_equal(x.o.plugins.items[2], "c");
    assert_int_equal(x.o.labels.n, 3);
    assert_string_equal(x.o.labels.items[0].key, "a");
    assert_string_equal(x.o.labels.items[1].key, "b");
    assert_string_equal(x.o.labels.items[1].value, "3");
    assert_string_equal(x.o.custom, "xy");
    assert_int_equal(parse(&x, "--plugins="), FLAGS_OK);
    assert_int_equal(x.o.plugins.n, 0);
    flags_free(x.f);
}

static void test_arguments_and_the_end_of_flags(void **state)
{
    struct fixture x = { 0 };

    (void)state;
    assert_int_equal(parse(&x, "get", "--port=1", "-", "--", "--port=2", "-x"), FLAGS_OK);
    assert_int_equal(flags_nargs(x.f), 4);
    assert_string_equal(flags_arg(x.f, 1), "-");
    assert_string_equal(flags_arg(x.f, 2), "--port=2");
    assert_int_equal(x.o.port, 1);
    assert_int_equal(
        parse_argv(&x, (char *const[]){ "-v", "2", "get", "--bad", NULL }, FLAGS_STOP_AT_ARG),
        FLAGS_OK);
    assert_int_equal(flags_stopped_at(x.f), 2);
    flags_free(x.f);
}

#define assert_refused(x, msg, ...)                         \
    do {                                                    \
        assert_int_equal(parse((x), __VA_ARGS__), -EINVAL); \
        assert_string_equal((x)->err.text, (msg));          \
    } while (0)

static void test_refusals_name_flag_and_value(void **state)
{
    struct fixture x = { 0 };

    (void)state;
    assert_refused(&x, "unknown flag --prt (did you mean --port?)", "--prt=1");
    assert_refused(&x, "unknown flag -debug-filter (did you mean --debug-filters?)",
                   "-debug-filter=true");
    assert_refused(&x, "unknown flag --zzzzzzzzz", "--zzzzzzzzz");
    assert_refused(&x, "unknown flag -x", "-x");
    assert_refused(&x, "flag --port needs a value", "--port");
    assert_refused(&x, "flag --debug-scores needs a value", "-s");
    assert_refused(&x, "invalid value \"x\" for flag --port: not a whole number", "--port=x");
    assert_refused(&x, "invalid value \"70000\" for flag --port: must be between 0 and 65535",
                   "--port=70000");
    assert_refused(&x, "invalid value \"99999999999\" for flag --v: the number is too large",
                   "--v=99999999999");
    assert_refused(&x,
                   "invalid value \"maybe\" for flag --leader-elect: not a boolean (true or "
                   "false)",
                   "--leader-elect=maybe");
    assert_refused(&x,
                   "invalid value \"10\" for flag --period: not a duration (such as 300ms, 15s "
                   "or 1h30m)",
                   "--period=10");
    assert_refused(&x, "invalid value \"1ms\" for flag --period: must be between 1s and 1h0m0s",
                   "--period=1ms");
    assert_refused(&x, "invalid value \"xml\" for flag --output: must be one of json, yaml", "-o",
                   "xml");
    assert_refused(&x,
                   "invalid value \"a\\nb\" for flag --labels: 'a\nb' is not of the form "
                   "name=value",
                   "--labels=a\nb");
    assert_refused(&x, "invalid value \"123456789012345678901\" for flag --custom: too long",
                   "--custom=123456789012345678901");
    flags_free(x.f);
}

static void test_deprecated_and_ignored_flags_are_taken(void **state)
{
    struct fixture x = { 0 };

    (void)state;
    assert_int_equal(
        parse(&x, "--old-name=x", "--old-name=y", "--logtostderr=true", "--log-dir", "/tmp"),
        FLAGS_OK);
    assert_string_equal(x.o.old, "y");
    assert_string_equal(flags_warning(x.f, 0), "flag --old-name is deprecated: use --config");
    assert_string_equal(flags_warning(x.f, 1), "flag --log-dir is deprecated: logs go to stderr");
    assert_null(flags_warning(x.f, 2));
    assert_refused(&x, "invalid value \"x\" for flag --logtostderr: not a boolean (true or false)",
                   "--logtostderr=x");
    flags_free(x.f);
}

static void test_help_and_version(void **state)
{
    struct fixture x = { 0 };
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    (void)state;
    assert_int_equal(parse(&x, "--port=1", "--help"), FLAGS_HELP);
    assert_int_equal(parse(&x, "-h"), FLAGS_HELP);
    assert_int_equal(parse(&x, "-help"), FLAGS_HELP);
    assert_int_equal(parse(&x, "--version"), FLAGS_VERSION);
    assert_int_equal(parse(&x, "--version=raw"), FLAGS_VERSION);
    flags_default(x.f, "config", "/etc/x");
    flags_usage(x.f, &out);
    const char *text = strbuf_str(&out);
    assert_contains(text, "Flags:\n      --backoff-factor float");
    assert_contains(text, "      --config file            configuration file (default "
                          "\"/etc/x\")\n");
    assert_contains(text, "  -s, --debug-scores int       top N scores\n");
    assert_contains(text, "plain HTTP port (default 10251)\n");
    assert_contains(text, "(default [*])\n");
    assert_contains(text, "\n                               a letter, now ''\n"
                          "                               or another\n");
    assert_lacks(text, "old-name");
    assert_lacks(text, "logtostderr");
    assert_that(strstr(text, "--config"), <, strstr(text, "--period"));
    flags_free(x.f);
}

static void test_a_second_table_keeps_what_the_first_was_given(void **state)
{
    struct fixture x = { 0 };
    struct {
        bool watch;
    } verb;
    static const struct flag verb_table[] = { { "watch", FLAG_BOOL, .letter = 'w' } };

    (void)state;
    assert_int_equal(
        parse_argv(&x, (char *const[]){ "--port=7", "get", "-w", NULL }, FLAGS_STOP_AT_ARG),
        FLAGS_OK);
    flags_add(x.f, "Verb flags", verb_table, ARRAY_LEN(verb_table), &verb);
    assert_int_equal(
        flags_parse(x.f, 3, (char *const[]){ "-w", "pods", "--config=c", NULL }, 0, &x.err),
        FLAGS_OK);
    assert_true(verb.watch);
    assert_int_equal(x.o.port, 7);
    assert_string_equal(x.o.config, "c");
    assert_string_equal(flags_arg(x.f, 0), "pods");
    flags_free(x.f);
}

static void test_long_help_is_wrapped(void **state)
{
    static const struct flag wide[] = {
        { "a-flag-with-a-name-that-is-too-long-for-a-column", FLAG_STR,
          .help = "one two three four five six seven eight nine ten eleven twelve thirteen "
                  "fourteen fifteen sixteen" },
    };
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    CLEANUP(flags_free) struct flags *f = flags_new();
    const char *value;

    (void)state;
    flags_add(f, "Flags", wide, 1, &value);
    flags_usage(f, &out);
    for (const char *p = strbuf_str(&out); *p; p += strcspn(p, "\n"), p += *p == '\n')
        assert_that(strcspn(p, "\n"), <=, 100);
    assert_contains(strbuf_str(&out), "column string\n");
}

static void test_nearest_word(void **state)
{
    static const char *const words[] = { "nodes", "pods", "reservations" };

    (void)state;
    assert_string_equal(word_nearest("node", words, 3), "nodes");
    assert_string_equal(word_nearest("resrvation", words, 3), "reservations");
    assert_null(word_nearest("deployments", words, 3));
    assert_null(word_nearest("", words, 3));
}

static void test_what_is_not_served_yet_is_checked_and_named(void **state)
{
    struct fixture x = { 0 };
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    (void)state;
    assert_that(parse(&x, "--wait=soon"), <, 0);
    assert_int_equal(parse(&x, "--wait=1s", "--wait=2s", "--profiling=false"), FLAGS_OK);
    assert_string_equal(flags_later(x.f, 0), "wait");
    assert_null(flags_later(x.f, 1)); /* once, and nothing about the other */
    assert_null(flags_warning(x.f, 0));
    flags_usage(x.f, &out);
    assert_contains(out.data, "accepted; not served yet: another thread (default 5s)");
    assert_contains(out.data, "accepted; not here (default true)");
    assert_lacks(out.data, "logtostderr");
    flags_free(x.f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_stand_without_arguments),
        cmocka_unit_test(test_every_way_to_write_a_flag),
        cmocka_unit_test(test_bools_take_no_next_word),
        cmocka_unit_test(test_last_mention_wins_but_lists_grow_and_maps_merge),
        cmocka_unit_test(test_arguments_and_the_end_of_flags),
        cmocka_unit_test(test_refusals_name_flag_and_value),
        cmocka_unit_test(test_deprecated_and_ignored_flags_are_taken),
        cmocka_unit_test(test_help_and_version),
        cmocka_unit_test(test_a_second_table_keeps_what_the_first_was_given),
        cmocka_unit_test(test_long_help_is_wrapped),
        cmocka_unit_test(test_nearest_word),
        cmocka_unit_test(test_what_is_not_served_yet_is_checked_and_named),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
