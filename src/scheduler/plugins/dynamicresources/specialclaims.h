/* specialclaims.h - claims for extended resources, by the pod for which they were made: an attempt
 * asks for those of one pod among all claims of the cluster. Loop thread.
 */
#ifndef KOORD_SCHEDULER_DYNAMICRESOURCES_SPECIALCLAIMS_H
#define KOORD_SCHEDULER_DYNAMICRESOURCES_SPECIALCLAIMS_H
#include "api/dra.h"
#include "scheduler/model/uidmap.h"

struct pod;

struct specialclaims { /* all zero is an empty one */
    struct uidmap by_pod;
};
/* Each new state of a claim. It keeps a reference to those that it needs; before NULL: it is new;
 * now NULL: it went. */
void specialclaims_see(struct specialclaims *s, const struct kobj *before, struct kobj *now);
/* The claim of the pod, of several the first by name. NULL: there is none. Borrowed. */
const struct resource_claim *specialclaims_of(const struct specialclaims *s, const struct pod *p);
void specialclaims_fini(struct specialclaims *s);
#endif
