/* test_http_roundtrip.c - our client against our server over memory, on the virtual loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test/asserts.h"
#include "net/test/roundtrip.h"

#define SEC NSEC_PER_SEC

static void open_mem(struct rt *t, bool h2, const struct httpd_opts *o, unsigned max_conns)
{
    rt_init(t, loop_new_virtual(1700000000 * SEC, 7), o);
    t->h = http_client_new(t->l, &(struct http_client_opts){ .host = "server",
                                                             .port = 80,
                                                             .h2_prior_knowledge = h2,
                                                             .max_conns = max_conns,
                                                             .dial = mem_dial,
                                                             .dial_arg = t });
}

static void test_pieces_of_any_size(void **state)
{
    enum { JOBS = 60 };
    struct job jobs[JOBS];

    (void)state;
    for (int round = 0; round < 16; round++) {
        CLEANUP(rt_fini) struct rt t;
        open_mem(&t, round % 2, NULL, 0);
        t.mem = (struct mem_opts){ .chunk = (size_t)round / 2, .latency = NSEC_PER_MSEC };
        for (size_t i = 0; i < JOBS; i++)
            job_mixed(&t, &jobs[i], i);
        loop_advance(t.l, 60 * SEC);
        assert_int_equal(t.n_left, 0);
        assert_int_equal(t.n_done, JOBS);
    }
}

static void test_thousands_of_calls(void **state)
{
    enum { WAVE = 500 };
    static struct job jobs[WAVE];

    (void)state;
    for (int h2 = 0; h2 < 2; h2++) {
        CLEANUP(rt_fini) struct rt t;
        open_mem(&t, h2, NULL, 0);
        for (int wave = 0; wave < 10; wave++) {
            for (size_t i = 0; i < WAVE; i++)
                job_mixed(&t, &jobs[i], i + (size_t)wave * WAVE);
            loop_advance(t.l, SEC);
            assert_int_equal(t.n_left, 0);
        }
        assert_int_equal(t.n_done, 10 * WAVE);
        assert_int_equal(http_client_stats(t.h).dials, h2 ? 1 : 6);
    }
}

static void test_watch_delivers_each_event_in_time(void **state)
{
    (void)state;
    for (int h2 = 0; h2 < 2; h2++) {
        CLEANUP(rt_fini) struct rt t;
        struct job j, other;
        open_mem(&t, h2, NULL, 0);
        job_get(&t, &j, "/watch/100");
        for (size_t i = 1; i < 100; i++) {
            loop_advance(t.l, i == 1 ? SEC + 1 : SEC);
            assert_int_equal(j.got, i <= 10 ? 8 * i : 80 + 9 * (i - 10));
            job_get(&t, &other, "/status/200"); /* the connection is not blocked */
            loop_advance(t.l, 0);
            assert_true(other.ended);
        }
        loop_advance(t.l, SEC);
        assert_true(j.ended);
        assert_int_equal(j.err, 0);
    }
}

static void test_pausing_reaches_the_handler(void **state)
{
    (void)state;
    for (int h2 = 0; h2 < 2; h2++) {
        CLEANUP(rt_fini) struct rt t;
        struct job j;
        open_mem(&t, h2, NULL, 0);
        job_get(&t, &j, "/size/20000000");
        while (!j.status)
            loop_turn(t.l);
        http_pause(j.call, true);
        loop_advance(t.l, SEC);
        size_t at = j.got;
        assert_that(at, <, 3 * 1000 * 1000); /* what was under way */
        assert_that(t.max_queued, <, QUEUE_CAP + 60000);
        loop_advance(t.l, 10 * SEC);
        assert_int_equal(j.got, at);
        http_pause(j.call, false);
        loop_advance(t.l, SEC);
        assert_true(j.ended);
        assert_int_equal(j.got, 20000000);
    }
}

static void test_large_bodies(void **state)
{
    (void)state;
    for (int h2 = 0; h2 < 2; h2++) {
        CLEANUP(rt_fini) struct rt t;
        struct job up, down, gz;
        open_mem(&t, h2, &(struct httpd_opts){ .max_body = 32 << 20 }, 0);
        job_echo(&t, &up, 20000000);
        job_get(&t, &down, "/size/20000000");
        job_get(&t, &gz, "/gz/20000000");
        loop_advance(t.l, SEC);
        assert_int_equal(t.n_done, 3);
    }
}

static void test_too_large_a_body_is_refused(void **state)
{
    (void)state;
    for (int h2 = 0; h2 < 2; h2++) {
        CLEANUP(rt_fini) struct rt t;
        struct job j;
        open_mem(&t, h2, NULL, 0);
        job_echo(&t, &j, 4 << 20);
        j.want = NULL;
        j.want_status = 413;
        loop_advance(t.l, 10 * SEC);
        assert_true(j.ended);
        assert_int_equal(j.status, 413);
    }
}

