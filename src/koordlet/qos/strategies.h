/* strategies.h - the strategies, for the table in qos.c. */
#ifndef KOORD_KOORDLET_QOS_STRATEGIES_H
#define KOORD_KOORDLET_QOS_STRATEGIES_H
#include "koordlet/qos/qos.h"

extern const struct qos_strategy strategy_cpu_suppress, strategy_cpu_evict, strategy_memory_evict,
    strategy_cpu_burst, strategy_cgroup_reconcile, strategy_resctrl, strategy_blkio,
    strategy_system_config, strategy_interference_guard, strategy_memory_reclaim;
#endif
