/* koord_scheduler.h - the flags of koord-scheduler: kube-scheduler's and Koordinator's. */
#ifndef KOORD_MAIN_KOORD_SCHEDULER_H
#define KOORD_MAIN_KOORD_SCHEDULER_H
#include "component/election.h"
#include "component/gates.h"
#include "component/options.h"
#include "component/secure.h"

struct sched_options {
    const char *config, *write_config_to;
    const char *address;
    const char *barrier_ns, *barrier_pod;
    int port, debug_scores;
    int diagnosis_queue, diagnosis_a_turn;
    bool debug_filters, debug_diagnosis, debug_diagnosis_blocking, network_topology;
    nsec_t monitor_period, monitor_timeout;
    nsec_t unschedulable_max, barrier_timeout;
    struct client_options client;
    struct election_options election;
    struct debug_options debug;
    struct secure_options secure;
    struct gates gates;
    struct flag_list controller_plugins;
};
void sched_options_add(struct flags *f, void *options);
bool sched_gate_on(const struct sched_options *o, const char *gate);
/* Says which of the feature gates that were given have no effect yet, and which plugins do not
 * exist.
 */
void sched_options_warn(const struct sched_options *o);
#endif
