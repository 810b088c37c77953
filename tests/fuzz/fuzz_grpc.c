/* fuzz_grpc.c - gRPC's frames and texts, and protobuf's fields.
 *
 * Byte 0 chooses the size of the pieces, the rest is the stream. However it is cut, the same
 * messages come out and the same verdict; a refusal says why. Messages are whole fields or no
 * message at all, and fields put together again are the message. Status texts survive.
 */
#include "base/wire.h"
#include "net/grpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MESSAGE_MAX = 1000 };

static void check_wire(struct str message)
{
    CLEANUP(strbuf_fini) struct strbuf raw = STRBUF_INIT, again = STRBUF_INIT;
    struct wire_field f, g;
    struct str rest = message;
    int r;

    while ((r = wire_next(&rest, &f)) > 0) {
        assert(f.num > 0 && f.num <= WIRE_NUM_MAX && f.raw.n >= 2);
        assert(f.raw.p + f.raw.n == rest.p);
        strbuf_appendn(&raw, f.raw.p, f.raw.n);
        if (f.type != WIRE_VARINT && f.type != WIRE_BYTES)
            continue;
        strbuf_reset(&again);
        if (f.type == WIRE_VARINT)
            wire_put_varint(&again, f.num, f.value);
        else
            wire_put_bytes(&again, f.num, f.bytes);
        struct str one = { again.data, again.len };
        int same = wire_next(&one, &g);
        assert(same == 1 && one.n == 0 && g.num == f.num && g.value == f.value);
        assert(str_eq(g.bytes, f.bytes) && again.len <= f.raw.n); /* ours is the shortest */
        (void)same;
    }
    assert(wire_valid(message) == (r == 0));
    assert(r != 0 || str_eq((struct str){ raw.data, raw.len }, message));
}

static bool keep(void *arg, struct str message)
{
    struct strbuf *out = arg;

    assert(message.n <= MESSAGE_MAX);
    strbuf_appendf(out, "%zu:", message.n);
    strbuf_appendn(out, message.n ? message.p : "", message.n);
    check_wire(message);
    return true;
}

static int feed(const char *p, size_t n, size_t piece, struct strbuf *out, size_t *left)
{
    struct grpc_reader in = { .max = MESSAGE_MAX };
    struct kerr err = { 0 };
    int r = 0;

    for (size_t at = 0; at < n && r == 0; at += piece)
        r = grpc_reader_feed(&in, p + at, MIN(piece, n - at), keep, out, &err);
    assert(r == 0 || (r == err.code && err.text[0]));
    *left = in.buf.len;
    strbuf_fini(&in.buf);
    return r;
}

static void check_texts(struct str text)
{
    CLEANUP(strbuf_fini) struct strbuf plain = STRBUF_INIT, wire = STRBUF_INIT, back = STRBUF_INIT;
    char timeout[16];

    grpc_text_decode(text, &plain);
    text.n = MIN(text.n, (size_t)GRPC_TEXT_MAX);
    grpc_text_encode(text, &wire);
    for (size_t i = 0; i < wire.len; i++)
        assert(wire.data[i] >= ' ' && wire.data[i] <= '~');
    grpc_text_decode((struct str){ strbuf_str(&wire), wire.len }, &back);
    assert(str_eq((struct str){ back.data, back.len }, text));
    nsec_t t = grpc_timeout_parse(text);
    assert(t >= 0);
    grpc_timeout_format(t, timeout);
    assert(grpc_timeout_parse(str_of(timeout)) <= t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(strbuf_fini) struct strbuf whole = STRBUF_INIT, cut = STRBUF_INIT;
    size_t left_whole, left_cut;

    if (size < 1)
        return 0;
    const char *p = (const char *)data + 1;
    size_t n = size - 1;
    int r1 = feed(p, n, n ? n : 1, &whole, &left_whole);
    int r2 = feed(p, n, 1 + data[0] % 16, &cut, &left_cut);
    assert(r1 == r2 && whole.len == cut.len);
    assert(whole.len == 0 || memcmp(whole.data, cut.data, whole.len) == 0);
    assert(r1 < 0 || left_whole == left_cut);
    check_wire((struct str){ p, n });
    check_texts((struct str){ p, n });
    return 0;
}
