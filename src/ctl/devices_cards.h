/* devices_cards.h - which pods and Reservations have cards by DeviceShare, so that koordctl devices
 * can say it beside what claims hold.
 */
#ifndef KOORD_CTL_DEVICES_CARDS_H
#define KOORD_CTL_DEVICES_CARDS_H
#include "base/base.h"

struct ctl;
struct kj_val;

struct card_holders;
struct card_holder { /* more of the same card follow */
    const struct card_holder *next;
    const char *name; /* "namespace/name", or "Reservation name" */
};
/* Of one node, or of all (NULL). A cluster without Devices has none. */
int card_holders_read(struct ctl *c, const char *node, struct card_holders **ret, struct kerr *err);
struct card_holders *card_holders_free(struct card_holders *h);
DEFINE_CLEANUP(card_holders_free, struct card_holders *)
/* Of a device of a ResourceSlice, which is on this node; NULL: nobody. */
const struct card_holder *card_holders_find(const struct card_holders *h, const char *node,
                                            const struct kj_val *device);
#endif
