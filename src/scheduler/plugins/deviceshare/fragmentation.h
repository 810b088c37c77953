/* fragmentation.h - how much of a node's free GPUs the pods of this cluster cannot use.
 *
 * A half of a card is worth nothing to pods that want whole ones, and eight free cards are worth
 * nothing without the CPUs that their pods bring along. The waste of a node is what the average pod
 * of the cluster's mix cannot use of its free cards, in percent of a card. Placing pods where the
 * waste grows least keeps what is free usable.
 *
 * For one kind of pod the waste is all that is free when no such pod fits; else the rests on cards
 * that are too small for it. Of the cards that CPU and memory do not suffice for, were the node
 * filled with such pods, a part counts too: others may need less. Pure.
 */
#ifndef KOORD_SCHEDULER_DEVICESHARE_FRAGMENTATION_H
#define KOORD_SCHEDULER_DEVICESHARE_FRAGMENTATION_H
#include "base/base.h"

enum { FRAG_CARD = 100, FRAG_CARDS_MAX = 64 };

struct frag_kind { /* a kind of pod */
    uint32_t cards;
    int32_t share; /* of each of its cards, in percent: 1 to 100 */
    int64_t mcpu, memory;
};
struct frag_mix {
    const struct frag_kind *kinds;
    const double *weights; /* their sum is 1 */
    uint32_t n;
};
struct frag_node {                /* what is free */
    int32_t card[FRAG_CARDS_MAX]; /* in percent; 0 where nothing is to be had */
    uint32_t n_cards;
    int64_t mcpu, memory;
};

double frag_waste(const struct frag_node *n, const struct frag_mix *m);
/* How much the waste grows when this pod gets the cards that are best for it. *ret_card is the card
 * of a pod that wants a part of one; UINT32_MAX for others, which get whole ones: any do. The pod
 * must fit. */
double frag_growth(const struct frag_node *n, const struct frag_mix *m, const struct frag_kind *pod,
                   uint32_t *ret_card);
#endif
