/* fuzz_listsplit.c - the kubelet's list of pods, cut into items while it arrives.
 *
 * The first byte chooses the size of the pieces, the rest is the text. However it is cut, the same
 * items come out. What a parser takes for a list of objects is one, with the same items. An item is
 * decoded as a pod or refused with a reason, and nothing is left behind.
 */
#include "base/intern.h"
#include "koordlet/states/listsplit.h"
#include "koordlet/states/podset.h"
#include "json/kj.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct kj_scratch *scratch; /* of this input */

static void decode(const struct kj_val *v)
{
    struct npod *p = NULL;
    struct kerr err = { 0 };

    if (npod_decode(v, 1, CGROUP_CGROUPFS, scratch, &p, &err) < 0) {
        assert(err.code < 0 && err.text[0] && !p);
        return;
    }
    assert(p->uid[0] && !strchr(p->uid, '/') && p->cgroup_dir[0]);
    for (uint32_t i = 0; i < p->ncontainers; i++)
        assert(p->containers[i].id[0] &&
               (!p->containers[i].dir || !strchr(p->containers[i].dir, '/')));
    npod_unref(p);
}

static int keep(void *arg, char *text, size_t n, struct kerr *err)
{
    struct strbuf *out = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    (void)err;
    assert(n >= 2 && text[0] == '{' && (text[n - 1] == '}' || text[n - 1] == ']'));
    strbuf_appendf(out, "%zu:", n);
    strbuf_appendn(out, text, n);
    if (kj_parse_insitu(text, n, 0, &doc, NULL) == 0)
        decode(kj_root(doc));
    return 0;
}

static int feed(const char *p, size_t n, size_t piece, struct strbuf *out, uint32_t *ret_items)
{
    struct listsplit c = { 0 };
    struct kerr err = { 0 };
    int r = 0;

    for (size_t at = 0; at < n && r == 0; at += piece)
        r = listsplit_feed(&c, p + at, MIN(piece, n - at), keep, out, &err);
    if (r == 0)
        r = listsplit_end(&c, &err);
    assert(r == 0 || (r == err.code && err.text[0]));
    *ret_items = c.items;
    listsplit_fini(&c);
    return r;
}

/* Escaped or repeated names are for the parser alone. */
static bool is_simple(const char *p, size_t n)
{
    const char *first = memmem(p, n, "\"items\"", 7);

    return !memchr(p, '\\', n) && first &&
           !memmem(first + 7, n - (size_t)(first + 7 - p), "\"items\"", 7);
}

static void check_parser(const char *p, size_t n, int r, uint32_t items)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (!is_simple(p, n) || kj_parse(p, n, 0, &doc, NULL) < 0)
        return;
    const struct kj_val *list = kj_get(kj_root(doc), "items");
    if (kj_type(kj_root(doc)) != KJ_OBJ || kj_type(list) != KJ_ARR)
        return;
    for (size_t i = 0; i < kj_len(list); i++)
        if (kj_type(kj_at(list, i)) != KJ_OBJ) {
            assert(r < 0);
            return;
        }
    assert(r == 0 && items == kj_len(list));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(strbuf_fini) struct strbuf whole = STRBUF_INIT, cut = STRBUF_INIT;
    uint32_t items, items_cut;

    if (size < 1)
        return 0;
    struct intern *strings = intern_new();
    scratch = kj_scratch_new(strings);
    const char *p = (const char *)data + 1;
    size_t n = size - 1;
    int r = feed(p, n, n ? n : 1, &whole, &items);
    int r_cut = feed(p, n, 1 + data[0] % 32, &cut, &items_cut);
    assert(r == r_cut && items == items_cut && whole.len == cut.len);
    assert(whole.len == 0 || memcmp(whole.data, cut.data, whole.len) == 0);
    check_parser(p, n, r, items);
    scratch = kj_scratch_free(scratch);
    assert(intern_count(strings) == 0); /* every pod gave its strings back */
    intern_free(strings);
    return 0;
}
