/* fuzz_quota.c - ElasticQuotas that anybody may write: labels, annotations, amounts.
 *
 * The input is the JSON of a quota; it joins a tree that is in use. Whatever it says, sums stay
 * what they are without it, nothing is negative, and the tree without it is what it was.
 */
#include <stdlib.h>

#include "api/koord/quota.h"
#include "api/pod.h"
#include "api/protocol/quota.h"
#include "base/intern.h"
#include "quota/forest.h"
#include "json/kj.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct kobj *object(struct kj_scratch *s, const struct kind *k, const char *json, size_t n)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kobj *o = NULL;
    struct kerr err = { 0 };

    if (kj_parse(json, n, KJ_RAW_NUMBERS, &doc, &err) < 0 ||
        kobj_decode(k, kj_root(doc), s, &o, &err) < 0)
        return NULL;
    return o;
}

static void put(struct quota_forest *f, struct kj_scratch *s, const char *json)
{
    CLEANUP(kobj_unref) struct kobj *o = object(s, &kind_elasticquota, json, strlen(json));
    struct kerr err = { 0 };

    assert(o && forest_put(f, elasticquota_of(o), &err) == 0);
}

static void put_pod(struct quota_forest *f, struct kj_scratch *s)
{
    static const char json[] =
        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":"
        "\"00000000-0000-4000-8000-000000000001\",\"labels\":{\"" LABEL_QUOTA_NAME
        "\":\"c\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
        "\"cpu\":\"3\",\"memory\":\"5\"}}}]}}";
    CLEANUP(kobj_unref) struct kobj *o = object(s, &kind_pod, json, strlen(json));

    forest_put_pod(f, pod_of(o), true);
}

static struct quota_forest *forest_of(struct kj_scratch *s)
{
    struct quota_forest *f =
        forest_new(&(struct quota_options){ .scale_min = true, .trees = true });
    struct resqty items[] = { { "cpu", qty_from_i64(10, QTY_DECIMAL_SI) },
                              { "memory", qty_from_i64(100, QTY_DECIMAL_SI) } };

    forest_add_total(f, &(reslist){ .items = items, .n = 2 }, 1);
    put(f, s,
        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"labels\":{\"" LABEL_QUOTA_IS_PARENT
        "\":\"true\"}},\"spec\":{\"max\":{\"cpu\":\"9\",\"memory\":\"99\"},\"min\":{\"cpu\":"
        "\"5\"}}}");
    put(f, s,
        "{\"metadata\":{\"name\":\"c\",\"namespace\":\"n\",\"labels\":{\"" LABEL_QUOTA_PARENT
        "\":\"a\"}},\"spec\":{\"max\":{\"cpu\":\"9\",\"memory\":\"99\"},\"min\":{\"cpu\":"
        "\"5\"}}}");
    put_pod(f, s);
    return f;
}

/* Every amount of every quota is read, and none is negative. */
static void check(struct quota_forest *f)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    uint32_t n;
    struct quota **all = forest_list(f, NULL, a, &n);

    for (uint32_t i = 0; i < n; i++) {
        for (int field = 0; field < QUOTA_FIELDS; field++) {
            uint64_t keys;
            const int64_t *v = quota_values(f, all[i], (enum quota_field)field, &keys);
            columns_foreach(c, keys)
                assert(quota_at(v, c) >= 0);
        }
    }
}

static int64_t memory_used(struct quota_forest *f, const char *name)
{
    uint64_t keys;
    int c = quota_columns_find(forest_columns(f), "memory");
    struct quota *q = forest_find(f, name);

    return q && c >= 0 ? quota_at(quota_values(f, q, QUOTA_USED, &keys), (uint64_t)c) : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_scratch_free) struct kj_scratch *s = kj_scratch_new(strings);
    CLEANUP(kobj_unref)
    struct kobj *o = object(s, &kind_elasticquota, (const char *)data, size);
    struct kerr err = { 0 };

    if (!o || str_empty(o->meta.name) || streq(o->meta.name, "a") || streq(o->meta.name, "c"))
        return 0;
    CLEANUP(forest_free) struct quota_forest *f = forest_of(s);
    if (forest_put(f, elasticquota_of(o), &err) < 0)
        assert(err.text[0] != '\0'); /* a refusal always says why */
    check(f);
    assert(memory_used(f, "c") == 5 && memory_used(f, "a") == 5);
    forest_remove(f, o->meta.name);
    check(f);
    assert(memory_used(f, "c") == 5 && memory_used(f, "a") == 5);
    return 0;
}
