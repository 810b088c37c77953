/* bench_store.c - acknowledged creates a second on this machine's disk, and what else matters.
 *
 *     bench_store [DIR [WRITES [IN_FLIGHT [BYTES]]]]
 *
 * Prints one line per figure; fsync alone first, for comparison. No targets here: tests/bench has.
 */
#include "apiserver/store/store.h"
#include "loop/loop.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

struct bench {
    struct loop *l;
    struct store *s;
    char *doc;
    size_t bytes, total, sent, acked;
    nsec_t *sent_at, *took;
    size_t told;
};
struct slot {
    struct bench *b;
    size_t i;
};

static double seconds(nsec_t d)
{
    return (double)d / 1e9;
}

/* A loop that never runs does not cache its clock. */
static struct loop *watch;
static nsec_t now(void)
{
    return loop_mono(watch);
}

static void send_next(struct slot *sl);
static void on_ack(void *arg, uint64_t rev, const struct kerr *err)
{
    struct slot *sl = arg;
    struct bench *b = sl->b;

    (void)rev;
    if (err) {
        fprintf(stderr, "%s\n", err->text);
        exit(1);
    }
    b->took[sl->i] = now() - b->sent_at[sl->i];
    if (++b->acked == b->total)
        loop_stop(b->l);
    send_next(sl);
}

static void send_next(struct slot *sl)
{
    struct bench *b = sl->b;
    struct kerr err = { 0 };
    char name[32];

    if (b->sent == b->total)
        return;
    sl->i = b->sent++;
    (void)snprintf(name, sizeof name, "pod-%zu", sl->i);
    b->sent_at[sl->i] = now();
    const struct store_key k = { "pods", "default", name };
    if (store_put(b->s, &k, 0, b->doc, b->bytes, on_ack, sl, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
}

static int by_size(const void *a, const void *b)
{
    const nsec_t x = *(const nsec_t *)a, y = *(const nsec_t *)b;
    return x < y ? -1 : x > y;
}

static void fsync_alone(const char *dir)
{
    char path[256];
    static char block[8192];

    (void)snprintf(path, sizeof path, "%s/bench-fsync", dir);
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const nsec_t start = now();
    for (int i = 0; i < 200; i++)
        if (write(fd, block, sizeof block) < 0 || fdatasync(fd) < 0)
            perror("fsync");
    printf("write + fdatasync alone     %8.0f us\n", seconds(now() - start) * 1e6 / 200);
    close(fd);
    (void)unlink(path);
}

static long rss_kb(void)
{
    long pages = 0, skip;
    FILE *f = fopen("/proc/self/statm", "re");

    if (f && fscanf(f, "%ld %ld", &skip, &pages) != 2)
        pages = 0;
    if (f)
        (void)fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static bool count_event(void *arg, const struct store_event *e)
{
    (void)e;
    ++*(size_t *)arg;
    return true;
}
static void ended(void *arg, const struct kerr *err)
{
    (void)arg;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}
static bool count_doc(void *arg, const struct store_key *k, uint64_t rev, const char *doc, size_t n)
{
    (void)k, (void)rev, (void)doc;
    *(size_t *)arg += n;
    return true;
}

static void read_back(struct bench *b)
{
    static const struct store_watch_handler h = { count_event, NULL, ended };
    struct store_watch *w[100];
    size_t sum = 0, heard = 0;
    struct kerr err = { 0 };
    nsec_t start = now();

    if (store_list(b->s, "pods", NULL, 0, NULL, count_doc, &sum, &err) < 0)
        fprintf(stderr, "%s\n", err.text);
    printf("list of all                 %8.1f ms (%.1f MB)\n", seconds(now() - start) * 1e3,
           (double)sum / 1e6);
    start = now();
    for (size_t i = 0; i < ARRAY_LEN(w); i++)
        if (store_watch(b->s, "pods", NULL, 1, &h, &heard, &w[i], &err) < 0)
            fprintf(stderr, "%s\n", err.text);
    while (heard < ARRAY_LEN(w) * b->total && now() - start < 60 * NSEC_PER_SEC)
        loop_turn(b->l);
    printf("100 watchers from the start %8.1f ms (%zu events)\n", seconds(now() - start) * 1e3,
           heard);
    for (size_t i = 0; i < ARRAY_LEN(w); i++)
        store_unwatch(w[i]);
}

static double cpu_seconds(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    const char *dir = argc > 1 ? argv[1] : "/tmp";
    struct bench b = { .total = argc > 2 ? (size_t)atol(argv[2]) : 10000,
                       .bytes = argc > 4 ? (size_t)atol(argv[4]) : 2048 };
    const size_t in_flight = argc > 3 ? (size_t)atol(argv[3]) : 64;
    CLEANUP(mem_free) char *path = xasprintf("%s/bench-store.db", dir);
    struct slot *slots = xnewn0(in_flight, struct slot);
    struct kerr err = { 0 };

    watch = loop_new();
    fsync_alone(dir);
    b.doc = xmalloc(b.bytes);
    for (size_t i = 0; i < b.bytes; i++)
        b.doc[i] = (char)('a' + i % 26);
    b.sent_at = xnewn0(b.total, nsec_t);
    b.took = xnewn0(b.total, nsec_t);
    b.l = loop_new();
    const struct store_opts o = { .path = path };
    nsec_t start = now();
    if (store_open(b.l, &o, &b.s, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf("open a new file             %8.1f ms\n", seconds(now() - start) * 1e3);
    const double cpu = cpu_seconds();
    start = now();
    for (size_t i = 0; i < in_flight; i++) {
        slots[i] = (struct slot){ &b, 0 };
        send_next(&slots[i]);
    }
    loop_run(b.l);
    const double took = seconds(now() - start);
    qsort(b.took, b.total, sizeof *b.took, by_size);
    printf("creates acknowledged        %8.0f /s (%zu of %zu bytes, %zu in flight, %llu batches)\n",
           (double)b.total / took, b.total, b.bytes, in_flight,
           (unsigned long long)store_stats(b.s).batches);
    printf("latency p50, p99, max       %8.2f %.2f %.2f ms\n", seconds(b.took[b.total / 2]) * 1e3,
           seconds(b.took[b.total * 99 / 100]) * 1e3, seconds(b.took[b.total - 1]) * 1e3);
    printf("CPU per create              %8.1f us\n", (cpu_seconds() - cpu) * 1e6 / (double)b.total);
    printf("memory                      %8.1f MB\n", (double)rss_kb() / 1024);
    read_back(&b);
    printf("memory after reading        %8.1f MB\n", (double)rss_kb() / 1024);
    b.s = store_close(b.s);
    start = now();
    if (store_open(b.l, &o, &b.s, &err) == 0)
        printf("open again                  %8.1f ms (%zu objects)\n", seconds(now() - start) * 1e3,
               store_stats(b.s).objects);
    b.s = store_close(b.s);
    b.l = loop_free(b.l);
    watch = loop_free(watch);
    (void)unlink(path);
    free(b.doc);
    free(b.sent_at);
    free(b.took);
    free(slots);
    return 0;
}
