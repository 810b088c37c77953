/* bare_pread.c - the least that measuring can cost: files are kept open and read once a second.
 *
 *     bare_pread SECONDS <PATHS
 *
 * Takes a path a line. Files that vanish are left out. Prints one line of JSON: how many files were
 * read, and milliseconds of CPU time a second.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"

static double cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    static char buf[1 << 16];
    struct vec_of(int) fds = { 0 };
    char line[4096];
    size_t bytes = 0;

    if (argc != 2)
        return fputs("usage: bare_pread SECONDS <PATHS\n", stderr), 2;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        int fd = open(line, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
            vec_push(&fds, fd);
    }
    int seconds = atoi(argv[1]);
    double begin = cpu_ms();
    for (int s = 0; s < seconds; s++) {
        vec_foreach(&fds, i)
            bytes += (size_t)MAX(pread(fds.items[i], buf, sizeof buf, 0), (ssize_t)0);
        sleep(1);
    }
    printf("{\"files\": %zu, \"bytes_per_round\": %zu, \"ms_per_s\": %.3f}\n", (size_t)fds.n,
           bytes / (size_t)MAX(seconds, 1), (cpu_ms() - begin) / MAX(seconds, 1));
    vec_fini(&fds);
    return 0;
}
