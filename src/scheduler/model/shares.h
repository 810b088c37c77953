/* shares.h - room that one pod of a node keeps for others: it is counted once.
 *
 * A holder (the reserve pod of a Reservation) takes from the row of its node what its takers have
 * left of it, never less than nothing; the takers count in full. So a row is right for everybody,
 * also when an overlay removes a taker (its holder has the room back) or the holder (the taker
 * needs the room itself). Who shares with whom is known by UID, whether the pods are there or not.
 * Both have to be on one node. Loop thread.
 */
#ifndef KOORD_SCHEDULER_MODEL_SHARES_H
#define KOORD_SCHEDULER_MODEL_SHARES_H
#include "scheduler/model/requests.h"

/* So much of what the pod requests is room of its holder. It replaces what was said before. */
void ks_share_set(const struct ks_nodes *n, struct kuid pod, struct kuid holder,
                  const struct requests *amount);
void ks_share_clear(const struct ks_nodes *n, struct kuid pod);
#endif
