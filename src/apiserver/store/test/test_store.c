/* test_store.c - the contract of store.h, sentence by sentence, on both backends and both loops. */
#include "apiserver/store/test/store_fixture.h"
#include "base/test/asserts.h"

#define SETUP(...)                                                                              \
    CLEANUP(fixture_free)                                                                       \
    struct fixture *b =                                                                         \
        fixture_new(*(const struct fixture_kind *)*state, &(struct store_opts){ __VA_ARGS__ }); \
    struct kerr err = { 0 };                                                                    \
    (void)err

static void test_write_is_visible_once_acknowledged(void **state)
{
    SETUP(0);
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    char text[] = "one";
    struct ack a = { 0 };
    uint64_t rev = 0;

    const uint64_t before = store_revision(b->s), next = store_next_revision(b->s);
    assert_int_equal(next, before + 1);
    assert_int_equal(store_put(b->s, POD("ns", "a"), 0, text, 3, ack_fn, &a, &err), 0);
    memcpy(text, "xxx", 3); /* it was copied */
    assert_int_equal(a.calls, 0);
    assert_int_equal(store_get(b->s, POD("ns", "a"), &doc, NULL, &err), -ENOENT);
    assert_int_equal(err.reason, KR_NOT_FOUND);
    assert_int_equal(store_revision(b->s), before);
    assert_int_equal(store_stats(b->s).pending, 1);
    fixture_settle(b);
    assert_int_equal(a.calls, 1);
    assert_int_equal(a.rev, next);
    assert_int_equal(store_revision(b->s), next);
    assert_int_equal(store_get(b->s, POD("ns", "a"), &doc, &rev, &err), 0);
    assert_string_equal(strbuf_str(&doc), "one");
    assert_int_equal(rev, next);
    assert_int_equal(store_stats(b->s).pending, 0);
}

static void test_writes_are_judged_at_once(void **state)
{
    SETUP(0);
    struct ack a = { 0 };

    const uint64_t r1 = fixture_put(b, POD("ns", "a"), 0, "1");
    assert_int_equal(store_put(b->s, POD("ns", "a"), 0, "x", 1, ack_fn, &a, &err), -EEXIST);
    assert_int_equal(err.reason, KR_ALREADY_EXISTS);
    assert_string_equal(err.text, "pods \"a\" already exists");
    const uint64_t r2 = fixture_put(b, POD("ns", "a"), r1, "2");
    assert_int_equal(store_put(b->s, POD("ns", "a"), r1, "x", 1, ack_fn, &a, &err), -ESTALE);
    assert_int_equal(err.reason, KR_CONFLICT);
    assert_int_equal(store_delete(b->s, POD("ns", "a"), r1, "x", 1, ack_fn, &a, &err), -ESTALE);
    assert_int_equal(store_put(b->s, POD("ns", "b"), 7, "x", 1, ack_fn, &a, &err), -ENOENT);
    assert_int_equal(err.reason, KR_NOT_FOUND);
    assert_int_equal(store_delete(b->s, POD("ns", "b"), 7, "x", 1, ack_fn, &a, &err), -ENOENT);
    assert_int_equal(store_delete(b->s, POD("ns", "b"), 0, "x", 1, ack_fn, &a, &err), -ENOENT);
    const uint64_t r3 = fixture_delete(b, POD("ns", "a"), r2, "3");
    assert_int_equal(store_put(b->s, POD("ns", "a"), r2, "x", 1, ack_fn, &a, &err), -ENOENT);
    assert_int_equal(store_put(b->s, POD("ns", "a"), r3, "x", 1, ack_fn, &a, &err), -ENOENT);
    fixture_settle(b);
    assert_int_equal(a.calls, 0); /* a refusal has no callback */
    assert_int_equal(store_stats(b->s).conflicts, 2);
    assert_int_equal(store_revision(b->s), r3);
    assert_that(fixture_put(b, POD("ns", "a"), 0, "again"), >, r3);
}

