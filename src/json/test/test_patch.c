/* test_patch.c - merge, JSON and strategic merge patches. The golden vectors of kube/jsonpatch run
 * elsewhere; here stand the rules, the limits and the inputs that are not to be believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "json/patch.h"

enum kind { MERGE, JSON, STRATEGIC };

static const struct kmerge container[] = {
    { .field = "env", .list = KMERGE_BY_KEY, .key = "name" },
    { .field = "ports", .list = KMERGE_BY_KEY, .key = "containerPort" },
    { .field = NULL },
};
static const struct kmerge spec[] = {
    { .field = "containers", .list = KMERGE_BY_KEY, .key = "name", .sub = container },
    { .field = "selector", .replace = true },
    { .field = NULL },
};
static const struct kmerge metadata[] = { { .field = "finalizers", .list = KMERGE_SET },
                                          { .field = NULL } };
static const struct kmerge pod[] = { { .field = "metadata", .sub = metadata },
                                     { .field = "spec", .sub = spec },
                                     { .field = NULL } };

static int apply(enum kind kind, const char *doc, const char *patch, struct strbuf *out,
                 struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *a = NULL, *b = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *v = NULL;
    int r;

    if (kj_parse(doc, strlen(doc), 0, &a, err) < 0 ||
        kj_parse(patch, strlen(patch), 0, &b, err) < 0)
        fail_msg("%s", err->text);
    switch (kind) {
    case MERGE: r = kj_patch_merge(d, kj_root(a), kj_root(b), &v, err); break;
    case JSON: r = kj_patch_json(d, kj_root(a), kj_root(b), &v, err); break;
    default: r = kj_patch_strategic(d, kj_root(a), kj_root(b), pod, &v, err); break;
    }
    if (r == 0)
        kj_mwrite(v, 0, out);
    return r;
}

static void gives(enum kind kind, const char *doc, const char *patch, const char *expected)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kerr err = { 0 };

    if (apply(kind, doc, patch, &out, &err) < 0)
        fail_msg("%s + %s: %s", doc, patch, err.text);
    assert_string_equal(strbuf_str(&out), expected);
}

static void fails(enum kind kind, const char *doc, const char *patch, const char *message)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kerr err = { 0 };

    if (apply(kind, doc, patch, &out, &err) == 0)
        fail_msg("%s + %s gave %s", doc, patch, out.data);
    assert_true(err.reason == KR_BAD_REQUEST || err.reason == KR_INVALID ||
                err.reason == KR_TOO_LARGE);
    if (!strstr(err.text, message))
        fail_msg("'%s' lacks '%s'", err.text, message);
}

/* ---- merge ----------------------------------------------------------------------------------- */

static void test_merge_patches(void **state)
{
    (void)state;
    gives(MERGE, "{\"a\":1,\"b\":{\"c\":1,\"d\":2}}", "{\"b\":{\"c\":null,\"e\":3},\"f\":[4]}",
          "{\"a\":1,\"b\":{\"d\":2,\"e\":3},\"f\":[4]}");
    gives(MERGE, "{\"a\":[1,2]}", "{\"a\":{\"b\":null,\"c\":{\"d\":null}}}", "{\"a\":{\"c\":{}}}");
    gives(MERGE, "{\"a\":1}", "{\"x\":null}", "{\"a\":1}");
    gives(MERGE, "{\"a\":{\"b\":1}}", "{\"a\":[null]}", "{\"a\":[null]}");
    /* Unlike in the RFC, nulls inside new lists go too, as kube-apiserver has it ... */
    gives(MERGE, "{}", "{\"a\":[{\"b\":null,\"c\":1}]}", "{\"a\":[{\"c\":1}]}");
    /* ... unless an object is replaced. */
    gives(MERGE, "{\"a\":{}}", "{\"a\":[{\"b\":null}]}", "{\"a\":[{\"b\":null}]}");
    gives(MERGE, "[1]", "{\"a\":null,\"b\":1}", "{\"b\":1}");
    gives(MERGE, "{\"a\":1}", "[1]", "[1]");
    gives(MERGE, "{\"a\":1,\"a\":2}", "{\"b\":3,\"b\":4}", "{\"a\":2,\"b\":4}");
    fails(MERGE, "null", "{}", "Invalid JSON Document");
    fails(MERGE, "{}", "null", "Invalid JSON Patch");
    fails(MERGE, "{}", "5", "Invalid JSON Patch");
}

