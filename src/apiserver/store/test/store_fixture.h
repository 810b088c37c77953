/* store_fixture.h - a store on a loop for tests: both backends, both kinds of loop, one table. */
#ifndef KOORD_APISERVER_STORE_TEST_STORE_FIXTURE_H
#define KOORD_APISERVER_STORE_TEST_STORE_FIXTURE_H
#include "apiserver/store/store.h"
#include "base/vec.h"
#include "loop/loop.h"

#include <poll.h>
#include <setjmp.h> /* cmocka.h wants these first */
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture_kind {
    bool disk, real;
};
static const struct fixture_kind fixture_kinds[] = {
    { false, false },
    { true, false },
    { false, true },
    { true, true },
};

struct fixture {
    struct fixture_kind kind;
    struct loop *l;
    struct store *s;
    struct store_opts o;
    char dir[64], path[96];
};

static inline void fixture_open(struct fixture *b)
{
    struct kerr err = { 0 };

    b->o.path = b->kind.disk ? b->path : NULL;
    if (store_open(b->l, &b->o, &b->s, &err) < 0)
        fail_msg("%s", err.text);
}

static inline struct fixture *fixture_new(struct fixture_kind kind, const struct store_opts *o)
{
    struct fixture *b = xnew0(struct fixture);

    b->kind = kind;
    if (o)
        b->o = *o;
    b->l = kind.real ? loop_new() : loop_new_virtual(0, 1);
    (void)snprintf(b->dir, sizeof b->dir, "/tmp/koord-store-XXXXXX");
    if (!mkdtemp(b->dir))
        fail();
    (void)snprintf(b->path, sizeof b->path, "%s/state.db", b->dir);
    fixture_open(b);
    return b;
}

static inline void fixture_remove_files(const struct fixture *b)
{
    const char *const ends[] = { "", "-wal", "-shm", ".lock" };
    char name[128];

    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        (void)snprintf(name, sizeof name, "%s%s", b->path, ends[i]);
        (void)unlink(name);
    }
    (void)rmdir(b->dir);
}

static inline struct fixture *fixture_free(struct fixture *b)
{
    b->s = store_close(b->s);
    b->l = loop_free(b->l);
    fixture_remove_files(b);
    free(b);
    return NULL;
}
DEFINE_CLEANUP(fixture_free, struct fixture *)

/* Until nothing is under way and everybody was told. */
static inline void fixture_settle(struct fixture *b)
{
    if (!b->kind.real) {
        loop_advance(b->l, 20 * NSEC_PER_MSEC);
        return;
    }
    for (int quiet = 0; quiet < 20; quiet++) {
        loop_turn(b->l);
        if (store_stats(b->s).pending) {
            quiet = 0;
            (void)poll(NULL, 0, 1); /* the writer thread works */
        }
    }
}

/* Ends without a crash of the process: what the next open finds is what was on disk. */
static inline void fixture_reopen(struct fixture *b)
{
    b->s = store_close(b->s);
    fixture_open(b);
}

/* ---- keys and writes ------------------------------------------------------------------------- */

#define POD(ns, name) (&(struct store_key){ "pods", (ns), (name) })

struct ack {
    int calls;
    uint64_t rev;
    struct kerr err;
};
static inline UNUSED void ack_fn(void *arg, uint64_t rev, const struct kerr *err)
{
    struct ack *a = arg;

    a->calls++;
    a->rev = rev;
    a->err = err ? *err : (struct kerr){ 0 };
}

/* Writes are judged in the call; these settle too and return the revision. */
static inline UNUSED uint64_t fixture_put(struct fixture *b, const struct store_key *k,
                                          uint64_t from, const char *doc)
{
    struct ack a = { 0 };
    struct kerr err = { 0 };

    if (store_put(b->s, k, from, doc, strlen(doc), ack_fn, &a, &err) < 0)
        fail_msg("%s", err.text);
    fixture_settle(b);
    assert_int_equal(a.calls, 1);
    assert_int_equal(a.err.code, 0);
    return a.rev;
}