static void test_cancelled_calls_leave_the_rest_alone(void **state)
{
    enum { JOBS = 300 };
    static struct job jobs[JOBS];

    (void)state;
    for (int h2 = 0; h2 < 2; h2++) {
        CLEANUP(rt_fini) struct rt t;
        open_mem(&t, h2, NULL, 20);
        t.mem.latency = NSEC_PER_MSEC;
        for (size_t i = 0; i < JOBS; i++)
            job_mixed(&t, &jobs[i], i);
        int cancelled = 0;
        while (t.n_left > 0) {
            size_t i = loop_rand_below(t.l, JOBS);

            if (i % 3 == 0 && jobs[i].call) {
                job_cancel(&jobs[i]);
                cancelled++;
            }
            loop_advance(t.l, (nsec_t)loop_rand_below(t.l, 300 * NSEC_PER_USEC));
        }
        assert_that(cancelled, >, 10);
        assert_int_equal(t.n_failed, 0);
        assert_int_equal(t.n_done, JOBS - cancelled);
        loop_advance(t.l, SEC);
        assert_int_equal(t.n_open, 0); /* the server knows, too */
    }
}

static void test_time_limits(void **state)
{
    (void)state;
    for (int h2 = 0; h2 < 2; h2++) {
        CLEANUP(rt_fini) struct rt t;
        struct job j = { .t = &t, .want_status = 200 };
        open_mem(&t, h2, NULL, 0);
        job_send(&j, &(struct http_req){ .method = "GET", .target = "/never", .timeout = 5 * SEC });
        loop_advance(t.l, 6 * SEC);
        assert_int_equal(j.err, -ETIMEDOUT);
        assert_int_equal(t.n_close, 1);
        j = (struct job){ .t = &t, .want_status = 200 };
        job_send(&j, &(struct http_req){
                         .method = "GET", .target = "/watch/5", .idle_timeout = SEC / 2 });
        loop_advance(t.l, 6 * SEC);
        assert_int_equal(j.err, -ETIMEDOUT);
    }
}

static void on_stopped(void *arg)
{
    ++*(int *)arg;
}

static void test_server_stops_gracefully(void **state)
{
    (void)state;
    for (int h2 = 0; h2 < 2; h2++) {
        CLEANUP(rt_fini) struct rt t;
        struct job slow, fast, after;
        int stopped = 0;
        open_mem(&t, h2, NULL, 0);
        job_get(&t, &fast, "/status/200");
        loop_advance(t.l, SEC);
        job_get(&t, &slow, "/later/5000");
        loop_advance(t.l, SEC);
        httpd_stop(t.d, 10 * SEC, on_stopped, &stopped);
        loop_advance(t.l, SEC);
        assert_int_equal(stopped, 0);
        loop_advance(t.l, 5 * SEC);
        assert_int_equal(t.n_done, 2);
        assert_int_equal(stopped, 1);
        t.d = httpd_free(t.d);
        job_get(&t, &after, "/status/200");
        loop_advance(t.l, SEC);
        assert_int_equal(after.err, -ECONNREFUSED);
    }
}

/* Connections break at random moments: every call ends exactly once, every request at the server
 * is let go exactly once, and once the weather is better everything works again. */
static void test_broken_connections(void **state)
{
    enum { JOBS = 40 };
    static struct job jobs[JOBS];

    (void)state;
    for (int h2 = 0; h2 < 2; h2++) {
        CLEANUP(rt_fini) struct rt t;
        open_mem(&t, h2, NULL, 1);
        for (int round = 0; round < 200; round++) {
            t.mem = (struct mem_opts){ .chunk = loop_rand_below(t.l, 2000),
                                       .latency = (nsec_t)loop_rand_below(t.l, NSEC_PER_MSEC) };
            for (size_t i = 0; i < JOBS; i++)
                job_mixed(&t, &jobs[i], i + (size_t)round);
            loop_advance(t.l, (nsec_t)loop_rand_below(t.l, 20 * NSEC_PER_MSEC));
            if (http_client_stats(t.h).open_conns > 0 && t.n_left > 0)
                stream_mem_break(t.last_end, -ECONNRESET, "broken on purpose");
            loop_advance(t.l, 60 * SEC);
            assert_int_equal(t.n_left, 0);
            assert_int_equal(t.n_open, 0);
        }
        assert_that(t.n_failed, >,
                    (h2 ? 300 : 10)); /* the client itself repeats what it safely can */
        struct job j;
        job_get(&t, &j, "/size/100000");
        loop_advance(t.l, SEC);
        assert_true(j.ended && !j.err);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_of_any_size),
        cmocka_unit_test(test_thousands_of_calls),
        cmocka_unit_test(test_watch_delivers_each_event_in_time),
        cmocka_unit_test(test_pausing_reaches_the_handler),
        cmocka_unit_test(test_large_bodies),
        cmocka_unit_test(test_too_large_a_body_is_refused),
        cmocka_unit_test(test_cancelled_calls_leave_the_rest_alone),
        cmocka_unit_test(test_time_limits),
        cmocka_unit_test(test_server_stops_gracefully),
        cmocka_unit_test(test_broken_connections),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