static void test_large_merges_are_not_quadratic(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT, patch = STRBUF_INIT, out = STRBUF_INIT;
    struct kerr err = { 0 };

    (void)state;
    for (int i = 0; i < 200000; i++) {
        strbuf_appendf(&doc, "%c\"k%d\":1", i ? ',' : '{', i);
        strbuf_appendf(&patch, "%c\"k%d\":%s", i ? ',' : '{', i * 2, i % 3 ? "2" : "null");
    }
    strbuf_appendc(&doc, '}');
    strbuf_appendc(&patch, '}');
    assert_int_equal(apply(MERGE, doc.data, patch.data, &out, &err), 0);
    strbuf_reset(&out);
    assert_int_equal(apply(STRATEGIC, doc.data, patch.data, &out, &err), 0);
}

static void assert_diff(const char *from, const char *to, const char *expected)
{
    CLEANUP(kj_doc_free) struct kj_doc *a = NULL, *b = NULL, *p = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kj_mval *v;

    assert_int_equal(kj_parse(from, strlen(from), 0, &a, NULL), 0);
    assert_int_equal(kj_parse(to, strlen(to), 0, &b, NULL), 0);
    p = kj_freeze(kj_diff_merge(d, kj_root(a), kj_root(b)));
    kj_write(kj_root(p), 0, &out);
    assert_string_equal(out.data, expected);
    assert_int_equal(kj_patch_merge(d, kj_root(a), kj_root(p), &v, NULL), 0);
    assert_true(kj_mequal(v, kj_mcopy(d, kj_root(b))));
}

static void test_a_diff_leads_from_one_to_the_other(void **state)
{
    (void)state;
    assert_diff("{\"a\":1,\"b\":{\"c\":2,\"d\":3},\"e\":[1]}",
                "{\"b\":{\"c\":2,\"d\":4},\"e\":[1],\"f\":{\"g\":1}}",
                "{\"a\":null,\"b\":{\"d\":4},\"f\":{\"g\":1}}");
    assert_diff("{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1.0}}", "{}");
    assert_diff("{\"a\":{\"b\":1}}", "{\"a\":{}}", "{\"a\":{\"b\":null}}");
    assert_diff("{\"a\":{\"b\":1}}", "{\"a\":[]}", "{\"a\":[]}");
}

/* ---- JSON patch ------------------------------------------------------------------------------ */

static void test_json_patch_operations(void **state)
{
    (void)state;
    gives(JSON, "{\"a\":[1,2]}", "[{\"op\":\"add\",\"path\":\"/a/1\",\"value\":9}]",
          "{\"a\":[1,9,2]}");
    gives(JSON, "{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/-\",\"value\":{}}]",
          "{\"a\":[1,{}]}");
    gives(JSON, "{\"a\":1,\"b\":2}", "[{\"op\":\"remove\",\"path\":\"/a\"}]", "{\"b\":2}");
    gives(JSON, "{\"a\":{\"b\":1}}", "[{\"op\":\"replace\",\"path\":\"/a/b\",\"value\":[2]}]",
          "{\"a\":{\"b\":[2]}}");
    gives(JSON, "{\"a\":{\"b\":1},\"c\":[]}",
          "[{\"op\":\"move\",\"from\":\"/a/b\",\"path\":\"/c/0\"}]", "{\"a\":{},\"c\":[1]}");
    gives(JSON, "{\"a\":{\"b\":[1]}}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/c\"}]",
          "{\"a\":{\"b\":[1],\"c\":{\"b\":[1]}}}");
    gives(JSON, "{\"a/b\":{\"~\":1}}", "[{\"op\":\"replace\",\"path\":\"/a~1b/~0\",\"value\":2}]",
          "{\"a/b\":{\"~\":2}}");
    gives(JSON, "{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":[1]}]", "[1]");
    gives(JSON, "[1,2,3]", "[{\"op\":\"remove\",\"path\":\"/0\"}]", "[2,3]");
    gives(JSON, "{\"a\":1}", "[]", "{\"a\":1}");
    gives(JSON, "{\"\":{\"\":1}}", "[{\"op\":\"remove\",\"path\":\"//\"}]", "{\"\":{}}");
}

static void test_json_patch_as_loose_as_the_server(void **state)
{
    (void)state;
    gives(JSON, "{}", "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":1}]", "{\"a\":1}");
    gives(JSON, "{}", "[{\"op\":\"copy\",\"from\":\"/x\",\"path\":\"/a\"}]", "{\"a\":null}");
    gives(JSON, "{}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null}]", "{}");
    gives(JSON, "{}", "[{\"op\":\"add\",\"path\":\"/a\"}]", "{\"a\":null}");
    gives(JSON, "[1,2,3]", "[{\"op\":\"remove\",\"path\":\"/-1\"}]", "[1,2]");
    gives(JSON, "[1,2,3]", "[{\"op\":\"remove\",\"path\":\"/01\"}]", "[1,3]");
    gives(JSON, "[1,2]", "[{\"op\":\"add\",\"path\":\"/-1\",\"value\":3}]", "[1,2,3]");
    gives(JSON, "{\"a\":1}", "null", "{\"a\":1}");
}

