/* Injected faults: shares, what is told to the caller, cancelling, same story for the same seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "loop/loop.h"
#include "net/http.h"

#define SEC NSEC_PER_SEC

/* ---- a transport that answers everything with 200 and ten bytes ------------------------------ */

struct plain {
    struct http http;
    struct loop *l;
    unsigned sent, cancelled;
};
struct pcall {
    struct http_call http;
    struct plain *p;
    struct http_handler on;
    void *arg;
    struct timer *t;
    bool *gone;
};
static const struct http_ops plain_ops;

static void plain_due(struct loop *l, void *arg)
{
    struct pcall *c = arg;
    bool gone = false;

    (void)l;
    c->t = NULL;
    c->gone = &gone;
    c->on.on_headers(c->arg, &(struct http_resp){ .status = 200 });
    if (!gone)
        c->on.on_data(c->arg, "01234", 5);
    if (!gone)
        c->on.on_data(c->arg, "56789", 5);
    if (!gone) {
        c->on.on_end(c->arg, NULL, true);
        free(c);
    }
}

static struct http_call *plain_send(struct http *h, const struct http_req *r,
                                    const struct http_handler *on, void *arg)
{
    struct pcall *c = xnew0(struct pcall);

    c->p = container_of(h, struct plain, http);
    c->http.ops = &plain_ops;
    c->on = *on;
    c->arg = arg;
    c->p->sent++;
    assert_string_equal(r->target, "/x");
    assert_string_equal(r->method, "POST");
    assert_memory_equal(r->body, "body", r->body_len);
    assert_int_equal(r->headers.n, 1);
    assert_true(str_eqz(r->headers.items[0].value, "value"));
    c->t = loop_after(c->p->l, NSEC_PER_MSEC, plain_due, c);
    return &c->http;
}

static void plain_cancel(struct http_call *h)
{
    struct pcall *c = container_of(h, struct pcall, http);

    c->p->cancelled++;
    timer_cancel(c->t);
    if (c->gone)
        *c->gone = true;
    free(c);
}

static void plain_pause(struct http_call *h, bool paused)
{
    (void)h, (void)paused;
}

static const struct http_ops plain_ops = { plain_send, plain_cancel, plain_pause, NULL };

/* ---- results --------------------------------------------------------------------------------- */

struct tally {
    unsigned ok, refused, reset, lost, s500, s503, s429, ends, cut_bytes;
    nsec_t latest;
    struct loop *l;
};
struct one {
    struct tally *t;
    int status;
    size_t bytes;
};

static void on_headers(void *arg, const struct http_resp *r)
{
    struct one *x = arg;
    x->status = r->status;
}

static void on_data(void *arg, const char *p, size_t n)
{
    struct one *x = arg;
    (void)p;
    x->bytes += n;
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    struct one *x = arg;
    struct tally *t = x->t;

    t->ends++;
    t->latest = loop_mono(t->l);
    if (!err) {
        assert_true(sent);
        t->ok += x->status == 200;
        t->s500 += x->status == 500;
        t->s503 += x->status == 503;
        t->s429 += x->status == 429;
        assert_true(x->status != 200 || x->bytes == 10);
    } else if (err->code == -ECONNREFUSED) {
        assert_false(sent);
        t->refused++;
    } else {
        assert_int_equal(err->code, -ECONNRESET);
        assert_true(sent);
        if (x->status == 0)
            t->lost++;
        else
            t->reset++;
        t->cut_bytes += (unsigned)x->bytes;
    }
    free(x);
}

static const struct http_handler handler = { on_headers, on_data, on_end, NULL };

static struct http_call *send_with(struct http *h, struct one *x)
{
    static const struct http_header header = { { "name", 4 }, { "value", 5 } };
    const struct http_req r = {
        .method = "POST", .target = "/x", .headers = { &header, 1 }, .body = "body", .body_len = 4
    };

    return http_send(h, &r, &handler, x);
}

