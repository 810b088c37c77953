/* test_store_model.c - the store against a simple model, with random operations of a fixed seed.
 *
 * The model keeps every committed event and answers from them by replay. The store is asked for
 * the same things: documents, lists as of revisions, watch streams; while writes are under way,
 * batches fail, history is compacted and the file is closed and opened again.
 */
#include "apiserver/store/test/store_fixture.h"
#include "base/test/asserts.h"

enum { KEYS = 24, WATCHES = 6, STEPS = 3000 };

struct mevent {
    uint64_t rev, prev;
    enum store_event_type type;
    int key;
    char *doc;
};
struct mwrite { /* under way */
    struct model *m;
    struct mevent ev;
};
struct mwatch {
    struct model *m;
    struct store_watch *w;
    const char *ns;
    uint64_t cursor; /* verified up to here */
    bool expired;
    struct vec_of(struct mevent) heard; /* prev: whether an old document came */
    struct vec_of(char *) old;
};
struct model {
    struct fixture *b;
    struct loop *rng; /* a virtual loop just for its random numbers */
    struct vec_of(struct mevent) events;
    struct vec_of(struct mwrite *) pending;
    struct mwatch watch[WATCHES];
    uint64_t floor;
    unsigned acked, failed, lists, told, expired;
};

static uint64_t pick(struct model *m, uint64_t n)
{
    return loop_rand_below(m->rng, n);
}

static const char *const namespaces[] = { "a", "b", "c" };
static const char *key_ns(int key)
{
    return namespaces[key % 3];
}
static struct store_key key_of(int key, char name[static 16])
{
    (void)snprintf(name, 16, "p%02d", key / 3);
    return (struct store_key){ "pods", key_ns(key), name };
}
static int key_parse(const struct store_key *k)
{
    return atoi(k->name + 1) * 3 + (k->ns[0] - 'a');
}

/* ---- the model's answers --------------------------------------------------------------------- */

static const struct mevent *newest(const struct model *m, int key, uint64_t at)
{
    const struct mevent *found = NULL;

    for (size_t i = m->events.n; i-- > 0 && !found;)
        if (m->events.items[i].key == key && m->events.items[i].rev <= at)
            found = &m->events.items[i];
    return found && found->type != STORE_DELETED ? found : NULL;
}

