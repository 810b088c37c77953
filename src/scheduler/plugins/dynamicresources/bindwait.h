/* bindwait.h - devices with binding conditions (sched-dra 6.4): before the pod is bound their
 * drivers must have said that they are ready. Loop thread. */
#ifndef KOORD_SCHEDULER_DYNAMICRESOURCES_BINDWAIT_H
#define KOORD_SCHEDULER_DYNAMICRESOURCES_BINDWAIT_H
#include "json/schema.h"

struct booking;
struct claimcache;
struct resource_claim;
struct strbuf;

enum readiness { CLAIM_READY, CLAIM_NOT_READY, CLAIM_FAILED };
/* Are the devices of the claim ready? CLAIM_FAILED: the text is appended to why, which may be NULL.
 */
enum readiness claim_readiness(const struct resource_claim *c, struct strbuf *why);
/* Was it allocated longer ago than that, with devices that must become ready? now: wall clock. */
bool claim_is_late(const struct resource_claim *c, nsec_t timeout, nsec_t now);

/* Will the pod have to wait for its devices when all claims are written? */
bool bindwait_expects(const struct booking *b);
/* All claims are written. True: the pod waits for their devices, and claimwrite_finish() follows.
 */
bool bindwait_begin(struct booking *b);
void bindwait_stop(struct booking *b); /* nobody waits any more; fine when nobody did */
void bindwait_claim_changed(struct claimcache *cc, struct kuid claim);
#endif
