/* common_config.h - the parts that the configuration files of all control plane programs have:
 * leaderElection and clientConnection.
 */
#ifndef KOORD_COMPONENT_COMMON_CONFIG_H
#define KOORD_COMPONENT_COMMON_CONFIG_H
#include "component/election.h"
#include "json/schema.h"

struct election_config {
    struct opt_bool elect;
    nsec_t lease_duration, renew_deadline, retry_period;
    const char *lock, *name, *ns; /* name, ns: empty without; the program has its defaults */
};
extern const struct kschema election_config_schema;
/* The message starts with "leaderElection." */
int election_config_check(const struct election_config *c, struct kerr *err);
struct election_options election_config_options(const struct election_config *c);

struct client_config {
    const char *kubeconfig, *accept_content_types, *content_type;
    double qps; /* 0: no limit on this side */
    int32_t burst;
};
extern const struct kschema client_config_schema;
int client_config_check(const struct client_config *c, struct kerr *err);
#endif
