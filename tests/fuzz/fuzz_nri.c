/* fuzz_nri.c - what a runtime sends to a plugin of NRI: multiplexer, ttrpc, messages.
 *
 * Byte 0 chooses the size of the pieces, the rest is the connection. However it is cut, the same
 * answers are written; what is written are frames of the multiplexer with whole messages of ttrpc,
 * none of which starts with more than 4096 bytes. Messages that can be read come back when they are
 * written.
 */
#include "api/wire/nri.h"
#include "koordlet/runtime/nri_session.h"
#include "loop/loop.h"
#include "net/nrimux.h"
#include "net/stream.h"
#include "net/ttrpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the session ----------------------------------------------------------------------------- */

static void on_pod(void *arg, const struct nri_pod *p)
{
    (void)arg, (void)p;
}

static int on_create(void *arg, const struct nri_pod *p, const struct nri_container *c,
                     struct arena *a, struct nri_adjustment *ret, struct kerr *err)
{
    (void)arg, (void)p, (void)a, (void)err;
    ret->annotations = c->annotations; /* something of the request's own */
    return 0;
}

static int on_update(void *arg, const struct nri_pod *p, const struct nri_container *c,
                     const struct nri_resources *asked, struct arena *a, nri_updates *ret,
                     struct kerr *err)
{
    (void)arg, (void)p, (void)asked, (void)err;
    ret->items = arena_newn0(a, 1, struct nri_update);
    ret->items[ret->n++].container_id = c->id;
    return 0;
}

static void on_synchronize(void *arg, const struct nri_inventory *all, struct arena *a,
                           nri_updates *ret)
{
    (void)arg;
    ret->items = arena_newn0(a, all->ncontainers + 1, struct nri_update);
    for (size_t i = 0; i < all->ncontainers; i++)
        ret->items[ret->n++].container_id = all->containers[i]->id;
}

static void on_ready(void *arg, struct str name, struct str version)
{
    (void)arg, (void)name, (void)version;
}

static void on_closed(void *arg, const struct kerr *why)
{
    assert(why->code < 0 && why->text[0] != '\0');
    ++*(unsigned *)arg;
}

static const struct nri_handlers handlers = { on_pod,         on_pod,   on_create, on_update,
                                              on_synchronize, on_ready, on_closed };

struct peer {
    struct strbuf raw;
};

static void on_data(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct peer *)arg)->raw, p, n);
}

static void on_close(void *arg, const struct kerr *err)
{
    (void)arg, (void)err;
}

static void converse(const uint8_t *data, size_t size, size_t cut, struct strbuf *out)
{
    static const struct stream_events events = { on_data, NULL, on_close };
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    const struct nri_session_opts o = { .loop = l, .name = "n", .index = "00", .events = 141 };
    struct stream *ends[2];
    struct peer peer = { 0 };
    unsigned closed = 0;

    stream_mem_pair(l, &(struct mem_opts){ 0 }, ends);
    stream_listen(ends[0], &events, &peer);
    struct nri_session *s = nri_session_new(&o, ends[1], &handlers, &closed);
    for (size_t at = 0; at < size; at += cut) {
        stream_write(ends[0], data + at, MIN(cut, size - at));
        loop_advance(l, 0);
    }
    loop_advance(l, NSEC_PER_SEC);
    assert(closed <= 1);
    nri_session_free(s);
    stream_close(ends[0]);
    loop_advance(l, 10 * NSEC_PER_SEC);
    strbuf_appendn(out, strbuf_str(&peer.raw), peer.raw.len);
    strbuf_fini(&peer.raw);
}

/* ---- what it wrote --------------------------------------------------------------------------- */

static uint32_t u32(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;

    return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

/* A frame holds a message, or its first 4096 bytes and the next one the rest. */
static void check_frames(const struct strbuf *b)
{
    size_t at = 0;

    while (at < b->len) {
        assert(b->len - at >= NRIMUX_HEAD + TTRPC_HEAD);
        size_t n = u32(b->data + at + 4);
        size_t whole = TTRPC_HEAD + u32(b->data + at + NRIMUX_HEAD);
        assert(n == MIN(whole, (size_t)NRIMUX_FIRST_MAX));
        at += NRIMUX_HEAD + n;
        if (whole > n) {
            assert(u32(b->data + at + 4) == whole - n);
            at += NRIMUX_HEAD + whole - n;
        }
    }
    assert(at == b->len);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void check_message(const struct wire_table *t, struct str message)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(strbuf_fini) struct strbuf once = STRBUF_INIT, twice = STRBUF_INIT;
    void *m = arena_zalloc(a, t->size);
    struct kerr err = { 0 };

    if (wire_decode(t, message, a, m, &err) < 0) {
        assert(err.text[0] != '\0');
        return;
    }
    wire_encode(t, m, &once);
    int r = wire_decode(t, (struct str){ strbuf_str(&once), once.len }, a, m, &err);
    assert(r == 0);
    (void)r;
    wire_encode(t, m, &twice);
    assert(str_eq((struct str){ once.data, once.len }, (struct str){ twice.data, twice.len }));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct wire_table *const tables[] = {
        &nri_configure_request_table, &nri_synchronize_request_table, &nri_container_request_table,
        &nri_create_response_table,   &nri_update_response_table,     &nri_state_change_table,
    };
    CLEANUP(strbuf_fini) struct strbuf whole = STRBUF_INIT, cut = STRBUF_INIT;
    struct kerr err = { 0 };
    int mask;

    if (size == 0)
        return 0;
    struct str rest = { (const char *)data + 1, size - 1 };
    converse(data + 1, size - 1, MAX(size - 1, (size_t)1), &whole);
    converse(data + 1, size - 1, 1 + data[0] % 64, &cut);
    check_frames(&whole);
    assert(str_eq((struct str){ whole.data, whole.len }, (struct str){ cut.data, cut.len }));
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        check_message(tables[i], rest);
    if (nri_events_parse(rest, 141, &mask, &err) == 0)
        assert(mask > 0 && (mask & ~141) == 0);
    else
        assert(err.text[0] != '\0');
    return 0;
}