static void test_json_patch_test(void **state)
{
    static const char doc[] = "{\"a\":{\"x\":1,\"y\":[true]},\"n\":null,\"s\":\"1\"}";

    (void)state;
    gives(JSON, "{\"a\":{\"x\":1,\"y\":[true]}}",
          "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"y\":[true],\"x\":1}}]",
          "{\"a\":{\"x\":1,\"y\":[true]}}");
    gives(JSON, "{}", "[{\"op\":\"test\",\"path\":\"\",\"value\":{}}]", "{}");
    fails(JSON, doc, "[{\"op\":\"test\",\"path\":\"/a/x\",\"value\":1.0}]", "test failed");
    fails(JSON, doc, "[{\"op\":\"test\",\"path\":\"/s\",\"value\":1}]", "test failed");
    fails(JSON, doc, "[{\"op\":\"test\",\"path\":\"/n\",\"value\":0}]", "test failed");
    fails(JSON, doc, "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"x\":1}}]", "test failed");
    fails(JSON, doc, "[{\"op\":\"test\",\"path\":\"/z/y\",\"value\":1}]", "missing path");
}

static void test_bad_json_patches(void **state)
{
    static const char *const bad[][2] = {
        { "[{\"op\":\"remove\",\"path\":\"/zz\"}]", "nonexistent key" },
        { "[{\"op\":\"remove\",\"path\":\"/l/2\"}]", "invalid index" },
        { "[{\"op\":\"remove\",\"path\":\"/l/-\"}]", "invalid index" },
        { "[{\"op\":\"remove\",\"path\":\"/l/-3\"}]", "invalid index" },
        { "[{\"op\":\"remove\",\"path\":\"/l/1x\"}]", "invalid index" },
        { "[{\"op\":\"remove\",\"path\":\"/l/99999999999999999999\"}]", "invalid index" },
        { "[{\"op\":\"remove\",\"path\":\"/l/\"}]", "invalid index" },
        { "[{\"op\":\"add\",\"path\":\"/l/3\",\"value\":1}]", "invalid index" },
        { "[{\"op\":\"add\",\"path\":\"/x/y\",\"value\":1}]", "missing path" },
        { "[{\"op\":\"add\",\"path\":\"/s/y\",\"value\":1}]", "missing path" },
        { "[{\"op\":\"add\",\"path\":\"\",\"value\":1}]", "missing path" },
        { "[{\"op\":\"add\",\"path\":\"l\",\"value\":1}]", "missing path" },
        { "[{\"op\":\"replace\",\"path\":\"/l/5\",\"value\":1}]", "missing key" },
        { "[{\"op\":\"replace\",\"path\":\"\",\"value\":1}]", "must be object or array" },
        { "[{\"op\":\"move\",\"from\":\"/o\",\"path\":\"/o/p\"}]", "missing destination" },
        { "[{\"op\":\"move\",\"from\":\"/zz\",\"path\":\"/o\"}]", "nonexistent key" },
        { "[{\"op\":\"move\",\"path\":\"/o\"}]", "decode from" },
        { "[{\"op\":\"copy\",\"from\":\"/l/9\",\"path\":\"/o\"}]", "invalid index" },
        { "[{\"op\":\"add\"}]", "decode path" },
        { "[{\"op\":\"add\",\"path\":5}]", "decode path" },
        { "[{\"op\":\"spindle\",\"path\":\"/o\"}]", "Unexpected kind: spindle" },
        { "[{\"path\":\"/o\"}]", "Unexpected kind: unknown" },
        { "[null]", "Unexpected kind: unknown" },
        { "[5]", "no object" },
        { "{}", "array of operations" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        fails(JSON, "{\"l\":[1,2],\"o\":{},\"s\":\"\"}", bad[i][0], bad[i][1]);
    fails(JSON, "5", "[]", "no object and no array");
}

static void test_patches_cannot_grow_without_bounds(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf wide = STRBUF_INIT, deep = STRBUF_INIT, many = STRBUF_INIT;

    (void)state;
    for (int i = 0; i < 64; i++) /* doubles each time */
        strbuf_appendf(&wide, "%c{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/k%d\"}",
                       i ? ',' : '[', i);
    strbuf_appendc(&wide, ']');
    fails(JSON, "{\"a\":{\"x\":\"0123456789\"}}", wide.data, "exceeding the limit");
    for (int i = 0; i < KJ_DEPTH_MAX; i++)
        strbuf_appendf(&deep,
                       "%c{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/b\"},"
                       "{\"op\":\"add\",\"path\":\"/a\",\"value\":{}},"
                       "{\"op\":\"move\",\"from\":\"/b\",\"path\":\"/a/b\"}",
                       i ? ',' : '[');
    strbuf_appendc(&deep, ']');
    fails(JSON, "{\"a\":{}}", deep.data, "nests too deep");
    for (int i = 0; i < 10001; i++)
        strbuf_appendf(&many, "%c{\"op\":\"test\",\"path\":\"\",\"value\":{}}", i ? ',' : '[');
    strbuf_appendc(&many, ']');
    fails(JSON, "{}", many.data, "maximum operations");
}

/* ---- strategic ------------------------------------------------------------------------------- */

#define POD(containers) "{\"spec\":{\"containers\":" containers "}}"

static void test_lists_merge_by_their_key(void **state)
{
    (void)state;
    gives(STRATEGIC,
          POD("[{\"name\":\"a\",\"image\":\"1\",\"env\":[{\"name\":\"E\",\"value\":\"x\"}]},"
              "{\"name\":\"b\"}]"),
          POD("[{\"name\":\"b\",\"image\":\"2\"},{\"name\":\"a\",\"env\":[{\"name\":\"F\"},"
              "{\"name\":\"E\",\"value\":\"y\"}]}]"),
          POD("[{\"name\":\"b\",\"image\":\"2\"},{\"name\":\"a\",\"image\":\"1\",\"env\":["
              "{\"name\":\"F\"},{\"name\":\"E\",\"value\":\"y\"}]}]"));
    /* New elements come before the ones the server has. */
    gives(STRATEGIC, POD("[{\"name\":\"a\"}]"), POD("[{\"name\":\"z\"}]"),
          POD("[{\"name\":\"z\"},{\"name\":\"a\"}]"));
    /* Keys may be numbers. */
    gives(STRATEGIC, POD("[{\"name\":\"a\",\"ports\":[{\"containerPort\":80}]}]"),
          POD("[{\"name\":\"a\",\"ports\":[{\"containerPort\":80,\"p\":1}]}]"),
          POD("[{\"name\":\"a\",\"ports\":[{\"containerPort\":80,\"p\":1}]}]"));
    /* Lists that are not in the table are replaced. */
    gives(STRATEGIC, POD("[{\"name\":\"a\",\"args\":[\"x\",\"y\"]}]"),
          POD("[{\"name\":\"a\",\"args\":[\"z\"]}]"), POD("[{\"name\":\"a\",\"args\":[\"z\"]}]"));
}

static void test_directives(void **state)
{
    (void)state;
    gives(STRATEGIC, POD("[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"a\",\"x\":1}]"),
          POD("[{\"name\":\"a\",\"$patch\":\"delete\"}]"), POD("[{\"name\":\"b\"}]"));
    gives(STRATEGIC, POD("[{\"name\":\"a\"},{\"name\":\"b\"}]"),
          POD("[{\"$patch\":\"replace\"},{\"name\":\"c\"}]"), POD("[{\"name\":\"c\"}]"));
    gives(STRATEGIC, "{\"spec\":{\"x\":{\"a\":1}}}",
          "{\"spec\":{\"x\":{\"$patch\":\"replace\",\"b\":2}}}", "{\"spec\":{\"x\":{\"b\":2}}}");
    gives(STRATEGIC, "{\"spec\":{\"x\":{\"a\":1}}}", "{\"spec\":{\"x\":{\"$patch\":\"delete\"}}}",
          "{\"spec\":{\"x\":{}}}");
    /* Directives about what is not there vanish. */
    gives(STRATEGIC, "{}",
          POD("[{\"name\":\"a\",\"$patch\":\"delete\"},{\"name\":\"b\",\"c\":null}]"),
          POD("[{\"name\":\"b\"}]"));
    gives(STRATEGIC, "{\"spec\":{\"v\":{\"a\":1,\"b\":2}}}",
          "{\"spec\":{\"v\":{\"$retainKeys\":[\"b\",\"c\"],\"c\":3}}}",
          "{\"spec\":{\"v\":{\"b\":2,\"c\":3}}}");
    gives(STRATEGIC, "{\"metadata\":{\"finalizers\":[\"a\",\"b\",\"c\"]}}",
          "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"a\",\"x\"]}}",
          "{\"metadata\":{\"finalizers\":[\"b\",\"c\"]}}");
    gives(STRATEGIC, "{\"metadata\":{\"finalizers\":[\"a\",\"b\"]}}",
          "{\"metadata\":{\"finalizers\":[\"c\",\"a\"]}}",
          "{\"metadata\":{\"finalizers\":[\"c\",\"a\",\"b\"]}}");
    /* Replaced whole, because the table says so. */
    gives(STRATEGIC, "{\"spec\":{\"selector\":{\"a\":1}}}", "{\"spec\":{\"selector\":{\"b\":2}}}",
          "{\"spec\":{\"selector\":{\"b\":2}}}");
}

static void test_set_element_order(void **state)
{
    (void)state;
    gives(STRATEGIC, POD("[{\"name\":\"a\"},{\"name\":\"b\"}]"),
          "{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"b\"},{\"name\":\"a\"}],"
          "\"containers\":[{\"name\":\"a\",\"image\":\"q\"}]}}",
          POD("[{\"name\":\"b\"},{\"name\":\"a\",\"image\":\"q\"}]"));
    /* What the client does not know stays where it stood. */
    gives(STRATEGIC, POD("[{\"name\":\"a\"},{\"name\":\"injected\"},{\"name\":\"b\"}]"),
          "{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"a\"},{\"name\":\"b\"},"
          "{\"name\":\"c\"}],\"containers\":[{\"name\":\"c\"}]}}",
          POD("[{\"name\":\"a\"},{\"name\":\"injected\"},{\"name\":\"b\"},{\"name\":\"c\"}]"));
    gives(STRATEGIC, "{\"metadata\":{\"finalizers\":[\"a\",\"b\"]}}",
          "{\"metadata\":{\"$setElementOrder/finalizers\":[\"b\",\"a\"]}}",
          "{\"metadata\":{\"finalizers\":[\"b\",\"a\"]}}");
    fails(STRATEGIC, POD("[{\"name\":\"a\"}]"),
          "{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"b\"},{\"name\":\"a\"}],"
          "\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}",
          "doesn't match $setElementOrder");
    fails(STRATEGIC, POD("[]"), "{\"spec\":{\"$setElementOrder/containers\":5}}", "needs lists");
    fails(STRATEGIC, POD("[]"), "{\"spec\":{\"$setElementOrder\":[]}}", "setElementOrder list");
}

static void test_bad_strategic_patches(void **state)
{
    (void)state;
    fails(STRATEGIC, "[]", "{}", "invalid JSON document");
    fails(STRATEGIC, "{}", "[]", "invalid JSON document");
    fails(STRATEGIC, POD("[{\"name\":\"a\"}]"), POD("[{\"image\":\"x\"}]"), "merge key: name");
    fails(STRATEGIC, POD("[{\"image\":\"x\"}]"), POD("[{\"name\":\"a\"}]"), "merge key: name");
    fails(STRATEGIC, POD("[{\"name\":\"a\"}]"), POD("[\"a\"]"), "not identical");
    fails(STRATEGIC, POD("[{\"name\":\"a\"}]"), POD("[null]"), "null");
    fails(STRATEGIC, POD("[{\"name\":\"a\"}]"), POD("[[]]"), "lists of lists");
    fails(STRATEGIC, POD("[{\"name\":\"a\"}]"), POD("[{\"$patch\":\"delete\"}]"),
          "merge key: name");
    fails(STRATEGIC, POD("[{\"name\":\"a\"}]"), POD("[{\"name\":\"a\",\"$patch\":\"merge\"}]"),
          "merging lists");
    fails(STRATEGIC, POD("[{\"name\":\"a\"}]"), POD("[{\"name\":\"a\",\"$patch\":\"grow\"}]"),
          "unknown patch type: grow");
    fails(STRATEGIC, "{}", "{\"$patch\":5}", "unknown patch type");
    fails(STRATEGIC, "{\"a\":{}}", "{\"a\":{\"$retainKeys\":[\"x\"],\"y\":1}}", "retainKeys");
    fails(STRATEGIC, "{\"a\":{}}", "{\"a\":{\"$retainKeys\":5}}", "retainKeys");
    fails(STRATEGIC, "{}", "{\"$deleteFromPrimitiveList\":[]}", "primitive list");
    fails(STRATEGIC, "{\"metadata\":{\"finalizers\":[{\"a\":1}]}}",
          "{\"metadata\":{\"finalizers\":[{\"a\":1}]}}", "without merge key");
}

static void test_inputs_stay_as_they_are(void **state)
{
    static const char doc[] = "{\"spec\":{\"containers\":[{\"name\":\"a\",\"env\":[]}]}}";
    CLEANUP(kj_doc_free) struct kj_doc *a = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kj_mval *v;

    (void)state;
    assert_int_equal(kj_parse(doc, strlen(doc), 0, &a, NULL), 0);
    assert_int_equal(kj_patch_strategic(d, kj_root(a), kj_root(a), pod, &v, NULL), 0);
    assert_int_equal(kj_patch_merge(d, kj_root(a), kj_root(a), &v, NULL), 0);
    kj_write(kj_root(a), 0, &out);
    assert_string_equal(out.data, doc);
}

/* ---- JSON patches that are made -------------------------------------------------------------- */

static void leads(const char *from, const char *to, const char *expected)
{
    CLEANUP(kj_doc_free) struct kj_doc *a = NULL, *b = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT, again = STRBUF_INIT;
    struct kerr err = { 0 };

    if (kj_parse(from, strlen(from), 0, &a, &err) < 0 || kj_parse(to, strlen(to), 0, &b, &err) < 0)
        fail_msg("%s", err.text);
    kj_diff_json(kj_root(a), kj_mcopy(d, kj_root(b)), &out);
    assert_string_equal(strbuf_str(&out), expected);
    if (apply(JSON, from, strbuf_str(&out), &again, &err) < 0)
        fail_msg("%s + %s: %s", from, strbuf_str(&out), err.text);
    CLEANUP(kj_doc_free) struct kj_doc *got = NULL;
    assert_int_equal(kj_parse(again.data, again.len, 0, &got, NULL), 0);
    assert_true(kj_equal(kj_root(got), kj_root(b)));
}

static void test_json_diff_is_small(void **state)
{
    (void)state;
    leads("{\"a\":1}", "{\"a\":1}", "[]");
    leads("{\"a\":1,\"b\":{\"c\":2,\"d\":3}}", "{\"a\":1,\"b\":{\"c\":2,\"d\":4}}",
          "[{\"op\":\"replace\",\"path\":\"/b/d\",\"value\":4}]");
    leads("{\"a\":1}", "{\"b\":{\"x\":[]}}",
          "[{\"op\":\"remove\",\"path\":\"/a\"},"
          "{\"op\":\"add\",\"path\":\"/b\",\"value\":{\"x\":[]}}]");
    /* Keys with the two characters that stand for something in a path, and one for JSON. */
    leads("{\"a/b\":1,\"c~d\":1}", "{\"a/b\":2,\"c~d\":2,\"\":3,\"\\\"\":4}",
          "[{\"op\":\"replace\",\"path\":\"/a~1b\",\"value\":2},"
          "{\"op\":\"replace\",\"path\":\"/c~0d\",\"value\":2},"
          "{\"op\":\"add\",\"path\":\"/\",\"value\":3},"
          "{\"op\":\"add\",\"path\":\"/\\\"\",\"value\":4}]");
    /* Null is a value; the type may change; numbers compare by value. */
    leads("{\"a\":1,\"b\":[],\"n\":10}", "{\"a\":null,\"b\":{},\"n\":10}",
          "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":null},"
          "{\"op\":\"replace\",\"path\":\"/b\",\"value\":{}}]");
    /* Of duplicate keys the last counts. */
    leads("{\"a\":1,\"a\":2}", "{\"a\":2}", "[]");
    leads("{\"a\":1,\"a\":2}", "{\"a\":3,\"a\":2}", "[]");
}

static void test_json_diff_of_lists(void **state)
{
    (void)state;
    leads("{\"l\":[1,2,3]}", "{\"l\":[0,1,2,3]}",
          "[{\"op\":\"add\",\"path\":\"/l/0\",\"value\":0}]");
    leads("{\"l\":[1,2,3]}", "{\"l\":[1,2,3,4]}",
          "[{\"op\":\"add\",\"path\":\"/l/3\",\"value\":4}]");
    leads("{\"l\":[1,2,3,4]}", "{\"l\":[1,4]}",
          "[{\"op\":\"remove\",\"path\":\"/l/2\"},{\"op\":\"remove\",\"path\":\"/l/1\"}]");
    leads("{\"l\":[1,{\"a\":1,\"b\":2},3]}", "{\"l\":[1,{\"a\":1,\"b\":9},3]}",
          "[{\"op\":\"replace\",\"path\":\"/l/1/b\",\"value\":9}]");
    leads("{\"l\":[1,1]}", "{\"l\":[1,1,1]}", "[{\"op\":\"add\",\"path\":\"/l/2\",\"value\":1}]");
    leads("{\"l\":[1]}", "{\"l\":[]}", "[{\"op\":\"remove\",\"path\":\"/l/0\"}]");
}

/* A changed copy with the texts of the original. */
static void test_json_diff_of_a_borrowed_copy(void **state)
{
    static const char text[] =
        "{\"a\":{\"b\":\"x\",\"c\":[1,\"y\"]},\"d\":\"z\",\"a\":{\"b\":\"x\"}}";
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    (void)state;
    assert_int_equal(kj_parse(text, sizeof text - 1, 0, &doc, NULL), 0);
    struct kj_mval *v = kj_mborrow(d, kj_root(doc));
    assert_int_equal(kj_diff_json(kj_root(doc), v, &out), 0);
    kj_mset(d, kj_mget(v, "a"), "b", kj_mstr(d, "x"));
    strbuf_reset(&out);
    assert_int_equal(kj_diff_json(kj_root(doc), v, &out), 0);
    kj_mset(d, kj_mget(v, "a"), "b", kj_mstr(d, "q"));
    kj_mset(d, v, "n", kj_mstr(d, "new"));
    strbuf_reset(&out);
    kj_diff_json(kj_root(doc), v, &out);
    assert_string_equal(strbuf_str(&out), "[{\"op\":\"replace\",\"path\":\"/a/b\",\"value\":\"q\"},"
                                          "{\"op\":\"add\",\"path\":\"/n\",\"value\":\"new\"}]");
}

/* A tree of at most this depth; few keys and values, so that two trees have much in common. */
static struct kj_mval *random_tree(struct kj_mdoc *d, uint64_t *seed, int depth)
{
    static const char *const keys[] = { "a", "b", "c/d", "e~f", "~1", "" };

    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    uint64_t r = *seed >> 33;
    struct kj_mval *v;
    switch (depth > 0 ? r % 8 : 4 + r % 4) {
    case 0:
    case 1:
        v = kj_mobj(d);
        for (uint64_t i = 0, n = r / 8 % 5; i < n; i++) {
            struct kj_mval *c = random_tree(d, seed, depth - 1);
            kj_mset(d, v, keys[(*seed >> 40) % ARRAY_LEN(keys)], c);
        }
        return v;
    case 2:
    case 3:
        v = kj_marr(d);
        for (uint64_t i = 0, n = r / 8 % 5; i < n; i++)
            kj_mpush(v, random_tree(d, seed, depth - 1));
        return v;
    case 4: return kj_mnull(d);
    case 5: return kj_mbool(d, r & 8);
    case 6: return kj_mi64(d, (int64_t)(r / 8 % 3) - 1);
    default: return kj_mstr(d, r & 8 ? "x" : "/y~");
    }
}

static void test_json_diff_leads_from_any_tree_to_any_other(void **state)
{
    uint64_t seed = 42;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
        CLEANUP(kj_doc_free) struct kj_doc *a = NULL, *b = NULL, *patch = NULL, *got = NULL;
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        struct kj_mval *x = kj_mobj(d), *y = kj_mobj(d), *v;
        kj_mset(d, x, "t", random_tree(d, &seed, 4));
        kj_mset(d, y, "t", random_tree(d, &seed, 4));
        a = kj_freeze(x);
        b = kj_freeze(y);
        size_t ops = kj_diff_json(kj_root(a), y, &text);
        assert_int_equal(ops == 0, kj_equal(kj_root(a), kj_root(b)));
        assert_int_equal(kj_parse(text.data, text.len, 0, &patch, NULL), 0);
        assert_int_equal(kj_len(kj_root(patch)), ops);
        assert_int_equal(kj_patch_json(d, kj_root(a), kj_root(patch), &v, NULL), 0);
        got = kj_freeze(v);
        assert_true(kj_equal(kj_root(got), kj_root(b)));
    }
}

