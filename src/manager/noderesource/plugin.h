/* plugin.h - inside the calculation: the table of plugins, and what they share. */
#ifndef KOORD_MANAGER_NR_PLUGIN_H
#define KOORD_MANAGER_NR_PLUGIN_H
#include "manager/noderesource/nr.h"

struct nr_plugin {
    const char *name;
    /* Fills the plugin's items. An error drops them. */
    int (*calculate)(const struct nr_input *in, struct arena *a, struct nr_result *r,
                     struct kerr *err);
    /* Colocation is off for the node. NULL: what the plugin gave before stays. */
    void (*reset)(struct nr_result *r);
    /* From the items to what the node should say. */
    int (*prepare)(const struct nr_input *in, const struct nr_result *r, struct arena *a,
                   struct nr_plan *p, struct kerr *err);
    /* Resources whose difference calls for a write: bits of enum nr_resource. */
    uint32_t watched;
    /* Do annotations or labels call for a write? NULL: never. */
    bool (*meta_differs)(const struct nr_input *in, const struct nr_plan *p);
};
extern const struct nr_plugin nr_plugin_normalization, nr_plugin_amplification, nr_plugin_mid,
    nr_plugin_batch, nr_plugin_gpu, nr_plugin_rdma;
extern const struct nr_plugin *const nr_plugins[NR_PLUGINS];

static inline void nr_set(struct nr_result *r, enum nr_resource name, struct qty value)
{
    r->items[name] = (struct nr_item){ NR_VALUE, value };
}
static inline void nr_reset(struct nr_result *r, enum nr_resource name)
{
    r->items[name] = (struct nr_item){ NR_RESET, { 0 } };
}

/* Why nothing can be calculated from the NodeMetric: text in the arena; NULL: it is fine. */
const char *nr_metric_problem(const struct nr_input *in, const struct colocation_strategy *s,
                              struct arena *a);
/* Use outside of pods, with the host applications whose class is above this one. */
struct nr_amount nr_system_used(const struct nodemetric *m, enum priority_class above,
                                struct nr_amount *ret_host_apps);
/* Capacity that the kubelet keeps from pods; and what the annotation reserves. */
struct nr_amount nr_kubelet_reserved(const struct node *n);
struct nr_amount nr_annotation_reserved(const struct node *n, struct arena *a);

/* The value of a percentage, or its default. */
static inline int64_t nr_percent(struct opt_i64 v, int64_t otherwise)
{
    return v.set ? v.v : otherwise;
}
/* Whole units of the node: a resource that is not an integer is rounded up. */
struct qty nr_whole(struct qty q);
/* batch-cpu of a node with faster CPUs counts in CPUs of the base model; others as they are. */
struct qty nr_normalized(const struct nr_result *r, enum nr_resource name, struct qty q);
/* The item as the node should show it, in allocatable and capacity: set, or removed when there is
 * no value (manager 4.4). */
void nr_want_item(const struct nr_result *r, enum nr_resource name, struct nr_plan *p);

/* ---- high-priority pods and their metrics -----------------------------------------------------
 */

struct nr_hp_pod {
    struct nr_amount request, used; /* used: of the metric */
    uint64_t numa_nodes;
    bool measured, lse;
    bool fresh; /* no second report since it got its node */
};
struct nr_hp_set {
    struct nr_hp_pod *pods;
    struct nr_amount *dangling; /* use by metrics without an active pod */
    size_t npods, ndangling;
};
/* Pairs the pods of the node with the entries of the NodeMetric. */
void nr_hp_collect(const struct nr_input *in, const struct colocation_strategy *strategy,
                   struct arena *a, struct nr_hp_set *ret);

/* ---- batch ----------------------------------------------------------------------------------- */

/* From the other terms: margin, system_or_reserved, formula and result. */
void nr_batch_formula(const struct colocation_strategy *s, struct nr_batch_terms *t);
/* Holds back falls of the result that measured use does not explain. */
void nr_batch_damp(const struct nr_input *in, struct arena *a, struct nr_result *r);
/* The same for every NUMA zone; node: the terms of the whole node (manager 5.2). */
void nr_batch_zones(const struct nr_input *in, const struct colocation_strategy *s,
                    const struct nr_hp_set *hp, const struct nr_batch_terms *node, struct arena *a,
                    struct nr_result *r);
#endif
