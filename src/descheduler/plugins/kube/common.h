/* common.h - what Kubernetes' plugins share: namespaces and labels of their args, lists of pods,
 * the order by priority (descheduler 6).
 */
#ifndef KOORD_DESCHEDULER_KUBE_COMMON_H
#define KOORD_DESCHEDULER_KUBE_COMMON_H
#include "base/vec.h"
#include "descheduler/framework/plugin.h"
#include "descheduler/plugins/common/args.h"

struct kube_common { /* first members of the args of most of these plugins */
    struct args_namespaces *namespaces;
    struct label_selector *label_selector;
    struct labelsel *labels; /* made of it; NULL: all */
};
#define KUBE_NAMESPACES(stype, member)                                                 \
    KF(stype, member.namespaces, "namespaces", KF_OBJ, .sub = &args_namespaces_schema, \
       .flags = KF_PTR | KF_OMITEMPTY)
#define KUBE_LABELS(stype, member)                                                           \
    KF(stype, member.label_selector, "labelSelector", KF_OBJ, .sub = &label_selector_schema, \
       .flags = KF_PTR | KF_OMITEMPTY)
int kube_common_check(struct kube_common *c, struct arena *a, struct kerr *err);
bool kube_common_wants(const struct kube_common *c, const struct pod *p);

typedef struct vec_of(const struct pod *) podvec;
/* Pods of the node that the args want and, with filter, that may be evicted. all: also those that
 * have ended. */
struct kube_listing {
    const struct kube_common *common;
    bool filter, all;
};
void kube_list(struct kd_round *r, uint32_t node, const struct kube_listing *how, podvec *out);

/* Lowest priority first (none at all before), then BestEffort, Burstable, Guaranteed; among equals
 * those last that would rather not be evicted. */
void kube_sort(podvec *pods);

/* What these plugins have in common as instances: nothing but their args. */
struct kube_self {
    const void *args;
};
int kube_create(const struct kd_env *env, const void *args, void **ret_self, struct kerr *err);
void kube_destroy(void *self);
void kube_update(void *self, const void *args);
#define KUBE_PLUGIN(pname, pargs)                                                             \
    .abi = KD_PLUGIN_ABI, .size = sizeof(struct kd_plugin), .name = (pname), .args = (pargs), \
    .create = kube_create, .destroy = kube_destroy, .update = kube_update
static inline UNUSED const void *kube_args(const void *self)
{
    return ((const struct kube_self *)self)->args;
}

/* Does the reason of a waiting or terminated container stand in the list? */
bool kube_has_reason(const containerstatuslist *l, const kstrlist *reasons);
typedef KLIST(int32_t) kube_codes;
bool kube_has_exit_code(const containerstatuslist *l, const kube_codes *codes);
#endif
