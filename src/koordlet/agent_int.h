/* agent_int.h - the agent's body, for its files. */
#ifndef KOORD_KOORDLET_AGENT_INT_H
#define KOORD_KOORDLET_AGENT_INT_H
#include "koordlet/agent.h"
#include "koordlet/audit/audit.h"
#include "koordlet/collect/collect.h"
#include "koordlet/device/sources.h"
#include "koordlet/executor/executor.h"
#include "koordlet/hooks/reconcile.h"
#include "koordlet/predict/server.h"
#include "koordlet/qos/qos.h"
#include "koordlet/report/report.h"
#include "koordlet/runtime/delivery.h"
#include "koordlet/states/podresources.h"
#include "koordlet/states/states.h"

struct agent {
    struct agent_env env;
    struct metrics *external;
    struct host *host;
    struct caps caps;
    struct audit *audit; /* NULL: gate AuditEvents is off */
    struct executor *executor;
    struct reconciler *hooks;
    struct delivery *delivery; /* NULL: nobody starts containers here */
    struct snapshots *snapshots;
    struct states *states;
    struct metriccache *mc;
    struct collect_env collect_env;
    struct collect *collect;
    struct predict_server *predict;
    struct report_env report_env;
    struct metric_reporter *metric_reporter;     /* NULL: not reported */
    struct topology_reporter *topology_reporter; /* NULL: not reported */
    struct device_reporter *device_reporter;     /* NULL: not reported */
    struct qos *qos;
    struct podresources *podresources; /* NULL: gate PodResourcesProxy is off */
    struct timer *driver_timer, *waiting_timer, *restore_timer;
    void (*restored)(void *arg, uint64_t refused);
    void *restored_arg;
    unsigned restore_looks;
    nsec_t started, next_kubelet; /* monotonic */
    bool guessed;                 /* the driver, without having seen the directory */
    bool was_ready, stopping;
    bool settled; /* what only the start needed was given back */
};
#endif
