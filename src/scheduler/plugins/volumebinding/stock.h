/* stock.h - the volumes of the object cache as claims look at them: free ones by kind, size and
 * place, and those that were pre-bound to a claim. Loop thread; holds one reference on each volume.
 */
#ifndef KOORD_SCHEDULER_VOLUMEBINDING_STOCK_H
#define KOORD_SCHEDULER_VOLUMEBINDING_STOCK_H
#include "scheduler/plugins/volume/claims.h"

struct holds;
struct labelsel;
struct volgroup;
struct volstock;

/* Listens to the object cache of the holds, if there is one; both must outlive the stock. */
struct volstock *volstock_new(const struct holds *h);
struct volstock *volstock_free(struct volstock *s);
/* A pod on its way took the volume, or gave it back. */
void volstock_review(struct volstock *s, const struct kobj *volume);

/* The volume that is this claim's already, or will be; NULL: none. */
const struct pv *volstock_prebound(const struct volstock *s, const struct pvc *c);

struct volchoice { /* free volumes that would do for a claim; good for one attempt */
    struct volgroup **groups;
    uint32_t n;
    struct qty want;
    int64_t value;
    const struct labelsel *selector; /* of the volume's labels; NULL: any */
};
struct volchoice volstock_for(struct volstock *s, const struct pvc *c, const struct labelsel *sel,
                              const struct ks_nodes *nodes, struct arena *a);
/* The smallest that can be reached from the row and is not one of the taken; NULL: none. */
const struct pv *volchoice_first(const struct volchoice *c, const struct ks_nodes *nodes,
                                 uint32_t row, const struct pv *const *taken, uint32_t n);
/* Is there one? */
bool volchoice_any(const struct volchoice *c, const struct ks_nodes *nodes, uint32_t row);
#endif
