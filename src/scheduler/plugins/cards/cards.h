/* cards.h - cards that two plugins hand out, and which of them holds which: a service.
 *
 * DeviceShare knows the cards of a node from its Device, DynamicResources from ResourceSlices. Both
 * may mean the same card: on one node they do when they have an identity in common, a UUID or a PCI
 * address. Each side tells here what its pods and claims hold; what one side holds the other does
 * not give. Somebody who holds a part of a card holds it, and so does somebody who holds one of its
 * virtual functions: they carry the identities of the card.
 *
 * One for all profiles and configurations. It knows no objects and asks nobody. Loop thread.
 */
#ifndef KOORD_SCHEDULER_PLUGINS_CARDS_H
#define KOORD_SCHEDULER_PLUGINS_CARDS_H
#include "base/strbuf.h"
#include "scheduler/framework/service.h"

enum card_side { CARDS_OF_DEVICES, CARDS_OF_CLAIMS, CARD_SIDES };

/* ---- identities ------------------------------------------------------------------------------ */

struct card_ids {       /* all zero: none. What a card is known by; each once */
    struct strbuf text; /* in canonical form, each with its NUL */
};
/* What is no identity is passed over (api/protocol/cardid.h). */
void card_ids_add(struct card_ids *ids, const char *text);
void card_ids_fini(struct card_ids *ids);
static inline UNUSED void card_ids_fini_p(struct card_ids *ids)
{
    card_ids_fini(ids);
}

/* ---- who holds what -------------------------------------------------------------------------- */

struct cards;
struct card_hold;
KS_SERVICE(cards, struct cards)

/* The cards of these identities on the node are held; holder: "namespace/name" of the pod or the
 * claim. Everything is copied. NULL: there is no identity, so the other side knows nothing of it.
 */
struct card_hold *cards_hold(struct cards *c, enum card_side side, const char *node,
                             const struct card_ids *ids, const char *holder);
void cards_give(struct cards *c, struct card_hold *h); /* NULL is fine */
/* Does it say the same? */
bool card_hold_is(const struct card_hold *h, const char *node, const struct card_ids *ids);
/* Does the side hold anything on the node? NULL: anywhere. */
bool cards_any(const struct cards *c, enum card_side side, const char *node);
/* Who of the side holds a card with one of the identities; NULL: nobody. */
const char *cards_holder(const struct cards *c, enum card_side side, const char *node,
                         const struct card_ids *ids);
/* Do both sides listen? Otherwise one is not enabled in any profile. */
bool cards_are_shared(const struct cards *c);
/* For the one side: what the other holds on a node has changed. fn NULL: nobody listens. */
void cards_listen(struct cards *c, enum card_side side, void (*fn)(void *arg, const char *node),
                  void *arg);
/* What the side gives back in a way that no object shows: pods of the other side that wait are
 * woken. */
void cards_wake(const struct cards *c, enum card_side side);
void cards_listen_wake(struct cards *c, enum card_side side, void (*fn)(void *arg), void *arg);
#endif
