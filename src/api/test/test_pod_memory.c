/* test_pod_memory.c - a cached pod takes less than 1 KB, strings and shared parts included. The
 * bench measures the same over 150,000 pods in a real informer. */
#include "api/test/object_fixture.h"
#include "base/test/asserts.h"

#include "api/pod.h"
#include "api/share.h"
#include "podgen.h"

enum {
    PODS = 12000, /* a few on each node, so that what repeats weighs little */
    BOUND = 1024,
    /* What an informer's cache adds: an entry with the key, a slot of the map, malloc's heads. */
    CACHE_OVERHEAD = 120,
    MALLOC_HEAD = 16,
};

static struct kobj *generate(struct object_fixture *b, unsigned i, size_t *json_bytes)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kobj *o = NULL;
    struct kerr err = { 0 };

    podgen_json(&text, i);
    *json_bytes += text.len;
    if (kj_parse(text.data, text.len, 0, &doc, &err) < 0 ||
        kobj_decode(&kind_pod, kj_root(doc), b->scratch, &o, &err) < 0)
        fail_msg("%s", err.text);
    return o;
}

static void test_a_pod_takes_less_than_1_kb(void **state)
{
    struct object_fixture *b = *state;
    struct kobj **pods = xnewn0(PODS, struct kobj *);
    size_t json = 0, blocks = 0;

    for (unsigned i = 0; i < PODS; i++) {
        pods[i] = generate(b, i, &json);
        blocks += pods[i]->size + MALLOC_HEAD;
    }
    size_t all = blocks + share_bytes() + intern_bytes(b->strings);
    print_message("%zu bytes of JSON a pod: block %zu, shared %zu, strings %zu, with a cache %zu\n",
                  json / PODS, blocks / PODS, share_bytes() / PODS, intern_bytes(b->strings) / PODS,
                  all / PODS + CACHE_OVERHEAD);
    assert_that(json / PODS, >=, 4000);
    assert_that(all / PODS + CACHE_OVERHEAD, <=, BOUND);
    for (unsigned i = 0; i < PODS; i++)
        kobj_unref(pods[i]);
    free(pods);
    assert_int_equal(share_count(), 0);
}

static void test_the_generator_is_repeatable(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf x = STRBUF_INIT, y = STRBUF_INIT;

    (void)state;
    podgen_json(&x, 17);
    podgen_json(&y, 17);
    assert_string_equal(strbuf_str(&x), strbuf_str(&y));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_a_pod_takes_less_than_1_kb),
        cmocka_unit_test(test_the_generator_is_repeatable),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
