/* gzip.c - gzip as a stream, on zlib. */
#include "net/gzip.h"

#include <zlib.h>

enum {
    GZIP_HEADER = 16,    /* zlib: add to the window bits for gzip instead of zlib framing */
    DEFLATE_LEVEL = 4,   /* what kube-apiserver uses */
    DEFLATE_WINDOW = 14, /* with memory level 7: 128 KiB a stream instead of 256 */
    DEFLATE_MEMORY = 7,
    STEP = 16 * 1024,
};

struct gunzip {
    z_stream z;
    uint64_t max_out, total_out;
    bool started, at_end; /* at_end: between two members */
};

struct gunzip *gunzip_new(uint64_t max_out)
{
    struct gunzip *g = xnew0(struct gunzip);

    g->max_out = max_out;
    if (inflateInit2(&g->z, MAX_WBITS + GZIP_HEADER) != Z_OK)
        abort(); /* only for lack of memory */
    return g;
}

struct gunzip *gunzip_free(struct gunzip *g)
{
    if (!g)
        return NULL;
    inflateEnd(&g->z);
    free(g);
    return NULL;
}

static int gunzip_bad(const struct gunzip *g, struct kerr *err)
{
    return kerr_set(err, -EPROTO, "gzip: %s", g->z.msg ? g->z.msg : "bad data");
}

ssize_t gunzip_step(struct gunzip *g, const char **p, size_t *n, char *out, size_t cap,
                    struct kerr *err)
{
    size_t room = cap;

    while (room > 0) {
        if (g->at_end) { /* members may follow each other, as gzip(1) reads them */
            if (*n == 0)
                break;
            inflateReset(&g->z);
            g->at_end = false;
        }
        uInt in = (uInt)MIN(*n, (size_t)INT32_MAX), space = (uInt)MIN(room, (size_t)INT32_MAX);
        g->z.next_in = (Bytef *)(uintptr_t)*p;
        g->z.avail_in = in;
        g->z.next_out = (Bytef *)out + (cap - room);
        g->z.avail_out = space;
        g->started |= in > 0;
        int r = inflate(&g->z, Z_NO_FLUSH);
        *p += in - g->z.avail_in;
        *n -= in - g->z.avail_in;
        room -= space - g->z.avail_out;
        g->total_out += space - g->z.avail_out;
        if (g->max_out && g->total_out > g->max_out)
            return kerr_set(err, -EMSGSIZE, "unpacked body is larger than %llu bytes",
                            (unsigned long long)g->max_out);
        if (r == Z_STREAM_END)
            g->at_end = true;
        else if (r == Z_BUF_ERROR)
            break; /* no progress without more input */
        else if (r != Z_OK)
            return gunzip_bad(g, err);
    }
    return (ssize_t)(cap - room);
}

bool gunzip_complete(const struct gunzip *g)
{
    return g->at_end || !g->started;
}

struct gzip {
    z_stream z;
};

struct gzip *gzip_new(void)
{
    struct gzip *g = xnew0(struct gzip);

    if (deflateInit2(&g->z, DEFLATE_LEVEL, Z_DEFLATED, DEFLATE_WINDOW + GZIP_HEADER, DEFLATE_MEMORY,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        abort(); /* only for lack of memory */
    return g;
}

struct gzip *gzip_free(struct gzip *g)
{
    if (!g)
        return NULL;
    deflateEnd(&g->z);
    free(g);
    return NULL;
}

void gzip_write(struct gzip *g, const void *p, size_t n, enum gzip_flush flush, struct strbuf *b)
{
    static const int modes[] = {
        [GZIP_MORE] = Z_NO_FLUSH, [GZIP_SYNC] = Z_SYNC_FLUSH, [GZIP_END] = Z_FINISH
    };
    const char *at = p;

    do {
        uInt in = (uInt)MIN(n, (size_t)INT32_MAX);
        g->z.next_in = (Bytef *)(uintptr_t)at;
        g->z.avail_in = in;
        int mode = modes[in < n ? GZIP_MORE : flush];
        do {
            g->z.next_out = (Bytef *)strbuf_reserve(b, STEP);
            g->z.avail_out = STEP;
            int r = deflate(&g->z, mode);
            assert(r == Z_OK || r == Z_BUF_ERROR || r == Z_STREAM_END);
            b->len += STEP - g->z.avail_out;
        } while (g->z.avail_out == 0);
        at += in;
        n -= in;
    } while (n > 0);
    strbuf_truncate(b, b->len);
}
