/* noderesources.h - what the plugins of this folder share: the resources that their arguments
 * weigh, and which of these count for a pod. Internal to noderesources/.
 */
#ifndef KOORD_SCHEDULER_NODERESOURCES_H
#define KOORD_SCHEDULER_NODERESOURCES_H
#include "api/types.h"
#include "scheduler/framework/plugin.h"

/* ---- resources of a configuration ------------------------------------------------------------ */

struct res_weight {
    const char *name;
    int64_t weight;
};
typedef KLIST(struct res_weight) res_weights;
extern const struct kschema res_weight_schema;
/* None: cpu and memory alike. A weight of 0: 1. */
void res_weights_default(res_weights *w, struct arena *a);

/* ---- of a pod -------------------------------------------------------------------------------- */

/* How requests are counted: as they are, or with something for containers that are silent. */
enum res_count { RES_COUNT_PLAIN, RES_COUNT_NONZERO };
struct res_term {
    uint32_t column;
    int64_t want, weight;
};
struct res_terms { /* without resources that the pod or all nodes lack, in the order given */
    struct res_term *items;
    uint32_t n;
    enum res_count count;
    bool asks; /* the pod asks for something of what was given */
    /* Indices of cpu and memory when there is nothing else: the case for which loops are fast. */
    bool simple;
    uint32_t cpu, memory;
};
struct res_terms res_terms_of(const res_weights *w, enum res_count count,
                              const struct ks_nodes *nodes, const struct ks_pod *p,
                              struct arena *a);
const int64_t *res_used(const struct ks_nodes *nodes, enum res_count count, uint32_t column);

/* ---- NodeResourcesFit ------------------------------------------------------------------------ */

enum fit_type { FIT_DEFAULT, FIT_LEAST, FIT_MOST, FIT_RATIO };
struct fit_point {
    int32_t utilization, score; /* percent; of 10 */
};
struct fit_ratio {
    KLIST(struct fit_point) shape;
};
struct fit_strategy {
    uint8_t type; /* enum fit_type */
    res_weights resources;
    struct fit_ratio *ratio;
};
struct fit_args {
    const char *api_version, *kind;
    kstrlist ignored, ignored_groups;
    struct fit_strategy strategy;
};
struct fit {
    struct arena *arena;
    struct fit_args args;
};
/* args may be NULL. */
int fit_args_read(const struct kj_val *args, struct arena *a, struct fit_args *ret,
                  struct kerr *err);
bool fit_ignores(const struct fit_args *args, const char *resource);
void fit_score_rows(const struct fit_strategy *f, const struct res_terms *t,
                    const struct ks_nodes *nodes, struct ks_span s, int64_t *restrict out);
#endif
