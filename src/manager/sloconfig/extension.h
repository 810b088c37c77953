/* extension.h - extensions.koord of a colocation strategy: what upstream does not have. Off unless
 * it is switched on.
 *
 *     "extensions": {"koord": {"damping": {"enable": true, "fallPercent": 20},
 *                              "adaptive": {"enable": true, "stepPercent": 10, "maxPercent": 40,
 *                                           "recoverPercent": 2, "recoverSeconds": 300}}}
 */
#ifndef KOORD_MANAGER_EXTENSION_H
#define KOORD_MANAGER_EXTENSION_H
#include "api/protocol/node.h"

/* A fall of a batch resource that measured use does not explain waits for a second NodeMetric. */
struct damping_options {
    bool enable;
    struct opt_i64 fall_percent; /* falls up to this are never held back; 20 */
};
/* Nodes in trouble lose reclaim percent and suppress threshold at once, and regain them slowly. */
struct adaptive_options {
    bool enable;
    struct opt_i64 step_percent;    /* lost with each report in trouble; 10 */
    struct opt_i64 max_percent;     /* lost at most; 40 */
    struct opt_i64 recover_percent; /* regained at a time; 2 */
    struct opt_i64 recover_seconds; /* time between two of these, and after the last loss; 300 */
};
struct koord_extension {
    struct damping_options damping;
    struct adaptive_options adaptive;
};
/* 1: it is there, with the defaults filled in; 0: absent, all off; negative: it is bad. */
int koord_extension_read(const struct colocation_strategy *s, struct arena *a,
                         struct koord_extension *ret, struct kerr *err);
#endif
