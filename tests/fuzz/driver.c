/* driver.c - runs a fuzz target over the files of its corpus, for builds without libFuzzer.
 *
 *     fuzz_json DIR|FILE...     prints "fuzz_json: N passed, 0 failed"
 *
 * A target that finds something wrong asserts, so the name of each input is at hand when it dies:
 * it is written to stderr by a handler of the abort. The empty input is always tried.
 */
#include "base/strbuf.h"
#include "sys/file.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 16 << 20 };
static const char *current = "the empty input"; /* for the handler */

static void on_abort(int signum)
{
    const char *parts[] = { "fuzz driver: died on ", current, "\n" };

    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0)
            break;
    raise(signum); /* SA_RESETHAND: now it ends us */
}

static void feed(const char *data, size_t n)
{
    /* A block of exactly this size: a read behind the end is then one that the sanitizer sees. */
    CLEANUP(mem_free) uint8_t *exact = n ? xmemdup(data, n) : NULL;
    LLVMFuzzerTestOneInput(exact, n);
}

static int feed_file(int dirfd, const char *name, unsigned char type, void *arg, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    (void)type;
    current = name;
    int r = file_read_all(dirfd, name, INPUT_MAX, &b, err);
    if (r < 0)
        return r;
    feed(b.data, b.len);
    ++*(unsigned *)arg;
    return 0;
}

int main(int argc, char **argv)
{
    const struct sigaction sa = { .sa_handler = on_abort, .sa_flags = (int)SA_RESETHAND };
    const char *program = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    struct kerr err = { 0 };
    unsigned passed = 1;

    sigaction(SIGABRT, &sa, NULL);
    feed(NULL, 0);
    for (int i = 1; i < argc; i++) {
        struct stat st;
        int r = 0;
        if (stat(argv[i], &st) < 0) {
            if (errno == ENOENT)
                continue; /* a target whose corpus is still to come */
            r = kerr_set(&err, -errno, "%s: %s", argv[i], strerror(errno));
        } else if (S_ISDIR(st.st_mode)) {
            r = dir_each(AT_FDCWD, argv[i], feed_file, &passed, &err);
        } else {
            r = feed_file(AT_FDCWD, argv[i], 0, &passed, &err);
        }
        if (r < 0) {
            fprintf(stderr, "%s: %s\n", program, err.text);
            return 1;
        }
    }
    printf("%s: %u passed, 0 failed\n", program, passed);
    return 0;
}
