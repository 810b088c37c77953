/* hooks.h - hook plugins of ElasticQuota: an installation's own rules beside those of the quotas
 * (sched-quota 13).
 *
 * A factory is compiled in and stands in a table; each entry of hookPlugins in the args makes one
 * instance of a factory per quota tree. Instances are called in the order of the args, on the loop
 * thread, and must not call back. test/test_quotahooks.c has an example.
 */
#ifndef KOORD_SCHEDULER_ELASTICQUOTA_HOOKS_H
#define KOORD_SCHEDULER_ELASTICQUOTA_HOOKS_H
#include "api/koord/quota.h"
#include "api/pod.h"
#include "base/vec.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/elasticquota/args.h"

struct metric;
struct quota;

struct quota_annotations { /* what a hook adds to the status that is written */
    void (*put)(void *to, const char *key, const char *value);
    void *to;
};

struct quota_hook_factory {
    const char *name; /* factoryKey */
    /* args: the text factoryArgs, "" when there is none. */
    int (*create)(const char *key, const char *tree, const char *args, void **ret_self,
                  struct kerr *err);
    void (*destroy)(void *self);
    /* The rest may be NULL. old NULL: the quota is new; now NULL: it is gone. */
    bool (*is_quota_updated)(void *self, const struct elasticquota *old,
                             const struct elasticquota *now);
    void (*pre_quota_update)(void *self, const struct elasticquota *old,
                             const struct elasticquota *now);
    void (*post_quota_update)(void *self, const struct elasticquota *old,
                              const struct elasticquota *now);
    /* Each event of a pod that has a node, also when it requests the same. old NULL: it has one
     * now; now NULL: it has none any more, or is gone. */
    void (*on_pod_update)(void *self, struct quota *q, const struct pod *old,
                          const struct pod *now);
    void (*update_quota_status)(void *self, const struct elasticquota *q,
                                const struct quota_annotations *to);
    int (*check_pod)(void *self, struct quota *q, const struct pod *p, struct kerr *err);
    /* Around the quotas that are there at the start. */
    void (*begin)(void *self);
    void (*end)(void *self);
};
/* Those that are built in; ends with NULL. */
extern const struct quota_hook_factory *const quota_hook_factories[];

struct quota_hook_instance {
    const struct quota_hook_factory *factory;
    char *key, *tree;
    void *self;
};
struct quota_hooks {
    const struct quota_hook_factory *const *table;
    struct vec_of(struct quota_hook) config; /* texts are ours */
    struct vec_of(struct quota_hook_instance) all;
    struct loop *loop;
    struct metric *latency;
    bool trees;   /* gate MultiQuotaTree */
    size_t begun; /* instances that heard begin() */
};

/* Instances of the default tree; an error is one of the configuration. */
int quota_hooks_start(struct quota_hooks *h, const struct quota_hook_factory *const *table,
                      const struct quota_args *a, const struct ks_env *env, struct kerr *err);
void quota_hooks_stop(struct quota_hooks *h);

bool quota_hooks_updated(struct quota_hooks *h, const struct elasticquota *old,
                         const struct elasticquota *now);
void quota_hooks_pre(struct quota_hooks *h, const struct elasticquota *old,
                     const struct elasticquota *now);
void quota_hooks_post(struct quota_hooks *h, const struct elasticquota *old,
                      const struct elasticquota *now);
void quota_hooks_pod(struct quota_hooks *h, struct quota *q, const struct pod *old,
                     const struct pod *now);
void quota_hooks_status(struct quota_hooks *h, const struct elasticquota *q,
                        const struct quota_annotations *to);
/* NULL: nobody objects; else the text for the pod's condition. */
const char *quota_hooks_check(struct quota_hooks *h, struct quota *q, const struct pod *p,
                              struct arena *a);
void quota_hooks_begin(struct quota_hooks *h);
void quota_hooks_end(struct quota_hooks *h);
#endif