static void test_writes_build_on_those_under_way(void **state)
{
    SETUP(0);
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    CLEANUP(recorder_fini) struct recorder x = { 0 };
    struct ack a[4] = { 0 };
    uint64_t rev = 0;

    recorder_watch(b, &x, NULL, store_revision(b->s));
    const uint64_t r = store_next_revision(b->s);
    assert_int_equal(store_put(b->s, POD("ns", "a"), 0, "1", 1, ack_fn, &a[0], &err), 0);
    assert_int_equal(store_put(b->s, POD("ns", "a"), 0, "x", 1, ack_fn, &a[0], &err), -EEXIST);
    assert_int_equal(store_get_latest(b->s, POD("ns", "a"), &doc, &rev, &err), 0);
    assert_string_equal(strbuf_str(&doc), "1");
    assert_int_equal(rev, r);
    assert_int_equal(store_put(b->s, POD("ns", "a"), r, "2", 1, ack_fn, &a[1], &err), 0);
    assert_int_equal(store_put(b->s, POD("ns", "a"), r, "x", 1, ack_fn, &a[1], &err), -ESTALE);
    assert_int_equal(store_delete(b->s, POD("ns", "a"), r + 1, "3", 1, ack_fn, &a[2], &err), 0);
    assert_int_equal(store_get_latest(b->s, POD("ns", "a"), &doc, &rev, &err), -ENOENT);
    assert_int_equal(store_put(b->s, POD("ns", "a"), 0, "4", 1, ack_fn, &a[3], &err), 0);
    fixture_settle(b);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(a[i].calls, 1);
        assert_int_equal(a[i].err.code, 0);
        assert_int_equal(a[i].rev, r + i);
    }
    assert_int_equal(r, 2);
    recorder_assert(&x, "Ans/a@2=1 Mns/a@3=2<1 Dns/a@4=3<2 Ans/a@5=4 ");
    fixture_assert_list(b, NULL, 0, "ns/a@5=4 ");
    strbuf_reset(&doc);
    assert_int_equal(store_get_latest(b->s, POD("ns", "a"), &doc, &rev, &err), 0);
    assert_string_equal(strbuf_str(&doc), "4");
}

static void test_writes_of_one_turn_share_a_batch(void **state)
{
    SETUP(0);
    struct ack a = { 0 };
    char name[16];

    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        assert_int_equal(store_put(b->s, POD("", name), 0, "d", 1, ack_fn, &a, &err), 0);
    }
    fixture_settle(b);
    assert_int_equal(a.calls, 100);
    assert_int_equal(store_stats(b->s).writes, 100);
    assert_int_equal(store_stats(b->s).batches, 1);
}

struct again {
    struct fixture *b;
    int left, done;
};
static void write_again(void *arg, uint64_t rev, const struct kerr *err)
{
    struct again *g = arg;

    assert_null(err);
    g->done++;
    if (g->left-- > 0)
        assert_int_equal(store_put(g->b->s, POD("", "a"), rev, "x", 1, write_again, g, NULL), 0);
}

