/* sim_seeds.h - a simulation that is run once per seed: SIM [FIRST [COUNT]], COUNT 1 after FIRST.
 */
#ifndef KOORD_TESTS_SIM_SEEDS_H
#define KOORD_TESTS_SIM_SEEDS_H
#include <stdint.h>

struct sim_seeds {
    uint64_t count, full; /* runs without arguments; with KOORD_TEST_FULL */
    uint64_t shared;      /* from so many on, processes share them: one per CPU, eight at most */
    /* Runs the seeds from first to first + n - 1, prints its summary, and returns how many things
     * are wrong. */
    int (*run)(uint64_t first, uint64_t n);
};
/* The exit status of main(). */
int sim_seeds_main(const struct sim_seeds *s, int argc, char **argv);
#endif
