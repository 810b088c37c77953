/* fuzz_admithook.c - answers of webhook servers: AdmissionReviews and the patches inside.
 *
 * Byte 0: bit 0 mutating, bit 1 v1beta1, bit 2 a pod instead of a ConfigMap; the rest is the body.
 * UID stands for the uid that was asked with.
 *
 * An answer that cannot be used says why. A refusal has a code from 400 to 599 and words. An object
 * that a patch was applied to can be read as one of its kind, and its defaults change nothing more.
 */
#include "apiserver/admission/admithook_int.h"
#include "apiserver/admission/admithook_patch.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/registry/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct resource *find(const char *plural)
{
    size_t n;
    const struct resource *list = builtin_resources(&n);

    for (size_t i = 0; i < n; i++)
        if (streq(list[i].plural, plural) && !*list[i].group)
            return &list[i];
    return NULL;
}

static void patch(const struct admithook_answer *a, bool pod)
{
    static const char map[] = "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"y\"}},\"data\":{"
                              "\"k\":\"v\"}}";
    static const char one_pod[] =
        "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}"
        "]}}";
    const char *text = pod ? one_pod : map;
    const struct resource *r = find(pod ? "pods" : "configmaps");
    const struct admission_req req = { .res = r, .operation = "CREATE" };
    CLEANUP(kj_doc_free) struct kj_doc *obj = NULL, *now = NULL, *again = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    struct kerr err;

    assert(kj_parse(text, strlen(text), 0, &obj, NULL) == 0);
    if (admithook_patch(&req, r, kj_root(obj), kj_root(a->patch), &now, &why) < 0) {
        assert(why.len > 0);
        return;
    }
    assert(object_check_types(r, kj_root(now), &err) == 0);
    struct kj_mval *v = kj_mcopy(d, kj_root(now));
    object_default(r, d, v);
    again = kj_freeze(v);
    assert(kj_equal(kj_root(again), kj_root(now)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(admithook_answer_fini) struct admithook_answer a = { 0 };
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    CLEANUP(arena_free) struct arena *arena = arena_new();
    uint8_t flags = size ? data[0] : 0;

    if (!size || size > 1 << 16)
        return 0;
    int e = admithook_answer_read((const char *)data + 1, size - 1, flags & 2 ? "v1beta1" : "v1",
                                  "UID", flags & 1, &a, &why);
    if (e < 0) {
        assert(why.len > 0);
        return 0;
    }
    if (!a.allowed) {
        struct api_refusal r = admithook_answer_refusal(&a, "hook", arena);
        assert(r.code >= 400 && r.code <= 599 && *r.message && !a.patch);
    }
    if (a.patch)
        patch(&a, flags & 4);
    return 0;
}
