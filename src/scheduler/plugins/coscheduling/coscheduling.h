/* coscheduling.h - what the files of the plugin share beside the gangs. */
#ifndef KOORD_SCHEDULER_COSCHEDULING_H
#define KOORD_SCHEDULER_COSCHEDULING_H
#include "scheduler/plugins/coscheduling/args.h"
#include "scheduler/plugins/coscheduling/gangs.h"

struct budgets;
struct ks_post_filter;
struct topo_network;

struct coscheduling { /* one for each profile */
    struct ks_env env;
    struct gangs *gangs;
    struct topo_network *network;
    bool topology; /* awareNetworkTopology */
    bool preempts; /* enablePreemption */
    bool batches;  /* gate EnableInlineBatchSchedule */
    struct budgets *budgets;
};

/* preempt.c */
extern const struct ks_post_filter coscheduling_post_filter;
#endif
