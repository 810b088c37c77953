/* koord_scheduler.h - the flags of koord-scheduler: kube-scheduler's and Koordinator's. */
#ifndef KOORD_MAIN_KOORD_SCHEDULER_H
#define KOORD_MAIN_KOORD_SCHEDULER_H
#include "component/gates.h"
#include "component/options.h"

struct sched_options {
    const char *config, *write_config_to;
    const char *address, *bind_address, *tls_cert, *tls_key, *client_ca;
    int port, secure_port, debug_scores;
    bool debug_filters;
    nsec_t unschedulable_max;
    struct client_options client;
    struct election_options election;
    struct debug_options debug;
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
/* Says which of the flags that were given have no effect yet. */
void sched_options_warn(const struct flags *f);
#endif