static struct http_call *send_one(struct http *h, struct tally *t)
{
    struct one *x = xnew0(struct one); /* freed in on_end */

    x->t = t;
    return send_with(h, x);
}

static struct tally run(const struct http_faults *f, unsigned n, uint64_t seed, unsigned *ret_sent)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, seed);
    struct plain p = { .http.ops = &plain_ops, .l = l };
    struct http *h = http_fault_new(l, &p.http, f);
    struct tally t = { .l = l };

    for (unsigned i = 0; i < n; i++)
        send_one(h, &t);
    assert_int_equal(t.ends, 0);
    loop_run(l);
    assert_int_equal(t.ends, n);
    http_free(h);
    if (ret_sent)
        *ret_sent = p.sent;
    return t;
}

static void test_without_faults_nothing_changes(void **state)
{
    unsigned sent;
    struct tally t = run(NULL, 100, 1, &sent);

    (void)state;
    assert_int_equal(t.ok, 100);
    assert_int_equal(sent, 100);
}

static void test_shares(void **state)
{
    const struct http_faults f = { .refuse = 50,
                                   .lose_answer = 50,
                                   .reset = 50,
                                   .status_500 = 50,
                                   .status_503 = 50,
                                   .status_429 = 50 };
    unsigned sent;
    struct tally t = run(&f, 20000, 7, &sent);

    (void)state;
    assert_in_range(t.refused, 800, 1200);
    assert_in_range(t.lost, 700, 1100);
    assert_in_range(t.reset, 700, 1100);
    assert_in_range(t.s500, 650, 1050);
    assert_in_range(t.s503, 650, 1050);
    assert_in_range(t.s429, 600, 1000);
    assert_int_equal(t.ok + t.refused + t.lost + t.reset + t.s500 + t.s503 + t.s429, 20000);
    /* lost and reset calls were carried out, the others never left */
    assert_int_equal(sent, t.ok + t.lost + t.reset);
    assert_that(t.cut_bytes, >, 0);
}

static void test_same_seed_same_story(void **state)
{
    const struct http_faults f = { .refuse = 100, .reset = 100, .slow = 300, .slow_max = 5 * SEC };
    struct tally a = run(&f, 500, 42, NULL), b = run(&f, 500, 42, NULL), c = run(&f, 500, 43, NULL);

    (void)state;
    a.l = b.l = c.l = NULL;
    assert_memory_equal(&a, &b, sizeof a);
    assert_memory_not_equal(&a, &c, sizeof a);
}

static void test_slow(void **state)
{
    const struct http_faults f = { .slow = 1000, .slow_max = 10 * SEC };
    struct tally t = run(&f, 100, 1, NULL);

    (void)state;
    assert_int_equal(t.ok, 100);
    assert_in_range(t.latest, 8 * SEC, 10 * SEC + 2 * NSEC_PER_MSEC);
}

static void test_cancel_and_free(void **state)
{
    CLEANUP(loop_free) struct loop *l = loop_new_virtual(0, 1);
    struct plain p = { .http.ops = &plain_ops, .l = l };
    const struct http_faults slow = { .slow = 1000, .slow_max = SEC };
    struct http *h = http_fault_new(l, &p.http, NULL);
    struct tally t = { .l = l };
    struct one x = { .t = &t };

    (void)state;
    http_cancel(send_with(h, &x));
    assert_int_equal(p.cancelled, 1);
    http_fault_set(h, &slow);
    http_cancel(send_with(h, &x)); /* still waiting: never reaches the transport */
    assert_int_equal(p.sent, 1);
    send_with(h, &x);
    http_fault_set(h, NULL);
    send_with(h, &x);
    http_free(h);
    loop_advance(l, 10 * SEC);
    assert_int_equal(t.ends, 0);
    assert_int_equal(p.sent, 2);
    assert_int_equal(p.cancelled, 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_faults_nothing_changes),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_same_seed_same_story),
        cmocka_unit_test(test_slow),
        cmocka_unit_test(test_cancel_and_free),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
