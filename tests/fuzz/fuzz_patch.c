/* fuzz_patch.c - patches of all three kinds. The first line is the document, the rest the patch.
 *
 * Whatever comes out is a document that can be read again; a patch without nulls applied twice
 * changes nothing the second time; and computed patches lead from one document to another.
 */
#include "apiserver/schema/types.h"
#include "json/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct kj_doc *check_result(const struct kj_mval *v)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kj_doc *frozen = kj_freeze(v);
    CLEANUP(kj_doc_free) struct kj_doc *again = NULL;

    kj_mwrite(v, 0, &text);
    int r = kj_parse(text.data, text.len, 0, &again, NULL);
    assert(r == 0); /* in particular not too deep */
    assert(kj_equal(kj_root(frozen), kj_root(again)));
    (void)r;
    return frozen;
}

static bool has_null(const struct kj_val *v)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *c;

    if (kj_type(v) == KJ_NULL)
        return true;
    while (kj_next(&it, NULL, &c))
        if (has_null(c))
            return true;
    return false;
}

static void check_merge(const struct kj_val *doc, const struct kj_val *patch)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *once = NULL, *twice = NULL;
    struct kerr err = { 0 };
    struct kj_mval *v;

    if (kj_patch_merge(d, doc, patch, &v, &err) < 0) {
        assert(err.text[0] != '\0' && err.reason != KR_NONE);
        return;
    }
    once = check_result(v);
    if (has_null(patch))
        return;
    int r = kj_patch_merge(d, kj_root(once), patch, &v, NULL);
    assert(r == 0);
    (void)r;
    twice = check_result(v);
    assert(kj_equal(kj_root(once), kj_root(twice)));
}

static void check_diff(const struct kj_val *from, const struct kj_val *to)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *v;

    /* A merge patch cannot say "null". */
    if (kj_type(from) != KJ_OBJ || kj_type(to) != KJ_OBJ || has_null(to))
        return;
    CLEANUP(kj_doc_free) struct kj_doc *patch = kj_freeze(kj_diff_merge(d, from, to));
    int r = kj_patch_merge(d, from, kj_root(patch), &v, NULL);
    assert(r == 0);
    (void)r;
    CLEANUP(kj_doc_free) struct kj_doc *result = check_result(v);
    assert(kj_equal(kj_root(result), to));
}

/* kj_patch_json() takes 10,000 operations at most, and no document that is null. */
static void check_json_diff(const struct kj_val *from, const struct kj_val *to)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *patch = NULL, *result = NULL;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kj_mval *v;

    if (kj_type(from) != KJ_OBJ || kj_type(to) != KJ_OBJ)
        return;
    size_t ops = kj_diff_json(from, kj_mcopy(d, to), &text);
    int r = kj_parse(text.data, text.len, 0, &patch, NULL);
    assert(r == 0 && kj_len(kj_root(patch)) == ops);
    assert((ops == 0) == kj_equal(from, to));
    if (ops > 10000)
        return;
    r = kj_patch_json(d, from, kj_root(patch), &v, NULL);
    assert(r == 0);
    (void)r;
    result = check_result(v);
    assert(kj_equal(kj_root(result), to));
}

static void check_json(const struct kj_val *doc, const struct kj_val *patch)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kerr err = { 0 };
    struct kj_mval *v;

    if (kj_patch_json(d, doc, patch, &v, &err) < 0)
        assert(err.text[0] != '\0' && err.reason != KR_NONE);
    else
        kj_doc_free(check_result(v));
}

static void check_strategic(const struct kj_val *doc, const struct kj_val *patch,
                            const struct t_type *type)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kerr err = { 0 };
    struct kj_mval *v;

    if (kj_patch_strategic(d, doc, patch, types_merge(type), &v, &err) < 0)
        assert(err.text[0] != '\0' && err.reason != KR_NONE);
    else
        kj_doc_free(check_result(v));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL, *patch = NULL;
    const char *text = (const char *)data, *line = size ? memchr(text, '\n', size) : NULL;

    if (!line || kj_parse(text, (size_t)(line - text), 0, &doc, NULL) < 0 ||
        kj_parse(line + 1, size - (size_t)(line + 1 - text), 0, &patch, NULL) < 0)
        return 0;
    check_merge(kj_root(doc), kj_root(patch));
    check_diff(kj_root(doc), kj_root(patch));
    check_json_diff(kj_root(doc), kj_root(patch));
    check_json(kj_root(doc), kj_root(patch));
    check_strategic(kj_root(doc), kj_root(patch), types_find("", "v1", "Pod"));
    check_strategic(kj_root(doc), kj_root(patch), types_find("apps", "v1", "Deployment"));
    return 0;
}
