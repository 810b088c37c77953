/* moves_int.h - what is remembered, in memory and in the ConfigMap. */
#ifndef KOORD_DESCHEDULER_MOVES_INT_H
#define KOORD_DESCHEDULER_MOVES_INT_H
#include "base/map.h"
#include "descheduler/framework/moves.h"
#include "json/schema.h"

enum { MOVES_WORKLOADS = 500, MOVES_NODES = 8, MOVES_TIMES = 32 };

struct moved_node { /* a node that pods of the workload were moved away from */
    const char *node;
    nsec_t at;    /* last */
    nsec_t until; /* they stay there so long */
    nsec_t seen;  /* creation of the youngest pod that came back */
    int32_t returns;
};
struct moved {       /* a workload; all texts are its own */
    const char *key; /* namespace/kind/name */
    nsec_t last, until;
    int32_t strikes;
    struct moved_node nodes[MOVES_NODES]; /* the latest first */
    nsec_t times[MOVES_TIMES];            /* of moves, the latest first; 0: no more */
    uint32_t nnodes, ntimes;
};
struct moves {
    struct moves_opts o;
    char *ns, *name;
    struct map all; /* struct moved, by key */
    struct subscription *news;
    struct kube_call *call;
    struct timer *timer;
    bool started, ready, dirty, exists;
    unsigned failures;
};

struct moved *moves_make(struct moves *m, const char *key); /* forgets the oldest when it is full */
void moves_changed(struct moves *m);                        /* to be written before long */

/* moves_store.c: asks for the ConfigMap, and takes what it says. */
void moves_read(struct moves *m);
#endif
