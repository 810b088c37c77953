/* common_config.c - tables and checks of leaderElection and clientConnection. */
#include "component/common_config.h"

#define DEFAULT(name, json) static const struct kmeta name = { .def = (json) }
DEFAULT(def_true, "true");
DEFAULT(def_2s, "\"2s\"");
DEFAULT(def_10s, "\"10s\"");
DEFAULT(def_15s, "\"15s\"");
DEFAULT(def_lock, "\"leases\"");
DEFAULT(def_content, "\"application/vnd.kubernetes.protobuf\"");

#define STYPE struct election_config
static const struct kfield election_fields[] = {
    KF(STYPE, elect, "leaderElect", KF_OPT_BOOL, .meta = &def_true),
    KF(STYPE, lease_duration, "leaseDuration", KF_DUR, .meta = &def_15s),
    KF(STYPE, renew_deadline, "renewDeadline", KF_DUR, .meta = &def_10s),
    KF(STYPE, retry_period, "retryPeriod", KF_DUR, .meta = &def_2s),
    KF(STYPE, lock, "resourceLock", KF_STR, .meta = &def_lock),
    KF(STYPE, name, "resourceName", KF_STR),
    KF(STYPE, ns, "resourceNamespace", KF_STR),
};
const struct kschema election_config_schema =
    KSCHEMA("LeaderElectionConfiguration", STYPE, election_fields);
#undef STYPE

int election_config_check(const struct election_config *c, struct kerr *err)
{
    const char *wrong = NULL;

    if (!c->elect.v)
        return 0;
    if (c->lease_duration <= 0)
        wrong = "leaseDuration: Invalid value: must be greater than zero";
    else if (c->renew_deadline <= 0)
        wrong = "renewDeadline: Invalid value: must be greater than zero";
    else if (c->retry_period <= 0)
        wrong = "retryPeriod: Invalid value: must be greater than zero";
    else if (c->lease_duration <= c->renew_deadline)
        wrong = "leaseDuration: Invalid value: LeaseDuration must be greater than RenewDeadline";
    else if (c->renew_deadline <= c->retry_period)
        wrong = "renewDeadline: Invalid value: RenewDeadline must be greater than RetryPeriod";
    if (wrong)
        return kerr_api(err, -EINVAL, KR_INVALID, "leaderElection.%s", wrong);
    if (!streq(c->lock, "leases"))
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "leaderElection.resourceLock: Invalid value: \"%.64s\": resourceLock value "
                        "must be \"leases\"",
                        c->lock);
    return 0;
}

struct election_options election_config_options(const struct election_config *c)
{
    return (struct election_options){ .enabled = c->elect.v,
                                      .lease_duration = c->lease_duration,
                                      .renew_deadline = c->renew_deadline,
                                      .retry_period = c->retry_period,
                                      .lock = c->lock,
                                      .name = c->name,
                                      .ns = c->ns };
}

#define STYPE struct client_config
static const struct kfield client_fields[] = {
    KF(STYPE, kubeconfig, "kubeconfig", KF_STR),
    KF(STYPE, accept_content_types, "acceptContentTypes", KF_STR),
    KF(STYPE, content_type, "contentType", KF_STR, .meta = &def_content),
    KF(STYPE, qps, "qps", KF_F64),
    KF(STYPE, burst, "burst", KF_I32),
};
const struct kschema client_config_schema =
    KSCHEMA("ClientConnectionConfiguration", STYPE, client_fields);
#undef STYPE

int client_config_check(const struct client_config *c, struct kerr *err)
{
    if (c->burst < 0)
        return kerr_api(err, -EINVAL, KR_INVALID,
                        "clientConnection.burst: Invalid value: %d: must be non-negative",
                        (int)c->burst);
    return 0;
}
