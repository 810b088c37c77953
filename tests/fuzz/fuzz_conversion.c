/* fuzz_conversion.c - answers of conversion webhooks: ConversionReviews and the objects inside.
 *
 * Byte 0: bit 0 v1beta1, bit 1 two objects instead of one; the rest is the body. UID stands for the
 * uid that was asked with.
 *
 * An answer that cannot be used says why. An object that is taken has the name, namespace, uid and
 * times of the original, and labels and annotations that are texts.
 */
#include "apiserver/crd/conversion.h"
#include "apiserver/registry/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEFINITION                                                                               \
    "{\"metadata\":{\"name\":\"as.ex.io\"},\"spec\":{\"group\":\"ex.io\",\"names\":{\"plural\":" \
    "\"as\",\"kind\":\"A\"},\"conversion\":{\"strategy\":\"Webhook\",\"webhook\":{"              \
    "\"conversionReviewVersions\":[\"%s\"]}},\"versions\":[{\"name\":\"v1\",\"storage\":true},{" \
    "\"name\":\"v2\"}]}}"
static const char original[] =
    "{\"kind\":\"A\",\"apiVersion\":\"ex.io/v1\",\"metadata\":{\"name\":\"a\",\"namespace\":\"n\","
    "\"uid\":\"u\",\"resourceVersion\":\"7\",\"generation\":2,\"labels\":{\"x\":\"y\"}}}";

static struct crd_conversion *conversion_of(bool beta)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(mem_free) char *text = xasprintf(DEFINITION, beta ? "v1beta1" : "v1");

    (void)kj_parse(text, strlen(text), 0, &doc, NULL);
    return crd_conversion_new(kj_root(doc));
}

static void check_map(const struct kj_val *map)
{
    struct kj_iter it = kj_iter(map);
    const struct kj_val *v;

    assert(kj_type(map) <= KJ_NULL || kj_type(map) == KJ_OBJ);
    while (kj_next(&it, NULL, &v))
        assert(kj_type(v) == KJ_STR);
}

static void judge(const struct kj_val *was, const struct kj_val *converted, size_t i, size_t n)
{
    static const char *const kept[] = { "name", "namespace", "uid", "resourceVersion",
                                        "generation" };
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *obj;

    if (conversion_accept(was, converted, "ex.io/v2", i, n, d, &obj, &why) < 0) {
        assert(why.len);
        return;
    }
    CLEANUP(kj_doc_free) struct kj_doc *is = kj_freeze(obj);
    const struct kj_val *meta = kj_get(kj_root(is), "metadata");
    for (size_t k = 0; k < ARRAY_LEN(kept); k++)
        assert(kj_equal(kj_get(meta, kept[k]), kj_get(kj_get(was, "metadata"), kept[k])));
    check_map(kj_get(meta, "labels"));
    check_map(kj_get(meta, "annotations"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    CLEANUP(crd_conversion_unref) struct crd_conversion *v = conversion_of(data[0] & 1);
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL, *was = NULL;
    const struct kj_val *objects = NULL;
    size_t n = data[0] & 2 ? 2 : 1;

    (void)kj_parse(original, sizeof original - 1, 0, &was, NULL);
    if (conversion_read(v, "UID", (const char *)data + 1, size - 1, n, &doc, &objects, &why) < 0) {
        assert(why.len);
        return 0;
    }
    assert(kj_len(objects) == n);
    for (size_t i = 0; i < n; i++)
        judge(kj_root(was), kj_at(objects, i), i, n);
    return 0;
}
