/* test_store_watch.c - watching: order, cursors, pauses, history, the end; both backends and loops.
 */
#include "apiserver/store/test/store_fixture.h"
#include "base/test/asserts.h"

#define SETUP(...)                                                                              \
    CLEANUP(fixture_free)                                                                       \
    struct fixture *b =                                                                         \
        fixture_new(*(const struct fixture_kind *)*state, &(struct store_opts){ __VA_ARGS__ }); \
    struct kerr err = { 0 };                                                                    \
    (void)err

static void three_changes(struct fixture *b)
{
    fixture_put(b, POD("x", "a"), 0, "1");
    fixture_put(b, POD("y", "b"), 0, "2");
    fixture_put(b, &(struct store_key){ "nodes", "", "n" }, 0, "node");
    fixture_put(b, POD("x", "a"), 2, "3");
    fixture_delete(b, POD("y", "b"), 3, "4");
}
#define EVENT_2 "Ax/a@2=1 "
#define EVENT_3 "Ay/b@3=2 "
#define EVENT_5 "Mx/a@5=3<1 "
#define EVENT_6 "Dy/b@6=4<2 "

static void test_events_come_in_order_and_later(void **state)
{
    SETUP(0);
    CLEANUP(recorder_fini) struct recorder all = { 0 }, one = { 0 }, some = { 0 }, next = { 0 };

    recorder_watch(b, &all, NULL, 1);
    three_changes(b);
    recorder_assert(&all, EVENT_2 EVENT_3 EVENT_5 EVENT_6);
    recorder_watch(b, &one, "x", 1);
    recorder_watch(b, &some, NULL, 3);
    recorder_watch(b, &next, NULL, 8); /* not there yet */
    recorder_assert(&one, "");         /* never inside the call */
    fixture_settle(b);
    recorder_assert(&one, EVENT_2 EVENT_5);
    recorder_assert(&some, EVENT_5 EVENT_6);
    fixture_put(b, POD("z", "c"), 0, "7");
    fixture_put(b, POD("z", "c"), 7, "8");
    recorder_assert(&next, "");
    fixture_put(b, POD("z", "c"), 8, "9");
    recorder_assert(&next, "Mz/c@9=9<8 ");
    recorder_assert(&one, "");
    recorder_assert(&all, "Az/c@7=7 Mz/c@8=8<7 Mz/c@9=9<8 ");
    assert_int_equal(store_stats(b->s).watchers, 4);
    all.w = store_unwatch(all.w);
    assert_int_equal(store_stats(b->s).watchers, 3);
    fixture_put(b, POD("z", "c"), 9, "10");
    recorder_assert(&all, "");
    assert_int_equal(all.ends, 0);
    assert_null(store_unwatch(NULL));
}

static void test_false_pauses_until_resumed(void **state)
{
    SETUP(0);
    CLEANUP(recorder_fini) struct recorder x = { .stop_after = 2 };

    recorder_watch(b, &x, NULL, 1);
    three_changes(b);
    recorder_assert(&x, EVENT_2 EVENT_3); /* the event was taken all the same */
    fixture_settle(b);
    recorder_assert(&x, "");
    store_watch_resume(x.w);
    recorder_assert(&x, "");
    fixture_settle(b);
    recorder_assert(&x, EVENT_5 EVENT_6);
    store_watch_resume(x.w); /* harmless */
    fixture_settle(b);
    recorder_assert(&x, "");
}

/* With a ring of 100 bytes nearly everything comes from history; pieces are bounded per turn. */
static void test_old_events_come_from_history(void **state)
{
    SETUP(.ring_bytes = 100);
    CLEANUP(recorder_fini) struct recorder x = { 0 }, y = { 0 };
    CLEANUP(strbuf_fini) struct strbuf want = STRBUF_INIT;
    struct ack a = { 0 };
    char name[32], doc[32], old[32];

    for (int i = 0; i < 200; i++) {
        const uint64_t rev = store_next_revision(b->s);
        (void)snprintf(name, sizeof name, "p%d", i);
        (void)snprintf(old, sizeof old, "old-%d", i);
        (void)snprintf(doc, sizeof doc, "new-%d", i);
        assert_int_equal(store_put(b->s, POD("", name), 0, old, strlen(old), ack_fn, &a, &err), 0);
        assert_int_equal(store_put(b->s, POD("", name), rev, doc, strlen(doc), ack_fn, &a, &err),
                         0);
        strbuf_appendf(&want, "A/%s@%d=%s M/%s@%d=%s<%s ", name, (int)rev, old, name, (int)rev + 1,
                       doc, old);
    }
    fixture_settle(b);
    assert_int_equal(a.calls, 400);
    assert_that(store_stats(b->s).ring_bytes, <=, 100);
    recorder_watch(b, &x, NULL, 1);
    loop_turn(b->l);
    loop_turn(b->l);
    assert_in_range(x.events, 1, 100);
    fixture_settle(b);
    assert_string_equal(strbuf_str(&x.text), strbuf_str(&want));
    if (b->kind.disk) { /* after a restart nothing is in memory */
        x.w = store_unwatch(x.w);
        fixture_reopen(b);
        recorder_watch(b, &y, NULL, 1);
        fixture_settle(b);
        assert_string_equal(strbuf_str(&y.text), strbuf_str(&want));
    }
}

