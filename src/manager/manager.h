/* manager.h - koord-manager as a library: overcommitted resources and strategies of nodes.
 *
 * Lives on the loop it is given and talks through the kube it is given; both stay the caller's and
 * must outlive it. Watches from manager_watch() on; its controllers write from manager_lead() on.
 * Loop thread only; do not free it from inside a callback of its kube.
 */
#ifndef KOORD_MANAGER_MANAGER_H
#define KOORD_MANAGER_MANAGER_H
#include "base/base.h"

struct kmerge;
struct kube;
struct loop;
struct manager;
struct metrics;
struct profile_set;
struct webhook_opts;
struct webhooks;

enum manager_controller {
    MANAGER_NODEMETRIC,
    MANAGER_NODERESOURCE,
    MANAGER_NODESLO,
    MANAGER_QUOTAPROFILE,
    MANAGER_COLOCATIONPROFILE, /* only with manager_profile_opts.enabled */
    MANAGER_CONTROLLERS
};
extern const char *const manager_controller_names[MANAGER_CONTROLLERS + 1]; /* ends with NULL */
extern const char *const manager_plugin_names[]; /* of noderesource, by bit; ends with NULL */

struct manager_profile_opts { /* of the controller colocationprofile; 0: the default of the flag */
    bool enabled;             /* feature gate ColocationProfileController */
    bool by_default;          /* all profiles, not only those labelled controller-managed */
    nsec_t interval;          /* between looks at the pods of a profile */
    nsec_t again_after;       /* a profile is applied again to a pod */
    nsec_t forget_after;      /* what was applied to pods */
    double qps;               /* pods looked at in a second */
    int burst;                /* at once */
};
struct manager_opts {
    unsigned without_controllers; /* bits 1 << MANAGER_NODEMETRIC ... of those not to run */
    unsigned without_plugins;     /* of noderesource, bits by manager_plugin_names */
    const char *config_ns;        /* of the ConfigMap; NULL: koordinator-system */
    const char *config_name;      /* NULL: slo-controller-config */
    const char *ns;               /* pods of this namespace only; NULL or "": all */
    nsec_t resync;                /* every object is looked at again this often; 0: never */
    const char *instance;         /* for events, usually "koord-manager-HOST"; NULL: the name */
    struct metrics *metrics;      /* NULL: not counted; must outlive the manager */
    bool sync_gpu_shared;         /* feature gate EnableSyncGPUSharedResource */
    struct manager_profile_opts profiles;
    const struct kmerge *pod_merge;      /* how patches of profiles merge into pods; must live on */
    const struct webhook_opts *webhooks; /* NULL: none; read at birth */
    const char *rules_ns, *rules_name;   /* of the enhanced validator's ConfigMap; NULL: as above */
    void (*profiles_changed)(void *arg); /* may be NULL */
    void *profiles_arg;
};
struct manager *manager_new(struct loop *l, struct kube *k, const struct manager_opts *o);
/* NULL is fine; always returns NULL. */
struct manager *manager_free(struct manager *m);
DEFINE_CLEANUP(manager_free, struct manager *)
/* Fills the caches and keeps them so, without writing anything. */
void manager_watch(struct manager *m);
/* The controllers act from now on, once their caches are complete. After manager_watch(). */
void manager_lead(struct manager *m);
/* The controllers do not act any more; caches and webhooks stay until the end. */
void manager_rest(struct manager *m);
bool manager_synced(const struct manager *m); /* the caches are complete */
/* Its webhooks, which answer once it is synced; NULL: none. And the profiles they know. */
struct webhooks *manager_webhooks(const struct manager *m);
const struct profile_set *manager_profiles(const struct manager *m);

struct manager_stats {
    uint64_t syncs, retries, writes;
    size_t nodes, pods, cache_bytes;
};
struct manager_stats manager_stats(const struct manager *m);
#endif