static void test_callbacks_may_write(void **state)
{
    SETUP(0);
    struct again g = { b, 10, 0 };

    assert_int_equal(store_put(b->s, POD("", "a"), 0, "x", 1, write_again, &g, &err), 0);
    for (int i = 0; i < 20; i++)
        fixture_settle(b);
    assert_int_equal(g.done, 11);
    assert_int_equal(store_revision(b->s), 12);
    assert_int_equal(store_stats(b->s).batches, 11);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static bool stop_at_two(void *arg, const struct store_key *k, uint64_t rev, const char *doc,
                        size_t n)
{
    (void)k, (void)rev, (void)doc, (void)n;
    return ++*(int *)arg < 2;
}

static void test_list_is_in_key_order(void **state)
{
    SETUP(0);
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    int seen = 0;

    fixture_assert_list(b, NULL, 0, ""); /* never heard of */
    fixture_put(b, POD("b", "x"), 0, "1");
    fixture_put(b, POD("a", "z"), 0, "2");
    fixture_put(b, POD("a", "y"), 0, "3");
    fixture_put(b, POD("a-b", "y"), 0, "4");
    fixture_put(b, &(struct store_key){ "nodes", "", "n" }, 0, "5");
    fixture_assert_list(b, NULL, 0, "a/y@4=3 a/z@3=2 a-b/y@5=4 b/x@2=1 ");
    fixture_assert_list(b, "a", 0, "a/y@4=3 a/z@3=2 ");
    fixture_assert_list(b, "", 0, "");
    fixture_assert_list(b, "zz", 0, "");
    assert_int_equal(store_list(b->s, "pods", NULL, 0, NULL, stop_at_two, &seen, &err), 0);
    assert_int_equal(seen, 2);
    assert_int_equal(store_list(b->s, "pods", NULL, 0, POD("a", "y"), fixture_note, &out, &err), 0);
    assert_int_equal(store_list(b->s, "pods", "a", 0, POD("a", "z"), fixture_note, &out, &err), 0);
    assert_int_equal(store_list(b->s, "pods", "b", 0, POD("a", "z"), fixture_note, &out, &err), 0);
    assert_string_equal(strbuf_str(&out), "a/z@3=2 a-b/y@5=4 b/x@2=1 b/x@2=1 ");
    assert_int_equal(store_count(b->s, "pods", NULL), 4);
    assert_int_equal(store_count(b->s, "pods", "a"), 2);
    assert_int_equal(store_count(b->s, "pods", "c"), 0);
    assert_int_equal(store_count(b->s, "services", NULL), 0);
    assert_int_equal(store_stats(b->s).objects, 5);
}

static void test_list_as_of_a_revision(void **state)
{
    SETUP(0);

    fixture_put(b, POD("", "a"), 0, "a2");
    fixture_put(b, POD("", "b"), 0, "b3");
    fixture_put(b, POD("", "a"), 2, "a4");
    fixture_delete(b, POD("", "b"), 3, "b5");
    fixture_put(b, POD("", "b"), 0, "b6");
    fixture_delete(b, POD("", "a"), 4, "a7");
    for (int reopened = 0; reopened < (b->kind.disk ? 2 : 1); reopened++) {
        fixture_assert_list(b, NULL, 1, "");
        fixture_assert_list(b, NULL, 2, "/a@2=a2 ");
        fixture_assert_list(b, NULL, 3, "/a@2=a2 /b@3=b3 ");
        fixture_assert_list(b, NULL, 4, "/a@4=a4 /b@3=b3 ");
        fixture_assert_list(b, NULL, 5, "/a@4=a4 ");
        fixture_assert_list(b, NULL, 6, "/a@4=a4 /b@6=b6 ");
        fixture_assert_list(b, NULL, 7, "/b@6=b6 ");
        fixture_assert_list(b, NULL, 0, "/b@6=b6 ");
        assert_int_equal(store_count(b->s, "pods", NULL), 1);
        if (b->kind.disk)
            fixture_reopen(b);
    }
    store_compact(b->s, 5);
    fixture_settle(b);
    assert_int_equal(store_stats(b->s).oldest, 5);
    assert_int_equal(store_list(b->s, "pods", NULL, 4, NULL, fixture_note, NULL, &err), -EIDRM);
    assert_int_equal(err.reason, KR_EXPIRED);
    fixture_assert_list(b, NULL, 5, "/a@4=a4 ");
    fixture_assert_list(b, NULL, 6, "/a@4=a4 /b@6=b6 ");
    fixture_assert_list(b, NULL, 7, "/b@6=b6 ");
    store_compact(b->s, 100); /* not beyond what is there */
    fixture_settle(b);
    assert_int_equal(store_stats(b->s).oldest, 7);
    fixture_assert_list(b, NULL, 7, "/b@6=b6 ");
    assert_int_equal(store_list(b->s, "pods", NULL, 8, NULL, fixture_note, NULL, &err), -ERANGE);
}

static bool add_neighbours(void *arg, const struct store_key *k, uint64_t rev, const char *doc,
                           size_t n)
{
    struct fixture *b = arg;
    char before[32], after[32];

    (void)rev, (void)doc, (void)n;
    (void)snprintf(before, sizeof before, "%s-", k->name);
    (void)snprintf(after, sizeof after, "0%s", k->name);
    assert_int_equal(store_put(b->s, POD("", before), 0, "n", 1, NULL, NULL, NULL), 0);
    assert_int_equal(store_put(b->s, POD("", after), 0, "n", 1, NULL, NULL, NULL), 0);
    return true;
}

static void test_list_callback_may_write(void **state)
{
    SETUP(0);
    char name[16];

    for (int i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof name, "p%03d", i);
        assert_int_equal(store_put(b->s, POD("", name), 0, "d", 1, NULL, NULL, &err), 0);
    }
    fixture_settle(b);
    assert_int_equal(store_list(b->s, "pods", NULL, 0, NULL, add_neighbours, b, &err), 0);
    fixture_settle(b);
    assert_int_equal(store_count(b->s, "pods", NULL), 900);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* Nobody writes any more: the store finds out by itself, and nothing of that shows. */
static void test_store_recovers_without_writers(void **state)
{
    SETUP(0);
    CLEANUP(recorder_fini) struct recorder x = { 0 };
    struct ack a = { 0 };

    if (b->kind.real) /* by the clock: seconds */
        return;
    const uint64_t r = fixture_put(b, POD("", "old"), 0, "1");
    recorder_watch(b, &x, NULL, r);
    store_fail_next_commit(b->s, ENOSPC);
    assert_int_equal(store_put(b->s, POD("", "new"), 0, "1", 1, ack_fn, &a, &err), 0);
    fixture_settle(b);
    assert_int_equal(a.err.code, -ENOSPC);
    const uint64_t next = store_next_revision(b->s);
    /* Still full after 1, 3, 7, 15, 31, 61 and 91 s... */
    for (int i = 0; i < 7; i++) {
        static const int64_t waits[] = { 1, 2, 4, 8, 16, 30, 30 };
        store_fail_next_commit(b->s, ENOSPC);
        loop_advance(b->l, waits[i] * NSEC_PER_SEC - NSEC_PER_SEC / 2);
        const uint64_t before = store_stats(b->s).batches;
        assert_non_null(store_failing(b->s));
        loop_advance(b->l, NSEC_PER_SEC / 2 + 40 * NSEC_PER_MSEC);
        assert_int_equal(store_stats(b->s).batches, before + 1);
        assert_non_null(store_failing(b->s));
        assert_contains(store_failing(b->s)->text, "No space left on device");
    }
    /* ...and then there is room. */
    loop_advance(b->l, 31 * NSEC_PER_SEC);
    assert_null(store_failing(b->s));
    const uint64_t batches = store_stats(b->s).batches;
    loop_advance(b->l, 600 * NSEC_PER_SEC);
    assert_int_equal(store_stats(b->s).batches, batches);
    assert_int_equal(store_stats(b->s).failed_batches, 1);
    assert_int_equal(store_revision(b->s), r);
    assert_int_equal(store_next_revision(b->s), next);
    recorder_assert(&x, "");
    if (b->kind.disk)
        fixture_reopen(b);
    assert_int_equal(store_count(b->s, "pods", NULL), 1);
}

static void test_failed_batch_fails_its_writes_and_those_behind_it(void **state)
{
    SETUP(0);
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    CLEANUP(recorder_fini) struct recorder x = { 0 };
    struct ack a[5] = { 0 };
    uint64_t rev = 0;

    const uint64_t r = fixture_put(b, POD("", "old"), 0, "1");
    recorder_watch(b, &x, NULL, r);
    store_fail_next_commit(b->s, ENOSPC);
    assert_int_equal(store_put(b->s, POD("", "old"), r, "2", 1, ack_fn, &a[0], &err), 0);
    assert_int_equal(store_put(b->s, POD("", "new"), 0, "1", 1, ack_fn, &a[1], &err), 0);
    assert_int_equal(store_put(b->s, POD("", "new"), r + 2, "2", 1, ack_fn, &a[2], &err), 0);
    if (b->kind.disk && !b->kind.real) { /* let the batch start: what follows goes to the next */
        loop_turn(b->l);
        assert_int_equal(store_put(b->s, POD("", "new"), r + 3, "3", 1, ack_fn, &a[3], &err), 0);
        assert_int_equal(store_put(b->s, POD("", "other"), 0, "1", 1, ack_fn, &a[4], &err), 0);
    }
    fixture_settle(b);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(a[i].calls, 1);
        assert_int_equal(a[i].err.code, -ENOSPC);
        assert_int_equal(a[i].err.reason, KR_INTERNAL);
        assert_contains(a[i].err.text, "No space left on device");
    }
    for (int i = 3; i < 5 && b->kind.disk && !b->kind.real; i++) {
        assert_int_equal(a[i].calls, 1);
        assert_int_equal(a[i].err.code, -ENOSPC);
        assert_contains(a[i].err.text, "an earlier write was lost");
    }
    /* Nothing of it was ever visible, and the overlay is as before. */
    recorder_assert(&x, "");
    assert_int_equal(store_get_latest(b->s, POD("", "other"), &doc, &rev, &err), -ENOENT);
    assert_int_equal(store_get_latest(b->s, POD("", "old"), &doc, &rev, &err), 0);
    assert_int_equal(rev, r);
    assert_int_equal(store_get_latest(b->s, POD("", "new"), &doc, &rev, &err), -ENOENT);
    assert_int_equal(store_stats(b->s).failed_batches, 1);
    /* The store goes on. */
    assert_that(fixture_put(b, POD("", "new"), 0, "5"), >, r + 3);
    fixture_put(b, POD("", "old"), r, "6");
    if (b->kind.disk)
        fixture_reopen(b);
    assert_int_equal(store_count(b->s, "pods", NULL), 2);
}

