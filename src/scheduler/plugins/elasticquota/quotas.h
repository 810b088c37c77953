/* quotas.h - the service of ElasticQuota: one forest for all profiles, kept current with the
 * ElasticQuotas, nodes and pods of the cluster, whichever scheduler the pods name; and the pods
 * that wait for room in a quota. Loop thread.
 */
#ifndef KOORD_SCHEDULER_ELASTICQUOTA_QUOTAS_H
#define KOORD_SCHEDULER_ELASTICQUOTA_QUOTAS_H
#include "base/map.h"
#include "base/vec.h"
#include "quota/admit.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/model/objects.h"
#include "scheduler/plugins/elasticquota/args.h"
#include "scheduler/plugins/elasticquota/hooks.h"
#include "scheduler/plugins/elasticquota/observe.h"

struct quota_control;
struct timer;

struct quota_owner { /* the object that a quota was made of: names are unique in the cluster */
    char *name, *ns;
    int code;          /* 0, or why its newest state is not in force */
    char problem[256]; /* the same for people */
};

struct quota_wait { /* pods wait for room in this quota */
    uint64_t key;   /* ks_wake() */
    uint32_t quota; /* number */
    uint32_t width; /* columns */
    uint64_t stamp; /* quota_stamp() when it was looked at */
    int64_t room[]; /* as it was: own, of pods that are not preemptible, of those above */
};

struct quota_leaver { /* a pod that counts until its time to terminate is over */
    struct kuid uid;
    nsec_t due;
};

struct quotas {
    struct ks_env env;
    struct quota_forest *forest;
    struct objects_listener listener;
    struct map owners; /* by name */
    uint32_t refused;  /* owners with a problem */
    struct map nodes;  /* struct kobj by name: as they are counted */
    struct vec_of(struct quota_wait *) waits;
    struct map waits_by_key; /* the same; keys are the bytes of the number */
    struct vec_of(struct quota_leaver) leavers;
    struct timer *check; /* has anybody got room? */
    struct timer *leave;
    bool runtime;      /* enableRuntimeQuota */
    bool check_parent; /* enableCheckParentQuota, of some profile, now or before */
    /* What controllers need, from the newest configuration. */
    struct {
        nsec_t delay_evict, revoke;
        bool monitor_all;
        char *ns;
        reslist default_max, system_max; /* of `arena` */
        struct arena *arena;
    } args;
    struct quota_control *control; /* NULL: the scheduler does not lead here */
    bool ignore_terminating, ignore_terminating_at_once;
    struct quota_hooks hooks;
    struct quota_observer observer;
};
KS_SERVICE(quotas, struct quotas)

/* The service with hook plugins of other factories than those that are built in. */
int quotas_create_with(const struct ks_env *env, const struct quota_args *args,
                       const struct quota_hook_factory *const *factories, void **ret,
                       struct kerr *err);
/* The args of a newer configuration. */
void quotas_set_args(struct quotas *s, const struct quota_args *a);
/* The quota of a pod; NULL: none. */
struct quota *quotas_of_pod(struct quotas *s, const struct pod *p);
/* What is wrong with the newest object of a quota; NULL: nothing. */
const struct quota_owner *quotas_problem(const struct quotas *s, const char *name);

/* ---- waits.c --------------------------------------------------------------------------------- */

/* A pod goes to wait: for ks_wake(), and it is woken when its quota has more room than now. */
uint64_t quotas_wait(struct quotas *s, const struct pod *p);
/* Something changed that may give room to somebody: looked at in the next turn. */
void quotas_changed(struct quotas *s);
/* Pods may belong to other quotas now. */
void quotas_wake_all(struct quotas *s);
void quotas_waits_fini(struct quotas *s);
#endif
