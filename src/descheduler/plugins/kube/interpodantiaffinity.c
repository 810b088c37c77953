/* interpodantiaffinity.c - RemovePodsViolatingInterPodAntiAffinity: pods that must not be beside
 * others, and are. The lowest priority goes first; who is gone disturbs nobody any more.
 */
#include "api/pod.h"
#include "descheduler/framework/nodefit.h"
#include "descheduler/plugins/kube/common.h"
#include "descheduler/plugins/plugins.h"

#define STYPE struct kube_common
static const struct kfield args_fields[] = {
    KF(STYPE, namespaces, "namespaces", KF_OBJ, .sub = &args_namespaces_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
    KF(STYPE, label_selector, "labelSelector", KF_OBJ, .sub = &label_selector_schema,
       .flags = KF_PTR | KF_OMITEMPTY),
};
static const struct kschema args_schema =
    KSCHEMA("RemovePodsViolatingInterPodAntiAffinityArgs", STYPE, args_fields);
#undef STYPE

static int check(void *args, struct arena *a, struct kerr *err)
{
    return kube_common_check(args, a, err);
}
static const struct kd_args args_table = { .schema = &args_schema, .check = check };

struct listed {
    const struct pod *pod;
    const struct node *node;
    bool gone;
};
struct all {
    struct vec_of(struct listed) pods; /* in the order of the nodes */
};

static bool same_domain(const struct node *a, const struct node *b, const char *key)
{
    const char *x = kstrmap_get(&a->obj.meta.labels, key),
               *y = kstrmap_get(&b->obj.meta.labels, key);

    return a == b || (!str_empty(x) && !str_empty(y) && streq(x, y));
}

static bool is_disturbed(const struct kd_view *v, const struct all *a, const struct pod *p,
                         const struct node *node)
{
    const struct kd_where *w = kd_view_where(v, p);

    for (uint32_t i = 0; i < w->napart; i++)
        vec_foreach(&a->pods, j) {
            const struct listed *o = &a->pods.items[j];
            if (!o->gone && same_domain(node, o->node, w->apart[i].term->topology_key) &&
                kd_apart_from(&w->apart[i], p, o->pod))
                return true;
        }
    return false;
}

static void leave(struct all *a, const struct pod *p)
{
    vec_foreach(&a->pods, j)
        if (a->pods.items[j].pod == p)
            a->pods.items[j].gone = true;
}

static int deschedule(void *self, struct kd_round *r, struct kerr *err)
{
    const struct kube_common *x = kube_args(self);
    struct all a = { 0 };

    (void)err;
    for (uint32_t i = 0; i < r->nnodes; i++) {
        podvec pods = { 0 };
        kube_list(r, r->nodes[i], &(struct kube_listing){ .common = x }, &pods);
        vec_foreach(&pods, j) {
            struct listed l = { pods.items[j], kd_view_node(r->view, r->nodes[i])->node, false };
            vec_push(&a.pods, l);
        }
        vec_fini(&pods);
    }
    for (uint32_t i = 0; i < r->nnodes; i++) {
        podvec pods = { 0 };
        kube_list(r, r->nodes[i], &(struct kube_listing){ .common = x }, &pods);
        kube_sort(&pods);
        vec_foreach(&pods, j) {
            const struct pod *p = pods.items[j];
            if (is_disturbed(r->view, &a, p, kd_view_node(r->view, r->nodes[i])->node) &&
                kd_filter(r, p) && kd_evict(r, p, NULL))
                leave(&a, p);
        }
        vec_fini(&pods);
    }
    vec_fini(&a.pods);
    return 0;
}

const struct kd_plugin plugin_interpodantiaffinity = {
    KUBE_PLUGIN("RemovePodsViolatingInterPodAntiAffinity", &args_table), .deschedule = deschedule
};
