/* balance_args.h - the members that the args of Koordinator's smaller Balance plugins share. */
#ifndef KOORD_DESCHEDULER_COMMON_BALANCE_ARGS_H
#define KOORD_DESCHEDULER_COMMON_BALANCE_ARGS_H
#include "descheduler/framework/plugin.h"
#include "descheduler/plugins/common/args.h"

struct balance_args {
    bool paused, dry_run;
    struct args_namespaces *namespaces;
    struct label_selector *node_selector;
    args_pod_selectors pods;
    struct opt_bool node_fit;
    struct labelsel *nodes; /* made of node_selector; NULL: all */
};
extern const struct kmeta balance_args_true;
#define BALANCE_FIELDS(stype, m)                                                               \
    KF(stype, m.paused, "paused", KF_BOOL, .flags = KF_OMITEMPTY),                             \
        KF(stype, m.namespaces, "evictableNamespaces", KF_OBJ, .sub = &args_namespaces_schema, \
           .flags = KF_PTR | KF_OMITEMPTY),                                                    \
        KF(stype, m.node_selector, "nodeSelector", KF_OBJ, .sub = &label_selector_schema,      \
           .flags = KF_PTR | KF_OMITEMPTY),                                                    \
        KF_LIST_OF(stype, m.pods, "podSelectors", KF_OBJ, .sub = &args_pod_selector_schema,    \
                   .flags = KF_OMITEMPTY)
#define BALANCE_FIT_FIELDS(stype, m)                                \
    KF(stype, m.dry_run, "dryRun", KF_BOOL, .flags = KF_OMITEMPTY), \
        KF(stype, m.node_fit, "nodeFit", KF_OPT_BOOL, .meta = &balance_args_true)
int balance_args_check(struct balance_args *x, struct arena *a, struct kerr *err);

/* Nodes of the round that the args select: in the round's arena. */
uint32_t *balance_nodes(const struct balance_args *x, const struct kd_round *r, uint32_t *ret_n);
/* Namespaces and selectors, without the evictor's filter. */
bool balance_wants(const struct balance_args *x, const struct pod *p);
/* Evicts, or in the plugin's own dry run only says so. */
bool balance_evict(const struct balance_args *x, struct kd_round *r, const struct pod *p,
                   const char *reason);

/* Of a list of resource names: at least one, each once. The default is cpu and memory. */
void balance_default_resources(kstrlist *l, struct arena *a);
int balance_check_resources(const kstrlist *l, struct kerr *err);

/* What the pod asks for of a resource of the view, in thousandths. */
int64_t balance_request(const struct kd_view *v, const struct pod *p, uint32_t resource);
#endif
