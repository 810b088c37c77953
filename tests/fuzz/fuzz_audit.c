/* fuzz_audit.c - the audit log as it may be found on disk, read backwards page by page.
 *
 * Byte 0 tells the size of a page, byte 1 the form of the answer, the rest is the file. The pages
 * together are the lines that are JSON, the last first.
 */
#include "base/arena.h"
#include "component/metrics.h"
#include "koordlet/audit/audit_int.h"
#include "loop/loop.h"
#include "net/httpd.h"
#include "net/stream.h"
#include "tempdir.h"
#include "json/kj.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILE_MAX = 32 << 10, PAGE_MIN = 16 }; /* no line is too long */

struct bed {
    struct loop *l;
    struct httpd *d;
    struct http *client;
    bool json;
    /* of the page that was asked for last */
    struct strbuf body;
    char token[64];
    int status;
    bool ended;
};
struct dialing {
    struct bed *b;
    http_dialed_fn fn;
    void *arg;
};

static void dial_now(struct loop *l, void *arg)
{
    struct dialing d = *(struct dialing *)arg;
    struct stream *ends[2];

    free(arg);
    stream_mem_pair(l, &(struct mem_opts){ 0 }, ends);
    httpd_serve(d.b->d, ends[0], "memory");
    d.fn(d.arg, ends[1], NULL);
}

static void dial_later(void *b, struct loop *l, http_dialed_fn fn, void *arg)
{
    struct dialing *d = xnew0(struct dialing);

    *d = (struct dialing){ b, fn, arg };
    loop_post(l, dial_now, d);
}

static void on_headers(void *arg, const struct http_resp *r)
{
    struct bed *b = arg;
    struct str token = http_header_get(&r->headers, "next-page-token");

    b->status = r->status;
    snprintf(b->token, sizeof b->token, "%.*s", (int)token.n, token.n ? token.p : "");
}

static void on_data(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct bed *)arg)->body, p, n);
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    (void)sent;
    assert(!err);
    ((struct bed *)arg)->ended = true;
}

static void ask(struct bed *b, unsigned page)
{
    static const struct http_handler on = { .on_headers = on_headers,
                                            .on_data = on_data,
                                            .on_end = on_end };
    const struct http_header accept = { STR("accept"),
                                        b->json ? STR("application/json") : STR("text/plain") };
    char target[128];

    snprintf(target, sizeof target, "/events?size=%u&pageToken=%s", page, b->token);
    strbuf_reset(&b->body);
    b->ended = false;
    http_send(b->client,
              &(struct http_req){ .method = "GET", .target = target, .headers = { &accept, 1 } },
              &on, b);
    loop_advance(b->l, NSEC_PER_SEC);
    assert(b->ended && b->status == 200);
}

/* The events of a JSON answer, each on a line; its token. */
static void take_json(struct bed *b, struct strbuf *out)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err;
    int r = kj_parse(b->body.data, b->body.len, 0, &doc, &err);

    assert(r == 0);
    (void)r;
    const struct kj_val *events = kj_get(kj_root(doc), "Events");
    for (size_t i = 0; i < kj_len(events); i++) {
        kj_write(kj_at(events, i), 0, out);
        strbuf_appendc(out, '\n');
    }
    snprintf(b->token, sizeof b->token, "%s",
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

static void read_pages(struct bed *b, unsigned page, struct strbuf *out)
{
    do {
        ask(b, page);
        if (b->json)
            take_json(b, out);
        else if (b->body.len > 0)
            strbuf_appendn(out, b->body.data, b->body.len);
    } while (b->token[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(strbuf_fini) struct strbuf got = STRBUF_INIT, want = STRBUF_INIT;
    struct audit *a = NULL;
    struct kerr err;

    tempdir_make();
    if (size < 2 || size > FILE_MAX)
        return 0;
    struct bed b = { .l = loop_new_virtual(0, 1), .json = data[1] & 1 };
    struct metrics *m = metrics_new();
    const struct audit_options o = { tempdir, 3, 16, 4, 2048 };
    struct str file = { (const char *)data + 2, size - 2 };

    tempdir_write(AUDIT_FILE, file.p, file.n);
    if (audit_new(b.l, &o, m, &a, &err) < 0)
        abort();
    b.d = httpd_new(b.l, NULL, audit_serve, a);
    b.client = http_client_new(
        b.l, &(struct http_client_opts){ .host = "x", .dial = dial_later, .dial_arg = &b });
    read_pages(&b, PAGE_MIN + data[0], &got);
    expect_file(file, b.json, &want);
    assert(got.len == want.len && (got.len == 0 || memcmp(got.data, want.data, got.len) == 0));
    http_free(b.client);
    httpd_free(b.d);
    loop_advance(b.l, NSEC_PER_SEC);
    audit_free(a);
    metrics_free(m);
    strbuf_fini(&b.body);
    loop_free(b.l);
    return 0;
}
