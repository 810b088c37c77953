/* openb.h - the trace openb (bench_openb.c), and the plain fragmentation gradient on it. */
#ifndef KOORD_BENCH_OPENB_H
#define KOORD_BENCH_OPENB_H
#include <stddef.h>
#include <stdint.h>

enum { OPENB_CARD = 1000 }; /* thousandths of a card */

struct task {
    int cpu, memory, cards, milli;
    char spec[64]; /* models, with | between; empty: any */
};
struct gpu_node {
    int cpu, memory, cards;
    char model[32];
};

/* Places the tasks that were drawn, in their order, where the fragmentation of the node grows
 * least, as it is published (Weng et al., Beware of Fragmentation, ATC 2023): all that is free of a
 * node counts for a task that cannot run there, else what is on cards that are too small for it;
 * the mix is the list of all tasks, and the first of equal nodes is taken. Without the engine, to
 * compare with. bound[i]: 1 for those that found a node, 0 for others. */
void openb_plain_gradient(const struct task *tasks, size_t ntasks, const struct gpu_node *nodes,
                          size_t nnodes, const uint32_t *drawn, size_t ndrawn, uint8_t *bound);
#endif
