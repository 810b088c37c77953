/* test_stream_mem.c - memory streams: order, delay, pieces, pauses and every way to end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "loop/loop.h"
#include "net/stream.h"

enum act { ACT_NONE, ACT_CLOSE, ACT_BREAK, ACT_PAUSE, ACT_CLOSE_PEER };

struct end {
    struct stream *s;
    struct end *other;
    struct strbuf got;
    int pieces, drains, closes, eofs, err;
    enum act act; /* at the first data */
};

static void end_data(void *arg, const char *p, size_t n)
{
    struct end *e = arg;

    e->pieces++;
    strbuf_appendn(&e->got, p, n);
    if (e->act == ACT_CLOSE)
        e->s = stream_close(e->s);
    else if (e->act == ACT_BREAK)
        stream_mem_break(e->s, -EPIPE, "in the middle");
    else if (e->act == ACT_PAUSE)
        stream_pause(e->s, true);
    else if (e->act == ACT_CLOSE_PEER)
        e->other->s = stream_close(e->other->s);
}

static void end_drain(void *arg)
{
    ((struct end *)arg)->drains++;
}

static void end_close(void *arg, const struct kerr *err)
{
    struct end *e = arg;

    e->closes++;
    e->err = err ? err->code : 0;
    if (e->act == ACT_CLOSE)
        e->s = stream_close(e->s);
}

static const struct stream_events end_events = { end_data, end_drain, end_close };

static void end_eof(void *arg)
{
    ((struct end *)arg)->eofs++;
}

static const struct stream_events half_events = { end_data, end_drain, end_close, end_eof };

struct pair {
    struct loop *l;
    struct end a, b;
};

static void pair_open(struct pair *p, const struct mem_opts *o)
{
    struct stream *ends[2];

    *p = (struct pair){ .l = loop_new_virtual(0, 1) };
    stream_mem_pair(p->l, o, ends);
    p->a.s = ends[0];
    p->b.s = ends[1];
    p->a.other = &p->b;
    p->b.other = &p->a;
    stream_listen(p->a.s, &end_events, &p->a);
    stream_listen(p->b.s, &end_events, &p->b);
}

static inline void pair_fini_p(struct pair *p)
{
    stream_close(p->a.s);
    stream_close(p->b.s);
    strbuf_fini(&p->a.got);
    strbuf_fini(&p->b.got);
    loop_free(p->l);
}

static void test_latency_and_pieces(void **state)
{
    CLEANUP(pair_fini) struct pair p;

    (void)state;
    pair_open(&p, &(struct mem_opts){ .latency = 10, .chunk = 3 });
    stream_write(p.a.s, "hello", 5);
    loop_advance(p.l, 4);
    stream_write(p.a.s, "later", 5);
    loop_advance(p.l, 5);
    assert_int_equal(p.b.got.len, 0);
    assert_int_equal(stream_queued(p.a.s), 10);
    loop_advance(p.l, 1);
    assert_string_equal(strbuf_str(&p.b.got), "hello");
    assert_int_equal(p.b.pieces, 2);
    p.a.s = stream_close(p.a.s);
    loop_advance(p.l, 4);
    assert_string_equal(strbuf_str(&p.b.got), "hellolater");
    assert_int_equal(p.b.closes, 0);
    loop_advance(p.l, 10);
    assert_int_equal(p.b.closes, 1);
    assert_int_equal(p.b.err, 0);
    stream_write(p.b.s, "nobody", 6); /* no harm */
    assert_int_equal(stream_queued(p.b.s), 0);
}

static void test_data_waits_for_a_listener(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct end e = { 0 };
    struct stream *ends[2];

    (void)state;
    stream_mem_pair(l, NULL, ends);
    stream_write(ends[0], "early", 5);
    stream_close(ends[0]);
    loop_advance(l, 1000);
    e.s = ends[1];
    stream_listen(e.s, &end_events, &e);
    assert_int_equal(e.got.len, 0);
    loop_advance(l, 0);
    assert_string_equal(strbuf_str(&e.got), "early");
    assert_int_equal(e.closes, 1);
    stream_close(e.s);
    strbuf_fini(&e.got);
}

