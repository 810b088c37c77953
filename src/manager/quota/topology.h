/* topology.h - what an ElasticQuota may say, seen beside all others (sched-quota 19).
 *
 * Fed by an informer; a request that was accepted counts at once, and for a while without the
 * informer's word: when the write fails in the end, it is forgotten again. Loop thread.
 */
#ifndef KOORD_MANAGER_QUOTA_TOPOLOGY_H
#define KOORD_MANAGER_QUOTA_TOPOLOGY_H
#include "api/koord/quota.h"
#include "base/arena.h"

struct kjw;
struct quota_topology;

struct topology_pods { /* who else is in the cluster; members may be NULL: nobody */
    /* Names of pods with this quota label, the first `max` sorted; returns how many there are. */
    size_t (*labelled)(void *arg, const char *quota, const char **names, size_t max);
    bool (*in_namespace)(void *arg, const char *ns); /* is there any? */
    void *arg;
};

struct topology_gates {
    bool guarantee;  /* ElasticQuotaGuaranteeUsage */
    bool update_key; /* ElasticQuotaEnableUpdateResourceKey */
};

struct quota_topology *topology_new(const struct topology_gates *g, const struct topology_pods *p);
struct quota_topology *topology_free(struct quota_topology *t);
DEFINE_CLEANUP(topology_free, struct quota_topology *)

/* The informer's word. */
void topology_put(struct quota_topology *t, const struct kobj *quota);
void topology_remove(struct quota_topology *t, const char *name);
/* NULL: not known. */
const struct elasticquota *topology_find(const struct quota_topology *t, const char *name);

/* The quota of a pod in this namespace; NULL: the default one, or one that is not known. */
const struct elasticquota *topology_of_pod(const struct quota_topology *t,
                                           const struct objmeta *pod, const char *ns,
                                           struct arena *a);

/* The name of that quota, known or not; "": none (no_default: gate DisableDefaultQuota). */
const char *topology_name_of_pod(const struct quota_topology *t, const struct objmeta *pod,
                                 const char *ns, bool no_default, struct arena *a);

/* NULL: fine; otherwise why not, in the arena. They are counted as accepted until `until`, when the
 * informer has not spoken by then (topology_expire()). */
const char *topology_create(struct quota_topology *t, const struct elasticquota *q, nsec_t until,
                            struct arena *a);
const char *topology_update(struct quota_topology *t, const struct elasticquota *old,
                            const struct elasticquota *q, nsec_t until, struct arena *a);
const char *topology_delete(struct quota_topology *t, const char *name, struct arena *a);
void topology_expire(struct quota_topology *t, nsec_t now);

/* For GET on the validating webhook. */
void topology_write(const struct quota_topology *t, struct kjw *w);
#endif
