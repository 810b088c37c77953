/* claim.h - which children belong to an owner: those that match its selector are adopted, those
 * that no longer do are released.
 */
#ifndef KOORD_CONTROLLERS_CLAIM_H
#define KOORD_CONTROLLERS_CLAIM_H
#include "controllers/caches.h"

struct batch;
struct labelsel;

struct claim {
    const struct kobj *owner;
    const struct labelsel *selector;
    struct informer *children;
    /* Of those that match, only these are adopted; NULL: all. */
    bool (*is_adoptable)(const struct kobj *owner, const struct kobj *child);
    const char *finalizer; /* put on what is adopted; NULL: none. It must outlive the batch */
};
/* The children that are the owner's: by reference, and matching its selector. Writes what must be
 * adopted or released; then the answer is false, and the news of it brings the next sync. */
bool claim_children(struct batch *b, const struct claim *cl, kobjvec *mine);
#endif
