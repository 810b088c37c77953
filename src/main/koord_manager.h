/* koord_manager.h - the flags and feature gates of koord-manager (manager 1, api-config 3.1, 5). */
#ifndef KOORD_MAIN_KOORD_MANAGER_H
#define KOORD_MAIN_KOORD_MANAGER_H
#include "component/election.h"
#include "component/gates.h"
#include "component/options.h"

struct manager_options {
    const char *metrics_addr, *health_addr, *pprof_addr;
    bool enable_pprof, elect;
    const char *election_ns, *lock;
    const char *ns, *sync_period;
    double qps;
    int burst;
    struct flag_list controllers, plugins;
    const char *config_name, *config_ns;
    struct client_options client;
    struct debug_options debug;
    struct gates gates;
};
void manager_options_add(struct flags *f, void *options);
bool manager_gate_on(const struct manager_options *o, const char *gate);
/* Says which of the feature gates that were given have no effect yet. */
void manager_options_warn(const struct manager_options *o);
/* Which of these names (NULL ends) are on, as bits: a list of names, "*" and "-name", of which the
 * first that is about a name decides; what is not mentioned is on with "*" only. *ret_unknown: the
 * first word that means nothing; NULL: all do. */
unsigned names_enabled(const struct flag_list *l, const char *const *names,
                       const char **ret_unknown);
#endif