static void test_too_old_is_expired(void **state)
{
    SETUP(0);
    CLEANUP(recorder_fini) struct recorder x = { .stop_after = 1 }, y = { 0 }, z = { 0 };
    struct store_watch *w = NULL;

    recorder_watch(b, &x, NULL, 1);
    three_changes(b);
    recorder_watch(b, &y, NULL, store_revision(b->s));
    fixture_settle(b);
    store_compact(b->s, 4);
    assert_int_equal(x.ends, 0); /* in a later turn */
    fixture_settle(b);
    assert_int_equal(x.ends, 1); /* it stood still at 2 */
    assert_int_equal(x.err.code, -EIDRM);
    assert_int_equal(x.err.reason, KR_EXPIRED);
    assert_int_equal(y.ends, 0);
    assert_int_equal(store_stats(b->s).watchers, 1);
    assert_int_equal(store_watch(b->s, "pods", NULL, 3, &recorder_handler, &z, &w, &err), -EIDRM);
    assert_int_equal(err.reason, KR_EXPIRED);
    recorder_watch(b, &z, NULL, 4); /* exactly at the floor: all after it is there */
    fixture_settle(b);
    recorder_assert(&z, EVENT_5 EVENT_6);
    if (!b->kind.disk)
        return;
    y.w = store_unwatch(y.w);
    z.w = store_unwatch(z.w);
    store_compact(b->s, 5); /* removes a version, so it has to be remembered */
    fixture_settle(b);
    fixture_reopen(b);
    assert_int_equal(store_stats(b->s).oldest, 5);
    assert_int_equal(store_watch(b->s, "pods", NULL, 4, &recorder_handler, &z, &w, &err), -EIDRM);
    recorder_watch(b, &z, NULL, 5);
    fixture_settle(b);
    recorder_assert(&z, EVENT_6);
    assert_int_equal(store_count(b->s, "pods", NULL), 1);
}

static void test_progress_is_told_when_nothing_matched(void **state)
{
    SETUP(0);
    CLEANUP(recorder_fini) struct recorder x = { 0 };

    if (b->kind.real)
        return; /* it takes a second */
    recorder_watch(b, &x, "x", 1);
    fixture_put(b, POD("x", "a"), 0, "1");
    loop_advance(b->l, 10 * NSEC_PER_SEC);
    assert_int_equal(x.progress, 0); /* the event itself said it */
    fixture_put(b, POD("y", "a"), 0, "2");
    fixture_put(b, POD("y", "b"), 0, "3");
    assert_int_equal(x.progress, 0);
    loop_advance(b->l, NSEC_PER_SEC);
    assert_int_equal(x.progress, 4);
    assert_int_equal(x.events, 1);
}

/* ---- callbacks that change the set of watchers ----------------------------------------------- */

struct gang {
    struct fixture *b;
    struct store_watch *w[4];
    int events[4], next;
    struct recorder late;
};
struct member {
    struct gang *g;
    int i;
};

static bool member_event(void *arg, const struct store_event *e)
{
    struct member *m = arg;
    struct gang *g = m->g;

    (void)e;
    g->events[m->i]++;
    if (m->i == 1) { /* removes itself and others, before and after it, and adds one */
        for (int i = 0; i < 3; i++)
            g->w[i] = store_unwatch(g->w[i]);
        recorder_watch(g->b, &g->late, NULL, 1);
    }
    return true;
}
static void member_end(void *arg, const struct kerr *err)
{
    (void)arg, (void)err;
    fail();
}

