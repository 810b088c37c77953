/* fuzz_audit.c - the audit log as it may be found on disk, read backwards page by page.
 *
 * Byte 0 tells the size of a page, byte 1 the form of the answer, the rest is the file. The pages
 * together are the lines that are JSON, the last first.
 */
#include "base/arena.h"
#include "component/metrics.h"
#include "koordlet/audit/audit_int.h"
#include "koordlet/test/http_get.h"
#include "tempdir.h"
#include "json/kj.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILE_MAX = 32 << 10, PAGE_MIN = 16 }; /* no line is too long */

static bool is_json(const struct http_get *k)
{
    return streq(k->accept, "application/json");
}

static void ask(struct http_get *k, unsigned page)
{
    char target[128];

    snprintf(target, sizeof target, "/events?size=%u&pageToken=%s", page, k->token);
    http_get_path(k, target);
    assert(k->ended && k->status == 200);
}

/* The events of a JSON answer, each on a line; its token. */
static void take_json(struct http_get *k, struct strbuf *out)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err;
    int r = kj_parse(k->body.data, k->body.len, 0, &doc, &err);

    assert(r == 0);
    (void)r;
    const struct kj_val *events = kj_get(kj_root(doc), "Events");
    for (size_t i = 0; i < kj_len(events); i++) {
        kj_write(kj_at(events, i), 0, out);
        strbuf_appendc(out, '\n');
    }
    snprintf(k->token, sizeof k->token, "%s",
             kj_str_or(kj_get(kj_root(doc), "NextPageToken"), "?"));
}

/* The line as it is answered, or nothing when it is none. */
static void expect_line(struct str line, bool json, struct strbuf *out)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (line.n == 0 || kj_parse(line.p, line.n, 0, &doc, NULL) < 0)
        return;
    if (json)
        kj_write(kj_root(doc), 0, out);
    else
        strbuf_appendn(out, line.p, line.n);
    strbuf_appendc(out, '\n');
}

static void expect_file(struct str file, bool json, struct strbuf *out)
{
    while (file.n > 0) {
        const char *nl = memrchr(file.p, '\n', file.n);
        size_t from = nl ? (size_t)(nl - file.p) + 1 : 0;

        expect_line((struct str){ file.p + from, file.n - from }, json, out);
        file.n = nl ? from - 1 : 0;
    }
}

static void read_pages(struct http_get *k, unsigned page, struct strbuf *out)
{
    do {
        ask(k, page);
        if (is_json(k))
            take_json(k, out);
        else if (k->body.len > 0)
            strbuf_appendn(out, k->body.data, k->body.len);
    } while (k->token[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(strbuf_fini) struct strbuf got = STRBUF_INIT, want = STRBUF_INIT;
    struct audit *a = NULL;
    struct kerr err;

    tempdir_make();
    if (size < 2 || size > FILE_MAX)
        return 0;
    struct loop *l = loop_new_virtual(0, 1);
    struct metrics *m = metrics_new();
    struct http_get k;
    const struct audit_options o = { tempdir, 3, 16, 4, 2048 };
    struct str file = { (const char *)data + 2, size - 2 };

    tempdir_write(AUDIT_FILE, file.p, file.n);
    if (audit_new(l, &o, m, &a, &err) < 0)
        abort();
    http_get_init(&k, l, audit_serve, a);
    k.accept = data[1] & 1 ? "application/json" : "text/plain";
    read_pages(&k, PAGE_MIN + data[0], &got);
    expect_file(file, is_json(&k), &want);
    assert(got.len == want.len && (got.len == 0 || memcmp(got.data, want.data, got.len) == 0));
    http_get_fini(&k);
    audit_free(a);
    metrics_free(m);
    loop_free(l);
    return 0;
}
