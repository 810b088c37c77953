/* test_ttrpc.c - NRI's multiplexer and ttrpc: known bytes, any cut, and the limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/wire_codec.h"
#include "loop/loop.h"
#include "net/nrimux.h"
#include "net/ttrpc.h"

static void put_hex(struct strbuf *out, const char *hex)
{
    for (; *hex; hex++) {
        unsigned v;
        if (*hex == ' ' || *hex == '|')
            continue;
        assert_int_equal(sscanf(hex, "%2x", &v), 1);
        strbuf_appendc(out, (char)v);
        hex++;
    }
}

/* ---- the multiplexer ------------------------------------------------------------------------- */

struct heard {
    struct strbuf of[4];
    unsigned pieces;
    unsigned stop_after;
};

static bool on_payload(void *arg, uint32_t id, const char *p, size_t n)
{
    struct heard *h = arg;

    h->pieces++;
    if (id < ARRAY_LEN(h->of))
        strbuf_appendn(&h->of[id], p, n);
    return h->stop_after == 0 || h->pieces < h->stop_after;
}

static void heard_fini(struct heard *h)
{
    for (size_t i = 0; i < ARRAY_LEN(h->of); i++)
        strbuf_fini(&h->of[i]);
}

static void test_payloads_survive_any_cut(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf in = STRBUF_INIT;

    (void)state;
    nrimux_put(&in, 1, STR("hello"));
    nrimux_put(&in, 2, STR("you"));
    put_hex(&in, "00000003 00000000"); /* an empty frame */
    nrimux_put(&in, 1, STR(" again"));
    for (size_t cut = 1; cut <= in.len; cut++) {
        struct nrimux_reader r = { 0 };
        struct heard h = { 0 };
        struct kerr err;
        for (size_t at = 0; at < in.len; at += cut)
            assert_int_equal(
                nrimux_feed(&r, in.data + at, MIN(cut, in.len - at), on_payload, &h, &err), 0);
        assert_string_equal(strbuf_str(&h.of[1]), "hello again");
        assert_string_equal(strbuf_str(&h.of[2]), "you");
        heard_fini(&h);
    }
}

static void test_frame_too_large(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf in = STRBUF_INIT;
    struct nrimux_reader r = { 0 };
    struct heard h = { 0 };
    struct kerr err;

    (void)state;
    put_hex(&in, "00000001 0040000a"); /* the largest */
    assert_int_equal(nrimux_feed(&r, in.data, in.len, on_payload, &h, &err), 0);
    r = (struct nrimux_reader){ 0 };
    strbuf_reset(&in);
    put_hex(&in, "00000001 0040000b");
    assert_int_equal(nrimux_feed(&r, in.data, in.len, on_payload, &h, &err), -EMSGSIZE);
    assert_non_null(strstr(err.text, "4194315"));
    heard_fini(&h);
}

static void test_listener_may_stop(void **state)
{
    CLEANUP(strbuf_fini) struct strbuf in = STRBUF_INIT;
    struct nrimux_reader r = { 0 };
    struct heard h = { .stop_after = 1 };
    struct kerr err;

    (void)state;
    nrimux_put(&in, 1, STR("a"));
    nrimux_put(&in, 1, STR("b"));
    assert_int_equal(nrimux_feed(&r, in.data, in.len, on_payload, &h, &err), 0);
    assert_int_equal(h.pieces, 1);
    heard_fini(&h);
}

/* Sizes of the frames in turn. */
static size_t frame_sizes(const struct strbuf *b, size_t *out, size_t max)
{
    size_t n = 0;

    for (size_t at = 0; at < b->len && n < max; n++) {
        const unsigned char *p = (const unsigned char *)b->data + at;
        out[n] = (size_t)p[4] << 24 | (size_t)p[5] << 16 | (size_t)p[6] << 8 | p[7];
        at += 8 + out[n];
    }
    return n;
}

static void test_long_message_is_two_frames(void **state)
{
    static const struct {
        size_t message, frames, sizes[2];
    } cases[] = {
        { 4096, 1, { 4096, 0 } },
        { 4097, 2, { 4096, 1 } },
        { 9010, 2, { 4096, 4914 } },
        { TTRPC_HEAD + TTRPC_DATA_MAX, 2, { 4096, TTRPC_HEAD + TTRPC_DATA_MAX - 4096 } },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
        CLEANUP(mem_free) char *message = xcalloc(1, cases[i].message);
        size_t sizes[4];
        nrimux_put(&out, 1, (struct str){ message, cases[i].message });
        assert_int_equal(frame_sizes(&out, sizes, 4), cases[i].frames);
        for (size_t k = 0; k < cases[i].frames; k++)
            assert_int_equal(sizes[k], cases[i].sizes[k]);
    }
}