static void test_watchers_may_come_and_go_in_callbacks(void **state)
{
    SETUP(0);
    static const struct store_watch_handler h = { member_event, NULL, member_end };
    struct gang g = { .b = b };
    struct member m[4];

    for (int i = 0; i < 4; i++) {
        m[i] = (struct member){ &g, i };
        assert_int_equal(store_watch(b->s, "pods", NULL, 1, &h, &m[i], &g.w[i], &err), 0);
    }
    fixture_put(b, POD("x", "a"), 0, "1");
    fixture_put(b, POD("x", "b"), 0, "2");
    assert_int_equal(g.events[0], 1);
    assert_int_equal(g.events[1], 1);
    assert_int_equal(g.events[2], 0);
    assert_int_equal(g.events[3], 2);
    recorder_assert(&g.late, "Ax/a@2=1 Ax/b@3=2 ");
    assert_int_equal(store_stats(b->s).watchers, 2);
    recorder_fini_p(&g.late);
    g.w[3] = store_unwatch(g.w[3]);
}

static void test_history_goes_by_age(void **state)
{
    SETUP(.history = 64 * NSEC_PER_SEC, .compact_every = 8 * NSEC_PER_SEC);
    CLEANUP(recorder_fini) struct recorder x = { .stop_after = 1 };
    uint64_t rev = 0;

    if (b->kind.real)
        return; /* takes minutes */
    recorder_watch(b, &x, NULL, 1);
    for (int i = 0; i < 100; i++) { /* one change a second: 100 seconds */
        rev = fixture_put(b, POD("", "a"), rev, "x");
        loop_advance(b->l, 980 * NSEC_PER_MSEC);
    }
    const uint64_t oldest = store_stats(b->s).oldest;
    assert_in_range(oldest, rev - 64 - 8 - 3, rev - 62);
    assert_int_equal(x.ends, 1);
    loop_advance(b->l, 200 * NSEC_PER_SEC);
    assert_int_equal(store_stats(b->s).oldest, rev);
    fixture_assert_list(b, NULL, 0, "/a@101=x ");
    assert_int_equal(store_revision(b->s), rev);
    if (b->kind.disk)
        fixture_reopen(b);
    assert_int_equal(store_stats(b->s).oldest, rev);
    rev = fixture_delete(b, POD("", "a"), rev, "gone");
    loop_advance(b->l, 200 * NSEC_PER_SEC);
    if (b->kind.disk)
        fixture_reopen(b); /* no row is left, the revision is */
    assert_int_equal(store_revision(b->s), rev);
    assert_int_equal(store_next_revision(b->s), rev + 1);
    assert_int_equal(store_count(b->s, "pods", NULL), 0);
}

static void test_silent_watchers_cost_nothing(void **state)
{
    SETUP(.ring_bytes = 10000);
    struct recorder x[10] = { 0 };
    CLEANUP(recorder_fini) struct recorder busy = { 0 };
    struct ack a = { 0 };
    static char doc[500];
    char name[32];

    for (size_t i = 0; i < ARRAY_LEN(x); i++) {
        x[i].stop_after = 1;
        recorder_watch(b, &x[i], NULL, 1);
    }
    recorder_watch(b, &busy, NULL, 1);
    memset(doc, 'd', sizeof doc);
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        assert_int_equal(store_put(b->s, POD("", name), 0, doc, sizeof doc, ack_fn, &a, &err), 0);
        if (i % 50 == 0)
            fixture_settle(b);
    }
    fixture_settle(b);
    assert_int_equal(a.calls, 1000);
    assert_int_equal(busy.events, 1000);
    assert_that(store_stats(b->s).ring_bytes, <=, 10000);
    for (size_t i = 0; i < ARRAY_LEN(x); i++) {
        assert_int_equal(x[i].events, 1);
        recorder_fini_p(&x[i]);
    }
}

static const struct fixture_case cases[] = {
    CASE(events_come_in_order_and_later),
    CASE(false_pauses_until_resumed),
    CASE(old_events_come_from_history),
    CASE(too_old_is_expired),
    CASE(progress_is_told_when_nothing_matched),
    CASE(watchers_may_come_and_go_in_callbacks),
    CASE(history_goes_by_age),
    CASE(silent_watchers_cost_nothing),
};

int main(int argc, char **argv)
{
    return fixture_run(cases, ARRAY_LEN(cases), argc, argv);
}
