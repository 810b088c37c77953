/* sim_seeds.c - which seeds are run, and by how many processes. */
#include "sim_seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"

/* A run needs nothing of another. */
static int share_out(const struct sim_seeds *s, uint64_t first, uint64_t n, unsigned processes)
{
    int failed = 0, status;

    (void)fflush(stdout);
    for (unsigned i = 0; i < processes; i++) {
        uint64_t from = n * i / processes, to = n * (i + 1) / processes;
        pid_t pid = fork();
        if (pid == 0)
            exit(s->run(first + from, to - from) != 0);
        failed += pid < 0;
    }
    while (wait(&status) > 0)
        failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    return failed;
}

int sim_seeds_main(const struct sim_seeds *s, int argc, char **argv)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t n = argc > 2                    ? strtoull(argv[2], NULL, 10)
                 : argc > 1                  ? 1
                 : getenv("KOORD_TEST_FULL") ? s->full
                                             : s->count;

    if (n < s->shared || cpus < 2)
        return s->run(first, n) != 0;
    return share_out(s, first, n, (unsigned)MIN(cpus, 8)) != 0;
}
