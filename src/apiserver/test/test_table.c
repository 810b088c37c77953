/* Tables: ages, columns, rows; what kubectl get prints. */
#include "apiserver/crd/test/widget.h"
#include "apiserver/registry/table.h"
#include "base/test/asserts.h"

#define AS_TABLE "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

/* GET with an Accept header. */
static int get_as(struct fixture *r, const char *target, const char *accept)
{
    static const struct api_sink sink = { .reply = fixture_on_reply };
    struct api_call *c = api_call_new(r->s, &sink, r);

    r->answered = false;
    c->method = "GET";
    c->target = arena_strdup(c->arena, target);
    c->accept = accept;
    c->user = &api_user_admin;
    api_run(c);
    for (int i = 0; i < 100 && !r->answered; i++)
        loop_advance(r->loop, NSEC_PER_MSEC);
    assert_true(r->answered);
    return r->status;
}

static const char *cells(struct fixture *r, size_t row, struct strbuf *out)
{
    strbuf_reset(out);
    kj_write(kj_get(kj_at(fixture_val(r, "rows"), row), "cells"), 0, out);
    return out->data;
}

static void test_durations_as_kubectl_knows_them(void **state)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {
        { -5, "<invalid>" },
        { -1, "0s" },
        { 0, "0s" },
        { 10, "10s" },
        { 119, "119s" },
        { 120, "2m" },
        { 205, "3m25s" },
        { 600, "10m" },
        { 3600 * 3 - 1, "179m" },
        { 3600 * 3, "3h" },
        { 3600 * 3 + 25 * 60, "3h25m" },
        { 3600 * 8, "8h" },
        { 3600 * 47, "47h" },
        { 3600 * 48, "2d" },
        { 3600 * 53, "2d5h" },
        { 86400 * 8, "8d" },
        { 86400 * 365 * 2 - 1, "729d" },
        { 86400 * 365 * 2, "2y" },
        { 86400 * (365 * 2 + 30), "2y30d" },
        { INT64_C(86400) * 365 * 8, "8y" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        table_duration(cases[i].seconds * NSEC_PER_SEC, &b);
        assert_string_equal(b.data, cases[i].text);
    }
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    table_age("", 0, &b);
    strbuf_appendc(&b, ' ');
    table_age("soon", 0, &b);
    assert_string_equal(b.data, "<unknown> <invalid>");
}

static void make_widget(struct fixture *r)
{
    assert_int_equal(
        fixture_post(
            r, WIDGETS,
            "{\"apiVersion\":\"ex.io/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"t1\","
            "\"annotations\":{\"x.y/z\":\"annoval\"}},\"spec\":{\"size\":3,\"frac\":1.5,\"list\":"
            "[{\"name\":\"a\"},{\"name\":\"b\"}],\"when\":\"2025-11-15T09:00:00Z\",\"emb\":"
            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"x\"}}}}"),
        201);
}

static void test_printer_columns_of_a_custom_resource(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)state;
    fixture_with_widgets(&r);
    make_widget(&r);
    assert_int_equal(get_as(&r, WIDGETS "/t1", AS_TABLE), 200);
    assert_string_equal(fixture_str(&r, "kind"), "Table");
    assert_string_equal(fixture_str(&r, "apiVersion"), "meta.k8s.io/v1");
    assert_true(*fixture_str(&r, "metadata.resourceVersion"));
    assert_string_equal(
        cells(&r, 0, &b),
        "[\"t1\",3,1.5,true,\"a\",null,\"annoval\",\"46m\",\"a\","
        "\"{\\\"apiVersion\\\":\\\"v1\\\",\\\"kind\\\":\\\"Pod\\\",\\\"metadata\\\":{"
        "\\\"name\\\":\\\"x\\\"}}\"]");
    const struct kj_val *columns = fixture_val(&r, "columnDefinitions");
    assert_int_equal(kj_len(columns), 10);
    strbuf_reset(&b);
    kj_write(kj_at(columns, 1), 0, &b);
    assert_string_equal(b.data, "{\"name\":\"Size\",\"type\":\"integer\",\"format\":\"\","
                                "\"description\":\"how big\",\"priority\":0}");
    assert_string_equal(kj_str_or(kj_get(kj_at(columns, 0), "format"), ""), "name");
    strbuf_reset(&b);
    kj_write(kj_at(columns, 4), 0, &b);
    assert_string_equal(b.data,
                        "{\"name\":\"First\",\"type\":\"string\",\"format\":\"\",\"description\":"
                        "\"Custom resource definition column (in JSONPath format): "
                        ".spec.list[0].name\",\"priority\":1}");
}