/* ---- ttrpc ----------------------------------------------------------------------------------- */

struct end {
    struct loop *loop;
    struct ttrpc *t;
    struct strbuf sent; /* behind each other */
    unsigned messages;
    /* as a server */
    char service[64], method[64];
    struct strbuf payload;
    uint32_t stream;
    nsec_t timeout;
    unsigned asked;
    /* as a client */
    unsigned done;
    enum grpc_code code;
    char text[128];
    struct strbuf answer;
};

static void on_send(void *arg, struct str m)
{
    struct end *e = arg;

    e->messages++;
    strbuf_appendn(&e->sent, m.p, m.n);
}

static void on_serve(void *arg, const struct ttrpc_request *r)
{
    struct end *e = arg;

    e->asked++;
    snprintf(e->service, sizeof e->service, "%.*s", (int)r->service.n, r->service.p);
    snprintf(e->method, sizeof e->method, "%.*s", (int)r->method.n, r->method.p);
    strbuf_reset(&e->payload);
    if (r->payload.n)
        strbuf_appendn(&e->payload, r->payload.p, r->payload.n);
    e->stream = r->stream;
    e->timeout = r->timeout;
}

static void on_done(void *arg, enum grpc_code code, struct str text, struct str payload)
{
    struct end *e = arg;

    e->done++;
    e->code = code;
    snprintf(e->text, sizeof e->text, "%.*s", (int)text.n, text.n ? text.p : "");
    strbuf_reset(&e->answer);
    if (payload.n)
        strbuf_appendn(&e->answer, payload.p, payload.n);
}

static void end_init(struct end *e, struct loop *l, bool serves)
{
    *e = (struct end){ .loop = l };
    e->t = ttrpc_new(&(struct ttrpc_opts){ l, on_send, serves ? on_serve : NULL, e });
}

static void end_fini(struct end *e)
{
    ttrpc_free(e->t);
    strbuf_fini(&e->sent);
    strbuf_fini(&e->payload);
    strbuf_fini(&e->answer);
}

/* What one end sent, to the other, in pieces. */
static void carry(struct end *from, struct end *to, size_t cut)
{
    for (size_t at = 0; at < from->sent.len; at += cut)
        ttrpc_feed(to->t, from->sent.data + at, MIN(cut, from->sent.len - at));
    strbuf_reset(&from->sent);
}

static void assert_hex(const struct strbuf *is, const char *hex)
{
    CLEANUP(strbuf_fini) struct strbuf want = STRBUF_INIT;

    put_hex(&want, hex);
    assert_int_equal(is->len, want.len);
    assert_memory_equal(is->data, want.data, want.len);
}

static void test_call_and_answer_in_any_cut(void **state)
{
    (void)state;
    for (size_t cut = 1; cut < 40; cut++) {
        CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
        struct end client, server;
        end_init(&client, l, false);
        end_init(&server, l, true);
        ttrpc_call(
            client.t,
            &(struct ttrpc_request){
                .service = STR("s"), .method = STR("m"), .payload = STR("in"), .timeout = 7 },
            on_done, &client);
        carry(&client, &server, cut);
        assert_int_equal(server.asked, 1);
        assert_string_equal(server.service, "s");
        assert_string_equal(server.method, "m");
        assert_string_equal(strbuf_str(&server.payload), "in");
        assert_int_equal(server.timeout, 7);
        ttrpc_reply(server.t, server.stream, STR("out"));
        carry(&server, &client, cut);
        assert_int_equal(client.done, 1);
        assert_int_equal(client.code, GRPC_OK);
        assert_string_equal(strbuf_str(&client.answer), "out");
        end_fini(&client);
        end_fini(&server);
    }
}

static void test_known_bytes(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct end e;

    (void)state;
    end_init(&e, l, false);
    ttrpc_call(e.t,
               &(struct ttrpc_request){ .service = STR("nri.pkg.api.v1alpha1.Runtime"),
                                        .method = STR("RegisterPlugin"),
                                        .payload = STR("\x0a\x0ckoordlet_nri\x12\x02"
                                                       "00"),
                                        .timeout = 5 * NSEC_PER_SEC },
               on_done, &e);
    assert_hex(&e.sent,
               "00000048 00000001 01 00 | 0a1c 6e72692e706b672e6170692e7631616c706861312e52756e74"
               "696d65 120e 5265676973746572506c7567696e 1a12 0a0c 6b6f6f72646c65745f6e7269 1202 "
               "3030 20 80e497d012");
    end_fini(&e);
    end_init(&e, l, true);
    ttrpc_reply(e.t, 1, STR("\x10\x8d\x01"));
    assert_hex(&e.sent, "00000005 00000001 02 00 | 1203 108d01");
    end_fini(&e);
}