static const struct mevent *latest(const struct model *m, int key)
{
    for (size_t i = m->pending.n; i-- > 0;)
        if (m->pending.items[i]->ev.key == key)
            return m->pending.items[i]->ev.type == STORE_DELETED ? NULL : &m->pending.items[i]->ev;
    return newest(m, key, UINT64_MAX);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void on_ack(void *arg, uint64_t rev, const struct kerr *err)
{
    struct mwrite *w = arg;
    struct model *m = w->m;
    size_t i = 0;

    assert_int_equal(rev, w->ev.rev);
    while (m->pending.items[i] != w)
        i++;
    vec_remove(&m->pending, i);
    if (err) {
        assert_true(err->code == -EIO || err->code == -ENOSPC);
        m->failed++;
        free(w->ev.doc);
    } else {
        assert_true(m->events.n == 0 || vec_last(&m->events).rev < rev);
        vec_push(&m->events, w->ev);
        m->acked++;
    }
    free(w);
}

static void do_write(struct model *m)
{
    const int key = (int)pick(m, KEYS);
    const struct mevent *have = latest(m, key);
    const bool delete = pick(m, 4) == 0;
    uint64_t from = pick(m, 8) ? (have ? have->rev : 0) : pick(m, store_next_revision(m->b->s));
    char name[16];
    struct kerr err = { 0 };
    struct mwrite *w = xnew0(struct mwrite);
    const struct store_key k = key_of(key, name);

    w->m = m;
    w->ev = (struct mevent){
        .rev = store_next_revision(m->b->s),
        .key = key,
        .type = delete ? STORE_DELETED
                : have ? STORE_MODIFIED
                       : STORE_ADDED,
        .doc = xasprintf("%d@%llu%*s", key, (unsigned long long)store_next_revision(m->b->s),
                         (int)pick(m, 300) + 1, "."),
    };
    const size_t n = strlen(w->ev.doc);
    const int r = delete ? store_delete(m->b->s, &k, from, w->ev.doc, n, on_ack, w, &err)
                         : store_put(m->b->s, &k, from, w->ev.doc, n, on_ack, w, &err);
    int want = 0;
    if (from == 0 && delete)
        want = -ENOENT;
    else if (from == 0)
        want = have ? -EEXIST : 0;
    else
        want = !have ? -ENOENT : have->rev != from ? -ESTALE : 0;
    assert_int_equal(r, want);
    if (r == 0) {
        vec_push(&m->pending, w);
        return;
    }
    free(w->ev.doc);
    free(w);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct check {
    struct model *m;
    uint64_t at;
    const char *ns;
    int next; /* keys in the order of the list: namespace, then name */
};

static int nth_key(int n)
{
    return n % (KEYS / 3) * 3 + n / (KEYS / 3);
}

static const struct mevent *check_next(struct check *c)
{
    while (c->next < KEYS) {
        const int key = nth_key(c->next++);
        const struct mevent *e = newest(c->m, key, c->at);
        if (e && (!c->ns || streq(c->ns, key_ns(key))))
            return e;
    }
    return NULL;
}

static bool on_item(void *arg, const struct store_key *k, uint64_t rev, const char *doc, size_t n)
{
    const struct mevent *want = check_next(arg);

    assert_non_null(want);
    assert_int_equal(want->key, key_parse(k));
    assert_int_equal(want->rev, rev);
    assert_int_equal(strlen(want->doc), n);
    assert_memory_equal(want->doc, doc, n);
    return true;
}

static void check_list(struct model *m, uint64_t at)
{
    struct check c = { m, at ? at : UINT64_MAX, pick(m, 3) ? NULL : namespaces[pick(m, 3)], 0 };
    struct store_key after, *from = NULL;
    char name[16];
    struct kerr err = { 0 };

    if (pick(m, 2)) {
        const int n = (int)pick(m, KEYS);
        after = key_of(nth_key(n), name);
        from = &after;
        c.next = n + 1;
    }
    const int r = store_list(m->b->s, "pods", c.ns, at, from, on_item, &c, &err);
    m->lists++;
    if (at && at < m->floor) {
        assert_int_equal(r, -EIDRM);
        return;
    }
    assert_int_equal(r, 0);
    assert_null(check_next(&c));
}

static void check_get(struct model *m)
{
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT, doc2 = STRBUF_INIT;
    const int key = (int)pick(m, KEYS);
    const struct mevent *e = newest(m, key, UINT64_MAX), *l = latest(m, key);
    char name[16];
    uint64_t rev = 0;
    const struct store_key k = key_of(key, name);

    assert_int_equal(store_get(m->b->s, &k, &doc, &rev, NULL), e ? 0 : -ENOENT);
    assert_string_equal(strbuf_str(&doc), e ? e->doc : "");
    assert_int_equal(rev, e ? e->rev : 0);
    rev = 0;
    assert_int_equal(store_get_latest(m->b->s, &k, &doc2, &rev, NULL), l ? 0 : -ENOENT);
    assert_string_equal(strbuf_str(&doc2), l ? l->doc : "");
    assert_int_equal(rev, l ? l->rev : 0);
}

/* ---- watching -------------------------------------------------------------------------------- */

static bool on_event(void *arg, const struct store_event *e)
{
    struct mwatch *w = arg;
    const struct mevent heard = {
        .rev = e->rev, .type = e->type, .key = key_parse(&e->key), .doc = xstrndup(e->doc, e->n)
    };
    char *old = e->old_doc ? xstrndup(e->old_doc, e->old_n) : NULL;

    vec_push(&w->heard, heard);
    vec_push(&w->old, old);
    return pick(w->m, 5) != 0;
}
static void on_end(void *arg, const struct kerr *err)
{
    struct mwatch *w = arg;

    assert_int_equal(err->reason, w->m->b->s ? KR_EXPIRED : KR_UNAVAILABLE);
    w->w = NULL;
    w->expired = true;
}
static const struct store_watch_handler handler = { on_event, NULL, on_end };

/* What a watcher has heard must be the next matching events, without a gap. */
static void check_watch(struct model *m, struct mwatch *w)
{
    size_t h = 0;

    for (size_t i = 0; i < m->events.n && h < w->heard.n; i++) {
        const struct mevent *e = &m->events.items[i], *got = &w->heard.items[h];
        if (e->rev <= w->cursor || (w->ns && !streq(w->ns, key_ns(e->key))))
            continue;
        assert_int_equal(got->rev, e->rev);
        assert_int_equal(got->type, e->type);
        assert_int_equal(got->key, e->key);
        assert_string_equal(got->doc, e->doc);
        const struct mevent *before = newest(m, e->key, e->rev - 1);
        assert_int_equal(w->old.items[h] != NULL, e->type != STORE_ADDED);
        if (w->old.items[h])
            assert_string_equal(w->old.items[h], before->doc);
        w->cursor = e->rev;
        h++;
    }
    assert_int_equal(h, w->heard.n); /* nothing else */
    m->told += (unsigned)h;
    for (size_t i = 0; i < w->heard.n; i++) {
        free(w->heard.items[i].doc);
        free(w->old.items[i]);
    }
    vec_clear(&w->heard);
    vec_clear(&w->old);
    if (w->expired) {
        assert_that(w->cursor, <, m->floor);
        m->expired++;
        w->expired = false;
    }
}

static void do_watch(struct model *m)
{
    struct mwatch *w = &m->watch[pick(m, WATCHES)];
    struct kerr err = { 0 };

    if (w->w && pick(m, 4)) {
        store_watch_resume(w->w);
        return;
    }
    w->w = store_unwatch(w->w);
    const uint64_t now = store_revision(m->b->s), back = pick(m, 120);
    w->cursor = now > back ? now - back : 1;
    w->ns = pick(m, 3) ? NULL : namespaces[pick(m, 3)];
    const int r = store_watch(m->b->s, "pods", w->ns, w->cursor, &handler, w, &w->w, &err);
    assert_int_equal(r, w->cursor < m->floor ? -EIDRM : 0);
}

/* ---- the run --------------------------------------------------------------------------------- */

static void all_watches(struct model *m, bool end)
{
    for (size_t i = 0; i < WATCHES; i++) {
        check_watch(m, &m->watch[i]);
        if (!end)
            continue;
        m->watch[i].w = store_unwatch(m->watch[i].w);
        vec_fini(&m->watch[i].heard);
        vec_fini(&m->watch[i].old);
    }
}

static void one_step(struct model *m)
{
    struct fixture *b = m->b;
    const uint64_t what = pick(m, 100), now = store_revision(b->s);

    if (what < 50) {
        do_write(m);
    } else if (what < 60) {
        loop_turn(b->l);
    } else if (what < 72) {
        loop_advance(b->l, (nsec_t)pick(m, 3) * NSEC_PER_MSEC);
    } else if (what < 80) {
        check_list(m, pick(m, 3) ? 1 + pick(m, now) : 0);
    } else if (what < 88) {
        check_get(m);
    } else if (what < 96) {
        do_watch(m);
    } else if (what < 97) {
        store_fail_next_commit(b->s, pick(m, 2) ? EIO : ENOSPC);
    } else if (what < 98) {
        store_compact(b->s, now > 60 ? now - 60 + pick(m, 60) : 0);
        m->floor = store_stats(b->s).oldest;
    } else if (b->kind.disk && pick(m, 4) == 0) {
        fixture_settle(b);
        all_watches(m, true);
        fixture_reopen(b);
        assert_true(store_revision(b->s) == now || m->events.n);
        assert_true(m->events.n == 0 || store_revision(b->s) == vec_last(&m->events).rev);
        assert_that(store_stats(b->s).oldest, <=, m->floor);
        m->floor = store_stats(b->s).oldest;
    }
    all_watches(m, false);
}

static void run_model(struct fixture_kind kind, uint64_t seed)
{
    struct model m = { .rng = loop_new_virtual(0, seed) };

    m.b = fixture_new(kind,
                      &(struct store_opts){ .ring_bytes = 4000, .history = 10000 * NSEC_PER_SEC });
    for (size_t i = 0; i < WATCHES; i++)
        m.watch[i].m = &m;
    for (int i = 0; i < STEPS; i++)
        one_step(&m);
    fixture_settle(m.b);
    assert_int_equal(m.pending.n, 0);
    for (int i = 0; i < 200; i++) { /* let the watchers catch up */
        for (size_t w = 0; w < WATCHES; w++)
            if (m.watch[w].w)
                store_watch_resume(m.watch[w].w);
        fixture_settle(m.b);
        all_watches(&m, false);
    }
    for (size_t w = 0; w < WATCHES; w++)
        if (m.watch[w].w) { /* nothing that matches is left unheard */
            vec_foreach(&m.events, i)
                assert_false(
                    m.events.items[i].rev > m.watch[w].cursor &&
                    (!m.watch[w].ns || streq(m.watch[w].ns, key_ns(m.events.items[i].key))));
        }
    for (uint64_t at = m.floor ? m.floor : 1; at <= store_revision(m.b->s); at++)
        check_list(&m, at);
    assert_that(m.acked, >, 100);
    assert_that(m.failed, >, 10);
    assert_that(m.told, >, 100);
    all_watches(&m, true);
    fixture_free(m.b);
    vec_foreach(&m.events, i)
        free(m.events.items[i].doc);
    vec_fini(&m.events);
    vec_fini(&m.pending);
    loop_free(m.rng);
}

static void test_memory_is_like_the_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++)
        run_model((struct fixture_kind){ false, false }, seed);
}

static void test_disk_is_like_the_model(void **state)
{
    (void)state;
    for (uint64_t seed = 11; seed <= 14; seed++)
        run_model((struct fixture_kind){ true, false }, seed);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_like_the_model),
        cmocka_unit_test(test_disk_is_like_the_model),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