/* ---- client-side apply ----------------------------------------------------------------------- */

struct apply_case {
    bool strategic;
    const char *docs[3]; /* applied last, to be applied, what the server has */
    const char *patch, *result;
};

/* The patch, what it makes of the server's object, and that it is then at its goal. */
static void applies(const struct apply_case *c)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT, rest = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *after = NULL;
    struct kj_doc *v[3] = { NULL };
    const struct kmerge *tables = c->strategic ? pod : NULL;
    struct kerr err = { 0 };

    for (int i = 0; i < 3; i++)
        if (c->docs[i] && kj_parse(c->docs[i], strlen(c->docs[i]), 0, &v[i], &err) < 0)
            fail_msg("%s: %s", c->docs[i], err.text);
    kj_mwrite(kj_diff_apply(d, kj_root(v[0]), kj_root(v[1]), kj_root(v[2]), tables), 0, &text);
    assert_string_equal(strbuf_str(&text), c->patch);
    gives(c->strategic ? STRATEGIC : MERGE, c->docs[2], strbuf_str(&text), c->result);
    assert_int_equal(kj_parse(c->result, strlen(c->result), 0, &after, &err), 0);
    kj_mwrite(kj_diff_apply(d, kj_root(v[1]), kj_root(v[1]), kj_root(after), tables), 0, &rest);
    assert_string_equal(strbuf_str(&rest), "{}");
    for (int i = 0; i < 3; i++)
        kj_doc_free(v[i]);
}

