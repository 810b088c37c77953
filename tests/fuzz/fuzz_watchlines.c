/* fuzz_watchlines.c - the framing of a watch: however the network cuts the stream, the same lines
 * come out, and a parser that works in place on one does not harm the next.
 *
 * The first two bytes choose the sizes of the pieces; the rest is the stream.
 */
#include "base/strbuf.h"
#include "client/lines.h"
#include "json/kj.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool collect(void *arg, char *line, size_t n)
{
    struct strbuf *out = arg;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    strbuf_appendf(out, "%zu:", n);
    strbuf_appendn(out, line, n);
    if (kj_parse_insitu(line, n, 0, &doc, &err) < 0)
        assert(err.text[0] != '\0');
    else
        strbuf_append(out, kj_str_or(kj_get(kj_root(doc), "type"), "-"));
    return true;
}

static int feed(const char *p, size_t n, size_t piece, struct strbuf *out, size_t *pending)
{
    struct lines l;
    int r = 0;

    lines_init(&l, 4096);
    for (size_t at = 0; at < n && r == 0; at += piece)
        r = lines_feed(&l, p + at, MIN(piece, n - at), collect, out, NULL);
    *pending = lines_pending(&l);
    lines_fini(&l);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(strbuf_fini) struct strbuf whole = STRBUF_INIT, cut = STRBUF_INIT;
    size_t left_whole, left_cut;

    if (size < 2)
        return 0;
    const char *stream = (const char *)data + 2;
    size_t n = size - 2, piece = 1 + data[0] + (size_t)data[1] * 7;
    int r1 = feed(stream, n, n ? n : 1, &whole, &left_whole);
    int r2 = feed(stream, n, piece, &cut, &left_cut);
    /* A line that is too long may be refused earlier or later, never taken. */
    assert((r1 == 0) == (r2 == 0));
    if (r1 == 0) {
        assert(whole.len == cut.len && left_whole == left_cut);
        assert(whole.len == 0 || memcmp(whole.data, cut.data, whole.len) == 0);
    }
    return 0;
}
