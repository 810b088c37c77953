/* fuzz_json.c - JSON texts: what is read is written and read again the same, in both forms; structs
 * decoded into an arena and into a block agree, and leave nothing in the string table. */
#include "base/intern.h"
#include "json/test/thing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct kj_doc *parse_again(const struct strbuf *text, unsigned flags)
{
    struct kj_doc *doc = NULL;
    int r = kj_parse(text->data, text->len, flags, &doc, NULL);
    assert(r == 0); /* what we write, we read */
    (void)r;
    return doc;
}

static void check_writers(const struct kj_val *v)
{
    static const unsigned flags[] = { 0, KJ_SORTED, KJ_PRETTY | KJ_SORTED };

    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        kj_write(v, flags[i], &text);
        CLEANUP(kj_doc_free) struct kj_doc *again = parse_again(&text, 0);
        assert(kj_equal(v, kj_root(again)));
    }
}

static void check_mutable(const struct kj_val *v)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kj_mval *copy = kj_mcopy(d, v), *clone = kj_mclone(d, copy);

    assert(kj_mequal(copy, clone));
    CLEANUP(kj_doc_free) struct kj_doc *frozen = kj_freeze(clone);
    assert(kj_equal(v, kj_root(frozen)));
    kj_mwrite(copy, 0, &text);
    CLEANUP(kj_doc_free) struct kj_doc *again = parse_again(&text, 0);
    assert(kj_equal(v, kj_root(again)));
}

/* The same answer from a parse in place, which takes other paths for odd bytes. */
static void check_insitu(const char *text, size_t n, const struct kj_val *expected)
{
    CLEANUP(mem_free) char *copy = xcalloc(1, n + KJ_PADDING);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    if (n)
        memcpy(copy, text, n);
    if (kj_parse_insitu(copy, n, 0, &doc, &err) < 0)
        assert(!expected && err.text[0] != '\0');
    else
        assert(kj_equal(expected, kj_root(doc)));
}

static void encode_again(const struct strbuf *in, struct strbuf *out)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct thing t;
    int r = kj_decode_text(&thing_schema, in->data, in->len, 0, a, &t, NULL);

    assert(r == 0);
    (void)r;
    kj_encode(&thing_schema, &t, out);
}

static void check_struct(const struct thing *t)
{
    CLEANUP(strbuf_fini) struct strbuf one = STRBUF_INIT, two = STRBUF_INIT, three = STRBUF_INIT;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct thing copy;

    kj_copy(&thing_schema, t, a, &copy);
    assert(kj_struct_equal(&thing_schema, t, &copy));
    (void)kj_validate(&thing_schema, t, NULL);
    /* Once through, fractions of a second and bytes behind a NUL are gone; then it stays. */
    kj_encode(&thing_schema, t, &one);
    encode_again(&one, &two);
    encode_again(&two, &three);
    assert(two.len == three.len && memcmp(two.data, three.data, two.len) == 0);
}

static void check_decode(const struct kj_val *v)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct intern *strings = intern_new();
    struct kj_scratch *scratch = kj_scratch_new(strings);
    struct kerr err = { 0 }, block_err = { 0 };
    struct thing flat;
    void *block = NULL;

    int r = kj_decode(&thing_schema, v, 0, a, &flat, &err);
    int rb = kj_decode_block(&thing_schema, v, scratch, &block, NULL, &block_err);
    assert(r == rb);
    if (r < 0) {
        assert(err.text[0] != '\0' && strcmp(err.text, block_err.text) == 0);
    } else {
        assert(kj_struct_equal(&thing_schema, &flat, block));
        check_struct(&flat);
        kj_block_free(&thing_schema, block);
    }
    (void)kj_decode(&thing_schema, v, KJ_STRICT, a, &flat, &err);
    (void)kj_decode(&thing_schema, v, KJ_ANY_CASE, a, &flat, &err);
    kj_scratch_free(scratch);
    assert(intern_count(strings) == 0);
    intern_free(strings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL, *raw = NULL;
    const char *text = (const char *)data;
    struct kerr err = { 0 };

    if (kj_parse(text, size, 0, &doc, &err) < 0) {
        assert(err.code < 0 && err.text[0] != '\0');
        check_insitu(text, size, NULL);
        int r = kj_parse(text, size, KJ_RAW_NUMBERS, &raw, NULL);
        assert(r < 0); /* keeping the text of numbers lets nothing more in */
        (void)r;
        return 0;
    }
    check_insitu(text, size, kj_root(doc));
    int r = kj_parse(text, size, KJ_RAW_NUMBERS, &raw, NULL);
    assert(r == 0 && kj_equal(kj_root(doc), kj_root(raw)));
    (void)r;
    check_writers(kj_root(doc));
    check_mutable(kj_root(doc));
    check_decode(kj_root(doc));
    return 0;
}
