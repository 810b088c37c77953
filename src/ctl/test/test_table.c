/* test_table.c - columns as kubectl prints them. */
#include "ctl/table.h"

#include <setjmp.h>

#include <cmocka.h>

#include "json/kj.h"

#define DEFS                                                     \
    "\"columnDefinitions\":[{\"name\":\"Name\",\"priority\":0}," \
    "{\"name\":\"Ready\",\"priority\":0},{\"name\":\"Note\",\"priority\":1}]"

static struct kj_doc *doc(const char *text)
{
    struct kj_doc *d = NULL;
    assert_int_equal(kj_parse(text, strlen(text), 0, &d, NULL), 0);
    return d;
}

/* All rows of a Table, printed. */
static void print(struct table *t, const char *text, const char *event, struct strbuf *out)
{
    CLEANUP(kj_doc_free) struct kj_doc *d = doc(text);
    struct vec_of(struct ctl_table_row *) rows = { 0 };
    struct kj_iter it = kj_iter(kj_get(kj_root(d), "rows"));
    const struct kj_val *row;
    struct str key;

    assert_int_equal(ctl_table_learn(t, kj_root(d), NULL), 0);
    while (kj_next(&it, &key, &row))
        vec_push(&rows, ctl_table_row(t, row, event));
    vec_foreach(&rows, i) {
        ctl_table_put(t, rows.items[i], out);
        free(rows.items[i]);
    }
    vec_fini(&rows);
}

static void test_columns_fit_their_cells(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct table t;

    (void)state;
    ctl_table_init(&t, &(struct ctl_table_opts){ 0 });
    print(&t,
          "{\"kind\":\"Table\"," DEFS ",\"rows\":[{\"cells\":[\"a-long-name\",\"1/1\",\"x\"]},"
          "{\"cells\":[\"b\",true,\"x\"]},{\"cells\":[\"c\",7,\"x\"]},"
          "{\"cells\":[\"d\",null,\"x\"]}]}",
          NULL, &out);
    assert_string_equal(strbuf_str(&out), "NAME          READY\n"
                                          "a-long-name   1/1\n"
                                          "b             true\n"
                                          "c             7\n"
                                          "d             \n");
    ctl_table_fini(&t);
}

static void test_wide_namespace_and_short_columns(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct table t;

    (void)state;
    ctl_table_init(&t,
                   &(struct ctl_table_opts){ .wide = true, .with_ns = true, .no_headers = true });
    print(&t,
          "{\"kind\":\"Table\"," DEFS ",\"rows\":[{\"cells\":[\"a\",\"1\",\"n\"],"
          "\"object\":{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"}}}]}",
          NULL, &out);
    assert_string_equal(strbuf_str(&out), "ns    a     1     n\n");
    ctl_table_fini(&t);
}

static void test_line_breaks_and_control_characters(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct table t;

    (void)state;
    ctl_table_init(&t, &(struct ctl_table_opts){ 0 });
    print(&t,
          "{\"kind\":\"Table\"," DEFS ",\"rows\":[{\"cells\":[\"\\u00e4\\u00f6\",\"a\\nb\"]},"
          "{\"cells\":[\"esc\\u001b[31m\",\"x\"]}]}",
          NULL, &out);
    /* Width counts characters, not bytes. */
    assert_string_equal(strbuf_str(&out), "NAME       READY\n"
                                          "\u00e4\u00f6         a...\n"
                                          "esc?[31m   x\n");
    ctl_table_fini(&t);
}

static void test_widths_are_remembered_between_rows(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct table t;

    (void)state;
    ctl_table_init(&t, &(struct ctl_table_opts){ .with_event = true });
    print(&t, "{\"kind\":\"Table\"," DEFS ",\"rows\":[{\"cells\":[\"first-node\",\"1\"]}]}",
          "ADDED", &out);
    print(&t, "{\"kind\":\"Table\",\"rows\":[{\"cells\":[\"n\",\"2\"]}]}", "MODIFIED", &out);
    assert_string_equal(strbuf_str(&out), "EVENT      NAME         READY\n"
                                          "ADDED      first-node   1\n"
                                          "MODIFIED   n            2\n");
    ctl_table_fini(&t);
}

static void test_objects_without_a_table(void **state)
{
    CLEANUP(kj_doc_free)
    struct kj_doc *d = doc("{\"kind\":\"FooList\",\"items\":[{\"metadata\":{\"name\":\"x\","
                           "\"creationTimestamp\":\"2026-01-02T03:04:05Z\"}}]}");
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct table t;

    (void)state;
    ctl_table_init(&t, &(struct ctl_table_opts){ 0 });
    assert_int_equal(ctl_table_learn(&t, kj_root(d), NULL), 0);
    struct ctl_table_row *row = ctl_table_row(&t, kj_at(kj_get(kj_root(d), "items"), 0), NULL);
    ctl_table_put(&t, row, &out);
    assert_string_equal(strbuf_str(&out), "NAME   CREATED AT\nx      2026-01-02T03:04:05Z\n");
    free(row);
    ctl_table_fini(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_fit_their_cells),
        cmocka_unit_test(test_wide_namespace_and_short_columns),
        cmocka_unit_test(test_line_breaks_and_control_characters),
        cmocka_unit_test(test_widths_are_remembered_between_rows),
        cmocka_unit_test(test_objects_without_a_table),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