static void test_too_large_a_document_is_refused(void **state)
{
    SETUP(0);
    const size_t n = (16 << 20) + 1;
    CLEANUP(mem_free) char *big = xcalloc(1, n);

    assert_int_equal(store_put(b->s, POD("", "a"), 0, big, n, NULL, NULL, &err), -EFBIG);
    assert_int_equal(err.reason, KR_TOO_LARGE);
    memset(big, 'x', n);
    for (int i = 0; i < 100 && err.reason != KR_TOO_MANY_REQUESTS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "p%d", i);
        (void)store_put(b->s, POD("", name), 0, big, n / 2, NULL, NULL, &err);
    }
    assert_int_equal(err.reason, KR_TOO_MANY_REQUESTS);
    fixture_settle(b);
    assert_int_equal(store_count(b->s, "pods", NULL), 16);
    assert_that(store_stats(b->s).ring_bytes, <=, 16 << 20);
}

static void test_close_waits_and_calls_nobody(void **state)
{
    SETUP(0);
    struct recorder x = { 0 };
    struct ack a = { 0 };

    recorder_watch(b, &x, NULL, store_revision(b->s));
    assert_int_equal(store_put(b->s, POD("", "a"), 0, "1", 1, ack_fn, &a, &err), 0);
    loop_turn(b->l); /* a batch may be under way */
    const int before = a.calls;
    assert_int_equal(store_put(b->s, POD("", "b"), 0, "1", 1, ack_fn, &a, &err), 0);
    b->s = store_close(b->s);
    assert_int_equal(a.calls, before);
    assert_int_equal(x.ends, 1);
    assert_int_equal(x.err.reason, KR_UNAVAILABLE);
    strbuf_fini(&x.text);
    loop_turn(b->l);
    assert_int_equal(a.calls, before);
    fixture_open(b);
    assert_int_equal(store_count(b->s, "pods", NULL), b->kind.disk ? 2 : 0);
}

