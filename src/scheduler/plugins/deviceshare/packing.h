/* packing.h - the scoring strategy FragmentationAware: pods go where what stays free is still of
 * use to the pods that this cluster is asked for (fragmentation.h, podmix.h).
 *
 * The mix is a service, one for all profiles: it hears of each pod once. Scores are functions of
 * the pod, the row and the picture of the mix.
 */
#ifndef KOORD_SCHEDULER_DEVICESHARE_PACKING_H
#define KOORD_SCHEDULER_DEVICESHARE_PACKING_H
#include "scheduler/plugins/deviceshare/deviceshare.h"
#include "scheduler/plugins/deviceshare/podmix.h"

struct packing;
KS_SERVICE(packing, struct packing)

/* The picture for an attempt that begins now. */
const struct frag_mix *packing_look(struct packing *x);
uint64_t packing_version(struct packing *x);
/* Higher is better; below 0 where it makes waste. Also for pods that want no GPU: they take CPUs.
 */
int64_t packing_score(const struct row_try *t, const struct frag_mix *m);
/* The GPU that a part of one should be taken of; NO_CARD: any. */
uint32_t packing_card(const struct row_try *t, const struct frag_mix *m);
/* Only the best get the full score: whatever else is rounded, they stay the best. */
void packing_normalize(const uint8_t *skip, uint32_t n, int64_t *scores);
#endif
