/* coscheduling.h - what the files of the plugin share beside the gangs. */
#ifndef KOORD_SCHEDULER_COSCHEDULING_H
#define KOORD_SCHEDULER_COSCHEDULING_H
#include "scheduler/plugins/coscheduling/args.h"
#include "scheduler/plugins/coscheduling/gangs.h"

struct topo_network;

struct coscheduling { /* one for each profile */
    struct gangs *gangs;
    struct topo_network *network;
    bool topology; /* awareNetworkTopology */
};
#endif