static inline UNUSED uint64_t fixture_delete(struct fixture *b, const struct store_key *k,
                                             uint64_t from, const char *doc)
{
    struct ack a = { 0 };
    struct kerr err = { 0 };

    if (store_delete(b->s, k, from, doc, strlen(doc), ack_fn, &a, &err) < 0)
        fail_msg("%s", err.text);
    fixture_settle(b);
    assert_int_equal(a.calls, 1);
    assert_int_equal(a.err.code, 0);
    return a.rev;
}

/* "ns/name@rev=doc " for each object. */
static inline bool fixture_note(void *arg, const struct store_key *k, uint64_t rev, const char *doc,
                                size_t n)
{
    strbuf_appendf(arg, "%s/%s@%llu=%.*s ", k->ns, k->name, (unsigned long long)rev, (int)n, doc);
    return true;
}

static inline UNUSED void fixture_assert_list(struct fixture *b, const char *ns, uint64_t at,
                                              const char *want)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct kerr err = { 0 };

    if (store_list(b->s, "pods", ns, at, NULL, fixture_note, &out, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(strbuf_str(&out), want);
}

/* ---- a watcher that writes down what it hears ------------------------------------------------ */

struct recorder {
    struct strbuf text;
    int events, ends, stop_after; /* stop_after: returns false at this event; 0: never */
    uint64_t progress;
    struct kerr err;
    struct store_watch *w;
};

static inline bool recorder_event(void *arg, const struct store_event *e)
{
    struct recorder *x = arg;

    strbuf_appendf(&x->text, "%c%s/%s@%llu=%.*s", "AMD"[e->type], e -> key.ns, e->key.name,
                   (unsigned long long)e->rev, (int)e->n, e->doc);
    if (e->old_doc)
        strbuf_appendf(&x->text, "<%.*s", (int)e->old_n, e->old_doc);
    strbuf_appendc(&x->text, ' ');
    return ++x->events != x->stop_after;
}
static inline void recorder_progress(void *arg, uint64_t rev)
{
    ((struct recorder *)arg)->progress = rev;
}
static inline void recorder_end(void *arg, const struct kerr *err)
{
    struct recorder *x = arg;

    x->ends++;
    x->err = *err;
    x->w = NULL;
}
static const struct store_watch_handler recorder_handler = { recorder_event, recorder_progress,
                                                             recorder_end };

static inline UNUSED void recorder_watch(struct fixture *b, struct recorder *x, const char *ns,
                                         uint64_t from)
{
    struct kerr err = { 0 };

    if (store_watch(b->s, "pods", ns, from, &recorder_handler, x, &x->w, &err) < 0)
        fail_msg("%s", err.text);
}
static inline UNUSED void recorder_assert(struct recorder *x, const char *want)
{
    assert_string_equal(strbuf_str(&x->text), want);
    strbuf_reset(&x->text);
    if (x->text.data)
        x->text.data[0] = '\0';
}
static inline UNUSED void recorder_fini_p(struct recorder *x)
{
    x->w = store_unwatch(x->w);
    strbuf_fini(&x->text);
}

/* ---- every case on every kind of store and loop ---------------------------------------------- */

struct fixture_case {
    const char *name;
    CMUnitTestFunction fn;
};
#define CASE(fn)       \
    {                  \
#fn, test_##fn \
    }
enum { FIXTURE_CASES_MAX = 32 };

static inline UNUSED int fixture_run(const struct fixture_case *cases, size_t ncases, int argc,
                                     char **argv)
{
    static struct CMUnitTest tests[FIXTURE_CASES_MAX * ARRAY_LEN(fixture_kinds)];
    static char names[ARRAY_LEN(tests)][80];
    size_t n = 0;

    assert(ncases <= FIXTURE_CASES_MAX);
    for (size_t k = 0; k < ARRAY_LEN(fixture_kinds); k++)
        for (size_t c = 0; c < ncases; c++, n++) {
            (void)snprintf(names[n], sizeof names[n], "test_%s [%s, %s loop]", cases[c].name,
                           fixture_kinds[k].disk ? "disk" : "memory",
                           fixture_kinds[k].real ? "real" : "virtual");
            tests[n] = (struct CMUnitTest){ .name = names[n],
                                            .test_func = cases[c].fn,
                                            .initial_state = (void *)&fixture_kinds[k] };
        }
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests("store", tests, n, NULL, NULL);
}
#endif
