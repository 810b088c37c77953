/* test_share.c - recognised parts are right: whatever is changed in a document, what we hand out is
 * what decoding it anew would give. */
#include "api/test/object_fixture.h"

#include "api/pod.h"
#include "api/share.h"
#include "podgen.h"

/* ---- documents with small changes ------------------------------------------------------------ */

static uint64_t rnd_state;

static unsigned rnd(unsigned below)
{
    rnd_state = rnd_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(rnd_state >> 33) % below;
}

static struct kj_mval *random_leaf(struct kj_mdoc *d)
{
    switch (rnd(7)) {
    case 0: return kj_mnull(d);
    case 1: return kj_mbool(d, rnd(2));
    case 2: return kj_mi64(d, (int64_t)rnd(400) - 50);
    case 3: return kj_mstr(d, "100m");
    case 4: return kj_mobj(d);
    case 5: return kj_marr(d);
    default: return kj_mstr(d, "changed");
    }
}

static struct kj_mval *child_at(struct kj_mval *v, size_t at, struct str *key)
{
    struct kj_miter it = kj_miter(v);
    struct kj_mval *item = NULL;
    for (size_t i = 0; kj_mnext(&it, key, &item) && i < at; i++)
        ;
    return item;
}

static void change_here(struct kj_mdoc *d, struct kj_mval *v, struct kj_mval *child, struct str key,
                        size_t at)
{
    static const char *const names[] = { "emptyDir",  "priority", "csi",  "labels",
                                         "resources", "unknown",  "name", "operator" };
    if (kj_mtype(v) == KJ_ARR) {
        if (rnd(3) == 0)
            kj_mdel_at(v, at);
        else if (rnd(2))
            kj_mpush(v, kj_mclone(d, child));
        else
            kj_mreplace_at(v, at, random_leaf(d));
    } else if (rnd(3) == 0) {
        kj_mset(d, v, names[rnd(ARRAY_LEN(names))], random_leaf(d));
    } else if (rnd(3) == 0) {
        CLEANUP(mem_free) char *k = xstrndup(key.p, key.n);
        kj_mdel(v, k, strlen(k));
    } else {
        CLEANUP(mem_free) char *k = xstrndup(key.p, key.n);
        kj_mset(d, v, k, random_leaf(d));
    }
}

/* Somewhere in the tree, one member or item is changed, removed, doubled or added. */
static void change_something(struct kj_mdoc *d, struct kj_mval *root)
{
    struct kj_mval *v = root;
    for (;;) {
        struct str key = { NULL, 0 };
        size_t n = kj_mlen(v), at = n ? rnd((unsigned)n) : 0;
        struct kj_mval *child = n ? child_at(v, at, &key) : NULL;
        bool deeper =
            child && (kj_mtype(child) == KJ_OBJ || kj_mtype(child) == KJ_ARR) && kj_mlen(child) > 0;
        if (!child)
            return;
        if (deeper && rnd(8)) {
            v = child;
            continue;
        }
        change_here(d, v, child, key, at);
        return;
    }
}

/* ---- the property ---------------------------------------------------------------------------- */

static void check_part(struct object_fixture *b, const struct sharepart *part,
                       const struct kj_val *in)
{
    struct share *s = NULL;
    struct kerr err = { 0 }, fresh_err = { 0 };
    void *fresh = arena_zalloc(b->arena, part->schema->size);

    int r = share_decode(part, in, b->scratch, &s, &err);
    int fresh_r = kj_decode(part->schema, in, 0, b->arena, fresh, &fresh_err);
    if (r != fresh_r)
        fail_msg("%d instead of %d: %s", r, fresh_r, fresh_err.text);
    if (r < 0)
        return;
    if (part->tidy)
        part->tidy(fresh);
    if (!kj_struct_equal(part->schema, share_data(s), fresh)) {
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        kj_write(in, 0, &text);
        fail_msg("not what it decodes to: %s", strbuf_str(&text));
    }
    share_unref(s);
}

