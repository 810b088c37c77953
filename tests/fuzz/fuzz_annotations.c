/* fuzz_annotations.c - every annotation codec: what we print, we read back.
 *
 * Input: the key on the first line, the value behind it. A first line that is no key picks a codec
 * by its first byte, so that a fuzzer finds all of them.
 */
#include "api/protocol/annotation.h"
#include "api/protocol/keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct annotation_codec *pick(const char *line)
{
    const struct annotation_codec *c = annotation_codec_find(line);
    size_t n = 0;

    if (c)
        return c;
    while (annotation_codec_at(n))
        n++;
    return annotation_codec_at((unsigned char)line[0] % n);
}

static void *decode(const struct annotation_codec *c, const char *text, struct arena *a)
{
    void *value = arena_zalloc(a, c->schema->size);
    struct kerr err = { 0 };

    if (annotation_decode(c, text, a, value, &err) == 0)
        return value;
    assert(err.code < 0 && err.text[0] != '\0'); /* a refusal always says why */
    return NULL;
}

/* Times lose their fraction and ratios all but two decimals, the first time they are written. */
static bool is_exact(const struct annotation_codec *c)
{
    return !c->encode && strcmp(c->key, ANNO_SOFT_EVICTION) != 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
    char *line = arena_strndup(a, size ? (const char *)data : "", size);
    char *text = strchr(line, '\n');

    if (!text || strstr(text, "\\u0000")) /* a C string ends there: keys could become equal */
        return 0;
    *text++ = '\0';
    const struct annotation_codec *c = pick(line);
    const void *value = decode(c, text, a);
    if (!value)
        return 0;
    annotation_encode(c, value, &first);
    const void *again = decode(c, strbuf_str(&first), a);
    assert(again);
    assert(!is_exact(c) || kj_struct_equal(c->schema, value, again));
    annotation_encode(c, again, &second);
    assert(strcmp(strbuf_str(&first), strbuf_str(&second)) == 0);
    return 0;
}