static void test_quiet_store_lets_the_loop_end(void **state)
{
    SETUP(.history = NSEC_PER_MSEC, .compact_every = NSEC_PER_MSEC);

    fixture_put(b, POD("", "a"), 0, "1");
    fixture_put(b, POD("", "a"), 2, "2");
    assert_int_equal(store_put(b->s, POD("", "a"), 3, "3", 1, NULL, NULL, &err), 0);
    loop_run(b->l); /* returns */
    assert_int_equal(store_revision(b->s), 4);
    assert_int_equal(store_stats(b->s).oldest, 4);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct fixture_case cases[] = {
    CASE(write_is_visible_once_acknowledged),
    CASE(writes_are_judged_at_once),
    CASE(writes_build_on_those_under_way),
    CASE(writes_of_one_turn_share_a_batch),
    CASE(callbacks_may_write),
    CASE(list_is_in_key_order),
    CASE(list_as_of_a_revision),
    CASE(list_callback_may_write),
    CASE(failed_batch_fails_its_writes_and_those_behind_it),
    CASE(store_recovers_without_writers),
    CASE(too_large_a_document_is_refused),
    CASE(close_waits_and_calls_nobody),
    CASE(quiet_store_lets_the_loop_end),
};

int main(int argc, char **argv)
{
    return fixture_run(cases, ARRAY_LEN(cases), argc, argv);
}
