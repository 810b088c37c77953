/* nrimux.c - frames of NRI's multiplexer. */
#include "net/nrimux.h"

static uint32_t get_u32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void put_u32(struct strbuf *out, uint32_t v)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        strbuf_appendc(out, (char)(v >> shift));
}

int nrimux_feed(struct nrimux_reader *r, const char *p, size_t n, nrimux_fn fn, void *arg,
                struct kerr *err)
{
    while (n > 0) {
        if (r->have < NRIMUX_HEAD) {
            r->head[r->have++] = (unsigned char)*p++;
            n--;
            if (r->have < NRIMUX_HEAD)
                continue;
            r->id = get_u32(r->head);
            r->left = get_u32(r->head + 4);
            if (r->left > NRIMUX_PAYLOAD_MAX)
                return kerr_set(err, -EMSGSIZE, "a frame of %u bytes; at most %d are taken",
                                r->left, NRIMUX_PAYLOAD_MAX);
        }
        size_t now = MIN(n, (size_t)r->left);
        r->left -= (uint32_t)now;
        if (r->left == 0)
            r->have = 0;
        if (now > 0 && !fn(arg, r->id, p, now))
            return 0;
        p += now;
        n -= now;
    }
    return 0;
}

static void put_frame(struct strbuf *out, uint32_t id, struct str payload)
{
    put_u32(out, id);
    put_u32(out, (uint32_t)payload.n);
    strbuf_appendn(out, payload.p, payload.n);
}

void nrimux_put(struct strbuf *out, uint32_t id, struct str message)
{
    size_t first = MIN(message.n, (size_t)NRIMUX_FIRST_MAX);

    assert(message.n > 0 && message.n - first <= NRIMUX_PAYLOAD_MAX);
    put_frame(out, id, (struct str){ message.p, first });
    if (message.n > first)
        put_frame(out, id, (struct str){ message.p + first, message.n - first });
}
