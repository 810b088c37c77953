/* verdicts.h - what searches have found out about nodes, kept for the next pod whose claims ask for
 * the same.
 *
 * Pods of one controller have claims of one template. For each such content there is a column: by
 * node, the verdict and the score, and of which state of the node they are. A node's state changes
 * when its slices, its labels, or who has its devices do; nodes that see pools of several nodes
 * change with each of these. Errors and searches that took too long are not kept. Loop thread.
 */
#ifndef KOORD_SCHEDULER_DYNAMICRESOURCES_VERDICTS_H
#define KOORD_SCHEDULER_DYNAMICRESOURCES_VERDICTS_H
#include "scheduler/plugins/dynamicresources/allocate.h"

struct verdict_column {
    char *key;
    uint64_t serial;                   /* another one when the key is another */
    uint64_t used;                     /* when, by a count */
    uint64_t wide_version, wide_taken; /* of the pools */
    uint64_t *seen;                    /* [node's number]: version of the node; 0: not known */
    uint8_t *verdict;
    int16_t *score;
    uint32_t n;
};
/* For the claims of a plan, when all nodes have their numbers. With another serial it is somebody
 * else's by now. */
struct verdict_column *verdicts_of(struct pools *in, const struct plan *p);
void verdicts_free(struct verdict_column *all); /* [VERDICT_COLUMNS]; NULL is fine */

static inline bool verdict_known(const struct verdict_column *c, const struct pools *in,
                                 uint32_t number)
{
    return number < c->n && c->seen[number] == in->versions.items[number];
}
static inline void verdict_keep(struct verdict_column *c, const struct pools *in, uint32_t number,
                                uint8_t verdict, int64_t score)
{
    if (number >= c->n)
        return;
    c->seen[number] = in->versions.items[number];
    c->verdict[number] = verdict;
    c->score[number] = (int16_t)MIN(score, INT16_MAX);
}
#endif
