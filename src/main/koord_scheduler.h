/* koord_scheduler.h - the flags of koord-scheduler: kube-scheduler's and Koordinator's. */
#ifndef KOORD_MAIN_KOORD_SCHEDULER_H
#define KOORD_MAIN_KOORD_SCHEDULER_H
#include "component/delegate.h"
#include "component/gates.h"
#include "component/options.h"

struct run;
struct serve;

struct sched_options {
    const char *config, *write_config_to;
    const char *address, *bind_address, *tls_cert, *tls_key;
    const char *barrier_ns, *barrier_pod;
    int port, secure_port, debug_scores;
    int diagnosis_queue, diagnosis_a_turn;
    bool debug_filters, debug_diagnosis, debug_diagnosis_blocking;
    nsec_t monitor_period, monitor_timeout;
    nsec_t unschedulable_max, barrier_timeout;
    struct client_options client;
    struct election_options election;
    struct debug_options debug;
    struct delegate_options delegate;
    struct gates gates;
    /* Flags that are not served yet are checked and leave their value here, all of a type in the
     * same place. */
    struct {
        bool b;
        int i;
        nsec_t d;
        const char *s;
        struct flag_list l;
        struct flag_map m;
    } unserved;
};
void sched_options_add(struct flags *f, void *options);
bool sched_gate_on(const struct sched_options *o, const char *gate);
/* Says which of the flags and feature gates that were given have no effect yet. */
void sched_options_warn(const struct flags *f, const struct sched_options *o);

/* koord_scheduler_secure.c: serves on this address those whom *ret lets in. */
int sched_secure(struct run *run, struct serve *serve, const char *addr, struct delegate **ret,
                 struct kerr *err);
#endif
