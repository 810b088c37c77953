/* nodetaints.c - RemovePodsViolatingNodeTaints: pods on nodes whose taints they do not tolerate. */
#include "api/pod.h"
#include "api/toleration.h"
#include "descheduler/plugins/kube/common.h"
#include "descheduler/plugins/plugins.h"

struct taints_args {
    struct kube_common common;
    bool prefer;
    kstrlist excluded, included; /* "key" or "key=value" */
};

#define STYPE struct taints_args
static const struct kfield args_fields[] = {
    KUBE_NAMESPACES(STYPE, common),
    KUBE_LABELS(STYPE, common),
    KF(STYPE, prefer, "includePreferNoSchedule", KF_BOOL, .flags = KF_OMITEMPTY),
    KF_LIST_OF(STYPE, excluded, "excludedTaints", KF_STR, .flags = KF_OMITEMPTY),
    KF_LIST_OF(STYPE, included, "includedTaints", KF_STR, .flags = KF_OMITEMPTY),
};
static const struct kschema args_schema =
    KSCHEMA("RemovePodsViolatingNodeTaintsArgs", STYPE, args_fields);
#undef STYPE

static int check(void *args, struct arena *a, struct kerr *err)
{
    struct taints_args *x = args;
    int r = kube_common_check(&x->common, a, err);

    if (r == 0 && x->excluded.n && x->included.n)
        r = kerr_api(err, -EINVAL, KR_INVALID,
                     "includedTaints: Invalid value: only one of includedTaints and excludedTaints "
                     "can be set");
    return r;
}
static const struct kd_args args_table = { .schema = &args_schema, .check = check };

static bool is_named(const kstrlist *l, const struct taint *t)
{
    size_t n = strlen(t->key);

    for (uint32_t i = 0; i < l->n; i++) {
        const char *s = l->items[i];
        if (streq(s, t->key) ||
            (strncmp(s, t->key, n) == 0 && s[n] == '=' && streq(s + n + 1, t->value)))
            return true;
    }
    return false;
}

static bool counts(const struct taints_args *x, const struct taint *t)
{
    if (t->effect != TAINT_NO_SCHEDULE && !(x->prefer && t->effect == TAINT_PREFER_NO_SCHEDULE))
        return false;
    return !is_named(&x->excluded, t) && (!x->included.n || is_named(&x->included, t));
}

static bool is_violated(const struct taints_args *x, const taintlist *taints, const struct pod *p)
{
    for (uint32_t i = 0; i < taints->n; i++)
        if (counts(x, &taints->items[i]) &&
            !tolerations_tolerate(&p->spec->tolerations, &taints->items[i], 0))
            return true;
    return false;
}

static int deschedule(void *self, struct kd_round *r, struct kerr *err)
{
    const struct taints_args *x = kube_args(self);

    (void)err;
    for (uint32_t i = 0; i < r->nnodes; i++) {
        const taintlist *taints = &kd_view_node(r->view, r->nodes[i])->node->spec.taints;
        podvec pods = { 0 };
        if (taints->n == 0)
            continue;
        kube_list(r, r->nodes[i], &(struct kube_listing){ .common = &x->common, .filter = true },
                  &pods);
        vec_foreach(&pods, j)
            if (is_violated(x, taints, pods.items[j]))
                (void)kd_evict(r, pods.items[j], NULL);
        vec_fini(&pods);
    }
    return 0;
}

const struct kd_plugin plugin_nodetaints = {
    KUBE_PLUGIN("RemovePodsViolatingNodeTaints", &args_table), .deschedule = deschedule
};