static void test_pause_and_drain(void **state)
{
    CLEANUP(pair_fini) struct pair p;
    static char block[STREAM_HIGH_WATER];

    (void)state;
    pair_open(&p, NULL);
    stream_pause(p.b.s, true);
    stream_write(p.a.s, block, sizeof block);
    stream_shutdown(p.a.s);
    loop_advance(p.l, 1000);
    assert_int_equal(p.b.got.len + (size_t)p.b.closes, 0);
    assert_int_equal(p.a.drains, 0);
    p.b.act = ACT_PAUSE;
    stream_pause(p.b.s, false);
    loop_advance(p.l, 0);
    assert_int_equal(p.b.pieces, 1); /* paused again from inside */
    p.b.act = ACT_NONE;
    stream_pause(p.b.s, false);
    loop_advance(p.l, 0);
    assert_int_equal(p.b.got.len, sizeof block);
    assert_int_equal(p.b.closes, 1);
    assert_int_equal(p.a.drains, 1);
    stream_write(p.b.s, "back", 4); /* only one side has ended */
    loop_advance(p.l, 0);
    assert_string_equal(strbuf_str(&p.a.got), "back");
}

static void test_each_direction_ends_on_its_own(void **state)
{
    static char block[STREAM_HIGH_WATER];

    (void)state;
    for (int full = 0; full < 2; full++) {
        CLEANUP(pair_fini) struct pair p;
        pair_open(&p, NULL);
        stream_listen(p.b.s, &half_events, &p.b);
        stream_shutdown(p.a.s);
        loop_advance(p.l, 1000);
        assert_int_equal(p.b.eofs, 1);
        stream_write(p.b.s, "back", 4);
        loop_advance(p.l, 1000);
        assert_string_equal(strbuf_str(&p.a.got), "back");
        if (full) { /* the reader goes away with the writer's queue */
            stream_pause(p.a.s, true);
            stream_write(p.b.s, block, sizeof block);
        }
        p.a.s = stream_close(p.a.s);
        loop_advance(p.l, 1000);
        assert_int_equal(p.b.closes, full);
        stream_write(p.b.s, "nobody", 6);
        loop_advance(p.l, 1000);
        assert_int_equal(p.b.closes, 1);
        assert_int_equal(p.b.err, -EPIPE);
        assert_int_equal(p.b.eofs, 1);
    }
}

static void test_break_loses_data_and_tells_both(void **state)
{
    CLEANUP(pair_fini) struct pair p;

    (void)state;
    pair_open(&p, NULL);
    stream_pause(p.b.s, true); /* also one who does not read */
    stream_write(p.a.s, "lost", 4);
    stream_mem_break(p.b.s, -ECONNRESET, "reset");
    assert_int_equal(p.a.closes + p.b.closes, 0); /* not from inside the call */
    loop_advance(p.l, 0);
    assert_int_equal(p.a.closes, 1);
    assert_int_equal(p.b.closes, 1);
    assert_int_equal(p.a.err, -ECONNRESET);
    assert_int_equal(p.b.got.len, 0);
    stream_mem_break(p.a.s, -EPIPE, "again"); /* the first one counts */
    loop_advance(p.l, 1000);
    assert_int_equal(p.a.closes + p.b.closes, 2);
}

static void test_ending_inside_events(void **state)
{
    (void)state;
    for (enum act act = ACT_CLOSE; act <= ACT_CLOSE_PEER; act++) {
        CLEANUP(pair_fini) struct pair p;
        pair_open(&p, &(struct mem_opts){ .chunk = 2 });
        p.b.act = act;
        stream_write(p.a.s, "abcdef", 6);
        loop_advance(p.l, 1000);
        assert_int_equal(p.b.pieces, act == ACT_CLOSE_PEER ? 3 : 1);
        assert_int_equal(p.b.closes, act == ACT_BREAK || act == ACT_CLOSE_PEER);
        assert_int_equal(p.a.closes, act == ACT_CLOSE || act == ACT_BREAK);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_latency_and_pieces),
        cmocka_unit_test(test_data_waits_for_a_listener),
        cmocka_unit_test(test_pause_and_drain),
        cmocka_unit_test(test_each_direction_ends_on_its_own),
        cmocka_unit_test(test_break_loses_data_and_tells_both),
        cmocka_unit_test(test_ending_inside_events),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
