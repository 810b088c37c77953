/* run_gang.c - gangs. */
#include "runners.h"

const struct golden_runner golden_gang[] = {
    { "topology", golden_gang_topology, NULL },
    { NULL, NULL, NULL },
};