static void test_streams_are_odd_and_rise(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct end e;

    (void)state;
    end_init(&e, l, true);
    struct strbuf in = STRBUF_INIT;
    put_hex(&in, "00000000 00000002 01 00"); /* even */
    put_hex(&in, "00000000 00000005 01 00");
    put_hex(&in, "00000000 00000005 01 00"); /* used */
    put_hex(&in, "00000000 00000003 01 00"); /* below */
    put_hex(&in, "00000000 00000007 03 00"); /* data: nobody's */
    put_hex(&in, "00000000 00000007 01 00");
    ttrpc_feed(e.t, in.data, in.len);
    assert_int_equal(e.asked, 2);
    assert_int_equal(e.stream, 7);
    assert_int_equal(e.messages, 3); /* the refusals */
    assert_int_equal(((unsigned char *)e.sent.data)[7], 2);
    strbuf_fini(&in);
    end_fini(&e);
}

static void test_refusals(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct end client, server;

    (void)state;
    end_init(&client, l, false);
    end_init(&server, l, true);
    ttrpc_call(client.t, &(struct ttrpc_request){ .service = STR("s"), .method = STR("m") },
               on_done, &client);
    carry(&client, &server, 100);
    ttrpc_fail(server.t, server.stream, GRPC_UNIMPLEMENTED, "method %s", "m");
    carry(&server, &client, 100);
    assert_int_equal(client.code, GRPC_UNIMPLEMENTED);
    assert_string_equal(client.text, "method m");
    /* One that serves nothing says so. */
    ttrpc_call(server.t, &(struct ttrpc_request){ .service = STR("s"), .method = STR("m") },
               on_done, &server);
    carry(&server, &client, 100);
    carry(&client, &server, 100);
    assert_int_equal(server.code, GRPC_UNIMPLEMENTED);
    assert_string_equal(server.text, "service s");
    end_fini(&client);
    end_fini(&server);
}

static void test_call_times_out_once(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct end client, server;

    (void)state;
    end_init(&client, l, false);
    end_init(&server, l, true);
    ttrpc_call(client.t,
               &(struct ttrpc_request){
                   .service = STR("s"), .method = STR("m"), .timeout = 2 * NSEC_PER_SEC },
               on_done, &client);
    carry(&client, &server, 100);
    loop_advance(l, 2 * NSEC_PER_SEC - 1);
    assert_int_equal(client.done, 0);
    loop_advance(l, 1);
    assert_int_equal(client.done, 1);
    assert_int_equal(client.code, GRPC_DEADLINE_EXCEEDED);
    ttrpc_reply(server.t, server.stream, STR("late"));
    carry(&server, &client, 100);
    assert_int_equal(client.done, 1);
    end_fini(&client);
    end_fini(&server);
}

/* The rest of such a message is passed over, and the next one is read. */
static void test_oversized_message_is_refused_and_skipped(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    CLEANUP(strbuf_fini) struct strbuf in = STRBUF_INIT;
    struct end e;
    size_t n = TTRPC_DATA_MAX + 1;
    CLEANUP(mem_free) char *junk = xcalloc(1, n);

    (void)state;
    end_init(&e, l, true);
    put_hex(&in, "00400001 00000001 01 00");
    strbuf_appendn(&in, junk, n);
    put_hex(&in, "00000000 00000003 01 00");
    for (size_t at = 0; at < in.len; at += 65536)
        ttrpc_feed(e.t, in.data + at, MIN((size_t)65536, in.len - at));
    assert_int_equal(e.messages, 1);
    assert_int_equal(e.asked, 1);
    assert_int_equal(e.stream, 3);
    end_fini(&e);
}

static void test_own_request_too_large(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    CLEANUP(mem_free) char *junk = xcalloc(1, TTRPC_DATA_MAX);
    struct end e;

    (void)state;
    end_init(&e, l, false);
    ttrpc_call(e.t, &(struct ttrpc_request){ .payload = { junk, TTRPC_DATA_MAX } }, on_done, &e);
    assert_int_equal(e.messages, 0);
    loop_advance(l, 0);
    assert_int_equal(e.code, GRPC_RESOURCE_EXHAUSTED);
    end_fini(&e);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_payloads_survive_any_cut),
        cmocka_unit_test(test_frame_too_large),
        cmocka_unit_test(test_listener_may_stop),
        cmocka_unit_test(test_long_message_is_two_frames),
        cmocka_unit_test(test_call_and_answer_in_any_cut),
        cmocka_unit_test(test_known_bytes),
        cmocka_unit_test(test_streams_are_odd_and_rise),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_call_times_out_once),
        cmocka_unit_test(test_oversized_message_is_refused_and_skipped),
        cmocka_unit_test(test_own_request_too_large),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
