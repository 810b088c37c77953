/* ls_server.c - a service that asks for a little CPU time again and again: how late are its
 * answers?
 *
 *     ls_server INTERVAL_US WORK_US SECONDS
 *
 * Requests arrive every INTERVAL_US whatever happened before; each takes WORK_US of CPU time on an
 * idle CPU. The latency of one is the time from its arrival to its end, with whatever was still
 * waiting before it. Prints one line of JSON: percentiles in microseconds. SIGTERM ends it early.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/vec.h"

static volatile sig_atomic_t ended;

static void on_term(int sig)
{
    (void)sig;
    ended = 1;
}

static int64_t now_ns(clockid_t c)
{
    struct timespec t;

    clock_gettime(c, &t);
    return (int64_t)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static volatile uint64_t sink;

static void work(uint64_t rounds)
{
    uint64_t x = sink | 1;

    for (uint64_t i = 0; i < rounds; i++)
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
    sink = x;
}

/* How many rounds take that long; the best of a few tries, since CPUs wake up slowly. */
static uint64_t calibrate(int64_t want_ns)
{
    const uint64_t probe = 1000000;
    int64_t best = INT64_MAX;

    for (int i = 0; i < 20; i++) {
        int64_t began = now_ns(CLOCK_THREAD_CPUTIME_ID);
        work(probe);
        best = MIN(best, now_ns(CLOCK_THREAD_CPUTIME_ID) - began);
    }
    return (uint64_t)((double)probe * (double)want_ns / (double)MAX(best, (int64_t)1));
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    struct vec_of(int64_t) took = { 0 };

    if (argc != 4)
        return fputs("usage: ls_server INTERVAL_US WORK_US SECONDS\n", stderr), 2;
    int64_t interval = atoll(argv[1]) * 1000, length = atoll(argv[3]) * NSEC_PER_SEC;
    if (interval <= 0 || length <= 0)
        return fputs("ls_server: an interval and a time are needed\n", stderr), 2;
    uint64_t rounds = calibrate(atoll(argv[2]) * 1000);
    signal(SIGTERM, on_term);
    int64_t began = now_ns(CLOCK_MONOTONIC);
    for (int64_t due = began + interval; due < began + length && !ended; due += interval) {
        struct timespec t = { due / NSEC_PER_SEC, due % NSEC_PER_SEC };
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
        work(rounds);
        vec_push(&took, now_ns(CLOCK_MONOTONIC) - due);
    }
    if (took.n == 0)
        return fputs("ls_server: no request\n", stderr), 1;
    qsort(took.items, took.n, sizeof *took.items, by_number);
    printf("{\"requests\": %zu, \"p50_us\": %.1f, \"p99_us\": %.1f, \"max_us\": %.1f}\n",
           (size_t)took.n, (double)took.items[took.n / 2] / 1e3,
           (double)took.items[took.n * 99 / 100] / 1e3, (double)took.items[took.n - 1] / 1e3);
    vec_fini(&took);
    return 0;
}
