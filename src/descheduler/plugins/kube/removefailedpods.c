/* removefailedpods.c - RemoveFailedPods: pods that have failed, so that their owner makes others.
 */
#include "api/pod.h"
#include "component/config.h"
#include "descheduler/plugins/kube/common.h"
#include "descheduler/plugins/plugins.h"

struct failed_args {
    struct kube_common common;
    struct opt_i64 min_seconds;
    kstrlist reasons, exclude_owners;
    kube_codes exit_codes;
    bool init_containers;
};

ARGS_DEFAULT(def_3600, "3600");
#define STYPE struct failed_args
static const struct kfield args_fields[] = {
    KUBE_NAMESPACES(STYPE, common),
    KUBE_LABELS(STYPE, common),
    KF(STYPE, min_seconds, "minPodLifetimeSeconds", KF_OPT_I64, .meta = &def_3600),
    KF_LIST_OF(STYPE, reasons, "reasons", KF_STR, .flags = KF_OMITEMPTY),
    KF_LIST_OF(STYPE, exclude_owners, "excludeOwnerKinds", KF_STR, .flags = KF_OMITEMPTY),
    KF_LIST_OF(STYPE, exit_codes, "exitCodes", KF_I32, .flags = KF_OMITEMPTY),
    KF(STYPE, init_containers, "includingInitContainers", KF_BOOL, .flags = KF_OMITEMPTY),
};
static const struct kschema args_schema = KSCHEMA("RemoveFailedPodsArgs", STYPE, args_fields);
#undef STYPE

static int check(void *args, struct arena *a, struct kerr *err)
{
    struct failed_args *x = args;
    int r = kube_common_check(&x->common, a, err);

    return r == 0 ? config_range("minPodLifetimeSeconds", x->min_seconds.v, 0, INT64_MAX, err) : r;
}
static const struct kd_args args_table = { .schema = &args_schema, .check = check };

static bool has_reason(const struct failed_args *x, const struct pod *p)
{
    return args_has(&x->reasons, p->status.reason) ||
           kube_has_reason(&p->status.container_statuses, &x->reasons) ||
           (x->init_containers && kube_has_reason(&p->status.init_container_statuses, &x->reasons));
}

static bool has_exit_code(const struct failed_args *x, const struct pod *p)
{
    return kube_has_exit_code(&p->status.container_statuses, &x->exit_codes) ||
           (x->init_containers &&
            kube_has_exit_code(&p->status.init_container_statuses, &x->exit_codes));
}

static bool is_due(const struct failed_args *x, const struct pod *p, nsec_t now)
{
    if (p->status.phase != POD_FAILED ||
        now - p->obj.meta.created < x->min_seconds.v * NSEC_PER_SEC)
        return false;
    for (uint32_t i = 0; i < p->obj.meta.owners.n; i++)
        if (args_has(&x->exclude_owners, p->obj.meta.owners.items[i].kind))
            return false;
    return (!x->reasons.n || has_reason(x, p)) && (!x->exit_codes.n || has_exit_code(x, p));
}

static int deschedule(void *self, struct kd_round *r, struct kerr *err)
{
    const struct failed_args *x = kube_args(self);
    podvec pods = { 0 };

    (void)err;
    for (uint32_t i = 0; i < r->nnodes; i++)
        kube_list(r, r->nodes[i], &(struct kube_listing){ .common = &x->common, .all = true },
                  &pods);
    vec_foreach(&pods, i)
        if (is_due(x, pods.items[i], r->now) && kd_filter(r, pods.items[i]))
            (void)kd_evict(r, pods.items[i], NULL);
    vec_fini(&pods);
    return 0;
}

const struct kd_plugin plugin_removefailedpods = { KUBE_PLUGIN("RemoveFailedPods", &args_table),
                                                   .deschedule = deschedule };
