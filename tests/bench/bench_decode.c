/* bench_decode.c - JSON to typed pods: speed beside bare yyjson, and memory of a full cache.
 *
 * Prints one JSON object. The cache is filled through the product's informer, from a transport that
 * makes up the pages as they are asked for: nothing but the pages in hand is ever kept as text.
 */
#include <malloc.h>
#include <stdio.h>
#include <time.h>
#include <yyjson.h>

#include "api/pod.h"
#include "base/intern.h"
#include "client/informer.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "net/http.h"
#include "podgen.h"
#include "json/kj.h"

enum { PAGE = 500, ROUNDS = 40 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void make_page(struct strbuf *out, unsigned first, unsigned n, unsigned total)
{
    strbuf_reset(out);
    strbuf_append(out, "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[");
    for (unsigned i = 0; i < n; i++) {
        if (i)
            strbuf_appendc(out, ',');
        podgen_json(out, first + i);
    }
    strbuf_append(out, "],\"metadata\":{\"resourceVersion\":\"1000000\"");
    if (first + n < total)
        strbuf_appendf(out, ",\"continue\":\"%u\"", first + n);
    strbuf_append(out, "}}");
}

/* ---- speed --------------------------------------------------------------------------------------
 */

static double typed_seconds(const struct strbuf *page, struct kj_scratch *scratch)
{
    const struct kind *pods = kind_find("pods");
    CLEANUP(mem_free) char *text = xmalloc(page->len + KJ_PADDING);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kobj *objs[PAGE];
    struct kj_iter it;
    const struct kj_val *item;
    struct str key;
    struct kerr err = { 0 };
    size_t n = 0;

    memcpy(text, page->data, page->len);
    double t0 = now_s();
    int r = kj_parse_insitu(text, page->len, 0, &doc, &err);
    assert(r == 0);
    (void)r;
    it = kj_iter(kj_get(kj_root(doc), "items"));
    while (kj_next(&it, &key, &item)) {
        r = kobj_decode(pods, item, scratch, &objs[n++], &err);
        assert(r == 0);
    }
    double t = now_s() - t0;
    assert(n == PAGE);
    while (n > 0)
        kobj_unref(objs[--n]);
    return t;
}

static double bare_seconds(const struct strbuf *page)
{
    double t0 = now_s();
    yyjson_doc *doc = yyjson_read(page->data, page->len, 0);
    double t = now_s() - t0;
    assert(doc);
    yyjson_doc_free(doc);
    return t;
}

static void measure_speed(void)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(strings);
    CLEANUP(strbuf_fini) struct strbuf page = STRBUF_INIT;
    double typed = 0, bare = 0, bytes = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        make_page(&page, i * PAGE, PAGE, UINT32_MAX);
        double b = bare_seconds(&page), t = typed_seconds(&page, scratch);
        if (i < 2)
            continue; /* warm caches for both */
        bare += b;
        typed += t;
        bytes += (double)page.len;
    }
    printf("\"decode_mb_s\": %.1f, \"yyjson_mb_s\": %.1f, \"json_bytes_per_pod\": %.0f",
           bytes / typed / 1e6, bytes / bare / 1e6, bytes / (ROUNDS - 2) / PAGE);
}

/* ---- memory -------------------------------------------------------------------------------------
 */

struct feed {
    struct http http;
    struct loop *loop;
    unsigned total;
    struct strbuf page;
};
struct feed_call {
    struct http_call head;
    struct feed *feed;
    const struct http_handler *on;
    void *arg;
    unsigned first;
};

static void feed_answer(struct loop *l, void *arg)
{
    struct feed_call c = *(struct feed_call *)arg;
    struct http_resp ok = { .status = 200 };
    (void)l;
    free(arg);
    unsigned n = MIN((unsigned)PAGE, c.feed->total - c.first);
    make_page(&c.feed->page, c.first, n, c.feed->total);
    c.on->on_headers(c.arg, &ok);
    c.on->on_data(c.arg, c.feed->page.data, c.feed->page.len);
    c.on->on_end(c.arg, NULL, true);
}

static struct http_call *feed_send(struct http *h, const struct http_req *r,
                                   const struct http_handler *on, void *arg)
{
    struct feed *f = container_of(h, struct feed, http);
    struct feed_call *c = xnew0(struct feed_call);
    const char *at = strstr(r->target, "continue=");

    c->head.ops = h->ops;
    c->feed = f;
    c->on = on;
    c->arg = arg;
    c->first = at ? (unsigned)strtoul(at + 9, NULL, 10) : 0;
    if (!strstr(r->target, "watch=1"))
        loop_post(f->loop, feed_answer, c);
    return &c->head;
}

static void feed_cancel(struct http_call *c)
{
    free(container_of(c, struct feed_call, head));
}

static const struct http_ops feed_ops = { .send = feed_send, .cancel = feed_cancel };

static void measure_cache(unsigned total)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    CLEANUP(intern_free) struct intern *strings = intern_new();
    struct feed f = { .http = { &feed_ops }, .loop = l, .total = total };
    struct kube *kube = kube_http_over(l, strings, &f.http);
    struct informer_opts o = { .kind = kind_find("pods") };

    malloc_trim(0);
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    struct informer *inf = informer_new(kube, &o);
    informer_start(inf);
    while (!informer_synced(inf))
        loop_advance(l, NSEC_PER_MSEC);
    strbuf_fini(&f.page);
    size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
    assert(informer_count(inf) == total);
    printf(", \"cache_pods\": %u, \"bytes_per_pod\": %.0f, \"block_bytes_per_pod\": %.0f, "
           "\"string_table_bytes\": %zu",
           total, (double)(after - before) / total, (double)informer_stats(inf).bytes / total,
           intern_bytes(strings));
    informer_free(inf);
    kube_free(kube);
}

int main(int argc, char **argv)
{
    unsigned pods = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 150000;
    printf("{");
    measure_speed();
    measure_cache(pods);
    printf("}\n");
    return 0;
}