static void test_recognised_parts_equal_decoded_ones(void **state)
{
    enum { BASES = 12, CHANGES = 400 };
    struct object_fixture *b = *state;

    rnd_state = 42;
    for (unsigned i = 0; i < BASES; i++) {
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
        struct kobj *held[3] = { NULL };
        struct kerr err = { 0 };

        podgen_json(&text, i);
        assert_int_equal(kj_parse(text.data, text.len, 0, &doc, &err), 0);
        for (size_t k = 0; k < ARRAY_LEN(held); k++) /* seen twice, so remembered */
            assert_int_equal(kobj_decode(&kind_pod, kj_root(doc), b->scratch, &held[k], &err), 0);
        for (unsigned k = 0; k < CHANGES; k++) {
            CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
            struct kj_mval *root = kj_mcopy(d, kj_root(doc));
            for (unsigned n = 1 + rnd(2); n > 0; n--)
                change_something(d, root);
            CLEANUP(kj_doc_free) struct kj_doc *changed = kj_freeze(root);
            check_part(b, &pod_split.part[0], kj_root(changed));
            check_part(b, &pod_split.part[1], kj_root(changed));
            arena_reset(b->arena);
        }
        for (size_t k = 0; k < ARRAY_LEN(held); k++)
            kobj_unref(held[k]);
    }
    assert_int_equal(share_count(), 0);
    assert_int_equal(share_bytes(), 0);
}

/* The order of unknown members, and what they hold, may differ: the parts are still equal. */
static void test_unknown_members_do_not_matter(void **state)
{
    struct object_fixture *b = *state;
    struct kobj *x = fixture_object(
        b, &kind_pod,
        "{'metadata':{'generateName':'g-','labels':{'a':'b'},'x':1},'spec':{'y':[]}}");
    struct kobj *y = fixture_object(
        b, &kind_pod, "{'spec':{},'metadata':{'labels':{'a':'b'},'x':{},'generateName':'g-'}}");

    assert_ptr_equal(x->meta.labels.items, y->meta.labels.items);
    assert_ptr_equal(pod_of(x)->spec, pod_of(y)->spec);
    kobj_unref(x);
    kobj_unref(y);
}

/* A recording says "null" where the next document has a source: it must not match. */
static void test_a_null_source_is_not_a_source(void **state)
{
    static const char token[] = "{'metadata':{'generateName':'g-'},'spec':{'volumes':[{'name':'t',"
                                "'emptyDir':null,'projected':{}}]}}";
    static const char dir[] = "{'metadata':{'generateName':'g-'},'spec':{'volumes':[{'name':'t',"
                              "'emptyDir':{},'projected':{}}]}}";
    struct kobj *held[4];

    for (int i = 0; i < 3; i++)
        held[i] = fixture_object(*state, &kind_pod, token);
    held[3] = fixture_object(*state, &kind_pod, dir);
    assert_int_equal(pod_of(held[2])->volumes.n, 0);
    assert_int_equal(pod_of(held[3])->volumes.n, 1);
    for (int i = 0; i < 4; i++)
        kobj_unref(held[i]);
}

/* More workloads than the memo has room for, all alive, and gone again. */
static void test_many_workloads(void **state)
{
    enum { WORKLOADS = 1000, EACH = 3 };
    struct object_fixture *b = *state;
    struct kobj **held = xnewn0(WORKLOADS * EACH, struct kobj *);

    for (size_t i = 0; i < WORKLOADS * EACH; i++) {
        size_t w = i % WORKLOADS;
        const char *text = arena_printf(
            b->arena, "{'metadata':{'name':'p-%zu','generateName':'w%zu-','labels':{'w':'%zu'}}}",
            i, w, w);
        held[i] = fixture_object(b, &kind_pod, text);
    }
    assert_int_equal(share_count(), WORKLOADS + 1); /* all have the same, empty spec */
    for (size_t i = 0; i < WORKLOADS * EACH; i++) {
        const char *w = arena_printf(b->arena, "%zu", i % WORKLOADS);
        assert_string_equal(kstrmap_get(&held[i]->meta.labels, "w"), w);
        kobj_unref(held[i]);
    }
    free(held);
    assert_int_equal(share_count(), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(test_recognised_parts_equal_decoded_ones),
        FIXTURE_TEST(test_unknown_members_do_not_matter),
        FIXTURE_TEST(test_a_null_source_is_not_a_source),
        FIXTURE_TEST(test_many_workloads),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