static void test_apply_of_three_documents(void **state)
{
    static const struct apply_case cases[] = {
        /* What others set stays, what was ours and is not any more goes. */
        { false,
          { "{\"a\":1,\"b\":{\"x\":1,\"y\":2}}", "{\"a\":2,\"b\":{\"x\":1}}",
            "{\"a\":1,\"b\":{\"x\":1,\"y\":2,\"z\":3},\"c\":4}" },
          "{\"a\":2,\"b\":{\"y\":null}}",
          "{\"a\":2,\"b\":{\"x\":1,\"z\":3},\"c\":4}" },
        /* Nobody applied it before: nothing goes. Lists are replaced without tables. */
        { false,
          { NULL, "{\"l\":[1]}", "{\"l\":[1,2],\"m\":1}" },
          "{\"l\":[1]}",
          "{\"l\":[1],\"m\":1}" },
        /* With tables, items are found by their keys; a default of the server stays. */
        { true,
          { "{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"1\"},{\"name\":\"b\"}]}}",
            "{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"2\"}]}}",
            "{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"1\",\"pull\":\"Always\"},{"
            "\"name\":\"b\"},{\"name\":\"in\"}]}}" },
          "{\"spec\":{\"containers\":[{\"image\":\"2\",\"name\":\"a\"},{\"$patch\":\"delete\","
          "\"name\":\"b\"}],\"$setElementOrder/containers\":[{\"name\":\"a\"}]}}",
          "{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"2\",\"pull\":\"Always\"},{"
          "\"name\":\"in\"}]}}" },
        /* Sets of plain values, and objects that are replaced whole. */
        { true,
          { "{\"metadata\":{\"finalizers\":[\"a\",\"b\"]}}",
            "{\"metadata\":{\"finalizers\":[\"a\",\"d\"]},\"spec\":{\"selector\":{\"x\":\"1\"}}}",
            "{\"metadata\":{\"finalizers\":[\"a\",\"b\",\"c\"]},\"spec\":{\"selector\":{\"y\":"
            "\"1\"}}}" },
          "{\"metadata\":{\"$deleteFromPrimitiveList/"
          "finalizers\":[\"b\"],\"finalizers\":[\"d\"],\"$setElementOrder/"
          "finalizers\":[\"a\",\"d\"]},\"spec\":{\"selector\":{\"x\":\"1\"}}"
          "}",
          "{\"metadata\":{\"finalizers\":[\"a\",\"d\",\"c\"]},\"spec\":{\"selector\":{\"x\":\"1\"}}"
          "}" },
        /* The order of a list is part of it. */
        { true,
          { "{\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}",
            "{\"spec\":{\"containers\":[{\"name\":\"b\"},{\"name\":\"a\"}]}}",
            "{\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}" },
          "{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"b\"},{\"name\":\"a\"}]}}",
          "{\"spec\":{\"containers\":[{\"name\":\"b\"},{\"name\":\"a\"}]}}" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        applies(&cases[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge_patches),
        cmocka_unit_test(test_large_merges_are_not_quadratic),
        cmocka_unit_test(test_a_diff_leads_from_one_to_the_other),
        cmocka_unit_test(test_json_patch_operations),
        cmocka_unit_test(test_json_patch_as_loose_as_the_server),
        cmocka_unit_test(test_json_patch_test),
        cmocka_unit_test(test_bad_json_patches),
        cmocka_unit_test(test_patches_cannot_grow_without_bounds),
        cmocka_unit_test(test_lists_merge_by_their_key),
        cmocka_unit_test(test_directives),
        cmocka_unit_test(test_set_element_order),
        cmocka_unit_test(test_bad_strategic_patches),
        cmocka_unit_test(test_inputs_stay_as_they_are),
        cmocka_unit_test(test_json_diff_is_small),
        cmocka_unit_test(test_json_diff_of_lists),
        cmocka_unit_test(test_json_diff_of_a_borrowed_copy),
        cmocka_unit_test(test_json_diff_leads_from_any_tree_to_any_other),
        cmocka_unit_test(test_apply_of_three_documents),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