static void test_rows_carry_what_was_asked_for(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_with_widgets(&r);
    make_widget(&r);
    assert_int_equal(get_as(&r, WIDGETS, AS_TABLE), 200);
    const struct kj_val *object = kj_get(kj_at(fixture_val(&r, "rows"), 0), "object");
    assert_string_equal(kj_str_or(kj_get(object, "kind"), ""), "PartialObjectMetadata");
    assert_string_equal(kj_str_or(kj_path(object, "metadata.name"), ""), "t1");
    assert_null(kj_get(object, "spec"));
    assert_int_equal(get_as(&r, WIDGETS "?includeObject=Object", AS_TABLE), 200);
    object = kj_get(kj_at(fixture_val(&r, "rows"), 0), "object");
    assert_string_equal(kj_str_or(kj_get(object, "kind"), ""), "Widget");
    assert_string_equal(kj_str_or(kj_get(object, "apiVersion"), ""), "ex.io/v1");
    assert_int_equal(kj_i64_or(kj_path(object, "spec.size"), 0), 3);
    assert_int_equal(get_as(&r, WIDGETS "?includeObject=None", AS_TABLE), 200);
    object = kj_get(kj_at(fixture_val(&r, "rows"), 0), "object");
    assert_int_equal(kj_type(object), KJ_NULL);
}

static void test_lists_keep_their_metadata(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 7);
    fixture_cm(&r, "a", "");
    fixture_cm(&r, "b", "");
    assert_int_equal(get_as(&r, CMS "?limit=1", AS_TABLE), 200);
    assert_int_equal(kj_len(fixture_val(&r, "rows")), 1);
    assert_true(*fixture_str(&r, "metadata.continue"));
    assert_int_equal(kj_i64_or(fixture_val(&r, "metadata.remainingItemCount"), 0), 1);
    assert_int_equal(get_as(&r, "/api/v1/namespaces/none/configmaps", AS_TABLE), 200);
    assert_int_equal(kj_type(fixture_val(&r, "rows")), KJ_ARR);
    assert_that(kj_len(fixture_val(&r, "columnDefinitions")), >, 1);
}

struct table_watch {
    struct api_call *c;
    char log[400];
};

static void on_open(void *arg, struct api_call *c)
{
    (void)arg, (void)c;
}

static bool on_event(void *arg, struct api_call *c, const char *type, const char *json, size_t n)
{
    struct table_watch *w = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    size_t len = strlen(w->log);

    (void)c;
    assert_int_equal(kj_parse(json, n, 0, &doc, NULL), 0);
    const struct kj_val *o = kj_root(doc), *row = kj_at(kj_get(o, "rows"), 0);
    (void)snprintf(w->log + len, sizeof w->log - len, "%s %s columns=%zu %s;", type,
                   kj_str_or(kj_get(o, "kind"), ""), kj_len(kj_get(o, "columnDefinitions")),
                   kj_str_or(kj_at(kj_get(row, "cells"), 0), ""));
    return true;
}

static void on_end(void *arg, struct api_call *c)
{
    (void)c;
    ((struct table_watch *)arg)->c = NULL;
}

static void test_a_watch_names_its_columns_once(void **state)
{
    static const struct api_sink sink = { .open = on_open, .event = on_event, .end = on_end };
    CLEANUP(fixture_fini) struct fixture r;
    struct table_watch w = { 0 };

    (void)state;
    fixture_with_widgets(&r);
    make_widget(&r);
    w.c = api_call_new(r.s, &sink, &w);
    w.c->method = "GET";
    w.c->target = WIDGETS "?watch=1";
    w.c->accept = AS_TABLE;
    w.c->user = &api_user_admin;
    api_run(w.c);
    loop_advance(r.loop, 10 * NSEC_PER_MSEC);
    assert_int_equal(fixture_delete(&r, WIDGETS "/t1", NULL), 200);
    loop_advance(r.loop, 10 * NSEC_PER_MSEC);
    assert_string_equal(w.log, "ADDED Table columns=10 t1;DELETED Table columns=0 t1;");
    api_cancel(w.c);
}

static void test_age_is_the_default_column(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)state;
    fixture_init(&r, 7);
    assert_int_equal(
        fixture_post(
            &r, CRDS,
            "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
            "\"metadata\":{\"name\":\"gizmos.ex.io\"},\"spec\":{\"group\":\"ex.io\",\"scope\":"
            "\"Cluster\",\"names\":{\"plural\":\"gizmos\",\"kind\":\"Gizmo\"},\"versions\":[{"
            "\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{"
            "\"type\":\"object\"}}}]}}"),
        201);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(
        fixture_post(&r, "/apis/ex.io/v1/gizmos",
                     "{\"apiVersion\":\"ex.io/v1\",\"kind\":\"Gizmo\",\"metadata\":{\"name\":"
                     "\"g\"}}"),
        201);
    loop_advance(r.loop, 7500 * NSEC_PER_SEC);
    assert_int_equal(get_as(&r, "/apis/ex.io/v1/gizmos", AS_TABLE), 200);
    assert_string_equal(cells(&r, 0, &b), "[\"g\",\"125m\"]");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_durations_as_kubectl_knows_them),
    cmocka_unit_test(test_printer_columns_of_a_custom_resource),
    cmocka_unit_test(test_rows_carry_what_was_asked_for),
    cmocka_unit_test(test_lists_keep_their_metadata),
    cmocka_unit_test(test_a_watch_names_its_columns_once),
    cmocka_unit_test(test_age_is_the_default_column),
};
FIXTURE_MAIN(tests)
