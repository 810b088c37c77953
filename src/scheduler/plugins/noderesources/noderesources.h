/* noderesources.h - what the plugins of this folder share: the resources that their arguments
 * weigh, and which of these count for a pod. Internal to noderesources/.
 */
#ifndef KOORD_SCHEDULER_NODERESOURCES_H
#define KOORD_SCHEDULER_NODERESOURCES_H
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/noderesources/args.h"

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

enum fit_type { FIT_LEAST, FIT_MOST, FIT_RATIO };
struct objects;
struct fit {
    const struct fit_args *args;
    const struct objects
        *objects;       /* with DRAExtendedResource: classes may back resources; or NULL */
    enum fit_type type; /* of its strategy */
};
void fit_score_rows(const struct fit *f, const struct res_terms *t, const struct ks_nodes *nodes,
                    struct ks_span s, int64_t *restrict out);
#endif
