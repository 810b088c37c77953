/* nodeaffinity.c - RemovePodsViolatingNodeAffinity: pods on nodes that their affinity does not want
 * (any more), when there are nodes that it does.
 */
#include "api/pod.h"
#include "api/selector/selector.h"
#include "base/num.h"
#include "descheduler/framework/nodefit.h"
#include "descheduler/plugins/kube/common.h"
#include "descheduler/plugins/plugins.h"

#define REQUIRED  "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

struct affinity_args {
    struct kube_common common;
    kstrlist types;
};

#define STYPE struct affinity_args
static const struct kfield args_fields[] = {
    KUBE_NAMESPACES(STYPE, common),
    KUBE_LABELS(STYPE, common),
    KF_LIST_OF(STYPE, types, "nodeAffinityType", KF_STR, .flags = KF_OMITEMPTY),
};
static const struct kschema args_schema =
    KSCHEMA("RemovePodsViolatingNodeAffinityArgs", STYPE, args_fields);
#undef STYPE

static int check(void *args, struct arena *a, struct kerr *err)
{
    struct affinity_args *x = args;
    int r = kube_common_check(&x->common, a, err);

    if (r == 0 && x->types.n == 0)
        r = kerr_api(err, -EINVAL, KR_INVALID, "nodeAffinityType: Required value: must be set");
    for (uint32_t i = 0; i < x->types.n && r == 0; i++)
        if (!streq(x->types.items[i], REQUIRED) && !streq(x->types.items[i], PREFERRED))
            r = kerr_api(err, -EINVAL, KR_INVALID,
                         "nodeAffinityType[%u]: Unsupported value: \"%.64s\"", i,
                         x->types.items[i]);
    return r;
}
static const struct kd_args args_table = { .schema = &args_schema, .check = check };

/* ---- required --------------------------------------------------------------------------------- */

static const struct node_affinity *affinity_of(const struct pod *p)
{
    return p->spec->affinity ? p->spec->affinity->node : NULL;
}

static bool fits_some(const struct kd_round *r, const struct pod *p)
{
    return kd_fits_any(r->view, p, r->nodes, r->nnodes, KD_FIT_KUBE);
}

static bool violates_required(const struct kd_round *r, const struct pod *p, uint32_t node)
{
    const struct node_affinity *a = affinity_of(p);

    return a && a->required && !kd_fits_affinity(r->view, p, kd_view_node(r->view, node)->node) &&
           fits_some(r, p);
}

/* ---- preferred -------------------------------------------------------------------------------- */

static int64_t weight(const struct node_affinity *a, struct nodesel *const *terms,
                      const struct node *n)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < a->preferred.n; i++)
        if (nodesel_match(terms[i], &n->obj.meta.labels, n->obj.meta.name) == 1)
            sum += a->preferred.items[i].weight;
    return sum;
}

static bool violates_preferred(const struct kd_round *r, const struct pod *p, uint32_t node)
{
    const struct node_affinity *a = affinity_of(p);
    CLEANUP(arena_free) struct arena *scratch = NULL;
    int64_t best = 0;

    if (!a || a->preferred.n == 0)
        return false;
    scratch = arena_new();
    struct nodesel **terms = arena_newn0(scratch, a->preferred.n, struct nodesel *);
    for (uint32_t i = 0; i < a->preferred.n; i++)
        terms[i] = nodesel_from_term(&a->preferred.items[i].preference, scratch);
    for (uint32_t i = 0; i < r->nnodes; i++)
        best = MAX(best, weight(a, terms, kd_view_node(r->view, r->nodes[i])->node));
    return best > weight(a, terms, kd_view_node(r->view, node)->node) && fits_some(r, p);
}

/* ---- a round ---------------------------------------------------------------------------------- */

typedef bool (*violates_fn)(const struct kd_round *r, const struct pod *p, uint32_t node);

static void look(const struct affinity_args *x, struct kd_round *r, violates_fn violates)
{
    for (uint32_t i = 0; i < r->nnodes; i++) {
        podvec pods = { 0 };
        kube_list(r, r->nodes[i], &(struct kube_listing){ .common = &x->common, .filter = true },
                  &pods);
        vec_foreach(&pods, j)
            if (violates(r, pods.items[j], r->nodes[i]))
                (void)kd_evict(r, pods.items[j], NULL);
        vec_fini(&pods);
    }
}

static int deschedule(void *self, struct kd_round *r, struct kerr *err)
{
    const struct affinity_args *x = kube_args(self);

    (void)err;
    for (uint32_t i = 0; i < x->types.n; i++)
        look(x, r, streq(x->types.items[i], REQUIRED) ? violates_required : violates_preferred);
    return 0;
}

const struct kd_plugin plugin_nodeaffinity = {
    KUBE_PLUGIN("RemovePodsViolatingNodeAffinity", &args_table), .deschedule = deschedule
};
